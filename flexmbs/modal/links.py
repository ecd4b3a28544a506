"""Connections of a deck -> nodal dofs that depend on others; nodes without a cell add coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.attach import rotation_rows
from flexmbs.fe.deck import Equation, Mean, Rigid
from flexmbs.fe.mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: squared share of a column beyond what others carry, when it still moves something
MOVES = 1e-10
#: a rotation of a weighted mean is determined when it is above this, of the largest
CARRIED = 1e-12


@dataclass(frozen=True)
class Links:
    """Solved connections: u = E_u u + E_s s over nodal dofs u, with coordinates s of nodes without a cell.

    E_u : (n_dof, n_dof), the columns of `dependent` dofs are zero;  E_s : (n_dof, n_s), full rank
    held : (n, 6) what supports of nodes without a cell keep at zero, of translation and turning about the
        origin of the mesh
    """

    dependent: Ints
    E_u: Any
    E_s: Any
    held: Floats = field(default_factory=lambda: np.zeros((0, 6)))


@dataclass
class LinkSolver:
    """Equations between dofs of numbered nodes; places: number -> position, index: number -> mesh node."""

    mesh: Mesh
    n_per_node: int
    places: Mapping[int, Floats]
    index: Mapping[int, int]
    turning: frozenset[int] = frozenset()
    rows: list[tuple[int, list[int], list[float]]] = field(default_factory=list)
    extra: dict[tuple[int, int], int] = field(default_factory=dict)
    cards: dict[int, str] = field(default_factory=dict)
    held: dict[int, Floats] = field(default_factory=dict)

    @property
    def n_dof(self) -> int:
        return self.n_per_node * self.mesh.n_nodes

    @cached_property
    def _rotating(self) -> NDArray[np.bool_]:
        return self.mesh.turning_nodes()

    def rotates(self, number: int) -> bool:
        """Whether a node has rotations of its own, of shells or beams."""
        at = self.index.get(number)
        return at is not None and self.n_per_node == 6 and bool(self._rotating[at])

    def dof(self, number: int, component: int) -> int:
        """Running number of a dof; nodes without a cell and turns of solid nodes stand behind the others."""
        at = self.index.get(number)
        if at is not None and (component < 3 or self.rotates(number)):
            return at * self.n_per_node + component
        return self.extra.setdefault((number, component), self.n_dof + len(self.extra))

    def add(self, items: Sequence[Rigid | Mean | Equation]) -> None:
        for item in items:
            if isinstance(item, Rigid):
                self._rigid(item)
            elif isinstance(item, Mean):
                self._mean(item)
            else:
                terms = [
                    (self.dof(node, k), float(vector[k]))
                    for node, vector in item.terms
                    for k in by_size(vector)
                ]
                self._equation(terms, item.card, len(by_size(item.terms[0][1])))  # axes of its own: several

    def _rigid(self, item: Rigid) -> None:
        origin = self.places[item.node]
        master = [self.dof(item.node, k) for k in range(6)]
        for node in item.nodes.tolist():
            arm, axes = self.places[node] - origin, item.axes.get(node, np.eye(3))
            for k in item.dofs:
                d = axes[:, k % 3]
                if k < 3:
                    own = [(self.dof(node, c), d[c]) for c in by_size(d)]
                    lever = np.cross(arm, d)
                    terms = [(master[c], -d[c]) for c in range(3)]
                    terms += [(master[3 + c], -lever[c]) for c in range(3)]
                elif node in self.turning or self.rotates(node):
                    own = [(self.dof(node, 3 + c), d[c]) for c in by_size(d)]
                    terms = [(master[3 + c], -d[c]) for c in range(3)]
                else:
                    continue
                self._equation([*own, *terms], item.card, len(own))

    def _mean(self, item: Mean) -> None:
        arm = np.array([self.places[node] for node in item.nodes.tolist()]) - self.places[item.node]
        block = np.zeros((len(arm), 3, 6))
        block[:, :, :3] = np.eye(3)
        block[:, :, 3:] = np.cross(np.eye(3)[None], arm[:, None]).transpose(0, 2, 1)
        T = block.reshape(-1, 6)
        weight = np.repeat(item.weights, 3)
        motions = [(node, c) for node in item.nodes.tolist() for c in range(3)]
        turning = [] if item.spins is None else np.argwhere(item.spins).tolist()
        spins = [(j, 3 + c) for j, c in turning if self.rotates(int(item.nodes[j]))]
        if spins:
            T = np.concatenate([T, np.eye(6)[[c for _, c in spins]]])
            mean_square = np.linalg.norm(arm, axis=1).mean() ** 2 or 1.0
            weight = np.append(weight, item.weights[[j for j, _ in spins]] * mean_square)
            motions += [(int(item.nodes[j]), c) for j, c in spins]
        scale = np.maximum(np.linalg.norm(T, axis=0), 1e-300)
        normal = (T / scale).T @ (weight[:, None] * (T / scale))
        value, vector = np.linalg.eigh(normal)
        carried = value > CARRIED * value[-1]
        inverse = (vector[:, carried] / value[carried]) @ vector[:, carried].T
        mean = (inverse @ ((T / scale).T * weight)) / scale[:, None]
        lost = vector[:, ~carried]
        for k in item.dofs:
            if lost.size and np.abs(lost[k]).max() > 1e-6:
                what = f"{item.card} of node {item.node}: its {len(arm)} nodes carry no rotation"
                raise self._error(
                    what, "leave the rotation out of its reference freedoms, or take more nodes"
                )
            terms = [(self.dof(item.node, k), 1.0)]
            terms += [(self.dof(*own), -mean[k, j]) for j, own in enumerate(motions)]
            self._equation(terms, item.card)

    def hold(self, number: int, component: int, card: str) -> None:
        """Keep a direction of a node without a cell at zero, where a connection moves others with it."""
        dof = self.extra.get((number, component))
        if dof is None:
            return
        if dof in self.cards:
            what = f"{card} holds {self._name(dof)}, which follows others ({self.cards[dof]})"
            raise self._error(what, f"tie it instead: --supports drop --interface rbe:{number}")
        self.held[dof] = np.concatenate([np.eye(3)[component % 3], np.zeros(3)])
        if component >= 3:
            self.held[dof] = self.held[dof][[3, 4, 5, 0, 1, 2]]
        else:
            self.held[dof][3:] = np.cross(self.places[number], np.eye(3)[component])

    def _equation(self, terms: list[tuple[int, float]], card: str, first: int = 1) -> None:
        """One row; of its `first` terms that one becomes dependent which no row before made so."""
        dependent = next((dof for dof, _ in terms[:first] if dof not in self.cards), None)
        if dependent is None:
            dof = terms[0][0]
            what = f"{self._name(dof)} depends on two connections ({self.cards[dof]} and {card})"
            raise self._error(what, "a freedom can follow one connection only")
        total: dict[int, float] = {}
        for dof, value in terms:
            total[dof] = total.get(dof, 0.0) + value
        pivot = total.pop(dependent)
        if pivot == 0.0:
            raise self._error(
                f"{card}: the coefficient of {self._name(dependent)} is zero", "name another first"
            )
        self.cards[dependent] = card
        columns = [dof for dof, value in total.items() if value]
        self.rows.append((dependent, columns, [-total[dof] / pivot for dof in columns]))

    def _name(self, dof: int) -> str:
        words = ("x", "y", "z", "rx", "ry", "rz")
        if dof < self.n_dof:
            return f"node {self.mesh.node_number[dof // self.n_per_node]} {words[dof % self.n_per_node]}"
        number, component = next(key for key, value in self.extra.items() if value == dof)
        return f"node {number} {words[component]}"

    def _error(self, what: str, remedy: str) -> InputError:
        return InputError(Diagnostic("deck.links", self.mesh.source or "mesh", what, remedy))

    def solve(self) -> Links:
        """All dofs out of the independent ones; of those that are not nodal only what moves something."""
        n = self.n_dof + len(self.extra)
        dependent = np.array([row[0] for row in self.rows], dtype=np.int64)
        counts = [len(row[1]) for row in self.rows]
        columns = np.array([c for row in self.rows for c in row[1]], dtype=np.int64)
        values = np.array([v for row in self.rows for v in row[2]], dtype=float)
        B = sp.csc_array(
            (values, (np.repeat(np.arange(len(counts)), counts), columns)), shape=(len(counts), n)
        )
        free = np.ones(n, dtype=bool)
        free[dependent] = free[list(self.held)] = False
        B_free = B @ sp.diags_array(free.astype(float))
        B_dep = sp.csc_array(B[:, dependent])
        if B_dep.nnz:
            try:
                lu = splu(sp.csc_matrix(sp.eye_array(len(dependent)) - B_dep))
            except RuntimeError:
                raise self._error("its connections depend on each other in a circle", "break it") from None
            some = np.unique(sp.csc_array(B_free).nonzero()[1])
            solved = sp.coo_array(lu.solve(sp.csc_array(B_free)[:, some].toarray()))
            B_free = sp.csc_array((solved.data, (solved.row, some[solved.col])), shape=B_free.shape)
        rest = sp.csr_array(
            (np.ones(int(free.sum())), (np.flatnonzero(free), np.flatnonzero(free))), shape=(n, n)
        )
        place = sp.csr_array(
            (np.ones(len(dependent)), (dependent, np.arange(len(dependent)))), shape=(n, len(dependent))
        )
        self.E = sp.csr_array(rest + place @ B_free)
        self.E.eliminate_zeros()
        own = self.E[: self.n_dof, self.n_dof :]
        self.Q = range_of(sp.csc_array(own))
        return Links(
            np.unique(dependent[dependent < self.n_dof]),
            sp.csr_array(self.E[: self.n_dof, : self.n_dof]),
            sp.csr_array(own @ self.Q),
            np.array(list(self.held.values())).reshape(-1, 6),
        )

    def motion(self, number: int, why: str, *, turns: bool = True) -> Any:
        """(6, n_dof) motion of a node out of nodal dofs, exact in all motions that the connections allow."""
        parts = [self._row(number, k, why) for k in range(3)]
        at = self.index.get(number)
        if not turns:
            parts.append(sp.csr_array((3, self.n_dof)))
        elif at is not None and not self.rotates(number) and (number, 3) not in self.extra:
            parts.append(sp.csr_array(rotation_rows(self.mesh, at, self.n_per_node)))
        else:
            parts += [self._row(number, 3 + k, why) for k in range(3)]
        return sp.csr_array(sp.vstack(parts))

    def _row(self, number: int, component: int, why: str) -> Any:
        dof = self.dof(number, component)
        if dof >= self.E.shape[0]:
            what = f"node {number} with {why} belongs to no cell and is not connected"
            raise self._error(what, "connect it with a rigid or averaging element")
        row = sp.csr_array(self.E[[dof]])
        nodal, own = row[:, : self.n_dof], row[:, self.n_dof :]
        if not own.nnz:
            return nodal
        T, H = sp.csr_array(self.E[: self.n_dof, self.n_dof :]), self.E[: self.n_dof, : self.n_dof]
        label = self._groups()
        group = np.flatnonzero(np.isin(label, np.unique(label[own.indices])))
        T = sp.csc_array(T)[:, group]
        moved = np.unique(T.indices)
        dense = T[moved].toarray()
        scale = np.maximum(np.linalg.norm(dense, axis=0), 1e-300)
        _, R, pivot = qr((dense / scale).T, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int((size > 1e-9 * max(size[0], 1e-300)).sum()) if len(size) else 0
        chosen = moved[pivot[:rank]]
        small = dense[pivot[:rank]] / scale
        wanted = own.toarray()[0, group] / scale
        weights = np.linalg.lstsq(small.T, wanted, rcond=None)[0]
        if np.abs(small.T @ weights - wanted).max(initial=0.0) > 1e-9 * np.abs(wanted).max(initial=1.0):
            what = f"node {number} with {why} can move on its own: its connections leave it free"
            raise self._error(what, "connect it in all directions")
        pick = sp.csr_array((weights, (np.zeros(rank, dtype=int), chosen)), shape=(1, self.n_dof))
        return sp.csr_array(nodal + pick - pick @ sp.csr_array(H))

    def _groups(self) -> Ints:
        own = sp.csc_array(self.E[: self.n_dof, self.n_dof :])
        return np.asarray(connected_components(sp.csr_matrix(abs(own).T @ abs(own)), directed=False)[1])


def by_size(d: Floats) -> list[int]:
    """Components of a direction that are not zero, the largest first."""
    return [int(c) for c in np.argsort(-np.abs(d)) if abs(d[c]) > 1e-12 * np.abs(d).max()]


def range_of(A: Any) -> Any:
    """(n, n_s) combinations of the columns of A that move something and are independent of each other."""
    size = np.sqrt(np.asarray(A.multiply(A).sum(axis=0)).ravel())
    some = np.flatnonzero(size > 0)
    unit = sp.csc_array(A[:, some]) / size[some]
    gram = sp.csr_matrix(unit.T @ unit)
    _, label = connected_components(gram, directed=False)
    columns = []
    for group in range(int(label.max(initial=-1)) + 1):
        members = np.flatnonzero(label == group)
        value, vector = np.linalg.eigh(gram[members][:, members].toarray())
        for k in np.flatnonzero(value > MOVES * value[-1]):
            column = np.zeros(A.shape[1])
            column[some[members]] = vector[:, k] / size[some[members]]
            columns.append(sp.csc_array(column[:, None]))
    return sp.hstack(columns, format="csc") if columns else sp.csc_array((A.shape[1], 0))
