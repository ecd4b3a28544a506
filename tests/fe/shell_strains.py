"""Strains of shell cells in words of NumPy: what `flexmbs.fe.shells.loops` compiles.

A point of a shell moves by u + z theta x n, with the nodes' displacement u and rotation theta, the height z
above the surface of the nodes, and the director n, the normal of the surface there. Nine strains follow:
stretch and curvature of the surface (xx, yy, 2 xy), shear across it (zx, zy), and the turn of the nodes
about the normal less that of the surface, all in axes of the point.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.shells.strains import ShellPoints
from flexmbs.fe.shells.ties import ShellRule, Tying, shell_rule
from flexmbs.fe.shells.triangles import ALPHA, BETA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Field = Callable[[float, float], Floats]


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


def shell_points(kind: str, X: Floats, D: Floats, poisson: Floats, share: Floats | None) -> ShellPoints:
    """Strains of cells with nodes X and directors D (cells, n, 3); poisson (cells,) of the section."""
    if kind == "quad8":  # of nine nodes, the middle one inside
        middle = _shape(kind, np.zeros((1, 2)))
        d = np.einsum("pn,enk->epk", middle, D)
        D = np.concatenate([D, d / np.linalg.norm(d, axis=2, keepdims=True)], axis=1)
        X = np.concatenate([X, np.einsum("pn,enk->epk", middle, X)], axis=1)
        nine = shell_points("quad9", X, D, poisson, None)
        rule = shell_rule(kind)
        inverse = _inverse(nine.axes, tangents("quad9", X, rule.points))
        slopes = np.einsum("epab,pnb->epan", inverse, _dshape(kind, rule.points), optimize=True)
        N = _shape(kind, rule.points)
        return ShellPoints(
            nine.area, nine.axes, nine.rows[..., :48], nine.rows[..., 48:], slopes, N, D[:, :8]
        )
    rule = shell_rule(kind)
    flat = kind == "tri3"
    own = np.repeat(normals(kind, X, rule.points[:1]), 3, axis=1) if flat else D
    A = tangents(kind, X, rule.points)
    axes, area = _axes(kind, X, A)
    inverse = _inverse(axes, A)
    n, m = X.shape[1], len(rule.points)
    B = np.zeros((len(X), m, 9, _turn_shape(kind, rule.points)[0].shape[1], 6))
    _surface_strains(kind, rule, X, own, inverse, area, B)
    _across_strains(kind, rule, X, own, inverse, B)
    dN = _dshape(kind, rule.points)
    slopes = np.einsum("epab,pnb->epan", inverse, dN, optimize=True)
    if flat:
        assert share is not None
        B[:, :, :3] = triangle_stretch(X, axes[:, 0], poisson, share)
    else:
        _turning(axes, slopes, _shape(kind, rule.points), B[:, :, :, :n])
    inner = B[:, :, :, n:, 3:].reshape(len(X), m, 9, 3 * (B.shape[3] - n))
    if kind == "tri6":  # the bubble turns about two axes; its turn about the normal does nothing
        inner = inner @ _tangent(_turn_directors(kind, D)[:, n])[:, None]
    if kind == "quad4":
        inner = _inner_strains(X, axes, area, rule)
    return ShellPoints(
        area * rule.weights,
        axes,
        B[:, :, :, :n].reshape(len(X), m, 9, 6 * n),
        inner,
        slopes,
        _shape(kind, rule.points),
        own,
    )


def _tangent(v: Floats) -> Floats:
    """Two unit vectors across each of the vectors v (cells, 3): (cells, 3, 2)."""
    other = np.eye(3)[np.abs(v).argmin(axis=1)]
    x = np.cross(v, other)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, np.cross(v, x)], axis=2)


def _axes(kind: str, X: Floats, A: Floats) -> tuple[Floats, Floats]:
    """Axes at points with tangents A, and the area of the reference cell's unit there.

    x is the first tangent in the middle of the cell, projected: the same at all points of a flat cell.
    """
    normal = np.cross(A[..., 0, :], A[..., 1, :])
    area = np.linalg.norm(normal, axis=-1)
    normal = normal / area[..., None]
    corners = ELEMENTS[kind].ref_coords[: ELEMENTS[kind].n_corners, :2]
    x = tangents(kind, X, corners.mean(axis=0)[None])[:, :, 0]
    x = x - normal * np.einsum("epk,epk->ep", np.broadcast_to(x, normal.shape), normal)[..., None]
    x = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, np.cross(normal, x), normal], axis=-2), area


def _inverse(axes: Floats, A: Floats) -> Floats:
    """(cells, points, 2, 2): derivatives along the axes out of those along the reference coordinates."""
    return np.linalg.inv(np.einsum("epak,eplk->epal", A, axes[..., :2, :]))


def _turned(D: Floats, A: Floats) -> Floats:
    """n_a x A_alpha (cells, points, n, 2, 3): what a rotation of node a does along the tangents."""
    return np.cross(D[:, None, :, None, :], A[:, :, None, :, :])


def _surface_strains(
    kind: str, rule: ShellRule, X: Floats, D: Floats, inverse: Floats, area: Floats, B: Floats
) -> None:
    """Curvature, and stretch sampled at the ties, with the mean of that which is not. Writes: B.

    The mean is what a state of constant stress sees: with it distorted cells pass the patch test.
    """
    a, b, c, d = (inverse[..., i, j] for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    V = np.stack([a * a, b * b, a * b, c * c, d * d, c * d, 2 * a * c, 2 * b * d, a * d + b * c], axis=-1)
    V = V.reshape(*a.shape, 3, 3)
    dN, d_turn = _dshape(kind, rule.points), _turn_shape(kind, rule.points)[1]
    A, slope = tangents(kind, X, rule.points), np.einsum("pna,enk->epak", dN, D, optimize=True)
    turned, n = _turned(_turn_directors(kind, D), A), X.shape[1]
    B[:, :, 3:6, :n, :3] = _times(V, _covariant(slope[:, :, None], dN))
    B[:, :, 3:6, :, 3:] = _times(V, _covariant(turned, d_turn))
    rows = _times(V, _covariant(A[:, :, None], dN))
    if rule.surface is not None:
        ties = rule.surface.points
        samples = _covariant(tangents(kind, X, ties)[:, :, None], _dshape(kind, ties))
        tied = _tied(rule.surface.weights, V, samples)
        share = (area * rule.weights) / (area * rule.weights).sum(axis=1, keepdims=True)
        rows = tied + np.einsum("ep,epina->eina", share, rows - tied)[:, None]
    B[:, :, :3, :n, :3] = rows


def _covariant(vectors: Floats, dN: Floats) -> Floats:
    """Strains xx, yy, 2 xy (cells, points, 3, n, 3) of nodal values along the reference coordinates:
    vectors (cells, points, n or 1, 2, 3) times derivatives dN (points, n, 2)."""
    first, second, by_x, by_y = vectors[..., 0, :], vectors[..., 1, :], dN[..., :1], dN[..., 1:]
    return np.stack([first * by_x, second * by_y, first * by_y + second * by_x], axis=2)


def _times(V: Floats, samples: Floats) -> Floats:
    """V (cells, points, 3, 3) times strains (cells, points, 3, n, 3)."""
    flat = samples.reshape(*samples.shape[:3], -1)
    return np.asarray(V @ flat).reshape(samples.shape)


def _across_strains(kind: str, rule: ShellRule, X: Floats, D: Floats, inverse: Floats, B: Floats) -> None:
    """Shear across the surface, sampled at the ties. Writes: B."""
    across = rule.across or _tri3_across(rule.points)
    N, dN = _shape(kind, across.points), _dshape(kind, across.points)
    A = tangents(kind, X, across.points)
    normal, turned = np.einsum("pn,enk->epk", N, D), _turned(_turn_directors(kind, D), A)
    N_turn, n = _turn_shape(kind, across.points)[0], X.shape[1]
    shear = np.zeros((*A.shape[:2], 2, turned.shape[2], 6))
    for i in range(2):
        shear[:, :, i, :n, :3] = normal[:, :, None, :] * dN[None, :, :, i, None]
        shear[:, :, i, :, 3:] = turned[:, :, :, i, :] * N_turn[None, :, :, None]
    B[:, :, 6:8] = _tied(across.weights, inverse, shear)


def _edge_ties(at: Floats, samples: Floats, directions: Floats, fields: list[Field]) -> Tying:
    """Vector field of a space (functions of (x, y) -> (2,)) that has the sampled components along
    `directions`."""
    A = np.array([[d @ f(*p) for f in fields] for p, d in zip(samples, directions, strict=True)])
    values = np.array([[f(*p) for f in fields] for p in at])  # (n_at, n_f, 2)
    coefficients = np.linalg.inv(A)  # (n_f, sample)
    weights = np.einsum("gfk,fs,sc->gksc", values, coefficients, directions)
    return Tying(samples, weights)


def _tri3_across(at: Floats) -> Tying:
    """Constant tangential shear along each edge (MITC3, the first space of Nedelec)."""
    fields = [
        lambda x, y: np.array([1.0, 0.0]),
        lambda x, y: np.array([0.0, 1.0]),
        lambda x, y: np.array([y, -x]),
    ]
    samples = np.array([[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    directions = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
    return _edge_ties(at, samples, directions, fields)


def _tied(weights: Floats, V: Floats, samples: Floats) -> Floats:
    """V times samples (cells, ties, d, n, k) interpolated by weights (points, c, ties, d):
    (cells, points, c, n, k)."""
    cells, _, c, n, k = samples.shape
    m = len(weights)
    values = weights.reshape(m * c, -1) @ samples.reshape(cells, -1, n * k)
    return np.asarray(V @ values.reshape(cells, m, c, n * k)).reshape(cells, m, V.shape[-2], n, k)


def _turning(axes: Floats, slopes: Floats, N: Floats, B: Floats) -> None:
    """Turn of the nodes about the normal, less half the curl of the surface. Writes: B."""
    B[:, :, 8, :, :3] = 0.5 * (
        slopes[:, :, 1, :, None] * axes[:, :, None, 0, :] - slopes[:, :, 0, :, None] * axes[:, :, None, 1, :]
    )
    B[:, :, 8, :, 3:] = N[None, :, :, None] * axes[:, :, None, 2, :]


def _inner_strains(X: Floats, axes: Floats, area: Floats, rule: ShellRule) -> Floats:
    """Strains of the inner displacements 1 - x^2, 1 - y^2 in the surface, as `elements` has them for
    bricks."""
    A = np.repeat(tangents("quad4", X, np.zeros((1, 2))), len(rule.points), axis=1)
    ratio = np.linalg.norm(np.cross(A[:, :1, 0], A[:, :1, 1]), axis=-1) / area
    inverse = _inverse(axes, A) * ratio[..., None, None]
    along = np.einsum("epak,ebk->epab", axes[:, :, :2], _axes("quad4", X, A[:, :1])[0][:, 0, :2])
    inner = np.zeros((*area.shape, 9, 4))
    for k in range(2):
        g = inverse[..., k] * (-2.0 * rule.points[:, k])[None, :, None]
        for b in range(2):
            d, column = along[..., b], 2 * k + b
            inner[:, :, 0, column], inner[:, :, 1, column] = d[..., 0] * g[..., 0], d[..., 1] * g[..., 1]
            inner[:, :, 2, column] = d[..., 0] * g[..., 1] + d[..., 1] * g[..., 0]
            inner[:, :, 8, column] = 0.5 * (d[..., 0] * g[..., 1] - d[..., 1] * g[..., 0])
    return inner


def triangle_stretch(X: Floats, axes: Floats, poisson: Floats, share: Floats) -> Floats:
    """Stretch rows (cells, 3 points, 3, 3 nodes, 6) of flat triangles at the middles of their sides.

    X (cells, 3, 3); axes (cells, 3, 3), rows x, y, normal; share (cells, 3) of the turn that each node
    gives. Turns count from the rotation of the facet, so that rigid motions strain nothing whatever the
    share.
    """
    x, y = np.einsum("enk,ek->ne", X, axes[:, 0]), np.einsum("enk,ek->ne", X, axes[:, 1])
    area = 0.5 * ((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]))
    after, before = [1, 2, 0], [2, 0, 1]
    gx, gy = (y[after] - y[before]) / (2 * area), (x[before] - x[after]) / (2 * area)
    rows = np.zeros((len(X), 3, 3, 3, 6))
    for n in range(3):  # constant strain of the displacements
        rows[:, :, 0, n, :3] = gx[n, :, None, None] * axes[:, None, 0]
        rows[:, :, 1, n, :3] = gy[n, :, None, None] * axes[:, None, 1]
        rows[:, :, 2, n, :3] = (
            gy[n, :, None, None] * axes[:, None, 0] + gx[n, :, None, None] * axes[:, None, 1]
        )
    turn = _basic(x, y, area)[:, None] + _higher(x, y, area, poisson)  # (cells, points, 3, node)
    turn = turn * share[:, None, None, :]
    normal = axes[:, 2]
    rows[..., 3:] = turn[..., None] * normal[:, None, None, None, :]
    curl = 0.5 * (gx.T[..., None] * axes[:, None, 1] - gy.T[..., None] * axes[:, None, 0])  # (cells, n, 3)
    rows[..., :3] -= turn.sum(axis=3)[..., None, None] * curl[:, None, None]
    return rows


def _basic(x: Floats, y: Floats, area: Floats) -> Floats:
    """Mean strains (cells, 3, node) of the nodes' turns: linear along each side as a beam's."""
    table = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        y_jk, x_kj = y[j] - y[k], x[k] - x[j]
        table.append(
            [
                y_jk * ((y[i] - y[k]) - (y[j] - y[i])) / 6,
                x_kj * ((x[k] - x[i]) - (x[i] - x[j])) / 6,
                ((x[k] - x[i]) * (y[i] - y[k]) - (x[i] - x[j]) * (y[j] - y[i])) / 3,
            ]
        )
    return 0.5 * ALPHA * np.array(table).transpose(2, 1, 0) / area[:, None, None]


def _higher(x: Floats, y: Floats, area: Floats, poisson: Floats) -> Floats:
    """Strains (cells, point, 3, node) linear in the triangle, of the nodes' turns against that of the
    facet."""
    sides = ((0, 1), (1, 2), (2, 0))
    dx, dy = np.array([x[j] - x[i] for i, j in sides]), np.array([y[j] - y[i] for i, j in sides])
    length2 = dx**2 + dy**2
    # strains along the sides 1-2, 2-3, 3-1 at the three nodes
    at_node = []
    for node in range(3):
        table = np.roll(np.roll(BETA, node, axis=0), node, axis=1)
        at_node.append(table[:, :, None] * (2.0 * area / 3.0) / length2[:, None, :])
    cosines = np.stack([dx**2 / length2, dy**2 / length2, dx * dy / length2], axis=1)  # (side, 3, cells)
    back = np.linalg.inv(cosines.transpose(2, 0, 1))
    scale = 1.5 * np.sqrt(np.maximum(0.5 * (1.0 - 4.0 * poisson**2), 0.01))
    middles = [0.5 * (at_node[i] + at_node[j]) for i, j in sides]
    return np.stack([scale[:, None, None] * (back @ part.transpose(2, 0, 1)) for part in middles], axis=1)
