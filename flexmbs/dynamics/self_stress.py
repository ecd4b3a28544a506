"""Self-stress: what the null space of G^T says about the reactions of redundant joints (F28)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.model.bodies import GROUND
from flexmbs.model.joints.base import DISTANCE, EQUAL_TURN, OFFSET, SQUARE
from flexmbs.model.rows import Entry, Row
from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]

#: a reaction component is open where its share of a self-stress is above this
OPEN = 1e-6


def open_reactions(
    system: System, evaluator: Evaluator, rows: list[Row], stress: Array, length: float
) -> list[str]:
    """Joints whose reactions a self-stress loads, with the directions that stay open (F28).

    A self-stress loads the cut joints by its multipliers, every tree joint by the sum of what acts outboard.
    """
    loads = body_wrenches(system, evaluator, rows, stress)
    index = {name: k for k, name in enumerate(system.bodies)}
    for branch in reversed(system.topology.branches):
        loads[index[branch.parent]] += loads[index[branch.body]]
    found = []
    for name, place in system.joints.items():
        if place.body:
            wrench = loads[place.body]
        else:
            wrench = cut_wrench(place, evaluator, rows, stress)
        text = open_directions(place, evaluator, wrench, length)
        if text:
            found.append(f"joints.{name} ({text})")
    return found


def body_wrenches(system: System, evaluator: Evaluator, rows: list[Row], stress: Array) -> Array:
    """Wrenches (body, 6, state of self-stress) about the origin of ground; ground is body 0."""
    index = {name: k for k, name in enumerate(system.bodies)}
    loads = np.zeros((len(system.bodies), 6, stress.shape[1]))
    for row, multipliers in zip(rows, stress, strict=True):
        for factor, entry in row.entries:
            part = factor * np.outer(entry_wrench(entry, evaluator), multipliers)
            loads[index[entry.Q.body] if entry.Q.body != GROUND else 0] += part
            loads[index[entry.P.body] if entry.P.body != GROUND else 0] -= part
    return loads


def cut_wrench(place: JointPlace, evaluator: Evaluator, rows: list[Row], stress: Array) -> Array:
    """Wrenches of a cut joint on its `to` side."""
    total = np.zeros((6, stress.shape[1]))
    own = {id(row) for row in place.group.rows} if place.group is not None else set()
    for row, multipliers in zip(rows, stress, strict=True):
        if id(row) in own:
            for factor, entry in row.entries:
                total += factor * np.outer(entry_wrench(entry, evaluator), multipliers)
    return total


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
        k = a
        force, moment = R_P[:, k], -entry.value * R_P[:, k]
    return np.concatenate([force, moment + np.cross(r, force)])


def open_directions(place: JointPlace, evaluator: Evaluator, wrench: Array, length: float) -> str:
    """Directions, in the axes of P, in which a self-stress loads a joint."""
    ws = evaluator.ws
    R, r = ws.mark_R[place.P.number], ws.mark_x[place.Q.number]
    force = R.T @ wrench[:3]
    moment = R.T @ (wrench[3:] - np.cross(r, wrench[:3], axis=0))
    scale = max(float(np.abs(wrench).max(initial=0.0)), 1e-300)
    parts = []
    for word, values, unit in (("translation", force, 1.0), ("rotation", moment, length)):
        axes = [
            n
            for n, row in zip("xyz", values, strict=True)
            if np.abs(row).max(initial=0.0) > OPEN * scale * unit
        ]
        if axes:
            parts.append(f"{word} {', '.join(axes)}")
    return "; ".join(parts)
