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


BEAM = {
    "L": 0.8,
    "rhoA": 7.85,
    "EI": 2.1e11 * 0.1 * 0.01**3 / 12,
}  # bends along y: z is a hundred times stiffer
RECIPE = """
{count}
material = {{ young = 2.1e11, poisson = 0.3, density = 7850 }}
stress = "none"
geometric_stiffness = false
fix = {{ x_min = "x y z rx ry rz" }}
[mesh]
shape = "beam"
length = 0.8
divisions = 60
section = {{ rectangle = [0.01, 0.1] }}
"""
#: roots of cos x cosh x = -1, and the numbers of their shapes
ROOTS = np.array(
    [1.875104068711961, 4.694091132974175, 7.854757438237613, 10.995540734875467, 14.13716839104647]
)
SIGMA = (np.sinh(ROOTS) - np.sin(ROOTS)) / (np.cosh(ROOTS) + np.cos(ROOTS))


def cantilever(folder, count, **tables):
    """A clamped beam whose basis is made from a recipe."""
    (folder / "beam.reduce.toml").write_text(RECIPE.format(count=count))
    data = {
        "bodies": {"beam": {"type": "flexible", "reduce": "beam.reduce.toml", "geometric_stiffening": False,
                            "frames": {"tip": {"at": [0.8, 0, 0]}}}},
        "sensors": {"tip": {"type": "displacement", "on": "beam.tip"}},
        **tables,
    }  # fmt: skip
    return Case.from_dict(data, folder=folder)


def tip_share(k):
    """Share of mode k in a tip deflection under a constant load per length: w = q L^4/EI sum of shares."""
    return 4.0 * SIGMA[k] * (-1.0) ** k / ROOTS[k] ** 5


# bending along y at 13, 82, 229, 449, 742 Hz, along z at 131 Hz, torsion at 196, 588 Hz
@pytest.mark.parametrize(("count", "gained"), [("modes = 2", [2, 3, 4]), ('fmax = "150 Hz"', [2])])
def test_a_larger_basis_from_the_recipe_estimates_the_error_in_statics(tmp_path, count, gained):
    """A beam under its weight sags by q L^4 / 8 E I; its recipe is reduced again with more modes."""
    fixed = {"weld": {"type": "fixed", "from": "ground", "to": "beam"}}
    case = cantilever(tmp_path, count, gravity=[0, -9.81, 0], joints=fixed, analysis={"type": "statics"})
    done = execute(case, tmp_path / "a.h5")
    (row,) = verify_solution(case, done)
    unit = 9.81 * BEAM["rhoA"] * BEAM["L"] ** 4 / BEAM["EI"]
    error = abs(-float(np.asarray(done.result["sensors/tip"])[-1, 1]) - unit / 8)
    assert error == pytest.approx(unit * abs(1 / 8 - tip_share(0) - tip_share(1)), rel=1e-2)
    assert row.refined == "beam" and math.isnan(row.order)
    assert row.error == pytest.approx(unit * sum(tip_share(k) for k in gained), rel=1e-2)
    assert error < row.error < 1.5 * error
    assert row.index == pytest.approx(3.0 * row.error / row.value)


def test_a_larger_basis_from_the_recipe_estimates_the_error_in_dynamics(tmp_path):
    """The base shakes along y: closed form of all modes against two, and against the estimate."""
    amplitude, drive = 1e-3, 200.0
    case = cantilever(
        tmp_path, "modes = 2",
        joints={"base": {"type": "prismatic", "from": "ground", "to": "beam", "axis": [0, 1, 0]}},
        drives={"shaker": {"joint": "base", "position": f"={amplitude}*sin({drive}*t)"}},
        analysis={"t_end": 0.1, "rtol": 1e-8, "atol": 1e-11}, output={"every": 1e-3},
    )  # fmt: skip
    done = execute(case, tmp_path / "a.h5")
    rows = {item.refined: item for item in verify_solution(case, done)}
    t = np.asarray(done.result["time"])
    omega = (ROOTS / BEAM["L"]) ** 2 * math.sqrt(BEAM["EI"] / BEAM["rhoA"])
    share = 4.0 * SIGMA * (-1.0) ** np.arange(5) / ROOTS  # of unit acceleration of the base, at the tip
    forced = amplitude * drive**2 * share / (omega**2 - drive**2)
    free = -forced * drive / omega  # the elastic part starts at rest
    exact = (np.outer(np.sin(drive * t), forced) + np.sin(np.outer(t, omega)) * free).sum(axis=1)
    error = np.abs(np.asarray(done.result["sensors/tip"])[:, 1] - exact).max()
    assert rows["beam"].error == pytest.approx(error, rel=0.5)
    assert rows["time"].error < 1e-2 * error


def test_a_basis_that_cannot_be_larger_is_named(tmp_path):
    case = Case.load(resource("cases/driven-base.toml"), **{"analysis.rtol": 1e-6})
    done, said = execute(case, tmp_path / "a.h5"), []
    assert {item.refined for item in verify_solution(case, done, say=said.append)} == {"time"}
    assert [text for text in said if "beam" in text] == [
        "the basis of beam stays as it is: its recipe gives the shapes themselves"
    ]


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
