"""Integrals, mass matrix and velocity forces against direct nodal sums, the printed equations and power."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.ffrf.integrals import BODY_LOADS, interface_loads, rigid_integrals, shape_integrals
from flexmbs.ffrf.mass import LEDGER_TERMS, ledger, mass_matrix, quadratic_velocity_forces
from flexmbs.ffrf.parametrisation import parametrisation
from flexmbs.ffrf.table import INERTIA_TERMS, marker_stiffening, pack_body
from flexmbs.resources import resource
from tests.ffrf import reference

CASES = [(0, False, False), (1, False, True), (3, True, False), (5, False, True), (6, True, True)]


def state(rng, nf):
    return 0.3 * rng.normal(size=nf), rng.normal(size=nf), rng.normal(size=3), rng.normal(size=3)


@pytest.mark.parametrize(("nf", "inertias", "geo"), CASES)
def test_mass_matrix_is_the_printed_one_F12(nf, inertias, geo):
    rng = np.random.default_rng(1)
    _, body = reference.random_body(rng, nf, inertias=inertias, geo=geo)
    q = state(rng, nf)[0]
    expected = reference.mass_matrix(body, q, body.K_geo if geo and nf else None)
    np.testing.assert_allclose(mass_matrix(body, q), expected, rtol=1e-13, atol=1e-12)  # rounding


@pytest.mark.parametrize(("nf", "inertias", "geo"), CASES)
def test_velocity_forces_are_the_printed_ones_F13(nf, inertias, geo):
    rng = np.random.default_rng(2)
    _, body = reference.random_body(rng, nf, inertias=inertias, geo=geo)
    q, q_dot, w, _ = state(rng, nf)
    expected = reference.velocity_forces(body, q, q_dot, w, body.K_geo if geo and nf else None)
    found = quadratic_velocity_forces(body, q, q_dot, w)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)  # rounding


@pytest.mark.parametrize("nf", [0, 1, 4])
def test_lumped_integrals_give_the_nodal_sums_F12_F13(nf):
    rng = np.random.default_rng(3)
    cloud, body = reference.random_body(rng, nf)
    q, q_dot, w, _ = state(rng, nf)
    expected = reference.mass_matrix_by_nodal_sum(cloud, q)
    np.testing.assert_allclose(mass_matrix(body, q), expected, rtol=1e-12, atol=1e-12)
    expected = reference.velocity_forces_by_nodal_sum(cloud, q, q_dot, w)
    found = quadratic_velocity_forces(body, q, q_dot, w)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_nodal_inertias_give_J_and_J_Psi_F7a():
    rng = np.random.default_rng(4)
    cloud, body = reference.random_body(rng, 4, inertias=True)
    expected = reference.mass_matrix_by_nodal_sum(cloud, np.zeros(4))
    np.testing.assert_allclose(mass_matrix(body, np.zeros(4)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("terms", INERTIA_TERMS)
@pytest.mark.parametrize(("nf", "inertias", "geo"), CASES)
def test_velocity_forces_keep_the_power_balance_F13(nf, inertias, geo, terms):
    """d/dt (v_hat^T M v_hat / 2) = v_hat^T f with M a_hat = Q_v + f, v_dot = a - w~ v."""
    rng = np.random.default_rng(5)
    _, body = reference.random_body(rng, nf, inertias=inertias, geo=geo)
    q, q_dot, w, v = state(rng, nf)
    v_hat = np.concatenate([v, w, q_dot])
    # d M / dt by an exact central difference: M is quadratic in q
    M, M_plus, M_minus = (mass_matrix(body, q + s * q_dot, inertia_terms=terms) for s in (0.0, 1.0, -1.0))
    M_dot = 0.5 * (M_plus - M_minus)
    Q_v = quadratic_velocity_forces(body, q, q_dot, w, inertia_terms=terms)
    transport = np.concatenate([np.cross(w, v), np.zeros(3 + nf)])
    lost = v_hat @ Q_v + 0.5 * v_hat @ M_dot @ v_hat - v_hat @ M @ transport
    scale = np.abs(v_hat) @ np.abs(Q_v)
    assert abs(lost) < 1e-12 * scale  # rounding


@pytest.mark.parametrize(("nf", "inertias", "geo"), CASES)
def test_ledger_adds_up_to_the_kinetic_energy(nf, inertias, geo):
    rng = np.random.default_rng(6)
    _, body = reference.random_body(rng, nf, inertias=inertias, geo=geo)
    q, q_dot, w, v = state(rng, nf)
    v_hat = np.concatenate([v, w, q_dot])
    terms = ledger(body, q, v_hat)
    assert terms.shape == (1, len(LEDGER_TERMS))
    np.testing.assert_allclose(terms.sum(), 0.5 * v_hat @ mass_matrix(body, q) @ v_hat, rtol=1e-12)


def test_truncated_inertia_terms_are_the_full_ones_at_rest():
    rng = np.random.default_rng(7)
    _, body = reference.random_body(rng, 3)
    for terms in INERTIA_TERMS:
        np.testing.assert_array_equal(
            mass_matrix(body, np.zeros(3), inertia_terms=terms), mass_matrix(body, np.zeros(3))
        )
    q = rng.normal(size=3)
    constant = mass_matrix(body, q, inertia_terms="constant")
    np.testing.assert_array_equal(constant, mass_matrix(body, np.zeros(3)))
    first = mass_matrix(body, q, inertia_terms="first-order")
    slope = 0.5 * (mass_matrix(body, q) - mass_matrix(body, -q))  # M is quadratic in q
    np.testing.assert_allclose((first - constant)[:6, :6], slope[:6, :6], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(first[:6, 6:], constant[:6, 6:])


def test_unknown_inertia_terms_are_refused():
    with pytest.raises(InputError, match="first-order"):
        pack_body(rigid_integrals(1.0, np.zeros(3), np.eye(3)), inertia_terms="first order")


def test_rigid_integrals_give_the_inertia_about_the_origin():
    J = np.diag([1.0, 2.0, 2.5])
    body = rigid_integrals(2.0, [0.5, 0.0, 0.0], J)
    np.testing.assert_allclose(mass_matrix(body)[3:, 3:], J + np.diag([0.0, 0.5, 0.5]), rtol=1e-14)
    np.testing.assert_array_equal(body.com, [0.5, 0.0, 0.0])


def test_selected_modes_are_those_of_the_whole_basis():
    rng = np.random.default_rng(8)
    _, body = reference.random_body(rng, 5, geo=True, interfaces=("root",))
    pick = [3, 0]
    some, q = body.select(pick), np.array([0.2, -0.1])
    q_all = np.zeros(5)
    q_all[pick] = q
    rows = np.concatenate([np.arange(6), 6 + np.array(pick)])
    np.testing.assert_allclose(
        mass_matrix(some, q), mass_matrix(body, q_all)[np.ix_(rows, rows)], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_array_equal(marker_stiffening(some, "root"), some.K_geo[len(BODY_LOADS) :])
    assert marker_stiffening(some, "tip") is None


def test_negligible_wrench_loads_are_left_out():
    rng = np.random.default_rng(9)
    _, body = reference.random_body(rng, 2, geo=True, interfaces=("root", "tip"))
    assert interface_loads("root")[0] in body.loads
    body.K_geo[len(BODY_LOADS) : len(BODY_LOADS) + 6] *= 1e-16
    assert marker_stiffening(body, "root") is None
    assert marker_stiffening(body, "tip") is not None


def test_damping_of_the_wrong_size_is_refused():
    body = rigid_integrals(1.0, np.zeros(3), np.eye(3))
    with pytest.raises(InputError, match="0 modes"):
        body.with_damping(np.eye(2))


class BoxByQuadrature:
    """The box of the reference case as a Gauss rule: a lumped cloud that is exact for its polynomials."""

    n_per_node = 3

    def __init__(self, lower, upper, density):
        x, w = np.polynomial.legendre.leggauss(6)
        lower, upper = np.array(lower), np.array(upper)
        grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
        weight = np.einsum("i,j,k->ijk", w, w, w).ravel()
        self.points = 0.5 * (lower + upper) + 0.5 * (upper - lower) * grid
        self.masses = density * weight * np.prod(0.5 * (upper - lower))

        self.attached = SimpleNamespace(mass=np.zeros(0), position=np.zeros((0, 3)))
        self.inertias = np.zeros((0, 3, 3))

    def inner(self, k, A, ell, B):
        return (A[k::3] * self.masses[:, None]).T @ B[ell::3]

    def moves(self, U):
        return np.zeros((0, 3, U.shape[1]))

    turns = moves


def box_case():
    case = json.loads(resource("cases", "reference", "fe-shape-integrals-box.json").read_text())
    given = case["parameters"]
    box = BoxByQuadrature(
        given["geometry"]["box_lower"], given["geometry"]["box_upper"], given["geometry"]["density"]
    )
    x, y, z = box.points.T
    L = np.zeros_like(x)
    Phi = np.array(
        [[-x * y, -(x**2) * z, L, x], [x**2 / 2, L, -x * z, -0.3 * y], [L, x**3 / 3, x * y, -0.3 * z]]
    )  # the strings of the case
    return case, shape_integrals(box, box.points, Phi.transpose(2, 0, 1).reshape(-1, 4))


def test_shape_integrals_of_the_reference_box_F2a():
    case, body = box_case()
    expected = case["reference"]["integrals"]
    assert body.mass == pytest.approx(expected["mass"], rel=1e-13)
    np.testing.assert_allclose(body.S_O, expected["S_t"], rtol=1e-13, atol=1e-11)
    np.testing.assert_allclose(body.S_f, expected["S_f"], rtol=1e-13, atol=1e-11)
    for k, first in enumerate("xyz"):
        for ell, second in enumerate("xyz"):
            pair = first + second
            assert body.Theta_kl[k, ell] == pytest.approx(expected["Theta_kl"][pair], rel=1e-12, abs=1e-11)
            np.testing.assert_allclose(body.I_kl[k, ell], expected["I_kl"][pair], rtol=1e-12, atol=1e-11)
            if pair in expected["S_kl"]:
                np.testing.assert_allclose(body.S_kl[k, ell], expected["S_kl"][pair], rtol=1e-12, atol=1e-11)


def test_state_of_the_reference_box_F12_F13():
    case, body = box_case()
    given, expected = case["parameters"], case["reference"]
    q, q_dot, w = (np.array(given[key]) for key in ("q_f", "qdot_f", "omega_body"))
    M = mass_matrix(body, q)
    np.testing.assert_allclose(M[3:6, 3:6], expected["Theta_deformed"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M[3:6, 6:], expected["I_Rf"], rtol=1e-12, atol=1e-12)
    Tr = np.eye(10)
    R_IB = parametrisation("zyx").rotation(np.array(given["euler_zyx"]))
    Tr[:3, :3] = R_IB.T  # the case takes the translations in ground axes
    np.testing.assert_allclose(Tr.T @ M @ Tr, expected["M"], rtol=1e-11, atol=1e-11)
    Q_v = Tr.T @ quadratic_velocity_forces(body, q, q_dot, w)
    np.testing.assert_allclose(Q_v, expected["Qv"], rtol=1e-11, atol=1e-10)
    rates = np.concatenate([given["rdot"], w, q_dot])
    assert 0.5 * rates @ Tr.T @ M @ Tr @ rates == pytest.approx(expected["kinetic_energy"], rel=1e-12)
