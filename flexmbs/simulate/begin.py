"""What stands before any motion: the state at its start, the count of freedoms, what cannot start and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flexmbs.dynamics.loops.change_point import choose_branch
from flexmbs.errors import Diagnostic, InputError, SolverError
from flexmbs.simulate.analyses import SINGLE, bends, is_followed, start_state
from flexmbs.simulate.diagnose import explained
from flexmbs.simulate.motion.contact import check_contacts
from flexmbs.simulate.motion.jumps import check_jumps, coupling_jumps
from flexmbs.simulate.record.items import counts_of, left_out
from flexmbs.simulate.settings import RunSettings
from flexmbs.simulate.sudden import sudden


def begin(
    system: Any, settings: RunSettings, say: Callable[[str], None], notes: list[str]
) -> tuple[RunSettings, Any, Any, str]:
    """Settings with the end of the run, the state at its start, the count of freedoms, if any, and what is
    suddenly there.

    `notes` gets doubts about the state, for the summary; what takes time says them before.
    """
    state = start_state(system, settings, notes.append)
    for text in notes if settings.type not in SINGLE else ():
        say(f"warning: {text}")
    check_contacts(system, settings)
    t_end = state.t if settings.type in SINGLE else max(settings.t_end, state.t)
    settings = replace(settings, t_end=t_end)
    check_jumps(system, state.t, t_end)
    for text in coupling_jumps(system):
        say(f"warning: {text}")
    counts = counts_of(system, state, bends=bends(system, settings))
    if counts is None:
        for line in left_out(system):
            say(line)
    if system.laws.python:
        say("Python functions are called at every evaluation of the forces: this is slow")
    if counts is not None and counts.redundant:
        if settings.redundant == "error":
            what = f"{counts.redundant} redundant constraint rows: {'; '.join(counts.redundant_rows[:4])}"
            raise InputError(Diagnostic("model.redundant", "model", what, 'or set redundant = "least-norm"'))
        choose_branch(system, state, settings.type)
    start = ""
    if settings.type not in SINGLE and not is_followed(system, settings):
        start = _try_start(system, state, settings)
    if start:
        say(start)
    return settings, state, counts, start


def _try_start(system: Any, state: Any, settings: RunSettings) -> str:
    """What cannot start says why, by name; a run keeps its start where constraints part from there on.

    Returns what is to be said of a start far from rest.
    """
    try:
        return sudden(system, state, system.forward_dynamics(state))
    except SolverError as error:
        if error.diagnostics[0].code != "solver.contradiction" or settings.t_end <= state.t:
            raise explained(error, system, state.pos) from None
    return ""
