"""Lowest modes by ARPACK: the twin that the block Lanczos iteration of `modal/eigen.py` is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from flexmbs.fe.solve.solvers import factorise


@dataclass(frozen=True)
class Modes:
    """Eigenpairs of K v = omega2 M v, omega2 ascending, V^T M V = 1."""

    omega2: np.ndarray
    V: np.ndarray

    @property
    def frequency_hz(self):
        return np.sqrt(np.maximum(self.omega2, 0.0)) / (2.0 * np.pi)


def default_shift(K, M):
    """Slightly negative: small against every elastic omega2, large against the rounding of the highest."""
    stiffness, mass = K.diagonal(), M.diagonal()
    moving = mass > 0.0
    return -1e-9 * float((stiffness[moving] / mass[moving]).max(initial=1.0))


def smallest_modes(K, M, n, solver="auto"):
    """The lowest n modes of a held or free body."""
    size = K.shape[0]
    if size <= max(60, 2 * n + 2):
        return Modes(*eigh(K.toarray(), M.toarray(), subset_by_index=[0, n - 1]))
    sigma = default_shift(K, M)
    factor = factorise(K - sigma * M, solver=solver)
    inverse = LinearOperator((size, size), matvec=factor.solve, dtype=float)
    start = np.random.default_rng(0).normal(size=size)
    omega2, V = eigsh(K, n, M, sigma=sigma, OPinv=inverse, v0=start, ncv=min(size, max(2 * n + 1, 30)))
    order = np.argsort(omega2)
    return Modes(omega2[order], V[:, order])
