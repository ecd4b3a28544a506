"""The quantities of the formulation at the initial state, by their symbols: `flexmbs check --explain`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.mechanism import Mechanism

Array = NDArray[np.float64]


def explain(system: Mechanism) -> list[str]:
    """Lines with the body and joint quantities (F10-F28) of the assembled initial state."""
    state = system.initial_state()
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    ws, t = evaluator.ws, system.tables
    lines = ["Quantities at the initial state; twists linear first, then angular, then elastic; ground axes"]
    for branch in system.topology.branches:
        i = system.numbers.index[branch.body]
        lines += [f"body {i} {branch.body}, p({i}) = {branch.parent}, joint {branch.joint.name}"]
        lines += _matrix("  r", ws.r[i]) + _matrix("  A", ws.R[i])
        lines += _matrix("  v, w", ws.v[i])
        lines += _matrix("  H (columns of C)", ws.H[t.o_eta[i] : t.o_qd[i]].T)
        lines += _matrix("  M (F12, body axes)", system.mass_matrix(state, branch.body))
        lines += _matrix("  Q_v (F13, body axes)", system.quadratic_velocity_forces(state, branch.body))
    if system.n_rows:
        lines += _matrix("G^l (F27)", evaluator.jacobian(state.copy()))
    motion = system.forward_dynamics(state)
    for name, joint in motion.joints.items():
        lines += _matrix(f"{name}: d eta/dt", joint.acceleration)
        lines += _matrix(f"{name}: f^p (force, moment on the to side)", _wrench(joint))
    return lines


def _wrench(joint: object) -> Array:
    force, moment = joint.reaction_force, joint.reaction_moment  # type: ignore[attr-defined]
    return np.concatenate([force, moment])


def _matrix(name: str, values: Array) -> list[str]:
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    if rows.size == 0:
        return []
    texts = ["  ".join(f"{x: .6g}".rjust(12) for x in row) for row in rows]
    return [f"{name} =", *("    " + line for line in texts)]
