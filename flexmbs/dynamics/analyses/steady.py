"""The steady motion about which a linear model stands: given, or sought with given speeds kept (F37, F38).

Steady: no speed changes, now or further along the motion. So a rotor that is driven, a spinning top that
sleeps and a body that flies freely are steady; a pendulum that swings through its lowest place is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.balance import OF_WEIGHT, Balance
from flexmbs.dynamics.analyses.linearize import is_length, unit_displacements
from flexmbs.dynamics.analyses.statics import STEP, Local, equilibrium
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.speeds import speed_paths
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.errors import Diagnostic, SolverError

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: how far along a motion it is looked at again, of unit displacements: no part of a turn that looks alike
AHEAD = 0.7
ASSEMBLED = 'about = "assembled" takes the state as it is, with the eigenvalues of the moment'


def steady_state(system: System, start: State, warn: Callable[[str], None] | None = None) -> State:
    """The state if its motion is steady, else the nearest that is, with the spins of the state.

    `SolverError` where there is none. `warn` is told of speeds that are no spins, which are dropped, and of
    driven motions that are balanced for the moment only.
    """
    say = warn or (lambda text: None)
    evaluator = Evaluator(system)
    unsteady = Unsteady(evaluator, start)
    if not (unsteady.now or unsteady.later):
        return start
    spinning = unsteady.spinning()
    if spinning.dropped and not unsteady.next_to_rest:
        names = ", ".join(spinning.dropped[:4])
        say(
            f"the state is sought without the speeds of {names}, along which no motion is steady; {ASSEMBLED}"
        )
    try:
        found = equilibrium(system, spinning.state, warn, keep_speeds=True)
    except SolverError as error:
        raise _with_choice(error) from None
    later = Unsteady(evaluator, found).later
    if later and spinning.any:
        remedy = f"give the speeds of a steady motion, or none; {ASSEMBLED}"
        what = f"no steady motion with the speeds that the start gives: {later}"
        raise SolverError(Diagnostic("linear.unsteady", "analysis.about", what, remedy))
    if later:
        say(f"the drives keep the state balanced for the moment only, and so are the eigenvalues: {later}")
    return found


def warn_unsteady(system: System, state: State, warn: Callable[[str], None]) -> None:
    """Tell of a state that is asked for by name and is not steady."""
    try:
        unsteady = Unsteady(Evaluator(system), state)
    except SolverError as error:
        warn(f"the linear model is about a state that is not steady: {error.diagnostics[0].what}")
        return
    if text := unsteady.now or unsteady.later:
        what = "the linear model is about a state that is not steady, its eigenvalues are of the moment"
        warn(f"{what}: {text}")


@dataclass(frozen=True)
class Spinning:
    """A state with spins alone, whether there are `any`, and names of other speeds that it had."""

    state: State
    any: bool
    dropped: list[str]


class Unsteady:
    """What changes the speeds of a state, `now` and `later` along its motion; empty where nothing does."""

    def __init__(self, evaluator: Evaluator, state: State) -> None:
        self.evaluator, self.state = evaluator, state.copy()
        self.local = Local(Balance(evaluator, self.state), STEP)
        b = self.local.balance
        self.speeds = self.state.vel[b.ind] / b.unit
        self.now = self._largest(self.local)

    @property
    def next_to_rest(self) -> bool:
        """Whether the free speeds hold next to no energy, against the work of loads over unit lengths."""
        energy = 0.5 * float(self.speeds @ self.local.M @ self.speeds)
        return energy <= OF_WEIGHT * float(self.local.balance.terms.max(initial=0.0))

    def spinning(self) -> Spinning:
        """The state with those of its free speeds that are spins: no force changes along their way.

        Of what turns on a ball they may stand in ground, or turn with it.
        """
        b, kept = self.local.balance, self.speeds.copy()
        for group in self._groups():
            way = self.speeds[group] / max(float(np.abs(self.speeds[group]).max()), NOTHING)
            in_body = -self.local.K[:, group] @ way
            in_ground = in_body.copy()
            if len(group) == 3:
                in_ground[group] += np.cross(way, b.missing[group])
            limit = 10.0 * self.local.tolerance
            if np.any(np.abs(in_body) > limit) and np.any(np.abs(in_ground) > limit):
                kept[group] = 0.0
        state = b.minimal.moved(self.state.copy(), np.zeros(b.n), kept * b.unit)
        dropped = speed_paths(b.system, b.ind[kept != self.speeds])
        return Spinning(state, bool(np.any(kept)), dropped)

    def _groups(self) -> list[NDArray[np.int64]]:
        """Free speeds that make one motion, by place among them: those of a ball, others alone."""
        owner = {int(e) + k: int(e) for e in self.evaluator.tables.prim.ball_eta for k in range(3)}
        first = np.array([owner.get(int(k), int(k)) for k in self.local.balance.ind])
        return [np.flatnonzero(first == k) for k in np.unique(first)]

    @property
    def later(self) -> str:
        """The largest acceleration some way along the motion."""
        ahead = self._ahead()
        if ahead is None:
            return ""
        try:
            local = Local(Balance(self.evaluator, ahead), STEP)
        except SolverError as error:
            return error.diagnostics[0].what
        text = self._largest(local)
        return f"when it has moved on by {ahead.t - self.state.t:.3g} s, {text}" if text else ""

    def _ahead(self) -> State | None:
        """The state some way along its motion at constant speeds, or none where nothing moves."""
        evaluator, state = self.evaluator, self.state
        system, t = evaluator.system, evaluator.tables
        evaluator.kinematics(state)
        unit, driven = unit_displacements(system), np.flatnonzero(t.tree.driven >= 0)
        rates = np.abs(state.vel / unit)
        growing = np.sqrt(np.abs(evaluator.ws.law.a[t.tree.driven[driven]]) / unit[driven])
        rate = max(rates.max(initial=0.0), growing.max(initial=0.0))
        if rate == 0.0:
            return None
        dt, out = AHEAD / rate, state.copy()
        out.t += dt
        add_increment(t, state.pos.copy(), dt * state.vel, out.pos)
        minimal = self.local.balance.minimal
        own = len(system.model.states)
        evaluator.tree_forces(state, np.zeros(system.n_vel))
        out.aux[own:] += dt * evaluator.rates_of_states(state)[own:]
        return minimal.moved(out, np.zeros(len(self.speeds)), state.vel[minimal.split.ind])

    def _largest(self, local: Local) -> str:
        """The largest acceleration of a free coordinate, with its name; nothing where all are balanced."""
        b = local.balance
        if local.excess(b.missing) <= 1.0:
            return ""
        if moving := local.moving(local.rest):
            name = list(b.system.model.states)[moving[0] - b.n]
            return f"states.{name} changes by {b.missing[moving[0]]:.3g} 1/s"
        acceleration = np.linalg.solve(local.metric, b.missing[: b.n])
        worst = int(np.argmax(np.abs(acceleration)))
        name = speed_paths(b.system, b.ind[worst : worst + 1])[0]
        length = float(b.system.tables.length[0])
        scale, unit = (length, "m") if is_length(b.system)[b.ind[worst]] else (1.0, "rad")
        size = f"{acceleration[worst] * scale:.3g} {unit}/s^2"
        return f"the largest unbalanced acceleration is {size} of {name}"


def _with_choice(error: SolverError) -> SolverError:
    """The same with the other choice of a state."""
    first, *more = error.diagnostics
    return SolverError(replace(first, remedy="; ".join(filter(None, [first.remedy, ASSEMBLED]))), *more)
