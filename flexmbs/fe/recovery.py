"""How far the stress of a mesh is from that of the body: recovered stress less that of the cells (F52a).

The stress of displacement cells jumps from cell to cell and leaves forces on free surfaces. The mean over the
cells at each node, without what acts on the free surface there, is closer to the truth, and the energy of the
difference is that of the error (Zienkiewicz and Zhu 1987).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.assembly import ElementGroup, elasticity, element_groups, element_scratch, stiffness_table
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import PAIRS, Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces import mapped
from flexmbs.fe.quadrature import reference_mass, stress_rule
from flexmbs.fe.skin import skin_faces, triangles_of_faces
from flexmbs.fe.stress import extrapolation
from flexmbs.fe.stress_loops import jump_loop, stress_loop
from flexmbs.fe.turning_assembly import solid_part

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COLUMNS = 8  # fields at once
#: a direction is normal to the skin at a node if normals of its faces along it have this share of the most
NORMAL = 0.1
#: rows of recovered stresses that are freed of surface forces at once
ROWS = 2**14


@dataclass(frozen=True)
class Recovery:
    """What recovered stresses of a mesh are made of.

    slots : cell type -> (n_cells, n) row at each node: one for each material there, as stress jumps between
        materials;  count : cells at each row
    free : rows on the free surface;  tangent : (len(free), 3, 3) projectors onto what may carry stress there
    """

    mesh: Mesh
    groups: list[ElementGroup]
    C: Floats
    material: dict[str, Ints]
    slots: dict[str, Ints]
    count: Floats
    free: Ints
    tangent: Floats


def recovery(mesh: Mesh, materials: Mapping[str, Material], loaded: Ints) -> Recovery:
    """Of the solids of a mesh; `loaded` are nodes where forces may act on the surface."""
    part = solid_part(mesh)
    used, index = material_of_cells(mesh, materials)
    material = {kind: index[kind] for kind in part.cells}
    C = np.array([item.C_mat for item in used]).reshape(-1, 6, 6)
    slots, node = _slots(part, {kind: _alike(C)[material[kind]] for kind in part.cells})
    count = np.zeros(len(node))
    for rows in slots.values():
        count += np.bincount(rows.ravel(), minlength=len(node))
    nodes, tangent = _tangents(part, loaded)
    place = np.full(mesh.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    free = np.flatnonzero(place[node] >= 0)
    count = np.maximum(count, 1.0)  # nodes of no solid
    return Recovery(mesh, element_groups(part), C, material, slots, count, free, tangent[place[node[free]]])


def _slots(mesh: Mesh, label: Mapping[str, Ints]) -> tuple[dict[str, Ints], Ints]:
    """Rows of the nodes of every cell, one for each label at a node, and the node of each row."""
    most = max(int(part.max()) for part in label.values())
    if most == 0:
        return dict(mesh.cells), np.arange(mesh.n_nodes)
    keys = {kind: label[kind][:, None] * mesh.n_nodes + rows for kind, rows in mesh.cells.items()}
    used = np.zeros((most + 1) * mesh.n_nodes, dtype=bool)
    for key in keys.values():
        used[key] = True
    row = np.cumsum(used) - 1
    return {kind: row[key] for kind, key in keys.items()}, np.flatnonzero(used) % mesh.n_nodes


def _alike(C: Floats) -> Ints:
    """A number for each material; one material in several axes is one, by what turning leaves as it is."""
    traces = (
        C[:, :3, :3].sum(axis=(1, 2)),
        np.trace(C, axis1=1, axis2=2) + np.trace(C[:, 3:, 3:], axis1=1, axis2=2),
    )
    both = np.stack(traces, axis=1)
    return np.asarray(
        np.unique(np.round(both / np.abs(both).max(axis=0), 9), axis=0, return_inverse=True)[1]
    ).ravel()


def _tangents(mesh: Mesh, loaded: Ints) -> tuple[Ints, Floats]:
    """Nodes of the skin that are not loaded, and projectors (n, 3, 3) without the normals of their faces."""
    faces = [
        mesh.cells[kind][rows[rows[:, 1] == local, 0]][:, list(face)]
        for kind, rows in skin_faces(mesh).items()
        for local, face in enumerate(ELEMENTS[kind].faces)
    ]
    triangles = triangles_of_faces(faces)
    a, b, c = (mesh.points[triangles[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    sums = np.zeros((mesh.n_nodes, 6))
    for r, (i, j) in enumerate(PAIRS):
        value = np.repeat(n[:, i] * n[:, j], 3)
        sums[:, r] = np.bincount(triangles.ravel(), weights=value, minlength=mesh.n_nodes)
    bare = np.ones(mesh.n_nodes, dtype=bool)
    bare[loaded] = False
    nodes = np.flatnonzero(bare & sums.any(axis=1))
    value, vector = np.linalg.eigh(sums[nodes][:, [[0, 3, 5], [3, 1, 4], [5, 4, 2]]])
    along = vector * (value <= NORMAL * value[:, 2:])[:, None, :]
    return nodes, along @ vector.swapaxes(1, 2)


@cache
def _factor(kind: str) -> Floats:
    return np.asarray(np.linalg.cholesky(reference_mass(kind)), dtype=float)


def jump_energy(found: Recovery, U: Floats) -> Floats:
    """Twice the energy (m,) of recovered stress less that of the cells, of fields U (n_dof, m)."""
    mesh, elastic, compliance = found.mesh, elasticity(found.C), np.linalg.inv(found.C)
    nodal = U.reshape(mesh.n_nodes, len(U) // mesh.n_nodes, U.shape[1])[:, :3]
    energy = np.zeros(U.shape[1])
    for start in range(0, U.shape[1], COLUMNS):
        fields = mapped.kept(np.ascontiguousarray(nodal[:, :, start : start + COLUMNS]))
        m = fields.shape[2]
        total = mapped.room((len(found.count), 6, m))
        for group in found.groups:
            solids, rule, room, scratch = _arguments(found, group, m)
            spreading = extrapolation(group.kind), found.slots[group.kind]
            stress_loop(solids, rule, elastic, fields, spreading, room, scratch, total)
        total /= found.count[:, None, None]
        _release(found, total)
        for group in found.groups:
            solids, rule, room, scratch = _arguments(found, group, m)
            n, kind = ELEMENTS[group.kind].n_nodes, group.kind
            tables = extrapolation(kind), _factor(kind), compliance, found.slots[kind]
            more = (*scratch, np.empty((n, 6, m)), np.empty((6, m)))
            jump_loop(solids, rule, elastic, (fields, total), tables, room, more, energy[start : start + m])
    return energy


def _arguments(found: Recovery, group: ElementGroup, m: int) -> tuple[Any, ...]:
    """What both loops take: cells, rule, room of an element, room of its fields."""
    kind, rule = group.kind, stress_rule(group.kind)
    element = ELEMENTS[kind]
    solids = found.mesh.cells[kind], group.which, found.mesh.points, found.material[kind]
    room = element_scratch(kind, rule, group.straight)
    Ue = np.empty((element.n_nodes + len(element.inner), 3, m))
    return solids, (stiffness_table(kind, rule), rule.weights), room, (Ue, np.empty((6, m)), np.empty((6, m)))


def _release(found: Recovery, total: Floats) -> None:
    """Take what acts on the free surface from recovered stresses (rows, 6, m). Writes: total."""
    i, j = np.array(PAIRS).T
    for start in range(0, len(found.free), ROWS):
        rows, P = found.free[start : start + ROWS], found.tangent[start : start + ROWS]
        # (P s P)_ij = P_ia P_jb s_ab with s_ab symmetric
        T = P[:, i][:, :, i] * P[:, j][:, :, j] + (P[:, i][:, :, j] * P[:, j][:, :, i]) * (i != j)
        total[rows] = T @ total[rows]
