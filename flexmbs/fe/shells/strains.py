"""Strains of shell cells out of nodal displacements and rotations (MITC, and a triangle with drilling
freedoms).

A point of a shell moves by u + z theta x n, with the nodes' displacement u and rotation theta, the height z
above the surface of the nodes, and the director n, the normal of the surface there. Nine strains follow:
stretch and curvature of the surface (xx, yy, 2 xy), shear across it (zx, zy), and the turn of the nodes
about the normal less that of the surface, all in axes of the point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._simd import LANES
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.loops import geometry_loop, inner_loop, normals_loop, smooth_loop, strain_loop
from flexmbs.fe.shells.ties import Tying, shell_rule
from flexmbs.fe.shells.triangles import share_loop, triangle_loop

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: normals of cells at a node within this angle are one smooth surface, beyond it a fold
FOLD = np.cos(np.radians(40.0))
#: thin triangles are softened in shear by t^2 / (t^2 + SOFTEN h^2), which keeps them from locking
SOFTEN = 0.1


#: inner functions: a bubble that turns about two axes; displacements in the surface; a node in the middle
N_INNER = {"tri6": 2, "quad4": 4, "quad8": 6}


@dataclass(frozen=True)
class ShellPoints:
    """Cells of one type at their integration points.

    area (cells, points): weight times area; axes (cells, points, 3, 3), rows along, across, normal
    rows (cells, points, 9, 6 n): strains of nodal values, columns 6 by n
    inner (cells, points, 9, LANES): of inner functions, the first `N_INNER`; (.., 0) without any
    slopes (cells, points, 2, n): derivatives of the shape functions along the axes; N (points, n)
    directors (cells, n, 3)
    """

    area: Floats
    axes: Floats
    rows: Floats
    inner: Floats
    slopes: Floats
    N: Floats
    directors: Floats


def normals(kind: str, X: Floats, xi: Floats) -> Floats:
    """Unit normals (cells, points, 3) of cells with nodes X (cells, n, 3)."""
    found = np.empty((len(X), len(xi), 3))
    normals_loop(np.ascontiguousarray(X), _dshape(kind, xi).copy(), np.empty((2, 3)), found)
    return found


def tangents(kind: str, X: Floats, xi: Floats) -> Floats:
    """(cells, points, 2, 3): derivatives of the surface."""
    dN = _dshape(kind, xi)
    table = dN.swapaxes(1, 2).reshape(-1, dN.shape[1])  # (2 points, n)
    return np.asarray(table @ X).reshape(len(X), len(xi), 2, 3)


def _flat(xi: Floats) -> Floats:
    return np.column_stack([xi, np.zeros(len(xi))])


def _shape(kind: str, xi: Floats) -> Floats:
    return ELEMENTS[kind].shape(_flat(xi))


def _dshape(kind: str, xi: Floats) -> Floats:
    return ELEMENTS[kind].dshape(_flat(xi))[..., :2]


@cache
def _at_points(kind: str) -> tuple[Floats, Floats, Floats]:
    """Shape functions and derivatives at the points of the rule; derivatives in the middle of the cell."""
    xi, corners = shell_rule(kind).points, ELEMENTS[kind].ref_coords[: ELEMENTS[kind].n_corners, :2]
    return _shape(kind, xi), _dshape(kind, xi), _dshape(kind, corners.mean(axis=0)[None])[0]


def _turn_shape(kind: str, xi: Floats) -> tuple[Floats, Floats]:
    """Functions of the rotations and their derivatives: those of the nodes, and a bubble in tri6 (MITC7)."""
    N, dN = _shape(kind, xi), _dshape(kind, xi)
    if kind != "tri6":
        return N, dN
    x, y = xi.T
    z = 1.0 - x - y
    bubble = 27.0 * x * y * z
    slope = 27.0 * np.stack([y * z - x * y, x * z - x * y], axis=1)
    return np.column_stack([N, bubble]), np.concatenate([dN, slope[:, None]], axis=1)


def directors(mesh: Mesh, kinds: list[str]) -> dict[str, Floats]:
    """Normals of the surface at the nodes of every cell, cell type -> (cells, n, 3): the mean over the
    cells of a smooth surface, each with the side of its own cell; a fold has several."""
    own = [normals(kind, mesh.points[mesh.cells[kind]], ELEMENTS[kind].ref_coords[:, :2]) for kind in kinds]
    node = np.concatenate([mesh.cells[kind].ravel() for kind in kinds])
    vector = np.concatenate([part.reshape(-1, 3) for part in own])
    result, rest = np.empty_like(vector), np.ones(len(node), dtype=bool)
    while rest.any():
        sums = np.full(mesh.n_nodes, -1), np.zeros((mesh.n_nodes, 3))
        smooth_loop(node, vector, FOLD, sums, rest, result)
    stops = np.cumsum([part.shape[0] * part.shape[1] for part in own])[:-1]
    parts = np.split(result, stops)
    return {kind: part.reshape(o.shape) for kind, part, o in zip(kinds, parts, own, strict=True)}


def drilling_share(nodes: Ints, X: Floats, D: Floats, thickness: Floats) -> Floats:
    """How far triangles take the turn of their nodes about the normal (cells, 3), 0 to 1; the same at a node.

    Where facets meet at an angle phi, this turn holds a part of bending, which would lock when phi h > t.
    """
    least, share = np.ones(int(nodes.max()) + 1), np.empty(nodes.shape)
    share_loop(nodes, X, D, thickness, least, share)
    return share


@dataclass(frozen=True)
class Geometry:
    """Cells of one type at their integration points, by `geometry_loop`; area without the weights."""

    area: Floats
    axes: Floats
    inverse: Floats

    def part(self, cells: slice) -> Geometry:
        return Geometry(self.area[cells], self.axes[cells], self.inverse[cells])


def geometry(kind: str, X: Floats) -> Geometry:
    """Of cells with nodes X (cells, n, 3); quad8 are quad9 with a node in the middle."""
    kind, X = _whole(kind, X)
    _, dN, middle = _at_points(kind)
    found = Geometry(*(np.empty((len(X), len(dN), *shape)) for shape in ((), (3, 3), (2, 2))))
    nodes = np.ascontiguousarray(X)
    geometry_loop(nodes, dN, middle, np.empty((2, 3)), found.area, found.axes, found.inverse)
    return found


def _whole(kind: str, X: Floats) -> tuple[str, Floats]:
    return (kind, X) if kind != "quad8" else ("quad9", np.concatenate([X, _middle() @ X], axis=1))


@cache
def _middle() -> Floats:
    """Shape functions of quad8 (1, 8) in the middle."""
    return _shape("quad8", np.zeros((1, 2)))


def shell_inertia_points(kind: str, at: Geometry, D: Floats) -> tuple[Floats, Floats, Floats]:
    """Shape functions (points, n), area (cells, points) at integration points, directors (cells, n, 3)."""
    return _at_points(kind)[0], at.area * shell_rule(kind).weights, _own(kind, at, D)


def _own(kind: str, at: Geometry, D: Floats) -> Floats:
    """Directors D (cells, n, 3), of flat triangles their normal."""
    return np.repeat(at.axes[:, :1, 2], 3, axis=1) if kind == "tri3" else D


class Room:
    """Arrays that some cells use after others; new memory for each of them would cost as much as its use.

    kinds: type -> room of `strain_loop`
    """

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[Any, ...]] = {}
        self._arrays: dict[tuple[int, ...], Floats] = {}

    def take(self, *shape: int) -> Floats:
        """An array of this shape: zeros at first, then what stands there; one for all but its first size."""
        found = self._arrays.get(shape[1:])
        if found is None or len(found) < shape[0]:
            found = self._arrays[shape[1:]] = np.zeros(shape)
        return found[: shape[0]]


def shell_points(
    kind: str, X: Floats, at: Geometry, D: Floats, poisson: Floats, share: Floats | None, room: Room
) -> ShellPoints:
    """Strains of cells with nodes X and directors D (cells, n, 3); poisson (cells,) of the section."""
    D = _own(kind, at, D)
    rows = room.take(*at.area.shape, 9, 6 * X.shape[1])
    inner = room.take(*at.area.shape, 9, LANES if kind in N_INNER else 0)
    if kind == "tri3":
        assert share is not None
        slopes = _flat_strains(X, at, poisson, share, rows)
    else:
        if kind not in room.kinds:
            room.kinds[kind] = _strain_room(kind, X.shape[1])
        slopes = _strains(kind, X, D, at, room.kinds[kind], rows, inner)
    if kind == "quad4":
        table = _at_points(kind)[2], shell_rule(kind).points, (at.area, at.axes)
        inner_loop(np.ascontiguousarray(X), *table, inner)
    area, N = at.area * shell_rule(kind).weights, _at_points(kind)[0]
    return ShellPoints(area, at.axes, rows, inner, slopes, N, D)


@dataclass(frozen=True)
class _Tables:
    """What `strain_loop` takes of a type: derivatives (points, 2, n_turn) of what turns, shape functions
    (points, n_turn), weights; ties of the surface, and across it.

    Ties of the surface: derivatives of the shape functions (samples, 2, n), those that stretch is made of by
    both tangents (samples, 2, n); across it: derivative along the direction (samples, n), what turns there
    (samples, n_turn), last both (samples, 2, n) of the nodes; both: weights (samples, rows) of the rows
    (component, point), and their `_spans`.
    """

    d_turn: Floats
    N: Floats
    weights: Floats
    surface: tuple[Any, ...]
    across: tuple[Any, ...]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.d_turn, self.N, self.weights, self.surface, self.across))


@cache
def _tables(kind: str) -> _Tables:
    rule = shell_rule(kind)
    assert rule.across is not None
    N, d = _turn_shape(kind, rule.points)
    none = Tying(np.zeros((0, 2)), np.zeros((len(rule.points), 3, 0, 3)))
    tie, along, rows = _samples(rule.surface or none)
    dN = _across_first(_dshape(kind, (rule.surface or none).points[tie]))
    xx, yy, xy = along.T[:, :, None]
    by_tangents = np.stack([xx * dN[:, 0] + xy * dN[:, 1], xy * dN[:, 0] + yy * dN[:, 1]], axis=1)
    surface = dN, by_tangents, rows, _spans(rows)
    tie, along, rows = _samples(rule.across)
    at = rule.across.points[tie]
    slope, turns = np.einsum("sac,sc->sa", _dshape(kind, at), along), _turn_shape(kind, at)[0]
    both = np.stack([slope, turns[:, : slope.shape[1]]], axis=1)
    across = slope, turns, rows, _spans(rows), both
    return _Tables(_across_first(d), N, rule.weights, surface, across)


def _across_first(dN: Floats) -> Floats:
    return np.ascontiguousarray(dN.swapaxes(1, 2))


def _samples(tying: Tying) -> tuple[Ints, Floats, Floats]:
    """What is used of the ties: the tie, a direction in its components (samples, components), and weights
    (samples, rows): all points of a component, by sixes, behind those of another."""
    points, c, *samples = tying.weights.shape
    W = tying.weights.swapaxes(0, 1).reshape(points * c, *samples).swapaxes(0, 1)  # tie by tie
    u, s, v = np.linalg.svd(W, full_matrices=False)
    tie, number = np.nonzero(s > 1e-14 * s.max(initial=1.0))
    weights = np.zeros((len(tie), c, _whole_tiles(points, 6)))
    weights[..., :points] = (u[tie, :, number] * s[tie, number, None]).reshape(len(tie), c, points)
    weights[np.abs(weights) < 1e-14 * s.max(initial=1.0)] = 0.0
    return tie, v[tie, number], weights.reshape(len(tie), c * weights.shape[2])


def _spans(weights: Floats) -> Ints:
    """Samples of which any is in six rows (rows / 6, 2): the first, and the end."""
    used = [np.flatnonzero(own.any(axis=1)) for own in np.split(weights, weights.shape[1] // 6, axis=1)]
    return np.array([(own.min(initial=len(weights)), own.max(initial=-1) + 1) for own in used])


def _whole_tiles(number: int, size: int) -> int:
    return -(-number // size) * size


def _strains(
    kind: str, X: Floats, D: Floats, at: Geometry, room: tuple[Any, ...], rows: Floats, inner: Floats
) -> Floats:
    """Slopes (cells, points, 2, n); quad8 are quad9 with the node in the middle inside.
    Writes: rows (cells, points, 9, 6 n), inner, room."""
    middle = _middle()[0] if kind == "quad8" else np.zeros(0)
    tables = tuple(_tables("quad9" if kind == "quad8" else kind))
    slopes = np.empty((*at.area.shape, 2, X.shape[1]))
    fields = np.ascontiguousarray(X), np.ascontiguousarray(D), middle
    strain_loop(fields, tables, (at.area, at.axes, at.inverse), room, slopes, rows, inner)
    return slopes


def _strain_room(kind: str, n_kept: int) -> tuple[Any, ...]:
    """Room of `strain_loop`."""
    tables, n = _tables("quad9" if kind == "quad8" else kind), n_kept + (kind == "quad8")
    n_turn = tables.N.shape[1]
    bubble = 2 * (n_turn - n)
    ties = [
        (np.zeros((len(item[0]), width)), np.empty((item[2].shape[1], width)))
        for item, columns in ((tables.surface, 3 * n), (tables.across, 3 * (n + n_turn)))
        for width in (_whole_tiles(columns, LANES),)
    ]
    parts = np.empty((3, n)), np.empty((3, n_turn)), np.empty((bubble, 3)), np.zeros((n, LANES))
    means = np.empty((3, 3 * n_kept)), np.empty((3, 3 * (n - n_kept)))
    slope = np.zeros((2, _whole_tiles(n, LANES) + 1)), np.zeros((2, LANES))
    return parts, np.empty((2, LANES)), slope, means, *ties


def _flat_strains(X: Floats, at: Geometry, poisson: Floats, share: Floats, rows: Floats) -> Floats:
    """Slopes of flat triangles. Writes: rows."""
    room = np.empty(3), np.empty(3), np.empty((4, 3)), np.empty((3, 3)), np.empty((3, 3, 3))
    slopes = np.empty((len(X), 3, 2, 3))
    triangle_loop(np.ascontiguousarray(X), at.axes, poisson, share, room, slopes, rows)
    return slopes
