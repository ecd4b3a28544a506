"""One piece of the tree: its columns of the matrix and what its children left -> panels and what is left.

The loop over supernodes is that of the direct factor (`fe/solve/cholesky.py`): the boundary of a piece
stands behind its own supernodes as further ones, which are updated and not factored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs._jit import kernel
from flexmbs.fe.pieces.plan import WIDTH, Piece, Plan
from flexmbs.fe.solve.cholesky import SingularMatrix, factorise_into
from flexmbs.fe.solve.shifted import OtherPattern
from flexmbs.fe.solve.symbolic import Symbolic, ranges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Eliminated:
    """Panels of a piece, signs of its columns, and the lower half of what is left on its boundary."""

    panels: Floats
    sign: Floats
    rest: Floats


@kernel
def extend_add(block, begin, place, first, row_start, rows, panel, room):
    """Add columns of a symmetric matrix to panels, rows from `begin` on; `place`: its rows among theirs.

    `room` = (super_of, local, L), local (rows,). Writes: L, local.
    """
    super_of, local, L = room
    current = -1
    for j in range(block.shape[0]):
        column = place[begin + j]
        s = super_of[column]
        if s != current:
            current = s
            for r in range(row_start[s + 1] - row_start[s]):
                local[rows[row_start[s] + r]] = r
        at = panel[s] + (column - first[s]) * (row_start[s + 1] - row_start[s])
        for i in range(j, block.shape[1]):
            L[at + local[place[begin + i]]] += block[j, i]


@dataclass(frozen=True)
class Front:
    """What the elimination of a piece needs: panels in places 0, 1, ... of `known`, a matrix of these.

    known : the columns of the piece, then its boundary;  n_own, n_columns : supernodes and columns of its own
    """

    known: Ints
    shape: Symbolic
    n_own: int
    n_columns: int
    matrix: sparse.csc_matrix


def front_of(plan: Plan, piece: Piece, A: Any) -> Front:
    """`A` (n, columns) are the columns of a piece, rows in places of the factor, csc."""
    known = np.concatenate([piece.columns, piece.boundary])
    shape, n_own = local_shape(plan.shape, piece, known)
    return Front(known, shape, n_own, len(piece.columns), local_columns(A, known, piece.columns))


def eliminate(front: Front, tiny: float, children: Iterable[tuple[Ints, Iterator[Floats]]]) -> Eliminated:
    """Factor a piece.

    children : boundaries of the pieces before it with what they left, a panel of the lower half at a time
    """
    shape = front.shape
    L, sign = np.zeros(shape.n_entries), np.ones(shape.n)
    local = np.empty(shape.n, dtype=np.int64)
    for boundary, panels in children:
        place = np.searchsorted(front.known, boundary)
        for k, block in enumerate(panels):
            room = shape.super_of, local, L
            extend_add(block, k * WIDTH, place, shape.first, shape.row_start, shape.rows, shape.panel, room)
    bad = factorise_into(shape, front.matrix, tiny, L, sign, front.n_own)
    if bad >= 0:
        raise SingularMatrix(int(front.known[bad]))
    end = shape.panel[front.n_own]
    return Eliminated(L[:end], sign[: front.n_columns], L[end:])


def local_shape(shape: Symbolic, piece: Piece, known: Ints) -> tuple[Symbolic, int]:
    """The panels of a piece, and those of its boundary behind them, in places 0, 1, ... of `known`."""
    s, n = piece.supernodes, len(piece.columns)
    width, height = np.diff(shape.first)[s], np.diff(shape.row_start)[s]
    behind = np.arange(n, len(known), WIDTH)
    first = np.concatenate([[0], np.cumsum(width), behind[1:], [len(known)] if len(behind) else []])
    lengths = np.concatenate([height, len(known) - behind])
    rows = np.searchsorted(known, shape.rows[ranges(shape.row_start[s], height)])
    rows = np.concatenate([rows, ranges(behind, len(known) - behind)])
    first, row_start = first.astype(np.int64), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    panel = np.concatenate([[0], np.cumsum(np.diff(first) * lengths)]).astype(np.int64)
    super_of = np.repeat(np.arange(len(lengths)), np.diff(first))
    one = np.arange(len(known))
    return Symbolic(one, one, first, row_start, rows, panel, super_of), len(s)


def local_columns(A: Any, known: Ints, columns: Ints) -> sparse.csc_matrix:
    """Columns of the matrix with their rows in places of `known`; those of earlier pieces are left out."""
    place = np.full(A.shape[0], -1)
    place[known] = np.arange(len(known))
    at = place[A.indices]
    here = at >= 0
    if (A.indices[~here] > np.repeat(columns, np.diff(A.indptr))[~here]).any():
        raise OtherPattern
    count = np.concatenate([[0], np.cumsum(here)])[A.indptr]
    indptr = np.concatenate([count, np.full(len(known) - len(columns), count[-1])])
    return sparse.csc_matrix((A.data[here], at[here], indptr), shape=(len(known), len(known)))


def panels_of(rest: Floats, n: int) -> Iterator[Floats]:
    """The lower half of an n x n matrix, a panel (columns, rows from the first column on) at a time."""
    at = 0
    for begin in range(0, n, WIDTH):
        width, rows = min(WIDTH, n - begin), n - begin
        yield rest[at : at + width * rows].reshape(width, rows)
        at += width * rows
