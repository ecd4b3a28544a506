"""Angles of cut joints keep their whole turns with any step, whatever computes the motion (F19)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flexmbs.case import Case
from flexmbs.case.runner import execute

SUNDIALS = pytest.mark.needs("sksundae")
LEAD, SPEED, MASS, INERTIA, T_END = 0.01, 60.0, 2.0, 0.05, 2.0

#: ways to compute a motion, some with steps of several radians
RUNS = {
    "default": {},
    "dopri5": {"method": "dopri5"},
    "dop853": {"method": "dop853", "rtol": 1e-3, "atol": 1e-3},
    "rk4": {"method": "rk4", "step": 0.1},
    "implicit": {"method": "generalized-alpha"},
    "implicit-fixed": {"method": "generalized-alpha", "step": 0.08},
    "radau": {"method": "radau"},
    "cvode": {"method": "cvode"},
    "ida": {"method": "ida"},
    "minimal": {"formulation": "minimal"},
    "minimal-radau": {"formulation": "minimal", "method": "radau"},
    "descriptor": {"formulation": "descriptor"},
    "descriptor-radau": {"formulation": "descriptor", "method": "radau"},
    "baumgarte": {"formulation": "descriptor", "stabilisation": "baumgarte"},
}
#: the slower ones are left to the slow tests
LONG = ("radau", "ida", "minimal-radau", "descriptor-radau", "baumgarte")
EVERY = [
    pytest.param(
        name,
        marks=[SUNDIALS] * (name in ("cvode", "ida")) + [pytest.mark.slow] * (name in LONG),
    )
    for name in RUNS
]


def run(data, path, **analysis):
    whole = {"type": "dynamics", "t_end": T_END} | analysis
    case = Case.from_dict({**data, "analysis": whole, "output": {"every": whole["t_end"]}}, folder=path)
    return execute(case, path / "a.h5", overwrite=True).result


def parallelogram(speed=6.0):
    """Cranks of 0.3 m on a base of 0.7 m, without gravity: they turn evenly, the coupler never."""
    crank = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01},
             "frames": {"tip": {"pos": [0.3, 0, 0]}}}  # fmt: skip
    at = {"position": 0.5, "velocity": speed}
    return {
        "ground": {"frames": {"right": {"pos": [0.7, 0, 0]}}},
        "bodies": {
            "left": crank,
            "right": crank,
            "coupler": {**crank, "frames": {"end": {"pos": [0.7, 0, 0]}}},
        },
        "joints": {
            "a": {"type": "revolute", "from": "ground", "to": "left", "initial": at},
            "b": {"type": "revolute", "from": "ground.right", "to": "right", "initial": at},
            "c": {"type": "revolute", "from": "left.tip", "to": "coupler",
                  "initial": {"position": -0.5, "velocity": -speed}},
            "d": {"type": "revolute", "from": "coupler.end", "to": "right.tip", "cut": True},
        },
    }  # fmt: skip


def screw(cut="slide", **keys):
    """A nut on a spindle, held twice: by a thread and by a cylindrical joint, one of them the cut."""
    inertia = {"ixx": 0.1, "iyy": 0.1, "izz": INERTIA}
    start = {"initial": {"velocity": SPEED}}
    thread = {"type": "helical", "from": "ground", "to": "nut", "lead": LEAD, "cut": cut == "thread"}
    slide = {"type": "cylindrical", "from": "ground", "to": "nut", "cut": cut == "slide", **keys}
    if cut == "slide":
        thread |= start
    else:
        slide["initial"] = {"velocity": [SPEED, SPEED * LEAD / (2.0 * np.pi)]}
    return {
        "bodies": {"nut": {"type": "rigid", "mass": MASS, "inertia": inertia}},
        "joints": {"thread": thread, "slide": slide},
    }


def last(result, name):
    return np.ravel(np.asarray(result[f"joints/{name}/position"])[-1])


@pytest.mark.parametrize("name", EVERY)
def test_the_cut_of_a_parallelogram_turns_with_its_cranks(name, tmp_path):
    result = run(parallelogram(), tmp_path, **RUNS[name])
    a, d = last(result, "a")[0], last(result, "d")[0]
    assert a == pytest.approx(0.5 + 6.0 * T_END, abs=0.05)  # tolerance of the run
    assert d == pytest.approx(a, abs=1e-6)  # closure: the coupler does not turn


@pytest.mark.parametrize("cut", ["slide", "thread"])
@pytest.mark.parametrize("name", EVERY)
def test_a_spring_in_a_cut_joint_winds_up_over_all_turns(name, cut, tmp_path):
    """(J + m p^2) x'' = -k x, over some twenty turns, and x p is the travel."""
    stiffness = 0.01
    data = screw(cut, spring=[{"coordinate": "angle", "stiffness": stiffness}])
    pitch = LEAD / (2.0 * np.pi)
    omega = np.sqrt(stiffness / (INERTIA + MASS * pitch**2))
    expected = SPEED / omega * np.sin(omega * T_END)
    result = run(data, tmp_path, **RUNS[name])
    angle, travel = last(result, "slide")
    assert expected > 100.0
    assert angle == pytest.approx(expected, rel=2e-2 if name == "implicit-fixed" else 2e-3)  # of the run
    assert travel == pytest.approx(pitch * angle, rel=1e-6)


@pytest.mark.parametrize("kind", ["kinematics", "inverse_dynamics"])
@pytest.mark.parametrize("step", [0.15, 0.05])
def test_prescribed_motion_counts_turns_of_screws_and_universal_joints(kind, step, tmp_path):
    """The cuts have the coordinates of the joints in the tree beside them, whatever the outputs."""
    data = screw()
    joint = {"type": "universal", "from": "ground", "to": "cross"}
    start = {"initial": {"velocity": [SPEED, 2.0]}}
    data["bodies"]["cross"] = data["bodies"]["nut"]
    data["joints"] |= {"first": {**joint, **start}, "second": {**joint, "cut": True}}
    data["drives"] = {
        "spin": {"joint": "thread", "position": f"={SPEED}*t"},
        "one": {"joint": "first", "coordinate": "angle1", "position": f"={SPEED}*t"},
        "two": {"joint": "first", "coordinate": "angle2", "position": "=0.4*sin(5*t)"},
    }
    data["analysis"] = {"type": kind, "t_end": 0.15}
    if kind == "inverse_dynamics":  # the same motion, measured
        t = np.linspace(0.0, 0.15, 7)
        table = np.column_stack([t, SPEED * t])
        np.savetxt(tmp_path / "m.csv", table, delimiter=",", header="time,thread", comments="")
        data["analysis"]["motion"] = "m.csv"
        del data["drives"]["spin"]
    case = Case.from_dict({**data, "output": {"every": step}}, folder=tmp_path)
    result = execute(case, tmp_path / "a.h5").result
    assert last(result, "slide")[0] == pytest.approx(SPEED * 0.15, rel=1e-9)
    np.testing.assert_allclose(last(result, "second"), [SPEED * 0.15, 0.4 * np.sin(0.75)], rtol=1e-9)


@pytest.mark.parametrize("name", ["dop853", "implicit", "radau", "minimal", "descriptor"])
def test_universal_joints_laws_and_couplings_see_all_turns(name, tmp_path):
    """A body that spins freely about the first axis of two universal joints; a slider follows the cut one."""
    joint = {"type": "universal", "from": "ground", "to": "cross"}
    inertia = {"ixx": INERTIA, "iyy": INERTIA, "izz": 0.1}
    data = {
        "bodies": {
            "cross": {"type": "rigid", "mass": MASS, "inertia": inertia},
            "slider": {"type": "rigid", "mass": 1e-3},
        },
        "joints": {
            "first": {**joint, "initial": {"velocity": [SPEED, 0.0]}},
            "second": {
                **joint,
                "cut": True,
                "damper": [{"coordinate": "angle1", "damping": 0.005}],
                "spring": [{"coordinate": "angle1", "force": "=-0.01*min(x, 50)"}],
            },
            "rail": {"type": "prismatic", "from": "ground", "to": "slider", "axis": [1, 0, 0]},
        },
        "couplings": {"rack": {"type": "linear", "terms": {"rail": 1.0, "second.angle1": -0.001}}},
    }

    def rates(t, x):
        return [x[1], (-0.005 * x[1] - 0.01 * min(x[0], 50.0)) / (INERTIA + 1e-9)]

    expected = solve_ivp(rates, (0.0, T_END), [0.0, SPEED], rtol=1e-10, atol=1e-10).y[0, -1]
    result = run(data, tmp_path, **RUNS[name])
    assert last(result, "second")[0] == pytest.approx(expected, rel=5e-3)  # of the run
    assert last(result, "rail")[0] == pytest.approx(0.001 * last(result, "second")[0], rel=1e-6)


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
def test_a_stop_in_a_cut_joint_stands_many_turns_away_also_after_resume(method, tmp_path):
    """A nut strikes a stop behind 16 turns and comes back: without damping at the speed that it had."""
    import signal

    from flexmbs.errors import Interrupted
    from flexmbs.results.compare import compare

    data = screw(stop=[{"coordinate": "angle", "upper": 100.0, "stiffness": 500.0}])
    data["analysis"] = {"type": "dynamics", "t_end": 2.5, "method": method, "rtol": 1e-6, "atol": 1e-8}
    data["output"] = {"every": 0.05, "checkpoint_every": 0.5}
    whole = execute(Case.from_dict(data), tmp_path / "whole.h5").result
    angle = np.asarray(whole["joints/slide/position"])[:, 0]
    half = np.pi * np.sqrt((INERTIA + MASS * (LEAD / (2.0 * np.pi)) ** 2) / 500.0)  # time in the stop
    assert angle[-1] == pytest.approx(100.0 - SPEED * (2.5 - half - 100.0 / SPEED), abs=0.05)

    def stop(t):
        if t >= 1.0:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted):
        execute(Case.from_dict(data), tmp_path / "part.h5", announce=stop)
    again = execute(Case.from_dict(data), tmp_path / "part.h5", resume=True).result
    assert compare(whole, again, rtol=0.0, atol=0.0).equal
