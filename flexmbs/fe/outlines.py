"""Numbers of beam sections from their outline or their thin walls: moments, torsion, shear centre."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: degree of the harmonic polynomials of the torsion function, and places on each side that they are fitted to
DEGREE, PLACES = 24, 60


def moments(outline: Floats) -> tuple[float, Floats, Floats]:
    """A, centroid (2,), and int x x^T (2, 2) about the origin of a polygon (n, 2), counterclockwise."""
    p, q = outline, np.roll(outline, -1, axis=0)
    twice = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
    A = 0.5 * twice.sum()
    first = (twice[:, None] * (p + q)).sum(axis=0) / 6.0
    pairs = [np.einsum("n,ni,nj->ij", twice, a, b) for a, b in ((p, p), (q, q), (p, q), (q, p))]
    return float(A), first / A, (pairs[0] + pairs[1] + 0.5 * (pairs[2] + pairs[3])) / 12.0


def solid_torsion(outline: Floats) -> float:
    """J of a convex polygon: 2 int (h - r^2 / 2), with h harmonic and r^2 / 2 at the sides (Prandtl)."""
    A, centre, _ = moments(outline)
    size = np.sqrt(A)
    corners = (outline - centre) / size
    t = 0.5 - 0.5 * np.cos(np.pi * (np.arange(PLACES) + 0.5) / PLACES)  # denser towards the corners
    after = np.roll(corners, -1, axis=0)
    places = (corners[:, None] + t[:, None] * (after - corners)[:, None]).reshape(-1, 2)
    table = _harmonic(places)
    weights = np.linalg.lstsq(table, 0.5 * (places**2).sum(axis=1), rcond=None)[0]
    x, w = np.polynomial.legendre.leggauss(DEGREE)
    u, v = (0.5 * (part.ravel() + 1.0) for part in np.meshgrid(x, x))
    weight = 0.25 * np.outer(w, w).ravel() * v  # of the square folded to a triangle at the centroid
    total = 0.0
    for a, b in zip(corners, after, strict=True):
        inside = v[:, None] * (a + u[:, None] * (b - a))
        area = a[0] * b[1] - a[1] * b[0]
        total += area * float(weight @ (_harmonic(inside) @ weights - 0.5 * (inside**2).sum(axis=1)))
    return float(2.0 * total * size**4)


def _harmonic(x: Floats) -> Floats:
    z = x[:, 0] + 1j * x[:, 1]
    powers = z[:, None] ** np.arange(DEGREE + 1)
    return np.hstack([powers.real, powers.imag[:, 1:]])


def shear_centre(points: Floats, walls: Sequence[tuple[int, int, float]]) -> tuple[float, float]:
    """Shear centre of an open section of thin walls (first point, second point, thickness), by its sectors.

    The walls join all points without a ring.
    """
    first, last = np.array([wall[:2] for wall in walls], dtype=np.int64).T
    a, b = points[first], points[last]
    area = np.linalg.norm(b - a, axis=1) * [wall[2] for wall in walls]
    centre = (area @ (a + b)) / (2.0 * area.sum())
    sector = {walls[0][0]: 0.0}
    left = list(walls)
    while left:
        for wall in left:
            i, j = (wall[0], wall[1]) if wall[0] in sector else (wall[1], wall[0])
            if i in sector:
                p, q = points[i] - centre, points[j] - centre
                sector[j] = sector[i] + p[0] * q[1] - p[1] * q[0]
                left.remove(wall)
                break
        else:
            raise ValueError("the walls of the section do not hang together")
    w_a, w_b = (np.array([sector[k] for k in ends.tolist()]) for ends in (first, last))
    a, b = a - centre, b - centre

    def integral(f: tuple[Floats, Floats], g: tuple[Floats, Floats]) -> float:
        """int f g of what varies linearly along each wall"""
        ends = f[0] * g[0] + f[1] * g[1]
        return float((area * (2.0 * ends + f[0] * g[1] + f[1] * g[0])).sum() / 6.0)

    y, z, w = ((a[:, 0], b[:, 0]), (a[:, 1], b[:, 1]), (w_a, w_b))
    second = np.array([[integral(y, y), integral(y, z)], [integral(y, z), integral(z, z)]])
    # no moment of sectors about the pole (y, z): w - y_s z + z_s y carries neither bending
    z_s, y_s = np.linalg.solve(second, [-integral(w, y), -integral(w, z)]) * [1.0, -1.0]
    return float(centre[0] + y_s), float(centre[1] + z_s)
