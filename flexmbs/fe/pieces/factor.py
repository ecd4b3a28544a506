"""A = P^T L S L^T P with L on disk: eliminated piece by piece, substituted by passes over the files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs._simd import LANES
from flexmbs.fe.pieces.elimination import Eliminated, eliminate, entries_of, front_of, panels_of
from flexmbs.fe.pieces.iteration import Iteration
from flexmbs.fe.pieces.mapped import is_mapped
from flexmbs.fe.pieces.plan import WIDTH, Piece, Plan, make_plan, triangle
from flexmbs.fe.pieces.store import Store, read_ahead, sum_of
from flexmbs.fe.solve.cholesky import SingularMatrix
from flexmbs.fe.solve.shifted import Shifted
from flexmbs.fe.solve.substitution import Part, Substitution, substitute
from flexmbs.fe.solve.symbolic import analyse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[float, str], None]

#: entries of L that are read at once; a panel may have more
READ = 2**23
#: right-hand sides of a pass over the files
COLUMNS = 24
VERSION = b"5"


class PiecesFactor:
    """Factor of a sparse symmetric matrix (stored in full) in a folder; `solve` as that in memory.

    Unknowns with a negative `node_of` are left out, with their rows and columns; solutions are zero there.
    Pieces that the folder already has of the same matrix are not made again. Panels stay in memory as well,
    as far as `spare` bytes of it go.
    """

    wide = COLUMNS

    def __init__(
        self,
        A: Any,
        node_of: Ints | None = None,
        *,
        folder: Path,
        plan: Plan | None = None,
        freedoms: int | None = None,
        spare: int = 0,
        pivot_tolerance: float = 1e-14,
        progress: Progress | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        A = sparse.csc_matrix(A)
        node_of = np.arange(A.shape[0]) if node_of is None else np.asarray(node_of)
        self.plan = plan or make_plan(analyse(A, node_of), freedoms)
        self.store = Store(folder, key_of(A, self.plan))
        self.sign = np.ones(self.plan.shape.n)
        self.pivot_tolerance, self.say = pivot_tolerance, say
        self.found = 0  # pieces that were there
        self._panels: dict[int, Floats] = {}  # in memory, or as the system maps them
        self._rests: dict[int, Floats] = {}  # in memory, of panels that are
        self._runs_of = [self._runs(piece) for piece in self.plan.pieces]
        self._make(A, spare, progress or (lambda fraction, text: None))

    def _make(self, A: sparse.csc_matrix, spare: int, progress: Progress) -> None:
        """Eliminate the pieces that are not there."""
        done, work, so_far = self._found(), self.plan.work, 0.0
        tiny, entries = self._smallest_pivot(A), self._entries()
        stays = 8 * np.cumsum(entries) <= spare
        room = np.empty(entries[~stays].max(initial=0))  # for one after another: new memory takes longer
        for k, piece in enumerate(self.plan.pieces):
            progress(so_far / max(work.sum(), 1.0), f"piece {k + 1} of {len(work)}")
            so_far += work[k]
            if done[k]:
                self._drop_rests(piece, "rest")
                continue
            memory = None if stays[k] else room
            made = self._eliminate(k, A, self.plan.shape.order[piece.columns], tiny, "rest", memory)
            self.sign[piece.columns] = made.sign
            if stays[k]:
                self._panels[k], self._rests[k] = made.panels, made.rest
            if len(piece.boundary):
                self.store.save(f"{k}.rest", made.rest, release=bool(stays[k]))
            self.store.save(f"{k}.panels", made.panels, made.sign, release=bool(stays[k]))
            self._drop_rests(piece, "rest")

    def _found(self) -> list[bool]:
        """Which pieces are there already, whole; what one leaves is no longer needed behind its parent."""
        done = [False] * len(self.plan.pieces)
        parent = {child: k for k, piece in enumerate(self.plan.pieces) for child in piece.children}
        for k in range(len(done) - 1, -1, -1):
            piece, name = self.plan.pieces[k], f"{k}.panels"
            if not self.store.path(name).exists():
                continue
            used = k not in parent or done[parent[k]]
            values = self.store.load(name)
            done[k] = values is not None and (used or self.store.load(f"{k}.rest") is not None)
            if done[k] and values is not None:
                self.sign[piece.columns] = values[len(values) - len(piece.columns) :]
                self.found += 1
        return done

    def _smallest_pivot(self, A: Any) -> float:
        return self.pivot_tolerance * float(np.abs(A.diagonal()).max(initial=0.0))

    def _entries(self) -> Ints:
        """What every piece takes of memory while it is made."""
        return np.array([entries_of(self.plan, piece) for piece in self.plan.pieces], dtype=np.int64)

    def _room(self) -> Floats:
        """Room for any piece; panels that are in memory are let go, and give theirs."""
        size = int(self._entries().max(initial=0))
        there: list[Any] = [panels.base for panels in self._panels.values() if not is_mapped(panels)]
        self._panels.clear()
        return next((values for values in there if len(values) >= size), np.empty(size))

    def _eliminate(
        self, k: int, A: sparse.csc_matrix, which: Ints, tiny: float, kind: str, memory: Floats | None
    ) -> Eliminated:
        """`which` columns of A are those of the piece."""
        piece, shape = self.plan.pieces[k], self.plan.shape
        children = (self._rest(child, kind) for child in piece.children)
        try:
            return eliminate(front_of(self.plan, piece, A, which), tiny, children, memory)
        except SingularMatrix as problem:
            raise SingularMatrix(int(shape.order[problem.unknown])) from None

    def _rest(self, k: int, kind: str) -> tuple[Ints, Iterator[Floats]]:
        """The boundary of a piece and what it left there: written by this run, or found whole by it."""
        boundary = self.plan.pieces[k].boundary
        if k in self._rests:
            return boundary, panels_of(self._rests[k], len(boundary))
        rest = self.store.view(f"{k}.{kind}", triangle(len(boundary)))
        return boundary, panels_of(rest, len(boundary))

    def _drop_rests(self, piece: Piece, kind: str) -> None:
        for child in piece.children:
            self._rests.pop(child, None)
            self.store.drop(f"{child}.{kind}")

    @property
    def negative_pivots(self) -> int:
        """Number of negative eigenvalues of A (Sylvester)."""
        return int(np.sum(self.sign < 0.0))

    def solve(self, B: Floats) -> Floats:
        """A^-1 B for B (n,) or (n, m)."""
        B = np.asarray(B, dtype=np.float64)
        sign = self.sign if self.negative_pivots else None
        return substitute(self.plan.shape, self._parts, sign, B.reshape(len(B), -1), COLUMNS).reshape(B.shape)

    def inertia(self, A: Shifted, B: Floats) -> tuple[int, Floats]:
        """Negative eigenvalues of another matrix, and B^T A^-1 B; stores no panel.

        It has entries where the first has some, or else `OtherPattern` is raised.
        """
        sign, tiny = np.ones(self.plan.shape.n), self._smallest_pivot(A)
        stays = len(self._panels) == len(self.plan.pieces) and not any(map(is_mapped, self._panels.values()))
        self._rests.clear()
        half, memory = Substitution(self.plan.shape, B), self._room()
        for k, piece in enumerate(self.plan.pieces):
            own = sparse.csc_matrix(A.rows(self.plan.shape.order[piece.columns]).T)
            made = self._eliminate(k, own, np.arange(len(piece.columns)), tiny, "count", memory)
            sign[piece.columns] = made.sign
            if stays:  # panels have given back more than that
                self._rests[k] = made.rest.copy()
            elif len(piece.boundary):
                self.store.save(f"{k}.count", made.rest, sync=False)
            self._drop_rests(piece, "count")
            for begin, end, first in self._runs_of[k]:
                n = int(np.sum(np.diff(self.plan.shape.panel[begin : end + 1])))
                half.forward(begin, end, made.panels[first : first + n])
        X = half.values()
        return int(np.sum(sign < 0.0)), X.T @ (sign[:, None] * X)

    def _parts(self, upward: bool) -> Iterator[Part]:
        """Panels in order, or from the last to the first, as many at a time as READ entries hold."""
        panel = self.plan.shape.panel
        for k in range(len(self.plan.pieces))[:: -1 if upward else 1]:
            piece, name = self.plan.pieces[k], f"{k}.panels"
            if k not in self._panels:  # mapped once: a page that is there costs nothing
                self._panels[k] = self.store.view(name, self.plan.entries(piece))
            L = self._panels[k]
            for begin, end, first in self._runs_of[k][:: -1 if upward else 1]:
                n = int(panel[end] - panel[begin])
                if self.wide > LANES:  # or else the system keeps the files
                    read_ahead(L, first, n)
                yield begin, end, L[first : first + n]

    def iteration(self, M: Any, C: Any) -> Iteration:
        """Vectors of the modes of M with C u held, in the folder of the factor, and those of a killed run."""
        known = digest_of([M.indptr, M.indices, M.data, C.indptr, C.indices, C.data])
        found = Iteration(self.store, f"modes-{known.hex()[:16]}", M.shape[0])
        if found.found and self.say is not None:
            self.say(f"{found.found} passes of the modes were there from an earlier run")
        return found

    def _runs(self, piece: Piece) -> list[tuple[int, int, int]]:
        """Supernodes [begin, end) of a piece that stand side by side, and where its entries have them."""
        s = piece.supernodes
        size = np.diff(self.plan.shape.panel)[s]
        at = np.concatenate([[0], np.cumsum(size)])
        runs, first = [], 0
        for k in range(1, len(s) + 1):
            if k == len(s) or s[k] != s[k - 1] + 1 or at[k + 1] - at[first] > READ:
                runs.append((int(s[first]), int(s[k - 1]) + 1, int(at[first])))
                first = k
        return runs


def key_of(A: sparse.csc_matrix, plan: Plan) -> bytes:
    """What a file must have been made for: the matrix, the order of its unknowns, the panels."""
    arrays: list[Any] = [A.indptr, A.indices, A.data, plan.shape.order, plan.shape.first]
    return digest_of(arrays + [piece.supernodes for piece in plan.pieces])


def digest_of(arrays: list[Any]) -> bytes:
    """What tells these arrays from others."""
    found = hashlib.sha256(VERSION + str(WIDTH).encode())
    for values in arrays:
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        whole = len(raw) // 8 * 8
        found.update(f"{len(raw)} ".encode() + sum_of(raw[:whole]) + raw[whole:].tobytes())
    return found.digest()
