"""Every shipped case runs and meets its [expected] values."""

import shutil

import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
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


@pytest.mark.parametrize("name", NAMES)
def test_case_says_its_purpose_and_where_its_numbers_come_from(name):
    text = (resource("cases") / name).read_text()
    assert text.startswith("# Purpose: ")
    assert "Numbers: " in text
