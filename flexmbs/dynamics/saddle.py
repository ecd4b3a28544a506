"""Sparse solution of M z - Phi^T lam = b, Phi z = c with rows that may be redundant (F32, F28)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Array = NDArray[np.float64]

#: compliance of the rows in the factorised matrix, over that of the masses; less where rows nearly depend
SOFT = (1e-6, 1e-10, 1e-13)
ROUNDS = 60
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
        made = csc_matrix((np.zeros(self.size), found % max(shape[0], 1), start), shape)
        self.indices, self.start = made.indices, made.indptr

    def matrix(self, data: Array) -> csc_matrix:
        from scipy.sparse import csc_matrix

        values = np.bincount(self.where, data, self.size)
        return csc_matrix((values, self.indices, self.start), self.shape)


class Saddle:
    """Factors of [M, -Phi^T; -Phi, -soft W], and the exact solution by refinement with soft = 0.

    Each pass takes lam + change, with the change from the softened rows: lam moves only within the range of
    W^-1 Phi. So z is that of the hard constraints, rows that say the same share their force, and of all lam
    that give this z the one nearest to the start in the metric W is found. No rank has to be guessed, M may
    be singular where Phi holds what it leaves free.
    """

    def __init__(self, M: csc_matrix, Phi: csc_matrix, W: csc_matrix, mass: float, soft: float) -> None:
        from scipy.sparse import bmat
        from scipy.sparse.linalg import splu

        self.n = M.shape[0]
        self.soft, self.W = soft / mass, W
        self.factors = None
        self.use(M, Phi)
        whole = bmat([[M, -self.Phi_T], [-Phi, -self.soft * W]], format="csc")
        # rows and columns of size one: bodies and modes may differ by many powers of ten
        size = np.sqrt(np.maximum(abs(whole).max(axis=0).toarray().ravel(), 1e-300))
        self.scale = 1.0 / size
        scaled = whole.multiply(self.scale[:, None]).multiply(self.scale[None, :]).tocsc()
        try:
            self.factors = splu(scaled, diag_pivot_thresh=0.1)
        except RuntimeError:  # exactly singular: a motion that nothing holds and that moves no inertia
            self.factors = None

    @property
    def regular(self) -> bool:
        return self.factors is not None

    def use(self, M: csc_matrix, Phi: csc_matrix) -> None:
        """Solve with these matrices from now on; the factors, of a state nearby, only lead there."""
        self.M, self.Phi, self.Phi_T = M, Phi, Phi.T.tocsr()
        self.M_size = _largest(M.data)

    def solve(
        self, b: Array, c: Array, small: float = 0.0, goal: float = 1e-15
    ) -> tuple[Array, Array, float]:
        """z, some lam, and what is left of the equations, over the size of their terms, or `small` in c.

        No more than `goal` need be left.
        """
        return self._refine(b, c, np.zeros(self.n), np.zeros(len(c)), small, goal)

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

    def _apply(self, residual: Array) -> Array:
        assert self.factors is not None
        return np.asarray(self.scale * self.factors.solve(self.scale * residual))

    def responses(self) -> Array:
        """z to unit forces, by the factors as they are."""
        assert self.factors is not None
        units = np.zeros((len(self.scale), self.n))
        units[np.arange(self.n), np.arange(self.n)] = self.scale[: self.n]
        return np.asarray(self.scale[: self.n, None] * self.factors.solve(units)[: self.n])

    def _refine(
        self, b: Array, c: Array, z: Array, lam: Array, small: float, goal: float = 1e-15
    ) -> tuple[Array, Array, float]:
        best, slow, n = (np.inf, z, lam), 0, self.n
        for _ in range(ROUNDS):
            pull = self.Phi_T @ lam
            r1, r2 = b - self.M @ z + pull, c - self.Phi @ z
            size1 = max(_largest(b), _largest(pull), self.M_size * _largest(z), 1e-300)
            size2 = max(_largest(c), _largest(z), _largest(b) / max(self.M_size, 1e-300), small, 1e-300)
            error = max(_largest(r1) / size1, _largest(r2) / size2)
            slow = slow + 1 if not error < 0.5 * best[0] else 0
            if error < best[0]:
                best = (error, z, lam)
            if error < goal or slow > 2 or not np.isfinite(error):
                break
            change = self._apply(np.concatenate([r1, -r2]))
            z, lam = z + change[:n], lam + change[n:]
        return best[1], best[2], best[0]


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
