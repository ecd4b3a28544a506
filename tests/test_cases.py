"""Every shipped case runs and meets its [expected] values."""

import shutil

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute, prepare, settings
from flexmbs.resources import resource

NAMES = sorted(path.name for path in resource("cases").glob("*.toml") if ".reduce." not in path.name)
#: cases that take longer than a second
SLOW = {"andrews-squeezer.toml", "four-bar-flexible.toml", "robot-arm.toml", "slider_crank.toml"}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A copy of cases and meshes: recipes are reduced anew, and nothing is written into the tree."""
    root = tmp_path_factory.mktemp("shipped")
    for name in ("cases", "meshes"):
        shutil.copytree(resource(name), root / name, ignore=shutil.ignore_patterns("*.h5", "reference"))
    return root / "cases"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in NAMES]
)
def test_case_meets_its_expected_values(folder, tmp_path, name):
    run = execute(Case.load(folder / name), tmp_path / "result.h5")
    assert run.result.status == "complete"
    assert run.comparisons, "a shipped case has [expected] values"
    failed = [str(item) for item in run.comparisons if not item.passed]
    assert not failed, "\n".join(failed)
    assert np.max(run.result["solver/constraint_position"], initial=0.0) < 1e-10 * size_of(folder / name)


def size_of(path):
    """Length of a case's mechanism [m]."""
    return float(prepare(Case.load(path)).tables.length[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "generalized-alpha"])
def test_loops_are_closed_at_every_output_by_every_method(folder, tmp_path, method):
    """To 1e-10 of the size of the mechanism, at a tolerance that is far from it."""
    closed = 0
    for name in NAMES:
        asked, system = settings(Case.load(folder / name)), prepare(Case.load(folder / name))
        if asked.type == "dynamics" and asked.formulation == "recursive" and system.n_rows:
            values = {"analysis.method": method, "analysis.rtol": 1e-4, "analysis.atol": 1e-7}
            case = Case.load(folder / name, **values, **{"output.every": asked.t_end / 200})
            run = execute(case, tmp_path / "result.h5", overwrite=True)
            closure = np.max(run.result["solver/constraint_position"])
            assert closure < 1e-10 * float(system.tables.length[0]), name
            closed += 1
    assert closed >= 15


@pytest.mark.parametrize("name", NAMES)
def test_case_says_its_purpose_and_where_its_numbers_come_from(name):
    text = (resource("cases") / name).read_text()
    assert text.startswith("# Purpose: ")
    assert "Numbers: " in text
