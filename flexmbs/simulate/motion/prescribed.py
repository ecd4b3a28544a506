"""Motion that drives determine: position, speed and acceleration over time, drive efforts with them (F35).

Such a motion follows from the time alone. It is a problem of the time loop all the same: own states,
integrated drives, work and dissipated energy have a past; steps and events are those of any motion.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.inverse import Follower
from flexmbs.dynamics.loops.projection import position_rates
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate.problem import HOLD, Problem, none_turned
from flexmbs.model.energy import KINETIC, energies
from flexmbs.model.state import State
from flexmbs.simulate.choose import EXPLICIT
from flexmbs.simulate.motion.branch import leaves_nothing_free, watch
from flexmbs.simulate.motion.components import displacements
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.forms import REFERENCES, STABLE
from flexmbs.simulate.motion.given import Given
from flexmbs.simulate.motion.passage import Passage
from flexmbs.simulate.motion.powers import rates_of_aux
from flexmbs.simulate.record.sampling import Sampler

if TYPE_CHECKING:
    from flexmbs.simulate.settings import RunSettings

Floats = NDArray[np.float64]
#: largest displacement of a joint in a step [rad, m], so that loops keep their branch
LARGEST_CHANGE = 0.5
#: so far may what a step predicts be from what closes the loops [rad, m]
LARGEST_GAP = 0.1
#: steps in a run, each of which looks at six times or more: a drive may rest, and all rates with it
FEWEST = 20
#: step, over the duration, from which the motion must lead on by twice as much
SHORTEST = 1e-5
#: closure over that of a free motion: nothing but the constraints says where the motion is
CLOSER = 1e-3
#: change of an own state, over its size or 1, by which its influence is found
CHANGE = 1e-6
#: steps of an explicit method to which own states may hold it
STIFF_STATES = 100.0


class Prescribed(Given):
    """Follows the drives; what steps make of positions and speeds is where that begins, and no more.

    `evaluator` and `sampler` share their workspace. `y`: state vector at the start.
    """

    name = "kinematics"

    def __init__(
        self, system: Any, state: State, evaluator: Any, sampler: Sampler, t_end: float, quasi_static: bool
    ) -> None:
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.follower = Follower(evaluator, state.copy(), quasi_static, dead_points=sampler.dead_points)
        self.t_end, self.shortest = t_end, SHORTEST * (t_end - state.t)
        tables, self.joint_pos = system.tables, np.ones(system.n_pos, dtype=bool)
        for first, nf in zip(tables.body.o_q[1:], tables.body.nf[1:], strict=True):
            self.joint_pos[first : first + nf] = False
        known = problem(system, lifts=False)
        super().__init__(
            known, works=True, turn=none_turned, jumps=None, bound=None,
            reach=np.where(np.isfinite(displacements(system)), LARGEST_CHANGE, np.inf),
            longest=(t_end - state.t) / FEWEST, energy=self._kinetic(state),
        )  # fmt: skip
        self.y = state_vector(system, state)
        self.passage = Passage(known, state.t, self.y, t_end)
        self._still, self._end = np.zeros(system.n_vel), state.t  # the end of the last step
        self._at: tuple[float, Floats] | None = None  # what was evaluated last
        self._rows: dict[float, tuple[Floats, Floats]] = {}  # samples of states that `project` has found

    @property
    def idle(self) -> int:
        """Freedoms that no drive determines."""
        return self.follower.idle

    def _kinetic(self, state: State) -> float:
        """Kinetic energy at the start: next to change points accelerations carry rounding into the work."""
        self.follower.at(state.t)
        state, energy = self.follower.state, np.zeros((len(self.system.bodies), 4))
        energies(self.evaluator.tables, self.evaluator.ws, state.pos, state.vel, energy)
        return float(energy[1:, KINETIC].sum())

    def _go(self, t: float, y: Floats) -> State:
        """The motion at a time, nearest to a state vector; leaves everything in the workspace."""
        if self._at is None or self._at[0] != t or not np.array_equal(self._at[1], y):
            if not np.isfinite(y).all():
                what = "the state is not finite"
                raise SolverError(Diagnostic("solver.not_evaluated", f"t = {t:.6g} s", what))
            n, m = self.system.n_pos, self.system.n_pos + self.system.n_vel
            own, turns = y[m : m + self.system.n_aux], y[self.known.followed]
            self._at = None
            self.follower.put(State(t, y[:n], y[n:m], own, turns), self._still)
            self._lead(t)
            self._at = t, y.copy()
        return self.follower.state

    def _lead(self, t: float) -> None:
        """The motion from where it is to a time; one that leaves its way jumps, or is on another branch."""
        follower = self.follower
        predicted = follower.predicted(t)
        follower.at(t)
        gap = np.where(self.joint_pos, np.abs(follower.state.pos - predicted), 0.0)
        worst = int(np.argmax(gap)) if len(gap) else 0
        if not gap.max(initial=0.0) > LARGEST_GAP:
            return
        body = int(np.searchsorted(self.system.tables.body.o_q, worst, side="right"))
        name = self.system.numbers.branches[body - 1].joint.name
        what = f"joints.{name} jumps by {gap[worst]:.3g}"
        remedy = "the drives jump, or lead past a dead point"
        raise SolverError(Diagnostic("kinematics.open", f"t = {t:.6g} s", what, remedy))

    def _put(self, y: Floats) -> None:
        """Write the motion that was found last into a state vector."""
        state, n, m = self.follower.state, self.system.n_pos, self.system.n_pos + self.system.n_vel
        y[:n], y[n:m], y[self.known.followed] = state.pos, state.vel, state.turns

    def rates(self, t: float, y: Floats, y_dot: Floats) -> None:
        """Rates along the motion; see Problem."""
        state, n, m = self._go(t, y), self.system.n_pos, self.system.n_pos + self.system.n_vel
        end = self.known.size - self.known.n_held
        position_rates(self.evaluator.tables, state.pos, state.vel, y_dot[:n])
        y_dot[n:m], y_dot[end:] = self.follower.acc, 0.0
        rates_of_aux(self.sampler.data, state.vel, y[m:end], y_dot[m:end])
        self.evaluator.require(state, y_dot[m:end])
        if self.passage.watched:
            place = y.copy()
            self._put(place)
            self.passage.distance(t, place)  # the loop asks for that of this state

    def shifted(
        self, t: float, y: Floats, a: Floats, bh: float, gh: float, a_new: Floats, aux_dot: Floats
    ) -> None:
        raise AssertionError("nothing is free that an implicit step could find")

    def project(self, t: float, y: Floats, bh: float, gh: float, out: Floats) -> None:
        """Positions and speeds of y to where the motion is; see Problem.

        Ever shorter steps may lead to the end of the motion without an end: those look ahead.
        """
        how, before = out[2], y.copy()
        if how < 0.0 and 0.0 < t - self._end < self.shortest:
            self._go(t, y)
            self._at = None
            self._lead(min(t + 2.0 * self.shortest, self.t_end))
        self._go(t, y)
        out[:2] = [np.abs(g).max(initial=0.0) for g in (self.evaluator.ws.row.g, self.evaluator.ws.row.g_dot)]
        out[2] = 0.0
        if how == HOLD:
            return
        self._put(y)
        out[2] = float(not np.array_equal(y, before))
        self._at = t, y.copy()
        if how < 0.0:
            self._end = t
        else:  # a sample may be taken there
            self._rows[t] = y.copy(), self._row(t, y)

    def row(self, t: float, y: Floats) -> Floats:
        """Sample of a state; steps do not remember that it was taken."""
        for time in [time for time in self._rows if time < t]:
            del self._rows[time]
        place, row = self._rows.get(t, (None, None))
        if place is not None and row is not None and np.array_equal(place, y):
            return row
        regular = self.follower.regular
        self._go(t, y)
        self.follower.regular = regular
        return self._row(t, y)

    def _row(self, t: float, y: Floats) -> Floats:
        x_dot = np.zeros(self.known.n_aux)
        state, m = self.follower.state, self.system.n_pos + self.system.n_vel
        rates_of_aux(self.sampler.data, state.vel, y[m : m + len(x_dot)], x_dot)
        self.evaluator.require(state, x_dot)  # what is reported must be numbers
        return self.sampler.row(t, y, self.follower.acc)

    def fail(self, t: float) -> SolverError:
        """Why no step led on: the motion that could not be."""
        assert self.failure is not None
        return self.failure

    def checkpoint(self) -> dict[str, Any]:
        return {"regular": self.follower.regular, "rank": self.follower.rank, "end": self._end}

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        super().restore(checkpoint)
        found, self._at = self.follower, None
        found.regular, found.rank = float(checkpoint["regular"]), int(checkpoint["rank"])
        self._end = float(checkpoint["end"])


def by_recursion(system: Any, state: State, t_end: float) -> Problem | None:
    """The motion as a problem of the recursion, where that finds no freedom that drives do not determine."""
    if np.any(system.tables.body.nf > 0) or not t_end > state.t:
        return None
    known = replace(problem(system, lifts=False), longest=(t_end - state.t) / FEWEST)
    known.data.tolerance[0] *= CLOSER
    watch(known, state.t, state_vector(system, state), t_end)
    return known if leaves_nothing_free(known) else None


def fastest_state(system: Any, problem: Problem, t: float, y: Floats) -> float:
    """Largest rate [1/s] of the own states by themselves, at the start."""
    n, m = system.n_aux, system.n_pos + system.n_vel
    rates, J = np.zeros_like(y), np.zeros((n, n))
    problem.rates(problem.data, t, y, rates)
    for k in range(n):
        moved, there = y.copy(), rates.copy()
        moved[m + k] += CHANGE * max(abs(moved[m + k]), 1.0)
        problem.rates(problem.data, t, moved, there)
        J[:, k] = (there - rates)[m : m + n] / (moved[m + k] - y[m + k])
    J[~np.isfinite(J)] = 0.0
    return float(np.abs(np.linalg.eigvals(J)).max(initial=0.0))


def method_along(system: Any, problem: Problem, t: float, y: Floats, settings: RunSettings) -> str:
    """The method that integrates what has a past along a prescribed motion, of which nothing is free.

    Quasi-static bodies claim no balance of energy, and find their shape at every stage: few will do. Only own
    states may be stiff.
    """
    asked, states = settings.method, bool(system.model.states)
    if not system.n_aux and settings.elastic == "quasi-static":
        return "dopri5"
    if states and asked in REFERENCES:
        return asked
    steps = fastest_state(system, problem, t, y) * (settings.t_end - t) / STABLE if states else 0.0
    return "radau" if asked == "auto" and steps > STIFF_STATES else EXPLICIT
