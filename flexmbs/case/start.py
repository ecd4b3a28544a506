"""Given initial values that the start of a case does not have (F34)."""

from __future__ import annotations

import numpy as np

from flexmbs.case.case import Case
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.mechanism import Mechanism
from flexmbs.errors import Diagnostics
from flexmbs.model.state import State
from flexmbs.spatial import log_so3, quat_to_matrix

#: turn, part of a length of the model, and part of a speed by which a start is another one; a place far from
#: the origin is as well known as one near it
OTHER = 1e-3
KEEP = "set hold = true to keep it"


def warn_start(case: Case, system: Mechanism, state: State, problems: Diagnostics) -> None:
    """Given initial values that assembly had to change."""
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    prescribed = {drive.joint for drive in system.model.drives.values()}
    length = min(1.0, float(system.tables.length[0]))
    found = {"position": evaluator.ws.coord.x, "velocity": evaluator.ws.coord.v}
    for c in system.coordinates:
        joint = system.model.joints.get(c.joint)
        for key, values in found.items():
            asked = None if joint is None else getattr(joint, key)
            if asked is None or joint is None or c.name not in joint.coordinates:
                continue
            number = joint.coordinates.index(c.name)
            given, got = float(asked[number]), float(values[c.number])
            size = 1.0 if c.is_angle else length
            if abs(got - given) > OTHER * (max(size, abs(given)) if key == "velocity" else size):
                where = case.source.where(("joints", c.joint, "initial", key))
                what = f"joints.{c.joint}: the loop closes at {c.name} = {got:.6g}, given was {given:.6g}"
                if key == "velocity":
                    what = f"joints.{c.joint}: {c.name} begins with {got:.6g}, given was {given:.6g}"
                remedy = "its drive gives it" if c.joint in prescribed else KEEP
                problems.warn("assembly.moved", where, what, remedy)
    for name, joint in system.model.joints.items():
        if any(item.axis < 0 for item in joint.motion or ()):
            remedy = "its drive gives it" if name in prescribed else KEEP
            _warn_ball(case, system, evaluator, name, remedy, problems)
    for name, body in system.model.bodies.items():
        if body.initial is not None:
            _warn_body(case, system, evaluator, name, length, problems)


def moved(case: Case, system: Mechanism, state: State) -> list[str]:
    """The same as texts, for a run."""
    problems = Diagnostics()
    warn_start(case, system, state, problems)
    return [f"{item.what}; {item.remedy}" for item in problems.items]


def _warn_ball(
    case: Case, system: Mechanism, evaluator: Evaluator, name: str, remedy: str, problems: Diagnostics
) -> None:
    """The same of a ball."""
    joint, ws, place = system.model.joints[name], evaluator.ws, system.joints[name]
    P, Q = place.P.number, place.Q.number
    R, w = ws.marker.R[P].T @ ws.marker.R[Q], ws.marker.R[Q].T @ (ws.marker.v[Q, 3:] - ws.marker.v[P, 3:])
    found = {}
    if joint.position is not None:
        turn = log_so3(quat_to_matrix(np.array(joint.position[-4:], dtype=float)).T @ R)
        found["position"] = (float(np.linalg.norm(turn)), 1.0, "is turned from the given rotation by")
    if joint.velocity is not None:
        given = np.array(joint.velocity[-3:], dtype=float)
        off, size = float(np.linalg.norm(w - given)), float(np.linalg.norm(given))
        found["velocity"] = (off, max(1.0, size), "differs from the given angular velocity by")
    for key, (off, size, words) in found.items():
        if off > OTHER * size:
            where = case.source.where(("joints", name, "initial", key))
            what = f"joints.{name}: the start {words} {off:.6g} rad{'/s' if key == 'velocity' else ''}"
            problems.warn("assembly.moved", where, what, remedy)


def _warn_body(
    case: Case, system: Mechanism, evaluator: Evaluator, name: str, length: float, problems: Diagnostics
) -> None:
    """The same of a body without a joint in the tree: its place, rotation and velocities."""
    table, start = case.spec.bodies[name].initial, system.model.bodies[name].initial
    if table is None or start is None:
        return
    ws, i = evaluator.ws, system.bodies.index(name)
    to = np.eye(3) if start.frame == "ground" else ws.body.R[i].T
    turn = np.eye(3) if start.rot is None else np.asarray(start.rot)
    found = {
        "pos": (ws.body.r[i], start.pos, "position", length),
        "rot": (log_so3(turn.T @ ws.body.R[i]), np.zeros(3), "turn from the given rotation", 1.0),
        "velocity": (to @ ws.body.v[i, :3], start.velocity, "velocity", length),
        "angular_velocity": (to @ ws.body.v[i, 3:], start.angular_velocity, "angular velocity", 1.0),
    }
    for key in [key for key in found if key in table.model_fields_set]:
        got, asked, words, size = found[key]
        given = np.asarray(asked, dtype=float)
        if key in ("velocity", "angular_velocity"):
            size = max(size, float(np.abs(given).max()))
        if np.abs(got - given).max() > OTHER * size:
            where = case.source.where(("bodies", name, "initial", key))
            what = f"bodies.{name}: begins with {words} {_list(got)}, given was {_list(given)}"
            problems.warn("assembly.moved", where, what, "its joints leave no room for what was given")


def _list(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.6g}" for x in np.round(values, 12) + 0.0) + "]"
