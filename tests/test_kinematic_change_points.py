"""Prescribed motion through, and out of, positions where constraints lose rank (F28, F35)."""

import math

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError, SolverError
from flexmbs.results import Result
from tests.dynamics.awkward import driven, four_bar, parallelogram, slider_crank, with_velocity


def prescribed(data, law, t_end, every=0.01, **analysis):
    """The mechanism with its crank driven, without gravity."""
    crank = "a" if "a" in data["joints"] else "main"
    data = driven(data | {"gravity": [0, 0, 0]}, "kinematics", **{crank: law})
    return data | {"analysis": data["analysis"] | {"t_end": t_end} | analysis, "output": {"every": every}}


def run(data, tmp_path, name="run"):
    return execute(Case.from_dict(data), tmp_path / f"{name}.h5").result


def changes(result):
    return [
        (float(t), str(text))
        for t, kind, text in zip(
            result["events/time"], result["events/kind"], result["events/text"], strict=True
        )
        if str(kind) == "change_point"
    ]


@pytest.mark.parametrize("every", [0.02, 0.4])
@pytest.mark.parametrize("bars", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_driven_parallelogram_records_both_change_points(bars, every, tmp_path):
    """Flat at angles 0 and -pi, whatever the samples; the crank keeps its fellows parallel."""
    data = with_velocity(parallelogram(1.0, bars), d=-4.0, b=4.0)
    result = run(prescribed(data, "=1 - 4*t", 1.2, every), tmp_path)
    found = changes(result)
    np.testing.assert_allclose([t for t, _ in found], [0.25, 0.25 * (1 + math.pi)], atol=1e-6)
    assert all("joints." in text and "lose rank" in text for _, text in found)
    np.testing.assert_allclose(result.joints["d"].position, result.joints["a"].position, atol=1e-9)
    np.testing.assert_allclose(result.joints["d"].velocity[:, 0], -4.0, atol=1e-8)


@pytest.mark.slow
def test_a_driven_kite_records_the_point_where_it_folds(tmp_path):
    """The far pin stays on the bisector of crank and base, while coupler and rocker fall together."""
    result = run(prescribed(four_bar(0.5, 0.8, 0.5 + 0.3, 0.5, 0.9), "=0.9 - 3*t", 0.6), tmp_path)
    assert [t for t, _ in changes(result)] == [pytest.approx(0.3, abs=1e-6)]
    half = 0.5 * (0.9 - 3.0 * np.asarray(result.time))
    side = math.copysign(1.0, math.cos(float(result.joints["d"].position[0, 0])))
    reach = 0.5 * np.cos(half) + side * np.sqrt(0.64 - 0.25 * np.sin(half) ** 2)
    pin = np.stack([reach * np.cos(half) - 0.5, reach * np.sin(half)], axis=1)
    angle = result.joints["d"].position[:, 0]
    np.testing.assert_allclose(0.8 * np.cos(angle), pin[:, 0], atol=1e-9)
    np.testing.assert_allclose(0.8 * np.sin(angle), pin[:, 1], atol=1e-9)


@pytest.mark.slow
def test_a_driven_slider_crank_of_equal_links_records_its_point(tmp_path):
    data = with_velocity(slider_crank(0.5, 0.5, 1.2), big=-4.0, small=2.0)
    result = run(prescribed(data, "=1.2 + 2*t", 0.5), tmp_path)
    assert [t for t, _ in changes(result)] == [pytest.approx((math.pi / 2 - 1.2) / 2, abs=1e-6)]


@pytest.mark.slow
def test_a_driven_mechanism_without_change_points_records_none(tmp_path):
    result = run(prescribed(four_bar(0.3, 0.8, 0.6, 0.7, 0.9), "=0.9 + 8*t", 1.6, 0.02), tmp_path)
    assert not changes(result)


@pytest.mark.parametrize("crossed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_prescribed_motion_leaves_a_change_point_on_the_branch_of_its_velocity(crossed, tmp_path):
    """Parallel, or crossed: then the tangents of half the crank angles keep their ratio."""
    ratio = (0.8 + 0.5) / (0.8 - 0.5)
    data = prescribed(parallelogram(0.0), "=0.6*t + 0.2*t**2", 0.5)
    given = {"d": -0.6 * ratio} if crossed else {"d": 0.6, "b": -0.6}
    if crossed:
        data["joints"]["b"]["initial"].pop("velocity", None)
    result = run(with_velocity(data, **given), tmp_path)
    t = np.asarray(result.time)
    a = 0.6 * t + 0.2 * t**2
    d = -2 * np.arctan(ratio * np.tan(a / 2)) if crossed else a
    np.testing.assert_allclose(result.joints["d"].position[:, 0], d, atol=1e-8)
    assert float(result.joints["d"].velocity[0, 0]) == pytest.approx(
        -0.6 * ratio if crossed else 0.6, rel=1e-8
    )
    slope = -0.4 * ratio if crossed else 0.4  # second derivative of d at a = 0 is that of a, times its slope
    assert float(result.joints["d"].acceleration[0, 0]) == pytest.approx(slope, rel=1e-6)


def test_prescribed_motion_from_a_change_point_asks_for_the_branch(tmp_path):
    data = prescribed(parallelogram(0.0), "=2*t", 0.5)
    data["joints"]["d"].pop("initial")
    with pytest.raises(SolverError, match="choose none; give initial velocities of joints"):
        run(data, tmp_path)


@pytest.mark.slow
def test_a_change_point_is_recorded_once_when_the_run_is_resumed_close_to_it(tmp_path):
    """Interrupted a little before, in, and behind it."""
    data = prescribed(with_velocity(parallelogram(1.0), d=-4.0, b=4.0), "=1 - 4*t", 0.5)
    data["output"]["checkpoint_every"] = 0.03
    for k, limit in enumerate((0.22, 0.25, 0.26, 0.31)):
        path = tmp_path / f"{k}.h5"

        def stop(t, limit=limit):
            if t > limit:
                raise KeyboardInterrupt

        with pytest.raises((KeyboardInterrupt, FlexmbsError)):
            execute(Case.from_dict(data), path, announce=stop)
        execute(Case.from_dict(data), path, resume=True)
        assert [t for t, _ in changes(Result.load(path))] == [pytest.approx(0.25, abs=1e-6)]
