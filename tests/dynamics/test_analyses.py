"""Statics, kinematics, inverse dynamics, linearisation against closed forms."""

import json

import numpy as np
import pytest

from flexmbs.dynamics.analyses.inverse import Follower, measured_drive
from flexmbs.dynamics.analyses.linearize import linearize
from flexmbs.dynamics.analyses.statics import equilibrium
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.resources import resource
from tests.dynamics.mechanisms import cloud, random_mechanism
from tests.model.test_couplings import four_bar


def slider_crank(p, drive=None):
    """The plane slider-crank of the reference file."""
    model = Model(gravity=(0, -p["g"], 0))
    model.add(
        RigidBody(
            name="crank", mass=p["m1"], com=[p["a1"], 0, 0], inertia=np.diag([1e-3, 1e-3, p["J1"]]),
            frames={"pin": Frame(pos=[p["r"], 0, 0])},
        ),
        RigidBody(
            name="rod", mass=p["m2"], com=[p["a2"], 0, 0], inertia=np.diag([1e-3, 1e-3, p["J2"]]),
            frames={"pin": Frame(pos=[p["l"], 0, 0])},
        ),
        RigidBody(name="slider", mass=p["m3"], inertia=np.eye(3) * 1e-3),
    )  # fmt: skip
    revolute = JOINTS["revolute"]
    model.add(
        revolute(name="main", from_frame="ground", to_frame="crank"),
        revolute(name="big", from_frame="crank.pin", to_frame="rod"),
        revolute(name="small", from_frame="rod.pin", to_frame="slider"),
        JOINTS["prismatic"](
            name="guide", from_frame="ground", to_frame="slider", axis=[1, 0, 0], position=[p["l"]]
        ),
    )
    if drive:
        model.add(Drive(name="motor", joint="main", position=drive))
    return model


def reference_problem(name):
    data = json.loads(resource("cases", "reference", f"{name}.json").read_text())
    return data["parameters"], data["reference"]


def test_driven_slider_crank_follows_its_closed_form_F35():
    p, expected = reference_problem("rigid-slider-crank")
    system = build(slider_crank(p, parse("=60*t")))
    follower = Follower(system.evaluator(), system.initial_state())
    for time in np.linspace(0.0, 2 * np.pi / 60, 73):
        follower.at(time)
        degrees = round(float(np.rad2deg(60 * time)), 6)
        key = f"{degrees:g}deg"
        if key in expected["a_slider_pos_vel_acc"]:
            check_slider(system, follower, expected, key)
    assert follower.idle == 0
    follower.at(np.deg2rad(137.0 + 360.0) / 60)
    check_slider(system, follower, expected, "137deg")


def check_slider(system, follower, expected, key):
    ws, i = follower.evaluator.ws, system.numbers.index["slider"]
    x, v, a = expected["a_slider_pos_vel_acc"][key]
    assert ws.body.r[i, 0] == pytest.approx(x, rel=1e-10)
    assert ws.body.v[i, 0] == pytest.approx(v, rel=1e-10, abs=1e-11)
    assert ws.body.a[i, 0] == pytest.approx(a, rel=1e-10)
    assert ws.joint.effort[0] == pytest.approx(expected["a_drive_torque"][key], rel=1e-9)


def test_forces_of_a_measured_motion_are_those_that_made_it_F36():
    p, _ = reference_problem("rigid-slider-crank")
    times = np.linspace(0.0, 0.1, 401)
    system = build(slider_crank(p))
    model = slider_crank(p)
    model.add(measured_drive("motor", "main", None, times, 0.3 + 40 * times**2 / 2))
    driven = build(model)
    follower = Follower(driven.evaluator(), driven.initial_state())
    for time in times[:200]:
        follower.at(time)
    torque = follower.evaluator.ws.joint.effort[0]
    # the same torque, as a force, makes the same acceleration
    from flexmbs.model.forces.joint_force import JointForce

    system.model.add(JointForce(name="m", joint="main", value=float(torque)))
    again = build(system.model)
    state = again.state_like(driven, follower.state)
    assert again.forward_dynamics(state)["joints.main.acceleration"][0] == pytest.approx(40.0, rel=1e-6)


def test_a_measured_motion_may_begin_slowly_and_end_soon_F36():
    """The place behind the start, where the rank is learnt, lies beyond the table: there is none."""
    model, t = four_bar(), np.linspace(0.0, 1.0, 11)
    model.add(measured_drive("motion_a", "a", None, t, 0.7 + 1e-5 * t + 0.01 * t**2))
    system = build(model)
    follower = Follower(system.evaluator(), system.initial_state())
    assert np.isfinite(follower.at(0.5)).all() and follower.idle == 0
    with pytest.raises(SolverError, match="drives.motion_a.*has no finite value"):
        follower.at(1.2)


def test_a_pendulum_hangs_down_in_equilibrium_F37():
    model = Model(gravity=(0, -9.81, 0))
    model.add(RigidBody(name="bob", mass=2.0, com=[0.7, 0, 0], inertia=np.eye(3) * 0.1))
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="bob", position=[1.0]))
    system = build(model)
    state = equilibrium(system, system.initial_state())
    assert np.sin(state.pos[0]) == pytest.approx(-1.0, abs=1e-9)
    lin = linearize(system, state)
    omega = np.sqrt(2.0 * 9.81 * 0.7 / (0.1 + 2.0 * 0.7**2))
    np.testing.assert_allclose(lin.frequency_hz, [omega / (2 * np.pi)], rtol=1e-9)


def test_equilibrium_of_a_loop_has_no_accelerations_F37():
    system = build(four_bar())
    state = equilibrium(system, system.initial_state())
    motion = system.forward_dynamics(state)
    for name in ("a", "b", "c", "d"):
        assert abs(motion[f"joints.{name}.acceleration"][0]) < 1e-7
    assert np.abs(state.vel).max() < 1e-12


def test_a_spinning_governor_finds_its_relative_equilibrium_F37():
    """An arm hinged on a shaft that turns steadily: cos(angle) = g / (w^2 l)."""
    w, length = 6.0, 0.5
    model = Model(gravity=(0, 0, -9.81))
    model.add(RigidBody(name="shaft", mass=1.0, inertia=np.eye(3)))
    model.add(RigidBody(name="ball", mass=1.0, com=[0, 0, -length], inertia=np.zeros((3, 3))))
    model.add(JOINTS["revolute"](name="spin", from_frame="ground", to_frame="shaft"))
    model.add(
        JOINTS["revolute"](name="arm", from_frame="shaft", to_frame="ball", axis=[0, 1, 0], position=[0.5])
    )
    model.add(Drive(name="motor", joint="spin", position=parse(f"={w}*t")))
    system = build(model)
    state = equilibrium(system, system.initial_state())
    angle = state.pos[system.joints["arm"].pos]
    assert np.cos(angle) == pytest.approx(9.81 / (w * w * length), rel=1e-9)
    # small vibrations about it: omega^2 = w^2 sin^2(angle)
    lin = linearize(system, state)
    np.testing.assert_allclose(lin.frequency_hz, [w * abs(np.sin(angle)) / (2 * np.pi)], rtol=1e-8)


@pytest.mark.parametrize("seed", [100, 103, 108])
def test_linear_model_predicts_accelerations_near_the_state_F38(seed):
    from flexmbs.dynamics.analyses.linearize import Rates
    from tests.dynamics.mechanisms import moving_state

    system = build(random_mechanism(seed, n_loops=1))
    _, state = moving_state(system, 2)
    lin = linearize(system, state)
    rates = Rates(system, state)
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=len(lin.A))
    ends = [rates.at(h * direction) for h in (1e-5, -1e-5)]
    slope = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(lin.A @ direction, slope, rtol=1e-5, atol=1e-6 * np.abs(slope).max())


def test_frequencies_of_a_free_flexible_body_are_those_of_its_modes_F38():
    from types import SimpleNamespace

    from flexmbs.model.bodies import FlexibleBody

    B = cloud(np.random.default_rng(4), 3)
    model = Model()
    body = SimpleNamespace(integrals=B, interfaces={})
    model.add(FlexibleBody(name="b", modal=body, D_ff=np.zeros((3, 3))))
    system = build(model)
    lin = linearize(system, system.initial_state())
    from flexmbs.ffrf.mass import mass_matrix

    M = mass_matrix(B, np.zeros(3))
    reduced = M[6:, 6:] - M[6:, :6] @ np.linalg.solve(M[:6, :6], M[:6, 6:])
    omega2 = np.sort(np.linalg.eigvals(np.linalg.solve(reduced, B.K_ff)).real)
    np.testing.assert_allclose(np.sort(lin.frequency_hz)[-3:], np.sqrt(omega2) / (2 * np.pi), rtol=1e-8)


def test_a_body_that_nothing_holds_has_no_equilibrium():
    model = Model(gravity=(0, 0, -9.81))
    model.add(RigidBody(name="stone", mass=1.0, inertia=np.eye(3)))
    system = build(model)
    with pytest.raises(SolverError, match="no equilibrium|unbalanced"):
        equilibrium(system, system.initial_state())


def test_a_crank_driven_past_its_dead_point_is_an_error_with_time_and_joint():
    p, _ = reference_problem("rigid-slider-crank")
    model = slider_crank(p)
    # the slider cannot go further than crank and rod together reach
    model.add(Drive(name="push", joint="guide", position=parse(f"={p['r'] + p['l']} - 0.01 + 0.1*t")))
    model.joints["main"].position = [0.4]
    model.joints["big"].position = [-0.5]
    system = build(model)
    follower = Follower(system.evaluator(), system.initial_state())
    with pytest.raises(SolverError, match=r"t = 0\.\d+ s .* cannot follow the drives"):
        for time in np.linspace(0.0, 0.3, 61):
            follower.at(time)


def bending_arm(stiffness=1.0):
    """A flexible arm on a hinge, turned by a drive."""
    from types import SimpleNamespace

    from flexmbs.model.bodies import FlexibleBody

    B = cloud(np.random.default_rng(4), 3)
    B = type(B)(**{**B.__dict__, "K_ff": stiffness * np.asarray(B.K_ff)})
    modal = SimpleNamespace(integrals=B, interfaces={}, frequency_hz=np.zeros(3))
    model = Model(gravity=(0, -9.81, 0))
    model.add(FlexibleBody(name="arm", modal=modal, D_ff=np.zeros((3, 3))))
    model.add(JOINTS["revolute"](name="hinge", from_frame="ground", to_frame="arm"))
    model.add(Drive(name="motor", joint="hinge", position=parse("=0.4*t + 1.5*t**2")))
    return B, build(model)


def test_quasi_static_modes_are_in_balance_with_the_loads_of_the_motion_F36():
    from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces

    B, system = bending_arm(20.0)
    follower = Follower(system.evaluator(), system.initial_state(), quasi_static=True)
    rest = Follower(system.evaluator(), system.initial_state())
    for time in (0.0, 0.3, 0.8):
        follower.at(time)
        rest.at(time)
        state, ws = follower.state, follower.evaluator.ws
        q, R = state.pos[-3:], ws.body.R[1]
        a_hat = np.concatenate(
            [R.T @ (ws.body.a[1, :3] - system.tables.grav), R.T @ ws.body.a[1, 3:], np.zeros(3)]
        )
        left = (
            quadratic_velocity_forces(B, q, np.zeros(3), R.T @ ws.body.v[1, 3:]) - mass_matrix(B, q) @ a_hat
        )
        np.testing.assert_allclose(left[6:], B.K_ff @ q, rtol=0, atol=1e-8 * np.abs(left).max())
        assert np.abs(q).max() > 1e-3 and np.abs(rest.state.pos[-3:]).max() == 0.0
        assert ws.joint.effort[0] != pytest.approx(rest.evaluator.ws.joint.effort[0], rel=1e-4)


@pytest.mark.parametrize("speed", ["15 rpm", "1500 rpm"])
def test_compiled_passes_bend_a_closed_loop_as_dense_solutions_do_F36(speed):
    """The rod of an engine: motion, shapes, reactions, efforts; the passes find all of them."""
    from flexmbs.case import Case

    case = Case.load(resource("cases", "slider_crank.toml")).with_values(speed=speed)
    dense, passes = (Follower(case.system().evaluator(), case.system().initial_state(), True) for _ in "ab")
    dense._bending = None
    found = []
    for follower in (dense, passes):
        curves, state, ws = [], follower.state, follower.evaluator.ws
        for time in np.linspace(0.0, 0.02, 7):
            acc = follower.at(time)
            shape = state.pos[passes._bending.shape]
            values = state.pos, shape, state.vel, acc, ws.joint.reaction, ws.joint.effort
            curves.append([np.array(item).ravel() for item in values])
        found.append([np.array(item) for item in zip(*curves, strict=True)])
    assert passes._bent(passes.evaluator.jacobian(passes.state)) is not None
    for ours, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=2e-6 * np.abs(theirs).max())


def test_dynamic_modes_swing_about_the_quasi_static_ones_F36(tmp_path):
    """A body of hundred times the stiffness: its modes hardly swing, so both agree in the mean."""
    from flexmbs.simulate import RunSettings, simulate

    _, system = bending_arm(1e4)
    found = {}
    for elastic in ("dynamic", "quasi-static"):
        settings = RunSettings(
            type="inverse_dynamics", t_end=0.5, elastic=elastic, start="equilibrium", every=0.001
        )
        found[elastic] = simulate(system, settings, tmp_path / f"{elastic}.h5").result
    swinging, still = (found[name]["bodies/arm/q"] for name in found)
    size = np.abs(still).max()
    assert np.abs(swinging - still).max() > 1e-6 * size  # they do swing
    np.testing.assert_allclose(swinging[100:].mean(axis=0), still[100:].mean(axis=0), atol=0.02 * size)
    assert np.abs(found["quasi-static"]["bodies/arm/q_dot"]).max() == 0.0
    for result in found.values():
        np.testing.assert_allclose(result["joints/hinge/position"][-1, 0], 0.4 * 0.5 + 1.5 * 0.25, rtol=1e-9)


def test_steps_of_the_linear_model_suit_stiff_bodies_and_regularised_friction_F38(monkeypatch):
    """A mode moves by little where it bends much; stiction within 1e-3 rad/s is a damper of its slope."""
    from flexmbs.case import Case
    from flexmbs.dynamics.analyses import slopes as room
    from flexmbs.resources import resource

    system = Case.load(resource("cases", "slider_crank.toml")).system()
    state = system.initial_state()
    lin = linearize(system, state)
    monkeypatch.setattr(room, "FIRST_STEP", 1e-4)
    finer = linearize(system, state)
    np.testing.assert_allclose(lin.frequency_hz, finer.frequency_hz, rtol=1e-7)  # step^4
    monkeypatch.undo()
    model = Model()
    model.add(RigidBody(name="disc", mass=1.0, inertia=np.eye(3) * 0.1))
    friction = {"effort": 0.3, "stiction_velocity": 1e-3}
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="disc", friction=friction))
    system = build(model)
    lin = linearize(system, system.initial_state())
    assert lin.A[1, 1] == pytest.approx(-1.5 * 0.3 / 1e-3 / 0.1, rel=1e-9)


def test_bodies_with_stiff_shapes_find_their_balance_F36():
    """The rod of an engine in a closed loop: shapes at 100 kHz beside modes of some hundred hertz."""
    from flexmbs.case import Case
    from flexmbs.resources import resource

    system = Case.load(resource("cases", "slider_crank.toml")).system()
    follower = Follower(system.evaluator(), system.initial_state(), quasi_static=True)
    acc = follower.at(0.0)
    state, ev = follower.state, follower.evaluator
    i = system.bodies.index("rod")
    own = slice(int(system.tables.tree.o_qd[i]), int(system.tables.tree.o_qd[i] + system.tables.body.nf[i]))
    borne = ev.jacobian(state).T @ ev.ws.row.force + ev.sound_tree_forces(state, acc)
    pulled = system.integrals("rod").K_ff @ state.pos[system.tables.body.o_q[i] :][: own.stop - own.start]
    assert np.abs(borne[own]).max() < 1e-8 * np.abs(pulled).max()
