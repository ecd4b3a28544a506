"""CVODE (SUNDIALS, BDF of variable order) from scikit-sundae: a reference for stiff systems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import missing_component
from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.reference import ReferenceRun

Floats = NDArray[np.float64]
PULL = 1000.0  # times the duration: rate at which angles that are followed go to those of the pose
MAX_STEPS = 10_000_000  # between two outputs
#: evaluations without a value, and how close in time, that end a run: steps would creep on by the million;
#: so does a step as short as that, over the time, without one
MOST_BAD, CREEP, SHORTEST = 500, 1e-6, 1e-14


@method("cvode")
class Cvode(ReferenceRun):
    """Implicit, adaptive in step and order; Python in the loop; needs the extra `sundials`."""

    order = 5
    name = "cvode"
    _good: tuple[float, ...] = ()  # when there were rates, lately
    _bad, _first = 0, -np.inf

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates, or an error where shorter and shorter steps do not find any."""
        found, size = super().rates(t, x), max(abs(t), CREEP)
        if np.isfinite(found).all():
            self._good = (*self._good[-20:], t)
            return found
        near = abs(t - self._first) <= CREEP * size
        self._bad, self._first = (self._bad + 1, self._first) if near else (1, t)
        step = t - max((good for good in self._good if good < t), default=-np.inf)
        if self._bad > MOST_BAD or step <= SHORTEST * size:
            raise self.fail("the rates are no numbers from there on")
        return found

    def solver(self, t: float, x: Floats) -> Any:
        """The solver, started at a state."""
        try:
            from sksundae.cvode import CVODE
        except ImportError:
            raise missing_component('method "cvode"', "scikit-sundae", "sundials") from None

        def rhs(t: float, x: Floats, x_dot: Floats) -> None:
            x_dot[:] = self.rates(t, x)

        self.pull = PULL / (self.t_end - self.t)
        solver = CVODE(rhs, method="BDF", **self.options())
        solver.init_step(t, x)
        return solver

    def options(self) -> dict[str, Any]:
        """Options of a solver."""
        s, size = self.settings, max(abs(self.t_end), abs(self.t))
        options: dict[str, Any] = {
            "rtol": max(s.rtol, 1e-14), "atol": s.atol, "max_num_steps": MAX_STEPS,
            "min_step": SHORTEST * size, "max_step": 2.0 * size,
        }  # fmt: skip
        if s.until >= 0:
            options |= {"eventsfn": self.event_function(), "num_events": 1}
        return options

    def event_function(self) -> Any:
        def events(t: float, x: Floats, found: Floats) -> None:
            found[0] = self.until(t, x)

        events.terminal, events.direction = [True], [1]  # type: ignore[attr-defined]
        return events

    def states(self) -> Iterator[tuple[float, Floats]]:
        x = self.y[: self.size].copy()
        yield self.t, x
        solver = None
        for end in [t for t in self.times if t > self.t]:
            solver = solver or self.solver(self.t, x.copy())
            found = solver.step(end, method="normal", tstop=self.t_end)
            t, x = float(np.ravel(found.t)[-1]), np.ravel(found.y).copy()
            if not found.success or not np.all(np.isfinite(x)):
                raise self.fail(str(found.message))
            yield t, x
            if t < end:  # an event ends the run
                return
