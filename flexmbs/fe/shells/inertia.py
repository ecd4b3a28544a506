"""Inertia of shell cells: mass of the nodes, fibres that turn with them, sections off them (F2a-F7a)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.graph import NodeGraph, expand_scalar
from flexmbs.fe.massform import Attached
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.assembly import ShellCells
from flexmbs.fe.shells.strains import shell_inertia_points
from flexmbs.spatial import skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def shell_inertia(
    mesh: Mesh, graph: NodeGraph, parts: Iterable[ShellCells], mass: str
) -> tuple[Any, Floats, Attached]:
    """Scalar mass of the nodes (n_nodes, n_nodes), inertia that turns with them (n_nodes, 3, 3), and what
    stands off them (F7a); `graph` of the cells.

    Fibres along the normal turn with the nodes, by their moment of inertia; those of a section off its
    nodes are masses at their own places: at the integration points, or lumped beside the nodes.
    """
    turning, lumped = np.zeros((mesh.n_nodes, 3, 3)), np.zeros(mesh.n_nodes)
    pairs, off = np.zeros(graph.n_pairs), []
    points = Attached.none(6 * mesh.n_nodes)
    for chunk in parts:
        rho, first, second = chunk.section.density(chunk.material)
        N, area, D = shell_inertia_points(chunk.kind, chunk.at, chunk.directors)
        nodal = area @ (N * N.sum(axis=1, keepdims=True))
        if ELEMENTS[chunk.kind].order == 2:
            diagonal = area @ (N * N)
            nodal = diagonal * (area.sum(axis=1) / diagonal.sum(axis=1))[:, None]
        height = first / rho if rho > 0.0 else 0.0
        fibre = 0.0 if chunk.section.membrane else second - rho * height**2
        node, v = chunk.nodes.ravel(), D.reshape(-1, 3)
        turning_loop(node, v, fibre * nodal.ravel(), turning)
        if abs(height) > 1e-12 * chunk.section.thickness:
            if mass == "consistent":
                points = points.join(_points_off(mesh, chunk.nodes, N, D, rho * area, height))
            else:
                off.append((node, (rho * nodal).ravel(), height * v))
        elif mass == "consistent":
            a, b = np.triu_indices(chunk.nodes.shape[1])
            of_pairs = area @ (rho * N[:, a] * N[:, b])
            place = graph.loc[chunk.kind][chunk.which].ravel()
            np.add.at(pairs, place, of_pairs.ravel())
        else:
            np.add.at(lumped, node, (rho * nodal).ravel())
    pairs[graph.ptr[:-1]] += lumped
    Ms = expand_scalar(graph, pairs) if mass == "consistent" else sp.csr_array(sp.diags_array(lumped))
    return Ms, turning, _standing_off(mesh, off).join(points)


@kernel
def turning_loop(nodes, directors, fibre, turning):
    """Add inertia of fibres that turn about their middles. Writes: turning (n_nodes, 3, 3)."""
    for p in range(len(nodes)):
        J, v, s = turning[nodes[p]], directors[p], fibre[p]
        for i in range(3):
            J[i, i] += s
            for j in range(3):
                J[i, j] -= s * (v[i] * v[j])


def _points_off(mesh: Mesh, nodes: Ints, N: Floats, D: Floats, mass: Floats, height: float) -> Attached:
    """Masses (cells, points) at the integration points of cells whose section stands off its nodes."""
    arm = height * D
    place = np.einsum("gn,eni->egi", N, mesh.points[nodes] + arm)
    rows = np.zeros((*place.shape, nodes.shape[1], 6))
    rows[..., :3] = N[None, :, None, :, None] * np.eye(3)[None, None, :, None, :]
    rows[..., 3:] = -np.einsum("gn,enij->eginj", N, skew(arm))
    values = rows.reshape(-1, rows.shape[3] * 6)
    dofs = (6 * nodes[:, :, None] + np.arange(6)).reshape(len(nodes), -1)
    columns = np.repeat(dofs, values.shape[0] // len(nodes), axis=0)
    start = np.arange(0, values.size + 1, values.shape[1])
    n_dof = 6 * mesh.n_nodes
    table = sp.csr_array((values.ravel(), columns.ravel(), start), shape=(len(values), n_dof))
    table.eliminate_zeros()
    none = Attached.none(n_dof)
    return Attached(mass.ravel(), place.reshape(-1, 3), table, none.inertia, none.turn_rows)


def _standing_off(mesh: Mesh, parts: list[tuple[Ints, Floats, Floats]]) -> Attached:
    """Masses at arms (3,) from their nodes; they move by u + theta x arm."""
    none = Attached.none(6 * mesh.n_nodes)
    if not parts:
        return none
    node, mass, arm = (np.concatenate(part) for part in zip(*parts, strict=True))
    key = np.column_stack([node, np.round(arm / np.abs(arm).max(), 9)])
    _, first, label = np.unique(key, axis=0, return_index=True, return_inverse=True)
    total = np.asarray(np.bincount(label.ravel(), weights=mass), dtype=float)
    node, arm = node[first], arm[first]
    i, j, v = [], [], []
    at = 3 * np.arange(len(node))
    for k in range(3):
        i.append(at + k)
        j.append(6 * node + k)
        v.append(np.ones(len(node)))
        a, b = (k + 1) % 3, (k + 2) % 3
        for column, value in ((a, arm[:, b]), (b, -arm[:, a])):  # (theta x arm)_k
            i.append(at + k)
            j.append(6 * node + 3 + column)
            v.append(value)
    shape = (3 * len(node), 6 * mesh.n_nodes)
    rows = sp.csr_array((np.concatenate(v), (np.concatenate(i), np.concatenate(j))), shape=shape)
    return Attached(total, mesh.points[node] + arm, rows, none.inertia, none.turn_rows)
