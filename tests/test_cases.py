"""Every shipped case runs and meets its [expected] values."""

import shutil

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute, prepare, settings
from flexmbs.case.second_opinion import other_formulation, second_opinion
from flexmbs.errors import UsageError
from flexmbs.resources import resource
from flexmbs.verify.mechanisms import begin
from flexmbs.verify.settings import settings as tolerances

NAMES = sorted(path.name for path in resource("cases").glob("*.toml") if ".reduce." not in path.name)
#: cases that take longer than a second
SLOW = {
    "andrews-squeezer.toml",
    "four-bar-flexible.toml",
    "lower-arm.toml",
    "robot-arm.toml",
    "slider_crank.toml",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A copy of cases and meshes: recipes are reduced anew, and nothing is written into the tree."""
    root = tmp_path_factory.mktemp("shipped")
    for name in ("cases", "meshes"):
        shutil.copytree(resource(name), root / name, ignore=shutil.ignore_patterns("*.h5", "reference"))
    shutil.copy(resource(".flexmbs-root"), root)
    return root / "cases"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in NAMES]
)
def test_case_meets_its_expected_values(folder, tmp_path, name):
    run = execute(Case.load(folder / name), tmp_path / "result.h5")
    assert run.result.status == "complete"
    assert run.comparisons, "a shipped case has [expected] values"
    failed = [str(item) for item in run.comparisons if not item.passed]
    assert not failed, "\n".join(failed)
    assert np.max(run.result["solver/constraint_position"], initial=0.0) < 1e-10 * size_of(folder / name)


def size_of(path):
    """Length of a case's mechanism [m]."""
    return float(prepare(Case.load(path)).tables.length[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "generalized-alpha"])
def test_loops_are_closed_at_every_output_by_every_method(folder, tmp_path, method):
    """To 1e-10 of the size of the mechanism, at a tolerance that is far from it."""
    closed = 0
    for name in NAMES:
        asked, system = settings(Case.load(folder / name)), prepare(Case.load(folder / name))
        if asked.type == "dynamics" and asked.formulation == "recursive" and system.n_rows:
            values = {"analysis.method": method, "analysis.rtol": 1e-4, "analysis.atol": 1e-7}
            case = Case.load(folder / name, **values, **{"output.every": asked.t_end / 200})
            run = execute(case, tmp_path / "result.h5", overwrite=True)
            closure = np.max(run.result["solver/constraint_position"])
            assert closure < 1e-10 * float(system.tables.length[0]), name
            closed += 1
    assert closed >= 15


@pytest.mark.parametrize("name", NAMES)
def test_case_says_its_purpose_and_where_its_numbers_come_from(name):
    text = (resource("cases") / name).read_text()
    assert text.startswith("# Purpose: ")
    assert "Numbers: " in text


#: what a formulation does not offer, by case; every one is refused with an error that says what is
REFUSED = {
    "robot-arm.toml": "starts from equilibrium",
    "rotating-bar.toml": "statics",
    "rotating-bar-refined.toml": "statics",
    "rotating-beam.toml": "linearize",
    "rotating-blade.toml": "linearize",
    "satellite.toml": "linearize",
    "rssr.toml": "kinematics with an idle freedom",
}
#: long ones run up to here in a test of minutes, and as a whole in one of hours
BEGIN = {
    "double-pendulum.toml": 1.0,
    "flexible-pendulum.toml": 0.5,
    "flexible-pendulum-beam.toml": 0.5,
    "flexible-slider-crank.toml": 0.011,
    "flexible-slider-crank-linear.toml": 0.011,
    "four-bar-flexible.toml": 0.02,
    "slider_crank.toml": 0.01,
    "spatial-slider-crank.toml": 1.0,
    "spin-up.toml": 3.0,
    "spin-up-linear.toml": 5.0,
    "tumbling-box.toml": 0.3,
}


def in_formulation(name, formulation, folder):
    """The case at the tolerances of `verify`; method and step of the formulation."""
    case = Case.load(folder / name)
    words = {"formulation": formulation, "method": "auto", "step": "auto"}
    finer = tolerances(case.name, formulation, "auto", case.spec.analysis)
    return case.with_values(**finer, **{f"analysis.{key}": value for key, value in words.items()})


def check_expected(case, path):
    run = execute(case, path)
    failed = [str(item) for item in run.comparisons if not item.passed]
    assert run.comparisons and not failed, "\n".join(failed)


@pytest.mark.slow
@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
@pytest.mark.parametrize("name", NAMES)
def test_case_meets_its_expected_values_in_other_formulations(folder, tmp_path, name, formulation):
    """By one word; a case that is not offered is refused by name."""
    case = in_formulation(name, formulation, folder)
    if name in REFUSED:
        with pytest.raises(UsageError, match=formulation):
            execute(case, tmp_path / "result.h5")
        return
    check_expected(begin(case, BEGIN[name]) if name in BEGIN else case, tmp_path / "result.h5")


@pytest.mark.soak
@pytest.mark.parametrize("formulation", ["minimal", "descriptor"])
@pytest.mark.parametrize("name", BEGIN)
def test_long_cases_meet_all_their_expected_values_in_other_formulations(folder, tmp_path, name, formulation):
    check_expected(in_formulation(name, formulation, folder), tmp_path / "result.h5")


def check_opinions(case, path):
    """Positions, reactions and energies by the recursion and in dependent coordinates, as `run --verify`."""
    other = other_formulation(case)
    assert other == "descriptor"
    found = second_opinion(case, execute(case, path).result, other)
    assert {"positions", "rotations", "energies"} <= {item.kind for item in found}
    assert all(item.passed for item in found), "\n".join(str(item) for item in found)


#: loops, redundant ones, change points, couplings, drives and modes: those that take seconds
SAMPLED = (
    "parallelogram.toml", "slider-crank-equal-links.toml", "bennett.toml", "double-wishbone.toml",
    "cardan-driven.toml", "gear-pair.toml", "rotating-slot-spring.toml", "stephenson-sixbar.toml",
    "driven-base.toml", "falling-beam.toml", "falling-beam-at-rest.toml", "three-link-chain.toml",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLED)
def test_second_opinions_agree_on_cases(folder, tmp_path, name):
    check_opinions(Case.load(folder / name), tmp_path / "result.h5")


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(set(NAMES) - set(SAMPLED) - set(REFUSED)))
def test_second_opinions_agree_on_all_cases(folder, tmp_path, name):
    check_opinions(Case.load(folder / name), tmp_path / "result.h5")
