"""Formulations beside the recursion as problems of the time loop (F28, F31, F33)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate.problem import HOLD
from flexmbs.model.state import State
from flexmbs.simulate.motion.contact import contact_rows, open_contacts
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.given import Given
from flexmbs.simulate.motion.passage import Passage
from flexmbs.simulate.motion.powers import rates_of_aux

if TYPE_CHECKING:
    from flexmbs.integrate import Settings
    from flexmbs.simulate.record.sampling import Sampler

Floats = NDArray[np.float64]
#: closure, over a length of the model, that needs no projection
TOLERANCE = 1e-13


class Formulation(Given):
    """The equations of another formulation than the recursion.

    Subclasses give accelerations, projection, and what is reported; all see states and change them in place.
    `evaluator` and `sampler` share their workspace. `y`: state vector at the start.
    """

    formulation = ""
    open_limit = 1e-6  # closure, over a length of the model, beyond which a joint is open

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, t_end: float,
        *, lifts: bool = True,
    ) -> None:  # fmt: skip
        self.name = f"{chosen.method} ({self.formulation})"
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.length = max(float(np.abs(system.tables.marker.u0).max(initial=0.0)), 1.0)
        self.stage_tolerance = max(TOLERANCE, 1e-4 * chosen.rtol) * self.length
        self.contacts = contact_rows(system, lifts)
        super().__init__(problem(system, lifts=lifts), closed=True)
        self.y = self._start(system, state, evaluator, lifts)
        self._marked = self.y[len(self.y) - len(self.contacts) :].copy()
        self.passage = Passage(self.known, state.t, self.y, t_end)

    @staticmethod
    def _start(system: Any, state: State, evaluator: Any, lifts: bool) -> Floats:
        """State vector at the start; its open contacts, where any may open, are marked in the workspace."""
        y, rows = state_vector(system, state), contact_rows(system, lifts)
        if len(rows):
            open_contacts(system, state, y)
            evaluator.ws.row.soft[rows] = -y[len(y) - len(rows) :]
        return y

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Rows that are constraints: no stiff forces, no motions without inertia."""
        kinds = [self.system.groups[g].kind for g in self.system.tables.row.group]
        return np.flatnonzero([kind not in ("force", "massless") for kind in kinds])

    @abstractmethod
    def position_rates(self, state: State) -> Floats:
        """Rates of the positions at the speeds of a state."""

    @abstractmethod
    def accelerations(self, state: State) -> Floats:
        """Accelerations of a state on the constraints; efforts of drives are left in the workspace."""

    @abstractmethod
    def pass_of(self, state: State, a: Floats, bh: float, gh: float) -> Floats:
        """Accelerations after one pass of the implicit step, from `a`, to which the state belongs (F43)."""

    @abstractmethod
    def observe(self, state: State) -> Floats:
        """Accelerations of a state, with everything that is reported in the workspace."""

    @abstractmethod
    def close(self, state: State, tolerance: float, bh: float, gh: float) -> tuple[float, float]:
        """Bring a state onto the constraints; closure of positions, of speeds. bh, gh: as in `project`."""

    def other_rows(self, state: State) -> None:
        """Other contacts are open in a state than in the last one: other rows hold."""

    def step_ends(self, t: float, y: Floats) -> None:
        """A step ends at this closed state, or is to."""

    def _state(self, t: float, y: Floats) -> State:
        """Views into a state vector, whose open contacts go into the workspace."""
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        state = State(t, y[:n], y[n:m], y[m : m + self.system.n_aux], y[self.known.followed])
        opened = y[len(y) - len(self.contacts) :]
        self.evaluator.ws.row.soft[self.contacts] = -opened
        if not np.array_equal(opened, self._marked):
            self._marked = opened.copy()
            self.other_rows(state)
        return state

    def rates(self, t: float, y: Floats, y_dot: Floats) -> None:
        """Rates at the state brought onto the constraints, from both sides of a change point; see Problem."""
        place, n = y.copy(), self.system.n_pos
        if not np.isfinite(y).all():
            raise SolverError(Diagnostic("solver.not_evaluated", f"t = {t:.6g} s", "the state is not finite"))
        if self.stage_tolerance < np.inf:
            self._closed(t, place, self.stage_tolerance)
        is_near = self.passage.is_near(t, place)
        mean = self._between(t, place, self._rates_at) if is_near else None
        y_dot[:] = 0.0
        y_dot[: self.known.size - self.known.n_held] = self._rates_at(t, place) if mean is None else mean
        y_dot[:n] = self.position_rates(self._state(t, place))
        if is_near:
            self.passage.distance(t, place)  # the loop asks for that of this state

    def _rates_at(self, t: float, y: Floats) -> Floats:
        """Rates of speeds, of own states and of quadratures; those of positions are left out."""
        state, y_dot = self._state(t, y), np.zeros(self.known.size - self.known.n_held)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        y_dot[n:m] = self.accelerations(state)
        rates_of_aux(self.sampler.data, state.vel, y[m : len(y_dot)], y_dot[m:])
        return y_dot

    def shifted(
        self, t: float, y: Floats, a: Floats, bh: float, gh: float, a_new: Floats, aux_dot: Floats
    ) -> None:
        """One pass of the implicit step; see Problem."""
        state, m = self._state(t, y.copy()), self.system.n_pos + self.system.n_vel
        a_new[:] = self.pass_of(state, a, bh, gh)
        rates_of_aux(self.sampler.data, state.vel, y[m : m + len(aux_dot)], aux_dot)
        self.passage.distance(t, y)

    def project(self, t: float, y: Floats, bh: float, gh: float, out: Floats) -> None:
        """Positions and speeds of y onto the constraints; see Problem."""
        how, n = out[2], self.system.n_pos
        before = y[:n].copy()
        out[2] = 0.0
        if how == HOLD:
            out[:2] = self._as_it_is(self._state(t, y))
            self._refuse_open(t, out[0])
        else:
            out[:2] = self._closed(t, y, TOLERANCE * self.length, bh, gh)
            out[2] = float(np.abs(y[:n] - before).max(initial=0.0) > TOLERANCE * self.length)
        if how < 0.0:
            self.step_ends(t, y)

    def row(self, t: float, y: Floats) -> Floats:
        """Sample of a state, from both sides of a change point that is close."""
        row = None
        with suppress(SolverError):  # where nothing is behind, the last good state
            row = self._between(t, y, self._row_at) if self.passage.is_near(t, y) else None
        if row is None:
            return self._row_at(t, y)
        self.sampler.put_state(row, y)
        return row

    def _row_at(self, t: float, y: Floats) -> Floats:
        """Sample of a state: follows from the state alone, and steps do not remember that it was taken."""
        loads = self.evaluator.law_work.load_of
        kept, loads[:] = loads.copy(), 0.0
        acc = self.observe(self._state(t, y.copy()))
        row = self.sampler.row(t, y, acc)
        loads[:] = kept
        return row

    def _between(self, t: float, y: Floats, value: Callable[[float, Floats], Floats]) -> Floats | None:
        """A value close to a change point, from closed states on both sides; None where it stands (F28)."""
        total = None
        for weight, time, place in self.passage.beside(t, y):
            self._plainly_closed(self._state(time, place), TOLERANCE * self.length)
            part = weight * value(time, place)
            total = part if total is None else total + part
        return total

    def _closed(
        self, t: float, y: Floats, tolerance: float, bh: float = 0.0, gh: float = 0.0
    ) -> tuple[float, float]:
        """Positions and speeds of y onto the constraints, near a change point on the branch (F28)."""
        state = self._state(t, y)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        mean = None
        if self.passage.is_near(t, y):
            mean = self._between(t, y, lambda _, place: place[:m].copy())
        if mean is None:
            return self._plainly_closed(state, tolerance, bh, gh)
        y[:n], y[n:m] = self.passage.normalised(mean)[:n], mean[n:]
        return self._as_it_is(self._state(t, y))

    def _as_it_is(self, state: State) -> tuple[float, float]:
        """Closure of a state that stays; its angles follow the pose."""
        ws = self.evaluator.ws
        self.evaluator.kinematics(state)
        state.turns[:] = ws.relation.angle[:, 0]
        g, g_dot = (float(np.abs(x[self.rows]).max(initial=0.0)) for x in (ws.row.g, ws.row.g_dot))
        return g, g_dot

    def _plainly_closed(
        self, state: State, tolerance: float, bh: float = 0.0, gh: float = 0.0
    ) -> tuple[float, float]:
        """`close`, or an error that names the joint that stays open."""
        found = self.close(state, tolerance, bh, gh)
        self._refuse_open(state.t, found[0])
        return found

    def _refuse_open(self, t: float, left: float) -> None:
        if left <= self.open_limit * self.length:
            return
        g = np.abs(self.evaluator.ws.row.g)
        worst = int(np.argmax(np.where(np.isfinite(g), g, np.inf))) if len(g) else -1
        name = row_names(self.system)[worst] if worst >= 0 else "a joint"
        what = f"{name} does not close: {g[worst] if worst >= 0 else left:.2e} is left"
        remedy = "the mechanism locks here, or its drives lead where it cannot follow"
        raise SolverError(Diagnostic("solver.open", f"t = {t:.6g} s", what, remedy))
