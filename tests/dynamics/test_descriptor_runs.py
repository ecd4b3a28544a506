"""Runs of the descriptor form: same case file, same result (F33)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import UsageError
from flexmbs.resources import resource


def runs(name, tmp_path, **values):
    """Results of both formulations."""
    found = []
    for formulation in ("recursive", "descriptor"):
        case = Case.load(resource("cases") / name, **values, **{"analysis.formulation": formulation})
        found.append(execute(case, tmp_path / f"{formulation}.h5"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["double-wishbone.toml", "gear-pair.toml"])
def test_a_case_runs_by_one_word_and_meets_its_expected_values_F33(name, tmp_path):
    first, second = runs(name, tmp_path)
    assert second.result.status == "complete"
    assert [str(item) for item in second.comparisons if not item.passed] == []
    assert second.summary.statistics["largest_closure"] < 1e-11
    for body in first.result.bodies:
        for key in ("position", "velocity", "acceleration", "angular_acceleration"):
            a = np.asarray(getattr(first.result.bodies[body], key))
            b = np.asarray(getattr(second.result.bodies[body], key))
            np.testing.assert_allclose(b[-1], a[-1], rtol=0, atol=1e-4 * max(np.abs(a).max(), 1.0))


@pytest.mark.slow
def test_angles_go_on_past_half_a_turn_between_outputs(tmp_path):
    done = runs("pendulum.toml", tmp_path)[1]
    assert done.passed


def test_methods_that_are_not_offered_are_named(tmp_path):
    case = Case.load(
        resource("cases") / "pendulum.toml",
        **{"analysis.formulation": "descriptor", "analysis.method": "rk4"},
    )
    with pytest.raises(UsageError, match="dop853, radau"):
        execute(case, tmp_path / "a.h5")
    assert list(tmp_path.iterdir()) == []
