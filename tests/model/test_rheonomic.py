"""Whatever depends on time, over the registry: every coordinate driven, rods, relations; the work they do."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.check import kinetic_energy
from flexmbs.case.runner import execute
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse, spline_through
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints.base import ROTATION
from tests.dynamics.mechanisms import moving_state
from tests.model.test_registries import DRIVABLE, hung

STEP = 1e-4


def tabled(law):
    """The law as a C2 table of its values, which for a cubic is the law itself."""
    t = np.linspace(-1.0, 3.0, 41)
    values = parse(law).evaluate({"t": t})
    return parse('=table("law.csv", t)', load_table=lambda _: spline_through(t, values))


LAWS = {"expression": parse, "table": tabled}


def energy(system, state):
    """Kinetic energy of all bodies and their weight's, by their poses."""
    evaluator = system.evaluator()
    evaluator.kinematics(state := state.copy())
    total = kinetic_energy(system, state)
    for name, body in system.model.bodies.items():
        i = system.bodies.index(name)
        centre = evaluator.ws.body.r[i] + evaluator.ws.body.R[i] @ np.asarray(body.com, dtype=float)
        total -= body.mass * float(np.asarray(system.model.gravity) @ centre)
    return total


def power_by_energy(system, state, motion):
    """Rate of the energy along the motion: central differences over a step to both sides."""
    from flexmbs.dynamics.loops import projection

    found = []
    for h in (STEP, -STEP):
        there = state.copy()
        change = h * state.vel + 0.5 * h * h * motion.acc
        projection.add_increment(system.evaluator().tables, state.pos, change, there.pos)
        there.vel += h * motion.acc
        there.t += h
        found.append(energy(system, there))
    return (found[0] - found[1]) / (2.0 * STEP)


def moved(name, law):
    """A law of a coordinate; of a ball one angle about z, then the same about x."""
    found = law("=0.1 + 0.4*t + 0.8*t**2 - 0.3*t**3")
    return RotationLaw("angles", (found, found), np.eye(3)[[2, 0]]) if name == ROTATION else found


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("kind, name", DRIVABLE)
def test_the_effort_of_a_drive_on_any_coordinate_gives_the_power_that_the_motion_takes(kind, name, cut, law):
    model = hung(kind, cut, False).model
    model.add(Drive(name="d", joint="j", coordinate=name, position=moved(name, LAWS[law])))
    branch_model = hung(kind, False, False).model
    branch_model.add(Drive(name="d", joint="j", coordinate=name, position=moved(name, parse)))
    branch = build(branch_model)
    _, state = moving_state(branch, 4)
    system = build(model)
    state = system.state_like(branch, state) if cut else state
    motion = system.forward_dynamics(state)
    first, n = system.joints["j"].joint.drivable.index(name), 3 if name == ROTATION else 1
    number, rate, second = slice(first, first + n), np.array([0.4]), np.array([1.6])
    if name == ROTATION:  # in the axes after R_z R_x
        s, c = np.sin(0.1), np.cos(0.1)
        rate, second = np.array([0.4, 0.4 * s, 0.4 * c]), np.array([1.6, 1.6 * s, 1.6 * c])
        second += 0.16 * np.array([0.0, c, -s])
    np.testing.assert_allclose(motion["joints.j.velocity"][number], rate, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(motion["joints.j.acceleration"][number], second, rtol=1e-7, atol=1e-8)
    given = float(np.sum(motion["drives.d"] * rate))
    power = power_by_energy(system, state, motion)
    assert given == pytest.approx(power, abs=1e-5 * (abs(given) + 1.0))  # central differences


def shafts(**more):
    """A wheel on a shaft and a slider on a guide, both against ground."""
    wheel = {"type": "rigid", "mass": 1.0, "inertia": {"ixx": 0.2, "iyy": 0.2, "izz": 0.2}}
    return {
        "gravity": [0, 0, -9.81],
        "bodies": {"wheel": wheel, "slider": {"type": "rigid", "mass": 2.0}},
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "wheel"},
            "guide": {"type": "prismatic", "from": "ground", "to": "slider"},
        },
        "analysis": {"t_end": 1.0, "method": "dop853", "rtol": 1e-9, "atol": 1e-12},
    } | more


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["", "shaft", "guide"])
def test_a_relation_with_time_moves_both_sides_and_does_the_work(tmp_path, cut):
    """z = 0.3 phi + 0.1 sin 3t: m z'' 0.3 + J phi'' = -0.3 m g, and work = the energy that comes in."""
    data = shafts(
        couplings={"c": {"type": "expression", "zero": "=guide.position - 0.3*shaft.position - 0.1*sin(3*t)"}}
    )
    if cut:
        data["joints"][cut]["cut"] = True
    result = execute(Case.from_dict(data), tmp_path / "a.h5").result
    t = result["time"]
    m, J, k, g = 2.0, 0.2, 0.3, 9.81
    total = J + m * k * k
    # phi'' = (-k m g + k m 0.9 sin 3t) / total, from phi' = 0.. as assembled
    w0 = result["joints/shaft/velocity"][0, 0]
    phi = w0 * t - k * m * g * t * t / 2 / total + k * m * 0.9 / total * (t / 3 - np.sin(3 * t) / 9)
    np.testing.assert_allclose(result["joints/shaft/position"][:, 0], phi, atol=1e-8)
    second = (-k * m * g + k * m * 0.9 * np.sin(3 * t)) / total
    force = m * (k * second - 0.9 * np.sin(3 * t) + g)
    np.testing.assert_allclose(result["couplings/c/force"], force, rtol=1e-7)
    np.testing.assert_allclose(
        result["couplings/c/power"], force * result["joints/guide/velocity"][:, 0], rtol=1e-7
    )
    work = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (force * 0.3 * np.cos(3 * t))[:-1])])
    work += np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (force * 0.3 * np.cos(3 * t))[1:])])
    np.testing.assert_allclose(result["energy/work"], work, atol=1e-5)  # trapezoids
    assert np.abs(result["energy/balance_error"]).max() < 1e-7  # of 43 J, rtol


@pytest.mark.slow
def test_a_rod_whose_length_follows_a_table_does_the_work_of_its_force(tmp_path):
    """A pendulum drawn in: work = integral of the rod's force over its length, energy in balance."""
    t = np.linspace(0.0, 1.0, 21)
    np.savetxt(tmp_path / "length.csv", np.column_stack([t, 0.8 - 0.3 * t**2 + 0.1 * t**3]), delimiter=",")
    data = {
        "gravity": [0, -9.81, 0],
        "bodies": {
            "bob": {
                "type": "particle", "mass": 2.0, "initial": {"pos": [0.8, 0, 0], "velocity": [0, 0, 0]},
            }
        },
        "joints": {
            "rod": {"type": "distance", "from": "ground", "to": "bob", "length": '=table("length.csv", t)'}
        },
        "analysis": {"t_end": 1.0, "rtol": 1e-9, "atol": 1e-12},
    }  # fmt: skip
    result = execute(Case.from_dict(data, folder=tmp_path), tmp_path / "a.h5").result
    t, r = result["time"], result["bodies/bob/position"]
    np.testing.assert_allclose(np.linalg.norm(r, axis=1), 0.8 - 0.3 * t**2 + 0.1 * t**3, atol=1e-9)
    pull = np.einsum("ti,ti->t", result["joints/rod/reaction_force"], r) / np.linalg.norm(r, axis=1)
    power = pull * (-0.6 * t + 0.3 * t**2)
    work = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(t) * (power[1:] + power[:-1]))])
    np.testing.assert_allclose(result["energy/work"], work, atol=1e-5)  # trapezoids
    assert np.abs(result["energy/balance_error"]).max() < 1e-7
