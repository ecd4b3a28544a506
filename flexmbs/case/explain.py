"""The quantities of the formulation at the initial state, by their symbols: `flexmbs check --explain`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.initial import row_names
from flexmbs.dynamics.mechanism import Mechanism
from flexmbs.spatial import skew

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
        p = system.numbers.index.get(branch.parent, 0)
        lines += _matrix("  B (rigid columns, F20)", _shift(ws.r[i] - ws.r[p]))
        lines += _matrix("  C (joint columns, F20)", ws.H[t.o_eta[i] : t.o_qd[i]].T)
        lines += _matrix("  M (F12, body axes)", system.mass_matrix(state, branch.body))
        lines += _matrix("  Q_v (F13, body axes)", system.quadratic_velocity_forces(state, branch.body))
    if system.n_rows:
        lines += _matrix("G^l (F27)", evaluator.jacobian(state.copy()))
    if system.n_rows:
        evaluator.observe(state.copy())
        names = row_names(system)
        pairs = zip(names, ws.lam, strict=False)
        lines += ["lambda^s (F26) =", *(f"    {value: .6g}".ljust(20) + name for name, value in pairs)]
    motion = system.forward_dynamics(state)
    for name, joint in motion.joints.items():
        lines += _matrix(f"{name}: d eta/dt", joint.acceleration)
        lines += _matrix(f"{name}: f^p (force, moment on the to side)", _wrench(joint))
    return lines


def _shift(d: Array) -> Array:
    """Twist at the parent's origin -> twist at a point d away, both with ground axes."""
    return np.block([[np.eye(3), -skew(d)], [np.zeros((3, 3)), np.eye(3)]])


def _wrench(joint: object) -> Array:
    force, moment = joint.reaction_force, joint.reaction_moment  # type: ignore[attr-defined]
    return np.concatenate([force, moment])


def _matrix(name: str, values: Array) -> list[str]:
    rows = np.atleast_2d(np.asarray(values, dtype=float)) + 0.0  # no negative zeros
    if rows.size == 0:
        return []
    texts = ["  ".join(f"{x: .6g}".rjust(12) for x in row) for row in rows]
    return [f"{name} =", *("    " + line for line in texts)]
