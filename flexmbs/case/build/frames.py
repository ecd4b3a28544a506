"""Frames, places and start of bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexmbs.case.build.report import Report
from flexmbs.case.schema.bodies import FreeInitial
from flexmbs.expressions import Expression, ExpressionError
from flexmbs.input.frames import FlexibleFrame, FrameTable, PlaceTable
from flexmbs.input.source import Path_
from flexmbs.model.bodies import Frame, FreeStart


def moving(report: Report, path: Path_, entries: Sequence[Expression]) -> list[Any]:
    """Numbers where the entries are constant, else expressions, which may use t only."""
    found: list[Any] = []
    for k, entry in enumerate(entries):
        with report.at((*path, k)):
            for node in entry.names.values():
                if node.label != "t":
                    raise ExpressionError(
                        f'"{node.label}": places may depend on t and parameters only', node.column
                    )
            found.append(entry.number() if entry.is_constant else entry)
    return found if len(found) == len(entries) else [0.0] * len(entries)


def rigid_frame(report: Report, path: Path_, table: FrameTable) -> Frame:
    pos: Any = moving(report, (*path, "pos"), table.pos) if table.pos is not None else np.zeros(3)
    return Frame(pos=pos, rot=table.matrix())


def flexible_frame(report: Report, path: Path_, table: FlexibleFrame | PlaceTable) -> Frame:
    """A place in a flexible body; whether it lies in the mesh is checked against the modal data."""
    rot = table.matrix() if isinstance(table, FlexibleFrame) else np.eye(3)
    at = moving(report, (*path, "at"), table.at) if table.at is not None else None
    return Frame(rot=rot, at=at, nearest=table.nearest, node=table.node)


def rigid_place(report: Report, path: Path_, table: PlaceTable) -> Frame:
    """A place on ground, a rigid body or a particle, which have no mesh."""
    if table.at is None:
        report.fail(path, "only flexible bodies have nodes; give the place as [x, y, z]")
        return Frame()
    return Frame(pos=moving(report, (*path, "at"), table.at))


def free_start(table: FreeInitial) -> FreeStart:
    return FreeStart(
        pos=table.pos,
        rot=table.rot.to_matrix() if table.rot is not None else None,
        velocity=table.velocity,
        angular_velocity=table.angular_velocity,
        frame=table.in_,
    )
