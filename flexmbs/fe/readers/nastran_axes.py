"""Coordinate systems of a Nastran file: rectangular, cylindrical, spherical, by points or by nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.fe.readers.nastran_cards import Entry
from flexmbs.fe.readers.source import Damaged, Floats, Ints

DEFAULT = -1  # a node that names no system


@dataclass
class Axes:
    """kind R, C or S; three points in system `parent`, or three nodes."""

    kind: str
    parent: int
    points: Floats
    nodes: list[int]
    line: int


class Grids:
    """Nodes by their numbers, in the order of the file: system and coordinates in it."""

    def __init__(self) -> None:
        self.more: list[tuple[int, int, Floats, int]] = []
        self.parts: list[tuple[Ints, Ints, Floats, Ints]] = []
        self.number = self.system = np.zeros(0, dtype=np.int64)
        self.points = np.zeros((0, 3))
        self._row: dict[int, int] | None = None

    def add(self, number: int, system: int, point: Floats, line: int) -> None:
        self.more.append((number, system, point, line))

    def close(self, default: int) -> None:
        """All nodes are known; `default` is the system of those that name none."""
        parts = list(self.parts)
        if self.more:
            columns = [np.array(column) for column in zip(*self.more, strict=True)]
            parts.append((columns[0], columns[1], columns[2], columns[3]))
        if not parts:
            return
        number, system, points, line = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((line, number))
        number, system, points, line = number[order], system[order], points[order], line[order]
        again = np.concatenate([[False], number[1:] == number[:-1]])
        differs = (system[1:] != system[:-1]) | (points[1:] != points[:-1]).any(axis=1)
        bad = np.flatnonzero(again[1:] & differs) + 1
        if len(bad):
            what = f"node {number[bad[0]]} is defined twice at different places"
            raise Damaged(what, int(line[bad[0]]))
        keep = ~again
        order = np.argsort(line[keep], kind="stable")
        self.number, self.points = number[keep][order], points[keep][order]
        system = system[keep][order]
        self.system = np.where(system == DEFAULT, default, system)

    def _rows(self) -> dict[int, int]:
        if self._row is None:
            self._row = {number: row for row, number in enumerate(self.number.tolist())}
        return self._row

    def __contains__(self, number: object) -> bool:
        return number in self._rows()

    def __getitem__(self, number: int) -> tuple[int, Floats]:
        row = self._rows()[number]
        return int(self.system[row]), self.points[row]


class Systems:
    """Positions in the basic system; systems may be defined in each other, but not in a circle."""

    def __init__(self) -> None:
        self.axes: dict[int, Axes] = {}
        self.grids = Grids()
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

    def position(self, node: int) -> Floats:
        """Place of a node in the basic system."""
        system, point = self.grids[node]
        return self.basic(system, point[None])[0]

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
