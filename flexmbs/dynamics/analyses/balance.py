"""What is missing to rest at a state, how it changes nearby, and what counts as nothing (F37)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.linearize import unit_displacements
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.speeds import speed_paths
from flexmbs.model.laws.tables import FORCE, MOMENT, VALUE

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.state import State

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: parts of the terms of a balance: what cannot be told from rounding; what differences make of rounding
FLOOR, NOISE = 1e-13, 1e-15
#: what is balanced: parts of the weight that a coordinate moves, of all terms, of what the last
#: digits of places make
OF_WEIGHT, OF_TERMS, OF_STIFFNESS = 1e-6, 1e-9, 1e-14
LITTLE_MASS = 1e-6  # inertia of what has none, in the metric, over the largest


class Balance:
    """Forces on independent coordinates and rates of own states about a state with free speeds that stay.

    Unknowns z: independent coordinates over their unit displacements, so that forces are works [J] and
    compare; then own states. Every coordinate has its own tolerance: a light part beside a heavy one is
    weighed by itself.
    """

    def __init__(self, evaluator: Evaluator, state: State) -> None:
        self.evaluator, self.system, self.state = evaluator, evaluator.system, state
        self.minimal = Minimal(evaluator, state)
        self.ind = self.minimal.split.ind
        self.n, self.n_own = len(self.ind), len(self.system.model.states)
        self.units = unit_displacements(self.system)
        self.unit = self.units[self.ind]
        self.missing = self.missing_at(state)
        self.tree = evaluator.tree_forces(state, self.minimal.close_rates(state, np.zeros(self.n)))
        self.spin = float(np.abs(evaluator.ws.body.v[:, 3:]).max(initial=0.0))  # fastest turning of a body
        self.terms = self._terms()
        force = self.missing[: self.n]
        force[np.abs(force) < FLOOR * self.terms] = 0.0

    def moved(self, z: Array) -> State:
        """The state with the unknowns moved by z, loops closed, free speeds as they are."""
        base = self.state.copy()
        base.aux[: self.n_own] += z[self.n :]
        return self.minimal.moved(base, z[: self.n] * self.unit, base.vel[self.ind])

    def missing_at(self, state: State, acc: Array | None = None) -> Array:
        """Works of the residual forces over unit displacements, and rates of own states (F30)."""
        force = self.minimal.forces(state, np.zeros(self.n) if acc is None else acc)[0]
        return np.concatenate([force * self.unit, self.evaluator.rates_of_states(state)[: self.n_own]])

    def slope(self, step: float) -> Array:
        """Derivative of `missing` by z, central differences over `step`; what is only rounding is zero."""
        size = self.n + self.n_own
        wide = np.ones(size)
        wide[self.n :] = np.maximum(1.0, np.abs(self.state.aux[: self.n_own]))
        J = np.zeros((size, size))
        for k, width in enumerate(step * wide):
            ends = [self.missing_at(self.moved(sign * width * np.eye(size)[k])) for sign in (1.0, -1.0)]
            J[:, k] = (ends[0] - ends[1]) / (2.0 * width)
        rows = NOISE / step * np.concatenate([self.terms, np.abs(self.missing[self.n :])])
        own = np.arange(size) >= self.n
        J[(np.abs(J) <= rows[:, None]) & (own[:, None] | own)] = 0.0
        return J

    def mass(self) -> Array:
        """Reduced mass matrix (n, n) over unit displacements (F30)."""
        base = self.missing_at(self.state)[: self.n]
        columns = [base - self.missing_at(self.state, unit)[: self.n] for unit in np.diag(self.unit)]
        M = np.array(columns).T.reshape(self.n, self.n)
        return 0.5 * (M + M.T)

    def tolerance(self, K: Array, M: Array) -> Array:
        """What may be missing on each coordinate: against weight and turning of what it moves; rounding."""
        inertia = np.diag(M).clip(0.0)
        weight = np.linalg.norm(self.system.tables.grav) * np.sqrt(self._moved_mass() * inertia)
        return (
            OF_WEIGHT * (weight + inertia * self.spin**2)
            + OF_TERMS * self.terms
            + OF_STIFFNESS * np.abs(K).sum(axis=1)
        )

    def names(self) -> list[str]:
        """Names of the independent coordinates."""
        return speed_paths(self.system, self.ind)

    def _moved_mass(self) -> Array:
        """Mass that each independent coordinate moves."""
        t = self.system.tables
        mass = np.array([0.0, *t.body.block_data[t.body.o_block[1 : len(t.tree.parent)]]])
        for i in range(len(mass) - 1, 0, -1):
            mass[t.tree.parent[i]] += mass[i]
        return self._of_moved(mass)

    def _of_moved(self, beyond: Array) -> Array:
        """Largest of a measure of bodies and what hangs on them, over those that a coordinate moves."""
        t, body = self.system.tables, np.zeros(self.system.n_vel, dtype=np.int64)
        for i in range(1, len(t.tree.parent)):
            body[t.tree.o_eta[i] : t.tree.o_eta[i + 1]] = i
        moves = np.abs(self.minimal.loop_jacobian(self.state)) > FLOOR
        return np.asarray(np.max(moves * beyond[body][:, None], axis=0, initial=0.0))

    def _terms(self) -> Array:
        """Largest work of a term of the balance of each coordinate over a unit displacement [J]."""
        t = self.system.tables
        beyond = np.array([self._terms_of(i) for i in range(len(t.tree.parent))])
        self._add_laws(beyond)
        for i in range(len(beyond) - 1, 0, -1):
            beyond[t.tree.parent[i]] = max(beyond[t.tree.parent[i]], beyond[i])
        return self._of_moved(beyond)

    def _terms_of(self, i: int) -> float:
        """Largest work of body i: weight, elastic forces, sums on its speeds."""
        t, ws = self.system.tables, self.evaluator.ws
        if i == 0:
            return 0.0
        speeds, elastic = (
            slice(t.tree.o_eta[i], t.tree.o_eta[i + 1]),
            slice(t.tree.o_qd[i], t.tree.o_eta[i + 1]),
        )
        nf, first = int(t.body.nf[i]), int(t.body.o_K[i]) + int(t.body.nf[i]) ** 2
        K, q = (
            t.body.K_data[first : first + nf * nf].reshape(nf, nf),
            self.state.pos[t.body.o_q[i] : t.body.o_q[i] + nf],
        )
        modal = np.abs(K * q).sum(axis=1) + np.abs(ws.body.f_app[t.body.o_f[i] + 6 : t.body.o_f[i] + 6 + nf])
        weight = t.body.block_data[t.body.o_block[i]] * np.linalg.norm(t.grav) * t.length[0]
        parts = [[weight], np.abs(self.tree[speeds]) * self.units[speeds], modal * self.units[elastic]]
        return max(float(np.max(part, initial=0.0)) for part in parts)

    def _add_laws(self, terms: Array) -> None:
        """Works of forces, each by itself: those of a body may cancel. Changes terms."""
        t, laws, length = self.system.tables, self.system.laws.tables, float(self.system.tables.length[0])
        out = np.nan_to_num(np.abs(self.evaluator.law_work.out))
        for k, c in enumerate(laws.coord):
            force, moment = out[k, FORCE : FORCE + 3].max(), out[k, MOMENT : MOMENT + 3].max()
            size, markers = max(force * length, moment), [laws.mark_p[k], laws.mark_q[k]]
            if c >= 0:
                coordinate = self.system.coordinates[c]
                size = max(size, out[k, VALUE] * (1.0 if coordinate.is_angle else length))
                markers += (
                    [t.relation.p[t.coord.entry[c]], t.relation.q[t.coord.entry[c]]]
                    if coordinate.vel < 0
                    else []
                )
            bodies = [int(t.marker.body[m]) for m in markers if m >= 0] + [int(laws.body[k])]
            if c >= 0 and coordinate.vel >= 0:
                bodies.append(int(np.searchsorted(t.tree.o_eta, coordinate.vel, side="right")) - 1)
            for i in bodies:
                terms[i] = max(terms[i], size) if i >= 0 else terms[i]
