"""Methods of other libraries behind the interface of `Integrator`: references, and slow (Python in the loop).

They need nothing but rates, at the projected state, which keeps loops closed; so they record no events, and
end where speeds jump. A run that is resumed begins again from the start and leaves out what was there
already: same numbers, same time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError, UsageError
from flexmbs.integrate.driver import SLICE_SECONDS, Chunk, Settings
from flexmbs.integrate.memory import INFO
from flexmbs.integrate.problem import TURN, Problem

Floats = NDArray[np.float64]
#: change of a state, over its size or 1, by which its influence is found
CHANGE = 1.5e-8
#: change of speeds, over their size or 1, that is a jump; parts of a way and of a run that are none
JUMP, NO_PART = 1e-6, 1e-9


class ReferenceRun:
    """Base of the runs: subclasses yield states at the output times."""

    compiled = False
    tableau = None
    name = ""
    pull = 0.0  # rate [1/s] at which angles that are integrated go to those of the pose

    def __init__(
        self, problem: Problem, settings: Settings, t_start: float, y0: Floats, times: Floats, t_end: float
    ) -> None:
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
        self.failed: SolverError | None = None
        self.corner = -1  # number of the switching function at whose zero speeds jump
        self.seen: tuple[float, Floats, Floats] | None = None  # the last state with its switching functions
        self._project(self.t, self.y)
        self._states = self.states()

    @abstractmethod
    def states(self) -> Iterator[tuple[float, Floats]]:
        """Output time and state x there (without held values); the end."""

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

    def jacobian(self, t: float, x: Floats) -> Floats:
        """Derivatives of the rates by differences.

        SciPy's own ones enlarge the change of a state without influence, such as an integral, at every call,
        until it overflows. Quadratures have none.
        """
        rates, J = self.rates(t, x), np.zeros((len(x), len(x)))
        counted = len(x) - self.problem.n_quad - self.problem.n_follow
        for k, size in enumerate(CHANGE * np.maximum(np.abs(x[:counted]), 1.0)):
            moved = x.copy()
            moved[k] += size
            J[:, k] = (self.rates(t, moved) - rates) / (moved[k] - x[k])
        angles = np.arange(self.size)[self.problem.followed]
        J[angles, angles] = -self.pull
        return J

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the state brought back onto the constraints."""
        y = self.on_stage(t, x)
        self.count["evaluations"] += 1
        if not np.isfinite(y).all():
            return np.full_like(x, np.nan)
        self.look(t, y)
        y_dot = np.zeros_like(y)
        if self.problem.rates(self.problem.data, t, y, y_dot) != 0:
            y_dot[:] = np.nan
        angles = self.problem.followed
        y_dot[angles] += self.pull * (y[angles] - x[angles])
        return y_dot[: self.size]

    def look(self, t: float, y: Floats) -> None:
        """Raise an error where speeds jump between the last state that was looked at and this one."""
        jumping = self.problem.jumping != 0.0
        if not jumping.any():
            return
        s = self._switches(t, y)
        if self.seen is None:
            ahead = NO_PART * (self.t_end - t)
            y_dot = np.zeros_like(y)
            self.problem.rates(self.problem.data, t, y, y_dot)
            on = np.flatnonzero(jumping & (s == 0.0))
            if len(on) and self._differ(self._asked(t, y), self._asked(t + ahead, y + ahead * y_dot)):
                raise self._jump(t, int(on[0]))
        else:
            t_last, last, sides = self.seen
            for k in np.flatnonzero(jumping & (s * sides < 0.0)):
                self._between(int(k), sides[k], (t_last, last), (t, y))
            s = np.where((s != 0.0) & np.isfinite(s), s, sides)
        self.seen = t, y.copy(), s

    def _between(self, k: int, side: float, one: tuple[float, Floats], other: tuple[float, Floats]) -> None:
        """Raise an error where speeds jump at the zero of function k between two states."""

        def place(u: float) -> tuple[float, Floats]:
            return one[0] + u * (other[0] - one[0]), one[1] + u * (other[1] - one[1])

        low, high = 0.0, 1.0
        while high - low > NO_PART:
            u = 0.5 * (low + high)
            low, high = (u, high) if side * self._switches(*place(u))[k] > 0.0 else (low, u)
        t, y = place(low)
        behind, n = place(high), self.problem.n_pos
        behind[1][n : n + self.problem.n_vel] = y[n : n + self.problem.n_vel]
        if self._differ(self._asked(t, y), self._asked(*behind)):
            raise self._jump(t, k)

    def _asked(self, t: float, y: Floats) -> Floats:
        """Speeds that laws ask for at a state, and what is open."""
        self._switches(t, y)
        ws = self.problem.data.ws
        return np.concatenate([ws.law.v, ws.row.g, ws.row.g_dot, ws.body.v.ravel()])

    def _differ(self, one: Floats, other: Floats) -> bool:
        return bool(np.any(np.abs(other - one) > JUMP * (1.0 + np.abs(one))))

    def _jump(self, t: float, k: int) -> SolverError:
        """The error of a corner in the law of switching function k."""
        self.corner = k
        what = f'a constraint jumps, or its slope does: "{self.name}" passes no such corner'
        remedy = 'choose "auto", "dop853" or "generalized-alpha"'
        return SolverError(Diagnostic("solver.jump", f"t = {t:.6g} s", what, remedy))

    def _switches(self, t: float, y: Floats) -> Floats:
        """Switching functions of a state."""
        s = np.zeros(self.problem.n_switch)
        self.problem.switches(self.problem.data, t, y.copy(), s)
        return s

    def until(self, t: float, x: Floats) -> float:
        """Value of the switching function that ends the run; -1 when there is none."""
        if self.settings.until < 0:
            return -1.0
        return float(self._switches(t, np.concatenate([x, self.y[self.size :]]))[self.settings.until])

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
            last, (self.t, self.y) = (self.t, self.y), found
            if self._done >= self._skip:  # else recorded before
                try:
                    row = self.row(self.t, self.y)
                except SolverError as error:
                    (self.t, self.y), self.failed = last, error
                    break
                if row is not None:
                    rows.append(row)
                t.append(self.t)
                y.append(self.y.copy())
                said.append([self.count["rejected"], *self.closure[:2]])
            self._done += 1
            if n_steps is not None and len(t) >= n_steps:
                break
        if self.failed is not None and not t:
            raise self.failed
        info = np.zeros((len(t), INFO))
        info[:, 2:] = np.array(said).reshape(len(t), INFO - 2)
        states = np.array(y).reshape(len(t), self.problem.size)
        given = np.array(rows) if rows else None
        none = np.zeros(0)
        return Chunk(np.array(t), states, info, none, none.astype(np.int64), none, given)

    def _next(self) -> tuple[float, Floats] | None:
        """The next state, closed; a failure is kept, since samples may wait to go out."""
        if self.failed is None:
            try:
                found = next(self._states, None)
                if found is None:
                    return None
                t, x = found
                y = np.concatenate([x, self.y[self.size :]])
                self._project(t, y)
                return t, y
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
        }

    def checkpoint(self) -> dict[str, Any]:
        """Samples that are done, and the state there."""
        return {"done": self._done, "y": self.y.copy(), "t": self.t}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Compute again from the start, leaving out the samples that are done."""
        self._skip = int(checkpoint["done"])
