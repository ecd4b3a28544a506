"""Kinematics and inverse dynamics: the motion is prescribed, the forces that it takes follow (F35, F36).

Drives prescribe joint coordinates; measured motion becomes drives (`measured_drive`). Freedoms that nothing
determines take the least velocity and acceleration; elastic coordinates stay as given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.evaluate import add_increment
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.initial import row_names
from flexmbs.dynamics.reactions import reactions, self_stress
from flexmbs.dynamics.share import share_forces
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.expressions import Expression, Node, spline_through
from flexmbs.model.drives import Drive
from flexmbs.model.state import State
from flexmbs.model.system import System

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

RANK_TOLERANCE = 1e-9


@dataclass
class Follower:
    """Follows a prescribed motion in time; call `at` with times that rise by little.

    After `at`, everything that is reported stands in `evaluator.ws`, as after `Evaluator.observe`. `idle` is
    the number of freedoms that neither drives nor loops determine.
    """

    evaluator: Evaluator
    state: State
    idle: int = 0

    @property
    def system(self) -> System:
        return self.evaluator.system

    def _free(self) -> Ints:
        """Joint speeds that no drive prescribes."""
        t = self.system.tables
        joint = np.zeros(self.system.n_vel, dtype=bool)
        for i in range(1, len(t.parent)):
            joint[t.o_eta[i] : t.o_qd[i]] = True
        return np.flatnonzero(joint & (t.driven < 0))

    def at(self, time: float) -> Array:
        """Positions, speeds and accelerations at a time, and the forces that they take; returns `acc`."""
        state, free, ev = self.state, self._free(), self.evaluator
        ahead = state.vel * (time - state.t)
        add_increment(ev.tables, state.pos.copy(), np.where(np.isfinite(ahead), ahead, 0.0), state.pos)
        state.t = float(time)
        self._close(free)
        state.vel[:] = 0.0
        G = ev.jacobian(state)
        state.vel[free] = -_least(G[:, free], ev.ws.g_dot)
        self._check(G, free)
        acc = np.zeros(self.system.n_vel)
        ev.kinematics(state, acc)
        acc[free] = -_least(G[:, free], ev.ws.g_ddot)
        state.turns[:] = ev.ws.ent[:, 0]
        self._forces(G, free, acc)
        return acc

    def _close(self, free: Ints) -> None:
        """Positions that meet the constraints, nearest to those predicted."""
        state, ev, change = self.state, self.evaluator, np.zeros(self.system.n_vel)
        for _ in range(40):
            G = ev.jacobian(state)
            g = ev.ws.g.copy()
            change[free] = -_least(G[:, free], g)
            if np.abs(g).max(initial=0.0) < 1e-13 and np.abs(change).max(initial=0.0) < 1e-13:
                return
            before = state.pos.copy()
            add_increment(ev.tables, before, change, state.pos)
            if np.abs(change).max(initial=0.0) < 1e-13:
                return
        if np.abs(g).max() > 1e-9:
            self._fail("positions", g)

    def _check(self, G: Array, free: Ints) -> None:
        """Speeds must keep the constraints; count the freedoms that are left."""
        ev = self.evaluator
        s = np.linalg.svd(G[:, free], compute_uv=False) if len(G) else np.zeros(0)
        rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if len(s) and s[0] > 0.0 else 0
        self.idle = len(free) - rank
        ev.kinematics(self.state)
        speed = float(np.abs(self.state.vel).max(initial=0.0))
        if np.abs(ev.ws.g_dot).max(initial=0.0) > 1e-7 * max(1.0, speed):
            self._fail("speeds", ev.ws.g_dot)

    def _fail(self, what: str, g: Array) -> None:
        worst = int(np.argmax(np.abs(g)))
        name = row_names(self.system)[worst]
        raise SolverError(
            Diagnostic(
                "kinematics.open",
                f"t = {self.state.t:.6g} s",
                f"{name} cannot follow the drives: {what} miss by {abs(g[worst]):.3g}",
                "the drives contradict each other, or lead past a dead point",
            )
        )

    def _forces(self, G: Array, free: Ints, acc: Array) -> None:
        """Multipliers that hold the joint coordinates in this motion, then reactions and efforts (F36)."""
        ev, state, ws = self.evaluator, self.state, self.evaluator.ws
        missing = ev.tree_forces(state, acc)
        lam = -_least(G[:, free].T, missing[free])
        args = ev._args(state, acc)
        evaluate.kinematics(*args)
        evaluate.forces(*args)
        shared = len(lam) > 0 and evaluate.eliminate(*args[:4], 0.0, 0.0) == 0 and bool(ws.redundant.any())
        if shared:
            self_stress(ev.tables, ws)
            evaluate.kinematics(*args)
        evaluate.forces(*args)
        ws.row_force[:] = lam
        reactions(ev.tables, ws)
        if shared:
            share_forces(ev.tables, ws, ev.tables.length[0])


def _least(G: Array, g: Array) -> Array:
    """Least-norm least-squares solution of G x = g, small singular values left out."""
    if not G.size:
        return np.zeros(G.shape[1])
    return np.asarray(np.linalg.lstsq(G, g, rcond=RANK_TOLERANCE)[0], dtype=np.float64)


def measured_drive(
    name: str, joint: str, coordinate: str | None, times: ArrayLike, values: ArrayLike
) -> Drive:
    """A drive along measured values: cubic spline, twice differentiable (F36)."""
    spline = spline_through(np.asarray(times, dtype=float), np.asarray(values, dtype=float))
    tree = Node("table", (Node("name", text="t"),), text=name)
    return Drive(
        name=name, joint=joint, coordinate=coordinate, position=Expression(name, tree, {name: spline})
    )
