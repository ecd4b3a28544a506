"""Work of drives against the energies that a prescribed motion has, in closed form (F14)."""

import numpy as np
import pytest

from tests.test_prescribed_forces import run

M, HALF, ANGLE = 1.0, 0.5, 0.5  # bars: mass, half length, angle at the start
G = 9.81
WAY, RATE = 0.15, 2.0


def lift(cut, **analysis):
    """One stage of a scissor lift: two bars that cross, one on a bearing, the other on a driven foot."""
    ends = {"l": {"pos": [-HALF, 0, 0]}, "r": {"pos": [HALF, 0, 0]}}
    bar = {"type": "rigid", "mass": M, "inertia": {"ixx": 1e-3, "iyy": 1 / 12, "izz": 1 / 12}, "frames": ends}
    joints = {
        "base": {"type": "revolute", "from": "ground", "to": "a.l", "initial": {"position": ANGLE}},
        "middle": {"type": "revolute", "from": "a", "to": "b", "initial": {"position": -2 * ANGLE}},
        "guide": {"type": "prismatic", "from": "ground.rail", "to": "foot", "axis": [1, 0, 0], "cut": cut},
        "hinge": {"type": "revolute", "from": "b.r", "to": "foot"},
    }
    return {
        "format_version": 1,
        "gravity": [0, -G, 0],
        "ground": {"frames": {"rail": {"pos": [2 * HALF * np.cos(ANGLE), 0, 0]}}},
        "bodies": {"a": bar, "b": bar, "foot": {"type": "rigid", "mass": M}},
        "joints": joints,
        "drives": {"push": {"joint": "guide", "position": f"=-{WAY}*(1-cos({RATE}*t))"}},
        "analysis": {"type": "dynamics", "t_end": 3.0, **analysis},
        "output": {"every": 0.05},
    }


def energy(t):
    """Kinetic and potential energy of the lift over time."""
    x = 2 * HALF * np.cos(ANGLE) - WAY * (1 - np.cos(RATE * t))
    v = -WAY * RATE * np.sin(RATE * t)
    c = x / (2 * HALF)
    s = np.sqrt(1 - c * c)
    turn = -v / (2 * HALF * s)  # of a bar: x = 2 HALF cos
    centre = 0.25 * v * v + (HALF * c * turn) ** 2  # speed of the middle of the bars, squared
    return M * centre + turn * turn / 12 + 0.5 * M * v * v + 2 * M * G * HALF * s


#: radau is a reference, and slow
METHODS = ["dopri5", "dop853", "rk4", "generalized-alpha", pytest.param("radau", marks=pytest.mark.slow)]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_lift_takes_the_work_that_its_energy_says(method, cut, rtol, tmp_path):
    """A drive in a cut joint leaves nothing to integrate: no error of the motion asks for short steps."""
    result = run(lift(cut, method=method, rtol=rtol, atol=1e-3 * rtol), tmp_path)
    work = energy(np.asarray(result.time)) - energy(0.0)
    # the size of steps of order 2; samples inside steps by cubics; local errors add up
    size = {"generalized-alpha": 2.0 * rtol ** (2 / 3), "rk4": 3.0 * rtol**0.8}.get(method, 10.0 * rtol)
    assert np.abs(np.asarray(result.energy.work) - work).max() < size * np.abs(work).max()
    assert np.abs(result.energy.balance_error).max() < size * np.abs(work).max()


@pytest.mark.parametrize("method", METHODS)
def test_a_wheel_at_constant_speed_takes_work_beside_a_body_at_rest(method, tmp_path):
    """Its motion is exact with any step, and the other body needs none: W = m g c sin(w t)."""
    data = {
        "format_version": 1,
        "gravity": [0, -G, 0],
        "bodies": {
            "wheel": {
                "type": "rigid",
                "mass": M,
                "com": [0.2, 0, 0],
                "inertia": {k: 0.1 for k in ("ixx", "iyy", "izz")},
            },
            "rest": {"type": "rigid", "mass": M},
        },
        "joints": {
            "axle": {"type": "revolute", "from": "ground", "to": "wheel"},
            "slide": {"type": "prismatic", "from": "ground", "to": "rest", "axis": [1, 0, 0]},
        },
        "drives": {"motor": {"joint": "axle", "position": "=5*t"}},
        "analysis": {"type": "dynamics", "t_end": 3.0, "method": method, "rtol": 1e-6},
        "output": {"every": 0.05},
    }
    result = run(data, tmp_path)
    work = 0.2 * M * G * np.sin(5.0 * np.asarray(result.time))
    # steps of order 2; samples inside long steps by cubics, whose ends are exact to rtol
    size = {"generalized-alpha": 2e-4, "rk4": 5e-4}.get(method, 1e-5)
    assert np.abs(np.asarray(result.energy.work) - work).max() < size * 0.2 * M * G


def test_no_implicit_method_is_chosen_where_drives_determine_the_motion(tmp_path):
    result = run(lift(True, t_end=200.0) | {"output": {"every": 1.0}}, tmp_path)
    assert "the drives determine the motion" in str(result["provenance/log"])


ARM, RAM, STIFF, MIN, SWING, PACE = 0.4, 30.0, 4e6, 0.05, 0.225, 6.0  # toggle: arms, ram, workpiece, drive


def toggle(cut, **analysis):
    """A toggle press: two arms in line push a ram onto a workpiece; the lower arm is driven."""
    ends = {"l": {"pos": [0, -ARM / 2, 0]}, "r": {"pos": [0, ARM / 2, 0]}}
    bar = {"type": "rigid", "mass": M, "inertia": {"ixx": 0.01, "iyy": 1e-3, "izz": 0.01}, "frames": ends}
    start = MIN + 2 * SWING
    joints = {
        "base": {"type": "revolute", "from": "ground", "to": "a.l", "initial": {"position": start}}
        | {"cut": cut == "base"},
        "knee": {"type": "revolute", "from": "a.r", "to": "b.l", "initial": {"position": -2 * start}},
        "guide": {"type": "prismatic", "from": "ground", "to": "ram", "axis": [0, 1, 0]}
        | {"initial": {"position": 2 * ARM * np.cos(start)}}
        | {"spring": {"stiffness": STIFF, "free": 2 * ARM * np.cos(start)}},
        "pin": {"type": "revolute", "from": "b.r", "to": "ram", "cut": cut == "pin"},
    }
    return {
        "format_version": 1,
        "gravity": [0, -G, 0],
        "bodies": {"a": bar, "b": bar, "ram": {"type": "rigid", "mass": RAM}},
        "joints": joints,
        "drives": {"push": {"joint": "base", "position": f"={MIN + SWING}+{SWING}*cos({PACE}*t)"}},
        "analysis": {"type": "dynamics", "t_end": 2.0, **analysis},
        "output": {"every": 0.01},
    }


def energy_of_the_toggle(t):
    """Kinetic, potential and elastic energy of the press over time."""
    phi, rate = MIN + SWING + SWING * np.cos(PACE * t), -SWING * PACE * np.sin(PACE * t)
    c, s = np.cos(phi), np.sin(phi)
    centres = (ARM / 2 * rate) ** 2 + (ARM / 2 * c * rate) ** 2 + (1.5 * ARM * s * rate) ** 2
    kinetic = 0.5 * M * centres + 0.01 * rate**2 + 0.5 * RAM * (2 * ARM * s * rate) ** 2
    pressed = 2 * ARM * (c - np.cos(MIN + 2 * SWING))
    return kinetic + (2 * M + 2 * RAM) * G * ARM * c + 0.5 * STIFF * pressed**2


@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
@pytest.mark.parametrize("cut", ["base", "pin"])
@pytest.mark.parametrize("method", ["auto", "dopri5", "generalized-alpha"])
def test_a_toggle_press_takes_the_work_of_its_workpiece(method, cut, rtol, tmp_path):
    result = run(toggle(cut, method=method, rtol=rtol, atol=1e-3 * rtol), tmp_path)
    work = energy_of_the_toggle(np.asarray(result.time)) - energy_of_the_toggle(0.0)
    size = 2.0 * rtol ** (2 / 3) if method == "generalized-alpha" else 10.0 * rtol
    assert np.abs(np.asarray(result.energy.work) - work).max() < size * np.abs(work).max()
    assert "do not trust" not in str(result["summary/text"])
