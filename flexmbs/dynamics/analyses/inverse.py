"""Kinematics and inverse dynamics: the motion is prescribed, the forces that it takes follow (F35, F36).

Drives prescribe joint coordinates; measured motion becomes drives (`measured_drive`). Freedoms that nothing
determines take the least velocity and acceleration; elastic coordinates stay as given, or take at every time
the shape in which they are in balance at rest (quasi-static).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.analyses.bending import bending
from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.dead_points import dead_point, diverges
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.reactions.null_states import self_stress
from flexmbs.dynamics.reactions.share import share_forces
from flexmbs.dynamics.reactions.wrenches import reactions
from flexmbs.dynamics.tolerances import FRICTION_TOLERANCE, GAP, RANK, ROUNDED
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.expressions import Expression, Node, spline_through
from flexmbs.model.drives import Drive
from flexmbs.model.state import State
from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SETTLING, BENT = 60, 1e-7  # rounds of bending, and the change of q that ends them, of its size
STIFFNESS_ROUNDING = 1e-13  # of stiffness and constraints together
#: the least singular value of G below this part of its size elsewhere: near a change point (F28)
NEARLY_SINGULAR = 0.01
#: rounds of closing; part of a gap left that is too much
ROUNDS, SLOW = 40, 0.1
#: so far may an angle of a cut joint be from where its rates lead to [rad]
TURN = 1.0
#: distance of the places beside it, rad or m, and the speed that has no direction
REACH, STILL = 0.02, 1e-8
#: a place so much nearer to the change point than the time in question is no good; others are so far away
NEARER, OTHER = 0.3, 1.37
#: places on both sides of it and their weights; those behind the start of a motion
BOTH = ((1, 0.75), (-1, 0.75), (2, -0.3), (-2, -0.3), (3, 0.05), (-3, 0.05))
BEHIND = ((1, 6.0), (2, -15.0), (3, 20.0), (4, -15.0), (5, 6.0), (6, -1.0))


@dataclass
class Follower:
    """Follows a prescribed motion in time; call `at` with times that rise by little.

    After `at`, everything that is reported stands in `evaluator.ws`, as after `Evaluator.observe`. `idle` is
    the number of freedoms that neither drives nor loops determine. `quasi_static`: bodies bend under the
    loads of each time as if these stayed; else q is as given. In a change point motion and forces are the
    limits along the branch that the velocity has chosen, from both sides; at the start, from behind it. Over
    a dead point forces have no limit: they are those of each place, and `dead_points` says when it was.
    `least`: the least singular value of G, over the largest one; `regular`: the largest that it has been.
    """

    evaluator: Evaluator
    state: State
    quasi_static: bool = False
    idle: int = 0
    regular: float = 0.0
    rank: int = 0
    dead_points: dict[str, float] = field(default_factory=dict)
    near: bool = False
    least: float = 1.0
    start: float = np.inf

    def __post_init__(self) -> None:
        """Learn the rank a little behind the start, which may be a change point."""
        self.acc = np.zeros(self.system.n_vel)  # at the state, as far as it is known
        self._bending = bending(self.evaluator) if self.quasi_static else None
        before, self.start = (self.state.copy(), self.acc), self.state.t
        speed = float(np.abs(self.state.vel).max(initial=0.0))
        if speed > STILL:
            with suppress(SolverError):
                self._alone(self.start + REACH / speed)
        self.put(*before)

    @property
    def system(self) -> System:
        return self.evaluator.system

    @cached_property
    def _free(self) -> Ints:
        """Joint speeds that no drive prescribes."""
        t = self.system.tables
        joint = np.zeros(self.system.n_vel, dtype=bool)
        for i in range(1, len(t.tree.parent)):
            joint[t.tree.o_eta[i] : t.tree.o_qd[i]] = True
        return np.flatnonzero(joint & (t.tree.driven < 0))

    def at(self, time: float) -> Array:
        """Positions, speeds and accelerations at a time, and the forces that they take; returns `acc`."""
        before, idle = (self.state.copy(), self.acc), self.idle
        try:
            self.acc = self._alone(time)
            if not self.near:
                return self.acc
        except SolverError:
            G = self.evaluator.jacobian(self.state)
            if np.isfinite(G).all():
                self._weigh(self._singular_values(G))
            if not self.near:
                raise
        try:
            self.acc = self._from_both_sides(before, time)
        except SolverError as error:  # nothing is behind it: the end of the motion
            if error.diagnostics[0].code == "kinematics.dead_point":
                raise
            self.put(*before)
            self.acc = self._alone(time)
        self.idle = idle
        return self.acc

    def _singular_values(self, G: Array) -> Array:
        """Those of the constraints in the free joint speeds."""
        return np.asarray(np.linalg.svd(G[:, self._free], compute_uv=False)) if len(G) else np.zeros(0)

    def _weigh(self, s: Array) -> int:
        """Rank by singular values; whether it is about to be less than at the start goes into `near`."""
        rank = int(np.sum(s > RANK * s[0])) if len(s) and s[0] > 0.0 else 0
        self.rank = self.rank or rank
        self.least = float(s[self.rank - 1] / s[0]) if self.rank else 1.0
        self.regular = max(self.regular, self.least)
        self.near = self.least < NEARLY_SINGULAR * self.regular
        return rank

    def put(self, state: State, acc: Array) -> None:
        """Go on from a state, which is copied, and its accelerations."""
        self.state.t, self.acc = state.t, acc
        for name in ("pos", "vel", "aux", "turns"):
            getattr(self.state, name)[:] = getattr(state, name)

    def predicted(self, time: float) -> Array:
        """Positions at a time as the state there leads on."""
        state, ahead = self.state, time - self.state.t
        if ahead == 0.0:
            return state.pos.copy()
        change = ahead * state.vel + 0.5 * ahead * ahead * self.acc
        pos = state.pos.copy()
        add_increment(self.evaluator.tables, state.pos, np.where(np.isfinite(change), change, 0.0), pos)
        return pos

    def _turned(self, time: float) -> Array:
        """Angles of cut joints at a time as their rates lead on: they tell whole turns apart."""
        if time == self.state.t:
            return self.state.turns.copy()
        self.evaluator.kinematics(self.state, np.where(np.isfinite(self.acc), self.acc, 0.0))
        angle, rate, bend = self.evaluator.ws.relation.angle.T
        ahead = time - self.state.t
        return np.asarray(angle + ahead * rate + 0.5 * ahead * ahead * bend)

    def _from_both_sides(self, before: tuple[State, Array], time: float) -> Array:
        """Motion and forces at a time close to a change point, from times beside it (F28); returns `acc`."""
        ws, state = self.evaluator.ws, self.state
        speed = float(np.abs(before[0].vel).max(initial=0.0))
        if not speed > STILL:
            where = f"t = {time:.6g} s"
            raise SolverError(Diagnostic("kinematics.open", where, "the motion stands", "start elsewhere"))
        arrays = {"force": ws.row.force, "reaction": ws.joint.reaction, "effort": ws.joint.effort}
        here, step = self.least, REACH / speed
        motion, forces, found, least = self._beside(before, time, step, arrays)
        if least < NEARER * here:
            motion, forces, found, _ = self._beside(before, time, OTHER * step, arrays)
        state.t, state.vel[:] = float(time), motion["vel"]
        add_increment(self.evaluator.tables, motion["pos"], 0.0 * state.vel, state.pos)
        args = self.evaluator._args(state, motion["acc"])
        evaluate.kinematics(*args)
        evaluate.forces(*args)
        state.turns[:] = ws.relation.angle[:, 0]
        if diverges(found):
            self._at_dead_point(motion["acc"])
            return motion["acc"]
        for name, array in arrays.items():
            array[:] = forces[name]
        return motion["acc"]

    def _beside(
        self, before: tuple[State, Array], time: float, step: float, arrays: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array], dict[int, Array], float]:
        """Motion and forces at a time from places some steps beside it; forces there; the least `least`."""
        state, found, least = self.state, {}, np.inf
        motion = {name: 0.0 * getattr(state, name) for name in ("pos", "vel")} | {"acc": 0.0 * state.vel}
        forces = {name: np.zeros_like(array) for name, array in arrays.items()}
        for place, weight in BOTH if time - 3 * step >= self.start else BEHIND:
            self.put(*before)
            acc = self._alone(time + place * step)
            for name, value in (("pos", state.pos), ("vel", state.vel), ("acc", acc)):
                motion[name] += weight * value
            for name, array in arrays.items():
                forces[name] += weight * array
            found[place] = np.concatenate([array.ravel() for array in arrays.values()])
            least = min(least, self.least)
        return motion, forces, found, least

    def _at_dead_point(self, acc: Array) -> None:
        """Forces of the place itself, where they have no limit; in the point there are none."""
        G, time = self.evaluator.jacobian(self.state), self.state.t
        U, s, _ = np.linalg.svd(G[:, self._free], full_matrices=False)
        name = row_names(self.system)[int(np.argmax(np.abs(U[:, self.rank - 1])))]
        if s[self.rank - 1] <= RANK * s[0]:
            raise dead_point(name, time)
        self.dead_points.setdefault(name, time)
        solve = self._solver(G)
        for _ in range(SETTLING):
            if self._forces(acc, solve):
                return
        self.evaluator.check(evaluate.NO_FRICTION, self.state)

    def _alone(self, time: float) -> Array:
        """Motion and forces at a time, by the constraints there; returns `acc`."""
        state, turned = self.state, self._turned(time)
        state.turns[:] = turned
        state.pos[:], state.t = self.predicted(time), float(time)
        ws, G = self.evaluator.ws, self.evaluator.jacobian(state)
        self.evaluator.require(state, ws.law.x, ws.law.v, ws.law.a, ws.travel.x)
        self.evaluator.law_work.load_of[:] = 0.0  # what was evaluated before leaves no trace
        acc = self._bent(G)
        if acc is not None:
            self._check_turns(turned)
            return acc
        moved, balanced, jams = 0.0, not self.quasi_static, False
        for _ in range(SETTLING):
            acc, solve, G = self._motion(balanced)
            if not balanced:
                last, moved = moved, self._bend(acc, solve)
                settled = self._settled()
                ahead = moved * moved / last if last > moved else moved  # what the next round would move
                balanced = ahead <= settled
                if moved > settled:
                    continue
            self._check(G)
            if self._forces(acc, solve):
                self._check_turns(turned)
                return acc
            moved, balanced, jams = 0.0, not self.quasi_static, True
        if jams:
            self.evaluator.check(evaluate.NO_FRICTION, state)
        what = "the elastic bodies find no shape in balance with their loads"
        remedy = 'take elastic = "dynamic"'
        raise SolverError(Diagnostic("kinematics.bending", f"t = {time:.6g} s", what, remedy))

    def _bent(self, G: Array) -> Array | None:
        """The same by compiled passes, where nothing is free and no change point is near; else None."""
        state, ev, before = self.state, self.evaluator, self.state.copy()
        if self._bending is None or self.rank != len(self._free):
            return None
        free = G[:, self._free]
        squares = np.linalg.eigvalsh(free.T @ free)[::-1]  # half the digits, in half the time
        if self._weigh(np.sqrt(np.maximum(squares, 0.0))) == self.rank and not self.near:
            acc = self._bending.settle(state)
            if acc is not None:
                self._bending.forces(state, acc)
                self.idle, state.turns[:] = 0, ev.ws.relation.angle[:, 0]
                return acc
        self.put(before, self.acc)
        return None

    def _check_turns(self, turned: Array) -> None:
        """Rate and pose must tell the same number of turns of every angle."""
        off = np.abs(self.state.turns - turned)
        if off.max(initial=0.0) > TURN:
            entry = int(np.argmax(off))
            t = self.evaluator.tables
            at = t.relation.p[entry], t.relation.q[entry]
            ends = " and ".join(self.system.bodies[t.marker.body[m]] for m in at)
            what = f"an angle between {ends} jumps by {off[entry]:.3g} rad"
            remedy = "the drives jump, or lead past a dead point"
            raise SolverError(Diagnostic("kinematics.open", f"t = {self.state.t:.6g} s", what, remedy))

    def _settled(self) -> float:
        """A change of shapes that is none; angles, which may be many turns, have their rounding alone."""
        pos = np.abs(self.state.pos)
        shapes = [pos[o : o + n].max() for o, n in zip(*self._shapes, strict=True)]
        return max(BENT * max(shapes, default=0.0), ROUNDED * float(pos.max(initial=0.0)))

    @cached_property
    def _shapes(self) -> tuple[Ints, Ints]:
        """Where elastic coordinates of a body begin, and how many there are."""
        body = self.system.tables.body
        some = np.flatnonzero(body.nf)
        return body.o_q[some], body.nf[some]

    def _bend(self, acc: Array, solve: Solver) -> float:
        """Take the elastic bodies into balance with the loads of the motion; how far that moved anything."""
        state, ev = self.state, self.evaluator
        change, _ = solve(ev.sound_tree_forces(state, acc), ev.ws.row.g)
        add_increment(ev.tables, state.pos.copy(), change, state.pos)
        return float(np.abs(change).max(initial=0.0))

    def _solver(self, G: Array) -> Solver:
        """Changes of positions (or speeds, or rates) that close gaps, and multipliers that bear loads.

        Joint coordinates follow at least change. Elastic ones, where they are quasi-static, obey
        K dq - G^T lam = load, so that they share what redundant rows ask by their stiffness.
        """
        free, n_vel = self._free, self.system.n_vel
        if not self.quasi_static:
            return Held(LeastSquares(G[:, free], RANK), free, n_vel)
        rest, K, elastic, give = self._condensed
        G_e = G[:, elastic]
        C = G_e @ give @ G_e.T  # what elastic coordinates add to the gaps under multipliers
        n, unit = len(rest), float(np.abs(C).max(initial=0.0)) or 1.0
        whole = np.empty((n + len(G), n + len(G)))
        whole[:n, :n], whole[:n, n:] = unit * K, -G[:, rest].T
        whole[n:, :n], whole[n:, n:] = G[:, rest], C / unit
        return Bending(LeastSquares(whole, STIFFNESS_ROUNDING), rest, elastic, give, G_e, unit, n_vel)

    @cached_property
    def _condensed(self) -> tuple[Ints, Array, Ints, Array]:
        """Free joint speeds with their stiffness, and elastic ones with their compliance.

        Shapes without stiffness are with the joints.
        """
        from scipy.linalg import block_diag  # 0.1 s of every start

        t, free = self.system.tables, self._free
        rest, elastic, K = [free], [], [np.zeros((len(free), len(free)))]
        give: list[NDArray[Any]] = [np.zeros((0, 0))]
        for i in range(1, len(t.tree.parent)):
            nf = int(t.body.nf[i])
            own = np.arange(t.tree.o_qd[i], t.tree.o_qd[i] + nf)
            block = t.body.K_data[t.body.o_K[i] + nf * nf : t.body.o_K[i] + 2 * nf * nf].reshape(nf, nf)
            if nf and np.linalg.eigvalsh(block)[0] > STIFFNESS_ROUNDING * np.abs(block).max():
                elastic.append(own)
                give.append(np.linalg.inv(block))
            else:
                rest.append(own)
                K.append(block)
        return (
            np.concatenate(rest),
            block_diag(*K),
            np.concatenate([[], *elastic]).astype(int),
            block_diag(*give),
        )

    def _motion(self, exact: bool) -> tuple[Array, Solver, Array]:
        """Positions, speeds and accelerations that keep the constraints; returns the latter, a solver, G.

        Unless `exact`, speeds and accelerations may be those of a place close by.
        """
        state, ev, nothing = self.state, self.evaluator, np.zeros(self.system.n_vel)
        state.vel[:] = 0.0
        solve, G = self._close(exact)
        state.vel += solve(nothing, ev.ws.row.g_dot)[0]
        acc = np.zeros(self.system.n_vel)
        ev.kinematics(state, acc)
        change = solve(nothing, ev.ws.row.g_ddot)[0]
        acc += np.where(self.system.tables.tree.driven < 0, change, 0.0)
        state.turns[:] = ev.ws.relation.angle[:, 0]
        return acc, solve, G

    def _close(self, exact: bool) -> tuple[Solver, Array]:
        """Positions that meet the constraints, nearest to those predicted; returns a solver and its G.

        One matrix serves while it closes the gaps well; `exact`: the last one is that of the place.
        """
        state, ev, nothing = self.state, self.evaluator, np.zeros(self.system.n_vel)
        G = ev.jacobian(state)
        solve, last, moved, g = self._solver(G), np.inf, 0.0, ev.ws.row.g
        for _ in range(ROUNDS):
            change, _ = solve(nothing, g)
            size = float(np.abs(change).max(initial=0.0))
            if size > SLOW * last:
                G, moved = ev.jacobian(state), 0.0
                solve = self._solver(G)
                change, _ = solve(nothing, g)
                size = float(np.abs(change).max(initial=0.0))
            if size < ROUNDED:
                break
            add_increment(ev.tables, state.pos.copy(), change, state.pos)
            moved, last = moved + size, size
            ev.kinematics(state)
        else:
            if np.abs(g).max() > GAP:
                self._fail("positions", g)
        if exact and moved > 0.0:
            G = ev.jacobian(state)
            solve = self._solver(G)
        return solve, G

    def _check(self, G: Array) -> None:
        """Speeds must keep the constraints; count the freedoms that are left. Needs kinematics."""
        ev = self.evaluator
        self.idle = len(self._free) - self._weigh(self._singular_values(G))
        speed = float(np.abs(self.state.vel).max(initial=0.0))
        if np.abs(ev.ws.row.g_dot).max(initial=0.0) > 1e-7 * max(1.0, speed):
            self._fail("speeds", ev.ws.row.g_dot)

    def _fail(self, what: str, g: Array) -> None:
        worst = int(np.argmax(np.abs(g)))
        name = row_names(self.system)[worst]
        raise SolverError(
            Diagnostic(
                "kinematics.open",
                f"t = {self.state.t:.6g} s",
                f"{name} cannot follow the drives: {what} miss by {abs(g[worst]):.3g}",
                "the drives contradict each other, or lead past a dead point",
            )  # fmt: skip
        )

    def _forces(self, acc: Array, solve: Solver) -> bool:
        """Multipliers that hold the joint coordinates in this motion, then reactions and efforts (F36).

        Returns whether friction by the reactions of joints is that of these reactions; else it is now, and
        the forces are to be found again.
        """
        ev, state, ws = self.evaluator, self.state, self.evaluator.ws
        _, lam = solve(ev.sound_tree_forces(state, acc), np.zeros(self.system.n_rows))
        args = ev._args(state, acc)
        ev.run(evaluate.forces, state, acc)
        if not len(lam) or evaluate.eliminate(*args[:4], 0.0, 0.0, evaluate.ACCELERATION) != 0:
            ws.row.redundant[:] = 0
        shared = bool(ws.row.redundant.any())
        if len(self.system.laws.tables.press_law):
            ws.row.lam[:] = lam
            if evaluate.press(*args) > FRICTION_TOLERANCE:
                return False
        if shared:
            self_stress(ev.tables, ws)
            evaluate.kinematics(*args)
        ev.run(evaluate.forces, state, acc)
        ws.row.force[:] = lam
        reactions(ev.tables, ws)
        if shared:
            share_forces(ev.tables, ws, ev.tables.length[0])
        return True


class LeastSquares:
    """Least-norm least-squares solutions of A x = b and A^T y = c, small singular values left out."""

    def __init__(self, A: Array, tolerance: float) -> None:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        kept = int(np.sum(s > tolerance * s.max(initial=0.0)))
        self.U, self.s, self.V = U[:, :kept], s[:kept], Vt[:kept].T

    def __call__(self, b: Array) -> Array:
        return np.asarray(self.V @ ((b @ self.U) / self.s))

    def transposed(self, c: Array) -> Array:
        return np.asarray(self.U @ ((c @ self.V) / self.s))


@dataclass
class Held:
    """Solves where elastic coordinates stay as they are: joints alone follow."""

    least: LeastSquares
    free: Ints
    n_vel: int

    def __call__(self, load: Array, gap: Array) -> tuple[Array, Array]:
        change = np.zeros(self.n_vel)
        change[self.free] = -self.least(gap)
        return change, -self.least.transposed(load[self.free])


@dataclass
class Bending:
    """Solves where elastic coordinates are in balance: `give` is their compliance, `rest` are the others."""

    least: LeastSquares
    rest: Ints
    elastic: Ints
    give: Array
    G_e: Array
    unit: float
    n_vel: int

    def __call__(self, load: Array, gap: Array) -> tuple[Array, Array]:
        change, n, bent = np.zeros(self.n_vel), len(self.rest), self.give @ load[self.elastic]
        x = self.least(np.concatenate([self.unit * load[self.rest], -gap - self.G_e @ bent]))
        lam = x[n:] / self.unit
        change[self.rest] = x[:n]
        change[self.elastic] = bent + self.give @ (lam @ self.G_e)
        return change, lam


Solver = Held | Bending


def measured_drive(
    name: str, joint: str, coordinate: str | None, times: ArrayLike, values: ArrayLike
) -> Drive:
    """A drive along measured values: cubic spline, twice differentiable (F36)."""
    spline = spline_through(np.asarray(times, dtype=float), np.asarray(values, dtype=float))
    tree = Node("table", (Node("name", text="t"),), text=name)
    return Drive(
        name=name, joint=joint, coordinate=coordinate, position=Expression(name, tree, {name: spline})
    )
