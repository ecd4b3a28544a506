"""Change points among the states that a run evaluates, found where nearness is least (F28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.integrate.events.change import FIRST_CHANGE, ZERO

Floats = NDArray[np.float64]

SEEN = 0.5  # evaluations nearer to a change point than this are kept, to find it


class Passed:
    """Keeps evaluations near change points until these lie behind.

    `nearness(t, y)`: distance from a change point, and the group concerned, of a state that is not closed.
    `paths`: start, end, and states as a function of time, of steps near change points. `on_the_motion`: what
    is evaluated are states of the motion itself, not stages of steps.
    """

    def __init__(
        self, nearness: Callable[[float, Floats], tuple[float, int]], *, on_the_motion: bool = False
    ) -> None:
        self.nearness, self.on_the_motion = nearness, on_the_motion
        self.known = -np.inf  # time up to which events are recorded already
        self.paths: list[tuple[float, float, Any]] = []
        self._seen: list[tuple[float, float, Any]] = []

    def note(self, t: float, near: float, y: Floats, y_dot: Floats) -> None:
        """Keep an evaluation, to find the change point that it is near to."""
        self._seen.append((t, near, (y, y_dot.copy()) if near < SEEN else None))

    def was_near(self, t: float) -> bool:
        """Whether something was evaluated near a change point since a time."""
        return any(item[0] >= t and item[2] is not None for item in self._seen)

    def behind(self, t: float, finished: bool) -> tuple[Floats, NDArray[np.int64], Floats]:
        """Change points among what was evaluated up to a time: events of a chunk."""
        seen = sorted(self._seen, key=lambda item: item[0])
        found, dip, kept = [], [], 0
        for k, item in enumerate(seen):
            if item[0] > t:
                break
            if item[2] is not None:
                dip.append(item)
                continue
            if len(dip) > 1 and (place := self._least(dip)) is not None:
                found.append(place)
            dip, kept = [], k
        if finished and len(dip) > 1 and (place := self._least(dip)) is not None:
            found.append(place)
        self._seen = seen[kept:]
        self.paths = [item for item in self.paths if not self._seen or item[1] >= self._seen[0][0]]
        groups = np.array([FIRST_CHANGE - group for _, group in found], dtype=np.int64)
        return np.array([time for time, _ in found]), groups, np.ones(len(found))

    def _path(self, dip: list[Any]) -> Any:
        """States as a function of time, by the steps where they are known, else through evaluated ones."""
        from scipy.interpolate import CubicHermiteSpline

        known = list({item[0]: item for item in dip}.values()) if self.on_the_motion else [dip[0], dip[-1]]
        times, states = [item[0] for item in known], [item[2] for item in known]
        cubic = CubicHermiteSpline(times, [y for y, _ in states], [y_dot for _, y_dot in states])

        def path(t: float) -> Floats:
            for start, end, inside in self.paths:
                if start <= t <= end:
                    x = inside(t)
                    return np.concatenate([x, states[0][0][len(x) :]])
            return np.asarray(cubic(t))

        return path

    def _least(self, dip: list[Any]) -> tuple[float, int] | None:
        """Where nearness is zero between the ends of a dip, and the group; or None."""
        from scipy.optimize import minimize_scalar

        a, b = dip[0][0], dip[-1][0]
        if not b > a:
            return None
        path = self._path(dip)
        found = minimize_scalar(
            lambda t: self.nearness(t, path(t))[0],
            bounds=(a, b), method="bounded", options={"xatol": 1e-6 * (b - a)},
        )  # fmt: skip
        least, group = self.nearness(float(found.x), path(float(found.x)))
        return (float(found.x), group) if least < ZERO and found.x > self.known else None

    def told(self, t: float) -> float:
        """Time up to which `behind(t)` has given all: a dip that is not over may lie before t."""
        return min([t, *(item[0] for item in self._seen if item[2] is not None)])
