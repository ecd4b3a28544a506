"""Shells as they are drawn: both faces of their thickness, the rim between them, and stresses there."""

from __future__ import annotations

import numpy as np

from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.strains import directors
from flexmbs.fe.skin import SPLIT
from flexmbs.fe.stress import stress_modes
from flexmbs.fe.thermal import expansion_stress
from flexmbs.modaldata import ModalData
from flexmbs.post.modals import materials_of
from flexmbs.post.record import Floats
from flexmbs.post.visuals import Ints, TriMesh
from flexmbs.spatial import skew

#: corners and mid-nodes of a cell in the order of its rim
RIM = {
    3: (0, 1, 2),
    4: (0, 1, 2, 3),
    6: (0, 3, 1, 4, 2, 5),
    8: (0, 4, 1, 5, 2, 6, 3, 7),
    9: (0, 4, 1, 5, 2, 6, 3, 7),
}


def shell_faces(mesh: Mesh) -> tuple[Ints, Floats, Ints, Ints]:
    """Points on both faces: their nodes (n,), offsets from them (2, n, 3) of bottom and top; triangles, rim
    edges.

    A node has as many points as it has normals: one on a smooth surface, several at a fold.
    """
    assert mesh.shell is not None
    kinds = [kind for kind in mesh.cells if kind in SHELLS and len(mesh.cells[kind])]
    normals = directors(mesh, kinds)
    node = np.concatenate([mesh.cells[kind].ravel() for kind in kinds])
    D = np.concatenate([normals[kind].reshape(-1, 3) for kind in kinds])
    t, e = np.array([[item.thickness, item.offset] for item in mesh.shell.sections]).T
    section = np.concatenate([np.repeat(mesh.shell.index[kind], ELEMENTS[kind].n_nodes) for kind in kinds])
    low, high = (e - 0.5 * t)[section], (e + 0.5 * t)[section]
    key = np.column_stack([node, np.round(D, 6), low, high])
    _, first, label = np.unique(key, axis=0, return_index=True, return_inverse=True)
    offsets = np.stack([(z[:, None] * D)[first] for z in (low, high)])
    triangles, rim, start = [], [], 0
    for kind in kinds:
        rows: Ints = label.ravel()[start : start + mesh.cells[kind].size].reshape(mesh.cells[kind].shape)
        start += mesh.cells[kind].size
        triangles += [rows[:, corners] for corners in SPLIT[rows.shape[1]]]
        around = rows[:, RIM[rows.shape[1]]]
        rim.append(np.stack([around, np.roll(around, -1, axis=1)], axis=2).reshape(-1, 2))
    return node[first], offsets, np.concatenate(triangles), np.concatenate(rim)


def shell_surface(modal: ModalData) -> tuple[TriMesh, Floats, Ints]:
    """Surface of the shells, its modes (mode, point, xyz), bottom first, and the node of every point."""
    node, offsets, triangles, rim = shell_faces(modal.mesh)
    n = len(node)
    points = (modal.mesh.points[node] + offsets).reshape(-1, 3)
    Phi = np.tile(modal.Phi[:, node], (1, 2, 1))
    if modal.Psi is not None:
        arms, turns = offsets.reshape(-1, 3), np.tile(modal.Psi[:, node], (1, 2, 1))
        Phi = Phi - np.einsum("nij,anj->ani", skew(arms), turns)
    edge, first, count = np.unique(np.sort(rim, axis=1), axis=0, return_index=True, return_counts=True)
    free = rim[first[count == 1]]  # as their cell goes round
    wall = np.concatenate(
        [
            np.column_stack([free, free[:, 1:] + n]),
            np.column_stack([free[:, :1], free[:, 1:] + n, free[:, :1] + n]),
        ]
    )
    every = np.concatenate([triangles[:, ::-1], triangles + n, wall])
    mesh = TriMesh(points, every, np.concatenate([edge, edge + n]))
    return mesh, np.ascontiguousarray(Phi), np.tile(node, 2)


def face_stress(modal: ModalData, fields: Floats, free: Floats | None = None) -> Floats | None:
    """Stress (m, point, 6) of fields (m, node, 6) at the points of the surface, body axes (F53).

    None where the material is not known. free (n_cells, 3): strain without stress, of the first field.
    """
    known = all({"E", "nu", "rho"} <= set(item) for item in modal.materials.values()) and modal.materials
    if modal.mesh.shell is None or not known:
        return None
    node, _, _, _ = shell_faces(modal.mesh)
    U = fields.reshape(len(fields), 6 * modal.mesh.n_nodes).T
    materials, found = materials_of(modal), []
    for face in ("bottom", "top"):
        sigma = stress_modes(modal.mesh, materials, U, face=face)
        if free is not None:
            sigma[0] -= expansion_stress(modal.mesh, materials, free, "nodes", face)
        found.append(sigma[:, node])
    return np.concatenate(found, axis=1)
