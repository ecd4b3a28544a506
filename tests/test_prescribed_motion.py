"""What a prescribed motion leaves behind does not depend on when it is looked at (F35)."""

import numpy as np
import pytest

from flexmbs.case.generate import scissor_lift
from flexmbs.errors import SolverError
from flexmbs.results import Result
from tests.dynamics.awkward import driven, four_bar
from tests.test_kinematic_change_points import prescribed
from tests.test_prescribed_forces import run, slider

COARSE_AND_FINE = pytest.mark.parametrize("every", [0.1, 0.05])


@COARSE_AND_FINE
def test_an_integrated_drive_travels_what_its_speed_says(every, tmp_path):
    result = run(slider({"velocity": "=0.1*(1+cos(40*pi*t))"}, every=every), tmp_path)
    t = np.asarray(result.time)
    travelled = 0.1 * t + 0.1 * np.sin(40 * np.pi * t) / (40 * np.pi)
    np.testing.assert_allclose(result.joints["x"].position[:, 0], travelled, atol=1e-6)


@COARSE_AND_FINE
def test_a_damper_dissipates_what_its_speed_says(every, tmp_path):
    data = slider({"position": "=0.1*cos(20*pi*t)"}, joint={"damper": {"damping": 3.0}}, every=every)
    result = run(data, tmp_path)
    assert result.energy.dissipated[-1] == pytest.approx(1.5 * (2 * np.pi) ** 2, rel=1e-6)
    assert np.abs(result.energy.balance_error).max() < 1e-4


def test_a_shaker_dissipates_what_its_speed_says(tmp_path):
    data = slider({"position": "=1e-3*cos(2*pi*500*t)"}, joint={"damper": {"damping": 3.0}})
    data |= {"analysis": {"type": "kinematics", "t_end": 0.02}, "output": {"every": 1e-3}}
    result = run(data, tmp_path)
    assert result.energy.dissipated[-1] == pytest.approx(0.03 * np.pi**2, rel=1e-6)


@COARSE_AND_FINE
def test_a_stiff_own_state_follows(every, tmp_path):
    """s' = k (sin t - s) from 0: (sin t - cos t / k + exp(-k t) / k) / (1 + 1 / k^2)."""
    data = slider({"position": "=sin(t)"}, every=every)
    data["states"] = {"s": {"rate": "=1000*(x.position-states.s)", "initial": 0}}
    result = run(data, tmp_path)
    t = np.asarray(result.time)
    exact = (np.sin(t) - np.cos(t) / 1e3 + np.exp(-1e3 * t) / 1e3) / (1 + 1e-6)
    np.testing.assert_allclose(result["states/s"][...], exact, atol=3e-6)


@COARSE_AND_FINE
def test_an_own_state_switches_where_its_law_says(every, tmp_path):
    data = slider({"position": "=0.1*t"}, every=every)
    data["states"] = {"s": {"rate": "=where(x.position<0.052,0,1)", "initial": 0}}
    result = run(data, tmp_path)
    assert result["states/s"][-1] == pytest.approx(0.48, abs=1e-8)
    assert [float(t) for t in result["events/time"]] == [pytest.approx(0.52, abs=1e-8)]


@pytest.mark.slow
@pytest.mark.parametrize("every", [0.3, 1.5])
def test_a_mechanism_driven_from_rest_keeps_its_branch(every, tmp_path):
    """Open or crossed: the side of the diagonal on which the pin of coupler and rocker stands."""
    data = prescribed(four_bar(0.3, 1.0, 0.8, 1.0, np.pi / 2), "=pi/2 + 10*t**2", 1.5, every)
    result = run(data, tmp_path)
    a = np.pi / 2 + 10.0 * np.asarray(result.time) ** 2
    x, y = 0.3 * np.cos(a), 0.3 * np.sin(a)  # crank pin; rocker on (1, 0)
    d, to = np.hypot(1.0 - x, y), np.arctan2(-y, 1.0 - x)
    coupler = to + np.arccos((1.0 + d * d - 0.64) / (2.0 * d))
    position = {name: np.asarray(result.joints[name].position)[:, 0] for name in "ab"}
    np.testing.assert_allclose(np.cos(position["a"] + position["b"]), np.cos(coupler), atol=1e-9)
    turned = np.unwrap(position["a"] + position["b"] - coupler)
    np.testing.assert_allclose(turned, turned[0], atol=1e-9)


@pytest.mark.parametrize("every", [0.1, 0.03])
def test_until_ends_prescribed_motion_on_the_point(every, tmp_path):
    data = slider({"position": "=t"}, analysis={"until": "=x.position - 0.5"}, every=every)
    result = run(data, tmp_path)
    assert result.time[-1] == pytest.approx(0.5, abs=1e-12) and result.status == "complete"
    assert result.events.kind == ["until"] and result.events.time[-1] == result.time[-1]


def test_until_ends_inverse_dynamics_on_the_point(tmp_path):
    t = np.linspace(0.0, 1.0, 11)
    np.savetxt(tmp_path / "m.csv", np.column_stack([t, t]), delimiter=",", header="time,x", comments="")
    data = slider({}, analysis={"type": "inverse_dynamics", "motion": "m.csv", "until": "=x.position - 0.5"})
    del data["drives"]
    assert run(data, tmp_path).time[-1] == pytest.approx(0.5, abs=1e-12)


def test_motion_that_cannot_go_on_says_where_and_keeps_what_was_there(tmp_path):
    """A rocker of 0.5 on a base of 0.5, coupler 0.3: the crank pin is out of reach at some angle."""
    data = prescribed(four_bar(0.4, 0.3, 0.5, 0.5, 0.9), "=0.9 + 3*t", 1.0, 0.1)
    reach = np.arccos((0.16 + 0.25 - 0.64) / (2 * 0.4 * 0.5))  # coupler and rocker in one line
    end = (reach - 0.9) / 3
    with pytest.raises(SolverError, match=rf"t = {end:.6f}"[:9] + r".*joints\.\w+.*lock-up"):
        run(data, tmp_path)
    result = Result.load(tmp_path / "run.h5")
    assert result.status == "failed" and 0.4 <= result.time[-1] < end


@pytest.mark.parametrize(
    "data",
    [
        driven(four_bar(0.3, 0.9, 0.7, 0.8, 0.5), "kinematics", a="=0.5 + 3*t"),
        driven(scissor_lift(3), "kinematics", base="=0.5 + 0.1*t**2", centre0="=-1 - 0.2*t**2"),
    ],
    ids=["four-bar", "lift"],
)
def test_the_recursion_and_a_least_squares_follower_find_the_same_motion(data, tmp_path, monkeypatch):
    """Positions, accelerations, reactions, efforts and work, by two sets of equations."""
    data |= {"analysis": {"type": "kinematics", "t_end": 0.5, "rtol": 1e-9}, "output": {"every": 0.05}}
    one = run(data, tmp_path, "one")
    monkeypatch.setattr("flexmbs.simulate.by_recursion", lambda *_: None)
    other = run(data, tmp_path, "other")
    for name in one.joints:
        for path in ("position", "acceleration", "reaction_force", "reaction_moment"):
            here, there = (np.asarray(x[f"joints/{name}/{path}"]) for x in (one, other))
            np.testing.assert_allclose(here, there, atol=1e-8 * max(np.abs(there).max(), 1.0))
    for name in one.drives:
        here, there = (np.asarray(x.drives[name].effort) for x in (one, other))
        np.testing.assert_allclose(here, there, atol=1e-8 * np.abs(there).max())
    np.testing.assert_allclose(one.energy.work, other.energy.work, atol=1e-7 * np.abs(one.energy.work).max())
