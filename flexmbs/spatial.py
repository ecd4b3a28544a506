"""Rotations, skew matrices and twists: the only three-dimensional algebra of the package.

Quaternions are scalar first, `[w, x, y, z]`; rotation matrices `R_AB` give `x_A = R_AB @ x_B`.
All functions work on trailing axes, so that time histories pass through them whole.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = Any  # whatever np.asarray takes; numpy's own name asks for a cast at every use

#: Permutation symbol eps_ijk.
LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k] = 1.0
    LEVI_CIVITA[_i, _k, _j] = -1.0


def skew(x: ArrayLike) -> Array:
    """Skew matrix of a 3-vector, `skew(x) @ y = cross(x, y)`; (..., 3) -> (..., 3, 3)."""
    return np.einsum("ikj,...k->...ij", LEVI_CIVITA, np.asarray(x, dtype=np.result_type(np.asarray(x), 1.0)))


def axial(R: ArrayLike) -> Array:
    """Axial vector of the skew part of R, the inverse of `skew` on skew matrices."""
    R = np.asarray(R)
    return -0.5 * np.einsum("ijk,...jk->...i", LEVI_CIVITA, R)


def exp_so3(theta: ArrayLike) -> Array:
    """Rotation matrix of a rotation vector, exact; (..., 3) -> (..., 3, 3)."""
    theta = np.asarray(theta, dtype=np.result_type(np.asarray(theta), 1.0))
    t2 = np.sum(theta * theta, axis=-1)[..., None, None]
    small = np.abs(t2) < 1e-6
    safe = np.where(small, 1.0, t2)
    t = np.sqrt(safe)
    a = np.where(small, 1.0 - t2 / 6 + t2**2 / 120, np.sin(t) / t)
    b = np.where(small, 0.5 - t2 / 24 + t2**2 / 720, (1.0 - np.cos(t)) / safe)
    K = skew(theta)
    return np.eye(3) + a * K + b * (K @ K)


def log_so3(R: ArrayLike) -> Array:
    """Rotation vector of a rotation matrix, with angle in [0, pi]; (..., 3, 3) -> (..., 3)."""
    quat = quat_from_matrix(R)
    quat = np.where(quat[..., :1] < 0.0, -quat, quat)
    w, v = quat[..., 0], quat[..., 1:]
    n = np.linalg.norm(v, axis=-1)
    safe = np.where(n < 1e-12, 1.0, n)
    factor = np.where(n < 1e-12, 2.0, 2.0 * np.arctan2(n, w) / safe)
    return factor[..., None] * v


def left_jacobian(theta: ArrayLike) -> Array:
    """Left Jacobian J of SO(3): `R_dot R^T = skew(J theta_dot)` for `R = exp(theta~)` (F18)."""
    theta = np.asarray(theta, dtype=np.result_type(np.asarray(theta), 1.0))
    t2 = np.sum(theta * theta, axis=-1)[..., None, None]
    small = np.abs(t2) < 1e-4
    safe = np.where(small, 1.0, t2)
    t = np.sqrt(safe)
    b = np.where(small, 0.5 - t2 / 24 + t2**2 / 720, (1.0 - np.cos(t)) / safe)
    c = np.where(small, 1 / 6 - t2 / 120 + t2**2 / 5040, (t - np.sin(t)) / (safe * t))
    K = skew(theta)
    return np.eye(3) + b * K + c * (K @ K)


def axis_angle(axis: ArrayLike, angle: float) -> Array:
    """Rotation matrix about a direction (of any length) by an angle [rad]."""
    axis = np.asarray(axis, dtype=float)
    return exp_so3(axis / np.linalg.norm(axis) * angle)


def shortest_rotation(n: ArrayLike) -> Array:
    """Shortest rotation that brings z to the direction n; a half turn about x when n = -z."""
    n = np.asarray(n, dtype=float)
    n = n / np.linalg.norm(n)
    z = np.array([0.0, 0.0, 1.0])
    v = np.cross(z, n)
    sine, cosine = np.linalg.norm(v), float(n[2])
    if sine < 1e-15:
        return np.eye(3) if cosine > 0 else np.diag([1.0, -1.0, -1.0])
    return axis_angle(v, float(np.arctan2(sine, cosine)))


def quat_to_matrix(quat: ArrayLike) -> Array:
    """Rotation matrix of a quaternion [w, x, y, z], normalised first; (..., 4) -> (..., 3, 3)."""
    quat = np.asarray(quat, dtype=np.result_type(np.asarray(quat), 1.0))
    quat = quat / np.sqrt(np.sum(quat * quat, axis=-1, keepdims=True))
    w, v = quat[..., 0, None, None], quat[..., 1:]
    K = skew(v)
    return np.eye(3) + 2.0 * w * K + 2.0 * (K @ K)


def quat_from_matrix(R: ArrayLike) -> Array:
    """Quaternion with w >= 0 of a rotation matrix; (..., 3, 3) -> (..., 4)."""
    R = np.asarray(R, dtype=float)
    diag = np.einsum("...ii->...i", R)
    trace = diag.sum(axis=-1)
    # the row of the symmetric 4x4 matrix with the largest diagonal entry is the best conditioned
    Q = np.empty(R.shape[:-2] + (4, 4))
    Q[..., 0, 0] = 1.0 + trace
    Q[..., 0, 1:] = Q[..., 1:, 0] = 2.0 * axial(R)
    Q[..., 1:, 1:] = R + np.swapaxes(R, -1, -2) + (1.0 - trace)[..., None, None] * np.eye(3)
    best = np.argmax(np.einsum("...ii->...i", Q), axis=-1)
    quat = np.take_along_axis(Q, best[..., None, None], axis=-2)[..., 0, :]
    quat = quat / np.linalg.norm(quat, axis=-1, keepdims=True)
    return np.where(quat[..., :1] < 0.0, -quat, quat)


def quat_multiply(a: ArrayLike, b: ArrayLike) -> Array:
    """Product of two quaternions, `R(a b) = R(a) R(b)`."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    w = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def inertia_about(mass: float, com: ArrayLike, inertia_com: ArrayLike) -> Array:
    """Inertia tensor about the origin of the body frame from that about the mass centre."""
    K = skew(com)
    return np.asarray(inertia_com, dtype=float) - mass * (K @ K)
