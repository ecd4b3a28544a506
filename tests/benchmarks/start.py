"""Start-up: commands as a user gives them, each a process of its own, CPU seconds of it and its children."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

from tests.benchmarks.runner import ROOT, measurement

EXUDYN = """
import warnings; warnings.simplefilter("ignore")
import exudyn as exu, exudyn.itemInterface as items
mbs = exu.SystemContainer().AddSystem()
node = mbs.AddNode(items.NodePoint(referenceCoordinates=[0, 0, 0]))
mbs.AddObject(items.MassPoint(physicsMass=1, nodeNumber=node))
mbs.Assemble()
settings = exu.SimulationSettings()
settings.timeIntegration.numberOfSteps = 10
settings.solutionSettings.writeSolutionToFile = False
mbs.SolveDynamic(settings)
"""
OURS = """
import flexmbs as fm
system = fm.Case.load("cases/pendulum.toml").system()
system.forward_dynamics(system.initial_state())
"""


def cpu_seconds(command: list[str], repeats: int, **environment: str) -> float:
    """Least user and system time of a command, which must succeed; bytecode is kept, as for users."""
    best = 1e99
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(ROOT / "results" / "bytecode")}
    environment = {**os.environ, **kept, **environment}
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def flexmbs(*args: str) -> list[str]:
    return [sys.executable, "-m", "flexmbs.cli.main", *args]


def small_run(folder: str) -> list[str]:
    return flexmbs("run", "cases/pendulum.toml", "--overwrite", "--quiet", "-o", f"{folder}/small.h5")


@measurement
def help_flexmbs() -> dict[str, Any]:
    return {"seconds": cpu_seconds(flexmbs("--help"), 5)}


@measurement
def first_result_flexmbs() -> dict[str, Any]:
    cpu_seconds([sys.executable, "-c", OURS], 1)
    return {"seconds": cpu_seconds([sys.executable, "-c", OURS], 5)}


@measurement
def first_result_exudyn() -> dict[str, Any]:
    return {"seconds": cpu_seconds([sys.executable, "-c", EXUDYN], 5)}


@measurement
def small_run_flexmbs() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        cpu_seconds(small_run(folder), 1)
        return {"seconds": cpu_seconds(small_run(folder), 5)}


@measurement
def cold_run_flexmbs() -> dict[str, Any]:
    """The same with an empty cache of kernels, less what it takes with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        command = small_run(folder)
        cold = cpu_seconds(command, 1, FLEXMBS_CACHE=f"{folder}/kernels")
        return {"seconds": cold - cpu_seconds(command, 3, FLEXMBS_CACHE=f"{folder}/kernels")}
