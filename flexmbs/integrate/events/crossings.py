"""Zeros of switching functions in runs of other libraries: found, passed, recorded as by the compiled loop.

Behind a zero where speeds jump (a kink of a constraint) other equations hold, which no step may have seen: a
trial state there breaks the step off, and shorter ones lead to just before the zero. One-sided functions
(contacts) go on smoothly behind theirs: they are looked at inside finished steps (`one_sided`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate.driver import REASONS
from flexmbs.integrate.events.passing import BACK, BEHIND
from flexmbs.integrate.memory import CHATTER, CORNERED, RESTING, RESTS
from flexmbs.integrate.problem import BEFORE, DISPLACED, Problem

Floats = NDArray[np.float64]

#: distance from a zero, over the first guess of it, at which it is passed; how far it is looked for then
CLOSE, FURTHEST = 1e-9, 1e3
#: the same in roundings of the time
ROUNDINGS = 256.0
#: a start on a zero is passed by this part of the duration
START = 1e-13
DOUBLINGS = 12


class Crossed(Exception):
    """A trial state lies behind a zero where speeds jump: time, function, and how far it is behind."""


class Blind(Exception):
    """The recursion has no rates at a zero: laws of time in the descriptor form need none of it there."""


def not_passed(t: float) -> SolverError:
    """The error of a zero behind which nothing can be found."""
    what = "the mechanism cannot be evaluated where a contact or a kink is passed"
    return SolverError(Diagnostic("solver.contact", f"t = {t:.6g} s", what, "look at the law there"))


class Crossings:
    """Sides of the switching functions of a run, the next zero, and the way over it.

    `known`: the problem whose `switches`, `turn`, `project` say what happens; `sided`: one-sided functions
    turn. `events`: time, function and direction of what was passed.
    """

    def __init__(self, known: Problem, t_start: float, t_end: float, *, sided: bool = True) -> None:
        self.known, self.first = known, known.n_switch - known.n_sided
        self.sided = sided and known.n_sided > 0
        self.jumps, self.rests = (known.jumping[: self.first] >= least for least in (1.0, 2.0))
        self.corner = -1  # function whose zero could not be passed
        self.sign, self.mute = np.zeros(self.first), np.zeros(self.first)
        self.last, self.crossed = np.full((2, self.first), -np.inf)
        self.returns = np.zeros(self.first)  # passages in quick succession
        self.duration, self.round = (
            t_end - t_start,
            ROUNDINGS * float(np.spacing(max(abs(t_start), abs(t_end)))),
        )
        self.events: list[tuple[float, int, float]] = []
        self._watching = False
        self.t_low, self.low = t_start, np.zeros(self.first)
        self.forget()

    def forget(self) -> None:
        """No zero is ahead."""
        self.high, self.chosen, self.close = np.inf, -1, self.round
        self.f_low = self.f_high = 0.0
        self._side = self._count = 0

    @property
    def live(self) -> NDArray[np.bool_]:
        """Functions at whose zeros speeds jump, save those that chatter."""
        return np.asarray(self.jumps & (self.mute < CHATTER))

    def values(self, t: float, y: Floats) -> Floats:
        """Switching functions of a state on the constraints; NaN where it cannot be evaluated."""
        s = np.zeros(self.known.n_switch)
        if self.known.switches(self.known.data, t, y.copy(), s) != 0:
            s[:] = np.nan
        if not self.sided:
            s[self.first :] = np.inf
        return s

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Trial states are those of a step: one behind a zero raises `Crossed`."""
        self._watching = True
        try:
            yield
        finally:
            self._watching = False

    def look(self, t: float, y: Floats) -> None:
        """Break off where a trial state lies behind a zero."""
        if not (self._watching and self.live.any()):
            return
        f = self.sign * self.values(t, y)[: self.first]
        behind = np.flatnonzero(self.live & (self.sign != 0.0) & (f <= 0.0))
        if len(behind):
            k = int(min(behind, key=lambda k: self.low[k] / (self.low[k] - f[k] + 1e-300)))
            raise Crossed(t, k, float(f[k]))

    def ahead(self, crossed: Crossed) -> None:
        """A step was broken off by a trial state: a zero lies there or before."""
        t, k, f = crossed.args
        if self.high == np.inf:
            self.close = max(CLOSE * (t - self.t_low), self.round)
        if k != self.chosen:
            self.f_low, self._side = float(self.low[k]), 0
        self.high, self.chosen, self.f_high = min(t, self.high), k, f
        self.f_low *= 0.5 if self._side == 1 else 1.0
        self._side, self._count = 1, self._count + 1

    def stand(self, t: float, y: Floats, raw: Floats | None = None) -> None:
        """Take in a state that was reached; `raw`: as it was before loops were closed."""
        s = self.values(t, y)[: self.first]
        f = self.sign * s
        if raw is not None:
            f = np.minimum(f, self.sign * self.values(t, raw)[: self.first])
        self.t_low, self.low = t, f
        behind = np.flatnonzero(self.live & (self.sign != 0.0) & (f <= 0.0))
        if len(behind):  # by rounding
            self.high, self.chosen = t, int(behind[0])
            return
        self.sign = np.where((s != 0.0) & np.isfinite(s), np.sign(s), self.sign)
        if self.high < np.inf:
            self.f_low = float(f[self.chosen])
            self.f_high *= 0.5 if self._side == -1 else 1.0
            self._side, self._count = -1, self._count + 1

    def at_hand(self, t: float) -> bool:
        """Whether the next zero is so close that it is passed now."""
        return self.high - t <= self.close

    def longest(self, t: float) -> float:
        """Longest step that is likely to end before the next zero (Illinois)."""
        if self.high == np.inf:
            return np.inf
        part, width = 0.5, self.high - t
        if self.f_high == 0.0:
            part = 1.0 - 1e-3
        elif self._count % 4 != 3 and self.f_low > 0.0:
            part = self.f_low / (self.f_low - self.f_high)
        return max(min(part * width, width - 0.4 * self.close), 0.4 * self.close)

    def over(self, t: float, y: Floats) -> tuple[float, Floats]:
        """Time and state behind the zero at hand; those given, where it was none but a rough trial state."""
        k, close, step = self.chosen, self.close, 0.02 * self.round + BEHIND * self.duration
        self.forget()
        start, before = self._front(t, y, k, close)
        pace, here = self._pace(start, before, k), float(self.values(start, before)[k])
        ahead = -1e-6 * self.duration * here / pace if here * pace < 0.0 else t - start
        gap, thrown, further = ahead + step, False, (t, y)
        while gap <= ahead + FURTHEST * close:
            place = before.copy()
            try:
                led = self._across(start, place, k, gap)
            except Blind:
                return t, y
            if self.sign[k] * self.values(start + gap, place)[k] < 0.0:
                self.turn(start + gap, place, k)
                if pace * self._pace(start + gap, place, k) >= -BACK * pace * pace:
                    return start + gap, place
                thrown = True
                break
            thrown, further = self.sign[k] * self.values(start + gap, led)[k] < 0.0, (start + gap, place)
            gap += step
            step *= 2.0
        if thrown:
            raise self._cornered(CORNERED, t, k)
        self.count_quick(k, t)
        return further if further[0] > t else (t, y)  # where rounding does not find it once more

    def _cornered(self, status: int, t: float, k: int) -> SolverError:
        self.corner = k
        code, what, remedy = REASONS[status]
        return SolverError(Diagnostic(f"solver.{code}", f"t = {t:.6g} s", what, remedy))

    def _front(self, t: float, y: Floats, k: int, close: float) -> tuple[float, Floats]:
        """A closed state before the zero of function k: back along its speeds where rounding passed it."""
        place, back, n = y.copy(), 0.0, self.known.n_pos
        for _ in range(DOUBLINGS):
            closed = self._closed(t - back, place)
            if self.sign[k] * self.values(t - back, closed)[k] > 0.0:
                return t - back, closed
            back, place = max(2.0 * back, close), y.copy()
            self.known.increment(self.known.data, y, -back * y[n : n + self.known.n_vel], place)
        return t, self._closed(t, y)

    def _pace(self, t: float, y: Floats, k: int) -> float:
        """Change of function k along the speeds of a state, over a short time."""
        place, rates, tau = self._closed(t, y), np.zeros_like(y), 1e-6 * self.duration
        here = self.values(t, place)[k]
        self.known.rates(self.known.data, t, place, rates)
        return float(self.values(t + tau, place + tau * rates)[k] - here)

    def _closed(self, t: float, y: Floats) -> Floats:
        """A state on the constraints."""
        place = y.copy()
        self.known.project(self.known.data, t, place, 0.0, 0.0, np.zeros(3))
        return place

    def _across(self, t: float, y: Floats, k: int, gap: float) -> Floats:
        """Take note of the speeds, and go a very short way over the zero of function k. Changes y.

        Returns the state to which the speeds lead, before the loops are closed. Where the recursion cannot be
        evaluated, and nothing bends, the zero is not looked for any more.
        """
        known, n = self.known, self.known.n_pos
        s, turned, y_dot = np.zeros(known.n_switch), np.zeros(known.n_switch), np.zeros_like(y)
        status = known.turn(known.data, t, y, BEFORE - k, s, turned)
        if (status or known.rates(known.data, t, y, y_dot)) != 0:
            if self._bends(t, y, gap):
                raise not_passed(t)
            self.mute[k] = CHATTER
            raise Blind
        y += gap * y_dot
        led = y.copy()
        status = known.project(known.data, t + gap, y, 0.0, 0.0, np.zeros(3))
        at = np.flatnonzero(known.twins >= 0)
        moved = np.abs(y[:n] - led[:n])[known.twins[at]]
        if status != 0 or np.any(moved > DISPLACED * known.bounds[at]):
            what, remedy = "the law of a constraint jumps here: no step leads on", "join the parts of the law"
            raise SolverError(Diagnostic("solver.reference", f"t = {t:.6g} s", what, remedy))
        return led

    def _bends(self, t: float, y: Floats, gap: float) -> bool:
        """Whether speeds that drives and constraints ask for are others a short way behind a state."""
        known, n, found = self.known, self.known.n_pos, []
        gap, led = 100.0 * gap + 1e-9 * self.duration, y.copy()
        known.increment(known.data, y, gap * y[n : n + known.n_vel], led)
        for at, place in ((t, y), (t + gap, led)):
            self.values(at, place)
            found.append(np.concatenate([known.data.ws.law.v, known.data.ws.row.g_dot]))
        return not bool(np.all(np.abs(found[1] - found[0]) <= 1e-6 * (1.0 + np.abs(found[0]))))

    def begin(self, t: float, y: Floats) -> float:
        """Contacts that would pull open; zeros of jumps on which a run starts are passed. Changes y.

        Returns the time of the state behind them.
        """
        if self.sided:
            self.turn(t, y, -1)
        start, n = t, self.known.n_pos
        self.sign = np.sign(np.nan_to_num(self.values(t, y)[: self.first]))
        for k in np.flatnonzero(self.jumps & (self.sign == 0.0)):
            gap, before = START * self.duration, y[n : n + self.known.n_vel].copy()
            if self.sign[k] != 0.0 or gap <= 0.0:
                continue
            try:
                self._across(t, y, int(k), gap)
            except Blind:
                continue
            t += gap
            self.turn(t, y, int(k))
            after = y[n : n + self.known.n_vel]
            size = max(np.abs(before).max(initial=0.0), np.abs(after).max(initial=0.0))
            if np.abs(after - before).max(initial=0.0) > 1e-9 * size:
                self.events.append((start, int(k), float(self.sign[k])))
        if self.jumps.any():
            self.stand(t, y)
        return t

    def turn(self, t: float, y: Floats, chosen: int) -> None:
        """What the zero of function `chosen` changes, and what follows from it (see `Problem`). Changes y."""
        known, turned = self.known, np.zeros(self.known.n_switch)
        s = self.values(t, y)
        status = int(np.isnan(s).any()) or known.turn(known.data, t, y, chosen, s, turned)
        if status != 0:
            raise not_passed(t)
        self.events += [(t, int(k), float(turned[k])) for k in np.flatnonzero(turned)]
        self.forget()
        s, old = s[: self.first], self.sign
        sign = np.where(s != 0.0, np.sign(s), 0.0 if chosen < 0 else old)
        if 0 <= chosen < self.first and s[chosen] == 0.0:
            sign[chosen] = 0.0
        self.take_sides(t, sign)

    def take_sides(self, t: float, sign: Floats) -> None:
        """Sides behind a zero; those that are others than before are events."""
        old, self.sign = self.sign, sign
        for k in np.flatnonzero(self.jumps & (sign != old) & (old != 0.0)):
            self.events.append((t, int(k), -float(old[k])))
            self.count_quick(int(k), t)
            self.returns[k] = self.returns[k] + 1.0 if self._is_quick(self.crossed[k], t) else 0.0
            self.crossed[k] = t
            if self.rests[k] and self.returns[k] >= RESTS:
                raise self._cornered(RESTING, t, int(k))

    def _is_quick(self, last: float, t: float) -> bool:
        return t - last < 1e-6 * self.duration

    def count_quick(self, k: int, t: float) -> None:
        """Zeros at hand in quick succession, passed or not; where a motion may rest it does so then."""
        quick = self._is_quick(self.last[k], t)
        self.mute[k], self.last[k] = (self.mute[k] + 1.0 if quick else 0.0), t
        if self.rests[k] and self.mute[k] >= CHATTER:
            raise self._cornered(RESTING, t, k)
