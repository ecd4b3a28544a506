"""Simulations that the caller steps, against runs of the whole time."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError, UsageError

ARM = {
    "bodies": {"arm": {"type": "rigid", "mass": 2.0, "com": [0.5, 0, 0],
                       "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}},
    "joints": {"pin": {"type": "revolute", "from": "ground", "to": "arm"}},
    "inputs": {"torque": {"unit": "N*m"}},
    "forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=inputs.torque"}},
    "sensors": {"tip": {"type": "position", "on": "arm", "at": [1, 0, 0]}},
    "analysis": {"t_end": 1.0, "rtol": 1e-10, "atol": 1e-12},
}  # fmt: skip


def test_inputs_are_held_over_a_step():
    """A unit torque on 0.6 kg m^2 for 0.3 s, then none: speed 0.5 rad/s, angle 0.075 rad and on."""
    sim = fm.simulation(Case.from_dict(ARM))
    for _ in range(3):
        sim.step(0.1, {"torque": 1.0})
    assert sim.t == pytest.approx(0.3) and sim["pin.velocity"] == pytest.approx(0.5, rel=1e-9)
    assert sim["pin.position"] == pytest.approx(0.075, rel=1e-9)
    assert sim["pin.acceleration"] == pytest.approx(1.0 / 0.6, rel=1e-9)
    sim.step(0.2, {"torque": 0.0})
    assert sim["pin.position"] == pytest.approx(0.175, rel=1e-9)
    np.testing.assert_allclose(sim["sensors.tip"], [np.cos(0.175), np.sin(0.175), 0.0], atol=1e-9)
    assert sim["sensors.tip.x"] == pytest.approx(np.cos(0.175), abs=1e-9)


def test_steps_end_where_the_run_ends(tmp_path):
    case = Case.from_dict(ARM | {"gravity": [0, -9.81, 0]})
    sim = fm.simulation(case)
    for _ in range(20):
        sim.step(0.05)
    whole = execute(case, tmp_path / "a.h5").result
    assert sim["pin.position"] == pytest.approx(float(np.asarray(whole.joints.pin.position)[-1, 0]), abs=1e-8)


def test_wrong_inputs_and_steps_are_named():
    sim = fm.simulation(Case.from_dict(ARM))
    with pytest.raises(InputError, match="torque"):
        sim.step(0.1, {"torqe": 1.0})
    with pytest.raises(UsageError, match="positive"):
        sim.step(0.0)
    with pytest.raises(InputError, match="pin"):
        sim["pin.positon"]


FALLING = ARM | {"gravity": [0, -9.81, 0], "metrics": {"lowest": "=min(tip.y)"}}
FOUR_BAR = Path(__file__).resolve().parents[1] / "cases" / "four-bars.toml"


def commanded(k: int) -> dict[str, float]:
    return {"torque": 3.0 * np.sin(0.3 * k)}


def test_own_states_without_rate_are_inputs_too():
    own = {name: table for name, table in ARM.items() if name != "inputs"}
    own |= {"states": {"torque": {"rate": 0.0}}}
    own |= {"forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=states.torque"}}}
    ours, theirs = (fm.simulation(Case.from_dict(data)) for data in (ARM, own))
    for k in range(5):
        for sim in (ours, theirs):
            sim.step(0.02, commanded(k))
    assert ours["pin.position"] == pytest.approx(theirs["pin.position"], rel=1e-12)


def test_inputs_have_units_and_defaults():
    """A damper with 90 deg/s as its set speed on 0.6 kg m^2: degrees outside are radians inside."""
    data = ARM | {
        "inputs": {"speed": {"unit": "deg/s", "default": 90}},
        "forces": {
            "brake": {"type": "joint_force", "joint": "pin", "value": "=0.6*(inputs.speed - pin.velocity)"}
        },
    }
    sim = fm.simulation(Case.from_dict(data))
    assert sim["inputs.speed"] == pytest.approx(np.pi / 2)
    sim.step(1.0)
    assert sim["pin.velocity"] == pytest.approx(np.pi / 2 * (1 - np.exp(-1.0)), rel=1e-8)
    sim.reset()
    sim.step(1.0, {"speed": 180.0})
    assert sim["pin.velocity"] == pytest.approx(np.pi * (1 - np.exp(-1.0)), rel=1e-8)


def test_a_run_holds_inputs_at_their_defaults(tmp_path):
    data = ARM | {"inputs": {"torque": {"default": "600 N*mm", "unit": "N*m"}}}
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    assert result.joints.pin.velocity[-1] == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_array_equal(result["inputs/torque"], 0.6)


@pytest.mark.parametrize(
    "table, words",
    [({"unit": "Nm"}, "Nm"), ({"unit": "N", "default": "3 mm"}, '"N"'), ({"units": "N"}, "unknown key")],
)
def test_wrong_inputs_of_a_case_are_named(table, words):
    with pytest.raises(InputError, match=words):
        Case.from_dict(ARM | {"inputs": {"torque": table}})


def test_an_input_that_switches_a_law_is_seen_at_once():
    """A brake of 1.2 N m that an input switches: no event is looked for where the input jumped."""
    law = "=where(inputs.torque > 0.5, 1.2, 0)"
    sim = fm.simulation(
        Case.from_dict(ARM | {"forces": {"m": {"type": "joint_force", "joint": "pin", "value": law}}})
    )
    for value in (0.0, 1.0, 0.0, 1.0):
        sim.step(0.1, {"torque": value})
    assert sim["pin.velocity"] == pytest.approx(0.4, rel=1e-9)


def stepped(sim, first, last):
    found = []
    for k in range(first, last):
        sim.step(0.01, commanded(k))
        found.append([sim["pin.position"], sim["pin.velocity"], sim["pin.acceleration"]])
    return found


@pytest.mark.parametrize("method", ["auto", "dopri5", "generalized-alpha", "radau"])
def test_a_snapshot_leads_to_the_same_bits(method):
    sim = fm.simulation(Case.from_dict(FALLING), **{"analysis.method": method, "analysis.rtol": 1e-6})
    begun = stepped(sim, 0, 3)
    there = sim.snapshot()
    there = type(there).from_bytes(there.to_bytes())
    ahead = stepped(sim, 3, 8)
    sim.restore(there)
    assert sim.t == pytest.approx(0.03) and sim["pin.position"] == begun[-1][0]
    assert stepped(sim, 3, 8) == ahead
    sim.reset()
    assert sim.t == 0.0 and stepped(sim, 0, 8) == begun + ahead
    other = fm.simulation(Case.from_dict(FALLING), **{"analysis.method": method, "analysis.rtol": 1e-6})
    other.restore(there)
    assert stepped(other, 3, 8) == ahead


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_steps_of_equal_size_are_those_of_the_run(method, tmp_path):
    """Four-bar linkage with fixed steps: pieces of a whole number of them change no bit of the positions."""
    case = Case.load(FOUR_BAR, **{"analysis.method": method, "analysis.step": 0.001, "analysis.t_end": 0.05})
    sim = fm.simulation(case)
    name = next(iter(case.model().joints))
    found = [sim[f"{name}.position"]]
    for _ in range(10):
        sim.step(0.005)
        found.append(sim[f"{name}.position"])
    whole = execute(case.with_values(**{"output.every": 0.005}), tmp_path / "a.h5").result
    np.testing.assert_allclose(found, np.asarray(whole.joints[name].position)[:, 0], rtol=0, atol=1e-13)


def test_what_is_recorded_is_a_result(tmp_path):
    sim = fm.simulation(Case.from_dict(FALLING))
    sim.record(tmp_path / "a.h5")
    told = stepped(sim, 0, 6)
    result = sim.finish()
    assert result.status == "complete" and len(result.time) == 7
    np.testing.assert_allclose(
        np.asarray(result.joints.pin.position)[1:, 0], [row[0] for row in told], rtol=1e-14
    )
    np.testing.assert_allclose(
        np.asarray(result.joints.pin.acceleration)[1:, 0], [row[2] for row in told], rtol=1e-14
    )
    np.testing.assert_allclose(
        result["inputs/torque"][1:], [commanded(k)["torque"] for k in range(6)], rtol=1e-14
    )
    assert result.metrics["lowest"] == pytest.approx(float(np.min(np.asarray(result["sensors/tip"])[:, 1])))
    assert "real-time factor" in str(result["summary/text"])
    sim.record()
    stepped(sim, 6, 8)
    assert len(sim.result().time) == 3


def test_a_recording_goes_back_with_the_simulation(tmp_path):
    sim = fm.simulation(Case.from_dict(FALLING))
    sim.record()
    stepped(sim, 0, 3)
    there = sim.snapshot()
    stepped(sim, 3, 6)
    sim.restore(there)
    stepped(sim, 3, 5)
    np.testing.assert_allclose(sim.finish().time, [0.0, 0.01, 0.02, 0.03, 0.04, 0.05], atol=1e-15)
    sim.record(tmp_path / "a.h5")
    before = sim.snapshot()
    stepped(sim, 5, 6)
    sim.result()
    with pytest.raises(UsageError, match="in the file already"):
        sim.restore(before)
    with pytest.raises(UsageError, match="under way"):
        sim.record()
    sim.finish()
    with pytest.raises(UsageError, match="nothing is recorded"):
        sim.result()


def test_pictures_while_stepping(tmp_path):
    pytest.importorskip("PIL")
    sim = fm.simulation(Case.from_dict(FALLING))
    before = sim.picture(tmp_path / "a.png").read_bytes()
    sim.step(0.2)
    assert before[:4] == b"\x89PNG" and sim.picture(tmp_path / "b.png").read_bytes() != before
    sim.record()
    sim.step(0.1)
    assert "<html" in sim.picture(tmp_path / "b.html").read_text("utf-8")


def test_snapshots_of_other_cases_and_inputs_without_value_are_refused():
    sim = fm.simulation(Case.from_dict(ARM))
    other = fm.simulation(Case.from_dict(ARM | {"states": {"s": {"rate": 1.0}}}))
    with pytest.raises(UsageError, match="none of this case"):
        sim.restore(other.snapshot())
    with pytest.raises(UsageError, match="give a number"):
        sim.step(0.1, {"torque": float("nan")})


FIXED = {"analysis.method": "rk4", "analysis.step": 1e-3}


def test_a_snapshot_leads_on_in_a_process_that_has_compiled_nothing(tmp_path):
    """All kernels are loaded there, and the first step of all goes on from a snapshot."""
    sim = fm.simulation(Case.from_dict(FALLING), **FIXED)
    stepped(sim, 0, 3)
    (tmp_path / "there").write_bytes(sim.snapshot().to_bytes())
    program = (
        "import sys; from pathlib import Path; import flexmbs as fm; from tests.test_stepping import *\n"
        "from flexmbs.simulate.stepping import Snapshot\n"
        "sim = fm.simulation(Case.from_dict(FALLING), **FIXED)\n"
        "sim.restore(Snapshot.from_bytes(Path(sys.argv[1]).read_bytes()))\n"
        "print(stepped(sim, 3, 5))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "there")], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(stepped(sim, 3, 5)), done.stderr[-500:]
