"""Coordinate systems of a Nastran file: rectangular, cylindrical, spherical, by points or by nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.fe.readers.nastran_cards import Entry
from flexmbs.fe.readers.source import Damaged, Floats

DEFAULT = -1  # a node that names no system


@dataclass
class Axes:
    """kind R, C or S; three points in system `parent`, or three nodes."""

    kind: str
    parent: int
    points: Floats
    nodes: list[int]
    line: int


class Systems:
    """Positions in the basic system; systems may be defined in each other, but not in a circle."""

    def __init__(self) -> None:
        self.axes: dict[int, Axes] = {}
        self.grids: dict[int, tuple[int, Floats]] = {}
        self._done: dict[int, tuple[Floats, Floats]] = {}
        self._open: set[int] = set()

    def add(self, entry: Entry) -> None:
        kind = entry.name[5]
        if entry.name[4] == "2":
            points = np.array([entry.real(k) for k in range(2, 11)]).reshape(3, 3)
            self.axes[entry.whole(0)] = Axes(kind, entry.whole(1, 0), points, [], entry.line)
            return
        for start in (0, 4):  # two systems on one entry
            if entry.text(start):
                nodes = [entry.whole(start + k) for k in (1, 2, 3)]
                self.axes[entry.whole(start)] = Axes(kind, 0, np.zeros((3, 3)), nodes, entry.line)

    def set_default(self, system: int) -> None:
        """Nodes without a system take that of GRDSET, which may stand anywhere."""
        for number, (own, point) in self.grids.items():
            if own == DEFAULT:
                self.grids[number] = (system, point)

    def basic(self, system: int, points: Floats, line: int | None = None) -> Floats:
        """Basic coordinates of points (n, 3) given in a system."""
        if system == 0:
            return points
        if system not in self.axes:
            raise Damaged(f"coordinate system {system} is used and not defined", line)
        origin, R = self._frame(system)
        with np.errstate(invalid="ignore", over="ignore"):  # checked with all other coordinates
            return from_polar(points, self.axes[system].kind) @ R.T + origin

    def _frame(self, system: int) -> tuple[Floats, Floats]:
        """Origin and axes (columns)."""
        if system in self._done:
            return self._done[system]
        axes = self.axes[system]
        if system in self._open or len(self._open) > 100:
            raise Damaged(f"coordinate system {system} is defined by itself", axes.line)
        self._open.add(system)
        a, b, c = self._nodes(axes) if axes.nodes else self.basic(axes.parent, axes.points, axes.line)
        self._open.discard(system)
        z = b - a
        y = np.cross(z, c - a)
        if not np.linalg.norm(y) > 1e-12 * np.linalg.norm(z) * np.linalg.norm(c - a):
            raise Damaged(f"the points of coordinate system {system} lie on one line", axes.line)
        columns = [np.cross(y, z), y, z]
        R = np.stack([column / np.linalg.norm(column) for column in columns], axis=1)
        self._done[system] = (a, R)
        return self._done[system]

    def _nodes(self, axes: Axes) -> list[Floats]:
        for node in axes.nodes:
            if node not in self.grids:
                raise Damaged(f"a coordinate system refers to node {node}, which does not exist", axes.line)
        return [self.basic(self.grids[n][0], self.grids[n][1][None], axes.line)[0] for n in axes.nodes]


def from_polar(points: Floats, kind: str) -> Floats:
    """Cylindrical r, theta, z; spherical r, theta from the z axis, phi about it; degrees."""
    if kind == "R":
        return points
    r, angle = points[:, 0], np.radians(points[:, 1])
    if kind == "C":
        return np.stack([r * np.cos(angle), r * np.sin(angle), points[:, 2]], axis=1)
    phi = np.radians(points[:, 2])
    return np.stack(
        [r * np.sin(angle) * np.cos(phi), r * np.sin(angle) * np.sin(phi), r * np.cos(angle)], axis=1
    )
