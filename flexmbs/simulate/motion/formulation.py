"""Runs of other formulations than the recursion, by SciPy's integrators (F28, F31, F33)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate.events.crossings import Crossings
from flexmbs.integrate.methods.radau import Radau
from flexmbs.model.state import State
from flexmbs.simulate.motion.contact import contact_rows, open_contacts
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.lifting import Lifting
from flexmbs.simulate.motion.passage import Passage
from flexmbs.simulate.motion.powers import given_rates_of_aux

if TYPE_CHECKING:
    from flexmbs.integrate import Settings
    from flexmbs.simulate.record.sampling import Sampler

Floats = NDArray[np.float64]
#: closure, over a length of the model, that needs no projection
TOLERANCE = 1e-13


class FormulationRun(Radau):
    """SciPy's integrators over the equations of another formulation than the recursion.

    Subclasses give rates, projection, and what is reported; all see states and change them in place.
    `evaluator` and `sampler` share their workspace.
    """

    formulation = ""
    open_limit = 1e-6  # closure, over a length of the model, beyond which a joint is open

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, times: Floats,
        t_end: float, *, lifts: bool = True,
    ) -> None:  # fmt: skip
        self.name = f"{chosen.method} ({self.formulation})"
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.length = max(float(np.abs(system.tables.marker.u0).max(initial=0.0)), 1.0)
        self.failure: SolverError | None = None
        self.stage_tolerance = max(TOLERANCE, 1e-4 * chosen.rtol) * self.length
        known, y = problem(system), self._start(system, state, evaluator, lifts)
        self.lifting = Lifting(contact_rows(system, lifts), y)
        self.passage = Passage(known, state.t, y, t_end)
        own = replace(known, rates=self._rates, project=self._project_state, closed=True)
        crossings = Crossings(known, state.t, t_end, sided=lifts)
        super().__init__(own, chosen, state.t, y, times, t_end, crossings)

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
    def observe(self, state: State) -> Floats:
        """Accelerations of a state, with everything that is reported in the workspace."""

    @abstractmethod
    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        """Bring a state onto the constraints; closure of positions, of speeds, count of corrections."""

    def solver(self) -> Any:
        from scipy.integrate import DOP853

        return DOP853 if self.settings.method == "dop853" else super().solver()

    def begun(self) -> tuple[float, Floats]:
        """See `ReferenceRun`; a start without rates is an error, of which integrators make no step at all."""
        t, x = super().begun()
        self._other_rows(t, x)
        self.rates(t, x)
        if self.failure is not None:
            raise self.fail("")
        return t, x

    def other_rows(self, state: State) -> None:
        """Other contacts are open in a state than in the last one: other rows hold."""

    def crossed(self, t: float, x: Floats, k: int) -> tuple[float, Floats]:
        t, x = super().crossed(t, x, k)
        if k < self.crossings.first:
            self._other_rows(t, x)
        return t, x

    def _other_rows(self, t: float, x: Floats) -> None:
        """The slopes of rows are others now."""
        if self.crossings.jumps.any():
            self.other_rows(self._state(t, np.concatenate([x, self.y[self.size :]])))

    def on_stage(self, t: float, x: Floats) -> Floats:
        y = np.concatenate([x, self.y[self.size :]])
        if self.stage_tolerance < np.inf:
            self._closed(t, y, self.stage_tolerance)
        return self.with_turns(x, y)

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the state brought back onto the constraints; not finite where there is none.

        An integrator tries states that cannot be: it must be able to take a shorter step.
        """
        self.count["evaluations"] += 1
        if not np.all(np.isfinite(x)):  # after a stage that could not be
            return np.full_like(x, np.nan)
        y = np.concatenate([x, self.y[self.size :]])
        y_dot = np.zeros_like(y)
        self.crossings.look(t, y)  # where loops would throw it back too
        try:
            y = self.on_stage(t, x)
            if not np.isfinite(y).all():
                return np.full_like(x, np.nan)
            self.crossings.look(t, y)
            self._rates(None, t, y, y_dot)
        except SolverError as error:
            self.failure = error
            y_dot[:] = np.nan
        self.passed.note(t, self.passage.distance(t, y)[0], y, y_dot)
        return y_dot[: self.size]

    def nearness_at(self, t: float, y: Floats) -> tuple[float, int]:
        """Distance from a change point, and the group concerned, of a state that is not closed."""
        try:
            self._closed(t, y, TOLERANCE * self.length)
        except SolverError:
            return 1e300, 0
        return self.passage.distance(t, y)

    def fail(self, message: str) -> SolverError:
        """What ended the run: the last state that could not be, else the integrator's own words."""
        if self.failure is not None:
            found = self.failure.diagnostics[0]
            where = f"t = {self.t:.6g} s"
            return SolverError(Diagnostic(found.code, where, f"{found.what} ({self.name})", found.remedy))
        return super().fail(message)

    def row(self, t: float, y: Floats) -> Floats:
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

    def _state(self, t: float, y: Floats) -> State:
        """Views into a state vector."""
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        state = State(t, y[:n], y[n:m], y[m : m + self.system.n_aux], y[self.problem.followed])
        if self.lifting.mark(self.evaluator.ws, y):
            self.other_rows(state)
        return state

    def _rates(self, data: Any, t: float, y: Floats, y_dot: Floats) -> int:
        """Rates of a state vector, from both sides where it is close to a change point; see Problem."""
        mean = self._between(t, y, self._rates_at) if self.passage.is_near(t, y) else None
        y_dot[: self.size] = self._rates_at(t, y) if mean is None else mean
        n = self.system.n_pos
        y_dot[:n] = self.position_rates(self._state(t, y))
        return 0

    def _rates_at(self, t: float, y: Floats) -> Floats:
        """Rates of speeds, of own states and of quadratures; those of positions are left out."""
        state, y_dot = self._state(t, y), np.zeros(self.size)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        y_dot[n:m] = self.accelerations(state)
        given_rates_of_aux(self.sampler.data, state.vel, y[m : self.size], y_dot[m:])
        return y_dot

    def _project_state(self, data: Any, t: float, y: Floats, bh: float, gh: float, out: Floats) -> int:
        """Positions and speeds of y onto the constraints; see Problem."""
        try:
            out[:] = self._closed(t, y, TOLERANCE * self.length)
        except SolverError as error:
            self.failure = self.failure or error
            raise self.fail("") from error
        return 0

    def _closed(self, t: float, y: Floats, tolerance: float) -> tuple[float, float, int]:
        """Positions and speeds of y onto the constraints, near a change point on the branch (F28)."""
        state = self._state(t, y)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        mean = None
        if self.passage.is_near(t, y):
            mean = self._between(t, y, lambda _, place: place[:m].copy())
        if mean is None:
            return self._plainly_closed(state, tolerance)
        y[:n], y[n:m] = self.passage.normalised(mean)[:n], mean[n:]
        ws = self.evaluator.ws
        self.evaluator.kinematics(state)
        state.turns[:] = ws.relation.angle[:, 0]
        left = [float(np.abs(x[self.rows]).max(initial=0.0)) for x in (ws.row.g, ws.row.g_dot)]
        return left[0], left[1], 1

    def _plainly_closed(self, state: State, tolerance: float) -> tuple[float, float, int]:
        """`close`, or an error that names the joint that stays open."""
        found = self.close(state, tolerance)
        if not found[0] <= self.open_limit * self.length:
            g = np.abs(self.evaluator.ws.row.g)
            worst = int(np.argmax(np.where(np.isfinite(g), g, np.inf))) if len(g) else -1
            name = row_names(self.system)[worst] if worst >= 0 else "a joint"
            what = f"{name} does not close: {g[worst] if worst >= 0 else found[0]:.2e} is left"
            remedy = "the mechanism locks here, or its drives lead where it cannot follow"
            raise SolverError(Diagnostic("solver.open", f"t = {state.t:.6g} s", what, remedy))
        return found
