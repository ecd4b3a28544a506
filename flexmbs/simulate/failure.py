"""Where a motion ended by itself: joints that lock, the gap that is left, drives that contradict (F28)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.initial import row_names
from flexmbs.dynamics.evaluator import no_value
from flexmbs.dynamics.loops.change_point import Position
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.speeds import speed_paths
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.state import State
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.powers import N_QUAD

Floats = NDArray[np.float64]

#: findings that may not say where; those that name what is open, which may not say why
SILENT = (
    "solver.step_too_small", "solver.not_evaluated", "solver.no_convergence", "solver.cannot_start",
    "solver.reference", "solver.singular",
)  # fmt: skip
OPEN = ("solver.open", "solver.contradiction")
#: singular values of G with rows of size one: redundant everywhere; near a lock-up
PERMANENT, WEAK = 1e-9, 0.03
CONTRADICTS = 1e-6
#: where what ended a motion may lie, over how far ahead it is looked for: that part of the time, or just
#: behind the next output, as some methods have nothing between outputs
AHEAD, CLASHES = (0.0, *np.geomspace(1e-9, 1.1, 10)), (0.0, 1e-3, 1.1)
FURTHEST = 1e-3


def located(error: SolverError, system: Any, motion: Any) -> SolverError:
    """The error with the joints concerned, from the last good state of the motion."""
    found = error.diagnostics[0]
    if found.code in ("solver.corner", "solver.jump") and system.laws.relations[motion.corner]:
        what = found.what.replace("a constraint", system.laws.relations[motion.corner])
        return SolverError(replace(found, what=what))
    told = "joints." in found.what and found.code not in OPEN
    if found.code not in (*SILENT, *OPEN) or told or not motion.between_steps:
        return error
    y, n = np.atleast_1d(np.asarray(motion.checkpoint()["y"], dtype=float)), system.n_pos
    m = n + system.n_vel
    k = m + system.n_aux
    turns = y[k + N_QUAD : k + N_QUAD + len(system.tables.relation.kind)]
    state = State(motion.t, y[:n].copy(), y[n:m].copy(), y[m:k].copy(), turns.copy())
    outputs = np.append(motion.times, np.inf)
    next_output = float(outputs[np.searchsorted(outputs, motion.t, side="right")])
    far = FURTHEST * max(abs(state.t), FURTHEST)
    if next_output < np.inf:
        far = max(far, next_output - motion.t)
    nothing = expired(system, state, far)
    if nothing:
        what = "; ".join([found.what, f"{', '.join(nothing)} has no finite value there", *system.laws.errors])
        return SolverError(replace(found, what=what))
    if not system.n_rows:
        return SolverError(replace(found, what=f"{found.what}; {fastest(system, state)}"))
    return SolverError(clash(found, system, state, far) or locked(found, system, state))


def fastest(system: Any, state: State) -> str:
    """The speed that is largest, by name: what runs away is seen by it."""
    k = int(np.abs(state.vel).argmax())
    return f"fastest there is {speed_paths(system, np.array([k]))[0]} at {state.vel[k]:.3g}"


def without_value(system: Any, t: float) -> SolverError:
    """The error of a run whose samples are no numbers from a time on; names what has no value then."""
    state = system.initial_state()
    state.t = t
    names = system.evaluator().without_value(state)
    return SolverError(no_value(list(names) or ["model"], t, system.laws.errors))


def soon(system: Any, state: State, steps: Iterable[float]) -> Iterator[State]:
    """Where the speeds of a state lead shortly after."""
    tables = system.evaluator().tables
    for step in steps:
        there = state.copy()
        there.t += step
        add_increment(tables, state.pos, step * state.vel, there.pos)
        yield there


def expired(system: Any, state: State, far: float) -> list[str]:
    """Expressions without a value at a state, or shortly after it on its way."""
    evaluator = system.evaluator()
    for there in soon(system, state, (far * part for part in AHEAD)):
        nothing = evaluator.without_value(there)
        if nothing:
            return list(nothing[:3])
    return []


def clash(found: Diagnostic, system: Any, state: State, far: float) -> Diagnostic | None:
    """Drives that ask for speeds to which no others fit, at a state or shortly after; None for none."""
    known, n, m = problem(system), system.n_pos, system.n_pos + system.n_vel
    for there in soon(system, state, (far * part for part in CLASHES if system.model.drives)):
        y = state_vector(system, there)
        known.project(known.data, there.t, y, 0.0, 0.0, np.zeros(3))  # as far as it can be closed
        there.pos[:], there.vel[:] = y[:n], y[n:m]
        if not np.isfinite(y).all():
            continue
        position = Position(system, there)
        U, s, _ = np.linalg.svd(_matrix(position), full_matrices=False)
        there.vel[position.free] = 0.0
        position.evaluator.kinematics(there)
        held, wanted = U[:, s > PERMANENT], position.evaluator.ws.row.g_dot[position.rows] * position.natural
        rest = wanted - held @ (held.T @ wanted)
        terms = np.abs(position.G[position.rows]) @ np.abs(there.vel) * position.natural
        size = max(float(np.abs(x).max(initial=0.0)) for x in (wanted, terms))
        if np.abs(rest).max(initial=0.0) > CONTRADICTS * size:
            drives = " and ".join(f"drives.{name}" for name in system.model.drives)
            what = f"{drives} contradict each other: they open {_worst(system, position, rest)}"
            if found.code == "solver.contradiction":  # noticed by accelerations: those are told
                what += f"; {found.what}"
            else:
                what += f" at {np.abs(rest).max():.3g} m/s or rad/s (gap {_gap(system, state):.1e})"
            remedy = "look for drives that ask for different motions"
            return Diagnostic("solver.contradiction", found.where, what, remedy)
    return None


def locked(found: Diagnostic, system: Any, state: State) -> Diagnostic:
    """A finding with the rows that are about to lose their rank, where there are any."""
    position = Position(system, state)
    U, s, _ = np.linalg.svd(_matrix(position), full_matrices=False)
    weak = np.flatnonzero((s > PERMANENT) & (s < WEAK))
    if not len(weak):
        return found
    worst, rank = _worst(system, position, U[:, weak[-1]]), f"scaled rank of G down to {s[weak[-1]]:.1e}"
    near = f"lock-up or change point near ({rank}, gap {_gap(system, state):.1e})"
    remedy = "where it locks, end the motion before, or change lengths or drives"
    return replace(found, what=f"{found.what}; {worst}: {near}", remedy=remedy)


def _matrix(position: Position) -> Floats:
    """G of the free speeds, rows of size one."""
    rows: Floats = position.G[np.ix_(position.rows, position.free)] * position.natural[:, None]
    return rows


def _gap(system: Any, state: State) -> float:
    """How far the rows of a state are open."""
    position = Position(system, state)
    return float(np.abs(position.evaluator.ws.row.g[position.rows]).max(initial=0.0))


def _worst(system: Any, position: Position, part: Floats) -> str:
    """Names of the rows with the largest parts, three at most."""
    names, size = row_names(system), np.abs(part)
    order = [k for k in np.argsort(-size) if size[k] > 0.5 * size.max()]
    return ", ".join(names[position.rows[k]] for k in order[:3])
