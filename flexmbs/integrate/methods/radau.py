"""Radau IIA of order 5 from SciPy: an implicit reference for stiff systems."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import SolverError
from flexmbs.integrate.events.crossings import Crossed
from flexmbs.integrate.events.one_sided import first_fall
from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.reference import ReferenceRun
from flexmbs.integrate.pace import Pace
from flexmbs.integrate.problem import DISPLACED

Floats = NDArray[np.float64]


@method("radau")
class Radau(ReferenceRun):
    """Implicit, adaptive, order 5; Python in the loop."""

    order = 5
    name = "radau"
    lifts = True
    _moved: Any = 0.0  # how far closing the loops moves the end of the last step

    def solver(self) -> Any:
        """Class of SciPy that takes the steps."""
        from scipy.integrate import Radau

        return Radau

    def longest_step(self, solver: Any) -> float:
        """Longest step from the state of a solver."""
        return float(np.inf)

    def forget(self) -> None:
        """Drop what earlier evaluations left: a step must not show, even in rounding, what was sampled."""

    def states(self) -> Iterator[tuple[float, float, Floats]]:
        here, waiting = self.begun(), [t for t in self.times if t > self.t]
        yield self.t, *here
        while here[0] < self.t_end:
            event = yield from self._to_event(*here, waiting)
            if event is None:
                return
            here = yield from self._behind(*event)
            self._moved = 0.0
        if self.t_end > self.t:
            yield self.t_end, *here

    def _behind(
        self, t: float, x: Floats, k: int
    ) -> Generator[tuple[float, float, Floats], None, tuple[float, Floats]]:
        """Time and state behind an event; where no motion leads on, the last good state and an error."""
        failure = None
        try:
            here = self.crossed(t, x, k)
            if np.isfinite(self.rates(*here)).all():
                return here
        except SolverError as error:
            failure = error
        if t > self.t:
            yield t, t, x
        raise failure or self.fail("no rates there")

    def event(self, solver: Any, inside: Any) -> tuple[float, int] | None:
        """Time in the last step at which a one-sided function turns, and its number."""

        zeros = self.crossings
        if not zeros.sided:
            return None

        def values(t: float) -> Floats:
            y = np.concatenate([inside(t), self.y[self.size :]])
            self.problem.project(self.problem.data, t, y, 0.0, 0.0, np.zeros(3))
            return zeros.values(t, y)[zeros.first :]

        found = first_fall(values, solver.t_old, solver.t)
        return None if found is None else (found[0], zeros.first + found[1])

    def _started(self, t: float, x: Floats) -> Any:
        """A solver at a state; None next to a zero that comes first."""
        s, Solver = self.settings, self.solver()
        more: dict[str, Any] = {} if Solver.__name__ != "Radau" else {"jac": self.jacobian}
        while not self.crossings.at_hand(t):
            try:
                with self.crossings.watching():
                    return Solver(self.rates, t, x, self.t_end, rtol=max(s.rtol, 3e-14), atol=s.atol, **more)
            except Crossed as zero:
                self.crossings.ahead(zero)
                more["first_step"] = min(self.crossings.longest(t), self.t_end - t)
        return None

    def _step(self, solver: Any) -> str | None:
        """A step, or why there is none: SciPy refuses matrices of rates that are not finite."""
        solver.max_step = min(self.longest_step(solver), self.crossings.longest(solver.t))
        self.forget()
        try:
            with self.crossings.watching():
                found: str | None = solver.step()
        except (ValueError, np.linalg.LinAlgError) as error:
            solver.status = "failed"
            return f"no rates there, {error}"
        return found

    def _to_event(
        self, t_start: float, x0: Floats, waiting: list[float]
    ) -> Generator[tuple[float, float, Floats], None, tuple[float, Floats, int] | None]:
        """Steps up to the next event, whose time, state and function are returned, or to the end."""
        found, solver = self.crossings, self._started(t_start, x0)
        if solver is None:
            return t_start, x0, found.chosen
        if not np.all(np.isfinite(solver.f)):  # SciPy would look for a first step without end
            raise self.fail("no rates there")
        pace = Pace(t_start, self.t_end, window=1000, most=1e7, steps=self.count["steps"])
        while solver.status == "running":
            if found.at_hand(solver.t):
                return solver.t, solver.y.copy(), found.chosen
            before = self.until(solver.t, solver.y)
            try:
                message = self._step(solver)
            except Crossed as zero:
                found.ahead(zero)
                self.count["rejected"] += 1
                continue
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                if solver.t > self.t and np.all(np.isfinite(solver.y)):
                    yield solver.t, solver.t, solver.y.copy()  # the last good state
                raise self.fail(message or "the state is not finite")
            self.count["steps"] += 1
            lost = pace.lost(self.count["steps"], solver.t)
            if lost:
                yield solver.t, solver.t, solver.y.copy()
                raise self.fail(lost)
            self.reached(solver.t, solver.y)
            self._follow(solver.t, solver.y)
            inside = self._inside(solver)
            event = self.event(solver, inside)
            end = solver.t if event is None else event[0]
            ended = before < 0.0 <= self.until(end, solver.y if event is None else inside(end))
            if ended:
                end, event = self._root(inside, solver.t_old, end), None
            while waiting and waiting[0] < end:
                t = waiting.pop(0)
                yield t, max(t, t_start), inside(max(t, t_start))
            if event is not None:
                return end, inside(end), event[1]
            if ended or (solver.status == "finished" and not found.at_hand(end)):
                yield end, end, inside(end) if ended else solver.y.copy()
                return None
        return solver.t, solver.y.copy(), found.chosen

    def _inside(self, solver: Any) -> Callable[[float], Floats]:
        """States inside the last step; costs evaluations when first called, and near change points."""
        near, inside = self.passed.was_near(solver.t_old), once(solver.dense_output)
        if near:
            inside(solver.t)
            self.passed.paths.append((solver.t_old, solver.t, inside))
        return inside

    def _follow(self, t: float, x: Floats) -> None:
        """Bring contacts and angles up to date: the pose has these, their rates only count the turns.

        And look whether closing the loops moves the state otherwise than before the step: a law has jumped.
        """
        p, y = self.problem, np.concatenate([x, self.y[self.size :]])
        if not p.closed:
            return
        p.project(p.data, t, y, 0.0, 0.0, np.zeros(3))
        self.y[self.size :] = y[self.size :]
        x[p.followed] = y[p.followed]
        k = np.flatnonzero(p.twins >= 0)
        moved = (y[: self.size] - x)[p.twins[k]]
        if np.any(np.abs(moved - self._moved) > DISPLACED * p.bounds[k]):
            raise self.fail("no step leads on, the law of a constraint jumps")
        self._moved = moved

    def _root(self, inside: object, low: float, high: float) -> float:
        """First time at which `until` is positive."""
        from scipy.optimize import brentq

        root = brentq(lambda t: self.until(t, inside(t)), low, high, xtol=1e-14 * max(high, 1e-3))  # type: ignore[operator]
        return float(root)


def once(make: Callable[[], Callable[[float], Floats]]) -> Callable[[float], Floats]:
    """A function of time that is made when it is first called."""
    made: list[Callable[[float], Floats]] = []

    def inside(t: float) -> Floats:
        if not made:
            made.append(make())
        return np.asarray(made[0](t))

    return inside
