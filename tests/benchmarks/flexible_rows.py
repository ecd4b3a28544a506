"""Flexible slider-crank and chains of flexible rods against Exudyn: measurements."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tests.benchmarks.dynamics import per_step, stepper
from tests.benchmarks.flexible import (
    END_TIME,
    chain_case,
    chain_exudyn,
    crank_case,
    crank_exudyn,
    deflection_exudyn,
    deflection_rows,
    lift_case,
)
from tests.benchmarks.runner import DATA, measurement

#: steps of the comparison at equal error, parts of a millisecond about a sixth apart, so that errors are
#: nearly equal; and the step of the solution that both are compared with
STEPS = tuple(1e-3 / n for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 28, 34, 40, 50, 100))
FINE = 2.5e-6


@measurement
def crank_flexmbs(modes: str, step: str) -> dict[str, Any]:
    """Seconds per step of the implicit method on the flexible slider-crank."""
    DATA.mkdir(parents=True, exist_ok=True)
    system, run = stepper(crank_case(int(modes), DATA), "generalized-alpha", float(step), 10.0, rho_inf=0.8)
    seconds, passes = per_step(run)
    return {"seconds": seconds, "passes": passes, "nf": int(system.tables.body.nf.max())}


@measurement
def crank_exudyn_tuned(modes: str, step: str) -> dict[str, Any]:
    return crank_exudyn(int(modes), float(step), DATA)


@measurement
def rods_flexmbs(n: str, modes: str, step: str, frame: str = "") -> dict[str, Any]:
    """Seconds per step of a chain of n flexible rods, each of `modes` modes in all."""
    DATA.mkdir(parents=True, exist_ok=True)
    data = chain_case(int(n), int(modes), DATA, frame)
    system, run = stepper(data, "generalized-alpha", float(step), 10.0, rho_inf=0.8)
    seconds, passes = per_step(run, slices=10 if int(n) > 16 else 40)
    return {"seconds": seconds, "passes": passes, "nf": int(system.tables.body.nf.max())}


@measurement
def lift_flexmbs(n: str, modes: str, step: str) -> dict[str, Any]:
    """Seconds per step of a scissor lift of flexible rods."""
    DATA.mkdir(parents=True, exist_ok=True)
    data = lift_case(int(n), int(modes), DATA)
    _, run = stepper(data, "generalized-alpha", float(step), 10.0, rho_inf=0.8)
    seconds, passes = per_step(run, slices=10 if int(n) > 16 else 40)
    return {"seconds": seconds, "passes": passes}


@measurement
def rods_exudyn(n: str, modes: str, step: str) -> dict[str, Any]:
    return chain_exudyn(int(n), int(modes) - 6, float(step), DATA)


def history(step: float) -> np.ndarray:
    """Deflection of the middle of the rod against its chord, every millisecond."""
    data, times = crank_case(10, DATA), np.arange(1, round(END_TIME / 1e-3) + 1) * 1e-3
    rows = deflection_rows(10, DATA)
    system, run = stepper(data, "generalized-alpha", step, END_TIME, rho_inf=0.8, times=times)
    q = int(system.tables.body.o_q[int(np.argmax(system.tables.body.nf))])
    pieces = []
    while not run.finished:
        pieces.append(run.advance().y)
    return np.array(np.vstack(pieces)[:, q : q + len(rows)] @ rows)


@measurement
def equal_crank_flexmbs(wanted: str) -> dict[str, Any]:
    """CPU seconds per simulated second with the largest step whose deflection errs by `wanted` or less."""
    DATA.mkdir(parents=True, exist_ok=True)
    exact, answer = history(FINE), {}
    for step in STEPS:
        error = np.abs(history(step) - exact).max() / np.abs(exact).max()
        best = np.inf
        for _ in range(5):
            _, run = stepper(crank_case(10, DATA), "generalized-alpha", step, END_TIME, rho_inf=0.8)
            started = time.process_time()
            while not run.finished:
                run.advance()
            best = min(best, time.process_time() - started)
        answer = {"seconds": best / END_TIME, "error": float(error), "step": step}
        if error <= float(wanted):
            break
    return answer


@measurement
def equal_crank_exudyn(wanted: str) -> dict[str, Any]:
    """The same with Exudyn, against its own fine solution: its mesh is another one."""
    exact, answer = deflection_exudyn(10, FINE * 2, DATA)[1], {}
    for step in STEPS:
        seconds, found = deflection_exudyn(10, step, DATA)
        error = np.abs(found - exact).max() / np.abs(exact).max()
        answer = {"seconds": seconds / END_TIME, "error": float(error), "step": step}
        if error <= float(wanted):
            break
    return answer
