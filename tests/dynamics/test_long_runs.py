"""Millions of steps of a closed chain: no memory grows, the loop stays closed, and energy is kept.

`pytest -m soak tests/dynamics/test_long_runs.py -s` is the long one (FLEXMBS_STEPS); it prints figures.
"""

import os
import resource
import sys
import time

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case.case import Case
from tests.test_simulate import four_bar

STEP, SAMPLES = 2e-3, 200


def resident():
    """Megabytes that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def long_run(tmp_path, steps, method):
    """Swinging by itself: growth of memory after a tenth, largest gap, drift of the energy over its size."""
    data = four_bar({"t_end": steps * STEP, "method": method, "step": STEP})
    data["output"] = {"every": steps * STEP / SAMPLES}
    seen, begun = [], time.monotonic()

    def progress(t):
        seen.append((t, resident()))

    fm.run(Case.from_dict(data), tmp_path / "a.h5", announce=progress)
    result = fm.Result.load(tmp_path / "a.h5")
    early = next((m for t, m in seen if t >= 0.1 * steps * STEP), resident())
    energy = result["energy/kinetic"] + result["energy/gravity"]
    size = np.ptp(result["energy/kinetic"])
    figures = {
        "steps": int(steps),
        "seconds": round(time.monotonic() - begun, 1),
        "growth_mb": round(resident() - early, 1),
        "largest_gap": float(np.abs(result["solver/constraint_position"]).max()),
        "drift": float(np.abs(energy - energy[0]).max() / size),
    }
    print(method, figures, file=sys.stderr)
    return figures


def sound(figures):
    return figures["growth_mb"] < 10.0 and figures["largest_gap"] < 1e-9 and figures["drift"] < 1e-3


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_steps_of_a_closed_chain_leave_no_trace(tmp_path, method):
    assert sound(long_run(tmp_path, 20_000, method))


@pytest.mark.soak
def test_ten_million_steps_of_a_closed_chain_leave_no_trace(tmp_path):
    assert sound(long_run(tmp_path, int(os.environ.get("FLEXMBS_STEPS", "10_000_000")), "rk4"))
