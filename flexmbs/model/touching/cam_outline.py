"""Points or radii of a cam -> its outline, a closed smooth curve (F19).

The force of a contact goes with the curvature of the outline, which a periodic cubic spline (C2) gives with
an error of h^2, a quintic one (C4) of h^4, h the distance of points. Where the curvature jumps, from one arc
to the next, the quintic rings more: it is taken where it foretells every other point clearly better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

Floats = NDArray[Any]
Complex = NDArray[Any]

TURN = 2.0 * np.pi
#: with fewer points than this there are too few for a choice: cubic; how much better is clearly better
FEW, CLEARLY = 12, 2.0
#: see `scatter`: what rounding becomes in second derivatives, and how much better smooth points are foretold
AMPLIFIED, SMOOTH = 10.0, 0.3
#: part of the distance of angles by which the last one may miss a turn
CLOSES = 0.1
#: passes after which the parameter is the arc length, and Gauss points of a piece
PASSES, GAUSS = 2, np.polynomial.legendre.leggauss(6)


def closed_spline(u: Floats, y: Floats, degree: int) -> BSpline:
    """Periodic spline through y (n, ...) at u (n,), whose last value is the first one."""
    from scipy.interpolate import make_interp_spline

    return make_interp_spline(u, np.concatenate([y[:-1], y[:1]]), k=degree, bc_type="periodic")


def foretold(u: Floats, y: Floats, degree: int, stride: int = 2) -> float:
    """How far a spline through every point number `stride` misses those in the middle; root mean square."""
    end = (len(u) - 1) // stride * stride
    kept = np.append(u[:-1:stride], u[-1]), np.concatenate([y[:-1:stride], y[:1]])
    middle = slice(stride // 2, end, stride)
    return float(np.sqrt(np.mean(np.square(closed_spline(*kept, degree)(u[middle]) - y[middle]))))


def best_degree(u: Floats, y: Floats) -> int:
    """5 where that foretells every other point from the rest clearly better than 3, else 3."""
    if len(u) <= FEW:
        return 3
    return 5 if CLEARLY * foretold(u, y, 5) < foretold(u, y, 3) else 3


def scatter(u: Floats, y: Floats) -> float:
    """Error of the second derivative of a spline by the rounding of its points; 0 where they are smooth.

    Of smooth points every other one is foretold better from the rest than from half of the rest, of rounded
    ones no better. A spline makes AMPLIFIED times that over the distance squared of what points are off.
    """
    if len(u) <= 2 * FEW:
        return 0.0
    near, far = (min(foretold(u, y, degree, stride) for degree in (3, 5)) for stride in (2, 4))
    if near <= max(SMOOTH * far, 1e-12 * float(np.abs(y).max())):
        return 0.0
    return AMPLIFIED * near / float(np.diff(u).min()) ** 2


class Outline:
    """Closed curve through points, counter-clockwise; parameter in [0, 2 pi), even along the arc."""

    def __init__(self, points: Complex) -> None:
        self.points, closed = points, np.append(points, points[0])
        xy, steps = np.column_stack([closed.real, closed.imag]), np.abs(np.diff(closed))
        for _ in range(PASSES):
            u = _places(steps)
            steps = _lengths(closed_spline(u, xy, 5 if len(u) > FEW else 3), u)
        u = _places(steps)
        self.degree, self.scatter = best_degree(u, xy), scatter(u, xy)
        self.curve = closed_spline(u, xy, self.degree)

    def at(self, u: Floats, order: int = 0) -> Complex:
        """Points, or derivatives by the parameter."""
        xy = self.curve(np.mod(u, TURN), order)
        return np.asarray(xy[..., 0] + 1j * xy[..., 1])

    def curvature(self, u: Floats) -> Floats:
        """Positive where the outline is convex [1/m]."""
        d, dd = self.at(u, 1), self.at(u, 2)
        return (d.conj() * dd).imag / np.abs(d) ** 3

    @property
    def is_drawn_convex(self) -> bool:
        """Whether its points are corners of a convex polygon; the curve may be hollow nevertheless."""
        edges = np.roll(self.points, -1) - self.points
        return bool(((np.roll(edges, 1).conj() * edges).imag > 0.0).all())

    def normal(self, u: Floats) -> Complex:
        """Outward unit normal."""
        d = self.at(u, 1)
        return np.asarray(-1j * d / np.abs(d))


class PolarOutline(Outline):
    """Outline r(phi) about the cam's axis, r a periodic spline through a table; the parameter is phi."""

    def __init__(self, phi: Floats, r: Floats) -> None:
        closed = np.append(phi, phi[0] + TURN), np.append(r, r[0])
        self.points = r * np.exp(1j * phi)
        self.first, self.degree = float(phi[0]), best_degree(*closed)
        self.scatter = scatter(*closed)
        self.radius = closed_spline(*closed, self.degree)

    def at(self, u: Floats, order: int = 0) -> Complex:
        place = self.first + np.mod(u - self.first, TURN)
        r = [self.radius(place, k) for k in range(order + 1)]
        factor = (r[0], (r[order > 0] + 1j * r[0]), (r[-1] + 2j * r[order > 0] - r[0]))[order]
        return np.asarray(factor * np.exp(1j * u))


def _places(steps: Floats) -> Floats:
    """Parameter of the points, 0 to 2 pi, in proportion to the steps between them."""
    return np.append(0.0, np.cumsum(steps)) * (TURN / steps.sum())


def _lengths(curve: BSpline, u: Floats) -> Floats:
    """Arc lengths of a curve's pieces between places u."""
    x, weights = GAUSS
    half = 0.5 * np.diff(u)
    rate = curve(u[:-1, None] + half[:, None] * (1.0 + x), 1)
    return np.asarray(half * (np.linalg.norm(rate, axis=-1) @ weights))


def outline(where: str, points: Any = None, polar: Any = None) -> Outline:
    """Outline from points (n, 2) in order, or from a table (n, 2) of angle and radius."""
    rows = np.array(points if polar is None else polar, dtype=float).reshape(-1, 2)
    if polar is not None:
        beyond = rows[-1, 0] - rows[0, 0] - TURN if len(rows) > 1 else -TURN
        if abs(beyond) < CLOSES * TURN / len(rows):  # a turn that is rounded, and given twice
            if abs(rows[-1, 1] - rows[0, 1]) > 1e-6 * abs(rows[0, 1]):
                what = "the radius at the end of the turn is not that at its start"
                raise InputError(Diagnostic("cam.profile", where, what))
            rows = rows[:-1]
        good = (np.diff(rows[:, 0]) > 0).all() and len(rows) > 3 and rows[-1, 0] - rows[0, 0] < TURN
        if not good or not (rows[:, 1] > 0).all():
            what = "a polar profile needs four angles or more that ascend within one turn, and positive radii"
            raise InputError(Diagnostic("cam.profile", where, what))
        return PolarOutline(rows[:, 0], rows[:, 1])
    z = rows[:, 0] + 1j * rows[:, 1]
    z = z[:-1] if len(z) > 1 and abs(z[-1] - z[0]) < 1e-12 * np.abs(z).max() else z
    if len(z) < 4 or (np.abs(np.diff(np.append(z, z[0]))) == 0.0).any():
        what = "a profile needs four points or more, no two neighbours alike"
        raise InputError(Diagnostic("cam.profile", where, what))
    area = float((z.conj() * np.roll(z, -1)).imag.sum())
    return Outline(z if area > 0.0 else z[::-1])
