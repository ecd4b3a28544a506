"""Changes of temperature -> nodal forces, and the stress that they take from a static state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import element_groups, element_scratch, stiffness_table
from flexmbs.fe.beam_assembly import beam_groups
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import PAIRS, Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import stiffness_rule
from flexmbs.fe.shells.assembly import FACES, add_shell_expansion, shell_chunks, shell_kinds, thermal_forces
from flexmbs.fe.stress_loops import initial_loop
from flexmbs.fe.turning_assembly import solid_part

Floats = NDArray[np.float64]
#: change of temperature [K] of every cell, by cell type
Change = Mapping[str, Floats]


def warmed(mesh: Mesh, change: float, name: str = "") -> dict[str, Floats]:
    """The same change in all cells, or in those of a cell set."""
    found = {kind: np.zeros(len(rows)) for kind, rows in mesh.cells.items()}
    if not name:
        return {kind: values + change for kind, values in found.items()}
    mesh.require_set(name)
    if name not in mesh.cell_sets:
        what = f'"{name}" is no set of cells'
        raise InputError(Diagnostic("recipe.load", mesh.source or "mesh", what, "temperatures need cells"))
    for kind, cells in mesh.cell_sets[name].items():
        found[kind][cells] = change
    return found


def initial_stress(mesh: Mesh, materials: Mapping[str, Material], change: Change, kind: str) -> Floats:
    """Stress (cells, 6) that free expansion takes away: C times expansion times change."""
    used, index = material_of_cells(mesh, materials)
    unit = np.array([item.C_mat[:, :3].sum(axis=1) * item.expansion for item in used])
    return np.ascontiguousarray(unit[index[kind]] * change[kind][:, None])


def thermal_loads(mesh: Mesh, materials: Mapping[str, Material], change: Change, n_per_node: int) -> Floats:
    """Nodal forces (n_dof,) that bring about the free expansion: int B^T C eps."""
    F = np.zeros((mesh.n_nodes, n_per_node))
    solids = solid_part(mesh)
    if solids.n_cells:
        F[:, :3] += _of_solids(solids, materials, change)
    if len(mesh.cells.get("beam2", ())):
        for group in beam_groups(mesh, materials):
            force = group.material.expansion * change["beam2"][group.which] * group.elasticity[0]
            local = np.zeros((len(force), 12))
            local[:, 6] = force * group.beam.section.A
            local[:, 0] = -local[:, 6]
            np.add.at(F.reshape(-1), group.dofs, np.einsum("emn,em->en", group.turn, local))
    if shell_kinds(mesh):
        for chunk in shell_chunks(mesh, materials):
            forces = thermal_forces(chunk) * change[chunk.kind][chunk.which][:, None, None]
            weighted = forces * chunk.points.area[..., None]
            np.add.at(F.reshape(-1), chunk.dofs, chunk.nodal(weighted))
    return F.ravel()


def _of_solids(mesh: Mesh, materials: Mapping[str, Material], change: Change) -> Floats:
    F = np.zeros((mesh.n_nodes, 3))
    for group in element_groups(mesh):
        kind, rule = group.kind, stiffness_rule(group.kind, group.straight)
        initial_loop(
            mesh.cells[kind], group.which, mesh.points, stiffness_table(kind, rule), rule.weights,
            initial_stress(mesh, materials, change, kind), element_scratch(kind, rule, group.straight), F,
        )  # fmt: skip
    return F


def none_of(mesh: Mesh) -> dict[str, Floats]:
    """No change anywhere."""
    return {kind: np.zeros(len(rows)) for kind, rows in mesh.cells.items() if kind in ELEMENTS}


def free_strain(mesh: Mesh, materials: Mapping[str, Material], change: Change) -> Floats:
    """Strain (n_cells, 3) that the change would bring about at the bottom, middle and top of every cell, were
    it free: in a cell of one material three times the same."""
    used, index = material_of_cells(mesh, materials)
    expansion = np.array([item.expansion for item in used])
    parts = []
    for kind in mesh.cells:
        own = np.repeat(expansion[index[kind]][:, None], len(FACES), axis=1)
        for k, section in enumerate(mesh.shell.sections if mesh.shell and kind in mesh.shell.index else ()):
            if section.layers:
                faces = [section.layers[section.layer_at(face)].material for face in FACES.values()]
                own[mesh.shell.index[kind] == k] = [item.expansion for item in faces]  # type: ignore[union-attr]
        parts.append(own * change[kind][:, None])
    return np.concatenate(parts)


def expansion_stress(
    mesh: Mesh, materials: Mapping[str, Material], free: Floats, at: str, face: str = "middle"
) -> Floats:
    """Stress (node or cell, 6) that a `free_strain` takes away, in the way of `stress_modes`."""
    total = np.zeros((mesh.n_nodes if at == "nodes" else mesh.n_cells, 6, 1))
    used, index = material_of_cells(mesh, materials)
    for kind, rows in mesh.cells.items():
        start, eps = mesh.first_cell(kind), free[mesh.first_cell(kind) :][: len(rows), 1]
        if kind == "beam2":
            x = mesh.beam.axes[:, 0]  # type: ignore[union-attr]
            E = np.array([item.E or 0.0 for item in used])  # beams are isotropic
            sigma = (E[index[kind]] * eps)[:, None] * np.stack([x[:, i] * x[:, j] for i, j in PAIRS], axis=1)
        elif ELEMENTS[kind].turns:
            continue
        else:
            sigma = np.array([item.C_mat[:, :3].sum(axis=1) for item in used])[index[kind]] * eps[:, None]
        if at == "nodes":
            np.add.at(total, rows, sigma[:, None, :, None])
        else:
            total[start : start + len(rows), :, 0] = sigma
    if shell_kinds(mesh):
        add_shell_expansion(mesh, materials, free, at, face, total)
    return total[..., 0] / mesh.cells_around()[:, None] if at == "nodes" else total[..., 0]
