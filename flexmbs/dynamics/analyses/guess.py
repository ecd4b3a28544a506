"""First guess of the state, and how strongly each joint coordinate holds on to it (F34)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.bodies import GROUND, FlexibleBody
from flexmbs.model.rows import no_turns
from flexmbs.model.state import State
from flexmbs.spatial import log_so3, quat_from_matrix, quat_to_matrix

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.joints.base import Joint
    from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]

#: Priority of a value that is held, is given, comes from the poses, or that nobody asked for.
HELD, GIVEN, POSED, DEFAULT = 3, 2, 1, 0


@dataclass
class Guess:
    """State to start from, priorities by speed; `cut_targets`: coordinate, value, rate, their priorities."""

    state: State
    weight: NDArray[np.int64]
    speed_weight: NDArray[np.int64]
    held: list[int] = field(default_factory=list)
    cut_targets: list[tuple[int, float, float, int, int]] = field(default_factory=list)
    _moves: NDArray[np.bool_] | None = None

    def _jacobian(self, evaluator: Evaluator, numbers: list[int]) -> Array:
        """Rates of the coordinates of cut joints for unit speeds; which speeds move which stays the same."""
        if self._moves is None:
            self._moves = moved_by(evaluator, numbers)
        return coordinate_jacobian(evaluator, self.state, numbers, self._moves)

    def soft_rows(
        self, evaluator: Evaluator, start: State, free: NDArray[np.int64]
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows that pull the positions back to the guess, with their priorities."""
        away = difference(evaluator.system, start.pos, self.state.pos)
        A, b, level = np.eye(len(free)), -away[free], self.weight[free]
        if not self.cut_targets:
            return A, b, level
        numbers = [item[0] for item in self.cut_targets]
        J = self._jacobian(evaluator, numbers)
        values = np.array([item[1] for item in self.cut_targets]) - evaluator.ws.coord.x[numbers]
        cut = np.array([item[3] for item in self.cut_targets])
        return np.vstack([A, J[:, free]]), np.concatenate([b, values]), np.concatenate([level, cut])

    def soft_speed_rows(
        self, evaluator: Evaluator, free: NDArray[np.int64]
    ) -> tuple[Array, Array, NDArray[np.int64]]:
        """Rows that pull the speeds to those given, which the state holds, with their priorities."""
        A, b, level = np.eye(len(free)), np.zeros(len(free)), self.speed_weight[free]
        if not self.cut_targets:
            return A, b, level
        numbers = [item[0] for item in self.cut_targets]
        J = self._jacobian(evaluator, numbers)
        evaluator.kinematics(self.state)
        rates = np.array([item[2] for item in self.cut_targets]) - evaluator.ws.coord.v[numbers]
        cut = np.array([item[4] for item in self.cut_targets])
        return np.vstack([A, J[:, free]]), np.concatenate([b, rates]), np.concatenate([level, cut])


def difference(system: System, start: Array, pos: Array) -> Array:
    """The change v with start (+) v = pos."""
    t, out = system.tables, np.zeros(system.n_vel)
    places = np.flatnonzero(t.tree.vel_of_pos >= 0)
    out[t.tree.vel_of_pos[places]] = pos[places] - start[places]
    for b, e in zip(t.prim.ball_beta, t.prim.ball_eta, strict=True):
        out[e : e + 3] = log_so3(quat_to_matrix(start[b : b + 4]).T @ quat_to_matrix(pos[b : b + 4]))
    return out


def coordinate_jacobian(
    evaluator: Evaluator, state: State, numbers: list[int], moves: NDArray[np.bool_] | None = None
) -> Array:
    """Rates of joint coordinates for unit speeds, (coordinates, n_vel); `moves`: see `moved_by`.

    Speeds that move no coordinate in common are tried together, so that the cost grows with the size of the
    loops, not with their number.
    """
    moves = moved_by(evaluator, numbers) if moves is None else moves
    trial, J = state.copy(), np.zeros(moves.shape)
    trial.vel[:] = 0.0
    evaluator.kinematics(trial)
    at_rest = evaluator.ws.coord.v[numbers].copy()
    for speeds in apart(moves):
        trial.vel[:] = 0.0
        trial.vel[speeds] = 1.0
        evaluator.kinematics(trial)
        for k in speeds:
            own = moves[:, k]
            J[own, k] = (evaluator.ws.coord.v[numbers] - at_rest)[own]
    evaluator.kinematics(state)
    return J


def moved_by(evaluator: Evaluator, numbers: list[int]) -> NDArray[np.bool_]:
    """Which speeds may move which joint coordinates: those on the path of their joint's loop."""
    system, t = evaluator.system, evaluator.tables
    group = {g.name: k for k, g in enumerate(system.groups) if g.kind == "joint"}
    moves = np.zeros((len(numbers), system.n_vel), dtype=bool)
    groups, bodies = system.passed
    starts = np.searchsorted(groups, np.arange(len(system.groups) + 1))
    for row, number in enumerate(numbers):
        g = group.get(system.coordinates[number].joint)
        if g is None:
            moves[row] = True
            continue
        for i in bodies[starts[g] : starts[g + 1]]:
            moves[row, t.tree.o_eta[i] : t.tree.o_eta[i + 1]] = True
    moves[:, t.tree.driven >= 0] = False
    return moves


def apart(moves: NDArray[np.bool_]) -> list[list[int]]:
    """Sets of speeds that move no coordinate in common."""
    sets: list[list[int]] = []
    taken: list[set[int]] = []
    for k in np.flatnonzero(moves.any(axis=0)):
        own = set(np.flatnonzero(moves[:, k]).tolist())
        place = next((n for n, rows in enumerate(taken) if rows.isdisjoint(own)), len(sets))
        if place == len(sets):
            sets.append([])
            taken.append(set())
        sets[place].append(int(k))
        taken[place] |= own
    return sets


def first_guess(system: System, evaluator: Evaluator) -> Guess:
    """Given initial values, else those of the poses, else zero."""
    t = system.tables
    state = State(
        0.0,
        np.zeros(system.n_pos),
        np.zeros(system.n_vel),
        initial_aux(system),
        no_turns(t.relation.kind),
    )
    state.pos[t.prim.ball_beta] = 1.0
    guess = Guess(state, np.full(system.n_vel, DEFAULT), np.full(system.n_vel, DEFAULT))
    _elastic(system, state)
    # poses of markers in their bodies at these q
    evaluator.kinematics(state)
    local = evaluator.ws.marker.u.copy(), evaluator.ws.marker.Rl.copy()
    for name, place in system.joints.items():
        base = name not in system.model.joints
        if place.body:
            _tree_joint(system, guess, place, local, base)
        else:
            _cut_joint(system, guess, place, local)
    return guess


def initial_aux(system: System) -> Array:
    """Own states at their initial values, then values of drives that are given by their rates."""
    values = [float(item.initial) for item in system.model.states.values()]
    return np.array([*values, *system.law_starts], dtype=float)


def _elastic(system: System, state: State) -> None:
    t = system.tables
    for i, name in enumerate(system.bodies):
        body = system.model.bodies.get(name)
        if isinstance(body, FlexibleBody):
            for target, given, o in (
                (state.pos, body.q, t.body.o_q[i]),
                (state.vel, body.q_dot, t.tree.o_qd[i]),
            ):
                target[o : o + len(given)] = np.asarray(given, dtype=float)


def _pose(system: System, body: str) -> tuple[Array, Array] | None:
    """Pose of a body in ground, where it is given."""
    if body == GROUND:
        return np.zeros(3), np.eye(3)
    part = system.model.bodies[body]
    start = part.initial
    if start is not None and (start.pos is not None or start.rot is not None):
        pos = part.pose_pos if start.pos is None else start.pos
        rot = part.pose_rot if start.rot is None else start.rot
        return np.asarray(pos, dtype=float), np.asarray(rot, dtype=float)
    if not part.pose_given:
        return None
    return np.asarray(part.pose_pos, dtype=float), np.asarray(part.pose_rot, dtype=float)


def relative_pose(system: System, place: JointPlace, local: Any) -> tuple[Array, Array] | None:
    """Place and orientation of Q in P from the poses of the bodies, where both are given."""
    ends = []
    for marker in (place.P, place.Q):
        pose = _pose(system, marker.body)
        if pose is None:
            return None
        u, R = local[0][marker.number], local[1][marker.number]
        ends.append((pose[0] + pose[1] @ u, pose[1] @ R))
    (x_P, R_P), (x_Q, R_Q) = ends
    return R_P.T @ (x_Q - x_P), R_P.T @ R_Q


def motion_values(motion: Any, d: Array, R: Array) -> Array:
    """Coordinates of an explicit face from the pose of Q in P, which may be off its constraints."""
    turns = [item for item in motion if item.axis >= 0 and item.turn != 0.0]
    values: list[float] = []
    for item in motion:
        if item.axis < 0:
            values += list(quat_from_matrix(R))
        elif item.turn == 0.0:
            values.append(float(d[item.axis]))
        elif len(turns) == 1:
            i, j = (item.axis + 1) % 3, (item.axis + 2) % 3
            angle = float(np.arctan2(R[j, i], R[i, i]))
            if item.travel:  # a screw: the turn nearest to its travel
                angle += 2.0 * np.pi * np.round((d[item.axis] / item.travel - angle) / (2.0 * np.pi))
            values.append(angle)
        else:
            a, b = turns[0].axis, turns[1].axis
            c, sign = 3 - a - b, 1.0 if (b - a) % 3 == 1 else -1.0
            first = item is turns[0]
            pair = (sign * R[c, b], R[b, b]) if first else (sign * R[a, c], R[a, a])
            values.append(float(np.arctan2(*pair)))
    return np.array(values)


def _tree_joint(system: System, guess: Guess, place: JointPlace, local: Any, base: bool) -> None:
    joint, state = place.joint, guess.state
    pos = slice(place.pos, place.pos + joint.n_beta)
    vel = slice(place.vel, place.vel + joint.n_eta)
    if base:
        _base(system, guess, place, local, pos, vel)
        return
    if joint.position is not None:
        state.pos[pos] = np.asarray(joint.position, dtype=float)
        guess.weight[vel] = GIVEN
    elif joint.point is None:
        pose = relative_pose(system, place, local)
        if pose is not None:
            state.pos[pos] = motion_values(joint.motion, *pose)
            guess.weight[vel] = POSED
    if joint.velocity is not None:
        state.vel[vel] = np.asarray(joint.velocity, dtype=float)
        guess.speed_weight[vel] = GIVEN
    if joint.hold:
        guess.held += list(range(vel.start, vel.stop))


def _base(system: System, guess: Guess, place: JointPlace, local: Any, pos: slice, vel: slice) -> None:
    """Pose and velocity of a body without joint in the tree; ground is P, the body frame is Q."""
    body = system.model.bodies[place.Q.body]
    pose = _pose(system, place.Q.body) or (np.zeros(3), np.eye(3))
    given = body.initial is not None or body.pose_given
    state, start = guess.state, body.initial
    u, R = local[0][place.Q.number], local[1][place.Q.number]
    d, R_Q = pose[0] + pose[1] @ u, pose[1] @ R
    state.pos[pos] = motion_values(place.joint.motion, d, R_Q)
    guess.weight[vel] = GIVEN if body.initial is not None else POSED if given else DEFAULT
    if start is None:
        return
    v, w = np.asarray(start.velocity, dtype=float), np.asarray(start.angular_velocity, dtype=float)
    if start.frame == "body":
        v, w = pose[1] @ v, pose[1] @ w
    state.vel[vel] = np.concatenate([v, R_Q.T @ w])[: vel.stop - vel.start]
    guess.speed_weight[vel] = GIVEN


def _cut_joint(system: System, guess: Guess, place: JointPlace, local: Any) -> None:
    """Cut joints hold on to their scalar coordinates like those of the tree."""
    joint = place.joint
    pose = None if joint.point is not None else relative_pose(system, place, local)
    values, weight = np.zeros(len(place.coordinates)), DEFAULT
    scalar = [item for item in joint.motion or () if item.axis >= 0]
    if joint.position is not None and scalar:
        values, weight = scalars(joint, joint.position, 4), GIVEN
    elif pose is not None:
        values, weight = motion_values(scalar, *pose), POSED
    rates, rate_weight = np.zeros(len(place.coordinates)), DEFAULT
    if joint.velocity is not None and scalar:
        rates, rate_weight = scalars(joint, joint.velocity, 3), GIVEN
    if joint.hold:
        weight = rate_weight = HELD
    for c, value, rate in zip(place.coordinates, values, rates, strict=True):
        assert c.entry is not None
        guess.state.turns[c.entry.number] = value
        guess.cut_targets.append((c.number, float(value), float(rate), weight, rate_weight))


def scalars(joint: Joint, values: Sequence[float], ball: int) -> Array:
    """The values of scalar coordinates among all of a joint, of which those of a ball are `ball` many."""
    items = joint.motion or ()
    kept = np.concatenate([np.full(ball if item.axis < 0 else 1, item.axis >= 0) for item in items])
    return np.asarray(values, dtype=float)[kept]
