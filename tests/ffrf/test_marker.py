"""Markers against the printed equations, their complex-step derivatives, and nodal forces."""

import json

import numpy as np
import pytest

from flexmbs.ffrf.marker import (
    inverse_jacobian_coefficient,
    jacobian_coefficients,
    marker_position,
    marker_velocity,
    pack_rows,
)
from flexmbs.ffrf.parametrisation import parametrisation
from flexmbs.resources import resource
from flexmbs.spatial import axial, exp_so3, left_jacobian
from tests.ffrf import reference

STEP = 1e-30


class Marker:
    """One marker in the flat tables of the kernels."""

    def __init__(self, rng, nf, stiffening):
        self.nf = nf
        self.u0, self.R0 = rng.normal(size=(1, 3)), exp_so3(rng.normal(size=(1, 3)))
        self.Phi, self.Psi = rng.normal(size=(2, 3, nf))
        K = rng.normal(size=(6, nf, nf)) if stiffening else np.zeros((0, nf, nf))
        self.K = 0.5 * (K + K.transpose(0, 2, 1))
        self.data = np.concatenate([[7.0], pack_rows(self.Phi, self.Psi), self.K.transpose(1, 2, 0).ravel()])
        self.row = 1 if nf else -1
        self.offset = 1 + 6 * nf if stiffening else -1

    def position(self, q):
        """Printed equations, in the dtype of q: u_P, R_P, theta."""
        second = 0.5 * np.einsum("a,cab,b->c", q, self.K, q) if len(self.K) else np.zeros(6)
        theta = self.Psi @ q - second[3:]
        return self.u0[0] + self.Phi @ q - second[:3], exp_so3(theta) @ self.R0[0], theta

    def kernels(self, q, q_dot):
        u, R, theta = np.full((1, 3), np.nan), np.full((1, 3, 3), np.nan), np.full((1, 3), np.nan)
        rows, out, scratch = np.zeros(6 * self.nf), np.full(12, np.nan), np.full(6 * self.nf, np.nan)
        where = (self.data, self.row, self.offset)
        marker_position(0, self.nf, (self.u0, self.R0), where, (q, 0), (u, R, theta), (rows, 0))
        axes = np.eye(3)[None], 0
        marker_velocity(0, self.nf, where, (q_dot, 0), theta, (rows, 0, scratch), axes, out)
        return u[0], R[0], theta[0], rows.reshape(-1, 6).T, out


@pytest.fixture(params=[(0, False), (1, False), (4, False), (3, True)], ids=str)
def case(request):
    rng = np.random.default_rng(1)
    nf, stiffening = request.param
    return Marker(rng, nf, stiffening), 0.4 * rng.normal(size=nf), rng.normal(size=nf), rng.normal(size=nf)


def test_position_of_a_marker_F18(case):
    marker, q, q_dot, _ = case
    found = marker.kernels(q, q_dot)
    for a, b in zip(found[:3], marker.position(q), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-14)


def test_rows_of_a_marker_are_the_derivatives_of_its_place_F18(case):
    marker, q, q_dot, _ = case
    _, R, _, rows, out = marker.kernels(q, q_dot)
    for a in range(marker.nf):
        direction = np.eye(marker.nf)[a]
        u_step, R_step, _ = marker.position(q + 1j * STEP * direction)
        np.testing.assert_allclose(rows[:3, a], u_step.imag / STEP, rtol=1e-12, atol=1e-13)
        spin = axial(R_step.imag / STEP @ R.T)
        np.testing.assert_allclose(rows[3:, a], spin, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(out[:6], rows @ q_dot, rtol=1e-12, atol=1e-13)


def test_bias_of_a_marker_is_the_derivative_of_its_velocity_F18(case):
    """rows q_ddot + bias = d/dt (rows q_dot) along q_dot."""
    marker, q, q_dot, q_ddot = case
    *_, rows, out = marker.kernels(q, q_dot)

    def velocity(q, q_dot):
        K_q = np.einsum("cab,b->ca", marker.K, q) if len(marker.K) else np.zeros((6, marker.nf))
        theta = marker.position(q)[2]
        spin = left_jacobian(theta) @ ((marker.Psi - K_q[3:]) @ q_dot)
        return np.concatenate([(marker.Phi - K_q[:3]) @ q_dot, spin])

    rate = velocity(q + 1j * STEP * q_dot, q_dot + 1j * STEP * q_ddot).imag / STEP
    np.testing.assert_allclose(rows @ q_ddot + out[6:], rate, rtol=1e-11, atol=1e-12)


def test_bias_in_turned_axes_is_the_turned_bias_F18():
    rng = np.random.default_rng(2)
    marker, R = Marker(rng, 3, True), exp_so3(rng.normal(size=3))
    q, q_dot = rng.normal(size=(2, 3))
    *_, theta, rows, out = marker.kernels(q, q_dot)
    turned = np.ascontiguousarray((R @ rows.T.reshape(3, 2, 3)[..., None])[..., 0].ravel())
    found = np.zeros(12)
    modes = marker.data, marker.row, marker.offset
    columns = turned, 0, np.zeros(18)
    marker_velocity(0, 3, modes, (q_dot, 0), (R @ theta)[None], columns, (R[None], 0), found)
    np.testing.assert_allclose(found.reshape(4, 3), out.reshape(4, 3) @ R.T, rtol=1e-12, atol=1e-13)


def test_series_and_closed_forms_of_the_jacobian_agree_F18():
    below, above = 0.25 * (1 - 1e-9), 0.25 * (1 + 1e-9)
    # 2e-9: the slope of the functions over the gap
    np.testing.assert_allclose(jacobian_coefficients(below), jacobian_coefficients(above), rtol=2e-9)
    assert inverse_jacobian_coefficient(below) == pytest.approx(inverse_jacobian_coefficient(above), rel=1e-9)
    b, c, b1, c1 = jacobian_coefficients(below)
    t = np.sqrt(below)
    assert b == pytest.approx((1 - np.cos(t)) / t**2, rel=1e-14)
    assert c == pytest.approx((t - np.sin(t)) / t**3, rel=1e-13)
    assert b1 == pytest.approx((np.sin(t) / t - 2 * b) / (2 * t**2), rel=1e-12)
    assert c1 == pytest.approx((b - 3 * c) / (2 * t**2), rel=1e-11)


def test_forces_at_a_node_of_the_reference_case_F16():
    """The case has the directions of S_r at q = 0, which small angles reach."""
    case = json.loads(resource("cases", "reference", "force-point-on-flexible-node.json").read_text())
    given, expected = case["parameters"], case["reference"]
    marker = Marker(np.random.default_rng(3), 3, False)
    marker.u0, q = np.array([given["u0"]]), np.array(given["q_f"])
    marker.Phi, marker.Psi = np.array(given["S"]), np.array(given["S_r"])
    marker.data = np.concatenate([[7.0], pack_rows(marker.Phi, marker.Psi)])
    u, _, _, rows, _ = marker.kernels(q, np.zeros(3))
    A, F = np.array(given["A"]), np.array(given["F"])
    np.testing.assert_allclose(np.cross(u, A.T @ F), expected["force"]["Q_R_body"], rtol=1e-12)
    np.testing.assert_allclose(rows[:3].T @ A.T @ F, expected["force"]["Q_f"], rtol=1e-12)
    *_, rows, _ = marker.kernels(np.zeros(3), np.zeros(3))
    moment = A.T @ np.array(given["M0"])
    np.testing.assert_allclose(rows[3:].T @ moment, expected["moment"]["Q_f"], rtol=1e-12)
    chosen, theta = parametrisation("zyx"), np.array(given["euler_zyx"])
    A2 = chosen.rotation(theta)
    np.testing.assert_allclose(A2 @ u + given["r"], expected["euler"]["node_position"], rtol=1e-12)
    Q_theta = chosen.rate_matrix(theta).T @ np.cross(u, A2.T @ F)
    np.testing.assert_allclose(Q_theta, expected["euler"]["Q_theta"], rtol=1e-12)


def test_second_order_places_belong_to_the_stiffening_of_the_body_F17a():
    """A lumped body whose nodes move by Phi q - q^T K q / 2 has the S_t(q) of (F17a)."""
    rng = np.random.default_rng(4)
    cloud, body = reference.random_body(rng, 3)
    K = rng.normal(size=(len(cloud.points), 3, 3, 3))
    K = 0.5 * (K + K.transpose(0, 1, 3, 2))
    q = rng.normal(size=3)
    K_a = np.einsum("n,ncab->cab", cloud.masses, K)
    places = cloud.points + cloud.shapes[0] @ q - 0.5 * np.einsum("a,ncab,b->nc", q, K, q)
    S_t = body.S_O + body.S_f @ q - 0.5 * np.einsum("a,cab,b->c", q, K_a, q)
    apart = cloud.attached.mass @ (cloud.attached.position + cloud.moves(cloud.Phi)[0] @ q)
    np.testing.assert_allclose(cloud.masses @ places + apart, S_t, rtol=1e-12)
