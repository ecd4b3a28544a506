"""Symbolic part of the sparse factorisation: fill-reducing order, elimination tree, supernodes, rows.

Everything is done on the graph of the *nodes* of the mesh; a node carries as many unknowns as are left of
its degrees of freedom. That graph has a ninth of the entries of the matrix, and supernodes start at nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs._jit import kernel

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Symbolic:
    """Shape of the factor L of P A P^T, in unknowns.

    Supernode s owns the columns `first[s] : first[s+1]`; its panel has the rows
    `rows[row_start[s] : row_start[s+1]]` (the own columns first, ascending), stored column by column
    from `panel[s]` on.
    """

    order: Ints  # position in L -> unknown of A
    place: Ints  # unknown of A -> position in L, -1 where the unknown is left out
    first: Ints  # (n_super+1,)
    row_start: Ints  # (n_super+1,)
    rows: Ints
    panel: Ints  # (n_super+1,)
    super_of: Ints  # position in L -> supernode

    @property
    def n(self) -> int:
        return len(self.order)

    @property
    def n_entries(self) -> int:
        """Stored entries of L (explicit zeros of merged supernodes included)."""
        return int(self.panel[-1])


@kernel
def elimination_tree(start, neighbours, order, place):
    """Parent of every position in the elimination tree."""
    n = len(order)
    parent = np.full(n, -1, np.int64)
    ancestor = np.full(n, -1, np.int64)
    for k in range(n):
        for p in range(start[order[k]], start[order[k] + 1]):
            i = place[neighbours[p]]
            while i != -1 and i < k:
                above = ancestor[i]
                ancestor[i] = k
                if above == -1:
                    parent[i] = k
                i = above
    return parent


@kernel
def postorder(parent):
    """Positions in an order where every subtree is contiguous, children before parents."""
    n = len(parent)
    first_child = np.full(n, -1, np.int64)
    sibling = np.full(n, -1, np.int64)
    for j in range(n - 1, -1, -1):
        if parent[j] >= 0:
            sibling[j] = first_child[parent[j]]
            first_child[parent[j]] = j
    post = np.empty(n, np.int64)
    stack = np.empty(n, np.int64)
    count = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        top = 0
        stack[0] = root
        while top >= 0:
            j = stack[top]
            if first_child[j] >= 0:
                top += 1
                stack[top] = first_child[j]
                first_child[j] = sibling[first_child[j]]
            else:
                post[count] = j
                count += 1
                top -= 1
    return post


@kernel
def column_counts(start, neighbours, order, place, parent, weight):
    """Weight of the rows of every column of L, its own included; walks the row subtrees."""
    n = len(order)
    count = weight.copy()
    mark = np.full(n, -1, np.int64)
    for k in range(n):
        mark[k] = k
        for p in range(start[order[k]], start[order[k] + 1]):
            j = place[neighbours[p]]
            while j < k and mark[j] != k:
                count[j] += weight[k]
                mark[j] = k
                j = parent[j]
    return count


@kernel
def group_columns(parent, height, weight):
    """First columns of the supernodes: equal structure, or merged where few zeros are added.

    Walks up the postordered tree; a group is merged with the group right before it when that one is its
    last child. The thresholds on zeros by width are those usual for supernodal codes.
    """
    n = len(parent)
    n_children = np.zeros(n, np.int64)
    for j in range(n):
        if parent[j] >= 0:
            n_children[parent[j]] += 1
    begin = np.empty(n, np.int64)
    width = np.empty(n, np.int64)
    tall = np.empty(n, np.int64)
    zeros = np.empty(n, np.float64)
    top = -1
    for j in range(n):
        same = (
            j > 0 and parent[j - 1] == j and n_children[j] == 1 and height[j - 1] == height[j] + weight[j - 1]
        )
        if same:
            width[top] += weight[j]
            continue
        if top >= 0:
            top = _merge_down(top, begin, width, tall, zeros, parent, j)
        top += 1
        begin[top], width[top], tall[top], zeros[top] = j, weight[j], height[j], 0.0
    if top >= 0:
        top = _merge_down(top, begin, width, tall, zeros, parent, n)
    return begin[: top + 1].copy()


@kernel
def _merge_down(top, begin, width, tall, zeros, parent, end):
    """Merge the complete group `top` with its last children while that pays."""
    while top > 0:
        above = parent[begin[top] - 1]
        if above < begin[top] or above >= end:
            return top
        both = width[top - 1] + width[top]
        rows = width[top - 1] + tall[top]
        added = zeros[top - 1] + zeros[top] + float(width[top - 1]) * (rows - tall[top - 1])
        share = added / (0.5 * both * (both + 1) + float(both) * (rows - both))
        merge = share == 0.0 or both <= 12 or (both <= 48 and share < 0.5) or (both <= 144 and share < 0.1)
        if not (merge or share < 0.03):
            return top
        top -= 1
        width[top], tall[top], zeros[top] = both, rows, added
    return top


@kernel
def supernode_rows(start, neighbours, order, place, parent, begin, upper_bound):
    """Rows (node positions, ascending) of every supernode: its columns, then what fills in below."""
    n, n_super = len(order), len(begin) - 1
    row_start = np.zeros(n_super + 1, np.int64)
    rows = np.empty(upper_bound, np.int64)
    mark = np.full(n, -1, np.int64)
    super_of = np.empty(n, np.int64)
    for s in range(n_super):
        super_of[begin[s] : begin[s + 1]] = s
    child = np.full(n_super, -1, np.int64)
    sibling = np.full(n_super, -1, np.int64)
    count = 0
    for s in range(n_super):
        row_start[s] = count
        last = begin[s + 1] - 1
        for k in range(begin[s], last + 1):
            rows[count] = k
            count += 1
        below = count
        for k in range(begin[s], last + 1):
            for p in range(start[order[k]], start[order[k] + 1]):
                i = place[neighbours[p]]
                if i > last and mark[i] != s:
                    mark[i] = s
                    rows[count] = i
                    count += 1
        c = child[s]
        while c != -1:
            for p in range(row_start[c], row_start[c + 1]):
                i = rows[p]
                if i > last and mark[i] != s:
                    mark[i] = s
                    rows[count] = i
                    count += 1
            c = sibling[c]
        rows[below:count].sort()
        if parent[last] >= 0:
            up = super_of[parent[last]]
            sibling[s] = child[up]
            child[up] = s
        row_start[s + 1] = count
    return row_start, rows[:count].copy()


def dissection(graph: sparse.csr_matrix) -> Ints:
    """Nested-dissection order of a graph (position -> vertex); natural order for tiny ones."""
    n = graph.shape[0]
    if n < 3 or graph.nnz == 0:
        return np.arange(n, dtype=np.int64)
    import pymetis

    order, _ = pymetis.nested_dissection(pymetis.CSRAdjacency(graph.indptr, graph.indices))
    return np.asarray(order, dtype=np.int64)


def node_graph(A: sparse.csc_matrix, node_of: Ints) -> sparse.csr_matrix:
    """Graph of the nodes behind the unknowns of A, without loops; `node_of` is 0, 1, ... or -1 for none."""
    n_nodes = int(node_of.max(initial=-1)) + 1
    kept = np.flatnonzero(node_of >= 0)
    select = sparse.csr_matrix(
        (np.ones(len(kept), np.int8), (node_of[kept], kept)), shape=(n_nodes, len(node_of))
    )
    pattern = sparse.csr_matrix((np.ones(A.nnz, np.int8), A.indices, A.indptr), shape=A.shape)
    graph = (select @ pattern.astype(bool) @ select.T.astype(bool)).tocsr()
    assert graph.shape == (n_nodes, n_nodes)
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def analyse(A: sparse.csc_matrix, node_of: Ints) -> Symbolic:
    """Order and supernodes of a symmetric matrix stored in full.

    `node_of[i]` is the node of unknown i, or negative when its row and column are left out.
    """
    kept = np.flatnonzero(node_of >= 0)
    numbers = np.full(len(node_of), -1, dtype=np.int64)
    numbers[kept] = np.unique(node_of[kept], return_inverse=True)[1]
    return analyse_graph(node_graph(A, numbers), numbers[kept], kept, len(numbers))


def analyse_graph(graph: sparse.csr_matrix, node_of: Ints, kept: Ints, n: int) -> Symbolic:
    """The same from the graph of the nodes; of n unknowns those `kept` have the nodes `node_of`."""
    start, neighbours = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    weight_of_node = np.bincount(node_of).astype(np.int64)
    order = dissection(graph)
    for _ in range(2):  # once for the tree, once in its postorder
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        parent = elimination_tree(start, neighbours, order, place)
        post = postorder(parent)
        if np.array_equal(post, np.arange(len(post))):
            break
        order = order[post]
    weight = weight_of_node[order]
    height = column_counts(start, neighbours, order, place, parent, weight)
    begin = np.append(group_columns(parent, height, weight), len(order))
    # every row of a supernode is a row of its first column, or a merged zero: bounded by the panel heights
    bound = _row_bound(begin, height, weight)
    row_start, rows = supernode_rows(start, neighbours, order, place, parent, begin, bound)
    return _expand(kept, n, node_of, order, weight, begin, row_start, rows)


def _row_bound(begin: Ints, height: Ints, weight: Ints) -> int:
    columns = np.concatenate([[0], np.cumsum(weight)])[begin]
    tallest = np.maximum.reduceat(height, begin[:-1]) if len(begin) > 1 else np.zeros(0, np.int64)
    return int(np.sum(tallest + np.diff(columns))) + 1


def _expand(
    kept: Ints, n: int, node_of: Ints, order: Ints, weight: Ints, begin: Ints, row_start: Ints, rows: Ints
) -> Symbolic:
    """From nodes to unknowns, of which those `kept` (of n) have the nodes `node_of`."""
    offset = np.concatenate([[0], np.cumsum(weight)])
    by_node = np.argsort(node_of, kind="stable")
    node_first = np.concatenate([[0], np.cumsum(np.bincount(node_of))])
    unknowns = ranges(node_first[order], weight)
    dof_order = kept[by_node[unknowns]]
    dof_place = np.full(n, -1, dtype=np.int64)
    dof_place[dof_order] = np.arange(len(dof_order))
    dof_rows = ranges(offset[rows], weight[rows])
    dof_row_start = np.concatenate([[0], np.cumsum(weight[rows])])[row_start]
    first = offset[begin]
    widths, heights = np.diff(first), np.diff(dof_row_start)
    panel = np.concatenate([[0], np.cumsum(widths * heights)])
    super_of = np.repeat(np.arange(len(widths)), widths)
    return Symbolic(dof_order, dof_place, first, dof_row_start, dof_rows, panel, super_of)


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The concatenation of start, start+1, ..., start+length-1 over all pairs."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
