"""What a step from outside costs more than the same step inside a run: `python -m tests.benchmarks.stepping`.

CPU time of steps of the integrator of the same size: by `sim.step`, with and without a change of the input,
and in one run of the time loop with a sample at the end of each. The least of many batches, as others use
the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.integrate import integrator

ARM = {
    "gravity": [0, -9.81, 0],
    "bodies": {
        "arm": {
            "type": "rigid",
            "mass": 2.0,
            "com": [0.5, 0, 0],
            "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1},
        }
    },
    "joints": {"pin": {"type": "revolute", "from": "ground", "to": "arm"}},
    "inputs": {"torque": {"unit": "N*m"}},
    "forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=inputs.torque"}},
    "sensors": {"tip": {"type": "position", "on": "arm", "at": [1, 0, 0]}},
}
STEP, COUNT, BATCHES = 1e-3, 200, 60


def least(work: Callable[[], Any]) -> float:
    """Microseconds for each of COUNT steps, in the quickest batch."""
    found = []
    for _ in range(BATCHES):
        begun = time.process_time_ns()
        work()
        found.append((time.process_time_ns() - begun) * 1e-3 / COUNT)
    return min(found)


def measure(method: str) -> dict[str, float]:
    case = Case.from_dict(ARM | {"analysis": {"t_end": 1.0, "method": method, "step": STEP}})
    sim = fm.simulation(case)

    def stepped(inputs: Callable[[int], dict[str, float] | None]) -> None:
        for k in range(COUNT):
            sim.step(STEP, inputs(k))

    def inside() -> None:
        end = sim.t + COUNT * STEP
        times = sim.t + STEP * np.arange(1, COUNT + 1)
        run = integrator(sim.problem, sim.settings, sim.t, sim.y, times, end)
        begun.append(time.process_time_ns())
        while not run.finished:
            run.advance(n_steps=COUNT)
        taken.append((time.process_time_ns() - begun[-1]) * 1e-3 / COUNT)

    begun: list[int] = []
    taken: list[float] = []
    stepped(lambda k: None)
    found = {
        "step, inputs as they are": least(lambda: stepped(lambda k: None)),
        "step, input changes": least(lambda: stepped(lambda k: {"torque": float(k % 7)})),
    }
    for _ in range(BATCHES):
        inside()
    return {"inside a run": min(taken)} | found


def main() -> None:
    for method in ("rk4", "dopri5", "generalized-alpha"):
        found = measure(method)
        words = ", ".join(f"{name} {value:.1f} us" for name, value in found.items())
        print(f"{method}: {words}")


if __name__ == "__main__":
    main()
