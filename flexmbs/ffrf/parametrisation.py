"""The equations of one body in rotation parameters theta, as the lecture notes write them (F12).

`w = H_rot theta_dot` in body axes (the notes' H^-1). The recursion never uses this form; it is here so
that results can be compared with the notes term by term.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.ffrf.integrals import Array
from flexmbs.spatial import quat_to_matrix, skew

AXES = np.eye(3)


@dataclass(frozen=True)
class Parametrisation:
    """Rotation of a body by parameters: R_IB(theta), H_rot(theta), d(H_rot)/dt theta_dot."""

    size: int
    rotation: Callable[[Array], Array]
    rate_matrix: Callable[[Array], Array]
    rate_bias: Callable[[Array, Array], Array]


def _elementary(axis: int, angle: float) -> Array:
    """Rotation about a coordinate axis, in the dtype of the angle (complex steps pass through)."""
    c, s, n = np.cos(angle), np.sin(angle), AXES[axis]
    return c * np.eye(3) + s * skew(n) + (1.0 - c) * np.outer(n, n)


def euler_angles(sequence: str) -> Parametrisation:
    """Three turns, each about the axis as turned by those before: "zyx" is Rz Ry Rx."""
    axes = ["xyz".index(letter) for letter in sequence]

    def rotation(theta: Array) -> Array:
        first, second, third = (_elementary(axis, t) for axis, t in zip(axes, theta, strict=True))
        return first @ second @ third

    def rate_matrix(theta: Array) -> Array:
        third = _elementary(axes[2], theta[2])
        second = _elementary(axes[1], theta[1])
        columns = [third.T @ second.T @ AXES[axes[0]], third.T @ AXES[axes[1]], AXES[axes[2]]]
        return np.stack(columns, axis=1)

    def rate_bias(theta: Array, theta_dot: Array) -> Array:
        H = rate_matrix(theta) * theta_dot
        # axis 1 as seen in the body turns by both later turns, axis 2 by the last
        return np.cross(H[:, 0], H[:, 1] + H[:, 2]) + np.cross(H[:, 1], H[:, 2])

    return Parametrisation(3, rotation, rate_matrix, rate_bias)


def euler_parameters() -> Parametrisation:
    """Unit quaternion w, x, y, z; H_rot is 3 x 4, and its rate times theta_dot vanishes (F12)."""

    def rate_matrix(theta: Array) -> Array:
        w, v = theta[0], theta[1:]
        return 2.0 * np.hstack([-v[:, None], w * np.eye(3) - skew(v)])

    return Parametrisation(4, quat_to_matrix, rate_matrix, lambda theta, theta_dot: np.zeros(3))


PARAMETRISATIONS: dict[str, Parametrisation] = {"euler_parameters": euler_parameters()} | {
    sequence: euler_angles(sequence)
    for sequence in ("xyx", "xyz", "xzx", "xzy", "yxy", "yxz", "yzx", "yzy", "zxy", "zxz", "zyx", "zyz")
}


def parametrisation(name: str) -> Parametrisation:
    """Rotation parameters by name: "euler_parameters", or Euler angles by their axes, "zyx"."""
    if name not in PARAMETRISATIONS:
        raise InputError(
            Diagnostic(
                "rotation.parametrisation",
                "parametrisation",
                f'"{name}" is not known',
                nearest(name, list(PARAMETRISATIONS)),
            )
        )
    return PARAMETRISATIONS[name]


def velocity_map(name: str, theta: ArrayLike, nf: int) -> Array:
    """`Tr = diag(R_IB^T, H_rot, 1)`: [r_dot; theta_dot; q_dot] -> v_hat (F12)."""
    chosen, theta = parametrisation(name), np.asarray(theta)
    H = chosen.rate_matrix(theta)
    Tr = np.zeros((6 + nf, 3 + chosen.size + nf), dtype=H.dtype)
    Tr[:3, :3] = chosen.rotation(theta).T
    Tr[3:6, 3 : 3 + chosen.size] = H
    Tr[6:, 3 + chosen.size :] = np.eye(nf)
    return Tr


def in_parameters(
    name: str, theta: ArrayLike, theta_dot: ArrayLike, M: Array, forces: Array
) -> tuple[Array, Array]:
    """M and right-hand side for [r_ddot; theta_ddot; q_ddot] from those for a_hat (F12).

    For Euler parameters M has a null vector along theta: the normalisation row makes the whole regular.
    """
    chosen = parametrisation(name)
    theta, theta_dot = np.asarray(theta), np.asarray(theta_dot)
    Tr = velocity_map(name, theta, len(M) - 6)
    bias = np.zeros(len(M), dtype=Tr.dtype)
    bias[3:6] = chosen.rate_bias(theta, theta_dot)
    return Tr.T @ M @ Tr, Tr.T @ (forces - M @ bias)
