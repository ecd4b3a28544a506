"""Rotations and twists against their definitions."""

import numpy as np
import pytest
from scipy.linalg import expm

from flexmbs import spatial

RNG = np.random.default_rng(1)
VECTORS = [RNG.normal(size=3) * scale for scale in (1e-9, 1e-4, 9e-4, 1e-3, 1e-2, 0.5, 3.0)]


@pytest.mark.parametrize("theta", VECTORS)
def test_exponential_is_the_matrix_exponential(theta):
    np.testing.assert_allclose(spatial.exp_so3(theta), expm(spatial.skew(theta)), atol=1e-14)


@pytest.mark.parametrize("theta", [*VECTORS, np.array([np.pi, 0, 0]), np.array([0, 0, np.pi - 1e-9])])
def test_logarithm_undoes_the_exponential(theta):
    R = spatial.exp_so3(theta)
    again = spatial.exp_so3(spatial.log_so3(R))
    np.testing.assert_allclose(again, R, atol=1e-13)


@pytest.mark.parametrize("theta", [v for v in VECTORS if np.linalg.norm(v) > 1e-8])
def test_left_jacobian_gives_the_angular_velocity_F18(theta):
    """R_dot R^T = skew(J theta_dot), the derivative of R by complex step."""
    theta_dot = np.array([0.3, -0.7, 1.1])
    h = 1e-30
    R = spatial.exp_so3(theta + 1j * h * theta_dot)
    R_dot = R.imag / h
    np.testing.assert_allclose(
        R_dot @ R.real.T, spatial.skew(spatial.left_jacobian(theta) @ theta_dot), atol=1e-13
    )


def test_quaternions_and_matrices_agree():
    quats = RNG.normal(size=(200, 4))
    quats[:4] = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    R = spatial.quat_to_matrix(quats)
    np.testing.assert_allclose(R @ np.swapaxes(R, 1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-14)
    back = spatial.quat_from_matrix(R)
    np.testing.assert_allclose(np.abs(np.sum(back * quats, axis=1)), 1.0, atol=1e-14)
    assert np.all(back[:, 0] >= 0.0)


def test_product_of_quaternions_is_product_of_rotations():
    a, b = RNG.normal(size=(2, 4))
    product = spatial.quat_to_matrix(spatial.quat_multiply(a, b))
    np.testing.assert_allclose(product, spatial.quat_to_matrix(a) @ spatial.quat_to_matrix(b), atol=1e-14)


def test_skew_is_the_cross_product_and_axial_its_inverse():
    x, y = RNG.normal(size=(2, 3))
    np.testing.assert_allclose(spatial.skew(x) @ y, np.cross(x, y), atol=1e-15)
    np.testing.assert_allclose(spatial.axial(spatial.skew(x)), x, atol=1e-15)


@pytest.mark.parametrize("n", [[0, 0, 2], [0, 0, -1], [1, 0, 0], [1, -2, 0.5], [1e-9, 0, 1]])
def test_shortest_rotation_brings_z_to_n(n):
    R = spatial.shortest_rotation(n)
    np.testing.assert_allclose(R[:, 2], np.asarray(n) / np.linalg.norm(n), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
    if n != [0, 0, -1]:
        axis = spatial.log_so3(R)
        assert axis[2] == pytest.approx(0.0, abs=1e-15)  # shortest: the axis is normal to z
    else:
        np.testing.assert_allclose(R, np.diag([1, -1, -1]))


def test_inertia_about_the_origin_of_a_point_mass():
    com = np.array([1.0, 2.0, -0.5])
    J = spatial.inertia_about(3.0, com, np.zeros((3, 3)))
    np.testing.assert_allclose(J, 3.0 * (com @ com * np.eye(3) - np.outer(com, com)))
