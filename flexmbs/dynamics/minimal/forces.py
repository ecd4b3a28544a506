"""Accelerations and joint forces in minimal coordinates, without the recursion's passes (F30, F28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.minimal.closing import solve
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.reactions.friction import press
from flexmbs.dynamics.reactions.null_states import begin_state, end_state, forget_states, load
from flexmbs.dynamics.reactions.share import share_forces
from flexmbs.dynamics.reactions.wrenches import reactions
from flexmbs.dynamics.tolerances import FRICTION_ROUNDS, FRICTION_TOLERANCE
from flexmbs.model.state import State

if TYPE_CHECKING:
    from flexmbs.model.system import System

Array = NDArray[np.float64]


def accelerations(minimal: Minimal, state: State) -> Array:
    """All accelerations (n_vel,); the matrix of (F30) by columns: the forces of a unit of one of them."""
    bias = minimal.close_rates(state, np.zeros(len(minimal.split.ind)))
    load, inertia = _with_inertia(minimal, state, bias, 0.0, 0.0)
    return np.asarray(bias + _independent(minimal.loop_jacobian(state), inertia, load))


def shifted(minimal: Minimal, state: State, a: Array, bh: float, gh: float) -> Array:
    """Accelerations after one pass of the implicit step, from `a`, to which the state belongs (F43, F44).

    Loops on position level by the dependent speeds; modes are taken implicitly.
    """
    evaluator, s, a = minimal.evaluator, minimal.split, a.copy()
    if len(evaluator.system.laws.tables.press_law):
        observe(minimal, state)  # friction follows from reactions
    J, closing = minimal.loop_jacobian(state), np.zeros(len(a))
    if len(s.dep):
        evaluator.loops(state)
        closing[s.dep] = -minimal.closing.factors()(evaluator.ws.row.g[s.rows]) / bh
    load, inertia = _with_inertia(minimal, state, a, bh, gh)
    return np.asarray(a + closing + _independent(J, inertia, load - inertia(closing)))


def nearest_speeds(minimal: Minimal, state: State, bh: float, gh: float) -> None:
    """Speeds onto the constraints, nearest in the metric of M + Sh (F44). Changes state.vel."""
    wanted = state.vel.copy()
    minimal.close_speeds(state)
    J, at = minimal.loop_jacobian(state), np.zeros(len(wanted))
    _, inertia = _with_inertia(minimal, state, at, bh, gh)
    state.vel += _independent(J, inertia, inertia(wanted - state.vel))


def _with_inertia(
    minimal: Minimal, state: State, a: Array, bh: float, gh: float
) -> tuple[Array, Callable[[Array], Array]]:
    """What is missing on the tree at accelerations `a`, and (M + Sh) x as a function of x.

    Driven entries of `a` become those of their laws.
    """
    S = _stiffness(minimal.system, bh, gh)
    load = minimal.evaluator.tree_forces(state, a)

    def inertia(x: Array) -> Array:
        return np.asarray(load - minimal.evaluator.tree_forces(state, a + x) + S @ x)

    return load, inertia


def _independent(J: Array, inertia: Callable[[Array], Array], force: Array) -> Array:
    """Change of all accelerations by those of the independent ones that a force on the tree makes."""
    if not J.shape[1]:
        return np.zeros(len(J))
    M = np.array([J.T @ inertia(column) for column in J.T]).T
    return np.asarray(J @ solve(M, J.T @ force))


def _stiffness(system: System, bh: float, gh: float) -> Array:
    """Stiffness and damping of the modes, as accelerations feel them through the step."""
    t, S = system.tables, np.zeros((system.n_vel, system.n_vel))
    for first, found in zip(t.tree.o_qd, system.numbers.integrals, strict=False):
        if found is not None and len(found.K_ff):
            own = slice(first, first + len(found.K_ff))
            S[own, own] = bh * found.K_ff + gh * found.D_ff
    return S


def observe(minimal: Minimal, state: State) -> Array:
    """Accelerations, and everything that is reported in the workspace: reactions, efforts, multipliers.

    What the motion takes beyond the forces on the tree is carried by the rows that close the loops: on the
    dependent speeds `G_d^T lam = -missing`. Friction by reactions is found together with them.
    """
    evaluator = minimal.evaluator
    ws, laws = evaluator.ws, evaluator.system.laws.tables
    _self_stress(minimal, state)
    evaluator.law_work.load_of[:] = 0.0  # what was evaluated before leaves no trace
    for _ in range(FRICTION_ROUNDS):
        acc = accelerations(minimal, state)
        lam = _multipliers(minimal, state, acc)
        evaluator.kinematics(state, acc)
        args = evaluator._args(state, acc)
        evaluate.forces(*args)
        ws.row.force[:] = lam
        reactions(evaluator.tables, ws)
        share_forces(evaluator.tables, ws, evaluator.tables.length[0])
        if not len(laws.press_law) or press(evaluator) <= FRICTION_TOLERANCE:
            break
    return acc


def _constraints(minimal: Minimal) -> list[int]:
    """Rows that are constraints: no stiff forces, no motions without inertia, no open contacts."""
    system, free = minimal.system, set(minimal.evaluator.open_rows)
    kinds = [group.kind for group in system.groups]
    return [
        r
        for r, g in enumerate(system.tables.row.group)
        if kinds[g] not in ("force", "massless") and r not in free
    ]


def _multipliers(minimal: Minimal, state: State, acc: Array) -> Array:
    """Forces of the independent rows; the others carry none here."""
    s, lam = minimal.split, np.zeros(minimal.system.n_rows)
    if len(s.dep):
        missing = minimal.evaluator.tree_forces(state, acc.copy())
        minimal.evaluator.loops(state)
        lam[s.rows] = -minimal.closing.factors()(missing[s.dep], transposed=True)
    return lam


def _self_stress(minimal: Minimal, state: State) -> None:
    """Null vectors of G^T over the constraint rows, one for every dependent row, into the workspace (F28)."""
    G, s, rows = minimal.evaluator.jacobian(state), minimal.split, _constraints(minimal)
    ws, t = minimal.evaluator.ws, minimal.evaluator.tables
    block = t.block.of_group[t.row.group]
    others = np.setdiff1d(rows, s.rows)
    own = np.zeros((0, 0))
    if len(s.dep):
        own = minimal.closing.factors()(np.ascontiguousarray(G[np.ix_(others, s.dep)].T), transposed=True)
    forget_states(t, ws)
    for k, r in enumerate(others):
        number = ws.null.n[block[r]]
        if number == len(ws.null.lam):
            continue
        begin_state(t, ws, block[r])
        load(ws, ws.null.lam[number], r, 1.0)
        for near in np.flatnonzero((block[s.rows] == block[r]) & (own[:, k] != 0.0)) if len(s.dep) else ():
            load(ws, ws.null.lam[number], s.rows[near], -own[near, k])
        end_state(t, ws, block[r])
