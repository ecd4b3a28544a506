"""Motion that drives determine: position, speed and acceleration over time, drive efforts with them (F35)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.inverse import Follower
from flexmbs.dynamics.projection import position_rates
from flexmbs.errors import SolverError
from flexmbs.integrate import Chunk
from flexmbs.integrate.driver import SLICE_SECONDS
from flexmbs.integrate.memory import INFO
from flexmbs.integrate.passed import Passed
from flexmbs.simulate.equations import problem, state_vector
from flexmbs.simulate.passage import Passage
from flexmbs.simulate.powers import N_QUAD, given_rates_of_aux
from flexmbs.simulate.sampling import Sampler

Floats = NDArray[np.float64]
LARGEST_CHANGE = 0.1  # rad or m, between two positions on the way


class KinematicRun:
    """Follows the drives from output to output, with the interface of `Integrator`.

    Own states and the work of the drives are integrated on the way, by the classical method of order 4.
    `evaluator` and `sampler` share their workspace.
    """

    def __init__(
        self,
        system: Any,
        state: Any,
        evaluator: Any,
        sampler: Sampler,
        times: Floats,
        quasi_static: bool = False,
    ) -> None:
        self.system, self.state, self.sampler, self.times = system, state, sampler, times
        self.follower = Follower(evaluator, state, quasi_static)
        self.evaluator = evaluator
        self.quad = np.zeros(N_QUAD)
        self.count = {"steps": 0, "rejected": 0, "evaluations": 0}
        self.largest = np.zeros(2)
        self.between_steps, self.finished = True, False
        self._next = 0
        self._failed: SolverError | None = None
        t_end = max(float(state.t), *times) if len(times) else float(state.t)
        self.passage = Passage(problem(system), state.t, state_vector(system, state), t_end)
        self.passed, self._noted = Passed(self._nearness, on_the_motion=True), -np.inf
        self.acc = self.follower.at(state.t)

    @property
    def t(self) -> float:
        return float(self.state.t)

    @property
    def idle(self) -> int:
        """Freedoms that no drive determines."""
        return self.follower.idle

    def _vector(self) -> Floats:
        y = state_vector(self.system, self.state)
        first = self.system.n_pos + self.system.n_vel + self.system.n_aux
        y[first : first + N_QUAD] = self.quad
        return y

    def _nearness(self, t: float, y: Floats) -> tuple[float, int]:
        """Distance from a change point, and the group concerned, of a state that is not closed."""
        known, place = self.passage.known, y.copy()
        known.project(known.data, t, place, 0.0, 0.0, np.zeros(3))
        return self.passage.distance(t, place)

    def _slopes(self, rates: Floats) -> Floats:
        """Rates of the state vector where the state is, with those of own states and quadratures."""
        slopes, state = np.zeros_like(self._vector()), self.state
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        position_rates(self.evaluator.tables, state.pos, state.vel, slopes[:n])
        slopes[n:m], slopes[m : m + len(rates)] = self.acc, rates
        return slopes

    def _at(self, t: float, aux: Floats) -> Floats:
        """Move the state to time t with own states `aux`; returns their rates there."""
        self.state.aux[:] = aux[: self.system.n_aux]
        self.quad = aux[self.system.n_aux :].copy()
        self.acc = self.follower.at(t)
        self.count["evaluations"] += 1
        rates = np.zeros(self.system.n_aux + N_QUAD)
        given_rates_of_aux(self.sampler.data, self.state.vel, aux, rates)
        self.evaluator.require(self.state, rates)
        if self.passage.watched and t > self._noted:
            y, slopes = self._vector(), self._slopes(rates)
            self.passed.note(t, self.passage.distance(t, y)[0], y, slopes)
            self._noted = t
        return rates

    def _try(self, t: float) -> None:
        """On to time t; where that fails the state stays at the last good sample."""
        last = self.state.copy(), self.quad.copy()
        try:
            self._advance_to(t)
        except SolverError as error:
            self._failed, self.quad = error, last[1]
            for name in ("pos", "vel", "aux", "turns"):
                getattr(self.state, name)[:] = getattr(last[0], name)
            self.state.t = last[0].t

    def _advance_to(self, t: float) -> None:
        """On to time t in steps that are short enough for Newton's method and for the integrals."""
        while self.state.t < t:
            speed = float(np.abs(self.state.vel).max(initial=0.0))
            left = t - self.state.t
            h = min(left, LARGEST_CHANGE / speed if speed > 0.0 else left)
            if left - h < 1e-9 * h:
                h = left
            t0, x = self.state.t, np.concatenate([self.state.aux, self.quad])
            end = t if h == left else t0 + h
            k1 = self._at(t0, x)
            k2 = self._at(t0 + 0.5 * h, x + 0.5 * h * k1)
            k3 = self._at(t0 + 0.5 * h, x + 0.5 * h * k2)
            k4 = self._at(end, x + h * k3)
            self._at(end, x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
            self.count["steps"] += 1

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice of wall time."""
        begun, n = time.perf_counter(), 0
        t, y, rows, info = [], [], [], []
        while self._next < len(self.times) and (self.t < t_pause or not n):
            if self._failed is None:
                self._try(float(self.times[self._next]))
            if self._failed is not None and n:
                break  # what is there goes out first
            if self._failed is not None:
                raise self._failed
            self._next += 1
            n += 1
            t.append(self.t)
            y.append(self._vector())
            rows.append(self.sampler.row(self.t, y[-1], self.acc))
            info.append([0.0, 0.0, 0.0, *self._closure()])
            if time.perf_counter() - begun > SLICE_SECONDS or n == n_steps:
                break
        self.finished = self._next >= len(self.times)
        return Chunk(
            np.array(t), np.array(y), np.array(info).reshape(n, INFO),
            *self.passed.behind(self.t, self.finished), np.array(rows),
        )  # fmt: skip

    def _closure(self) -> Floats:
        ws = self.evaluator.ws
        closure = np.array([np.abs(ws.g).max(initial=0.0), np.abs(ws.g_dot).max(initial=0.0)])
        self.largest = np.maximum(self.largest, closure)
        return closure

    def statistics(self) -> dict[str, float]:
        return {
            **self.count,
            "largest_closure": float(self.largest[0]),
            "largest_closure_velocity": float(self.largest[1]),
            "chattering": 0,
        }

    def checkpoint(self) -> dict[str, Any]:
        """State, next output and counts."""
        count = np.array([*self.count.values()])
        return {
            "y": self._vector(), "t": self.t, "next": self._next, "count": count, "largest": self.largest,
            "passed": self.passed.checkpoint(),
        }  # fmt: skip

    def restore(self, checkpoint: dict[str, Any]) -> None:
        y, state = np.atleast_1d(checkpoint["y"]), self.state
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        k = m + self.system.n_aux
        state.t, self._next = float(checkpoint["t"]), int(checkpoint["next"])
        state.pos[:], state.vel[:], state.aux[:] = y[:n], y[n:m], y[m:k]
        self.quad, state.turns[:] = y[k : k + N_QUAD].copy(), y[k + N_QUAD :][: len(state.turns)]
        self.largest = np.atleast_1d(checkpoint["largest"]).copy()
        rows = np.asarray(checkpoint["passed"])
        self.passed.restore(rows if rows.ndim == 2 else rows.reshape(0, 2))
        self._noted = state.t
        self.count = dict(zip(self.count, (int(v) for v in np.atleast_1d(checkpoint["count"])), strict=True))
