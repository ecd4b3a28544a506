"""Methods of other libraries behind the interface of `Integrator`: references, and slow (Python in the loop).

They see the rates at the projected state, which keeps loops closed. A run that is resumed begins again from
the start and leaves out what was there already: same numbers, same time.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError, UsageError
from flexmbs.integrate.change import FIRST_CHANGE, ZERO
from flexmbs.integrate.driver import SLICE_SECONDS, Chunk, Settings
from flexmbs.integrate.memory import INFO
from flexmbs.integrate.problem import Problem

Floats = NDArray[np.float64]

SEEN = 0.5  # evaluations nearer to a change point than this are kept, to find it


class ReferenceRun:
    """Base of the runs: subclasses yield states at the output times."""

    compiled = False
    tableau = None
    name = ""

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
        self._known = -np.inf  # time up to which events are recorded already
        self._seen: list[tuple[float, float, Any]] = []
        self.paths: list[tuple[float, float, Any]] = []  # dense output of steps near change points
        self.failed: SolverError | None = None
        self._project(self.t, self.y)
        self._states = self.states()

    @abstractmethod
    def states(self) -> Iterator[tuple[float, Floats]]:
        """Time and state x (without held values) at every output time, and at the end."""

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the state brought back onto the constraints."""
        y = np.concatenate([x, self.y[self.size :]])
        y_dot = np.zeros_like(y)
        if self.problem.closed:
            self.problem.project(self.problem.data, t, y, 0.0, 0.0, np.zeros(3))
        self.count["evaluations"] += 1
        if self.problem.rates(self.problem.data, t, y, y_dot) != 0:
            y_dot[:] = np.nan
        self.note(t, float(self.nearness()[0]), y, y_dot)
        return y_dot[: self.size]

    def note(self, t: float, near: float, y: Floats, y_dot: Floats) -> None:
        """Keep an evaluation, to find the change point that it is near to."""
        self._seen.append((t, near, (y, y_dot.copy()) if near < SEEN else None))

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

    def _changes(self) -> list[tuple[float, int]]:
        """Change points among what was evaluated up to the last output: time and group (F28)."""
        seen = sorted(self._seen, key=lambda item: item[0])
        found, dip, kept = [], [], 0
        for k, item in enumerate(seen):
            if item[0] > self.t:
                break
            if item[2] is not None:
                dip.append(item)
                continue
            if len(dip) > 1 and (place := self._least(dip[0], dip[-1])) is not None:
                found.append(place)
            dip, kept = [], k
        if self.finished and len(dip) > 1 and (place := self._least(dip[0], dip[-1])) is not None:
            found.append(place)
        self._seen = seen[kept:]
        self.paths = [item for item in self.paths if not self._seen or item[1] >= self._seen[0][0]]
        return found

    def was_near(self, t: float) -> bool:
        """Whether something was evaluated near a change point since a time."""
        return any(item[0] >= t and item[2] is not None for item in self._seen)

    def _path(self, first: Any, last: Any) -> Any:
        """States as a function of time, by the steps where they are known, else from two evaluated ones."""
        from scipy.interpolate import CubicHermiteSpline

        (a, _, (y_a, f_a)), (b, _, (y_b, f_b)) = first, last
        cubic, paths, held = CubicHermiteSpline([a, b], [y_a, y_b], [f_a, f_b]), self.paths, y_a[self.size :]

        def path(t: float) -> Floats:
            for start, end, inside in paths:
                if start <= t <= end:
                    return np.concatenate([inside(t), held])
            return np.asarray(cubic(t))

        return path

    def _least(self, first: Any, last: Any) -> tuple[float, int] | None:
        """Where nearness is zero between two evaluated states, and the group; or None."""
        from scipy.optimize import minimize_scalar

        a, b = first[0], last[0]
        if not b > a:
            return None
        path = self._path(first, last)
        found = minimize_scalar(
            lambda t: self.nearness_at(t, path(t))[0],
            bounds=(a, b), method="bounded", options={"xatol": 1e-6 * (b - a)},
        )  # fmt: skip
        least, group = self.nearness_at(float(found.x), path(float(found.x)))
        return (float(found.x), group) if least < ZERO and found.x > self._known else None

    def until(self, t: float, x: Floats) -> float:
        """Value of the switching function that ends the run; -1 when there is none."""
        if self.settings.until < 0:
            return -1.0
        s = np.zeros(self.problem.n_switch)
        y = np.concatenate([x, self.y[self.size :]])
        self.problem.switches(self.problem.data, t, y, s)
        return float(s[self.settings.until])

    def _project(self, t: float, y: Floats) -> None:
        self.problem.project(self.problem.data, t, y, 0.0, 0.0, self.closure)
        self.largest = (
            np.maximum(self.largest, self.closure[:2]) if hasattr(self, "largest") else self.closure[:2]
        )

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice of wall time, of `n_steps` output times, or up to t_pause.

        A failure is raised when the samples before it are out.
        """
        begun = time.perf_counter()
        t: list[float] = []
        y: list[Floats] = []
        while time.perf_counter() - begun < SLICE_SECONDS and self.t < t_pause:
            found = self._next(bool(t))
            if self.failed is not None:
                break
            if found is None:
                self.finished = True
                break
            self.t, x = found
            self.y[: self.size] = x
            self._project(self.t, self.y)
            self._done += 1
            if self._done > self._skip:
                t.append(self.t)
                y.append(self.y.copy())
            if n_steps is not None and len(t) >= n_steps:
                break
        info = np.zeros((len(t), INFO))
        info[:, 2:] = [self.count["rejected"], *self.closure[:2]]
        states = np.array(y).reshape(len(t), self.problem.size)
        changes = self._changes()
        return Chunk(
            np.array(t), states, info, np.array([time for time, _ in changes]),
            np.array([FIRST_CHANGE - group for _, group in changes], dtype=np.int64), np.ones(len(changes)),
        )  # fmt: skip

    def _next(self, waiting: bool) -> tuple[float, Floats] | None:
        """The next state; a failure is kept while samples wait to go out."""
        if self.failed is None:
            try:
                return next(self._states, None)
            except SolverError as error:
                self.failed = error
        if not waiting:
            raise self.failed
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
            "chattering": 0,
        }

    def checkpoint(self) -> dict[str, Any]:
        """Samples that are done, and the state there."""
        return {"done": self._done, "y": self.y.copy(), "t": self.t}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Compute again from the start, leaving out the samples that are done."""
        self._skip, self._known = int(checkpoint["done"]), float(checkpoint["t"])
