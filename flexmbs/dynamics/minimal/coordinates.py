"""Minimal coordinates: independent speeds, and the rest from the closure (F29-F31)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.loops.frontal import SMALL, Frontal
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.loops.sparse import Sparse
from flexmbs.dynamics.minimal.closed_form import closed_forms
from flexmbs.dynamics.minimal.closing import Closing
from flexmbs.dynamics.tolerances import RANK_OF_ROWS, ROUNDED
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.expressions.switching import switching_functions
from flexmbs.model.places import find_coordinate

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_ROW = 1e-12
#: iterations that close a loop
ITERATIONS = 30
#: Columns of coordinates that are asked for as independent count this much: they become dependent last.
ASKED_SHARE = 1e-9
#: Elastic columns count this much in the choice, so that joint speeds become the dependent ones; so do those
#: over which a law has kinks: next to one, they do not follow from the others.
ELASTIC_SHARE = 1e-3


@dataclass(frozen=True)
class Split:
    """Independent and dependent speeds and the independent rows of G; driven speeds are in neither."""

    ind: Ints
    dep: Ints
    rows: Ints


def choose(system: System, G: Array, sizes: Array, *, as_asked: bool = True) -> Split:
    """Pick the dependent speeds so that G_d is well conditioned: pivoted QR, rows by pivoted QR (F29).

    `sizes`: size of the terms of every row. `as_asked`: those that the model names stay independent, as far
    as that is possible.
    """
    from scipy.linalg import qr

    free = np.flatnonzero(system.tables.tree.driven < 0)
    if not len(G) or not len(free):
        return Split(free, free[:0], free[:0])
    weight = np.ones(system.n_vel)
    t = system.tables
    for i in range(1, len(t.tree.parent)):
        weight[t.tree.o_qd[i] : t.tree.o_eta[i + 1]] = ELASTIC_SHARE
    weight[kinked(system)] = ELASTIC_SHARE
    if as_asked:
        weight[[k for k in asked(system) if k >= 0]] = ASKED_SHARE
    norms = np.linalg.norm(G, axis=1)
    # a row of rounding is no row: made as long as the others it would count
    scaled = G / np.where(norms > NO_ROW * np.maximum(sizes, norms.max()), norms, np.inf)[:, None]
    if len(G) > SMALL and len(G) > len(free) - len(G):
        return by_motions(scaled, free, weight)
    # the rank is that of all columns, elastic ones too: only the choice among them is weighted
    size = np.abs(np.diag(qr(scaled[:, free], mode="r", pivoting=True)[0]))
    rank = int(np.sum(size > RANK_OF_ROWS * size[0])) if len(size) and size[0] > 0.0 else 0
    _, order = qr(scaled[:, free] * weight[free], mode="r", pivoting=True)
    dep = np.sort(free[order[:rank]])
    _, rows = qr(scaled[:, dep].T, mode="r", pivoting=True) if rank else (None, np.zeros(0, dtype=int))
    ind = np.setdiff1d(free, dep)
    return Split(ind, dep, np.sort(rows[:rank]).astype(np.int64))


def by_motions(G: Array, free: Ints, weight: Array) -> Split:
    """The same choice from the other side: independent are those in which the motions left show best.

    A part of the determinant of G is large where that of the null space in the other columns is. So pivots
    among the few motions that many loops leave stand for those among their rows.
    """
    from scipy.linalg import qr

    found = Frontal(Sparse.of(G[:, free]), RANK_OF_ROWS * float(np.linalg.norm(G, axis=1).max(initial=0.0)))
    motions = found.null() / weight[free][:, None]
    _, order = qr(motions.T, mode="r", pivoting=True)
    dep = np.sort(free[order[motions.shape[1] :]])
    return Split(np.setdiff1d(free, dep), dep, np.sort(found.kept))


def asked(system: System) -> list[int]:
    """Speeds of the coordinates that the model names as independent ones, -1 of a cut joint."""
    found = []
    for path in system.model.independent:
        joint, _, name = path.partition(".")
        found.append(find_coordinate(system.joints, joint, name or None).vel)
    return found


def kinked(system: System) -> list[int]:
    """Speeds of the coordinates over which the law of a constraint has kinks."""
    over = [
        row.names.get(name)
        for group in system.groups
        for row in group.rows
        for switch in (switching_functions(row.expression) if row.expression is not None else ())
        for name in switch.names
    ]
    return sorted({c.vel for c in over if c is not None and c.vel >= 0})


class Minimal:
    """A system in minimal coordinates about a state: moves independent coordinates, closes the rest."""

    def __init__(self, evaluator: Evaluator, state: State, *, as_asked: bool = True) -> None:
        self.evaluator, self.system = evaluator, evaluator.system
        self.iterations = 0
        G = evaluator.jacobian(state)
        self.take(choose(self.system, G, evaluator.row_sizes(), as_asked=as_asked))
        if as_asked:
            self._check_asked()

    def take(self, split: Split) -> None:
        """Go on with these coordinates. Needs the position stage."""
        self.split = split
        self.closing = Closing(self.evaluator, split.rows, split.dep, split.ind)
        few = self.closing.is_small
        self.forms = closed_forms(self.system, self.evaluator, split.dep) if few else None

    def _check_asked(self) -> None:
        """Refuse independent coordinates that others, or drives, determine (F29)."""
        for name, k in zip(self.system.model.independent, asked(self.system), strict=True):
            if k not in self.split.ind:
                what = f'"{name}" cannot be an independent coordinate here: '
                what += (
                    "its joint is the cut of a loop" if k < 0 else "the others and the drives determine it"
                )
                remedy = f"{len(self.split.ind)} coordinates are independent; name others, or fewer"
                raise SolverError(Diagnostic("minimal.independent", "analysis.independent", what, remedy))

    def loop_jacobian(self, state: State) -> Array:
        """J_loop (n_vel, n_min): all speeds from the independent ones, driven ones at rest (F29)."""
        self.evaluator.loops(state)
        s, J = self.split, np.zeros((self.system.n_vel, len(self.split.ind)))
        J[s.ind, np.arange(len(s.ind))] = 1.0
        if len(s.dep):
            J[s.dep] = -self.closing.factors()(self.closing.independent())
        return J

    def close_positions(self, state: State) -> None:
        """Dependent coordinates from g = 0 (F29). The independent ones stay. Changes state.pos.

        In closed form where a loop has one, the others by Newton. Every closed form looks at the whole
        mechanism again: many loops are closed by Newton at once, and in closed form where that fails.
        """
        if not self.closing.is_small:
            before = state.pos.copy()
            with suppress(SolverError):
                if self._newton(state):
                    return
            state.pos[:] = before
        self.evaluator.kinematics(state)
        if self.forms is None:
            self.forms = closed_forms(self.system, self.evaluator, self.split.dep)
        for form in self.forms:
            form.close(self.evaluator, state)
            self.evaluator.kinematics(state)
        if not self._newton(state):
            self._open(state)

    def _newton(self, state: State) -> bool:
        """Close all loops by Newton; whether they are closed. Changes state.pos."""
        s, change = self.split, np.zeros(self.system.n_vel)
        if not len(s.dep):
            return True
        for _ in range(ITERATIONS):
            self.evaluator.loops(state)
            change[s.dep] = -self.closing.factors()(self.evaluator.ws.row.g[s.rows])
            size = np.abs(change).max()
            if size < ROUNDED:
                return True
            self.iterations += 1
            add_increment(self.evaluator.tables, state.pos.copy(), change, state.pos)
            if size < 1e-9:  # quadratic: the next change is rounding
                self.evaluator.kinematics(state)
                return True
        return False

    def _open(self, state: State) -> None:
        g = np.abs(self.evaluator.ws.row.g)
        worst = int(np.argmax(np.where(np.isfinite(g), g, np.inf)))
        name = row_names(self.system)[worst]
        what = f"{name} cannot be closed: {g[worst]:.3g} is left after {ITERATIONS} iterations"
        remedy = "the mechanism is at the end of its motion, locks here, or is near a change point"
        raise SolverError(Diagnostic("minimal.open", name.partition(" ")[0], what, remedy))

    def close_speeds(self, state: State) -> None:
        """Dependent speeds from the independent and driven ones (F29). Changes state.vel."""
        s = self.split
        if not len(s.dep):
            self.evaluator.kinematics(state)
            return
        state.vel[s.dep] = 0.0
        self.evaluator.loops(state)
        state.vel[s.dep] = -self.closing.factors()(self.evaluator.ws.row.g_dot[s.rows])
        self.evaluator.kinematics(state)

    def close_rates(self, state: State, independent: Array) -> Array:
        """Rates of all speeds from those of the independent ones, driven ones by their law (F29)."""
        s, acc = self.split, np.zeros(self.system.n_vel)
        acc[s.ind] = independent
        self.evaluator.loops(state)
        solved = self.closing.factors() if len(s.dep) else None
        self.evaluator.kinematics(state, acc)
        if solved is not None:
            acc[s.dep] = -solved(self.evaluator.ws.row.g_ddot[s.rows])
        return acc

    def moved(self, state: State, change: Array, speeds: Array | None = None) -> State:
        """The state with independent coordinates moved by `change`, loops closed; speeds as given or kept."""
        out, full = state.copy(), np.zeros(self.system.n_vel)
        full[self.split.ind] = change
        add_increment(self.evaluator.tables, state.pos, full, out.pos)
        self.close_positions(out)
        if speeds is not None:
            out.vel[self.split.ind] = speeds
        self.close_speeds(out)
        return out

    def forces(self, state: State, independent: Array) -> tuple[Array, Array]:
        """Residual forces on the independent coordinates, Jl^T (k - M_hat acc), and acc (F30)."""
        acc = self.close_rates(state, independent)
        J = self.loop_jacobian(state)
        return J.T @ self.evaluator.tree_forces(state, acc), acc
