"""Differences that suit what they differentiate, and linear models through kinks and small geometry (F38)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.dynamics.analyses.linearize import linearize
from flexmbs.dynamics.analyses.slopes import slopes
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from tests.dynamics.mechanisms import moving_state, random_mechanism


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-6])
def test_derivatives_of_smooth_functions_are_good_to_eight_digits_however_fast_they_bend(size):
    """Beside offsets and rows of other sizes; units only choose the first step."""

    def f(x):
        fast = np.sin(0.3 + x[0] / size)
        return np.array(
            [7.0 + fast, 1e6 * (x[1] + x[1] ** 3), np.exp(x[0]) / (1.0 + (x[1] / size) ** 2), 3.0]
        )

    found = slopes(f, np.array([1.0, 5.0]))
    expected = [[np.cos(0.3) / size, 0.0], [0.0, 1e6], [1.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(found.values, expected, rtol=1e-8, atol=1e-8 / size)
    assert not (found.kinks | found.jumps).any()
    assert (np.abs(found.values - expected) <= found.error + 1e-15 / size).all()


def test_a_kink_and_a_jump_in_the_place_itself_are_found_and_one_beside_it_is_passed_by():
    def f(x):
        return np.array([abs(x[0]) + x[0], np.sign(x[1]), max(0.0, x[0] + 1e-8), abs(x[0]) ** 3, x[1] ** 2])

    found = slopes(f, np.ones(2))
    assert found.kinks[:, 0].tolist() == [True, False, False, False, False]
    assert found.jumps[:, 1].tolist() == [False, True, False, False, False]
    np.testing.assert_allclose(found.values[:, 0], [1.0, 0.0, 1.0, 0.0, 0.0], atol=1e-8)
    assert (found.left[0, 0], found.right[0, 0]) == (0.0, 2.0)


def test_one_bit_that_tips_in_the_place_itself_is_rounding():
    """Everywhere but there the function is the next number: rounding is not always random."""

    def f(x):
        bit = float(x[0] != 0.0)
        return np.array([9.81 + bit * 2e-15, bit * 1e-17, np.sign(x[0]) * 1e-17, 9.81])

    found = slopes(f, np.ones(1))
    assert not (found.kinks | found.jumps).any() and abs(found.values[0, 0]) < 1e-10


def test_differences_step_less_far_where_a_function_ends():
    found = slopes(lambda x: np.sqrt(np.where(x >= -1e-5, x + 1e-5, np.nan)), np.ones(1))
    assert found.values[0, 0] == pytest.approx(0.5e5**0.5 / np.sqrt(2.0), rel=1e-7)


def slider(mass=1.0, forces=None, bodies=None, gravity=0.0, **keys):
    """A body on rails along x, and what acts on it."""
    joint = {"type": "prismatic", "from": "ground", "to": "m", "axis": [1, 0, 0]}
    return {
        "gravity": [-gravity, 0, 0],
        "ground": {"frames": {"near": {"pos": [0, 0.001, 0]}}},
        "bodies": {"m": {"type": "rigid", "mass": mass}} | (bodies or {}),
        "joints": {"x": joint | keys},
        "forces": forces or {},
    }


def linear(data):
    system = Case.from_dict(data).system()
    return linearize(system, system.initial_state())


G, K = 9.81, 1e6
SUNK, PRESSED = 2.0 * G / K, (2.0 * G / 1e9) ** (2 / 3)


def effort(law):
    return {"c": {"type": "joint_force", "joint": "x", "value": law}}


@pytest.mark.parametrize(
    "keys, stiffness",
    [
        ({"initial": {"position": -SUNK}, "stop": {"lower": 0, "upper": 1, "stiffness": K, "damping": 0}}, K),
        (
            {"initial": {"position": -SUNK}, "forces": effort(f"=where(x.position < 0, {-K}*x.position, 0)")},
            K,
        ),
        (
            {"initial": {"position": -PRESSED}, "forces": effort("=1e9*max(0, -x.position)**1.5")},
            1.5e9 * np.sqrt(PRESSED),
        ),
    ],
    ids=["stop", "where", "hertz"],
)
def test_a_body_that_rests_on_a_contact_swings_on_its_stiffness_F38(keys, stiffness):
    """It sinks in by less than a step of the differences."""
    lin = linear(slider(2.0, gravity=G, **keys))
    assert 2 * np.pi * lin.frequency_hz[0] == pytest.approx(np.sqrt(stiffness / 2.0), rel=1e-8)
    assert lin.findings == []


def test_a_short_preloaded_spring_beside_a_large_model_F38():
    """Across the motion it holds by its force alone, k (h - l0) / h; as long as a step of the differences."""
    spring = {"type": "spring_damper", "from": "ground.near", "to": "m", "stiffness": 1000, "length": 0.0005}
    far = {"m": {"type": "rigid", "mass": 1.0, "frames": {"end": {"pos": [1.0, 0, 0]}}}}
    lin = linear(slider(bodies=far, forces={"s": spring}))
    assert 2 * np.pi * lin.frequency_hz[0] == pytest.approx(np.sqrt(1000 * 0.5), rel=1e-8)


@pytest.mark.parametrize("size, speed", [(1.0, 1e-3), (100.0, 1e-3), (1.0, 1e-6), (100.0, 1e-6)])
def test_regularised_friction_damps_by_its_slope_in_models_of_any_size_F38(size, speed):
    body = {"m": {"type": "rigid", "mass": 2.0, "frames": {"end": {"pos": [size, 0, 0]}}}}
    lin = linear(slider(bodies=body, friction={"effort": 1.0, "stiction_velocity": speed}))
    assert lin.A[1, 1] == pytest.approx(-1.5 / speed / 2.0, rel=1e-8)


@pytest.mark.parametrize("velocity", [0.0, 0.02])
def test_friction_by_reactions_is_in_the_linear_model_F38(velocity):
    """On a slider across gravity: mu m g times the slope of the regularised law, 1.5/v0 (1 - v^2/v0^2)."""
    data = slider(
        2.0, friction={"coefficient": 0.3, "stiction_velocity": 0.1}, initial={"velocity": velocity}
    )
    data["gravity"] = [0, 0, -G]
    slope = -0.3 * G * 1.5 / 0.1 * (1.0 - (velocity / 0.1) ** 2)
    np.testing.assert_allclose(linear(data).A, [[0.0, 1.0], [0.0, slope]], rtol=1e-8, atol=1e-7)


def test_friction_of_a_pendulum_grows_with_the_force_through_its_hinge_F38():
    """Turning fast, the bearing carries m (g cos + w^2 l): slopes by angle and speed, by hand."""
    m, inertia, length, mu, radius, w, angle = 2.0, 0.1, 0.5, 0.3, 0.02, 5.0, 0.4
    joint = {"type": "revolute", "from": "ground", "to": "a", "axis": [0, 1, 0]}
    friction = {"coefficient": mu, "radius": radius, "stiction_velocity": 1e-3}
    data = {
        "gravity": [0, 0, -G],
        "bodies": {"a": {"type": "rigid", "mass": m, "com": [0, 0, -length],
                         "inertia": {"ixx": 0.1, "iyy": inertia, "izz": 0.1}}},
        "joints": {"h": joint | {"friction": friction, "initial": {"position": angle, "velocity": w}}},
    }  # fmt: skip

    def acceleration(x, v):
        """Along and across the arm; found by iteration, as friction and reaction depend on each other."""
        a = 0.0
        for _ in range(200):
            across, along = m * (length * a + G * np.sin(x)), m * (length * v * v + G * np.cos(x))
            moment = -m * G * length * np.sin(x) - mu * radius * np.hypot(across, along)
            a = moment / (inertia + m * length**2)
        return a

    h = 1e-5
    by_x = (acceleration(angle + h, w) - acceleration(angle - h, w)) / (2 * h)
    by_v = (acceleration(angle, w + h) - acceleration(angle, w - h)) / (2 * h)
    np.testing.assert_allclose(linear(data).A[1], [by_x, by_v], rtol=1e-7)


@pytest.mark.parametrize(
    "law, name, text",
    [
        (f"=where(x.position < 0, {-K}*x.position, 0)", "x.travel", "its slope is -500000 below and 0 above"),
        ("=-abs(x.velocity) - 3*x.velocity", "x.travel rate", "its slope is -1 below and -2 above"),
        ("=-sign(x.velocity)", "x.travel rate", "it jumps there"),
        ("=1e9*max(0, -x.position)**1.5", "x.travel", "below and 0 above"),
    ],
)
def test_a_state_in_a_kink_is_said_with_what_has_no_slope_F38(tmp_path, law, name, text):
    said = []
    data = slider(2.0, forces=effort(law)) | {"analysis": {"type": "linearize"}}
    fm.run(Case.from_dict(data), tmp_path / "r.h5", say=said.append)
    start = f"warning: acceleration of x.travel has no derivative by {name}: "
    assert any(line.startswith(start) and text in line for line in said)


def test_a_state_at_the_end_of_what_a_law_knows_has_no_linear_model_F38():
    with pytest.raises(
        SolverError, match="of x.travel has no value on one side of the state, .* by x.travel"
    ):
        linear(slider(forces=effort("=-sqrt(x.position)")))


def test_rounding_is_no_kink_F38():
    """An idle rod between balls, a joint that decouples: what changes is rounding, at every step."""
    from flexmbs.resources import resource

    rod = Case.load(resource("cases", "rssr.toml")).system()
    assert kinks(linearize(rod, rod.initial_state())) == []
    chain = build(random_mechanism(48, n_loops=1))
    assert kinks(linearize(chain, moving_state(chain, 48)[1])) == []


def kinks(linear):
    """Findings on derivatives; frequencies near zero are not known to a thousandth, which is said apart."""
    return [found for found in linear.findings if found.code != "linear.rounding"]
