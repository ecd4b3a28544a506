"""IDA (SUNDIALS, BDF for implicit equations) from scikit-sundae: a reference for stiff systems."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import missing_component
from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.cvode import PULL, Cvode

Floats = NDArray[np.float64]


@method("ida")
class Ida(Cvode):
    """Implicit, adaptive in step and order, on x_dot - rates(t, x) = 0; needs the extra `sundials`."""

    name = "ida"

    def solver(self, t: float, x: Floats) -> Any:
        try:
            from sksundae.ida import IDA
        except ImportError:
            raise missing_component('method "ida"', "scikit-sundae", "sundials") from None

        def residual(t: float, x: Floats, x_dot: Floats, out: Floats) -> None:
            out[:] = x_dot - self.rates(t, x)

        self.pull = PULL / (self.t_end - self.t)
        solver = IDA(residual, **self.options())
        solver.init_step(t, x, self.rates(t, x))
        return solver

    def event_function(self) -> Any:
        def events(t: float, x: Floats, x_dot: Floats, found: Floats) -> None:
            found[0] = self.until(t, x)

        events.terminal, events.direction = [True], [1]  # type: ignore[attr-defined]
        return events
