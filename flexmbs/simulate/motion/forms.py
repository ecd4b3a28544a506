"""The formulations beside the recursion by name, and the method that each of them takes by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.integrate import Settings
from flexmbs.model.laws.tables import OF_TIME
from flexmbs.simulate.choose import EXPLICIT, IMPLICIT, Choice
from flexmbs.simulate.settings import RunSettings

if TYPE_CHECKING:
    from flexmbs.simulate.motion.formulation import Formulation

#: step times highest angular frequency that explicit methods stand, and steps beyond which they are too slow
STABLE, STIFF = 5.0, 1e5
#: methods of other libraries, which need nothing but rates
REFERENCES = ("radau", "cvode", "ida")


def form_of(settings: RunSettings) -> type[Formulation]:
    """The form that is asked for; the descriptor form by how it holds drift."""
    from flexmbs.simulate.motion.dependent import STABILISED
    from flexmbs.simulate.motion.independent import Independent

    return Independent if settings.formulation == "minimal" else STABILISED[settings.stabilisation]


def explicit_steps(system: Any, duration: float) -> float:
    """Steps to which the highest mode holds an explicit method."""
    from scipy.linalg import eigh

    squares = [0.0]
    for found in system.numbers.integrals[1:]:
        if found is not None and len(found.K_ff):
            squares.append(float(eigh(found.K_ff, found.m_ff, eigvals_only=True)[-1]))
    return float(duration * np.sqrt(max(squares)) / STABLE)


def method_of(system: Any, settings: RunSettings, t_start: float) -> Choice:
    """The method of a form that evaluates in Python: the reference of high order where modes are stiff.

    That one passes no corners at which speeds jump; where there may be such, the compiled implicit one.
    """
    if settings.method != "auto":
        return Choice(settings.method, "as asked")
    steps = explicit_steps(system, settings.t_end - t_start)
    if steps <= STIFF:
        return Choice(EXPLICIT, f"formulation = {settings.formulation}")
    why = f"modes would hold an explicit method to {steps:.0e} steps"
    jumps = np.any(system.tables.row.side) or np.any(system.laws.tables.switch_law <= OF_TIME)
    return Choice(IMPLICIT if jumps else "radau", why)


def time_settings(system: Any, settings: RunSettings, method: str) -> Settings:
    """What integrators are told."""
    return Settings(
        method=method,
        rtol=settings.rtol,
        atol=settings.atol,
        step=settings.step,
        rho_inf=settings.rho_inf,
        until=len(system.laws.tables.switch_expr) if "until" in system.laws.free else -1,
        steps=settings.steps,
    )
