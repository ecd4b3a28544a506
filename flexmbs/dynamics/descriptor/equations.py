"""Lagrange's equations of mixed type in dependent coordinates (F32-F33): the second opinion.

Every body has its own position, Euler parameters and elastic coordinates, every joint of the mechanism is its
list of locked relations, whether the recursion takes it as a branch or as a cut. With the recursion it shares
the bodies (inertia and markers, one body at a time), joints as data, and force laws; nothing of the chain
relations, of the passes, or of the loop equations.

system = build(model, formulation="descriptor");  motion = system.forward_dynamics(state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.descriptor.energies import Energies, Own
from flexmbs.dynamics.descriptor.forces import JointForces
from flexmbs.dynamics.descriptor.matrices import Coordinates, Matrices, rate_matrices
from flexmbs.dynamics.descriptor.own_energies import bodies_with_energies
from flexmbs.dynamics.descriptor.planar import PlanarCoordinates, PlanarMatrices
from flexmbs.dynamics.descriptor.rows import Found, RowSums, found_in
from flexmbs.dynamics.descriptor.saddle import ACCURATE, FEW, SOFT, Blocks, Saddle
from flexmbs.dynamics.descriptor.stiffness import stiffness
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.contradiction import CONTRADICTION, contradiction
from flexmbs.dynamics.reactions.friction import press
from flexmbs.dynamics.tolerances import FRICTION_ROUNDS, FRICTION_TOLERANCE
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.rows import no_turns
from flexmbs.model.state import State

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

    from flexmbs.model.system import System

Array = NDArray[np.float64]

#: what may be left by factors of a state nearby
SETTLED = 1e-13
#: what may be wrong in a correction, which is followed by the next
PROJECTED = 1e-5


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
    own: Own | None  # energies that bodies have as expressions; part of M
    velocity_forces: Array
    speeds: Array


class Descriptor:
    """Equations of motion of a system in dependent coordinates, `build(model, formulation="descriptor")`."""

    def __init__(self, system: System, evaluator: Evaluator | None = None) -> None:
        self.system, self.evaluator = system, evaluator or Evaluator(system)
        self.ws, self.tables = self.evaluator.ws, system.tables
        self.sums = RowSums(self.tables, [group.kind for group in system.groups])
        self.energies = Energies(system) if bodies_with_energies(system.model) else None
        self.at: Any
        self.matrices: Any
        if system.topology.plane is None:
            self.at = Coordinates(system)
            self.matrices = Matrices(system, self.at, self.sums)
        else:
            self.at = PlanarCoordinates(system)
            self.matrices = PlanarMatrices(system, self.at, self.sums)
        self.active = self._active_rows()
        self.joint_of = self._joints_of_relations()
        self.scale_of_mass = float(np.mean(self.matrices.mass)) or 1.0
        self.saddle: Saddle | None = None
        self.blocks: Blocks | None = None
        self.lam = np.zeros(self.matrices.n_rows)
        self._here: Place | None = None
        self._state = State(0.0, *(np.zeros(0) for _ in range(4)))
        self.length = float(self.tables.length[0])
        wrench_scale = np.tile([1.0, 1.0, 1.0, *[1.0 / self.length] * 3], len(system.joints))
        self.wrench_scale = wrench_scale

    def _active_rows(self) -> Array:
        """1 for every row of joints, 0 where it holds nothing in the plane, wherever the bodies are."""
        t, active = self.tables, np.zeros(len(self.sums.rows))
        kinds = np.array([self.system.groups[g].kind for g in t.row.group[self.sums.rows]])
        active[kinds != "joint"] = 1.0
        if not self.matrices.planar:
            return np.ones_like(active)
        rng, still = np.random.default_rng(0), np.zeros(self.system.n_vel)
        aux, turns = np.zeros(self.system.n_aux), no_turns(t.relation.kind)
        for _ in range(2):
            state = State(0.0, rng.uniform(-1.0, 1.0, self.system.n_pos), still, aux, turns)
            self.evaluator.kinematics(state)
            found = found_in(self.ws)
            Phi, _ = self.matrices.jacobian(self.ws, np.zeros(0), np.zeros(0), found, self.sums.factor)
            size = abs(Phi).max(axis=1).toarray().ravel()
            active[size > 1e-9 * size.max(initial=1.0)] = 1.0
        return active

    def _joints_of_relations(self) -> NDArray[np.int64]:
        """Joint whose rows, coordinates or driven ball a relation belongs to, by its number in `joints`."""
        found = np.maximum(self.tables.relation.joint, 0)
        for j, place in enumerate(self.system.joints.values()):
            for row in place.group.rows if place.group is not None else []:
                found[[entry.number for _, entry in row.entries]] = j
        return found

    def place(self, state: State) -> Place:
        """Constraints and inertia at a state; leaves bodies and markers, at zero accelerations, in `ws`."""
        if self._here is not None and self._seen(state):
            return self._here
        self._here, self._state = self._place(state), state.copy()
        return self._here

    def forget(self) -> None:
        """Other rows hold from now on: what is known of the last state is void."""
        self._here = self.saddle = self.blocks = None

    def _seen(self, state: State) -> bool:
        old = self._state
        pairs = ((old.pos, state.pos), (old.vel, state.vel), (old.aux, state.aux), (old.turns, state.turns))
        return bool(old.t == state.t and all(np.array_equal(a, b) for a, b in pairs))

    def _place(self, state: State) -> Place:
        self.evaluator.kinematics(state)
        found = found_in(self.ws)
        g, g_dot, gamma, coef = self.sums.at(self.ws, state.t, found)
        closed = np.ones(self.system.n_rows)
        closed[self.evaluator.open_rows] = 0.0
        held, coef = self.active * closed[self.sums.rows], closed[self.sums.rows][self.sums.part] * coef
        g, g_dot, gamma = held * g, held * g_dot, held * gamma
        e = state.pos[self.at.e_of]
        H = rate_matrices(e)
        Phi, coordinates = self.matrices.jacobian(self.ws, H, e, found, coef)
        w = state.vel[self.at.w_of]
        M, force = self.matrices.inertia(self.ws, H, state.pos, state.vel)
        own = None
        if self.energies is not None:
            entry = self.tables.coord.entry
            own = self.energies.at(state.t, found.value[entry], found.rate[entry], found.bias[entry])
            M = (M + coordinates.T @ own.mass_matrix() @ coordinates).tocsc()
        return Place(
            e, H, found, coef,
            np.concatenate([g, 0.5 * (np.einsum("ni,ni->n", e, e) - 1.0)]),
            np.concatenate([g_dot, np.zeros(len(e))]),
            np.concatenate([gamma, 0.25 * np.einsum("ni,ni->n", w, w)]),  # e_dot . e_dot
            M, Phi, coordinates, own, force, state.vel.copy(),
        )  # fmt: skip

    def factorise(
        self, blocks: Blocks, M: csc_matrix, Phi: csc_matrix, weight: csc_matrix, soft: float
    ) -> Saddle:
        """Factors; `weight` is the metric of the multipliers."""
        saddle = Saddle(blocks, M, Phi, weight, self.scale_of_mass, soft)
        if not saddle.regular:
            what = "a coordinate moves no inertia and nothing holds it"
            raise SolverError(
                Diagnostic("solver.singular", "model", what, "give the bodies mass and inertia, or hold them")
            )
        return saddle

    def _factorise(self, here: Place, soft: float) -> Saddle:
        """Factors at a place, all multipliers alike."""
        if self.blocks is None:
            from scipy.sparse import identity

            self.equal = identity(self.matrices.n_rows, format="csc")
            self.blocks = Blocks(here.M, here.Phi, self.equal)
        self.saddle = self.factorise(self.blocks, here.M, here.Phi, self.equal, soft)
        return self.saddle

    def observe(self, state: State) -> Array:
        """Accelerations (n_vel,) of a state, and everything that is reported in `evaluator.ws` (F32)."""
        here = self.place(state)
        forces = JointForces(self, here)
        self.evaluator.law_work.load_of[:] = 0.0  # what was evaluated before leaves no trace
        for _ in range(FRICTION_ROUNDS):
            self._evaluate_forces(state, here)
            z_ddot, lam, wrench, left = forces.solve(state, self.ws.coord.tau.copy())
            self._check(state, here, z_ddot, left)
            self.ws.joint.reaction[:] = wrench.reshape(-1, 6)
            if not len(self.system.laws.tables.press_law) or press(self.evaluator) <= FRICTION_TOLERANCE:
                break
        acc: Array = self.at.to_speeds(z_ddot, here.H)
        self._here = None  # the workspace goes on to the accelerations
        self.evaluator.kinematics(state, acc)
        self._report(lam)
        return acc

    def _evaluate_forces(self, state: State, here: Place) -> None:
        """Forces of all laws; work goes into energies that follow the time."""
        evaluate.forces(*self.evaluator._args(state, np.zeros(self.system.n_vel)))
        if here.own is not None:
            self.evaluator.law_work.power[0] += here.own.power

    def force(self, here: Place, tau: Array) -> Array:
        """Forces p1 with efforts `tau` on the joint coordinates."""
        force = here.velocity_forces + self.matrices.applied(self.ws, here.H)
        if here.own is not None:
            tau = tau + here.own.effort
        return np.asarray(force + here.coordinates.T @ tau)

    def _check(self, state: State, here: Place, z_ddot: Array, left: float) -> None:
        if not left <= CONTRADICTION:
            missed = np.abs(here.Phi @ z_ddot + here.gamma)[: self.matrices.n_joint_rows]
            worst = int(np.argmax(np.nan_to_num(missed, nan=np.inf)))
            raise contradiction(self.system, state.t, int(self.sums.rows[worst]), float(missed[worst]))

    def _report(self, lam: Array) -> None:
        """Multipliers and efforts of drives under their numbers."""
        self.ws.row.force[:] = 0.0
        self.ws.row.force[self.sums.rows] = lam[: self.matrices.n_joint_rows]
        drive_row = self.tables.drive.row
        self.ws.joint.effort[:] = self.ws.row.force[drive_row] if len(drive_row) else 0.0

    def accelerations(self, state: State, pull: float = 0.0) -> Array:
        """The accelerations alone, (n_vel,); g and its rate are pulled to zero at a rate (Baumgarte)."""
        if len(self.system.laws.tables.press_law):
            return self.observe(state)  # friction follows from reactions
        here = self.place(state)
        self._evaluate_forces(state, here)
        force = self.force(here, self.ws.coord.tau)
        c = -here.gamma - 2.0 * pull * here.g_dot - pull * pull * here.g
        z_ddot, left = self.solve(here, force, c, self.rounding(here))
        self._check(state, here, z_ddot, left)
        self._report(self.lam)
        return self.at.to_speeds(z_ddot, here.H)

    def shifted(self, state: State, a: Array, bh: float, gh: float) -> Array:
        """Accelerations after one pass of the implicit step, from `a`, to which the state belongs (F43, F44).

        Constraints on position level; modes and laws on joint coordinates are taken implicitly.
        """
        from scipy.sparse import csc_matrix, identity

        if len(self.system.laws.tables.press_law):
            self.observe(state)  # friction follows from reactions
        here = self.place(state)
        self._evaluate_forces(state, here)
        rates = self.at.to_rates(a, here.H)
        K, D = stiffness(self, here)
        S = bh * K + gh * D
        c = here.Phi @ rates - here.g / bh
        M, force = (here.M + csc_matrix(S)).tocsc(), self.force(here, self.ws.coord.tau) + S @ rates
        equal = identity(self.matrices.n_rows, format="csc")
        blocks = Blocks(M, here.Phi, equal)
        for soft in SOFT:
            saddle = self.factorise(blocks, M, here.Phi, equal, soft)
            z_ddot, lam, left = saddle.solve(force, c, self.rounding(here))
            if left <= ACCURATE:
                break
        self._report(lam)
        return np.asarray(self.at.to_speeds(z_ddot, here.H))

    def project(self, state: State, tolerance: float = 1e-13, most: int = 12) -> tuple[float, float, int]:
        """Bring positions and speeds onto the constraints in the metric of M; in place (F33).

        Returns the largest closure of positions, of speeds, and the number of corrections.
        """
        here = self.place(state)
        for count in range(most + 1):
            worst, worst_dot = (float(np.abs(x).max(initial=0.0)) for x in (here.g, here.g_dot))
            good = worst <= tolerance and worst_dot <= tolerance
            if good or count == most or not np.isfinite(worst + worst_dot):
                break
            if worst > tolerance:
                state.pos += self.correction(here, -here.g)
                self._normalise(state)
            else:  # by the matrices of the place: those of an older one may lie on the other side of a kink
                state.vel += self.at.to_speeds(self.correction(here, -here.g_dot), here.H)
            here = self.place(state)
        state.turns[:] = here.found.angle
        self._state.turns[:] = state.turns  # the same place, by these last values too
        return worst, worst_dot, count

    def correction(self, here: Place, c: Array) -> Array:
        """Shortest change of z, in the metric of M, with Phi z = c; by the last factors if they settle it."""
        if self.saddle is not None:
            self.saddle.use(here.M, here.Phi)
            z, settled = self.saddle.correction(c, PROJECTED)
            if settled:
                return z
        return self._factorise(here, SOFT[0]).correction(c, PROJECTED)[0]

    def solve(self, here: Place, b: Array, c: Array, small: float = 0.0) -> tuple[Array, float]:
        """z of the saddle equations and what is left; by the last factors where they lead there soon.

        Of c, parts below `small` are rounding.
        """
        if self.saddle is not None:
            self.saddle.use(here.M, here.Phi)
            z, self.lam, left = self.saddle.solve(b, c, small, 0.1 * SETTLED, FEW)
            if left <= SETTLED:
                return z, left
        for soft in SOFT:
            z, self.lam, left = self._factorise(here, soft).solve(b, c, small)
            if left <= ACCURATE:
                break
        return z, left

    def rounding(self, here: Place) -> float:
        """Size of second rates below which what is left is rounding of their terms, no contradiction."""
        speed = float(np.abs(here.speeds).max(initial=0.0))
        return 1e-9 * speed * speed * max(1.0, 1.0 / self.length)

    def _normalise(self, state: State) -> None:
        e = state.pos[self.at.e_of]
        state.pos[self.at.e_of] = e / np.linalg.norm(e, axis=1, keepdims=True)
