"""Null spaces of the rows of a closure, block by block: loops that share no speed stand apart (F28)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.frontal import Frontal
from flexmbs.dynamics.tolerances import NOTHING, RANK_OF_ROWS

if TYPE_CHECKING:
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: rows below which looking for blocks is not worth the import
SMALL = 30
#: work (rows^3 of all fronts; some seconds) and entries of a matrix that are not gone beyond
WORK, ENTRIES = 3e9, 5e7


def blocks(G: Array) -> Iterator[tuple[Ints, Ints]]:
    """Rows and columns that hang together; a column without rows is a block of its own."""
    n, m = G.shape
    if n < SMALL:
        yield np.arange(n), np.arange(m)
        return
    rows, columns = np.nonzero(G)
    label = _components(rows, n + columns, n + m)
    for number in range(int(label.max()) + 1):
        own = np.flatnonzero(label == number)
        yield own[own < n], own[own >= n] - n


def _components(a: Ints, b: Ints, size: int) -> Ints:
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    graph = csr_matrix((np.ones(len(a)), (a, b)), (size, size))
    return np.asarray(connected_components(graph, directed=False)[1])


def left_null_space(G: Array) -> tuple[list[int], Array, float]:
    """Independent rows, basis of the null space of G^T, and condition of the rank's part."""
    return null_spaces(G)[:3]


def null_spaces(G: Array) -> tuple[list[int], Array, float, Array]:
    """The same, and an orthonormal basis of what G takes to zero."""
    kept: list[int] = []
    zero = []
    found = []
    size = np.array([np.inf, 0.0])
    for rows, columns in blocks(G):
        part = G[np.ix_(rows, columns)]
        front = Frontal(part, RANK_OF_ROWS * _longest(part))
        kept += [int(k) for k in rows[front.kept]]
        found.append(_wide(front.left_null(), rows, len(G)))
        zero.append(_wide(front.null(), columns, G.shape[1]))
        size = np.array([min(size[0], front.ends[0]), max(size[1], front.ends[1])])
    condition = float(size[1] / size[0]) if kept else 1.0
    left, right = (np.zeros((n, 0)) for n in G.shape)
    return sorted(kept), np.hstack([left, *found]), condition, np.hstack([right, *zero])


def _wide(own: Array, places: Ints, n: int) -> Array:
    """Columns of a block among all n entries."""
    found = np.zeros((n, own.shape[1]))
    found[places] = own
    return found


def null_space(G: Array) -> Array:
    """Orthonormal basis of what G takes to zero."""
    return null_spaces(G)[3]


def _longest(G: Array) -> float:
    return max(float(np.linalg.norm(G, axis=1).max(initial=0.0)), NOTHING)


def is_feasible(system: System) -> bool:
    """Whether the rank of a closure is worth its cost, told by the rows open together."""
    t = system.tables
    if system.n_rows < SMALL:
        return True
    if system.n_rows * max(system.n_vel, 6 * len(system.joints)) > ENTRIES:
        return False
    return bool(np.sum(np.diff(t.front.row).astype(float) ** 3) <= WORK)
