"""The axis of a bore: where the nodes of a set lie all round a cylinder, its frame stands on that axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: nodes lie on a cylinder within this part of its radius; a set with a wider gap than this [rad] is no bore
ON_CYLINDER, GAP = 1e-5, 0.5 * np.pi
#: the centroid of a bore is off its centre by what the mesh makes of it; more is another shape
NEAR = 0.1
ITERATIONS, SETTLED = 20, 1e-14


def bore_centre(points: Floats, centroid: Floats) -> Floats:
    """The point on the axis, half way between the ends of the cylinder; the centroid of what is no bore.

    points : (n, 3) nodes. Those of a mesh from CAD lie on the cylinder to rounding, its facets do not.
    """
    found = fitted_cylinder(points - centroid) if len(points) >= 6 else None
    if found is None:
        return centroid
    c, a, r = found
    arm = points - centroid - c
    along = arm @ a
    across = arm - along[:, None] * a
    if np.abs(np.linalg.norm(across, axis=1) - r).max() > ON_CYLINDER * r:
        return centroid
    u = across[0] / np.linalg.norm(across[0])
    turn = np.sort(np.arctan2(across @ np.cross(a, u), across @ u))
    if np.diff(turn, append=turn[0] + 2.0 * np.pi).max() > GAP:
        return centroid
    centre = c + 0.5 * (along.min() + along.max()) * a
    return centroid + centre if np.linalg.norm(centre) <= NEAR * r else centroid


def fitted_cylinder(points: Floats) -> tuple[Floats, Floats, float] | None:
    """Point, axis, radius of the cylinder nearest to points about the origin; none where there is none.

    Gauss and Newton, from the three principal axes in turn: the axis is the longest or the shortest.
    """
    best: tuple[float, Floats, Floats, float] | None = None
    for start in np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]:
        c, a = points.mean(axis=0), start
        r = float(np.linalg.norm(np.cross(points - c, a), axis=1).mean())
        for _ in range(ITERATIONS):
            u, v = _square(a)
            arm = points - c
            along = arm @ a
            across = arm - along[:, None] * a
            d = np.linalg.norm(across, axis=1)
            if r <= 0.0 or d.min() <= 1e-3 * r:
                break
            n = across / d[:, None]
            J = np.column_stack([-n @ u, -n @ v, -along * (n @ u), -along * (n @ v), -np.ones(len(d))])
            step = np.linalg.lstsq(J / [1, 1, r, r, 1], -(d - r), rcond=1e-9)[0] / [1, 1, r, r, 1]
            c, r = c + step[0] * u + step[1] * v, r + float(step[4])
            a = a + step[2] * u + step[3] * v
            a = a / np.linalg.norm(a)
            if np.abs(step * [1, 1, r, r, 1]).max() <= SETTLED * abs(r):
                break
        left = float(np.abs(np.linalg.norm(np.cross(points - c, a), axis=1) - r).max())
        if np.isfinite(left) and r > 0.0 and (best is None or left < best[0]):
            best = left, c, a, r
    return None if best is None else best[1:]


def _square(a: Floats) -> tuple[Floats, Floats]:
    """Two directions square to a and each other."""
    u = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
    u = u / np.linalg.norm(u)
    return u, np.cross(a, u)
