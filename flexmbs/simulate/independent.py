"""Runs in minimal coordinates: independent speeds, everything else from the closure (F29-F31)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluate import add_increment, position_rates
from flexmbs.dynamics.minimal import Minimal
from flexmbs.dynamics.minimal_forces import accelerations, observe
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.integrate import Chunk
from flexmbs.model.state import State
from flexmbs.simulate.branch import NEAR, WEIGHTS, time_to_reach, watch
from flexmbs.simulate.dependent import FormulationRun
from flexmbs.simulate.equations import problem, state_vector
from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: coordinates are chosen anew where G_d has lost this part of its condition, and the new ones gain that much
WORSE, BETTER = 0.1, 3.0


def check_offered(system: Any, evaluator: Any, state: State, settings: RunSettings) -> None:
    """Refuse what the mechanism asks for beyond its formulation, before anything is written.

    Kinematics is dynamics with nothing left to move: drives must leave nothing open.
    """
    where, name = "analysis.formulation", settings.formulation
    idle = len(Minimal(evaluator, state).split.ind) if settings.type == "kinematics" else 0
    if idle:
        what = f'{idle} freedoms are not driven, and formulation = "{name}" does not choose for them'
        remedy = 'drive them, or choose formulation = "recursive"'
        raise UsageError(Diagnostic(where, where, what, remedy))


class MinimalRun(FormulationRun):
    """Integrates the independent coordinates; dependent ones follow by Newton, nothing is stabilised.

    The state vector holds all positions and speeds: the dependent entries are where Newton starts, which
    keeps loops on their branch, and have no other effect. Choices of coordinates are logged as events.
    Close to a change point no choice of coordinates is regular: everything is found from both sides (F28).
    """

    formulation = "minimal"

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any) -> None:
        self.minimal = Minimal(evaluator, state)
        self.condition = self._condition(self.minimal, state, evaluator)
        self.switched: list[float] = []
        self.recursion = problem(system)  # its pivots say how near a change point is
        watch(self.recursion, state.t, state_vector(system, state), rest[-1])
        super().__init__(system, state, evaluator, *rest)
        self.constraints = self.recursion

    @staticmethod
    def _condition(minimal: Minimal, state: State, evaluator: Any) -> float:
        """Smallest over largest singular value of G_d."""
        split = minimal.split
        if not len(split.dep):
            return 1.0
        s = np.linalg.svd(evaluator.jacobian(state)[np.ix_(split.rows, split.dep)], compute_uv=False)
        return float(s[-1] / s[0])

    def position_rates(self, state: State) -> Floats:
        out = np.zeros(len(state.pos))
        position_rates(self.evaluator.tables, state.pos, state.vel, out)
        return out

    def accelerations(self, state: State) -> Floats:
        if len(self.system.model.drives) or len(self.system.laws.tables.press_law):
            return self.observe(state)  # work and friction take reactions
        acc = accelerations(self.minimal, state)
        self.evaluator.tree_forces(state, acc.copy())
        return acc

    def observe(self, state: State) -> Floats:
        return observe(self.minimal, state)

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates at the closed state; the nearness of change points is looked at with them."""
        x_dot = super().rates(t, x)
        if self.recursion.closed and np.all(np.isfinite(x_dot)):
            y = np.concatenate([x, self.y[self.size :]])
            self._nearness(t, y)
            self._see(t, y, np.concatenate([x_dot, 0.0 * self.y[self.size :]]))
        return x_dot

    def _nearness(self, t: float, y: Floats) -> float:
        """Nearness of a state vector to a change point, brought onto the constraints by the recursion."""
        p, place = self.recursion, y.copy()
        p.project(p.data, t, place, 0.0, 0.0, np.zeros(3))
        p.rates(p.data, t, place, np.zeros_like(y))
        out = np.zeros(3)
        p.nearness(p.data, out)
        return float(out[0])

    def _sides(self, state: State) -> list[tuple[float, State]]:
        """States on the branch beside one that is close to a change point, with weights; none elsewhere."""
        data = self.recursion.data
        if not self.recursion.closed or self._nearness(state.t, self._vector(state)) >= NEAR**0.5:
            return []
        tau, unit = time_to_reach(data.branch.scale, state.vel), np.isfinite(data.branch.scale)
        found = []
        for k, weight in enumerate(WEIGHTS if tau > 0.0 else ()):
            for step in ((k + 1) * tau, -(k + 1) * tau):
                side = state.copy()
                side.t = state.t + step if data.size[4] == 1 else state.t
                add_increment(
                    self.evaluator.tables, state.pos, step * np.where(unit, state.vel, 0.0), side.pos
                )
                self._close_here(side)
                found.append((weight, side))
        return found

    def _vector(self, state: State) -> Floats:
        """State vector of a state."""
        return state_vector(self.system, state)

    def _rates(self, data: Any, t: float, y: Floats, y_dot: Floats) -> int:
        state, n = self._state(t, y), self.system.n_pos
        sides = self._sides(state)
        if not sides:
            return super()._rates(data, t, y, y_dot)
        one, y_dot[:] = np.zeros_like(y), 0.0
        for weight, side in sides:
            super()._rates(data, side.t, self._vector(side), one)
            y_dot += weight * one
        y_dot[:n] = self.position_rates(state)
        return 0

    def _row(self, t: float, y: Floats) -> Floats:
        sides = self._sides(self._state(t, y))
        if not sides:
            return super()._row(t, y)
        row, first = np.zeros(self.sampler.width), self.sampler.places["pos"]
        for weight, side in sides:
            row += weight * super()._row(side.t, self._vector(side))
        row[first : first + len(y)] = y
        return row

    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        sides = self._sides(state)
        if not sides:
            self._close_here(state)
        else:
            state.vel[:] = sum(weight * side.vel for weight, side in sides)
            place = np.asarray(sum(weight * side.pos for weight, side in sides))
            add_increment(self.evaluator.tables, place, np.zeros(self.system.n_vel), state.pos)
            self.evaluator.kinematics(state)
        ws = self.evaluator.ws
        state.turns[:] = ws.ent[:, 0]
        worst = [float(np.abs(x[self.minimal.split.rows]).max(initial=0.0)) for x in (ws.g, ws.g_dot)]
        return worst[0], worst[1], 0

    def _close_here(self, state: State) -> None:
        """Dependent positions and speeds of a state (F29)."""
        self.minimal.close_positions(state)
        self.minimal.close_speeds(state)

    def _follow(self, t: float, x: Floats) -> None:
        """After a step: the state closed, and coordinates chosen anew where they degenerate (F31)."""
        super()._follow(t, x)
        y = np.concatenate([x, self.y[self.size :]])
        state = self._state(t, y)
        self.close(state, 0.0)
        x[:] = y[: self.size]  # same rates: they are taken at the closed state
        now = self._condition(self.minimal, state, self.evaluator)
        if now < WORSE * self.condition:
            other = Minimal(self.evaluator, state)
            found = self._condition(other, state, self.evaluator)
            if found > BETTER * now and not np.array_equal(other.split.ind, self.minimal.split.ind):
                self.minimal, self.condition = other, found
                self.switched.append(t)

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Samples of a slice, with change points and choices of coordinates as events."""
        chunk = super().advance(t_pause, n_steps)
        chosen = [t for t in self.switched if t > self._known]
        self.switched = []
        times = np.concatenate([chunk.event_t, chosen])
        index = np.concatenate([chunk.event_index, np.full(len(chosen), -1, dtype=np.int64)])
        order = np.argsort(times, kind="stable")
        return replace(
            chunk, event_t=times[order], event_index=index[order], event_direction=np.ones(len(times))
        )
