"""All joint types of the registry: the two faces describe the same motion (F19)."""

import numpy as np
import pytest

from flexmbs.dynamics.loops import projection
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.spatial import exp_so3, log_so3

KEYS = {"helical": {"lead": 0.3}, "distance": {"length": 1.0}}
EXPLICIT = [
    name
    for name in JOINTS
    if JOINTS[name](name="j", from_frame="", to_frame="", **KEYS.get(name, {})).has_motion
]


def twice(kind, reverse, rng):
    """A body on a moving base, joined twice by the same joint: once in the tree, once as a cut."""
    model = Model(gravity=(1.0, -9.0, 2.0))
    frames = {"f": Frame(pos=rng.normal(size=3), rot=exp_so3(rng.normal(size=3)))}
    model.add(RigidBody(name="base", mass=1.0, inertia=np.eye(3) * 0.2, frames=dict(frames)))
    frames = {"f": Frame(pos=rng.normal(size=3), rot=exp_so3(rng.normal(size=3)))}
    model.add(RigidBody(name="arm", mass=2.0, com=[0.1, 0.2, 0.3], inertia=np.eye(3), frames=frames))
    ends = ("arm.f", "base.f") if reverse else ("base.f", "arm.f")
    for name, cut in (("tree", False), ("again", True)):
        keys = KEYS.get(kind, {})
        axis = None if kind == "universal" else [1.0, 2.0, -1.0]
        model.add(JOINTS[kind](name=name, from_frame=ends[0], to_frame=ends[1], axis=axis, cut=cut, **keys))
    return build(model)


def random_state(system, rng):
    state = system.initial_state()
    state.pos[:] = rng.uniform(-1.0, 1.0, system.n_pos)
    for b in system.tables.prim.ball_beta:
        state.pos[b : b + 4] /= np.linalg.norm(state.pos[b : b + 4])
    state.vel[:] = rng.normal(size=system.n_vel)
    return state


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", EXPLICIT)
def test_explicit_motion_keeps_the_implicit_rows_F19(kind, reverse):
    rng = np.random.default_rng(7)
    system = twice(kind, reverse, rng)
    evaluator, state = system.evaluator(), random_state(system, rng)
    acc = rng.normal(size=system.n_vel)
    evaluator.kinematics(state, acc)
    ws = evaluator.ws
    # g = 0, G H = 0 with the drift of both faces alike: any rates, any rates of rates
    assert np.abs(ws.row.g).max(initial=0.0) < 1e-13
    assert np.abs(ws.row.g_dot).max(initial=0.0) < 1e-12
    assert np.abs(ws.row.g_ddot).max(initial=0.0) < 1e-11
    np.testing.assert_allclose(evaluator.jacobian(state), 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", EXPLICIT)
def test_a_second_equal_joint_changes_nothing_and_shares_the_load_F28(kind):
    rng = np.random.default_rng(8)
    system = twice(kind, False, rng)
    state = random_state(system, rng)
    state.turns[:] = 0.0
    motion = system.forward_dynamics(state)
    single = system.model
    del single.joints["again"]
    alone = build(single)
    other = alone.initial_state()
    other.pos[:], other.vel[:] = state.pos, state.vel
    truth = alone.forward_dynamics(other)
    a, b = motion["bodies.arm.acceleration"], truth["bodies.arm.acceleration"]
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    for name in ("reaction_force", "reaction_moment"):
        whole = truth[f"joints.tree.{name}"]
        for joint in ("tree", "again"):
            np.testing.assert_allclose(
                motion[f"joints.{joint}.{name}"],
                0.5 * whole,
                rtol=1e-7,
                atol=1e-8 * (1 + np.abs(whole).max()),
            )


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", EXPLICIT)
def test_columns_and_bias_are_derivatives_of_the_pose_F20(kind, reverse):
    rng = np.random.default_rng(9)
    system = twice(kind, reverse, rng)
    evaluator, state = system.evaluator(), random_state(system, rng)
    acc, h = rng.normal(size=system.n_vel), 1e-3
    evaluator.kinematics(state, acc)
    v, a = evaluator.ws.body.v.copy(), evaluator.ws.body.a.copy()

    def at(time):
        """Pose along the motion with constant rates of the speeds."""
        moved, steps = state.copy(), 40
        for k in range(steps):
            mid = state.vel + acc * (k + 0.5) * time / steps
            projection.add_increment(evaluator.tables, moved.pos.copy(), mid * time / steps, moved.pos)
        moved.vel[:] = state.vel + acc * time
        evaluator.kinematics(moved, acc)
        return evaluator.ws.body.r.copy(), evaluator.ws.body.R.copy(), evaluator.ws.body.v.copy()

    ahead, behind = at(h), at(-h)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), v[:, :3], rtol=0, atol=2e-5)
    turn = np.array([log_so3(A @ B.T) for A, B in zip(ahead[1], behind[1], strict=True)]) / (2 * h)
    np.testing.assert_allclose(turn, v[:, 3:], rtol=0, atol=2e-5)
    np.testing.assert_allclose((ahead[2] - behind[2]) / (2 * h), a, rtol=0, atol=3e-4)


def test_a_joint_with_both_sides_on_one_body_is_refused():
    model = Model()
    model.add(RigidBody(name="b", mass=1.0))
    model.add(JOINTS["revolute"](name="j", from_frame="b", to_frame="b"))
    with pytest.raises(InputError, match="both on b"):
        build(model)


def test_axis_turns_both_markers_so_that_zero_stays_where_the_frames_coincide():
    model = Model()
    model.add(RigidBody(name="b", mass=1.0, inertia=np.eye(3)))
    model.add(
        JOINTS["revolute"](name="j", from_frame="ground", to_frame="b", axis=[0, 0, -1], velocity=[2.0])
    )
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_allclose(motion["bodies.b.quaternion"], [1, 0, 0, 0], atol=1e-15)
    np.testing.assert_allclose(motion["bodies.b.angular_velocity"], [0, 0, -2.0], atol=1e-15)


def test_a_joint_by_point_and_axis_is_zero_at_the_poses():
    model = Model()
    R = exp_so3(np.array([0.3, -0.4, 0.5]))
    model.add(
        RigidBody(name="b", mass=1.0, inertia=np.eye(3), pose_pos=[1, 2, 3], pose_rot=R, pose_given=True)
    )
    model.add(
        JOINTS["revolute"](
            name="j", from_frame="ground", to_frame="b", point=[1, 0, 0], axis=[0, 1, 0], velocity=[1.0]
        )
    )
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_allclose(motion["bodies.b.position"], [1, 2, 3], atol=1e-14)
    np.testing.assert_allclose(motion["bodies.b.velocity"], np.cross([0, 1, 0], [0, 2, 3]), atol=1e-14)
