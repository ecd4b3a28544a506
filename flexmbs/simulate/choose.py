"""`method = "auto"`: a short pilot run of the candidates decides, by evaluations and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import FlexmbsError
from flexmbs.integrate import Integrator, Problem, Settings

Floats = NDArray[np.float64]
TRIAL_STEPS = 20, 40  # that lead into the motion, and that are measured
#: Equal error. At the same tolerance the method of order 2 has the larger error and takes shorter steps for
#: it; so has order 5 beside 8, and undamped modes hold it to shorter steps, which trials do not show yet.
HANDICAP = {"generalized-alpha": 3.0, "dopri5": 1.3, "dop853": 1.0}
#: evaluations that bringing the end of an explicit step onto the constraints is worth (measured: 8 to 14)
PROJECTION = 10
IMPLICIT = "generalized-alpha"
CANDIDATES = tuple(HANDICAP)
#: a motion of fewer evaluations is not worth more than one trial
SHORT = 6000.0
#: at this tolerance order 8 costs what order 5 does, where nothing is projected
EVEN = 1e-5


@dataclass(frozen=True)
class Choice:
    """The method, and why."""

    method: str
    reason: str


@dataclass(frozen=True)
class Trial:
    """Progress per evaluation of some steps, and the state behind them."""

    speed: float
    t: float
    y: Floats


def choose(problem: Problem, settings: Settings, t_start: float, y0: Floats, t_end: float) -> Choice:
    """Method that gets furthest per evaluation at equal error, measured over some steps from the start.

    The count of evaluations, not the clock, decides: the same case makes the same choice everywhere. Of a
    short motion the others would see as much in their trials as the run itself.
    """
    first = _trial(problem, settings, "dopri5", t_start, y0, t_end)
    if t_end - first.t < SHORT * first.speed:
        high = problem.closed or settings.rtol < EVEN
        return Choice("dop853" if high else "dopri5", "a short motion; by loops and tolerance")
    trials = {"dopri5": first}
    for method in CANDIDATES:  # the others start behind the first transients
        if method not in trials:
            trials[method] = _trial(problem, settings, method, first.t, first.y, t_end)
    speeds = {method: trial.speed / HANDICAP[method] for method, trial in trials.items()}
    best = max(speeds, key=lambda name: speeds[name])
    if speeds[best] <= 0.0:
        return Choice(IMPLICIT, "no method takes a step; the implicit one is the most robust")
    slower = ", ".join(f"{speeds[best] / v:.1f} x {n}" for n, v in speeds.items() if n != best and v > 0.0)
    stiff = best == IMPLICIT and speeds[best] > 3.0 * max(speeds["dopri5"], speeds["dop853"])
    kind = "stiff, modes or springs much faster than the motion; " if stiff else ""
    return Choice(best, f"{kind}fewest evaluations at equal error ({slower or 'the others fail'})")


def _trial(problem: Problem, settings: Settings, method: str, t: float, y: Floats, t_end: float) -> Trial:
    """Some steps of a method from a state; no progress when it fails."""
    own = Settings(method=method, rtol=settings.rtol, atol=settings.atol, rho_inf=settings.rho_inf, until=-1)
    run = Integrator(problem, own, t, y, np.zeros(0), t_end)
    reached, work = [t], [0.0]
    try:
        for steps in TRIAL_STEPS:
            if not run.finished:
                run.advance(n_steps=steps)
                reached.append(run.t)
                work.append(_work(run, problem.closed and method != IMPLICIT))
    except FlexmbsError:
        return Trial(0.0, t, y)
    speed = (reached[-1] - reached[-2]) / max(work[-1] - work[-2], 1.0)
    return Trial(speed, run.t, run.memory.y.copy())


def _work(run: Integrator, projected: bool) -> float:
    """Evaluations so far, and what projections are worth in them."""
    counts = run.statistics()
    return counts["evaluations"] + (PROJECTION * counts["steps"] if projected else 0.0)
