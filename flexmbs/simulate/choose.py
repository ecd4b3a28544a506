"""`method = "auto"`: a short pilot run of the candidates decides, by evaluations and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import FlexmbsError
from flexmbs.integrate import Integrator, Problem, Settings

Floats = NDArray[np.float64]
PILOT_STEPS = 40
#: at the same tolerance the method of order 2 has the larger error: equal error takes shorter steps
HANDICAP = 3.0
IMPLICIT = "generalized-alpha"


@dataclass(frozen=True)
class Choice:
    """The method, and why."""

    method: str
    reason: str


def choose(problem: Problem, settings: Settings, t_start: float, y0: Floats, t_end: float) -> Choice:
    """Method that gets furthest per evaluation at equal error, measured over some steps from the start.

    The count of evaluations, not the clock, decides: the same case makes the same choice everywhere.
    """
    speeds: dict[str, float] = {}
    t, y = t_start, y0
    for method in ("dopri5", "dop853", IMPLICIT):
        reached, y_new, evaluations = _pilot(problem, settings, method, t, y, t_end)
        speeds[method] = (reached - t) / max(evaluations, 1)
        if method == IMPLICIT:
            speeds[method] /= HANDICAP
        if method == "dopri5" and t < reached < t_end:  # the others start behind the first transients
            t, y = reached, y_new
    best = max(speeds, key=lambda name: speeds[name])
    if speeds[best] <= 0.0:
        return Choice(IMPLICIT, "no method takes a step; the implicit one is the most robust")
    slower = ", ".join(f"{speeds[best] / v:.1f} x {n}" for n, v in speeds.items() if n != best and v > 0.0)
    stiff = best == IMPLICIT and speeds[best] > 3.0 * max(speeds["dopri5"], speeds["dop853"])
    kind = "stiff, modes or springs much faster than the motion; " if stiff else ""
    return Choice(best, f"{kind}fewest evaluations at equal error ({slower or 'the others fail'})")


def _pilot(
    problem: Problem, settings: Settings, method: str, t: float, y: Floats, t_end: float
) -> tuple[float, Floats, int]:
    """Time, state and evaluations after some steps; no progress when the method fails."""
    trial = Settings(
        method=method, rtol=settings.rtol, atol=settings.atol, rho_inf=settings.rho_inf, until=-1
    )
    run = Integrator(problem, trial, t, y, np.zeros(0), t_end)
    try:
        run.advance(n_steps=PILOT_STEPS // 2)
        middle, used = run.t, run.statistics()["evaluations"]
        if not run.finished:
            run.advance(n_steps=PILOT_STEPS)
    except FlexmbsError:
        return t, y, 1
    if run.finished:
        return run.t, run.memory.y.copy(), int(run.statistics()["evaluations"])
    evaluations = int(run.statistics()["evaluations"] - used)
    return t + (run.t - middle), run.memory.y.copy(), evaluations
