"""Forces that a prescribed motion takes, and what stands beside it, against closed forms (F35, F36)."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError, SolverError

MU = 0.3
WEIGHT = 2.0 * 9.81


def run(data, tmp_path, name="run"):
    return execute(Case.from_dict(data, folder=tmp_path), tmp_path / f"{name}.h5").result


def slider(law, **more):
    """A slider of 2 kg whose joint x moves as prescribed."""
    joint = {"type": "prismatic", "from": "ground", "to": "m", "axis": [1, 0, 0], **more.pop("joint", {})}
    return {
        "bodies": {"m": {"type": "rigid", "mass": 2.0}},
        "joints": {"x": joint},
        "drives": {"d": {"joint": "x", **law}},
        "analysis": {"type": "kinematics", "t_end": 1.0, **more.pop("analysis", {})},
        "output": {"every": more.pop("every", 0.1)},
        **more,
    }


def efforts(result):
    return np.ravel(result.drives["d"].effort)


def test_a_driven_slider_overcomes_the_friction_of_its_weight(tmp_path):
    x, v = (lambda t: 0.2 * np.sin(3 * t)), (lambda t: 0.6 * np.cos(3 * t))
    data = slider(
        {"position": "=0.2*sin(3*t)"}, gravity=[0, 0, -9.81],
        joint={"friction": {"coefficient": MU}, "damper": {"damping": 4.0}},
    )  # fmt: skip
    result = run(data, tmp_path)
    t = np.asarray(result.time)
    expected = -18.0 * x(t) + 4.0 * v(t) + MU * WEIGHT * np.sign(v(t))
    np.testing.assert_allclose(efforts(result), expected, rtol=1e-9)


def test_a_driven_hinge_overcomes_the_friction_of_its_reaction(tmp_path):
    """A body of 2 kg, mass centre at 0.5 m: mu r |F| of the force in the hinge, here by hand."""
    body = {"type": "rigid", "mass": 2.0, "com": [0.5, 0, 0], "inertia": {"ixx": 0.1, "iyy": 0.1, "izz": 0.1}}
    hinge = {
        "type": "revolute", "from": "ground", "to": "a", "friction": {"coefficient": 0.2, "radius": 0.05},
    }  # fmt: skip
    data = slider({"position": "=1+5*t+4*t**2"}, gravity=[0, -9.81, 0])
    data |= {"bodies": {"a": body}, "joints": {"x": hinge}}
    result = run(data, tmp_path)
    t = np.asarray(result.time)
    turn, speed, rate = 1 + 5 * t + 4 * t**2, 5 + 8 * t, 8.0
    ax = 0.5 * (-np.cos(turn) * speed**2 - np.sin(turn) * rate)
    ay = 0.5 * (-np.sin(turn) * speed**2 + np.cos(turn) * rate)
    friction = 0.01 * np.hypot(2 * ax, 2 * ay + WEIGHT)
    expected = 0.6 * rate + WEIGHT * 0.5 * np.cos(turn) + friction
    np.testing.assert_allclose(efforts(result), expected, rtol=1e-9)
    np.testing.assert_allclose(friction[[0, 5, 10]], [0.204, 1.003, 1.799], atol=1e-3)


def test_inverse_dynamics_overcomes_friction_by_a_coefficient(tmp_path):
    t = np.linspace(0.0, 1.0, 101)
    table = np.column_stack([t, 0.4 * t])
    np.savetxt(tmp_path / "m.csv", table, delimiter=",", header="time,x", comments="")
    data = slider({}, gravity=[0, 0, -9.81], joint={"friction": {"coefficient": MU}})
    del data["drives"]
    data["analysis"] = {"type": "inverse_dynamics", "motion": "m.csv"}
    result = run(data, tmp_path)
    np.testing.assert_allclose(np.ravel(result.drives["motion_x"].effort), MU * WEIGHT, rtol=1e-8)


def disc(**more):
    """A disc of 1 kg m2 on a shaft, its motion in m.csv."""
    body = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.5, "iyy": 0.5, "izz": 1.0}}
    return {
        "bodies": {"disc": body},
        "joints": {"shaft": {"type": "revolute", "from": "ground", "to": "disc"}},
        "analysis": {"type": "inverse_dynamics", "motion": "m.csv"} | more.pop("analysis", {}),
        **more,
    }


def measured(folder, header="time,shaft", start=0.0):
    t = np.linspace(start, start + 1.0, 21)
    table = np.column_stack([t] + [t**2] * header.count(","))
    np.savetxt(folder / "m.csv", table, delimiter=",", header=header, comments="")


@pytest.mark.parametrize(
    ("header", "more", "said"),
    [
        ("time,shaft", {"drives": {"q": {"joint": "shaft", "position": "=t"}}}, r"driven by drives\.q"),
        ("time,shaft,shaft", {}, 'columns "shaft" and "shaft" are both angle of joint shaft'),
        ("time,shaft.angle,joints.shaft.position", {}, "are both angle of joint shaft"),
    ],
)
def test_motion_of_a_coordinate_that_is_given_twice_is_refused(header, more, said, tmp_path):
    measured(tmp_path, header)
    with pytest.raises(InputError, match=said):
        run(disc(**more), tmp_path)


@pytest.mark.parametrize(("start", "analysis"), [(1.0, {}), (0.0, {"t_end": 3.0})])
def test_motion_that_does_not_cover_the_run_is_refused_with_both_ranges(start, analysis, tmp_path):
    measured(tmp_path, start=start)
    end = analysis.get("t_end", 2.0)
    said = rf"m\.csv.*from t = {start:g} s to {start + 1:g} s, the run from 0 s to {end:g} s"
    with pytest.raises(InputError, match=said):
        run(disc(analysis=analysis), tmp_path)


def test_a_free_base_follows_the_result_whose_arm_pushed_it(tmp_path):
    """Body and arm are pushed apart by sin(5 t): the effort that is found again; the base needs none."""
    inertia = {"ixx": 0.02, "iyy": 0.03, "izz": 0.04}
    data = {
        "bodies": {
            "b": {"type": "rigid", "mass": 1.0, "inertia": inertia,
                  "initial": {"velocity": [1, 0, 0], "angular_velocity": [0, 0, 2]}},
            "a": {"type": "rigid", "mass": 1.0, "com": [0.3, 0, 0], "inertia": inertia},
            "p": {"type": "particle", "mass": 1.0, "initial": {"velocity": [0, 1, 0]}},
        },
        "joints": {"h": {"type": "revolute", "from": "b", "to": "a", "initial": {"velocity": 1.0}}},
        "forces": {"t": {"type": "joint_force", "joint": "h", "value": "=sin(5*t)"}},
        "analysis": {"type": "dynamics", "t_end": 0.5, "rtol": 1e-9}, "output": {"every": 0.002},
    }  # fmt: skip
    forward = run(data, tmp_path, "forward")
    inverse = data | {"forces": {}, "analysis": {"type": "inverse_dynamics", "motion": "forward.h5"}}
    result = run(inverse | {"output": {"every": 0.05}}, tmp_path)
    effort = {name: np.asarray(result.drives[name].effort)[2:-2] for name in result.drives}
    np.testing.assert_allclose(
        np.ravel(effort.pop("motion_h_angle")), np.sin(5 * result.time[2:-2]), atol=1e-4
    )
    assert set(effort) == {
        f"motion_{name}" for name in ("b_x", "b_y", "b_z", "b_rotation", "p_x", "p_y", "p_z")
    }
    assert max(np.abs(values).max() for values in effort.values()) < 1e-3
    for body in "bap":
        np.testing.assert_allclose(
            result.bodies[body].position, forward.bodies[body].position[::25], atol=1e-7
        )


def slider_drives_crank(first):
    """A crank turned at 1 rad/s from angle `first` by the slider of 1 kg at its rod, against 1 N m."""
    way = "0.1*cos(first + t) + sqrt(0.09 - (0.1*sin(first + t))**2)"
    arm = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.01, "iyy": 0.01, "izz": 0.01}}
    lean = -first - np.arcsin(np.sin(first) / 3.0)
    return {
        "bodies": {
            "crank": arm | {"frames": {"end": {"pos": [0.1, 0, 0]}}},
            "rod": {"type": "rigid", "mass": 0.0, "frames": {"end": {"pos": [0.3, 0, 0]}}},
            "slider": {"type": "rigid", "mass": 1.0},
        },
        "joints": {
            "main": {
                "type": "revolute", "from": "ground", "to": "crank",
                "initial": {"position": first, "velocity": 1.0},
            },
            "big": {"type": "revolute", "from": "crank.end", "to": "rod", "initial": {"position": lean}},
            "guide": {"type": "prismatic", "from": "ground", "to": "slider", "axis": [1, 0, 0]},
            "small": {"type": "revolute", "from": "rod.end", "to": "slider"},
        },
        "drives": {"d": {"joint": "guide", "position": f"={way}"}},
        "parameters": {"first": first},
        "forces": {"load": {"type": "joint_force", "joint": "main", "value": -1.0}},
        "analysis": {"type": "kinematics", "t_end": 1.0},
        "output": {"every": 0.002},
    }  # fmt: skip


def test_forces_near_a_dead_point_that_a_drive_passes_are_those_of_the_place(tmp_path):
    """They grow like one over the distance, to both sides with another sign: no limit is to be taken."""
    found = execute(Case.from_dict(slider_drives_crank(2.5)), tmp_path / "a.h5")
    t = np.asarray(found.result.time)
    a, h = 2.5 + t, 1e-4

    def travel(a):
        return 0.1 * np.cos(a) + np.sqrt(0.09 - (0.1 * np.sin(a)) ** 2)

    slope = -0.1 * np.sin(a) - 0.01 * np.sin(a) * np.cos(a) / np.sqrt(0.09 - (0.1 * np.sin(a)) ** 2)
    by_hand = (travel(a - h) - 2.0 * travel(a) + travel(a + h)) / h**2 + 1.0 / slope
    assert np.abs(a - np.pi).min() < 1e-3 and np.abs(by_hand).max() > 1e4
    np.testing.assert_allclose(efforts(found.result), by_hand, rtol=1e-6)
    np.testing.assert_allclose(found.result.joints["main"].position[:, 0], a, atol=1e-10)
    assert np.abs(found.result.energy.balance_error).max() < 1e-5
    assert any(
        "small" in text and "passes a dead point near t = 0.6" in text for text in found.summary.warnings
    )
    assert list(found.result["events/kind"]) == ["change_point"]


@pytest.mark.slow
def test_a_drive_that_stands_in_a_dead_point_is_an_error(tmp_path):
    data = slider_drives_crank(2.5)
    data["output"] = {"times": [np.pi - 2.5]}
    with pytest.raises(SolverError, match=r"t = 0\.641593 s.*joints\.(small|big|guide).* in a dead point"):
        execute(Case.from_dict(data), tmp_path / "a.h5")
