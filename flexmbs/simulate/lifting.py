"""Contacts that open and close in runs of other formulations than the recursion (F44).

The formulation moves the mechanism with the rows that hold; where a contact opens or closes is told by the
switching functions of the recursion, and what happens then (impact, further contacts) is its `turn`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Problem

Floats = NDArray[np.float64]

#: places in a step at which the switching functions of contacts are looked at, its end among them
PLACES = 5


class Lifting:
    """Contacts of a mechanism: which are open in a state vector, when that changes, and to what."""

    def __init__(self, known: Problem, rows: NDArray[np.int64], start: Floats) -> None:
        self.known, self.rows = known, rows
        self.first = known.n_switch - len(rows)
        self.events: list[tuple[float, int, float]] = []
        self._chosen = -1
        self._marked = -start[len(start) - len(rows) :]

    def mark(self, ws: Any, y: Floats) -> bool:
        """Tell a workspace which contacts are open in a state; whether these are others. Writes: ws.soft."""
        if not len(self.rows):
            return False
        now = -y[len(y) - len(self.rows) :]
        ws.soft[self.rows] = now
        other, self._marked = not np.array_equal(self._marked, now), now
        return other

    def values(self, t: float, y: Floats) -> Floats:
        """Force of every closed contact, gap of every open one, at a state on the constraints."""
        s = np.zeros(self.known.n_switch)
        if self.known.switches(self.known.data, t, y.copy(), s) != 0:
            s[self.first :] = np.nan
        return s[self.first :]

    def first_change(self, t_old: float, t: float, at: Callable[[float], Floats]) -> float | None:
        """First time in a step at which a force or a gap falls below zero; `at` gives closed states."""
        if not len(self.rows):
            return None
        low = t_old
        for place in np.linspace(t_old, t, PLACES + 1)[1:]:
            found = self.values(place, at(place))
            if np.any(found < 0.0):
                fallen = np.flatnonzero(found < 0.0)
                time, k = min((self._root(int(k), low, place, at), int(k)) for k in fallen)
                self._chosen = self.first + k
                return time
            low = place
        return None

    def _root(self, k: int, low: float, high: float, at: Callable[[float], Floats]) -> float:
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return float(self.values(t, at(t))[k])

        if not value(low) > 0.0:
            return low
        return float(brentq(value, low, high, xtol=1e-15 * max(abs(high), 1e-3), rtol=1e-15))

    def turn(self, t: float, y: Floats) -> bool:
        """Open or close the contact that has changed, and those that follow it; whether any does. Changes y.

        At the start, where none has changed, those that would pull.
        """
        known, s, turned = self.known, np.zeros(self.known.n_switch), np.zeros(self.known.n_switch)
        status = known.switches(known.data, t, y, s)
        if status == 0:
            status = known.turn(known.data, t, y, self._chosen, s, turned)
        if status != 0:
            what = "the mechanism cannot be evaluated where a contact opens or closes"
            raise SolverError(Diagnostic("solver.contact", f"t = {t:.6g} s", what, "look at the lift there"))
        self.events += [(t, int(k), float(turned[k])) for k in np.flatnonzero(turned)]
        return bool(np.any(turned))
