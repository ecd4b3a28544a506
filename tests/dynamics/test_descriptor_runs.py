"""Runs of the descriptor form: same case file, same result (F33)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.descriptor.matrices import rate_matrices
from flexmbs.dynamics.descriptor.stiffness import jacobian
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import UsageError
from flexmbs.resources import resource
from flexmbs.simulate.motion.dependent import explicit_steps
from tests.dynamics.mechanisms import random_mechanism
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


def test_methods_that_are_not_offered_are_named(tmp_path):
    case = Case.load(
        resource("cases") / "pendulum.toml",
        **{"analysis.formulation": "descriptor", "analysis.method": "rk4"},
    )
    with pytest.raises(UsageError, match="dop853, radau"):
        execute(case, tmp_path / "a.h5")
    assert list(tmp_path.iterdir()) == []


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


def test_the_stiff_part_of_the_jacobian_is_that_of_the_rates_F32():
    """Of a state at rest without gravity nothing else is there: differences of the rates give all of it."""
    model = random_mechanism(5, n_bodies=3, flexible=1.0)
    model.gravity = np.zeros(3)
    for body in model.bodies.values():
        body.q, body.q_dot = 0.0 * np.asarray(body.q), 0.0 * np.asarray(body.q_dot)
    system = build(model, formulation="descriptor")
    state, form = system.initial_state(), Descriptor(system)
    state.vel[:] = 0.0
    found = jacobian(form, state)
    n, size, h = system.n_pos, system.n_pos + system.n_vel, 1e-6

    def rates(x):
        there = state.copy()
        there.pos[:], there.vel[:] = x[:n], x[n:]
        form.project(there, 1e-14)
        H = rate_matrices(there.pos[form.at.e_of])
        return np.concatenate([form.at.to_rates(there.vel, H), form.accelerations(there)])

    x = np.concatenate([state.pos, state.vel])
    known = np.array([(rates(x + h * e) - rates(x - h * e)) / (2 * h) for e in np.eye(size)]).T
    modes = np.concatenate([q for _, q, _ in form.at.modes] + [n + q for _, _, q in form.at.modes])
    scale = np.abs(known[:, modes]).max()
    np.testing.assert_allclose(found[:, modes], known[:, modes], rtol=0, atol=1e-4 * scale)


def test_stiff_modes_take_the_implicit_method():
    class Stiff:
        m_ff, K_ff = np.eye(2), np.diag([1.0, 1e14])

    class System:
        class numbers:
            integrals = [None, Stiff]

    assert explicit_steps(System, 1.0) == pytest.approx(1e7 / 5.0)
