"""Structured solids: a plane of 9-node quadrilaterals, extruded along z, read as any solid element.

Every cell is a lattice of 3 x 3 x 3 nodes; bricks and tetrahedra take theirs from it, so that quadratic
elements follow the same curves. Nodes that an element does not use are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Place = Callable[[Floats], NDArray[np.bool_]]

BRICKS = ("hex8", "hex8-plain", "hex20", "hex27")
TETS = ("tet4", "tet10")


@dataclass(frozen=True)
class Plane:
    """points (n, 2); quads (n_quads, 9): node i + 3 j of the local 3 x 3 lattice, counter-clockwise."""

    points: Floats
    quads: Ints


def grid(x: Floats, y: Floats) -> Plane:
    """Rectangular plane; x and y list corners and mid-nodes in turn (odd lengths)."""
    X, Y = np.meshgrid(x, y, indexing="ij")
    number = np.arange(X.size).reshape(X.shape)
    quads = [
        number[2 * a : 2 * a + 3, 2 * b : 2 * b + 3].T.ravel()
        for a in range(len(x) // 2)
        for b in range(len(y) // 2)
    ]
    return Plane(np.column_stack([X.ravel(), Y.ravel()]), np.array(quads))


def mapped(plane: Plane, function: Callable[[Floats], Floats]) -> Plane:
    return Plane(function(plane.points), plane.quads)


def merged(planes: list[Plane], size: float) -> Plane:
    """Planes joined where their nodes coincide (to 1e-9 of `size`)."""
    points = np.concatenate([plane.points for plane in planes])
    shifts = np.cumsum([0] + [len(plane.points) for plane in planes])
    quads = np.concatenate([plane.quads + shift for plane, shift in zip(planes, shifts, strict=False)])
    key = np.round(points / (1e-9 * size)).astype(np.int64)
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return Plane(points[first], inverse.ravel()[quads])


def straightened(plane: Plane, on_curve: Place, element: str) -> Plane:
    """Mid-nodes moved to the middle of their edges, but for edges on a curve; centres to match.

    Quadratic elements hold all quadratic fields only where they are straight. The centre of a quadrilateral
    is the middle of the diagonal that splits it into triangles.
    """
    points, quads = plane.points.copy(), plane.quads
    curved = on_curve(points)
    for mid, a, b in ((1, 0, 2), (5, 2, 8), (7, 8, 6), (3, 6, 0)):
        straight = ~(curved[quads[:, mid]] & curved[quads[:, a]] & curved[quads[:, b]])
        rows = quads[straight]
        points[rows[:, mid]] = 0.5 * (points[rows[:, a]] + points[rows[:, b]])
    if element in TETS:
        points[quads[:, 4]] = 0.5 * (points[quads[:, 0]] + points[quads[:, 8]])
    else:
        mids, corners = points[quads[:, [1, 3, 5, 7]]].sum(axis=1), points[quads[:, [0, 2, 6, 8]]].sum(axis=1)
        points[quads[:, 4]] = 0.5 * mids - 0.25 * corners
    return Plane(points, quads)


def extrude(plane: Plane, z: Floats) -> tuple[Floats, Ints]:
    """Points (n, 3) and lattices (n_cells, 27), node i + 3 j + 9 k; z lists corners and mid-nodes in turn."""
    n = len(plane.points)
    points = np.empty((len(z), n, 3))
    points[:, :, :2] = plane.points
    points[:, :, 2] = z[:, None]
    cells = [
        np.concatenate([plane.quads + n * (2 * layer + k) for k in range(3)], axis=1)
        for layer in range(len(z) // 2)
    ]
    return points.reshape(-1, 3), np.concatenate(cells)


def lattice_mesh(points: Floats, lattices: Ints, element: str, places: dict[str, Place], source: str) -> Mesh:
    """Mesh of one element type, with node and face sets of the boundaries told by `places`."""
    cells = bricks(lattices, element) if element in BRICKS else tetrahedra(points, lattices, element)
    used, flat = np.unique(cells, return_inverse=True)
    cells, points = flat.reshape(cells.shape), points[used]
    node_sets, face_sets = {}, {}
    for name, place in places.items():
        inside = place(points)
        node_sets[name] = np.flatnonzero(inside)
        face_sets[name] = {element: _faces_inside(cells, element, inside)}
    return Mesh(points, {element: cells}, node_sets=node_sets, face_sets=face_sets, source=source)


def _faces_inside(cells: Ints, element: str, inside: NDArray[np.bool_]) -> Ints:
    """(cell, local face) of the faces all of whose nodes are inside."""
    found = []
    for local, nodes in enumerate(ELEMENTS[element].faces):
        cell = np.flatnonzero(inside[cells[:, list(nodes)]].all(axis=1))
        found.append(np.column_stack([cell, np.full(len(cell), local)]))
    return np.concatenate(found)


def bricks(lattices: Ints, element: str) -> Ints:
    """Nodes of bricks from the lattice."""
    at = np.round(ELEMENTS[element].ref_coords).astype(np.int64) + 1
    return lattices[:, at @ np.array([1, 3, 9])]


def tetrahedra(points: Floats, lattices: Ints, element: str) -> Ints:
    """Six tetrahedra per cell: two triangles per quadrilateral, three tetrahedra per wedge.

    The diagonal of an upright face rises from the base node with the lower number, so neighbours agree.
    """
    found = []
    for triangle in (((0, 0), (2, 0), (2, 2)), ((0, 0), (2, 2), (0, 2))):
        local = np.array(triangle)
        base = lattices[:, local @ np.array([1, 3])]
        local = local[np.argsort(base, axis=1)]
        for corners in (
            ((0, 0), (1, 0), (2, 0), (2, 2)),
            ((0, 0), (1, 0), (1, 2), (2, 2)),
            ((0, 0), (0, 2), (1, 2), (2, 2)),
        ):
            at = np.empty((len(lattices), 4, 3), dtype=np.int64)
            for a, (vertex, level) in enumerate(corners):
                at[:, a, :2], at[:, a, 2] = local[:, vertex], level
            found.append(_tetrahedron(points, lattices, at, element))
    # all tetrahedra of a lattice side by side: neighbours stay near in memory
    return np.stack(found, axis=1).reshape(-1, ELEMENTS[element].n_nodes)


def _tetrahedron(points: Floats, lattices: Ints, at: Ints, element: str) -> Ints:
    """Node rows from the lattice places (n, 4, 3) of the corners, turned so that the volume is positive."""
    weights = np.array([1, 3, 9])
    corners = np.take_along_axis(lattices, at @ weights, axis=1)
    x = points[corners]
    negative = np.linalg.det(x[:, 1:] - x[:, :1]) < 0.0
    at[negative, :2] = at[negative, 1::-1]
    if ELEMENTS[element].order == 2:
        mids = [(at[:, a] + at[:, b]) // 2 for a, b, _ in ELEMENTS[element].edges]
        at = np.concatenate([at, np.stack(mids, axis=1)], axis=1)
    return np.take_along_axis(lattices, at @ weights, axis=1)
