"""Positions where constraints lose rank: the motion keeps the branch of its velocity, and says so (F28)."""

import os

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.integrate import Settings, integrator
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.given import Given
from tests.dynamics.awkward import driven, four_bar, parallelogram, slider_crank, with_velocity
from tests.dynamics.test_awkward import PASSED

pytestmark = pytest.mark.slow

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SUNDIALS = pytest.mark.needs("sksundae")
METHODS = [
    ("dopri5", 0.0), ("dop853", 0.0), ("rk4", 0.0), ("generalized-alpha", 0.0), ("radau", 0.0),
    ("dopri5", 0.02), ("rk4", 0.02), ("generalized-alpha", 0.01),
    pytest.param("cvode", 0.0, marks=SUNDIALS), pytest.param("ida", 0.0, marks=SUNDIALS),
]  # fmt: skip


def load(name, **values):
    return Case.load(os.path.join(ROOT, "cases", name), **values)


def equal_links(theta, speed):
    given = {"joints.main.initial.velocity": speed, "joints.bigend.initial.velocity": -2.0 * speed}
    return load("slider-crank-equal-links.toml", theta=theta, **given).system()


def integrate(system, t_end, method, times, **settings):
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, t_end)
    grid = np.linspace(0.0, t_end, times) if np.isscalar(times) else times
    run = integrator(p, Settings(method=method, **settings), 0.0, y0, grid, t_end)
    chunks = []
    while not run.finished:
        chunks.append(run.advance())
    events = np.concatenate([chunk.event_t[chunk.event_index <= -2] for chunk in chunks])
    return np.concatenate([chunk.t for chunk in chunks]), np.concatenate([c.y for c in chunks]), events


@pytest.mark.parametrize(("method", "step"), METHODS)
def test_every_method_keeps_the_branch_of_the_velocity(method, step):
    """The rod turns back against the crank; on the other branch both would turn as one body."""
    rng = np.random.default_rng(len(method))
    for _ in range(6):
        theta, speed = rng.uniform(0.1, 1.3), rng.uniform(0.5, 20.0) * rng.choice([-1, 1])
        rtol = 10 ** rng.uniform(-9, -5)
        settings = {"rtol": rtol, "atol": 1e-2 * rtol, "step": step / abs(speed)}
        t, y, events = integrate(
            equal_links(theta, speed), 14.0 / abs(speed), method, int(rng.integers(3, 400)), **settings
        )
        assert np.abs(y[:, 1] + 2.0 * y[:, 0]).max() < 0.02
        passed = abs(np.floor(y[-1, 0] / np.pi - 0.5) - np.floor(y[0, 0] / np.pi - 0.5))
        assert len(events) == (0 if method in ("radau", "cvode", "ida") else passed)  # references record none


@pytest.mark.parametrize("method", ["dopri5", "dop853", "radau"])
def test_speed_and_energy_go_on_through_a_change_point(method, tmp_path):
    """Kinetic energy is constant; outputs stand on, before and behind the position."""
    times = [0.84, 0.840292, 0.840292085343345, 0.8402921, 0.8405]
    values = {"analysis.method": method, "output.times": times, "analysis.t_end": 1.0}
    case = load("slider-crank-equal-links.toml", **values)
    result = execute(case, tmp_path / "a.h5").result
    energy = np.asarray(result.energy.kinetic)
    assert np.abs(energy / energy[0] - 1.0).max() < 1e-6
    closure = np.asarray(result["solver/constraint_position"])
    assert closure.max() < 1e-10  # links of 1 m
    acceleration = np.asarray(result["joints/main/acceleration"])[1:-1, 0]
    assert np.ptp(acceleration) < 0.05 * np.abs(acceleration).max() + 0.1  # smooth, not thrown about


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("name", PASSED)
def test_the_implicit_method_agrees_with_the_others_at_change_points(name, rtol):
    """Samples down to 1e-12 s from the change point; the errors are those of a method of order 2."""
    system = Case.from_dict(PASSED[name]).system()
    t_end = PASSED[name]["analysis"]["t_end"]
    fine = {"rtol": 1e-12, "atol": 1e-14}
    _, _, (event,) = integrate(system, t_end, "dop853", 2, **fine)
    beside = 10.0 ** np.arange(-12.0, -1.9, 0.5)
    times = np.unique(np.r_[0.0, event - beside, event, event + beside, t_end])
    t, exact, _ = integrate(system, t_end, "dop853", times, **fine)
    _, found, events = integrate(system, t_end, "generalized-alpha", times, rtol=rtol, atol=1e-2 * rtol)
    size, n = 1.5 * rtol ** (2 / 3) + 1e-8, system.n_pos  # steps of order 2, about a second of them
    speeds = slice(n, n + system.n_vel)
    assert len(events) == 1 and events[0] == pytest.approx(event, abs=size + 1e-5)
    assert np.abs(found[:, :n] - exact[:, :n]).max() < size
    assert np.abs(found[:, speeds] - exact[:, speeds]).max() < 10.0 * size


@pytest.mark.parametrize(("gravity", "load"), [(0.0, 0.0), (0.0, 3.0), (9.81, 0.0), (9.81, 3.0)])
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "generalized-alpha"])
def test_every_change_point_of_a_turning_parallelogram_is_recorded(method, gravity, load):
    """Cranks are in line with the base at every half turn, whatever the tolerance and the length of steps."""
    data = with_velocity(parallelogram(1.0), a=8.0, d=8.0, b=-8.0) | {"gravity": [0.0, -gravity, 0.0]}
    data["forces"] = {"m": {"type": "joint_force", "joint": "a", "value": load}}
    for rtol in (1e-3, 1e-4, 1e-5, 1e-6, 1e-8):
        settings = {"rtol": rtol, "atol": 1e-2 * rtol}
        times = np.linspace(0.0, 2.0, 401)
        t, y, events = integrate(Case.from_dict(data).system(), 2.0, method, times, **settings)
        turns = np.floor(y[:, 0] / np.pi)
        passed = t[1:][np.diff(turns) != 0.0]
        assert len(events) == len(passed) > 4
        np.testing.assert_allclose(events, passed, rtol=0, atol=0.006)  # samples are 0.005 s apart


SWINGS = {f"swing from {theta}": load("parallelogram.toml", theta=theta) for theta in (0.06, -0.01, -0.06)}


@pytest.mark.parametrize(("name", "rtol"), [(n, 1e-9) for n in PASSED] + [(n, 1e-6) for n in SWINGS])
def test_implicit_steps_give_way_once_at_every_change_point(name, rtol):
    """Nearness decides by two measures, of implicit and of explicit steps: they do not take turns.

    The swings pass slowly, or turn back beside the change point and pass none.
    """
    case = SWINGS[name] if name in SWINGS else Case.from_dict(PASSED[name])
    system, t_end = case.system(), 3.0 if name in SWINGS else PASSED[name]["analysis"]["t_end"]
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, t_end)
    settings = Settings(method="generalized-alpha", rtol=rtol, atol=1e-2 * rtol)
    run, over, events = integrator(p, settings, 0.0, y0, np.zeros(0), t_end), [0], 0
    while not run.finished:
        events += np.count_nonzero(run.advance(n_steps=1).event_index <= -2)
        over.append(run.memory.over[0])
    assert events == {"swing from 0.06": 7, "swing from -0.01": 0, "swing from -0.06": 0}.get(name, 1)
    assert np.count_nonzero(np.diff(over)) == 2 * events and np.sum(over) <= 6 * events


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4"])
@pytest.mark.parametrize("name", PASSED)
def test_long_steps_do_not_hide_a_change_point(name, method):
    """A few steps in all: the stages of a step say that nearness falls and rises in it."""
    system = Case.from_dict(PASSED[name]).system()
    t_end = PASSED[name]["analysis"]["t_end"]
    _, _, (event,) = integrate(system, t_end, "dopri5", 2, rtol=1e-10, atol=1e-12)
    for rtol in 10.0 ** np.arange(-8.0, -3.9, 0.25):
        _, _, events = integrate(system, t_end, method, 2, rtol=rtol, atol=1e-2 * rtol)
        assert len(events) == 1 and events[0] == pytest.approx(event, abs=10.0 * rtol ** (2 / 3))


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_rounding_of_the_closure_does_not_stop_the_implicit_method(rtol, tmp_path):
    """What a pass changes is rounding over bh, times 1 / pivot: it does not fall with the step."""
    values = {"analysis.method": "generalized-alpha", "analysis.rtol": rtol, "analysis.atol": 1e-2 * rtol}
    fine = {"analysis.method": "dop853", "analysis.rtol": 1e-12, "analysis.atol": 1e-14}
    case = "parallelogram.toml" if rtol == 1e-12 else "flexible-slider-crank-linear.toml"
    end = {"analysis.t_end": 0.5 if rtol == 1e-12 else 0.011, "output.every": 1e-4, "output.times": []}
    found, exact = (
        execute(load(case, **end, **v), tmp_path / f"{k}.h5").result for k, v in enumerate((values, fine))
    )
    for body in load(case).model().bodies:
        off = np.abs(found.bodies[body].position - exact.bodies[body].position).max()
        assert off < 3.0 * rtol ** (2 / 3)
    assert found["solver/constraint_position"].max() < 1e-10


def test_nearness_of_a_change_point_is_no_matter_of_the_step():
    """Compliant rows of the step go to infinity with short ones (F45); the hard rows stay what they are."""
    system = load("double-wishbone.toml").system()
    p, y = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y, 1.0)
    y_dot, out, n = np.zeros_like(y), np.zeros(3), system.n_pos
    p.rates(p.data, 0.0, y, y_dot)
    p.nearness(p.data, out)
    near, a = out[0], y_dot[n : n + system.n_vel].copy()
    assert 0.5 < near < 2.0
    for h in (1e-2, 1e-4, 1e-6):
        p.shifted(p.data, 0.0, y, a, 0.3 * h * h, 0.5 * h, np.zeros_like(a), np.zeros(p.n_aux))
        p.nearness(p.data, out)
        assert out[0] == pytest.approx(near, rel=0.1)  # M + Sh in place of M


def test_change_points_are_events_of_the_result(tmp_path):
    result = execute(load("parallelogram.toml", **{"output.every": 0.005}), tmp_path / "a.h5").result
    kinds, times = list(result["events/kind"]), np.asarray(result["events/time"])
    assert [str(kind) for kind in kinds] == ["change_point", "change_point"]
    assert "joints." in str(result["events/text"][0])
    angle = np.interp(times, result.time, np.asarray(result.joints.a.position)[:, 0])
    assert np.abs(np.sin(angle)).max() < 1e-3  # interpolated between samples


@pytest.fixture(scope="module")
def passed():
    """By case: time of its change point."""
    fine = {"rtol": 1e-10, "atol": 1e-12}
    return {
        name: integrate(Case.from_dict(data).system(), data["analysis"]["t_end"], "dop853", 2, **fine)[2][0]
        for name, data in PASSED.items()
    }


def ground_force(result, case):
    """Sum of m (a - g) over all bodies: what ground exerts, by Newton's law alone (n, 3)."""
    total = 0.0
    for name, body in case["bodies"].items():
        b, com = result.bodies[name], np.asarray(body.get("com", [0.0, 0.0, 0.0]), dtype=float)
        turned = np.array([Rotation.from_quat(q[[1, 2, 3, 0]]).apply(com) for q in np.asarray(b.quaternion)])
        w, alpha = np.asarray(b.angular_velocity), np.asarray(b.angular_acceleration)
        a = np.asarray(b.acceleration) + np.cross(alpha, turned) + np.cross(w, np.cross(w, turned))
        total = total + body["mass"] * (a - case["gravity"])
    return total


def test_long_steps_record_every_change_point_of_a_turning_parallelogram(tmp_path):
    """At both flat positions of every turn; a step may lead away from one and end near the next."""
    data = with_velocity(four_bar(0.3, 0.8, 0.3, 0.8, 1.0), a=-10.0)
    data["analysis"] |= {"t_end": 1.2, "rtol": 1e-6, "atol": 1e-8, "method": "dop853"}
    result = execute(Case.from_dict(data), tmp_path / "bars.h5").result
    turned = result["joints/a/position"][:, 0]
    flat = np.pi * np.arange(0, np.floor(turned[-1] / np.pi), -1)
    times = np.interp(-flat, -turned, result.time)
    assert len(times) >= 4
    np.testing.assert_allclose(result["events/time"], times, atol=1e-5)  # linear between samples


@pytest.mark.parametrize("formulation", ["recursive", "minimal"])
@pytest.mark.parametrize("name", PASSED)
def test_reactions_at_a_change_point_are_the_limit_from_both_sides(name, formulation, passed, tmp_path):
    """Redundant ones the limit of their least squares; ground carries what the motion takes."""
    data, event = PASSED[name], passed[name]
    beside = 10.0 ** np.arange(-12.0, -2.9, 1.0)
    times = [float(t) for t in np.r_[event - beside[::-1], event, event + beside]]
    own = {"formulation": formulation, "method": "dop853", "rtol": 1e-10, "atol": 1e-12}
    case = Case.from_dict(
        data
        | {"analysis": data["analysis"] | own}
        | {"output": {"every": data["analysis"]["t_end"], "times": times}}
    )
    result = execute(case, tmp_path / "a.h5").result
    assert [str(kind) for kind in result["events/kind"]] == ["change_point"]
    assert "joints." in str(result["events/text"][0])
    assert result["events/time"][0] == pytest.approx(event, abs=1e-4)
    here, far = slice(1, -1), [1, -2]
    size = max(np.abs(np.asarray(j.reaction_force)).max() for j in result.joints.values())
    for joint in result.joints.values():
        force = np.asarray(joint.reaction_force)
        slope = np.abs(np.diff(force[far], axis=0)).max() / 2e-3
        assert np.abs(force[here] - force[far].mean(axis=0)).max() < 1e-3 * slope + 1e-4 * size
    held = [j for j, spec in data["joints"].items() if spec["from"].startswith("ground")]
    ground = sum(np.asarray(result.joints[j].reaction_force)[here] for j in held)
    np.testing.assert_allclose(ground, ground_force(result, data)[here], atol=1e-6 * size)


def test_kinematics_takes_the_branch_of_the_velocity_at_a_change_point(tmp_path):
    """Crank and rod of one length, driven: rod -2, slider pin 1 times the crank, at and beside the point."""
    data = slider_crank(0.5, 0.5, 1.2) | {"gravity": [0, 0, 0]}
    data = driven(with_velocity(data, big=-4.0, small=2.0), "kinematics", main="=1.2 + 2*t")
    point = (np.pi / 2 - 1.2) / 2
    for offsets in ((), (0.0,), (-1e-3, -1e-6, -1e-9, 0.0, 1e-9, 1e-6, 1e-3)):
        times = {"times": [float(point + x) for x in offsets], "every": 0.07}
        case = Case.from_dict(data | {"analysis": data["analysis"] | {"t_end": 0.5}, "output": times})
        result = execute(case, tmp_path / f"{len(offsets)}.h5").result
        for name, rate in (("main", 2.0), ("big", -4.0), ("small", 2.0)):
            joint = result.joints[name]
            np.testing.assert_allclose(joint.velocity[:, 0], rate, atol=1e-9)
            # loops close to 1e-13 m, and 1e-3 s beside the point the rows are nearly dependent: the gap
            # counts there by the square of rate over distance, (4 / 4e-3)^2
            np.testing.assert_allclose(joint.acceleration[:, 0], 0.0, atol=1e-7)
        theta = 1.2 + 2.0 * np.asarray(result.time)
        np.testing.assert_allclose(result.joints["guide"].position[:, 0], np.cos(theta), atol=1e-10)
        np.testing.assert_allclose(result.joints["guide"].acceleration[:, 0], -4 * np.cos(theta), atol=1e-7)
        ground = np.asarray(result.joints["main"].reaction_force) + np.asarray(
            result.joints["guide"].reaction_force
        )
        np.testing.assert_allclose(ground, ground_force(result, data), atol=1e-6)


def test_rows_that_change_their_pivots_are_no_change_point(tmp_path):
    """Bennett's linkage, flat: other rows of the overconstrained loop take over; the rank stays."""
    for method in ("dopri5", "dop853", "rk4"):
        done = execute(load("bennett.toml", **{"analysis.method": method}), tmp_path / f"{method}.h5")
        assert done.passed and not len(done.result["events/time"])
        assert done.summary.statistics["steps"] < 300


def test_a_start_on_a_change_point_learns_the_rank_around_it():
    """Folded flat at the start, both cranks moving alike: the parallelogram stays one."""
    case = load("parallelogram.toml", theta=0.0, **{"joints.a.initial.velocity": -6.0})
    system = case.system()
    state = system.initial_state()
    t, y, _ = integrate(system, 0.3, "dop853", 11, rtol=1e-9, atol=1e-11)
    assert state.pos[0] == 0.0
    assert np.abs(np.sin(y[:, 0] + y[:, 1])).max() < 1e-6 or np.abs(y[:, 0] - y[:, 1]).max() < 1e-6


def test_stages_far_from_a_change_point_are_not_searched_between(monkeypatch, tmp_path):
    """The nearness of a bent beam rises and falls with it, far from zero: 56 more rates a step, once."""
    asked = []
    called = Given._called

    def counted(self, place, method, sizes):
        return called(self, place, lambda *args: asked.append(method.__name__) or method(*args), sizes)

    monkeypatch.setattr(Given, "_called", counted)
    words = {"analysis.formulation": "descriptor", "analysis.method": "dop853", "analysis.t_end": 0.01}
    case = load("flexible-pendulum-beam.toml", **words, **{"output.every": 0.01})
    told = execute(case, tmp_path / "result.h5").summary.statistics
    assert asked.count("rates") < 20 * (told["steps"] + told["rejected"])
