"""The index-2 form of Gear, Gupta and Leimkuhler, by a half-explicit Runge-Kutta method (F32, F33).

    z_dot = v + M^-1 Phi^T mu,   M v_dot = p1 + Phi^T lam,   g(z, t) = 0,   Phi v + g_t = 0

Positions and speeds have multipliers of their own: those of a stage are such that the next one keeps both
constraints. The tableau is that of Brasey and Hairer (1993), order 4 for positions, speeds and the index 2.
The error of a step is that against two of half its size: embedded formulas of explicit methods lose their
order by the multipliers, which the stages have to the first order only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import SolverError

if TYPE_CHECKING:
    from flexmbs.simulate.motion.dependent import DependentRun

Floats = NDArray[np.float64]

R6 = 6.0**0.5
#: stages after the first, then the end of the step
ROWS = (
    (0.3,),
    ((1 + R6) / 30, (11 - 4 * R6) / 30),
    ((-79 - 31 * R6) / 150, (-1 - 4 * R6) / 30, (24 + 11 * R6) / 25),
    ((14 + 5 * R6) / 6, (-8 + 7 * R6) / 6, (-9 - 7 * R6) / 4, (9 - R6) / 4),
    (0.0, 0.0, (16 - R6) / 36, (16 + R6) / 36, 1 / 9),
)
ORDER, SAFETY, SMALLEST, LARGEST = 4, 0.9, 0.2, 5.0
NEWTON, CLOSED = 25, 1e-15


class HalfExplicit:
    """Steps with the interface of SciPy's solvers."""

    def __init__(
        self, run: DependentRun, t: float, y: Floats, t_end: float, *, rtol: float, atol: float
    ) -> None:
        self.run, self.form = run, run.descriptor
        self.t, self.y, self.t_end, self.t_old = t, y.copy(), t_end, t
        self.rtol, self.atol, self.status, self.max_step = rtol, atol, "running", np.inf
        self.y_old, self.f = self.y, self._rates(t, self.y)
        self.f_old, self.middle = self.f, (self.y, self.f)
        scale = self.atol + self.rtol * np.abs(self.y)
        size, slope = (float(np.linalg.norm(item / scale)) for item in (self.y, self.f))
        self.h = (t_end - t) * (1e-3 if size * slope == 0.0 else min(1.0, 0.01 * size / slope / (t_end - t)))

    def _rates(self, t: float, x: Floats) -> Floats:
        """Rates without the multipliers of the positions, those of the speeds on acceleration level."""
        y = np.concatenate([x, self.run.y[self.run.size :]])
        self.run.crossings.look(t, y)
        y_dot = np.zeros_like(y)
        self.run.count["evaluations"] += 1
        self.run._rates(None, t, y, y_dot)
        self.run.passed.note(t, self.run.passage.distance(t, y)[0], y, y_dot)
        return y_dot[: self.run.size]

    def step(self) -> str | None:
        """One step that meets the tolerance; a message when there is none."""
        while True:
            h = min(self.h, self.max_step, self.t_end - self.t)
            if h <= 1e-14 * max(abs(self.t), abs(self.t_end)):
                self.status = "failed"
                return "the step shrinks to nothing"
            try:
                y, f, miss, middle = self._attempt(h)
                scale = self.atol + self.rtol * np.maximum(np.abs(self.y), np.abs(y))
                error = float(np.nan_to_num(np.sqrt(np.mean((miss / scale) ** 2)), nan=np.inf))
            except SolverError as failure:
                self.run.failure, error = failure, np.inf
            factor = SAFETY * error ** (-1.0 / (ORDER + 1)) if error > 0.0 else LARGEST
            self.h = h * float(np.clip(factor, SMALLEST, LARGEST))
            if error <= 1.0:
                break
            self.run.count["rejected"] += 1
        self.t_old, self.y_old, self.f_old = self.t, self.y, self.f
        self.t = self.t_end if h >= self.t_end - self.t else self.t + h
        self.y, self.f, self.middle, self.run.failure = y, f, middle, None
        if self.t >= self.t_end:
            self.status = "finished"
        return None

    def _attempt(self, h: float) -> tuple[Floats, Floats, Floats, tuple[Floats, Floats]]:
        """State and rates at the end by two steps, the estimate of their error, state and rates between."""
        whole, _ = self.advanced(self.t, self.y, self.f, h)
        middle = self.advanced(self.t, self.y, self.f, 0.5 * h)
        y, f = self.advanced(self.t + 0.5 * h, *middle, 0.5 * h)
        return y, f, (y - whole) / (2.0**ORDER - 1.0), middle

    def advanced(self, t: float, y: Floats, f: Floats, h: float) -> tuple[Floats, Floats]:
        """State and rates after one step from a state and its rates."""
        rates, x, nodes = [f.copy()], y, [sum(row) for row in ROWS]
        here = self.form.place(self.run._state(t, np.concatenate([y, self.run.y[self.run.size :]])))
        for k, row in enumerate(ROWS):
            stage = t + h * nodes[k]
            x = y + h * sum(a * rate for a, rate in zip(row, rates, strict=True))
            self.run.crossings.look(stage, np.concatenate([x, self.run.y[self.run.size :]]))
            rates[-1] += self._close(stage, x, here) / (h * row[-1])
            rates.append(self._rates(stage, x))
            here = self.form.place(self.run._state(stage, np.concatenate([x, self.run.y[self.run.size :]])))
        return x, rates[-1]

    def _close(self, t: float, x: Floats, before: Any) -> Floats:
        """Bring x onto both constraints by multipliers of the stage before; returns the change.

        As far as rounding lets it be: what is left becomes a part 1/h of the rates.
        """
        start, form, at = x.copy(), self.form, self.form.at
        y = np.concatenate([x, self.run.y[self.run.size :]])
        state = self.run._state(t, y)
        if self.run.passage.is_near(t, y):
            self.run._closed(t, y, CLOSED * self.run.length)
            x[:] = y[: self.run.size]
            return np.asarray(x - start)
        here, left = form.place(state), np.inf
        for _ in range(NEWTON):
            last, left = left, float(np.abs(here.g).max(initial=0.0))
            if left <= CLOSED * self.run.length or not left < 0.5 * last:
                break
            state.pos += form.correction(before, -here.g)
            here = form.place(state)
        if not left <= self.run.open_limit * self.run.length:
            self.run._plainly_closed(state, CLOSED * self.run.length)
            here = form.place(state)
        speeds = CLOSED * self.run.length * max(1.0, float(np.abs(state.vel).max(initial=0.0)))
        g_dot, left = here.g_dot, np.inf
        for _ in range(NEWTON):
            last, left = left, float(np.abs(g_dot).max(initial=0.0))
            if left <= speeds or not left < 0.5 * last:
                break
            change = at.to_speeds(form.correction(before, -g_dot), before.H)
            state.vel += change
            g_dot = g_dot + here.Phi @ at.to_rates(change, here.H)
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        x[:n], x[n:m] = state.pos, state.vel
        return np.asarray(x - start)

    def dense_output(self) -> Callable[[float], Floats]:
        """Cubics through the ends and the middle, and their slopes."""
        t0, h = self.t_old, 0.5 * (self.t - self.t_old)
        ends = [(self.y_old, self.f_old), self.middle, (self.y, self.f)]

        def inside(t: float) -> Floats:
            k = int(t >= t0 + h)
            (a, fa), (b, fb), s = ends[k], ends[k + 1], (t - t0) / h - k
            bend = (1.0 - 2.0 * s) * (b - a) + (s - 1.0) * h * fa + s * h * fb
            return np.asarray((1.0 - s) * a + s * b + s * (s - 1.0) * bend)

        return inside
