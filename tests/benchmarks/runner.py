"""Run one measurement per child process, interleave the programs, and turn times into ratios.

A measurement is a function that returns numbers; it runs alone in a process with one thread, so its peak
memory and CPU time are its own. Only ratios of one run mean anything: the machine is shared.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

MEASUREMENTS: dict[str, Callable[..., dict[str, Any]]] = {}
ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("FLEXMBS_BENCH_DATA", Path(tempfile.gettempdir()) / "flexmbs-benchmarks"))


def measurement(function: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Register a measurement under its name."""
    MEASUREMENTS[function.__name__] = function
    return function


class Clock:
    """CPU seconds of this process between start and stop."""

    def __enter__(self) -> Clock:
        self.started = time.process_time()
        return self

    def __exit__(self, *unused: object) -> None:
        self.seconds = time.process_time() - self.started


def versions(programs: Iterable[str]) -> str:
    """Programs with their versions, absent ones by name."""
    found = []
    for name in programs:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def peak_memory_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def run_alone(name: str, *args: Any, timeout: float = 900.0) -> dict[str, Any]:
    """Run a measurement in a child process of one thread; a failure is a result, not an exception."""
    threads = {key: "1" for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-m", "tests.benchmarks.child", name, *map(str, args)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **threads}
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {timeout:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return dict(json.loads(lines[-1]))


def best_of(
    repeats: int, calls: dict[str, tuple[Any, ...]], timeout: float = 900.0
) -> dict[str, dict[str, Any]]:
    """Run the calls in turn, `repeats` times; keep for each the fastest answer."""
    best: dict[str, dict[str, Any]] = {}
    for _ in range(repeats):
        for label, (name, *args) in calls.items():
            answer = run_alone(name, *args, timeout=timeout)
            known = best.get(label)
            if known is None or answer.get("seconds", 1e99) < known.get("seconds", 1e99):
                best[label] = answer
    return best


def row(
    work: str,
    ours: dict[str, Any],
    peer: dict[str, Any],
    name: str,
    *,
    target: str | float = "",
    key: str = "seconds",
    note: str = "",
    cause: str = "",
) -> dict[str, str]:
    """One line of the table from two measurements; a number as target is a ratio, `cause` why it is missed.

    Other targets are times and memory of flexmbs alone, as text with their unit.
    """
    wanted = float(target) if isinstance(target, float | int) else 0.0
    target = f"ratio {wanted:g}" if wanted else str(target)
    if "failed" in ours:
        return {"work": work, "note": f"failed: {ours['failed']}"}
    if "failed" in peer:
        failed = f"{name} failed: {peer['failed']}"
        note = "; ".join(item for item in (note, failed) if item)
        return {"work": work, "flexmbs": shown(ours[key], key), "target": target, "note": note}
    ratio = peer[key] / ours[key]
    if ratio < wanted:
        missed = f"{ratio / wanted:.2g} of the target: {cause or 'the cause is not known'}"
        note = "; ".join(item for item in (missed, note) if item)
    return {
        "work": work,
        "flexmbs": shown(ours[key], key),
        "peer": f"{name} {shown(peer[key], key)}",
        "ratio": f"{float(f'{ratio:.2g}'):g}",
        "target": target,
        "note": note,
    }


def shown(value: float, key: str) -> str:
    if key == "peak_gb":
        return f"{value:.2f} GB"
    unit, factor = next((item for item in (("s", 1.0), ("ms", 1e3)) if value * item[1] >= 1.0), ("us", 1e6))
    return f"{value * factor:.3g} {unit}"
