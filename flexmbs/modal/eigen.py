"""Block Lanczos iteration for the lowest modes of a held or free body, many right-hand sides at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError

Floats = NDArray[np.float64]

BLOCK = 8
TOLERANCE = 1e-7  # residual of a Ritz vector, of its Ritz value; the frequency is then good to its square
FLOOR = 1e-15  # of the largest Ritz value: rounding of the operator
MAX_VECTORS = 3000
MAX_BYTES = 2**31  # of the basis, unless that leaves fewer than MIN_VECTORS
MIN_VECTORS = 400


@dataclass(frozen=True)
class Modes:
    """Eigenpairs: omega2 (n,) ascending, V (n_t, n) M-orthonormal; `all_found` up to the limit asked for."""

    omega2: Floats
    V: Floats

    @property
    def frequency_hz(self) -> Floats:
        return np.sqrt(np.maximum(self.omega2, 0.0)) / (2.0 * np.pi)

    def first(self, n: int) -> Modes:
        return Modes(self.omega2[:n], self.V[:, :n])


def lowest_modes(
    inverse_mass: Callable[[Floats], Floats],
    M: sp.spmatrix,
    n: int | None = None,
    fmax: float | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Modes:
    """The lowest n modes, or all up to fmax [Hz], of the operator K^-1 M (`inverse_mass`), self-adjoint in M.

    Full reorthogonalisation; grows until the Ritz residuals of all wanted modes are below the tolerance.
    """
    size = M.shape[0]
    if n is not None:
        n = min(n, size)
    if n == 0:
        return Modes(np.zeros(0), np.zeros((size, 0)))
    basis = _Krylov(inverse_mass, M, min(BLOCK, size), 8 * (n or 16) + 8 * BLOCK)
    limit = np.inf if fmax is None else 1.0 / (2.0 * np.pi * fmax) ** 2
    check_at = n or 1
    while True:
        grown = basis.grow()
        if grown and basis.count < check_at and basis.count <= most_vectors(size):
            continue
        check_at = basis.count + basis.count // 8  # a Ritz problem per block would cost more than the blocks
        mu, W, residual = basis.ritz()
        good = residual <= np.maximum(TOLERANCE * mu, FLOOR * mu[0])
        wanted = len(mu) if n is None else n
        leading = int(np.argmin(good)) if not good.all() else len(good)
        if n is not None and (leading >= n or not grown):
            wanted = min(n, int(np.sum(mu > 1e-14 * mu[0])))
            break
        if n is None and leading and (mu[leading - 1] < limit or not grown):
            wanted = int(np.sum(mu[:leading] >= limit))
            break
        if not grown:
            wanted = 0
            break
        if progress is not None and n is not None:
            progress(min(leading / n, 1.0), f"{leading} of {n} modes")
        if basis.count > most_vectors(size):
            what = f"{leading} modes are found and more are asked for; the limit is reached"
            raise SolverError(Diagnostic("modal.many_modes", "modes", what, "lower --fmax or --modes"))
    V = basis.vectors(W[:, :wanted])
    return Modes(1.0 / mu[:wanted], V)


def most_vectors(size: int) -> int:
    """Largest number of basis vectors (each kept twice) for a body of this many freedoms."""
    return min(MAX_VECTORS, max(MIN_VECTORS, MAX_BYTES // (16 * size)))


class _Krylov:
    """M-orthonormal block Krylov basis with the projection of the operator on it."""

    def __init__(self, operator: Callable[[Floats], Floats], M: sp.spmatrix, block: int, room: int) -> None:
        self.operator, self.M = operator, M
        start = operator(np.random.default_rng(7).normal(size=(M.shape[0], block)))
        self.count = 0
        self._Q = np.empty((M.shape[0], min(room, M.shape[0] + block)), order="F")
        self._MQ = np.empty_like(self._Q)
        self.A = np.zeros((0, 0))
        self.residual_factor = np.zeros((0, 0))
        self.block, self.M_block, _ = self._orthonormal(start)

    @property
    def Q(self) -> Floats:
        return self._Q[:, : self.count]

    @property
    def MQ(self) -> Floats:
        return self._MQ[:, : self.count]

    def _orthonormal(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """V made M-orthonormal and orthogonal to the basis, dependent directions dropped: new, M new, R.

        Twice, because once is not enough near convergence; V = new R.
        """
        total = np.eye(V.shape[1])
        largest = 0.0
        for sweep in range(2):
            V = V - self.Q @ (self.MQ.T @ V)
            MV = self.M @ V
            gram = V.T @ MV
            value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
            largest = max(largest, float(value.max(initial=0.0))) if sweep == 0 else 1.0
            keep = value > 1e-26 * largest
            turn = vector[:, keep] / np.sqrt(value[keep])
            V, MV = V @ turn, MV @ turn
            total = (vector[:, keep] * np.sqrt(value[keep])).T @ total
        return V, MV, total

    def _append(self) -> None:
        new = self.count + self.block.shape[1]
        if new > self._Q.shape[1]:
            wider = np.empty((len(self._Q), 2 * new), order="F")
            M_wider = np.empty_like(wider)
            wider[:, : self.count], M_wider[:, : self.count] = self.Q, self.MQ
            self._Q, self._MQ = wider, M_wider
        self._Q[:, self.count : new] = self.block
        self._MQ[:, self.count : new] = self.M_block
        self.count = new

    def grow(self) -> bool:
        """Add one block; False when the space is exhausted."""
        if not self.block.shape[1]:
            return False
        before = self.count
        self._append()
        image = self.operator(self.block)
        H = self.MQ.T @ image
        A = np.zeros((self.count, self.count))
        A[:before, :before] = self.A
        A[:, before:] = H
        A[before:, :] = H.T
        A[before:, before:] = 0.5 * (H[before:] + H[before:].T)
        self.A = A
        self.block, self.M_block, self.residual_factor = self._orthonormal(image - self.Q @ H)
        return self.block.shape[1] > 0

    def ritz(self) -> tuple[Floats, Floats, Floats]:
        """Ritz values, descending, vectors in the basis, and M-norms of their residuals."""
        mu, W = np.linalg.eigh(self.A)
        mu, W = mu[::-1], W[:, ::-1]
        last = W[self.count - self.residual_factor.shape[1] :] if self.residual_factor.size else W[:0]
        residual = np.linalg.norm(self.residual_factor @ last, axis=0) if len(last) else np.zeros(len(mu))
        return mu, W, residual

    def vectors(self, W: Floats) -> Floats:
        V = self.Q @ W
        return V / np.sqrt(np.einsum("ij,ij->j", V, self.M @ V))
