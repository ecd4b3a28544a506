"""The skin of a mesh as faces that a person sees: patches between sharp edges, with kinds and places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.check.mesh import size_of
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sets import AXES, pick_nodes
from flexmbs.fe.shells.assembly import shell_kinds
from flexmbs.fe.skin import CORNERS_OF_FACE, skin_faces
from flexmbs.modal.bores import fitted_cylinder

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARP = 40.0  # degrees between facets; where so many patches arise, twice that, and so on
LEAST_SHARP = 2.0
MOST_PATCHES = 1500
MOST_PIECES = 12  # of a free form
FREE = "free form"
FLAT, ROUND = 1e-6, 1e-5  # of the size of the mesh; of the radius
DIGITS, NOTHING = 10, 1e-14  # of numbers in a recipe


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
        found.append(Patch(own, nodes, kind_of(points[nodes], size)[0]))
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


def kind_of(points: Floats, size: float) -> tuple[str, dict[str, Any]]:
    """What a patch is, in words, and the place of a recipe that holds its nodes; no place of other shapes."""
    centre = points.mean(axis=0)
    off = points - centre
    normal = np.linalg.svd(off, full_matrices=False)[2][2] if len(points) > 2 else np.zeros(3)
    if normal.any() and np.abs(off @ normal).max() <= FLAT * size:
        return "plane", _box(points) | {"plane": _plane(centre, normal)}
    found = fitted_cylinder(off) if len(points) >= 6 else None
    if found is not None:
        c, axis, r = found
        arm = off - c
        along = arm @ axis
        across = np.linalg.norm(arm - along[:, None] * axis, axis=1)
        if np.abs(across - r).max() <= ROUND * r and r < 10.0 * size:
            start = centre + c + along.min() * axis
            place = {"point": _round(start), "axis": _axis(axis), "radius": _round(r)}
            return f"cylinder r {1e3 * r:.4g} mm", {"cylinder": place | {"length": _round(np.ptp(along))}}
    sphere = np.linalg.lstsq(
        np.column_stack([2.0 * off, np.ones(len(off))]), (off**2).sum(axis=1), rcond=None
    )[0]
    r = float(np.sqrt(max(sphere[3] + sphere[:3] @ sphere[:3], 0.0)))
    if (
        r > 0.0
        and np.abs(np.linalg.norm(off - sphere[:3], axis=1) - r).max() <= ROUND * r
        and r < 10.0 * size
    ):
        return f"sphere r {1e3 * r:.4g} mm", {
            "sphere": {"center": _round(centre + sphere[:3]), "radius": _round(r)}
        }
    return FREE, {}


def place_of(mesh: Mesh, nodes: Ints) -> tuple[str, dict[str, Any]]:
    """Kind of a choice of nodes, and the place of a recipe that holds them and no others; node by node where
    no shape does."""
    kind, place = kind_of(mesh.points[nodes], size_of(mesh))
    if place and np.array_equal(pick_nodes(mesh, place), nodes):
        return kind, place
    return kind, {"nearest": _round(mesh.points[nodes])}


def _plane(centre: Floats, normal: Floats) -> dict[str, Any]:
    k = int(np.argmax(np.abs(normal)))
    if abs(normal[k]) > 1.0 - 1e-12:
        return {"xyz"[k]: _round(centre[k])}
    return {"point": _round(centre), "normal": _round(normal)}


def _box(points: Floats) -> dict[str, Any]:
    return {"box": [_round(points.min(axis=0)), _round(points.max(axis=0))]}


def _axis(axis: Floats) -> Any:
    for name, unit in AXES.items():
        if np.allclose(axis, unit, atol=1e-9, rtol=0):
            return name
    return _round(axis)


def _round(values: Any) -> Any:
    """Numbers as a person would write them."""
    given = np.asarray(values, dtype=float)
    return np.vectorize(lambda x: float(f"{x:.{DIGITS}g}") if abs(x) > NOTHING else 0.0)(given).tolist()
