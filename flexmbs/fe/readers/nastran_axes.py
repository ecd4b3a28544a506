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
        self.out: dict[int, int] = {}  # displacement systems that are not the basic one
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

    def position(self, node: int) -> Floats:
        """Place of a node in the basic system."""
        system, point = self.grids[node]
        return self.basic(0 if system == DEFAULT else system, point[None])[0]

    def out_axes(self, node: int) -> Floats:
        """Axes (columns) in which displacements of a node are counted."""
        system = self.out.get(node, 0)
        return self.axes_at(system, node) if system > 0 else np.eye(3)

    def axes_at(self, system: int, node: int) -> Floats:
        """Axes (columns) of a system at a node: of polar ones along their local directions there."""
        return self.axes_at_point(system, self.position(node))

    def axes_at_point(self, system: int, point: Floats) -> Floats:
        """The same at a point."""
        if system == 0:
            return np.eye(3)
        if system not in self.axes:
            raise Damaged(f"coordinate system {system} is used and not defined")
        origin, R = self._frame(system)
        kind = self.axes[system].kind
        local = R.T @ (point - origin)
        radius = float(np.hypot(local[0], local[1]))
        if kind == "R" or radius <= 1e-12 * max(float(np.linalg.norm(local)), 1e-300):
            return R  # on the axis of a polar system its directions are those of theta = 0
        c, s = local[0] / radius, local[1] / radius
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])  # r, theta, z
        if kind == "S":
            rho = float(np.linalg.norm(local))
            a, b = radius / rho, local[2] / rho
            turn = np.stack([a * turn[:, 0] + [0, 0, b], b * turn[:, 0] - [0, 0, a], turn[:, 1]], axis=1)
        return np.asarray(R @ turn)

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
