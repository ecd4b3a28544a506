"""What must hold for any mechanism: frames, numbering, power, momentum; flexible bodies stiffen (F17a)."""

import numpy as np
import pytest

from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.expressions import constant, parse
from flexmbs.model.bodies import GROUND, FlexibleBody
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.forces.bushing import Bushing
from flexmbs.model.forces.joint_force import JointForce
from flexmbs.model.forces.point import Point
from flexmbs.model.forces.spring_damper import SpringDamper
from flexmbs.model.forces.torque import Torque
from flexmbs.model.joints.base import ROTATION
from flexmbs.model.laws.tables import POTENTIAL
from tests import reference
from tests.dynamics.mechanisms import body_accelerations, moving_state, random_mechanism, rotation
from tests.dynamics.test_descriptor import assert_same
from tests.dynamics.test_formulations import condition, motions
from tests.dynamics.test_recursion import check_reactions, compare, elastic, speeds_of

SHAPES = {"n_bodies": 5, "flexible": 0.6, "stiff": True}


def loaded(seed, *, outside=True, **options):
    """A random mechanism with forces of every kind between its frames; `outside`: also from outside."""
    model, rng = random_mechanism(seed, **SHAPES, **options), np.random.default_rng(seed)
    frames = [f"{b.name}.{f}" for b in model.bodies.values() for f in (*b.frames, *interfaces(b))]
    if outside:
        frames += [f"{GROUND}.{name}" for name in model.ground_frames]

    def two():
        return dict(zip(("from_frame", "to_frame"), rng.choice(frames, 2, replace=False), strict=True))

    six = rng.uniform(1.0, 5.0, (2, 6))
    model.add(SpringDamper(name="spring", **two(), stiffness=7.0, damping=2.0, length=0.4, preload=3.0))
    model.add(SpringDamper(name="law", **two(), force=parse("=3*(x - 0.2)**3 + 0.5*v")))
    model.add(Bushing(name="bushing", **two(), stiffness=six[0], damping=six[1]))
    for joint in model.joints.values():
        for name in joint.coordinates[:2]:
            push = {"joint": joint.name, "coordinate": name, "value": 2.0}
            model.add(JointForce(name=f"push_{joint.name}_{name}", **push))
            spring = {"stiffness": 3.0, "free": 0.1, "coordinate": name}
            joint.spring, joint.damper = [spring], [{"damping": 0.4, "coordinate": name}]
    if outside:
        on = [str(f) for f in frames if not f.startswith(GROUND)]
        model.add(Point(name="dead", on=on[0], force=[1.0, 2.0, -3.0]))
        model.add(Point(name="follower", on=on[-1], force=[2.0, 1.0, 3.0], axes="body"))
        model.add(Torque(name="torque", on=on[len(on) // 2], torque=[1.0, -1.0, 2.0]))
    return model


def interfaces(body):
    return body.modal.interfaces if isinstance(body, FlexibleBody) else ()


@pytest.mark.parametrize("seed", range(1000, 1024))
def test_stiffened_bodies_in_trees_and_loops_agree_with_the_dense_solution_F17a(seed):
    system, evaluator, truth, scale = compare(seed, n_loops=seed % 4, flexible=0.7, stiff=True)
    assert system.tables.body.n_G.any() and (system.tables.marker.K >= 0).any()
    if truth.rank == truth.n_rows:
        check_reactions(system, evaluator, truth, scale)


def energy(system, evaluator, state):
    """Kinetic, gravity and strain energy from the matrices of the bodies, and that of the laws."""
    evaluator.observe(state)
    ws, total = evaluator.ws, float(evaluator.law_work.out[:, POTENTIAL].sum())
    for name, i in system.numbers.index.items():
        if i == 0:
            continue
        B, R = system.integrals(name), ws.body.R[i]
        q, q_dot = state.pos[system.tables.body.o_q[i] :][: B.nf], elastic(system, state.vel, i)
        v_hat = np.concatenate([R.T @ ws.body.v[i, :3], R.T @ ws.body.v[i, 3:], q_dot])
        M, _ = reference.mass_and_forces(system.model.bodies[name], q, q_dot, v_hat[3:6])
        S_t = np.array([M[5, 1], M[3, 2], M[4, 0]])  # m_TR = -S_t~
        weight = np.asarray(system.model.gravity) @ (B.mass * ws.body.r[i] + R @ S_t)
        total += 0.5 * v_hat @ M @ v_hat - weight + 0.5 * q @ B.K_ff @ q
    return total


def power_of_what_is_no_potential(system, evaluator, state):
    """Work of forces and drives less what dampers and modes dissipate; needs `observe`."""
    work, dissipated = evaluator.law_work.power
    for name, i in system.numbers.index.items():
        q_dot = elastic(system, state.vel, i)
        dissipated += q_dot @ system.integrals(name).D_ff @ q_dot if i else 0.0
    return work - dissipated + float(evaluator.ws.joint.effort @ evaluator.ws.law.v[system.tables.drive.law])


def driven(model, seed):
    """The same with a drive, of branch or cut, on a joint that has room to move with the modes held."""
    motion = build(model)
    motion = motion.forward_dynamics(motion.initial_state())
    names = [j.name for j in model.joints.values() if j.drivable]
    for k in range(len(names)):
        name = names[(seed + k) % len(names)]
        law, x = (
            {"joint": name, "coordinate": model.joints[name].drivable[-1]},
            motion[f"joints.{name}.position"],
        )
        if law["coordinate"] == ROTATION:
            parts = (*(constant(item) for item in x[-4:-1]), parse(f"={x[-1]} + 0.3*t + 0.4*t**2"))
            model.add(Drive(name="motor", position=RotationLaw("quaternion", parts), **law))
        else:
            model.add(Drive(name="motor", position=parse(f"={x[-1]} + 0.3*t + 0.4*t**2"), **law))
        try:
            build(model).initial_state()
        except SolverError:
            continue
        return model
    raise AssertionError(f"nothing can be driven in seed {seed}")


@pytest.mark.parametrize("seed", range(2000, 2030))
def test_power_of_any_mechanism_balances(seed):
    """Rate of all energy along the motion = power of forces, dampers, modes and drives."""
    model = loaded(seed, n_loops=seed % 3)
    system = build(driven(model, seed) if seed % 2 else model)
    evaluator, state = moving_state(system, seed)
    acc = evaluator.observe(state)
    power = power_of_what_is_no_potential(system, evaluator, state)
    h, found = 1e-4, {}
    for s in (-2, -1, 1, 2):
        there = state.copy()
        add_increment(evaluator.tables, state.pos, s * h * state.vel, there.pos)
        there.vel += s * h * acc
        there.t += s * h
        found[s] = energy(system, evaluator, there)
    rate = (8 * (found[1] - found[-1]) - (found[2] - found[-2])) / (12 * h)
    size = max(1.0, abs(found[1]), abs(power))
    assert rate == pytest.approx(power, abs=1e-8 * size)  # fourth-order difference


def moved(model, R, d, speed=None):
    """The mechanism elsewhere: turned by R, shifted by d, on a ground that slides."""
    model.gravity = R @ np.asarray(model.gravity)
    for frame in model.ground_frames.values():
        x, frame.rot = R @ np.asarray(frame.pos) + d, R @ np.asarray(frame.rot)
        frame.pos = x if speed is None else [parse(f"={a} + {v}*t") for a, v in zip(x, speed, strict=True)]
    for body in model.bodies.values():
        body.pose_pos, body.pose_rot = R @ np.asarray(body.pose_pos) + d, R @ np.asarray(body.pose_rot)
    return model


@pytest.mark.parametrize("slides", [False, True])
@pytest.mark.parametrize("seed", range(3000, 3012))
def test_motion_and_forces_do_not_depend_on_the_frame(seed, slides):
    """Turned, elsewhere, and on a ground that slides evenly: the same accelerations and forces, turned."""
    options = {"n_loops": seed % 3} | SHAPES
    rng = np.random.default_rng(seed)
    R, d, speed = rotation(rng, 2.0), rng.normal(size=3) * 3.0, rng.normal(size=3) * 2.0 if slides else None
    first = build(random_mechanism(seed, **options))
    evaluator, state = moving_state(first, 5)
    acc = evaluator.observe(state)
    motion, reaction = body_accelerations(first, evaluator, acc), evaluator.ws.joint.reaction.copy()
    other = build(moved(random_mechanism(seed, **options), R, d, speed))
    there, same = other.evaluator(), other.initial_state()
    same.pos[:], same.vel[:] = state.pos, state.vel
    found = body_accelerations(other, there, there.observe(same))
    scale = max(1.0, *(np.abs(a).max() for a in motion.values()))
    for name, a in motion.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-10 * scale)
    turned = np.concatenate([there.ws.joint.reaction[:, :3] @ R, there.ws.joint.reaction[:, 3:] @ R], axis=1)
    np.testing.assert_allclose(turned, reaction, rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("seed", range(4000, 4012))
def test_motion_and_forces_do_not_depend_on_the_numbering(seed):
    """Bodies, joints and ends of joints in another order, so another tree and other cuts."""
    model = random_mechanism(seed, n_loops=1 + seed % 2, **SHAPES)
    first = build(model)
    evaluator, state = moving_state(first, 3)
    motion = body_accelerations(first, evaluator, evaluator.observe(state))
    reaction = dict(zip(first.joints, evaluator.ws.joint.reaction.copy(), strict=True))
    pose = {
        name: (evaluator.ws.body.r[i].copy(), evaluator.ws.body.v[i].copy(), elastic(first, state.vel, i))
        for name, i in first.numbers.index.items()
    }
    rng = np.random.default_rng(seed)
    for table in (model.bodies, model.joints):
        items = list(table.items())
        table.clear()
        table.update(items[k] for k in rng.permutation(len(items)))
    other = build(model)
    evaluator, state = other.evaluator(), other.initial_state()
    state.vel[:] = speeds_of(other, evaluator, state, pose)
    found = body_accelerations(other, evaluator, evaluator.observe(state))
    scale = max(1.0, *(np.abs(a).max() for a in motion.values()))
    for name, a in motion.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-9 * scale)
    for name, wrench in zip(other.joints, evaluator.ws.joint.reaction, strict=True):
        if name in model.joints:
            np.testing.assert_allclose(wrench, reaction[name], rtol=0, atol=1e-8 * scale, err_msg=name)


@pytest.mark.parametrize("seed", range(5000, 5012))
def test_momenta_of_what_floats_stay(seed):
    """Inner forces of every kind change neither momentum nor angular momentum about a fixed point."""
    model = loaded(seed, outside=False, n_loops=seed % 3, afloat=True)
    model.gravity = (0.0, 0.0, 0.0)
    system = build(model)
    evaluator, state = moving_state(system, seed)
    a_hat = body_accelerations(system, evaluator, evaluator.observe(state))
    rate, size = np.zeros(6), 1.0
    for name, i in system.numbers.index.items():
        if i == 0:
            continue
        R, nf = evaluator.ws.body.R[i], system.tables.body.nf[i]
        q, q_dot = state.pos[system.tables.body.o_q[i] :][:nf], elastic(system, state.vel, i)
        M, Q = reference.mass_and_forces(model.bodies[name], q, q_dot, R.T @ evaluator.ws.body.v[i, 3:])
        f = (M @ a_hat[name] - Q)[:6]  # rate of the momenta about the origin of the body
        F = R @ f[:3]
        rate += np.concatenate([F, R @ f[3:] + np.cross(evaluator.ws.body.r[i], F)])
        size = max(size, np.abs(f).max())
    np.testing.assert_allclose(rate, 0.0, atol=1e-10 * size)


def without_length(model):
    """Whether a spring joins the two frames of a joint: where they coincide it has no direction."""
    ends = [{joint.from_frame, joint.to_frame} for joint in model.joints.values()]
    springs = [f for f in model.forces.values() if isinstance(f, SpringDamper)]
    return any({str(f.from_frame), str(f.to_frame)} in ends for f in springs)


def test_loaded_mechanisms_move_alike_in_all_formulations():
    """Forces of every kind, springs and dampers of joints, drives, stiffened bodies."""
    compared = 0
    for seed in range(5000, 5040):
        model = loaded(seed, n_loops=seed % 3)
        if without_length(model):
            continue
        tree = build(driven(model, seed) if seed % 4 == 1 else model)
        evaluator, state = moving_state(tree, seed)
        if np.abs(evaluator.ws.row.g_dot).max(initial=0.0) > 1e-10:  # the loops leave the drive no room
            continue
        if condition(tree, state) > 1e4:
            continue
        recursive, *others = motions(model, lambda tree, state=state: state)
        for motion in others:
            assert_same(recursive, motion, rtol=1e-9)
        compared += 1
    assert compared >= 20
