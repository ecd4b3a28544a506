"""Runs of the descriptor form: same case file, same result (F33)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.minimal.forces import shifted
from flexmbs.errors import UsageError
from flexmbs.model.state import State
from flexmbs.resources import resource
from flexmbs.simulate.motion.equations import problem, state_vector
from flexmbs.simulate.motion.forms import explicit_steps
from flexmbs.simulate.motion.formulation import Formulation
from tests.dynamics.mechanisms import moving_state, random_mechanism
from tests.dynamics.test_minimal_runs import FOUR_BAR


def runs(name, tmp_path, **values):
    """Results of both formulations."""
    found = []
    for formulation in ("recursive", "descriptor"):
        case = Case.load(resource("cases") / name, **values, **{"analysis.formulation": formulation})
        found.append(execute(case, tmp_path / f"{formulation}.h5"))
    return found


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
    """At a hundredth of the tolerance of the case: these are the errors of other coordinates."""
    done = runs("pendulum.toml", tmp_path, **{"analysis.rtol": 1e-12, "analysis.atol": 1e-14})[1]
    assert done.passed


@pytest.mark.parametrize("formulation", ["descriptor", "minimal"])
@pytest.mark.parametrize(
    "way", [{"method": "generalized-alpha"}, {"method": "rk4", "step": 2e-3}, {"method": "dopri5"}], ids=str
)
def test_every_method_takes_the_motion_of_the_recursion(four_bar, way, formulation, tmp_path):
    """Same loop: minimal coordinates take the very steps of the recursion."""
    found = {}
    for word in ("recursive", formulation):
        values = {"formulation": word, "t_end": 0.2, "rtol": 1e-7} | way
        case = Case.load(four_bar, **{f"analysis.{key}": value for key, value in values.items()})
        found[word] = execute(case, tmp_path / f"{word}.h5")
    a, b = (found[word].result.joints["a"].position for word in ("recursive", formulation))
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-6)
    if formulation == "minimal" and way["method"] == "generalized-alpha":
        steps = [found[word].summary.statistics["steps"] for word in ("recursive", formulation)]
        assert steps[0] == steps[1]
        errors = [np.abs(found[word].result["energy/balance_error"]).max() for word in found]
        assert errors[1] == pytest.approx(errors[0], rel=0.05, abs=1e-9)


@pytest.fixture
def four_bar(tmp_path):
    path = tmp_path / "four-bar.toml"
    path.write_text(FOUR_BAR)
    return path


def run_stabilised(path, word, out, **values):
    settings = {"formulation": "descriptor", "stabilisation": word, "rtol": 1e-8, "t_end": 0.2} | values
    case = Case.load(path, **{f"analysis.{key}": value for key, value in settings.items()})
    out.mkdir(exist_ok=True)
    return execute(case, out / f"{word}.h5")


def test_drift_is_held_in_both_ways_with_one_motion_F33(four_bar, tmp_path):
    done = {word: run_stabilised(four_bar, word, tmp_path) for word in ("projection", "baumgarte")}
    known = np.asarray(done["projection"].result.joints["a"].position)
    for run in done.values():
        found = np.asarray(run.result.joints["a"].position)
        np.testing.assert_allclose(found, known, rtol=0, atol=1e-6)  # rtol of the runs
    left = {word: run.summary.statistics["largest_closure"] for word, run in done.items()}
    assert left["projection"] < 1e-12
    coarse = run_stabilised(four_bar, "baumgarte", tmp_path / "coarse", rtol=1e-3, atol=1e-6)
    assert 1e-12 < coarse.summary.statistics["largest_closure"] < 1e-3  # what the terms leave


def test_stabilisation_belongs_to_the_descriptor_form(four_bar, tmp_path):
    with pytest.raises(UsageError, match='belongs to formulation = "descriptor"'):
        run_stabilised(four_bar, "baumgarte", tmp_path, formulation="minimal")


@pytest.mark.parametrize("formulation", ["descriptor", "minimal"])
@pytest.mark.parametrize("flexible", [0.0, 1.0])
def test_a_pass_of_the_implicit_step_is_that_of_the_recursion_F43(formulation, flexible):
    """Modes taken implicitly, loops on position level: the same new accelerations from the same old ones."""
    model = random_mechanism(5, n_bodies=3, n_loops=1, flexible=flexible)
    system = build(model, formulation="descriptor" if formulation == "descriptor" else "recursive")
    evaluator, state = moving_state(system, 3)
    known, bh, gh = problem(system), 1e-4, 1e-2
    n, m = system.n_pos, system.n_vel
    y, a = state_vector(system, state), np.random.default_rng(1).standard_normal(m)
    known.rates(known.data, 0.0, y, np.zeros_like(y))
    y[n : n + m] += 1e-3 * a
    known.increment(known.data, y.copy(), 1e-6 * a, y)
    wanted, aux_dot = np.zeros(m), np.zeros(known.n_aux)
    assert known.shifted(known.data, 0.0, y, a.copy(), bh, gh, wanted, aux_dot) == 0
    there = State(0.0, y[:n].copy(), y[n : n + m].copy(), state.aux, state.turns)
    if formulation == "descriptor":
        found = Descriptor(system, evaluator).shifted(there, a.copy(), bh, gh)
    else:
        found = shifted(Minimal(evaluator, there), there, a.copy(), bh, gh)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


def test_stiff_modes_take_the_implicit_method():
    class Stiff:
        m_ff, K_ff = np.eye(2), np.diag([1.0, 1e14])

    class System:
        class numbers:
            integrals = [None, Stiff]

    assert explicit_steps(System, 1.0) == pytest.approx(1e7 / 5.0)


def test_a_chain_without_loops_looks_for_no_change_points(monkeypatch, tmp_path):
    """They cannot be there, and were looked for between the stages of every step all the same."""
    asked, rates = [], Formulation.rates
    monkeypatch.setattr(Formulation, "rates", lambda self, t, *rest: (asked.append(t), rates(self, t, *rest)))
    overrides = {"analysis.formulation": "minimal", "analysis.t_end": 0.5}
    case = Case.load(resource("cases") / "double-pendulum.toml", **overrides)
    case.spec.expected.clear()
    counted = execute(case, tmp_path / "a.h5").summary.statistics
    assert len(asked) <= counted["evaluations"] + counted["sampling"] + 3 * counted["steps"]
