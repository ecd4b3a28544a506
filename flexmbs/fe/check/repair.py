"""Rescues of a mesh, each one reported: nodes merged or left out, cells turned, edges straightened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.check.connectivity import coincident_pairs
from flexmbs.fe.check.quality import mirror
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh

Ints = NDArray[np.int64]


def merge_nodes(mesh: Mesh, tolerance: float) -> tuple[Mesh, int]:
    """Nodes closer than the tolerance become the first of them; returns the number that vanished."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    pairs = coincident_pairs(mesh.points, tolerance)
    if not len(pairs):
        return mesh, 0
    shape = (mesh.n_nodes, mesh.n_nodes)
    graph = coo_matrix((np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1])), shape=shape)
    n_groups, label = connected_components(graph, directed=False)
    _, first = np.unique(label, return_index=True)
    return renumbered(mesh, first[label]), mesh.n_nodes - n_groups


def renumbered(mesh: Mesh, target: Ints) -> Mesh:
    """Node i becomes target[i]; nodes that are nobody's target vanish."""
    keep = np.unique(target)
    index = np.full(mesh.n_nodes, -1, dtype=np.int64)
    index[keep] = np.arange(len(keep))
    index = index[target]
    return replace(
        mesh,
        points=mesh.points[keep],
        node_number=mesh.node_number[keep],
        cells={kind: index[rows] for kind, rows in mesh.cells.items()},
        node_sets={name: np.unique(index[nodes]) for name, nodes in mesh.node_sets.items()},
    )


def without_orphans(mesh: Mesh) -> tuple[Mesh, Ints]:
    """The mesh without nodes that belong to no cell, and the numbers of those nodes."""
    used = mesh.used_nodes()
    if used.all():
        return mesh, np.zeros(0, dtype=np.int64)
    index = np.cumsum(used) - 1
    clean = replace(
        mesh,
        points=mesh.points[used],
        node_number=mesh.node_number[used],
        cells={kind: index[rows] for kind, rows in mesh.cells.items()},
        node_sets={name: index[nodes[used[nodes]]] for name, nodes in mesh.node_sets.items()},
    )
    return clean, mesh.node_number[~used]


def reoriented(mesh: Mesh, mirrored: dict[str, Ints]) -> Mesh:
    """The given cells turned inside out; their local faces are renumbered with them."""
    cells, face_sets = dict(mesh.cells), {name: dict(rows) for name, rows in mesh.face_sets.items()}
    for kind, chosen in mirrored.items():
        nodes, faces = mirror(kind)
        rows = cells[kind].copy()
        rows[chosen] = rows[chosen][:, nodes]
        cells[kind] = rows
        flipped = np.zeros(len(rows), dtype=bool)
        flipped[chosen] = True
        for parts in face_sets.values():
            if kind in parts:
                part = parts[kind].copy()
                turned = flipped[part[:, 0]]
                part[turned, 1] = faces[part[turned, 1]]
                parts[kind] = part
    return replace(mesh, cells=cells, face_sets=face_sets)


def straightened(mesh: Mesh, chosen: dict[str, Ints]) -> tuple[Mesh, float]:
    """The edges of the given cells made straight; the longest way of a mid-node, over its edge."""
    points, farthest = mesh.points.copy(), 0.0
    for kind, cells in chosen.items():
        edges = np.array(ELEMENTS[kind].edges)
        rows = mesh.cells[kind][cells]
        a, b = mesh.points[rows[:, edges[:, 0]]], mesh.points[rows[:, edges[:, 1]]]
        middle, mid = 0.5 * (a + b), rows[:, edges[:, 2]]
        way = np.linalg.norm(middle - mesh.points[mid], axis=2)
        length = np.linalg.norm(b - a, axis=2)
        farthest = max(farthest, float((way / np.where(length > 0, length, np.inf)).max()))
        points[mid.ravel()] = middle.reshape(-1, 3)
    return replace(mesh, points=points), farthest
