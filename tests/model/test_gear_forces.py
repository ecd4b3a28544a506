"""Forces on teeth against the textbook, by what the bearings of both shafts hold."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.forces.joint_force import JointForce
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model

ALPHA, BETA, GAMMA = np.radians([20.0, 15.0, 10.0])
ACROSS = np.array([[0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]])  # z of the second shaft along x


def shafts(kind, place, axes=None, reverse=(False, False), turned=None, **keys):
    """Wheel A at the origin, B at `place`, each on a shaft of ground; 30 Nm on A; the whole turned."""
    axes, R = np.eye(3) if axes is None else axes, np.eye(3) if turned is None else turned
    model = Model()
    frames = {"a": (np.zeros(3), R), "b": (R @ np.array(place, dtype=float), R @ axes)}
    for (name, (pos, rot)), back in zip(frames.items(), reverse, strict=True):
        model.ground_frames[name] = Frame(pos=pos, rot=rot)
        body = RigidBody(name=name.upper(), mass=1.0, inertia=np.eye(3) * 0.1)
        body.pose_pos, body.pose_rot, body.pose_given = pos, rot, True
        ends = (body.name, f"ground.{name}") if back else (f"ground.{name}", body.name)
        model.add(body, JOINTS["revolute"](name=name, from_frame=ends[0], to_frame=ends[1]))
    model.add(JointForce(name="m", joint="a", value=-30.0 if reverse[0] else 30.0))
    model.add(COUPLINGS[kind](name="c", wheels=("A", "B"), pressure_angle=ALPHA, **keys))
    system = build(model)
    return system.forward_dynamics(system.initial_state())


def bearings(motion, reverse=(False, False)):
    """What ground holds each wheel with, at its shaft's marker."""
    found = []
    for name, back in zip("ab", reverse, strict=True):
        sign = -1.0 if back else 1.0
        found.append(
            [sign * motion[f"joints.{name}.{word}"] for word in ("reaction_force", "reaction_moment")]
        )
    return found


@pytest.mark.parametrize("reverse", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("hand", [0.0, BETA, -BETA])
def test_helical_wheels_load_their_shafts_as_the_textbook_says(reverse, hand):
    """Ft = 2 T / d, Fr = Ft tan a / cos b to the own axis, Fa = Ft tan b against the thread."""
    motion = shafts("gear", [0.07, 0, 0], reverse=reverse, teeth=(20, 50), module=0.002, helix_angle=hand)
    T, r = motion["couplings.c"], 0.02
    Ft, Fr, Fa = T / r, abs(T / r) * np.tan(ALPHA) / np.cos(hand), -T / r * np.tan(hand)
    on_A = np.array([-Fr, Ft, Fa])  # B stands at +x: t = z x x = y; a right-handed A is pushed against z
    (force_A, moment_A), (force_B, moment_B) = bearings(motion, reverse)
    np.testing.assert_allclose(force_A, -on_A, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(force_B, on_A, rtol=1e-12, atol=1e-9)
    assert moment_A[2] == pytest.approx(30.0, rel=1e-9)
    np.testing.assert_allclose(moment_A[:2], -np.cross([r, 0, 0], on_A)[:2], atol=1e-9)
    np.testing.assert_allclose(moment_B, [0, np.cross([-0.05, 0, 0], on_A)[1], 0], atol=1e-9)


def test_a_pinion_in_a_ring_is_pressed_towards_its_own_axis_and_the_ring_outwards():
    for teeth, place in (((20, 50), [-0.03, 0, 0]), ((50, 20), [0.03, 0, 0])):
        motion = shafts("gear", place, teeth=teeth, module=0.002, internal=True)
        T, r = motion["couplings.c"], 0.001 * teeth[0]
        Fr = abs(T / r) * np.tan(ALPHA)
        # the pitch point is at +x of both; the pinion is pressed to -x
        on_A = np.array([-Fr if teeth[0] < teeth[1] else Fr, T / r, 0.0])
        (force_A, _), (force_B, moment_B) = bearings(motion)
        np.testing.assert_allclose(force_A, -on_A, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(force_B, on_A, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(moment_B, 0.0, atol=1e-9)


def test_bevel_wheels_load_their_shafts_as_the_textbook_says():
    """Fr = Ft tan a cos d, Fa = Ft tan a sin d away from the apex; what is radial for A is axial for B."""
    motion = shafts("bevel_gear", [0, 0, 0], ACROSS, teeth=(20, 40), module=0.003)
    T, r, cone = motion["couplings.c"], 0.03, np.arctan(20 / 40)
    Ft = T / r
    on_A = [-abs(Ft) * np.tan(ALPHA) * np.cos(cone), Ft, abs(Ft) * np.tan(ALPHA) * np.sin(cone)]
    (force_A, _), (force_B, moment_B) = bearings(motion)
    np.testing.assert_allclose(force_A, -np.array(on_A), rtol=1e-12)
    np.testing.assert_allclose(force_B, on_A, rtol=1e-12)
    assert moment_B[0] == pytest.approx(0.0, abs=1e-9)  # its shaft turns freely


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_worm_and_its_wheel_load_their_shafts_as_the_textbook_says(side):
    """Ft of the worm is Fa of the wheel and the other way; Fa = Ft / tan g, Fr = Ft tan a / sin g."""
    r_worm = 0.004 / np.tan(GAMMA)
    motion = shafts(
        "worm_gear", [0, side * (r_worm + 0.08), 0], ACROSS, teeth=(2, 40), module=0.004, lead_angle=GAMMA
    )
    Ft = motion["couplings.c"] / r_worm
    (force_A, moment_A), (force_B, moment_B) = bearings(motion)
    assert side * force_A[0] == pytest.approx(Ft, rel=1e-12)
    assert abs(force_A[2]) == pytest.approx(abs(Ft) / np.tan(GAMMA), rel=1e-12)
    assert side * force_A[1] == pytest.approx(abs(Ft) * np.tan(ALPHA) / np.sin(GAMMA), rel=1e-12)
    np.testing.assert_allclose(force_B, -force_A, rtol=1e-12)
    assert moment_A[2] == pytest.approx(30.0, rel=1e-9) and moment_B[0] == pytest.approx(0.0, abs=1e-9)


def test_a_rack_is_pressed_away_from_its_pinion():
    for radius in (0.04, -0.04):
        model = Model()
        model.add(RigidBody(name="P", mass=1.0, inertia=np.eye(3) * 0.1), RigidBody(name="R", mass=2.0))
        model.ground_frames["way"] = Frame(rot=ACROSS)  # along x
        model.add(JOINTS["revolute"](name="p", from_frame="ground", to_frame="P"))
        model.add(JOINTS["prismatic"](name="r", from_frame="ground.way", to_frame="R"))
        model.add(JointForce(name="m", joint="p", value=3.0))
        keys = {"pinion": "p", "rack": "r", "radius": radius}
        model.add(COUPLINGS["rack_pinion"](name="c", pressure_angle=ALPHA, **keys))
        system = build(model)
        motion = system.forward_dynamics(system.initial_state())
        F = motion["couplings.c"]
        # the pitch point is where z x r = x: at -y for a positive radius
        on_rack = np.array([F, -np.sign(radius) * abs(F) * np.tan(ALPHA), 0.0])
        np.testing.assert_allclose(motion["joints.r.reaction_force"], [0, -on_rack[1], 0], atol=1e-9)
        np.testing.assert_allclose(motion["joints.p.reaction_force"], on_rack, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(motion["joints.p.reaction_moment"], [0, 0, 3.0], atol=1e-9)


def test_turning_the_gear_box_turns_its_forces():
    from flexmbs.spatial import shortest_rotation

    R = shortest_rotation(np.array([0.3, -0.5, 0.8]))
    keys = {"teeth": (20, 40), "module": 0.003}
    straight, turned = (shafts("bevel_gear", [0, 0, 0], ACROSS, turned=item, **keys) for item in (None, R))
    for name in "ab":
        for word in ("reaction_force", "reaction_moment"):
            path = f"joints.{name}.{word}"
            np.testing.assert_allclose(turned[path], R @ straight[path], atol=1e-9)


def planetary(**keys):
    wheel = {"type": "rigid", "mass": 0.2, "inertia": {"ixx": 1e-4, "iyy": 1e-4, "izz": 1e-4}}
    gear = {"type": "gear", "carrier": "arm", "module": 0.0015} | keys
    return {
        "bodies": {"sun": wheel, "arm": wheel | {"frames": {"pin": {"pos": [0.03, 0, 0]}}}, "planet": wheel},
        "joints": {
            "sun_shaft": {"type": "revolute", "from": "ground", "to": "sun"},
            "arm_shaft": {"type": "revolute", "from": "ground", "to": "arm"},
            "planet_pin": {"type": "revolute", "from": "arm.pin", "to": "planet"},
        },
        "couplings": {
            "inner": gear | {"wheels": ["planet", "ground"], "teeth": [20, 60], "internal": True},
        },
        "drives": {"motor": {"joint": "arm_shaft", "position": "=8*t + 3*t**2"}},
        "analysis": {"type": "kinematics", "t_end": 1.0},
    }  # fmt: skip


def test_forces_of_a_mesh_turn_with_their_carrier(tmp_path):
    """Planet in a ring on an arm that turns unevenly: its pin keeps it on its way, the teeth spin it."""
    from flexmbs.case.runner import execute

    result = execute(Case.from_dict(planetary(pressure_angle=ALPHA)), tmp_path / "p.h5").result
    t = result["time"]
    angle, w, dw = 8 * t + 3 * t**2, 8 + 6 * t, 6.0
    u = np.column_stack([np.cos(angle), np.sin(angle), 0 * t])
    v = np.column_stack([-np.sin(angle), np.cos(angle), 0 * t])
    F = result["couplings/inner/contact_force"]
    # the planet turns by (1 - 60/20) of the arm: torque J dw' = r Ft
    Ft = 1e-4 * (1 - 60 / 20) * dw / 0.015
    np.testing.assert_allclose(F, Ft * v - abs(Ft) * np.tan(ALPHA) * u, atol=1e-9)
    np.testing.assert_allclose(result["couplings/inner/contact_point"], 0.045 * u, atol=1e-12)
    acceleration = 0.03 * (dw * v - (w**2)[:, None] * u)
    np.testing.assert_allclose(result["joints/planet_pin/reaction_force"], 0.2 * acceleration - F, atol=1e-9)
    np.testing.assert_allclose(result["joints/planet_pin/reaction_moment"], 0.0, atol=1e-9)
    T = result["couplings/inner/force"]
    np.testing.assert_allclose(
        result["couplings/inner/power"], T * result["joints/planet_pin/velocity"][:, 0]
    )


def test_a_planetary_set_is_in_balance_part_by_part(tmp_path):
    """Sun driven, ring held, arm loaded: every part moves as the forces on it say, the bearings' included."""
    from flexmbs.case.runner import execute

    data = planetary(pressure_angle=ALPHA)
    inner = data["couplings"]["inner"]
    data["couplings"]["sun"] = {k: v for k, v in inner.items() if k != "internal"} | {
        "wheels": ["sun", "planet"], "teeth": [20, 20]
    }  # fmt: skip
    data["drives"]["motor"] = {"joint": "sun_shaft", "position": "=8*t + 3*t**2"}
    data["forces"] = {"load": {"type": "torque", "on": "arm", "torque": [0, 0, -2.0]}}
    result = execute(Case.from_dict(data), tmp_path / "p.h5").result
    t = result["time"]
    arm = result["joints/arm_shaft/position"][:, 0]
    pin = 0.03 * np.column_stack([np.cos(arm), np.sin(arm), 0 * t])
    np.testing.assert_allclose(arm, (8 * t + 3 * t**2) * 20 / 80, atol=1e-12)
    sun, ring = (result[f"couplings/{name}/contact_force"] for name in ("sun", "inner"))
    on = {j: result[f"joints/{j}/reaction_force"] for j in ("sun_shaft", "arm_shaft", "planet_pin")}
    m, scale = 0.2, np.abs(sun).max()
    a = result["bodies/planet/acceleration"]
    np.testing.assert_allclose(on["planet_pin"] + ring - sun, m * a, atol=1e-9 * scale)
    np.testing.assert_allclose(on["sun_shaft"] + sun, 0.0, atol=1e-9 * scale)
    np.testing.assert_allclose(on["arm_shaft"] - on["planet_pin"], 0.0, atol=1e-9 * scale)
    moment = result["joints/arm_shaft/reaction_moment"][:, 2]
    np.testing.assert_allclose(moment, 0.0, atol=1e-9)  # its bearing turns freely
    spin = result["bodies/arm/angular_acceleration"][:, 2]
    np.testing.assert_allclose(-np.cross(pin, on["planet_pin"])[:, 2] - 2.0, 1e-4 * spin, atol=1e-9)
    effort = result["drives/motor/effort"]
    np.testing.assert_allclose(result["joints/sun_shaft/reaction_moment"][:, 2], effort, atol=1e-12)


WRONG = [
    ({"module": 0.002}, "teeth say 1 : -3"),
    ({"wheels": ["sun", "ground"], "teeth": [20, 60]}, "stand on one axis"),
    (
        {"carrier": "ground", "wheels": ["planet", "sun"], "teeth": [20, 20], "internal": False},
        "no common axis",
    ),
]


@pytest.mark.parametrize("keys, words", WRONG)
def test_teeth_that_do_not_meet_are_named(keys, words):
    data = planetary(pressure_angle=ALPHA)
    data["couplings"]["inner"] |= keys
    with pytest.raises(InputError) as error:
        system = Case.from_dict(data).system()
        system.forward_dynamics(system.initial_state())
    found = error.value.diagnostics[0]
    assert found.code == "gear.geometry" and found.where == "couplings.inner"
    assert words in found.what or words in str(found)


@pytest.mark.parametrize(
    "keys", [{"helix_angle": 0.2, "type": "bevel_gear"}, {"lead_angle": 0.2}, {"module": None}]
)
def test_keys_of_other_gears_are_errors(keys):
    data = planetary(pressure_angle=ALPHA)
    gear = data["couplings"]["inner"] | keys
    data["couplings"]["inner"] = {key: value for key, value in gear.items() if value is not None}
    with pytest.raises(InputError):
        Case.from_dict(data)


def differential(**more):
    """Side wheels on ground with z axes from the apex, the second against the cage's; spider on the cage."""
    wheel = {"type": "rigid", "mass": 0.2, "inertia": {"ixx": 1e-4, "iyy": 1e-4, "izz": 2e-4}}
    gear = {
        "type": "bevel_gear",
        "carrier": "cage",
        "teeth": [30, 18],
        "module": 0.002,
        "pressure_angle": 0.35,
    }
    turned = {"axis": [0, 1, 0], "angle": "90 deg"}
    half = {"type": "revolute", "axis": [0, 0, 1]}
    return {
        "ground": {"frames": {"A": {"pos": [0, 0, 0.018]}, "B": {"pos": [0, 0, -0.018]}}},
        "bodies": {
            "A": wheel, "B": wheel, "spider": wheel,
            "cage": wheel | {"frames": {"pin": {"pos": [0.03, 0, 0], "rot": turned}}},
        },
        "joints": {
            "A": half | {"from": "ground.A", "to": "A"},
            "B": half | {"from": "ground.B", "to": "B", "axis": [0, 0, -1]},
            "cage": half | {"from": "ground", "to": "cage"},
            "pin": {"type": "revolute", "from": "cage.pin", "to": "spider"},
        },
        "couplings": {"a": gear | {"wheels": ["A", "spider"]}, "b": gear | {"wheels": ["B", "spider"]}},
        "drives": {
            "engine": {"joint": "cage", "position": "=6*t + 2*t**2"},
            "wheel": {"joint": "A", "position": "=5*t"},
        },
        "analysis": {"type": "kinematics", "t_end": 1.0},
    } | more  # fmt: skip


def test_half_shafts_of_a_differential_turn_by_twice_the_cage(tmp_path):
    """w_A + w_B = 2 w_C about one direction (Willis); the axis of B's own joint is opposed."""
    from flexmbs.case.runner import execute

    result = execute(Case.from_dict(differential()), tmp_path / "d.h5").result
    t = result["time"]
    np.testing.assert_allclose(-result["joints/B/position"][:, 0], 2 * (6 * t + 2 * t**2) - 5 * t, atol=1e-12)
    np.testing.assert_allclose(result["couplings/b/force"], 2e-4 * -8.0, rtol=1e-9)  # free: J times w_B'
    # the spider turns by (w_A - w_C) 30/18 against its wheels, and takes what they give
    spin = -2e-4 * (0.0 - 4.0) * 30 / 18
    np.testing.assert_allclose(
        18 / 30 * (result["couplings/a/force"] + result["couplings/b/force"]), spin, rtol=1e-9
    )


def test_angles_about_axes_that_are_not_parallel_are_no_turn():
    """The spider of a differential against ground: the turns of cage and pin do not add."""
    data = differential()
    del data["couplings"]["a"]["carrier"]
    with pytest.raises(InputError, match=r"joints\.cage and joints\.pin are not parallel"):
        build(Case.from_dict(data).model())
