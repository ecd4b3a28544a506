"""Shape functions, topology and quadrature: partition of unity, monomials, scikit-fem as oracle."""

from itertools import product
from math import factorial

import numpy as np
import pytest

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.node_orders import ORDERS, in_our_order
from flexmbs.fe.quadrature import (
    TET_RULES,
    TRIANGLE_RULES,
    Rule,
    gauss,
    hex_rule,
    is_straight,
    mass_rule,
    reference_mass,
    stiffness_rule,
    tet_rule,
    wedge_rule,
)

SOLIDS = [name for name, element in ELEMENTS.items() if element.rules is not None]
RNG = np.random.default_rng(1)


def inside(element, n):
    """Random points of the reference cell."""
    weights = RNG.dirichlet(np.ones(element.n_corners), size=n)
    return weights @ element.ref_coords[: element.n_corners]


@pytest.mark.parametrize("name", ELEMENTS)
def test_shape_functions_are_one_at_their_node_and_sum_to_one(name):
    element = ELEMENTS[name]
    np.testing.assert_allclose(element.shape(element.ref_coords), np.eye(element.n_nodes), atol=1e-15)
    xi = inside(element, 7)
    np.testing.assert_allclose(element.shape(xi).sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_allclose(element.dshape(xi).sum(axis=1), 0.0, atol=1e-13)
    field = element.shape(xi) @ element.ref_coords
    np.testing.assert_allclose(field, xi, atol=1e-14)


@pytest.mark.parametrize("name", ELEMENTS)
def test_gradients_are_the_derivative_of_the_shape_functions(name):
    element = ELEMENTS[name]
    xi, h = inside(element, 5), 1e-6
    for axis in range(3):
        step = h * np.eye(3)[axis]
        slope = (element.shape(xi + step) - element.shape(xi - step)) / (2 * h)
        np.testing.assert_allclose(element.dshape(xi)[:, :, axis], slope, atol=1e-9)


@pytest.mark.parametrize("name", SOLIDS)
def test_faces_point_outward_and_carry_their_mid_nodes(name):
    element = ELEMENTS[name]
    for face in element.faces:
        n_corners = 3 if len(face) in (3, 6) else 4
        corners = element.ref_coords[list(face[:n_corners])]
        normal = np.cross(corners[1] - corners[0], corners[-1] - corners[0])
        assert normal @ (corners.mean(axis=0) - element.ref_coords.mean(axis=0)) > 0
        following = np.roll(corners, -1, axis=0)
        mids = element.ref_coords[list(face[n_corners : 2 * n_corners])]
        if len(mids):
            np.testing.assert_array_equal(mids, (corners + following) / 2)
        for centre in face[2 * n_corners :]:
            np.testing.assert_array_equal(element.ref_coords[centre], corners.mean(axis=0))


SKFEM = {"tet4": "ElementTetP1", "tet10": "ElementTetP2", "hex8": "ElementHex1", "hex27": "ElementHex2",
         "wedge6": "ElementWedge1", "hex20": "ElementHexS2"}  # fmt: skip


@pytest.mark.parametrize("name", SKFEM)
def test_shape_functions_agree_with_scikit_fem(name):
    import skfem

    element, other = ELEMENTS[name], getattr(skfem, SKFEM[name])()
    to_unit = {"tet": (0.0, 1.0), "hex": (1.0, 0.5), "wedge": (np.array([0, 0, 1.0]), np.array([1, 1, 0.5]))}
    shift, scale = to_unit[element.family]
    factor = np.broadcast_to(scale, 3)
    xi = inside(element, 6)
    X, nodes = ((xi + shift) * factor).T, (element.ref_coords + shift) * factor
    N, dN = element.shape(xi), element.dshape(xi)
    for i, place in enumerate(other.doflocs):
        a = int(np.abs(nodes - place).sum(axis=1).argmin())
        value, slope = other.lbasis(X, i)
        np.testing.assert_allclose(N[:, a], value, atol=1e-13)
        np.testing.assert_allclose(dN[:, a, :] / factor, slope.T, atol=1e-12)


def simplex_moment(powers):
    top = np.prod([factorial(p) for p in powers], dtype=float)
    return top / factorial(sum(powers) + len(powers))


def line_moment(power):
    return 2.0 / (power + 1) if power % 2 == 0 else 0.0


def moment(rule: Rule, powers):
    return float(rule.weights @ np.prod(rule.points ** np.array(powers), axis=1))


def powers_up_to(degree, n=3):
    return [p for p in product(range(degree + 1), repeat=n) if sum(p) <= degree]


@pytest.mark.parametrize("degree", range(1, 9))
def test_tetrahedron_rules_are_exact_on_monomials(degree):
    rule = tet_rule(degree)
    assert rule.points.min() > 0 and rule.points.sum(axis=1).max() < 1 and rule.weights.min() > 0
    for powers in powers_up_to(degree):
        assert moment(rule, powers) == pytest.approx(simplex_moment(powers), rel=1e-12, abs=0)  # rounding


@pytest.mark.parametrize("degree", range(1, 9))
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_wedge_rules_are_exact_on_monomials(degree, n):
    rule = wedge_rule(degree, n)
    assert rule.weights.sum() == pytest.approx(1.0) and rule.weights.min() > 0
    for flat in powers_up_to(degree, 2):
        for along in range(2 * n):
            exact = simplex_moment(flat) * line_moment(along)
            assert moment(rule, (*flat, along)) == pytest.approx(exact, rel=1e-12, abs=1e-16)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_brick_rules_are_exact_on_monomials(n):
    rule = hex_rule(n)
    for powers in product(range(2 * n), repeat=3):
        exact = np.prod([line_moment(p) for p in powers])
        assert moment(rule, powers) == pytest.approx(exact, rel=1e-13, abs=1e-14)
    assert gauss(n)[1].sum() == pytest.approx(2.0)


def test_rules_end_at_their_stated_degree():
    """A rule that were exact beyond its degree would hide a wrong table."""
    for degree in TET_RULES:
        worst = max(
            abs(moment(tet_rule(degree), p) / simplex_moment(p) - 1) for p in powers_up_to(degree + 1)
        )
        assert worst > 1e-6
    assert max(TRIANGLE_RULES) == 8
    with pytest.raises(ValueError, match="the highest is 8"):
        tet_rule(9)


def bent(name, amount=0.1):
    """Nodes of an element in general position, curved when it has mid-nodes."""
    element = ELEMENTS[name]
    return element.ref_coords + amount * np.random.default_rng(4).uniform(-1, 1, (element.n_nodes, 3))


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("straight", [True, False])
def test_mass_rule_is_exact_for_its_integrand(name, straight):
    """More points change nothing: N_a N_b det J is integrated exactly (F2a)."""
    element = ELEMENTS[name]
    nodes = bent(name, 0.0 if straight else 0.1) @ np.array(
        [[1.0, 0.2, 0.1], [0.0, 0.8, 0.3], [0.0, 0.0, 1.2]]
    )
    # a tensor rule of far higher degree; on the tetrahedron by collapsing a brick
    fine = hex_rule(7) if element.family == "hex" else collapsed(element.family)

    def mass(rule):
        N, dN = element.shape(rule.points), element.dshape(rule.points)
        detJ = np.linalg.det(np.einsum("pai,ak->pki", dN, nodes))
        return np.einsum("p,pa,pb->ab", rule.weights * detJ, N, N)

    exact = mass(fine)
    np.testing.assert_allclose(mass(mass_rule(name, straight)), exact, atol=1e-13 * np.abs(exact).max())


def collapsed(family, n=9):
    """Gauss points of the brick collapsed onto wedge or tetrahedron, exact to high degree."""
    x, w = gauss(n)
    s, ws = (x + 1) / 2, w / 2
    a, b, c = (g.ravel() for g in np.meshgrid(s, s, s, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", ws, ws, ws).ravel()
    if family == "pyramid":
        s, t = (2 * a - 1) * (1 - c), (2 * b - 1) * (1 - c)
        return Rule(np.stack([s, t, c], 1), 4 * weights * (1 - c) ** 2)
    if family == "wedge":
        return Rule(np.stack([a, b * (1 - a), 2 * c - 1], 1), 2 * weights * (1 - a))
    return Rule(np.stack([a, b * (1 - a), c * (1 - a) * (1 - b)], 1), weights * (1 - a) ** 2 * (1 - b))


@pytest.mark.parametrize("name", SOLIDS)
def test_reference_mass_is_that_of_the_curved_rule_on_a_straight_element(name):
    element, rule = ELEMENTS[name], mass_rule(name, False)
    N = element.shape(rule.points)
    np.testing.assert_allclose(reference_mass(name), N.T @ (rule.weights[:, None] * N), atol=1e-15)


@pytest.mark.parametrize("name", SOLIDS)
def test_straight_elements_are_told_from_curved_ones(name):
    element = ELEMENTS[name]
    affine = element.ref_coords @ np.array([[1.0, 0.2, 0.0], [0.1, 2.0, 0.3], [0.0, 0.4, 0.5]]) + 10.0
    both = np.concatenate([affine, affine + 1e-6 * bent(name, 1.0)])
    cells = np.arange(2 * element.n_nodes).reshape(2, -1)
    assert is_straight(element, both, cells).tolist() == [True, name == "tet4"]


@pytest.mark.parametrize("name", SOLIDS)
def test_stiffness_rule_keeps_the_rank(name):
    """Enough points for the 3 n - 6 deformations of a single element."""
    rule = stiffness_rule(name, True)
    assert 6 * len(rule.weights) >= 3 * ELEMENTS[name].n_nodes - 6


@pytest.mark.parametrize("program", ORDERS)
def test_orders_of_nodes_lead_back_to_ours(program):
    for kind, order in ORDERS[program].items():
        if kind not in ELEMENTS:
            continue
        listed = np.empty((1, len(order)), dtype=int)
        listed[0, order] = np.arange(len(order))
        assert in_our_order(listed, kind, program).tolist() == [list(range(ELEMENTS[kind].n_nodes))]
