"""Runs in minimal coordinates: independent speeds, everything else from the closure (F29-F31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.contradiction import check_rows
from flexmbs.dynamics.loops.projection import position_rates
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.minimal.forces import accelerations, observe
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.simulate.motion.equations import problem
from flexmbs.simulate.motion.formulation import FormulationRun
from flexmbs.simulate.motion.passage import Passage
from flexmbs.simulate.motion.rheonomic import follows_time

if TYPE_CHECKING:
    from flexmbs.model.state import State
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
    """

    formulation = "minimal"

    def __init__(self, system: Any, state: State, evaluator: Any, *rest: Any, lifts: bool = True) -> None:
        y = self._start(system, state, evaluator, lifts)
        regular = self._regular(system, state, y, rest[-1])
        self.minimal = Minimal(evaluator, regular)
        self.condition = self._condition(self.minimal, regular, evaluator)
        laws = system.laws.tables
        self.takes_reactions = follows_time(system) or len(laws.press_law) > 0  # work, friction
        super().__init__(system, state, evaluator, *rest, lifts=lifts)

    @staticmethod
    def _regular(system: Any, state: State, y: Floats, t_end: float) -> State:
        """The start, or where it is a change point a state beside it: rank is lost at the point itself."""
        n, found = system.n_pos, state.copy()
        passage = Passage(problem(system), state.t, y, t_end)
        if passage.is_near(state.t, y):
            for _, time, place in passage.beside(state.t, y):
                found.t, found.pos[:], found.vel[:] = time, place[:n], place[n : n + system.n_vel]
                break
        return found

    @staticmethod
    def _condition(minimal: Minimal, state: State, evaluator: Any) -> float:
        """How firmly the independent speeds hold the others: least singular value of G_d, largest of G.

        Their ratio, rows of unit length. G has all columns: one row is always well conditioned in itself.
        """
        split = minimal.split
        if not len(split.dep):
            return 1.0
        free = np.concatenate([split.dep, split.ind])
        G = evaluator.jacobian(state)[np.ix_(split.rows, free)]
        G /= np.maximum(np.linalg.norm(G, axis=1), np.finfo(float).tiny)[:, None]
        least = np.linalg.svd(G[:, : len(split.dep)], compute_uv=False)[-1]
        return float(least / np.linalg.svd(G, compute_uv=False)[0])

    def position_rates(self, state: State) -> Floats:
        out = np.zeros(len(state.pos))
        position_rates(self.evaluator.tables, state.pos, state.vel, out)
        return out

    def accelerations(self, state: State) -> Floats:
        if self.takes_reactions:
            return self.observe(state)
        acc = accelerations(self.minimal, state)
        self.evaluator.tree_forces(state, acc.copy())
        check_rows(self.system, self.evaluator.ws, state, acc)
        return acc

    def observe(self, state: State) -> Floats:
        acc = observe(self.minimal, state)
        check_rows(self.system, self.evaluator.ws, state, acc)
        return acc

    def other_rows(self, state: State) -> None:
        self.minimal = Minimal(self.evaluator, state)
        self.condition = self._condition(self.minimal, state, self.evaluator)

    def close(self, state: State, tolerance: float) -> tuple[float, float, int]:
        self.minimal.close_positions(state)
        self.minimal.close_speeds(state)
        ws = self.evaluator.ws
        state.turns[:] = ws.relation.angle[:, 0]
        worst = [float(np.abs(x[self.rows]).max(initial=0.0)) for x in (ws.row.g, ws.row.g_dot)]
        return worst[0], worst[1], 0

    def _follow(self, t: float, x: Floats) -> None:
        """After a step: the state closed, and coordinates chosen anew where they degenerate (F31)."""
        super()._follow(t, x)
        y = np.concatenate([x, self.y[self.size :]])
        state = self._state(t, y)
        self._closed(t, y, 0.0)
        x[:] = y[: self.size]  # same rates: they are taken at the closed state
        if self.passage.is_near(t, y):
            return  # no choice is good there, and none is needed
        now = self._condition(self.minimal, state, self.evaluator)
        if now < WORSE * self.condition:
            other = Minimal(self.evaluator, state)
            found = self._condition(other, state, self.evaluator)
            old, new = self.minimal.split.ind, other.split.ind
            if found > BETTER * now and len(old) == len(new) and not np.array_equal(old, new):
                self.minimal, self.condition = other, found
                self.own_events.append((t, -1, 1.0))
