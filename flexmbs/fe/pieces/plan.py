"""The tree of pieces of a factor: which supernodes are eliminated together, and what that needs.

A piece is a subtree of the nested dissection, or a separator above such subtrees. It is eliminated as a
whole: its own panels, and what that leaves of the matrix on its boundary, are all that is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.solve.symbolic import Symbolic, ranges

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: columns of a panel: only the lower half of a front is stored, but for what panels have above the diagonal
WIDTH = 256
#: freedoms of a subtree that is one piece; smaller ones at a separator belong to it
FREEDOMS, SMALL = 40_000, 8
#: entries of panels that separators may have together; more where the first has a front of that size
TOGETHER = 2**25


@dataclass(frozen=True)
class Piece:
    """Supernodes, their columns (positions, ascending), the rows below them, and the pieces before it."""

    supernodes: Ints
    columns: Ints
    boundary: Ints
    children: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Panels of at most WIDTH columns and the pieces that they belong to, children before parents."""

    shape: Symbolic
    pieces: tuple[Piece, ...]

    def entries(self, piece: Piece) -> int:
        """Of the panels of a piece."""
        return int(np.sum(np.diff(self.shape.panel)[piece.supernodes]))

    @property
    def front_bytes(self) -> int:
        """Most memory that a piece takes while it is eliminated."""
        return max((self.bytes_of(piece) for piece in self.pieces), default=0)

    def bytes_of(self, piece: Piece) -> int:
        """What the elimination of a piece takes: panels, what is left, products of panels."""
        rows = len(piece.columns) + len(piece.boundary)
        tallest = int(np.max(np.diff(self.shape.row_start)[piece.supernodes], initial=0))
        return 8 * (self.entries(piece) + triangle(len(piece.boundary)) + 2 * tallest * WIDTH + 4 * rows)

    @property
    def disk_bytes(self) -> int:
        """Most that lies on disk: the panels, and at some moment what pieces leave to their parents."""
        live = most = 0
        for piece in self.pieces:
            live += 8 * (self.entries(piece) + len(piece.columns) + triangle(len(piece.boundary)))
            most = max(most, live)
            live -= sum(8 * triangle(len(self.pieces[k].boundary)) for k in piece.children)
        return most

    def gain(self, cost: Floats, n_workers: int) -> float:
        """How many times as fast so many workers are as one, at pieces of this cost, by the tree alone.

        Whoever is free takes the piece that is ready with the longest way to the top.
        """
        parent = {child: k for k, piece in enumerate(self.pieces) for child in piece.children}
        way, left = cost.copy(), [len(piece.children) for piece in self.pieces]
        for k in range(len(cost) - 1, -1, -1):
            way[k] += way[parent[k]] if k in parent else 0.0
        ready = [(-way[k], k) for k, count in enumerate(left) if not count]
        heapify(ready)
        busy: list[tuple[float, int]] = []
        now = 0.0
        while ready or busy:
            while ready and len(busy) < n_workers:
                k = heappop(ready)[1]
                heappush(busy, (now + float(cost[k]), k))
            now, k = heappop(busy)
            if k in parent:
                left[parent[k]] -= 1
                if not left[parent[k]]:
                    heappush(ready, (-way[parent[k]], parent[k]))
        return float(cost.sum()) / now if now else 1.0

    @property
    def stored(self) -> Floats:
        """Entries of the panels of every piece: what a pass reads."""
        return np.array([self.entries(piece) for piece in self.pieces], dtype=float)

    @property
    def work(self) -> Floats:
        """Multiplications and additions of the factorisation, of every piece."""
        w, ld = np.diff(self.shape.first).astype(float), np.diff(self.shape.row_start).astype(float)
        each = w**3 / 3 + w**2 * (ld - w) + w * (ld - w) ** 2
        return np.array([each[piece.supernodes].sum() for piece in self.pieces])


def triangle(n: int) -> int:
    """Entries of the lower half of an n x n matrix in panels of WIDTH columns."""
    begin = np.arange(0, n, WIDTH)
    return int(np.sum((n - begin) * np.minimum(WIDTH, n - begin)))


def make_plan(shape: Symbolic, freedoms: int | None = None) -> Plan:
    """Pieces of about so many freedoms, and the separators above them."""
    freedoms = FREEDOMS if freedoms is None else freedoms
    narrow, begin = split(shape, WIDTH)
    parent = parents(shape)
    roots, number = np.unique(_tops(shape, freedoms), return_inverse=True)
    members = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number)))[: len(roots)]
    children: list[list[int]] = [[] for _ in roots]
    pieces = []
    for k, (root, supernodes) in enumerate(zip(roots.tolist(), members, strict=True)):
        columns = ranges(shape.first[supernodes], np.diff(shape.first)[supernodes])
        width = shape.first[root + 1] - shape.first[root]
        below = shape.rows[shape.row_start[root] + width : shape.row_start[root + 1]]
        own = ranges(begin[supernodes], np.diff(begin)[supernodes])
        pieces.append(Piece(own, columns, below, tuple(children[k])))
        if parent[root] >= 0:
            children[number[parent[root]]].append(k)
    return Plan(narrow, tuple(pieces))


def parents(shape: Symbolic) -> Ints:
    """Parent of every supernode: that of its first row below, or -1."""
    width, height = np.diff(shape.first), np.diff(shape.row_start)
    parent = np.full(len(width), -1, dtype=np.int64)
    inner = np.flatnonzero(height > width)
    parent[inner] = shape.super_of[shape.rows[shape.row_start[inner] + width[inner]]]
    return parent


def _tops(shape: Symbolic, freedoms: int) -> Ints:
    """The supernode at the top of the piece of every supernode.

    Separators one above another are one piece, which takes no more room than the front of the lowest, and
    so are subtrees beside them that are too small for a piece of their own.
    """
    parent = parents(shape)
    width, height = np.diff(shape.first), np.diff(shape.row_start)
    size, entries = width.copy(), width * height  # of subtrees
    branches = np.zeros(len(parent), dtype=np.int64)
    for s, up in enumerate(parent.tolist()):
        if up >= 0:
            size[up] += size[s]
            entries[up] += entries[s]
            branches[up] += size[s] > freedoms
    top, held = np.arange(len(parent)), width * height
    for s in range(len(parent) - 1, -1, -1):
        up = int(parent[s])
        if up < 0:
            continue
        above = int(top[up])
        if size[up] <= freedoms:
            top[s] = above
        elif size[s] <= freedoms:
            if size[s] <= freedoms // SMALL and held[above] + entries[s] <= TOGETHER:
                top[s] = above
                held[above] += entries[s]
        elif branches[up] == 1:
            own = int(width[s] * height[s])
            if held[above] + own <= max(TOGETHER, int(height[s]) ** 2 // 2 + own):
                top[s] = above
                held[above] += own
    return top


def split(shape: Symbolic, width: int) -> tuple[Symbolic, Ints]:
    """The same factor in panels of at most `width` columns; and the first of them of every supernode."""
    widths, heights = np.diff(shape.first), np.diff(shape.row_start)
    count = -(-widths // width)
    begin = np.concatenate([[0], np.cumsum(count)])
    old = np.repeat(np.arange(len(widths)), count)
    shift = (np.arange(len(old)) - begin[old]) * width
    first = np.append(shape.first[old] + shift, shape.n)
    lengths = heights[old] - shift
    rows = shape.rows[ranges(shape.row_start[old] + shift, lengths)]
    row_start = np.concatenate([[0], np.cumsum(lengths)])
    panel = np.concatenate([[0], np.cumsum(np.diff(first) * lengths)])
    super_of = np.repeat(np.arange(len(old)), np.diff(first))
    return Symbolic(shape.order, shape.place, first, row_start, rows, panel, super_of), begin
