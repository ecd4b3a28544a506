"""Redundant mechanisms against the same without their redundant rows, in every formulation (F28).

The reduced ones have spherical, cylindrical and in-line joints in place of revolute ones.
"""

import copy

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import prepare
from tests.dynamics.awkward import door, four_bar, gears, rails, slider_crank, with_velocity

FORMULATIONS = ("recursive", "minimal", "descriptor")
Z = [0, 0, 1]


def without(data, *names):
    data = copy.deepcopy(data)
    for name in names:
        for room in ("joints", "couplings"):
            data.get(room, {}).pop(name, None)
    return data


def changed(data, **types):
    """The case with other types of joints; a ball takes its angle as a rotation about z."""
    data = copy.deepcopy(data)
    for name, kind in types.items():
        joint = data["joints"][name]
        joint["type"], given = kind, joint.pop("initial", {})
        x, v = given.get("position", 0.0), given.get("velocity", 0.0)
        if kind == "spherical":
            joint["initial"] = {"position": {"axis": Z, "angle": x}, "velocity": [0, 0, v]}
        if kind == "cylindrical" and given:
            joint["initial"] = {"position": [x, 0], "velocity": [v, 0]}
    return data


def swung(data, **speeds):
    """The case with a joint's velocity held and the others to follow."""
    data = with_velocity(copy.deepcopy(data), **speeds)
    for name in speeds:
        data["joints"][name]["initial"]["hold"] = True
    return data


FOUR_BAR = swung(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), a=2.0)
SLIDER = swung(slider_crank(), main=3.0)


#: by name: redundant, reduced, components of reactions (joint, force or moment, axis) that are unique
PAIRS = {
    "door on two hinges": (door(), changed(door(), h0="spherical", h1="in_line"), ()),
    "door on three hinges": (door(3), changed(without(door(3), "h2"), h0="spherical", h1="in_line"), ()),
    "carriage on two rails": (
        swung(rails(), left=0.7), swung(without(rails(), "right"), left=0.7), (),
    ),
    "two equal pairs of gears": (
        swung(gears(), a=0.4), swung(without(gears(), "second"), a=0.4),
        [(k, word, axis) for k in "ab" for word, axis in (("force", 2), ("moment", 0), ("moment", 1))],
    ),
    "four-bar": (
        FOUR_BAR, changed(FOUR_BAR, b="spherical", c="cylindrical"),
        [(k, "force", axis) for k in "abcd" for axis in (0, 1)] + [(k, "moment", 2) for k in "abcd"],
    ),
    "slider-crank": (
        SLIDER, changed(SLIDER, big="spherical", small="cylindrical"),
        [(k, "force", axis) for k in ("main", "big", "small") for axis in (0, 1)],
    ),
}  # fmt: skip


def by(data, formulation, **more):
    data = copy.deepcopy(data)
    data["analysis"] = {"formulation": formulation, "t_end": 0} | more
    return Case.from_dict(data)


def close(found, known, what):
    size = max(1.0, float(np.abs(known).max()))
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-9 * size, err_msg=what)


def resultants(motion, data, places):
    """Forces and moments about the origin of all joints at the ground, together: they are unique."""
    force, moment = np.zeros(3), np.zeros(3)
    for name, joint in data["joints"].items():
        if joint["from"].startswith("ground"):
            F, x = motion[f"joints.{name}.reaction_force"], places[name]
            force += F
            moment += motion[f"joints.{name}.reaction_moment"] + np.cross(x, F)
    return force, moment


def places(data, motion):
    """Where the joints at the ground act: at marker Q, which is the frame on the body."""
    found = {}
    for name, joint in data["joints"].items():
        if joint["from"].startswith("ground"):
            _, _, frame = joint["from"].partition(".")
            found[name] = np.array(data["ground"]["frames"][frame]["pos"] if frame else [0.0, 0.0, 0.0])
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_are_redundant_and_not(name):
    redundant, reduced, _ = PAIRS[name]
    first, second = (check(Case.from_dict(data)).counts for data in (redundant, reduced))
    assert first.redundant > 0 and second.redundant == 0
    assert first.mobility == second.mobility == 1


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_redundant_rows_change_neither_accelerations_nor_unique_reactions_F28(name, formulation):
    redundant, reduced, unique = PAIRS[name]
    motions = []
    for data in (redundant, reduced):
        system = prepare(by(data, formulation))
        motions.append(system.forward_dynamics(system.initial_state()))
    found, known = motions
    for body in redundant["bodies"]:
        for key in ("acceleration", "angular_acceleration"):
            close(found[f"bodies.{body}.{key}"], known[f"bodies.{body}.{key}"], f"{body} {key}")
    for joint, word, axis in unique:
        path = f"joints.{joint}.reaction_{word}"
        close(found[path][axis], known[path][axis], f"{path}[{axis}]")
    if not unique:  # doors and carriage stand in their first position, joints at the ground
        pairs = zip(
            resultants(found, redundant, places(redundant, found)),
            resultants(known, reduced, places(reduced, known)), strict=True,
        )  # fmt: skip
        for total, other in pairs:
            close(total, other, "resultants")


@pytest.mark.slow
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("name", PAIRS)
def test_redundant_mechanisms_run_as_their_reduced_ones_in_every_formulation_F28(name, formulation, tmp_path):
    redundant, reduced, _ = PAIRS[name]
    method = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13, "t_end": 0.3}
    runs = [
        fm.run(by(data, formulation, **method), tmp_path / f"{k}.h5")
        for k, data in enumerate((redundant, reduced))
    ]
    for body in redundant["bodies"]:
        for key in ("position", "quaternion", "velocity", "angular_velocity", "acceleration",
                    "angular_acceleration"):  # fmt: skip
            found, known = (np.asarray(run[f"bodies/{body}/{key}"]) for run in runs)
            close(found, known, f"{body} {key}")
    assert np.ptp(np.asarray(runs[0][f"bodies/{list(redundant['bodies'])[0]}/quaternion"])) > 1e-3 or (
        name == "carriage on two rails"
    )


def beam_on_sliders(order, speed=2.0):
    """A beam on two parallel sliders, friction 0.1 (left) and 0.3 of the load, under its weight."""
    places = {"left": {"pos": [0, 0, -0.3]}, "right": {"pos": [0, 0, 0.5]}}
    inertia = {"ixx": 0.01, "iyy": 0.012, "izz": 0.015}
    sliders = {
        side: {
            "type": "prismatic", "from": f"ground.{side}", "to": f"beam.{side}", "axis": [1, 0, 0],
            "friction": {"coefficient": 0.1 if side == "left" else 0.3, "stiction_velocity": 1e-3},
        }
        for side in order
    }  # fmt: skip
    sliders["left"]["initial"] = {"velocity": speed}
    return {
        "gravity": [0, -9.81, 0],
        "ground": {"frames": places},
        "bodies": {"beam": {"type": "rigid", "mass": 1.0, "inertia": inertia, "frames": places}},
        "joints": sliders,
    }


@pytest.mark.parametrize("order", [("left", "right"), ("right", "left")])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_friction_follows_the_shared_reactions_whichever_joint_is_the_cut(formulation, order):
    system = prepare(by(beam_on_sliders(order), formulation))
    motion = system.forward_dynamics(system.initial_state())
    # left carries 9.81 - x, right x, both half the moment about the middle that these leave: least squares
    lever = 0.5 * np.array([0.5 + 0.3, -0.3 * 9.81]) / float(system.tables.length[0])
    rows = np.array([[-1.0, 9.81], [1.0, 0.0], lever, lever])
    right = -(rows[:, 0] @ rows[:, 1]) / (rows[:, 0] @ rows[:, 0])
    assert motion["joints.left.reaction_force"][1] == pytest.approx(9.81 - right, rel=1e-9)
    assert motion["joints.right.reaction_force"][1] == pytest.approx(right, rel=1e-9)
    slowed = -(0.1 * (9.81 - right) + 0.3 * right)
    assert motion["joints.left.acceleration"] == pytest.approx(slowed, rel=1e-9)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_friction_is_found_where_redundant_joints_carry_next_to_nothing(formulation):
    data = beam_on_sliders(("left", "right"))
    data["gravity"] = [0, 0, 0]
    data["bodies"]["beam"]["frames"]["left"]["pos"] = [0.1, 0.2, -0.3]
    data["ground"]["frames"]["left"]["pos"] = [0.1, 0.2, -0.3]
    system = prepare(by(data, formulation))
    motion = system.forward_dynamics(system.initial_state())
    assert abs(motion["joints.left.acceleration"]) < 1e-12
