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
from flexmbs.fe.pieces.plan import WIDTH, Piece, Plan, triangle
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


def front_of(plan: Plan, piece: Piece, A: Any, which: Ints) -> Front:
    """`which` columns of A (csc), in the order of its unknowns, are those of the piece."""
    known = np.concatenate([piece.columns, piece.boundary])
    shape, n_own = local_shape(plan.shape, piece, known)
    matrix = local_columns(A, which, plan.shape.place, known, piece.columns)
    return Front(known, shape, n_own, len(piece.columns), matrix)


def entries_of(plan: Plan, piece: Piece) -> int:
    """Entries of the panels of a piece and of what it leaves."""
    return plan.entries(piece) + triangle(len(piece.boundary))


def eliminate(
    front: Front,
    tiny: float,
    children: Iterable[tuple[Ints, Iterator[Floats]]],
    memory: Floats | None = None,
) -> Eliminated:
    """Factor a piece.

    children : boundaries of the pieces before it with what they left, a panel of the lower half at a time
    memory : room for `entries_of` the piece, in which it is made; what an earlier one has there is lost
    """
    shape = front.shape
    L = np.zeros(shape.n_entries) if memory is None else memory[: shape.n_entries]
    sign = np.ones(shape.n)
    if memory is not None:
        L.fill(0.0)
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


@kernel
def pick(matrix, which, place, local, columns, out):
    """Columns of a matrix with their rows in places `local` of the front; rows not there are left out.

    `matrix` = (indptr, indices, data), `place` of its unknowns in the factor, `columns` those of the piece.
    Writes: out = (indptr, rows, values). Returns the number of entries; -1 where one is of a later piece.
    """
    (indptr, indices, data), (starts, rows, values), n = matrix, out, 0
    for k in range(len(which)):
        for p in range(indptr[which[k]], indptr[which[k] + 1]):
            row = place[indices[p]]
            if row < 0:
                continue
            if local[row] >= 0:
                rows[n], values[n] = local[row], data[p]
                n += 1
            elif row > columns[k]:
                return -1
        starts[k + 1] = n
    return n


def local_columns(A: Any, which: Ints, place: Ints, known: Ints, columns: Ints) -> sparse.csc_matrix:
    """Columns of the matrix with their rows in places of `known`; those of earlier pieces are left out."""
    size, n_known = int(np.sum(A.indptr[which + 1] - A.indptr[which])), len(known)
    local = np.full(len(place), -1, dtype=np.int32)
    local[known] = np.arange(n_known)
    starts, rows, values = np.zeros(n_known + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    matrix = A.indptr, A.indices, A.data
    n = pick(matrix, which, place, local, columns, (starts, rows, values))
    if n < 0:
        raise OtherPattern
    starts[len(which) :] = n
    return sparse.csc_matrix((values[:n], rows[:n], starts), shape=(n_known, n_known), copy=False)


def panels_of(rest: Floats, n: int) -> Iterator[Floats]:
    """The lower half of an n x n matrix, a panel (columns, rows from the first column on) at a time."""
    at = 0
    for begin in range(0, n, WIDTH):
        width, rows = min(WIDTH, n - begin), n - begin
        yield rest[at : at + width * rows].reshape(width, rows)
        at += width * rows
