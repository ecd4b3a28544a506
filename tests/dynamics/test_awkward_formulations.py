"""Change points and lock-ups in whole runs of every formulation (F28, F31, F33)."""

import copy
import math

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.errors import SolverError
from tests.dynamics.awkward import driven, four_bar, parallelogram, slider_crank, with_velocity
from tests.dynamics.test_awkward import PASSED, STUCK, energy_jump, run

pytestmark = pytest.mark.slow

OTHERS = [("minimal", {})] + [("descriptor", {"stabilisation": word}) for word in ("projection", "baumgarte")]
IDS = ["minimal", "projection", "baumgarte"]


def by(data, formulation, more):
    """The case in a formulation, at rtol 1e-9."""
    data = copy.deepcopy(data)
    data["analysis"] = data["analysis"] | {"formulation": formulation, "rtol": 1e-9, "atol": 1e-11, **more}
    return data


@pytest.mark.parametrize(("formulation", "more"), OTHERS, ids=IDS)
@pytest.mark.parametrize("name", PASSED)
def test_change_points_are_passed_and_recorded_in_every_formulation_F28(name, formulation, more, tmp_path):
    result = run(by(PASSED[name], formulation, more), tmp_path)
    assert energy_jump(result) < 1e-6
    assert [str(kind) for kind in result["events/kind"]].count("change_point") == 1
    assert "joints." in str(result["events/text"][0])
    first, second = ("a", "d") if "a" in result.joints else ("main", "big")
    a, b = (result.joints[k].position[:, 0] for k in (first, second))
    middle = 0.0 if first == "a" else math.pi / 2
    assert (a.min() - middle) * (a.max() - middle) < 0.0, "it has passed the change point"
    np.testing.assert_allclose(b, a if first == "a" else -2 * a, rtol=0, atol=1e-6)
    at = np.interp(result["events/time"][0], result.time, a)
    assert at == pytest.approx(middle, abs=2e-3)  # the point itself, between samples


@pytest.mark.parametrize(("formulation", "more"), OTHERS[:2], ids=IDS[:2])
def test_a_start_in_a_change_point_takes_its_branch_in_every_formulation_F28(formulation, more, tmp_path):
    """Equal speeds: a parallelogram; unequal ones: the crossed linkage; none: the question."""
    data = parallelogram(0.0) | {"gravity": [0, 0, 0]}
    data["analysis"]["t_end"] = 0.1
    with pytest.raises(SolverError, match=r"velocities of joints\.[abcd]\.angle, joints\.[abcd]\.angle, in"):
        run(by(data, formulation, more), tmp_path)
    result = run(by(with_velocity(copy.deepcopy(data), a=2.0, d=2.0, b=-2.0), formulation, more), tmp_path)
    np.testing.assert_allclose(result.joints["a"].position, result.joints["d"].position, atol=1e-8)
    assert result.joints["a"].position[-1, 0] == pytest.approx(0.2, rel=1e-6)
    ratio = (0.8 + 0.5) / (0.8 - 0.5)
    data["joints"]["b"]["initial"].pop("velocity", None)
    result = run(by(with_velocity(data, a=0.3, d=-0.3 * ratio), formulation, more), tmp_path)
    a, d = (np.tan(result.joints[name].position[1:, 0] / 2) for name in ("a", "d"))
    np.testing.assert_allclose(d / a, -ratio, rtol=1e-6)
    assert energy_jump(result) < 1e-6


#: motions that lock: case, time, joint
LOCKED = {
    "slider": (driven(slider_crank(), guide="=0.9 + 0.3*t"), 1 / 3, "joints.small"),
    "rocker": (driven(four_bar(0.6, 0.3, 0.5, 0.8, 0.9), a="=0.9 + 2*t"), 0.1432, "joints."),
}


#: methods of the recursion, of which some have nothing between outputs
RECURSIVE = [
    *({"method": word} for word in ("dopri5", "dop853", "generalized-alpha", "radau")),
    *({"method": word, "step": 2e-4} for word in ("rk4", "generalized-alpha")),
    *(pytest.param({"method": word}, marks=pytest.mark.needs("sksundae")) for word in ("cvode", "ida")),
]


@pytest.mark.parametrize("way", RECURSIVE, ids=str)
@pytest.mark.parametrize("name", LOCKED)
def test_lock_ups_keep_the_last_good_state_by_every_method_F28(name, way, tmp_path):
    test_lock_ups_keep_the_last_good_state_in_every_formulation_F28(name, "recursive", way, tmp_path)


@pytest.mark.parametrize(("formulation", "more"), [("recursive", {}), *OTHERS], ids=["recursive", *IDS])
@pytest.mark.parametrize("name", LOCKED)
def test_lock_ups_keep_the_last_good_state_in_every_formulation_F28(name, formulation, more, tmp_path):
    data, time, place = LOCKED[name]
    with pytest.raises(SolverError) as error:
        fm.run(Case.from_dict(by(data, formulation, more)), tmp_path / "r.h5")
    found = error.value.diagnostics[0]
    blind = 6e-4 if more.get("method") in ("cvode", "ida") else 2e-4  # with nothing between outputs
    assert float(found.where.removeprefix("t = ").removesuffix(" s")) == pytest.approx(time, abs=blind)
    assert place in found.what and "gap" in found.what
    kept = fm.Result.load(tmp_path / "r.h5")
    assert kept.status == "failed"
    assert kept.time[-1] == pytest.approx(time, abs=blind), "the state of the last step, between two outputs"
    assert kept.time[-1] > kept.time[-2]
    joint, law = ("guide", 0.9 + 0.3 * kept.time[-1]) if name == "slider" else ("a", 0.9 + 2 * kept.time[-1])
    assert kept.joints[joint].position[-1, 0] == pytest.approx(law, rel=1e-9)
    assert np.all(np.isfinite(kept["bodies/crank/position"]))
    assert np.abs(kept["solver/constraint_position"]).max() < 1e-6


@pytest.mark.parametrize(("formulation", "more"), OTHERS, ids=IDS)
def test_drives_that_contradict_each_other_never_run_on_F28(formulation, more, tmp_path):
    """Positions and speeds fit at the start, accelerations do not: no state follows."""
    data = STUCK["drives that part"][0]
    with pytest.raises(SolverError, match=r"contradict each other.*miss by .* at joints\.") as error:
        fm.run(Case.from_dict(by(data, formulation, more)), tmp_path / "r.h5")
    assert error.value.diagnostics[0].where == "t = 0 s"
