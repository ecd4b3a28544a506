"""Evaluations and implicit steps of two checkouts, in turn: which is faster, also on a machine that is busy.

    python -m tests.benchmarks.against FOLDER [--only "scissor lift, 160"] [--rounds 3] [--slices 40]

FOLDER holds the other checkout. Both run in processes of their own, one thread each, that are started anew
for every round; slices of a few milliseconds alternate. Prints the least CPU time of each and their ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.runner import ROOT

#: name -> generator of the case, size, length of a step; None: flexible bars, by implicit steps
WORK: dict[str, tuple[str | None, int, float]] = {
    "scissor lift, 20": ("scissor_lift", 20, 1e-6),
    "scissor lift, 160": ("scissor_lift", 160, 1e-6),
    "four-bars, 1": ("four_bars", 1, 1e-5),
    "four-bars, 40": ("four_bars", 40, 1e-5),
    "platforms on each other, 10": ("stacked_platforms", 10, 1e-6),
    "scissor lift of flexible bars, 40": (None, 40, 1e-4),
    "scissor lift of flexible bars, 160": (None, 160, 1e-4),
}
SLICE = 0.004


def running(work: str) -> Any:
    """An integrator of the work in this checkout, its kernels loaded."""
    from flexmbs.case import generate
    from tests.benchmarks.dynamics import stepper
    from tests.benchmarks.flexible import lift_case
    from tests.benchmarks.flexible_rows import DATA

    name, n, step = WORK[work]
    if name is None:
        DATA.mkdir(parents=True, exist_ok=True)
        _, run = stepper(lift_case(n, 6, DATA), "generalized-alpha", step, 10.0, rho_inf=0.8)
    else:
        _, run = stepper(getattr(generate, name)(n), "rk4", step, 1e8 * step)
    run.advance(n_steps=1)
    return run


def slices(work: str) -> None:
    """Answer every line from the other process by the seconds of an evaluation, or of an implicit step."""
    run, count, spent, per_step = running(work), 1, 0.0, WORK[work][0] is None
    while spent < SLICE:
        count *= 2
        started = time.process_time()
        run.advance(n_steps=count)
        spent = time.process_time() - started
    for _ in sys.stdin:
        if run.finished:
            run = running(work)
        before, started = run.statistics(), time.process_time()
        run.advance(n_steps=count)
        spent, after = time.process_time() - started, run.statistics()
        whole = after["steps"] - before["steps"] == count  # some end early, to be written
        done = count if per_step else after["evaluations"] - before["evaluations"]
        print(spent / done if whole else "inf", flush=True)


def child(folder: Path, work: str) -> subprocess.Popen[str]:
    """A process that measures the checkout in `folder`; the script is that of this checkout."""
    environment = dict(os.environ, PYTHONPATH=str(folder), OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    command = [sys.executable, str(Path(__file__).resolve()), str(folder), "--measure", work]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=environment, stdin=pipe, stdout=pipe, text=True)


def measured(folders: tuple[Path, Path], work: str, rounds: int, count: int) -> tuple[float, float]:
    """Least seconds of both."""
    best = [np.inf, np.inf]
    for _ in range(rounds):
        both = [child(folder, work) for folder in folders]
        for k in range(count):
            for which in (0, 1) if k % 2 else (1, 0):
                process: Any = both[which]
                process.stdin.write("\n")
                process.stdin.flush()
                best[which] = min(best[which], float(process.stdout.readline()))
        for process in both:
            process.stdin.close()
            process.wait()
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(WORK), choices=list(WORK), metavar="WORK")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slices", type=int, default=40)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        slices(args.measure)
        return
    print("| work | before | now | now by before |\n| --- | --- | --- | --- |")
    for work in args.only:
        before, now = measured((args.folder.resolve(), ROOT), work, args.rounds, args.slices)
        print(f"| {work} | {1e6 * before:.3g} us | {1e6 * now:.3g} us | {now / before:.2f} |", flush=True)
    print(f"load of the {os.cpu_count()} processors: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
