"""Methods of other libraries behind the interface of `Integrator`: references, and slow (Python in the loop).

They see the rates at the projected state, which keeps loops closed. A run that is resumed begins again from
the start and leaves out what was there already: same numbers, same time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError, UsageError
from flexmbs.integrate.driver import SLICE_SECONDS, Chunk, Settings
from flexmbs.integrate.events.crossings import Crossed, Crossings
from flexmbs.integrate.events.passed import Passed
from flexmbs.integrate.memory import CHATTER, INFO
from flexmbs.integrate.problem import TURN, Problem

Floats = NDArray[np.float64]
#: change of a state, over its size or 1, by which its influence is found
CHANGE = 1.5e-8


class ReferenceRun:
    """Base of the runs: subclasses yield states at the output times."""

    compiled = False
    lifts = False  # whether contacts may open: it takes states inside finished steps
    tableau = None
    name = ""
    pull = 0.0  # rate [1/s] at which angles that are integrated go to those of the pose

    def __init__(
        self, problem: Problem, settings: Settings, t_start: float, y0: Floats, times: Floats, t_end: float,
        crossings: Crossings | None = None,
    ) -> None:  # fmt: skip
        if settings.step > 0.0:
            what = f'fixed steps are not offered with "{self.name}"'
            remedy = 'choose "generalized-alpha", "dopri5", "dop853" or "rk4"'
            raise UsageError(Diagnostic("analysis.step", "analysis.step", what, remedy))
        self.problem, self.settings, self.times, self.t_end = problem, settings, times, t_end
        self.size = problem.size - problem.n_held
        self.y = np.array(y0, dtype=float)
        self.t = float(t_start)
        self.count = {"steps": 0, "rejected": 0, "evaluations": 0}
        self.closure = np.zeros(3)
        self.largest = np.zeros(2)
        self.finished = False
        self.between_steps = True
        self._done = self._skip = 0
        self.passed = Passed(lambda t, y: self.nearness_at(t, y))
        self.failed: SolverError | None = None
        self.crossings = crossings or Crossings(problem, self.t, t_end)
        self.own_events = self.crossings.events
        self._project(self.t, self.y)
        self._states = self.states()

    @abstractmethod
    def states(self) -> Iterator[tuple[float, float, Floats]]:
        """Output time, time of the state (behind an event there), state x (without held values); the end."""

    def begun(self) -> tuple[float, Floats]:
        """Time and state x from which a run goes, behind what happens at its start."""
        t = self.t
        if self.t_end > t:
            t = self.crossings.begin(t, self.y)
        return t, self.y[: self.size].copy()

    @property
    def corner(self) -> int:
        """Number of the switching function whose zero could not be passed."""
        return self.crossings.corner

    def on_stage(self, t: float, x: Floats) -> Floats:
        """Whole state for a trial x of the integrator, on the constraints; not finite where none is."""
        y = np.concatenate([x, self.y[self.size :]])
        if self.problem.closed and self.problem.project(self.problem.data, t, y, 0.0, 0.0, np.zeros(3)) != 0:
            y[: self.size] = np.nan
        return self.with_turns(x, y)

    def with_turns(self, x: Floats, y: Floats) -> Floats:
        """State y, closed from x; not finite where the rates of angles led elsewhere: a step is too long."""
        angles = self.problem.followed
        if np.any(np.abs(y[angles] - x[angles]) > TURN):
            y[: self.size] = np.nan
        return y

    def reached(self, t: float, x: Floats) -> None:
        """Take in a state that was reached: a zero where speeds jump may lie ahead."""
        if self.crossings.live.any():
            raw = np.concatenate([x, self.y[self.size :]])
            self.crossings.stand(t, self.on_stage(t, x), raw)

    def crossed(self, t: float, x: Floats, k: int) -> tuple[float, Floats]:
        """Time and state behind the zero of switching function k, next to a state before it."""
        y = np.concatenate([x, self.y[self.size :]])
        if k < self.crossings.first:
            t, y = self.crossings.over(t, y)
        else:
            self._project(t, y)
            self.crossings.turn(t, y, k)
        self.y[self.size :] = y[self.size :]
        return t, y[: self.size].copy()

    def jacobian(self, t: float, x: Floats) -> Floats:
        """Derivatives of the rates by differences, away from the zeros where speeds jump.

        SciPy's own ones enlarge the change of a state without influence, such as an integral, at every call,
        until it overflows. Quadratures have none.
        """
        rates, J = self.rates(t, x), np.zeros((len(x), len(x)))
        counted = len(x) - self.problem.n_quad - self.problem.n_follow
        for k, size in enumerate(CHANGE * np.maximum(np.abs(x[:counted]), 1.0)):
            for h in (size, -size):
                moved = x.copy()
                moved[k] += h
                with suppress(Crossed):
                    J[:, k] = (self.rates(t, moved) - rates) / (moved[k] - x[k])
                    break
        angles = np.arange(self.size)[self.problem.followed]
        J[angles, angles] = -self.pull
        return J

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the state brought back onto the constraints."""
        self.crossings.look(t, np.concatenate([x, self.y[self.size :]]))
        y = self.on_stage(t, x)
        self.count["evaluations"] += 1
        if not np.isfinite(y).all():
            return np.full_like(x, np.nan)
        self.crossings.look(t, y)
        y_dot = np.zeros_like(y)
        if self.problem.rates(self.problem.data, t, y, y_dot) != 0:
            y_dot[:] = np.nan
        self.passed.note(t, float(self.nearness()[0]), y, y_dot)
        angles = self.problem.followed
        y_dot[angles] += self.pull * (y[angles] - x[angles])
        return y_dot[: self.size]

    def nearness_at(self, t: float, y: Floats) -> tuple[float, int]:
        """Distance from a change point, and the group concerned, of a state that is not closed."""
        p = self.problem
        p.project(p.data, t, y, 0.0, 0.0, np.zeros(3))
        p.rates(p.data, t, y, np.zeros_like(y))
        found = self.nearness()
        return float(found[0]), int(found[1])

    def nearness(self) -> Floats:
        """Distance from a change point, and the group concerned, of the state evaluated last."""
        out = np.zeros(3)
        self.problem.nearness(self.problem.data, out)
        return out

    def until(self, t: float, x: Floats) -> float:
        """Value of the switching function that ends the run; -1 when there is none."""
        if self.settings.until < 0:
            return -1.0
        s = np.zeros(self.problem.n_switch)
        y = np.concatenate([x, self.y[self.size :]])
        self.problem.switches(self.problem.data, t, y, s)
        return float(s[self.settings.until])

    def _project(self, t: float, y: Floats) -> None:
        """A state that is handed out, onto the constraints; an error where they cannot be closed."""
        if self.problem.project(self.problem.data, t, y, 0.0, 0.0, self.closure) != 0:
            raise self.fail(f"the constraints do not close: {self.closure[0]:.2e} is left at t = {t:.6g} s")
        self.largest = np.maximum(self.largest, self.closure[:2])

    def row(self, t: float, y: Floats) -> Floats | None:
        """Everything that is reported at a state, where the form itself evaluates that."""
        return None if self.problem.form is None else self.problem.form.row(t, y)

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice of wall time, of `n_steps` output times, or up to t_pause.

        A failure is raised when the samples before it are out.
        """
        begun = time.perf_counter()
        t: list[float] = []
        at: list[float] = []
        y: list[Floats] = []
        rows: list[Floats] = []
        said: list[list[float]] = []
        while time.perf_counter() - begun < SLICE_SECONDS and self.t < t_pause:
            found = self._next()
            if self.failed is not None:
                break
            if found is None:
                self.finished = True
                break
            last, (self.t, place, self.y) = (self.t, self.y), found
            if self._done >= self._skip:  # else recorded before
                try:
                    row = self.row(place, self.y)
                except SolverError as error:
                    (self.t, self.y), self.failed = last, error
                    break
                if row is not None:
                    rows.append(row)
                t.append(self.t)
                at.append(place)
                y.append(self.y.copy())
                said.append([self.count["rejected"], *self.closure[:2]])
            self._done += 1
            if self._done == self._skip:
                self.own_events.clear()
            if n_steps is not None and len(t) >= n_steps:
                break
        if self.failed is not None and not t:
            raise self.failed
        info = np.zeros((len(t), INFO))
        info[:, 2:] = np.array(said).reshape(len(t), INFO - 2)
        states = np.array(y).reshape(len(t), self.problem.size)
        given = np.array(rows) if rows else None
        return Chunk(np.array(t), states, info, *self._events(), given, at=np.array(at))

    def _events(self) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Change points and the run's own events of a slice, in the order of time."""
        found = [*zip(*self.passed.behind(self.t, self.finished), strict=True), *self.own_events]
        self.own_events.clear()
        found.sort(key=lambda item: item[0])
        numbers = np.array([item[1] for item in found], dtype=np.int64)
        return np.array([item[0] for item in found]), numbers, np.array([item[2] for item in found])

    def _next(self) -> tuple[float, float, Floats] | None:
        """The next state, closed; a failure is kept, since samples may wait to go out."""
        if self.failed is None:
            try:
                found = next(self._states, None)
                if found is None:
                    return None
                t, place, x = found
                y = np.concatenate([x, self.y[self.size :]])
                self._project(place, y)
                return t, place, y
            except SolverError as error:
                self.failed = error
        return None

    def fail(self, message: str) -> SolverError:
        what = f"{self.name} stopped: {message}"
        remedy = 'try method = "generalized-alpha", or larger tolerances'
        return SolverError(Diagnostic("solver.reference", f"t = {self.t:.6g} s", what, remedy))

    def statistics(self) -> dict[str, float]:
        return {
            **self.count,
            "largest_closure": float(self.largest[0]),
            "largest_closure_velocity": float(self.largest[1]),
            "chattering": int(np.count_nonzero(self.crossings.mute >= CHATTER)),
        }

    def checkpoint(self) -> dict[str, Any]:
        """Samples that are done, and the state there."""
        return {"done": self._done, "y": self.y.copy(), "t": self.t, "told": self.passed.told(self.t)}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Compute again from the start, leaving out the samples that are done."""
        self._skip, self.passed.known = int(checkpoint["done"]), float(checkpoint["told"])
