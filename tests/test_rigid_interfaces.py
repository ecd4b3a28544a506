"""Rigid interfaces without load are named, as they stiffen; one line tells of many bodies."""

import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import execute

STEEL = {"young": 2.1e11, "poisson": 0.3, "density": 7850.0}


@pytest.fixture(scope="module")
def bar(tmp_path_factory):
    def make(tie):
        path = tmp_path_factory.mktemp("bar") / f"{tie}.modal.h5"
        recipe = {
            "mesh": {"shape": "box", "size": [0.4, 0.02, 0.02], "divisions": [8, 1, 1]},
            "material": STEEL,
            "interfaces": {"root": {"set": "x_min"}, "tip": {"set": "x_max", "tie": tie}},
        }
        fm.reduce(recipe, modes=4).save(path)
        return str(path)

    return make


def case(*files, **more):
    """Bars on pins side by side, their tips free."""
    names = [f"bar{k}" for k in range(len(files))]
    return Case.from_dict(
        {
            "bodies": {name: {"type": "flexible", "modal": file}
                       for name, file in zip(names, files, strict=True)},
            "joints": {name: {"type": "revolute", "axis": [0, 0, 1], "from": "ground", "to": f"{name}.root"}
                       for name in names},
            "sensors": {"end": {"type": "position", "on": "bar0.tip"}},
            "analysis": {"type": "dynamics", "t_end": 1e-3},
            "output": {"every": 5e-4},
        }
        | more
    )  # fmt: skip


def test_a_rigid_interface_that_carries_nothing_is_named(bar, tmp_path):
    """Looking at it is no load; where a force acts, or where it follows in the mean, nothing is said."""
    found = [item for item in check(case(bar("rbe2"))).warnings if item.code == "body.rigid_interface"]
    assert [item.where for item in found] == ["bodies.bar0.tip"] and "hides stress" in found[0].what
    run = execute(case(bar("rbe2")), tmp_path / "r.h5")
    assert sum("bodies.bar0.tip: nothing is attached" in text for text in run.summary.warnings) == 1
    pull = {"forces": {"pull": {"type": "point", "on": "bar0.tip", "force": [1, 0, 0]}}}
    for data in (case(bar("rbe2"), **pull), case(bar("rbe3"))):
        assert not [item for item in check(data).warnings if item.code == "body.rigid_interface"]


def test_vibrations_between_samples_are_one_line_for_all_bodies(bar, tmp_path):
    run = execute(case(*[bar("rbe3")] * 6), tmp_path / "r.h5")
    found = [text for text in run.summary.warnings if "not resolved in the samples" in text]
    assert len(found) == 1
    assert found[0].startswith("bodies.bar0, bodies.bar1, bodies.bar2, bodies.bar3 and 2 more: output every")
