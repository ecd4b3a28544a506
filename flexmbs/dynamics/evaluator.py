"""A system with its arrays, for callers in Python: one evaluation at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import ready
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.loops import passes
from flexmbs.dynamics.loops.columns import plain_rows
from flexmbs.dynamics.loops.sparse import Sparse
from flexmbs.dynamics.tree import recursion
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.expressions import Expression
from flexmbs.model.laws.values import state_rates

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Evaluator:
    """Workspace of a system. Methods leave everything they compute in `ws` (see model/tables.py)."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.tables, self.laws = system.constants
        self.ws, self.law_work = (copies.new() for copies in system.arrays)
        self.acc = np.zeros(system.n_vel)
        self._ready: dict[Any, Any] = {}

    def _args(self, state: State, acc: Array) -> tuple[Any, ...]:
        self.ws.relation.turn[:] = state.turns
        return (
            self.tables, self.ws, self.laws, self.law_work,
            (state.t, state.pos, state.vel, state.aux, acc),
        )  # fmt: skip

    def run(self, entry: Any, state: State, acc: Array) -> Any:
        """A kernel at a state; numba looks at the types of the first call only."""
        args = self._args(state, acc)
        if not all(x.flags.c_contiguous for x in args[4][1:]):
            return entry(*args)
        return self.call(entry, *args)

    def call(self, entry: Any, *args: Any) -> Any:
        """A kernel with arguments of the same types in every call."""
        if entry not in self._ready:
            self._ready[entry] = ready(entry, *args)
        return self._ready[entry](*args)

    def kinematics(self, state: State, acc: Array | None = None) -> None:
        """Position and velocity stage; driven entries of the state are set to their law."""
        self.run(evaluate.kinematics, state, np.zeros(self.system.n_vel) if acc is None else acc)

    def jacobian(self, state: State) -> Array:
        """Rows of the constraints in the tree coordinates, G (n_rows, n_vel) (F27)."""
        self.loops(state)
        return self._dense_rows()

    def loops(self, state: State) -> None:
        """The position and velocity stage, and what G may hold anything in, by `pattern`. Fills: loop.G."""
        self.acc[:] = 0.0
        self.run(evaluate.kinematics, state, self.acc)
        self.call(plain_rows, self.tables, self.ws)

    @property
    def pattern(self) -> tuple[Ints, Ints]:
        """What of G may hold anything: where rows begin, columns."""
        return self.tables.path.start, self.tables.path.speed

    def values(self) -> Array:
        """Values of G where it may hold anything (F27). Needs `jacobian`."""
        return np.asarray(self.ws.loop.G.copy())

    def sparse_rows(self) -> Sparse:
        """G by what it may hold (F27). Needs `loops`."""
        return Sparse(*self.pattern, self.values(), self.system.n_vel)

    def _dense_rows(self) -> Array:
        G = np.zeros((self.system.n_rows, self.system.n_vel))
        G[self._places] = self.ws.loop.G
        return G

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        """Rows and columns of what G may hold."""
        starts, columns = self.pattern
        return np.repeat(np.arange(self.system.n_rows), np.diff(starts)), columns

    @property
    def open_rows(self) -> NDArray[np.int64]:
        """Rows of contacts that are open, and hold nothing."""
        return np.flatnonzero((self.tables.row.side != 0.0) & (self.ws.row.soft < 0.0))

    def row_sizes(self, length: float = 1.0) -> Array:
        """Size of the terms of every row, against which its gradient may be rounding. Needs kinematics.

        That is what a unit of its multiplier puts on joints, moments over `length`.
        """
        t, ws, n = self.tables, self.ws, self.system.n_rows
        lines = ws.relation.at[t.term.relation, 3:9] / [1.0, 1.0, 1.0, length, length, length]
        wrench = np.abs(ws.row.c_term) * np.sqrt((lines * lines).sum(axis=1))
        size = np.zeros(n) + np.bincount(self._row_of_term, wrench, n)
        if len(t.speed.coord):
            effort = np.abs(ws.row.c_speed) / np.where(t.coord.turn[t.speed.coord] == 0, 1.0, length)
            size += np.bincount(np.repeat(np.arange(n), np.diff(t.speed.start)), effort, n)
        return size

    @cached_property
    def _row_of_term(self) -> Ints:
        return np.repeat(np.arange(self.system.n_rows), np.diff(self.tables.term.start))

    def vanishing_pivots(self, state: State) -> list[int]:
        """Speeds without inertia at a state (F26a); they are those of the first body that has such."""
        self.acc[:] = 0.0
        self.call(evaluate.kinematics, *self._args(state, self.acc))
        self.call(evaluate.masses, self.tables, self.ws, state.pos, state.vel)
        for array in (self.ws.body.f_app, self.ws.coord.tau, self.ws.coord.K, self.ws.coord.D):
            array[:] = 0.0  # laws need not be defined at an arbitrary place
        self.call(evaluate.residuals, self.tables, self.ws, state.pos, state.vel, self.acc)
        status, _body = self.call(passes.backward, self.tables, self.ws, 0.0, 0.0, False)
        return [int(k) for k in np.flatnonzero(self.ws.tree.N == 0.0)] if status == 2 else []

    def tree_forces(self, state: State, acc: Array) -> Array:
        """What is missing on the speeds of the tree at accelerations `acc`: Jt^T (f - M a_hat) + tau."""
        self.run(evaluate.kinematics, state, acc)
        self.run(evaluate.forces, state, acc)
        out = np.zeros(self.system.n_vel)
        recursion.tree_forces(self.tables, self.ws, out)
        return out

    def sound_tree_forces(self, state: State, acc: Array) -> Array:
        """The same, or an error that names what has no value."""
        load = self.tree_forces(state, acc)
        self.require(state, load)
        return load

    def rates_of_states(self, state: State) -> Array:
        """Rates (n_aux,) of own states and of drives that are integrated. Needs forces."""
        rates = np.zeros(len(state.aux))
        state_rates(self.laws, self.law_work, state.aux, rates)
        return rates

    def observe(self, state: State) -> Array:
        """Accelerations (n_vel,) and all outputs of a state; raises `SolverError` when there are none."""
        self.check(self.run(evaluate.observe, state, self.acc), state)
        return self.acc.copy()

    def without_value(self, state: State) -> list[str]:
        """Drives, forces, laws of joints and own states that are no numbers at a state.

        What follows the time comes first and alone: what depends on it is no number either.
        """
        found = self.times_without_value(state)
        if found:
            return found
        self.run(evaluate.forces, state, np.zeros(self.system.n_vel))
        good = np.isfinite(self.law_work.out).all(axis=1)
        found = [name for name, fine in zip(self.system.laws.owners, good, strict=True) if not fine]
        rates, own = self.rates_of_states(state), self.system.model.states
        return found + [f"states.{name}" for name, x in zip(own, rates, strict=False) if not np.isfinite(x)]

    def times_without_value(self, state: State) -> list[str]:
        """Drives, lengths and places that follow the time and are no numbers, or have rates that are none."""
        self.run(evaluate.kinematics, state, np.zeros(self.system.n_vel))
        ws, model = self.ws, self.system.model
        names = [f"drives.{law.name}" for law in self.system.time_laws if law.name]
        lengths = [n for n, j in model.joints.items() if isinstance(getattr(j, "length", None), Expression)]
        names += [f"joints.{name}" for name in lengths]
        bad = ~np.isfinite(np.stack([ws.law.x, ws.law.v, ws.law.a])).all(axis=0)
        found = list(dict.fromkeys(name for name, wrong in zip(names, bad, strict=False) if wrong))
        moved = [m.body for m in self.system.markers.finish() if m.travel is not None]
        lost = ~np.isfinite(ws.travel.x).all(axis=(1, 2))
        places = {body for body, wrong in zip(moved, lost, strict=True) if wrong}
        return found + [f"a place on {body} that follows t" for body in sorted(places)]

    def require_times(self, state: State) -> None:
        """Raise an error that names what follows the time and has no value where the state is."""
        self.kinematics(state)
        self.require(state, self.ws.law.x, self.ws.law.v, self.ws.law.a, self.ws.travel.x)

    def require(self, state: State, *values: Array) -> None:
        """Raise an error that names what has no value at a state, if one of `values` is no number."""
        if not all(np.isfinite(x).all() for x in values):
            names = self.without_value(state.copy()) or ["model"]
            raise SolverError(no_value(names, state.t, self.system.laws.errors))

    def check(self, status: int, state: State | None = None) -> None:
        """Turn a status of `dynamics/evaluate.py` into an error that names what is wrong."""
        if status == 0:
            return
        nothing = self.without_value(state.copy()) if state is not None else []
        if nothing and state is not None:
            raise SolverError(no_value(nothing, state.t, self.system.laws.errors))
        names = self.system.bodies
        speeds = np.flatnonzero(self.ws.tree.N == 0.0)
        at = [names[int(np.searchsorted(self.tables.tree.o_eta, k, side="right")) - 1] for k in speeds]
        if status == 2 and not at:  # (F26a) could not help: no row holds them
            at = [group.name for group in self.system.groups if group.kind == "massless"]
        what = {
            1: "an elastic coordinate has no inertia",
            2: "a joint coordinate moves no inertia",
            evaluate.NO_FRICTION: "friction grows with the reaction that it causes: a joint jams",
        }.get(status, "accelerations are not finite")
        bad = at or [names[i] for i in range(1, len(names)) if not np.all(np.isfinite(self.ws.body.da[i]))]
        where = f"bodies.{bad[0]}" if bad else "model"
        remedy = "give the bodies beyond it mass and inertia, or hold them"
        if status == evaluate.NO_FRICTION:
            remedy = "lower the coefficient of friction"
        raise SolverError(Diagnostic("solver.singular", where, what, remedy))


def no_value(names: list[str], t: float, errors: Sequence[str] = ()) -> Diagnostic:
    """The finding that expressions have no finite value; `errors` of Python functions."""
    more = f" (nor have {', '.join(names[1:4])})" if len(names) > 1 else ""
    what = f"has no finite value, or none of its rates, at t = {t:.6g} s{more}" + "".join(
        f"; {e}" for e in errors
    )
    return Diagnostic(
        "solver.no_value", names[0], what, "look at the domain of its roots, logarithms, divisors"
    )
