"""Fronts: which rows are open at a body, and where each is eliminated (F54).

A row is open at the bodies between its ends and the body at which these meet: there its multiplier is
eliminated, inside the backward pass. The front of a body holds the rows that close there, then the open ones,
the next to close first. Where many loops meet at ground or at a rigid body, they are closed one after another
in fronts of their own, as soon as the branches that they connect have met: cost is that of the widest front,
not that of all loops together.

A row that ends on ground gets nothing more from that end. Where many of them would stay open down to ground
they are tried in every front on the way, and closed as soon as the joints passed so far let them. What is
left of them acts on one rigid body, on which no more than six can differ: that many are handed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heappush
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.numbering import ints, offsets
from flexmbs.model.spanning import MOST, SMALL
from flexmbs.model.tables import FrontTables, PathTables, SlotTables

Ints = NDArray[np.int64]


class Loops:
    """Bodies that groups of rows pass, and those at which they close, by the numbers of the tree.

    `ends`: for every group the bodies of its markers, and those whose joint coordinates it sees.
    """

    def __init__(self, parent: Any, ends: list[tuple[set[int], set[int]]], massless: list[bool]) -> None:
        self.parent, self.massless = [int(p) for p in parent], massless
        self.depth = [0] * len(self.parent)
        for i in range(1, len(self.parent)):
            self.depth[i] = self.depth[self.parent[i]] + 1
        self.ends = ends
        self.meet = [self._meet(*item) for item in ends]
        self.close = list(self.meet)
        self.path = [self._way(one | two, c) for (one, two), c in zip(ends, self.close, strict=True)]
        self.mates: dict[int, set[int]] = {}
        #: groups that are tried from the body on at which they close
        self.tried: set[int] = set()
        if any(massless):
            self._wait()

    def _meet(self, ends: set[int], moved: set[int]) -> int:
        """The body nearest to all ends that is outboard of none of the joints that are moved."""
        bodies = ends | {self.parent[j] for j in moved}
        found = bodies.pop() if bodies else 0
        for body in bodies:
            while found != body:
                if self.depth[found] >= self.depth[body]:
                    found = self.parent[found]
                else:
                    body = self.parent[body]
        return found

    def _way(self, bodies: set[int], close: int) -> set[int]:
        found: set[int] = set()
        for body in bodies:
            while body != close and body not in found:
                found.add(body)
                body = self.parent[body]
        return found

    def try_early(self, size: Ints, nf: Ints) -> None:
        """Try groups that end on ground on the way there, in branches of ground with many of them alone."""
        branch = [0] * len(self.parent)
        for i in range(1, len(self.parent)):
            branch[i] = branch[self.parent[i]] or i
        for c in sorted(set(branch) - {0}):
            open_ = [g for g, path in enumerate(self.path) if c in path]
            if sum(size[g] for g in open_) > SMALL and not any(self.ends[g][1] for g in open_):
                if all(0 in self.ends[g][0] and {branch[i] for i in self.path[g]} == {c} for g in open_):
                    for g in open_:
                        self._enter(g, nf)

    def _enter(self, g: int, nf: Ints) -> None:
        """Let group g close at the first rigid body, before ground, behind a joint that moves its end."""
        bodies = self.ends[g][0] - {0}
        body = self.parent[self._meet(bodies, set())]
        while body and nf[body]:
            body = self.parent[body]
        if body:
            self.close[g], self.path[g] = body, self._way(bodies, body)
            self.tried.add(g)

    def _wait(self) -> None:
        """A motion without inertia has its pivot from the rows that hold it: it closes after them (F26a)."""
        for g, alone in enumerate(self.massless):
            if alone:
                (body,) = self.ends[g][1]
                mates = [h for h, path in enumerate(self.path) if body in path and not self.massless[h]]
                last = min([self.close[g], *(self.close[h] for h in mates)], key=lambda i: self.depth[i])
                self.close[g], self.path[g] = last, self._way({body}, last)
                self.mates[g] = {h for h in mates if self.close[h] == last}

    def order(self, groups: set[int]) -> list[int]:
        """Groups in the order in which they close."""
        return sorted(groups, key=lambda g: (-self.depth[self.close[g]], self.massless[g], g))


def ends_of(t: Any) -> list[tuple[set[int], set[int]]]:
    """Bodies of the markers, and bodies whose joint coordinates they see, of every group of rows."""
    body_of_speed = np.searchsorted(t.tree.o_eta, np.arange(len(t.tree.driven)), side="right") - 1
    found: list[tuple[set[int], set[int]]] = [(set(), set()) for _ in t.group.start[1:]]
    for r, g in enumerate(t.row.group):
        e = t.term.relation[t.term.start[r] : t.term.start[r + 1]]
        found[g][0].update(t.marker.body[t.relation.p[e]].tolist(), t.marker.body[t.relation.q[e]].tolist())
        speeds = t.coord.vel[t.speed.coord[t.speed.start[r] : t.speed.start[r + 1]]]
        found[g][1].update(body_of_speed[speeds].tolist())
        if t.row.massless[r] >= 0:
            found[g][1].add(int(body_of_speed[t.row.massless[r]]))
    return found


def passed(t: Any) -> tuple[Ints, Ints]:
    """Groups and bodies on whose joints or modes they depend, in pairs, sorted."""
    body_of_speed = np.searchsorted(t.tree.o_eta, np.arange(len(t.tree.driven)), side="right") - 1
    group = np.repeat(t.row.group, np.diff(t.path.start))
    n = len(t.tree.parent)
    groups, bodies = np.divmod(np.unique(group * n + body_of_speed[t.path.speed]), n)
    return groups, bodies


def width(t: Any) -> int:
    """Most groups of rows that stand together in one front: loops that are open at once."""
    front = np.repeat(np.arange(len(t.front.body)), np.diff(t.front.row))
    own = t.slot.row >= 0
    pairs = np.unique(np.stack([front[own], t.row.group[t.slot.row[own]]]), axis=1)
    return int(np.bincount(pairs[0]).max(initial=0))


#: parts and fields of the tables from which fronts follow
FOLLOWS_FROM = {
    "tree": ("parent", "o_eta", "o_qd", "driven"), "body": ("nf",), "row": ("group", "massless"),
    "group": ("start",), "term": ("start", "relation"), "speed": ("start", "coord"),
    "relation": ("p", "q"), "marker": ("body",), "coord": ("vel",),
}  # fmt: skip


class _Structure:
    """What fronts follow from, integers alone; equal where all of these are."""

    def __init__(self, t: Any) -> None:
        key = []
        for part, names in FOLLOWS_FROM.items():
            fields = {name: np.asarray(getattr(getattr(t, part), name)) for name in names}
            setattr(self, part, SimpleNamespace(**fields))
            key += [field.tobytes() for field in fields.values()]
        self._key = tuple(key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Structure) and self._key == other._key


def front_tables(t: Any) -> tuple[FrontTables, SlotTables, PathTables]:
    """Fronts, slots and paths for the other parts of the tables, not to be written to.

    Models that differ in lengths and masses have the same ones.
    """
    return _front_tables(_Structure(t))


@lru_cache(maxsize=8)
def _front_tables(t: Any) -> tuple[FrontTables, SlotTables, PathTables]:
    alone = (t.row.massless[t.group.start[:-1]] >= 0).tolist()
    loops = Loops(t.tree.parent, ends_of(t), alone)
    path = _paths(loops, t)
    if not any(alone):
        loops.try_early(np.diff(t.group.start), t.body.nf)
    fronts = _Fronts(loops, t)
    found = *fronts.tables(t), path
    for part in found:
        for item in part:
            item.flags.writeable = False
    return found


def _paths(loops: Loops, t: Any) -> PathTables:
    """Speeds on which rows may depend: those of joints and modes between their ends."""
    start, speed = [0], []
    for r, g in enumerate(t.row.group):
        found: set[int] = set()
        if t.row.massless[r] < 0:  # no constraint: its unknown is not a speed
            for i in loops.path[g]:
                found.update(range(t.tree.o_eta[i], t.tree.o_eta[i + 1]))
            c = loops.meet[g]
            found.update(range(t.tree.o_qd[c], t.tree.o_eta[c + 1]))
        speed += sorted(found)
        start.append(len(speed))
    return PathTables(meet=ints(loops.meet), start=ints(start), speed=ints(speed))


def _is_run(places: Ints) -> bool:
    return bool(np.all(np.diff(places) == 1))


@dataclass
class _Parts:
    """Groups of a front: that close in it, that are tried in it, that are open; fronts that hand on theirs.

    `room`: slots in the next front for rows that are tried there again.
    """

    closing: list[int] = field(default_factory=list)
    tried: list[int] = field(default_factory=list)
    open: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    room: int = 0


class _Fronts:
    """Groups of every front in their order, how many of them close in it, and the front that takes the rest.

    The front of a body has its number; those of its branches come behind all bodies.
    """

    def __init__(self, loops: Loops, t: Any) -> None:
        self.loops, n = loops, len(loops.parent)
        self.size = np.diff(t.group.start)
        self.children: list[list[int]] = [[] for _ in range(n)]
        for i in range(1, n):
            self.children[loops.parent[i]].append(i)
        self.open: list[set[int]] = [set() for _ in range(n)]
        closing: list[set[int]] = [set() for _ in range(n)]
        entering: list[set[int]] = [set() for _ in range(n)]
        for g, path in enumerate(loops.path):
            (entering if g in loops.tried else closing)[loops.close[g]].add(g)
            for body in path:
                self.open[body].add(g)
        self.parts: list[_Parts] = [_Parts() for _ in range(n)]
        self.up = [max(p, 0) for p in loops.parent]
        self.of_body: list[list[int]] = [[] for _ in range(n)]
        self.where: dict[int, int] = {}
        for i in range(n - 1, -1, -1):
            sources = [c for c in self.children[i] if self.parts[c].room or self.open[c] & entering[i]]
            if i == 0:
                for c in sources:
                    own = closing[0] & self.open[c]
                    closing[0] -= own
                    self._new(0, [c], own, own, [c])
            elif sources:
                self._try(i, sources, closing[i], entering[i], not t.body.nf[i])
                continue
            if (i == 0 or not t.body.nf[i]) and self._rows(self.open[i] | closing[i]) > SMALL:
                closing[i] = self._apart(i, closing[i])
            self._fill(i, closing[i], self.open[i])

    def _rows(self, groups: Iterable[int]) -> int:
        return int(sum(self.size[g] for g in groups))

    def _fill(self, front: int, closing: set[int], rest: set[int], tried: Iterable[int] = ()) -> None:
        part = self.parts[front]
        part.closing, part.tried = self.loops.order(closing), self.loops.order(set(tried))
        part.open = self.loops.order(rest - closing - set(tried))
        for g in part.closing + part.tried:
            self.where[g] = front

    def _try(self, i: int, sources: list[int], closing: set[int], entering: set[int], rigid: bool) -> None:
        """Rows that are tried at body i, one branch after another where nothing else is open there."""
        alone = [c for c in sources if self.open[c] <= entering] if rigid else []
        size = self._rows(entering) + sum(self.parts[c].room for c in sources)
        if len(alone) > 1 and size > SMALL:
            left = [c for c in sources if c not in alone]
            before: list[int] = []
            for c in alone:
                before = [self._new(i, [c, *before], set(), self.open[c], [c, *before], self.open[c])]
                entering = entering - self.open[c]
            sources = before + left
        self.parts[i].sources = sources
        self._fill(i, closing, self.open[i], entering)
        self._hand_on(i, rigid)

    def _hand_on(self, front: int, rigid: bool = True) -> None:
        """Slots that the next front has for rows that are still open."""
        part = self.parts[front]
        size = self._rows(part.tried) + self._arriving(front)
        part.room = min(MOST, size) if rigid else size

    def _arriving(self, front: int) -> int:
        return sum(self.parts[c].room for c in self.parts[front].sources)

    def _apart(self, i: int, closing: set[int]) -> set[int]:
        """Close loops at body i in fronts of their branches, the smallest first. Returns what is left."""
        branches = {c: set(self.open[c]) for c in self.children[i] if self.open[c] and self.up[c] == i}
        near: dict[int, set[int]] = {}
        for c, groups in branches.items():
            for g in groups:
                near.setdefault(g, set()).add(c)
        left, waiting = set(closing), set(closing) & set(self.loops.mates)

        def ready(g: int) -> bool:
            return not self.loops.mates.get(g, set()) & left

        def cost(g: int) -> int:
            return self._rows(set().union(*(branches[c] for c in near[g])))

        heap = [(cost(g), g) for g in closing - waiting if g in near]
        heapify(heap)
        while heap:
            known, g = heappop(heap)
            if g not in left or known != cost(g):
                continue
            taken = sorted(near[g])
            union = set().union(*(branches.pop(c) for c in taken))
            if not branches and union >= left:
                break  # the front of the body itself
            done = {h for h in union & left if near[h] <= set(taken) and h not in waiting}
            left -= done
            done |= {h for h in union & left & waiting if near[h] <= set(taken) and ready(h)}
            left -= done
            front = self._new(i, taken, done, union)
            if union - done:
                branches[front] = union - done
            for h in union - done:
                near[h] = (near[h] - set(taken)) | {front}
                if h in left and (h not in waiting or ready(h)):
                    heappush(heap, (cost(h), h))
        return left

    def _new(
        self,
        i: int,
        taken: list[int],
        done: set[int],
        union: set[int],
        sources: Iterable[int] = (),
        tried: Iterable[int] = (),
    ) -> int:
        """A front of branches of body i, which takes these; rows of `sources` are tried in it again."""
        front = len(self.parts)
        self.parts.append(_Parts(sources=list(sources)))
        self.up.append(i)
        self.of_body[i].append(front)
        for c in taken:
            self.up[c] = front
        self._fill(front, done, union, tried)
        if i:
            self._hand_on(front)
        return front

    def tables(self, t: Any) -> tuple[FrontTables, SlotTables]:
        n = len(self.loops.parent)
        # fronts of a body's branches stand together, in the order in which they close
        new = list(range(n)) + [f for fronts in self.of_body for f in fronts]
        number = {old: k for k, old in enumerate(new)}
        rows_of = [np.arange(t.group.start[g], t.group.start[g + 1]) for g in range(len(self.size))]
        slot: list[dict[int, int]] = []
        row0: list[int] = [0]
        slot_row: list[int] = []
        hand = {}
        for f in new:
            slot.append({})
            part = self.parts[f]
            for g in part.closing + part.tried:
                slot[-1][g] = len(slot_row)
                slot_row += rows_of[g].tolist()
            for c in part.sources:
                hand[c] = len(slot_row)
                slot_row += [-1] * self.parts[c].room
            for g in part.open:
                slot[-1][g] = len(slot_row)
                slot_row += rows_of[g].tolist()
            row0.append(len(slot_row))
        parts = [self.parts[f] for f in new]
        up = [number[self.up[f]] for f in new]
        closed = [self._rows(part.closing) for part in parts]
        tried = [self._rows(part.tried) + self._arriving(f) for f, part in zip(new, parts, strict=True)]
        slot_up = np.full(len(slot_row), -1, dtype=np.int64)
        for f, part in enumerate(parts):
            for g in part.open:
                first = slot[f][g]
                slot_up[first : first + self.size[g]] = np.arange(self.size[g]) + slot[up[f]][g]
        runs = (not tried[k] and _is_run(slot_up[row0[k] + closed[k] : row0[k + 1]]) for k in range(len(new)))
        self.row0, self.width = row0, np.diff(row0)
        width = self.width
        n_eta = np.array(t.tree.o_qd) - np.array(t.tree.o_eta)[:-1]
        inside: list[list[int]] = [[] for _ in new]
        for f in range(1, len(new)):
            if width[f] > closed[f]:
                inside[up[f]].append(f)
        front_e = offsets(n_eta * width[:n])
        home = [number[self.where[g]] for g in range(len(self.size))]
        front = FrontTables(
            row=ints(row0),
            closed=ints(closed),
            up=ints(up),
            run=ints(runs),
            tried=ints(tried),
            next=ints(hand.get(f, -1) for f in new),
            room=ints(part.room for part in parts),
            L=offsets(width * (width + 1) // 2),
            e=front_e,
            m=offsets(np.array(t.body.nf) * width[:n]),
            body=ints([*range(n), *(i for i, fronts in enumerate(self.of_body) for _ in fronts)]),
            branch=n + offsets(len(fronts) for fronts in self.of_body),
            inner=offsets(len(fronts) for fronts in inside),
            inside=ints(f for fronts in inside for f in fronts),
        )
        return front, SlotTables(ints(slot_row), slot_up, **self._places(t, slot, front_e, home))

    def _places(self, t: Any, slot: list[dict[int, int]], front_e: Ints, home: list[int]) -> dict[str, Any]:
        """Where rows find their slots at the bodies of their markers and of their joint coordinates."""
        body_of_speed = np.searchsorted(t.tree.o_eta, np.arange(len(t.tree.driven)), side="right") - 1
        alone = np.full(len(t.row.group), -1, dtype=np.int64)
        places: list[list[int]] = [[], []]
        dof: list[int] = []
        for r, g in enumerate(t.row.group):
            part = r - int(t.group.start[g])

            def at(body: int, g: int = g, part: int = part) -> int:
                if body == 0:
                    return -1
                return slot[home[g] if body == self.loops.close[g] else body][g] + part

            def effort(speed: int, at: Any = at) -> int:
                i = int(body_of_speed[speed])
                place = at(i) - self.row0[i]
                return int(front_e[i]) + (speed - int(t.tree.o_eta[i])) * int(self.width[i]) + place

            for e in t.term.relation[t.term.start[r] : t.term.start[r + 1]]:
                for m, found in zip((t.relation.p[e], t.relation.q[e]), places, strict=True):
                    found.append(at(int(t.marker.body[m])))
            for c in t.speed.coord[t.speed.start[r] : t.speed.start[r + 1]]:
                dof.append(effort(int(t.coord.vel[c])))
            if t.row.massless[r] >= 0:
                alone[r] = effort(int(t.row.massless[r]))
        return {"p": ints(places[0]), "q": ints(places[1]), "speed": ints(dof), "massless": alone}
