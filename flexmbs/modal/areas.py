"""Sets of a mesh -> faces or edges, what is integrated over them, nodal weights and centroid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import gauss
from flexmbs.fe.skin import faces_within, group_rows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TRIANGLE = {3: [(0, 0), (1, 0), (0, 1)], 4: [(-1, -1), (1, -1), (1, 1), (-1, 1)]}
_POWERS = {
    3: [(0, 0), (1, 0), (0, 1)],
    6: [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)],
    4: [(0, 0), (1, 0), (0, 1), (1, 1)],
    8: [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)],
    9: [(a, b) for a in range(3) for b in range(3)],
}


def _face_nodes(n: int) -> Floats:
    """Reference nodes of a face with n nodes: corners, mid-nodes, centre."""
    corners = np.array(_TRIANGLE[3 if n in (3, 6) else 4], dtype=float)
    mids = 0.5 * (corners + np.roll(corners, -1, axis=0))
    return np.concatenate([corners, mids, corners.mean(axis=0, keepdims=True)])[:n]


def _rule(n: int) -> tuple[Floats, Floats]:
    """Product rule of 5 x 5 Gauss points; on triangles collapsed."""
    x, w = np.polynomial.legendre.leggauss(5)
    a, b = (part.ravel() for part in np.meshgrid(x, x, indexing="ij"))
    weight = np.outer(w, w).ravel()
    if n not in (3, 6):
        return np.stack([a, b], axis=1), weight
    s, t = 0.5 * (1 + a), 0.5 * (1 + b)
    return np.stack([s, t * (1 - s)], axis=1), 0.25 * weight * (1 - s)


def _monomials(powers: list[tuple[int, int]], x: Floats, derivative: int = -1) -> Floats:
    P = np.array(powers)
    factor = np.ones(len(P))
    if derivative >= 0:
        factor = P[:, derivative].astype(float)
        P = P.copy()
        P[:, derivative] = np.maximum(P[:, derivative] - 1, 0)
    return np.prod(x[:, None, :] ** P[None], axis=2) * factor


def face_shapes(n: int) -> tuple[Floats, Floats, Floats]:
    """Weights (p,), shape functions (p, n) and gradients (p, n, 2) of a face with n nodes."""
    x, weight = _rule(n)
    powers = _POWERS[n]
    inverse = np.linalg.inv(_monomials(powers, _face_nodes(n)))
    N = _monomials(powers, x) @ inverse
    dN = np.stack([_monomials(powers, x, axis) @ inverse for axis in (0, 1)], axis=-1)
    return weight, N, dN


def area_vectors(X: Floats) -> tuple[Floats, Floats]:
    """Shape functions (p, n) and oriented area elements (face, p, 3) of faces X (face, n, 3)."""
    weight, N, dN = face_shapes(X.shape[1])
    tangents = np.einsum("fni,pnj->fpji", X, dN)
    return N, weight[:, None] * np.cross(tangents[:, :, 0], tangents[:, :, 1])


def length_vectors(X: Floats) -> tuple[Floats, Floats]:
    """Shape functions (p, n) and elements of length (edge, p, 3) of edges X (edge, 2 or 3, 3)."""
    x, weight = gauss(5)
    powers = range(X.shape[1])
    nodes = np.array([-1.0, 1.0, 0.0])[: X.shape[1]]
    inverse = np.linalg.inv(np.stack([nodes**k for k in powers], axis=1))
    N = np.stack([x**k for k in powers], axis=1) @ inverse
    dN = np.stack([k * x ** max(k - 1, 0) for k in powers], axis=1) @ inverse
    return N, weight[:, None] * np.einsum("eni,pn->epi", X, dN)


@dataclass(frozen=True)
class Pieces:
    """Faces, or edges, of one kind, at their points of integration.

    nodes : (k, n);  N : (p, n) shape functions;  vectors : (k, p, 3) of area, outward, or of length
    """

    nodes: Ints
    N: Floats
    vectors: Floats
    along: bool = False  # edges

    @staticmethod
    def faces(mesh: Mesh, rows: list[Ints]) -> list[Pieces]:
        return [Pieces(nodes, *area_vectors(mesh.points[nodes])) for nodes in rows if len(nodes)]

    @staticmethod
    def edges(mesh: Mesh, rows: list[Ints]) -> list[Pieces]:
        return [
            Pieces(nodes, *length_vectors(mesh.points[nodes]), along=True) for nodes in rows if len(nodes)
        ]

    @property
    def sizes(self) -> Floats:
        """Area or length (k, p)."""
        return np.asarray(np.linalg.norm(self.vectors, axis=2))


def set_faces(mesh: Mesh, name: str) -> list[Pieces]:
    """Faces of a face set; of a cell set its shells, whose outward side is the top."""
    if name in mesh.face_sets:
        return Pieces.faces(mesh, mesh.face_nodes(mesh.face_sets[name]))
    rows = mesh.cell_sets.get(name, {})
    return Pieces.faces(mesh, [mesh.cells[kind][rows[kind]] for kind in SHELLS if kind in rows])


def set_pieces(mesh: Mesh, name: str, nodes: Ints) -> list[Pieces]:
    """What a set is made of: its faces, else the skin faces whose corners are all in it, else the shells,
    else the edges of shells that have all of its nodes and no others; of loose nodes nothing."""
    pieces = set_faces(mesh, name)
    if pieces or name in mesh.face_sets:
        return pieces
    pieces = Pieces.faces(mesh, mesh.face_nodes(faces_within(mesh, nodes)))
    if pieces:
        return pieces
    inside = np.zeros(mesh.n_nodes, dtype=bool)
    inside[nodes] = True
    shells = {kind: mesh.cells[kind] for kind in SHELLS if len(mesh.cells.get(kind, ()))}
    if not shells:
        return []
    cells = [rows[inside[rows].all(axis=1)] for rows in shells.values()]
    if _cover(cells, nodes):
        return Pieces.faces(mesh, cells)
    found = [
        np.concatenate([rows[:, list(edge)] for edge in ELEMENTS[kind].edges])
        for kind, rows in shells.items()
    ]
    for free in (True, False):  # rims first: a chord between two nodes of a rim is no part of it
        edges = [rows[inside[rows].all(axis=1)] for rows in _edges(found, free)]
        if _cover(edges, nodes):
            return Pieces.edges(mesh, edges)
    return []


def _cover(parts: list[Ints], nodes: Ints) -> bool:
    """Whether rows of nodes have all of the nodes."""
    return bool(np.isin(nodes, np.concatenate([rows.ravel() for rows in parts])).all())


def _edges(parts: list[Ints], free: bool) -> list[Ints]:
    """Edges (n, 2 or 3), each once; `free`: only those of a single cell."""
    ends = np.concatenate([np.sort(rows[:, :2], axis=1) for rows in parts])
    label, count = group_rows(ends)
    _, first = np.unique(label, return_index=True)
    keep = np.zeros(len(ends), dtype=bool)
    keep[first] = (count == 1) | (not free)
    splits = np.cumsum([len(rows) for rows in parts])[:-1]
    return [rows[chosen] for rows, chosen in zip(parts, np.split(keep, splits), strict=True)]


def nodal_sizes(mesh: Mesh, pieces: list[Pieces]) -> Floats:
    """Integrals of the shape functions over pieces (n_nodes,) [m^2 or m]: the nodal loads of a unit density.

    Weighted with them a mean over nodes is the mean over the area, and its load a uniform traction. Corners
    of 8-node faces have negative ones; moments up to the second stay those of the area, so means exist.
    """
    size = np.zeros(mesh.n_nodes)
    for part in pieces:
        np.add.at(size, part.nodes, part.sizes @ part.N)
    return size


def centroid(mesh: Mesh, pieces: list[Pieces]) -> Floats:
    """Centroid of faces or edges (3,)."""
    size = nodal_sizes(mesh, pieces)
    return np.asarray(size @ mesh.points / size.sum())
