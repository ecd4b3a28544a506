"""The notebooks of the manual run from top to bottom, and are kept without output."""

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def cells(name, kind):
    tree = json.loads((FOLDER / name).read_text("utf-8"))
    return [cell for cell in tree["cells"] if cell["cell_type"] == kind]


def test_there_are_two():
    assert NOTEBOOKS == ["mechanism.ipynb", "mesh_to_stresses.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_is_kept_without_output(name):
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells(name, "code"))


@pytest.mark.slow
@pytest.mark.needs("xarray", "pandas")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(name, tmp_path, monkeypatch):
    import matplotlib

    from flexmbs.post import show

    matplotlib.use("Agg")
    monkeypatch.setattr(show.webbrowser, "open", lambda url: True)
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "notebook"}
    for number, cell in enumerate(cells(name, "code")):
        exec(compile("".join(cell["source"]), f"{name}[{number}]", "exec"), space)
    assert space["result"]._repr_html_().startswith("<table>")
