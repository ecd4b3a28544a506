"""Starts in a singular position: whether branches of the motion part there, and which one is chosen (F28).

At a loss of rank a null vector n of G^T puts a condition of second order on the velocities, n.gamma(v) = 0
with gamma the velocity terms of the twice differentiated rows. Where every v with G v = 0 fulfils it, there
are redundant rows wherever the mechanism goes. Where not, the position is a change point: the velocities that
fulfil it are the branches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.analyses.mobility import characteristic_length
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.null_spaces import null_spaces
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.speeds import speed_paths
from flexmbs.dynamics.tolerances import NOTHING
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.state import State

Array = NDArray[np.float64]

#: n.gamma(v) below this part of gamma(v) is zero
VANISHES = 1e-7
#: given velocities are taken onto a branch that is nearer than this part of them
BRANCH_NEAR = 0.05
#: rows and speeds are of size one: gamma below this is rounding where it vanishes everywhere
NO_GAMMA = 1e-3
DRAWS = 6


@dataclass
class ChangePoint:
    """A change point at the start: rows that lose their rank, speeds that choose, speeds on the branches.

    `velocity` (n_vel,): the start on the branch that is chosen; None where none is. `branches`: values or
    ratios of the speeds `names` on each, where there are two and they are known; `isolated`: there is none.
    """

    rows: list[str]
    names: list[str]
    velocity: Array | None = None
    branches: list[Array] = field(default_factory=list)
    isolated: bool = False

    @property
    def what(self) -> str:
        """The finding in words."""
        text = f"the start is a singular position of {', '.join(self.rows)}"
        if self.isolated:
            return f"{text}: no motion leaves it, it only gives way infinitely little"
        chosen = "the velocity chooses one" if self.velocity is not None else "the velocities choose none"
        return f"{text}: branches of the motion part there, {chosen}"

    @property
    def remedy(self) -> str:
        """How to choose."""
        if self.isolated:
            return "start in another position"
        ratios = [" : ".join(f"{x:.6g}" for x in branch) for branch in self.branches]
        word = "in the ratio " if len(self.names) > 1 else ""
        listed = f", {word}{' or '.join(ratios)}" if ratios else ""
        return f"give initial velocities of {', '.join(self.names)}{listed}; or start beside the position"


def change_point(system: Any, state: State) -> ChangePoint | None:
    """The change point in which a state lies, if it does (F28)."""
    position = Position(system, state)
    if not position.null.shape[1] or not position.Z.shape[1]:
        return None
    conditions = position.conditions()
    if not conditions:
        return None
    velocity = position.on_branch(conditions)
    branches, isolated = position.branches(conditions)
    return ChangePoint(position.row_names(), position.names(), velocity, branches, isolated)


def choose_branch(system: Any, state: State, analysis: str) -> ChangePoint | None:
    """Put the velocity of a start in a change point on its branch; `SolverError` where it chooses none.

    A linear model needs a regular start; one state is what it is.
    """
    if analysis not in ("dynamics", "kinematics", "inverse_dynamics", "linearize"):
        return None
    found = change_point(system, state)
    if found is None:
        return None
    if found.velocity is not None and analysis != "linearize":
        state.vel[:] = found.velocity
        return found
    found = _by_joints(system, state) or found
    remedy = "start beside the position" if analysis == "linearize" else found.remedy
    raise SolverError(Diagnostic("start.change_point", "model", found.what, remedy))


def _by_joints(system: Any, state: State) -> ChangePoint | None:
    """The same in coordinates of joints where every body has its own: a case gives speeds of joints."""
    if not system.topology.absolute:
        return None
    from flexmbs.dynamics.mechanism import build

    tree = build(system.model)
    return change_point(tree, tree.state_like(system, state))


class Position:
    """G of the free speeds at a state, its null spaces, and the velocity terms gamma along its columns."""

    def __init__(self, system: Any, state: State) -> None:
        self.system, self.state, self.evaluator = system, state, Evaluator(system)
        self.rows = np.array(
            [r.number for g in system.groups if g.kind in ("joint", "coupling", "drive") for r in g.rows],
            dtype=np.int64,
        )
        self.free = np.flatnonzero(system.tables.tree.driven < 0)
        self.G = self.evaluator.jacobian(state.copy())
        length = characteristic_length(system, self.evaluator)
        moment = np.array([r.is_moment for g in system.groups for r in g.rows], dtype=bool)[self.rows]
        scaled = self.G[np.ix_(self.rows, self.free)] * np.where(moment, length, 1.0)[:, None]
        norms = np.linalg.norm(scaled, axis=1)
        norms = np.where(norms > 1e-12 * norms.max(initial=0.0), norms, 1.0)
        self.scale = np.where(moment, length, 1.0) / norms
        # by natural sizes, not their own: a row that vanishes towards a singular position stays small
        joints = np.array([g.kind == "joint" for g in system.groups for _ in g.rows], dtype=bool)[self.rows]
        self.natural = np.where(joints, np.where(moment, 1.0, 1.0 / length), self.scale)
        self.Z: Any
        self.null, self.Z = null_spaces(scaled / norms[:, None])

    def gamma(self, velocity: Array) -> Array:
        """Velocity terms of the rows, scaled; driven speeds by their law."""
        state = self.state.copy()
        state.vel[:] = velocity
        self.evaluator.kinematics(state)
        return self.evaluator.ws.row.g_ddot[self.rows] * self.scale

    def along(self, y: Array) -> Array:
        """Speeds Z y."""
        velocity = np.zeros(self.system.n_vel)
        velocity[self.free] = self.Z @ y
        return velocity

    def quadratic(self, y: Array) -> Array:
        """What gamma has of second order along Z y."""
        v = self.along(y)
        return 0.5 * (self.gamma(v) + self.gamma(-v)) - self.at_rest

    @cached_property
    def at_rest(self) -> Array:
        """Velocity terms where only driven speeds move."""
        return self.gamma(np.zeros(self.system.n_vel))

    def conditions(self) -> int:
        """Number of conditions of second order on the velocities: 0 where rows are redundant everywhere."""
        rng = np.random.default_rng(0)
        samples = [self.quadratic(y) for y in rng.normal(size=(DRAWS, self.Z.shape[1]))]
        self.size = max(NO_GAMMA, *(float(np.abs(q).max(initial=0.0)) for q in samples))
        found = np.array([self.null.T @ q for q in samples])
        return int(np.sum(np.linalg.svd(found, compute_uv=False) > VANISHES * self.size * DRAWS))

    def slope(self, velocity: Array) -> Array:
        """Derivative of n.gamma along Z: exact, as gamma is of second order."""
        columns = [
            self.null.T @ (self.gamma(velocity + v) - self.gamma(velocity - v)) / 2.0
            for v in (self.along(y) for y in np.eye(self.Z.shape[1]))
        ]
        return np.array(columns).T

    def on_branch(self, conditions: int) -> Array | None:
        """The velocity moved onto the branch that it is near to; None where it is near to none."""
        velocity = self.state.vel.copy()
        speed = float(np.linalg.norm(velocity[self.free]))
        for _ in range(20):
            left, slope = self.null.T @ self.gamma(velocity), self.slope(velocity)
            s = np.linalg.svd(slope, compute_uv=False)
            if np.sum(s > 1e-5 * self.size * max(speed, NOTHING)) < conditions or not speed:
                return None
            change = self.along(np.asarray(np.linalg.lstsq(slope, -left, rcond=1e-6)[0], dtype=np.float64))
            velocity = velocity + change
            if np.linalg.norm(velocity - self.state.vel) > BRANCH_NEAR * speed:
                return None
            if np.linalg.norm(change) < 1e-13 * speed:
                break
        rest = np.abs(self.null.T @ self.gamma(velocity)).max()
        return velocity if rest <= 1e-9 * max(self.size * speed**2, NOTHING) else None

    def branches(self, conditions: int) -> tuple[list[Array], bool]:
        """Speeds `names` on the branches, where one condition binds one or two; and whether there is none."""
        n = self.Z.shape[1]
        if conditions > 1 or n > 2:
            return [], False
        samples = [self.null.T @ self.quadratic(y) for y in (*np.eye(n), np.ones(n))]
        n_row = self.null @ np.linalg.svd(np.array(samples).T)[0][:, 0]
        inside = self.Z @ (self.Z.T @ self.state.vel[self.free])
        driven = self.state.vel.copy()
        driven[self.free] -= inside
        return self._pair(n_row) if n == 2 else self._along_one(n_row, driven)

    def _along_one(self, n_row: Array, driven: Array) -> tuple[list[Array], bool]:
        """Two velocities with the driven speeds as they are; without, the position is isolated."""
        z = self.along(np.ones(1))
        ends = [float(n_row @ self.gamma(driven + s * z)) for s in (-1.0, 0.0, 1.0)]
        roots = _real_roots(0.5 * (ends[0] + ends[2]) - ends[1], 0.5 * (ends[2] - ends[0]), ends[1])
        found = [(driven + y * z)[self.independent] for y in roots]
        moving = bool(np.abs(driven).max() > 0.0)
        return (found if moving else []), not found or not moving

    def _pair(self, n_row: Array) -> tuple[list[Array], bool]:
        """Ratios of two speeds on both branches; with driven speeds they depend on these and are left out."""
        form = np.array([[n_row @ self._mixed(a, b) for b in np.eye(2)] for a in np.eye(2)])
        roots = [np.array([y, 1.0]) for y in _real_roots(form[0, 0], 2.0 * form[0, 1], form[1, 1])]
        if abs(form[0, 0]) < 1e-9 * np.abs(form).max():
            roots.append(np.array([1.0, 0.0]))
        vectors = [self.along(y)[self.independent] for y in roots]
        ratios = [v / v[np.argmax(np.abs(v) > 1e-9 * np.abs(v).max())] for v in vectors]
        driven = len(self.free) < self.system.n_vel
        return ([] if driven else ratios), not vectors and not driven

    def _mixed(self, a: Array, b: Array) -> Array:
        return 0.5 * (self.quadratic(a + b) - self.quadratic(a) - self.quadratic(b))

    @property
    def independent(self) -> NDArray[np.int64]:
        """Speeds that choose a branch."""
        return Minimal(self.evaluator, self.state.copy()).split.ind

    def names(self) -> list[str]:
        """Joints of the independent speeds."""
        return speed_paths(self.system, self.independent)

    def row_names(self) -> list[str]:
        """Rows that gamma cannot reach, by the size of their part in the null vectors; three at most."""
        rng = np.random.default_rng(1)
        q = self.quadratic(rng.normal(size=self.Z.shape[1]))
        part = np.abs(self.null @ (self.null.T @ q)).reshape(-1)
        names = row_names(self.system)
        order = [k for k in np.argsort(-part) if part[k] > 1e-6 * part.max(initial=0.0)]
        return [names[self.rows[k]] for k in order[:3]]


def _real_roots(a: float, b: float, c: float) -> list[float]:
    """Real roots of a y^2 + b y + c, rounding of a double root forgiven."""
    scale = max(abs(a), abs(b), abs(c))
    if abs(a) <= 1e-9 * scale:
        return [-c / b] if abs(b) > 1e-9 * scale else []
    inside = b * b - 4.0 * a * c
    if inside < -1e-9 * scale * scale:
        return []
    root = float(np.sqrt(max(inside, 0.0)))
    return [(-b + root) / (2.0 * a), (-b - root) / (2.0 * a)]
