"""Fits and optima against closed forms."""

import json

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.cli.main import command
from flexmbs.errors import InputError

SWING = """
[parameters]
k = 80.0
c = 1.0
m = 2.0

[bodies.block]
type = "particle"
mass = "=m"

[joints.rail]
type = "prismatic"
from = "ground"
to = "block"
axis = [1, 0, 0]
initial = { position = 0.1, velocity = 0.0 }
spring = { stiffness = "=k" }
damper = { damping = "=c" }

[analysis]
t_end = 2.0
"""

THROW = """
gravity = [0, 0, -10]

[parameters]
speed = 10.0
angle = "30 deg"

[bodies.ball]
type = "particle"
mass = 1.0
initial = { velocity = ["=speed*cos(angle)", 0, "=speed*sin(angle)"] }

[analysis]
t_end = 3.0
until = "=-bodies.ball.position.z - 1e-9"

[metrics]
range = "=bodies.ball.position.x[-1]"
effort = "=energy.kinetic[0]"
"""


def free(t, k, c, m):
    """A swing from 0.1 at rest."""
    d = 0.5 * c / m
    w = np.sqrt(k / m - d * d)
    return 0.1 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))


TRUE = (120.0, 2.5, 2.0)
T = np.linspace(0.02, 1.98, 60)
NOISE = 1e-3 * np.random.default_rng(3).standard_normal(60)


@pytest.fixture
def swing(tmp_path):
    def make(fit, noise=0.0):
        rows = np.column_stack([T, free(T, *TRUE) + noise * NOISE])
        np.savetxt(tmp_path / "m.csv", rows, delimiter=",", header="time,x", comments="", fmt="%.17g")
        path = tmp_path / "fit.toml"
        path.write_text(
            f'{SWING}\n[fit]\nmeasured = "m.csv"\nchannels = {{ x = "joints.rail.position" }}\n{fit}'
        )
        return path

    return make


def test_a_fit_finds_what_made_the_measurements(swing):
    found = fm.fit(swing("parameters = { k = [10, 500], c = [0, 10] }"))
    assert found.converged and not found.weak and not found.at_bound
    assert abs(found.parameters["k"] - 120.0) < 1e-3 and abs(found.parameters["c"] - 2.5) < 1e-4
    assert found.rms["x"] < 1e-6 and found.runs < 20


def test_intervals_are_those_of_the_closed_form(swing):
    """Covariance sigma^2 (J^T J)^-1 with J by complex steps of the exact motion."""
    path = swing("parameters = { k = [10, 500], c = [0, 10] }\ndeviation = { x = 1e-3 }", noise=1.0)
    found = fm.fit(path)
    k, c = found.values
    w, d = 1e-30, 2.0
    J = np.column_stack([free(T, k + 1j * w, c, d).imag / w, free(T, k, c + 1j * w, d).imag / w])
    covariance = 1e-6 * np.linalg.inv(J.T @ J)
    np.testing.assert_allclose(found.deviations, np.sqrt(np.diag(covariance)), rtol=1e-4)
    np.testing.assert_allclose(found.high - found.values, 1.959964 * found.deviations, rtol=1e-6)
    exact = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert abs(found.correlation[0, 1] - exact) < 1e-4
    assert np.all(np.abs(found.values - TRUE[:2]) < 4.0 * found.deviations)
    gradient = J.T @ (free(T, k, c, d) - free(T, *TRUE) - NOISE)
    assert np.all(np.abs(gradient) < 1e-4 * np.linalg.norm(J, axis=0) * np.linalg.norm(NOISE))
    unknown = fm.fit(swing("parameters = { k = [10, 500], c = [0, 10] }", noise=1.0))
    rms = np.sqrt(np.sum((free(T, *unknown.values, d) - free(T, *TRUE) - NOISE) ** 2) / 58)
    np.testing.assert_allclose(unknown.deviations, rms / 1e-3 * found.deviations, rtol=1e-3)


def test_what_measurements_leave_open_is_said(swing):
    """A free swing knows k/m and c/m alone: all three may be scaled together."""
    found = fm.fit(swing("parameters = { k = [10, 500], c = [0, 10], m = [0.5, 10] }"))
    assert len(found.weak) == 1 and set(found.weak[0]) >= {"k", "m"}
    assert np.all(~np.isfinite(found.deviations) | (found.deviations > np.array([100.0, 2.0, 2.0])))
    assert abs(found.parameters["k"] / found.parameters["m"] - 60.0) < 1e-2
    assert "not determined by these measurements" in found.text


def test_a_parameter_at_the_end_of_its_range_is_said(swing):
    found = fm.fit(swing("parameters = { k = [10, 100], c = [0, 10] }"))
    assert found.at_bound == ["k"] and abs(found.parameters["k"] - 100.0) < 1e-6
    assert "at the end of its range" in found.text


def test_the_command_says_what_it_found(swing, capsys):
    path = swing("parameters = { k = [10, 500], c = [0, 10] }")
    assert command(["fit", str(path), "--json", "--quiet"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert abs(data["parameters"]["k"]["value"] - 120.0) < 1e-3 and data["converged"]


@pytest.mark.parametrize(
    ("fit", "text"),
    [
        ("parameters = { k = [500, 10] }", "lower bound first"),
        ("parameters = { q = [1, 2] }", 'no parameter "q"'),
        ("parameters = { k = [1, 2] }", "outside of its range"),
        ("parameters = { k = [10, 500] }\ndeviation = { y = 1 }", "deviation names other columns"),
    ],
)
def test_what_is_wrong_with_a_fit_is_said(swing, fit, text):
    with pytest.raises(InputError, match=text):
        fm.fit(swing(fit))


def test_wrong_measurements_are_said(swing, tmp_path):
    path = swing("parameters = { k = [10, 500] }")
    (tmp_path / "m.csv").write_text("time,y\n0.1,0\n0.2,0\n")
    with pytest.raises(InputError, match='no column "x"'):
        fm.fit(path)
    (tmp_path / "m.csv").write_text("time,x\n0.1,0\n3.0,0\n")
    with pytest.raises(InputError, match=r"times from 0\.1 to 3 s, the run from 0 to 2 s"):
        fm.fit(path)
    with pytest.raises(InputError, match=r"has no \[optimise\]"):
        fm.optimise(path)


@pytest.fixture
def throw(tmp_path):
    def make(text):
        path = tmp_path / "throw.toml"
        path.write_text(f"{THROW}\n[optimise]\n{text}\n")
        return path

    return make


@pytest.mark.parametrize("method", ["slsqp", "cobyqa", "nelder-mead"])
def test_the_widest_throw_is_at_45_degrees(throw, method):
    found = fm.optimise(
        throw(f'parameters = {{ angle = ["10 deg", "80 deg"] }}\nmaximise = "range"\nmethod = "{method}"')
    )
    assert found.converged and abs(np.rad2deg(found.parameters["angle"]) - 45.0) < 0.05
    assert abs(found.metrics["range"] - 10.0) < 1e-5 and abs(found.start["range"] - 8.660254) < 1e-5


@pytest.mark.parametrize("method", ["slsqp", pytest.param("cobyqa", marks=pytest.mark.slow)])
def test_limits_of_metrics_are_kept(throw, method):
    """Least effort for a range of 12: at 45 degrees with v^2 = 120."""
    found = fm.optimise(
        throw(
            'parameters = { angle = ["10 deg", "80 deg"], speed = [5, 20] }\nminimise = "effort"\n'
            f'limits = {{ range = {{ min = 12 }} }}\nmethod = "{method}"'
        )
    )
    assert not found.beyond and abs(found.metrics["effort"] - 60.0) < 0.01
    assert abs(found.parameters["speed"] - np.sqrt(120.0)) < 2e-3
    assert found.metrics["range"] > 12.0 * (1 - 1e-4)


@pytest.mark.slow
def test_a_global_search_finds_the_same(throw):
    text = 'parameters = { angle = ["10 deg", "80 deg"], speed = [5, 20] }\nminimise = "effort"\n'
    found = fm.optimise(
        throw(f'{text}limits = {{ range = [12, 100] }}\nmethod = "differential-evolution"\nruns = 300')
    )
    assert not found.beyond and abs(found.metrics["effort"] - 60.0) < 1.0


def test_runs_that_fail_are_passed_round(throw, monkeypatch):
    """A search goes on where a design cannot be run, and says how many."""
    from flexmbs.errors import Diagnostic, SolverError
    from flexmbs.study import search

    run = search.execute

    def sometimes(case, **options):
        if case.parameters["angle"] > np.deg2rad(60.0):
            raise SolverError(Diagnostic("x", "t = 0 s", "does not work"))
        return run(case, **options)

    monkeypatch.setattr(search, "execute", sometimes)
    found = fm.optimise(
        throw('parameters = { angle = ["10 deg", "80 deg"] }\nmaximise = "range"\nmethod = "cobyqa"')
    )
    assert abs(np.rad2deg(found.parameters["angle"]) - 45.0) < 0.05
    assert found.failed == 0 or "failed" in found.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('parameters = { angle = [0.2, 1] }\nminimise = "wide"', 'no metric "wide"'),
        ("parameters = { angle = [0.2, 1] }", "one of minimise and maximise"),
        ('parameters = { angle = [0.2, 1] }\nminimise = "range"\nlimits = { range = {} }', "a limit is"),
        (
            'parameters = { angle = [0.2, 1] }\nminimise = "range"\nlimits = { range = [1, 2] }'
            '\nmethod = "nelder-mead"',
            "knows no limits",
        ),
    ],
)
def test_what_is_wrong_with_an_optimisation_is_said(throw, text, said):
    with pytest.raises(InputError, match=said):
        fm.optimise(throw(text))
