"""Linear models about bodies that spin on balls, against closed forms and neighbouring motions (F38)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.analyses.linearize import Rates, linearize
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.mechanism import build
from flexmbs.spatial import log_so3, quat_to_matrix
from tests.dynamics.mechanisms import moving_state, random_mechanism


def spun(spin, inertia, *, mass=1.0, com=(0, 0, 0), gravity=0.0, kind="spherical", frames=None, more=None):
    """Eigenvalues of a body that spins on a ball in the origin, or free, by the size of their frequency."""
    body = {"type": "rigid", "mass": mass, "com": list(com), "frames": frames or {}}
    body["inertia"] = dict(zip(("ixx", "iyy", "izz"), inertia, strict=True))
    initial = {"velocity" if kind == "spherical" else "angular_velocity": list(spin)}
    data = {
        "gravity": [0, 0, -gravity],
        "bodies": {"b": body | ({} if kind == "spherical" else {"initial": initial})},
        "joints": {},
    }
    if kind == "spherical":
        data["joints"]["s"] = {"type": kind, "from": "ground", "to": "b", "initial": initial}
    for key, part in (more or {}).items():
        data[key] = data.get(key, {}) | part
    system = Case.from_dict(data).system()
    return linearize(system, system.initial_state()).eigenvalues


def paired(values):
    """One of each conjugate pair, in one order."""
    values = np.asarray(values, dtype=complex)
    values = values.real + 1j * np.abs(values.imag)
    return values[np.lexsort((np.round(values.real, 6), np.round(values.imag, 6)))]


def top(spin, A, C, m, length, g):
    """Eigenvalues of an upright top, in ground and seen from the body (F38); A about the support."""
    ground = np.roots([A, -1j * C * spin, -m * g * length])
    return ground, ground - 1j * spin


@pytest.mark.parametrize("spin", [3.0, 20.0, 30.0, 60.0])
@pytest.mark.parametrize("C", [0.03, 0.011])
def test_a_sleeping_top_on_a_ball_has_the_eigenvalues_of_its_closed_form_F38(spin, C):
    """Below some spin it falls: real parts are those of ground axes, rates count from the body."""
    found = spun([0, 0, spin], [0.02, 0.02, C], com=[0, 0, 0.1], gravity=9.81)
    _, seen = top(spin, 0.02 + 0.01, C, 1.0, 0.1, 9.81)
    expected = paired([0.0, 0.0, *seen])
    np.testing.assert_allclose(paired(found), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["spherical", "free"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_free_body_keeps_to_two_of_its_axes_as_euler_says_F38(kind, axis):
    """Rates of the angular velocity; what is turned aside goes round once per turn, seen from the body."""
    inertia, W = np.array([0.1, 0.2, 0.27]), 3.0
    found = spun(W * np.eye(3)[axis], inertia, kind=kind)
    C, (A, B) = inertia[axis], np.delete(inertia, axis)
    nutation = np.sqrt(complex((A - C) * (C - B) / (A * B))) * W
    seen = [nutation, -nutation] if axis == 1 else [nutation]
    still = [0.0] * (2 if kind == "spherical" else 8)
    assert (abs(nutation.real) > 0.1) == (axis == 1)
    np.testing.assert_allclose(paired(found), paired([*still, 1j * W, *seen]), rtol=0, atol=1e-7)


def test_nutation_of_a_symmetric_body_is_that_of_body_axes_F38():
    found = spun([0, 0, 3.0], [0.02, 0.02, 0.03], kind="free")
    np.testing.assert_allclose(np.sort(found.imag)[-2:], [3.0 * 0.5, 3.0], rtol=1e-9)


def test_a_spun_ball_in_a_loop_swings_as_its_rod_lets_it_F38():
    """A hanging top, its end held along x by a rod: turns about x are left."""
    rod = {"type": "distance", "from": "ground.far", "to": "b.end", "length": 0.5}
    more = {"ground": {"frames": {"far": {"pos": [0.5, 0, -0.3]}}}, "joints": {"rod": rod}}
    inertia, m, length, W = [0.02, 0.02, 0.03], 1.0, 0.1, 20.0
    ends = {"end": {"pos": [0, 0, -0.3]}}
    found = spun([0, 0, W], inertia, mass=m, com=[0, 0, -length], gravity=9.81, frames=ends, more=more)
    swing = np.sqrt(m * 9.81 * length / (inertia[0] + m * length**2))
    np.testing.assert_allclose(paired(found), [0.0, 0.0, 1j * swing], rtol=0, atol=1e-6)


def moved_on(system, state, dt):
    """The state a little later: positions to second order."""
    acc, out = np.zeros(system.n_vel), state.copy()
    evaluator = system.evaluator()
    evaluator.check(evaluate.accelerations(*evaluator._args(state.copy(), acc)))
    add_increment(system.tables, state.pos.copy(), dt * state.vel + 0.5 * dt * dt * acc, out.pos)
    return out


def apart(system, state, other):
    """What leads from the positions of one state to those of another: rotation vectors in turning axes."""
    t, out = system.tables, np.zeros(system.n_vel)
    for k, j in enumerate(t.tree.vel_of_pos):
        if j >= 0:
            out[j] = other.pos[k] - state.pos[k]
    for b, e in zip(t.prim.ball_beta, t.prim.ball_eta, strict=True):
        R, S = (quat_to_matrix(x.pos[b : b + 4]) for x in (state, other))
        out[e : e + 3] = log_so3(R.T @ S)
    return out


@pytest.mark.parametrize("seed", [0, 10, 11, 16, 29])
def test_neighbouring_motions_part_as_the_linear_model_says_F38(seed):
    """Finite differences over time of the turn between two motions, of balls that a loop holds in part."""
    system = build(random_mechanism(seed, n_loops=1))
    _, state = moving_state(system, seed)
    state.vel *= 3.0
    rates, lin = Rates(system, state), linearize(system, state)
    state = rates.state_at(np.zeros(len(lin.A)))
    ind, n = rates.minimal.split.ind, rates.n
    free = np.isin(system.tables.prim.ball_eta[:, None] + np.arange(3), ind).sum(axis=1)
    assert np.any((free > 0) & (free < 3))
    x = 1e-5 * np.random.default_rng(seed).normal(size=len(lin.A)) * rates.units
    other, dt = rates.state_at(x), 1e-4
    gap = [apart(system, moved_on(system, state, h), moved_on(system, other, h)) for h in (dt, -dt)]
    found = (gap[0] - gap[1])[ind] / (2.0 * dt)
    expected = lin.A[:n] @ x
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_campbell_diagram_of_a_spun_ball_is_that_of_its_bearing_seen_from_the_body(tmp_path):
    A, C, k = 0.02, 0.03, 50.0
    bushing = {"type": "bushing", "from": "ground", "to": "b", "damping": [0] * 6}
    data = {
        "parameters": {"W": 0.0},
        "bodies": {"b": {"type": "rigid", "mass": 1, "inertia": {"ixx": A, "iyy": A, "izz": C}}},
        "joints": {"s": {"type": "spherical", "from": "ground", "to": "b",
                         "initial": {"velocity": [0, 0, "=W"]}}},
        "forces": {"hold": bushing | {"stiffness": [0, 0, 0, k, k, 0]}},
        "analysis": {"type": "linearize", "campbell": {"parameter": "W", "values": [0, 20, 40]}},
    }  # fmt: skip
    campbell = fm.run(Case.from_dict(data), tmp_path / "r.h5").linear.campbell
    for j, W in enumerate([0.0, 20.0, 40.0]):
        ground = np.array([1.0, -1.0]) * np.hypot(C * W / (2 * A), np.sqrt(k / A)) + C * W / (2 * A)
        found = 2 * np.pi * campbell.frequency_hz[j]
        np.testing.assert_allclose(np.sort(found)[-2:], np.sort(np.abs(ground - W)), rtol=1e-8)
        if W:  # as the manual has it: rate in ground = whirl * w + W
            whirling = np.abs(np.abs(campbell.whirl[j]) - 1.0) < 1e-6
            seen = campbell.whirl[j][whirling] * found[whirling] + W
            np.testing.assert_allclose(np.sort(seen), np.sort(ground), rtol=1e-8)
