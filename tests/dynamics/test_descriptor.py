"""The descriptor form against the recursion: two derivations of one motion (F32-F33)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.model.bodies import RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.resources import resource
from tests.dynamics.mechanisms import moving_state, random_mechanism
from tests.model.test_couplings import four_bar

CASES = sorted(path.name for path in resource("cases").glob("*.toml") if ".reduce." not in path.name)


def both(model, state_of):
    """Motions of a model by the recursion and in dependent coordinates, at one state."""
    tree = build(model)
    state = state_of(tree)
    absolute = build(model, formulation="descriptor")
    return tree.forward_dynamics(state), absolute.forward_dynamics(absolute.state_like(tree, state))


def assert_same(first, second, rtol):
    """Accelerations of bodies and reactions of joints agree to `rtol` of the largest of their kind."""
    accelerations = [[b.acceleration, b.angular_acceleration, b.q_ddot] for b in first.bodies.values()]
    size = max(1.0, *(np.abs(x).max(initial=0.0) for body in accelerations for x in body))
    for name, body in first.bodies.items():
        other = second.bodies[name]
        for key in ("acceleration", "angular_acceleration", "q_ddot"):
            np.testing.assert_allclose(getattr(other, key), getattr(body, key), rtol=0, atol=rtol * size)
    wrenches = {n: np.concatenate([j.reaction_force, j.reaction_moment]) for n, j in first.joints.items()}
    size = max([size, *(np.abs(w).max() for w in wrenches.values())])
    for name, wrench in wrenches.items():
        joint = second.joints[name]
        found = np.concatenate([joint.reaction_force, joint.reaction_moment])
        np.testing.assert_allclose(found, wrench, rtol=0, atol=rtol * size, err_msg=name)
    for name, effort in first.drives.items():
        assert second.drives[name] == pytest.approx(effort, rel=0, abs=rtol * size)
    for name, force in first.couplings.items():
        assert second.couplings[name] == pytest.approx(force, rel=0, abs=rtol * size)


@pytest.mark.parametrize("seed", range(30))
def test_random_mechanisms_move_as_by_the_recursion_F32(seed):
    model = random_mechanism(seed, n_loops=seed % 3, flexible=0.5 * (seed % 2))
    assert_same(*both(model, lambda tree: moving_state(tree, seed + 1)[1]), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1250))
def test_many_mechanisms_move_as_by_the_recursion_F32(seed):
    model = random_mechanism(seed, n_bodies=7, n_loops=seed % 4, flexible=0.4)
    assert_same(*both(model, lambda tree: moving_state(tree, seed + 1)[1]), rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_shipped_cases_start_as_by_the_recursion_F32(name):
    model = Case.load(resource("cases") / name).model()
    assert_same(*both(model, lambda tree: tree.initial_state()), rtol=1e-9)


def test_rows_agree_with_the_kernels_of_the_joints_F27():
    for seed in range(40, 52):
        tree = build(random_mechanism(seed, n_loops=2))
        state = moving_state(tree, seed)[1]
        absolute = build(tree.model, formulation="descriptor")
        there, descriptor = absolute.state_like(tree, state), Descriptor(absolute)
        there.pos[:3] += 0.1  # off the constraints, so that their values count
        here = descriptor.place(there)
        ws, rows, n = descriptor.ws, descriptor.sums.rows, len(descriptor.sums.rows)
        for found, known in ((here.g, ws.row.g), (here.g_dot, ws.row.g_dot), (here.gamma, ws.row.g_ddot)):
            np.testing.assert_allclose(found[:n], known[rows], rtol=0, atol=1e-12)  # rounding
        np.testing.assert_allclose(here.found.value, ws.relation.at[:, 0], rtol=0, atol=1e-12)


def test_projection_closes_positions_and_speeds_F33():
    tree = build(random_mechanism(7, n_loops=2, flexible=0.5))
    absolute = build(tree.model, formulation="descriptor")
    state, descriptor = absolute.state_like(tree, tree.initial_state()), Descriptor(absolute)
    rng = np.random.default_rng(3)
    state.pos += 1e-3 * rng.normal(size=len(state.pos))
    state.vel += 1e-2 * rng.normal(size=len(state.vel))
    worst, worst_dot, count = descriptor.project(state)
    assert max(worst, worst_dot) < 1e-12
    assert 2 <= count < 12
    here = descriptor.place(state)
    assert np.abs(here.g).max() < 1e-12
    assert np.abs(here.g_dot).max() < 1e-12


def test_two_hinges_of_a_door_share_its_weight_F28():
    model = Model(gravity=[0.0, 0.0, -9.81])
    model.add(RigidBody(name="door", mass=10.0, com=np.array([0.4, 0.0, 0.0]), inertia=np.eye(3)))
    for name, z in (("low", -0.5), ("high", 0.5)):
        joint = JOINTS["revolute"](name=name, from_frame="ground", to_frame="door", point=[0.0, 0.0, z])
        model.add(joint)
    motions = both(model, lambda tree: tree.initial_state())
    for motion in motions:
        for joint in motion.joints.values():
            assert joint.reaction_force[2] == pytest.approx(49.05, rel=1e-9)
    assert_same(*motions, rtol=1e-9)


def test_contradictory_drives_are_an_error():
    model = Model(gravity=[0.0, 0.0, 0.0])
    model.add(RigidBody(name="bar", mass=1.0, com=np.zeros(3), inertia=np.eye(3)))
    for name in ("one", "two"):
        model.add(JOINTS["revolute"](name=name, from_frame="ground", to_frame="bar"))
    tree = build(model)
    absolute = build(model, formulation="descriptor")
    state, descriptor = absolute.state_like(tree, tree.initial_state()), Descriptor(absolute)
    descriptor.sums.at = opposed(descriptor.sums.at)
    with pytest.raises(SolverError, match="contradict"):
        descriptor.observe(state)


def opposed(rows_at):
    """Rows of which two that say the same ask for different accelerations."""

    def at(*args):
        g, g_dot, gamma, coef = rows_at(*args)
        gamma = gamma.copy()
        gamma[0] += 1.0
        return g, g_dot, gamma, coef

    return at


@pytest.mark.parametrize("weightless", ["rod", "rocker"])
def test_a_massless_link_in_a_loop_moves_as_by_the_recursion_F26a(weightless):
    model = four_bar()
    body = model.bodies[weightless]
    body.mass, body.inertia = 0.0, np.zeros((3, 3))
    assert_same(*both(model, lambda tree: tree.initial_state()), rtol=1e-9)


def test_a_massless_body_that_nothing_holds_is_an_error():
    model = Model(gravity=(0, 0, -9.81))
    model.add(RigidBody(name="ghost"))
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="ghost"))
    absolute = build(model, formulation="descriptor")
    with pytest.raises(SolverError, match="inertia"):
        absolute.forward_dynamics(absolute.initial_state())
