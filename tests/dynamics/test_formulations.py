"""Three formulations, one motion and one set of joint forces (F22-F28, F29-F30, F32-F33)."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.errors import SolverError
from flexmbs.expressions import parse
from flexmbs.model.bodies import GROUND, Frame, Particle, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.forces.joint_force import JointForce
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from tests.dynamics.mechanisms import (
    add_body,
    couple,
    drive_balls,
    moving_state,
    place_marker,
    random_mechanism,
    rotation,
)
from tests.dynamics.test_descriptor import assert_same

FORMULATIONS = ("recursive", "minimal", "descriptor")
#: a draw whose dependent coordinates are worse than this is drawn again; so is one in which the recursion,
#: which does not order rows by size, has to take rows that are shorter than others by this factor
WORST, SHORT = 1e6, 1e4


def motions(model, state_of=None):
    """Motions of a model at one state by all formulations."""
    tree = build(model)
    state = tree.initial_state() if state_of is None else state_of(tree)
    found = [tree.forward_dynamics(state)]
    for name in FORMULATIONS[1:]:
        system = build(model, formulation=name)
        found.append(system.forward_dynamics(system.state_like(tree, state)))
    return found


def condition(system, state):
    evaluator = system.evaluator()
    split = Minimal(evaluator, state).split
    if not len(split.dep):
        return 1.0
    return np.linalg.cond(evaluator.jacobian(state)[np.ix_(split.rows, split.dep)])


def shortest_row(system, state):
    """Longest row of G over the shortest of those that the recursion takes as independent."""
    evaluator = system.evaluator()
    evaluator.observe(state.copy())
    kept = evaluator.ws.row.redundant == 0
    length = np.linalg.norm(evaluator.jacobian(state), axis=1)
    return length.max() / length[kept].min() if kept.any() else 1.0


def locked(system, state):
    """Whether a law in time asks for a motion that the other rows forbid, which all formulations must say."""
    if not any(isinstance(part, COUPLINGS["expression"]) for part in system.model.couplings.values()):
        return False
    evaluator = system.evaluator()
    G, gamma = evaluator.jacobian(state.copy()), evaluator.ws.row.g_ddot
    evaluator.kinematics(state.copy(), np.zeros(system.n_vel))
    if np.abs(G @ np.linalg.lstsq(G, gamma, rcond=1e-9)[0] - gamma).max() < 1e-9:
        return False
    for name in FORMULATIONS:
        other = build(system.model, formulation=name)
        with pytest.raises(SolverError, match="the constraints contradict each other"):
            other.forward_dynamics(other.state_like(system, state))
    return True


def with_twins(seed):
    """A tree of which some joints have a twin on the same axis: twins move nothing and take their share."""
    model = random_mechanism(seed, n_bodies=4, flexible=0.0)
    rng, joints = np.random.default_rng(seed), list(model.joints.values())
    for joint in joints:
        if joint.type_name not in ("fixed", "revolute", "prismatic", "cylindrical", "helical"):
            continue
        # along the axis of revolute joints, anywhere for joints that do not turn
        shift = np.array([0.0, 0.0, rng.uniform(0.2, 0.6)])
        if joint.type_name in ("fixed", "prismatic"):
            shift = rng.normal(size=3) * 0.3
        ends = []
        for path in (joint.from_frame, joint.to_frame):
            body, name = model.split_frame(path)
            frame = (model.ground_frames if body == GROUND else model.bodies[body].frames)[name]
            x, R = np.asarray(frame.pos) + np.asarray(frame.rot) @ shift, np.asarray(frame.rot)
            if body != GROUND:
                part = model.bodies[body]
                x, R = part.pose_pos + part.pose_rot @ x, part.pose_rot @ R
            ends.append(place_marker(rng, model, body, x, R))
        keys = {"lead": joint.lead} if joint.type_name == "helical" else {}
        twin = JOINTS[joint.type_name](
            name=f"{joint.name}_twin", from_frame=ends[0], to_frame=ends[1], **keys
        )
        model.add(twin)
    return model


def planar_linkage(seed):
    """Bars on parallel axes, at different heights, closed by further bars: three redundant rows per loop."""
    rng, model = np.random.default_rng(seed), Model(gravity=np.random.default_rng(seed).normal(size=3) * 5.0)
    R = rotation(rng, 2.0)
    names = []

    def pin(name, a, b, x):
        spot = R @ np.array([*x, rng.uniform(-0.3, 0.3)])
        P, Q = (place_marker(rng, model, body, spot, R) for body in (a, b))
        kind = "revolute" if rng.random() < 0.8 else "planar"
        model.add(JOINTS[kind](name=name, from_frame=P, to_frame=Q))

    for k in range(int(rng.integers(3, 6))):
        add_body(rng, model, f"b{k}", "rigid")
        pin(f"j{k}", names[-1] if names else GROUND, f"b{k}", rng.normal(size=2))
        names.append(f"b{k}")
    pin("close", names[-1], GROUND, rng.normal(size=2))
    if len(names) > 4:
        pin("more", names[1], names[3], rng.normal(size=2))
    return model


def drawn(seed):
    """Model and state of one draw, and how often a bad one was drawn again."""
    for again in range(20):
        k = seed + 100_000 * again
        if seed % 5 == 3:
            model = with_twins(k)
        elif seed % 5 == 4:
            model = planar_linkage(k)
        else:
            model = random_mechanism(k, n_bodies=3 + seed % 4, n_loops=seed % 4, flexible=0.4 * (seed % 2))
        couple(np.random.default_rng(k + 2), model, seed // 5 % 3)
        tree = build(model)
        state = moving_state(tree, k + 1)[1]
        if condition(tree, state) < WORST and shortest_row(tree, state) < SHORT and not locked(tree, state):
            return model, state, again
    raise AssertionError(f"no mechanism from seed {seed}")


def check_draw(seed):
    model, state, again = drawn(seed)
    recursive, minimal, descriptor = motions(model, lambda tree: state)
    assert_same(recursive, minimal, rtol=1e-9)
    assert_same(recursive, descriptor, rtol=max(1e-9, rounding_of_descriptor(model, state)))
    return again


def rounding_of_descriptor(model, state):
    """What the saddle equations may lose: rounding times the square of the condition of their rows.

    Close to a singular position the recursion and the minimal form, in fewer coordinates, lose far less.
    """
    system = build(model, formulation="descriptor")
    G = system.evaluator().jacobian(system.state_like(build(model), state))
    size = np.linalg.svd(G, compute_uv=False)
    kept = size[size > 1e-9 * size.max(initial=0.0)]
    return np.finfo(float).eps * (kept[0] / kept[-1]) ** 2 if len(kept) else 0.0


@pytest.mark.parametrize("seed", range(30))
def test_random_mechanisms_move_alike_in_all_formulations(seed):
    check_draw(seed)


@pytest.mark.slow
def test_500_random_mechanisms_move_alike_in_all_formulations():
    again = [check_draw(seed) for seed in range(30, 530)]
    assert sum(again) <= 25, "bad draws are few"


def check_driven_balls(seeds):
    """Of mechanisms with driven balls, in the tree and as cuts, all that are well posed move alike."""
    compared = 0
    for seed in seeds:
        cuts = (f"j{seed % 3}",) if seed % 4 == 0 else ()
        sizes = {"n_bodies": 3 + seed % 4, "n_loops": seed % 3, "flexible": 0.4 * (seed % 2)}
        model = random_mechanism(seed, cuts=cuts, **sizes)
        if not drive_balls(model, seed):
            continue
        tree = build(model)
        evaluator, state = moving_state(tree, seed)
        if np.abs(evaluator.ws.row.g_dot).max(initial=0.0) > 1e-10:  # the loops leave the drives no room
            continue
        # driven speeds leave less to choose from: what the minimal form loses grows with the square of this
        if condition(tree, state) > 1e3 or (tree.n_rows and shortest_row(tree, state) > SHORT):
            continue
        recursive, *others = motions(model, lambda tree, state=state: state)
        for motion in others:
            assert_same(recursive, motion, rtol=1e-9)
        compared += 1
    return compared


def test_driven_balls_move_alike_in_all_formulations_F19a():
    assert check_driven_balls(range(14)) >= 5


@pytest.mark.slow
def test_many_driven_balls_move_alike_in_all_formulations_F19a():
    assert check_driven_balls(range(14, 200)) >= 90


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_law_in_time_that_a_locked_joint_cannot_follow_is_an_error(formulation):
    """A door on two hinges that do not share an axis: nothing moves, and a relation asks it to."""
    model = door()
    model.add(COUPLINGS["linear"](name="law", terms={"low": 1.0, "high": -1.0}))  # redundant, and met
    assert all(np.abs(m.bodies["door"].acceleration).max() < 1e-9 for m in motions(model))
    model.joints["high"].axis = [0.0, 1.0, 1.0]
    model.add(COUPLINGS["expression"](name="time", zero=parse("=low - 0.3*t**2")))
    system = build(model, formulation=formulation)
    with pytest.raises(SolverError, match="the constraints contradict each other"):
        system.forward_dynamics(system.initial_state())


@pytest.mark.slow
def test_draws_hold_every_joint_type_loops_flexible_and_redundant_ones():
    """Every type as a cut, every type with coordinates in the tree; every coupling of both."""
    tree, cut, loops, flexible, redundant = set(), set(), 0, 0, 0
    coupled, kinds = {"tree": set(), "cut": set()}, {COUPLINGS[name]: name for name in COUPLINGS}
    for seed in range(200):
        model, _, _ = drawn(seed)
        system = build(model)
        for name, joint in model.joints.items():
            (tree if system.joints[name].body else cut).add(joint.type_name)
        for group in system.groups:
            if group.kind == "coupling":
                row, kind = group.rows[0], kinds[type(model.couplings[group.name])]
                in_cuts = [bool(row.entries), *(place.entry is not None for place in row.of)]
                in_tree = [bool(row.coordinates), *(place.entry is None for place in row.of)]
                coupled["cut"] |= {kind} if any(in_cuts) else set()
                coupled["tree"] |= {kind} if any(in_tree) else set()
        loops += len(system.topology.cuts) > 0
        flexible += any(not isinstance(body, RigidBody) for body in model.bodies.values())
        redundant += seed % 5 > 2
    assert cut == set(JOINTS)
    assert tree == {name for name in JOINTS if JOINTS[name].motion is not None}
    assert coupled["tree"] == coupled["cut"] == set(COUPLINGS)
    assert min(loops, flexible, redundant) >= 10


def door(soft=(None, None), cut=()):
    model = Model(gravity=[0.0, 0.0, -9.81])
    model.add(RigidBody(name="door", mass=10.0, com=np.array([0.4, 0.0, 0.0]), inertia=np.eye(3)))
    for name, z, compliance in (("low", -0.5, soft[0]), ("high", 0.5, soft[1])):
        model.add(
            JOINTS["revolute"](
                name=name, from_frame=GROUND, to_frame="door", point=[0.0, 0.0, z], compliance=compliance,
                cut=name in cut,
            )
        )  # fmt: skip
    return model


@pytest.mark.parametrize("cut", [(), ("low",), ("high",)])
def test_two_equal_hinges_carry_half_a_door_each_F28(cut):
    for motion in motions(door(cut=cut)):
        for joint in motion.joints.values():
            assert joint.reaction_force[2] == pytest.approx(49.05, rel=1e-9)


@pytest.mark.parametrize("cut", [(), ("low",), ("high",)])
def test_soft_hinges_carry_by_their_compliance_F28(cut):
    soft = ([0, 0, 1e-6, 0, 0, 0], [0, 0, 3e-6, 0, 0, 0])
    found = motions(door(soft, cut))
    for motion in found:
        assert motion.joints["low"].reaction_force[2] == pytest.approx(0.75 * 98.1, rel=1e-9)
        assert motion.joints["high"].reaction_force[2] == pytest.approx(0.25 * 98.1, rel=1e-9)
    # what the compliances leave open (forces along x) is shared by least squares, the same everywhere
    assert_same(found[0], found[1], rtol=1e-9)
    assert_same(found[0], found[2], rtol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_a_beam_on_three_springs_shares_as_the_closed_form_says_F28(turned):
    """Supports at 0, a, L with compliances c; of all forces in balance those of least sum c F^2 / 2."""
    a, L, x, weight = 0.7, 2.0, 0.9, 100.0
    c = np.array([2e-6, 5e-6, 1e-6])
    R = rotation(np.random.default_rng(4), 1.0) if turned else np.eye(3)
    model = Model(gravity=R @ [0.0, 0.0, -10.0])
    model.add(
        RigidBody(
            name="beam", mass=10.0, com=R @ [x, 0.0, 0.0], inertia=np.diag([0.1, 3.0, 3.0]),
        )
    )  # fmt: skip
    for k, place in enumerate((0.0, a, L)):
        ends = [place_marker(None, model, body, R @ [place, 0.0, 0.0], R) for body in (GROUND, "beam")]
        kind = "in_plane" if k else "spherical"
        soft = [0.0, 0.0, c[k], 0.0, 0.0, 0.0]
        model.add(JOINTS[kind](name=f"s{k}", from_frame=ends[0], to_frame=ends[1], compliance=soft))
    # F = particular + y n with n the state of self-stress
    A = np.array([[1.0, 1.0, 1.0], [0.0, a, L]])
    F0 = np.linalg.lstsq(A, [weight, weight * x], rcond=None)[0]
    n = np.array([L - a, -L, a])
    F = F0 - n * (n @ (c * F0)) / (n @ (c * n))
    for motion in motions(model):
        found = [(R.T @ motion.joints[f"s{k}"].reaction_force)[2] for k in range(3)]
        np.testing.assert_allclose(found, F, rtol=1e-9)


COUPLED = {
    "gear": {"wheels": ("A", "B"), "teeth": (20, 30)},
    "linear": {"terms": {"a": 2.0, "b": -3.0}},
    "expression": {"zero": parse("=sin(joints.a.position[0]) - 2*joints.b.position[0]")},
}


@pytest.mark.parametrize("kind", COUPLED)
@pytest.mark.parametrize("cut", [("a",), ("b",), ("a", "b")])
def test_reactions_hold_coupling_forces_whatever_is_cut(kind, cut):
    """A coupling acts on joint coordinates, so its force passes through these joints."""

    def model(cut):
        found = Model(gravity=[1.0, -9.0, 2.0])
        for name, x in (("A", 0.0), ("B", 0.3)):
            inertia = np.diag([0.1, 0.2, 0.3])
            found.add(RigidBody(name=name, mass=1.0, com=np.array([0.05, 0.1, 0.02]), inertia=inertia))
            found.ground_frames[name] = Frame(pos=[x, 0.0, 0.0])
            joint = JOINTS["revolute"](
                name=name.lower(), from_frame=f"ground.{name}", to_frame=name, cut=name.lower() in cut
            )
            found.add(joint)
        found.add(COUPLINGS[kind](name="law", **COUPLED[kind]))
        found.add(JointForce(name="motor", joint="a", value=3.0))
        return found

    known = motions(model(()))
    assert abs(known[0]["couplings.law"]) > 0.1
    for first, second in zip(known, motions(model(cut)), strict=True):
        assert_same(known[0], first, rtol=1e-9)
        assert_same(first, second, rtol=1e-9)


def test_a_planar_mechanism_has_three_coordinates_per_body_F32():
    for seed in (4, 9):
        model = planar_linkage(seed)
        system = build(model, formulation="descriptor")
        assert system.n_pos == system.n_vel == 3 * len(model.bodies)
        descriptor = Descriptor(system)
        here = descriptor.place(system.initial_state())
        M = here.M.toarray()
        assert np.count_nonzero(M - np.diag(np.diag(M))) == 0  # about the mass centres
    spatial = build(random_mechanism(3), formulation="descriptor")
    assert spatial.topology.plane is None


def test_mass_points_on_rods_by_the_equations_of_the_holonomic_notes_F32():
    """lam = -Q^-1 (G M^-1 F + gamma), Q = G M^-1 G^T, by hand, against all three formulations."""
    masses, grav = np.array([2.0, 3.0]), np.array([0.3, -0.2, -9.81])
    r = np.array([[0.6, 0.0, -0.8], [1.2, 0.3, -1.5]])
    lengths = [1.0, float(np.linalg.norm(r[1] - r[0]))]
    model = Model(gravity=grav)
    for k in range(2):
        model.add(Particle(name=f"p{k}", mass=masses[k], pose_pos=r[k], pose_given=True))
        ends = {"from_frame": f"p{k - 1}" if k else GROUND, "to_frame": f"p{k}"}
        model.add(JOINTS["distance"](name=f"rod{k}", length=lengths[k], **ends))
    tree = build(model)
    state = moving_state(tree, 5)[1]
    found = motions(model, lambda tree: state)
    v = np.array([found[0].bodies[f"p{k}"].velocity for k in range(2)])
    d = np.array([r[0], r[1] - r[0]]) / np.array(lengths)[:, None]
    G = np.block([[d[0], np.zeros(3)], [-d[1], d[1]]])
    gamma = np.array([v[0] @ v[0], (v[1] - v[0]) @ (v[1] - v[0])]) / lengths
    W = np.repeat(1.0 / masses, 3)
    F = np.concatenate([m * grav for m in masses])
    lam = -np.linalg.solve(G @ (W[:, None] * G.T), G @ (W * F) + gamma)
    a = (W * (F + G.T @ lam)).reshape(2, 3)
    for motion in found:
        for k in range(2):
            np.testing.assert_allclose(motion.bodies[f"p{k}"].acceleration, a[k], rtol=0, atol=1e-10)
            force = motion.joints[f"rod{k}"].reaction_force
            np.testing.assert_allclose(force, lam[k] * d[k], rtol=0, atol=1e-10)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_driven_ball_takes_the_torques_of_eulers_equations(formulation, tmp_path):
    """The case on the page of spherical joints, whose expected torques are found by hand, and their power."""
    page = (Path(__file__).parents[2] / "docs" / "joints" / "spherical.md").read_text()
    (text,) = re.findall(r"```toml\n(# driven_ball.*?)```", page, re.DOTALL)
    (tmp_path / "ball.toml").write_text(text)
    options = {"analysis.formulation": formulation, "output.every": 0.01}
    done = execute(Case.load(tmp_path / "ball.toml", **options), tmp_path / "ball.h5")
    assert done.passed
    velocity = np.asarray(done.result["joints/socket/velocity"])
    power = np.sum(np.asarray(done.result["drives/swing/effort"]) * velocity, axis=1)
    energy = np.asarray(done.result["energy/kinetic"]) + np.asarray(done.result["energy/gravity"])
    t = np.asarray(done.result.time)
    work = CubicSpline(t, power).antiderivative()(t)
    np.testing.assert_allclose(energy - energy[0], work, atol=1e-5 * np.abs(energy).max())
