"""Change points in runs of other formulations, found as the recursion finds them (F28).

The kernels of the recursion say how far a state is from a loss of rank. Close to one, nothing is evaluated:
a formulation closes and evaluates states a little before and behind, and their mean takes the place of what
rounding would decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Problem
from flexmbs.simulate.motion.branch import NEAR, WEIGHTS, time_to_reach, watch

Floats = NDArray[np.float64]


class Passage:
    """Distance from change points, and the places beside a state, of the problem of the recursion."""

    def __init__(self, known: Problem, t: float, y: Floats, t_end: float) -> None:
        self.known, data = known, known.data
        watch(known, t, y.copy(), t_end)
        self.watched = known.closed and float(data.branch.least[0]) > 0.0
        self.timed = data.size[4] == 1
        self.moving = np.isfinite(data.branch.scale)
        self._rates, self._out = np.zeros_like(y), np.zeros(3)

    def distance(self, t: float, y: Floats) -> tuple[float, int]:
        """How far a state is from a change point, about 1 far away, and the constraints concerned."""
        if not self.watched:
            return 1e300, 0
        known, out = self.known, self._out
        known.rates(known.data, t, y.copy(), self._rates)
        known.nearness(known.data, out)
        return float(out[0]), int(out[1])

    def is_near(self, t: float, y: Floats) -> bool:
        """Whether a state is so close that accelerations and closure follow from both sides."""
        return self.distance(t, y)[0] < NEAR**0.5

    def beside(self, t: float, y: Floats) -> Iterator[tuple[float, float, Floats]]:
        """Weights, times and states beside a state, along its speeds; none where it stands.

        Modes stay; time goes on only where constraints depend on it. States are brought onto the constraints
        by the recursion, which knows their rank: beside them, redundant rows seem to hold more.
        """
        data, n, m = self.known.data, self.known.n_pos, self.known.n_pos + self.known.n_vel
        tau = time_to_reach(data.branch.scale, y[n:m])
        for k, weight in enumerate(WEIGHTS if tau > 0.0 else ()):
            for side in ((k + 1) * tau, -(k + 1) * tau):
                place = y.copy()
                self.increment(y, side * np.where(self.moving, y[n:m], 0.0), place)
                time = t + side if self.timed else t
                if self.known.project(data, time, place, 0.0, 0.0, self._out) != 0:
                    what = "the constraints lose rank, and no motion goes on behind: a lock-up"
                    raise SolverError(Diagnostic("solver.open", f"t = {t:.6g} s", what))
                yield weight, time, place

    def increment(self, y: Floats, delta: Floats, out: Floats) -> None:
        """Positions moved by displacements in the space of speeds. Writes: the positions of out."""
        self.known.increment(self.known.data, y, delta, out)

    def normalised(self, mean: Any) -> Floats:
        """A mean of states with quaternions of unit length."""
        out = np.array(mean)
        self.increment(mean, np.zeros(self.known.n_vel), out)
        return out
