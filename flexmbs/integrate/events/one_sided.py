"""Zeros of one-sided functions, such as the force of a contact, inside finished steps of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from flexmbs.integrate.events.dip import LOW, PLACES

Floats = NDArray[np.float64]
Values = Callable[[float], Floats]


def first_fall(values: Values, t_old: float, t: float) -> tuple[float, int] | None:
    """First time in a step at which one of some values falls below zero, and which; None where none does.

    As in compiled steps they are looked at in some places, and at the vertices of parabolas through them.
    """
    places = np.linspace(t_old, t, PLACES + 2)
    seen = np.array([values(float(place)) for place in places])
    looked = [*zip(places[1:].tolist(), seen[1:], strict=True), *_vertices(values, places, seen)]
    low = t_old
    for place, found in sorted(looked, key=lambda item: float(item[0])):
        fallen = np.flatnonzero(found < 0.0)
        if len(fallen):
            return min((_root(values, int(k), low, place), int(k)) for k in fallen)
        low = place
    return None


def _vertices(values: Values, places: Floats, seen: Floats) -> Iterator[tuple[float, Floats]]:
    """Places and values where a parabola through three of them comes down close to zero."""
    a, b, c = seen[:-2], seen[1:-1], seen[2:]
    bend = a - 2.0 * b + c
    for p, k in np.argwhere((b <= a) & (b <= c) & (bend > 0.0) & (b > 0.0)):
        shift = 0.5 * (a - c)[p, k] / bend[p, k]
        if b[p, k] - 0.25 * (a - c)[p, k] * shift < LOW * max(a[p, k], c[p, k]):
            place = float(places[p + 1] + shift * (places[1] - places[0]))
            yield place, values(place)


def _root(values: Values, k: int, low: float, high: float) -> float:
    """Zero of value k; the lower end where it is none above."""
    from scipy.optimize import brentq

    if not values(low)[k] > 0.0:
        return low
    root = brentq(lambda t: float(values(t)[k]), low, high, xtol=1e-15 * max(abs(high), 1e-3), rtol=1e-15)
    return float(root)
