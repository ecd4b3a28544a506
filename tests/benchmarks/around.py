"""What surrounds an evaluation of loops that share joints: CPU seconds over the stages of a scissor lift.

    python -m tests.benchmarks.around [STAGES ...]

Each number of stages in a process of its own, everything compiled before. The slope of the logarithms is that
from the first to the last.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np

from flexmbs.case import Case, run
from flexmbs.case.generate import scissor_lift

STAGES = (40, 160, 640)
WORK = ("number and assemble", "report of rank and uniqueness", "equilibrium", "linear model, all inputs")


def held(n: int, kind: str) -> dict[str, Any]:
    """A lift whose base and crossings stand on torsion springs."""
    data = scissor_lift(n) | {"analysis": {"type": kind}}
    for name, joint in data["joints"].items():
        if name == "base":
            joint["spring"] = {"stiffness": 50.0 * n**2, "free": 0.5}
        elif name.startswith("centre"):
            joint["spring"] = {"stiffness": 10.0 * n, "free": -1.0}
    return data


def measured(n: int) -> list[float]:
    """Seconds of the four kinds of work; the last two are whole runs in memory, less the first two."""
    from flexmbs.dynamics.analyses.mobility import mobility

    clock = time.process_time
    start = clock()
    system = Case.from_dict(held(n, "statics")).system()
    state = system.initial_state()
    assembled = clock()
    evaluator = system.evaluator()
    evaluator.kinematics(state)
    mobility(system, evaluator, state)
    found = [assembled - start, clock() - assembled]
    for kind in ("statics", "linearize"):
        start = clock()
        run(Case.from_dict(held(n, kind)), keep=False)
        found.append(clock() - start - found[0] - found[1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        measured(6)  # everything is loaded
        print(*measured(int(sys.argv[2])))
        return
    stages = [int(n) for n in sys.argv[1:]] or list(STAGES)
    rows = []
    for n in stages:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.around", "one", str(n)],
            check=True,
            capture_output=True,
            text=True,
        )
        rows.append([float(x) for x in done.stdout.split()[-len(WORK) :]])
    print("| work [CPU s] | " + " | ".join(f"{n} stages" for n in stages) + " | slope |")
    print("| --- " * (len(stages) + 2) + "|")
    for name, values in zip(WORK, np.array(rows).T, strict=True):
        slope = np.log(values[-1] / values[0]) / np.log(stages[-1] / stages[0])
        print(f"| {name} | " + " | ".join(f"{x:.2f}" for x in values) + f" | {slope:.2f} |")


if __name__ == "__main__":
    main()
