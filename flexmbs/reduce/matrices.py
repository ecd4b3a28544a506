"""Matrices of another program: Matrix Market K and M with a table of nodes, in and out."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import mmread, mmwrite

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.unit_systems import SI, UnitSystem

Floats = NDArray[np.float64]

MAX_BYTES = 16 * 2**30


def read_matrices(stiffness: Path, mass: Path, nodes: Path, *, units: UnitSystem = SI) -> FeModel:
    """Full model of K and M (node by node, 3 or 6 dofs each) and a table of node number, x, y, z.

    All in the same units: with `mm-t-s` K is in N/mm, M in tonnes. Without elements there are no stresses and
    no stiffening.
    """
    table = _read_nodes(nodes)
    points = table[:, 1:4] * units.length
    K, M = (_read_matrix(path) for path in (stiffness, mass))
    n_nodes = len(points)
    for path, A in ((stiffness, K), (mass, M)):
        if A.shape not in ((3 * n_nodes, 3 * n_nodes), (6 * n_nodes, 6 * n_nodes)) or A.shape != K.shape:
            what = f"is {A.shape[0]} x {A.shape[1]}; {n_nodes} nodes of 3 or 6 freedoms are expected"
            raise InputError(Diagnostic("matrices.shape", str(path), what))
    p = K.shape[0] // n_nodes
    if units != SI:
        scale = sp.diags_array(np.tile([1.0] * 3 + [units.length] * (p - 3), n_nodes))  # moments, turns
        K = sp.csc_array(scale @ K @ scale) * units.stiffness
        M = sp.csc_array(scale @ M @ scale) * units.mass
    mesh = Mesh(points, {}, node_number=table[:, 0].astype(np.int64), source=str(nodes.name))
    return FeModel(mesh, p, sp.csc_array(K), sp.csc_array(M), _mass_form(M, p, mass))


def _read_nodes(path: Path) -> Floats:
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


def _read_matrix(path: Path) -> Any:
    """A symmetric sparse matrix with finite entries."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES // 2**30} GiB")
        A = sp.csc_array(mmread(BytesIO(path.read_bytes())))
    except (OSError, ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)[:120]
        what = f"is no readable Matrix Market file: {reason}"
        raise InputError(Diagnostic("matrices.format", str(path), what)) from None
    A = A.astype(float)
    if not np.isfinite(A.data).all():
        raise InputError(Diagnostic("matrices.finite", str(path), "has entries that are not finite"))
    largest = abs(A).max() if A.nnz else 0.0
    if A.shape[0] != A.shape[1] or (largest > 0 and abs(A - A.T).max() > 1e-8 * largest):
        raise InputError(Diagnostic("matrices.symmetry", str(path), "is not symmetric"))
    return sp.csc_array(0.5 * (A + A.T))


def _mass_form(M: Any, p: int, path: Path) -> MassForm:
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


def _nodal_inertias(M: Any, path: Path) -> Attached:
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
