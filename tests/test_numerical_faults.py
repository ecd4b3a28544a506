"""Numbers that go wrong on the way end a run with a name, and the last good state is kept.

Laws without a value and lock-ups are in `test_simulate.py` and `dynamics/test_awkward.py`; modal data that
are whole but of no body in `test_modaldata.py`.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case.case import Case
from flexmbs.errors import SolverError
from flexmbs.integrate.pace import Pace
from tests.test_simulate import four_bar, pendulum

METHODS = ["dopri5", "dop853", "generalized-alpha", pytest.param("radau", marks=pytest.mark.slow)]


def ended(tmp_path, data, **torques):
    """What a run with torques on joints says when it ends by itself, and what it keeps."""
    data["forces"] = {
        f"on_{joint}": {"type": "joint_force", "joint": joint, "value": law} for joint, law in torques.items()
    }
    with pytest.raises(SolverError) as error:
        fm.run(Case.from_dict(data), tmp_path / "a.h5")
    result = fm.Result.load(tmp_path / "a.h5")
    assert result.status == "failed"
    for body in data["bodies"]:
        for name in ("position", "velocity", "angular_velocity"):
            assert np.isfinite(result[f"bodies/{body}/{name}"]).all()
    assert np.abs(result["solver/constraint_position"]).max(initial=0.0) < 1e-6
    return error.value.diagnostics[0], result


def test_the_pace_of_a_run_is_looked_at_by_its_steps():
    pace = Pace(0.0, 10.0, window=100, most=1000.0)
    assert [pace.left(steps) for steps in (0, 99)] == [100, 1] and pace.lost(99, 1e-9) == ""
    assert pace.lost(100, 5.0) == "" and pace.left(100) == 100
    assert "the last 100 were 1.0e-05 s each" in pace.lost(200, 5.001)
    assert pace.lost(300, 9.99) == "" and pace.lost(400, 9.9999) == ""


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_a_motion_that_turns_ever_faster_is_ended(tmp_path, method):
    """The angle grows as 1 / (1 - t), and every turn takes steps: no number of them passes t = 1."""
    found, result = ended(tmp_path, pendulum({"t_end": 3.0, "method": method}), pin="=0.3/(1 - t)**3")
    assert "s each, too short to come to t = 3 s" in found.what and "joints.pin" in found.what
    assert found.where.startswith("t = 0.999") and result.time[-1] == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_steps_that_collapse_at_a_pole_name_what_runs_away(tmp_path, method):
    """The rate of the speed is its cube and more: both are infinite after a finite time."""
    data = pendulum({"t_end": 3.0, "method": method})
    del data["bodies"]["b"], data["joints"]["knee"]
    found, result = ended(tmp_path, data, pin="=pin.velocity**3 + 5")
    assert "fastest there is joints.pin" in found.what
    assert result.time[-1] == pytest.approx(1.58016, abs=2e-4)
    assert abs(result["joints/pin/velocity"][-1]) > 1e3


@pytest.mark.parametrize("method", METHODS)
def test_a_loop_that_is_torn_open_is_named(tmp_path, method):
    """Its fourth side grows beyond what the others reach."""
    data = four_bar({"t_end": 2.0, "method": method})
    data["ground"]["frames"]["right"] = {"pos": ["=1.5 + t", 0, 0]}
    found, result = ended(tmp_path, data)
    assert "joints." in found.what and "gap" in found.what
    assert 1.0 < result.time[-1] <= 1.5 + 1e-3
