"""Statics, minimal coordinates and linear models of many loops that share joints, in closed form."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize

from flexmbs.case import Case
from flexmbs.case.generate import scissor_lift, stacked_platforms
from flexmbs.dynamics.analyses.linearize import linearize
from flexmbs.dynamics.analyses.statics import equilibrium
from flexmbs.dynamics.loops import frontal
from flexmbs.dynamics.minimal import closing, coordinates
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.simulate.record.ports import with_ports

N, G, INERTIA = 40, 9.81, 1.0 / 12.0
BASE, CENTRE = 50.0 * N**2, 10.0 * N


def held_lift():
    """A lift whose base and crossings stand on torsion springs."""
    data = scissor_lift(N)
    for name, joint in data["joints"].items():
        if name == "base":
            joint["spring"] = {"stiffness": BASE, "free": 0.5}
        elif name.startswith("centre"):
            joint["spring"] = {"stiffness": CENTRE, "free": -1.0}
    return Case.from_dict(data).system()


def potential(x):
    """Of the angles of the bars a and b: all of one kind are parallel."""
    a, b = x
    heights = N * 0.5 * np.sin(a) + 0.25 * N * (N - 1) * (np.sin(a) - np.sin(b))
    return 2.0 * G * heights + 0.5 * BASE * (a - 0.5) ** 2 + 0.5 * N * CENTRE * (b - a + 1.0) ** 2


def slopes(f, x, h=1e-4):
    """Second derivatives of f at x."""
    steps, found = h * np.eye(2), np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            ends = (f(x + s * steps[i] + t * steps[j]) * s * t for s in (1, -1) for t in (1, -1))
            found[i, j] = sum(ends) / (4.0 * h * h)
    return found


def mass(x):
    """Mass matrix of the two angles: centres at c_k = e(a)/2 + k (e(a) - e(b))/2, two bars each."""
    M = N * INERTIA * np.eye(2)
    for k in range(N):
        J = 0.5 * np.array(
            [[-(1 + k) * np.sin(x[0]), k * np.sin(x[1])], [(1 + k) * np.cos(x[0]), -k * np.cos(x[1])]]
        )
        M += 2.0 * J.T @ J
    return M


@pytest.fixture(scope="module")
def at_rest():
    system = held_lift()
    return system, equilibrium(system, system.initial_state())


def test_a_lift_on_springs_rests_where_its_energy_is_least(at_rest):
    system, state = at_rest
    found = minimize(potential, [0.5, -0.5], tol=1e-14).x
    assert system.n_rows > frontal.SMALL
    angle = state.pos[system.coordinate("base").pos]
    opened = state.pos[system.coordinate("centre0").pos]
    np.testing.assert_allclose([angle, angle + opened], found, atol=1e-7)


def test_frequencies_of_a_lift_are_those_of_its_two_angles(at_rest):
    system, state = at_rest
    x = minimize(potential, [0.5, -0.5], tol=1e-14).x
    expected = np.sqrt(eigh(slopes(potential, x), mass(x), eigvals_only=True)) / (2.0 * np.pi)
    np.testing.assert_allclose(linearize(system, state).frequency_hz, expected, rtol=1e-6)


def test_inputs_of_a_lift_are_those_of_forces_that_are_added_one_by_one(at_rest):
    system, state = at_rest
    names = ("centre3", f"b{N - 1}.force.x", "right7", "a2.right.torque.z")
    outputs = ("joints.left5.acceleration", "joints.right7.reaction_force.y", "bodies.b3.acceleration.x")
    linear = linearize(system, state)
    together = with_ports(system, state, linear, names, outputs)[0]
    alone = [with_ports(system, state, linear, (name,), outputs)[0] for name in names]
    for part, whole in (("B", together.B), ("D", together.D)):
        one_by_one = np.hstack([getattr(item, part) for item in alone])
        np.testing.assert_allclose(whole, one_by_one, rtol=1e-9, atol=1e-9 * np.abs(whole).max())
        assert np.abs(whole).max(axis=0).min() > 0.0


@pytest.mark.parametrize("make", [held_lift, lambda: Case.from_dict(stacked_platforms(5)).system()])
def test_many_rows_are_closed_as_few_are(make, monkeypatch):
    """By sparse factors, about independent coordinates that are chosen from the motions left."""
    system = make()
    state = system.initial_state()
    state.vel[:] = np.random.default_rng(3).normal(size=len(state.vel))
    many = Minimal(system.evaluator(), state)
    assert not many.closing.is_small
    change = 0.02 * np.random.default_rng(4).normal(size=len(many.split.ind))
    moved, J = many.moved(state, change), many.loop_jacobian(state)
    acc = many.close_rates(moved.copy(), change)
    for module in (closing, coordinates):
        monkeypatch.setattr(module, "SMALL", 10**6)
    few = Minimal(system.evaluator(), state)
    few_J = few.loop_jacobian(state)
    assert few.closing.is_small
    assert np.abs(J).max() < 10.0 * np.abs(few_J).max()
    few.take(many.split)
    np.testing.assert_allclose(J, few.loop_jacobian(state), atol=1e-9)
    same = few.moved(state, change)
    np.testing.assert_allclose(moved.pos, same.pos, atol=1e-10)
    np.testing.assert_allclose(moved.vel, same.vel, atol=1e-8)
    np.testing.assert_allclose(acc, few.close_rates(same, change), atol=1e-6 * np.abs(acc).max())
