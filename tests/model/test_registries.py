"""Over the registries: every joint as branch and as cut, every coupling and every force against the hand."""

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import constant, parse
from flexmbs.model.bodies import Frame, FreeStart, Particle, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.forces.base import FORCES
from flexmbs.model.forces.joint_force import JointForce
from flexmbs.model.joints import JOINTS
from flexmbs.model.joints.base import ROTATION
from flexmbs.model.model import Model
from flexmbs.spatial import exp_so3
from tests import reference
from tests.dynamics.mechanisms import body_accelerations, moving_state
from tests.model.test_couplings import spinning

KEYS = {"helical": {"lead": 0.3}, "distance": {"length": 0.8}}


def hung(kind, cut, reverse):
    """A body on a moving base, held by one joint of a kind, and by springs."""
    rng = np.random.default_rng(3)
    model = Model(gravity=(1.0, -9.0, 2.0))
    model.add(
        RigidBody(
            name="base", mass=1.0, inertia=np.diag([0.2, 0.3, 0.4]), frames={"f": Frame(pos=[0.3, 0.1, 0])}
        )
    )
    model.add(
        RigidBody(
            name="arm", mass=2.0, com=[0.1, 0.2, 0.3], inertia=np.diag([0.5, 0.4, 0.3]),
            frames={"f": Frame(pos=rng.normal(size=3) * 0.2, rot=exp_so3(rng.normal(size=3) * 0.3))},
        )
    )  # fmt: skip
    ends = ("arm.f", "base.f") if reverse else ("base.f", "arm.f")
    root = {"axis": [1, 2, 3], "position": [0.2], "velocity": [0.3], "hold": True}
    model.add(JOINTS["revolute"](name="root", from_frame="ground", to_frame="base", **root))
    model.add(JOINTS[kind](name="j", from_frame=ends[0], to_frame=ends[1], cut=cut, **KEYS.get(kind, {})))
    if kind == "distance":  # a start at its length: poses say where the arm is
        model.bodies["arm"].pose_pos, model.bodies["arm"].pose_given = np.array([1.0, 0.4, 0.2]), True
    return build(model)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("kind", list(JOINTS))
def test_every_joint_as_branch_and_as_cut_is_the_dense_solution(kind, cut, reverse):
    system = hung(kind, cut, reverse)
    place = system.joints["j"]
    assert bool(place.body) == (place.joint.has_motion and not cut)
    evaluator, state = moving_state(system, 11)
    acc = evaluator.observe(state)
    truth = reference.solve(system, evaluator, state)
    scale = max(1.0, *(np.abs(a).max() for a in truth.a_hat.values()))
    found = body_accelerations(system, evaluator, acc)
    for name, a in truth.a_hat.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-9 * scale)
    j = list(system.joints).index("j")
    np.testing.assert_allclose(evaluator.ws.joint.reaction[j], truth.wrench["j"], rtol=0, atol=1e-8 * scale)


DRIVABLE = [
    (k, c)
    for k in JOINTS
    for c in JOINTS[k](name="j", from_frame="", to_frame="", **KEYS.get(k, {})).drivable
]


@pytest.mark.parametrize("kind, name", [item for item in DRIVABLE if item[1] != ROTATION])
def test_every_coordinate_can_be_driven_as_branch_and_as_cut(kind, name):
    """By an expression: its second derivative, and one effort, whether the joint is a branch or a cut."""
    model = hung(kind, False, False).model
    model.add(Drive(name="d", joint="j", coordinate=name, position=parse("=0.1 + 0.4*t + 0.8*t**2")))
    branch = build(model)
    _, state = moving_state(branch, 4)
    motion = branch.forward_dynamics(state)
    model.joints["j"].cut = True
    cut = build(model)
    again = cut.forward_dynamics(cut.state_like(branch, state))
    number = [item.name for item in branch.joints["j"].coordinates].index(name)
    assert motion["joints.j.acceleration"][number] == pytest.approx(1.6, rel=1e-9)
    assert again["joints.j.acceleration"][number] == pytest.approx(1.6, rel=1e-7)
    assert again["drives.d"] == pytest.approx(motion["drives.d"], rel=1e-7, abs=1e-9)
    # the effort as a force makes the same motion
    from dataclasses import replace

    forced = replace(model, drives={}, forces={})
    model.joints["j"].cut = False
    forced.add(JointForce(name="f", joint="j", coordinate=name, value=motion["drives.d"]))
    free = build(forced)
    same = free.forward_dynamics(free.state_like(branch, state))
    np.testing.assert_allclose(
        same["joints.j.acceleration"], motion["joints.j.acceleration"], rtol=1e-8, atol=1e-9
    )


@pytest.mark.parametrize("kind", [k for k, name in DRIVABLE if name == ROTATION])
def test_every_ball_can_be_driven_as_branch_and_as_cut(kind):
    """By a rotation: its speeds and their rates, and one torque, whether the joint is a branch or a cut."""
    model = hung(kind, False, False).model
    parts = (constant(0.9), parse("=0.1 - 0.4*t"), parse("=0.2 + 0.8*t**2"), parse("=0.3*t"))
    law = RotationLaw("quaternion", parts)
    model.add(Drive(name="d", joint="j", coordinate=ROTATION, position=law))
    branch = build(model)
    _, state = moving_state(branch, 4)
    motion = branch.forward_dynamics(state)
    model.joints["j"].cut = True
    cut = build(model)
    again = cut.forward_dynamics(cut.state_like(branch, state))
    for path in ("joints.j.acceleration", "drives.d", "joints.j.reaction_moment"):
        np.testing.assert_allclose(again[path], motion[path], rtol=1e-7, atol=1e-9)
    # the effort as a torque on Q, and back on P, makes the same motion
    model.joints["j"].cut, model.drives = False, {}
    moments = branch.evaluator()
    moments.kinematics(state.copy())
    moment = moments.ws.marker.R[branch.joints["j"].Q.number] @ motion["drives.d"]
    for body, sign in (("arm", 1.0), ("base", -1.0)):
        model.add(FORCES["torque"](name=f"on_{body}", on=body, torque=list(sign * moment), axes="ground"))
    free = build(model)
    same = free.forward_dynamics(free.state_like(branch, state))
    np.testing.assert_allclose(
        same["joints.j.acceleration"], motion["joints.j.acceleration"], rtol=1e-8, atol=1e-9
    )


def two_shafts(kind, second="revolute", side=None, **keys):
    """Two bodies on joints a, b to ground with inertias 0.5 and 0.2 and efforts 3 and -0.7, coupled."""
    model = Model()
    model.ground_frames["side"] = Frame(pos=[0.3, 0, 0], rot=np.eye(3) if side is None else side)
    wheel = RigidBody(name="B", mass=0.2, inertia=np.eye(3) * 0.2)
    wheel.pose_pos, wheel.pose_given = np.array([0.3, 0, 0]), True
    wheel.pose_rot = np.eye(3) if side is None else side
    model.add(spinning("A", 0.5), wheel)
    model.add(JOINTS["revolute"](name="a", from_frame="ground", to_frame="A", velocity=[1.2]))
    model.add(JOINTS[second](name="b", from_frame="ground.side", to_frame="B"))
    model.add(JointForce(name="ma", joint="a", value=3.0), JointForce(name="mb", joint="b", value=-0.7))
    model.add(COUPLINGS[kind](name="c", **keys))
    return build(model)


RIGHT_ANGLE = np.array([[0, 0, 1.0], [0, 1.0, 0], [-1.0, 0, 0]])
WHEELS = {"wheels": ("A", "B")}
#: coupling, its joints and keys, the ratio db/da of its law
LAWS = {
    "spur": ("gear", "revolute", None, WHEELS | {"teeth": (20, 50), "module": 0.004}, -20 / 50),
    "internal": ("gear", "revolute", None, WHEELS | {"teeth": (20, 50), "internal": True}, 20 / 50),
    "bevel": ("bevel_gear", "revolute", RIGHT_ANGLE, WHEELS | {"teeth": (20, 50)}, -20 / 50),
    "worm": ("worm_gear", "revolute", RIGHT_ANGLE, WHEELS | {"teeth": (2, 50)}, -2 / 50),
    "rack": ("rack_pinion", "prismatic", RIGHT_ANGLE, {"pinion": "a", "rack": "b", "radius": 0.04}, 0.04),
    "screw": ("screw", "prismatic", None, {"nut": "a", "slide": "b", "lead": 0.05}, 0.05 / (2 * np.pi)),
    "linear": ("linear", "revolute", None, {"terms": {"a": 24.0, "b": 18.0}}, -24 / 18),
    "cam": ("cam", "prismatic", None, {"cam": "a", "follower": "b", "lift": parse("=0.1*x")}, 0.1),
    "expression": ("expression", "revolute", None, {"zero": parse("=b.position - 0.7*a.position")}, 0.7),
}


def test_every_registered_coupling_is_here():
    assert {law[0] for law in LAWS.values()} == set(COUPLINGS)


@pytest.mark.parametrize("cut", ["", "a", "b"])
@pytest.mark.parametrize("name", LAWS)
def test_every_coupling_keeps_its_law_and_passes_force_without_loss(name, cut):
    kind, second, side, keys, ratio = LAWS[name]
    system = two_shafts(kind, second, side, **keys)
    if cut:
        system.model.joints[cut].cut = True
        system = build(system.model)
    motion = system.forward_dynamics(system.initial_state())
    inertia_b = 0.2  # mass and moment of inertia alike
    expected = (3.0 - 0.7 * ratio) / (0.5 + inertia_b * ratio**2)
    a, b = (motion[f"joints.{j}.acceleration"][0] for j in "ab")
    assert a == pytest.approx(expected, rel=1e-9) and b == pytest.approx(ratio * expected, rel=1e-9)
    speeds = [motion[f"joints.{j}.velocity"][0] for j in "ab"]
    np.testing.assert_allclose(speeds, [1.2, 1.2 * ratio], rtol=1e-9)
    on_a, on_b = 0.5 * a - 3.0, inertia_b * b + 0.7  # what the coupling puts on the shafts
    assert on_a * speeds[0] + on_b * speeds[1] == pytest.approx(0.0, abs=1e-9)
    force = motion["couplings.c"]
    if "teeth" in keys:
        assert force == pytest.approx(on_a, rel=1e-9)  # torque on wheel A
    elif name == "cam":
        assert force == pytest.approx(on_b, rel=1e-9)  # contact force, in the direction of lift
    else:  # the multiplier: its law's slopes times it
        slope_b = {"linear": 18.0}.get(name, 1.0)
        assert force * slope_b == pytest.approx(on_b, rel=1e-9)


def test_planetary_set_with_moving_carrier_shares_torques_as_its_teeth_say():
    """Sun driven, ring held, carrier loaded: torques 1 : zr/zs : -(1 + zr/zs), all in balance."""
    zs, zp, zr = 20, 25, 70
    model = Model()
    model.add(spinning("sun", 1e-9), spinning("arm", 1e-9), spinning("planet", 1e-9, (0.045, 0, 0)))
    for name in ("sun", "arm", "planet"):
        model.bodies[name].mass = 1e-9
    model.add(RigidBody(name="load", mass=1.0, inertia=np.eye(3) * 2.0))
    model.bodies["arm"].frames["pin"] = Frame(pos=[0.045, 0, 0])
    model.add(JOINTS["revolute"](name="sun", from_frame="ground", to_frame="sun", velocity=[9.0]))
    model.add(JOINTS["revolute"](name="arm", from_frame="ground", to_frame="arm"))
    model.add(JOINTS["revolute"](name="pin", from_frame="arm.pin", to_frame="planet"))
    model.add(JOINTS["fixed"](name="flange", from_frame="arm", to_frame="load"))
    model.add(JointForce(name="motor", joint="sun", value=4.0))
    gear = COUPLINGS["gear"]
    model.add(gear(name="inner", wheels=("sun", "planet"), carrier="arm", teeth=(zs, zp)))
    model.add(gear(name="outer", wheels=("planet", "ground"), carrier="arm", teeth=(zp, zr), internal=True))
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    ratio = 1 + zr / zs
    assert motion["joints.arm.velocity"][0] == pytest.approx(9.0 / ratio, rel=1e-9)
    assert motion["joints.arm.acceleration"][0] == pytest.approx(4.0 * ratio / 2.0, rel=1e-6)
    assert motion["couplings.inner"] == pytest.approx(-4.0, rel=1e-6)  # on the sun: it holds the motor
    on_ring = -motion["couplings.outer"] / zp * -zr  # law zp a - zr b: torque on B from that on A
    assert abs(on_ring) == pytest.approx(4.0 * zr / zs, rel=1e-6)
    # power: what the motor gives arrives at the load
    assert 4.0 * 9.0 == pytest.approx(2.0 * motion["joints.arm.acceleration"][0] * 9.0 / ratio, rel=1e-6)


def test_every_registered_force_acts_and_reacts():
    """Each force in its simplest form moves a free body as Newton says, and loads the other side alike."""
    keys = {
        "point": {"on": "b", "force": [1.0, 2.0, 3.0]},
        "torque": {"on": "b", "torque": [1.0, 2.0, 3.0]},
        "spring_damper": {"from_frame": "ground", "to_frame": "b", "stiffness": 4.0, "length": 0.5},
        "bushing": {
            "from_frame": "ground",
            "to_frame": "b",
            "stiffness": [4.0] * 3 + [2.0] * 3,
            "damping": [0.0] * 6,
        },
        "joint_force": {"joint": "slide", "value": 2.5},
    }
    for kind in FORCES:
        if kind == "distributed":
            continue  # on meshes: tests/model/test_loads.py
        model = Model()
        model.add(RigidBody(name="b", mass=2.0, inertia=np.eye(3) * 0.5))
        joint = "prismatic" if kind == "joint_force" else "free"
        start = (
            {"position": [0.8]}
            if kind == "joint_force"
            else {"position": [0.8, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}
        )
        model.add(JOINTS[joint](name="slide", from_frame="ground", to_frame="b", **start))
        model.add(FORCES[kind](name="f", **keys[kind]))
        system = build(model)
        motion = system.forward_dynamics(system.initial_state()).bodies["b"]
        expected = {
            "point": ([0.5, 1.0, 1.5], [0, 0, 0]), "torque": ([0, 0, 0], [2.0, 4.0, 6.0]),
            "spring_damper": ([-4.0 * 0.3 / 2.0, 0, 0], [0, 0, 0]),
            "bushing": ([-4.0 * 0.8 / 2.0, 0, 0], [0, 0, 0]),
            "joint_force": ([0, 0, 1.25], [0, 0, 0]),
        }[kind]  # fmt: skip
        np.testing.assert_allclose(motion.acceleration, expected[0], atol=1e-12, err_msg=kind)
        np.testing.assert_allclose(motion.angular_acceleration, expected[1], atol=1e-12, err_msg=kind)


def test_a_rod_whose_length_depends_on_time_pulls_as_its_pendulum_says():
    """Particle on a rod of length l(t): l'' - v^2 / l along it, gravity across."""
    length, rate, second, v, m = 0.8, 0.3, -0.9, 1.7, 2.0
    model = Model(gravity=(0, -9.81, 0))
    model.add(Particle(name="bob", mass=m, initial=FreeStart(pos=[length, 0, 0], velocity=[rate, v, 0])))
    law = parse(f"={length} + {rate}*t + {0.5 * second}*t**2")
    model.add(JOINTS["distance"](name="rod", from_frame="ground", to_frame="bob", length=law))
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    a = second - v * v / length
    np.testing.assert_allclose(motion["bodies.bob.acceleration"], [a, -9.81, 0], atol=1e-9)
    np.testing.assert_allclose(motion["joints.rod.reaction_force"], [m * a, 0, 0], atol=1e-9)
    np.testing.assert_allclose(motion["bodies.bob.velocity"], [rate, v, 0], atol=1e-12)
