"""Static equilibrium: zero residual with free speeds, and own states that can, at rest (F37)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.balance import LITTLE_MASS, NOISE, Balance
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.tolerances import NOTHING, RANK
from flexmbs.errors import Diagnostic, SolverError

if TYPE_CHECKING:
    from flexmbs.model.state import State
    from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

ITERATIONS, HALVINGS = 200, 60
#: of differences, of unit displacements; linear terms, such as modal stiffness, come out exactly. Where a law
#: bends within it, as a stop does, it becomes less.
STEP, LEAST_STEP = 1e-6, 1e-12
#: change of a coordinate in one iteration, of unit displacements; more while the slope tells what comes
FIRST_REACH, LONGEST = 0.5, 2.0**40
NO_CHANGE, FLAT = 1e-11, 1e-17  # a change, of unit displacements; the work that it does, of that of a term
AT_REST = 1e-9  # of a rate, over the larger of 1 and the state


def equilibrium(
    system: System,
    start: State,
    warn: Callable[[str], None] | None = None,
    *,
    keep_speeds: bool = False,
) -> State:
    """Equilibrium reached from `start`; driven coordinates keep their motion, so a rotor may turn steadily.

    With `keep_speeds` so do free ones, else these come to rest.

    Newton on the minimal form (F30). Where the stiffness is not positive it is made so (continuation): the
    mechanism then moves downhill, by steps that are limited, to a stable equilibrium.
    Only a start exactly on an unstable one stays there. Own states are at rest too, but those whose rates
    nothing lets vanish: they stay as they are. `warn` is told of both.
    """
    evaluator = Evaluator(system)
    minimal = Minimal(evaluator, start.copy())
    free = len(minimal.split.ind)
    speeds = start.vel[minimal.split.ind] if keep_speeds else np.zeros(free)
    state = minimal.moved(start.copy(), np.zeros(free), speeds)
    if not free and not system.model.states:
        return state
    reach, step, settled = FIRST_REACH, STEP, False
    for _ in range(ITERATIONS):
        local = Local(Balance(evaluator, state), step)
        if settled and local.excess(local.balance.missing) <= 1.0:
            if warn is not None:
                for text in local.doubts():
                    warn(text)
            return state
        change = local.change(reach)
        bends = settled  # a law bends within the differences: what is small leaves a force
        settled = local.is_small(change)
        if settled:
            state = local.last(change)
        else:
            change *= min(1.0, reach / max(local.size(change), NOTHING))
            state, share, foreseen = local.go(change)
            settled = share == 0.0
            bends |= not foreseen and share * local.size(change) < 10.0 * step
            reach = min(2.0 * reach, LONGEST) if foreseen else max(0.25 * reach, FIRST_REACH)
        step = max(0.1 * step, LEAST_STEP) if bends else step
    raise local.unbalanced(change)


@dataclass
class Local:
    """Linear model of a balance: works K, M and couplings with own states `rest` that can come to rest."""

    balance: Balance
    step: float

    def __post_init__(self) -> None:
        b, n = self.balance, self.balance.n
        J = b.slope(self.step)
        self.rest = resting(J, n)
        self.K, self.by_states = -J[:n, :n], J[:n][:, self.rest]
        self.rates_by, self.rates_by_states = J[self.rest, :n], J[np.ix_(self.rest, self.rest)]
        self.M = b.mass()
        # of what no inertia moves a little, so that there is a metric
        values = np.linalg.eigvalsh(self.M) if n else np.zeros(0)
        largest = float(np.abs(values).max(initial=0.0))
        self.metric = self.M + LITTLE_MASS * (largest or 1.0) * np.eye(n)
        if values.min(initial=0.0) < -0.5 * LITTLE_MASS * largest:
            raise self._given_way()

    @property
    def stiffness(self) -> Array:
        """That with own states following at rest, where their own rates bring them there."""
        follow = np.linalg.pinv(self.rates_by_states, rcond=RANK) @ self.rates_by
        return np.asarray(self.K + self.by_states @ follow)

    def softest(self) -> tuple[float, Array]:
        """Lowest eigenvalue of the stiffness over its rounding, 0 where it is no more; direction."""
        K = self.stiffness
        if not len(K):
            return 0.0, np.zeros(0)
        noise = NOISE / self.step * (self.balance.terms + np.abs(K).sum(axis=1))
        scale = np.sqrt(np.where(noise > 0.0, noise, 1.0))
        values, vectors = np.linalg.eigh(0.5 * (K + K.T) / np.outer(scale, scale))
        return (float(values[0]) if values[0] < -10.0 else 0.0), vectors[:, 0] / scale

    def added(self, reach: float) -> Array:
        """What makes the stiffness positive; where it is, a little inertia that goes away with the force.

        Directions that give way, in the metric of inertia, get the stiffness of the opposite sign.
        """
        force = self.balance.missing[: self.balance.n]
        if not len(force):
            return np.zeros((0, 0))
        root = np.linalg.cholesky(self.metric)
        inverse = np.linalg.inv(root)
        added = 1e-3 * float(np.linalg.norm(inverse @ force)) * FIRST_REACH / reach * self.metric
        if self.softest()[0] < 0.0:
            K = inverse @ self.stiffness @ inverse.T
            values, vectors = np.linalg.eigh(0.5 * (K + K.T))
            ways = (root @ vectors) * np.sqrt(2.0 * np.maximum(-values, 0.0))
            added += ways @ ways.T
        return np.asarray(added)

    def change(self, reach: float) -> Array:
        """Newton's change of the unknowns, with inertia added to the stiffness."""
        b, n = self.balance, self.balance.n
        A = np.block(
            [
                [self.K + self.added(reach), -self.by_states],
                [-self.rates_by, -self.rates_by_states],
            ]
        )
        rows = np.concatenate([np.arange(n), self.rest])
        # rows and columns of like size: what is soft beside what is stiff is no rounding
        size = np.sqrt(np.abs(np.diag(A)))
        size[n:] = 1.0
        size[size == 0.0] = 1.0
        found = np.linalg.lstsq(A / np.outer(size, size), b.missing[rows] / size, rcond=1e-13)[0] / size
        change = np.zeros(n + b.n_own)
        change[rows] = found
        return change

    def size(self, change: Array) -> float:
        """Largest change of a coordinate, of unit displacements."""
        return float(np.abs(change[: self.balance.n]).max(initial=0.0))

    def is_small(self, change: Array) -> bool:
        """Whether the change is rounding, or leads along what is flat: no energy tells its places apart."""
        b = self.balance
        far = 1e-3 * float(np.abs(b.state.pos).max(initial=0.0))
        small = np.abs(change[: b.n]) * b.unit < NO_CHANGE * np.maximum(b.unit, far)
        own = np.abs(change[b.n :]) < NO_CHANGE * np.maximum(1.0, np.abs(b.state.aux[: b.n_own]))
        work = abs(float(b.missing[: b.n] @ change[: b.n]))
        flat = work <= FLAT * float(b.terms.max(initial=0.0)) and self.excess(b.missing) <= 1.0
        return bool((flat or np.all(small)) and np.all(own))

    def last(self, change: Array) -> State:
        """The last, small change taken where it lessens what is missing: stiff modes make much of little."""
        trial = self.balance.moved(change)
        better = self.excess(self.balance.missing_at(trial)) < self.excess(self.balance.missing)
        return trial if better else self.balance.state

    def excess(self, missing: Array) -> float:
        """The largest of what is missing, over what may be."""
        allowed = np.concatenate([self.tolerance, self.allowed_rate])
        over = np.abs(missing) / np.maximum(allowed, NOTHING)
        return float(np.concatenate([over[: self.balance.n], over[self.rest]]).max(initial=0.0))

    @property
    def tolerance(self) -> Array:
        return self.balance.tolerance(self.K, self.M)

    @property
    def allowed_rate(self) -> Array:
        return AT_REST * np.maximum(1.0, np.abs(self.balance.state.aux[: self.balance.n_own]))

    def go(self, change: Array) -> tuple[State, float, bool]:
        """Go along `change`, less far when the force has turned against it by then, or rates have grown.

        Returns the state, the share of the change (0: only rounding is left), and whether the force was as
        the slope foretold.
        """
        b, n, share = self.balance, self.balance.n, 1.0
        back = np.linalg.pinv(self.rates_by_states, rcond=RANK)
        lack, rounding = float(np.linalg.norm(back @ b.missing[self.rest])), self.tolerance
        for _ in range(HALVINGS):
            part = share * change
            trial, after = self._trial(part)
            if trial is not None:
                work, left = float(b.missing[:n] @ part[:n]), float(after[:n] @ part[:n])
                lacking = float(np.linalg.norm(back @ after[self.rest]))
                slack = float(rounding @ np.abs(part[:n]))
                if left >= -0.5 * abs(work) - slack and lacking <= lack * (1.0 - 0.25 * share) + AT_REST:
                    told = work - float(part[:n] @ (self.K @ part[:n] - self.by_states @ part[self.rest]))
                    return trial, share, abs(left - told) <= 0.25 * abs(work) + slack
            share *= 0.5
        if self.excess(b.missing) <= 1.0:  # only rounding is left
            return b.state, 0.0, True
        raise SolverError(
            Diagnostic(
                "statics.stuck", "analysis", "the loops leave no way downhill", "start nearer to equilibrium"
            )
        )

    def _trial(self, change: Array) -> tuple[State | None, Array]:
        """The state behind a change and what is missing there; none where it has no value."""
        try:
            trial = self.balance.moved(change)
            after = self.balance.missing_at(trial)
        except (SolverError, np.linalg.LinAlgError):
            return None, change
        return (trial if np.isfinite(after).all() else None), after

    def moving(self, states: Ints) -> list[int]:
        """Those of the own states, by their place among the unknowns, whose rate does not vanish."""
        b = self.balance
        return [int(k) for k in states if abs(b.missing[k]) > self.allowed_rate[k - b.n]]

    def doubts(self) -> list[str]:
        """What the user should know of the equilibrium."""
        b, found = self.balance, []
        lowest, direction = self.softest()
        if lowest < 0.0 and not np.any(b.state.vel[b.ind]):  # else gyroscopic terms may hold it
            values = np.linalg.eigvals(np.linalg.solve(self.metric, self.stiffness))
            rounding = len(values) * np.finfo(float).eps * np.abs(values).max()
            if np.any((values.real < -rounding) & (np.abs(values.imag) < 1e-9 * np.abs(values))):
                name = b.names()[int(np.argmax(np.abs(direction)))]
                found.append(f"the equilibrium is unstable: it gives way along {name}")
        names = list(b.system.model.states)
        for k in self.moving(np.setdiff1d(np.arange(b.n, b.n + b.n_own), self.rest)):
            value, rate = b.state.aux[k - b.n], b.missing[k]
            found.append(
                f"states.{names[k - b.n]} stays at {value:.6g}: nothing makes its rate vanish, {rate:.6g} 1/s"
            )
        return found

    def unbalanced(self, change: Array) -> SolverError:
        """There is no equilibrium, or none was found: what had to move furthest, by name."""
        b = self.balance
        names = [*b.names(), *(f"states.{name}" for name in b.system.model.states)]
        if moving := self.moving(self.rest):
            where, size = names[moving[0]], b.missing[moving[0]]
            what, remedy = f"its rate, {size:.3g} 1/s, does not come to rest", "start nearer to equilibrium"
        else:
            unbalanced = np.abs(b.missing[: b.n]) > self.tolerance
            worst = int(np.argmax(np.abs(change[: b.n]) * unbalanced))
            where, size = names[worst], abs(b.missing[worst]) / b.unit[worst]
            what = f"a force of {size:.3g} N or N m stays unbalanced"
            soft = abs(self.K[worst, worst]) <= RANK * b.terms[worst]
            remedy = "hold or support what moves freely" if soft else "start nearer to equilibrium"
        return SolverError(Diagnostic("statics.none", where, what, remedy))

    def _given_way(self) -> SolverError:
        """Deflections beyond those for which a body has inertia in all directions (F17a)."""
        direction = np.linalg.eigh(self.M)[1][:, 0]
        name = self.balance.names()[int(np.argmax(np.abs(direction)))]
        what = "no stable equilibrium: gives way until deflections are too large for geometric stiffening"
        return SolverError(
            Diagnostic("statics.unstable", name, what, "lower the loads, which buckle it, or start nearer")
        )


def resting(J: Array, n: int) -> Ints:
    """Own states, places n and on among the unknowns of J, whose rates can vanish together with the forces.

    One by one those are left that the null spaces of J touch from both sides: without them the rank stays.
    """
    keep = np.arange(len(J))
    while len(keep) > n:
        A = J[np.ix_(keep, keep)]
        for axis in (1, 0):
            size = np.abs(A).max(axis=axis, keepdims=True)
            A = A / np.where(size > 0.0, size, 1.0)
        U, s, Vt = np.linalg.svd(A)
        null = s <= RANK * s[0]
        left, right = np.linalg.norm(U[n:, null], axis=1), np.linalg.norm(Vt[null, n:], axis=0)
        share = left * right if np.any(left * right > RANK) else left + right
        worst = int(np.argmax(share))
        if share[worst] <= RANK:
            break
        keep = np.delete(keep, n + worst)
    return keep[n:].astype(np.int64)
