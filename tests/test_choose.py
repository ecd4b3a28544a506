"""The choice of method = "auto": what it tries, what that costs, and that it changes no number."""

import re
from dataclasses import replace

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.errors import SolverError
from flexmbs.integrate import Integrator, Settings, memory
from flexmbs.resources import resource
from flexmbs.simulate import choose as choose_method
from flexmbs.simulate.choose import EXPLICIT_STEPS, choose
from flexmbs.simulate.choose import _compared as compared
from flexmbs.simulate.choose import _speed as speed
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.equations import problem, state_vector
from tests.integrate.problems import oscillators

SHORT, LONG = "three-link-chain.toml", "flexible-slider-crank-linear.toml"
STIFF = "spin-up.toml"


def task(name, rtol, t_end):
    """Problem, settings and state of a case."""
    system = Case.load(resource("cases", name)).system()
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, t_end)
    return p, Settings(rtol=rtol, atol=1e-3 * rtol), y0


def samples(run):
    chunks = []
    while not run.finished:
        chunks.append(run.advance())
    return np.concatenate([c.t for c in chunks]), np.concatenate([c.y for c in chunks])


def steps_of(run):
    return run.statistics()["steps"], run.statistics()["evaluations"]


@pytest.mark.parametrize(
    "name, rtol, t_end, method",
    [
        (SHORT, 1e-4, 0.5, "dop853"),
        (LONG, 1e-6, 0.08, "dop853"),
        (STIFF, 1e-4, 18.0, "generalized-alpha"),
    ],
)
@pytest.mark.parametrize("step", [0.0, 1e-3])
def test_numbers_are_those_of_the_method_by_name(name, rtol, t_end, method, step):
    p, settings, y0 = task(name, rtol, t_end)
    times = np.linspace(0.0, 0.1 * t_end, 8) if step else np.linspace(0.0, t_end, 8)
    end, settings = times[-1], replace(settings, step=step)
    choice, run = choose(p, settings, 0.0, y0, times, end)
    by_name = Integrator(p, replace(settings, method=choice.method), 0.0, y0, times, end)
    if step == 0.0:
        assert choice.method == method
    for found, wanted in zip(samples(run), samples(by_name), strict=True):
        assert np.array_equal(found, wanted)
    assert steps_of(run) == steps_of(by_name)


def test_dense_samples_change_neither_the_choice_nor_the_numbers(monkeypatch):
    """More samples in the first steps than the buffer holds: the run begins again behind the choice."""
    p, settings, y0 = task(LONG, 1e-6, 0.08)
    monkeypatch.setattr(memory, "samples", lambda p, n, made=memory.samples: made(p, 16))
    coarse, fine = np.linspace(0.0, 0.08, 11), np.linspace(0.0, 0.08, 2001)
    few, many = (choose(p, settings, 0.0, y0, times, 0.08) for times in (coarse, fine))
    assert few[0] == many[0]
    assert many[1].statistics()["steps"] == 0 and few[1].statistics()["steps"] == sum(EXPLICIT_STEPS)
    _, y = samples(few[1])
    t, dense = samples(many[1])
    assert np.array_equal(t, fine) and np.array_equal(dense[::200], y)


def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits():
    p, settings, y0 = task(LONG, 1e-6, 0.08)
    times = np.linspace(0.0, 0.08, 11)
    _, first = choose(p, settings, 0.0, y0, times, 0.08)
    assert not first.between_steps  # samples of steps that are taken have not been handed out
    while not first.between_steps:
        first.advance(n_steps=5)
    kept = first.checkpoint()
    _, second = choose(p, settings, 0.0, y0, times, 0.08)
    second.restore(kept)
    for found, wanted in zip(samples(second), samples(first), strict=True):
        assert len(wanted) > 1 and np.array_equal(found, wanted)


def recorded(monkeypatch):
    """(method, t, y) of every run that the choice makes."""
    started = []

    class Recorded(Integrator):
        def __init__(self, problem, settings, t, y, *rest):
            started.append((settings.method, t, np.array(y)))
            super().__init__(problem, settings, t, y, *rest)

        def beside(self, settings, t, y, times):
            return Recorded(self.problem, settings, t, y, times, self.options.t_end)

    monkeypatch.setitem(choose_method.__globals__, "Integrator", Recorded)
    return started


def test_the_pilot_starts_from_a_state_of_its_time(monkeypatch):
    """A state of another time opens the loop of a driven crank: its modes are struck, the counts wrong."""
    started = recorded(monkeypatch)
    p, settings, y0 = task(LONG, 1e-6, 0.08)
    choose(p, settings, 0.0, y0, np.zeros(0), 0.08)
    assert [method for method, *_ in started] == ["dop853", "generalized-alpha"]
    _, t, y = started[1]
    out, closed = np.zeros(3), y.copy()
    p.project(p.data, t, closed, 0.0, 0.0, out)
    assert t > 0.0 and np.abs(closed - y).max() < 1e-9


@pytest.mark.parametrize("t_end, said", [(0.05, "steps make the motion"), (1.5, "too short to try")])
def test_a_short_motion_is_worth_no_pilot(t_end, said, monkeypatch):
    started = recorded(monkeypatch)
    p, settings, y0 = task(SHORT, 1e-8, t_end)
    choice, _ = choose(p, settings, 0.0, y0, np.zeros(0), t_end)
    assert choice.method == "dop853" and len(started) == 1 and said in choice.reason


def test_what_cannot_start_says_so_by_the_run():
    p, y0 = oscillators(1.0), np.array([np.nan, 0.0, 0.0])
    choice, run = choose(p, Settings(), 0.0, y0, np.array([0.0, 1.0]), 1.0)
    assert "fails here" in choice.reason
    with pytest.raises(SolverError, match="initial state"):
        run.advance()


@pytest.mark.parametrize(
    "explicit, implicit, method, said",
    [
        (1.0, 4.0, "dop853", "generalized-alpha, tried for 150 evaluations, takes 1.2 times"),
        (1.0, 10.0, "generalized-alpha", "stiff, .*; dop853 takes 2.0 times the evaluations"),
        (0.0, 1.0, "generalized-alpha", "dop853 fails here"),
        (1.0, 0.0, "dop853", "generalized-alpha, .*, fails here"),
    ],
)
def test_speeds_are_compared_at_equal_error(explicit, implicit, method, said):
    choice = compared(explicit, implicit, 150)
    assert choice.method == method and re.match(said, choice.reason)


def test_an_event_among_the_first_steps_does_not_count_as_stiffness():
    """The steps that find a kink are short ones; a pendulum goes on behind it as quickly as without it."""
    speeds = []
    for kink in (0.6, 100.0):
        data = {
            "gravity": [0, -9.81, 0],
            "bodies": {"a": {"type": "rigid", "mass": 1, "com": [0.3, 0, 0]}},
            "joints": {"j": {"type": "revolute", "from": "ground", "to": "a"}},
            "forces": {"m": {"type": "joint_force", "joint": "j", "value": f"=2 * max(0, sin(t - {kink}))"}},
            "analysis": {"t_end": 10.0},
        }
        system = Case.from_dict(data).system()
        p, y0 = problem(system), state_vector(system, system.initial_state())
        begun = Integrator(p, Settings(method="dop853", rtol=1e-8, atol=1e-11), 0.0, y0, np.zeros(0), 10.0)
        speeds.append(speed(begun, EXPLICIT_STEPS, False))
    assert speeds[0] > 0.5 * speeds[1]
