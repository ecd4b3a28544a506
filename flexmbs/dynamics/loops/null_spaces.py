"""Null spaces of the rows of a closure, block by block: loops that share no speed stand apart (F28)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.frontal import Frontal
from flexmbs.dynamics.loops.sparse import Sparse
from flexmbs.dynamics.tolerances import NOTHING, RANK_OF_ROWS

if TYPE_CHECKING:
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
#: columns of a basis that stand in some rows alone
Blocks = list[tuple[Ints, Array]]

#: rows below which looking for blocks is not worth the import
SMALL = 30
#: work (rows^3 of all fronts; some seconds) and entries of a matrix that are not gone beyond
WORK, ENTRIES = 3e9, 5e7


def blocks(G: Sparse) -> Iterator[tuple[Ints, Ints]]:
    """Rows and columns that hang together; what hangs on nothing is a block of its own."""
    n, m = len(G), G.width
    if n < SMALL:
        yield np.arange(n), np.arange(m)
        return
    label = _components(G.row, n + G.column, n + m)
    order = np.argsort(label, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        yield own[own < n], own[own >= n] - n


def _components(a: Ints, b: Ints, size: int) -> Ints:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    graph = csr_matrix((np.ones(len(a)), (a, b)), (size, size))
    return np.asarray(connected_components(graph, directed=False)[1])


def _factors(G: Sparse) -> list[tuple[Ints, Ints, Frontal]]:
    """Rows, columns and factors of all blocks."""
    found = []
    for rows, columns in blocks(G):
        part = G.block(rows, columns)
        longest = max(float(part.lengths().max(initial=0.0)), NOTHING)
        found.append((rows, columns, Frontal(part, RANK_OF_ROWS * longest)))
    return found


def left_null_space(G: Sparse) -> tuple[list[int], Blocks, float]:
    """Independent rows, basis of the null space of G^T in blocks, and condition of the rank's part."""
    factors = [block for block in _factors(G) if len(block[0])]
    kept = sorted(int(k) for rows, _, front in factors for k in rows[front.kept])
    ends = np.array([front.ends for _, _, front in factors] or [(np.inf, 0.0)])
    found = [(rows, front.left_null()) for rows, _, front in factors if len(front.kept) < len(rows)]
    return kept, found, float(ends[:, 1].max() / ends[:, 0].min()) if kept else 1.0


def null_spaces(G: Array) -> tuple[Array, Array]:
    """Basis of the null space of G^T, and an orthonormal one of what G takes to zero."""
    factors = _factors(Sparse.of(G))
    left = wide([(rows, front.left_null()) for rows, _, front in factors], len(G))
    return left, wide([(columns, front.null()) for _, columns, front in factors], G.shape[1])


def wide(found: Blocks, n: int) -> Array:
    """Columns of blocks among all n entries."""
    out = np.zeros((n, sum(own.shape[1] for _, own in found)))
    first = 0
    for places, own in found:
        out[places, first : first + own.shape[1]] = own
        first += own.shape[1]
    return out


def null_space(G: Array) -> Array:
    """Orthonormal basis of what G takes to zero."""
    return null_spaces(G)[1]


def is_feasible(system: System) -> bool:
    """Whether the rank of a closure is worth its cost, told by the rows open together."""
    t = system.tables
    if system.n_rows < SMALL:
        return True
    if system.n_rows * max(system.n_vel, 6 * len(system.joints)) > ENTRIES:
        return False
    return bool(np.sum(np.diff(t.front.row).astype(float) ** 3) <= WORK)
