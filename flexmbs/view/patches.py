"""The skin of a mesh as faces that a person sees: patches between sharp edges, with kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.assembly import shell_kinds
from flexmbs.fe.skin import CORNERS_OF_FACE, skin_faces
from flexmbs.view.places import FREE, kind_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARP = 40.0  # degrees between facets; where so many patches arise, twice that, and so on
LEAST_SHARP = 2.0
MOST_PATCHES = 1500
MOST_PIECES = 12  # of a free form


@dataclass(frozen=True)
class Patch:
    """Part of the skin: faces as rows of nodes of one kind each, all of their nodes, what it looks like."""

    faces: list[Ints]
    nodes: Ints
    kind: str


def surface_of(mesh: Mesh) -> list[Ints]:
    """Faces that one sees: the skin of solids, and shells."""
    faces = [rows for rows in mesh.face_nodes(skin_faces(mesh)) if len(rows)]
    faces += [mesh.cells[kind] for kind in shell_kinds(mesh) if len(mesh.cells[kind])]
    if not faces:
        what, remedy = "has no faces to point at", "name sets of its nodes in a recipe"
        raise InputError(Diagnostic("view.faces", mesh.source, what, remedy))
    return faces


def patches_of(mesh: Mesh, sharp: float = SHARP) -> list[Patch]:
    """Patches between edges where the skin bends by more than `sharp` degrees, the largest first."""
    faces, size = surface_of(mesh), size_of(mesh)
    found = _divided(mesh.points, faces, sharp, size)
    while len(found) > MOST_PATCHES and sharp < 90.0:
        sharp *= 2.0
        found = _divided(mesh.points, faces, sharp, size)
    found = [piece for patch in found for piece in _known_pieces(mesh.points, patch, sharp, size)]
    return sorted(found, key=lambda patch: -len(patch.nodes))


def _known_pieces(points: Floats, patch: Patch, sharp: float, size: float) -> list[Patch]:
    """A free form that falls into a few planes and the like at smaller angles, as these."""
    while patch.kind == FREE and (sharp := 0.5 * sharp) > LEAST_SHARP:
        pieces = _divided(points, patch.faces, sharp, size)
        if len(pieces) > MOST_PIECES:
            break
        if any(piece.kind != FREE for piece in pieces):
            return [known for piece in pieces for known in _known_pieces(points, piece, sharp, size)]
    return [patch]


def _divided(points: Floats, faces: list[Ints], sharp: float, size: float) -> list[Patch]:
    label = _labels(points, faces, np.cos(np.radians(sharp)))
    starts = np.cumsum([0] + [len(rows) for rows in faces])
    numbers = [label[first : first + len(rows)] for first, rows in zip(starts, faces, strict=False)]
    found = []
    for k in range(label.max() + 1):
        own = [rows[number == k] for rows, number in zip(faces, numbers, strict=True)]
        own = [rows for rows in own if len(rows)]
        nodes = np.unique(np.concatenate([rows.ravel() for rows in own]))
        found.append(Patch(own, nodes, kind_of(points[nodes], size).name))
    return found


def _labels(points: Floats, faces: list[Ints], least: float) -> Ints:
    """Number of the patch of each face: neighbours across an edge belong together where it is not sharp."""
    normals, edges, owner, count = [], [], [], 0
    for rows in faces:
        corners = rows[:, : CORNERS_OF_FACE[rows.shape[1]]]
        p = points[corners]
        across = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
        if corners.shape[1] == 4:
            across = np.cross(p[:, 2] - p[:, 0], p[:, 3] - p[:, 1])
        normals.append(across / np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300))
        for k in range(corners.shape[1]):
            edges.append(np.sort(corners[:, [k, (k + 1) % corners.shape[1]]], axis=1))
            owner.append(count + np.arange(len(rows)))
        count += len(rows)
    normal, edge, face = np.concatenate(normals), np.concatenate(edges), np.concatenate(owner)
    order = np.lexsort((edge[:, 1], edge[:, 0]))
    edge, face = edge[order], face[order]
    same = np.flatnonzero((edge[1:] == edge[:-1]).all(axis=1))
    a, b = face[same], face[same + 1]
    smooth = np.einsum("ei,ei->e", normal[a], normal[b]) >= least
    graph = coo_array((np.ones(smooth.sum(), bool), (a[smooth], b[smooth])), shape=(count, count))
    return connected_components(graph, directed=False)[1].astype(np.int64)
