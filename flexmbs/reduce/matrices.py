"""Matrices of another program: Matrix Market K and M with a table of nodes, in and out."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import mmwrite
from scipy.sparse.linalg import splu

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import is_mesh_file, read_nodes
from flexmbs.fe.unit_systems import SI, UnitSystem
from flexmbs.ffrf.integrals import ShapeIntegrals, integrals_by_matrix, shape_integrals
from flexmbs.modal.interfaces import DIRECTIONS
from flexmbs.modal.ties import rigid_field
from flexmbs.reduce.matrix_files import MatrixFile, read_matrix_file
from flexmbs.spatial import LEVI_CIVITA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: strain of rigid motions, of the stiffness, that short fields of other programs leave
STRAINED = 1e-4
#: stiffness, of its own, added where a rotation or a modal coordinate may be free
SOFT = 1e-11
#: difference, of the mass, of what translations in different directions find
ONE_MASS = 1e-4


def read_matrices(stiffness: Path, mass: Path, nodes: Path, *, units: UnitSystem = SI) -> FeModel:
    """Full model of K and M in any form of `matrix_files`, and a table of node number, x, y, z, or a deck.

    Rows follow the freedoms that the files name, else the table: node by node, 3 or 6 each, and behind them
    the modal coordinates of a model that was reduced before. All in the same units: with `mm-t-s` K is in
    N/mm, M in tonnes. Without elements there are no stresses and no stiffening.
    """
    files = [read_matrix_file(path, initial) for path, initial in ((stiffness, "K"), (mass, "M"))]
    table, frames = _read_nodes(nodes)
    points = table[:, 1:4] * units.length
    number = table[:, 0].astype(np.int64)
    if any(item.dofs is not None for item in files):
        known = np.isin(number, np.concatenate([x.dofs[:, 0] for x in files if x.dofs is not None]))
        number, points = number[known], points[known]  # other nodes have no part in the matrices
    p = 6 if any(item.dofs is not None and (item.dofs[:, 1] > 3).any() for item in files) else 0
    scalars = [item.dofs[item.dofs[:, 1] == 0, 0] for item in files if item.dofs is not None]
    modal = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *scalars]))
    K, M = (_by_node(item, number, p, modal) for item in files)
    n_nodes = len(points)
    for path, A in ((stiffness, K), (mass, M)):
        if A.shape != K.shape or len(A.shape) != 2 or A.shape[0] < 3 * n_nodes:
            what = f"is {A.shape[0]} x {A.shape[1]}; {n_nodes} nodes of 3 or 6 freedoms are expected"
            raise InputError(Diagnostic("matrices.shape", str(path), what))
    six = K.shape[0] >= 6 * n_nodes and (rigid_strain(K, points, 6) <= STRAINED).all()
    six = six or (bool(frames) and K.shape[0] >= 6 * n_nodes)  # in frames they tell nothing yet
    p = p or (6 if six or K.shape[0] == 6 * n_nodes else 3)
    if frames:
        T = _out_of_frames(number, frames, p, K.shape[0])
        K, M = (sp.csc_array(T @ A @ T.T) for A in (K, M))
    if units != SI:
        scales = np.ones(K.shape[0])  # moments, turns; modal coordinates have a mass, whatever they are
        scales[: p * n_nodes] = np.tile([1.0] * 3 + [units.length] * (p - 3), n_nodes)
        scale = sp.diags_array(scales)
        K = sp.csc_array(scale @ K @ scale) * units.stiffness
        M = sp.csc_array(scale @ M @ scale) * units.mass
    check_rigid(K, points, p, str(stiffness))
    mesh = Mesh(points, {}, node_number=number, source=str(nodes.name))
    return model_of(mesh, p, K, M, mass)


def model_of(mesh: Mesh, p: int, K: Any, M: Any, where: Path | str) -> FeModel:
    """The full model of matrices; its mass form is exact where it can be told from M alone."""
    form, exact = mass_form(M, p, mesh.points, where)
    return FeModel(mesh, p, sp.csc_array(K), sp.csc_array(M), form, exact=exact)


def integrals_of(fe: FeModel, Phi: Floats, **options: Any) -> ShapeIntegrals:
    """Integrals of the shapes Phi (n_dof, nf): by the mass form, or by M_fe as far as that tells (F2a-F9)."""
    if fe.exact:
        return shape_integrals(fe.mass_form, fe.mesh.points, Phi, fe.K_fe, **options)
    affine = affine_fields(fe.K_fe, fe.mesh.points, fe.n_per_node)
    return integrals_by_matrix(fe.M_fe, fe.mass_form, affine, Phi, fe.K_fe, **options)


def affine_fields(K: Any, points: Floats, p: int) -> Floats:
    """Fields x_k e_l (3, 3, n_dof) of the nodes, which turn by half the curl: rigid turns are exact.

    Of a body that was reduced before, rotations and modal coordinates follow with the least strain.
    """
    n_dof, n = K.shape[0], p * len(points)
    turns = rigid_field(points, p, None, n_dof - n)[:, 3:]
    stretch = np.zeros((3, 3, n_dof))
    for k in range(3):
        for ell in range(3):
            stretch[k, ell, k:n:p] += 0.5 * points[:, ell]
            stretch[k, ell, ell:n:p] += 0.5 * points[:, k]
    free = np.concatenate([np.flatnonzero(np.arange(n) % p >= 3), np.arange(n, n_dof)])
    if n_dof > n:
        K = sp.csc_array(K)
        K_ff, size = sp.csc_matrix(K[free][:, free]), K.diagonal()[free]
        weak = np.where(size > 0.0, SOFT * size, 1.0)  # what nothing holds stays at rest
        flat = stretch.reshape(9, n_dof).T
        flat[free] = -splu(sp.csc_matrix(K_ff + sp.diags_array(weak))).solve(np.asarray(K[free] @ flat))
        stretch = np.ascontiguousarray(flat.T).reshape(3, 3, n_dof)
    return np.asarray(stretch + 0.5 * np.einsum("klm,im->kli", LEVI_CIVITA, turns))


def all_coordinates(fe: FeModel, where: str) -> int:
    """Number of modes of a model that comes reduced and stays as it is."""
    if not fe.n_modal:
        what, remedy = "it is not said how many modes", "give modes, fmax, or tol with fmax"
        raise InputError(Diagnostic("recipe.modes", where, what, remedy))
    return fe.n_dof


def matrix_notes(fe: FeModel) -> list[str]:
    """What was taken for granted about matrices."""
    notes = []
    if fe.n_modal:
        notes.append(f"reduced before: {fe.n_modal} modal coordinates beside {fe.mesh.n_nodes} nodes")
    if not fe.exact:
        notes.append(
            "mass, centre, inertia, S_f and m_ff are those of the mass matrix, which does not tell all of "
            "the others: I^kl follows affine motions of the nodes, S^kl takes the mean over x, y and z"
        )
    return notes


def matrix_warnings(fe: FeModel, where: str) -> list[Diagnostic]:
    """What a model that was reduced before cannot know."""
    if not fe.n_modal:
        return []
    what = (
        f"centrifugal forces on the modes, and how inertia changes with them, are guessed from "
        f"{fe.mesh.n_nodes} nodes: a reduced model does not say where its mass moves"
    )
    remedy = "reduce the full matrices where the body turns fast"
    return [Diagnostic("matrices.reduced", where, what, remedy, "warn")]


def _by_node(item: MatrixFile, number: Ints, p: int, modal: Ints) -> Any:
    """The symmetric matrix, rows node by node in the order of the table, then those of scalar points."""
    A = symmetric(item.entries, str(item.path))
    if item.dofs is None:
        return A
    order = np.argsort(number)
    place = np.minimum(np.searchsorted(number, item.dofs[:, 0], sorter=order), len(number) - 1)
    at = order[place]
    scalar = item.dofs[:, 1] == 0
    unknown = item.dofs[(number[at] != item.dofs[:, 0]) & ~scalar]
    if len(unknown):
        what = f"has rows of node {unknown[0, 0]}, which the table of nodes does not have"
        raise InputError(Diagnostic("matrices.nodes", str(item.path), what))
    if (item.dofs[:, 1] < 0).any() or (item.dofs[:, 1] > 6).any():
        what = "has rows that are no displacement or rotation of a node"
        remedy = "directions are 1 to 6, those of scalar points and modes 0"
        raise InputError(Diagnostic("matrices.dofs", str(item.path), what, remedy))
    p = p or 3
    behind = p * len(number) + np.searchsorted(modal, item.dofs[:, 0])
    rows = np.where(scalar, behind, at * p + item.dofs[:, 1] - 1)
    missing = np.setdiff1d((np.arange(len(number))[:, None] * p + np.arange(3)).ravel(), rows)
    if len(missing):
        node = number[missing[0] // p]
        what = f"lacks {len(missing)} displacements (node {node}): they are held, or depend on others"
        remedy = "export the matrices of the free part, without supports and equations"
        raise InputError(Diagnostic("matrices.dofs", str(item.path), what, remedy))
    A = sp.coo_array(A)
    i, j = rows[A.coords[0]], rows[A.coords[1]]
    n = p * len(number) + len(modal)
    return sp.csc_array((A.data, (i, j)), shape=(n, n))


def check_rigid(K: Any, points: Floats, p: int, where: str) -> None:
    """Rigid motions must not strain the model; a wrong order of the freedoms is told as such."""
    found = rigid_strain(K, points, p)
    worst = np.flatnonzero(~(found <= STRAINED))
    if not len(worst):
        return
    n = len(points)
    by_direction = np.append(np.arange(n * p).reshape(p, n).T.ravel(), np.arange(n * p, K.shape[0]))
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
    R = rigid_field(points, p, points.mean(axis=0), K.shape[0] - p * len(points))
    K = sp.csr_array(K)
    size = np.linalg.norm(abs(K) @ np.abs(R), axis=0)
    return np.asarray(np.linalg.norm(K @ R, axis=0) / np.where(size > 0, size, 1.0))


def _out_of_frames(number: Ints, frames: dict[int, Floats], p: int, n: int) -> Any:
    """(n, n) motion of the nodes in common axes out of that in axes of their own."""
    blocks = [np.eye(3) if node not in frames else frames[node] for node in number.tolist()]
    behind = [np.eye(1)] * (n - p * len(blocks))
    return sp.block_diag([block for block in blocks for _ in range(p // 3)] + behind, format="csr")


def _read_nodes(path: Path) -> tuple[Floats, dict[int, Floats]]:
    """Node number, x, y, z out of a table, or of a deck of the same model; axes of nodes with their own."""
    if is_mesh_file(path):
        number, points, frames = read_nodes(path)
        return np.column_stack([number, points]), frames
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
    return table, {}


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
    if A.shape[0] != A.shape[1]:
        what = f"has {A.shape[0]} rows and {A.shape[1]} columns"
        raise InputError(Diagnostic("matrices.symmetry", where, what, "expected as many"))
    skew = abs(sp.coo_array(A - A.T))
    if largest > 0 and skew.max() > 1e-8 * largest:
        i, j = sorted(int(part[skew.data.argmax()]) for part in skew.coords)
        what = f"is not symmetric: {A[i, j]:g} in row {i + 1}, column {j + 1}, and {A[j, i]:g} across"
        raise InputError(Diagnostic("matrices.symmetry", where, what, "write both triangles alike, or one"))
    return sp.csc_array(0.5 * (A + A.T))


def mass_form(M: Any, p: int, points: Floats, where: Path | str) -> tuple[MassForm, bool]:
    """The inertia form behind an imported mass matrix, and whether it is all of that (F2a-F7a).

    It is where translations have the same scalar matrix in all directions and rotations a tensor at each
    node: solids and lumped masses. Otherwise it is the mean over the directions.
    """
    n_dof, n = M.shape[0], p * len(points)
    check_mass(M, points, p, where)
    M = sp.csr_array(M)[:n, :n]
    blocks = [[sp.csr_array(M[k::p, ell::p]) for ell in range(3)] for k in range(3)]
    Ms = sp.csr_array((blocks[0][0] + blocks[1][1] + blocks[2][2]) / 3.0)
    largest = abs(Ms).max()
    apart = [
        abs(blocks[k][ell] - Ms) if k == ell else abs(blocks[k][ell]) for k in range(3) for ell in range(3)
    ]
    exact = n == n_dof and not any(other.nnz and other.max() > 1e-8 * largest for other in apart)
    attached = _nodal_inertias(M) if exact and p == 6 else Attached.none(n)
    if attached is None:
        return MassForm(p, Ms=Ms, attached=Attached.none(n)), False
    return MassForm(p, Ms=Ms, attached=attached), exact


def check_mass(M: Any, points: Floats, p: int, where: Path | str) -> None:
    """Translations of the whole must find one mass in all directions, and turn about one centre."""
    R = rigid_field(points, p, points.mean(axis=0), M.shape[0] - p * len(points))
    total = R.T @ (sp.csr_array(M) @ R)
    mass = np.trace(total[:3, :3]) / 3.0
    if not mass > 0.0:
        raise InputError(Diagnostic("matrices.mass", str(where), f"has a mass of {mass:g}", "check its file"))
    arm = total[:3, 3:]
    size = np.sqrt(max(np.trace(total[3:, 3:]), 0.0) * mass)
    if np.abs(total[:3, :3] - mass * np.eye(3)).max() <= ONE_MASS * mass and (
        np.abs(arm + arm.T).max() <= ONE_MASS * size
    ):
        return
    words = ", ".join(f"{total[k, k]:.6g} in {DIRECTIONS[k]}" for k in range(3))
    what = f"rigid motions do not find one mass: {words}"
    remedy = "its freedoms are in other axes than the nodes, some are held, or their order is another"
    raise InputError(Diagnostic("matrices.mass", str(where), what, remedy))


def _nodal_inertias(M: Any) -> Attached | None:
    """Rotary inertias of the nodes; None where rotations are coupled to anything else."""
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
        return None
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
