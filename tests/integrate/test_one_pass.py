"""Implicit steps whose first pass is enough, by what the passes of earlier steps have left (F43)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.generate import four_bars, scissor_lift
from flexmbs.integrate import Settings, integrator
from flexmbs.simulate.motion.equations import problem, state_vector

CASES = {"four-bars": four_bars(2), "lift": scissor_lift(3)}


def motion(name, step, rtol, outputs=3):
    """Positions and speeds at some times of 0.3 s, and passes per step."""
    system = Case.from_dict(CASES[name]).system()
    start, times = state_vector(system, system.initial_state()), np.linspace(0.0, 0.3, outputs)
    own = Settings(method="generalized-alpha", step=step, rtol=rtol, atol=rtol)
    found, chunks = integrator(problem(system), own, 0.0, start, times, 0.3), []
    while not found.finished:
        chunks.append(found.advance())
    counted, y = found.statistics(), np.concatenate([chunk.y for chunk in chunks])
    n, m = system.n_pos, system.n_pos + system.n_vel
    return y[:, :n], y[:, n:m], counted["evaluations"] / counted["steps"]


@pytest.mark.parametrize(("name", "step", "most"), [("four-bars", 1e-2, 1.4), ("lift", 5e-3, 1.7)])
def test_passes_that_are_spared_change_less_than_the_tolerance_F43(name, step, most):
    x, v, passes = motion(name, step, 1e-6)
    exact, speeds, all_passes = motion(name, step, 1e-13)
    assert passes < most and all_passes > 2.5
    assert np.abs(x - exact).max() < 1e-6
    assert np.abs(v - speeds).max() < 2e-6 * np.abs(speeds).max()


def test_no_pass_is_spared_with_a_tight_tolerance_F43():
    x, v, passes = motion("lift", 1e-3, 1e-9)
    exact, speeds, _ = motion("lift", 1e-3, 1e-13)
    assert passes > 1.9 and max(np.abs(x - exact).max(), np.abs(v - speeds).max()) < 1e-9


def test_outputs_inside_steps_leave_the_motion_as_it_is():
    few, many = (motion("four-bars", 1e-2, 1e-6, n + 1) for n in (3, 3 * 1234))
    assert np.array_equal(few[0], many[0][::1234])
