"""A = P^T L S L^T P with L on disk: eliminated piece by piece, substituted by passes over the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs.fe.pieces.elimination import eliminate, panels_of
from flexmbs.fe.pieces.plan import FREEDOMS, Piece, Plan, make_plan
from flexmbs.fe.pieces.store import Store
from flexmbs.fe.solve.substitution import Part, substitute
from flexmbs.fe.solve.symbolic import analyse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: entries of L that are read at once; a panel may have more
READ = 2**23
#: right-hand sides of a pass over the files
COLUMNS = 24


class PiecesFactor:
    """Factor of a sparse symmetric matrix (stored in full) in a folder; `solve` as that in memory.

    Unknowns with a negative `node_of` are left out, with their rows and columns; solutions are zero there.
    `plan` of an earlier factor of a matrix with the same pattern saves the ordering.
    """

    wide = COLUMNS

    def __init__(
        self,
        A: Any,
        node_of: Ints | None = None,
        *,
        folder: Path,
        plan: Plan | None = None,
        freedoms: int = FREEDOMS,
        pivot_tolerance: float = 1e-14,
    ) -> None:
        A = sparse.csc_matrix(A)
        node_of = np.arange(A.shape[0]) if node_of is None else np.asarray(node_of)
        self.plan = plan or make_plan(analyse(A, node_of), freedoms)
        self.store = Store(folder)
        self.sign = np.ones(self.plan.shape.n)
        tiny = pivot_tolerance * float(np.abs(A.diagonal()).max(initial=0.0))
        for k, piece in enumerate(self.plan.pieces):
            self._eliminate(k, piece, A, tiny)

    def _eliminate(self, k: int, piece: Piece, A: sparse.csc_matrix, tiny: float) -> None:
        shape = self.plan.shape
        own = A[:, shape.order[piece.columns]]
        own.indices = shape.place[own.indices]
        done = eliminate(self.plan, piece, own, tiny, (self._rest(child) for child in piece.children))
        self.sign[piece.columns] = done.sign
        self.store.save(f"{k}.panels", done.panels)
        if len(piece.boundary):
            self.store.save(f"{k}.rest", done.rest)
        for child in piece.children:
            self.store.drop(f"{child}.rest")

    def _rest(self, k: int) -> tuple[Piece, Iterator[Floats]]:
        """A piece and what it left on its boundary."""
        piece = self.plan.pieces[k]
        rest = self.store.load(f"{k}.rest")
        assert rest is not None
        return piece, panels_of(rest, len(piece.boundary))

    def again(self, A: Any) -> PiecesFactor:
        """Factor of another matrix with the same pattern, in the place of this one, which is lost."""
        return PiecesFactor(A, folder=self.store.folder, plan=self.plan)

    @property
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of A (Sylvester)."""
        return int(np.sum(self.sign < 0.0))

    def solve(self, B: Floats) -> Floats:
        """A^-1 B for B (n,) or (n, m)."""
        B = np.asarray(B, dtype=np.float64)
        sign = self.sign if self.negative_pivots else None
        return substitute(self.plan.shape, self._parts, sign, B.reshape(len(B), -1), COLUMNS).reshape(B.shape)

    def _parts(self, upward: bool) -> Iterator[Part]:
        """Panels in order, or from the last to the first, as many at a time as READ entries hold."""
        panel = self.plan.shape.panel
        order = -1 if upward else 1
        buffer = np.empty(0)
        for k in range(len(self.plan.pieces))[::order]:
            s = self.plan.pieces[k].supernodes
            size = np.diff(panel)[s]
            at = np.concatenate([[0], np.cumsum(size)])
            for first, end in self._runs(s, at)[::order]:
                n = int(at[end] - at[first])
                buffer = buffer if len(buffer) >= n else np.empty(n)
                self.store.read(f"{k}.panels", int(at[first]), buffer[:n])
                yield int(s[first]), int(s[end - 1]) + 1, buffer[:n]

    @staticmethod
    def _runs(s: Ints, at: Ints) -> list[tuple[int, int]]:
        """Supernodes that stand side by side, cut where they have more than READ entries."""
        runs, first = [], 0
        for k in range(1, len(s) + 1):
            if k == len(s) or s[k] != s[k - 1] + 1 or at[k + 1] - at[first] > READ:
                runs.append((first, k))
                first = k
        return runs
