"""Cams whose followers lift off: flight, impact, energy and momentum against closed forms."""

import itertools
import json

import numpy as np
import pytest
from scipy.optimize import brentq

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import FlexmbsError
from flexmbs.resources import resource

M, K, FREE, BASE, E, W, G = 0.8, 2000.0, 0.04, 0.05, 0.02, 90.0, 9.81


def case(analysis=None, drive=True, **coupling):
    data = {
        "gravity": [0, -G, 0],
        "bodies": {
            "disc": {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01}},
            "rod": {"type": "rigid", "mass": M},
        },
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "disc"},
            "guide": {
                "type": "prismatic", "from": "ground", "to": "rod", "axis": [0, 1, 0],
                "initial": {"position": BASE}, "spring": {"stiffness": K, "free": FREE},
            },
        },
        "couplings": {
            "c": {"type": "cam", "cam": "shaft", "follower": "guide", "unilateral": True}
            | {"lift": f"={BASE} + {E}*sin(x)"}
            | coupling
        },
        "analysis": {"t_end": 0.3, "rtol": 1e-9, "atol": 1e-12} | (analysis or {}),
    }  # fmt: skip
    if drive:
        data["drives"] = {"motor": {"joint": "shaft", "position": f"={W}*t"}}
    else:
        data["joints"]["shaft"]["initial"] = {"velocity": W}
    return data


def run(data, path, **options):
    return execute(Case.from_dict(data), path, **options).result


def flight():
    """Times of the first separation and landing, and what the landing dissipates, in closed form."""

    def force(t):
        return -M * E * W * W * np.sin(W * t) + K * (BASE + E * np.sin(W * t) - FREE) + M * G

    off = brentq(force, 0.0, np.pi / 2 / W, xtol=1e-15)
    s0, v0, rate, rest = BASE + E * np.sin(W * off), E * W * np.cos(W * off), np.sqrt(K / M), FREE - M * G / K

    def gap(t):
        tau = rate * (t - off)
        return rest + (s0 - rest) * np.cos(tau) + v0 / rate * np.sin(tau) - BASE - E * np.sin(W * t)

    times = np.linspace(off + 1e-3, off + 0.2, 2000)
    first = int(np.argmax(gap(times) < 0.0))
    on = brentq(gap, times[first - 1], times[first], xtol=1e-15)
    tau = rate * (on - off)
    jump = E * W * np.cos(W * on) - (-(s0 - rest) * rate * np.sin(tau) + v0 * np.cos(tau))
    return off, on, 0.5 * M * jump**2


@pytest.mark.parametrize(
    "method, step, rtol",
    [("dop853", None, 1e-10), ("dopri5", None, 1e-10), ("generalized-alpha", 5e-5, 1e-5)],
)
def test_a_driven_eccentric_throws_its_follower_as_the_closed_form_says(tmp_path, method, step, rtol):
    result = run(case({"method": method} | ({"step": step} if step else {})), tmp_path / "a.h5")
    off, on, loss = flight()
    kinds, times = result["events/kind"], result["events/time"]
    assert list(kinds[:4]) == ["contact_lost", "contact_regained"] * 2
    np.testing.assert_allclose(times[:2], [off, on], rtol=rtol)
    assert "couplings.c: the follower leaves the cam" in list(result["events/text"])
    steady = times[2::2]  # from then on each turn is the same
    np.testing.assert_allclose(np.diff(steady), 2 * np.pi / W, rtol=1e-9)
    t, force = result["time"], result["couplings/c/force"]
    flying = ((t > off) & (t < on)) | ((t > times[2]) & (t < times[3]))
    assert np.all(force[flying] == 0.0) and force.min() >= 0.0
    gap = result["joints/guide/position"][:, 0] - BASE - E * np.sin(W * t)
    assert gap.min() > -1e-12 and gap[flying].min() > 0.0
    after = np.searchsorted(t, on)
    assert result["energy/dissipated"][after - 1] == 0.0
    assert result["energy/dissipated"][after] == pytest.approx(loss, rel=rtol * 10)
    balance = np.abs(result["energy/balance_error"]).max()
    assert balance < (2e-7 if not step else 1e-3)


def two_cams(**analysis):
    """Two followers on one shaft that is not driven: one contact strikes while the other may be closed."""
    data = case({"t_end": 0.12} | analysis, drive=False)
    data["bodies"]["second"] = {"type": "rigid", "mass": 0.5 * M}
    data["joints"]["other"] = {
        "type": "prismatic", "from": "ground", "to": "second", "axis": [1, 0, 0],
        "initial": {"position": BASE}, "spring": {"stiffness": 2 * K, "free": FREE},
    }  # fmt: skip
    lift = f"={BASE} + {E}*sin(1.3*x)"
    data["couplings"]["d"] = {
        "type": "cam",
        "cam": "shaft",
        "follower": "other",
        "lift": lift,
        "unilateral": True,
    }
    return data


@pytest.mark.parametrize(
    "formulation, method",
    [
        ("recursive", "dopri5"),
        *itertools.product(["minimal", "descriptor"], ["dop853"]),
    ],
)
@pytest.mark.parametrize(
    "build",
    [
        case,
        *(
            pytest.param(item, marks=pytest.mark.slow)
            for item in (lambda **k: case(k, drive=False), two_cams)
        ),
    ],
)
def test_contacts_open_and_close_alike_in_all_formulations(build, formulation, method, tmp_path):
    known = build()
    known["analysis"] |= {"t_end": 0.1, "method": "dop853", "rtol": 1e-10, "atol": 1e-13}
    first = run(known, tmp_path / "first.h5")
    kinds = list(first["events/kind"])
    assert {"contact_lost", "contact_regained"} <= set(kinds)
    other = known | {"analysis": known["analysis"] | {"formulation": formulation, "method": method}}
    second = run(other, tmp_path / "second.h5")
    assert list(second["events/kind"]) == kinds
    assert list(second["events/text"]) == list(first["events/text"])
    np.testing.assert_allclose(second["events/time"], first["events/time"], rtol=1e-8)
    for path in first.paths:
        if path.startswith("couplings/") and path.endswith("force"):
            np.testing.assert_allclose(second[path], first[path], atol=1e-5)  # of 500 N
        if path.startswith("joints/") and path.endswith("position"):
            np.testing.assert_allclose(second[path], first[path], atol=1e-9)
        if path.startswith("joints/") and path.endswith("velocity"):
            np.testing.assert_allclose(second[path], first[path], atol=1e-6)
    np.testing.assert_allclose(second["energy/dissipated"], first["energy/dissipated"], atol=1e-6)
    assert np.abs(second["energy/balance_error"]).max() < 2e-7


@pytest.mark.parametrize("formulation", ["minimal", pytest.param("descriptor", marks=pytest.mark.slow)])
def test_a_contact_that_is_not_pressed_opens_at_the_start_in_all_formulations(formulation, tmp_path):
    data = case({"t_end": 0.02, "formulation": formulation})
    data["joints"]["guide"]["spring"]["free"] = 0.2  # it pulls the follower up
    result = run(data, tmp_path / "a.h5")
    assert list(result["events/kind"]) == ["contact_lost"] and result["events/time"][0] == 0.0
    assert result["couplings/c/force"].max() == 0.0
    assert result["joints/guide/acceleration"][0, 0] == pytest.approx(K * 0.15 / M - G, rel=1e-9)


@pytest.mark.parametrize("formulation", ["minimal", pytest.param("descriptor", marks=pytest.mark.slow)])
def test_a_prescribed_motion_holds_its_cams_together_in_all_formulations(formulation, tmp_path):
    data = case({"type": "kinematics", "t_end": 0.05, "formulation": formulation})
    result = run(data, tmp_path / "a.h5")
    assert result["couplings/c/force"].min() < 0.0 and not len(result["events/time"])


def test_the_impact_on_a_free_cam_keeps_the_momentum(tmp_path):
    """J w + m lift'(x) s' is kept, the energy drops by the inelastic part, and no drive does work."""
    data = case({"t_end": 0.2}, drive=False)
    first = run(data, tmp_path / "a.h5")
    kinds, times = list(first["events/kind"]), first["events/time"]
    on = times[kinds.index("contact_regained")]
    near = [on - 1e-7, on + 1e-7]
    result = run(data | {"output": {"times": near}}, tmp_path / "b.h5")
    k = [int(np.argmin(np.abs(result["time"] - t))) for t in near]
    w, v = (result[f"joints/{j}/velocity"][k, 0] for j in ("shaft", "guide"))
    slope = E * np.cos(result["joints/shaft/position"][k[1], 0])
    expected = (0.01 * w[0] + M * slope * v[0]) / (0.01 + M * slope**2)
    assert w[1] == pytest.approx(expected, rel=1e-5)  # 1e-7 s of gravity and springs to both sides
    assert v[1] == pytest.approx(slope * w[1], abs=1e-9)
    assert abs(w[1] - w[0]) > 0.1
    loss = 0.5 * 0.01 * (w[1] - w[0]) ** 2 + 0.5 * M * (v[1] - v[0]) ** 2
    assert np.diff(result["energy/dissipated"][k])[0] == pytest.approx(loss, rel=1e-4)
    assert np.abs(result["energy/work"]).max() < 1e-11  # rounding of the kinetic energy
    assert np.abs(result["energy/balance_error"]).max() < 2e-7


def test_a_follower_that_is_pushed_down_flies_the_same(tmp_path):
    """The mirror image: gravity up, guide downwards against its coordinate."""
    up = run(case(), tmp_path / "up.h5")
    data = case(pushes="down", lift=f"={-BASE} - {E}*sin(x)")
    data["gravity"] = [0, G, 0]
    data["joints"]["guide"] |= {"initial": {"position": -BASE}, "spring": {"stiffness": K, "free": -FREE}}
    down = run(data, tmp_path / "down.h5")
    np.testing.assert_allclose(down["events/time"], up["events/time"], rtol=1e-10)
    np.testing.assert_allclose(down["couplings/c/force"], up["couplings/c/force"], atol=1e-7)
    np.testing.assert_allclose(down["joints/guide/position"], -up["joints/guide/position"], atol=1e-10)


def test_a_contact_that_is_not_pressed_at_the_start_opens_there(tmp_path):
    data = case({"t_end": 0.02})
    data["joints"]["guide"]["spring"]["free"] = 0.2  # it pulls the follower up
    result = run(data, tmp_path / "a.h5")
    assert list(result["events/kind"])[:1] == ["contact_lost"] and result["events/time"][0] == 0.0
    assert result["couplings/c/force"][0] == 0.0
    assert result["joints/guide/acceleration"][0, 0] == pytest.approx(K * 0.15 / M - G, rel=1e-9)


def test_a_run_goes_on_in_flight_to_the_same_bits_and_another_starts_there(tmp_path):
    from flexmbs.results.compare import compare

    data = case({"t_end": 0.03})
    data["output"] = {"checkpoint_every": 0.01}
    whole = run(data, tmp_path / "whole.h5")
    assert whole["couplings/c/force"][-1] == 0.0  # it flies
    data["analysis"]["t_end"] = 0.04
    other = case({"t_end": 0.01, "start": str(tmp_path / "whole.h5")})
    other["drives"]["motor"]["position"] = f"={W}*(t + 0.03)"
    second, longer = run(other, tmp_path / "next.h5"), run(data, tmp_path / "longer.h5")
    np.testing.assert_allclose(
        second["joints/guide/position"][-1], longer["joints/guide/position"][-1], rtol=1e-8
    )
    assert second["couplings/c/force"].max() == 0.0
    run(data | {"analysis": data["analysis"] | {"method": "dop853"}}, tmp_path / "x.h5")
    found = compare(longer, run(data, tmp_path / "again.h5"), rtol=0.0, atol=0.0)
    assert found.equal, found.text


@pytest.mark.parametrize(
    "analysis",
    [
        {"formulation": "descriptor", "stabilisation": "baumgarte"},
        {"method": "cvode"},
        {"method": "radau"},
        {"method": "radau", "formulation": "descriptor"},
    ],
)
def test_what_cannot_open_a_contact_says_so(tmp_path, analysis):
    with pytest.raises(FlexmbsError) as error:
        run(case(analysis), tmp_path / "a.h5")
    found = error.value.diagnostics[0]
    assert "unilateral = true" in found.what and "choose one of" in found.remedy


@pytest.mark.parametrize("share, lifts", [(0.9999, False), (1.0001, True)])
def test_the_cam_of_the_reference_is_left_at_its_speed_of_lift_off(tmp_path, share, lifts):
    """cases/reference/joint-cam-eccentric.json: at the top, where the follower is held back most."""
    reference = json.loads(resource("cases", "reference", "joint-cam-eccentric.json").read_text())[
        "reference"
    ]
    speed = share * reference["lift_off_speed"]
    case = Case.load(resource("cases", "cam.toml"), speed=speed)
    data = {
        key: value for key, value in case.source.data.items() if key not in ("expected", "output", "include")
    }
    data["couplings"]["contact"]["unilateral"] = True
    data["analysis"] = {"t_end": 2.0 * np.pi / speed, "rtol": 1e-10, "atol": 1e-12}
    result = execute(Case.from_dict(data, speed=speed), tmp_path / "a.h5").result
    assert ("contact_lost" in list(result["events/kind"])) == lifts
    if lifts:
        assert speed * result["events/time"][0] == pytest.approx(np.pi / 2, abs=0.05)


def test_kinematics_says_where_the_cam_would_have_to_pull(tmp_path):
    outcome = execute(Case.from_dict(case({"type": "kinematics", "t_end": 0.1})), tmp_path / "a.h5")
    assert any("couplings.c" in text and "pull" in text for text in outcome.summary.warnings)
