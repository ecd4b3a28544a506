"""The quantities of the formulation at the initial state, by their symbols: `flexmbs check --explain`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.as_written import Explained, Step, dependent_form, explained, minimal_form
from flexmbs.dynamics.mechanism import Mechanism, build
from flexmbs.dynamics.speeds import speed_names

Array = NDArray[np.float64]

HEAD = (
    "Quantities at the initial state, those of a body in its own axes at its origin; twists and wrenches",
    "linear first, then angular, then elastic. p: the preceding body; ground is body 0",
)


def explain(system: Mechanism, formulation: str = "recursive") -> list[str]:
    """Lines with the quantities of the assembled initial state, by the symbols of the notes.

    Those of the recursion (F12-F29), and what "minimal" (F30) or "descriptor" (F32) make of them.
    """
    lines = recursion_lines(system)
    if formulation == "minimal":
        lines += minimal_lines(system)
    elif formulation == "descriptor":
        lines += dependent_lines(build(system.model, formulation=formulation))
    return lines


def recursion_lines(system: Mechanism) -> list[str]:
    """The recursion, body by body, the closure and the solution (F12-F29)."""
    state = system.initial_state()
    all_of = explained(system, state)
    names = speed_names(system, np.arange(system.n_vel))
    evaluator = system.evaluator()
    evaluator.kinematics(state.copy())
    lines = list(HEAD)
    for branch, step in zip(system.topology.branches, all_of.steps, strict=True):
        joint, through = branch.joint, "free, no joint"
        if system.model.joints.get(joint.name) is joint:
            through = f"joint {joint.name} ({joint.type_name})"
        lines.append(f"body {step.number} {step.name}, p = {step.parent} {branch.parent}, {through}")
        lines += _matrix("  r", evaluator.ws.body.r[step.number]) + _matrix(
            "  A (body to ground)", evaluator.ws.body.R[step.number]
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
        ("vhat (F20)", s.v_hat), ("B (F20)", s.B), ("C (F20)", s.C), ("vrel (F20)", s.v_rel),
        ("arel (F20)", s.a_rel),
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
    lines += _matrix("G^l (F27)", x.G_loop) + _matrix("gbar^l (F27)", x.gbar_loop)
    lines += _matrix("gamma^l (F27)", x.gamma_loop)
    lines += ["s, the independent speeds: " + (", ".join(names[k] for k in x.independent) or "none")]
    lines += _matrix("J^l (F29)", x.J_loop) + _matrix("etabar (F29)", x.eta_bar)
    return lines + _matrix("etabarbar (F29)", x.eta_bbar)


def minimal_lines(system: Mechanism) -> list[str]:
    """Joint space and minimal form (F30)."""
    form, lines = minimal_form(system, system.initial_state()), list[str]()
    for name, value in (
        ("Mhat (F30)", form.M_hat), ("k (F30)", form.k_hat), ("M = J^l^T Mhat J^l (F30)", form.M_min),
        ("kbar = J^l^T (k - Mhat etabarbar) (F30)", form.k_min), ("ds/dt", form.s_dot),
    ):  # fmt: skip
        lines += _matrix(name, value)
    return lines


def dependent_lines(system: Mechanism) -> list[str]:
    """Lagrange's equations of mixed type (F32); rows that hold nothing in the plane are left out."""
    form = dependent_form(system, system.initial_state())
    lines = ["dependent coordinates z, angles phi from the start, and their second rates (F32)"]
    lines += [
        f"    {z: .6g}".ljust(20) + f"{rate: .6g}".ljust(16) + name
        for name, z, rate in zip(form.names, _clean(form.z), _clean(form.z_ddot), strict=True)
    ]
    lines += ["rows of Phi_s and lambda (F32)"]
    lines += [f"    {value: .6g}".ljust(20) + name for name, value in zip(form.rows, form.lam, strict=True)]
    for name, value in (("M", form.M), ("Phi_s", form.Phi), ("p1", form.p1), ("p2", form.p2)):
        lines += _matrix(f"{name} (F32)", value)
    return lines


def _matrix(name: str, values: Any) -> list[str]:
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    if rows.size == 0:
        return [f"{name} = (none)"]
    rows = _clean(rows)
    texts = ["  ".join(f"{x: .6g}".rjust(12) for x in row) for row in rows]
    return [f"{name} =", *("    " + line for line in texts)]


def _clean(values: Array) -> Array:
    """Values without what is only rounding of the largest of them."""
    return np.where(np.abs(values) > 1e-14 * np.abs(values).max(initial=0.0), values, 0.0)
