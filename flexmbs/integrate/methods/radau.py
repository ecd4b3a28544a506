"""Radau IIA of order 5 from SciPy: an implicit reference for stiff systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import SolverError
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
    _moved: Any = 0.0  # how far closing the loops moves the end of the last step

    def states(self) -> Iterator[tuple[float, Floats]]:
        from scipy.integrate import Radau

        s, x, waiting = self.settings, self.y[: self.size].copy(), [t for t in self.times if t > self.t]
        yield self.t, x
        if not self.t_end > self.t:
            return
        rtol = max(s.rtol, 3e-14)
        solver = Radau(self.rates, self.t, x, self.t_end, rtol=rtol, atol=s.atol, jac=self.jacobian)
        if not np.all(np.isfinite(solver.f)):  # SciPy would look for a first step without end
            raise self.fail("no rates there")
        pace = Pace(self.t, self.t_end, window=1000, most=1e7, steps=self.count["steps"])
        while solver.status == "running":
            before, here = self.until(solver.t, solver.y), (solver.t, solver.y.copy())
            failure = self._step(solver)
            if failure is not None:
                if here[0] > self.t:
                    yield here  # the last good state
                raise failure if isinstance(failure, SolverError) else self.fail(failure)
            self.count["steps"] += 1
            lost = pace.lost(self.count["steps"], solver.t)
            if lost:
                yield solver.t, solver.y.copy()
                raise self.fail(lost)
            inside, end = once(solver.dense_output), solver.t
            ended = before < 0.0 <= self.until(solver.t, solver.y)
            if ended:
                end = self._root(inside, solver.t_old, solver.t)
            while waiting and waiting[0] < end:
                t = waiting.pop(0)
                yield t, inside(t)
            if ended or solver.status == "finished":
                yield end, inside(end) if ended else solver.y.copy()
                return

    def _step(self, solver: Any) -> str | SolverError | None:
        """A step, or why there is none: SciPy refuses matrices of rates that are not finite."""
        try:
            message: str | None = solver.step()
        except SolverError as error:
            return error
        except (ValueError, np.linalg.LinAlgError) as error:
            return f"no rates there, {error}"
        if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
            return message or "the state is not finite"
        return self._follow(solver.t, solver.y)

    def _follow(self, t: float, x: Floats) -> str | None:
        """Bring contacts and angles up to date: the pose has these, their rates only count the turns.

        And look whether closing the loops moves the state otherwise than before the step: a law has jumped.
        """
        p, y = self.problem, np.concatenate([x, self.y[self.size :]])
        if not p.closed:
            return None
        p.project(p.data, t, y, 0.0, 0.0, np.zeros(3))
        self.y[self.size :] = y[self.size :]
        x[p.followed] = y[p.followed]
        k = np.flatnonzero(p.twins >= 0)
        moved = (y[: self.size] - x)[p.twins[k]]
        if np.any(np.abs(moved - self._moved) > DISPLACED * p.bounds[k]):
            return "no step leads on, the law of a constraint jumps"
        self._moved = moved
        return None

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
