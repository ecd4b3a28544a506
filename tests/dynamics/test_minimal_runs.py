"""Runs in minimal coordinates: same case file, same motion, coordinates chosen anew on the way (F29-F31)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal import Minimal
from flexmbs.errors import UsageError
from flexmbs.resources import resource
from flexmbs.simulate import independent
from flexmbs.simulate.independent import MinimalRun
from tests.dynamics.mechanisms import moving_state, random_mechanism

FOUR_BAR = """
format_version = 1
[bodies.crank]
type = "rigid"
mass = 5.0
com = [0.1, 0, 0]
inertia = { ixx = 1.0, iyy = 1.5, izz = 2.0 }
frames = { pin = { pos = [0.2, 0, 0] } }
[bodies.rod]
type = "rigid"
mass = 0.1
com = [0.25, 0, 0]
inertia = { ixx = 0.001, iyy = 0.001, izz = 0.001 }
frames = { pin = { pos = [0.5, 0, 0] } }
[bodies.rocker]
type = "rigid"
mass = 0.1
com = [0.2, 0, 0]
inertia = { ixx = 0.001, iyy = 0.001, izz = 0.001 }
frames = { pin = { pos = [0.4, 0, 0] } }
[ground.frames]
right = { pos = [0.5, 0, 0] }
[joints.a]
type = "revolute"
from = "ground"
to = "crank"
initial = { position = 0.5, velocity = 6.0, hold = true }
[joints.b]
type = "revolute"
from = "crank.pin"
to = "rod"
initial = { position = 0.5 }
[joints.c]
type = "revolute"
from = "ground.right"
to = "rocker"
initial = { position = 1.8 }
[joints.d]
type = "revolute"
from = "rod.pin"
to = "rocker.pin"
[analysis]
t_end = 1.2
[output]
every = 0.05
"""


class Frozen(MinimalRun):
    """A run of which only the equations are asked."""

    def __init__(self, system, state, evaluator):
        self.system, self.evaluator = system, evaluator
        self.minimal = Minimal(evaluator, state)


@pytest.mark.parametrize("seed", range(20))
def test_accelerations_are_those_of_the_recursion_F30(seed):
    system = build(random_mechanism(seed, n_loops=seed % 3, flexible=0.5 * (seed % 2)))
    evaluator, state = moving_state(system, seed + 1)
    known = evaluator.observe(state.copy())
    found = Frozen(system, state, evaluator).accelerations(state)
    np.testing.assert_allclose(found, known, rtol=0, atol=1e-9 * max(np.abs(known).max(), 1.0))


@pytest.mark.parametrize("eager", [False, True])
def test_a_turning_four_bar_moves_as_by_the_recursion_F31(tmp_path, monkeypatch, eager):
    if eager:  # coordinates are chosen anew at every chance
        monkeypatch.setattr(independent, "WORSE", np.inf)
        monkeypatch.setattr(independent, "BETTER", 0.0)
    path = tmp_path / "four-bar.toml"
    path.write_text(FOUR_BAR)
    first = execute(Case.load(path), tmp_path / "first.h5")
    case = Case.load(path, **{"analysis.formulation": "minimal", "analysis.rtol": 1e-9})
    second = execute(case, tmp_path / "second.h5")
    for joint in ("a", "b", "c"):
        a = np.asarray(first.result.joints[joint].position)
        b = np.asarray(second.result.joints[joint].position)
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-4)  # rtol of the first run
    assert second.summary.statistics["largest_closure"] < 1e-12
    assert np.asarray(second.result.joints["a"].position)[-1, 0] > 2.0 * np.pi  # through all positions
    kinds = list(second.result.events.kind)
    assert (kinds.count("coordinates") > 0) == eager


@pytest.mark.slow
def test_a_case_runs_by_one_word_and_meets_its_expected_values_F30(tmp_path):
    case = Case.load(resource("cases") / "double-wishbone.toml", **{"analysis.formulation": "minimal"})
    done = execute(case, tmp_path / "a.h5")
    assert [str(item) for item in done.comparisons if not item.passed] == []


def test_rows_of_rounding_are_not_taken_for_constraints_F29():
    system = build(Case.load(resource("cases") / "slider-crank.toml").model())
    split = Minimal(system.evaluator(), system.initial_state()).split
    assert (len(split.ind), len(split.dep), len(split.rows)) == (1, 2, 2)


@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
def test_kinematics_needs_all_freedoms_driven_F35(tmp_path, formulation):
    case = Case.load(resource("cases") / "rssr.toml", **{"analysis.formulation": formulation})
    with pytest.raises(UsageError, match="1 freedoms are not driven"):
        execute(case, tmp_path / "a.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
def test_driven_mechanisms_meet_their_expected_values_F35(tmp_path, formulation):
    case = Case.load(resource("cases") / "cardan-driven.toml", **{"analysis.formulation": formulation})
    done = execute(case, tmp_path / "a.h5")
    assert [str(item) for item in done.comparisons if not item.passed] == []
