"""Point masses with inertia: on a node, or on anything that moves by linear rows of the nodal dofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.massform import Attached
from flexmbs.fe.mesh import Mesh

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PointMass:
    """A mass [kg] with an inertia (3, 3) [kg m^2] about its own place, body axes.

    It sits on the node with index `node`, or at `position` (3,) and moves by `rows` (6, n_dof), sparse:
    translation, then rotation (an interface of the mesh).
    """

    mass: float
    inertia: Any = None
    node: int | None = None
    position: Any = None
    rows: Any = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass >= 0.0):
            raise _error(self, f"mass {self.mass}", "give a number >= 0 [kg]")
        if (self.node is None) == (self.rows is None) or (self.rows is not None and self.position is None):
            raise _error(self, "has no place", "give a node, or rows with their position")
        if self.inertia is not None:
            object.__setattr__(self, "inertia", inertia_tensor(self.inertia))

    @property
    def where(self) -> str:
        return "point mass" if self.node is None else f"point mass on node index {self.node}"


def inertia_tensor(inertia: Any) -> Floats:
    """(3, 3) from its diagonal or from a symmetric tensor."""
    try:
        J = np.asarray(inertia, dtype=float)
    except (TypeError, ValueError):
        J = np.zeros(0)
    J = np.diag(J) if J.shape == (3,) else J
    good = J.shape == (3, 3) and np.isfinite(J).all() and np.allclose(J, J.T, rtol=1e-9, atol=0.0)
    if not good or np.linalg.eigvalsh(J).min() < -1e-12 * np.abs(J).max():
        raise InputError(
            Diagnostic(
                "mass.inertia",
                "inertia",
                f"{inertia}",
                "give 3 numbers, or a symmetric 3 x 3 tensor, none negative",
            )
        )
    return J


def _error(mass: PointMass, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("mass.point", mass.where, what, remedy))


def attach(mesh: Mesh, n_per_node: int, masses: Sequence[PointMass]) -> tuple[Floats, Attached]:
    """Masses on nodes (n_nodes,), and what follows by rows of its own."""
    nodal = np.zeros(mesh.n_nodes)
    n_dof = n_per_node * mesh.n_nodes
    free = [item for item in masses if item.rows is not None]
    turning = [item for item in masses if item.inertia is not None and np.any(item.inertia)]
    for item in masses:
        if item.node is not None:
            if not 0 <= item.node < mesh.n_nodes:
                raise _error(item, "is not a node of the mesh", f"indices run from 0 to {mesh.n_nodes - 1}")
            nodal[item.node] += item.mass
    rows = [sp.csr_array(sp.csr_matrix(item.rows)[:3]) for item in free]
    turns = [_turn_rows(mesh, n_per_node, item) for item in turning]
    attached = Attached(
        np.array([item.mass for item in free], dtype=float),
        np.array([item.position for item in free], dtype=float).reshape(-1, 3),
        sp.vstack([sp.csr_array((0, n_dof)), *rows], format="csr"),
        np.array([item.inertia for item in turning], dtype=float).reshape(-1, 3, 3),
        sp.vstack([sp.csr_array((0, n_dof)), *turns], format="csr"),
    )
    return nodal, attached


def _turn_rows(mesh: Mesh, n_per_node: int, item: PointMass) -> Any:
    if item.node is None:
        return sp.csr_array(sp.csr_matrix(item.rows)[3:])
    if n_per_node == 6 and not (mesh.n_cells and not mesh.turning_nodes()[item.node]):
        columns = 6 * item.node + np.arange(3, 6)
        return sp.csr_array((np.ones(3), (np.arange(3), columns)), shape=(3, 6 * mesh.n_nodes))
    return rotation_rows(mesh, item.node, n_per_node)


def rotation_rows(mesh: Mesh, node: int, n_per_node: int) -> Any:
    """Rotation of a node of a solid (3, n_dof): half the curl of the displacement, mean over its cells."""
    rows = sp.csr_array((3, 3 * mesh.n_nodes))
    count = 0
    for kind, cells in mesh.cells.items():
        element = ELEMENTS[kind]
        if element.turns:  # membranes and rods do not tell it
            continue
        for cell, local in zip(*np.nonzero(cells == node), strict=True):
            nodes = cells[cell]
            dN = element.dshape(element.ref_coords[local : local + 1])[0]
            grad = dN @ np.linalg.inv(mesh.points[nodes].T @ dN)
            rows = rows + _half_curl(grad, nodes, mesh.n_nodes)
            count += 1
    if count == 0:
        what = f"node index {node} belongs to no solid cell, its rotation is not defined"
        raise InputError(Diagnostic("mass.rotation", "point mass", what, "leave out the inertia"))
    found = sp.coo_array(rows / count)
    columns = n_per_node * (found.col // 3) + found.col % 3
    return sp.csr_array((found.data, (found.row, columns)), shape=(3, n_per_node * mesh.n_nodes))


def _half_curl(grad: Floats, nodes: NDArray[np.int64], n_nodes: int) -> Any:
    """theta = 1/2 sum_a grad N_a x u_a as rows."""
    values, i, j = [], [], []
    for a, node in enumerate(nodes):
        gx, gy, gz = 0.5 * grad[a]
        for row, column, value in ((0, 1, -gz), (0, 2, gy), (1, 0, gz), (1, 2, -gx), (2, 0, -gy), (2, 1, gx)):
            i.append(row)
            j.append(3 * node + column)
            values.append(value)
    return sp.csr_array((values, (i, j)), shape=(3, 3 * n_nodes))
