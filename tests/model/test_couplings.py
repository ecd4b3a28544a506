"""Couplings against closed forms, with their joints in the tree and as cuts."""

import json

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.resources import resource


def problem(name):
    data = json.loads(resource("cases", "reference", f"{name}.json").read_text())
    return data["parameters"], data["reference"]


def spinning(name, J, at=(0.0, 0.0, 0.0)):
    return RigidBody(name=name, mass=1.0, inertia=np.diag([J, J, J]), pose_pos=at, pose_given=True)


def accelerations(model, state=None):
    system = build(model)
    return system.forward_dynamics(state or system.initial_state())


@pytest.mark.parametrize("internal", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_gear_pair_shares_the_torques(internal, reverse):
    from flexmbs.model.forces.joint_force import JointForce

    p, expected = problem("joint-gear-pair")
    model = Model()
    model.ground_frames.update(a=Frame(), b=Frame(pos=[0.14, 0, 0]))
    model.add(spinning("A", p["J1"]), spinning("B", p["J2"], (0.14, 0, 0)))
    ends = ("B", "ground.b") if reverse else ("ground.b", "B")
    model.add(JOINTS["revolute"](name="a", from_frame="ground.a", to_frame="A"))
    model.add(JOINTS["revolute"](name="b", from_frame=ends[0], to_frame=ends[1]))
    sign = -1.0 if reverse else 1.0  # the turn of ground against the wheel
    model.add(JointForce(name="m1", joint="a", value=p["tau1"]))
    model.add(JointForce(name="m2", joint="b", value=sign * p["tau2"]))
    gear = COUPLINGS["gear"]
    model.add(
        gear(name="g", wheels=("A", "B"), teeth=(p["z1"], p["z2"]), module=p["module"], internal=internal)
    )
    motion = accelerations(model)
    alpha = expected["internal_mesh_variant"]["alpha1"] if internal else expected["alpha1"]
    assert motion["joints.a.acceleration"][0] == pytest.approx(alpha, rel=1e-10)
    assert motion["couplings.g"] == pytest.approx(p["J1"] * alpha - p["tau1"], rel=1e-10)
    if not internal:
        assert sign * motion["joints.b.acceleration"][0] == pytest.approx(expected["alpha2"], rel=1e-10)


def test_cam_with_flat_follower_gives_motion_and_contact_force():
    p, expected = problem("joint-cam-eccentric")
    for degrees, numbers in expected["table_y_v_a_contactforce_drivetorque"].items():
        angle = np.deg2rad(float(degrees.removesuffix("deg")))
        model = Model(gravity=(0, -p["g"], 0))
        model.ground_frames["guide"] = Frame(rot=np.array([[1, 0, 0], [0, 0, 1.0], [0, -1.0, 0]]))
        model.add(spinning("cam", 1e-3), RigidBody(name="follower", mass=p["m"]))
        model.add(JOINTS["revolute"](name="cam", from_frame="ground", to_frame="cam"))
        spring = {"force": parse(f"={-p['k']}*(x - {p['r'] - p['e']}) - {p['preload']}")}
        guide = JOINTS["prismatic"](
            name="follower", from_frame="ground.guide", to_frame="follower", spring=spring
        )
        guide.axis = None
        model.add(guide)
        model.add(Drive(name="motor", joint="cam", position=parse(f"={angle} + {p['omega']}*t")))
        model.add(
            COUPLINGS["cam"](
                name="c", cam="cam", follower="follower", lift=parse(f"={p['r']} + {p['e']}*sin(x)")
            )
        )
        model.ground_frames["guide"].rot = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
        motion = accelerations(model)
        y, v, a, contact, torque = numbers
        assert motion["joints.follower.position"][0] == pytest.approx(y, rel=1e-9)
        assert motion["joints.follower.velocity"][0] == pytest.approx(v, rel=1e-9, abs=1e-12)
        assert motion["joints.follower.acceleration"][0] == pytest.approx(a, rel=1e-9, abs=1e-9)
        assert motion["couplings.c"] == pytest.approx(contact, rel=1e-9)
        assert motion["drives.motor"] == pytest.approx(torque, rel=1e-9)


def test_rack_screw_linear_and_expression_keep_their_laws():
    laws = {
        "rack_pinion": ({"pinion": "a", "rack": "b", "radius": 0.3}, 0.3),
        "screw": ({"nut": "a", "slide": "b", "lead": 0.3 * 2 * np.pi}, 0.3),
        "linear": ({"terms": {"b": 1.0, "a": -0.3}}, 0.3),
        "expression": ({"zero": parse("=joints.b.position[0] - 0.3*joints.a.position[0]")}, 0.3),
    }
    for kind, (keys, ratio) in laws.items():
        model = Model(gravity=(0, 0, -10.0))
        model.add(spinning("A", 0.5), spinning("B", 0.1))
        model.add(JOINTS["revolute"](name="a", from_frame="ground", to_frame="A", velocity=[2.0]))
        model.add(JOINTS["prismatic"](name="b", from_frame="ground", to_frame="B"))
        model.add(COUPLINGS[kind](name="c", **keys))
        motion = accelerations(model)
        # m z'' + J a'' / ratio = -m g with z'' = ratio a''
        expected = -10.0 / (1.0 + 0.5 / ratio**2)
        assert motion["joints.b.acceleration"][0] == pytest.approx(expected, rel=1e-12), kind
        assert motion["joints.a.velocity"][0] == pytest.approx(2.0, rel=1e-12)
        assert motion["joints.b.velocity"][0] == pytest.approx(2.0 * ratio, rel=1e-12)
        assert motion["couplings.c"] == pytest.approx(10.0 + expected, rel=1e-12), kind


def test_planet_wheel_runs_on_a_moving_carrier():
    """Sun fixed, arm turns: the planet turns 1 + zs/zp times as fast as the arm."""
    model = Model()
    model.add(spinning("arm", 0.1), spinning("planet", 0.02, (0.2, 0, 0)))
    model.bodies["arm"].frames["pin"] = Frame(pos=[0.2, 0, 0])
    model.add(JOINTS["revolute"](name="arm", from_frame="ground", to_frame="arm", velocity=[1.5]))
    model.add(JOINTS["revolute"](name="pin", from_frame="arm.pin", to_frame="planet"))
    model.add(COUPLINGS["gear"](name="g", wheels=("ground", "planet"), carrier="arm", teeth=(40, 20)))
    motion = accelerations(model)
    assert motion["bodies.planet.angular_velocity"][2] == pytest.approx(1.5 * (1 + 40 / 20), rel=1e-9)


def test_a_coupling_on_a_cut_joint_is_the_same_as_on_a_branch():
    found = []
    for cut in ("a", "b", "c", "d"):
        model = four_bar()
        model.joints[cut].cut = True
        model.add(spinning("wheel", 0.3))
        model.bodies["wheel"].pose_pos = np.array([0.0, 0, 0.5])
        model.ground_frames["w"] = Frame(pos=[0, 0, 0.5])
        model.add(JOINTS["revolute"](name="w", from_frame="ground.w", to_frame="wheel"))
        model.add(COUPLINGS["linear"](name="l", terms={"w": 1.0, "d": -3.0}))
        system = build(model)
        motion = system.forward_dynamics(system.initial_state())
        found.append(
            [motion["joints.w.acceleration"][0], motion["couplings.l"], motion["joints.a.velocity"][0]]
        )
        assert motion["joints.w.acceleration"][0] == pytest.approx(3 * motion["joints.d.acceleration"][0])
    np.testing.assert_allclose(found, np.tile(found[0], (4, 1)), rtol=1e-9)


def four_bar():
    model = Model(gravity=(0, -9.81, 0))
    model.ground_frames["g"] = Frame(pos=[1.2, 0, 0])
    ends = {"crank": 0.5, "rod": 1.0, "rocker": 0.8}
    for name, length in ends.items():
        model.add(
            RigidBody(
                name=name, mass=1.0, com=[length / 2, 0, 0], inertia=np.diag([0.01, 0.1, 0.1]),
                frames={"end": Frame(pos=[length, 0, 0])},
            )
        )  # fmt: skip
    revolute = JOINTS["revolute"]
    model.add(
        revolute(name="a", from_frame="ground", to_frame="crank", position=[1.0], velocity=[2.0]),
        revolute(name="b", from_frame="crank.end", to_frame="rod", position=[-0.7]),
        revolute(name="c", from_frame="rod.end", to_frame="rocker.end", position=[1.5]),
        revolute(name="d", from_frame="ground.g", to_frame="rocker"),
    )
    return model
