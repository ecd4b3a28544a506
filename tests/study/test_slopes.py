"""Slopes by repeated steps, against differences of runs with tight tolerances of their own."""

import shutil

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError, InputError, UsageError
from flexmbs.integrate import Steps
from flexmbs.resources import resource
from flexmbs.study.search import differences

#: shipped cases: what varies, what is measured, and what is changed to make the motion short
CASES = {
    "double-pendulum": (
        ["l1", "m2"],
        {"x": "=bodies.rod2.position.x[-1]", "fastest": "=max(abs(bodies.rod2.velocity.x))"},
        {"analysis.t_end": 1.5, "output.every": 0.01},
    ),
    "slider-crank": (["r", "torque"], {"end": "=main.velocity[-1]"}, {}),  # ends by an event
    "andrews-squeezer": (
        ["forces.spring.stiffness", "forces.motor.value"],
        {"beta": "=joints.beta.position[-1]", "gamma": "=joints.gamma.position[-1]"},
        {"analysis.t_end": 0.02},
    ),
    "rotating-slot-spring": (
        ["joints.slot.spring.stiffness", "bodies.slider.mass"],
        {"out": "=max(joints.slot.position)", "motor": "=max(abs(drives.motor.effort))"},
        {"output.every": 0.01},
    ),
    "flexible-pendulum-beam": (
        ["joints.hinge.initial.position"],
        {"x": "=sensors.tip.x[-1]", "y": "=sensors.tip.y[-1]"},
        {"joints.hinge.initial.position": 0.3, "analysis.t_end": 0.05, "output.every": 0.01},
    ),
}


def shipped(name, folder, metrics, values, rtol):
    """A case of the repository with metrics of its own."""
    for path in resource("cases").glob(f"{name}*.toml"):
        shutil.copy(path, folder)
    changed = Case.load(folder / f"{name}.toml").with_tables(
        lambda data: (data.pop("expected"), data.update(metrics=metrics))
    )
    if "joints.hinge.initial.position" in values:
        changed = changed.with_tables(lambda data: data["joints"]["hinge"].update(initial={"position": 0.0}))
    return changed.with_values(**values, **{"analysis.rtol": rtol, "analysis.atol": 1e-3 * rtol})


def tight_slope(case, name, value):
    """Slopes of all metrics by differences of order 4 of runs under error control."""
    tight = case.with_values(**{"analysis.rtol": 1e-12, "analysis.atol": 1e-14, "analysis.method": "dop853"})
    h = 2e-4 * abs(value)
    a, b, c, d = (fm.run_one(tight, **{name: value + k * h}) for k in (1, -1, 2, -2))
    return {key: (8.0 * (a[key] - b[key]) - (c[key] - d[key])) / (12.0 * h) for key in a}


def own_error(case, result):
    """Largest error of a joint in a run, over its largest value."""
    tight = {"analysis.rtol": 1e-12, "analysis.atol": 1e-14, "analysis.method": "dop853"}
    exact = execute(case.with_values(**tight), keep=False).result
    found = [0.0]
    for path in exact.paths:
        if path.startswith("joints/") and path.endswith(("position", "velocity")):
            n = min(len(result[path]), len(exact[path])) - 1  # the end of a run may be an event
            a, b = (np.append(r[path][:n], r[path][-1:], axis=0) for r in (result, exact))
            found.append(np.abs(a - b).max() / max(np.abs(b).max(), 1e-12))
    return max(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_slopes_agree_with_tight_differences(name, tmp_path):
    """To 1e-5 at rtol 1e-9, and to ten times the error of the run itself at default tolerances."""
    names, metrics, values = CASES[name]
    case = shipped(name, tmp_path, metrics, values, 1e-9)
    given = {key: case.parameters.get(key) or float(_at(case, key)) for key in names}
    wanted = {key: tight_slope(case, key, value) for key, value in given.items()}
    for rtol in (1e-9, 1e-6):
        chosen = case.with_values(**{"analysis.rtol": rtol, "analysis.atol": 1e-3 * rtol})
        run = execute(chosen, keep=False).result
        error = own_error(chosen, run)
        found = fm.slopes(chosen, names)
        for key in names:
            for metric in metrics:
                exact = wanted[key][metric]
                size = max(abs(exact), abs(float(run[f"metrics/{metric}"]) / given[key]))
                limit = 1e-5 * abs(exact) if rtol == 1e-9 else 10.0 * error * size
                assert abs(found[metric][key] - exact) < limit, (metric, key, rtol, error)


def _at(case, name):
    found = case.source.data
    for key in name.split("."):
        found = found[key]
    return found


@pytest.mark.parametrize("method", ["dopri5", "generalized-alpha"])
def test_a_run_that_repeats_its_own_steps_is_the_same_and_its_neighbours_are_smooth(method, tmp_path):
    """Distances of 1e-6 of a parameter, at loose tolerances: error control alone gives noise there."""
    names, metrics, values = CASES["rotating-slot-spring"]
    case = shipped("rotating-slot-spring", tmp_path, metrics, values | {"analysis.method": method}, 1e-4)
    steps = Steps()
    first = execute(case, keep=False, steps=steps)
    again = execute(case, keep=False, steps=steps)
    assert steps.method == method and len(steps.sizes) == first.summary.statistics["steps"]
    assert abs(sum(steps.sizes) - 0.7) < 1e-12
    a, b = (item.result["joints/slot/position"] for item in (first, again))
    np.testing.assert_allclose(
        a, b, rtol=0, atol=3e-7 if method == "generalized-alpha" else 1e-13
    )  # iterations go on

    def at(stiffness):
        varied = case.with_values(**{"joints.slot.spring.stiffness": stiffness})
        return float(execute(varied, keep=False, steps=steps).result["joints/slot/position"][-1, 0])

    wide = (at(50.0 * (1 + 1e-3)) - at(50.0 * (1 - 1e-3))) / 0.1
    near = (at(50.0 * (1 + 1e-6)) - at(50.0 * (1 - 1e-6))) / 1e-4
    assert abs(near - wide) < 1e-5 * abs(wide)


def test_differences_at_a_bound_look_inside():
    """Values outside are never asked for, and the order stays."""

    def measure(x, steps):
        assert np.all(x >= 0.0) and np.all(x <= 2.0)
        return np.array([np.exp(x[0]) + x[1] ** 2])

    for x in ([0.0, 2.0], [2.0, 0.0], [1.0, 1.0]):
        J = differences(measure, np.array(x), Steps(), np.full(2, 2.0), np.zeros(2), np.full(2, 2.0))
        np.testing.assert_allclose(J, [[np.exp(x[0]), 2.0 * x[1]]], rtol=1e-8, atol=1e-8)


def test_what_has_no_slope_is_said(tmp_path):
    case = shipped("rotating-slot-spring", tmp_path, {"out": "=max(joints.slot.position)"}, {}, 1e-6)
    with pytest.raises(InputError, match='"stiffness" is neither a parameter nor a key'):
        fm.slopes(case, ["stiffness"])
    with pytest.raises(FlexmbsError, match='no "peak"'):
        fm.slopes(case, ["bodies.slider.mass"], collect=["peak"])
    with pytest.raises(UsageError, match='steps of "radau" cannot be repeated'):
        fm.slopes(case.with_values(**{"analysis.method": "radau"}), ["bodies.slider.mass"])
