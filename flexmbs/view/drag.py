"""A point of a mechanism that follows the hand along its freedoms: assembly in the loop (F34)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.closure import closure_limits, model_size
from flexmbs.dynamics.analyses.mobility import joint_speeds
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.mechanism import joint_coordinates
from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.bodies import Particle
from flexmbs.spatial import quat_from_matrix

if TYPE_CHECKING:
    from flexmbs.dynamics.mechanism import Mechanism
    from flexmbs.model.state import State

Array = NDArray[np.float64]

STEPS, CLOSING = 4, 12
TURN = 0.25  # [rad], or of the size of the model: the largest step of a coordinate
NEAR = 1e-6  # of the size of the model: where it has arrived
RANK = 1e-8


class Drag:
    """Moves the joint coordinates of a mechanism, driven ones and elastic coordinates excepted."""

    def __init__(self, system: Mechanism, state: State) -> None:
        self.system, self.state = system, state.copy()
        self.evaluator = system.evaluator()
        self.evaluator.kinematics(self.state)
        t = system.tables
        self.free = np.flatnonzero(joint_speeds(system) & (t.tree.driven < 0))
        self.size = model_size(system)
        self.limits = np.maximum(closure_limits(system), 1e-12 * self.size)
        self.vel = state.vel.copy()
        if not len(self.free):
            what, remedy = "nothing can be dragged: every joint is driven or fixed", "take a drive out"
            raise InputError(Diagnostic("view.drag", "model", what, remedy))

    def to(self, body: str, place: Array, target: Array, along: Array | None = None) -> float:
        """Bring a point of a body, given in its axes, towards a point of ground; returns what is left.

        `along`: a direction in which it may be anywhere, as that of the eye.
        """
        seen = np.eye(3) if along is None else np.eye(3) - np.outer(along, along) / (along @ along)

        def missing() -> float:
            return float(np.linalg.norm(seen @ (target - self.point(body, place))))

        left = missing()
        for _ in range(STEPS):
            if left <= NEAR * self.size:
                break
            change = self.step(body, place, target, seen)
            before = self.state.copy()
            for _ in range(5):
                if self.moved(change):
                    now = missing()
                    if now < left:
                        break
                self.back(before)
                change = 0.4 * change
            else:
                break
            done, left = left - now, now
            if done <= 1e-3 * left:
                break
        return left

    def point(self, body: str, place: Array) -> Array:
        i = self.system.bodies.index(body)
        ws = self.evaluator.ws
        return np.asarray(ws.body.r[i] + ws.body.R[i] @ place)

    def step(self, body: str, place: Array, target: Array, seen: Array) -> Array:
        """The least change of the free speeds that brings the point nearer and keeps the loops closed."""
        G = self.evaluator.jacobian(self.state)[:, self.free]
        Z = null_space(G)
        J = np.array([self.velocity(body, place, z) for z in Z]).reshape(-1, 3) - self.velocity(body, place)
        self.evaluator.kinematics(self.state)
        y = np.linalg.lstsq(seen @ J.T, seen @ (target - self.point(body, place)), rcond=1e-6)[0]
        change = y @ Z
        largest = float(np.abs(change).max(initial=0.0))
        return np.asarray(change * min(1.0, TURN * max(1.0, self.size) / max(largest, 1e-300)))

    def velocity(self, body: str, place: Array, speeds: Array | None = None) -> Array:
        """Of the point for some free speeds, all others as their laws have them."""
        trial = self.state.copy()
        trial.vel[:] = 0.0
        if speeds is not None:
            trial.vel[self.free] = speeds
        self.evaluator.kinematics(trial)
        i, ws = self.system.bodies.index(body), self.evaluator.ws
        v = ws.body.v[i]
        return np.asarray(v[:3] + np.cross(v[3:], ws.body.R[i] @ place))

    def moved(self, change: Array) -> bool:
        """Take a step, and close the loops again; whether they are."""
        self._add(change)
        for _ in range(CLOSING):
            g = self.evaluator.ws.row.g.copy()
            if not np.isfinite(g).all():
                return False
            if np.all(np.abs(g) <= 1e-3 * self.limits):
                break
            G = self.evaluator.jacobian(self.state)[:, self.free]
            self._add(-np.linalg.lstsq(G, g, rcond=RANK)[0])
        self.state.turns[:] = self.evaluator.ws.relation.angle[:, 0]
        return bool(np.all(np.abs(self.evaluator.ws.row.g) <= self.limits))

    def _add(self, change: Array) -> None:
        full = np.zeros(self.system.n_vel)
        full[self.free] = change
        add_increment(self.evaluator.tables, self.state.pos.copy(), full, self.state.pos)
        self.evaluator.kinematics(self.state)

    def back(self, state: State) -> None:
        self.state = state.copy()
        self.evaluator.kinematics(self.state)

    def initial(self) -> dict[tuple[str, ...], object]:
        """The pose as initial values by their path in a case: of joints, and of bodies that stand free."""
        ws, model, found = self.evaluator.ws, self.system.model, dict[tuple[str, ...], object]()
        tree = self.state.pos, self.state.vel, np.zeros(self.system.n_vel)
        driven = {drive.joint for drive in model.drives.values()}
        for name, place in self.system.joints.items():
            if name not in model.joints or name in driven:
                continue
            position = joint_coordinates(ws, tree, place)[0]
            if len(position):
                found["joints", name, "initial", "position"] = plain(position)
        bases = [
            b.body for b in self.system.topology.branches if model.joints.get(b.joint.name) is not b.joint
        ]
        for body in bases:
            i = self.system.bodies.index(body)
            found["bodies", body, "initial", "pos"] = plain(ws.body.r[i], always=True)
            if isinstance(model.bodies[body], Particle):
                continue
            rot = {"quaternion": plain(quat_from_matrix(ws.body.R[i]))}
            found["bodies", body, "initial", "rot"] = rot
        return found


def plain(values: Array, always: bool = False) -> object:
    """A number, or a list of several; rounding becomes zero."""
    size = max(1.0, float(np.abs(values).max(initial=0.0)))
    listed = [0.0 if abs(x) < 1e-13 * size else float(x) for x in values]
    return listed if always or len(listed) > 1 else listed[0]


def null_space(G: Array) -> Array:
    """Speeds in rows that open no loop."""
    length = np.linalg.norm(G, axis=1)
    G = G[length > 0.0] / length[length > 0.0, None]
    if not len(G):
        return np.eye(G.shape[1])
    _, s, Vt = np.linalg.svd(G)
    return np.asarray(Vt[int(np.sum(s > RANK * max(1.0, float(s[0])))) :])
