"""Every command of this stage on what real runs write: a redundant loop in motion, and a linearisation."""

import json

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.resources import resource
from flexmbs.results import Result

NAME = "four-bar-flexible"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The four-bar with a flexible coupler: `run.h5` of 20 ms, `linear.h5` at its start."""
    folder = tmp_path_factory.mktemp("real")
    text = resource("cases", f"{NAME}.toml").read_text().split("[expected]")[0]
    (folder / f"{NAME}.reduce.toml").write_text(resource("cases", f"{NAME}.reduce.toml").read_text())
    (folder / "run.toml").write_text(text)
    (folder / "linear.toml").write_text(
        text.split("[drives.motor]")[0] + '\n[analysis]\ntype = "linearize"\n'
    )
    fm.run(folder / "run.toml", folder / "run.h5", **{"analysis.t_end": 0.02, "output.every": 1e-3})
    fm.run(folder / "linear.toml", folder / "linear.h5")
    return folder


COMMANDS = [
    "plot X coupler.q main.position -o a.svg",
    "plot X energy.* -o a.png",
    "stress X coupler",
    "animate X -o a.html",
    "animate X -o a.glb",
    "animate X -o a.png",
    "report X -o r.html",
    "export X -o a.vtkhdf",
    "export X -o a.pvd",
    "export X -o a.csv",
    "export X -o a.parquet",
    "export X -o a.nc",
    "info X",
    "compare X X",
]


@pytest.mark.slow
@pytest.mark.needs("pyarrow", "xarray", "netCDF4")
@pytest.mark.parametrize("name", ["run", "linear"])
@pytest.mark.parametrize("line", COMMANDS)
def test_command(runs, name, line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [str(runs / f"{name}.h5") if word == "X" else word for word in line.split()]
    code = main([*words, "--quiet", "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert isinstance(json.loads(captured.out), dict)


@pytest.mark.slow
@pytest.mark.needs("xarray", "netCDF4")
def test_netcdf_of_a_run_holds_its_numbers(runs, tmp_path):
    import xarray

    result = Result.load(runs / "run.h5")
    assert main(["export", str(runs / "run.h5"), "-o", str(tmp_path / "a.nc"), "--quiet"]) == 0
    tree = xarray.open_datatree(tmp_path / "a.nc")
    force = tree["joints/bearing/reaction_force"]
    np.testing.assert_array_equal(force.sel(xyz="y"), result.joints["bearing"].reaction_force[:, 1])
    assert "determinate" not in force.attrs and force.attrs["units"] == "N"  # the coupler's stiffness decides


@pytest.mark.slow
@pytest.mark.needs("xarray", "netCDF4")
def test_netcdf_says_which_reactions_are_open(tmp_path):
    import xarray

    text = resource("cases", "four-bars.toml").read_text().split("[expected]")[0]
    (tmp_path / "a.toml").write_text(text)
    fm.run(tmp_path / "a.toml", tmp_path / "a.h5", **{"analysis.t_end": 1e-3})
    assert main(["export", str(tmp_path / "a.h5"), "-o", str(tmp_path / "a.nc"), "--quiet"]) == 0
    joints = xarray.open_datatree(tmp_path / "a.nc")["joints"]
    flags = [joints[f"{name}/reaction_force"].attrs.get("determinate") for name in joints]
    assert flags and all(flag == 0 for flag in flags)


@pytest.mark.slow
@pytest.mark.needs("pandas")
def test_table_of_a_run_has_the_channels_of_plots(runs):
    table = Result.load(runs / "run.h5").to_pandas()
    assert len(table) == 21 and table.index.name == "time"
    np.testing.assert_allclose(table["joints.main.position.angle"].iloc[-1], np.pi / 2 + 0.2, rtol=1e-12)


@pytest.mark.slow
def test_report_of_a_run_tells_of_redundancy(runs, tmp_path):
    assert main(["report", str(runs / "run.h5"), "-o", str(tmp_path / "r.html"), "--quiet"]) == 0
    text = (tmp_path / "r.html").read_text()
    assert "3 conditions are redundant" in text and "joints.bearing (translation z)" in text
    assert "3 redundant constraint rows" in text  # what the run said
