"""Rotating bars and beams of the reference cases, with polynomial shapes on a line of quadrature points."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Legendre
from scipy.linalg import eigh

from flexmbs.ffrf.integrals import BODY_LOADS, shape_integrals
from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces
from flexmbs.reduce import reduce
from flexmbs.resources import resource

N_POINTS = 40


def reference(name):
    return json.loads(resource("cases", "reference", f"{name}.json").read_text())


class Line:
    """A bar along x from the origin as a Gauss rule: exact for the products of its shapes."""

    n_per_node = 3
    inertias = np.zeros((0, 3, 3))
    attached = SimpleNamespace(mass=np.zeros(0), position=np.zeros((0, 3)))

    def __init__(self, length, mass_per_length):
        s, w = np.polynomial.legendre.leggauss(N_POINTS)
        self.x, self.w = 0.5 * length * (1.0 + s), 0.5 * length * w
        self.points = np.zeros((N_POINTS, 3))
        self.points[:, 0] = self.x
        self.masses = mass_per_length * self.w

    def inner(self, k, A, ell, B):
        return (A[k::3] * self.masses[:, None]).T @ B[ell::3]

    def moves(self, U):
        return np.zeros((0, 3, U.shape[1]))

    turns = moves

    def field(self, axis, values):
        """Shapes (point, mode) along one axis as rows of all degrees of freedom."""
        Phi = np.zeros((N_POINTS, 3, values.shape[1]))
        Phi[:, axis] = values
        return Phi.reshape(-1, values.shape[1])


def test_one_mode_of_a_rotating_bar_F13():
    case = reference("flex-rotating-bar-axial")
    p = SimpleNamespace(**case["parameters"])
    line = Line(p.L, p.rho * p.A)
    slope = 0.5 * np.pi / p.L * np.cos(0.5 * np.pi * line.x / p.L)
    body = shape_integrals(line, line.points, line.field(0, np.sin(0.5 * np.pi * line.x / p.L)[:, None]))
    k1 = p.E * p.A * line.w @ slope**2
    w, rest = np.array([0.0, 0.0, p.Omega]), np.zeros(1)

    def force(q):
        return quadratic_velocity_forces(body, np.array([q]), rest, w)[6]

    # the velocity force is linear in q
    amplitude = force(0.0) / (k1 - (force(1.0) - force(0.0)))
    assert amplitude == pytest.approx(case["reference"]["one_mode_amplitude"], rel=1e-12)


def test_fine_shapes_of_a_rotating_bar_reach_the_exact_stretch_F13():
    case = reference("flex-rotating-bar-axial")
    p = SimpleNamespace(**case["parameters"])
    line = Line(p.L, p.rho * p.A)
    shapes = [Legendre.basis(k, [0.0, p.L]) * Legendre([0.5 * p.L, 0.5 * p.L], [0.0, p.L]) for k in range(6)]
    slopes = np.array([shape.deriv()(line.x) for shape in shapes])
    K = p.E * p.A * slopes @ (line.w[:, None] * slopes.T)
    values = np.array([shape(line.x) for shape in shapes]).T
    body = shape_integrals(line, line.points, line.field(0, values))
    w, rest = np.array([0.0, 0.0, p.Omega]), np.zeros(6)
    constant = quadratic_velocity_forces(body, rest, rest, w)
    matrix = np.array([quadratic_velocity_forces(body, q, rest, w) - constant for q in np.eye(6)]).T
    q = np.linalg.solve(K - matrix[6:], constant[6:])
    tip = sum(a * shape(p.L) for a, shape in zip(q, shapes, strict=True))
    assert tip == pytest.approx(case["reference"]["u_tip_exact_floating_frame"], rel=1e-9)
    force = (constant + np.concatenate([matrix[:6] @ q, np.zeros(6)]))[:6]
    assert force[0] == pytest.approx(case["reference"]["root_force"], rel=1e-9)
    assert abs(force[5]) < 1e-9 * force[0]  # no driving torque in the steady state


def rotating_beam(gamma, stiffening):
    """Angular frequencies of flap and lag of a unit cantilever; spin about z, all stiffening by w_z^2."""
    line, n = Line(1.0, 1.0), 10
    shapes = [Legendre.basis(k, [0.0, 1.0]) * Legendre([0.5, 0.5], [0.0, 1.0]) ** 2 for k in range(n)]
    values = np.array([shape(line.x) for shape in shapes]).T
    slopes = np.array([shape.deriv()(line.x) for shape in shapes])
    curves = np.array([shape.deriv(2)(line.x) for shape in shapes])
    K = curves @ (line.w[:, None] * curves.T)
    # unit load rho (e_z u0_z - u0): an axial force -(L^2 - x^2)/2
    tension = -0.5 * (1.0 - line.x**2)
    K_geo = np.zeros((12, 2 * n, 2 * n))
    both = np.kron(np.eye(2), slopes @ ((line.w * tension)[:, None] * slopes.T))
    K_geo[BODY_LOADS.index("w.zz")] = both
    Phi = np.hstack([line.field(2, values), line.field(1, values)])
    body = shape_integrals(line, line.points, Phi, K_geo=K_geo, loads=BODY_LOADS)
    w, rest = np.array([0.0, 0.0, gamma]), np.zeros(2 * n)
    by_q = np.array(
        [quadratic_velocity_forces(body, q, rest, w, stiffening=stiffening)[6:] for q in np.eye(2 * n)]
    ).T
    stiff, mass = np.kron(np.eye(2), K) - by_q, mass_matrix(body, rest)[6:, 6:]
    flap = eigh(stiff[:n, :n], mass[:n, :n], eigvals_only=True)
    lag = eigh(stiff[n:, n:], mass[n:, n:], eigvals_only=True)
    return flap[:3], lag[:3]


@pytest.mark.parametrize("gamma", [0, 1, 4, 12])
def test_frequencies_of_a_rotating_beam_with_stiffening_F17(gamma):
    expected = reference("flex-rotating-beam-frequencies")["reference"]["with_geometric_stiffening"][
        str(gamma)
    ]
    flap, lag = rotating_beam(gamma, True)
    np.testing.assert_allclose(np.sqrt(flap), expected["flap"], rtol=1e-7)  # ten polynomials
    np.testing.assert_allclose(np.sqrt(lag), expected["lag"], rtol=1e-7)


@pytest.mark.parametrize("gamma", [1, 3])
def test_frequencies_of_a_rotating_beam_without_stiffening(gamma):
    standing = reference("flex-rotating-beam-frequencies")["reference"]["with_geometric_stiffening"]["0"]
    flap, lag = rotating_beam(gamma, False)
    np.testing.assert_allclose(np.sqrt(flap), standing["flap"], rtol=1e-7)
    np.testing.assert_allclose(lag, np.square(standing["lag"]) - gamma**2, rtol=1e-7)


@pytest.mark.slow
def test_reduced_beam_stiffens_as_the_reference_F17():
    """From the mesh on: unit loads, K_geo and integrals of a reduced cantilever, spin about z."""
    L, side, E, rho = 2.0, 0.02, 70e9, 2700.0
    mesh = {"shape": "beam", "length": L, "divisions": 20, "section": {"rectangle": [side, side]}}
    recipe = {
        "method": "craig-bampton", "modes": 12, "frame": "tangent:x_min", "mesh": mesh,
        "interfaces": ["x_min", "x_max"],
        "material": {"young": E, "poisson": 0.0, "density": rho},
    }  # fmt: skip
    body = reduce(recipe).integrals
    scale, rest = np.sqrt(E * side**2 / (12.0 * rho)) / L**2, np.zeros(body.nf)
    mass = mass_matrix(body, rest)[6:, 6:]
    for gamma in (0, 4, 12):
        w = np.array([0.0, 0.0, gamma * scale])
        constant = quadratic_velocity_forces(body, rest, rest, w)
        by_q = np.array([quadratic_velocity_forces(body, q, rest, w) - constant for q in np.eye(body.nf)]).T
        stiff = body.K_ff - by_q[6:]
        found = np.sqrt(eigh(0.5 * (stiff + stiff.T), mass, eigvals_only=True)[:4]) / scale
        expected = reference("flex-rotating-beam-frequencies")["reference"]["with_geometric_stiffening"]
        both = expected[str(gamma)]
        np.testing.assert_allclose(
            found, sorted(both["flap"][:2] + both["lag"][:2]), rtol=2e-3
        )  # 12 modes of the standing beam
