"""Constraint groups -> flat tables: entries and rows (F26)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.numbering import floats, ints, offsets
from flexmbs.model.rows import Coordinate, Entry, Group, Row
from flexmbs.model.tables import (
    DriveTables,
    GroupTables,
    JointTables,
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


@dataclass(frozen=True)
class RowParts:
    """Parts of the tables that say what rows are."""

    group: GroupTables
    row: RowTables
    term: TermTables
    speed: SpeedTables


def row_tables(groups: list[Group], laws: Any, coordinates: list[Coordinate]) -> RowParts:
    """All tables of rows; `laws` gives the numbers of time laws and row expressions."""
    ent: list[tuple[int, int, float]] = []
    dof: list[tuple[int, int, float]] = []
    n_ent, n_dof = [0], [0]
    law: list[int] = []
    expr: list[int] = []
    for number, row in enumerate(_rows(groups)):
        row.number = number
        law.append(laws.number_of(row.law))
        expr.append(laws.row_expression(row))
        ent += [(entry.number, -1, coef) for coef, entry in row.entries]
        for c in row.of:
            if c.entry is not None:
                ent.append((c.entry.number, c.number, 0.0))
            else:
                dof.append((c.number, 1, 0.0))
        dof += [(c.number, 0, coef) for coef, c in row.coordinates]
        n_ent.append(len(ent))
        n_dof.append(len(dof))
    e = list(zip(*ent, strict=True)) if ent else [()] * 3
    d = list(zip(*dof, strict=True)) if dof else [()] * 3
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
        TermTables(ints(n_ent), ints(e[0]), ints(e[1]), floats(e[2])),
        SpeedTables(ints(n_dof), ints(d[0]), ints(d[1]), floats(d[2])),
    )


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
    of_row = np.full(len(_rows(groups)), -1, dtype=np.int64)
    for j, (first, end) in enumerate(rows):
        of_row[first:end] = j
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
        of_row=of_row,
        coord=np.array(coords, dtype=np.int64).reshape(-1, 2),
    )
    drive = DriveTables(
        coord=ints(-1 if e.coordinate is None else e.coordinate.number for e in efforts),
        vel=ints(e.vel for e in efforts),
        row=ints(row),
        law=ints(e.law for e in efforts),
    )
    return joint, drive, entry_joint
