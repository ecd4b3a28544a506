"""Stress of a static state -> its geometric stiffness as a matrix of the whole mesh (F17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.fe.assembly import elasticity, element_groups, element_scratch, stiffness_table
from flexmbs.fe.beam_assembly import beam_prestress
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.graph import expand_diagonal, node_graph
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import stiffness_rule
from flexmbs.fe.shells.assembly import shell_kinds, shell_prestress
from flexmbs.fe.stress_loops import prestress_loop
from flexmbs.fe.thermal import Change, initial_stress, none_of
from flexmbs.fe.turning_assembly import six, solid_part

Floats = NDArray[np.float64]


def prestress_matrix(
    mesh: Mesh, materials: Mapping[str, Material], U: Floats, change: Change | None = None
) -> Any:
    """K_sigma (n_dof, n_dof), csc, of the stress of the static displacements U (n_dof,), tension positive.

    change : of temperature [K], of every cell
    """
    change = none_of(mesh) if change is None else change
    per_node = len(U) // mesh.n_nodes
    total = sp.csc_array((len(U), len(U)))
    if any(not ELEMENTS[kind].turns and len(rows) for kind, rows in mesh.cells.items()):
        solids = _of_solids(solid_part(mesh), materials, change, U.reshape(mesh.n_nodes, per_node)[:, :3])
        total = total + (solids if per_node == 3 else six(solids))
    if len(mesh.cells.get("beam2", ())):
        total = total + beam_prestress(mesh, materials, U, change["beam2"])
    if shell_kinds(mesh):
        total = total + shell_prestress(mesh, materials, U, change)
    return sp.csc_array(total)


def _of_solids(mesh: Mesh, materials: Mapping[str, Material], change: Change, u: Floats) -> Any:
    """int sigma_ij d_i N_a d_j N_b, the same in x, y and z; inner functions carry stress, and move nothing
    here."""
    used, mat = material_of_cells(mesh, materials)
    elastic = elasticity(np.array([item.C_mat for item in used]).reshape(-1, 6, 6))
    graph = node_graph(mesh.n_nodes, mesh.cells)
    upper = np.zeros(graph.n_pairs)
    field = np.ascontiguousarray(u[:, :, None])
    for group in element_groups(mesh):
        kind, rule = group.kind, stiffness_rule(group.kind, group.straight)
        room = element_scratch(kind, rule, group.straight)
        values = np.empty((ELEMENTS[kind].n_nodes + len(ELEMENTS[kind].inner), 3, 1))
        solids = mesh.cells[kind], group.which, mesh.points, mat[kind]
        table = stiffness_table(kind, rule), rule.weights
        initial = initial_stress(mesh, materials, change, kind)
        scratch, goal = (values, np.empty((6, 1)), np.empty((6, 1))), (graph.loc[kind], upper)
        prestress_loop(solids, table, elastic, initial, field, room, scratch, goal)
    return expand_diagonal(graph, upper)
