"""Ties of surfaces whose meshes need not match: nodes of one follow the faces of the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

POWERS = {
    3: [(0, 0), (1, 0), (0, 1)],
    6: [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)],
    4: [(0, 0), (1, 0), (0, 1), (1, 1)],
    8: [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)],
    9: [(a, b) for a in range(3) for b in range(3)],
}
STEPS = 20
OUTSIDE = 1e-3  # of a reference face: how far a node may lie beside its face
NEAREST = 8  # faces that are tried for each node


def shapes(n: int, x: Floats, derivative: int = -1) -> Floats:
    """Shape functions (points, n) of a face with n nodes, or their derivative along a reference axis."""
    corners = np.array(
        [(0, 0), (1, 0), (0, 1)] if n in (3, 6) else [(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=float
    )
    mids = 0.5 * (corners + np.roll(corners, -1, axis=0))
    nodes = np.concatenate([corners, mids, corners.mean(axis=0, keepdims=True)])[:n]
    P = np.array(POWERS[n])

    def monomials(x: Floats, axis: int) -> Floats:
        powers, factor = P.copy(), np.ones(len(P))
        if axis >= 0:
            factor = P[:, axis].astype(float)
            powers[:, axis] = np.maximum(powers[:, axis] - 1, 0)
        return np.asarray(np.prod(x[:, None, :] ** powers[None], axis=2) * factor)

    return np.asarray(monomials(x, derivative) @ np.linalg.inv(monomials(nodes, -1)))


def project(X: Floats, x: Floats) -> tuple[Floats, Floats, float]:
    """Shape functions of the foot of x on a face with nodes X (n, 3), the foot, how far it lies outside."""
    n = len(X)
    triangle = n in (3, 6)
    xi = np.full(2, 1 / 3 if triangle else 0.0)
    for _ in range(STEPS):
        foot = shapes(n, xi[None])[0] @ X
        tangents = np.stack([shapes(n, xi[None], k)[0] @ X for k in (0, 1)], axis=1)
        step = np.linalg.lstsq(tangents, x - foot, rcond=None)[0]
        xi = np.clip(xi + step, -2.0, 2.0)
        if np.abs(step).max() < 1e-12:
            break
    outside = max(-xi[0], -xi[1], xi.sum() - 1.0) if triangle else float(np.abs(xi).max()) - 1.0
    N = shapes(n, xi[None])[0]
    return N, np.asarray(N @ X), float(outside)


def tied(
    slaves: Ints, places: Floats, faces: list[tuple[Ints, Floats]], tolerance: float | None
) -> Iterator[tuple[int, Ints, Floats, Floats, float]]:
    """Slave node, nodes of its face, shape functions, foot and gap, for every slave within the tolerance.

    `faces`: node numbers (n,) and positions (n, 3) of each master face; the default
    tolerance is a twentieth of its size.
    """
    centres = np.array([X.mean(axis=0) for _, X in faces])
    sizes = np.array([np.linalg.norm(np.ptp(X, axis=0)) for _, X in faces])
    tree = cKDTree(centres)
    for slave, x in zip(slaves.tolist(), places, strict=True):
        near = np.atleast_1d(tree.query(x, k=min(NEAREST, len(faces)))[1])
        best: tuple[float, int, Floats, Floats] | None = None
        for k in near.tolist():
            N, foot, outside = project(faces[k][1], x)
            gap = float(np.linalg.norm(x - foot))
            if outside <= OUTSIDE and (best is None or gap < best[0]):
                best = (gap, k, N, foot)
        if best is None:
            continue
        gap, k, N, foot = best
        if gap <= (0.05 * sizes[k] if tolerance is None else tolerance):
            yield slave, faces[k][0], N, foot, gap
