"""Where a motion ended by itself: joints that lock, the gap that is left, drives that contradict (F28)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.change_point import Position
from flexmbs.dynamics.evaluator import no_value
from flexmbs.dynamics.initial import row_names
from flexmbs.dynamics.projection import add_increment
from flexmbs.errors import SolverError
from flexmbs.model.state import State

Floats = NDArray[np.float64]

#: findings that may not say where
SILENT = (
    "solver.step_too_small", "solver.not_evaluated", "solver.no_convergence", "solver.cannot_start",
    "solver.reference", "solver.singular", "solver.open",
)  # fmt: skip
PERMANENT, WEAK = (
    1e-9,
    0.03,
)  # singular values of G with rows of size one: redundant everywhere; near a lock-up
CONTRADICTS = 1e-6


def located(error: SolverError, system: Any, motion: Any) -> SolverError:
    """The error with the joints concerned, from the last good state of the motion."""
    found = error.diagnostics[0]
    told = "joints." in found.what and found.code != "solver.open"
    if found.code not in SILENT or told or not motion.between_steps:
        return error
    y, n = np.atleast_1d(np.asarray(motion.checkpoint()["y"], dtype=float)), system.n_pos
    m = n + system.n_vel
    held = y[len(y) - len(system.tables.ent_kind) :]
    state = State(motion.t, y[:n].copy(), y[n:m].copy(), y[m : m + system.n_aux].copy(), held.copy())
    nothing = expired(system, state)
    if nothing:
        what = "; ".join([found.what, f"{', '.join(nothing)} has no finite value there", *system.laws.errors])
        return SolverError(replace(found, what=what))
    text = trouble(system, state) if system.n_rows else ""
    return SolverError(replace(found, what=f"{found.what}; {text}")) if text else error


def without_value(system: Any, t: float) -> SolverError:
    """The error of a run whose samples are no numbers from a time on; names what has no value then."""
    state = system.initial_state()
    state.t = t
    names = system.evaluator().without_value(state)
    return SolverError(no_value(list(names) or ["model"], t, system.laws.errors))


def expired(system: Any, state: State) -> list[str]:
    """Expressions without a value at a state, or shortly after it on its way."""
    evaluator = system.evaluator()
    for ahead in (0.0, *np.geomspace(1e-12, 1e-3, 10)):
        there, step = state.copy(), ahead * max(abs(state.t), 1e-3)
        there.t += step
        add_increment(evaluator.tables, state.pos, step * state.vel, there.pos)
        nothing = evaluator.without_value(there)
        if nothing:
            return list(nothing[:3])
    return []


def trouble(system: Any, state: State) -> str:
    """What stands against going on from a state: contradictory drives, or rows about to lose their rank."""
    position = Position(system, state)
    G = position.G[np.ix_(position.rows, position.free)] * position.natural[:, None]
    U, s, _ = np.linalg.svd(G, full_matrices=False)
    at_rest = state.copy()
    at_rest.vel[position.free] = 0.0
    position.evaluator.kinematics(at_rest)
    ws = position.evaluator.ws
    wanted, g = ws.g_dot[position.rows] * position.natural, ws.g[position.rows]
    held = s > PERMANENT
    rest = wanted - U[:, held] @ (U[:, held].T @ wanted)
    if np.abs(rest).max(initial=0.0) > CONTRADICTS * max(float(np.abs(wanted).max(initial=0.0)), 1e-12):
        drives = ", ".join(f"drives.{name}" for name in system.model.drives)
        worst = _worst(system, position, rest)
        opening = f"{np.abs(rest).max():.3g} m/s or rad/s"
        return f"{drives} contradict each other at {worst}, which they would open at {opening}"
    weak = np.flatnonzero(held & (s < WEAK))
    if not len(weak):
        return ""
    worst = _worst(system, position, U[:, weak[-1]])
    gap = float(np.abs(g).max(initial=0.0))
    return (
        f"{worst}: lock-up or change point near (scaled rank of G down to {s[weak[-1]]:.1e}, gap {gap:.1e})"
    )


def _worst(system: Any, position: Position, part: Floats) -> str:
    """Names of the rows with the largest parts, three at most."""
    names, size = row_names(system), np.abs(part)
    order = [k for k in np.argsort(-size) if size[k] > 0.5 * size.max()]
    return ", ".join(names[position.rows[k]] for k in order[:3])
