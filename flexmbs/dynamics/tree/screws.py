"""What joints lock and what they leave free: wrenches and twists, ground axes, at Q (F19)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.tolerances import NOTHING, RANK
from flexmbs.model.joints.base import DISTANCE, EQUAL_TURN, OFFSET, SLIDE, SQUARE
from flexmbs.model.places import JointPlace
from flexmbs.model.rows import ANGLE_SECOND, Entry, coordinate_entries, cut_group
from flexmbs.spatial import skew

Array = NDArray[np.float64]


def locked_wrenches(place: JointPlace, evaluator: Evaluator) -> Array:
    """Wrenches (n, 6) that a joint can bear, one for each relation that it locks; force, then moment at Q."""
    rows = cut_group(place.joint, place.P, place.Q, evaluator.system.model.bodies).rows
    found = [relation_wrench(entry, evaluator) for row in rows for _, entry in row.entries]
    return np.array(found).reshape(-1, 6)


def free_twists(place: JointPlace, evaluator: Evaluator) -> Array:
    """Basis (f, 6) of what a joint leaves free; velocity at the origin of ground, then angular velocity."""
    wrenches = locked_wrenches(place, evaluator)
    _, s, Vt = np.linalg.svd(wrenches)
    twists = Vt[int(np.sum(s > RANK)) :]
    v, w = twists[:, :3], twists[:, 3:]
    return np.hstack([v + w @ skew(evaluator.ws.marker.x[place.Q.number]).T, w])


def coordinate_wrenches(place: JointPlace, evaluator: Evaluator) -> dict[str, Array]:
    """Efforts (n, 6) on the coordinates of a joint, by name: what does no power there leaves them at rest."""
    found: dict[str, Array] = {}
    entries = iter(coordinate_entries(place.joint, place.P, place.Q))
    for item in place.joint.motion or ():
        ball = np.hstack([np.zeros((3, 3)), np.eye(3)])
        found[item.name] = ball if item.axis < 0 else relation_wrench(next(entries), evaluator)[None]
    return found


def relation_wrench(entry: Entry, evaluator: Evaluator) -> Array:
    """Wrench on Q of a unit multiplier of a relation, at Q's origin: force, then moment."""
    ws: Any = evaluator.ws
    P, Q = entry.P.number, entry.Q.number
    kind, a, b = entry.kind, entry.a, entry.b
    R_P, R_Q = ws.marker.R[P], ws.marker.R[Q]
    force, moment = np.zeros(3), np.zeros(3)
    if kind == OFFSET:
        force = R_P[:, a]
    elif kind == DISTANCE:
        d = ws.marker.x[Q] - ws.marker.x[P]
        force = d / max(float(np.linalg.norm(d)), NOTHING)
    elif kind == SQUARE:
        moment = skew(R_Q[:, b]) @ R_P[:, a]
    elif kind == EQUAL_TURN:  # x_P.y_Q - y_P.x_Q
        moment = skew(R_Q[:, b]) @ R_P[:, a] - skew(R_Q[:, a]) @ R_P[:, b]
    elif kind == SLIDE:
        force, moment = R_P[:, a], -entry.value * R_P[:, a]
    else:
        moment = R_Q[:, b] if kind == ANGLE_SECOND else R_P[:, a]
    return np.concatenate([force, moment])
