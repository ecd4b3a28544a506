"""Cell type -> element: topology, shape functions and their gradients.

Node order is that of VTK and meshio. Reference cells: tetrahedron x, y, z >= 0, x + y + z <= 1; hexahedron
[-1, 1]^3; wedge triangle x [-1, 1]; line [-1, 1]. A shape function is the combination of the element's
monomials that is one at its node and zero at the others, so one formula serves all elements, 15-node wedge
and 20-node brick included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tuples = tuple[tuple[int, ...], ...]

TET_CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
TET_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
TET_FACES = ((0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1))
HEX_CORNERS = (
    (-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1),
    (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1),
)  # fmt: skip
HEX_EDGES = (
    (0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7),
)  # fmt: skip
HEX_FACES = ((0, 4, 7, 3), (1, 2, 6, 5), (0, 1, 5, 4), (3, 7, 6, 2), (0, 3, 2, 1), (4, 5, 6, 7))
WEDGE_CORNERS = ((0, 0, -1), (1, 0, -1), (0, 1, -1), (0, 0, 1), (1, 0, 1), (0, 1, 1))
WEDGE_EDGES = ((0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5))
WEDGE_FACES = ((0, 2, 1), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5))


@dataclass(frozen=True)
class Element:
    """One cell type.

    family : "tet", "hex", "wedge" or "line", the reference cell
    ref_coords : (n_nodes, 3) nodes of the reference cell
    faces : per face its nodes, outward: corners, then mid-nodes (between corners 0 1, 1 2, ...), then centre
    edges : per edge its two corners, then its mid-node where there is one
    powers : (n_nodes, 3) exponents of the monomials that span the shape functions
    """

    name: str
    family: str
    n_corners: int
    ref_coords: Floats
    faces: Tuples
    edges: Tuples
    powers: Ints

    @property
    def n_nodes(self) -> int:
        return len(self.ref_coords)

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
        parts = []
        for axis in range(3):
            lower = self.powers.copy()
            lower[:, axis] = np.maximum(lower[:, axis] - 1, 0)
            parts.append((monomials(lower, xi) * self.powers[:, axis]) @ self.coefficients)
        return np.stack(parts, axis=-1)


def monomials(powers: Ints, xi: Floats) -> Floats:
    """Values (n_points, n_monomials) of x^a y^b z^c."""
    xi = np.asarray(xi, dtype=float).reshape(-1, 3)
    return np.prod(xi[:, None, :] ** powers[None, :, :], axis=2)


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


def _mid_points(corners: Tuples, groups: Tuples) -> list[tuple[float, ...]]:
    points = np.array(corners, dtype=float)
    return [tuple(points[list(group)].mean(axis=0)) for group in groups]


def _element(
    name: str, corners: Tuples, edges: Tuples, faces: Tuples, powers: list[tuple[int, int, int]]
) -> Element:
    """Element with the given corners; mid-edge, face and centre nodes as far as its number of nodes asks."""
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
    return Element(name, family, n_corners, np.array(nodes), full_faces, full_edges, np.array(powers))


def _mids_of(face: tuple[int, ...], mids: dict[frozenset[int], int]) -> tuple[int, ...]:
    following = face[1:] + face[:1]
    return tuple(mids[frozenset(pair)] for pair in zip(face, following, strict=True)) if mids else ()


_LINE = Element(
    "beam2", "line", 2, np.array([[-1.0, 0, 0], [1.0, 0, 0]]), (), ((0, 1),), np.array([[0, 0, 0], [1, 0, 0]])
)

ELEMENTS: dict[str, Element] = {
    "tet4": _element("tet4", TET_CORNERS, TET_EDGES, TET_FACES, tet_powers(1)),
    "tet10": _element("tet10", TET_CORNERS, TET_EDGES, TET_FACES, tet_powers(2)),
    "hex8": _element("hex8", HEX_CORNERS, HEX_EDGES, HEX_FACES, hex_powers("linear")),
    "hex20": _element("hex20", HEX_CORNERS, HEX_EDGES, HEX_FACES, hex_powers("serendipity")),
    "hex27": _element("hex27", HEX_CORNERS, HEX_EDGES, HEX_FACES, hex_powers("full")),
    "wedge6": _element("wedge6", WEDGE_CORNERS, WEDGE_EDGES, WEDGE_FACES, wedge_powers(1)),
    "wedge15": _element("wedge15", WEDGE_CORNERS, WEDGE_EDGES, WEDGE_FACES, wedge_powers(2)),
    "beam2": _LINE,
}
