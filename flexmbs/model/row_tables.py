"""Constraint groups -> flat tables: entries, rows, paths to the root, envelope of the loop matrix (F26)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.numbering import BodyNumbers, floats, ints, offsets
from flexmbs.model.rows import Coordinate, Entry, Group, Row
from flexmbs.model.tables import (
    DriveTables,
    EnvelopeTables,
    GroupTables,
    JointTables,
    PathTables,
    RelationTables,
    RowTables,
    SpeedTables,
    TermTables,
)
from flexmbs.model.time_laws import Effort

Ints = NDArray[np.int64]


def relation_tables(entries: list[Entry], joint: Ints) -> RelationTables:
    """Relations between markers; `joint` whose coordinate each gives."""
    return RelationTables(
        kind=ints(e.kind for e in entries),
        p=ints(e.P.number for e in entries),
        q=ints(e.Q.number for e in entries),
        a=ints(e.a for e in entries),
        b=ints(e.b for e in entries),
        value=floats(e.value for e in entries),
        joint=joint,
    )


def group_paths(groups: list[Group], numbers: BodyNumbers) -> list[list[int]]:
    """For every group the bodies between its markers and coordinates and the root, falling."""
    index = numbers.index
    paths = []
    for group in groups:
        found: set[int] = set()
        for row in group.rows:
            ends = [index[m.body] for _, e in row.entries for m in (e.P, e.Q)]
            tree = [c for _, c in row.coordinates] + row.of
            ends += [c.body for c in tree if c.entry is None]
            if row.massless is not None:
                ends.append(row.massless[1])
            ends += [index[m.body] for c in row.of if c.entry for m in (c.entry.P, c.entry.Q)]
            for body in ends:
                while body > 0 and body not in found:
                    found.add(body)
                    body = int(numbers.parent[body])
        paths.append(sorted(found, reverse=True))
    return paths


def order_groups(groups: list[Group], numbers: BodyNumbers) -> list[Group]:
    """Groups in an order of small bandwidth: neighbours are those that share a body of their paths."""
    if len(groups) < 3:
        return sorted(groups, key=lambda group: group.kind == "massless")
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    paths = group_paths(groups, numbers)
    rows = np.repeat(np.arange(len(groups)), [len(path) for path in paths])
    touch = csr_matrix((np.ones(len(rows)), (rows, np.concatenate(paths))), (len(groups), len(numbers.names)))
    order = reverse_cuthill_mckee((touch @ touch.T).tocsr(), symmetric_mode=True)
    ordered = [groups[int(k)] for k in order]
    # rows without inertia have their pivot from the others, so they come last (F26a)
    return sorted(ordered, key=lambda group: group.kind == "massless")


@dataclass(frozen=True)
class RowParts:
    """Parts of the tables that say what rows are and where they pass."""

    group: GroupTables
    row: RowTables
    term: TermTables
    speed: SpeedTables
    path: PathTables
    envelope: EnvelopeTables


def row_tables(
    groups: list[Group], numbers: BodyNumbers, laws: Any, coordinates: list[Coordinate]
) -> RowParts:
    """All tables of rows and paths; `laws` gives the numbers of time laws and row expressions."""
    paths = group_paths(groups, numbers)
    path = _path_tables(groups, paths, numbers)
    ent: list[tuple[int, int, float, int, int]] = []
    dof: list[tuple[int, int, float, int]] = []
    n_ent, n_dof = [0], [0]
    law: list[int] = []
    expr: list[int] = []
    for g, group in enumerate(groups):
        place = {body: int(path.start[g]) + k for k, body in enumerate(paths[g])}
        for row in group.rows:
            row.number = len(law)
            law.append(laws.number_of(row.law))
            expr.append(laws.row_expression(row))
            for coef, entry in row.entries:
                ent.append((entry.number, -1, coef, *_ends(entry, place, numbers)))
            for c in row.of:
                if c.entry is not None:
                    ent.append((c.entry.number, c.number, 0.0, *_ends(c.entry, place, numbers)))
                else:
                    dof.append((c.number, 1, 0.0, place[c.body]))
            dof += [(c.number, 0, coef, place[c.body]) for coef, c in row.coordinates]
            n_ent.append(len(ent))
            n_dof.append(len(dof))
    e = list(zip(*ent, strict=True)) if ent else [()] * 5
    d = list(zip(*dof, strict=True)) if dof else [()] * 4
    sizes = [len(group.rows) for group in groups]
    row_part = RowTables(
        group=ints(np.repeat(np.arange(len(groups)), sizes)),
        massless=ints(row.massless[0] if row.massless else -1 for row in _rows(groups)),
        law=ints(law),
        expr=ints(expr),
        const=floats(row.constant for row in _rows(groups)),
        side=floats(row.side for row in _rows(groups)),
        laws=laws.row_table(coordinates),
        shared=ints(row.number for g in groups if g.kind == "coupling" for row in g.rows),
        contact=ints(row.number for row in _rows(groups) if row.side),
    )
    return RowParts(
        GroupTables(start=offsets(sizes), soft=ints(group.kind == "force" for group in groups)),
        row_part,
        TermTables(ints(n_ent), ints(e[0]), ints(e[1]), floats(e[2]), ints(e[3]), ints(e[4])),
        SpeedTables(ints(n_dof), ints(d[0]), ints(d[1]), floats(d[2]), ints(d[3])),
        path,
        _envelope(sizes, paths),
    )


def _ends(entry: Entry, place: dict[int, int], numbers: BodyNumbers) -> tuple[int, int]:
    index = numbers.index
    return place.get(index[entry.P.body], -1), place.get(index[entry.Q.body], -1)


def _path_tables(groups: list[Group], paths: list[list[int]], numbers: BodyNumbers) -> PathTables:
    sizes = [len(group.rows) for group in groups]
    start = offsets(len(path) for path in paths)
    speeds = numbers.n_eta + numbers.nf
    parent, e_size, col, mode, group_of = [], [], [], [], []
    for g, path in enumerate(paths):
        place = {body: int(start[g]) + k for k, body in enumerate(path)}
        n_mode = 0
        for k, body in enumerate(path):
            parent.append(place.get(int(numbers.parent[body]), -1))
            e_size.append(int(speeds[body]) * sizes[g])
            col.append(k * sizes[g])
            mode.append(n_mode)
            n_mode += int(numbers.nf[body]) * sizes[g]
            group_of.append(g)
    bodies = [body for path in paths for body in path]
    by_body = np.argsort(np.array(bodies, dtype=np.int64), kind="stable")
    return PathTables(
        start=start,
        body=ints(bodies),
        parent=ints(parent),
        e=offsets(e_size)[:-1].copy() if e_size else ints([]),
        col=ints(col),
        mode=ints(mode),
        group=ints(group_of),
        of_body_start=offsets(np.bincount(ints(bodies), minlength=len(numbers.names))),
        of_body=ints(by_body),
    )


def _envelope(sizes: list[int], paths: list[list[int]]) -> EnvelopeTables:
    """First column of every row of the loop matrix: the first group that shares a body."""
    starts = offsets(sizes)
    seen: dict[int, int] = {}
    first = []
    for g, path in enumerate(paths):
        low = min([g, *(seen.get(body, g) for body in path)])
        for body in path:
            seen.setdefault(body, g)
        first += [int(starts[low])] * sizes[g]
    lengths = [r - low + 1 for r, low in enumerate(first)]
    return EnvelopeTables(first=ints(first), start=offsets(lengths))


def entries_of(groups: list[Group], coordinates: list[Coordinate]) -> list[Entry]:
    """All entries, numbered: those of rows and those of coordinates of cut joints."""
    found: dict[int, Entry] = {}
    for row in _rows(groups):
        for _, entry in row.entries:
            found.setdefault(id(entry), entry)
    for c in coordinates:
        if c.entry is not None:
            found.setdefault(id(c.entry), c.entry)
    entries = list(found.values())
    for number, entry in enumerate(entries):
        entry.number = number
    return entries


def _rows(groups: list[Group]) -> list[Row]:
    return [row for group in groups for row in group.rows]


def joint_tables(
    joints: dict[str, Any], groups: list[Group], n_entries: int, efforts: list[Effort]
) -> tuple[JointTables, DriveTables, Ints]:
    """Where the forces of joints and drives are found, and the joint whose coordinate each entry gives.

    Rows, entries and coordinates must be numbered.
    """
    rows, coords, entry_joint = [], [], np.full(n_entries, -1, dtype=np.int64)
    for j, place in enumerate(joints.values()):
        own = place.group.rows if place.group is not None else []
        rows.append((own[0].number, own[-1].number + 1) if own else (0, 0))
        c = place.coordinates
        coords.append((c[0].number, c[-1].number + 1) if c else (0, 0))
        entry_joint[[item.entry.number for item in c if item.entry is not None]] = j
    soft = [place.joint.compliance for place in joints.values()]
    drive_rows = {group.name: group.rows for group in groups if group.kind == "drive"}
    order = {name: j for j, name in enumerate(joints)}
    row = [drive_rows[e.drive][e.component].number if e.drive in drive_rows else -1 for e in efforts]
    for e in efforts:
        for _, entry in drive_rows[e.drive][e.component].entries if e.drive in drive_rows else ():
            entry_joint[entry.number] = order[e.joint]
    joint = JointTables(
        body=ints(place.body for place in joints.values()),
        sign=floats(-1.0 if place.reverse else 1.0 for place in joints.values()),
        p=ints(place.P.number for place in joints.values()),
        q=ints(place.Q.number for place in joints.values()),
        soft=np.array([np.zeros(6) if c is None else c for c in soft], dtype=float).reshape(-1, 6),
        row=np.array(rows, dtype=np.int64).reshape(-1, 2),
        coord=np.array(coords, dtype=np.int64).reshape(-1, 2),
    )
    drive = DriveTables(
        coord=ints(-1 if e.coordinate is None else e.coordinate.number for e in efforts),
        vel=ints(e.vel for e in efforts),
        row=ints(row),
        law=ints(e.law for e in efforts),
    )
    return joint, drive, entry_joint
