"""Kinematics that the projection of a step leaves is not found again by the rates of the same state (F44)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.generate import four_bars
from flexmbs.dynamics.evaluate import ANY, KEPT
from flexmbs.simulate.motion.equations import problem, state_vector


@pytest.fixture
def projected():
    """A driven four-bar, its state on the constraints, and the problem that has brought it there."""
    data = four_bars(1)
    name = next(iter(data["joints"]))
    data["joints"][name].pop("initial", None)
    data["drives"] = {"d": {"joint": name, "position": "= 1.5 + 0.3 * sin(5 * t)**2 + t"}}
    system = Case.from_dict(data).system()
    found, y = problem(system), state_vector(system, system.initial_state())
    y[: system.n_pos] += 1e-5
    assert found.project(found.data, 0.1, y, 0.0, 0.0, np.zeros(3)) == 0
    return system, found, y


def rates(found, t, y):
    y_dot = np.full_like(y, np.nan)
    assert found.rates(found.data, t, y, y_dot) == 0
    return y_dot


def test_rates_of_a_projected_state_are_those_of_one_that_was_never_seen(projected):
    system, found, y = projected
    assert found.data.ws.body.stands[0] == KEPT
    assert np.array_equal(rates(found, 0.1, y), rates(problem(system), 0.1, y), equal_nan=True)
    assert found.data.ws.body.stands[0] == ANY


@pytest.mark.parametrize("changed", ["nothing", "state", "time", "evaluation"])
def test_kinematics_is_taken_as_it_is_for_this_state_alone(projected, changed):
    system, found, y = projected
    t, z = 0.1 + (changed == "time") * 1e-9, y.copy()
    z[system.n_pos + 1] += (changed == "state") * 1e-9
    if changed == "evaluation":
        rates(found, 0.2, y)
    found.data.ws.marker.a[:] += 1.0  # what is found anew does not know it
    found.data.ws.body.a[:] += 1.0
    fresh = rates(problem(system), t, z.copy())
    assert np.array_equal(rates(found, t, z), fresh, equal_nan=True) == (changed != "nothing")
