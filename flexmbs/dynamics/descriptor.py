"""Lagrange's equations of mixed type in dependent coordinates (F32-F33): the second opinion.

Every body has its own position, Euler parameters and elastic coordinates, every joint of the mechanism is its
list of locked relations, whether the recursion takes it as a branch or as a cut. With the recursion it shares
the bodies (inertia and markers, one body at a time), joints as data, and force laws; nothing of the chain
relations, of the passes, or of the loop equations.

system = build(model, formulation="descriptor");  motion = system.forward_dynamics(state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.dependent_matrices import Coordinates, Matrices, rate_matrices
from flexmbs.dynamics.dependent_rows import Found, Relations, RowSums
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.saddle import Saddle
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.state import State
from flexmbs.model.system import System

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Array = NDArray[np.float64]

#: what may be left of the constraints on acceleration level, over the size of their terms
CONTRADICTION = 1e-6
FRICTION_TOLERANCE, FRICTION_ROUNDS = 1e-12, 60


class Place(NamedTuple):
    """What the state alone says, before forces: constraints and inertia."""

    e: Array
    H: Array  # rate matrices
    found: Found
    coef: Array
    g: Array  # with the normalisations
    g_dot: Array
    gamma: Array
    M: csc_matrix
    Phi: csc_matrix
    coordinates: csc_matrix  # gradients of the joint coordinates
    velocity_forces: Array


class Descriptor:
    """Equations of motion of a system in dependent coordinates, `build(model, formulation="descriptor")`."""

    def __init__(self, system: System, evaluator: Evaluator | None = None) -> None:
        self.system, self.evaluator = system, evaluator or Evaluator(system)
        self.ws, self.tables = self.evaluator.ws, system.tables
        self.at = Coordinates(system)
        self.sums = RowSums(self.tables, [group.kind for group in system.groups])
        self.relations = Relations(self.tables)
        self.matrices = Matrices(system, self.at, self.sums)
        self.joint_of = self._joints_of_relations()
        self.scale_of_mass = float(np.mean(self.matrices.mass)) or 1.0
        self.saddle: Saddle | None = None
        self.length = float(self.tables.length[0])
        wrench_scale = np.tile([1.0, 1.0, 1.0, *[1.0 / self.length] * 3], len(system.joints))
        self.wrench_scale = wrench_scale

    def _joints_of_relations(self) -> NDArray[np.int64]:
        """Joint whose rows or coordinates a relation belongs to, by its number in `System.joints`."""
        found = np.zeros(len(self.tables.ent_kind), dtype=np.int64)
        for j, place in enumerate(self.system.joints.values()):
            rows = place.group.rows if place.group is not None else []
            for entry in [e for row in rows for _, e in row.entries] + [c.entry for c in place.coordinates]:
                if entry is not None and entry.number >= 0:
                    found[entry.number] = j
        return found

    def place(self, state: State) -> Place:
        """Constraints and inertia at a state; leaves bodies and markers, at zero accelerations, in `ws`."""
        self.evaluator.kinematics(state)
        found = self.relations.at(self.ws, state.turns)
        g, g_dot, gamma, coef = self.sums.at(self.ws, state.t, found)
        e = state.pos[self.at.e_of]
        H = rate_matrices(e)
        Phi, coordinates = self.matrices.jacobian(self.ws, H, e, found, coef)
        w = state.vel[self.at.w_of]
        M, force = self.matrices.inertia(self.ws, H, state.pos, state.vel)
        return Place(
            e, H, found, coef,
            np.concatenate([g, 0.5 * (np.einsum("ni,ni->n", e, e) - 1.0)]),
            np.concatenate([g_dot, np.zeros(len(e))]),
            np.concatenate([gamma, 0.25 * np.einsum("ni,ni->n", w, w)]),  # e_dot . e_dot
            M, Phi, coordinates, force,
        )  # fmt: skip

    def factorise(self, here: Place, weight: csc_matrix | None = None) -> Saddle:
        """Factors at a place. `weight` is the metric of the multipliers."""
        if weight is None:
            from scipy.sparse import identity

            weight = identity(self.matrices.n_rows, format="csc")
        saddle = Saddle(here.M, here.Phi, weight, self.scale_of_mass)
        if not saddle.regular:
            what = "a coordinate moves no inertia and nothing holds it"
            raise SolverError(
                Diagnostic("solver.singular", "model", what, "give the bodies mass and inertia, or hold them")
            )
        return saddle

    def observe(self, state: State) -> Array:
        """Accelerations (n_vel,) of a state, and everything that is reported in `evaluator.ws` (F32).

        Joint forces that the equations leave open are those of least squares over all joints (F28).
        """
        from scipy.sparse import csc_matrix, identity

        here = self.place(state)
        maps = self.matrices.wrenches(here.found, here.coef, self.joint_of, len(self.system.joints))
        rows, efforts = (csc_matrix(self.wrench_scale[:, None] * m.toarray()) for m in maps)
        weight = (rows.T @ rows).tocsc() + 1e-12 * identity(self.matrices.n_rows, format="csc")
        saddle = self.factorise(here, weight)
        args = self.evaluator._args(state, np.zeros(self.system.n_vel))
        for _ in range(FRICTION_ROUNDS):
            evaluate.forces(*args)
            tau = self.ws.tau_coord.copy()
            own = efforts @ tau
            # the multipliers that take the joints' own forces back as far as they can: nearest to no load
            start = -_least_squares(rows, own) if own.any() else np.zeros(self.matrices.n_rows)
            z_ddot, lam, left = saddle.solve_nearest(self._force(here, tau), -here.gamma, start)
            self._check(state, left)
            wrench = (rows @ lam + own) / self.wrench_scale
            self.ws.reaction[:] = wrench.reshape(-1, 6)
            if not len(self.system.laws.tables.press_law) or self._press() <= FRICTION_TOLERANCE:
                break
        acc = self.at.to_speeds(z_ddot, here.H)
        self.evaluator.kinematics(state, acc)
        self._report(lam)
        return acc

    def _force(self, here: Place, tau: Array) -> Array:
        force = here.velocity_forces + self.matrices.applied(self.ws, here.H)
        return np.asarray(force + here.coordinates.T @ tau)

    def _check(self, state: State, left: float) -> None:
        if not left <= CONTRADICTION:
            what = f"the constraints contradict each other: {left:.1e} of them is left on acceleration level"
            remedy = "look for drives that ask for different motions, or a position where the mechanism locks"
            raise SolverError(Diagnostic("solver.contradiction", f"t = {state.t:.6g} s", what, remedy))

    def _report(self, lam: Array) -> None:
        """Multipliers and efforts of drives under their numbers."""
        self.ws.row_force[:] = 0.0
        self.ws.row_force[self.sums.rows] = lam[: self.matrices.n_joint_rows]
        drive_row = self.tables.drive_row
        self.ws.effort[:] = self.ws.row_force[drive_row] if len(drive_row) else 0.0

    def _press(self) -> float:
        """Reactions into the laws of friction that need them; the largest relative change."""
        laws, load_of, change = self.system.laws.tables, self.evaluator.law_work.load_of, 0.0
        for law, j, axis in zip(laws.press_law, laws.press_joint, laws.press_axis, strict=True):
            c, F = laws.coord[law], self.ws.reaction[j, :3]
            along = self.ws.mark_R[self.tables.joint_q[j], :, axis] @ F if axis >= 0 else 0.0
            load = float(np.sqrt(max(F @ F - along * along, 0.0)))
            change = max(change, abs(load - load_of[c]) / max(load, load_of[c], 1e-300))
            load_of[c] = load
        return change

    def accelerations(self, state: State) -> Array:
        """The accelerations alone, (n_vel,)."""
        if len(self.system.laws.tables.press_law) or len(self.tables.drive_row):
            return self.observe(state)  # friction or work follow from reactions
        here = self.place(state)
        evaluate.forces(*self.evaluator._args(state, np.zeros(self.system.n_vel)))
        force = self._force(here, self.ws.tau_coord)
        z_ddot, left = self._solve(here, force, -here.gamma, 1e-13)
        self._check(state, left)
        return self.at.to_speeds(z_ddot, here.H)

    def project(self, state: State, tolerance: float = 1e-13, most: int = 12) -> tuple[float, float, int]:
        """Bring positions, then speeds, onto the constraints in the metric of M; in place (F33).

        Returns the largest closure of positions, of speeds, and the number of corrections.
        """
        count, here = 0, self.place(state)
        for level in range(2):
            for k in range(most + 1):
                error = float(np.abs(here.g if level == 0 else here.g_dot).max(initial=0.0))
                if error <= tolerance or k == most or not np.isfinite(error):
                    break
                left = -(here.g if level == 0 else here.g_dot)
                change = self._solve(here, np.zeros(self.at.n), left, 1e-6)[0]
                count += 1
                if level == 0:
                    state.pos += change
                    self._normalise(state)
                else:
                    state.vel += self.at.to_speeds(change, here.H)
                here = self.place(state)
            if level == 0:
                worst = error
        state.turns[:] = here.found.value
        return worst, error, count

    def _solve(self, here: Place, b: Array, c: Array, enough: float) -> tuple[Array, float]:
        """z of the saddle equations and what is left; by the last factors where they lead there."""
        if self.saddle is not None:
            self.saddle.use(here.M, here.Phi)
            z, _, left = self.saddle.solve(b, c)
            if left <= enough:
                return z, left
        self.saddle = self.factorise(here)
        z, _, left = self.saddle.solve(b, c)
        return z, left

    def _normalise(self, state: State) -> None:
        e = state.pos[self.at.e_of]
        state.pos[self.at.e_of] = e / np.linalg.norm(e, axis=1, keepdims=True)


def _least_squares(A: csc_matrix, b: Array) -> Array:
    """Shortest x with |A x - b| least."""
    return np.asarray(np.linalg.lstsq(A.toarray(), b, rcond=1e-12)[0])
