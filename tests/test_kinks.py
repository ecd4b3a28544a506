"""Constraints whose laws bend or jump: impacts with their energy, and laws that no motion can follow."""

import signal

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import SolverError
from flexmbs.expressions.switching import switching_functions
from flexmbs.expressions.tree import periodic_spline, repeated, spline_through
from flexmbs.results import Result

METHODS = ["dopri5", "dop853", "generalized-alpha"]
#: every way in which a case may run that passes corners
WAYS = [
    *({"method": name} for name in METHODS),
    *({"formulation": form, "method": "dop853"} for form in ("minimal", "descriptor")),
    {"formulation": "descriptor", "stabilisation": "baumgarte"},
]
#: methods that need nothing but rates, and pass none
REFERENCES = [
    {"method": "radau"},
    *(
        pytest.param({"formulation": form, "method": "radau"}, marks=pytest.mark.slow)
        for form in ("minimal", "descriptor")
    ),
    *(pytest.param({"method": name}, marks=pytest.mark.needs("sksundae")) for name in ("cvode", "ida")),
]


def named(way):
    return " ".join(way.values())


def in_default(way):
    """Whether every test takes this way in the default set: not those whose rates are made in Python."""
    return "formulation" not in way


def seldom(way):
    """A way that only the first tests take in the default set."""
    return pytest.param(way, marks=pytest.mark.slow)


def thinned(ways):
    return [way if in_default(way) else seldom(way) for way in ways]


all_ways = pytest.mark.parametrize("way", WAYS, ids=named)
by_reference = pytest.mark.parametrize("way", REFERENCES, ids=named)
every_way = pytest.mark.parametrize("way", thinned(WAYS), ids=named)


def sliders(coupling=None, velocity=1.0, **more):
    """Two masses of 1 kg on parallel slides."""
    slide = {"type": "prismatic", "from": "ground", "axis": [1, 0, 0]}
    return {
        "bodies": {name: {"type": "rigid", "mass": 1.0} for name in "ab"},
        "joints": {
            "s": slide | {"to": "a", "initial": {"velocity": velocity}},
            "u": slide | {"to": "b"},
        },
        "couplings": {"c": coupling} if coupling else {},
        "analysis": {"t_end": 1.0, "rtol": 1e-8, "atol": 1e-10},
        "output": {"every": 0.1},
    } | more


def run(data, path, **analysis):
    return execute(Case.from_dict(data | {"analysis": data["analysis"] | analysis}), path).result


def relation(text, **more):
    return sliders({"type": "expression", "zero": f"={text}"}, **more)


def ends(found, s, v, u, w):
    """Positions and speeds of both sliders at the end."""
    for name, place, speed in (("s", s, v), ("u", u, w)):
        assert found[f"joints/{name}/position"][-1, 0] == pytest.approx(place, abs=2e-8)
        assert found[f"joints/{name}/velocity"][-1, 0] == pytest.approx(speed, abs=2e-8)


def books(found, dissipated, work=0.0, times=()):
    assert found["energy/dissipated"][-1] == pytest.approx(dissipated, abs=2e-8)
    assert found["energy/work"][-1] == pytest.approx(work, abs=2e-8)
    assert np.abs(found["energy/balance_error"]).max() < 1e-6  # of Baumgarte's terms
    assert list(found["events/kind"]) == ["switch"] * len(times)
    np.testing.assert_allclose(found["events/time"], times, atol=1e-9)


@every_way
@pytest.mark.parametrize("kind", ["cam", "expression"])
def test_a_kink_of_a_coupling_is_an_impact_whose_loss_is_dissipated(tmp_path, kind, way):
    """u = max(0, s - 0.3) / 2: the momentum along (1, 1/2) is kept, 1 = (1 + 1/4) s_dot."""
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": "=0.5*max(0, x - 0.3)"}
    if kind == "expression":
        law = {"type": "expression", "zero": "=u.position - 0.5*max(0, s.position - 0.3)"}
    found = run(sliders(law), tmp_path / "a.h5", **way)
    ends(found, 0.3 + 0.8 * 0.7, 0.8, 0.4 * 0.7, 0.4)
    books(found, 0.1, times=[0.3])
    assert "the law of couplings.c has a kink: an impact" in found.events.text[0]


@all_ways
def test_a_corner_with_slopes_of_both_signs_keeps_the_momentum(tmp_path, way):
    """u = |s - 0.3| from s = 0.1: (m - 1) = (m + 1) s_dot, of masses m = 3 and 1."""
    data = relation("u.position - abs(s.position - 0.3)")
    data["bodies"]["a"]["mass"] = 3.0
    data["joints"]["s"] = data["joints"]["s"] | {"initial": {"position": 0.1, "velocity": 1.0, "hold": True}}
    found = run(data, tmp_path / "a.h5", **way)
    ends(found, 0.3 + 0.5 * 0.8, 0.5, 0.5 * 0.8, 0.5)
    books(found, 0.5 * 4.0 - 0.5 * 4.0 * 0.25, times=[0.2])


@every_way
def test_a_corner_between_two_slopes_by_where(tmp_path, way):
    """(1 + 0.2*0.7) = (1 + 0.7**2) s_dot."""
    found = run(
        relation("u.position - where(s.position < 0.3, 0.2*s.position, 0.06 + 0.7*(s.position - 0.3))"),
        tmp_path / "a.h5", **way,
    )  # fmt: skip
    v = (1.0 + 0.2 * 0.7) / (1.0 + 0.7**2)
    ends(found, 0.3 + 0.7 * v, v, 0.06 + 0.49 * v, 0.7 * v)
    books(found, 0.5 * 1.04 - 0.5 * 1.49 * v**2, times=[0.3])


@every_way
def test_a_law_that_follows_the_time_does_work_at_its_kink(tmp_path, way):
    """u = max(0, s - 0.3 - t/2), s_dot = 2: behind u_dot = s_dot - 1/2 and 2 = s_dot + u_dot."""
    found = run(
        relation("u.position - max(0, s.position - 0.3 - 0.5*t)", velocity=2.0), tmp_path / "a.h5", **way
    )
    ends(found, 0.4 + 1.25 * 0.8, 1.25, 0.75 * 0.8, 0.75)
    loss = 0.5 * (0.75**2 + 0.75**2)
    books(found, loss, work=0.5 * (1.25**2 + 0.75**2) - 2.0 + loss, times=[0.2])


@every_way
@pytest.mark.parametrize("law", ["max(0, t - 0.5)", "max(t - 0.5, 0)", "0.5*(t - 0.5 + abs(t - 0.5))"])
def test_a_kink_of_a_drive_is_work_at_an_output_too(tmp_path, law, way):
    """As of a law that bends quickly: force times mean velocity, nothing is lost. The sample is behind it."""
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": f"={law}"}})
    del data["joints"]["s"]["initial"]
    found = run(data | {"output": {"every": 0.25}}, tmp_path / "a.h5", **way)
    assert list(found["time"]) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert list(np.round(found["joints/s/velocity"][:, 0], 9)) == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert found["joints/s/position"][-1, 0] == pytest.approx(0.5, abs=1e-12)
    np.testing.assert_allclose(found["energy/work"], [0.0, 0.0, 0.5, 0.5, 0.5], atol=1e-9)
    books(found, 0.0, work=0.5, times=[0.5])


@all_ways
def test_a_kink_at_the_end_is_passed(tmp_path, way):
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": "=max(0, t - 1)"}})
    del data["joints"]["s"]["initial"]
    found = run(data | {"output": {"every": 0.5}}, tmp_path / "a.h5", **way)
    assert list(found["time"]) == [0.0, 0.5, 1.0]
    assert found["joints/s/velocity"][-1, 0] == pytest.approx(1.0, abs=1e-12)
    books(found, 0.0, work=0.5, times=[1.0])


@every_way
def test_a_drive_that_bounces_is_located_each_time(tmp_path, way):
    """|sin|: at every zero the speed turns round, which takes no work; between them it goes to zero."""
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": "=abs(sin(10*t + 0.5))"}})
    del data["joints"]["s"]["initial"]
    found = run(data, tmp_path / "a.h5", **way)
    t = found["time"]
    kinetic = 0.5 * (10.0 * np.cos(10.0 * t + 0.5)) ** 2
    np.testing.assert_allclose(found["energy/work"], kinetic - kinetic[0], atol=1e-3)
    assert list(found["events/kind"]) == ["switch"] * 3
    np.testing.assert_allclose(found["events/time"], (np.pi * np.arange(1, 4) - 0.5) / 10.0, atol=1e-9)


@every_way
@pytest.mark.parametrize("law, speeds, loss", [
    ("0.5*max(0, s.position)", (0.8, 0.4), 0.1), ("0.5*max(s.position, 0)", (1.0, 0.5), 0.0),
    ("abs(s.position)", (0.5, 0.5), 0.25),
])  # fmt: skip
def test_a_start_on_a_corner_goes_on_to_its_side(tmp_path, law, speeds, loss, way):
    """What assembly makes of the speeds is taken for those before it: an impact at the start, or none."""
    found = run(relation(f"u.position - {law}"), tmp_path / "a.h5", **way)
    v, w = speeds
    ends(found, v, v, w, w)
    books(found, loss, times=[0.0] if loss else [])
    assert found["time"][0] == 0.0 and found["energy/dissipated"][0] == pytest.approx(loss, abs=1e-9)


@every_way
def test_a_drive_that_starts_on_its_kink(tmp_path, way):
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": "=max(0, t)"}})
    del data["joints"]["s"]["initial"]
    found = run(data, tmp_path / "a.h5", **way)
    np.testing.assert_allclose(found["joints/s/velocity"][:, 0], 1.0, atol=1e-9)
    assert np.abs(found["energy/balance_error"]).max() < 1e-6  # of Baumgarte's terms


@every_way
def test_a_motion_over_several_corners_under_forces(tmp_path, way):
    """A heavy slider on a spring goes to and fro over a corner: as an integration by pieces says."""
    from scipy.integrate import solve_ivp

    data = relation("u.position - 0.4*max(0, s.position - 0.1)")
    data["bodies"]["a"]["mass"] = 2.0
    data["joints"]["s"] = data["joints"]["s"] | {"spring": {"stiffness": 80.0}}
    data["joints"]["u"] = data["joints"]["u"] | {"spring": {"stiffness": 30.0}}
    data["analysis"] = {"t_end": 2.0, "rtol": 1e-9, "atol": 1e-12}
    found = run(data, tmp_path / "a.h5", **way)
    t, s, v, slope, loss, times = 0.0, 0.0, 1.0, 0.0, 0.0, []
    while t < 2.0:
        mass = 2.0 + slope**2

        def rates(_, y, k=slope, m=mass):
            return [y[1], -(80.0 * y[0] + 30.0 * k * k * (y[0] - 0.1)) / m]

        def over(_, y):
            return y[0] - 0.1

        over.terminal, over.direction = True, 1.0 if slope == 0.0 else -1.0
        part = solve_ivp(rates, (t, 2.0), [s, v], events=over, rtol=1e-12, atol=1e-14)
        t, (s, v) = part.t[-1], part.y[:, -1]
        if part.status == 1:
            times.append(t)
            after = 0.4 - slope
            v_after = (2.0 + slope * after) * v / (2.0 + after**2)
            loss += 0.5 * (2.0 + slope**2) * v**2 - 0.5 * (2.0 + after**2) * v_after**2
            v, slope = v_after, after
    assert len(times) == 4
    assert list(found["events/kind"]) == ["switch"] * len(times)
    np.testing.assert_allclose(found["events/time"], times, atol=1e-6)
    assert found["joints/s/position"][-1, 0] == pytest.approx(s, abs=1e-6)
    assert found["joints/s/velocity"][-1, 0] == pytest.approx(v, abs=2e-5)
    assert found["energy/dissipated"][-1] == pytest.approx(loss, abs=1e-6)
    assert np.abs(found["energy/balance_error"]).max() < 1e-5


@every_way
def test_a_corner_that_sends_the_motion_back_is_an_error(tmp_path, way):
    """u = 2 |s - 0.3| of equal masses: behind the corner s_dot would be (1 - 4)/(1 + 4) < 0, to and fro."""
    data = relation("u.position - 2*abs(s.position - 0.3)")
    data["joints"]["s"] = data["joints"]["s"] | {"initial": {"position": 0.1, "velocity": 1.0, "hold": True}}
    with pytest.raises(SolverError, match=r"t = 0\.2 s.* corner"):
        run(data, tmp_path / "a.h5", **way)


@by_reference
@pytest.mark.parametrize(
    "law, first", [("0.5*max(0, s.position - 0.3)", 0.3), ("0.5*max(0, s.position)", 0.0)]
)
def test_methods_that_need_nothing_but_rates_refuse_a_corner_by_name(tmp_path, law, first, way):
    with pytest.raises(SolverError, match=r"couplings\.c jumps, or its slope does.* passes no such") as error:
        run(relation(f"u.position - {law}"), tmp_path / "a.h5", **way)
    found = error.value.diagnostics[0]
    assert found.code == "solver.jump" and way["method"] in found.what
    assert float(found.where.removeprefix("t = ").removesuffix(" s")) == pytest.approx(first, abs=0.02)


@by_reference
@pytest.mark.parametrize("law", ["max(0, t - 0.5)", "abs(sin(4*t))"])
def test_methods_that_need_nothing_but_rates_refuse_a_drive_that_bends(tmp_path, law, way):
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": f"={law}"}})
    del data["joints"]["s"]["initial"]
    with pytest.raises(SolverError, match="its slope does"):
        run(data, tmp_path / "a.h5", **way)


@by_reference
@pytest.mark.parametrize("law", ["where(t < 0.5, 0, (t - 0.5)**2)", "where(t > 0.5, t - 0.25, t**2)"])
def test_a_law_of_time_that_switches_without_a_jump_goes_on(tmp_path, law, way):
    data = sliders(velocity=0.0, drives={"m": {"joint": "s", "position": f"={law}"}})
    del data["joints"]["s"]["initial"]
    found = run(data, tmp_path / "a.h5", **way)
    place, speed = (0.25, 1.0) if "t - 0.5" in law else (0.75, 1.0)
    assert found.joints.s.position[-1, 0] == pytest.approx(place, abs=1e-9)
    assert found.joints.s.velocity[-1, 0] == pytest.approx(speed, abs=1e-9)
    assert found.energy.work[-1] == pytest.approx(0.5 * speed**2, abs=1e-5)


@by_reference
def test_a_coupling_that_switches_without_a_jump_goes_on(tmp_path, way):
    """u = (s - 0.3)^2 from there on: the energy is kept."""
    found = run(
        relation("u.position - where(s.position < 0.3, 0, (s.position - 0.3)**2)"), tmp_path / "a.h5", **way
    )
    v, u = (found.joints[name].velocity[-1, 0] for name in "su")
    assert u == pytest.approx(2.0 * (found.joints.s.position[-1, 0] - 0.3) * v, rel=1e-9)
    assert v**2 + u**2 == pytest.approx(1.0, abs=1e-6) and u > 0.5


FORMS = [{"method": "dop853"}, {"formulation": "minimal"}, {"formulation": "descriptor"}]


@pytest.mark.parametrize(
    "way",
    thinned([*FORMS, {"method": "generalized-alpha"}]),
    ids=str,
)
@pytest.mark.parametrize("bend", ["cam", "drive"])
def test_a_cam_with_corners_strikes_its_follower_and_throws_it(tmp_path, bend, way):
    """Dwell, ramp, dwell, of the lift over a steady drive, or of the drive of an even lift.

    At the foot of the ramp the follower takes its speed at once, by work of the drive, and as much again is
    lost where the drive goes on, none where it bends. At the top nothing pulls: it flies on.
    """
    m, g, w = 0.8, 9.81, 30.0
    ramp = "0.02*min(max(0, {x} - 0.3), 0.5)"
    data = {
        "gravity": [0, -g, 0],
        "bodies": {
            "disc": {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01}},
            "rod": {"type": "rigid", "mass": m},
        },
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "disc"},
            "guide": {"type": "prismatic", "from": "ground", "to": "rod", "axis": [0, 1, 0]},
        },
        "couplings": {
            "c": {"type": "cam", "cam": "shaft", "follower": "guide", "unilateral": True}
            | {"lift": "=" + (ramp.format(x="x") if bend == "cam" else "x")}
        },
        "drives": {
            "motor": {"joint": "shaft"}
            | {"position": f"={w}*t" if bend == "cam" else "=" + ramp.format(x=f"{w}*t")}
        },
        "analysis": {"t_end": 0.2, "rtol": 1e-8, "atol": 1e-11},
        "output": {"every": 0.005},
    }  # fmt: skip
    found = run(data, tmp_path / "a.h5", **way)
    v, foot, top = 0.02 * w, 0.3 / w, 0.8 / w
    on = top + 2.0 * v / g
    kinds = list(found["events/kind"])
    assert [kind for kind in kinds if kind != "switch"] == ["contact_lost", "contact_regained"]
    assert kinds.count("switch") == 2
    np.testing.assert_allclose(found["events/time"], [foot, *sorted([top, top]), on], atol=1e-9)
    t, y = found["time"], found["joints/guide/position"][:, 0]
    fly = np.where(t > top, v * (t - top) - 0.5 * g * (t - top) ** 2, 0.0)
    expected = np.where(t < on, np.clip(v * (t - foot), 0.0, 0.01) + fly, 0.01)
    np.testing.assert_allclose(y, expected, atol=1e-9)
    strike = 0.5 * m * v**2
    assert found["energy/dissipated"][-1] == pytest.approx(strike * (2.0 if bend == "cam" else 1.0), abs=1e-8)
    gain = m * g * 0.01 + found["energy/dissipated"][-1]
    assert found["energy/work"][-1] == pytest.approx(gain, abs=1e-8)
    assert np.abs(found["energy/balance_error"]).max() < 1e-9
    assert found["couplings/c/force"].min() >= 0.0


@pytest.mark.parametrize("way", thinned([*FORMS, {"method": "dopri5"}]), ids=str)
def test_a_run_goes_on_behind_a_corner_to_the_same_bits(tmp_path, way):
    from flexmbs.errors import Interrupted
    from flexmbs.results.compare import compare

    data = relation("u.position - 0.5*max(0, s.position - 0.3)")
    data["output"] = {"every": 0.1, "times": [0.3], "checkpoint_every": 0.1}
    data["analysis"] |= way
    whole = run(data, tmp_path / "whole.h5")
    seen = []

    def stop(t):
        seen.append(t)
        if t >= 0.3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        execute(Case.from_dict(data), tmp_path / "part.h5", announce=stop)
    again = execute(Case.from_dict(data), tmp_path / "part.h5", resume=True).result
    found = compare(whole, again, rtol=0.0, atol=0.0)
    assert found.equal, found.text
    assert list(again["events/kind"]) == ["switch"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jump", [0.1, -2.0])
def test_no_step_leads_over_a_law_that_jumps(tmp_path, jump, method):
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": f"=where(x < 0.3, 0, {jump})"}
    with pytest.raises(SolverError, match=r"t = 0\.3 s"):
        run(sliders(law), tmp_path / "a.h5", method=method)


@pytest.mark.parametrize("jump", [0.1, -2.0])
@pytest.mark.parametrize(
    "way",
    [*thinned(way for way in WAYS if way not in ({"method": name} for name in METHODS)), *REFERENCES],
)
def test_no_formulation_leads_over_a_law_that_jumps(tmp_path, jump, way):
    law = {"type": "cam", "cam": "s", "follower": "u", "lift": f"=where(x < 0.3, 0, {jump})"}
    with pytest.raises(SolverError, match=r"jumps|open|close"):
        run(sliders(law), tmp_path / "a.h5", **way)


@pytest.mark.parametrize("lift", ["where(x < 0.3, 0, 0.1)", "0.5*max(0, x - 0.3)"])
def test_a_law_that_jumps_is_warned_of_at_the_start(tmp_path, lift):
    data = sliders({"type": "cam", "cam": "s", "follower": "u", "lift": f"={lift}"})
    data["analysis"]["t_end"], said = 0.1, []
    execute(Case.from_dict(data), tmp_path / "a.h5", say=said.append)
    told = [text for text in said if "couplings.c: its law jumps by 0.1 at s = 0.3" in text]
    assert len(told) == ("where" in lift)


def test_a_periodic_profile_has_no_switch_at_its_end():
    x = np.linspace(0.0, 2.0 * np.pi, 37)
    assert switching_functions(repeated(periodic_spline(x, np.cos(x)), "lift")) == []
    assert len(switching_functions(repeated(spline_through(x, x), "saw"))) == 1


#: laws of the second drive that leave the first one's from t = 0.3 on, and until when they may do so unseen
APART = {"0.5*max(0, t - 0.3)": 0.30001, "max(0, t - 0.3)**2": 0.3011, "50*max(0, t - 0.3)**3": 0.3028}


@pytest.mark.parametrize("way", [*thinned([*WAYS, {"method": "rk4", "step": 0.01}]), *REFERENCES], ids=str)
@pytest.mark.parametrize("apart", APART)
@pytest.mark.parametrize("free", [pytest.param(True, marks=pytest.mark.slow), False])
def test_drives_that_contradict_each_other_end_the_run(tmp_path, way, apart, free):
    """Beside masses that are free, and where nothing is: the joint, the gap, the last good state."""
    law = {"type": "linear", "terms": {"s": 1.0, "u": -1.0}}
    drives = {"m": {"joint": "s", "position": "=3*t"}, "n": {"joint": "u", "position": f"=3*t + {apart}"}}
    data = sliders(law, drives=drives)
    del data["joints"]["s"]["initial"]
    if free:
        data["bodies"]["loose"] = data["bodies"]["a"]
        data["joints"]["w"] = data["joints"]["u"] | {"to": "loose", "initial": {"velocity": 2.0}}
    bends = "**" not in apart and way["method"] in ("radau", "cvode", "ida") if "method" in way else False
    text = "its slope does" if bends else "drives.m and drives.n contradict each other"
    with pytest.raises(SolverError, match=text) as error:
        run(data, tmp_path / "a.h5", **way)
    if bends:
        return
    found = error.value.diagnostics[0]
    assert found.code == "solver.contradiction"
    assert "couplings.c" in found.what or "drives.n" in found.what.removeprefix("drives.m and drives.n")
    t = float(found.where.removeprefix("t = ").removesuffix(" s"))
    kept = Result.load(tmp_path / "a.h5")
    late = 0.11 if way.get("stabilisation") == "baumgarte" else 0.0  # it lets them drift
    assert 0.3 - 1e-6 <= t <= APART[apart] + late
    early = 0.11 if way == {"formulation": "descriptor", "method": "radau"} else 2e-3  # in steps so long
    assert kept.status == "failed" and t - early <= kept.time[-1] <= t + 1e-6
    assert np.abs(kept["solver/constraint_position"]).max() <= (1e-2 if late else 1e-6)
    assert kept.joints.s.position[-1, 0] == pytest.approx(3.0 * kept.time[-1], abs=1e-2 if late else 1e-6)


IMPLICIT = [{"method": "generalized-alpha"} | step for step in ({}, {"step": 0.003}, {"step": 0.01})]


@pytest.mark.parametrize("way, slope", [
    *((way, slope) for slope in (1.0, 0.9, 0.85, 0.7) for way in IMPLICIT),
    *(pytest.param(way, 0.8, id=f"0.8 {way}") for way in WAYS if in_default(way)),
    *(pytest.param(way, 0.8, id=f"0.8 {way}", marks=pytest.mark.slow) for way in WAYS if not in_default(way)),
    *(pytest.param(way, 1.0, id=f"1.0 {way}", marks=pytest.mark.slow) for way in WAYS),
])  # fmt: skip
def test_a_motion_that_comes_to_rest_in_a_corner_ends_there(tmp_path, way, slope):
    """A groove of two planes: of the speed (1 - k^2)/(1 + k^2) is left behind its edge, ever sooner."""
    data = sliders({"type": "cam", "cam": "s", "follower": "u", "lift": f"={slope}*abs(x)"})
    data["joints"]["s"]["initial"] = {"position": 0.1, "velocity": 0.3}
    data["joints"]["u"]["axis"] = [0, 1, 0]
    data["gravity"] = [0, -9.81, 0]
    data["analysis"]["t_end"] = 3.0
    pull = slope * 9.81 / (1.0 + slope**2)
    time = (0.3 + np.sqrt(0.09 + 0.2 * pull)) / pull
    left = (1.0 - slope**2) / (1.0 + slope**2)
    time += 2.0 / pull * np.sqrt(0.09 + 0.2 * pull) * left / (1.0 - left)  # a sum of flights
    with pytest.raises(
        SolverError, match="into a corner in the law of couplings.c, where it comes to rest"
    ) as e:
        run(data, tmp_path / "a.h5", **way)
    found = e.value.diagnostics[0]
    assert found.code == "solver.corner"
    told = float(found.where.removeprefix("t = ").removesuffix(" s"))
    # rounding decides whether the descriptor form, at rest in the corner, looks at it before one more step
    looks_late = way == {"formulation": "descriptor", "method": "dop853"}
    assert time - 2e-4 <= told <= time + (2.5e-3 if looks_late else 2e-4)
    kept = Result.load(tmp_path / "a.h5")
    assert kept.status == "failed" and np.all(np.isfinite(kept.joints.s.position))
    assert not looks_late or abs(kept.joints.s.position[-1]) + abs(kept.joints.s.velocity[-1]) < 1e-5
    assert kept.joints.u.position.min() > -1e-6
    assert abs(kept.joints.s.position[-1, 0]) < 1e-6 and abs(kept.joints.s.velocity[-1, 0]) < 1e-3
