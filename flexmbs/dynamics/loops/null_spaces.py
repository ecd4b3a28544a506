"""Null spaces of the rows of a closure, block by block: loops that share no speed stand apart (F28)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.fronts import passed
from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a singular value below this share of the largest counts as zero
RANK_TOLERANCE = 1e-8
#: rows below which looking for blocks is not worth the import
SMALL = 30
#: dense work (rows^2 columns of all blocks; some seconds) and entries of a matrix that are not gone beyond
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
    kept: list[int] = []
    found = []
    size = np.array([np.inf, 0.0])
    for rows, columns in blocks(G):
        own, null, ends = _left(G[np.ix_(rows, columns)])
        kept += [int(k) for k in rows[own]]
        wide = np.zeros((len(G), null.shape[1]))
        wide[rows] = null
        found.append(wide)
        size = np.array([min(size[0], ends[0]), max(size[1], ends[1])])
    condition = float(size[1] / size[0]) if kept else 1.0
    return sorted(kept), np.hstack([np.zeros((len(G), 0)), *found]), condition


def _left(G: Array) -> tuple[Ints, Array, tuple[float, float]]:
    """Independent rows, null space of G^T, smallest and largest pivot of a block.

    Pivoted QR of G^T: with `G^T P = Q [R1 R2]` the null vectors are `P [-R1^-1 R2; 1]`.
    """
    n = len(G)
    if not n or not G.shape[1]:
        return np.zeros(0, dtype=np.int64), np.eye(n), (np.inf, 0.0)
    from scipy.linalg import qr, solve_triangular  # 0.1 s, which trees need not wait for

    R, order = qr(G.T, mode="r", pivoting=True)
    size = np.abs(np.diag(R))
    rank = int(np.sum(size > RANK_TOLERANCE * max(float(size[0]), 1e-300))) if size[0] > 0.0 else 0
    null = np.zeros((n, n - rank))
    null[order[rank:]] = np.eye(n - rank)
    if rank:
        null[order[:rank]] = -solve_triangular(R[:rank, :rank], R[:rank, rank:])
    ends = (float(size[rank - 1]), float(size[0])) if rank else (np.inf, 0.0)
    return order[:rank], null, ends


def null_space(G: Array) -> Array:
    """Orthonormal basis of what G takes to zero."""
    from scipy.linalg import null_space as dense  # 0.1 s, which a start elsewhere need not wait for

    found = []
    for rows, columns in blocks(G):
        own = dense(G[np.ix_(rows, columns)], rcond=RANK_TOLERANCE) if len(rows) else np.eye(len(columns))
        wide = np.zeros((G.shape[1], own.shape[1]))
        wide[columns] = own
        found.append(wide)
    return np.hstack([np.zeros((G.shape[1], 0)), *found])


def is_feasible(system: System) -> bool:
    """Whether the rank of a closure is worth its cost, told by the loops that share a body."""
    t = system.tables
    if system.n_rows < SMALL:
        return True
    if system.n_rows * max(system.n_vel, 6 * len(system.joints)) > ENTRIES:
        return False
    n_groups, n_bodies = len(t.group.start) - 1, len(t.tree.parent)
    groups, bodies = passed(t)
    label = _components(groups, n_groups + bodies, n_groups + n_bodies)
    rows = np.bincount(label[:n_groups], weights=np.diff(t.group.start), minlength=label.max() + 1)
    speeds = np.bincount(label[n_groups:], weights=np.diff(t.tree.o_eta), minlength=label.max() + 1)
    return bool(np.sum(rows**2 * speeds) <= WORK)
