"""The recursion against a dense solution in absolute coordinates, on random mechanisms."""

import json

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.model.numbering import _is_diagonal
from flexmbs.resources import resource
from flexmbs.spatial import axis_angle, quat_from_matrix
from tests import reference
from tests.dynamics.mechanisms import body_accelerations, moving_state, random_mechanism


def compare(seed, **options):
    system = build(random_mechanism(seed, **options))
    evaluator, state = moving_state(system, seed + 1)
    acc = evaluator.observe(state)
    truth = reference.solve(system, evaluator, state)
    found = body_accelerations(system, evaluator, acc)
    scale = max(1.0, *(np.abs(a).max() for a in truth.a_hat.values()))
    assert np.abs(truth.g).max(initial=0.0) < 1e-11
    assert np.abs(truth.g_dot).max(initial=0.0) < 1e-10
    for name, a in truth.a_hat.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-10 * scale)  # rounding, scaled
    return system, evaluator, truth, scale


def check_reactions(system, evaluator, truth, scale):
    for j, name in enumerate(system.joints):
        if name in truth.wrench:
            np.testing.assert_allclose(
                evaluator.ws.joint.reaction[j], truth.wrench[name], rtol=0, atol=1e-9 * scale, err_msg=name
            )


@pytest.mark.parametrize("seed", range(25))
def test_open_trees_agree_with_the_dense_solution_F22(seed):
    system, evaluator, truth, scale = compare(seed, flexible=0.5 * (seed % 2))
    check_reactions(system, evaluator, truth, scale)


@pytest.mark.parametrize("seed", range(100, 140))
def test_closed_loops_agree_with_the_dense_solution_F26(seed):
    system, evaluator, truth, scale = compare(seed, n_loops=2, flexible=0.5 * (seed % 2))
    if truth.rank == truth.n_rows:
        check_reactions(system, evaluator, truth, scale)


@pytest.mark.parametrize("seed", range(300, 312))
def test_many_modes_by_low_rank_agree_with_the_dense_solution_F24a(seed):
    options = {"n_bodies": 3, "n_loops": 1, "flexible": 0.8, "modes": 26}
    system, *_ = compare(seed, **options)
    assert np.any(system.tables.body.low_rank >= 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 400))
def test_many_mechanisms_agree_with_the_dense_solution(seed):
    compare(seed, n_bodies=7, n_loops=seed % 4, flexible=0.4)


@pytest.mark.parametrize("seed", range(100, 112))
def test_motion_and_forces_do_not_depend_on_the_cut_F28(seed):
    first = build(random_mechanism(seed, n_loops=2))
    evaluator, state = moving_state(first, 3)
    acc = evaluator.observe(state)
    motion, reaction = (
        body_accelerations(first, evaluator, acc),
        dict(zip(first.joints, evaluator.ws.joint.reaction.copy(), strict=True)),
    )
    pose = {
        name: (evaluator.ws.body.r[i].copy(), evaluator.ws.body.v[i].copy(), elastic(first, state.vel, i))
        for name, i in first.numbers.index.items()
    }
    for joint in [j for j in first.model.joints.values() if j.has_motion][:4]:
        model = random_mechanism(seed, n_loops=2, cuts=(joint.name,))
        other = build(model)
        evaluator, state = other.evaluator(), other.initial_state()
        state.vel[:] = speeds_of(other, evaluator, state, pose)
        found = body_accelerations(other, evaluator, evaluator.observe(state))
        scale = max(np.abs(a).max() for a in motion.values())
        for name, a in motion.items():
            np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-9 * scale)
        for j, name in enumerate(other.joints):
            if name in first.model.joints:
                np.testing.assert_allclose(
                    evaluator.ws.joint.reaction[j], reaction[name], rtol=0, atol=1e-8 * scale, err_msg=name
                )


def elastic(system, vel, i):
    k = system.tables.tree.o_qd[i]
    return vel[k : k + system.tables.body.nf[i]].copy()


def speeds_of(system, evaluator, state, pose):
    """Speeds that give the bodies and their modes the velocities of `pose`."""
    target = np.concatenate([x for name in system.bodies for x in pose[name][1:]])
    J = []
    for k in range(system.n_vel):
        state.vel[:] = 0.0
        state.vel[k] = 1.0
        evaluator.kinematics(state)
        rows = [(evaluator.ws.body.v[i], elastic(system, state.vel, i)) for i in range(len(system.bodies))]
        J.append(np.concatenate([x for pair in rows for x in pair]))
    for name, i in system.numbers.index.items():
        np.testing.assert_allclose(evaluator.ws.body.r[i], pose[name][0], atol=1e-9)
    return np.linalg.lstsq(np.array(J).T, target, rcond=None)[0]


def test_all_lower_pairs_in_a_chain_against_published_numbers():
    data = json.loads(resource("cases", "reference", "joint-zoo-open-chain.json").read_text())
    system, state = zoo(data["parameters"])
    evaluator = system.evaluator()
    expected = np.concatenate(data["reference"]["joint_accelerations"])
    from flexmbs.dynamics import evaluate

    for effort in data["parameters"]["joint_efforts"]:
        c = system.coordinate(f"b{effort['body']}").number
        evaluator.ws.coord.tau[c] = effort["value"]
    args = evaluator._args(state, evaluator.acc)
    evaluate.kinematics(*args)
    evaluate.masses(system.tables, evaluator.ws, state.pos, state.vel)
    evaluate.residuals(system.tables, evaluator.ws, state.pos, state.vel, evaluator.acc)
    assert evaluate.eliminate(*args[:4], 0.0, 0.0, evaluate.ACCELERATION) == 0
    evaluate.change(system.tables, evaluator.ws)
    np.testing.assert_allclose(evaluator.ws.tree.eta_hat_dot, expected, rtol=1e-11)
    bodies = data["reference"]["bodies"]
    for i, body in enumerate(bodies, start=1):
        np.testing.assert_allclose(evaluator.ws.body.r[i], body["joint_point"], atol=1e-13)
        np.testing.assert_allclose(
            evaluator.ws.body.v[i, 3:], body["angular_velocity"], rtol=1e-11, atol=1e-12
        )
        alpha = evaluator.ws.body.a[i, 3:] + evaluator.ws.body.da[i, 3:]
        np.testing.assert_allclose(alpha, body["angular_acceleration"], rtol=1e-10)


def zoo(p):
    """The chain of the reference file, and its state."""
    model, pos, vel = Model(gravity=p["gravity"]), [], []

    def turn(k, angle):
        return axis_angle(np.eye(3)[k], angle)

    for body in p["bodies"]:
        inertia = np.array(body["inertia"])
        model.add(RigidBody(name=body["name"], mass=body["mass"], com=body["com"], inertia=inertia))
    for body in p["bodies"]:
        joint = body["joint"]
        parent = "ground" if body["parent"] < 0 else f"b{body['parent']}"
        frames = model.ground_frames if body["parent"] < 0 else model.bodies[parent].frames
        frames[body["name"]] = Frame(pos=joint["pos"], rot=turn(0, joint["rx"]) @ turn(1, joint["ry"]))
        keys = {"lead": 2 * np.pi * joint["p"]} if joint["type"] == "helical" else {}
        name = body["name"]
        model.add(JOINTS[joint["type"]](name=name, from_frame=f"{parent}.{name}", to_frame=name, **keys))
        q = body["q"]
        if joint["type"] == "spherical":
            q = list(quat_from_matrix(turn(0, q[0]) @ turn(1, q[1]) @ turn(2, q[2])))
        pos, vel = pos + q, vel + body["qd"]
    system = build(model)
    state = system.initial_state()
    state.pos[:], state.vel[:] = pos, vel
    return system, state


def test_rounding_beside_the_diagonal_does_not_make_an_elastic_block_dense_F24a():
    size = np.array([1.0, 40.0, 1e6])
    beside = np.ones((3, 3)) - np.eye(3)
    for factor, diagonal in ((5e-11, True), (1e-8, False)):
        assert _is_diagonal(np.diag(size) + factor * beside * np.sqrt(np.outer(size, size))) is diagonal


def test_a_motion_keeps_its_numbers_when_another_is_asked_for():
    """Parts of a motion are views of arrays of its own, not of those that the next evaluation fills."""
    system = build(random_mechanism(3, n_loops=1))
    (_, first), (_, second) = moving_state(system, 1), moving_state(system, 2)
    motion = system.forward_dynamics(first)
    before = {name: np.array(motion[name]) for name in motion.names()}
    other = system.forward_dynamics(second)
    first.pos[:] = second.pos
    assert any(not np.array_equal(before[name], other[name]) for name in before)
    assert all(np.array_equal(before[name], motion[name], equal_nan=True) for name in before)
