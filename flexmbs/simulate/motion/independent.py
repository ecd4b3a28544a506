"""Minimal coordinates as a problem of the time loop: independent speeds, closure gives the rest (F29-F31)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.contradiction import check_rows
from flexmbs.dynamics.loops.projection import position_rates
from flexmbs.dynamics.minimal.coordinates import Minimal, Split
from flexmbs.dynamics.minimal.forces import accelerations, nearest_speeds, observe, shifted
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.simulate.motion.formulation import Formulation
from flexmbs.simulate.motion.rheonomic import follows_time

if TYPE_CHECKING:
    from flexmbs.integrate import Settings
    from flexmbs.model.state import State
    from flexmbs.simulate.record.sampling import Sampler
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


class Independent(Formulation):
    """Integrates the independent coordinates; dependent ones follow by Newton, nothing is stabilised.

    The state vector holds all positions and speeds: the dependent entries are where Newton starts, which
    keeps loops on their branch, and have no other effect. Choices of coordinates are logged as events.
    """

    formulation = "minimal"

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, chosen: Settings, t_end: float,
        *, lifts: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(system, state, evaluator, sampler, chosen, t_end, lifts=lifts)
        self._choose(self._regular(state))
        laws = system.laws.tables
        self.takes_reactions = follows_time(system) or len(laws.press_law) > 0  # work, friction

    def _regular(self, state: State) -> State:
        """The start, or where it is a change point a state beside it: rank is lost at the point itself."""
        n, found = self.system.n_pos, state.copy()
        if self.passage.is_near(state.t, self.y):
            for _, time, place in self.passage.beside(state.t, self.y):
                found.t, found.pos[:], found.vel[:] = time, place[:n], place[n : n + self.system.n_vel]
                break
        return found

    def _choose(self, state: State) -> None:
        """Choose coordinates at a state."""
        self.minimal = Minimal(self.evaluator, state)
        self.condition = self._condition(self.minimal, state, self.evaluator)

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

    def pass_of(self, state: State, a: Floats, bh: float, gh: float) -> Floats:
        return shifted(self.minimal, state, a, bh, gh)

    def observe(self, state: State) -> Floats:
        acc = observe(self.minimal, state)
        check_rows(self.system, self.evaluator.ws, state, acc)
        return acc

    def other_rows(self, state: State) -> None:
        self._choose(state)

    def close(self, state: State, tolerance: float, bh: float, gh: float) -> tuple[float, float]:
        self.minimal.close_positions(state)
        if bh > 0.0:  # speeds of an implicit step are not closed, and none of them is better than the others
            nearest_speeds(self.minimal, state, bh, gh)
        else:
            self.minimal.close_speeds(state)
        return self._as_it_is(state)

    def step_ends(self, t: float, y: Floats) -> None:
        """Choose coordinates anew where they degenerate (F31)."""
        state = self._state(t, y.copy())
        if self.passage.is_near(t, y):
            return  # no choice is good there, and none is needed
        now = self._condition(self.minimal, state, self.evaluator)
        if now < WORSE * self.condition:
            other = Minimal(self.evaluator, state, as_asked=False)
            found = self._condition(other, state, self.evaluator)
            old, new = self.minimal.split.ind, other.split.ind
            if found > BETTER * now and len(old) == len(new) and not np.array_equal(old, new):
                self.minimal, self.condition = other, found
                self.events.append((t, -1, 1.0))

    def checkpoint(self) -> dict[str, Any]:
        split = self.minimal.split
        return {"ind": split.ind, "dep": split.dep, "rows": split.rows, "condition": self.condition}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        places = (np.asarray(checkpoint[key], dtype=np.int64).ravel() for key in ("ind", "dep", "rows"))
        self.minimal.take(Split(*places))
        self.condition = float(checkpoint["condition"])
