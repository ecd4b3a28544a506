"""`method = "auto"`: the run begins with the explicit method, and a pilot of the implicit one may end that.

What is tried costs next to nothing beside the run: the explicit steps are those of the run itself, and the
pilot is left out where the rest of the motion is not worth it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import FlexmbsError
from flexmbs.integrate import Integrator, Problem, Settings

Floats = NDArray[np.float64]
#: order 8 takes at most a third longer than order 5 at any tolerance, and less where modes bound the steps
EXPLICIT, IMPLICIT = "dop853", "generalized-alpha"
#: steps that lead into the motion, and that are measured
EXPLICIT_STEPS, IMPLICIT_STEPS = (10, 10), (20, 40)
#: further steps are measured, so often at most, where an event has cut the last ones short
AGAIN = 2
#: equal error: at the same tolerance the method of order 2 has an error ten times as large or more, and takes
#: three times the steps to make up for ten
HANDICAP = 5.0
#: evaluations that bringing the end of an explicit step onto the constraints is worth (measured: 8 to 14)
PROJECTION = 10
#: the rest of a motion is worth a pilot, of 100 to 200 evaluations, from so many evaluations on
WORTH_CHOOSING = 2000.0


@dataclass(frozen=True)
class Choice:
    """The method, and why."""

    method: str
    reason: str


def choose(
    problem: Problem, settings: Settings, t_start: float, y0: Floats, times: Floats, t_end: float
) -> tuple[Choice, Integrator]:
    """Method that gets further per evaluation at equal error, and the run with it, which may have begun.

    Counts of evaluations, not the clock, decide, and samples are not counted: the same case makes the same
    choice everywhere, and its numbers are those of the same method asked for by name.
    """
    given = replace(settings, method=EXPLICIT)
    run = Integrator(problem, given, t_start, y0, times, t_end)
    head, speed = run, 0.0
    if settings.step == 0.0:
        speed = _speed(run, EXPLICIT_STEPS, problem.closed)
    if settings.step > 0.0 or _is_crowded(run):
        head = run.beside(replace(given, step=0.0, until=-1), t_start, y0, np.zeros(0))
        run = run.beside(given, t_start, y0, times)
        speed = _speed(head, EXPLICIT_STEPS, problem.closed)
    if head.done:
        return Choice(EXPLICIT, f"{head.statistics()['steps']} steps make the motion"), run
    if (t_end - head.t) < WORTH_CHOOSING * speed:
        return Choice(EXPLICIT, f"a motion too short to try {IMPLICIT}"), run
    t, y = (head.t, head.memory.y.copy()) if speed > 0.0 else (t_start, y0)
    pilot = head.beside(replace(settings, method=IMPLICIT, step=0.0, until=-1), t, y, np.zeros(0))
    choice = _compared(speed, _speed(pilot, IMPLICIT_STEPS, False), pilot.statistics()["evaluations"])
    if choice.method == IMPLICIT:
        run = run.beside(replace(settings, method=IMPLICIT), t_start, y0, times)
    run.spent += pilot.spent
    return choice, run


def _compared(explicit: float, implicit: float, spent: float) -> Choice:
    """The choice by the speeds of both methods, after a pilot of so many evaluations."""
    tried = f"tried for {spent:.0f} evaluations"
    if implicit <= 0.0:
        return Choice(EXPLICIT, f"{IMPLICIT}, {tried}, fails here")
    if explicit <= 0.0:
        return Choice(IMPLICIT, f"{EXPLICIT} fails here")
    factor = implicit / (HANDICAP * explicit)
    if factor > 1.0:
        kind = "stiff, modes or springs much faster than the motion"
        return Choice(IMPLICIT, f"{kind}; {EXPLICIT} takes {factor:.1f} times the evaluations at equal error")
    return Choice(
        EXPLICIT, f"{IMPLICIT}, {tried}, takes {1.0 / factor:.1f} times the evaluations at equal error"
    )


def _is_crowded(run: Integrator) -> bool:
    """Whether samples filled the buffer before the steps were taken: the run is to begin without a head."""
    return not run.done and not run.failed and run.statistics()["steps"] < sum(EXPLICIT_STEPS)


def _speed(run: Integrator, counts: tuple[int, ...], projected: bool) -> float:
    """Begin a run: its progress per evaluation over the last of some steps; 0 when it fails."""
    reached, work, events = [run.t], [0.0], 0
    try:
        for k, n_steps in enumerate(counts + counts[-1:] * AGAIN):
            if not run.done and (k < len(counts) or events > 0):
                events = run.begin(n_steps)
                counted = run.statistics()
                reached.append(run.t)
                work.append(counted["evaluations"] + (PROJECTION * counted["steps"] if projected else 0.0))
    except FlexmbsError:
        return 0.0
    if run.failed:
        return 0.0
    return (reached[-1] - reached[-2]) / max(work[-1] - work[-2], 1.0)
