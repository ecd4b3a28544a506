"""Sense in which modes of a turning body move: with its spin (forward) or against it (backward whirl)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.state import State
from flexmbs.spatial import skew

Floats = NDArray[np.float64]

SPINS = 1e-9  # rad/s above which a body has an axis of spin


def whirl(system: Any, state: State, motions: dict[str, Any], n_modes: int) -> Floats:
    """For every mode a number between -1 and 1: 1 circles with the spin, -1 against it, 0 goes to and fro.

    Taken over the mean rigid motion of all bodies that turn, by their inertia: with the complex velocity v of
    the mass centre and angular velocity w it is `-Im n.(m conj(v) x v + conj(w) x Theta w)` over
    `m |v|^2 + conj(w).Theta w`, n the axis of spin. NaN where nothing turns or takes part.
    """
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    turned, whole = np.zeros(n_modes), np.zeros(n_modes)
    for name, motion in motions.items():
        i = system.numbers.index[name]
        spin, R = evaluator.ws.body.v[i, 3:], evaluator.ws.body.R[i]
        if np.linalg.norm(spin) < SPINS:
            continue
        axis = R.T @ spin / np.linalg.norm(spin)
        mass, Theta, v, w = _mean_motion(system.mass_matrix(state, name), R, motion)
        momentum = w @ Theta
        turned -= (mass * np.cross(v.conj(), v) + np.cross(w.conj(), momentum)).imag @ axis
        whole += mass * np.sum(abs(v) ** 2, axis=1) + np.sum(w.conj() * momentum, axis=1).real
    return np.where(whole > 0.0, turned / np.where(whole > 0.0, whole, 1.0), np.nan)


def _mean_motion(M: Floats, R: Floats, motion: Any) -> tuple[float, Floats, Any, Any]:
    """Mass, inertia about the mass centre, and the mean motion of a body (modes, 3), body axes (F12)."""
    v_hat = np.concatenate([motion[:, :3] @ R, motion[:, 3:6] @ R, motion[:, 6:]], axis=1)
    momentum = v_hat @ M[:6].T
    mass = float(M[0, 0])
    centre = np.array([M[2, 4], M[0, 5], M[1, 3]]) / mass if mass > 0.0 else np.zeros(3)
    Theta = M[3:6, 3:6] + mass * skew(centre) @ skew(centre)
    v = momentum[:, :3] / mass if mass > 0.0 else 0.0 * momentum[:, :3]
    spin = momentum[:, 3:6] - np.cross(centre, momentum[:, :3])
    return mass, Theta, v, spin @ np.linalg.pinv(Theta)
