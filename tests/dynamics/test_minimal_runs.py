"""Runs in minimal coordinates: same case file, same motion, coordinates chosen anew on the way (F29-F31)."""

import tomllib
from types import SimpleNamespace

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.coordinates import Minimal, Split
from flexmbs.errors import FlexmbsError, UsageError
from flexmbs.resources import resource
from flexmbs.results import Result
from flexmbs.simulate.motion import independent
from flexmbs.simulate.motion.independent import Independent
from tests.dynamics.awkward import four_bar, with_velocity
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


class Frozen(Independent):
    """A run of which only the equations are asked."""

    def __init__(self, system, state, evaluator):
        self.system, self.evaluator = system, evaluator
        self.minimal, self.takes_reactions = Minimal(evaluator, state), False


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


def conditions_on_the_way(monkeypatch, case, path):
    """Events of a run, and after every step the condition of G_d and that at the choice of coordinates."""
    seen, ends = [], Independent.step_ends

    def watched(self, t, y):
        ends(self, t, y)
        state = self._state(t, y.copy())
        seen.append((t, self._condition(self.minimal, state, self.evaluator), self.condition))

    monkeypatch.setattr(Independent, "step_ends", watched)
    result = execute(case, path).result
    times = [float(t) for t, k in zip(result["events/time"], result["events/kind"], strict=True)
             if str(k) == "coordinates"]  # fmt: skip
    return result, times, np.array(seen)


@pytest.mark.slow
def test_coordinates_are_chosen_anew_before_they_degenerate_F31(monkeypatch, tmp_path):
    """A four-bar of which no bar can turn round, through the dead points of all, constants as shipped."""
    data = with_velocity(four_bar(0.5, 0.6, 0.7, 0.9, 1.0), a=6.0) | {"gravity": [0, -1.0, 0]}
    data["analysis"] |= {"t_end": 4.0, "rtol": 1e-8, "atol": 1e-10, "formulation": "minimal"}
    result, times, seen = conditions_on_the_way(monkeypatch, Case.from_dict(data), tmp_path / "a.h5")
    assert len(times) >= 2, "the motion needs a switch"
    # at every step what is left of the condition is a tenth of that at the choice, or could not be bettered
    assert (seen[:, 1] > independent.WORSE * seen[:, 2] / independent.BETTER).all()
    assert seen[:, 1].min() > 0.01  # the bound of docs/analyses.md
    swing = [np.ptp(result.joints[name].position[:, 0]) for name in ("a", "d")]
    assert min(swing) > 1.5 and max(swing) < 2 * np.pi
    known = execute(Case.from_dict(data | {"analysis": data["analysis"] | {"formulation": "recursive"}}),
                    tmp_path / "b.h5").result  # fmt: skip
    for name in ("a", "d"):
        np.testing.assert_allclose(result.joints[name].position, known.joints[name].position, atol=1e-4)
    monkeypatch.undo()
    monkeypatch.setattr(independent, "WORSE", 0.0)  # never: then the first dead point is the end
    with pytest.raises(FlexmbsError, match="cannot be closed|do not follow"):
        execute(Case.from_dict(data), tmp_path / "c.h5")
    assert times[0] < Result.load(tmp_path / "c.h5").time[-1] + 0.01 < times[1]


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
@pytest.mark.parametrize(
    ("joint", "law"),
    [
        ("distance", ""),
        ("parallel", 'zero = "=c.position - a.position - 1.3 - 0.3*sin(4*t)"'),
    ],
)
def test_what_lengths_and_laws_of_time_give_is_booked_as_work_F27(tmp_path, formulation, joint, law):
    end = f'type = "{joint}"' + ("" if law else '\nlength = "=0.1*(1 + 0.5*sin(4*t))"')
    text = FOUR_BAR.replace('type = "revolute"\nfrom = "rod.pin"', end + '\nfrom = "rod.pin"')
    text += f'\n[couplings.law]\ntype = "expression"\n{law}\n' if law else ""
    path = tmp_path / "bars.toml"
    text = text.replace("t_end = 1.2", "t_end = 0.3")
    path.write_text(text.replace("[analysis]", f'[analysis]\nformulation = "{formulation}"\nrtol = 1e-9'))
    result = execute(Case.load(path), tmp_path / "bars.h5").result
    assert np.abs(result["energy/work"]).max() > 3e-3
    assert np.abs(result["energy/balance_error"]).max() < 1e-6  # rtol, of 37 J


def test_a_loop_that_one_row_closes_can_lose_its_condition_F29():
    text = FOUR_BAR.replace(
        'type = "revolute"\nfrom = "rod.pin"', 'type = "distance"\nlength = 0.1\nfrom = "rod.pin"'
    )
    evaluator, state = moving_state(Case.from_dict(tomllib.loads(text)).system(), 1)
    ratios = []
    for angle in np.linspace(0.0, 2 * np.pi, 33):  # the rod turned round: the distance is across it twice
        state.pos[1] = angle
        slopes = evaluator.jacobian(state)[0]
        split = Split(np.array([0, 2]), np.array([1]), np.array([0]))
        found = Independent._condition(SimpleNamespace(split=split), state, evaluator)
        np.testing.assert_allclose(found, abs(slopes[1]) / np.linalg.norm(slopes), rtol=1e-12)
        ratios.append(found)
    assert min(ratios) < 0.1 < max(ratios)
