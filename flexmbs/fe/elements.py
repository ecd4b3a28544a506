"""Cell type -> element: topology, shape functions and their gradients.

Node order is that of VTK and meshio. Reference cells: tetrahedron x, y, z >= 0, x + y + z <= 1; hexahedron
[-1, 1]^3; wedge triangle x [-1, 1]; pyramid |x|, |y| <= 1 - z, 0 <= z <= 1; line [-1, 1]. A shape function is
the combination of the element's monomials that is one at its node and zero at the others, so one formula
serves all elements, 15-node wedge and 20-node brick included.

Linear bricks and wedges bend by the shape functions of their nodes only with false shear. They have *inner*
functions beside them, whose coefficients each cell finds for itself (incompatible modes): brick 1 - x^2,
1 - y^2, 1 - z^2; wedge the quadratic ones of the triangle and 1 - z^2. The mean of their gradients vanishes,
so that a state of constant strain does not see them (patch test). `hex8-plain`, `wedge6-plain` lack them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tuples = tuple[tuple[int, ...], ...]
#: A rule of the reference cell: tetrahedron (degree,), brick and pyramid (points per direction,), wedge
#: (degree, points).
Spec = tuple[int, ...]


@dataclass(frozen=True)
class Rules:
    """Integration of an element: stiffness and mass, when straight and when curved; stress points.

    Straight: both exact. Curved: the mass rule is exact for N_a N_b det J, a polynomial (F2a), of degree 7 in
    a tet10, 9 per direction in hex20 and hex27, 4 in hex8; 8 in the triangle and 9 along in a wedge15, 3 and
    4 in a wedge6; pyramids collapse a brick. The stiffness is rational: tet10 takes degree 5, for four points
    only just keep its rank.
    Stress is best at points of one order less than the stiffness needs.
    """

    stiffness: tuple[Spec, Spec]
    mass: tuple[Spec, Spec]
    stress: Spec


TET_CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
TET_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
TET_FACES = ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1))
HEX_CORNERS = (
    (-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
    (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1),
)  # fmt: skip
QUAD_CORNERS = ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))
HEX_EDGES = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
HEX_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
WEDGE_CORNERS = ((0, 0, -1), (1, 0, -1), (0, 1, -1), (0, 0, 1), (1, 0, 1), (0, 1, 1))
WEDGE_EDGES = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
WEDGE_FACES = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))
PYRAMID_CORNERS = ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, 1))
PYRAMID_EDGES = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4), (2, 4), (3, 4))
PYRAMID_FACES = ((0, 3, 2, 1), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4))


@dataclass(frozen=True)
class Element:
    """One cell type.

    family : "tet", "hex", "wedge", "pyramid", "tri", "quad" or "line", the reference cell
    ref_coords : (n_nodes, 3) nodes of the reference cell
    faces : per face its nodes, outward: corners, then mid-nodes (between corners 0 1, 1 2, ...), then centre
    edges : per edge its two corners, then its mid-node where there is one
    powers : (n_nodes, 3) exponents of the monomials that span the shape functions; pyramids have a fourth, of
        1 / (1 - z)
    rules : its integration; None for lines and for cells of surfaces (`fe.shells`)
    inner : (n_inner, 3) exponents of the monomials of the inner functions
    """

    name: str
    family: str
    n_corners: int
    ref_coords: Floats
    faces: Tuples
    edges: Tuples
    powers: Ints
    rules: Rules | None = None
    inner: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    @property
    def n_nodes(self) -> int:
        return len(self.ref_coords)

    @property
    def turns(self) -> bool:
        """Whether its nodes have rotations: beams and shells."""
        return self.family in ("line", "tri", "quad")

    @property
    def order(self) -> int:
        """1: nodes at the corners only; 2: quadratic."""
        return 1 if self.n_nodes == self.n_corners else 2

    @cached_property
    def coefficients(self) -> Floats:
        """(monomial, node): the inverse of the monomials at the nodes; its entries are multiples of 1/8."""
        return np.round(np.linalg.inv(monomials(self.powers, self.ref_coords)) * 8.0) / 8.0

    def shape(self, xi: Floats) -> Floats:
        """Values of all shape functions, (n_points, n_nodes), at reference points `xi` (n_points, 3)."""
        return monomials(self.powers, xi) @ self.coefficients

    def dshape(self, xi: Floats) -> Floats:
        """Their gradients in reference coordinates, (n_points, n_nodes, 3)."""
        return np.stack([part @ self.coefficients for part in slopes(self.powers, xi)], axis=-1)

    def inner_dshape(self, xi: Floats) -> Floats:
        """Gradients of the inner functions, (n_points, n_inner, 3); their mean over the cell is not zero."""
        return np.stack(slopes(self.inner, xi), axis=-1)


def monomials(powers: Ints, xi: Floats) -> Floats:
    """Values (n_points, n_monomials) of x^a y^b z^c / (1 - z)^d; on the axis at the apex of a pyramid."""
    xi = np.asarray(xi, dtype=float).reshape(-1, 3)
    values = np.prod(xi[:, None, :] ** powers[None, :, :3], axis=2)
    if powers.shape[1] == 3:
        return np.asarray(values)
    below = 1.0 - xi[:, 2]
    inverse = np.divide(1.0, below, out=np.zeros_like(below), where=below > 0.0)
    return np.asarray(values * inverse[:, None] ** powers[None, :, 3])


def slopes(powers: Ints, xi: Floats) -> list[Floats]:
    """Derivatives of the monomials along x, y, z, each (n_points, n_monomials)."""
    parts = []
    for axis in range(3):
        lower = powers.copy()
        lower[:, axis] = np.maximum(lower[:, axis] - 1, 0)
        parts.append(monomials(lower, xi) * powers[:, axis])
    if powers.shape[1] == 4:
        parts[2] += monomials(powers + np.array([0, 0, 0, 1]), xi) * powers[:, 3]
    return parts


def tet_powers(degree: int) -> list[tuple[int, int, int]]:
    """Monomials up to a total degree."""
    span = range(degree + 1)
    return [(a, b, c) for a in span for b in span for c in span if a + b + c <= degree]


def hex_powers(kind: str) -> list[tuple[int, int, int]]:
    """Tensor monomials; "serendipity": only those with at most one square that is superlinear."""
    span = range(2 if kind == "linear" else 3)
    full = [(a, b, c) for a in span for b in span for c in span]
    if kind != "serendipity":
        return full
    return [powers for powers in full if sum(p for p in powers if p > 1) <= 2]


def wedge_powers(degree: int) -> list[tuple[int, int, int]]:
    """Linear: P1 x P1. Quadratic, 15 nodes: P2 x P1 and P1 x z^2."""
    span = range(degree + 1)
    flat = [(a, b) for a in span for b in span if a + b <= degree]
    powers = [(a, b, c) for a, b in flat for c in (0, 1)]
    return powers + [(a, b, 2) for a, b in flat if degree == 2 and a + b <= 1]


def pyramid_powers(degree: int) -> list[tuple[int, int, int, int]]:
    """P1 or P2, with what the square base lacks; over (1 - z) it is still P1 or P2 on the triangles."""
    more = [(1, 1, 0, 1)] if degree == 1 else [(1, 1, 0, 1), (2, 1, 0, 1), (1, 2, 0, 1)]
    return [(*powers, 0) for powers in tet_powers(degree)] + more


def _mid_points(corners: Tuples, groups: Tuples) -> list[tuple[float, ...]]:
    points = np.array(corners, dtype=float)
    return [tuple(points[list(group)].mean(axis=0)) for group in groups]


def _element(
    name: str, cell: tuple[Tuples, Tuples, Tuples], powers: Sequence[tuple[int, ...]], rules: Rules
) -> Element:
    """Element with the given corners; mid-edge, face and centre nodes as far as its number of nodes asks."""
    corners, edges, faces = cell
    n_nodes, n_corners = len(powers), len(corners)
    nodes = [tuple(float(x) for x in corner) for corner in corners]
    mids: dict[frozenset[int], int] = {}
    if n_nodes > n_corners:
        mids = {frozenset(edge): n_corners + number for number, edge in enumerate(edges)}
        nodes += _mid_points(corners, edges)
    centres: tuple[tuple[int, ...], ...] = tuple(() for _ in faces)
    if n_nodes > len(nodes):
        centres = tuple((len(nodes) + number,) for number in range(len(faces)))
        nodes += _mid_points(corners, faces) + _mid_points(corners, (tuple(range(n_corners)),))
    full_edges = tuple(edge + ((mids[frozenset(edge)],) if mids else ()) for edge in edges)
    full_faces = tuple(
        face + _mids_of(face, mids) + centre for face, centre in zip(faces, centres, strict=True)
    )
    family = name.rstrip("0123456789")
    return Element(name, family, n_corners, np.array(nodes), full_faces, full_edges, np.array(powers), rules)


def _mids_of(face: tuple[int, ...], mids: dict[frozenset[int], int]) -> tuple[int, ...]:
    following = face[1:] + face[:1]
    return tuple(mids[frozenset(pair)] for pair in zip(face, following, strict=True)) if mids else ()


_LINE = Element(
    "beam2", "line", 2, np.array([[-1.0, 0, 0], [1.0, 0, 0]]), (), ((0, 1),), np.array([[0, 0, 0], [1, 0, 0]])
)


def _shell(name: str, cell: tuple[Tuples, Tuples, Tuples], powers: Sequence[tuple[int, ...]]) -> Element:
    """Cell of a surface: no face of its own; what is integrated over it is in `fe.shells`."""
    corners, edges, _ = cell
    nodes = [tuple(float(x) for x in corner) for corner in corners]
    if len(powers) > len(nodes):
        nodes += _mid_points(corners, edges)
    if len(powers) > len(nodes):
        nodes += _mid_points(corners, (tuple(range(len(corners))),))
    mids = range(len(corners), 2 * len(corners)) if len(nodes) > len(corners) else ()
    full = tuple((*edge, mid) for edge, mid in zip(edges, mids, strict=True)) if mids else edges
    return Element(name, name.rstrip("0123456789"), len(corners), np.array(nodes), (), full, np.array(powers))


_TET = (TET_CORNERS, TET_EDGES, TET_FACES)
_HEX = (HEX_CORNERS, HEX_EDGES, HEX_FACES)
_WEDGE = (WEDGE_CORNERS, WEDGE_EDGES, WEDGE_FACES)
_PYRAMID = (PYRAMID_CORNERS, PYRAMID_EDGES, PYRAMID_FACES)
_TRI = (((0, 0, 0), (1, 0, 0), (0, 1, 0)), ((0, 1), (1, 2), (2, 0)), ((0, 1, 2),))
_QUAD = (QUAD_CORNERS, ((0, 1), (1, 2), (2, 3), (3, 0)), ((0, 1, 2, 3),))

_HEX8 = _element("hex8", _HEX, hex_powers("linear"), Rules(((2,), (2,)), ((2,), (3,)), (2,)))
_WEDGE6 = _element("wedge6", _WEDGE, wedge_powers(1), Rules(((2, 2), (2, 2)), ((2, 2), (4, 3)), (2, 2)))
_HEX_INNER = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2]])
_WEDGE_INNER = np.array([[2, 0, 0], [1, 1, 0], [0, 2, 0], [0, 0, 2]])

ELEMENTS: dict[str, Element] = {
    element.name: element
    for element in (
        _element("tet4", _TET, tet_powers(1), Rules(((1,), (1,)), ((2,), (2,)), (1,))),
        _element("tet10", _TET, tet_powers(2), Rules(((2,), (5,)), ((4,), (7,)), (2,))),
        replace(_HEX8, inner=_HEX_INNER),
        replace(_HEX8, name="hex8-plain"),
        _element("hex20", _HEX, hex_powers("serendipity"), Rules(((3,), (3,)), ((3,), (5,)), (2,))),
        _element("hex27", _HEX, hex_powers("full"), Rules(((3,), (3,)), ((3,), (5,)), (2,))),
        replace(_WEDGE6, inner=_WEDGE_INNER),
        replace(_WEDGE6, name="wedge6-plain"),
        _element("wedge15", _WEDGE, wedge_powers(2), Rules(((4, 3), (4, 3)), ((4, 3), (8, 5)), (2, 2))),
        _element("pyramid5", _PYRAMID, pyramid_powers(1), Rules(((2,), (2,)), ((2,), (3,)), (2,))),
        _element("pyramid13", _PYRAMID, pyramid_powers(2), Rules(((3,), (4,)), ((3,), (6,)), (2,))),
        _LINE,
        _shell("tri3", _TRI, [powers for powers in tet_powers(1) if powers[2] == 0]),
        _shell("tri6", _TRI, [powers for powers in tet_powers(2) if powers[2] == 0]),
        _shell("quad4", _QUAD, [powers for powers in hex_powers("linear") if powers[2] == 0]),
        _shell("quad8", _QUAD, [powers for powers in hex_powers("serendipity") if powers[2] == 0]),
        _shell("quad9", _QUAD, [powers for powers in hex_powers("full") if powers[2] == 0]),
    )
}
#: Cells of surfaces, whose nodes turn.
SHELLS = tuple(name for name, element in ELEMENTS.items() if element.family in ("tri", "quad"))

#: The linear element of each family, for geometry and extrapolation.
LINEAR = {"tet": "tet4", "hex": "hex8", "wedge": "wedge6", "pyramid": "pyramid5"}


def plain_name(kind: str) -> str:
    """The name by which other programs and formats know the cells of a kind."""
    return kind.removesuffix("-plain")
