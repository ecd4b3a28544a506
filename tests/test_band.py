"""Modes above the band of interest follow their loads without vibrating, a little late (F14a)."""

import re
from dataclasses import replace

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.check import check, text
from flexmbs.case.runner import execute
from flexmbs.errors import InputError
from flexmbs.model.band import LAG, bands, told
from flexmbs.simulate import cost

METHODS = ["generalized-alpha", "dop853", "radau"]
FORCE, LOAD = 40.0, 5.0  # Hz, N
BAR = {
    "material": "steel",
    "mesh": {"shape": "beam", "length": 1.0, "divisions": 10, "section": {"rectangle": [0.02, 0.02]}},
    "interfaces": {"root": {"set": "start"}, "tip": {"set": "end"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A clamped bar with modes from 17 Hz to some kHz."""
    path = tmp_path_factory.mktemp("bar")
    fm.reduce(BAR | {"modes": 6, "frame": "tangent:root"}).save(path / "bar.modal.h5")
    return path


def clamped(folder, band="all", force=None, **analysis):
    """The bar under a force on its tip, by default one that begins at zero and swings slowly."""
    omega = 2.0 * np.pi * FORCE
    data = {
        "bodies": {"bar": {"type": "flexible", "modal": "bar.modal.h5"}},
        "joints": {"wall": {"type": "fixed", "from": "ground", "to": "bar.root"}},
        "forces": {
            "f": {"type": "point", "on": "bar.tip", "force": [0, force or f"={LOAD}*sin({omega}*t)", 0]}
        },
        "analysis": {"t_end": 0.1, "band": band, "rtol": 1e-7, "atol": 1e-11} | analysis,
        "output": {"every": 0.0005},
    }
    return Case.from_dict(data, folder=folder)


@pytest.mark.parametrize("method", METHODS)
def test_modes_above_the_band_are_damped_springs_without_vibrations(folder, method, tmp_path):
    """q'' + LAG / w_band w^2 q' + w^2 q = load, the exact answer of each mode; the ones below swing on."""
    case = clamped(folder, "200 Hz", method=method)
    result = execute(case, tmp_path / "a.h5").result
    body = case.system().model.bodies["bar"]
    omega = 2.0 * np.pi * body.modal.frequency_hz
    w, t, q = 2.0 * np.pi * FORCE, result.time, np.asarray(result["bodies/bar/q"])
    load = LOAD * body.modal.interfaces["tip"].Phi[1]
    high = body.modal.frequency_hz > 200.0
    assert 0 < high.sum() < len(high)
    beta = np.where(high, LAG / (2.0 * np.pi * 200.0), 0.0)
    steady = load / (omega**2 - w**2 + 1j * w * beta * omega**2)
    late = (steady * np.exp(1j * w * t[:, None])).imag
    size = np.abs(steady)
    settled = t > 0.05  # those above, which began with a kink
    bends = high & (size > 1e-3 * size.max())
    np.testing.assert_allclose(q[settled][:, bends], late[settled][:, bends], atol=2e-3 * size[bends].max())
    # below the band nothing is damped: its own vibration from the kink stays, as in closed form
    first = int(np.argmax(np.where(high, 0.0, size)))
    free = size[first] * w / omega[first]
    exact = size[first] * np.sign(steady[first].real) * (
        np.sin(w * t) - w / omega[first] * np.sin(omega[first] * t)
    )  # fmt: skip
    assert free > 0.01 * size[first]
    np.testing.assert_allclose(q[:, first], exact, atol=2e-3 * size[first])


def test_steps_are_those_of_the_band_not_of_the_highest_mode(folder, tmp_path):
    """A load that is suddenly there strikes all modes."""

    def steps(band):
        case = clamped(folder, band, force=LOAD, method="generalized-alpha", rtol=1e-5)
        done = execute(case, tmp_path / f"{band[:3]}.h5")
        return done.summary.statistics["steps"], np.asarray(done.result["bodies/bar/q"]) @ tip

    tip = clamped(folder).system().model.bodies["bar"].modal.interfaces["tip"].Phi[1]
    (few, bent), (many, whole) = steps("200 Hz"), steps("all")
    assert few < 0.5 * many
    assert np.abs(bent - whole).max() < 2e-2 * np.abs(whole).max()


def test_what_the_band_leaves_out_is_said_with_its_error(folder, tmp_path):
    """The error foretold is that of the tip under a force in the middle of the band."""
    case = clamped(folder, "200 Hz")
    (left,) = bands(case.system().model.bodies)
    assert left.text() in text(check(case)) and left.text() in execute(case, tmp_path / "a.h5").summary.text
    modal = case.system().model.bodies["bar"].modal
    omega, Phi, w = 2.0 * np.pi * modal.frequency_hz, modal.interfaces["tip"].Phi, 2.0 * np.pi * 100.0
    extra = np.where(modal.frequency_hz > 200.0, LAG / (2.0 * np.pi * 200.0) * omega**2, 0.0)
    change = (Phi * (1.0 / (omega**2 - w**2 + 1j * w * extra) - 1.0 / (omega**2 - w**2))) @ Phi.T
    wrong = np.linalg.norm(change, 2) / np.linalg.norm((Phi / omega**2) @ Phi.T, 2)
    assert left.late == pytest.approx(wrong, rel=0.2) and 0.0 < left.late < 0.1
    assert bands(clamped(folder).system().model.bodies) == []


RECIPES = {
    "half of a limit": ({"fmax": "800 Hz"}, 400.0),
    "the band of a tolerance": ({"fmax": "200 Hz", "tol": 0.05}, 200.0),
    "a band beside a number": ({"modes": 6, "fmax": "300 Hz"}, 300.0),
    "the highest of a number": ({"modes": 4}, None),
    "shapes at rest alone": ({"modes": 0}, np.inf),
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipe_gives_the_band(name):
    """With a number of modes alone their highest: of a bar held at both ends, by its wave numbers."""
    asked, wanted = RECIPES[name]
    modal = fm.reduce(BAR | asked)
    if wanted is None:  # two planes: the second of each, (4.730, 7.853) of beta L
        speed = np.sqrt(210e9 / 7850.0) * 0.02 / np.sqrt(12.0)
        wanted = 7.853**2 * speed / (2.0 * np.pi)
    assert float(modal.quality.get("interest_hz", np.inf)) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("method", ["auto", "generalized-alpha", "radau"])
def test_the_band_of_the_recipe_is_the_default(folder, method):
    body = clamped(folder, "auto", method=method).system().model.bodies["bar"]
    assert body.band == body.modal.quality["interest_hz"] < body.modal.frequency_hz.max()
    assert Case.from_dict(clamped(folder).source.data, folder=folder).spec.analysis.band == "all"


@pytest.mark.parametrize("more", [{"method": "dop853"}, {"band": "all"}, {"type": "linearize"}])
def test_everything_is_resolved_where_it_is_asked_for(folder, more):
    data = clamped(folder).source.data
    analysis = {k: v for k, v in data["analysis"].items() if k != "band"} | more
    case = Case.from_dict(data | {"analysis": analysis}, folder=folder)
    assert bands(case.system().model.bodies) == []


@pytest.mark.parametrize("band", ["nearly all", -1.0])
def test_a_band_is_a_frequency_or_a_word(folder, band):
    with pytest.raises(InputError, match="band"):
        clamped(folder, band)


def test_a_band_belongs_to_dynamics(folder):
    with pytest.raises(InputError, match='"band" belongs to an analysis of type "dynamics"'):
        clamped(folder, "200 Hz", type="statics")


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
def test_a_long_run_says_how_long_and_what_limits_it(folder, method, tmp_path, monkeypatch):
    """The highest mode, which lies above the band of its basis, holds the steps of an explicit method."""
    monkeypatch.setattr(cost, "PATIENCE", 0.0)
    monkeypatch.setattr(cost, "WORTH_SAYING", 0.0)
    said = []
    case = clamped(folder, force=LOAD, method=method, rtol=1e-5, atol=1e-9, t_end=1.0)
    execute(case, tmp_path / "a.h5", say=said.append)
    (text,) = [line for line in said if " to go; steps of " in line]
    named = re.search(r"bodies\.bar\.q\[(\d+)\] \(([\d.e+]+) Hz\) limits them", text)
    assert named, text
    modal = case.system().model.bodies["bar"].modal
    assert float(named[2]) == pytest.approx(modal.frequency_hz[int(named[1])], rel=1e-3)
    assert "band = " in text


def test_durations_are_for_people():
    assert cost.duration(50.0) == "about 50 s" and cost.duration(600.0) == "about 10 min"
    assert cost.duration(9000.0) == "about 2.5 h" and cost.duration(6060.0) == "about 100 min"
    assert cost.duration(0.0) == "about 0 s" and cost.duration(np.inf) == "no end"


def test_methods_of_other_libraries_name_what_changes_fastest(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cost, "PATIENCE", 0.0)
    monkeypatch.setattr(cost, "WORTH_SAYING", 0.0)
    said = []
    execute(
        clamped(folder, force=LOAD, method="radau", rtol=1e-4, atol=1e-8), tmp_path / "a.h5", say=said.append
    )
    (text,) = [line for line in said if " to go; " in line]
    assert "through Python" in text and "bodies.bar.q[" in text and "generalized-alpha" in text


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
def test_check_estimates_the_steps_of_a_run_and_names_what_limits_them(folder, method, tmp_path, monkeypatch):
    """By the first moments of the run itself: the number of steps, as far as it goes on as it begins."""
    monkeypatch.setattr(cost, "TRIAL", 0.2)
    more = {"method": method, "t_end": 4.0, "rtol": 1e-5, "atol": 1e-9}
    case = clamped(folder, force=f"={LOAD}*sin({2.0 * np.pi * FORCE}*t) + 1", **more)
    case.spec.output.every = 1.0
    report = check(case)
    found = report.data()["cost"]
    steps = execute(case, tmp_path / "a.h5").summary.statistics["steps"]
    assert 0.5 * steps < found["steps"] < 2.0 * steps and found["seconds"] > 0.0
    (line,) = [x for x in text(report).splitlines() if x.startswith("cost ")]
    assert re.search(r"about .* s for \d+ steps, by the first .* s of the motion; steps of ", line), line
    assert re.search(r"bodies\.bar\.q\[\d+\] \([\d.e+]+ Hz\) limits them: .*band = ", line), line


def test_check_names_what_limits_the_steps_of_other_libraries(folder):
    line = check(clamped(folder, force=LOAD, method="radau", rtol=1e-4, atol=1e-8, t_end=10.0)).facts["cost"]
    assert "bodies.bar.q[" in line["text"] and "through Python" in line["text"] and line["seconds"] > 1.0


def test_a_mode_that_follows_is_not_told_to_follow(folder, monkeypatch):
    """An explicit method is held by the damping of the modes above the band, not by vibrations."""
    monkeypatch.setattr(cost, "TRIAL", 0.02)
    found = check(clamped(folder, "200 Hz", force=LOAD, method="dop853", t_end=10.0)).facts["cost"]["text"]
    assert 'method = "generalized-alpha"' in found and "band = " not in found


def test_what_is_over_soon_or_stands_has_no_limits(folder):
    found = check(clamped(folder, "200 Hz", force=LOAD, t_end=1e-3)).facts["cost"]
    assert found["text"].endswith(" steps") and "limits" not in found["text"] and found["steps"] > 0
    assert check(clamped(folder, band="auto", type="statics")).facts["cost"] == {}


def test_bodies_that_are_alike_share_a_line(folder):
    (left,) = bands(clamped(folder, "200 Hz").system().model.bodies)
    alike = [replace(left, name=f"b{k}") for k in range(7)] + [replace(left, name="other", count=1)]
    both = told(alike)
    assert len(both) == 2 and both[0].startswith("bodies.b0, bodies.b1, bodies.b2, bodies.b3 and 3 more: ")
    assert both[1] == alike[-1].text()
