"""The sparse pattern of a mesh, found before any number is computed.

Only pairs of nodes i <= j are kept: the element loop adds to this half, and `expand` writes the full
symmetric matrix once, in order. Every pair of local nodes of every cell knows its place in the pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.fe.pieces.mapped import room

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True)
class NodeGraph:
    """Pairs i <= j of nodes that share a cell, row by row, columns ascending; the diagonal is always there.

    ptr (n_nodes + 1,), col (n_pairs,): rows and columns;  loc: cell type -> (n_cells, n (n + 1) / 2) place of
    the local pairs a <= b, row by row of the upper triangle.
    """

    n_nodes: int
    ptr: Ints
    col: Ints
    loc: dict[str, Ints]

    @property
    def n_pairs(self) -> int:
        return len(self.col)


def node_graph(n_nodes: int, cells: dict[str, NDArray[np.int64]]) -> NodeGraph:
    """Pattern of a mesh with cells of any mixture of types."""
    kinds = list(cells)
    sizes = np.concatenate(
        [np.zeros(0, dtype=np.int64)] + [np.full(len(cells[kind]), cells[kind].shape[1]) for kind in kinds]
    )
    flat = np.concatenate(
        [np.zeros(0, dtype=np.int32)] + [cells[kind].ravel().astype(np.int32) for kind in kinds]
    )
    start = np.concatenate([[0], np.cumsum(sizes)])
    pair_start = np.concatenate([[0], np.cumsum(sizes * (sizes + 1) // 2)])
    adj_ptr = np.concatenate([[0], np.cumsum(np.bincount(flat, minlength=n_nodes))]).astype(np.int64)
    adj_cell, adj_local = np.empty(len(flat), dtype=np.int32), np.empty(len(flat), dtype=np.int32)
    _adjacency(flat, start, adj_ptr.copy(), adj_cell, adj_local)
    ptr = np.empty(n_nodes + 1, dtype=np.int32)
    col = np.empty(int(pair_start[-1]) + n_nodes, dtype=np.int32)
    loc = np.empty(int(pair_start[-1]), dtype=np.int32)
    mark, place = np.full(n_nodes, -1, dtype=np.int32), np.empty(n_nodes, dtype=np.int32)
    adjacent = adj_ptr, adj_cell, adj_local
    _upper_graph((flat, start, pair_start), adjacent, (mark, place), ptr, col, loc)
    views, first = {}, 0
    for kind in kinds:
        n_cells, n = cells[kind].shape
        size = n_cells * (n * (n + 1) // 2)
        views[kind] = loc[first : first + size].reshape(n_cells, n * (n + 1) // 2)
        first += size
    return NodeGraph(n_nodes, ptr, col[: ptr[-1]].copy(), views)


def graph_of_cells(n_nodes: int, cells: dict[str, NDArray[np.int64]]) -> Any:
    """Graph of nodes that share a cell, both halves, without loops."""
    half = node_graph(n_nodes, cells)
    ones = np.ones(half.n_pairs, dtype=np.int8)
    upper = sp.csr_matrix((ones, half.col, half.ptr), shape=(n_nodes, n_nodes))
    graph = sp.csr_matrix(upper + upper.T)
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


@kernel
def _adjacency(flat, start, adj_next, adj_cell, adj_local):
    """Cells at each node, and which of their nodes it is. Writes: adj_next, adj_cell, adj_local."""
    for e in range(len(start) - 1):
        for p in range(start[e], start[e + 1]):
            s = adj_next[flat[p]]
            adj_cell[s] = e
            adj_local[s] = p - start[e]
            adj_next[flat[p]] = s + 1


@kernel
def _upper_graph(cells, adjacent, scratch, ptr, col, loc):
    """Neighbours j >= i of every node i, sorted, and the place of each cell's pairs.

    `cells` = (flat, start, pair_start), `adjacent` = (ptr, cell, local). Writes: scratch = (mark, place),
    ptr, col, loc.
    """
    (flat, start, pair_start), (adj_ptr, adj_cell, adj_local), (mark, place) = cells, adjacent, scratch
    ptr[0] = 0
    end = 0
    for i in range(len(mark)):
        first = end
        mark[i] = i
        col[end] = i
        end += 1
        for s in range(adj_ptr[i], adj_ptr[i + 1]):
            e = adj_cell[s]
            for p in range(start[e], start[e + 1]):
                j = flat[p]
                if j > i and mark[j] != i:
                    mark[j] = i
                    # insertion keeps the row sorted; rows have tens of entries
                    k = end
                    while col[k - 1] > j:
                        col[k] = col[k - 1]
                        k -= 1
                    col[k] = j
                    end += 1
        for k in range(first, end):
            place[col[k]] = k
        for s in range(adj_ptr[i], adj_ptr[i + 1]):
            e = adj_cell[s]
            a = adj_local[s]
            n = start[e + 1] - start[e]
            for b in range(n):
                j = flat[start[e] + b]
                if j >= i:
                    low = min(a, b)
                    loc[pair_start[e] + low * n - low * (low - 1) // 2 + abs(b - a)] = place[j]
        ptr[i + 1] = end


def expand_scalar(graph: NodeGraph, upper: Floats) -> Any:
    """Full symmetric matrix (n_nodes, n_nodes), csr, of one number per pair."""
    indptr, indices, data, lower = _empty(graph, 1, graph.n_nodes, 1)
    _expand_diagonal(graph.ptr, graph.col, upper, lower, 1, indptr, indices, data)
    return _finish(sp.csr_array((data, indices, indptr), shape=(graph.n_nodes, graph.n_nodes)))


def expand_diagonal(graph: NodeGraph, upper: Floats) -> Any:
    """Full symmetric matrix (3 n_nodes, 3 n_nodes), csc, whose blocks are one number times the identity."""
    n = 3 * graph.n_nodes
    indptr, indices, data, lower = _empty(graph, 3, n, 3)
    _expand_diagonal(graph.ptr, graph.col, upper, lower, 3, indptr, indices, data)
    return _finish(sp.csc_array((data, indices, indptr), shape=(n, n)))


def expand_blocks(graph: NodeGraph, upper: Floats) -> Any:
    """Full symmetric matrix (w n_nodes, w n_nodes), csc, of w x w blocks (n_pairs, w w)."""
    width = round(upper.shape[1] ** 0.5)
    n = width * graph.n_nodes
    indptr, indices, data, lower = _empty(graph, width * width, n, width)
    _expand_blocks(graph.ptr, graph.col, upper, lower, width, indptr, indices, data)
    return _finish(sp.csc_array((data, indices, indptr), shape=(n, n)))


def _empty(graph: NodeGraph, entries: int, n_rows: int, rows: int) -> tuple[Any, Any, Any, Any]:
    """Arrays of a full matrix with `entries` numbers per pair in `rows` rows per node."""
    lower = np.bincount(graph.col, minlength=graph.n_nodes) - 1
    count = (lower + np.diff(graph.ptr)) * (entries // rows)
    nnz = int(count.sum()) * rows
    index = np.int32 if nnz < 2**31 else np.int64
    indptr = np.zeros(n_rows + 1, dtype=index)
    np.cumsum(np.repeat(count, rows), out=indptr[1:])
    return indptr, room(nnz, index), room(nnz), lower.astype(np.int32)


def _finish(matrix: Any) -> Any:
    # known from the construction; scipy would scan all entries to find out
    matrix.has_sorted_indices = True
    matrix.has_canonical_format = True
    return matrix


@kernel
def _expand_diagonal(ptr, col, upper, lower, width, indptr, indices, data):
    """Writes: lower (counts down to the filled part), indptr stays, indices, data."""
    n_nodes = len(ptr) - 1
    for i in range(n_nodes):
        # lower entries of row i are complete here: they came from rows above it
        shift = lower[i] - ptr[i]
        for t in range(ptr[i], ptr[i + 1]):
            j = col[t]
            for c in range(width):
                k = indptr[width * i + c] + shift + t
                indices[k] = width * j + c
                data[k] = upper[t]
    for i in range(n_nodes):
        lower[i] = 0
    for i in range(n_nodes):
        for t in range(ptr[i] + 1, ptr[i + 1]):
            j = col[t]
            for c in range(width):
                k = indptr[width * j + c] + lower[j]
                indices[k] = width * i + c
                data[k] = upper[t]
            lower[j] += 1


@kernel
def _expand_blocks(ptr, col, upper, lower, w, indptr, indices, data):
    """Writes: lower, indices, data."""
    n_nodes = len(ptr) - 1
    for i in range(n_nodes):
        shift = w * (lower[i] - ptr[i])
        for c in range(w):
            base = indptr[w * i + c] + shift
            for t in range(ptr[i], ptr[i + 1]):
                k = base + w * t
                for d in range(w):
                    indices[k + d] = w * col[t] + d
                    data[k + d] = upper[t, w * c + d]
    for i in range(n_nodes):
        lower[i] = 0
    for i in range(n_nodes):
        for t in range(ptr[i] + 1, ptr[i + 1]):
            j = col[t]
            for c in range(w):
                k = indptr[w * j + c] + w * lower[j]
                for d in range(w):
                    indices[k + d] = w * i + d
                    data[k + d] = upper[t, w * d + c]
            lower[j] += 1
