"""Sparse solution of M z - Phi^T lam = b, Phi z = c with rows that may be redundant (F32, F28)."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.tolerances import NOTHING

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Array = NDArray[np.float64]

#: compliance of the rows in the factorised matrix, over that of the masses; less where rows nearly depend
SOFT = (1e-6, 1e-10, 1e-13)
ROUNDS = 60
#: passes by factors of another state, before it takes its own
FEW = 4
#: what may be left of a solution that is as good as rounding lets it be
ACCURATE = 1e-11


class Pattern:
    """Sparse matrix of a fixed pattern, filled from the numbers of its places; places may be named twice."""

    def __init__(self, rows: Any, cols: Any, shape: tuple[int, int]) -> None:
        from scipy.sparse import csc_matrix

        self.shape = shape
        places = np.asarray(cols, dtype=np.int64) * shape[0] + np.asarray(rows, dtype=np.int64)
        found, self.where = np.unique(places, return_inverse=True)
        self.size = len(found)
        start = np.searchsorted(found, np.arange(shape[1] + 1) * max(shape[0], 1))
        self.empty = csc_matrix((np.zeros(self.size), found % max(shape[0], 1), start), shape)

    def matrix(self, data: Array) -> csc_matrix:
        filled = copy(self.empty)  # places as they are, which the constructor would look through
        filled.data = np.bincount(self.where, data, self.size)
        return filled


class Blocks:
    """Places of M, Phi and W in [M, -Phi^T; -Phi, -soft W], found once for their patterns."""

    def __init__(self, M: csc_matrix, Phi: csc_matrix, W: csc_matrix) -> None:
        n, m = M.shape[0], Phi.shape[0]
        (M_row, M_col), (P_row, P_col), (W_row, W_col) = (_places(A) for A in (M, Phi, W))
        rows = np.concatenate([M_row, P_col, n + P_row, n + W_row])
        cols = np.concatenate([M_col, n + P_row, P_col, n + W_col])
        self.order = np.lexsort((rows, cols))
        self.rows, self.cols = rows[self.order].astype(np.int32), cols[self.order].astype(np.int32)
        self.start = np.searchsorted(self.cols, np.arange(n + m + 1)).astype(np.int32)
        self.shape = (n + m, n + m)

    def scaled(self, M: csc_matrix, Phi: csc_matrix, W: csc_matrix, soft: float) -> tuple[csc_matrix, Array]:
        """The whole with rows and columns of size one, and their scale.

        Bodies and modes may differ by many powers of ten.
        """
        from scipy.sparse import csc_matrix

        data = np.concatenate([M.data, -Phi.data, -Phi.data, -soft * W.data])[self.order]
        size = np.sqrt(np.maximum(np.maximum.reduceat(np.abs(data), self.start[:-1]), NOTHING))
        scale = 1.0 / size
        return csc_matrix(
            (data * scale[self.rows] * scale[self.cols], self.rows, self.start), self.shape
        ), scale


def _places(A: csc_matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns of the stored numbers."""
    return A.indices.astype(np.int64), np.repeat(np.arange(A.shape[1]), np.diff(A.indptr))


class Saddle:
    """Factors of [M, -Phi^T; -Phi, -soft W], and the exact solution by refinement with soft = 0.

    Each pass takes lam + change, with the change from the softened rows: lam moves only within the range of
    W^-1 Phi. So z is that of the hard constraints, rows that say the same share their force, and of all lam
    that give this z the one nearest to the start in the metric W is found. No rank has to be guessed, M may
    be singular where Phi holds what it leaves free.
    """

    def __init__(
        self, blocks: Blocks, M: csc_matrix, Phi: csc_matrix, W: csc_matrix, mass: float, soft: float
    ) -> None:
        from scipy.sparse.linalg import splu

        self.n, self.soft, self.W = M.shape[0], soft / mass, W
        self.factors = None
        self.use(M, Phi)
        scaled, self.scale = blocks.scaled(M, Phi, W, self.soft)
        try:
            self.factors = splu(scaled, diag_pivot_thresh=0.1)
        except RuntimeError:  # exactly singular: a motion that nothing holds and that moves no inertia
            self.factors = None

    @property
    def regular(self) -> bool:
        return self.factors is not None

    def use(self, M: csc_matrix, Phi: csc_matrix) -> None:
        """Solve with these matrices from now on; the factors, of a state nearby, only lead there."""
        self.M, self.Phi, self.Phi_T = M, Phi, Phi.T
        self.M_size = _largest(M.data)

    def _left(self, b: Array, c: Array, z: Array, lam: Array) -> tuple[Array, Array]:
        """b - M z + Phi^T lam over Phi z - c: the right-hand side of a pass; Phi^T lam."""
        pull = self.Phi_T @ lam
        return np.concatenate([b - self.M @ z + pull, self.Phi @ z - c]), pull

    def correction(self, c: Array, settled: float) -> tuple[Array, bool]:
        """z of least size in the metric M with Phi z = c; of rows that contradict each other, the least left.

        And whether the factors settle it: the last pass changed less than a part `settled` of it.
        """
        z, lam, n, nothing = np.zeros(self.n), np.zeros(len(c)), self.n, np.zeros(self.n)
        for _ in range(FEW):
            change = self._apply(self._left(nothing, c, z, lam)[0])
            z, lam = z + change[:n], lam + change[n:]
            if _largest(change[:n]) <= settled * _largest(z):
                return z, True
        return z, False

    def solve(
        self, b: Array, c: Array, small: float = 0.0, goal: float = 1e-15, most: int = ROUNDS
    ) -> tuple[Array, Array, float]:
        """z, some lam, and what is left of the equations, over the size of their terms, or `small` in c.

        No more than `goal` need be left, after `most` passes.
        """
        return self._refine(b, c, np.zeros(self.n), np.zeros(len(c)), small, goal, most)

    def solve_nearest(
        self, b: Array, c: Array, start: Array, small: float = 0.0
    ) -> tuple[Array, Array, float]:
        """The same with the lam nearest to `start` in the metric W (F28)."""
        z, lam, left = self._refine(b, c, np.zeros(self.n), start.copy(), small)
        return z, lam - self._self_stress(lam - start), left

    def _self_stress(self, lam: Array) -> Array:
        """The part of lam with Phi^T lam = 0, in the metric W.

        Rounding puts such a part into solutions and no residual shows it. The softened rows keep it as it
        is and make all else smaller, by their softness against that of the masses.
        """
        size = _largest(lam)
        for _ in range(ROUNDS):
            before = lam
            lam = self.soft * self._apply(np.concatenate([np.zeros(self.n), -(self.W @ lam)]))[self.n :]
            if _largest(lam - before) <= 1e-15 * size:
                break
        return lam

    def _apply(self, left: Array) -> Array:
        assert self.factors is not None
        return np.asarray(self.scale * self.factors.solve(self.scale * left))

    def _refine(
        self, b: Array, c: Array, z: Array, lam: Array, small: float, goal: float = 1e-15, most: int = ROUNDS
    ) -> tuple[Array, Array, float]:
        best, slow, n = (np.inf, z, lam), 0, self.n
        given, least = _largest(b), max(_largest(b) / max(self.M_size, NOTHING), _largest(c), small, NOTHING)
        for _ in range(most + 1):
            left, pull = self._left(b, c, z, lam)
            moved = _largest(z)
            size = max(given, _largest(pull), self.M_size * moved, NOTHING)
            error = float(np.maximum(_largest(left[:n]) / size, _largest(left[n:]) / max(least, moved)))
            slow = slow + 1 if not error < 0.5 * best[0] else 0
            if error < best[0]:
                best = (error, z, lam)
            if error < goal or slow > 2 or not np.isfinite(error):
                break
            change = self._apply(left)
            z, lam = z + change[:n], lam + change[n:]
        return best[1], best[2], best[0]


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
