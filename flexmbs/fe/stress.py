"""Displacement modes -> stress modes (F53); stress of unit loads -> geometric stiffness (F17)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import elasticity, element_groups, element_scratch, stiffness_table
from flexmbs.fe.beam_assembly import beam_geometric_stiffness, section_forces
from flexmbs.fe.elements import ELEMENTS, LINEAR
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces import mapped
from flexmbs.fe.quadrature import stiffness_rule, stress_rule
from flexmbs.fe.shells.assembly import add_shell_stress, shell_geometric_stiffness, shell_kinds
from flexmbs.fe.stress_loops import geometric_loop, stress_loop
from flexmbs.fe.turning_assembly import solid_part

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Materials = Mapping[str, Material] | Material
Progress = Callable[[float, str], None]

CHUNK_BYTES = 2**24  # of products of mode gradients: large enough for BLAS, small enough for the cache


@cache
def extrapolation(kind: str) -> Floats:
    """(n_nodes, points): from the stress points to the nodes, by the linear element of the family."""
    element, rule = ELEMENTS[kind], stress_rule(kind)
    if len(rule.weights) == 1:
        return np.ones((element.n_nodes, 1))
    linear = ELEMENTS[LINEAR[element.family]]
    return linear.shape(element.ref_coords) @ np.linalg.pinv(linear.shape(rule.points))


def stress_modes(
    mesh: Mesh, materials: Materials, U: Floats, at: str = "nodes", face: str = "middle"
) -> Floats:
    """Stress of fields U (n_dof, m): (m, n_nodes, 6) or (m, n_cells, 6), xx yy zz xy yz zx (F53).

    At nodes: extrapolated from the points where it is best and averaged over the cells. At cells, in the
    order of `mesh.cells`: their mean. Beams: the mean over the section, N/A and V/A in body axes; bending and
    torsion are in `section_forces`. Shells: at a `face` of the section, top (the side of the normal),
    middle or bottom.
    """
    if at not in ("nodes", "cells"):
        raise InputError(Diagnostic("stress", "stress", f'"{at}"', "choices: nodes, cells, none"))
    by_set = {"": materials} if isinstance(materials, Material) else materials
    m = U.shape[1]
    total = mapped.room((mesh.n_nodes if at == "nodes" else mesh.n_cells, 6, m))
    if len(mesh.cells.get("beam2", ())):
        _beam_stress(mesh, by_set, U, at, total)
    if shell_kinds(mesh):
        add_shell_stress(mesh, by_set, U, at, face, total)
    if any(not ELEMENTS[kind].turns for kind in mesh.cells):
        _solid_stress(mesh, by_set, U, at, total)
    if at == "nodes":
        total /= mesh.cells_around()[:, None, None]
    by_mode = mapped.room((m, *total.shape[:2]))
    by_mode[...] = total.transpose(2, 0, 1)
    return np.asarray(by_mode)


def _elasticity(mesh: Mesh, materials: Mapping[str, Material]) -> tuple[Floats, dict[str, Ints]]:
    used, index = material_of_cells(mesh, materials)
    return np.array([item.C_mat for item in used]).reshape(-1, 6, 6), index


def _solid_stress(mesh: Mesh, materials: Mapping[str, Material], U: Floats, at: str, total: Floats) -> None:
    """Writes: total (rows, 6, m)."""
    C, mat = _elasticity(mesh, materials)
    elastic = elasticity(C)
    fields = mapped.kept(
        np.ascontiguousarray(U.reshape(mesh.n_nodes, len(U) // mesh.n_nodes, U.shape[1])[:, :3])
    )
    for group in element_groups(solid_part(mesh)):
        kind, rule = group.kind, stress_rule(group.kind)
        rows = mesh.cells[kind]
        if at == "nodes":
            spread, targets = extrapolation(kind), rows
        else:
            spread = (rule.weights / rule.weights.sum())[None, :]
            targets = (mesh.first_cell(kind) + np.arange(len(rows)))[:, None]
        room, m = element_scratch(kind, rule, group.straight), fields.shape[2]
        solids = rows, group.which, mesh.points, mat[kind]
        table = stiffness_table(kind, rule), rule.weights
        scratch = _values(kind, m), np.empty((6, m)), np.empty((6, m))
        stress_loop(solids, table, elastic, fields, (spread, targets), room, scratch, total)


def _values(kind: str, m: int) -> Floats:
    """Room for fields at the nodes of an element and for the coefficients of its inner functions."""
    return np.empty((ELEMENTS[kind].n_nodes + len(ELEMENTS[kind].inner), 3, m))


def _beam_stress(mesh: Mesh, materials: Mapping[str, Material], U: Floats, at: str, total: Floats) -> None:
    """Mean stress of the section at both ends of every beam. Writes: total."""
    assert mesh.beam is not None
    ends = section_forces(mesh, materials, U)[..., :3] / mesh.beam.values("A")[:, None, None]
    R = mesh.beam.axes
    for end in range(2):
        traction = np.einsum("mea,eak->mek", ends[:, :, end], R)
        x, N = R[:, 0], ends[:, :, end, 0]
        # sigma = t x^T + x t^T - N x x^T with the traction t on the face x
        sigma = np.einsum("mei,ej->meij", traction, x)
        sigma = sigma + sigma.transpose(0, 1, 3, 2) - np.einsum("me,ei,ej->meij", N, x, x)
        parts = np.stack(
            [sigma[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))], axis=-1
        )
        values = parts.transpose(1, 2, 0)
        if at == "nodes":
            np.add.at(total, mesh.cells["beam2"][:, end], values)
        else:
            start = mesh.first_cell("beam2")
            total[start : start + len(values)] += 0.5 * values


def geometric_stiffness(
    mesh: Mesh, materials: Materials, U_load: Floats, Phi: Floats, progress: Progress | None = None
) -> Floats:
    """K_sigma,c of the stress of every load, on the modes: (n_load, nf, nf), tension positive (F17).

    U_load (n_dof, n_load): static displacements of the unit loads; Phi (n_dof, nf): modes. One pass over the
    elements for all loads; no matrix of the size of the mesh is formed.
    """
    by_set = {"": materials} if isinstance(materials, Material) else materials
    n_load, nf = U_load.shape[1], Phi.shape[1]
    K_geo = np.zeros((n_load, nf, nf))
    if len(mesh.cells.get("beam2", ())):
        K_geo += beam_geometric_stiffness(mesh, by_set, U_load, Phi)
    if shell_kinds(mesh):
        K_geo += shell_geometric_stiffness(mesh, by_set, U_load, Phi)
    total = np.zeros((n_load, nf * (nf + 1) // 2))
    moving = U_load.any(axis=0)
    if any(not ELEMENTS[kind].turns for kind in mesh.cells) and moving.any() and nf:
        part = np.zeros((int(moving.sum()), total.shape[1]))
        _add_geometric(mesh, by_set, U_load[:, moving], Phi, part, progress or (lambda fraction, text: None))
        total[moving] = part
    a, b = np.triu_indices(nf)
    solid = np.zeros((n_load, nf, nf))
    solid[:, a, b] = total
    solid[:, b, a] = total
    return K_geo + solid


def _add_geometric(
    mesh: Mesh, materials: Mapping[str, Material], U_load: Floats, Phi: Floats, total: Floats, tell: Progress
) -> None:
    """Writes: total (n_load, pairs of modes a <= b)."""
    C, mat = _elasticity(mesh, materials)
    elastic = elasticity(C)
    n_load, pairs = total.shape
    loads = np.ascontiguousarray(U_load.reshape(mesh.n_nodes, -1, n_load)[:, :3])
    modes = np.ascontiguousarray(Phi.reshape(mesh.n_nodes, -1, Phi.shape[1])[:, :3])
    done, part = 0, solid_part(mesh)
    for group in element_groups(part):
        kind, rule = group.kind, stiffness_rule(group.kind, group.straight)
        n_p = len(rule.weights)
        dN, room = stiffness_table(kind, rule), element_scratch(kind, rule, group.straight)
        fields = (_values(kind, n_load), _values(kind, modes.shape[2]))
        eps, sig = np.empty((6, n_load)), np.empty((6, n_load))
        size = max(1, min(len(group.which), CHUNK_BYTES // (48 * n_p * max(pairs, n_load))))
        stresses, products = np.empty((size, n_p, 6, n_load)), np.empty((size, n_p, 6, pairs))
        H = np.empty((3, 3, modes.shape[2]))
        for at in range(0, len(group.which), size):
            which = group.which[at : at + size]
            solids, scratch = (mesh.cells[kind], which, mesh.points, mat[kind]), (*fields, eps, sig, H)
            table = dN, rule.weights
            geometric_loop(solids, table, elastic, (loads, modes), room, scratch, stresses, products)
            used = len(which)
            total += stresses[:used].reshape(-1, n_load).T @ products[:used].reshape(-1, pairs)
            done += used
            tell(done / part.n_cells, "geometric stiffness")
