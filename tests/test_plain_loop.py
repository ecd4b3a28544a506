"""Events, impacts, contacts and work of the compiled time loop against a plain loop in Python (F44)."""

import numpy as np
import pytest

from tests.plain_loop import PlainLoop, Row
from tests.test_kinks import run, sliders

WAYS = [
    {"method": "dop853"},
    {"method": "generalized-alpha", "rtol": 1e-9, "atol": 1e-12},
    pytest.param({"formulation": "minimal", "method": "dop853"}, marks=pytest.mark.slow),
    pytest.param({"formulation": "descriptor", "method": "dop853"}, marks=pytest.mark.slow),
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: " ".join(map(str, way.values())))
PULL = 9.81
LIFTS = {"left": "contact_lost", "landed": "contact_regained", "touched": "contact_touched"}


def same(found, plain, kinds, atol=1e-7, events=1e-7):
    """Events, the state at the end, and the books of both loops."""
    np.testing.assert_allclose(found["events/time"], [t for t, _ in plain.events], atol=events)
    assert list(found["events/kind"]) == [kinds[kind] for _, kind in plain.events]
    for k, name in enumerate("su"):
        assert found[f"joints/{name}/position"][-1, 0] == pytest.approx(plain.x[k], rel=1e-6, abs=atol)
        assert found[f"joints/{name}/velocity"][-1, 0] == pytest.approx(plain.v[k], abs=10.0 * atol)
    assert found["energy/dissipated"][-1] == pytest.approx(plain.dissipated, rel=1e-6, abs=atol)
    assert found["energy/work"][-1] == pytest.approx(plain.work, rel=1e-6, abs=atol)


def pressed(lift, **more):
    """A slider s that moves a follower u up against its weight."""
    data = sliders({"type": "cam", "cam": "s", "follower": "u", "lift": f"={lift}"} | more, velocity=2.0)
    data["joints"]["u"]["axis"] = [0, 1, 0]
    return data | {"gravity": [0, -PULL, 0]}


@every_way
def test_a_follower_that_lifts_off_and_lands_again(tmp_path, way):
    """Pushed over waves of 5 cm height: flights and inelastic impacts, one after another."""
    data = pressed("0.05*sin(12*x)", unilateral=True) | {"gravity": [8.0, -PULL, 0.0]}
    row = Row(lambda t, x, side: x[1] - 0.05 * np.sin(12.0 * x[0]), one_sided=True)
    start = [2.0, 1.2]
    data["joints"]["u"]["initial"] = {"velocity": start[1]}
    plain = PlainLoop(np.eye(2), lambda t, x, v: np.array([8.0, -PULL]), [row], [0.0, 0.0], start)
    plain.run(1.0, 1e-3)
    assert {kind for _, kind in plain.events} == {"left", "landed", "touched"} and len(plain.events) > 5
    found = run(data, tmp_path / "a.h5", **way)
    same(found, plain, LIFTS, atol=2e-6, events=1e-6)


@every_way
def test_a_motion_over_a_corner_under_its_weight(tmp_path, way):
    """Up a slope, over a corner, down and back over it."""
    data = pressed("where(x < 0.15, 0.3*x, 0.045 + 1.4*(x - 0.15))")

    def g(t, x, side):
        return x[1] - (0.3 * x[0] if side > 0.0 else 0.045 + 1.4 * (x[0] - 0.15))

    row = Row(g, kink=lambda t, x: 0.15 - x[0])
    data["joints"]["u"]["initial"] = {"velocity": 0.6}
    plain = PlainLoop(np.eye(2), lambda t, x, v: np.array([0.0, -PULL]), [row], [0.0, 0.0], [2.0, 0.6])
    plain.run(1.0, 1e-3)
    assert len(plain.events) == 2 and plain.dissipated > 0.05
    found = run(data, tmp_path / "a.h5", **way)
    same(found, plain, {"kink": "switch"}, atol=2e-6, events=1e-6)


@every_way
def test_the_work_of_a_drive_through_a_law(tmp_path, way):
    """u follows s^2 / 2, and s a sine: what the drive gives goes into both masses and a spring."""
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": "=0.5*x**2"}
    data = sliders(law, drives={"d": {"joint": "s", "position": "=0.4*sin(5*t)"}})
    del data["joints"]["s"]["initial"]
    data["joints"]["u"]["spring"] = {"stiffness": 30.0}
    rows = [
        Row(lambda t, x, side: x[0] - 0.4 * np.sin(5.0 * t)),
        Row(lambda t, x, side: x[1] - 0.5 * x[0] ** 2),
    ]
    plain = PlainLoop(np.eye(2), lambda t, x, v: np.array([0.0, -30.0 * x[1]]), rows, [0.0, 0.0], [2.0, 0.0])
    plain.run(1.0, 1e-3)
    assert abs(plain.work) > 0.1
    same(run(data, tmp_path / "a.h5", **way), plain, {})
