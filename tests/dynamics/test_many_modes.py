"""A crank with a rod of many modes: fixed steps of the implicit method, and what stiffening can bear."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.runner import execute
from flexmbs.errors import SolverError
from flexmbs.simulate.diagnose import is_led, least_inertia
from tests.benchmarks import flexible
from tests.benchmarks.flexible import crank_case

FIXED = {"type": "dynamics", "method": "generalized-alpha", "step": 1e-4, "t_end": 0.02, "band": "all"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("modes")


def crank(folder, modes, frame, **analysis):
    data = crank_case(modes, folder, frame=frame)
    return Case.from_dict(data | {"analysis": FIXED | analysis, "output": {"every": 0.001}})


@pytest.mark.slow
@pytest.mark.parametrize("modes", [58, 128])
def test_high_modes_neither_stop_nor_slow_the_implicit_step(folder, tmp_path, modes):
    fewer = execute(crank(folder, 32, "mean-axis"), tmp_path / "fewer.h5").result
    done = execute(crank(folder, modes, "mean-axis"), tmp_path / "many.h5")
    statistics = done.summary.statistics
    assert statistics["rejected"] == 0 and statistics["evaluations"] < 3.0 * statistics["steps"]
    for joint in ("main", "bigend", "guide"):  # modes beyond 32 do 1.1e-6 here, those beyond ten 1.8e-4
        a, b = (np.asarray(r[f"joints/{joint}/position"]) for r in (fewer, done.result))
        np.testing.assert_allclose(a, b, rtol=0.0, atol=3e-6)
    assert done.summary.largest_balance_error < 1e-3 * done.summary.largest_energy
    assert not any("geometric stiffening" in text for text in done.summary.warnings)


@pytest.mark.slow
def test_frames_differ_by_less_than_small_deflections_leave(folder, tmp_path, monkeypatch):
    """As parts of what elasticity does to the angle at the crank pin; they fall with the deflection."""
    part = []
    for speed in (75.0, 37.5):
        monkeypatch.setattr(flexible, "SPEED", speed)
        found = []
        for frame in ("mean-axis", "tangent:left"):
            case = crank(folder, 10, frame, method="dopri5", step="auto", rtol=1e-9, atol=1e-12, t_end=0.005)
            result = execute(case, tmp_path / f"{speed}{len(found)}.h5").result
            found.append(
                [np.asarray(result[f"joints/{name}/position"]).ravel() for name in ("main", "bigend")]
            )
        (turn, pin), (_, other) = found
        rigid = -np.arcsin(flexible.RADIUS / flexible.LENGTH * np.sin(turn)) - turn
        part.append(np.abs(pin - other).max() / np.abs(pin - rigid).max())
    assert part[1] < 0.002 and part[1] < 0.4 * part[0]


def test_deflections_beyond_second_order_are_named(folder, tmp_path):
    """With many modes a tangent frame has no inertia of its own left, and that of second order shows."""
    with pytest.raises(SolverError, match=r"bodies.rod are too large for its geometric stiffening") as caught:
        execute(crank(folder, 58, "tangent:left"), tmp_path / "a.h5")
    assert "mean-axis" in str(caught.value)
    linear = crank_case(58, folder, frame="tangent:left")
    linear["bodies"]["rod"]["geometric_stiffening"] = False
    done = execute(Case.from_dict(linear | {"analysis": FIXED | {"t_end": 0.005}}), tmp_path / "b.h5")
    assert done.result.status == "complete"


@pytest.mark.parametrize(
    "modes, frame, warned",
    [(10, "tangent:left", False), (58, "tangent:left", True), (58, "mean-axis", False)],
)
def test_check_says_beforehand_that_a_frame_has_too_little_inertia(folder, modes, frame, warned):
    found = {item.code: item for item in check(crank(folder, modes, frame)).warnings}
    assert ("body.inertia" in found) == warned
    assert not warned or "mean-axis" in str(found["body.inertia"])


@pytest.mark.parametrize(
    "held, led", [("held", True), ("driven", True), ("hinged", False), ("by its end", False)]
)
def test_a_frame_that_drives_lead_needs_no_inertia_of_its_own(folder, held, led):
    data = crank_case(58, folder, frame="tangent:left")
    end = "right" if held == "by its end" else "left"
    kind = "fixed" if held in ("held", "by its end") else "revolute"
    data |= {
        "bodies": {"rod": data["bodies"]["rod"]},
        "joints": {"root": {"type": kind, "from": "ground", "to": f"rod.{end}"}},
        "drives": {"motor": {"joint": "root", "position": "=t"}} if held == "driven" else {},
        "forces": {},
    }
    system = Case.from_dict({key: data[key] for key in ("bodies", "joints", "drives", "forces")}).system()
    bent = np.zeros(system.integrals("rod").nf)
    bent[0] = 0.01
    assert is_led(system, "rod") == led
    assert (least_inertia(system, "rod", bent) == 1.0) == led
