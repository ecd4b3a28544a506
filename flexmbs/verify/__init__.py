"""The reference problems shipped with the package, run and compared: `flexmbs verify`."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from flexmbs.errors import Diagnostic, UsageError, nearest
from flexmbs.resources import resource
from flexmbs.verify.mechanisms import Runs, copied
from flexmbs.verify.omitted import NOT_COMPARED
from flexmbs.verify.problems import PROBLEMS, Problem
from flexmbs.verify.reference import names, read
from flexmbs.verify.report import Line, Report
from flexmbs.verify.settings import shortened

__all__ = ["PROBLEMS", "Line", "Report", "verify"]

Progress = Callable[[float, str], None]
Done = tuple[list[Line], dict[str, str]]
#: runs that compile the kernels of both stages, before several processes want them at once
FIRST = ("fe-hex8-element", "force-point-on-flexible-node", "rigid-slider-crank")
#: seconds after which it is said what is still running
BEAT = 2.0
#: longest first, so that processes end together
LONG = (
    "flex-pendulum", "flex-spin-up-8m", "linkage-bennett", "rigid-double-pendulum",
    "linkage-spatial-slider-crank", "flex-slider-crank", "rigid-andrews-squeezer", "rigid-simple-pendulum",
)  # fmt: skip


def verify(
    problems: Sequence[str] = (), *, quick: bool = False, jobs: int = 1, progress: Progress | None = None
) -> Report:
    """Run reference problems, all of them by default, and compare every quantity.

    `quick`: each problem once, as its case says, and one element per check; otherwise in every formulation
    and by every integrator that applies. `jobs`: processes that share the problems. Nothing is written
    outside a temporary folder.
    """
    chosen = list(problems) or names()
    for name in chosen:
        if name not in PROBLEMS:
            what = f'no reference problem "{name}"'
            raise UsageError(Diagnostic("usage.problem", "verify", what, nearest(name, list(PROBLEMS))))
    started = time.perf_counter()
    found: dict[str, Done] = {}

    def tell(text: str) -> None:
        if progress is not None:
            progress(len(found) / len(chosen), text)

    for name, done in _done(chosen, quick, jobs, tell):
        found[name] = done
        tell(name)
    report = Report(seconds=time.perf_counter() - started, quick=quick)
    for name in chosen:
        lines, missing = found[name]
        report.lines += lines
        report.missing |= missing
        problem = PROBLEMS[name]
        report.left_out[name] = {
            **problem.not_for,
            **shortened(problem.cases),
            **NOT_COMPARED.get(name, {}),
        }
    return report


def _done(
    chosen: Sequence[str], quick: bool, jobs: int, tell: Callable[[str], None]
) -> Iterator[tuple[str, Done]]:
    """Problems as they come to their end, long ones started early; `tell` hears what is going on."""
    if jobs < 2 or len(chosen) < 2:
        for name in chosen:
            tell(f"{name} ...")
            yield name, one(name, quick)
        return
    first = [name for name in FIRST if name in chosen]
    for name in first:
        tell(f"{name} ...")
        yield name, one(name, quick)
    rest = sorted(
        set(chosen) - set(first), key=lambda name: (LONG.index(name) if name in LONG else len(LONG), name)
    )
    with _processes(jobs) as pool:
        futures = {pool.submit(one, name, quick): name for name in rest}
        started, waiting = time.perf_counter(), set(futures)
        while waiting:
            ready, waiting = wait(waiting, timeout=BEAT, return_when=FIRST_COMPLETED)
            yield from ((futures[future], future.result()) for future in ready)
            if not ready:
                names = ", ".join(futures[future] for future in waiting if future.running())
                tell(f"{names}, {time.perf_counter() - started:.0f} s")


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that share the work; none is left behind when it is stopped."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts
    )
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _leave_interrupts() -> None:
    """Ctrl-C reaches all processes of a terminal; the one that was called ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def one(name: str, quick: bool) -> Done:
    """One problem in a temporary folder: its lines, and what could not run."""
    with tempfile.TemporaryDirectory(prefix="flexmbs-verify-") as folder:
        runs = Runs(copied(Path(folder), resource), quick)
        return list(lines_of(name, PROBLEMS[name], runs)), runs.missing


def lines_of(name: str, problem: Problem, runs: Runs) -> Iterator[Line]:
    """All lines of one problem, with its name and purpose."""
    reference = read(name)
    for case in problem.cases:
        for line in runs.lines(case, problem.not_for):
            yield replace(line, problem=name, proves=problem.proves)
    for line in runs.tables(name, reference):
        yield replace(line, problem=name, proves=problem.proves)
    if problem.check is not None:
        for line in _timed(problem.check(reference, runs.quick)):
            yield replace(line, problem=name, proves=problem.proves)


def _timed(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines of stage 1 with the time that each took; one that follows from the same run took none."""
    before = time.process_time()
    for line in lines:
        now = time.process_time()
        yield replace(line, formulation="finite elements", method="reduce", seconds=now - before)
        before = time.process_time()
