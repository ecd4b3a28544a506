"""A linear model stands about a steady motion, unless another state is asked for by name (F38)."""

import numpy as np
import pytest
from scipy.linalg import eigh

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.analyses.statics import equilibrium
from flexmbs.dynamics.analyses.steady import steady_state
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError, UsageError
from flexmbs.simulate.analyses import start_state
from flexmbs.simulate.settings import RunSettings

LENGTH, WIDTH, HEIGHT, YOUNG, DENSITY = 4.75, 0.12, 0.04, 70e9, 2700.0
SPIN = 40.0


def run(data, path, **more):
    """The linear model and the warnings."""
    case = {"format_version": 1, "analysis": {"type": "linearize"} | more} | data
    found = execute(Case.from_dict(case), path)
    return found.result.linear, " ".join(found.summary.warnings)


def flaps_of_a_blade(spin, n=60):
    """Angular frequencies of a rotating cantilever out of its plane of rotation (Euler, Hermite elements)."""
    L, A, I = LENGTH / n, WIDTH * HEIGHT, WIDTH * HEIGHT**3 / 12
    a, b, c, d = 12, 6 * L, 4 * L * L, 2 * L * L
    bent = YOUNG * I / L**3 * np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]])
    a, b, c, d = 156, 22 * L, 54, 13 * L
    heavy = [[a, b, c, -d], [b, 4 * L * L, d, -3 * L * L], [c, d, a, -b], [-d, -3 * L * L, -b, 4 * L * L]]
    pull = [
        [36, 3 * L, -36, 3 * L],
        [3 * L, 4 * L * L, -3 * L, -L * L],
        [-36, -3 * L, 36, -3 * L],
        [3 * L, -L * L, -3 * L, 4 * L * L],
    ]
    K, M = np.zeros((2, 2 * n + 2, 2 * n + 2))
    for e in range(n):
        place, x = slice(2 * e, 2 * e + 4), (e + 0.5) * L
        tension = 0.5 * DENSITY * A * spin**2 * (LENGTH**2 - x**2)
        K[place, place] += bent + tension / (30 * L) * np.array(pull)
        M[place, place] += DENSITY * A * L / 420 * np.array(heavy)
    return np.sqrt(eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True))


@pytest.fixture(scope="module")
def blade(tmp_path_factory):
    """File of a blade along x, clamped at its root."""

    def make(name, ends, frame):
        sets = {"root": {"set": "x_min"}, "tip": {"set": "x_max"}}
        path = tmp_path_factory.mktemp("blade") / f"{name}.modal.h5"
        recipe = {
            "mesh": {"shape": "beam", "length": LENGTH, "divisions": 24,
                     "section": {"rectangle": [WIDTH, HEIGHT]}},
            "material": {"young": YOUNG, "poisson": 0.3, "density": DENSITY},
            "interfaces": {end: sets[end] for end in ends},
        }  # fmt: skip
        fm.reduce(recipe, frame=frame, modes=8).save(path)
        return str(path)

    return make


def hub(path, **joint):
    return {
        "bodies": {"blade": {"type": "flexible", "modal": path}},
        "joints": {"hub": {"type": "revolute", "from": "ground", "to": "blade.root"} | joint},
    }


@pytest.mark.parametrize("given", ["drive", "start"])
@pytest.mark.parametrize("ends, frame", [(["root"], "tangent:root"), (["root", "tip"], "mean-axis")])
def test_a_spinning_blade_has_the_flaps_of_a_spinning_blade(blade, tmp_path, given, ends, frame):
    """Second flap above all: about the straight blade, which nothing pulls, it is a third too low."""
    path = blade("-".join(ends), ends, frame)
    data = hub(path, **({"initial": {"velocity": SPIN}} if given == "start" else {}))
    if given == "drive":
        data["drives"] = {"motor": {"joint": "hub", "velocity": SPIN}}
    linear, said = run(data, tmp_path / "r.h5")
    found = 2 * np.pi * np.array(linear.frequency_hz)
    for flap in flaps_of_a_blade(SPIN)[:3]:
        assert np.abs(found / flap - 1.0).min() < 2e-3  # thin beam, few modes
    assert not said


def test_about_a_straight_blade_is_said_with_the_acceleration(blade, tmp_path):
    path = blade("named", ["root", "tip"], "mean-axis")
    data = hub(path) | {"drives": {"motor": {"joint": "hub", "velocity": SPIN}}}
    linear, said = run(data, tmp_path / "r.h5", about="assembled")
    assert "not steady" in said and "m/s^2 of bodies.blade.q[" in said
    flap = flaps_of_a_blade(SPIN)[1]
    assert np.abs(2 * np.pi * np.array(linear.frequency_hz) / flap - 1.0).min() > 0.2


INERTIA = {"ixx": 0.02, "iyy": 0.02, "izz": 0.03}


def top(spin, tilt=0.0):
    """A top on its tip, 0.1 m below its mass centre."""
    turned = [float(np.cos(tilt / 2)), float(np.sin(tilt / 2)), 0.0, 0.0]
    return {
        "gravity": [0, 0, -9.81],
        "bodies": {"top": {"type": "rigid", "mass": 1, "com": [0, 0, 0.1], "inertia": INERTIA}},
        "joints": {"tip": {"type": "spherical", "from": "ground", "to": "top",
                           "initial": {"position": turned, "velocity": [0, 0, spin]}}},
    }  # fmt: skip


def test_a_sleeping_top_sleeps(tmp_path):
    """Rates in ground: roots of A w^2 - C W w + m g l = 0, real where it sleeps; seen from the top less W."""
    linear, said = run(top(60.0), tmp_path / "r.h5")
    A, C = 0.02 + 0.1**2, 0.03
    rates = np.roots([A, -C * 60.0, 9.81 * 0.1])
    found = np.sort(2 * np.pi * np.array(linear.frequency_hz))[-2:]
    np.testing.assert_allclose(found, np.sort(np.abs(rates - 60.0)), rtol=1e-8)
    assert np.abs(np.array(linear.damping_ratio)).max() < 1e-6 and not said


def test_a_free_body_keeps_its_nutation(tmp_path):
    body = {"type": "rigid", "mass": 1, "inertia": INERTIA,
            "initial": {"velocity": [1, 2, 3], "angular_velocity": [0, 0, 3.0]}}  # fmt: skip
    linear, said = run({"bodies": {"b": body}}, tmp_path / "r.h5")
    np.testing.assert_allclose(
        np.sort(2 * np.pi * np.array(linear.frequency_hz))[-2:], [3.0 * 0.5, 3.0], rtol=1e-8
    )
    assert not said


def test_a_leaning_top_is_no_steady_motion_by_itself():
    """It falls or goes round: there is another steady motion with its spin, hanging."""
    system = build(Case.from_dict({"format_version": 1} | top(60.0, tilt=0.3)).model())
    found = steady_state(system, system.initial_state())
    place = system.evaluator()
    place.kinematics(found)
    np.testing.assert_allclose(np.abs(found.vel), [0, 0, 60.0], atol=1e-9)
    np.testing.assert_allclose(np.abs(place.ws.body.R[1][:, 2]), [0, 0, 1], atol=1e-6)


def pendulum(**start):
    return {
        "gravity": [0, -9.81, 0],
        "bodies": {"bob": {"type": "rigid", "mass": 1, "com": [0, -0.5, 0]}},
        "joints": {"pin": {"type": "revolute", "from": "ground", "to": "bob", "initial": start}},
    }


def test_a_pendulum_is_linearised_hanging_by_itself(tmp_path):
    linear, said = run(pendulum(position=1.0), tmp_path / "r.h5")
    assert 2 * np.pi * linear.frequency_hz[0] == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-8)
    assert not said
    linear, said = run(pendulum(position=1.0), tmp_path / "a.h5", about="assembled")
    rate = np.sqrt(9.81 / 0.5 * np.cos(1.0))
    assert 2 * np.pi * linear.frequency_hz[0] == pytest.approx(rate, rel=1e-8)
    assert f"unbalanced acceleration is {-9.81 / 0.5 * np.sin(1.0):.3g} rad/s^2 of joints.pin" in said


def test_a_swing_through_the_lowest_place_is_no_steady_motion(tmp_path):
    """Balanced for the moment; the speed is no spin and dropped, by name."""
    linear, said = run(pendulum(velocity=3.0), tmp_path / "r.h5")
    assert "the state is sought without the speeds of joints.pin" in said
    assert 2 * np.pi * linear.frequency_hz[0] == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-8)
    _, said = run(pendulum(velocity=3.0), tmp_path / "a.h5", about="assembled")
    assert "when it has moved on by" in said


def test_a_driven_blade_in_gravity_is_balanced_for_the_moment(tmp_path):
    data = pendulum()
    data["bodies"]["arm"] = {"type": "rigid", "mass": 1, "inertia": INERTIA}
    data["joints"]["pin"] = {"type": "revolute", "from": "arm", "to": "bob", "spring": {"stiffness": 50}}
    data["joints"]["motor"] = {"type": "revolute", "from": "ground", "to": "arm"}
    data["drives"] = {"motor": {"joint": "motor", "velocity": 5.0}}
    _, said = run(data, tmp_path / "r.h5")
    assert "balanced for the moment only" in said and "of joints.pin" in said
    _, said = run(data | {"gravity": [0, 0, -9.81]}, tmp_path / "z.h5")
    assert not said


def test_where_there_is_no_steady_motion_the_other_choice_is_named(tmp_path):
    falling = {"gravity": [0, 0, -9.81], "bodies": {"b": {"type": "rigid", "mass": 1, "inertia": INERTIA}}}
    with pytest.raises(SolverError, match=r'about = "assembled"'):
        run(falling, tmp_path / "r.h5")


def test_a_whirling_rod_whose_speeds_are_no_steady_motion_is_refused(tmp_path):
    """A free body of three inertias that spins about a direction between its axes tumbles."""
    body = {"type": "rigid", "mass": 1, "inertia": {"ixx": 0.01, "iyy": 0.02, "izz": 0.03},
            "initial": {"angular_velocity": [1.0, 1.0, 1.0]}}  # fmt: skip
    with pytest.raises(SolverError, match='about = "assembled"'):
        run({"bodies": {"b": body}}, tmp_path / "r.h5")


def test_unknown_words_are_refused():
    system = build(Case.from_dict({"format_version": 1} | pendulum()).model())
    with pytest.raises(UsageError, match="assembled, equilibrium"):
        start_state(system, RunSettings(type="linearize", about="nothing"))


def test_a_search_with_the_spin_kept_is_that_of_statics_with_a_drive(tmp_path):
    """A ball on an arm that spins freely with its hub: the lean of a governor."""
    data = {
        "gravity": [0, 0, -9.81],
        "bodies": {
            "shaft": {"type": "rigid", "mass": 1, "inertia": INERTIA},
            "ball": {"type": "rigid", "mass": 1, "com": [0, 0, -0.5]},
        },
        "joints": {
            "spin": {"type": "revolute", "from": "ground", "to": "shaft", "initial": {"velocity": 6.0}},
            "arm": {"type": "revolute", "from": "shaft", "to": "ball", "axis": [0, 1, 0],
                    "initial": {"position": 0.5}},
        },
    }  # fmt: skip
    free = build(Case.from_dict({"format_version": 1} | data).model())
    driven = build(
        Case.from_dict(
            {"format_version": 1} | data | {"drives": {"m": {"joint": "spin", "velocity": 6.0}}}
        ).model()
    )
    lean = [steady_state(free, free.initial_state()), equilibrium(driven, driven.initial_state())]
    np.testing.assert_allclose(np.cos(lean[0].pos[1]), 9.81 / (36.0 * 0.5), rtol=1e-8)
    np.testing.assert_allclose(lean[0].pos[1], lean[1].pos[1], rtol=1e-8)
    assert lean[0].vel[0] == 6.0
