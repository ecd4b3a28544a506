"""Given initial values that the start of a case does not have (F34)."""

from __future__ import annotations

import numpy as np

from flexmbs.case.case import Case
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.mechanism import Mechanism
from flexmbs.errors import Diagnostics
from flexmbs.model.attitudes import drives_ball
from flexmbs.model.state import State
from flexmbs.spatial import log_so3, quat_to_matrix

#: turn, and part of a speed, by which a start is another one
OTHER = 1e-3


def warn_start(case: Case, system: Mechanism, state: State, problems: Diagnostics) -> None:
    """Given initial values that assembly had to change."""
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    prescribed = {drive.joint for drive in system.model.drives.values()}
    found = {"position": evaluator.ws.coord_x, "velocity": evaluator.ws.coord_v}
    for c in system.coordinates:
        joint = system.model.joints.get(c.joint)
        for key, values in found.items():
            asked = None if joint is None else getattr(joint, key)
            if asked is None or joint is None or c.name not in joint.coordinates:
                continue
            number = joint.coordinates.index(c.name)
            given, got = float(asked[number]), float(values[c.number])
            if abs(got - given) > OTHER * max(1.0, abs(given)):
                where = case.source.where(("joints", c.joint, "initial", key))
                what = f"joints.{c.joint}: the loop closes at {c.name} = {got:.6g}, given was {given:.6g}"
                if key == "velocity":
                    what = f"joints.{c.joint}: {c.name} begins with {got:.6g}, given was {given:.6g}"
                remedy = "its drive gives it" if c.joint in prescribed else "set hold = true to keep it"
                problems.warn("assembly.moved", where, what, remedy)
    for drive in system.model.drives.values():
        if drives_ball(system.model.joints[drive.joint], drive.coordinate):
            _warn_ball(case, system, evaluator, drive.joint, problems)


def _warn_ball(case: Case, system: Mechanism, evaluator: Evaluator, name: str, problems: Diagnostics) -> None:
    """The same of a driven ball."""
    joint, ws, place = system.model.joints[name], evaluator.ws, system.joints[name]
    P, Q = place.P.number, place.Q.number
    R, w = ws.mark_R[P].T @ ws.mark_R[Q], ws.mark_R[Q].T @ (ws.mark_v[Q, 3:] - ws.mark_v[P, 3:])
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
            problems.warn("assembly.moved", where, what, "its drive gives it")
