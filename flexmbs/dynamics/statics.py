"""Static equilibrium: zero residual with all free speeds at rest (F37)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.dynamics.minimal import Minimal
from flexmbs.errors import Diagnostic, SolverError
from flexmbs.model.state import State
from flexmbs.model.system import System

Array = NDArray[np.float64]

ITERATIONS = 200
STEP = 1e-6  # of finite differences; linear terms, such as modal stiffness, come out exactly
LARGEST = 0.5  # change of a coordinate in one iteration
SMALL = 1e-11


def equilibrium(system: System, start: State) -> State:
    """Equilibrium reached from `start`; driven coordinates keep their motion, so a rotor may turn steadily.

    Newton on the minimal form (F30). Where the stiffness is not positive, inertia is added to it until it is
    (continuation): the mechanism then moves as if through a thick fluid, downhill, to a stable equilibrium.
    """
    evaluator = Evaluator(system)
    minimal = Minimal(evaluator, start.copy())
    n = len(minimal.split.ind)
    state = minimal.moved(start.copy(), np.zeros(n), np.zeros(n))
    force = _residual(minimal, state)
    first = float(np.abs(force).max(initial=0.0))
    for _ in range(ITERATIONS if n else 0):
        minimal = Minimal(evaluator, state)
        force = _residual(minimal, state)
        K, M = -_slope(minimal, state), _mass(minimal, state)
        change = np.asarray(np.linalg.lstsq(K + _shift(K, M, force) * M, force, rcond=1e-13)[0], dtype=float)
        size = float(np.abs(change).max())
        if size < SMALL * max(1.0, float(np.abs(state.pos).max(initial=0.0))):
            return _checked(system, *_last(minimal, state, change, force), first)
        state = _step(minimal, state, np.asarray(change * min(1.0, LARGEST / size)), force)
    return _checked(system, state, force, first)


def _last(minimal: Minimal, state: State, change: Array, force: Array) -> tuple[State, Array]:
    """The last, small change taken where it lessens the force: stiff modes make much of little."""
    trial = minimal.moved(state, change, np.zeros(len(change)))
    after = _residual(minimal, trial)
    return (trial, after) if np.abs(after).max() < np.abs(force).max() else (state, force)


def _step(minimal: Minimal, state: State, change: Array, force: Array) -> State:
    """Go along `change`, less far when the force has turned against it by then."""
    n, work = len(change), float(force @ change)
    for _ in range(30):
        try:
            trial = minimal.moved(state, change, np.zeros(n))
            after = float(_residual(minimal, trial) @ change)
        except (SolverError, np.linalg.LinAlgError):
            after = -np.inf
        if np.isfinite(after) and after >= -0.5 * abs(work):
            return trial
        change, work = 0.5 * change, 0.5 * work
    raise SolverError(
        Diagnostic(
            "statics.stuck", "analysis", "the loops leave no way downhill", "start nearer to equilibrium"
        )
    )


def _residual(minimal: Minimal, state: State) -> Array:
    return minimal.forces(state, np.zeros(len(minimal.split.ind)))[0]


def _mass(minimal: Minimal, state: State) -> Array:
    """Reduced mass matrix (n_min, n_min) (F30)."""
    n = len(minimal.split.ind)
    base = minimal.forces(state, np.zeros(n))[0]
    M = np.array([base - minimal.forces(state, unit)[0] for unit in np.eye(n)]).T
    return 0.5 * (M + M.T)


def _slope(minimal: Minimal, state: State) -> Array:
    """Derivative of the residual by the independent coordinates, central differences."""
    n = len(minimal.split.ind)
    columns = []
    for unit in np.eye(n):
        ends = [
            _residual(minimal, minimal.moved(state, sign * STEP * unit, np.zeros(n))) for sign in (1.0, -1.0)
        ]
        columns.append((ends[0] - ends[1]) / (2.0 * STEP))
    return np.array(columns).T


def _shift(K: Array, M: Array, force: Array) -> float:
    """How much inertia makes the stiffness positive; when it is, a little that goes away with the force."""
    root = np.linalg.cholesky(M + 1e-12 * np.trace(M) / len(M) * np.eye(len(M)))
    inverse = np.linalg.inv(root)
    lowest = float(np.linalg.eigvalsh(inverse @ (0.5 * (K + K.T)) @ inverse.T)[0])
    scale = float(np.abs(inverse @ K @ inverse.T).max())
    little = 1e-3 * float(np.linalg.norm(inverse @ force))
    return little if lowest > -1e-7 * scale else little - 1.5 * lowest


def _checked(system: System, state: State, force: Array, first: float) -> State:
    """Refuse a standstill that is no equilibrium, against weight, steady motion, force at the start."""
    largest = float(np.abs(force).max(initial=0.0))
    t = system.tables
    length = max(1.0, float(t.length[0]))
    weight = float(t.mass_scale[0] * np.linalg.norm(t.grav)) * length
    speed = float(np.abs(state.vel).max(initial=0.0))  # of driven coordinates: centrifugal forces
    if largest > 1e-6 * max(weight, float(t.mass_scale[0]) * speed**2 * length, first, 1e-3):
        what = f"a force of {largest:.3g} N or N m stays unbalanced"
        raise SolverError(
            Diagnostic("statics.none", "analysis", what, "hold or support what moves freely, or start nearer")
        )
    return state
