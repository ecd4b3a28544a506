"""The linear model about a state as items of a result (F38; interface, `/linear`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.linearize import linearize
from flexmbs.model.state import State
from flexmbs.results import Item

Floats = NDArray[np.float64]


def parts(values: Any) -> Floats:
    """Complex numbers as (..., re im)."""
    values = np.asarray(values, dtype=complex)
    return np.stack([values.real, values.imag], axis=-1)


def linear_items(system: Any, state: State) -> dict[str, Any]:
    """Matrices, eigenvalues and shapes; `motion/<body>` are the shapes as motions of the bodies."""
    linear = linearize(system, state)
    motion = body_motions(system, state, linear.shapes)
    return {
        "linear": {
            "eigenvalues": Item(parts(linear.eigenvalues), "1/s", "F38", {"components": ["re", "im"]}),
            "frequency_hz": Item(linear.frequency_hz, "Hz", "F38"),
            "damping_ratio": Item(linear.damping_ratio, "1", "F38"),
            "shapes": Item(parts(linear.shapes), "1", "F38", {"components": ["re", "im"]}),
            **{name: Item(getattr(linear, name), "1", "F38") for name in "ABCD"},
            "states": Item(linear.states or ["none"]),
            "inputs": Item(linear.inputs or ["none"]),
            "motion": {
                name: Item(parts(values), "m/s, rad/s, modal", "F38") for name, values in motion.items()
            },
        }
    }


def body_motions(system: Any, state: State, shapes: Any) -> dict[str, Any]:
    """Velocity of the origin, angular velocity, elastic speeds of every body by shape, (modes, 6 + nf)."""
    evaluator, tables = system.evaluator(), system.tables

    def velocities(vel: Floats) -> Floats:
        trial = state.copy()
        trial.vel[:] = vel
        evaluator.kinematics(trial)
        return np.asarray(evaluator.ws.v.copy())

    rest = velocities(np.zeros(system.n_vel))
    found: dict[str, list[Any]] = {name: [] for name in system.bodies[1:]}
    for shape in np.asarray(shapes, dtype=complex).reshape(-1, system.n_vel):
        v = velocities(shape.real) - rest + 1j * (velocities(shape.imag) - rest)
        for i, name in enumerate(system.bodies):
            if i:
                elastic = shape[tables.o_qd[i] : tables.o_qd[i] + tables.nf[i]]
                found[name].append(np.concatenate([v[i], elastic]))
    return {name: np.array(values) for name, values in found.items() if values}
