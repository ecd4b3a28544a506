"""Faces of a mesh: its skin, faces between given nodes, and their split into triangles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS

if TYPE_CHECKING:
    from flexmbs.fe.mesh import Mesh

Ints = NDArray[np.int64]

CORNERS_OF_FACE = {3: 3, 4: 4, 6: 3, 8: 4, 9: 4}
SPLIT = {
    3: [(0, 1, 2)],
    4: [(0, 1, 2), (0, 2, 3)],
    6: [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)],
    8: [(0, 4, 7), (4, 1, 5), (5, 2, 6), (6, 3, 7), (4, 5, 6), (4, 6, 7)],
    9: [(0, 4, 8), (4, 1, 8), (1, 5, 8), (5, 2, 8), (2, 6, 8), (6, 3, 8), (3, 7, 8), (7, 0, 8)],
}


def face_table(mesh: Mesh) -> tuple[Ints, Ints, Ints, list[str]]:
    """All faces of all solid cells.

    Returns keys (n, 4): sorted corner nodes, -1 in front for triangles; kind index, cell, local face (n,) as
    columns of one (n, 3) array; number of corners (n,); the list of cell types.
    """
    keys, where, corners = [], [], []
    kinds = [kind for kind in mesh.cells if ELEMENTS[kind].faces]
    for number, kind in enumerate(kinds):
        rows = mesh.cells[kind]
        for local, nodes in enumerate(ELEMENTS[kind].faces):
            n_corners = CORNERS_OF_FACE[len(nodes)]
            key = np.full((len(rows), 4), -1, dtype=np.int64)
            key[:, 4 - n_corners :] = np.sort(rows[:, list(nodes[:n_corners])], axis=1)
            keys.append(key)
            place = np.empty((len(rows), 3), dtype=np.int64)
            place[:, 0], place[:, 1], place[:, 2] = number, np.arange(len(rows)), local
            where.append(place)
            corners.append(np.full(len(rows), n_corners, dtype=np.int64))
    if not keys:
        none = np.zeros(0, dtype=np.int64)
        return none.reshape(0, 4), none.reshape(0, 3), none, kinds
    return np.concatenate(keys), np.concatenate(where), np.concatenate(corners), kinds


def group_rows(keys: Ints) -> tuple[Ints, Ints]:
    """Group label per row of equal rows, and the size of each group."""
    if not len(keys):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    packed = packed_columns(keys)
    order = np.lexsort(packed) if len(packed) > 1 else np.argsort(packed[0])
    new = np.ones(len(keys), dtype=bool)
    new[1:] = False
    for column in packed:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    label = np.empty(len(keys), dtype=np.int64)
    label[order] = np.cumsum(new) - 1
    return label, np.bincount(label)


def packed_columns(keys: Ints) -> list[Ints]:
    """Columns joined by twos and more as far as they fit into 64 bits: sorting fewer columns is faster."""
    base = int(keys.max()) + 2  # keys start at -1
    per_column = max(int(63 / np.log2(max(base, 2))), 1)
    packed = []
    for start in range(0, keys.shape[1], per_column):
        key = np.zeros(len(keys), dtype=np.int64)
        for column in keys[:, start : start + per_column].T:
            key = key * base + (column + 1)
        packed.append(key)
    return packed


def as_face_set(where: Ints, kinds: list[str]) -> dict[str, Ints]:
    """Rows (kind index, cell, local face) -> cell type -> (cell, local face)."""
    result = {}
    for number, kind in enumerate(kinds):
        rows = where[where[:, 0] == number, 1:]
        if len(rows):
            result[kind] = np.ascontiguousarray(rows)
    return result


def skin_faces(mesh: Mesh) -> dict[str, Ints]:
    """Faces that belong to one cell only, cell type -> (cell, local face)."""
    keys, where, _, kinds = face_table(mesh)
    label, count = group_rows(keys)
    return as_face_set(where[count[label] == 1], kinds) if len(keys) else {}


def faces_within(mesh: Mesh, nodes: Ints) -> dict[str, Ints]:
    """Skin faces all of whose corners are among the nodes; how a node set becomes a surface."""
    inside = np.zeros(mesh.n_nodes, dtype=bool)
    inside[nodes] = True
    result = {}
    for kind, rows in skin_faces(mesh).items():
        keep = np.zeros(len(rows), dtype=bool)
        for local, face in enumerate(ELEMENTS[kind].faces):
            corners = list(face[: CORNERS_OF_FACE[len(face)]])
            chosen = np.flatnonzero(rows[:, 1] == local)
            keep[chosen] = inside[mesh.cells[kind][rows[chosen, 0]][:, corners]].all(axis=1)
        if keep.any():
            result[kind] = rows[keep]
    return result


def match_faces(mesh: Mesh, corner_rows: list[Ints]) -> Ints:
    """Rows (kind index, cell, local face) of the faces with the given corner nodes; -1 where there is none.

    `corner_rows` are arrays of 3 or 4 columns. Matched by corners, so that quadratic faces cannot be lost.
    A face between two cells gives its first cell.
    """
    if not any(len(rows) for rows in corner_rows):
        return np.zeros((0, 3), dtype=np.int64)
    keys, where, _, _ = face_table(mesh)
    wanted = [np.full((len(rows), 4), -1, dtype=np.int64) for rows in corner_rows]
    for key, rows in zip(wanted, corner_rows, strict=True):
        key[:, 4 - rows.shape[1] :] = np.sort(rows, axis=1)
    asked = np.concatenate(wanted) if wanted else np.zeros((0, 4), dtype=np.int64)
    label, count = group_rows(np.concatenate([keys, asked]))
    first = np.full(len(count), -1, dtype=np.int64)
    first[label[: len(keys)][::-1]] = np.arange(len(keys), dtype=np.int64)[::-1]
    hit = first[label[len(keys) :]]
    none = np.full((1, 3), -1, dtype=np.int64)
    return np.concatenate([where, none])[hit]


def triangles_of_faces(faces: list[Ints]) -> Ints:
    """Triangles (tri, corner) of faces given by their node rows."""
    parts = [nodes[:, corners] for nodes in faces for corners in SPLIT[nodes.shape[1]]]
    return np.concatenate(parts) if parts else np.zeros((0, 3), dtype=np.int64)
