"""Strains of shell cells out of nodal displacements and rotations (MITC, and a triangle with drilling
freedoms).

A point of a shell moves by u + z theta x n, with the nodes' displacement u and rotation theta, the height z
above the surface of the nodes, and the director n, the normal of the surface there. Nine strains follow:
stretch and curvature of the surface (xx, yy, 2 xy), shear across it (zx, zy), and the turn of the nodes
about the normal less that of the surface, all in axes of the point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.drilling import triangle_stretch
from flexmbs.fe.shells.loops import geometry_loop, strain_loop
from flexmbs.fe.shells.ties import ShellRule, shell_rule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: normals of cells at a node within this angle are one smooth surface, beyond it a fold
FOLD = np.cos(np.radians(40.0))
#: thin triangles are softened in shear by t^2 / (t^2 + SOFTEN h^2), which keeps them from locking
SOFTEN = 0.1


@dataclass(frozen=True)
class ShellPoints:
    """Cells of one type at their integration points.

    area (cells, points): weight times area; axes (cells, points, 3, 3), rows along, across, normal
    rows (cells, points, 9, 6 n): strains of nodal values;  inner (cells, points, 9, m): of inner functions
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
    A = tangents(kind, X, xi)
    v = np.cross(A[..., 0, :], A[..., 1, :])
    return np.asarray(v / np.linalg.norm(v, axis=-1, keepdims=True))


def tangents(kind: str, X: Floats, xi: Floats) -> Floats:
    """(cells, points, 2, 3): derivatives of the surface."""
    return np.einsum("pna,enk->epak", _dshape(kind, xi), X, optimize=True)


def _flat(xi: Floats) -> Floats:
    return np.column_stack([xi, np.zeros(len(xi))])


def _shape(kind: str, xi: Floats) -> Floats:
    return ELEMENTS[kind].shape(_flat(xi))


def _dshape(kind: str, xi: Floats) -> Floats:
    return ELEMENTS[kind].dshape(_flat(xi))[..., :2]


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


def _turn_directors(kind: str, D: Floats) -> Floats:
    """Directors at what rotates: the nodes, and the middle of tri6."""
    if kind != "tri6":
        return D
    middle = D.sum(axis=1, keepdims=True)
    return np.concatenate([D, middle / np.linalg.norm(middle, axis=2, keepdims=True)], axis=1)


def directors(mesh: Mesh, kinds: list[str]) -> dict[str, Floats]:
    """Normals of the surface at the nodes of every cell, cell type -> (cells, n, 3): the mean over the
    cells of a smooth surface, each with the side of its own cell; a fold has several."""
    own = [normals(kind, mesh.points[mesh.cells[kind]], ELEMENTS[kind].ref_coords[:, :2]) for kind in kinds]
    node = np.concatenate([mesh.cells[kind].ravel() for kind in kinds])
    vector = np.concatenate([part.reshape(-1, 3) for part in own])
    result, todo = np.zeros_like(vector), np.arange(len(node))
    while len(todo):
        found, first, place = np.unique(node[todo], return_index=True, return_inverse=True)
        cosine = np.einsum("ik,ik->i", vector[todo], vector[todo][first][place])
        same, side = np.abs(cosine) >= FOLD, np.sign(cosine)[:, None]
        total = np.zeros((len(found), 3))
        np.add.at(total, place[same], (vector[todo] * side)[same])
        total /= np.linalg.norm(total, axis=1, keepdims=True)
        result[todo[same]] = (total[place] * side)[same]
        todo = todo[~same]
    stops = np.cumsum([part.shape[0] * part.shape[1] for part in own])[:-1]
    parts = np.split(result, stops)
    return {kind: part.reshape(o.shape) for kind, part, o in zip(kinds, parts, own, strict=True)}


def drilling_share(nodes: Ints, X: Floats, D: Floats, thickness: Floats) -> Floats:
    """How far triangles take the turn of their nodes about the normal (cells, 3), 0 to 1; the same at a node.

    Where facets meet at an angle phi, this turn holds a part of bending, which would lock when phi h > t.
    """
    v = np.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
    twice = np.linalg.norm(v, axis=1)
    phi2 = 2.0 - 2.0 * np.einsum("enk,ek->en", D, v / twice[:, None])
    share = 1.0 / (1.0 + np.maximum(phi2, 0.0) * (twice / thickness**2)[:, None])
    least = np.ones(int(nodes.max()) + 1)
    np.minimum.at(least, nodes, share)
    return least[nodes]


@dataclass(frozen=True)
class Geometry:
    """Cells of one type at their integration points, by `geometry_loop`; area without the weights."""

    tangents: Floats
    area: Floats
    axes: Floats
    inverse: Floats


def geometry(kind: str, X: Floats) -> Geometry:
    """Of cells with nodes X (cells, n, 3); quad8 are quad9 with a node in the middle."""
    kind, X = _whole(kind, X)
    xi, shape = shell_rule(kind).points, (len(X), len(shell_rule(kind).points))
    corners = ELEMENTS[kind].ref_coords[: ELEMENTS[kind].n_corners, :2]
    found = Geometry(
        np.empty((*shape, 2, 3)), np.empty(shape), np.empty((*shape, 3, 3)), np.empty((*shape, 2, 2))
    )
    centre = _dshape(kind, corners.mean(axis=0)[None])[0]
    nodes = np.ascontiguousarray(X)
    geometry_loop(nodes, _dshape(kind, xi), centre, found.tangents, found.area, found.axes, found.inverse)
    return found


def _whole(kind: str, X: Floats) -> tuple[str, Floats]:
    if kind != "quad8":
        return kind, X
    return "quad9", np.concatenate([X, _shape(kind, np.zeros((1, 2))) @ X], axis=1)


def shell_inertia_points(kind: str, X: Floats, D: Floats) -> tuple[Floats, Floats, Floats]:
    """Shape functions (points, n), area (cells, points) at integration points, directors (cells, n, 3)."""
    rule = shell_rule(kind)
    if kind == "tri3":
        D = np.repeat(normals(kind, X, rule.points[:1]), 3, axis=1)
    return _shape(kind, rule.points), geometry(kind, X).area * rule.weights, D


def shell_points(
    kind: str, X: Floats, at: Geometry, D: Floats, poisson: Floats, share: Floats | None
) -> ShellPoints:
    """Strains of cells with nodes X and directors D (cells, n, 3); poisson (cells,) of the section."""
    rule, N = shell_rule(kind), _shape(kind, shell_rule(kind).points)
    if kind == "quad8":  # of nine nodes, the middle one inside
        d = _shape(kind, np.zeros((1, 2))) @ D
        both = np.concatenate([D, d / np.linalg.norm(d, axis=2, keepdims=True)], axis=1)
        nine = shell_points("quad9", _whole(kind, X)[1], at, both, poisson, None)
        slopes = np.swapaxes(_dshape(kind, rule.points) @ np.swapaxes(at.inverse, 2, 3), 2, 3)
        rows, inner = nine.rows[..., :48], nine.rows[..., 48:]
        return ShellPoints(nine.area, nine.axes, np.ascontiguousarray(rows), inner, slopes, N, D)
    flat = kind == "tri3"
    own = np.repeat(normals(kind, X, rule.points[:1]), 3, axis=1) if flat else D
    n, m = X.shape[1], len(rule.points)
    B, slopes = _strains(kind, X, own, at)
    if flat:
        assert share is not None
        B[:, :, :3], B[:, :, 8] = triangle_stretch(X, at.axes[:, 0], poisson, share), 0.0
    inner = B[:, :, :, n:, 3:].reshape(len(X), m, 9, 3 * (B.shape[3] - n))
    if kind == "tri6":  # the bubble turns about two axes; its turn about the normal does nothing
        inner = inner @ _tangent(_turn_directors(kind, D)[:, n])[:, None]
    if kind == "quad4":
        inner = _inner_strains(X, at, rule)
    rows = B[:, :, :, :n].reshape(len(X), m, 9, 6 * n)
    return ShellPoints(at.area * rule.weights, at.axes, rows, inner, slopes, N, own)


def _strains(kind: str, X: Floats, D: Floats, at: Geometry) -> tuple[Floats, Floats]:
    """Rows (cells, points, 9, what turns, 6) and slopes (cells, points, 2, n)."""
    rule = shell_rule(kind)
    directors_of = np.ascontiguousarray(_turn_directors(kind, D))
    (N_turn, d_turn), n, n_turn = _turn_shape(kind, rule.points), X.shape[1], directors_of.shape[1]
    ties, weights = np.zeros((0, 2)), np.zeros((len(rule.points), 3, 0, 3))
    if rule.surface is not None:
        ties, weights = rule.surface.points, rule.surface.weights
    surface = np.ascontiguousarray(_dshape(kind, ties)).reshape(-1, n, 2), weights
    across = rule.across.points
    sampled = _dshape(kind, across), _turn_shape(kind, across)[0], rule.across.weights
    tables = _dshape(kind, rule.points), N_turn, d_turn, rule.weights, surface, sampled
    room = (
        np.empty((2, 3)), np.empty((3, 3)), np.empty((len(ties), 3, n, 3)),
        np.empty((len(across), 2, n_turn, 6)), np.empty((n, 3)), np.empty((3, n, 3)),
    )  # fmt: skip
    slopes = np.empty((*at.area.shape, 2, n))
    B = np.zeros((*at.area.shape, 9, n_turn, 6))
    strain_loop(
        np.ascontiguousarray(X),
        directors_of,
        _plain(tables),
        (at.tangents, at.area, at.axes, at.inverse),
        room,
        slopes,
        B,
    )
    return B, slopes


def _plain(tables: Any) -> Any:
    """Arrays of nested tuples in one layout."""
    if isinstance(tables, tuple):
        return tuple(_plain(item) for item in tables)
    return np.ascontiguousarray(tables)


def _tangent(v: Floats) -> Floats:
    """Two unit vectors across each of the vectors v (cells, 3): (cells, 3, 2)."""
    other = np.eye(3)[np.abs(v).argmin(axis=1)]
    x = np.cross(v, other)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, np.cross(v, x)], axis=2)


def _inner_strains(X: Floats, at: Geometry, rule: ShellRule) -> Floats:
    """Strains of the inner displacements 1 - x^2, 1 - y^2 in the surface, as `elements` has them for
    bricks."""
    A = tangents("quad4", X, np.zeros((1, 2)))
    normal = np.cross(A[..., 0, :], A[..., 1, :])
    size = np.linalg.norm(normal, axis=-1, keepdims=True)
    x = A[:, 0, 0] / np.linalg.norm(A[:, 0, 0], axis=-1, keepdims=True)
    own = np.stack([x, np.cross((normal / size)[:, 0], x)], axis=1)  # axes in the middle
    inverse = np.linalg.inv(A @ np.swapaxes(at.axes[:, :, :2], 2, 3))
    inverse = inverse * (size[:, 0] / at.area)[..., None, None]
    along = at.axes[:, :, :2] @ np.swapaxes(own, 1, 2)[:, None]
    inner = np.zeros((*at.area.shape, 9, 4))
    for k in range(2):
        g = inverse[..., k] * (-2.0 * rule.points[:, k])[None, :, None]
        for b in range(2):
            d, column = along[..., b], 2 * k + b
            inner[:, :, 0, column], inner[:, :, 1, column] = d[..., 0] * g[..., 0], d[..., 1] * g[..., 1]
            inner[:, :, 2, column] = d[..., 0] * g[..., 1] + d[..., 1] * g[..., 0]
            inner[:, :, 8, column] = 0.5 * (d[..., 0] * g[..., 1] - d[..., 1] * g[..., 0])
    return inner
