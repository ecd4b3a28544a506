"""A simulation that its caller steps: for co-simulation and controllers outside (interface, section 6).

    sim = fm.simulation(case)
    while sim.t < 1.0:
        sim.step(1e-3, {"torque": controller(sim["pin.position"])})

Inputs are those of the case (`[inputs]`), given in their units, and own states whose rate is zero: a step
holds them. One run of the integrator goes on from step to step, with the size of its own steps; where an
input changes it asks for rates anew. Methods of other libraries begin again at every step.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.integrate import Chunk, Integrator, Settings, integrator
from flexmbs.integrate.memory import INFO
from flexmbs.results import Item, MemoryWriter, Result, ResultWriter
from flexmbs.results.channels import find
from flexmbs.simulate.begin import begin
from flexmbs.simulate.choose import EXPLICIT, Choice, choose
from flexmbs.simulate.motion.branch import leaves_nothing_free, watch
from flexmbs.simulate.motion.contact import open_contacts
from flexmbs.simulate.motion.equations import equations, problem, state_vector
from flexmbs.simulate.record.history import History
from flexmbs.simulate.record.items import indeterminate, topology_items
from flexmbs.simulate.run import Recorder
from flexmbs.simulate.settings import RunSettings
from flexmbs.simulate.summary import Summary, Watch

Floats = NDArray[np.float64]
#: a recording into a file writes its samples away when they take so many bytes, or wait so long [s]
WAITING_BYTES, WAITING_SECONDS = 2**26, 10.0
#: what a result says of the case, for a file that lies at a path; numbers of a result, by name
Told = Callable[[Path], Mapping[str, Any]]
Metrics = Callable[[Result], Mapping[str, float]]


@dataclass(frozen=True)
class Snapshot:
    """A state to which a simulation of the same case can be set back: same bits from there on."""

    t: float
    y: Floats
    inputs: Floats
    memory: dict[str, Any]
    history: dict[str, Any]
    chunks: tuple[Chunk, ...] | None = ()
    written: int = 0

    def to_bytes(self) -> bytes:
        """For files and other processes, without what was recorded."""
        arrays: dict[str, Any] = {"t": self.t, "y": self.y, "inputs": self.inputs}
        arrays |= {f"memory/{name}": item for name, item in self.memory.items()}
        arrays |= {f"history/{name}": item for name, item in self.history.items()}
        found = io.BytesIO()
        np.savez(found, **arrays)
        return found.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Snapshot:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        parts: dict[str, dict[str, Any]] = {"memory": {}, "history": {}}
        for name in list(arrays):
            kind, _, rest = name.partition("/")
            if rest:
                parts[kind][rest] = arrays.pop(name)
        return cls(float(arrays["t"]), arrays["y"], arrays["inputs"], parts["memory"], parts["history"], None)


@dataclass
class Recording:
    """Samples at the ends of steps, on their way to a result.

    Those for a file are written now and then; `chunks` wait. Those in memory stay, as who goes back takes
    some away: `taken` of them have been worked out.
    """

    writer: ResultWriter | MemoryWriter
    recorder: Recorder
    chunks: list[Chunk] = field(default_factory=list)
    written: int = 0
    taken: int = 0

    @property
    def in_file(self) -> bool:
        return isinstance(self.writer, ResultWriter)

    @property
    def waits(self) -> bool:
        """Whether enough of a file waits to be written."""
        if not self.in_file:
            return False
        late = time.monotonic() - self.recorder.last_commit > WAITING_SECONDS
        bytes_each = 8 * self.recorder.history.sampler.width
        return late or len(self.chunks) * bytes_each > WAITING_BYTES

    def write(self, run: Any) -> None:
        """Hand what waits to the writer."""
        new = self.chunks[self.taken :]
        if not new:
            return
        self.recorder.chunks[:] = new
        self.recorder.commit(run)
        if self.in_file:
            self.written += len(new)
            self.chunks.clear()
        else:
            self.taken += len(new)


class Simulation:
    """State of a case that is moved on step by step; `sim[channel]` is a channel of its result at `sim.t`."""

    path = "simulation"

    def __init__(
        self, system: Any, settings: RunSettings | None = None, told: Told | None = None,
        metrics: Metrics | None = None,
    ) -> None:  # fmt: skip
        self.notes: list[str] = []
        wanted = replace(
            settings or RunSettings(), type="dynamics", formulation="recursive", stabilisation="projection"
        )
        wanted, state, self._counts, _ = begin(system, wanted, self.notes.append, self.notes)
        self.system, self.told, self.metrics = system, told, metrics
        self.marks: dict[str, Any] = {}  # attributes of results
        self.problem = problem(system)
        self.t, self.y = float(state.t), state_vector(system, state)
        open_contacts(system, state, self.y)
        watch(self.problem, self.t, self.y, wanted.t_end)
        self.choice = self._chosen(wanted)
        self.settings = Settings(
            method=self.choice.method,
            rtol=wanted.rtol,
            atol=wanted.atol,
            step=wanted.step,
            rho_inf=wanted.rho_inf,
        )
        self.history = History(system, equations(system, system.evaluator()), indeterminate(self._counts))
        self.history.sampler.same_branch(self.problem.data)
        self._fields = {item.path: item for item in self.history.layout.fields}
        self.paths = list(self._fields)
        self._channels: dict[str, tuple[str, int | None]] = {}
        self._inputs = [item.default for item in system.model.inputs.values()]
        self._run: Any = None
        self._changed = False
        self._rows: Floats | None = None
        self._seen: Floats | None = None
        self._record: Recording | None = None
        self._begun, self._wall, self._steps = self.t, 0.0, 0
        self._first = self.snapshot()

    def _chosen(self, wanted: RunSettings) -> Choice:
        """The method that a run of the whole time would take; without an end, the explicit one of order 5."""
        if wanted.method != "auto":
            return Choice(wanted.method, "as asked")
        if leaves_nothing_free(self.problem):
            return Choice(EXPLICIT, "the drives determine the motion")
        if not wanted.t_end > self.t:
            return Choice("dopri5", "there is no end of the motion by which to choose")
        tried = Settings(rtol=wanted.rtol, atol=wanted.atol, step=wanted.step, rho_inf=wanted.rho_inf)
        return choose(self.problem, tried, self.t, self.y.copy(), np.zeros(0), wanted.t_end)[0]

    # -- time

    def step(self, dt: float, inputs: Mapping[str, float] | None = None) -> None:
        """Move on by dt [s], with the inputs held at the given values; the others keep theirs."""
        if not (dt > 0.0 and np.isfinite(dt)):
            what = f"a step of {dt} s is not possible"
            raise UsageError(Diagnostic("simulation.step", "step", what, "give a positive number"))
        if inputs:
            self.set(inputs)
        self.move(self.t + dt)

    def move(self, end: float, sampled: bool = True) -> None:
        """Move on to a time; its state is a sample of what is recorded, unless not `sampled`."""
        begun = time.perf_counter()
        run = self._going_on(end)
        while True:
            chunk = run.advance()
            if len(chunk.t):
                self.y = chunk.y[-1]
            if self._record is not None and len(chunk.t) + len(chunk.event_t):
                self._record.chunks.append(self._sampled(chunk if sampled else _without_samples(chunk)))
            if run.finished:
                break
        self.t, self._rows, self._seen = end, None, None
        self._steps += 1
        self._wall += time.perf_counter() - begun
        if self._record is not None and self._record.waits:
            self._record.write(self._going)

    def _going_on(self, end: float) -> Any:
        """The run that leads to the end of this step."""
        if self._run is None or not isinstance(self._run, Integrator):
            self._run = integrator(self.problem, self.settings, self.t, self.y, np.array([end]), end)
        else:
            if self._changed:
                self._run.memory.y[:] = self.y
            self._run.go_on(end, self._changed)
        self._changed = False
        return self._run

    def set(self, inputs: Mapping[str, float]) -> None:
        """Inputs from now on, in their units; a step asks for rates anew only where one has changed."""
        names = list(self.system.model.inputs)
        for name, value in inputs.items():
            number = float(value)
            if not np.isfinite(number):
                what = f"{name} = {number} is no value of an input"
                raise UsageError(Diagnostic("simulation.step", f"inputs.{name}", what, "give a number"))
            if name in self.system.model.inputs:
                number *= self.system.model.inputs[name].factor
                self._changed |= self._inputs[names.index(name)] != number
                self._inputs[names.index(name)] = number
            else:
                place = self._place(name)
                if self.y[place] != number:
                    self.y = self.y.copy()
                    self.y[place], self._changed = number, True
        if self._changed:
            self._rows = self._seen = None
            self._put_inputs()

    def _put_inputs(self) -> None:
        """Inputs to where expressions read them."""
        for name, place in self.system.laws.inputs.items():
            number = self._inputs[list(self.system.model.inputs).index(name)]
            self.problem.data.lw.x[place] = self.history.sampler.data.lw.x[place] = number

    def _place(self, name: str) -> int:
        """Place of an own state in the state vector."""
        names = list(self.system.model.states)
        if name not in names:
            remedy = nearest(name, [*self.system.model.inputs, *names])
            raise InputError(Diagnostic("simulation.input", f"inputs.{name}", f'no input "{name}"', remedy))
        return int(self.system.n_pos + self.system.n_vel + names.index(name))

    # -- values

    def __getitem__(self, channel: str) -> float | Floats:
        """Value of a channel, under its name in results; one number where it has one component."""
        if channel not in self._channels:
            self._channels[channel] = find(self, channel)
        path, component = self._channels[channel]
        values = self.field(path)
        values = values if component is None else values[..., component]
        return float(values.reshape(())) if np.size(values) == 1 else np.array(values)

    def field(self, path: str) -> Floats:
        """A field of the result at the present time, by its path."""
        if self._seen is None:
            self._seen = self._row().copy()
            self.history.touches.load(self._seen)
        return np.asarray(self.history.value(path, self._seen)[0])

    def _row(self) -> Floats:
        """Everything that is reported at the present state, (1, width)."""
        if self._rows is None:
            self._rows = self.history.sampler.rows(np.array([self.t]), self.y[None, :])
        return self._rows

    def holds(self, path: str) -> bool:
        """Whether there is a field of this path, as in a result."""
        return path in self._fields

    def attributes_of(self, path: str) -> dict[str, Any]:
        """What names the components of a field, as in a result."""
        axes = self._fields[path].axes
        return {"components": list(self.history.layout.axis(axes[-1]).labels)} if axes else {}

    # -- back

    def snapshot(self) -> Snapshot:
        """Everything that the next step reads."""
        memory = self._run.checkpoint() if isinstance(self._run, Integrator) else {}
        history = {name: np.array(item) for name, item in self.history.checkpoint().items()}
        kept, written = (
            (tuple(self._record.chunks), self._record.written) if self._record is not None else ((), 0)
        )
        return Snapshot(self.t, self.y.copy(), np.array(self._inputs), memory, history, kept, written)

    def restore(self, there: Snapshot) -> None:
        """Back to a snapshot of the same case; samples that were recorded behind it are dropped."""
        if there.y.shape != self.y.shape or len(there.inputs) != len(self._inputs):
            what = "the snapshot is none of this case"
            raise UsageError(
                Diagnostic("simulation.snapshot", "restore", what, "take one of this simulation")
            )
        self._check_recorded(there)
        self.t, self.y, self._inputs = there.t, there.y.copy(), [float(x) for x in there.inputs]
        self._put_inputs()
        self.history.last.clear()
        self.history.restore(dict(there.history))
        self._rows = self._seen = None
        self._changed = False
        if self._record is not None:
            kept = list(there.chunks or [self._sampled(_standing(self.t, self.y))])
            self._record = self._recording(self._record.writer, kept, self._record)
        if not there.memory:
            self._run = None
            return
        if not isinstance(self._run, Integrator):
            self._run = integrator(self.problem, self.settings, self.t, self.y, np.array([self.t]), self.t)
        self._run.restore({name: np.array(item) for name, item in there.memory.items()})

    def reset(self) -> None:
        """Back to the start, with all inputs at their defaults."""
        self.restore(self._first)
        self._begun, self._wall, self._steps = self.t, 0.0, 0

    def _check_recorded(self, there: Snapshot) -> None:
        """A recording goes back with the simulation, but for what is in a file already."""
        record = self._record
        if record is None:
            return
        if record.written > 0 and record.written != there.written:
            what = "samples behind that time are in the file already"
            remedy = "record into memory, record(), where you go back"
            raise UsageError(Diagnostic("simulation.snapshot", "restore", what, remedy))
        if there.chunks is None:
            what = "the snapshot comes from elsewhere, without what was recorded before it"
            raise UsageError(
                Diagnostic("simulation.snapshot", "restore", what, "finish() the recording before")
            )

    # -- results

    def record(self, path: str | Path | None = None, *, overwrite: bool = False) -> None:
        """From now on the ends of steps are samples of a result, in memory or in a file; see `finish`."""
        if self._record is not None:
            what = "a recording is under way already"
            raise UsageError(Diagnostic("simulation.record", "record", what, "finish() ends it"))
        writer: ResultWriter | MemoryWriter = MemoryWriter(self.history.layout)
        if path is not None:
            target = Path(path)
            items = self._items(target)
            writer = ResultWriter(target, self.history.layout, items, dict(self.marks), overwrite=overwrite)
            writer.__enter__()  # finish() leaves it
        self._record = self._recording(writer, [self._sampled(_standing(self.t, self.y))])

    def _recording(
        self, writer: ResultWriter | MemoryWriter, chunks: list[Chunk], before: Recording | None = None
    ) -> Recording:
        """A recording with so much in it: what a file has stays, what is in memory is worked out anew."""
        if before is not None and before.in_file:
            return replace(before, chunks=chunks)
        if before is not None:
            writer = MemoryWriter(self.history.layout)
        history = History(self.system, self.history.sampler.data, indeterminate(self._counts))
        return Recording(writer, Recorder(self.system, writer, history, Watch(self.system)), chunks)

    def _items(self, target: Path) -> dict[str, Any]:
        """What a result says of the case."""
        told = self.told(target) if self.told is not None else {}
        return {**topology_items(self.system, self._counts), **told}

    def _sampled(self, chunk: Chunk) -> Chunk:
        """A chunk with what is reported at its samples, evaluated with the inputs of now."""
        sampler = self.history.sampler
        return replace(chunk, rows=sampler.rows(chunk.state_t, chunk.y) if len(chunk.t) else None)

    def expression(self, name: str) -> float:
        """Value of a free expression of the system at the present state."""
        column = self.history.sampler.places["free"] + self.system.laws.free[name]
        return float(self._row()[0, column])

    @property
    def _going(self) -> Any:
        """What a recorder asks for the state of the run."""
        return self._run if isinstance(self._run, Integrator) else _Standing(self.t)

    def result(self) -> Result:
        """What is recorded so far, and stays under way; `result().show()` is a moving picture of it."""
        record = self._so_far()
        if isinstance(record.writer, MemoryWriter) and not record.writer.items:
            record.writer.items = self._items(Path("memory.h5"))
        return record.writer.result()

    def stop(self, status: str, message: str) -> None:
        """End a recording that cannot be finished; what a file has of it stays."""
        record, self._record = self._record, None
        if record is not None:
            record.write(_Standing(self.t))
            record.writer.mark(status, message)
            record.writer.__exit__()

    def discard(self) -> None:
        """End a recording in memory without a result."""
        if self._record is not None and not self._record.in_file:
            self._record = None

    def metrics_now(self) -> dict[str, float]:
        """The metrics of the case over what is recorded so far."""
        writer = self._so_far().writer
        return dict(self.metrics(writer.result())) if self.metrics is not None else {}

    def _so_far(self) -> Recording:
        """The recording, with all samples handed to its writer."""
        if self._record is None:
            what = "nothing is recorded"
            raise UsageError(Diagnostic("simulation.record", "simulation", what, "record() begins"))
        self._record.write(self._going)
        return self._record

    def finish(self) -> Result:
        """End the recording: its result, with the metrics of the case and a summary."""
        self.result()
        found, record = self.metrics_now(), self._so_far()
        summary = self.summary
        summary.warnings += record.recorder.watch.warnings(0.0)
        items: dict[str, Any] = {"summary": {"text": Item(summary.text or " ")}}
        items |= {"metrics": {name: Item(value) for name, value in found.items()}} if found else {}
        record.writer.finish("complete", record.recorder.watch.message, items=items)
        self._record = None
        record.writer.__exit__()
        return (
            record.writer.result()
            if isinstance(record.writer, MemoryWriter)
            else Result.load(record.writer.path)
        )

    def picture(self, path: str | Path) -> Path:
        """The mechanism as it stands now: .png, .html, .glb; of a recording .html and .glb move."""
        from importlib import import_module

        shown = self.result() if self._record is not None else self._now()
        import_module("flexmbs.post.animation").animate(shown, path, overwrite=True)  # late: it stands above
        return Path(path)

    def _now(self) -> Result:
        """A result of the present state alone."""
        self.record()
        found = self.result()
        self._record = None
        return found

    @property
    def summary(self) -> Summary:
        """How it went since the start, with the real-time factor."""
        counted = self._run.statistics() if isinstance(self._run, Integrator) else {}
        return Summary(
            self.choice.method, self.choice.reason, counted, moved=self.t - self._begun, wall=self._wall
        )


class _Standing:
    """What a recording asks of a run that begins again at every step."""

    def __init__(self, t: float) -> None:
        self.t = t

    def checkpoint(self) -> dict[str, Any]:
        return {"none": np.zeros(0)}


def _without_samples(chunk: Chunk) -> Chunk:
    """The events of a chunk."""
    return replace(chunk, t=chunk.t[:0], y=chunk.y[:0], info=chunk.info[:0], at=None)


def _standing(t: float, y: Floats) -> Chunk:
    """One sample of a state without events."""
    none = np.zeros(0)
    return Chunk(np.array([t]), y[None, :].copy(), np.zeros((1, INFO)), none, none.astype(np.int64), none)
