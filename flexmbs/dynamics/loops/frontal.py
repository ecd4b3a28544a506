"""Orthogonal factors of G^T front by front: rank, null spaces and least changes of loops that share joints.

Speeds that see the same rows make a piece. A row is taken out where all pieces that see it have been put
together, and an orthogonal transformation of these few speeds leaves its pivot, what the rows still open
need, and speeds that no row sees any more: those are the motions left. A loop touches its own speeds only, so
in a row of loops the cost is linear in their number; dense where everything meets.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.sparse import Sparse

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: rows up to which everything is one front
SMALL = 60


@dataclass
class _Front:
    """Q^T [pieces] = [R, R_dep, R_open; 0, 0, upper]: rows that are taken out, and those left open.

    `pieces` are fronts whose rest stands here, one after another, behind the `speeds` of its own.
    """

    speeds: Ints
    pieces: list[int]
    Q: Array
    kept: Ints
    dependent: Ints
    open: Ints
    R: Array
    R_dep: Array
    R_open: Array
    n_up: int

    @property
    def rank(self) -> int:
        return len(self.kept)


def pivoted_qr(A: Array) -> tuple[Array, Array, Ints]:
    """Q, R and order with A[:, order] = Q R, Q whole: SciPy's `qr`, which takes 40 us to get there."""
    from scipy.linalg.lapack import dgeqp3, dorgqr

    n, m = A.shape
    if not A.size:
        return np.eye(n), np.zeros((n, m)), np.arange(m)
    if not np.isfinite(A).all():
        raise ValueError("rows of constraints are no numbers")
    packed, order, tau, _, _ = dgeqp3(A, lwork=2 * m + 32 * (m + 1))
    whole = np.zeros((n, n), order="F")
    whole[:, : min(n, m)] = packed[:, : min(n, m)]
    Q, _, _ = dorgqr(whole, tau, lwork=32 * n, overwrite_a=True)
    return Q, np.triu(packed), order - 1


def _solved(R: Array, load: Array, *, transposed: bool = False) -> Array:
    """R^-1 load, or R^-T load, of an upper triangle without zeros: SciPy's takes 25 us to get there."""
    from scipy.linalg.lapack import dtrtrs

    if not np.isfinite(load).all():
        raise ValueError("what constraints ask for is no number")
    found, _ = dtrtrs(R, load, trans=int(transposed))
    return np.asarray(found)


class Frontal:
    """Factors of G (rows, speeds) without its zeros; pivots below `zero` vanish, such rows are dependent."""

    def __init__(self, G: Sparse, zero: float) -> None:
        self.n_rows, self.n_speeds = len(G), G.width
        self.fronts: list[_Front] = []
        self._rest: dict[int, Array] = {}  # what fronts leave open, until it is taken
        self.loose = np.flatnonzero(~G.held())
        self.empty = np.flatnonzero(np.diff(G.start) == 0)  # rows of nothing
        for rows, speeds, pieces, closed in _plan(G):
            self._add(G, zero, rows, speeds, pieces, closed)
        self.kept = np.concatenate([np.zeros(0, dtype=np.int64), *(f.kept for f in self.fronts)])
        pivots = np.concatenate([np.zeros(0), *(np.abs(np.diag(f.R)) for f in self.fronts)])
        self.ends = (float(pivots.min(initial=np.inf)), float(pivots.max(initial=0.0)))

    def _add(self, G: Sparse, zero: float, rows: Ints, speeds: Ints, pieces: list[int], closed: Ints) -> None:
        X = G.part(rows, speeds).T
        if pieces:
            place, parts = {int(r): k for k, r in enumerate(rows)}, [X]
            for k in pieces:
                piece = self.fronts[k]
                wide = np.zeros((piece.n_up, len(rows)))
                wide[:, [place[int(r)] for r in piece.open]] = self._rest.pop(k)
                parts.append(wide)
            X = np.vstack(parts)
        inside = np.isin(rows, closed) if len(closed) < len(rows) else np.ones(len(rows), dtype=bool)
        Q, R, order = pivoted_qr(X[:, inside])
        size = np.abs(np.diag(R))
        rank = int(np.sum(size > zero))
        rest = Q.T @ X[:, ~inside]
        n_up = min(len(X) - rank, int((~inside).sum()))
        if 0 < n_up < len(X) - rank:
            Q2, upper = np.linalg.qr(rest[rank:], mode="complete")
            Q[:, rank:] = Q[:, rank:] @ Q2
            rest[rank:] = upper
        own = rows[inside][order]
        front = _Front(
            speeds, pieces, Q, own[:rank], own[rank:], rows[~inside],
            R[:rank, :rank], R[:rank, rank:], rest[:rank], n_up,
        )  # fmt: skip
        self._rest[len(self.fronts)] = rest[rank : rank + n_up]
        self.fronts.append(front)

    def least(self, value: Array) -> Array:
        """The smallest x (speeds,) with G x = value on the independent rows."""
        missing, parts = value.astype(float).copy(), []
        for f in self.fronts:
            y = _solved(f.R, missing[f.kept], transposed=True) if f.rank else np.zeros(0)
            missing[f.open] -= f.R_open.T @ y
            parts.append(y[:, None])
        return self._turned(parts, 1)[:, 0]

    def null(self) -> Array:
        """Orthonormal basis (speeds, motions) of what G takes to zero."""
        counts = [len(f.Q) - f.rank - f.n_up for f in self.fronts]
        n = sum(counts) + len(self.loose)
        return self._turned([np.zeros((f.rank, n)) for f in self.fronts], n, counts)

    def _turned(self, parts: list[Array], n: int, counts: list[int] | None = None) -> Array:
        """Q times what stands at the pivots, and units at the motions left if `counts` says how many."""
        out = np.zeros((self.n_speeds, n))
        above: dict[int, Array] = {}
        column = 0
        if counts is not None:
            out[self.loose, np.arange(len(self.loose))] = 1.0
            column = len(self.loose)
        for k in range(len(self.fronts) - 1, -1, -1):
            f = self.fronts[k]
            x = np.zeros((len(f.Q), n))
            x[: f.rank] = parts[k]
            x[f.rank : f.rank + f.n_up] = above.pop(k, 0.0)
            if counts is not None:
                x[f.rank + f.n_up :, column : column + counts[k]] = np.eye(counts[k])
                column += counts[k]
            x = f.Q @ x
            out[f.speeds] = x[: len(f.speeds)]
            first = len(f.speeds)
            for piece in f.pieces:
                above[piece] = x[first : first + self.fronts[piece].n_up]
                first += self.fronts[piece].n_up
        return out

    def left_null(self) -> Array:
        """Vanishing combinations (rows, dependent rows): of one dependent row each with kept ones."""
        dependent = np.concatenate([self.empty, *(f.dependent for f in self.fronts)]).astype(np.int64)
        out = np.zeros((self.n_rows, len(dependent)))
        out[dependent, np.arange(len(dependent))] = 1.0
        if not len(dependent):
            return out
        for f in reversed(self.fronts):
            if f.rank:
                load = f.R_dep @ out[f.dependent] + f.R_open @ out[f.open]
                out[f.kept] = -_solved(f.R, load)
        return out


def _plan(G: Sparse) -> list[tuple[Ints, Ints, list[int], Ints]]:
    """Rows, own speeds, fronts put together, rows taken out, of every front."""
    if not len(G.value):
        return []
    if len(G) <= SMALL:
        rows = np.flatnonzero(np.diff(G.start))
        return [(rows, np.flatnonzero(G.held()), [], rows)]
    rows, speeds = G.row, G.column
    seen: dict[int, list[int]] = {}
    for r, k in zip(rows.tolist(), speeds.tolist(), strict=True):
        seen.setdefault(k, []).append(r)
    like: dict[tuple[int, ...], list[int]] = {}
    for k, own in seen.items():
        like.setdefault(tuple(own), []).append(k)
    # pieces: speeds that see the same rows, negative; fronts that left something open, from 0
    see: dict[int, set[int]] = {-1 - n: set(own) for n, own in enumerate(like)}
    own_speeds = {-1 - n: found for n, found in enumerate(like.values())}
    near: dict[int, set[int]] = {}
    for piece, touched in see.items():
        for r in touched:
            near.setdefault(r, set()).add(piece)

    def cost(r: int) -> int:
        return len(set().union(*(see[piece] for piece in near[r])))

    plan: list[tuple[Ints, Ints, list[int], Ints]] = []
    heap, left = [(cost(r), r) for r in near], set(near)
    heapify(heap)
    while left:
        known, r = heappop(heap)
        if r not in left or known != cost(r):
            continue
        taken = sorted(near[r])
        union = set().union(*(see.pop(piece) for piece in taken))
        closed = {h for h in union if near[h] <= set(taken)}
        left -= closed
        front = len(plan)
        speeds_here = sorted(k for piece in taken if piece < 0 for k in own_speeds[piece])
        pieces = [piece for piece in taken if piece >= 0]
        plan.append((_ints(union), _ints(speeds_here), pieces, _ints(closed)))
        for h in union - closed:
            near[h] = (near[h] - set(taken)) | {front}
        if union - closed:
            see[front] = union - closed
            for h in union - closed:
                heappush(heap, (cost(h), h))
    return plan


def _ints(values: set[int] | list[int]) -> Ints:
    return np.array(sorted(values), dtype=np.int64)
