"""Membrane triangle with drilling freedoms: assumed natural deviatoric strains (Felippa's optimal
triangle)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALPHA = 1.5
#: of the three nodes' turns in the strains along the three sides, at node 1; nodes 2 and 3 by turning the
#: triangle
BETA = np.array([[1.0, 2.0, 1.0], [0.0, 1.0, -1.0], [-1.0, -1.0, -2.0]])


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
