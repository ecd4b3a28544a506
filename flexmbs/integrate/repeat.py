"""Steps of a run that another one repeats, so that error control is no noise in differences of the two.

Every step is taken by hand, between calls of the compiled loop. A run that repeats takes fixed steps of the
sizes that were found, and iterates its implicit steps further. Steps that an event cut short are noted whole:
where the event moves, the next steps move with it, and the last one ends at the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.integrate.memory import PAUSED, Memory, Options

Floats = NDArray[np.float64]
#: what iterations of implicit steps leave in a run that repeats, in parts of the size of a state
LEFT = 1e-11
#: a step that an event cut short is noted so much longer than it was, at least
LONGER = 1.25


@dataclass
class Steps:
    """Method, sizes and duration of a run: empty until a first run has left its own, which others repeat."""

    method: str = ""
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    duration: float = 0.0

    @property
    def known(self) -> bool:
        return self.method != ""

    def keep(self, method: str, sizes: list[float], duration: float) -> None:
        """Take the steps of a run that has come to its end."""
        self.method, self.sizes, self.duration = method, np.array(sizes), duration


class Noted:
    """A compiled loop step by step; `sizes` are those of the steps."""

    def __init__(self, loop: Callable[[int, float], int], memory: Memory, options: Options) -> None:
        self.loop, self.memory, self.options = loop, memory, options
        self.sizes: list[float] = []
        self._proposed, self._before = 0.0, 0

    def __call__(self, n_steps: int, t_pause: float) -> int:
        """As the loop itself; see there."""
        m = self.memory
        for _ in range(n_steps):
            fresh = m.pending[0] == 0
            if fresh:
                m.event[0], self._proposed, self._before = 0, float(m.h[0]), int(m.steps[0])
                self.prepare(m, self.options)
            status = self.loop(1 if fresh else 0, t_pause)
            if m.pending[0] == 1:
                return status  # samples wait to be taken
            met = m.event[0] > 0
            if m.steps[0] == self._before and not met:
                return status
            self.taken(m, met)
            if status != PAUSED or m.t[0] >= t_pause:
                return status
        return PAUSED

    def prepare(self, m: Memory, opt: Options) -> None:
        """Nothing is prescribed."""

    def taken(self, m: Memory, met: bool) -> None:
        """Note the step that was taken."""
        h = float(m.h_step[0])
        if met:
            h = max(LONGER * h, min(self._proposed, self.sizes[-1] if self.sizes else h))
        self.sizes.append(h)


class Repeated(Noted):
    """Takes the steps of another run; those that fail are halved, as fixed steps are."""

    def __init__(
        self,
        loop: Callable[[int, float], int],
        memory: Memory,
        options: Options,
        steps: Steps,
        duration: float,
    ) -> None:
        super().__init__(loop, memory, options)
        self.given = steps.sizes * (duration / steps.duration if steps.duration > 0.0 else 1.0)
        self._next, self._target = 0, -np.inf

    def prepare(self, m: Memory, opt: Options) -> None:
        """Prescribe the next step, unless the last one was only a part of it. Writes: m."""
        if m.t[0] < self._target:
            return
        is_last = self._next >= len(self.given) - 1
        self._target = opt.t_end if is_last else min(m.t[0] + self.given[self._next], opt.t_end)
        m.origin[0], m.grid[0] = m.t[0], 0
        m.spacing[0] = m.h[0] = self._target - m.t[0]
        self._next += 1

    def taken(self, m: Memory, met: bool) -> None:
        """An event ends its step."""
        super().taken(m, met)
        if met or m.t[0] >= self._target - 1e-12 * m.spacing[0]:
            self._target = -np.inf
