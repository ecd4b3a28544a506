"""Matrices of another program: Matrix Market K and M with a table of nodes, in and out."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import mmwrite

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import is_mesh_file, read_mesh
from flexmbs.fe.unit_systems import SI, UnitSystem
from flexmbs.modal.interfaces import DIRECTIONS
from flexmbs.modal.ties import rigid_field
from flexmbs.reduce.matrix_files import MatrixFile, read_matrix_file

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: strain of rigid motions, of the stiffness, that short fields of other programs leave
STRAINED = 1e-4


def read_matrices(stiffness: Path, mass: Path, nodes: Path, *, units: UnitSystem = SI) -> FeModel:
    """Full model of K and M in any form of `matrix_files`, and a table of node number, x, y, z, or a deck.

    Rows follow the freedoms that the files name, else the table: node by node, 3 or 6 each. All in the same
    units: with `mm-t-s` K is in N/mm, M in tonnes. Without elements there are no stresses and no stiffening.
    """
    files = [read_matrix_file(path) for path in (stiffness, mass)]
    table = _read_nodes(nodes)
    points = table[:, 1:4] * units.length
    number = table[:, 0].astype(np.int64)
    if any(item.dofs is not None for item in files):
        known = np.isin(number, np.concatenate([x.dofs[:, 0] for x in files if x.dofs is not None]))
        number, points = number[known], points[known]  # other nodes have no part in the matrices
    p = 6 if any(item.dofs is not None and (item.dofs[:, 1] > 3).any() for item in files) else 0
    K, M = (_by_node(item, number, p) for item in files)
    for path, A in ((stiffness, K), (mass, M)):
        n_nodes = len(points)
        if A.shape not in ((3 * n_nodes, 3 * n_nodes), (6 * n_nodes, 6 * n_nodes)) or A.shape != K.shape:
            what = f"is {A.shape[0]} x {A.shape[1]}; {n_nodes} nodes of 3 or 6 freedoms are expected"
            raise InputError(Diagnostic("matrices.shape", str(path), what))
    p = K.shape[0] // len(points)
    if units != SI:
        scale = sp.diags_array(np.tile([1.0] * 3 + [units.length] * (p - 3), len(points)))  # moments, turns
        K = sp.csc_array(scale @ K @ scale) * units.stiffness
        M = sp.csc_array(scale @ M @ scale) * units.mass
    check_rigid(K, points, p, str(stiffness))
    mesh = Mesh(points, {}, node_number=number, source=str(nodes.name))
    return FeModel(mesh, p, sp.csc_array(K), sp.csc_array(M), mass_form(M, p, mass))


def _by_node(item: MatrixFile, number: Ints, p: int) -> Any:
    """The symmetric matrix, rows node by node in the order of the table."""
    A = symmetric(item.entries, str(item.path))
    if item.dofs is None:
        return A
    order = np.argsort(number)
    place = np.minimum(np.searchsorted(number, item.dofs[:, 0], sorter=order), len(number) - 1)
    at = order[place]
    unknown = item.dofs[number[at] != item.dofs[:, 0]]
    if len(unknown):
        what = f"has rows of node {unknown[0, 0]}, which the table of nodes does not have"
        raise InputError(Diagnostic("matrices.nodes", str(item.path), what))
    if (item.dofs[:, 1] < 1).any() or (item.dofs[:, 1] > 6).any():
        what = "has rows that are no displacement or rotation of a node (scalar points, modes)"
        remedy = "export the physical freedoms of all nodes"
        raise InputError(Diagnostic("matrices.dofs", str(item.path), what, remedy))
    p = p or 3
    rows = at * p + item.dofs[:, 1] - 1
    missing = np.setdiff1d((np.arange(len(number))[:, None] * p + np.arange(3)).ravel(), rows)
    if len(missing):
        node = number[missing[0] // p]
        what = f"lacks {len(missing)} displacements (node {node}): they are held, or depend on others"
        remedy = "export the matrices of the free part, without supports and equations"
        raise InputError(Diagnostic("matrices.dofs", str(item.path), what, remedy))
    A = sp.coo_array(A)
    i, j = rows[A.coords[0]], rows[A.coords[1]]
    return sp.csc_array((A.data, (i, j)), shape=(p * len(number), p * len(number)))


def check_rigid(K: Any, points: Floats, p: int, where: str) -> None:
    """Rigid motions must not strain the model; a wrong order of the freedoms is told as such."""
    found = rigid_strain(K, points, p)
    worst = np.flatnonzero(~(found <= STRAINED))
    if not len(worst):
        return
    n = len(points)
    by_direction = np.arange(n * p).reshape(p, n).T.ravel()
    if (rigid_strain(K[by_direction][:, by_direction], points, p) <= STRAINED).all():
        what = "its rows stand direction by direction: all x, then all y, ..."
        raise InputError(
            Diagnostic("matrices.order", where, what, "write them node by node, or with a mapping")
        )
    words = [f"{DIRECTIONS[k]} {found[k]:.2g}" for k in worst]
    what = f"rigid motions strain the model ({', '.join(words)} of its stiffness)"
    remedy = "it holds supports, its nodes are in another order, or its freedoms in other axes than the nodes"
    raise InputError(Diagnostic("matrices.grounded", where, what, remedy))


def rigid_strain(K: Any, points: Floats, p: int) -> Floats:
    """Size of K R over that of |K| |R|, for the six rigid motions about the centre."""
    R = rigid_field(points, p, points.mean(axis=0))
    K = sp.csr_array(K)
    size = np.linalg.norm(abs(K) @ np.abs(R), axis=0)
    return np.asarray(np.linalg.norm(K @ R, axis=0) / np.where(size > 0, size, 1.0))


def _read_nodes(path: Path) -> Floats:
    """Node number, x, y, z out of a table, or out of a deck of the same model."""
    if is_mesh_file(path):
        mesh = read_mesh(path)
        return np.column_stack([mesh.node_number, mesh.points])
    try:
        text = path.read_text().replace(",", " ")
        rows = [line.split() for line in text.splitlines() if line.strip() and line.strip()[0] not in "#%*"]
        table = np.array([[float(word) for word in row] for row in rows])
        good = table.ndim == 2 and table.shape[1] == 4 and np.isfinite(table).all()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(Diagnostic("matrices.nodes", str(path), f"cannot be read: {reason}")) from None
    if not good or len(np.unique(table[:, 0])) < len(table):
        what = "is not a table of different node numbers with x, y, z"
        raise InputError(Diagnostic("matrices.nodes", str(path), what))
    return table


def symmetric(entries: Any, where: str) -> Any:
    """A symmetric sparse matrix with finite entries; one triangle alone stands for both."""
    A = sp.csc_array(entries).astype(float)
    if not np.isfinite(A.data).all():
        raise InputError(Diagnostic("matrices.finite", where, "has entries that are not finite"))
    largest = abs(A).max() if A.nnz else 0.0
    if A.shape[0] == A.shape[1]:
        upper, lower = (sp.csc_array(part(A)) for part in (sp.triu, sp.tril))
        if upper.count_nonzero() == A.count_nonzero() or lower.count_nonzero() == A.count_nonzero():
            return sp.csc_array(A + A.T - sp.diags_array(A.diagonal()))
    if A.shape[0] != A.shape[1] or (largest > 0 and abs(A - A.T).max() > 1e-8 * largest):
        raise InputError(Diagnostic("matrices.symmetry", where, "is not symmetric"))
    return sp.csc_array(0.5 * (A + A.T))


def mass_form(M: Any, p: int, path: Path | str) -> MassForm:
    """The inertia form behind an imported mass matrix, where it can be told from M alone (F2a-F7a).

    Translations must have the same scalar matrix in all directions; rotations a tensor at each node.
    """
    M = sp.csr_array(M)
    Ms = sp.csr_array(M[0::p, 0::p])
    largest = abs(Ms).max()
    for k in range(3):
        for ell in range(3):
            block = M[k::p, ell::p]
            other = abs(block - Ms) if k == ell else abs(block)
            if other.nnz and other.max() > 1e-8 * largest:
                what = (
                    "is not the same scalar matrix in x, y and z; its shape integrals cannot be told from it"
                )
                raise InputError(
                    Diagnostic("matrices.mass", str(path), what, "export a solid or lumped mass")
                )
    n_dof = M.shape[0]
    if p == 3:
        return MassForm(3, Ms=Ms, attached=Attached.none(n_dof))
    return MassForm(6, Ms=Ms, attached=_nodal_inertias(M, path))


def _nodal_inertias(M: Any, path: Path | str) -> Attached:
    n_dof = M.shape[0]
    n = n_dof // 6
    turning = np.flatnonzero(np.arange(n_dof) % 6 >= 3)
    rotary = sp.csr_array(M[turning][:, turning])
    J = np.zeros((n, 3, 3))
    for node in range(n):
        J[node] = rotary[3 * node : 3 * node + 3, 3 * node : 3 * node + 3].toarray()
    rest = rotary - sp.block_diag(list(J), format="csr")
    mixed = abs(M[turning]).sum() - abs(rotary).sum()
    if (rest.nnz and abs(rest).max() > 1e-8 * max(np.abs(J).max(), 1e-300)) or mixed > 1e-8 * abs(M).sum():
        what = "couples rotations with other nodes or with translations"
        raise InputError(Diagnostic("matrices.mass", str(path), what, "export a lumped mass matrix"))
    some = np.flatnonzero(np.abs(J).max(axis=(1, 2)) > 0)
    columns = (6 * some[:, None] + np.arange(3, 6)).ravel()
    rows = sp.csr_array(
        (np.ones(len(columns)), (np.arange(len(columns)), columns)), shape=(len(columns), n_dof)
    )
    return Attached(np.zeros(0), np.zeros((0, 3)), sp.csr_array((0, n_dof)), J[some], rows)


def save_matrices(fe: FeModel, stiffness: Path, mass: Path, *, overwrite: bool = True) -> None:
    """Write K and M in Matrix Market form, node by node, whole or not at all."""
    for path, A in ((stiffness, fe.K_fe), (mass, fe.M_fe)):
        buffer = BytesIO()
        mmwrite(buffer, sp.coo_matrix(A), symmetry="symmetric", precision=17)
        with disk.atomic_file(Path(path), overwrite) as file:
            file.write(buffer.getvalue())
