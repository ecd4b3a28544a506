"""Mesh matrices, interfaces and supports -> the matrices of the tied model and the rows of its markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.pieces.mapped import by_rows
from flexmbs.modal.interfaces import DIRECTIONS, Interface, mean_rows, tie_columns
from flexmbs.modal.links import Links

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: a rigid motion is held by the supports when it moves them by more than this, of its size
HELD = 1e-9
#: square of what is left of an interface coordinate, of its size, when it can still move by itself
MOVES = 1e-12
#: a rigid motion obeys the links when it breaks them by less, of its size (cards have seven digits)
OBEYED = 1e-4


@dataclass(frozen=True)
class TiedModel:
    """The full model with its interfaces tied and its supports held; all fields are (n_t, m).

    K, M : (n_t, n_t) csr, symmetric;  G : (n_dof, n_t) tied coordinates to nodal dofs
    node_of : (n_t,) node of each coordinate, markers behind the nodes; for the ordering
    rows : interface -> (6, n_t) motion of its marker, in marker axes (zero rows where not carried)
    held : interface -> directions that supports, or interfaces before it, hold: no coordinates of it
    rigid : (n_t, n_rigid) rigid motions that the supports leave, M-orthonormal when `heavy`: all have inertia
    """

    K: sp.csr_matrix
    M: sp.csr_matrix
    G: sp.csr_matrix
    interfaces: dict[str, Interface]
    rows: dict[str, sp.csr_matrix]
    held: dict[str, tuple[int, ...]]
    rigid: Floats
    heavy: bool
    points: Floats
    n_per_node: int
    node_of: Ints

    @property
    def n(self) -> int:
        return self.K.shape[0]

    @property
    def boundary(self) -> sp.csr_matrix:
        """(n_b, n_t): the boundary coordinates of all interfaces, in their order."""
        parts = [self.rows[name][list(item.dofs)] for name, item in self.interfaces.items()]
        return sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, self.n))

    @property
    def boundary_names(self) -> list[str]:
        return [f"{name} {DIRECTIONS[k]}" for name, item in self.interfaces.items() for k in item.dofs]


def tie(
    K: sp.spmatrix,
    M: sp.spmatrix,
    points: Floats,
    n_per_node: int,
    interfaces: Sequence[Interface] = (),
    fixed: Ints | None = None,
    links: Links | None = None,
) -> TiedModel:
    """Tie the interfaces, hold the dofs `fixed` (indices node * n_per_node + component), obey the links.

    Rows of K and M behind those of the nodes are modal coordinates of a model that was reduced before.
    """
    n_modal = K.shape[0] - n_per_node * len(points)
    fixed = np.zeros(0, dtype=np.int64) if fixed is None else np.unique(fixed)
    absent = np.flatnonzero((K.diagonal() == 0.0) & (M.diagonal() == 0.0))  # nodes without a cell
    kept, slots = _layout(K.shape[0], n_per_node, interfaces, fixed, absent, links)
    G = _transformation(points, K.shape[0], n_per_node, interfaces, kept, slots)
    if links is not None:
        G = sp.csc_matrix(sp.hstack([links.E_u @ G, links.E_s]))
    rows = {item.name: _marker_rows(points, n_per_node, item, slots, G) for item in interfaces}
    plain = len(kept) == K.shape[0]
    K_t, M_t = (A if plain else _projected(A, G) for A in map(_rows_of_symmetric, (K, M)))
    beside = np.zeros((0, 6)) if links is None else links.held
    R = _rigid_motions(points, n_per_node, fixed, absent, n_modal, beside)
    rigid, heavy = _orthonormal(_to_tied(R, points, n_per_node, kept, slots, interfaces, links), M_t)
    by_name, held = _movable(points, n_per_node, interfaces, rows)
    n_blocks = len(points) + -(-n_modal // n_per_node)
    markers = [np.full(len(slot), n_blocks + k) for k, slot in enumerate(slots.values())]
    own = G.shape[1] - len(kept) - sum(len(slot) for slot in slots.values())
    beyond = n_blocks + len(slots) + np.arange(own)
    node_of = np.concatenate([kept // n_per_node, *markers, beyond])
    G_rows = sp.csr_matrix(G)
    return TiedModel(K_t, M_t, G_rows, by_name, rows, held, rigid, heavy, points, n_per_node, node_of)


def _rows_of_symmetric(A: Any) -> sp.csr_matrix:
    """A symmetric matrix by rows, which multiply many vectors several times faster than columns do."""
    A = sp.csc_matrix(A)
    return sp.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape)


def _projected(A: sp.csr_matrix, G: sp.csc_matrix) -> sp.csr_matrix:
    """G^T A G, a slab of rows at a time."""
    G_T, right = sp.csr_matrix(G.T), sp.csr_matrix(G)  # products of mixed formats convert the large factor
    return by_rows(G.shape[1], G.shape[1], lambda begin, end: (G_T[begin:end] @ A) @ right)


def _dofs(nodes: Ints, n_per_node: int) -> Ints:
    return (nodes[:, None] * n_per_node + np.arange(n_per_node)).ravel()


def _layout(
    n_dof: int,
    n_per_node: int,
    interfaces: Sequence[Interface],
    fixed: Ints,
    absent: Ints,
    links: Links | None = None,
) -> tuple[Ints, dict[str, Ints]]:
    """Nodal dofs that stay coordinates, and behind them the coordinates of rigidly tied markers."""
    keep = np.ones(n_dof, dtype=bool)
    keep[fixed] = keep[absent] = False
    if links is not None:
        keep[links.dependent] = False
        _refuse_ties_of(links.dependent, n_per_node, interfaces, fixed)
    rigid_ties = [item for item in interfaces if item.tie == "rbe2"]
    for item in rigid_ties:
        dofs = _dofs(item.nodes, n_per_node)
        held = np.intersect1d(dofs, fixed)
        if len(held):
            what = f"{len(np.unique(held // n_per_node))} of its nodes are held by [fix]"
            remedy = "use rbe3, or other nodes"
            raise InputError(Diagnostic("recipe.fixed_interface", f"interfaces.{item.name}", what, remedy))
        keep[dofs] = False
    kept, slots = np.flatnonzero(keep), {}
    start = len(kept)
    for item in rigid_ties:
        slots[item.name] = start + np.arange(len(item.carried))
        start += len(item.carried)
    return kept, slots


def _refuse_ties_of(dependent: Ints, n_per_node: int, interfaces: Sequence[Interface], fixed: Ints) -> None:
    """Nodes that follow a connection of the deck can neither be tied rigidly again nor be held."""
    for item in interfaces:
        both = np.intersect1d(_dofs(item.nodes, n_per_node), dependent)
        if item.tie == "rbe2" and len(both):
            what = f"{len(np.unique(both // n_per_node))} of its nodes follow a connection of the deck"
            remedy = "tie it with rbe3, or take the reference node of the connection"
            raise InputError(Diagnostic("recipe.linked_interface", f"interfaces.{item.name}", what, remedy))
    both = np.intersect1d(fixed, dependent)
    if len(both):
        what = f"{len(np.unique(both // n_per_node))} held nodes follow a connection of the deck"
        raise InputError(Diagnostic("recipe.linked_fix", "fix", what, "hold other nodes"))


def _transformation(
    points: Floats,
    n_dof: int,
    n_per_node: int,
    interfaces: Sequence[Interface],
    kept: Ints,
    slots: Mapping[str, Ints],
) -> sp.csc_matrix:
    """G: tied coordinates to nodal dofs."""
    entries = [(kept, np.arange(len(kept)), np.ones(len(kept)))]
    for item in interfaces:
        if item.name in slots:
            dofs, columns = _dofs(item.nodes, n_per_node), slots[item.name]
            T = tie_columns(points, item, n_per_node)[:, list(item.carried)]
            entries.append((np.repeat(dofs, len(columns)), np.tile(columns, len(dofs)), T.ravel()))
    i, j, v = (np.concatenate(part) for part in zip(*entries, strict=True))
    n_t = len(kept) + sum(len(columns) for columns in slots.values())
    G = sp.csc_matrix((v, (i, j)), shape=(n_dof, n_t))
    G.eliminate_zeros()
    return G


def _marker_rows(
    points: Floats, n_per_node: int, item: Interface, slots: Mapping[str, Ints], G: sp.csc_matrix
) -> sp.csr_matrix:
    """(6, n_t): motion of a marker out of the tied coordinates, in marker axes."""
    if item.name in slots:
        columns = slots[item.name]
        one = np.ones(len(columns))
        return sp.csr_matrix((one, (list(item.carried), columns)), shape=(6, G.shape[1]))
    rows = nodal_marker_rows(points, item, n_per_node)
    return sp.csr_matrix(rows @ G[: rows.shape[1]])


def _movable(
    points: Floats, n_per_node: int, interfaces: Sequence[Interface], rows: Mapping[str, sp.csr_matrix]
) -> tuple[dict[str, Interface], dict[str, tuple[int, ...]]]:
    """The interfaces with those coordinates only that can still move by themselves; the others by name."""
    wanted, scaled = [], []
    for item in interfaces:
        size = np.ones(6)
        if item.tie == "rbe3":  # of the row without supports
            size = np.linalg.norm(mean_rows(points, item, n_per_node), axis=1)
        for k in item.dofs:
            wanted.append((item.name, k))
            scaled.append(rows[item.name][[k]] / size[k])
    gram = np.zeros((0, 0))
    if scaled:
        C = sp.vstack(scaled, format="csr")
        gram = (C @ C.T).toarray()
    kept: list[int] = []
    for k in range(len(wanted)):
        known = gram[np.ix_(kept, kept)]
        left = gram[k, k] - gram[k, kept] @ np.linalg.solve(known, gram[kept, k])
        if left > MOVES:
            kept.append(k)
    moving = {wanted[k] for k in kept}
    result, held = {}, {}
    for item in interfaces:
        result[item.name] = replace(item, dofs=tuple(k for k in item.dofs if (item.name, k) in moving))
        lost = tuple(k for k in item.dofs if (item.name, k) not in moving)
        if lost:
            held[item.name] = lost
    return result, held


def held_directions(model: TiedModel, where: str) -> list[Diagnostic]:
    """Interface directions that cannot move by themselves, one finding for each interface."""
    found = []
    for name, directions in model.held.items():
        words = " ".join(DIRECTIONS[k] for k in directions)
        what = f"interface {name}: {words} cannot move by itself and is no coordinate"
        remedy = "held by [fix] or by another interface at the same nodes; leave it out of dofs"
        found.append(Diagnostic("modal.held", where, what, remedy, "warn"))
    return found


def nodal_marker_rows(points: Floats, item: Interface, n_per_node: int) -> sp.csr_matrix:
    """(6, n_dof): motion of a marker as the mean of its nodes, in marker axes."""
    dofs = _dofs(item.nodes, n_per_node)
    mean = mean_rows(points, item, n_per_node)
    place = (np.repeat(np.arange(6), len(dofs)), np.tile(dofs, 6))
    return sp.csr_matrix((mean.ravel(), place), shape=(6, n_per_node * len(points)))


def marker_rows_of_nodes(points: Floats, item: Interface, n_per_node: int) -> sp.csr_matrix:
    """(6, n_dof): the same in body axes."""
    return sp.csr_matrix(item.axes @ nodal_marker_rows(points, item, n_per_node))


def rigid_field(points: Floats, n_per_node: int, centre: Floats | None = None, n_modal: int = 0) -> Floats:
    """The six unit rigid motions (n_dof, 6) about `centre` (origin): three translations, three rotations.

    Modal coordinates behind the nodes count from the motion of these, and are at rest.
    """
    n = len(points)
    arm = points if centre is None else points - centre
    field = np.zeros((n, n_per_node, 6))
    field[:, :3, :3] = np.eye(3)
    field[:, :3, 3:] = np.cross(np.eye(3)[None], arm[:, None]).transpose(0, 2, 1)
    if n_per_node == 6:
        field[:, 3:, 3:] = np.eye(3)
    return np.concatenate([field.reshape(n * n_per_node, 6), np.zeros((n_modal, 6))])


def _rigid_motions(
    points: Floats, n_per_node: int, fixed: Ints, absent: Ints, n_modal: int, held: Floats
) -> Floats:
    """Rigid motions (n_dof, n_rigid) of size one that move the nodes and leave the supports at rest.

    held : (n, 6) of supports beside the mesh, as in `Links`
    """
    centre = points.mean(axis=0)
    R = rigid_field(points, n_per_node, centre, n_modal)
    held = np.hstack([held[:, :3], held[:, 3:] - np.cross(centre, held[:, :3])])
    R[absent] = 0.0
    size = np.sqrt(np.mean(R[: n_per_node * len(points)] ** 2, axis=0))
    moving = size > 1e-12 * size.max()
    R, held = R[:, moving] / size[moving], held[:, moving] / size[moving]
    _, moved, Vt = np.linalg.svd(R.T @ R)
    V = Vt[moved > 1e-12 * moved[0]].T  # nodes on a line: the turn about it moves nothing
    R, held = R @ V, held @ V
    if len(fixed) or len(held):
        _, size, Vt = np.linalg.svd(np.concatenate([R[fixed], held]), full_matrices=True)
        size = np.concatenate([size, np.zeros(max(R.shape[1] - len(size), 0))])
        R = R @ Vt[size <= HELD * max(size[0], 1e-300)].T
    return R


def _to_tied(
    R: Floats,
    points: Floats,
    n_per_node: int,
    kept: Ints,
    slots: Mapping[str, Ints],
    items: Sequence[Interface],
    links: Links | None = None,
) -> Floats:
    """Tied coordinates of fields that respect the ties, such as rigid motions."""
    own = 0 if links is None else links.E_s.shape[1]
    n_t = len(kept) + sum(len(columns) for columns in slots.values()) + own
    R_t = np.zeros((n_t, R.shape[1]))
    R_t[: len(kept)] = R[kept]
    for item in items:
        if item.name in slots:
            T = tie_columns(points, item, n_per_node)[:, list(item.carried)]
            R_t[slots[item.name]] = np.linalg.lstsq(T, R[_dofs(item.nodes, n_per_node)], rcond=None)[0]
    if links is not None:
        R_t[n_t - own :] = _own_coordinates(R, links)
    return R_t


def _own_coordinates(R: Floats, links: Links) -> Floats:
    """Coordinates of nodes without a cell in fields that obey the links; others are errors."""
    left = R - links.E_u @ R
    s = np.zeros((links.E_s.shape[1], R.shape[1]))
    if len(s):
        gram = sp.csc_matrix(links.E_s.T @ links.E_s)
        s = np.asarray(splu(gram).solve(np.asarray(links.E_s.T @ left)))
    if np.abs(left - links.E_s @ s).max(initial=0.0) > OBEYED * np.abs(R).max(initial=0.0):
        what = "equations of the deck hold the body as a whole: it could not move in a mechanism"
        remedy = "their coefficients must allow every rigid motion; --ignore the cards that hold it"
        raise InputError(Diagnostic("deck.grounded", "deck", what, remedy))
    return s


def _orthonormal(R_t: Floats, M_t: sp.csr_matrix) -> tuple[Floats, bool]:
    """Columns of R_t made M-orthonormal, and whether all have inertia (else they stay as they are)."""
    if not R_t.shape[1]:
        return R_t, True
    gram = R_t.T @ (M_t @ R_t)
    value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
    if value[0] <= 1e-14 * abs(value[-1]):
        return R_t, False
    return R_t @ (vector / np.sqrt(value)), True
