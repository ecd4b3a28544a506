"""Pieces on workers with addresses of their own: `python -m tests.benchmarks.namespaces [FREEDOMS]`, as root.

Every worker runs in a network namespace of its own behind a bridge, the scheduler and the command in that of
the machine. Three reductions of a rod: on all three workers; on three of which one is killed by SIGKILL in
the first pass; on three of which one has a disk of 1 MB. Then one and two workers, to hold the gain that the
tree foretells against what was measured; processors that others use, or fewer than workers, make it smaller.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.fe.pieces import plan
from flexmbs.fe.pieces.workers import WorkersFactor
from tests.benchmarks.conrod import conrod
from tests.benchmarks.runner import ROOT
from tests.benchmarks.stage1 import rod_mesh, steel

#: pieces below the separators, of a body that is small for them
PIECES = 8
BRIDGE, NET = "fxbridge", "10.213.77"
OPTIONS: dict[str, Any] = {"interfaces": ["big", "small"], "modes": 20}


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True)


@contextmanager
def network(n: int) -> Iterator[list[str]]:
    """Names of n namespaces whose addresses are NET.2, NET.3, ...; the machine is NET.1."""
    names = [f"fxworker{k}" for k in range(n)]
    ip(f"link add {BRIDGE} type bridge")
    try:
        ip(f"addr add {NET}.1/24 dev {BRIDGE}")
        ip(f"link set {BRIDGE} up")
        for k, name in enumerate(names):
            ip(f"netns add {name}")
            ip(f"link add fxv{k} type veth peer name fxp{k}")
            ip(f"link set fxv{k} master {BRIDGE} up")
            ip(f"link set fxp{k} netns {name}")
            ip(f"-n {name} addr add {NET}.{k + 2}/24 dev fxp{k}")
            ip(f"-n {name} link set fxp{k} up")
            ip(f"-n {name} link set lo up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False)


@contextmanager
def cluster(names: list[str], folder: Path, small: str = "") -> Iterator[str]:
    """A scheduler here and a worker in every namespace; that of `small` has a disk of 1 MB."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    options: dict[str, Any] = {"env": {**os.environ, **threads}, "stderr": subprocess.DEVNULL}
    python, address = [sys.executable, "-m"], f"tcp://{NET}.1:8786"
    with ExitStack() as stack:

        def started(command: list[str]) -> None:
            process = subprocess.Popen(command, **options)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        started([*python, "distributed.cli.dask_scheduler", "--no-dashboard", "--host", f"{NET}.1"])
        time.sleep(3.0)
        for name in names:
            own = folder / name
            own.mkdir()
            if name == small:
                subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(own)], check=True)
                stack.callback(subprocess.run, ["umount", "-l", str(own)], check=True)
            words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "3GB"]
            command = [*python, "distributed.cli.dask_worker", address, *words, "--local-directory", str(own)]
            started(["ip", "netns", "exec", name, *command])
        yield address


def reduced(
    dof: int, address: str, n: int, folder: Path, kill: bool = False
) -> tuple[Any, list[str], list[float]]:
    """Modal data, what was said, and wall seconds of the elimination and of the passes."""
    said: list[str] = []
    seconds, killed = [0.0, 0.0], list[str]()
    make, go = WorkersFactor._make, WorkersFactor._pass

    def waiting(factor: Any) -> None:
        while len(factor.cluster.workers()) < n and not killed:
            time.sleep(0.2)
        at = time.perf_counter()
        make(factor)
        seconds[0] += time.perf_counter() - at

    def timed(factor: Any, B: Any) -> Any:
        if kill and not killed:
            owner = factor.owner[0]
            killed.append(owner)
            os.kill(factor.cluster.client.run(os.getpid, workers=[owner])[owner], signal.SIGKILL)
        at = time.perf_counter()
        X = go(factor, B)
        seconds[1] += time.perf_counter() - at
        return X

    WorkersFactor._make, WorkersFactor._pass = waiting, timed  # type: ignore[method-assign]
    try:
        limits = fm.Limits("always", 10**12, folder, said.append, address, True)
        modal = fm.reduce(rod_mesh(conrod(dof)), material=steel(), limits=limits, **OPTIONS)
    finally:
        WorkersFactor._make, WorkersFactor._pass = make, go  # type: ignore[method-assign]
    return modal, said, seconds


def main(dof: int) -> None:
    plan.FREEDOMS = dof // PIECES
    direct = fm.reduce(rod_mesh(conrod(dof)), material=steel(), **OPTIONS)
    trials = (
        ("three workers", 3, False, False),
        ("one killed", 3, True, False),
        ("one without disk", 3, False, True),
        ("one worker", 1, False, False),
        ("two workers", 2, False, False),
    )
    for title, n, kill, small in trials:
        with tempfile.TemporaryDirectory() as name, network(n) as names:
            with cluster(names, Path(name), names[-1] if small else "") as address:
                modal, said, seconds = reduced(dof, address, n, Path(name), kill)
        off = np.abs(modal.frequency_hz / direct.frequency_hz - 1.0).max()
        print(f"{title}: frequencies differ by {off:.0e}")
        print(f"    elimination {seconds[0]:.1f} s, passes {seconds[1]:.1f} s")
        print(*(f"    {text}" for text in said), sep="\n", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000)
