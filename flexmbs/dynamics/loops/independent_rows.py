"""Rows of cut joints that say nothing beside the others, wherever the mechanism may be (F28).

A revolute joint that closes a planar loop of revolute joints asks for five things, of which three hold
whatever the angles are. Such rows are found by trying: positions of all tree coordinates at random, off the
constraints, driven coordinates included. A combination of the rows of a joint with fixed factors whose value
and gradient vanish at several of them vanishes everywhere, since both are analytic. So leaving a row of it
out changes neither the motion nor the rank, at any place: change points stay what they are. Rows that depend
on others only where the loop is closed, as those of Bennett's linkage, do not pass the trial and are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import handle
from flexmbs.dynamics import evaluate
from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.loops.columns import plain_rows
from flexmbs.model.system import System

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

TRIALS = 6
#: what is left of a row beside the others: zero below this part of the size of the model, clear above that of
#: the row's own. Where any lies between, all rows of the joint are kept
FOLLOWS, CLEAR = 1e-12, 1e-2


def independent_rows(system: System) -> Flags:
    """Rows (n_rows,) that a motion needs; the others follow from them at every position (F28).

    All, where forces depend on how reactions are shared, where places travel, and where constants of
    couplings are taken from a start that may be yet to come.
    """
    t, kept = system.tables, np.ones(system.n_rows, dtype=bool)
    groups = _candidates(system)
    if not groups:
        return kept
    evaluator = Evaluator(system)
    rng, length = np.random.default_rng(0), float(t.length[0])
    trials: list[list[Array]] = [[] for _ in groups]
    per_speed, extent = np.where(_turns(system), 1.0, length), 1.0
    tables = _without_drives(system)
    for _ in range(TRIALS):
        _move(system, evaluator, tables, _anywhere(system, rng, length))
        extent = max(extent, float(np.abs(evaluator.ws.marker.x).max()) / length)
        for g, found in zip(groups, trials, strict=True):
            found.append(_rows_of(system, evaluator, g, per_speed, length))
    for g, found in zip(groups, trials, strict=True):
        kept[t.group.start[g] : t.group.start[g + 1]] = spanning(np.hstack(found), FOLLOWS * extent)
    return kept


def spanning(rows: Array, zero: float) -> Flags:
    """The rows, at least one, of which all others are combinations; all of them where that is not clear."""
    rest, chosen = rows.copy(), np.zeros(len(rows), dtype=bool)
    for _ in range(len(rows)):
        size = np.abs(rest).max(axis=1)
        k = int(np.argmax(size))
        if not size[k] < zero and not size[k] > CLEAR:
            return np.ones(len(rows), dtype=bool)
        if size[k] < zero:
            break
        chosen[k] = True
        for _ in range(2):  # twice is enough
            q = rest[k] / np.linalg.norm(rest[k])
            rest[~chosen] -= np.outer(rest[~chosen] @ q, q)
        rest[k] = 0.0
    chosen[0] |= not chosen.any()
    return chosen


def _candidates(system: System) -> list[int]:
    """Cut joints of rigid bodies with more than one row, all of which are sums of relations."""
    t = system.tables
    late = any(row.constant_from_start for group in system.groups for row in group.rows)
    if late or len(system.laws.tables.press_law) or np.any(t.marker.travel >= 0):
        return []
    groups, bodies = system.passed
    flexible = set(groups[t.body.nf[bodies] > 0].tolist())
    return [
        g
        for g, group in enumerate(system.groups)
        if group.kind == "joint"
        and len(group.rows) > 1
        and all(row.law is None and row.expression is None for row in group.rows)
        and g not in flexible
    ]


def _anywhere(system: System, rng: np.random.Generator, length: float) -> Array:
    """Positions of the tree: turns and rotations without bounds, travels of about a length, modes at rest."""
    t, pos = system.tables, np.zeros(system.n_pos)
    for axis, turn, beta in zip(t.prim.axis, t.prim.turn, t.prim.beta, strict=True):
        if axis < 0:
            quaternion = rng.standard_normal(4)
            pos[beta : beta + 4] = quaternion / np.linalg.norm(quaternion)
        else:
            pos[beta] = rng.uniform(-np.pi, np.pi) if turn != 0.0 else length * rng.standard_normal()
    return pos


def _without_drives(system: System) -> Any:
    """Tables of a tree whose coordinates no drive moves."""
    if np.all(system.tables.tree.driven < 0) and not len(system.tables.tree.attitude_pos):
        return system.constants[0]
    free = np.full(system.n_vel, -1, dtype=np.int64)
    tree = system.tables.tree._replace(driven=free, driven_pos=free, attitude_pos=free[:0])
    return handle(system.tables._replace(tree=tree), like=system.constants[0])


def _move(system: System, evaluator: Evaluator, tables: Any, pos: Array) -> None:
    """Rows and their gradients at positions of the tree, driven ones too."""
    ws, aux = evaluator.ws, np.zeros(system.n_aux)
    ws.relation.turn[:] = 0.0
    speeds, acc = np.zeros(system.n_vel), np.zeros(system.n_vel)
    at = 0.0, pos, speeds, aux, acc
    evaluator.call(evaluate.kinematics, tables, ws, evaluator.laws, evaluator.law_work, at)
    evaluator.call(plain_rows, tables, ws)


def _turns(system: System) -> Flags:
    """Which speeds of the tree are rotations."""
    t, turns = system.tables, np.zeros(system.n_vel, dtype=bool)
    for axis, turn, eta in zip(t.prim.axis, t.prim.turn, t.prim.eta, strict=True):
        turns[eta : eta + (3 if axis < 0 else 1)] = axis < 0 or turn != 0.0
    return turns


def _rows_of(system: System, evaluator: Evaluator, g: int, per_speed: Array, length: float) -> Array:
    """Values and gradients of the rows of group g, (rows, 1 + speeds of its path), without units."""
    t, ws, group = system.tables, evaluator.ws, system.groups[g]
    r0, n = int(t.group.start[g]), len(group.rows)
    starts, columns = evaluator.pattern
    own = slice(starts[r0], starts[r0 + n])
    # rows of a group have the same columns
    G = evaluator.values()[own].reshape(n, -1)
    scale = per_speed[columns[own].reshape(n, -1)[0]]
    sizes = np.array([1.0 if row.is_moment else length for row in group.rows])
    return np.column_stack([ws.row.g[r0 : r0 + n], G * scale]) / sizes[:, None]
