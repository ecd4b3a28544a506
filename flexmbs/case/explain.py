"""The quantities of the formulation at the initial state, by their symbols: `flexmbs check --explain`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.explained import Explained, Step, explained
from flexmbs.dynamics.linearize import speed_names
from flexmbs.dynamics.mechanism import Mechanism

Array = NDArray[np.float64]

HEAD = (
    "Quantities at the initial state, those of a body in its own axes at its origin; twists and wrenches",
    "linear first, then angular, then elastic. p: the preceding body; ground is body 0",
)


def explain(system: Mechanism) -> list[str]:
    """Lines with the quantities (F12-F29) of the assembled initial state, by the symbols of the notes."""
    state = system.initial_state()
    all_of = explained(system, state)
    names = speed_names(system, np.arange(system.n_vel))
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    lines = list(HEAD)
    for branch, step in zip(system.topology.branches, all_of.steps, strict=True):
        kind = f"{branch.joint.name} ({branch.joint.type_name})"
        lines.append(f"body {step.number} {step.name}, p = {step.parent} {branch.parent}, joint {kind}")
        lines += _matrix("  r", evaluator.ws.r[step.number]) + _matrix(
            "  A (body to ground)", evaluator.ws.R[step.number]
        )
        lines += _body(step, [names[k] for k in step.speeds])
    for step in all_of.steps:
        lines += _columns(step)
    if all_of.rows:
        lines += _loops(all_of, names)
    for step in all_of.steps:
        a_hat, rates, f_p = all_of.solution(step.name)
        lines.append(f"body {step.number} {step.name}: solution (F23-F25)")
        lines += _matrix("  d etahat/dt", rates) + _matrix("  ahat", a_hat) + _matrix("  f^p", f_p)
    return lines


def _body(s: Step, speeds: list[str]) -> list[str]:
    """Of one body: what it starts from, and what the backward pass leaves."""
    lines = [f"  etahat: {', '.join(speeds) or 'none'}"]
    for name, value in (
        ("vhat (F20)", s.v_hat), ("B (F20)", s.B), ("C (F20)", s.C), ("arel (F20)", s.a_rel),
        ("M (F12)", s.M), ("f = f^t + f^c, gravity included (F13-F16)", s.f), ("tau (F14, F21)", s.tau),
        ("M* (F22)", s.M_star), ("f* (F22)", s.f_star), ("N = C^T M* C (F22)", s.N),
    ):  # fmt: skip
        lines += _matrix(f"  {name}", value)
    return lines


def _columns(s: Step) -> list[str]:
    """Of one body: constraint columns and the responses to unit forces."""
    if not s.GsT.shape[1]:
        return []
    lines = [f"body {s.number} {s.name}: by constraint row"]
    for name, value in (
        ("[G^sT] (F26)", s.GsT), ("[G^sT]* (F25)", s.GsT_star), ("A (F25)", s.A_lam), ("L (F25)", s.L_lam),
        ("F (F25)", s.F_lam),
    ):  # fmt: skip
        lines += _matrix(f"  {name}", value)
    return lines


def _loops(x: Explained, names: list[str]) -> list[str]:
    """Closure, its responses and the constraint forces (F26-F29)."""
    lines = ["rows of the closure and lambda^s (F26)"]
    lines += [f"    {value: .6g}".ljust(20) + name for name, value in zip(x.rows, x.lam, strict=True)]
    lines += _matrix("gamma^s (F26)", x.gamma_s) + _matrix("G^s A (F26)", x.GA)
    lines += ["etahat of the tree: " + ", ".join(names)]
    lines += _matrix("G^l (F27)", x.G_loop) + _matrix("gamma^l (F27)", x.gamma_loop)
    lines += ["s, the independent speeds: " + (", ".join(names[k] for k in x.independent) or "none")]
    return lines + _matrix("J^l (F29)", x.J_loop)


def _matrix(name: str, values: Any) -> list[str]:
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    if rows.size == 0:
        return []
    rows = np.where(np.abs(rows) > 1e-14 * np.abs(rows).max(), rows, 0.0)  # what is only rounding
    texts = ["  ".join(f"{x: .6g}".rjust(12) for x in row) for row in rows]
    return [f"{name} =", *("    " + line for line in texts)]
