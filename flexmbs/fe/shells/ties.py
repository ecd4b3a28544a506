"""Shell cell -> integration points, and the covariant strains that are sampled elsewhere (assumed strains).

Reference cells: triangle x, y >= 0, x + y <= 1; quadrilateral [-1, 1]^2. A strain field that the shape
functions cannot follow locks thin shells. So transverse shear, and in curved cells the strains in the
surface, are taken from *tying points*, where they are right, and interpolated from there (MITC).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.quadrature import gauss, triangle_rule

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Tying:
    """Assumed strains: `weights` (n_points, n_components, n_ties, n_components) on samples at `points`."""

    points: Floats
    weights: Floats


@dataclass(frozen=True)
class ShellRule:
    """Integration points (n, 2) and weights; ties of the strains in the surface (xx, yy, 2 xy), and across
    it. Those of flat triangles are in `triangles`."""

    points: Floats
    weights: Floats
    surface: Tying | None
    across: Tying | None


def monomials(powers: list[tuple[int, int]], xi: Floats) -> Floats:
    return np.stack([xi[:, 0] ** a * xi[:, 1] ** b for a, b in powers], axis=1)


def _fit(points: Floats, basis: list[tuple[int, int]], at: Floats) -> Floats:
    """(n_at, n_points): interpolation by the monomials from the points to `at`."""
    return monomials(basis, at) @ np.linalg.inv(monomials(basis, points))


def grid(x: Floats, y: Floats) -> Floats:
    return np.array([(a, b) for b in y for a in x])


def tensor_ties(at: Floats, parts: list[tuple[int, Floats, Floats]], n: int) -> Tying:
    """Each component from its own grid x times y, by the polynomials of that grid."""
    points, blocks = [], []
    for component, x, y in parts:
        own = grid(x, y)
        basis = [(a, b) for b in range(len(y)) for a in range(len(x))]
        weights = np.zeros((len(at), n, len(own), n))
        weights[:, component, :, component] = _fit(own, basis, at)
        points.append(own)
        blocks.append(weights)
    return Tying(np.concatenate(points), np.concatenate(blocks, axis=2))


def _tri6_across(at: Floats) -> Tying:
    """Linear tangential shear along each edge, and the mean of both components (MITC7)."""
    fields = [
        lambda x, y: np.array([1.0, 0.0]), lambda x, y: np.array([x, 0.0]), lambda x, y: np.array([y, 0.0]),
        lambda x, y: np.array([0.0, 1.0]), lambda x, y: np.array([0.0, x]), lambda x, y: np.array([0.0, y]),
        lambda x, y: np.array([x * y, -x * x]),
        lambda x, y: np.array([y * y, -x * y]),
    ]  # fmt: skip
    low, high = 0.5 - 0.5 / 3**0.5, 0.5 + 0.5 / 3**0.5
    edges = np.array([[low, 0], [high, 0], [0, low], [0, high], [low, high], [high, low]])
    along = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [-1, 1], [-1, 1]], dtype=float)
    inside, weights = triangle_rule(4)
    # each row of `asked` is one number that the field shares with the sampled one: (row, sample, component)
    asked = np.zeros((8, 6 + len(inside), 2))
    asked[np.arange(6), np.arange(6)] = along
    asked[6, 6:, 0] = asked[7, 6:, 1] = weights
    samples = np.concatenate([edges, inside])
    A = np.einsum("rsc,sfc->rf", asked, np.array([[f(*p) for f in fields] for p in samples]))
    values = np.array([[f(*p) for f in fields] for p in at])
    return Tying(samples, np.einsum("gfk,fr,rsc->gksc", values, np.linalg.inv(A), asked))


def _tri6_surface(at: Floats) -> Tying:
    """Stretch along each edge direction linear, from two points of the edge and one inside (MITC6)."""
    low, high, third = 0.5 - 0.5 / 3**0.5, 0.5 + 0.5 / 3**0.5, 1.0 / 3**0.5
    places = [
        np.array([[low, 0.0], [high, 0.0], [low, third]]),
        np.array([[0.0, low], [0.0, high], [third, low]]),
        np.array([[low, high], [high, low], [low, low]]),
    ]
    # stretch along (1, 0), (0, 1), (-1, 1) of a strain (xx, yy, 2 xy)
    along = np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, -1.0]])
    basis = [(0, 0), (1, 0), (0, 1)]
    points = np.concatenate(places)
    weights = np.zeros((len(at), 3, 9, 3))
    back = np.linalg.inv(along)
    for k, place in enumerate(places):
        fit = _fit(place, basis, at)
        weights[:, :, 3 * k : 3 * k + 3, :] = np.einsum("c,gt,d->gctd", back[:, k], fit, along[k])
    return Tying(points, weights)


@cache
def shell_rule(kind: str) -> ShellRule:
    """Integration of a shell cell."""
    if kind == "tri3":  # its strains are linear: the middles of the sides
        sides = np.array([[0.5, 0.0], [0.5, 0.5], [0.0, 0.5]])
        return ShellRule(sides, np.full(3, 1.0 / 6.0), None, None)
    if kind == "tri6":
        flat, weights = triangle_rule(4)
        return ShellRule(flat, weights, _tri6_surface(flat), _tri6_across(flat))
    n = 2 if kind == "quad4" else 3
    x, w = gauss(n)
    points, weights = grid(x, x), np.outer(w, w).ravel()
    if kind == "quad4":
        ends, middle = np.array([-1.0, 1.0]), np.array([0.0])
        across = tensor_ties(points, [(0, middle, ends), (1, ends, middle)], 2)
        return ShellRule(points, weights, None, across)
    two, three = gauss(2)[0], gauss(3)[0]
    surface = tensor_ties(points, [(0, two, three), (1, three, two), (2, two, two)], 3)
    across = tensor_ties(points, [(0, two, three), (1, three, two)], 2)
    return ShellRule(points, weights, surface, across)
