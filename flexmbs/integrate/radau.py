"""Radau IIA of order 5 from SciPy: an implicit reference for stiff systems."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.integrate.methods import method
from flexmbs.integrate.problem import DISPLACED
from flexmbs.integrate.reference import ReferenceRun

Floats = NDArray[np.float64]
#: change of a state, over its size or 1, by which its influence is found
CHANGE = 1.5e-8


@method("radau")
class Radau(ReferenceRun):
    """Implicit, adaptive, order 5; Python in the loop."""

    order = 5
    name = "radau"
    _moved: Any = 0.0  # how far closing the loops moves the end of the last step

    def solver(self) -> Any:
        """Class of SciPy that takes the steps."""
        from scipy.integrate import Radau

        return Radau

    def jacobian(self, t: float, x: Floats) -> Floats:
        """Derivatives of the rates by differences.

        SciPy's own ones enlarge the change of a state without influence, such as an integral, at every call,
        until it overflows.
        """
        rates, J = self.rates(t, x), np.empty((len(x), len(x)))
        for k, h in enumerate(CHANGE * np.maximum(np.abs(x), 1.0)):
            moved = x.copy()
            moved[k] += h
            J[:, k] = (self.rates(t, moved) - rates) / (moved[k] - x[k])
        return J

    def longest_step(self, solver: Any) -> float:
        """Longest step from the state of a solver."""
        return float(np.inf)

    def forget(self) -> None:
        """Drop what earlier evaluations left: a step must not show, even in rounding, what was sampled."""

    def states(self) -> Iterator[tuple[float, Floats]]:
        yield self.t, self.y[: self.size].copy()
        if self.t_end <= self.t:
            return
        waiting, start = [t for t in self.times if t > self.t], (self.t, self.y[: self.size].copy())
        while True:
            event = yield from self._to_event(*start, waiting)
            if event is None:
                return
            start = event[0], self.passed_event(*event)

    def event(self, solver: Any, inside: Any) -> float | None:
        """Time in the last step at which other equations take over."""
        return None

    def passed_event(self, t: float, x: Floats) -> Floats:
        """The state behind an event."""
        return x

    def _to_event(
        self, t_start: float, x0: Floats, waiting: list[float]
    ) -> Generator[tuple[float, Floats], None, tuple[float, Floats] | None]:
        """Steps up to the next event, which is returned, or to the end."""
        s, Solver = self.settings, self.solver()
        known = {} if Solver.__name__ != "Radau" else {"jac": self.jacobian}
        solver = Solver(self.rates, t_start, x0, self.t_end, rtol=max(s.rtol, 3e-14), atol=s.atol, **known)
        while solver.status == "running":
            before = self.until(solver.t, solver.y)
            solver.max_step = self.longest_step(solver)
            self.forget()
            message = _step(solver)
            if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                if solver.t > self.t and np.all(np.isfinite(solver.y)):
                    yield solver.t, solver.y.copy()  # the last good state
                raise self.fail(message or "the state is not finite")
            self.count["steps"] += 1
            self._follow(solver.t, solver.y)
            near = self.passed.was_near(solver.t_old)
            inside = _once(solver.dense_output)  # costs evaluations
            if near:
                inside(solver.t)
                self.passed.paths.append((solver.t_old, solver.t, inside))
            event = self.event(solver, inside)
            end = solver.t if event is None else event
            ended = before < 0.0 <= self.until(end, solver.y if event is None else inside(end))
            if ended:
                end, event = self._root(inside, solver.t_old, end), None
            while waiting and waiting[0] < end:
                t = waiting.pop(0)
                yield t, inside(t)
            if event is not None:
                return end, inside(end)
            if ended or solver.status == "finished":
                yield end, inside(end) if ended else solver.y.copy()
                return None
        return None

    def _follow(self, t: float, x: Floats) -> None:
        """Bring held values (turn counters) up to date: outputs may be more than half a turn apart.

        And look whether closing the loops moves the state otherwise than before the step: a law has jumped.
        """
        p, y = self.problem, np.concatenate([x, self.y[self.size :]])
        if not (p.n_held or p.closed):
            return
        p.project(p.data, t, y, 0.0, 0.0, np.zeros(3))
        self.y[self.size :] = y[self.size :]
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


def _step(solver: Any) -> str | None:
    """A step, or why there is none: SciPy refuses matrices of rates that are not finite."""
    try:
        found: str | None = solver.step()
    except (ValueError, np.linalg.LinAlgError) as error:
        solver.status = "failed"
        return f"no rates there, {error}"
    return found


def _once(make: Callable[[], Callable[[float], Floats]]) -> Callable[[float], Floats]:
    """A function of time that is made when it is first called."""
    made: list[Callable[[float], Floats]] = []

    def inside(t: float) -> Floats:
        if not made:
            made.append(make())
        return np.asarray(made[0](t))

    return inside
