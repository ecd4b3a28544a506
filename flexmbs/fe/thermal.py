"""Changes of temperature -> nodal forces, and the stress that they take from a static state."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import element_groups, element_scratch, stiffness_table
from flexmbs.fe.beam_assembly import beam_groups
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import stiffness_rule
from flexmbs.fe.shells.assembly import shell_chunks, shell_kinds, thermal_forces
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
            nodal = np.einsum("epiq,epi->eq", chunk.rows[:, :, :6], weighted, optimize=True)
            np.add.at(F.reshape(-1), chunk.dofs, nodal)
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


def expansion_stress(mesh: Mesh, materials: Mapping[str, Material], change: Change, at: str) -> Floats:
    """Stress (node or cell, 6) that free expansion takes away, of solids; at nodes the mean over the
    cells."""
    total, count, first = (
        np.zeros((mesh.n_nodes if at == "nodes" else mesh.n_cells, 6)),
        np.zeros(mesh.n_nodes),
        0,
    )
    for kind, rows in mesh.cells.items():
        np.add.at(count, rows.ravel(), 1.0)
        if not ELEMENTS[kind].turns:
            sigma = initial_stress(mesh, materials, change, kind)
            if at == "nodes":
                np.add.at(total, rows, sigma[:, None])
            else:
                total[first : first + len(rows)] = sigma
        first += len(rows)
    return total / np.maximum(count, 1.0)[:, None] if at == "nodes" else total
