"""Blocks of loops: constraints whose forces pass through the same joints share them (F28)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.numbering import BodyNumbers, ints, offsets
from flexmbs.model.rows import Group
from flexmbs.model.tables import BlockTables

Ints = NDArray[np.int64]


def block_tables(groups: list[Group], joints: dict[str, Any], numbers: BodyNumbers) -> BlockTables:
    """Block of every group, and of every joint that one of its groups loads, or -1."""
    loaded = [loaded_bodies(group, numbers) for group in groups]
    above = list(range(len(numbers.names)))
    for bodies in loaded:
        for body in bodies:
            above[_top(above, body)] = _top(above, min(bodies))
    tops = [_top(above, min(bodies)) if bodies else -1 - g for g, bodies in enumerate(loaded)]
    number = {top: k for k, top in enumerate(dict.fromkeys(tops))}
    of_group = ints(number[top] for top in tops)
    of_joint = []
    for place in joints.values():
        ends = _between(place.P.body, place.Q.body, numbers)
        of_joint.append(number.get(_top(above, max(ends)), -1) if ends else -1)
    return BlockTables(
        of_group=of_group,
        of_joint=ints(of_joint),
        first=first_rows(of_group, ints(len(group.rows) for group in groups)),
    )


def first_rows(of_group: Ints, n_rows: Ints) -> Ints:
    """Rows of the blocks before every block, and of all."""
    return offsets(np.bincount(of_group, weights=n_rows).astype(np.int64))


def loaded_bodies(group: Group, numbers: BodyNumbers) -> set[int]:
    """Bodies whose joints, or whose modes, the forces of a group load."""
    found: set[int] = set()
    for row in group.rows:
        entries = [entry for _, entry in row.entries] + [c.entry for c in row.of if c.entry is not None]
        for entry in entries:
            found |= _between(entry.P.body, entry.Q.body, numbers)
        tree = [c for _, c in row.coordinates] + row.of
        found |= {c.body for c in tree if c.entry is None}
        if row.massless is not None:
            found.add(row.massless[1])
    return found


def _between(first: str, second: str, numbers: BodyNumbers) -> set[int]:
    """Bodies on the way from one to another, with the one at the turn if it bends."""
    found, a, b = set(), numbers.index[first], numbers.index[second]
    while a != b:
        found.add(max(a, b))
        a, b = (int(numbers.parent[a]), b) if a > b else (a, int(numbers.parent[b]))
    return found | {a} if numbers.nf[a] else found


def _top(above: list[int], body: int) -> int:
    """The body that stands for all that hang together with a body."""
    while above[body] != body:
        above[body] = above[above[body]]
        body = above[body]
    return body
