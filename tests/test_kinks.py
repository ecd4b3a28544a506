"""Constraints whose laws bend or jump: impacts with their energy, and laws that no motion can follow."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import SolverError
from flexmbs.expressions import switching_functions
from flexmbs.expressions.tree import periodic_spline, repeated, spline_through

METHODS = ["dopri5", "dop853", "generalized-alpha"]


def sliders(coupling=None, velocity=1.0, **more):
    """Two masses of 1 kg on parallel slides."""
    slide = {"type": "prismatic", "from": "ground", "axis": [1, 0, 0]}
    return {
        "bodies": {name: {"type": "rigid", "mass": 1.0} for name in "ab"},
        "joints": {
            "s": slide | {"to": "a", "initial": {"velocity": velocity}},
            "u": slide | {"to": "b"},
        },
        "couplings": {"c": coupling} if coupling else {},
        "analysis": {"t_end": 1.0, "rtol": 1e-8, "atol": 1e-10},
        "output": {"every": 0.1},
    } | more


def run(data, path, **analysis):
    return execute(Case.from_dict(data | {"analysis": data["analysis"] | analysis}), path).result


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["cam", "expression"])
def test_a_kink_of_a_coupling_is_an_impact_whose_loss_is_dissipated(tmp_path, kind, method):
    """u = max(0, s - 0.3) / 2: the momentum along (1, 1/2) is kept, 1 = (1 + 1/4) s_dot."""
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": "=0.5*max(0, x - 0.3)"}
    if kind == "expression":
        law = {"type": "expression", "zero": "=u.position - 0.5*max(0, s.position - 0.3)"}
    found = run(sliders(law), tmp_path / "a.h5", method=method)
    assert found.joints.s.velocity[-1, 0] == pytest.approx(0.8, abs=1e-9)
    assert found.joints.s.position[-1, 0] == pytest.approx(0.3 + 0.8 * 0.7, abs=1e-9)
    assert found.joints.u.velocity[-1, 0] == pytest.approx(0.4, abs=1e-9)
    assert found.energy.dissipated[-1] == pytest.approx(0.1, abs=1e-9)
    assert np.abs(found.energy.balance_error).max() < 1e-9
    assert found.events.kind == ["switch"] and found.events.time[0] == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_kink_of_a_drive_is_work(tmp_path, method):
    """As of a law that bends quickly: force times mean velocity, nothing is lost."""
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": "=max(0, t - 0.3)"}})
    del data["joints"]["s"]["initial"]
    found = run(data, tmp_path / "a.h5", method=method)
    assert found.energy.work[-1] == pytest.approx(0.5, abs=1e-9)
    assert found.energy.dissipated[-1] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(found.energy.balance_error).max() < 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jump", [0.1, -2.0])
def test_no_step_leads_over_a_law_that_jumps(tmp_path, jump, method):
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": f"=where(x < 0.3, 0, {jump})"}
    with pytest.raises(SolverError, match=r"t = 0\.3 s"):
        run(sliders(law), tmp_path / "a.h5", method=method)


@pytest.mark.parametrize("jump", [0.1, -2.0])
@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
def test_no_formulation_leads_over_a_law_that_jumps(tmp_path, jump, formulation):
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": f"=where(x < 0.3, 0, {jump})"}
    with pytest.raises(SolverError, match=r"jumps|open|close"):
        run(sliders(law), tmp_path / "a.h5", formulation=formulation)


@pytest.mark.parametrize("lift", ["where(x < 0.3, 0, 0.1)", "0.5*max(0, x - 0.3)"])
def test_a_law_that_jumps_is_warned_of_at_the_start(tmp_path, lift):
    data = sliders({"type": "cam", "cam": "s", "follower": "u", "lift": f"={lift}"})
    data["analysis"]["t_end"], said = 0.1, []
    execute(Case.from_dict(data), tmp_path / "a.h5", say=said.append)
    told = [text for text in said if "couplings.c: its law jumps by 0.1 at s = 0.3" in text]
    assert len(told) == ("where" in lift)


def test_a_periodic_profile_has_no_switch_at_its_end():
    x = np.linspace(0.0, 2.0 * np.pi, 37)
    assert switching_functions(repeated(periodic_spline(x, np.cos(x)), "lift")) == []
    assert len(switching_functions(repeated(spline_through(x, x), "saw"))) == 1
