"""The Python side of a run: hands the compiled loop slices of work and takes samples and events."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs._bound import bound
from flexmbs._jit import Handle, declare, handle, prepare, tuple_of
from flexmbs.errors import Diagnostic, SolverError, UsageError
from flexmbs.integrate import memory as mem
from flexmbs.integrate.implicit_step import NO_CONVERGENCE
from flexmbs.integrate.loop import run
from flexmbs.integrate.memory import Options
from flexmbs.integrate.methods import method
from flexmbs.integrate.methods.tableaus import DOPRI5
from flexmbs.integrate.pace import Pace
from flexmbs.integrate.problem import HOLD, Problem
from flexmbs.integrate.repeat import LEFT, Noted, Repeated, Steps

Floats = NDArray[np.float64]
#: rho_inf = 1 on position level leaves a root at -1, which the turning of the constraints makes grow by h per
#: step; slightly below, accelerations and multipliers settle, and the energy of the motion keeps as well
CLOSED_RHO = 0.99
OUT_OF_REACH = -100  # beside the reasons of `memory`: seen here, between slices
SLICE_SECONDS = 0.1  # Python gets control back about this often: signals, progress


REASONS = {
    mem.TOO_SMALL: (
        "step_too_small",
        "the step shrinks to nothing: the motion ends here, or is too stiff for this method",
        'try method = "generalized-alpha", or larger tolerances',
    ),
    OUT_OF_REACH: (
        "step_too_small",
        "the steps shrink without end",
        "look for what turns or swings ever faster, or end the motion before",
    ),
    mem.NOT_EVALUATED: (
        "not_evaluated",
        "the equations cannot be solved at this state",
        "check masses, forces and joints near this position",
    ),
    NO_CONVERGENCE: (
        "no_convergence",
        "the iteration of the implicit step does not settle, however short the step",
        'take a smaller step, method = "dopri5", or softer springs',
    ),
    mem.CORNERED: (
        "corner",
        "the motion strikes a corner in the law of a constraint behind which no motion keeps the momentum",
        "round the corner, or give the parts that move over it more inertia",
    ),
    mem.RESTING: (
        "corner",
        "forces press the motion into a corner in the law of a constraint, where it comes to rest",
        "round the corner, or end the motion before",
    ),
    mem.CANNOT_START: (
        "cannot_start",
        "the equations cannot be solved at the initial state",
        "check masses, forces and joints",
    ),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to integrate. `step` 0 is adaptive; `until` is the switching function that ends the run, or -1.

    `steps` that are known are repeated; otherwise they are noted.
    """

    method: str = "dopri5"
    rtol: float = 1e-6
    atol: float = 1e-9
    step: float = 0.0
    rho_inf: float = 0.8
    until: int = -1
    steps: Steps | None = None

    def __post_init__(self) -> None:
        checks = {
            "rtol": 0.0 < self.rtol < 1.0,
            "atol": self.atol > 0.0,
            "step": self.step >= 0.0 and np.isfinite(self.step),
            "rho_inf": 0.0 <= self.rho_inf <= 1.0,
        }
        for name, good in checks.items():
            if not good:
                what = f"{getattr(self, name)} is out of range"
                raise UsageError(Diagnostic("analysis.range", f"analysis.{name}", what))


@dataclass
class Chunk:
    """Samples and events of a slice: times (n,), states (n, size), info (n, 5); events (k,).

    `at`: times of the states, where they are not those of the samples: behind an event on an output time.
    `rows`: what is reported at the samples, where that does not follow from the states alone.
    `fails`: the run ends by a failure behind them, which the next `advance` raises.
    """

    t: Floats
    y: Floats
    info: Floats
    event_t: Floats
    event_index: NDArray[np.int64]
    event_direction: Floats
    rows: Floats | None = None
    fails: bool = False
    at: Floats | None = None

    @property
    def state_t(self) -> Floats:
        """Times of the states."""
        return self.t if self.at is None else self.at


class Integrator:
    """A run with a compiled method: `advance` until `finished`; `checkpoint` and `restore` between slices."""

    def __init__(
        self,
        problem: Problem,
        settings: Settings,
        t_start: float,
        y0: Floats,
        times: Floats,
        t_end: float,
        loop: Any = None,
    ) -> None:
        chosen = method[settings.method]
        self.problem, self.settings, self.times = problem, settings, np.ascontiguousarray(times, dtype=float)
        self.tab = chosen.tableau or DOPRI5
        rho_inf = min(settings.rho_inf, CLOSED_RHO) if problem.closed else settings.rho_inf
        steps, duration = settings.steps, float(t_end) - float(t_start)
        repeats = steps is not None and steps.known
        step = settings.step or (duration if repeats else 0.0)
        sharp = max(settings.rtol / LEFT, 1.0) if repeats else 1.0
        self.options = Options(
            int(chosen.tableau is not None), problem.n_pos, problem.n_vel, problem.n_aux, problem.n_held,
            problem.n_control, problem.n_work, problem.n_switch, float(settings.rtol),
            float(settings.atol), float(step), float(t_start), float(t_end), float(rho_inf),
            int(settings.until), problem.n_follow * problem.turns, float(sharp), problem.n_sided,
            float(problem.longest),
        )  # fmt: skip
        self.memory = mem.memory(problem, t_start, y0)
        self.memory.origin[0], self.memory.spacing[0] = t_start, step
        self.scratch = mem.scratch(problem, self.tab)
        self.out = mem.samples(problem, max(16, min(4096, int(2**22 // max(1, problem.size)))))
        self.events = mem.events(256 + problem.n_switch)
        self._steps = 16
        self.spent = 0.0  # CPU seconds in the compiled loop
        self._done, self._failed, self._sampled = False, 0, float(t_start)
        self._held: list[Chunk] = []
        self._pace, self._lost = Pace(self._sampled, float(t_end)), ""
        self._bundle()
        self._loop, self._kinds = loop or self._compiled()
        self._run = self._bound()
        if steps is not None:
            asked = self._run, self.memory, self.options
            self._run = Repeated(*asked, steps, duration) if steps.known else Noted(*asked)
        self._end: Floats | None = None

    def beside(self, settings: Settings, t_start: float, y0: Floats, times: Floats) -> Integrator:
        """Another run of the same problem to the same end; the compiled loop need not be looked up again."""
        return Integrator(
            self.problem, settings, t_start, y0, times, self.options.t_end, (self._loop, self._kinds)
        )

    def _bundle(self) -> None:
        """Everything behind one pointer, as the kernels take it."""
        self._all = handle(
            mem.Run(
                self.problem.data, self.options, self.tab, self.memory, self.scratch, self.times, self.out,
                self.events,
            )
        )  # fmt: skip
        p = self.problem
        self._calls = mem.Calls(
            p.rates, p.shifted, p.increment, p.project, p.switches, p.nearness, p.turn
        )  # fmt: skip

    def _compiled(self) -> tuple[Any, Any]:
        """The loop for the types of this problem, compiled once per installation, and what they are."""
        p, y, t = self.problem, self.memory.y, 0.0
        calls = (
            declare(p.rates, p.data, t, y, y),
            declare(p.shifted, p.data, t, y, y, t, t, y, y),
            declare(p.increment, p.data, y, y, y),
            declare(p.project, p.data, t, y, t, t, y),
            declare(p.switches, p.data, t, y, y),
            declare(p.nearness, p.data, y),
            declare(p.turn, p.data, t, y, 0, y, y),
        )
        kinds = tuple_of(mem.Calls, calls)
        return prepare(run, kinds, self._all, 0, 0.0), kinds

    def _bound(self) -> Callable[[int, float], int]:
        """The loop, of a number of steps and a time to pause at alone."""
        found = bound(run, self._calls, self._kinds, self._all, 0, 0.0) if self._kinds is not None else None
        return found or (lambda steps, pause: int(self._loop(self._calls, self._all, steps, pause)))

    @property
    def t(self) -> float:
        """Time that has been reached: the end of the last step."""
        return min(float(self.memory.t[0]), self.options.t_end)

    @property
    def done(self) -> bool:
        """Whether the end has been reached."""
        return self._done

    @property
    def failed(self) -> bool:
        return self._failed != 0

    @property
    def finished(self) -> bool:
        """Whether the end has been reached and all samples have been handed out."""
        return self._done and not self._held

    @property
    def between_steps(self) -> bool:
        """True where a checkpoint may be taken: nothing of a step is waiting to be sampled or handed out."""
        return self.memory.pending[0] == 0 and not self._held

    def begin(self, n_steps: int) -> int:
        """Take some steps now; `advance` hands out their samples first. Returns how many events they met."""
        self._held.append(self._slice(np.inf, n_steps))
        return len(self._held[-1].event_t)

    def go_on(self, t_end: float, anew: bool = False) -> None:
        """Let a run to `times = [end]` that is done go on to a later end, whose state is its next sample.

        `anew`: what laws read was changed from outside, so that rates and switching functions at the
        present state are asked for again; the size of steps is kept, error control looks after it.
        """
        self.options = self.options._replace(t_end=float(t_end))
        self.times[0], self.memory.out[0] = t_end, 0
        self._done, self._pace.t_end = False, float(t_end)
        if not isinstance(self._all, Handle):
            self._bundle()
        else:
            if self._end is None:
                offset, kind, _ = self._all.kind.place("opt")
                self._end = self._all.memory.view(np.float64)[offset + kind.place("t_end")[0] :]
            self._end[0] = t_end
        if anew and self.memory.started[0]:
            size, self.memory.started[0] = self.memory.h[0], 0
            status = self._run(0, 0.0)
            if status < 0:
                self._raise(status)
            self.memory.h[0] = max(size, self.memory.h[0])

    def advance(self, t_pause: float = np.inf, n_steps: int | None = None) -> Chunk:
        """Integrate on for a slice of wall time, or `n_steps`, or to the first step end from t_pause on.

        A failure is raised when the samples before it are out, the last good state among them.
        """
        return self._held.pop(0) if self._held else self._slice(t_pause, n_steps)

    def _slice(self, t_pause: float, n_steps: int | None) -> Chunk:
        if self._failed:
            self._raise(self._failed)
        self.out.count[0] = self.events.count[0] = 0
        begun, used = time.perf_counter(), time.thread_time()
        steps = min(self._steps if n_steps is None else n_steps, self._pace.left(int(self.memory.steps[0])))
        status = self._run(steps, float(t_pause))
        spent = time.perf_counter() - begun
        self.spent += time.thread_time() - used
        self._steps = int(min(max(steps * min(SLICE_SECONDS / max(spent, 1e-6), 4.0), 1), 10**7))
        self._done, self._failed = status == mem.DONE, min(status, 0)
        self._lost = self._pace.lost(int(self.memory.steps[0]), self.t)
        if self._lost and status >= 0 and not self._done:
            self._failed = OUT_OF_REACH
        form = self.problem.form
        if form is not None and form.broken is not None:
            raise form.broken
        chunk = self._chunk() if form is None else self._told(self._chunk())
        if self._failed and not len(chunk.t):
            self._raise(self._failed)
        return chunk

    def _told(self, chunk: Chunk) -> Chunk:
        """A chunk with rows and events of the form; the first row that cannot be ends the run."""
        form, rows = self.problem.form, []
        for t, y in zip(chunk.state_t, chunk.y, strict=True):
            try:
                rows.append(form.row(float(t), y))
            except SolverError as error:
                form.failure, self._failed, self._done = error, self._failed or mem.NOT_EVALUATED, False
                break
        said = sorted(
            [*zip(chunk.event_t, chunk.event_index, chunk.event_direction, strict=True), *form.events]
        )
        form.events.clear()
        n, k = len(rows), slice(len(rows))
        return Chunk(
            chunk.t[k], chunk.y[k], chunk.info[k], np.array([item[0] for item in said]),
            np.array([item[1] for item in said], dtype=np.int64), np.array([item[2] for item in said]),
            np.array(rows) if n else None, self._failed != 0, chunk.state_t[k],
        )  # fmt: skip

    def _chunk(self) -> Chunk:
        n, k = int(self.out.count[0]), int(self.events.count[0])
        t, y, info = self.out.t[:n].copy(), self.out.y[:n].copy(), self.out.info[:n].copy()
        at = self.out.at[:n].copy()
        self._sampled = float(t[-1]) if n else self._sampled
        ended = self.memory.ended[0] and not (n and self._sampled == self.t)  # by `until`
        between = self.memory.pending[0] == 0
        broken = self._failed and len(self.times) and between and self._sampled < self.t
        closed, closure = self._closure() if ended or broken else (False, np.zeros(2))
        if ended or (broken and closed):  # the end is a sample, where it is a good state
            last = np.array([self.memory.h_step[0], 0, self.memory.rejected[0], *closure])
            t, y = np.append(t, self.t), np.vstack([y, self.memory.y])
            at = np.append(at, self.memory.t[0])
            info = np.vstack([info, last])
        return Chunk(
            t,
            y,
            info,
            self.events.t[:k].copy(),
            self.events.index[:k].copy(),
            self.events.direction[:k].copy(),
            fails=self._failed != 0,
            at=at,
        )

    def _closure(self) -> tuple[bool, Floats]:
        """Whether the state that was reached is closed, and how well; the scratch may be a failed trial's."""
        p, found = self.problem, np.array([0.0, 0.0, HOLD])
        status = p.project(p.data, self.t, self.memory.y.copy(), 0.0, 0.0, found)
        return status == 0, found[:2]

    def _raise(self, status: int) -> None:
        if status == mem.NOT_EVALUATED and self.memory.failure[0] == NO_CONVERGENCE:
            status = NO_CONVERGENCE
        form = self.problem.form
        if form is not None and form.failure is not None and status in (mem.NOT_EVALUATED, mem.CANNOT_START):
            raise form.fail(self.t)
        code, what, remedy = REASONS[status]
        if status == NO_CONVERGENCE and self.options.explicit:
            what = "no step leads on, however short: the law of a constraint jumps, or a loop does not close"
            remedy = "join the parts of the law, or look at where the motion ends"
        what = f"{what}: {self._lost}" if status == OUT_OF_REACH else what
        if status == mem.TOO_SMALL and not self.options.explicit:
            remedy = "try larger tolerances"
        raise SolverError(Diagnostic(f"solver.{code}", f"t = {self.t:.6g} s", what, remedy))

    @property
    def sizes(self) -> list[float]:
        """Sizes of the steps so far, where they are noted."""
        return self._run.sizes if isinstance(self._run, Noted) else []

    def statistics(self) -> dict[str, float]:
        """Totals so far: steps, rejected, passes (evaluations) of steps and of samples, largest closure."""
        m = self.memory
        return {
            "steps": int(m.steps[0]),
            "rejected": int(m.rejected[0]),
            "evaluations": int(m.evaluations[0]),
            "sampling": int(m.sampling[0]),
            "largest_closure": float(m.closure_pos[0]),
            "largest_closure_velocity": float(m.closure_vel[0]),
            "chattering": int(np.count_nonzero(m.mute >= mem.CHATTER)),
        }

    @property
    def corner(self) -> int:
        """Number of the switching function whose zero was to be passed last."""
        return int(self.memory.event[0]) - 1

    def checkpoint(self) -> dict[str, Any]:
        """Everything that the next step reads."""
        assert self.between_steps
        found = {name: np.array(getattr(self.memory, name)) for name in mem.SAVED}
        return found if self.problem.form is None else found | self.problem.form.checkpoint()

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint of the same problem and settings."""
        saved = [_same(name, checkpoint.get(name), getattr(self.memory, name)) for name in mem.SAVED]
        for name, values in zip(mem.SAVED, saved, strict=True):
            getattr(self.memory, name)[...] = values
        if self.problem.form is not None:
            self.problem.form.restore(checkpoint)
        self._done, self._failed = False, 0
        self._pace = Pace(self.t, self.options.t_end, steps=int(self.memory.steps[0]))
        self._held.clear()


def _same(name: str, found: Any, wanted: Any) -> Any:
    """An array of a checkpoint, of the type and shape that this run has: kernels do not look at them."""
    found = np.atleast_1d(np.asarray(found))
    if found.shape != wanted.shape or found.dtype.kind != wanted.dtype.kind:
        raise ValueError(f"{name} has shape {found.shape}, in this run {wanted.shape}")
    return np.ascontiguousarray(found, dtype=wanted.dtype)


def integrator(
    problem: Problem, settings: Settings, t_start: float, y0: Floats, times: Floats, t_end: float
) -> Any:
    """The run of any method, compiled or not."""
    chosen = method[settings.method]
    if settings.steps is not None and not chosen.compiled:
        what, remedy = (
            f'steps of "{settings.method}" cannot be repeated',
            'choose "dopri5" or "generalized-alpha"',
        )
        raise UsageError(Diagnostic("analysis.repeat", "analysis.method", what, remedy))
    kind = Integrator if chosen.compiled else chosen
    return kind(problem, settings, t_start, y0, times, t_end)
