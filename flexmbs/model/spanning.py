"""Spanning trees of a graph of bodies: the one whose loops make the least work (F54).

Work is the sum over the bodies of the square of the rows that are open there: an elimination at a body
costs that. Where loops share joints it is linear in their number on one tree and of the third power on
another, so trees are compared before any number is known. Each loop should close as soon as it can: a walk
that goes on to the body with most known neighbours does so in ladders, masts and trusses, whatever the order
in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: another tree is taken where it makes less than this part of the work
BETTER = 0.7
#: a front of fewer rows is not taken apart
SMALL = 12
#: rows that can differ in what they ask of a rigid body
MOST = 6
#: bodies times edges up to which exchanges of edges are tried
EXCHANGES = 10_000


@dataclass(frozen=True)
class Edge:
    """A joint between bodies `a` and `b` (ground is 0) that locks `rows` directions; `item` is the joint.

    `may`: it can stand in the tree. `must`: it shall, where no other such edge closes the loop.
    """

    a: int
    b: int
    rows: int
    item: Any
    may: bool = True
    must: bool = False


class Graph:
    """Bodies 0 ... n - 1 and the edges between them."""

    def __init__(self, n: int, edges: list[Edge]) -> None:
        self.n, self.edges = n, edges
        self.near: list[list[int]] = [[] for _ in range(n)]
        for k, edge in enumerate(edges):
            if edge.may:
                self.near[edge.a].append(k)
                self.near[edge.b].append(k)

    def other(self, k: int, body: int) -> int:
        edge = self.edges[k]
        return edge.a + edge.b - body

    def best(self, first: set[int]) -> set[int]:
        """The tree of least work, as edges; `first` unless another one is much better."""
        if len(self.edges) - len(first) < 2:
            return first
        chosen, work = first, BETTER * self.work(first)
        for tree in self._candidates():
            if (found := self.work(tree)) < work:
                chosen, work = tree, found
        return self._exchanged(chosen, work if chosen is not first else work / BETTER, first)

    def _candidates(self) -> Iterable[set[int]]:
        for reverse in (False, True):
            for closing in (True, False):
                yield self._repaired(self._walk(closing, reverse))
        yield self._repaired(self._broad())

    def _walk(self, closing: bool, reverse: bool) -> set[int]:
        """Edges of a walk in depth; `closing`: next is the neighbour with most known neighbours."""
        seen, known = [False] * self.n, [0] * self.n
        tree: set[int] = set()

        def visit(body: int) -> None:
            seen[body] = True
            for k in self.near[body]:
                known[self.other(k, body)] += 1

        for root in range(self.n):
            if seen[root]:
                continue
            visit(root)
            stack = [root]
            while stack:
                body = stack[-1]
                open_ = [k for k in self.near[body] if not seen[self.other(k, body)]]
                if not open_:
                    stack.pop()
                    continue
                if reverse:
                    open_.reverse()
                sizes = [(self.edges[k].must, closing * known[self.other(k, body)]) for k in open_]
                k = open_[sizes.index(max(sizes))]
                tree.add(k)
                visit(self.other(k, body))
                stack.append(self.other(k, body))
        return tree

    def _broad(self) -> set[int]:
        seen = [False] * self.n
        tree: set[int] = set()
        for root in range(self.n):
            queue = [] if seen[root] else [root]
            seen[root] = True
            for body in queue:
                for k in self.near[body]:
                    child = self.other(k, body)
                    if not seen[child]:
                        seen[child] = True
                        tree.add(k)
                        queue.append(child)
        return tree

    def _repaired(self, tree: set[int]) -> set[int]:
        """With the edges that must stand in it."""
        kept: set[int] = set()
        group = list(range(self.n))
        order = sorted(range(len(self.edges)), key=lambda k: (not self.edges[k].must, k not in tree))
        for k in order:
            edge = self.edges[k]
            if edge.may and _top(group, edge.a) != _top(group, edge.b):
                group[_top(group, edge.a)] = _top(group, edge.b)
                kept.add(k)
        return kept

    def rooted(self, tree: set[int]) -> tuple[list[int], list[int], list[int]]:
        """Parents, depths, and the bodies in an order from the root; what floats hangs on ground."""
        near: list[list[int]] = [[] for _ in range(self.n)]
        for k in tree:
            near[self.edges[k].a].append(k)
            near[self.edges[k].b].append(k)
        parent, depth, order = [-1] * self.n, [0] * self.n, []
        for root in range(self.n):
            if root and parent[root] >= 0:
                continue
            if root:
                parent[root], depth[root] = 0, 1
            stack = [root]
            while stack:
                body = stack.pop()
                order.append(body)
                for k in near[body]:
                    child = self.other(k, body)
                    if child != parent[body] and (child and parent[child] < 0):
                        parent[child], depth[child] = body, depth[body] + 1
                        stack.append(child)
        return parent, depth, order

    def open_rows(self, tree: set[int]) -> list[int]:
        """Rows that are open at every body; those that end on ground close early where fronts let them."""
        parent, depth, order = self.rooted(tree)
        rows, grounded = [0] * self.n, [0] * self.n
        for k, edge in enumerate(self.edges):
            if k in tree:
                continue
            a, b = edge.a, edge.b
            found = rows if a and b else grounded
            found[a] += edge.rows
            found[b] += edge.rows
            while a != b:
                if depth[a] >= depth[b]:
                    a = parent[a]
                else:
                    b = parent[b]
            found[a] -= 2 * edge.rows
        here = list(grounded)
        for body in reversed(order):
            if body:
                rows[parent[body]] += rows[body]
                grounded[parent[body]] += grounded[body]
        early = {c for c in range(1, self.n) if parent[c] == 0 and not rows[c] and grounded[c] > SMALL}
        left = self._left(tree, here, parent, order) if early else here
        branch = [0] * self.n
        for body in order:
            if body:
                branch[body] = branch[parent[body]] or body
                rows[body] += left[body] if branch[body] in early else grounded[body]
        return rows

    def _left(self, tree: set[int], here: list[int], parent: list[int], order: list[int]) -> list[int]:
        """Rows on ground that are left at every body when its joints have closed what they can."""
        free = [0] * self.n
        for k in tree:
            edge = self.edges[k]
            free[edge.b if parent[edge.b] == edge.a else edge.a] = 0 if edge.must else 6 - edge.rows
        left, handed = [0] * self.n, [0] * self.n
        for body in reversed(order):
            left[body] = here[body] + min(MOST, handed[body])
            if body:
                handed[parent[body]] += max(0, left[body] - free[body])
        return left

    def work(self, tree: set[int]) -> float:
        return float(sum(r * r for r in self.open_rows(tree)[1:]))

    def _exchanged(self, tree: set[int], work: float, first: set[int]) -> set[int]:
        """The tree after exchanges of a cut with an edge of its loop, while they make less work."""
        improved = self.n * len(self.edges) <= EXCHANGES
        while improved:
            improved = False
            for k in [k for k, edge in enumerate(self.edges) if k not in tree and edge.may]:
                for out in self._loop(tree, k):
                    if self.edges[out].must:
                        continue
                    other = tree - {out} | {k}
                    found = self.work(other)
                    if found < work:
                        tree, work, improved = other, found, True
                        break
        return tree if tree is first or work < BETTER * self.work(first) else first

    def _loop(self, tree: set[int], k: int) -> list[int]:
        """Edges of the tree between the ends of edge k."""
        parent, depth, _ = self.rooted(tree)
        by_child = {}
        for j in tree:
            edge = self.edges[j]
            by_child[edge.b if parent[edge.b] == edge.a else edge.a] = j
        a, b, found = self.edges[k].a, self.edges[k].b, []
        while a != b:
            if depth[a] < depth[b]:
                a, b = b, a
            if a in by_child:
                found.append(by_child[a])
            a = parent[a]
        return found


def _top(group: list[int], body: int) -> int:
    while group[body] != body:
        group[body] = group[group[body]]
        body = group[body]
    return body
