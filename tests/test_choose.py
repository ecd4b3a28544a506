"""The choice of method = "auto": what its trials start from, and how many there are."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.integrate import Integrator, Settings
from flexmbs.resources import resource
from flexmbs.simulate import choose as choose_method
from flexmbs.simulate.branch import watch
from flexmbs.simulate.equations import problem, state_vector


def trials(name, rtol, t_end, monkeypatch):
    """Choice for a case, its problem, and (method, t, y) at the start of every trial."""
    started = []

    class Recorded(Integrator):
        def __init__(self, problem, settings, t, y, *rest):
            started.append((settings.method, t, np.array(y)))
            super().__init__(problem, settings, t, y, *rest)

    monkeypatch.setitem(choose_method.__globals__, "Integrator", Recorded)
    system = Case.load(resource("cases", name)).system()
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, t_end)
    choice = choose_method(p, Settings(rtol=rtol, atol=1e-3 * rtol), 0.0, y0, t_end)
    return choice, p, started


def test_trials_start_from_a_state_of_their_time(monkeypatch):
    """A state of another time opens the loop of a driven crank: its modes are struck, the counts wrong."""
    _, p, started = trials("flexible-slider-crank-linear.toml", 1e-6, 0.08, monkeypatch)
    assert [method for method, *_ in started] == ["dopri5", "generalized-alpha", "dop853"]
    for method, t, y in started:
        assert t > 0.0 or method == "dopri5"
        out, closed = np.zeros(3), y.copy()
        p.project(p.data, t, closed, 0.0, 0.0, out)
        assert np.abs(closed - y).max() < 1e-9


@pytest.mark.parametrize("rtol, method", [(1e-4, "dopri5"), (1e-8, "dop853")])
def test_a_short_motion_is_worth_one_trial(rtol, method, monkeypatch):
    choice, _, started = trials("three-link-chain.toml", rtol, 0.5, monkeypatch)
    assert choice.method == method and len(started) == 1
