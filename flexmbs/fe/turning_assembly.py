"""Meshes whose nodes turn: beams and shells, with solids beside them at shared nodes (F9, F2a-F7a).

All nodes have six dofs. At a node of solids only, the three rotations belong to no cell, have neither
stiffness nor inertia, and are left out with the supports. Cells that share a node share its displacement;
beams and shells its rotation too. So a plate that ends on a brick is hinged there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.fe.beam_assembly import beam_groups, beam_mass_form, beam_stiffness
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.graph import node_graph
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.materials import Material
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.assembly import shell_cells, shell_stiffness
from flexmbs.fe.shells.inertia import shell_inertia

Floats = NDArray[np.float64]
Materials = Mapping[str, Material]


def only(mesh: Mesh, kinds: list[str]) -> Mesh:
    """The same nodes and names with the cells of these types only."""

    def chosen(table: Mapping[str, Any]) -> dict[str, Any]:
        return {kind: table[kind] for kind in kinds if kind in table}

    return replace(
        mesh,
        cells=chosen(mesh.cells),
        cell_number=chosen(mesh.cell_number),
        face_sets={name: chosen(rows) for name, rows in mesh.face_sets.items()},
        cell_sets={name: chosen(rows) for name, rows in mesh.cell_sets.items()},
    )


def solid_part(mesh: Mesh) -> Mesh:
    """The mesh without its beams and shells."""
    return only(mesh, [kind for kind in mesh.cells if not ELEMENTS[kind].turns])


def shell_part(mesh: Mesh) -> Mesh:
    return only(mesh, [kind for kind in mesh.cells if kind in SHELLS])


def turning_matrices(
    mesh: Mesh, materials: Materials, mass: str, K_3: Any, Ms_3: Any
) -> tuple[Any, Any, MassForm]:
    """K_fe, M_fe (6 n_nodes, 6 n_nodes) and the mass form; K_3, Ms_3 of the solids, 3 dofs at a node and
    scalar."""
    n_dof = 6 * mesh.n_nodes
    scalar, whole, attached = Ms_3, None, Attached.none(n_dof)
    turning = np.zeros((mesh.n_nodes, 3, 3))  # inertia of the nodes
    shells = shell_part(mesh)
    if shells.n_cells:
        # names of other cells stay valid: materials are looked up in the whole mesh
        graph = node_graph(mesh.n_nodes, shells.cells)
        parts = list(shell_cells(mesh, materials))
        of_shells = shell_stiffness(mesh, graph, parts)
        Ms, turning, attached = shell_inertia(mesh, graph, parts, mass)
        with_solids = any(not ELEMENTS[kind].turns for kind in mesh.cells)
        K, scalar = (six(K_3) + of_shells, Ms_3 + Ms) if with_solids else (of_shells, Ms)
    else:
        K = six(K_3)
    if len(mesh.cells.get("beam2", ())):
        groups = list(beam_groups(mesh, materials))
        K = K + beam_stiffness(mesh, groups)
        form = beam_mass_form(mesh, groups, mass)
        attached = attached.join(form.attached)
        if form.Ms_kl is None:
            scalar = scalar + form.Ms
        else:
            whole = tuple(
                tuple(form.Ms_kl[k][ell] + placed(scalar, k, ell) for ell in range(3)) for k in range(3)
            )
    both = turning_nodes(turning).join(attached)
    if whole is None:
        M = nodal_mass(scalar, turning)
        form = MassForm(6, Ms=sp.csr_array(scalar), attached=both)
    else:
        M = sum((whole[k][k] for k in range(3)), start=nodal_mass(sp.csr_array(scalar.shape), turning))
        form = MassForm(6, Ms_kl=whole, attached=both)
    if len(attached.mass) + len(attached.inertia):
        M = M + attached.matrix()
    return K, sp.csc_array(M), form


def six(A: Any) -> Any:
    """A matrix with three dofs at each node as one with six."""
    A = sp.coo_array(A)
    n = 2 * A.shape[0]
    i, j = (6 * (index // 3) + index % 3 for index in (A.row.astype(np.int64), A.col.astype(np.int64)))
    return sp.coo_array((A.data, (i, j)), shape=(n, n)).tocsc()


def turning_nodes(inertia: Floats) -> Attached:
    """Inertias (n_nodes, 3, 3) that turn with their nodes, where there are any (F7a)."""
    nodes = np.flatnonzero(inertia.any(axis=(1, 2)))
    columns = (6 * nodes[:, None] + [3, 4, 5]).ravel()
    place = np.ones(len(columns)), columns, np.arange(len(columns) + 1)
    none = Attached.none(6 * len(inertia))
    rows = sp.csr_array(place, shape=(len(columns), 6 * len(inertia)))
    return Attached(none.mass, none.position, none.rows, inertia[nodes], rows)


def nodal_mass(Ms: Any, inertia: Floats) -> Any:
    """A symmetric scalar mass matrix on each translation of the nodes, six dofs each, and inertias
    (n_nodes, 3, 3) on their rotations."""
    A, turning = sp.csr_array(Ms), inertia.any(axis=(1, 2))
    n, nnz = 6 * A.shape[0], 3 * A.nnz + 9 * int(turning.sum())
    index = np.int32 if nnz < 2**31 else np.int64
    indptr, indices, data = np.zeros(n + 1, dtype=index), np.empty(nnz, dtype=index), np.empty(nnz)
    _nodal_mass(A.indptr, A.indices, A.data, turning, inertia, indptr, indices, data)
    found = sp.csc_array((data, indices, indptr), shape=(n, n))
    found.has_sorted_indices = A.has_sorted_indices
    return found


@kernel
def _nodal_mass(ptr, col, mass, turning, inertia, indptr, indices, data):
    """Writes: indptr, indices, data."""
    end = 0
    for i in range(len(turning)):
        for k in range(3):
            for t in range(ptr[i], ptr[i + 1]):
                indices[end], data[end] = 6 * col[t] + k, mass[t]
                end += 1
            indptr[6 * i + k + 1] = end
        for k in range(3):
            if turning[i]:
                for c in range(3):
                    indices[end], data[end] = 6 * i + 3 + c, inertia[i, k, c]
                    end += 1
            indptr[6 * i + k + 4] = end


def placed(Ms: Any, k: int, ell: int) -> Any:
    """A scalar mass matrix between component k and component l of the nodes, six dofs each (F7a)."""
    A = sp.coo_array(Ms)
    n = 6 * A.shape[0]
    place = (6 * A.row.astype(np.int64) + k, 6 * A.col.astype(np.int64) + ell)
    return sp.coo_array((A.data, place), shape=(n, n)).tocsr()
