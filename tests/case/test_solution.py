"""Estimated errors of a run against errors that are known (flexmbs run --verify-solution)."""

import json
import math
import os

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.case.solution import estimate, verify_solution
from flexmbs.cli.main import main
from flexmbs.errors import UsageError
from flexmbs.resources import resource

pytestmark = pytest.mark.slow

SWING = {
    "gravity": [0, -9.81, 0],
    "bodies": {"a": {"type": "rigid", "mass": 1.0, "com": [1, 0, 0],
                     "inertia": {"ixx": 0.0, "iyy": 0.0, "izz": 0.0}}},
    "joints": {"pin": {"type": "revolute", "from": "ground", "to": "a"}},
    "sensors": {"angle": {"type": "joint", "joint": "pin"}},
    "metrics": {"end": "=pin.position[-1]"},
    "output": {"every": 0.1},
}  # fmt: skip


def swing(**analysis):
    return Case.from_dict(SWING | {"analysis": {"t_end": 2.0, **analysis}})


def test_a_power_law_gives_its_order_error_and_limit():
    y = [np.array(3.0 + 0.1 * h**2) for h in (0.4, 0.2, 0.1)]
    found = estimate("metrics.x", "time", y, 2.0, 2.0)
    assert found.order == pytest.approx(2.0) and found.extrapolated == pytest.approx(3.0)
    assert found.error == pytest.approx(0.1 * 0.16)
    assert found.index == pytest.approx(1.25 * 0.016 / 3.016)
    # too steep to be trusted: the expected order counts, and the larger factor
    steep = estimate("metrics.x", "time", [np.array(v) for v in (1.0, 1.1, 1.1001)], 2.0, 2.0)
    assert steep.error == pytest.approx(0.1 * 4 / 3) and steep.index == pytest.approx(3.0 * steep.error)
    # and where nothing converges, the largest change is no less than the error
    wild = estimate("metrics.x", "time", [np.array(v) for v in (1.0, 1.1, 0.9)], 2.0, 2.0)
    assert math.isnan(wild.order) and wild.error == pytest.approx(0.1)


@pytest.mark.parametrize(("method", "step", "order"), [("generalized-alpha", 0.01, 2), ("rk4", 0.02, 4)])
def test_estimate_of_fixed_steps_is_the_error(tmp_path, method, step, order):
    truth = execute(swing(method="dop853", rtol=1e-12, atol=1e-14), tmp_path / "exact.h5").result
    exact = np.asarray(truth["sensors/angle"])
    case = swing(method=method, step=step)
    done = execute(case, tmp_path / "a.h5")
    found = {item.quantity: item for item in verify_solution(case, done)}
    error = np.abs(np.asarray(done.result["sensors/angle"]) - exact).max()
    assert found["sensors.angle"].error == pytest.approx(error, rel=0.1)
    assert found["sensors.angle"].order == pytest.approx(order, abs=0.3)
    end = found["metrics.end"]
    last = float(exact.ravel()[-1])
    assert abs(end.extrapolated - last) < 0.1 * abs(end.value - last)


def test_estimate_of_a_tolerance_is_no_less_than_a_third_of_the_error(tmp_path):
    truth = execute(swing(method="dop853", rtol=1e-12, atol=1e-14), tmp_path / "exact.h5").result
    case = swing(method="dopri5", rtol=1e-4, atol=1e-6)
    done = execute(case, tmp_path / "a.h5")
    found = {item.quantity: item for item in verify_solution(case, done)}["sensors.angle"]
    error = np.abs(np.asarray(done.result["sensors/angle"]) - np.asarray(truth["sensors/angle"])).max()
    assert 0.3 * error < found.error < 5.0 * error


def test_larger_basis_shows_what_the_modes_miss(tmp_path):
    """Two of three modes of a beam against all: the difference is the error, up to what three miss."""
    case = Case.load(resource("cases/flexible-pendulum.toml"), **{"analysis.rtol": 1e-6})
    done = execute(case, tmp_path / "a.h5")
    rows = verify_solution(case, done)
    assert {item.refined for item in rows} == {"time", "rod"}
    assert all(item.error > 0.0 and math.isnan(item.order) for item in rows if item.refined == "rod")


def test_the_command_prints_a_table_and_json(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = os.linesep.join([
        "gravity = [0, -9.81, 0]", "[bodies.a]", 'type = "rigid"', "mass = 1", "com = [1, 0, 0]",
        "inertia = { ixx = 0.1, iyy = 0.1, izz = 0.1 }", "[joints.pin]", 'type = "revolute"',
        'from = "ground"', 'to = "a"', "[analysis]", "t_end = 0.5", "[output]", "every = 0.1",
    ])  # fmt: skip
    (tmp_path / "swing.toml").write_text("format_version = 1\n" + text)
    assert main(["run", "swing.toml", "--verify-solution", "--quiet"]) == 0
    assert "joints.pin.position" in capsys.readouterr().out
    assert main(["run", "swing.toml", "--verify-solution", "--overwrite", "--json", "--quiet"]) == 0
    rows = json.loads(capsys.readouterr().out)["solution"]
    assert rows[0]["quantity"] == "joints.pin.position" and rows[0]["error"] < 1e-4


def test_what_cannot_be_refined_says_so(tmp_path):
    case = swing(type="assembly")
    done = execute(case, tmp_path / "a.h5")
    with pytest.raises(UsageError, match="no step to refine"):
        verify_solution(case, done)
