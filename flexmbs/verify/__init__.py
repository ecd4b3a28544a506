"""The reference problems shipped with the package, run and compared: `flexmbs verify`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from flexmbs.errors import Diagnostic, UsageError, nearest
from flexmbs.resources import resource
from flexmbs.verify.mechanisms import Runs, copied
from flexmbs.verify.problems import PROBLEMS, Problem
from flexmbs.verify.reference import names, read
from flexmbs.verify.report import Line, Report

__all__ = ["PROBLEMS", "Line", "Report", "verify"]

Progress = Callable[[float, str], None]


def verify(problems: Sequence[str] = (), *, quick: bool = False, progress: Progress | None = None) -> Report:
    """Run reference problems, all of them by default, and compare every quantity.

    `quick`: each problem once, as its case says, and one element per check; otherwise in every formulation
    and by every integrator that applies. Nothing is written outside a temporary folder.
    """
    chosen = list(problems) or names()
    for name in chosen:
        if name not in PROBLEMS:
            what = f'no reference problem "{name}"'
            raise UsageError(Diagnostic("usage.problem", "verify", what, nearest(name, list(PROBLEMS))))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="flexmbs-verify-") as folder:
        runs = Runs(copied(Path(folder), resource), quick)
        report = Report(missing=runs.missing)
        for k, name in enumerate(chosen):
            if progress is not None:
                progress(k / len(chosen), name)
            report.lines += list(lines_of(name, PROBLEMS[name], runs))
    report.seconds = time.perf_counter() - started
    if progress is not None:
        progress(1.0, "")
    return report


def lines_of(name: str, problem: Problem, runs: Runs) -> Iterator[Line]:
    """All lines of one problem, with its name and purpose."""
    reference = read(name)
    for case in problem.cases:
        for line in runs.lines(case, problem.not_for):
            yield replace(line, problem=name, proves=problem.proves)
    if problem.check is not None:
        for line in _timed(problem.check(reference, runs.quick)):
            yield replace(line, problem=name, proves=problem.proves)


def _timed(lines: Iterator[Line]) -> Iterator[Line]:
    """Lines of stage 1 with the time that each took; one that follows from the same run took none."""
    before = time.perf_counter()
    for line in lines:
        now = time.perf_counter()
        yield replace(line, formulation="finite elements", method="reduce", seconds=now - before)
        before = time.perf_counter()
