"""Quadrature on the reference cells of `fe.elements`, and which rule each element takes.

Tetrahedron and triangle rules are symmetric, with points inside and positive weights; a rule is given by its
orbits, one weight and one point for all permutations of its barycentric coordinates. They solve the moment
equations to rounding. Bricks and lines: Gauss-Legendre; wedges: triangle times Gauss-Legendre.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS, Element, Rules

Floats = NDArray[np.float64]
Orbit = tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Rule:
    """points (n, 3) of the reference cell; weights (n,), their sum is its volume."""

    points: Floats
    weights: Floats


def _s31(a: float) -> tuple[float, ...]:
    return (a, a, a, 1.0 - 3.0 * a)


def _s22(a: float) -> tuple[float, ...]:
    return (a, a, 0.5 - a, 0.5 - a)


def _s211(a: float, b: float) -> tuple[float, ...]:
    return (a, a, b, 1.0 - 2.0 * a - b)


def _s21(a: float) -> tuple[float, ...]:
    return (a, a, 1.0 - 2.0 * a)


def _s111(a: float, b: float) -> tuple[float, ...]:
    return (a, b, 1.0 - a - b)


# degree -> orbits (weight for a cell of volume 1, barycentric point)
TET_RULES: dict[int, list[Orbit]] = {
    1: [(1.0, (0.25, 0.25, 0.25, 0.25))],
    2: [(0.25, _s31((5.0 - 5.0**0.5) / 20.0))],
    5: [
        (0.07349304311636201, _s31(0.09273525031089125)),
        (0.1126879257180158, _s31(0.3108859192633006)),
        (0.04254602077708148, _s22(0.4544962958743503)),
    ],
    6: [
        (0.039922750258166925, _s31(0.21460287125915292)),
        (0.01007721105532052, _s31(0.04067395853461098)),
        (0.055357181543655064, _s31(0.3223378901422754)),
        (0.048214285714285834, _s211(0.06366100187501758, 0.2696723314583156)),
    ],
    7: [
        (0.09548528946413004, (0.25, 0.25, 0.25, 0.25)),
        (0.04232958120996846, _s31(0.3157011497782027)),
        (0.0318969278328578, _s22(0.44951017740160343)),
        (0.00811077082990319, _s211(0.021265472541482734, 0.14663881381848484)),
        (0.03720713072833425, _s211(0.18883383102599985, 0.5751716375870025)),
    ],
    8: [
        (0.03766688309497394, _s31(0.12445221497772994)),
        (0.010143710622934631, _s31(0.04727990534697882)),
        (0.037992435763793755, _s31(0.19216143141802358)),
        (0.04664085764312047, _s31(0.3130845257081107)),
        (0.037893603238819885, _s22(0.06729644222812005)),
        (0.01302027332133268, _s211(0.20374309332440405, 0.00018593563580545183)),
        (0.007218296017649794, _s211(0.02113385171354344, 0.24783392575026572)),
    ],
}
TRIANGLE_RULES: dict[int, list[Orbit]] = {
    1: [(1.0, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0))],
    2: [(1.0 / 3.0, _s21(1.0 / 6.0))],
    4: [
        (0.10995174365532177, _s21(0.09157621350977066)),
        (0.22338158967801156, _s21(0.4459484909159649)),
    ],
    5: [
        (0.225, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)),
        (0.12593918054482725, _s21(0.1012865073234564)),
        (0.132394152788506, _s21(0.47014206410511516)),
    ],
    6: [
        (0.11678627572637923, _s21(0.24928674517091048)),
        (0.050844906370206666, _s21(0.06308901449150212)),
        (0.08285107561837377, _s111(0.05314504984481704, 0.6365024991213988)),
    ],
    8: [
        (0.14431560767778773, (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)),
        (0.09509163426728456, _s21(0.4592925882927234)),
        (0.0324584976231979, _s21(0.05054722831703083)),
        (0.10321737053471851, _s21(0.17056930775176024)),
        (0.027230314174434955, _s111(0.2631128296346372, 0.7284923929554051)),
    ],
}


def _expand(orbits: list[Orbit], volume: float) -> tuple[Floats, Floats]:
    """Points by all but the first barycentric coordinate, and weights, of a symmetric rule."""
    points: list[tuple[float, ...]] = []
    weights: list[float] = []
    for weight, bary in orbits:
        # equal coordinates, up to the rounding of 1 - a - b, give the same point only once
        orbit = sorted({tuple(round(x, 15) for x in p): p for p in permutations(bary)}.values())
        points += orbit
        weights += [weight] * len(orbit)
    scaled = np.array(weights)
    return np.array(points)[:, 1:], scaled * (volume / scaled.sum())


def _lowest(rules: dict[int, list[Orbit]], degree: int) -> list[Orbit]:
    for known in sorted(rules):
        if known >= degree:
            return rules[known]
    raise ValueError(f"no rule of degree {degree}; the highest is {max(rules)}")


@cache
def gauss(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre on [-1, 1], exact to degree 2 n - 1."""
    points, weights = np.polynomial.legendre.leggauss(n)
    return points, weights


@cache
def tet_rule(degree: int) -> Rule:
    """Rule on the tetrahedron, exact for polynomials up to this total degree (at most 8)."""
    return Rule(*_expand(_lowest(TET_RULES, degree), 1.0 / 6.0))


@cache
def hex_rule(n: int) -> Rule:
    """n x n x n Gauss points."""
    x, w = gauss(n)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1).reshape(-1, 3)
    return Rule(grid, np.einsum("i,j,k->ijk", w, w, w).ravel())


@cache
def triangle_rule(degree: int) -> tuple[Floats, Floats]:
    """Points (n, 2) and weights on the triangle, exact up to this total degree (at most 8)."""
    return _expand(_lowest(TRIANGLE_RULES, degree), 0.5)


@cache
def wedge_rule(degree: int, n: int) -> Rule:
    """Triangle rule of this degree times n Gauss points along the wedge."""
    flat, w_flat = triangle_rule(degree)
    z, w = gauss(n)
    points = np.column_stack([np.repeat(flat, n, axis=0), np.tile(z, len(flat))])
    return Rule(points, np.outer(w_flat, w).ravel())


@cache
def pyramid_rule(n: int) -> Rule:
    """The brick's n x n x n points collapsed onto the pyramid; along z those of the weight (1 - z)^2."""
    from scipy.special import roots_jacobi

    x, w = gauss(n)
    z, w_z = roots_jacobi(n, 2.0, 0.0)
    z, w_z = 0.5 * (1.0 + z), w_z / 8.0
    s, t, height = (part.ravel() for part in np.meshgrid(x, x, z, indexing="ij"))
    points = np.column_stack([s * (1.0 - height), t * (1.0 - height), height])
    return Rule(points, np.einsum("i,j,k->ijk", w, w, w_z).ravel())


def rule_of(family: str, spec: tuple[int, ...]) -> Rule:
    """Rule of a reference cell by the numbers of `elements.Rules`."""
    rules = {"tet": tet_rule, "hex": hex_rule, "wedge": wedge_rule, "pyramid": pyramid_rule}
    return rules[family](*spec)


def _rules(name: str) -> tuple[str, Rules]:
    element = ELEMENTS[name]
    assert element.rules is not None
    return element.family, element.rules


@cache
def stiffness_rule(name: str, straight: bool) -> Rule:
    """Rule for K of an element; exact on straight ones."""
    family, rules = _rules(name)
    return rule_of(family, rules.stiffness[0 if straight else 1])


@cache
def mass_rule(name: str, straight: bool) -> Rule:
    """Rule that is exact for N_a N_b det J, so for Ms (F2a)."""
    family, rules = _rules(name)
    return rule_of(family, rules.mass[0 if straight else 1])


@cache
def stress_rule(name: str) -> Rule:
    """Points where the stress of an element is best."""
    family, rules = _rules(name)
    return rule_of(family, rules.stress)


@cache
def inner_gradients(name: str) -> Floats:
    """(points, n_inner, 3) reference gradients of the inner functions at the stiffness points, mean zero."""
    element, rule = ELEMENTS[name], stiffness_rule(name, True)
    slope = element.inner_dshape(rule.points)
    return slope - np.einsum("p,pij->ij", rule.weights, slope) / rule.weights.sum()


@cache
def reference_mass(name: str) -> Floats:
    """(n, n) integrals of N_a N_b over the reference cell: Ms of a straight element over rho det J."""
    element, rule = ELEMENTS[name], mass_rule(name, True)
    N = element.shape(rule.points)
    return N.T @ (rule.weights[:, None] * N)


def is_straight(element: Element, points: Floats, cells: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which cells (n, n_nodes) are affine images of the reference cell: mid-nodes in the middle, and for
    bricks and wedges parallel edges; up to 1e-12 of the element's size and the rounding of the coordinates.
    """
    if element.n_nodes == 4:
        return np.ones(len(cells), dtype=bool)
    ref = np.column_stack([np.ones(element.n_nodes), element.ref_coords])
    off = np.eye(element.n_nodes) - ref @ np.linalg.pinv(ref)
    deviation, size = np.zeros(len(cells)), np.zeros(len(cells))
    for axis in range(3):
        x = points[cells, axis]
        x -= x[:, :1].copy()
        np.maximum(size, np.abs(x).max(axis=1), out=size)
        np.maximum(deviation, np.abs(x @ off.T).max(axis=1), out=deviation)
    rounding = 4.0 * np.finfo(float).eps * np.abs(points).max(initial=0.0)
    return np.asarray(deviation <= 1e-12 * size + rounding)
