"""Initial values that assembly has to change are said, by `check` and by a run (F34)."""

import math

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import execute

ROUND = {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}


def pendulum(**initial):
    """A mass point on a rod of length 0.5."""
    return {
        "gravity": [0, 0, -9.81],
        "bodies": {"bob": {"type": "particle", "mass": 1, "initial": initial}},
        "joints": {"rod": {"type": "distance", "from": "ground", "to": "bob", "length": 0.5}},
        "analysis": {"t_end": 0.01},
    }


def ball(**initial):
    """A ball whose body is held upright: only its turn about z is free."""
    return {
        "bodies": {"top": {"type": "rigid", "mass": 1, "inertia": ROUND}},
        "joints": {
            "ball": {"type": "spherical", "from": "ground", "to": "top", "initial": initial},
            "upright": {"type": "parallel", "from": "ground", "to": "top"},
        },
        "analysis": {"t_end": 0.01},
    }


#: cases, and what is said of each
MOVED = {
    "place": (
        pendulum(pos=[0.3, 0, 0]),
        ["bodies.bob: begins with position [0.5, 0, 0], given was [0.3, 0, 0]"],
    ),
    "velocity": (
        pendulum(pos=[0.5, 0, 0], velocity=[2, 3, 0]),
        ["bodies.bob: begins with velocity [0, 3, 0], given was [2, 3, 0]"],
    ),
    "both fit": (pendulum(pos=[0.3, 0, -0.4], velocity=[0.4, 1, 0.3]), []),
    "velocity not given": (pendulum(pos=[0.5, 0, 0]), []),
    "ball turned": (
        ball(position={"axis": [1, 0, 0], "angle": 0.2}),
        ["joints.ball: the start is turned from the given rotation by 0.2 rad"],
    ),
    "ball turning": (
        ball(velocity=[0.3, 0, 2]),
        ["joints.ball: the start differs from the given angular velocity by 0.3 rad/s"],
    ),
    "ball fits": (ball(position={"axis": [0, 0, 1], "angle": 1.2}, velocity=[0, 0, 2]), []),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_given_values_that_cannot_be_kept_are_said_of_bodies_and_balls(name, tmp_path):
    data, texts = MOVED[name]
    warnings = [item for item in check(Case.from_dict(data)).warnings if item.code == "assembly.moved"]
    assert [item.what for item in warnings] == texts
    said = []
    execute(Case.from_dict(data), tmp_path / "r.h5", say=said.append)
    assert [line.partition(";")[0] for line in said if line.startswith("warning: ")] == [
        f"warning: {text}" for text in texts
    ]


@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
def test_runs_in_other_coordinates_say_it_too(formulation, tmp_path):
    data, texts = MOVED["velocity"]
    data = data | {"analysis": {"t_end": 0.01, "formulation": formulation}}
    said = []
    execute(Case.from_dict(data), tmp_path / "r.h5", say=said.append)
    assert any(texts[0] in line for line in said)


@pytest.mark.parametrize("axes", ["body", "ground"])
def test_velocities_are_compared_in_the_axes_in_which_they_are_given(axes):
    start = {
        "pos": [0, 0, 0], "rot": {"axis": [0, 0, 1], "angle": math.pi / 2},
        "velocity": [1, 0, 0], "angular_velocity": [0.3, 0, 2], "in": axes,
    }  # fmt: skip
    data = {
        "bodies": {"b": {"type": "rigid", "mass": 1, "inertia": ROUND, "initial": start}},
        "joints": {"plane": {"type": "in_plane", "from": "ground", "to": "b"}},
        "analysis": {"t_end": 0},
    }
    case = Case.from_dict(data)
    assert not [item for item in check(case).warnings if item.code == "assembly.moved"]
    motion = case.system().forward_dynamics(case.system().initial_state())
    np.testing.assert_allclose(
        motion["bodies.b.velocity"], [0, 1, 0] if axes == "body" else [1, 0, 0], atol=1e-12
    )


@pytest.mark.parametrize("away", [0.0, 50.0, 1000.0, 1e6])
@pytest.mark.parametrize("moved, said", [(0.0, False), (0.04, True), (0.4, True)])
def test_starts_far_from_the_origin_are_compared_by_a_length_of_the_model(away, moved, said):
    """A free body is given beside its plane, a slider beside the plane that shuts its loop."""
    wall = {"pos": [away, 0, 0], "rot": {"axis": [0, 1, 0], "angle": math.pi / 2}}
    slide = {"type": "prismatic", "from": "ground", "to": "c", "axis": [1, 0, 0]}
    data = {
        "ground": {"frames": {"wall": wall}},
        "bodies": {
            "b": {"type": "rigid", "mass": 1, "inertia": ROUND, "initial": {"pos": [away + moved, 0, 0]}},
            "c": {"type": "rigid", "mass": 1, "inertia": ROUND},
        },
        "joints": {
            "plane": {"type": "in_plane", "from": "ground.wall", "to": "b"},
            "slide": slide | {"initial": {"position": away + moved}},
            "shut": {"type": "in_plane", "from": "ground.wall", "to": "c"},
        },
        "analysis": {"t_end": 0},
    }
    texts = [item.what for item in check(Case.from_dict(data)).warnings if item.code == "assembly.moved"]
    assert [text.partition(":")[0] for text in texts] == (["joints.slide", "bodies.b"] if said else [])
