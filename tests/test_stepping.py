"""Simulations that the caller steps, against runs of the whole time."""

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
    "states": {"torque": {"rate": 0.0, "initial": 0.0}},
    "forces": {"motor": {"type": "joint_force", "joint": "pin", "value": "=states.torque"}},
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
