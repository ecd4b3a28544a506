"""What a run knows of the limits of its model stands in events, message and status; far off it ends."""

import os
import tomllib

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import SolverError
from flexmbs.post.facts import energy_error
from flexmbs.post.record import Record
from flexmbs.simulate.summary import SLOPE_END, SLOPE_LIMIT, slopes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def bent(gravity, every=0.001, stiffened=True, **analysis):
    """A pendulum of a slender beam that falls under a gravity that may be too large."""
    cases = os.path.join(ROOT, "cases")
    with open(os.path.join(cases, "flexible-pendulum-beam.toml"), "rb") as file:
        data = tomllib.load(file)
    data["bodies"]["rod"] |= {"modes": 2, "geometric_stiffening": stiffened}
    data |= {"gravity": [0.0, -gravity, 0.0], "output": {"every": every}, "expected": {}}
    data["analysis"] = {"t_end": 0.1, "rtol": 1e-5, "atol": 1e-8} | analysis
    return Case.from_dict(data, folder=cases)


def test_rotations_beyond_linear_elasticity_are_an_event_and_a_message(tmp_path):
    case = bent(300.0)
    done = execute(case, tmp_path / "a.h5")
    found = slopes(case.system().model.bodies["rod"], np.asarray(done.result["bodies/rod/q"]))
    assert SLOPE_LIMIT < found.max() < SLOPE_END
    first = done.result.time[int(np.argmax(found > SLOPE_LIMIT))]
    k = list(done.result["events/kind"]).index("validity")
    assert done.result["events/time"][k] == first
    assert "bodies.rod: elastic rotations" in done.result["events/text"][k]
    assert "bodies.rod: elastic rotations" in done.result.attributes["message"]
    assert done.result.attributes["status"] == "complete"
    assert f"up to {found.max():.2f} rad" in "".join(done.summary.warnings)


def test_a_run_far_beyond_its_model_ends_there(tmp_path):
    with pytest.raises(SolverError, match=r"bodies.rod: elastic rotations of .* rad are far beyond") as error:
        execute(bent(1e5, stiffened=False, t_end=0.05), tmp_path / "a.h5")
    assert error.value.diagnostics[0].code == "solver.beyond_validity"
    result = fm.Result.load(tmp_path / "a.h5")
    assert result.attributes["status"] == "failed"
    assert "far beyond linear elasticity" in result.attributes["message"]
    found = slopes(case_body(), np.asarray(result["bodies/rod/q"]))
    assert found[-1] > SLOPE_END and np.all(found[:-1] <= SLOPE_END)


def case_body():
    return bent(1.0).system().model.bodies["rod"]


def test_summary_and_report_tell_the_same_energy_error(tmp_path):
    """A preload is no swing: an imbalance of its size is all there is."""
    spring = {"stiffness": 1e6, "free": -1.0}
    data = {
        "bodies": {"m": {"type": "rigid", "mass": 1.0}},
        "joints": {
            "x": {"type": "prismatic", "from": "ground", "to": "m", "axis": [1, 0, 0], "spring": spring,
                  "initial": {"position": -0.999}}
        },
        "analysis": {"t_end": 0.05, "method": "rk4", "step": 0.0005},
    }  # fmt: skip
    done = execute(Case.from_dict(data), tmp_path / "a.h5")
    share = done.summary.largest_balance_error / done.summary.largest_energy
    assert share == pytest.approx(energy_error(Record.load(tmp_path / "a.h5")), rel=1e-12)
    text = " ".join(done.summary.warnings)
    assert "energy balance is off" in text and "compare with a step of 0.00025 s" in text
    assert "do not trust" not in text


def test_shapes_in_rest_claim_no_energy_balance(tmp_path):
    t = np.linspace(0.0, 0.1, 21)
    table = np.column_stack([t, np.sin(20.0 * t)])
    np.savetxt(tmp_path / "motion.csv", table, delimiter=",", header="time,hinge", comments="")
    analysis = {"type": "inverse_dynamics", "elastic": "quasi-static", "motion": str(tmp_path / "motion.csv")}
    done = execute(bent(9.81, 0.01, **analysis), tmp_path / "a.h5")
    assert "energy" not in done.summary.text
    assert energy_error(Record.load(tmp_path / "a.h5")) is None
