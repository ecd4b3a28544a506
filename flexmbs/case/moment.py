"""A case at a moment of its motion: the numbered system and its state, and all symbols of the notes there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flexmbs.case.case import Case, Progress
from flexmbs.case.runner import prepare, settings
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.simulate import SINGLE, simulate
from flexmbs.simulate.analyses import start_state
from flexmbs.simulate.recorded import state_at

if TYPE_CHECKING:
    from flexmbs.dynamics.by_symbol import Matrices
    from flexmbs.model.state import State


def moment(
    case: Case, t: float = 0.0, result: Any = None, progress: Progress | None = None
) -> tuple[Any, State]:
    """System of a case, in the coordinates of its tree, and its state at a time.

    The state is that of `result`; without one the motion is computed up to t, as the case says.
    """
    prepared, chosen = prepare(case, progress), settings(case)
    system = prepared if not prepared.topology.absolute else build(prepared.model)
    if result is not None:
        return system, state_at(system, result, t)
    if not t > 0.0:
        if prepared is not system:
            return system, system.initial_state()
        return system, start_state(system, chosen)
    if chosen.type in SINGLE:
        what = f"an analysis of type {chosen.type} has one state, and none at t = {t:g} s"
        raise UsageError(Diagnostic("usage.at", case.source.name, what, "leave the time out"))
    shorter = replace(chosen, t_end=t, every=t, times=())
    outcome = simulate(prepared, shorter, None, progress=progress)
    return system, state_at(system, outcome.result, t)


def explain(
    case: Case,
    t: float = 0.0,
    result: Any = None,
    *,
    rotations: Iterable[str] = (),
    rows: str = "notes",
    progress: Progress | None = None,
) -> Matrices:
    """Every symbol of the notes at a time of the motion of a case (see `Mechanism.explain`)."""
    system, state = moment(case, t, result, progress)
    found: Matrices = system.explain(state, rotations=rotations, rows=rows)
    return found
