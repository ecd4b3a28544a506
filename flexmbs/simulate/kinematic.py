"""Motion that drives determine: position, speed and acceleration over time, drive efforts with them (F35)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Chunk, Problem
from flexmbs.integrate.driver import SLICE_SECONDS
from flexmbs.integrate.memory import INFO
from flexmbs.simulate.equations import N_QUAD, state_vector

Floats = NDArray[np.float64]
TOLERANCE = 1e-12
ITERATIONS = 40
LARGEST_CHANGE = 0.1  # rad or m, between two positions on the way


class KinematicRun:
    """Positions by Newton's method from output to output, with the interface of `Integrator`.

    Elastic coordinates stay as given. Freedoms that no drive determines take the least velocity; `idle`
    counts them. Own states and the work of the drives are integrated on the way, by the classical method of
    order 4.
    """

    def __init__(self, problem: Problem, system: Any, state: Any, times: Floats, t_end: float) -> None:
        self.problem, self.system, self.state, self.times, self.t_end = problem, system, state, times, t_end
        self.evaluator = system.evaluator()
        tables = system.tables
        movable = np.zeros(system.n_vel, dtype=bool)
        for i in range(1, len(tables.parent)):
            movable[tables.o_eta[i] : tables.o_qd[i]] = True
        self.free = np.flatnonzero(movable & (tables.driven < 0))
        self.size = max(float(np.abs(tables.mark_u0).max(initial=0.0)), 1.0)
        self.quad = np.zeros(N_QUAD)
        self.count = {"steps": 0, "rejected": 0, "evaluations": 0}
        self.idle = 0
        self.largest = np.zeros(2)
        self.between_steps, self.finished = True, False
        self._next = 0
        self._meet()
        self.idle = len(self.free) - self._rank()

    @property
    def t(self) -> float:
        return float(self.state.t)

    def _rank(self) -> int:
        G = self.evaluator.jacobian(self.state)[:, self.free]
        return int(np.linalg.matrix_rank(G, tol=1e-9 * max(float(np.abs(G).max(initial=0.0)), 1e-300)))

    def _meet(self) -> None:
        """Positions and speeds that meet all constraints and drives at the time of the state."""
        state, ws = self.state, self.evaluator.ws
        for _ in range(ITERATIONS):
            G = self.evaluator.jacobian(state)[:, self.free]
            error = float(np.abs(ws.g).max(initial=0.0))
            self.count["evaluations"] += 1
            if error <= TOLERANCE * self.size or not np.isfinite(error):
                break
            self._shift(-np.linalg.lstsq(G, ws.g, rcond=1e-10)[0])
        if not error <= 1e-9 * self.size:
            what = f"the mechanism cannot follow its drives: |g| = {error:.2e} is left"
            remedy = "it locks here, or jumps: shorten the motion, or change lengths"
            raise SolverError(Diagnostic("kinematics.open", f"t = {state.t:.6g} s", what, remedy))
        state.vel[self.free] = 0.0
        G = self.evaluator.jacobian(state)[:, self.free]
        state.vel[self.free] = -np.linalg.lstsq(G, ws.g_dot, rcond=1e-10)[0]
        self.evaluator.kinematics(state)
        self.closure = np.array([np.abs(ws.g).max(initial=0.0), np.abs(ws.g_dot).max(initial=0.0)])
        state.turns[:] = ws.ent[:, 0]

    def _shift(self, change: Floats) -> None:
        full = np.zeros(self.system.n_vel)
        full[self.free] = change
        y, y_new = self._vector(), self._vector()
        self.problem.increment(self.problem.data, y, full, y_new)
        self.state.pos[:] = y_new[: self.system.n_pos]

    def _vector(self) -> Floats:
        y = state_vector(self.system, self.state)
        first = self.system.n_pos + self.system.n_vel + self.system.n_aux
        y[first : first + N_QUAD] = self.quad
        return y

    def _aux_rates(self) -> Floats:
        """Rates of own states and integrals at the state as it stands."""
        y, y_dot = self._vector(), np.zeros(self.problem.size)
        if self.problem.rates(self.problem.data, self.state.t, y, y_dot) != 0:
            raise SolverError(
                Diagnostic("solver.not_evaluated", f"t = {self.t:.6g} s", "the forces cannot be found here")
            )
        first = self.system.n_pos + self.system.n_vel
        return y_dot[first : first + self.system.n_aux + N_QUAD]

    def _at(self, t: float, aux: Floats) -> Floats:
        """Move the state to time t with own states `aux`; returns their rates there."""
        step, n = t - self.state.t, self.system.n_aux
        self._shift(step * self.state.vel[self.free])
        self.state.t = t
        self.state.aux[:] = aux[:n]
        self._meet()
        return self._aux_rates()

    def _advance_to(self, t: float) -> None:
        """On to time t in steps that are short enough for Newton's method and for the integrals."""
        while self.state.t < t:
            speed = float(np.abs(self.state.vel).max(initial=0.0))
            h = min(t - self.state.t, LARGEST_CHANGE / speed if speed > 0.0 else t - self.state.t)
            if t - self.state.t - h < 1e-9 * h:
                h = t - self.state.t
            t0, x = self.state.t, np.concatenate([self.state.aux, self.quad])
            k1 = self._aux_rates()
            k2 = self._at(t0 + 0.5 * h, x + 0.5 * h * k1)
            k3 = self._at(t0 + 0.5 * h, x + 0.5 * h * k2)
            end = t if h == t - t0 else t0 + h
            k4 = self._at(end, x + h * k3)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            self.quad = x[self.system.n_aux :]
            self._at(end, x)
            self.count["steps"] += 1

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice of wall time."""
        begun, t, y, info = time.perf_counter(), [], [], []
        while self._next < len(self.times) and self.t < t_pause:
            self._advance_to(float(self.times[self._next]))
            self._next += 1
            self.largest = np.maximum(self.largest, self.closure)
            t.append(self.t)
            y.append(self._vector())
            info.append([0.0, 0.0, 0.0, *self.closure])
            if time.perf_counter() - begun > SLICE_SECONDS or len(t) == n_steps:
                break
        self.finished = self._next >= len(self.times)
        none = np.zeros(0)
        states = np.array(y).reshape(len(t), self.problem.size)
        steps = np.array(info).reshape(len(t), INFO)
        return Chunk(np.array(t), states, steps, none, none.astype(np.int64), none)

    def statistics(self) -> dict[str, float]:
        return {
            **self.count,
            "largest_closure": float(self.largest[0]),
            "largest_closure_velocity": float(self.largest[1]),
            "chattering": 0,
        }

    def checkpoint(self) -> dict[str, Any]:
        """State and next output."""
        return {
            "y": self._vector(),
            "t": self.t,
            "next": self._next,
            "count": np.array([*self.count.values()]),
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        y = np.atleast_1d(checkpoint["y"])
        n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
        k = m + self.system.n_aux
        self.state.t, self._next = float(checkpoint["t"]), int(checkpoint["next"])
        self.state.pos[:], self.state.vel[:], self.state.aux[:] = y[:n], y[n:m], y[m:k]
        self.quad, self.state.turns[:] = y[k : k + N_QUAD].copy(), y[k + N_QUAD :]
        self.count = dict(zip(self.count, (int(v) for v in np.atleast_1d(checkpoint["count"])), strict=True))
