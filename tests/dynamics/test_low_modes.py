"""Low modes beside very fast ones: a light shaft on two spans with two heavy discs (F38)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import prepare
from flexmbs.dynamics.analyses.linearize import DOUBTFUL, Rates, _modes, _unknown, linearize
from flexmbs.dynamics.analyses.pencil import as_it_stands
from flexmbs.dynamics.analyses.slopes import slopes

SPAN, DIAMETER, YOUNG = 1.0, 0.01, 2.1e11
BENDING = YOUNG * np.pi * DIAMETER**4 / 64
#: without mass of the shaft: each span turns freely at the middle, or is clamped there
LOWEST = 0.44436
MASS = 48 * BENDING / SPAN**3 / (2 * np.pi * LOWEST) ** 2
SECOND = np.sqrt(768 * BENDING / (7 * SPAN**3) / MASS) / (2 * np.pi)


def shaft(folder, density, **more):
    path = folder / "span.modal.h5"
    recipe = {
        "mesh": {"shape": "beam", "length": SPAN, "divisions": 20, "section": {"circle": DIAMETER}},
        "material": {"young": YOUNG, "poisson": 0.3, "density": density},
        "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}, "mid": {"node": 11}},
    }
    fm.reduce(recipe, modes=12, frame="tangent:left").save(path)
    span = {"type": "flexible", "modal": str(path)}
    disc = {"type": "rigid", "mass": MASS, "inertia": dict.fromkeys(["ixx", "iyy", "izz"], 1e-6 * MASS)}
    line = {"type": "in_line", "axis": [1, 0, 0]}
    return Case.from_dict(
        {
            "ground": {"frames": {"end": {"pos": [2 * SPAN, 0, 0]}, "middle": {"pos": [SPAN, 0, 0]}}},
            "bodies": {"a": span, "b": span, "disc_a": disc, "disc_b": disc},
            "joints": {
                "left": {"type": "universal", "axis": [1, 0, 0], "from": "ground", "to": "a.left"},
                "weld": {"type": "fixed", "from": "a.right", "to": "b.left"},
                "disc_a": {"type": "fixed", "from": "a.mid", "to": "disc_a"},
                "disc_b": {"type": "fixed", "from": "b.mid", "to": "disc_b"},
                "middle": line | {"from": "ground.middle", "to": "a.right"},
                "right": line | {"from": "ground.end", "to": "b.right"},
            },
            "analysis": {"type": "linearize"} | more,
        }
    )


@pytest.mark.parametrize("density", [1000.0, 10.0, 1.0])
def test_two_discs_swing_as_on_a_shaft_without_mass(tmp_path, density):
    """By 8, 80 and 250 kHz above; by accelerations the lowest was 0.911, 1.31, 1.36 Hz."""
    outputs = {"inputs": ["disc_a.force.y"], "outputs": ["disc_a.position.y"], "frequencies": [0.1]}
    result = fm.run(shaft(tmp_path, density, **outputs), tmp_path / "r.h5")
    found = np.array(result.linear.frequency_hz)
    np.testing.assert_allclose(found[:2], LOWEST, rtol=1e-4)  # 0.08 kg of shaft at most
    np.testing.assert_allclose(found[2:4], SECOND, rtol=1e-4)
    assert np.all(np.array(result.linear.frequency_error_hz)[:4] < 1e-6 * found[:4])
    # the two modes move the first disc by one half each
    w = 2 * np.pi * np.array([LOWEST, SECOND, 0.1])
    expected = 0.5 / MASS * (1 / (w[0] ** 2 - w[2] ** 2) + 1 / (w[1] ** 2 - w[2] ** 2))
    H = result["linear/response/H"].reshape(-1)
    assert H[0] == pytest.approx(expected, rel=1e-3)


def test_errors_of_frequencies_by_perturbation_hold_and_are_said(tmp_path):
    """By accelerations, as where friction depends on reactions: what is lost is known."""
    system = prepare(shaft(tmp_path, 1000.0))
    rates = Rates(system, system.initial_state())
    found = slopes(rates.at, rates.units)
    values, _, known = _modes(rates, as_it_stands(found.values, found.error, rates.units))
    exact = linearize(system, system.initial_state())
    for frequency in exact.frequency_hz[:6]:
        near = np.argmin(np.abs(np.abs(values) / (2 * np.pi) - frequency))
        assert np.abs(np.abs(values[near]) / (2 * np.pi) - frequency) <= known[near] / (2 * np.pi)
    assert known.max() > DOUBTFUL * np.abs(values[:4]).min()
    said = _unknown(np.array([1.0, 10.0, 1e6]), np.array([2.0, 1.0, 1.0]))
    assert [item.code for item in said] == ["linear.rounding"] and "of mode 2 may be off by" in said[0].what
