"""Forces that a prescribed motion takes, and what stands beside it, against closed forms (F35, F36)."""

import numpy as np

from flexmbs.case import Case
from flexmbs.case.runner import execute

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
