"""The run itself: slices of the time loop become segments of the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, Interrupted, SolverError
from flexmbs.integrate import Chunk
from flexmbs.integrate.events.change import FIRST_CHANGE
from flexmbs.interrupts import deferred
from flexmbs.model.laws.tables import COORD_STOP, RELATION
from flexmbs.model.system import System
from flexmbs.results import MemoryWriter, ResultWriter
from flexmbs.simulate.cost import Cost
from flexmbs.simulate.failure import located, without_value
from flexmbs.simulate.motion.contact import EVENTS as CONTACT_EVENTS
from flexmbs.simulate.record.history import History
from flexmbs.simulate.settings import RunSettings
from flexmbs.simulate.summary import Watch

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]
COMMIT_SECONDS = 10.0
COMMIT_BYTES = 2**26
#: samples of one step wait together, as a segment ends between steps: so much of them
MAX_WAITING = 2**30
#: what must be a number in every sample
TOLD = ("position", "velocity", "acceleration", "effort")


@dataclass
class Recorder:
    """Gathers chunks and commits them as segments."""

    system: System
    writer: ResultWriter | MemoryWriter
    history: History
    watch: Watch
    chunks: list[Chunk] = field(default_factory=list)
    last_commit: float = field(default_factory=time.monotonic)
    started: float = field(default_factory=time.monotonic)
    lost: float | None = None
    beyond: SolverError | None = None

    @property
    def waiting_bytes(self) -> int:
        return sum(len(chunk.t) for chunk in self.chunks) * 8 * self.history.sampler.width

    def commit(self, run: Any) -> None:
        """Make everything up to the present step durable, with the state to go on from.

        Samples from the first on that is no number are left out, and `lost` is their time; so are those
        behind the first that no linear body can have, and `beyond` says so.
        """
        t = np.concatenate([chunk.t for chunk in self.chunks])
        y = np.concatenate([chunk.y for chunk in self.chunks])
        info = np.concatenate([chunk.info for chunk in self.chunks])
        given = [chunk.rows for chunk in self.chunks if chunk.rows is not None]
        at = np.concatenate([chunk.state_t for chunk in self.chunks])
        samples = self.history.samples(t, y, info, np.concatenate(given) if given else None, at)
        good = good_samples(samples)
        self.lost = None if good == len(t) else float(t[good])
        if self.lost is not None:
            samples = {path: values[:good] for path, values in samples.items()}
        kept, self.beyond = self.watch.within(samples)
        if kept < len(samples["time"]):
            samples = {path: values[:kept] for path, values in samples.items()}
        noted = self.watch.see(samples)
        checkpoint = {
            "integrator": run.checkpoint(),
            "history": self.history.checkpoint(),
            "watch": self.watch.checkpoint(),
            "state": {"t": run.t},
        }
        kept = min(kept, good)
        reached = run.t if kept == len(t) else float(t[max(kept - 1, 0)])
        self.writer.commit(samples, checkpoint, reached, self._events(noted))
        self.chunks.clear()
        self.last_commit = time.monotonic()

    def drop_last(self) -> None:
        """Leave out the last sample that waits."""
        last = self.chunks.pop()
        if len(last.t) > 1:
            rows = None if last.rows is None else last.rows[:-1]
            at, one_less = last.state_t[:-1], slice(len(last.t) - 1)
            fewer = {name: getattr(last, name)[one_less] for name in ("t", "y", "info")}
            self.chunks.append(replace(last, **fewer, rows=rows, at=at))

    def _events(self, noted: list[tuple[float, str]]) -> dict[str, Any]:
        """Events of the segment in the order of time, those of validity among them."""
        found = [
            (float(t), *event_text(self.system, int(k), float(d)))
            for chunk in self.chunks
            for t, k, d in zip(chunk.event_t, chunk.event_index, chunk.event_direction, strict=True)
        ]
        found = sorted([*found, *((t, "validity", text) for t, text in noted)], key=lambda item: item[0])
        if not found:
            return {}
        return {
            "time": np.array([item[0] for item in found]),
            "kind": [item[1] for item in found],
            "text": [item[2] for item in found],
        }


def good_samples(samples: dict[str, Floats]) -> int:
    """How many samples come before the first in which a joint or a drive is no number."""
    told = [
        np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        for path, values in samples.items()
        if path.startswith(("joints/", "drives/")) and path.rpartition("/")[2] in TOLD
    ]
    bad = np.flatnonzero(~np.all(told, axis=0)) if told else np.zeros(0, dtype=np.int64)
    return int(bad[0]) if len(bad) else len(samples["time"])


def event_text(system: System, index: int, direction: float) -> tuple[str, str]:
    """Kind and text of an event of switching function `index`."""
    laws = system.laws.tables
    if index <= FIRST_CHANGE:
        where = system.groups[FIRST_CHANGE - index].path
        return "change_point", f"the constraints of {where} lose rank; passed on the branch of the velocity"
    if index < 0:
        return "coordinates", "independent coordinates are chosen anew"
    sided = np.flatnonzero(system.tables.row.side)
    first = len(laws.switch_expr) + ("until" in system.laws.free)
    if index >= first:
        group = system.groups[int(system.tables.row.group[sided[index - first]])]
        kind, what = CONTACT_EVENTS[direction]
        return kind, f"couplings.{group.name}: {what}"
    if index >= len(laws.switch_expr):
        return "until", "the condition of analysis.until turns positive"
    law = int(laws.switch_law[index])
    if law == RELATION:
        return "switch", f"the law of {system.laws.relations[index]} has a kink: an impact"
    if law < 0:
        return "switch", "an expression passes a switch"
    owner = system.laws.owners[law]
    kind = "stop" if laws.kind[law] == COORD_STOP else "switch"
    return kind, f"{owner} {'rises through' if direction > 0 else 'falls through'} a switch"


def record(
    run: Any, recorder: Recorder, settings: RunSettings, progress: Progress | None = None,
    cost: Cost | None = None,
) -> None:  # fmt: skip
    """Integrate to the end, committing on the way; raises `Interrupted` or `SolverError`."""
    every = settings.checkpoint_every or np.inf
    with deferred() as stop:
        while not run.finished:
            target = (np.floor(run.t / every * (1.0 + 1e-12)) + 1.0) * every if np.isfinite(every) else np.inf
            try:
                chunk = run.advance(target)
                recorder.chunks.append(chunk)
            except SolverError as error:
                _keep(run, recorder)
                raise located(error, recorder.system, run) from None
            if progress is not None and settings.t_end > 0.0:
                progress(min(run.t / settings.t_end, 1.0), f"t = {run.t:.4g} s")
            if cost is not None and not run.finished:
                cost.look(run)
            if recorder.waiting_bytes > MAX_WAITING:
                raise _too_many(run)
            if chunk.fails:  # what ended it is said, not what its last state lacks
                continue
            if run.between_steps and (_due(run, recorder, target) or stop.asked):
                recorder.commit(run)
                if recorder.beyond is not None:
                    raise recorder.beyond
                if recorder.lost is not None:
                    raise without_value(recorder.system, recorder.lost)
            if stop.asked and run.between_steps and not run.finished:
                what = f"interrupted at t = {run.t:.6g} s; everything up to there is kept"
                where = str(recorder.writer.path)
                again = "--resume --overwrite" if recorder.writer.path.exists() else "--resume"
                raise Interrupted(Diagnostic("run.interrupted", where, what, f"go on with {again}"))


def _too_many(run: Any) -> SolverError:
    what = f"one step holds samples of more than {MAX_WAITING} bytes, the limit of what is kept in memory"
    remedy = "choose a longer output.every, or a fixed analysis.step"
    return SolverError(Diagnostic("output.waiting", f"t = {run.t:.6g} s", what, remedy))


def _due(run: Any, recorder: Recorder, target: float) -> bool:
    # the first ones soon, so that a run can be watched; later ones seldom, so that long runs have few
    patience = min(COMMIT_SECONDS, 0.5 + 0.1 * (recorder.last_commit - recorder.started))
    late = time.monotonic() - recorder.last_commit > patience and not np.isfinite(target)
    return run.finished or run.t >= target or late or recorder.waiting_bytes > COMMIT_BYTES


def _keep(run: Any, recorder: Recorder) -> None:
    """What was computed before a failure stays readable, as far as it can be evaluated."""
    for _ in range(2):  # the state next to the failure alone may be none
        if not (run.between_steps and recorder.chunks):
            return
        try:
            return recorder.commit(run)
        except SolverError:
            recorder.drop_last()
