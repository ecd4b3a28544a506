"""Stage 2 in one page: a System and settings become a Result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flexmbs._jit import is_cached
from flexmbs.errors import Diagnostic, InputError, Interrupted, SolverError
from flexmbs.integrate import integrator
from flexmbs.integrate.loop import run as time_loop
from flexmbs.model.band import bands, told
from flexmbs.results import Item, MemoryWriter, Result, ResultWriter
from flexmbs.simulate.analyses import FOLLOWED, SINGLE, has_inertia, is_followed, start_state
from flexmbs.simulate.begin import begin
from flexmbs.simulate.choose import EXPLICIT, Choice, choose
from flexmbs.simulate.cost import Cost
from flexmbs.simulate.diagnose import explained
from flexmbs.simulate.motion.branch import leaves_nothing_free
from flexmbs.simulate.motion.branch import watch as watch_branch
from flexmbs.simulate.motion.contact import open_contacts
from flexmbs.simulate.motion.equations import equations, problem, state_vector
from flexmbs.simulate.motion.forms import REFERENCES, form_of, method_of, time_settings
from flexmbs.simulate.motion.independent import check_offered
from flexmbs.simulate.motion.prescribed import Prescribed, by_recursion, method_along
from flexmbs.simulate.record.history import History
from flexmbs.simulate.record.items import indeterminate, topology_items
from flexmbs.simulate.record.sampling import sample
from flexmbs.simulate.run import Progress, Recorder, record
from flexmbs.simulate.settings import RunSettings
from flexmbs.simulate.summary import RunLog, Summary, Watch, balance_advice

__all__ = ["Outcome", "RunSettings", "Summary", "estimate", "simulate"]

#: analyses over time
MOVING = (*FOLLOWED, "dynamics")
#: bytes of samples that may wait in memory for the end of a run
MOST_AT_ONCE = 2**26


Writer = ResultWriter | MemoryWriter


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    result: Result
    summary: Summary


def simulate(
    system: Any,
    settings: RunSettings,
    path: str | Path | None,
    *,
    overwrite: bool = False,
    resume: bool = False,
    items: Mapping[str, Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    finish: Callable[[Result], Mapping[str, Any]] | None = None,
    progress: Progress | None = None,
    announce: Callable[[float], None] | None = None,
    say: Callable[[str], None] | None = None,
    moved: Callable[[Any], Iterable[str]] | None = None,
    at_once: bool = False,
) -> Outcome:
    """Compute the motion of a system and write it to `path` (interface, sections 3 and 5), or to memory.

    `items` and `attributes` go into the result as they are; `finish` gets the result before it is packed and
    returns further items (metrics). `announce(t)` is called after each durable segment, `say` with what the
    user should know, `moved` gives initial values that the assembled state does not have. `at_once`:
    a result that is not large is written when the run has ended, and returned as it is in memory. Raises
    `SolverError` or `Interrupted`, and keeps what was computed.
    """
    say = log = RunLog(say)
    if not (is_cached(sample) and is_cached(time_loop)):
        say("compiling the kernels; this happens once per installation and takes some ten seconds")
    notes: list[str] = []
    settings, state, counts, start = begin(system, settings, say, notes)
    if moved is not None and settings.start == "assembled" and settings.type not in ("statics", "linearize"):
        for text in moved(state):
            say(f"warning: {text}")
    evaluator = system.evaluator()
    if settings.formulation != "recursive":
        check_offered(system, evaluator, state, settings)
    history = History(system, equations(system, evaluator), indeterminate(counts))
    layout = history.layout
    settings.check_size(state.t, layout.sample_bytes)
    linear: dict[str, Any] = {}
    if settings.type == "linearize":
        from flexmbs.simulate.record.linear import linear_items

        linear = linear_items(system, state, settings, say)
    told = {**topology_items(system, counts), **linear, **(items or {})}
    marks = dict(attributes or {})
    writer: Writer
    size = len(settings.output_times(state.t)) * layout.sample_bytes
    if path is None or (at_once and size <= MOST_AT_ONCE):
        writer = MemoryWriter(layout, told, marks, target=None if path is None else Path(path))
    else:
        writer = ResultWriter(
            Path(path), layout, told, marks, overwrite=overwrite, resume=resume, announce=announce
        )
    watch = Watch(system)
    with writer:
        begun = state.t, time.perf_counter()  # the choice of a method goes the first part of the motion
        choice, motion = _motion(system, state, evaluator, history, settings, say)
        if writer.resumed is not None:
            _go_on(writer, motion, history, watch, say)
            begun = motion.t, time.perf_counter()
        with _kept(writer, system, motion):
            cost = Cost(system, settings, say, motion.t)
            record(motion, Recorder(system, writer, history, watch), settings, progress, cost)
            wall = time.perf_counter() - begun[1]
        if settings.steps is not None and not settings.steps.known:
            settings.steps.keep(choice.method, getattr(motion, "sizes", []), settings.t_end - state.t)
        summary = _summary(choice, motion, watch, settings, counts)
        summary.warnings += history.sampler.warnings
        summary.moved, summary.wall = motion.t - begun[0], wall
        summary.stepping = float(getattr(motion, "spent", 0.0))
        summary.warnings[:0] = notes
        summary.followed += [start] if start else []
        for line in summary.text.splitlines():
            log.note(line)
        provenance = {**writer.items.get("provenance", {}), "log": Item(log.text)}
        whole = {"summary": {"text": summary.text or " "}, "provenance": provenance}
        whole |= dict({} if finish is None else finish(writer.result()))
        writer.finish("complete", watch.message, items=whole)
    there = writer.result() if isinstance(writer, MemoryWriter) else Result.load(writer.path)
    return Outcome(there, summary)


def estimate(system: Any, settings: RunSettings, counts: Any) -> dict[str, Any]:
    """Wall time and steps of a run, by its first moments, with what limits the steps (see Cost.tried).

    Empty where nothing moves in time; `text` says what keeps the motion from its first steps.
    """
    if settings.type not in MOVING or not settings.t_end > 0.0:
        return {}
    if not (is_cached(sample) and is_cached(time_loop)):
        return {"text": "not tried, as kernels are not compiled yet"}
    try:
        state = start_state(system, settings)
        evaluator = system.evaluator()
        history = History(system, equations(system, evaluator), indeterminate(counts))
        cost = Cost(system, settings, lambda _: None, state.t)
        choice, motion = _motion(system, state, evaluator, history, settings, lambda _: None)
        found = cost.tried(motion)
    except SolverError as error:
        return {"text": f"the motion stops: {error.diagnostics[0]}"}
    return found | {"text": f"{choice.method}: {found['text']}"}


def _motion(
    system: Any, state: Any, evaluator: Any, history: Any, settings: RunSettings, say: Callable[[str], None]
) -> tuple[Any, Any]:
    """The choice of the method, and the motion as it is to be recorded."""
    if settings.formulation != "recursive":
        choice = method_of(system, settings, state.t)
        chosen = time_settings(system, settings, choice.method)
        lifts = settings.type == "dynamics"  # a prescribed motion holds its cams together, and says so
        form = form_of(settings)(
            system, state, evaluator, history.sampler, chosen, settings.t_end, lifts=lifts
        )
        task = state.t, form.y, settings.output_times(state.t), settings.t_end
        return choice, integrator(form.problem, chosen, *task)
    if is_followed(system, settings) or (settings.type == "statics" and not has_inertia(system, state)):
        return _followed(system, state, evaluator, history, settings, say)
    choice, motion = _integrated(system, state, settings, say)
    history.sampler.same_branch(motion.problem.data)
    return choice, motion


@contextmanager
def _kept(writer: Writer, system: Any, motion: Any) -> Iterator[None]:
    """What was computed is kept when the solver stops or the user does, with the reason."""
    try:
        yield
    except (SolverError, Interrupted) as error:
        status = "interrupted" if isinstance(error, Interrupted) else "failed"
        if isinstance(error, SolverError):
            error = explained(error, system, getattr(getattr(motion, "memory", None), "y", None))
        writer.mark(status, error.diagnostics[0].what)
        raise error from None


def _followed(
    system: Any, state: Any, evaluator: Any, history: History, settings: RunSettings, say: Any
) -> tuple[Choice, Any]:
    """Motion that drives prescribe (F35, F36)."""
    times = settings.output_times(state.t)
    asked = replace(time_settings(system, replace(settings, steps=None), EXPLICIT), step=0.0)
    found = by_recursion(system, state, settings.t_end)
    if found is not None:
        y = state_vector(system, state)
        history.sampler.same_branch(found.data, state.t)
    else:
        bends = settings.elastic == "quasi-static"
        form = Prescribed(system, state, evaluator, history.sampler, settings.t_end, bends)
        if form.idle and settings.type in FOLLOWED:
            say(f"warning: {form.idle} freedoms that no drive determines take the least velocity")
        found, y = form.problem, form.y
    why = "the drives determine the motion" if settings.type in FOLLOWED else "nothing moves"
    chosen = replace(asked, method=method_along(system, found, state.t, y, settings))
    if chosen.method in REFERENCES:
        found = replace(found, jumps=None)  # speeds that jump take no impact where nothing is free
    motion = integrator(found, chosen, state.t, y, times, settings.t_end)
    return Choice(settings.type, f"{len(times)} times, {why}"), motion


def _integrated(system: Any, state: Any, settings: RunSettings, say: Any) -> tuple[Choice, Any]:
    """Motion by time integration; a single state is a run of no length."""
    equations_of_motion = problem(system)
    y0, t_start = state_vector(system, state), state.t
    open_contacts(system, state, y0)
    watch_branch(equations_of_motion, t_start, y0, settings.t_end)
    chosen = time_settings(system, settings, settings.method if settings.method != "auto" else "dopri5")
    task = t_start, y0, settings.output_times(t_start), settings.t_end
    if settings.method == "auto" and settings.t_end > t_start:
        if settings.steps is not None and settings.steps.known:
            choice = Choice(settings.steps.method, "the steps of another run")
            run = integrator(equations_of_motion, replace(chosen, method=choice.method), *task)
        elif leaves_nothing_free(equations_of_motion):
            choice = Choice(EXPLICIT, "the drives determine the motion")
            run = integrator(equations_of_motion, replace(chosen, method=EXPLICIT), *task)
        else:
            choice, run = choose(equations_of_motion, chosen, *task)
        say(f"method {choice.method}: {choice.reason}")
        return choice, run
    single = Choice("dopri5", "a single state")
    choice = single if settings.t_end <= t_start else Choice(settings.method, "as asked")
    return choice, integrator(equations_of_motion, replace(chosen, method=choice.method), *task)


def _go_on(writer: Writer, run: Any, history: History, watch: Watch, say: Any) -> None:
    """Take up a run where its last segment ends."""
    resumed = writer.resumed
    assert resumed is not None
    if resumed.warning:
        say(f"warning: {resumed.warning}; computing again from t = {resumed.t:.6g} s")
    try:
        run.restore(resumed.checkpoint["integrator"])
        history.restore(resumed.checkpoint["history"])
        watch.restore(resumed.checkpoint["watch"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        what, remedy = f"its checkpoint is none of this run: {error}", "--overwrite starts again"
        raise InputError(Diagnostic("result.checkpoint", str(writer.path), what, remedy)) from None


def _summary(choice: Choice, run: Any, watch: Watch, settings: RunSettings, counts: Any) -> Summary:
    """How it went, and what to know of it: redundant rows, modes that were not resolved, chatter."""
    statistics = run.statistics()
    if settings.type != "dynamics":  # samples, not steps of time
        statistics |= {"steps": 0, "rejected": 0}
    every = settings.every or settings.t_end / 1000.0
    advice = balance_advice(settings, choice.method)
    warnings = watch.warnings(every, advice) if settings.t_end > 0.0 else watch.pulls()
    if counts is not None and counts.redundant:
        rows = f"{counts.redundant} redundant constraint rows: {'; '.join(counts.redundant_rows[:4])}"
        warnings.insert(0, f"{rows}; forces {counts.shared}")
    if statistics.get("chattering"):
        warnings.append(
            f"{statistics['chattering']} switching functions chatter; their zeros were located no more"
        )
    warnings += run.problem.form.warnings if run.problem.form is not None else []
    outside = [t for t in settings.times if t > settings.t_end]
    if outside and settings.type not in SINGLE:
        warnings.append(f"output.times: {outside[0]:g} s lies behind the end, t_end = {settings.t_end:g} s")
    reason = choice.reason if settings.type == "dynamics" else f"{settings.type}: {choice.reason}"
    left = told(bands(watch.system.model.bodies))
    balance = (watch.balance, watch.energy) if advice is not None else (0.0, 0.0)
    return Summary(choice.method, reason, statistics, *balance, warnings, left)
