"""Self-stress: what the null space of G^T says about the reactions of redundant joints (F28)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.reactions import stress_wrenches
from flexmbs.model.rows import Row
from flexmbs.model.system import JointPlace, System

Array = NDArray[np.float64]

#: a reaction component is open where its share of a self-stress is above this
OPEN = 1e-6


def open_reactions(
    system: System, evaluator: Evaluator, rows: list[Row], stress: Array, length: float
) -> list[str]:
    """Joints and couplings that a self-stress loads, with the directions that stay open (F28)."""
    loads = stress_of_joints(evaluator, [row.number for row in rows], stress)
    size = np.abs(loads.reshape(-1, 2, 3, loads.shape[1])).max(axis=(0, 2), initial=0.0)
    loads /= np.maximum(np.maximum(size[0], size[1] / length), 1e-300)
    found = []
    for j, (name, place) in enumerate(system.joints.items()):
        text = open_directions(place, evaluator, loads[6 * j : 6 * j + 6], length)
        if text:
            found.append(f"joints.{name} ({text})")
    return found + open_couplings(system, rows, stress)


def open_couplings(system: System, rows: list[Row], stress: Array) -> list[str]:
    """Couplings whose force a self-stress changes."""
    size = np.abs(stress).max(axis=1, initial=0.0)
    own = {id(group.rows[0]): group.name for group in system.groups if group.kind == "coupling"}
    return [
        f"couplings.{own[id(row)]} (force)"
        for row, part in zip(rows, size, strict=True)
        if id(row) in own and part > OPEN * size.max()
    ]


def stress_of_joints(evaluator: Evaluator, rows: list[int], stress: Array) -> Array:
    """Wrenches (6 n_joints, states of self-stress) at the origins of Q; `stress` by the given rows."""
    multipliers = np.zeros((evaluator.system.n_rows, stress.shape[1]))
    multipliers[rows] = stress
    loads = np.zeros((6 * len(evaluator.system.joints), stress.shape[1]))
    for k in range(stress.shape[1]):
        out = np.zeros(len(loads))
        stress_wrenches(evaluator.tables, evaluator.ws, multipliers[:, k].copy(), out)
        loads[:, k] = out
    return loads


def open_directions(place: JointPlace, evaluator: Evaluator, wrench: Array, length: float) -> str:
    """Directions, in the axes of P, in which self-stresses load a joint; `wrench` over the largest force."""
    R = evaluator.ws.mark_R[place.P.number]
    force, moment = R.T @ wrench[:3], R.T @ wrench[3:]
    parts = []
    for word, values, unit in (("translation", force, 1.0), ("rotation", moment, length)):
        axes = [n for n, row in zip("xyz", values, strict=True) if np.abs(row).max(initial=0.0) > OPEN * unit]
        if axes:
            parts.append(f"{word} {', '.join(axes)}")
    return "; ".join(parts)
