"""Freedoms by count and by rank, redundant rows, open reactions (F28), on the reference linkages."""

import json

import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.generate import four_bars
from flexmbs.dynamics.analyses.mobility import mobility
from flexmbs.resources import resource

REFERENCE = resource("cases", "reference")


def counts(case):
    system = case.system()
    state = system.initial_state()
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    return mobility(system, evaluator, state)


def shipped(name, **overrides):
    return counts(Case.load(resource("cases", name + ".toml"), **overrides))


@pytest.mark.parametrize(
    ("name", "reference", "key"),
    [
        ("bennett", "linkage-bennett", "mobility"),
        ("stephenson-sixbar", "linkage-stephenson-sixbar", "mobility_spatial_revolutes"),
        ("spatial-slider-crank", "linkage-spatial-slider-crank", "mobility"),
        ("slider-crank-equal-links", "linkage-slider-crank-equal-links", "mobility_generic"),
    ],
)
def test_mobility_and_redundancy_of_reference_linkages_F28(name, reference, key):
    expected = json.loads((REFERENCE / f"{reference}.json").read_text())["reference"]
    expected = expected.get(key) or {}
    found = shipped(name)
    assert found.mobility == expected.get("dof", expected.get("actual_dof"))
    assert found.redundant == expected["redundant"]
    assert len(found.redundant_rows) == found.redundant


def test_bennett_is_overconstrained_by_count():
    found = shipped("bennett")
    assert (found.gruebler, found.mobility, found.kind) == (-2, 1, "spatial")


def test_planar_loop_counts_in_the_plane_F28():
    found = shipped("parallelogram")
    assert (found.gruebler, found.mobility, found.closure_rows, found.closure_rank) == (1, 1, 5, 2)
    assert found.kind == "planar"
    rows = [text.partition("(")[2] for text in found.redundant_rows]
    assert sorted(rows) == ["rotation x)", "rotation y)", "translation z)"]
    # what keeps the linkage in its plane is shared in an open way, what moves it is not
    assert all("translation z; rotation x, y" in text for text in found.indeterminate_joints)


def test_change_point_loses_a_rank():
    generic, change = shipped("parallelogram"), shipped("parallelogram", theta=0.0)
    assert (generic.redundant, change.redundant) == (3, 4)
    assert change.mobility == 2


def test_spherical_class_of_the_cardan_joint():
    found = shipped("cardan")
    assert (found.kind, found.gruebler, found.mobility) == ("spherical", 1, 1)


def test_hidden_freedom_of_a_rod_between_balls():
    found = shipped("rssr")
    assert found.mobility == 2
    assert found.hidden == ["bodies.coupler may spin about the line through joints.ball_a and joints.ball_b"]


@pytest.mark.parametrize("n", [1, 3, 7])
def test_four_bars_have_three_redundant_rows_per_loop(n):
    found = counts(Case.from_dict(four_bars(n)))
    assert (found.mobility, found.redundant, found.n_loops) == (1, 3 * n, n)


def test_open_trees_have_nothing_redundant():
    found = shipped("joint-zoo")
    assert (found.mobility, found.closure_rows, found.redundant) == (13, 0, 0)
    assert found.indeterminate_joints == []
    assert found.structure == "open"


@pytest.mark.parametrize(
    "axis, wanted",
    [
        ([0, 0, 1], {"translation x", "translation y", "rotation x", "rotation y", "rotation z"}),
        ([1, 0, 0], {"translation y", "translation along ground z", "rotation y", "rotation about ground z",
                     "rotation about ground x"}),
        ([1, 1, 0], {"translation x", "translation y", "rotation x", "rotation y", "rotation z"}),
    ],
)  # fmt: skip
def test_redundant_directions_are_named_in_ground_axes_where_they_lie_along_them(axis, wanted):
    """A slide on two rails: all that the second one holds besides is held already."""
    frames = {"p": {"pos": [0, 0, 0]}, "q": {"pos": [0.3, 0.2, 0.1]}}
    slide = {"type": "rigid", "mass": 1, "inertia": {"ixx": 1, "iyy": 1, "izz": 1}, "frames": frames}
    rails = {
        name: {"type": "prismatic", "from": f"ground.{at}", "to": f"slide.{at}", "axis": axis}
        for name, at in (("one", "p"), ("two", "q"))
    }
    case = {
        "ground": {"frames": frames},
        "bodies": {"slide": slide},
        "joints": rails,
        "analysis": {"t_end": 1.0},
    }
    found = {text.partition("(")[2].rstrip(")") for text in check(Case.from_dict(case)).counts.redundant_rows}
    assert found == wanted
