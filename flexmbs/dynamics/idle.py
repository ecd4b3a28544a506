"""Hidden degrees of freedom: bodies that may spin about the line through their joints (F28)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.model.joints.base import DISTANCE, EQUAL_TURN, OFFSET, SQUARE
from flexmbs.model.places import JointPlace
from flexmbs.model.rows import Entry, cut_group
from flexmbs.model.system import System

Array = NDArray[np.float64]

#: angle, in radians, by which joints may be off the line or a locked direction along it
OFF_LINE = 1e-9


def hidden_freedoms(system: System, evaluator: Evaluator) -> list[str]:
    """Bodies, alone or held together, between joints on one line that all let them spin about it.

    A body that ground or one neighbour alone holds in hinges is no such thing, that is how doors hang: there
    all joints must be balls. Nor is a body whose joints are driven or coupled.
    """
    used = {drive.joint for drive in system.model.drives.values()}
    for part in system.model.couplings.values():
        law = part.law(system.model)
        used |= {term.joint for term in law.terms} | {joint for joint, _ in law.of}
    found: dict[tuple[str, ...], str] = {}
    for bodies in candidates(system):
        ends = [p for p in system.joints.values() if (p.P.body in bodies) != (p.Q.body in bodies)]
        own = [p for p in ends if p.joint.name in system.model.joints]
        if len(own) < 2 or len(own) < len(ends) or used & {p.joint.name for p in own}:
            continue
        others = {p.Q.body if p.P.body in bodies else p.P.body for p in own}
        balls = all(p.joint.type_name == "spherical" for p in own)
        if (len(others) > 1 or balls) and is_new(bodies, found) and spins(system, evaluator, own):
            who = " and ".join(f"bodies.{body}" for body in bodies)
            names = " and ".join(f"joints.{p.joint.name}" for p in own)
            together = " together" if len(bodies) > 1 else ""
            found[bodies] = f"{who} may spin{together} about the line through {names}"
    return list(found.values())


def candidates(system: System) -> list[tuple[str, ...]]:
    """Bodies that may spin: alone, and as many as turn with each other, a strut of cylinder and rod, say.

    Joints that lock all turns, then those that lock two or three, hold bodies together; what ground so holds
    is left out.
    """
    found: list[tuple[str, ...]] = [(body,) for body in system.model.bodies]
    for least in (3, 2):
        held: dict[str, list[str]] = {body: [body] for body in ("ground", *system.model.bodies)}
        for place in system.joints.values():
            one, other = held[place.P.body], held[place.Q.body]
            locked = sum(relation.kind in (SQUARE, EQUAL_TURN) for relation in place.joint.locked)
            if locked >= least and one is not other:
                one += other
                held |= dict.fromkeys(other, one)
        found += [tuple(bodies) for bodies in held.values() if "ground" not in bodies]
    return list(dict.fromkeys(found))


def is_new(bodies: tuple[str, ...], found: Iterable[tuple[str, ...]]) -> bool:
    """Whether bodies that spin together are more than found ones that do, each for itself."""
    sets = [*(item for item in found if not set(item).isdisjoint(bodies)), bodies]
    members = sorted({body for item in sets for body in item})
    matrix = np.array([[body in item for body in members] for item in sets], dtype=float)
    return int(np.linalg.matrix_rank(matrix)) == len(sets)


def spins(system: System, evaluator: Evaluator, places: list[JointPlace]) -> bool:
    """Whether all joints stand on one line and none locks the turn about it."""
    x = evaluator.ws.mark_x
    at = np.array([x[p.Q.number] for p in places])
    along = at - at[0]
    far = int(np.argmax(np.linalg.norm(along, axis=1)))
    size = float(np.linalg.norm(along[far]))
    if not size > 1e-12:
        return False
    axis = along[far] / size
    if np.abs(np.cross(along, axis)).max() > OFF_LINE * size:
        return False
    turn = np.concatenate([np.cross(at[0], axis), axis])  # velocity at the origin of ground, angular velocity
    for place in places:
        for row in cut_group(place.joint, place.P, place.Q, system.model.bodies).rows:
            for _, entry in row.entries:
                if abs(entry_wrench(entry, evaluator) @ turn) > OFF_LINE * max(1.0, size):
                    return False
    return True


def entry_wrench(entry: Entry, evaluator: Evaluator) -> Array:
    """Wrench on Q of a unit multiplier of a relation, about the origin of ground; force, then moment."""
    ws = evaluator.ws
    P, Q = entry.P.number, entry.Q.number
    kind, a, b = entry.kind, entry.a, entry.b
    R_P, R_Q, r = ws.mark_R[P], ws.mark_R[Q], ws.mark_x[Q]
    force, moment = np.zeros(3), np.zeros(3)
    if kind == OFFSET:
        force = R_P[:, a]
    elif kind == DISTANCE:
        d = r - ws.mark_x[P]
        force = d / max(float(np.linalg.norm(d)), 1e-300)
    elif kind == SQUARE:
        moment = np.cross(R_Q[:, b], R_P[:, a])
    elif kind == EQUAL_TURN:  # x_P.y_Q - y_P.x_Q
        moment = np.cross(R_Q[:, b], R_P[:, a]) - np.cross(R_Q[:, a], R_P[:, b])
    else:
        force, moment = R_P[:, a], -entry.value * R_P[:, a]
    return np.concatenate([force, moment + np.cross(r, force)])
