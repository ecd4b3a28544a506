"""`flexmbs run --verify`: two formulations, one answer."""

import json

import numpy as np
import pytest

from flexmbs.case import Case, second_opinion
from flexmbs.cli.main import main
from flexmbs.resources import resource

BAR = """
format_version = 1
gravity = [0.0, -9.81, 0.0]
[bodies.bar]
type = "rigid"
mass = 2.0
com = [0.5, 0.0, 0.0]
inertia = { ixx = 0.01, iyy = 0.2, izz = 0.2 }
[joints.pin]
type = "revolute"
from = "ground"
to = "bar"
[analysis]
t_end = 0.05
[output]
every = 0.01
"""


@pytest.fixture
def bar(tmp_path):
    path = tmp_path / "bar.toml"
    path.write_text(BAR)
    return path


def verify(path, tmp_path, capsys, *options):
    code = main(["run", str(path), "--verify", "--quiet", "--json", "-o", str(tmp_path / "a.h5"), *options])
    return code, capsys.readouterr()


@pytest.mark.parametrize("formulation", ["recursive", "descriptor"])
def test_formulations_agree_without_expected_values(bar, tmp_path, capsys, formulation):
    code, out = verify(bar, tmp_path, capsys, "--set", f"analysis.formulation={formulation}")
    verified = {item["kind"]: item for item in json.loads(out.out)["verified"]}
    assert code == 0
    assert {"positions", "rotations", "reaction forces", "reaction moments", "energies"} <= set(verified)
    assert all(item["passed"] for item in verified.values())
    assert verified["reaction forces"]["difference"] < 1e-5 * verified["reaction forces"]["size"]


def test_difference_beyond_tolerance_is_exit_6(bar, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(second_opinion, "FACTOR", 0.0)
    monkeypatch.setattr(second_opinion, "FLOOR", 0.0)
    code, out = verify(bar, tmp_path, capsys)
    assert code == 6
    assert not all(item["passed"] for item in json.loads(out.out)["verified"])


def test_wrong_reactions_of_a_planar_loop_are_seen(tmp_path, monkeypatch):
    """Its reactions are shared over redundant rows: by one rule, so that they can be compared."""
    path = str(resource("cases", "slider-crank-driven.toml"))
    case = Case.load(path, **{"analysis.t_end": 0.01, "output.every": 0.001})
    done = second_opinion.execute(case, tmp_path / "a.h5")
    right = second_opinion.second_opinion(case, done.result, "descriptor")
    kinds = {item.kind: item for item in right}
    assert "reaction forces" not in kinds and all(item.passed for item in right)

    def heavier(case, *args, execute=second_opinion.execute, **options):
        return execute(case.with_values(**{"bodies.rod.mass": 0.81}), *args, **options)

    monkeypatch.setattr(second_opinion, "execute", heavier)
    wrong = second_opinion.second_opinion(case, done.result, "descriptor")
    failed = {item.kind for item in wrong if not item.passed}
    assert {"shared reaction forces", "efforts"} <= failed
    assert "positions" not in failed


def test_analysis_without_second_formulation_needs_expected_values(bar, tmp_path, capsys):
    code, out = verify(bar, tmp_path, capsys, "--set", "analysis.type=statics")
    assert code == 2
    assert "no second formulation" in out.err + out.out


def test_signs_of_quaternions_do_not_count():
    a = {"x/quaternion": np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 0]])}
    b = {"x/quaternion": np.array([[-1.0, 0, 0, 0], [0, 1.0, 0, 1e-3]])}
    found = second_opinion._worst("rotations", a, b, ["x/quaternion"], 2, np.array([0.0, 1.0]), 1.0, 1e-6)
    assert found.difference == pytest.approx(1e-3)
    assert found.time == 1.0
    assert not found.passed


def test_cases_that_have_a_second_formulation():
    def other(name, **values):
        return second_opinion.other_formulation(Case.load(resource("cases") / name, **values))

    assert other("double-wishbone.toml") == "descriptor"
    assert other("double-wishbone.toml", **{"analysis.formulation": "descriptor"}) == "recursive"
    assert other("double-wishbone.toml", **{"analysis.start": "equilibrium"}) is None
    assert other("slider-crank-driven.toml") == "descriptor"
    assert other("rssr.toml") is None  # a rod that may spin between its balls
    assert other("slider-crank-driven.toml", **{"analysis.type": "statics"}) is None
