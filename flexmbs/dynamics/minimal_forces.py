"""Accelerations and joint forces in minimal coordinates, without the recursion's passes (F30, F28)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.friction import FRICTION_ROUNDS, FRICTION_TOLERANCE, press
from flexmbs.dynamics.minimal import Minimal, solve
from flexmbs.dynamics.reactions import add_stress, reactions
from flexmbs.dynamics.self_stress import stress_of_joints
from flexmbs.model.joints.base import OFFSET
from flexmbs.model.state import State

Array = NDArray[np.float64]

#: weights of elastic energy below this part of the largest are zero: forces that compliances leave open
OPEN_ENERGY = 1e-12


def accelerations(minimal: Minimal, state: State) -> Array:
    """All accelerations (n_vel,); the matrix of (F30) by columns: the forces of a unit of one of them."""
    tree = minimal.evaluator.tree_forces
    n = len(minimal.split.ind)
    bias = minimal.close_rates(state, np.zeros(n))
    J = minimal.loop_jacobian(state)
    force = J.T @ tree(state, bias.copy())
    M_min = np.empty((n, n))
    for k in range(n):
        M_min[:, k] = force - J.T @ tree(state, bias + J[:, k])
    return np.asarray(bias + J @ solve(M_min, force) if n else bias)


def observe(minimal: Minimal, state: State) -> Array:
    """Accelerations, and everything that is reported in the workspace: reactions, efforts, multipliers.

    What the motion takes beyond the forces on the tree is carried by the rows that close the loops: on the
    dependent speeds `G_d^T lam = -missing`. Friction by reactions is found together with them.
    """
    evaluator = minimal.evaluator
    ws, laws = evaluator.ws, evaluator.system.laws.tables
    stress = _self_stress(minimal, state)
    evaluator.law_work.load_of[:] = 0.0  # what was evaluated before leaves no trace
    for _ in range(FRICTION_ROUNDS):
        acc = accelerations(minimal, state)
        lam = _multipliers(minimal, state, acc)
        evaluator.kinematics(state, acc)
        loads = stress_of_joints(evaluator, _constraints(minimal), stress)
        args = evaluator._args(state, acc)
        evaluate.forces(*args)
        ws.row_force[:] = lam
        reactions(evaluator.tables, ws)
        _share(minimal, stress, loads)
        if not len(laws.press_law) or press(evaluator) <= FRICTION_TOLERANCE:
            break
    return acc


def _constraints(minimal: Minimal) -> list[int]:
    """Rows that are constraints: no stiff forces, no motions without inertia, no open contacts."""
    system, free = minimal.system, set(minimal.evaluator.open_rows)
    kinds = [group.kind for group in system.groups]
    return [
        r
        for r, g in enumerate(system.tables.group_of_row)
        if kinds[g] not in ("force", "massless") and r not in free
    ]


def _multipliers(minimal: Minimal, state: State, acc: Array) -> Array:
    """Forces of the independent rows; the others carry none here."""
    s, lam = minimal.split, np.zeros(minimal.system.n_rows)
    if len(s.dep):
        missing = minimal.evaluator.tree_forces(state, acc.copy())
        G = minimal.evaluator.jacobian(state)
        lam[s.rows] = -solve(G[np.ix_(s.rows, s.dep)].T, missing[s.dep])
    return lam


def _self_stress(minimal: Minimal, state: State) -> Array:
    """Null vectors of G^T over the constraint rows, one for every dependent row (F28)."""
    G, s, rows = minimal.evaluator.jacobian(state), minimal.split, _constraints(minimal)
    place = {r: k for k, r in enumerate(rows)}
    others = np.array([r for r in rows if r not in set(s.rows)], dtype=np.int64)
    stress = np.zeros((len(rows), len(others)))
    for k, r in enumerate(others):
        stress[place[r], k] = 1.0
    if len(others) and len(s.dep):
        own = solve(G[np.ix_(s.rows, s.dep)].T, G[np.ix_(others, s.dep)].T)
        stress[[place[r] for r in s.rows]] = -own
    return stress


def _share(minimal: Minimal, stress: Array, loads: Array) -> None:
    """Add the self-stress of least energy, then of least squares, to the reactions (F28)."""
    if not stress.shape[1]:
        return
    ws, t = minimal.evaluator.ws, minimal.evaluator.tables
    scale = np.tile(np.repeat([1.0, 1.0 / t.length[0]], 3), len(ws.reaction))[:, None]
    wrench, rows = ws.reaction.reshape(-1, 1), _constraints(minimal)
    size = _coupling_sizes(minimal)[rows][:, None]
    axes = np.repeat(ws.mark_R[t.joint_p], 2, axis=0)
    root = np.sqrt(t.joint_soft.reshape(-1, 1))

    def energy(x: Array) -> Array:
        own = np.einsum("nji,njk->nik", axes, x.reshape(len(axes), 3, -1)).reshape(len(x), -1)
        return np.asarray(root * own)

    y, Z = np.zeros((stress.shape[1], 1)), np.eye(stress.shape[1])
    if np.any(t.joint_soft):
        y, Z = _least(energy(loads), -energy(wrench), y, Z)
    squares = np.vstack([scale * loads, size * stress])
    y, _ = _least(squares, -np.vstack([scale * wrench, size * ws.row_force[rows][:, None]]), y, Z)
    whole = np.zeros(len(ws.row_force))
    whole[rows] = (stress @ y)[:, 0]
    add_stress(t, ws, whole)


def _coupling_sizes(minimal: Minimal) -> Array:
    """Norm of the efforts on coordinates by a unit of every row of a coupling, 0 of the others (n_rows,)."""
    ws, t = minimal.evaluator.ws, minimal.evaluator.tables
    n, out = minimal.system.n_rows, np.zeros(minimal.system.n_rows)
    of_ent, of_dof = (np.repeat(np.arange(n), np.diff(x)) for x in (t.rowent_start, t.rowdof_start))
    by_ent = ws.rowent_c / np.where(t.ent_kind[t.rowent] == OFFSET, 1.0, t.length[0])
    by_dof = ws.rowdof_c / np.where(t.coord_turn[t.rowdof_coord] == 0, 1.0, t.length[0])
    squares = np.bincount(of_ent, by_ent**2, n) + np.bincount(of_dof, by_dof**2, n)
    out[t.share_row] = np.sqrt(squares[t.share_row])
    return out


def _least(A: Array, b: Array, y: Array, Z: Array) -> tuple[Array, Array]:
    """y + Z x with |A y - b| least; and the part of Z that is still free."""
    U, s, Vt = np.linalg.svd(A @ Z, full_matrices=True)
    rank = int(np.sum(s > OPEN_ENERGY**0.5 * s[0])) if len(s) and s[0] > 0.0 else 0
    x = Vt[:rank].T @ ((U[:, :rank].T @ (b - A @ y)) / s[:rank, None])
    return y + Z @ x, Z @ Vt[rank:].T
