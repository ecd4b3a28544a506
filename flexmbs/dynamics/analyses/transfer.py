"""A state in the coordinates of another numbering of the same model: other cuts, or dependent coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.guess import motion_values
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.model.rows import no_turns
from flexmbs.model.state import State

if TYPE_CHECKING:
    from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]


def transfer(source: System, state: State, target: System) -> State:
    """Positions and speeds of `target` that give all bodies the poses and velocities of `state`."""
    first, second = Evaluator(source), Evaluator(target)
    first.kinematics(state.copy())
    pos, vel = np.zeros(target.n_pos), np.zeros(target.n_vel)
    t, s = target.tables, source.tables
    for name, i in target.numbers.index.items():
        k, nf = source.numbers.index[name], int(t.body.nf[i])
        pos[t.body.o_q[i] : t.body.o_q[i] + nf] = state.pos[s.body.o_q[k] : s.body.o_q[k] + nf]
        vel[t.tree.o_qd[i] : t.tree.o_qd[i] + nf] = state.vel[s.tree.o_qd[k] : s.tree.o_qd[k] + nf]
    pos[t.prim.ball_beta] = 1.0
    out = State(state.t, pos, vel, state.aux.copy(), no_turns(t.relation.kind))
    second.kinematics(out)
    _positions(source, first, target, second, out)
    second.kinematics(out)
    _turns(source, first, state, target, second, out)
    _speeds(source, first, target, second, out)
    target.tables.row.const[:] = _constants(source, target)
    second.kinematics(out)
    out.turns[:] = second.ws.relation.angle[:, 0]
    return out


def _positions(source: System, first: Evaluator, target: System, second: Evaluator, out: State) -> None:
    """Joint coordinates of the target's tree from the poses of its markers in their bodies."""
    for place in target.joints.values():
        if not place.body:
            continue
        ends = []
        for marker in (place.P, place.Q):
            k = source.numbers.index[marker.body]
            r, R = first.ws.body.r[k], first.ws.body.R[k]
            ends.append((r + R @ second.ws.marker.u[marker.number], R @ second.ws.marker.Rl[marker.number]))
        (x_P, R_P), (x_Q, R_Q) = ends
        values = motion_values(place.joint.motion, R_P.T @ (x_Q - x_P), R_P.T @ R_Q)
        out.pos[place.pos : place.pos + place.joint.n_beta] = values


def _coordinates(system: System, evaluator: Evaluator) -> dict[tuple[str, str], float]:
    return {(c.joint, c.name): float(evaluator.ws.coord.x[c.number]) for c in system.coordinates}


def _turns(
    source: System, first: Evaluator, state: State, target: System, second: Evaluator, out: State
) -> None:
    """Whole turns of angles as in the source."""
    known = _coordinates(source, first)
    for c in target.coordinates:
        if (c.joint, c.name) in known:
            value = known[c.joint, c.name]
            if c.entry is not None:
                out.turns[c.entry.number] = value
            elif _is_angle(target.joints.get(c.joint), c.name):
                now = out.pos[c.pos]
                out.pos[c.pos] = now + 2.0 * np.pi * np.round((value - now) / (2.0 * np.pi))


def _is_angle(place: JointPlace | None, name: str) -> bool:
    return place is not None and any(
        m.name == name and m.turn and not m.travel for m in place.joint.motion or ()
    )


def _speeds(source: System, first: Evaluator, target: System, second: Evaluator, out: State) -> None:
    """Speeds of the target's tree, joint by joint, from the relative motion of its markers."""
    known = out.vel.copy()
    second.kinematics(out)
    for i, name in enumerate(target.bodies):
        if not i:
            continue
        k = source.numbers.index[name]
        lo, hi = int(target.tables.tree.o_eta[i]), int(target.tables.tree.o_qd[i])
        # velocity of body i with the joint's speeds at zero, all bodies before it as in the source
        out.vel[lo:hi] = 0.0
        second.kinematics(out)
        miss = first.ws.body.v[k] - second.ws.body.v[i]
        H = second.ws.tree.H[lo:hi]
        out.vel[lo:hi] = np.linalg.lstsq(H.T, miss, rcond=None)[0] if hi > lo else 0.0
    out.vel[:] = np.where(np.isfinite(out.vel), out.vel, known)
    second.kinematics(out)


def _constants(source: System, target: System) -> Array:
    """Constants that couplings took at the start."""
    known = {
        (g.kind, g.name, k): source.tables.row.const[row.number]
        for g in source.groups
        for k, row in enumerate(g.rows)
    }
    values = target.tables.row.const.copy()
    for g in target.groups:
        for k, row in enumerate(g.rows):
            if row.constant_from_start:
                values[row.number] = known[g.kind, g.name, k]
    return values
