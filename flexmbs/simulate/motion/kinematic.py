"""Motion that drives determine: position, speed and acceleration over time, drive efforts with them (F35).

Such a motion follows from the time alone. Integrated is what has a past: own states, integrated drives, work
and dissipated energy. The steps are those of an integrator, under its error control: outputs do not matter.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.inverse import Follower
from flexmbs.dynamics.loops.projection import position_rates
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.integrate import Problem, Settings
from flexmbs.integrate.events.crossings import DOUBLINGS, Crossings
from flexmbs.integrate.events.passed import Passed
from flexmbs.integrate.methods.radau import Radau, once
from flexmbs.model.energy import energies
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.passage import Passage
from flexmbs.simulate.motion.powers import N_QUAD, rates_of_aux
from flexmbs.simulate.record.sampling import Sampler

Floats = NDArray[np.float64]
LARGEST_CHANGE = 0.5  # rad or m, of a joint coordinate in a step
LARGEST_GAP = 0.1  # rad or m, between what a step predicts and what closes the loops
FEWEST = 100  # steps in a run: a drive may rest for a while, and the rates of everything with it
ENERGY = 1e-6  # error of work and dissipated energy in a step, over the kinetic energy, that is rounding
SHORTEST = 1e-5  # step, over the duration, without which the motion ends


class Switches(Crossings):
    """Zeros of switching functions along a prescribed motion: time goes over them, whatever they change."""

    def __init__(self, known: Problem, t_start: float, t_end: float, until: int) -> None:
        super().__init__(known, t_start, t_end, sided=False)
        self.jumps, self.rests = np.arange(self.first) != until, np.zeros(self.first, dtype=bool)

    def begin(self, t: float, y: Floats) -> float:
        self.sign = np.sign(np.nan_to_num(self.values(t, y)[: self.first]))
        self.stand(t, y)
        return t

    def passes(self, t: float, y: Floats) -> bool:
        """Whether a state is behind the zero at hand, or rests in it; if so, other sides hold."""
        s = self.values(t, y)[: self.first]
        if not self.sign[self.chosen] * s[self.chosen] <= 0.0:
            return False
        self.forget()
        self.take_sides(t, np.where(np.isfinite(s), np.sign(s), self.sign))
        return True


class KinematicRun(Radau):
    """Follows the drives; x = [own states and integrated drives, work, dissipated energy].

    A step goes out from the motion at its start, so that trial states do not depend on one another.
    `evaluator` and `sampler` share their workspace.
    """

    name = "kinematics"

    def __init__(
        self, system: Any, state: Any, evaluator: Any, sampler: Sampler, chosen: Settings, times: Floats,
        t_end: float, *, quasi_static: bool = False,
    ) -> None:  # fmt: skip
        self.system, self.evaluator, self.sampler = system, evaluator, sampler
        self.follower = Follower(evaluator, state, quasi_static)
        self.failure: SolverError | None = None
        self.known = problem(system)
        y, x = state_vector(system, state), np.concatenate([state.aux, np.zeros(N_QUAD)])
        self.passage = Passage(self.known, state.t, y, t_end)
        self._start = self._before = state.copy(), np.zeros(system.n_vel)  # of this step, of the last one
        self._sampled = y
        self._at: tuple[float, Floats] | None = None
        tables = system.tables
        elastic = [
            (tables.body.o_q[i], tables.tree.o_qd[i], tables.body.nf[i])
            for i in range(1, len(tables.tree.parent))
        ]
        self._joint_pos = _without(system.n_pos, [(q, q + n) for q, _, n in elastic])
        self._joint_vel = _without(system.n_vel, [(q, q + n) for _, q, n in elastic])
        self._go(state.t, x)
        own = replace(
            self.known, n_pos=0, n_vel=0, n_aux=len(x), n_held=0, n_follow=0,
            rates=self._rates, switches=self._switches,
            project=lambda *_: 0, closed=False, group=None, twin=None, bound=None,
        )  # fmt: skip
        switches = Switches(own, state.t, t_end, chosen.until)
        super().__init__(own, replace(chosen, step=0.0), state.t, x, times, t_end, switches)
        self.t_start = float(state.t)
        self.passed = Passed(self._nearness, on_the_motion=True)

    @property
    def idle(self) -> int:
        """Freedoms that no drive determines."""
        return self.follower.idle

    @property
    def warnings(self) -> list[str]:
        """Dead points that the drives led over."""
        return [
            f"{name} passes a dead point near t = {t:.6g} s: forces grow without bound there"
            for name, t in self.follower.dead_points.items()
        ]

    def solver(self) -> Any:
        """Own states may be stiff; integrals, those of drives among them, are not.

        Quasi-static bodies claim no balance of energy, and find their shape at every stage: few will do.
        """
        from scipy.integrate import DOP853, RK45

        if self.follower.quasi_static and not self.system.n_aux:
            return RK45
        explicit = not self.system.model.states or self.settings.method == "dop853"
        return DOP853 if explicit else super().solver()

    def longest_step(self, solver: Any) -> float:
        """Joints move by little in a step, so that loops keep their branch."""
        (state, acc), longest = self._start, (self.t_end - self.t_start) / FEWEST
        v, a = (float(np.abs(rate[self._joint_vel]).max(initial=0.0)) for rate in (state.vel, acc))
        solver.atol = self._tolerance(solver)
        near = 2.0 * LARGEST_CHANGE / (v + (v * v + 2.0 * a * LARGEST_CHANGE) ** 0.5 + 1e-300)
        return min(longest, near)

    def _tolerance(self, solver: Any) -> Floats:
        """Absolute tolerances; next to change points accelerations carry rounding into the energies."""
        self._go(solver.t, solver.y)
        state, energy = self.follower.state, self.sampler.more.energy
        energies(self.evaluator.tables, self.evaluator.ws, state.pos, state.vel, energy)
        tolerance = np.full(len(solver.y), self.settings.atol)
        tolerance[-N_QUAD:] = max(self.settings.atol, ENERGY * float(energy[1:, 0].sum()))
        return tolerance

    def _go(self, t: float, x: Floats) -> Any:
        """The motion at a time with own states x, from the start of the step; leaves all in the workspace."""
        follower = self.follower
        own = x[: self.system.n_aux]
        if self._at is not None and self._at[0] == t and np.array_equal(self._at[1], own):
            return follower.state
        self._at = None
        follower.put(*(self._start if t >= self._start[0].t else self._before))
        follower.state.aux[:] = own
        predicted = follower.predicted(t)
        follower.at(t)
        gap = np.where(self._joint_pos, np.abs(follower.state.pos - predicted), 0.0)
        self._refuse(t, gap, predicted)
        self._at = t, own.copy()
        return follower.state

    def _refuse(self, t: float, gap: Floats, predicted: Floats) -> None:
        """A motion that leaves its way belongs to another branch, or jumps."""
        worst = int(np.argmax(gap)) if len(gap) else 0
        if not gap.max(initial=0.0) > LARGEST_GAP:
            return
        body = int(np.searchsorted(self.system.tables.body.o_q, worst, side="right"))
        name = self.system.numbers.branches[body - 1].joint.name
        what = f"joints.{name} jumps by {gap[worst]:.3g}"
        remedy = "the drives jump, or lead past a dead point"
        raise SolverError(Diagnostic("kinematics.open", f"t = {t:.6g} s", what, remedy))

    def _vector(self, x: Floats) -> Floats:
        """State vector of the motion that was found last."""
        y, first = state_vector(self.system, self.follower.state), self.system.n_pos + self.system.n_vel
        y[first : first + len(x)] = x
        return y

    def _nearness(self, t: float, y: Floats) -> tuple[float, int]:
        """Distance from a change point, and the group concerned, of a state that is not closed."""
        place = y.copy()
        self.known.project(self.known.data, t, place, 0.0, 0.0, np.zeros(3))
        return self.passage.distance(t, place)

    def _switches(self, data: Any, t: float, x: Floats, s: Floats) -> int:
        """Switching functions of the motion; see `Problem`."""
        with suppress(SolverError):
            self._go(t, x)
            return int(self.known.switches(data, t, self._vector(x), s))
        return 1

    def _rates(self, data: Any, t: float, x: Floats, x_dot: Floats) -> int:
        """Rates of own states, of work and of dissipated energy; see `Problem`."""
        state = self._go(t, x)
        rates_of_aux(self.sampler.data, state.vel, x, x_dot)
        self.evaluator.require(state, x_dot)
        return 0

    def rates(self, t: float, x: Floats) -> Floats:
        """Rates along the motion; not finite where there is none, so that a shorter step is taken."""
        self.count["evaluations"] += 1
        x_dot = np.full(len(x), np.nan)
        if not np.isfinite(x).all():  # after a stage that could not be
            return x_dot
        try:
            self._rates(None, t, x, x_dot)
        except SolverError as error:
            if t - self._start[0].t < SHORTEST * (self.t_end - self.t_start):
                raise
            self.failure, x_dot[:] = error, np.nan
            return x_dot
        self.crossings.look(t, x)
        if self.passage.watched:
            y = self._vector(x)
            self.passed.note(t, self.passage.distance(t, y)[0], y, self._slopes(x_dot))
        return x_dot

    def _slopes(self, x_dot: Floats) -> Floats:
        """Rates of the whole state vector, where the motion is."""
        y_dot, state = np.zeros_like(self._vector(x_dot)), self.follower.state
        n, m = len(state.pos), len(state.pos) + len(state.vel)
        position_rates(self.evaluator.tables, state.pos, state.vel, y_dot[:n])
        y_dot[n:m], y_dot[m : m + len(x_dot)] = self.follower.acc, x_dot
        return y_dot

    def reached(self, t: float, x: Floats) -> None:
        """The next step goes out from here; short ones may lead to the end of the motion, without an end."""
        shortest = SHORTEST * (self.t_end - self.t_start)
        if t - self._start[0].t < shortest:
            self._go(min(t + 2.0 * shortest, self.t_end), x)
        self._stand(t, x)
        self.crossings.stand(t, x)

    def _stand(self, t: float, x: Floats) -> None:
        state = self._go(t, x).copy()
        self._before, self._start = self._start, (state, self.follower.acc)
        self.failure = None

    def crossed(self, t: float, x: Floats, k: int) -> tuple[float, Floats]:
        """Behind the zero at hand, by rates before it: so little time changes nothing else."""
        zeros, rates = self.crossings, self.rates(t, x)
        assert isinstance(zeros, Switches)
        gap = zeros.close
        for _ in range(DOUBLINGS):
            end = min(t + gap, self.t_end)
            there = x + (end - t) * rates
            if zeros.passes(end, there):
                self._stand(end, there)
                return end, there
            gap *= 2.0
        zeros.count_quick(k, t)
        zeros.forget()
        return t, x

    def _inside(self, solver: Any) -> Any:
        return once(solver.dense_output)

    def _root(self, inside: Any, low: float, high: float) -> float:
        end = super()._root(inside, low, high)
        self.own_events.append((end, self.settings.until, 1.0))
        return end

    def fail(self, message: str) -> SolverError:
        """Why no step led on: the motion that could not be, else the integrator's own words."""
        if self.failure is not None:
            return self.failure
        what = f"own states and energies cannot be integrated any further: {message}"
        return SolverError(Diagnostic("solver.reference", f"t = {self.t:.6g} s", what, "look at their laws"))

    def row(self, t: float, y: Floats) -> Floats:
        """Sample of a state; steps do not remember that it was taken."""
        regular, ws = self.follower.regular, self.evaluator.ws
        x_dot = np.zeros(len(y))
        self._rates(None, t, y, x_dot)  # what is reported must be numbers
        self._sampled = self._vector(y)
        row = self.sampler.row(t, self._sampled, self.follower.acc)
        self.closure[:2] = [np.abs(g).max(initial=0.0) for g in (ws.row.g, ws.row.g_dot)]
        self.largest = np.maximum(self.largest, self.closure[:2])
        self.follower.regular = regular
        return row

    def checkpoint(self) -> dict[str, Any]:
        """Samples that are done, and the whole state there."""
        return super().checkpoint() | {"y": self._sampled}


def _without(size: int, ranges: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """True, save for ranges of places."""
    kept = np.ones(size, dtype=bool)
    for first, end in ranges:
        kept[first:end] = False
    return kept
