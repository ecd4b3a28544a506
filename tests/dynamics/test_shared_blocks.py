"""Loops that stand apart are shared apart, however many there are (F28)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import prepare
from flexmbs.model import workspace
from flexmbs.simulate.record.items import left_out

FORMULATIONS = ("recursive", "minimal", "descriptor")
ANGLE = 0.7


def parallelograms(count, base="ground", formulation="recursive"):
    """Equal parallelograms of revolute joints side by side, at the ground or on one free body."""
    tip = 0.1 * np.array([np.cos(ANGLE), np.sin(ANGLE), 0.0])
    turned = {"rot": {"axis": [0, 0, 1], "angle": ANGLE}}
    body = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.012, "izz": 0.015}}
    frames = {"left": {}, "right": {"pos": [0.3, 0, 0]}}
    short = {"tip": {"pos": [0.1, 0, 0]}}
    bodies, joints = {}, {}
    if base != "ground":
        bodies[base] = body | {"mass": 50.0, "frames": frames}
    for k in range(count):
        bodies |= {
            f"crank{k}": body | {"frames": short, "pose": turned},
            f"coupler{k}": body | {"frames": {"tip": {"pos": [0.3, 0, 0]}}, "pose": {"pos": tip.tolist()}},
            f"rocker{k}": body | {"frames": short, "pose": turned | {"pos": [0.3, 0, 0]}},
        }
        joints |= {
            f"{name}{k}": {"type": "revolute", "from": start, "to": end}
            | ({"initial": first} if first else {})
            for name, start, end, first in (
                ("a", f"{base}.left", f"crank{k}", {"position": ANGLE}),
                ("c", f"crank{k}.tip", f"coupler{k}", {"position": -ANGLE}),
                ("d", f"coupler{k}.tip", f"rocker{k}.tip", None),
                ("b", f"{base}.right", f"rocker{k}", None),
            )
        }
    return {
        "gravity": [0.3, -9.81, 1.0],
        "ground": {"frames": frames},
        "bodies": bodies,
        "joints": joints,
        "analysis": {"t_end": 0, "formulation": formulation},
    }


def reactions(data):
    """Forces and moments of all joints (count, 4, 6)."""
    system = prepare(Case.from_dict(data))
    motion = system.forward_dynamics(system.initial_state())
    count = len(data["joints"]) // 4
    found = [
        np.concatenate([motion[f"joints.{name}{k}.reaction_{word}"] for word in ("force", "moment")])
        for k in range(count)
        for name in "abcd"
    ]
    return np.array(found).reshape(count, 4, 6)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_one_of_many_equal_loops_has_the_reactions_of_one(formulation, monkeypatch):
    one = reactions(parallelograms(1))
    # of an own program of all bodies, rows and self-stresses: force and moment of b
    np.testing.assert_allclose(one[0, 1, :3], [-4.78006589, 9.81, -1.30657288], atol=2e-8)
    np.testing.assert_allclose(one[0, 1, 3:], [-0.02598043, -0.01514088, 0.0], atol=2e-8)
    monkeypatch.setattr(workspace, "MOST_NULL", 5 * 6 * 24)  # enough for one loop alone
    many = reactions(parallelograms(6, formulation=formulation))
    np.testing.assert_allclose(many, np.broadcast_to(one, many.shape), atol=1e-8)


def test_loops_on_one_moving_body_stand_apart_too(monkeypatch):
    data = parallelograms(4, "base")
    whole = reactions(parallelograms(4, "base", "descriptor"))
    monkeypatch.setattr(workspace, "MOST_NULL", 5 * 6 * 16)
    system = prepare(Case.from_dict(data))
    assert len(set(system.tables.block.of_group)) == 4
    assert set(system.tables.block.of_joint) - {-1} == {0, 1, 2, 3}
    np.testing.assert_allclose(reactions(data), whole, atol=1e-8)


def test_loops_that_share_a_joint_hang_together():
    data = parallelograms(2)
    data["joints"]["a1"]["from"] = "crank0"  # the second loop stands on the crank of the first
    data["joints"]["a1"]["initial"]["position"] = 0.0
    system = prepare(Case.from_dict(data))
    assert set(system.tables.block.of_group) == {0} == set(system.tables.block.of_joint)


def test_a_report_says_where_reactions_are_shared_in_part_only(monkeypatch):
    system = prepare(Case.from_dict(parallelograms(3)))
    assert not any("in part" in line for line in left_out(system))
    monkeypatch.setattr(workspace, "MOST_NULL", 3 * 6 * 12)
    system = prepare(Case.from_dict(parallelograms(3)))
    assert "of 5 rows" in left_out(system)[-1]


@pytest.mark.slow
def test_250_parallelograms_have_the_reactions_of_one():
    one, many = reactions(parallelograms(1)), reactions(parallelograms(250))
    np.testing.assert_allclose(many, np.broadcast_to(one, many.shape), atol=1e-7)
