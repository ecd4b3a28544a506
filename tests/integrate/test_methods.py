"""Integrators on systems with known solutions: order, drift, closure, events, independence of the output."""

import numpy as np
import pytest

from flexmbs.errors import InputError, MissingComponentError, SolverError, UsageError
from flexmbs.integrate import Settings, integrator, method
from tests.integrate.problems import ball, circle, oscillators, top

COMPILED = ["dopri5", "dop853", "rk4", "generalized-alpha"]
EXPLICIT = COMPILED[:3]
TIGHT = {"rtol": 1e-13, "atol": 1e-13}


def integrate(problem, y0, t_end, name, *, times=11, n_steps=None, **settings):
    """Samples (t, y, info), the run, and all events."""
    grid = np.linspace(0.0, t_end, times) if np.isscalar(times) else np.asarray(times, dtype=float)
    run = integrator(problem, Settings(method=name, **settings), 0.0, np.array(y0, dtype=float), grid, t_end)
    chunks = []
    while not run.finished:
        chunks.append(run.advance(n_steps=n_steps))
    t = np.concatenate([chunk.t for chunk in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    events = [
        event
        for chunk in chunks
        for event in zip(chunk.event_t, chunk.event_index, chunk.event_direction, strict=True)
    ]
    return t, y, run, events


def measured_order(problem, y0, t_end, name, steps, reference):
    errors = []
    for h in steps:
        _, y, _, _ = integrate(problem, y0, t_end, name, step=h, **TIGHT)
        errors.append(np.abs(y - reference).max(axis=0))
    errors = np.array(errors)
    return np.log2(errors[:-1] / errors[1:])


ORDERS = {
    "dopri5": (5, (0.2, 0.1, 0.05)),
    "dop853": (8, (0.8, 0.4, 0.2)),
    "rk4": (4, (0.1, 0.05, 0.025)),
    "generalized-alpha": (2, (0.02, 0.01, 0.005)),
}


@pytest.mark.parametrize("name", COMPILED)
def test_order_on_a_tree(name):
    order, steps = ORDERS[name]
    t = np.linspace(0.0, 4.0, 11)
    exact = np.stack([np.cos(t), np.cos(2 * t), -np.sin(t), -2 * np.sin(2 * t), t / 2 - np.sin(2 * t) / 4], 1)
    # outputs off the steps: dense output has its own, lower order for dop853 and dopri5
    found = measured_order(oscillators(1.0, 4.0), [1, 1, 0, 0, 0], 4.0, name, steps, exact)
    assert np.all(found[-1] > order - 1.3) and np.max(found) > order - 0.4


@pytest.mark.parametrize("name", COMPILED)
def test_order_on_a_loop_in_positions_and_speeds(name):
    """Second order in all quantities, on the constraint (F44)."""
    order, steps = {"dop853": (8, (0.4, 0.2))}.get(name, ORDERS[name])
    y0 = [1.0, 0.0, 0.0, 0.0]
    exact = integrate(circle(1.0), y0, 2.0, "dop853", rtol=1e-13, atol=1e-14)[1]
    found = measured_order(circle(1.0), y0, 2.0, name, steps, exact)
    assert np.all(found.mean(axis=0) > order - 0.8)


@pytest.mark.parametrize("name", ["dopri5", "rk4", "generalized-alpha"])
def test_order_with_quaternions(name):
    order = ORDERS[name][0]
    y0 = [1, 0, 0, 0, 0.1, 2.0, 0.3]
    exact = integrate(top(), y0, 2.0, "dop853", rtol=1e-13, atol=1e-14)[1]
    found = measured_order(top(), y0, 2.0, name, (0.16, 0.08, 0.04), exact)
    assert np.all(found.mean(axis=0) > order - 0.5)


def test_samples_do_not_kick_what_steps_do_not_move():
    """A stiff oscillator at rest but for rounding, in steps at the edge of stability."""
    stiff, rtol = 1e5, 1e-8
    _, y, run, _ = integrate(
        oscillators(1.0, stiff), [1, 1e-13, 0, 0, 0], 40.0, "dop853", times=8001, rtol=rtol, atol=1e-9
    )
    assert run.statistics()["rejected"] > 100
    energy = y[:, 3] ** 2 + stiff * y[:, 1] ** 2
    assert np.sqrt(energy.max()) < 500 * rtol


@pytest.mark.parametrize("name", COMPILED)
def test_adaptive_steps_follow_the_tolerance(name):
    t, y, run, _ = integrate(oscillators(1.0, 4.0), [1, 1, 0, 0, 0], 20.0, name, rtol=1e-7, atol=1e-9)
    assert np.abs(y[:, 0] - np.cos(t)).max() < 1e-4  # local tolerance times the number of steps
    loose = integrate(oscillators(1.0, 4.0), [1, 1, 0, 0, 0], 20.0, name, rtol=1e-4, atol=1e-6)[2]
    assert loose.statistics()["steps"] < run.statistics()["steps"]


@pytest.mark.parametrize("name", COMPILED)
def test_closure_at_every_output(name):
    _, y, run, _ = integrate(circle(), [1, 0, 0, 0], 5.0, name, times=101)
    assert np.abs(np.hypot(y[:, 0], y[:, 1]) - 1.0).max() < 1e-14
    assert np.abs(y[:, 0] * y[:, 2] + y[:, 1] * y[:, 3]).max() < 1e-13
    assert run.statistics()["largest_closure"] < 1e-14


@pytest.mark.parametrize(
    "name, options", [("dop853", {"rtol": 1e-12}), ("generalized-alpha", {"rho_inf": 1.0})]
)
def test_energy_of_a_closed_loop_over_1e5_steps(name, options):
    steps = 100_000
    t_end = steps * 5e-4
    settings = {"step": 5e-4, "rtol": 1e-10, "atol": 1e-12} | options
    _, y, run, _ = integrate(circle(1.0), [1, 0, 0, 0], t_end, name, times=200, **settings)
    assert run.statistics()["steps"] >= steps
    energy = 0.5 * (y[:, 2] ** 2 + y[:, 3] ** 2) + y[:, 1]
    assert np.abs(energy[-50:].mean() - energy[:50].mean()) < 1e-6  # drift, of an energy of 1 J
    if name == "dop853":
        assert np.abs(energy).max() < 1e-6


def test_stiff_mode_does_not_set_the_step_of_the_implicit_method():
    slow = integrate(oscillators(1.0), [1, 0, 0], 10.0, "generalized-alpha")[2].statistics()
    t, y, run, _ = integrate(oscillators(1.0, 1e10), [1, 0, 0, 0, 0], 10.0, "generalized-alpha")
    assert run.statistics()["steps"] < 1.5 * slow["steps"]
    assert np.abs(y[:, 0] - np.cos(t)).max() < 1e-3
    assert slow["evaluations"] / slow["steps"] < 3.5


@pytest.mark.parametrize("name", COMPILED)
def test_numbers_depend_neither_on_chunks_nor_on_the_output(name):
    problem, y0 = ball(1e4, 0.0, 0.5), [1.0, 0.0]
    whole = integrate(problem, y0, 1.5, name, times=50)
    chunked = integrate(problem, y0, 1.5, name, times=50, n_steps=1)
    assert np.array_equal(whole[1], chunked[1]) and whole[3] == chunked[3]
    finer = integrate(problem, y0, 1.5, name, times=99, n_steps=3)
    assert np.array_equal(whole[1], finer[1][::2])


def test_passes_of_samples_are_no_passes_of_steps():
    """A sample between steps is a step of its own; the work of the motion is the same without it."""
    few, many = (
        integrate(oscillators(1.0), [1, 0, 0], 1.0, "generalized-alpha", times=n)[2].statistics()
        for n in (2, 5000)
    )
    assert many["evaluations"] == few["evaluations"] and few["sampling"] == 0 < 4000 < many["sampling"]


@pytest.mark.parametrize("name", COMPILED)
def test_restored_run_ends_with_the_same_bits(name):
    problem, y0, times = ball(1e4, 0.0, 0.5), np.array([1.0, 0.0]), np.linspace(0, 1.5, 50)
    whole = integrate(problem, y0, 1.5, name, times=50)[1]
    run = integrator(problem, Settings(method=name), 0.0, y0, times, 1.5)
    first = run.advance(n_steps=17)
    saved = run.checkpoint()
    other = integrator(problem, Settings(method=name), 0.0, y0, times, 1.5)
    other.restore(saved)
    rest = [first.y]
    while not other.finished:
        rest.append(other.advance().y)
    assert np.array_equal(whole, np.concatenate(rest))


@pytest.mark.parametrize("name", COMPILED)
def test_switching_functions_are_located(name):
    fall = np.sqrt(2 / 10.0)
    _, _, _, events = integrate(ball(1e4, 0.0, 0.5), [1.0, 0.0], 0.6, name, rtol=1e-8, atol=1e-11)
    assert [event[1:] for event in events[:2]] == [(1, -1.0), (0, -1.0)]
    assert events[0][0] == pytest.approx(np.sqrt(1 / 10.0), abs=1e-9)
    assert events[1][0] == pytest.approx(fall, abs=1e-9)
    # contact: half a period of the spring under gravity, in closed form
    omega, v = 100.0, 10.0 * fall
    contact = 2 * (np.pi - np.arctan(v * omega / 10.0)) / omega
    assert events[2][0] - events[1][0] == pytest.approx(contact, rel=2e-4 if name[0] == "g" else 1e-6)


@pytest.mark.parametrize("name", COMPILED)
def test_until_ends_the_run_on_the_point(name):
    t, y, run, events = integrate(ball(1e4, 0.0, 0.5), [1.0, 0.0], 5.0, name, until=1, rtol=1e-9, atol=1e-12)
    assert run.finished and t[-1] == run.t == events[-1][0]
    assert events[-1][1:] == (1, 1.0) and y[-1, 0] == pytest.approx(0.5, abs=1e-9)


def test_output_times_are_hit_exactly():
    times = [0.0, 0.1, 0.123456789, 2.0]
    for name in COMPILED:
        t, y, _, _ = integrate(oscillators(1.0), [1, 0, 0], 2.0, name, times=times, rtol=1e-9, atol=1e-12)
        assert t.tolist() == times
        assert np.abs(y[:, 0] - np.cos(times)).max() < 1e-5


@pytest.mark.parametrize("name", ["rk4", "generalized-alpha"])
def test_fixed_steps_stay_on_their_grid_however_late_it_is(name):
    """Sums of times fall behind by a rounding each, which ended runs as a step too short."""
    start, settings = 30_000.0, Settings(method=name, step=9e-4)
    run = integrator(
        oscillators(4.0), settings, start, np.array([1.0, 0.0, 0.0]), np.array([start]), start + 4.5
    )
    while not run.finished:
        run.advance(n_steps=1000)
    assert run.statistics()["steps"] == 5000 and run.t == start + 4.5


def test_run_of_length_zero_gives_the_start():
    for name in COMPILED:
        t, y, run, _ = integrate(oscillators(1.0), [1, 0, 0], 0.0, name, times=[0.0])
        assert t.tolist() == [0.0] and y.tolist() == [[1, 0, 0]] and run.finished


def test_singular_motion_is_an_error_with_its_time():
    with pytest.raises(SolverError, match=r"t = .* s"):
        integrate(oscillators(-1e300), [1, 0, 0], 1.0, "dopri5")


def test_settings_are_checked():
    for wrong in ({"rtol": 0.0}, {"rtol": 2.0}, {"atol": 0.0}, {"step": -1.0}, {"rho_inf": 1.5}):
        with pytest.raises(UsageError, match="out of range"):
            Settings(**wrong)


def test_unknown_method_names_the_choices():
    with pytest.raises(InputError, match="generalized-alpha"):
        method["generalised-alpha"]


SUNDIALS = pytest.mark.needs("sksundae")
REFERENCES = ["radau", pytest.param("cvode", marks=SUNDIALS), pytest.param("ida", marks=SUNDIALS)]


@pytest.mark.parametrize("name", REFERENCES)
def test_references_agree(name):
    t, y, run, _ = integrate(oscillators(1.0, 1e6), [1, 0, 0, 0, 0], 3.0, name, rtol=1e-8, atol=1e-10)
    assert t.tolist() == np.linspace(0.0, 3.0, 11).tolist()
    assert np.abs(y[:, 0] - np.cos(t)).max() < 1e-5
    _, y, _, _ = integrate(circle(), [1, 0, 0, 0], 2.0, name, rtol=1e-9, atol=1e-11)
    exact = integrate(circle(), [1, 0, 0, 0], 2.0, "dop853", rtol=1e-12, atol=1e-13)[1]
    assert np.abs(y - exact).max() < 1e-4
    assert np.abs(np.hypot(y[:, 0], y[:, 1]) - 1.0).max() < 1e-14


@pytest.mark.parametrize("name", REFERENCES)
def test_references_end_on_the_point_and_resume(name):
    problem = ball(1e4, 0.0, 0.5)
    t, y, run, _ = integrate(problem, [1.0, 0.0], 5.0, name, until=1, rtol=1e-9, atol=1e-11, times=101)
    assert y[-1, 0] == pytest.approx(0.5, abs=1e-7) and y[-1, 1] > 0.0 and run.finished
    settings = Settings(method=name, until=1, rtol=1e-9, atol=1e-11)
    first = integrator(problem, settings, 0.0, np.array([1.0, 0.0]), np.linspace(0, 5, 101), 5.0)
    head = first.advance(n_steps=5)
    second = integrator(problem, settings, 0.0, np.array([1.0, 0.0]), np.linspace(0, 5, 101), 5.0)
    second.restore(first.checkpoint())
    rest = [head.y]
    while not second.finished:
        rest.append(second.advance().y)
    assert np.array_equal(np.concatenate(rest), y)


def test_fixed_steps_are_refused_by_references():
    with pytest.raises(UsageError, match="radau"):
        integrate(oscillators(1.0), [1, 0, 0], 1.0, "radau", step=0.1)


def test_missing_library_is_named_with_its_command(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sksundae.cvode", None)
    with pytest.raises(MissingComponentError, match=r"pip install \"flexmbs\[sundials\]\""):
        integrate(oscillators(1.0), [1, 0, 0], 1.0, "cvode")


def test_states_without_influence_leave_the_derivatives_as_they_are():
    """However often they are asked for: a run takes hundreds of them."""
    run = integrator(
        oscillators(1.0, 1e6), Settings(method="radau"), 0.0, np.array([1.0, 0, 2, 0, 0]), np.zeros(1), 1.0
    )
    exact = np.zeros((5, 5))
    exact[0, 2] = exact[1, 3] = 1.0
    exact[2, 0], exact[3, 1], exact[4, 2] = -1.0, -1e6, 4.0
    x = np.array([1.0, 0, 2, 0, 1e3])
    for _ in range(400):
        found = run.jacobian(0.0, x)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-6)


def test_errors_whose_squares_vanish_stop_no_run():
    """The error of order 8 was nought over nought, so that a motion that all but rests crept on."""
    _, _, run, _ = integrate(oscillators(1.0), [1e-170, 0, 0], 10.0, "dop853", rtol=1e-6, atol=1e-9)
    assert run.statistics()["rejected"] == 0 and run.statistics()["steps"] < 20
