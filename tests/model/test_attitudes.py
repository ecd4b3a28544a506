"""Drives of balls: prescribed rotations against differences, Euler's equations and gimbals (F19a)."""

import numpy as np
import pytest

from flexmbs.case.build.rotations import rotation_law
from flexmbs.dynamics.descriptor.rows import found_in
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError
from flexmbs.expressions import Expression, constant, parse
from flexmbs.input.frames import MovingRotation
from flexmbs.model.bodies import FlexibleBody, Frame, RigidBody
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.spatial import axis_angle, log_so3, quat_from_matrix, quat_to_matrix
from tests.dynamics.mechanisms import add_body, moving_state, place_marker, rotation

ANGLES = ("0.7 + 0.9*t - 0.4*t**2", "-0.3 + 0.5*sin(2*t)", "4 - 3*t")
SEQUENCE = {"sequence": "xyz", "angles": [f"={text}" for text in ANGLES]}
#: every form of a rotation, with its matrix by hand
FORMS = {
    "sequence": (SEQUENCE, lambda t: turned("xyz", angles(t))),
    "four factors": (
        {"sequence": "zxzy", "angles": ["=t", 0.4, "=2*t**2 + 1", "=sin(t)"]},
        lambda t: turned("zxzy", (t, 0.4, 2 * t * t + 1, np.sin(t))),
    ),
    "axis": ({"axis": [1, 2, -2], "angle": "=3 + 2*t"}, lambda t: axis_angle([1, 2, -2], 3 + 2 * t)),
    "moving axis": (
        {"axis": ["=cos(t)", "=1 + t", 0.3], "angle": "=1 + t**2"},
        lambda t: axis_angle([np.cos(t), 1 + t, 0.3], 1 + t * t),
    ),
    "quaternion": (
        {"quaternion": ["=1 + t", "=2*t", "=sin(t)", 0.5]},
        lambda t: quat_to_matrix([1 + t, 2 * t, np.sin(t), 0.5]),
    ),
    "matrix": (
        {"matrix": [["=cos(2*t)", "=-sin(2*t)", 0], ["=sin(2*t)", "=cos(2*t)", 0], [0, 0, 1]]},
        lambda t: axis_angle([0, 0, 1], 2 * t),
    ),
    "two axes": (
        {"z": ["=2*sin(t)", 0, "=2*cos(t)"], "y": [0, 3, 0]},
        lambda t: axis_angle([0, 1, 0], t),
    ),
}


def angles(t):
    return 0.7 + 0.9 * t - 0.4 * t * t, -0.3 + 0.5 * np.sin(2 * t), 4 - 3 * t


def turned(sequence, values):
    R = np.eye(3)
    for letter, value in zip(sequence, values, strict=True):
        R = R @ axis_angle(np.eye(3)["xyz".index(letter)], value)
    return R


def speeds(R, t, h=1e-3):
    """Angular velocity of R(t) in its own axes, by differences of order 4."""
    steps = {k: log_so3(R(t).T @ R(t + k * h)) for k in (-2, -1, 1, 2)}
    return (8 * (steps[1] - steps[-1]) - (steps[2] - steps[-2])) / (12 * h)


def rates(R, t, h=1e-3):
    w = {k: speeds(R, t + k * h) for k in (-2, -1, 1, 2)}
    return (8 * (w[1] - w[-1]) - (w[2] - w[-2])) / (12 * h)


def law_of(table):
    return rotation_law((), MovingRotation.model_validate(table), lambda path, item: item)


def swung(cut=False, reverse=False, kind="spherical", start=None, **law):
    """A body that hangs off its centre on a ball, whose rotation is prescribed."""
    model = Model(gravity=(1.0, 2.0, -9.81))
    model.ground_frames["f"] = Frame(pos=[0.1, 0.2, 0.3], rot=axis_angle([1, 1, 0], 0.6))
    model.add(RigidBody(name="body", mass=2.0, com=[0.3, -0.1, 0.2], inertia=np.diag([0.1, 0.2, 0.3])))
    ends = ("body", "ground.f") if reverse else ("ground.f", "body")
    model.add(JOINTS[kind](name="socket", from_frame=ends[0], to_frame=ends[1], cut=cut, **(start or {})))
    model.add(Drive(name="swing", joint="socket", coordinate="rotation", **law))
    return model


def euler(R, t):
    """Torque on the body about its origin, body axes, that the motion takes; R: body to ground."""
    c, m = np.array([0.3, -0.1, 0.2]), 2.0
    J = np.diag([0.1, 0.2, 0.3]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    w, w_dot = speeds(R, t), rates(R, t)
    return J @ w_dot + np.cross(w, J @ w) - m * np.cross(c, R(t).T @ np.array([1.0, 2.0, -9.81]))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_rotation_with_its_speeds_and_rates_F19a(form):
    table, R = FORMS[form]
    system = build(swung(position=law_of(table)))
    evaluator, state = system.evaluator(), system.initial_state()
    for t in (0.0, 0.37, 2.1):
        state.t, acc = t, np.zeros(3)
        evaluator.kinematics(state, acc)
        np.testing.assert_allclose(quat_to_matrix(state.pos), R(t), rtol=0, atol=1e-13)
        np.testing.assert_allclose(state.vel, speeds(R, t), rtol=0, atol=1e-9)  # h^4
        np.testing.assert_allclose(acc, rates(R, t), rtol=0, atol=1e-7)
    for t in np.linspace(2.1, 6.0, 79):  # past half turns, where quaternions of matrices change their sign
        last, state.t = state.pos.copy(), t
        evaluator.kinematics(state)
        assert state.pos @ last > 0.0


def three_laws():
    """The same motion by position, velocity and acceleration, where its rates are polynomials."""
    R0, w0, b = axis_angle([1, -1, 2], 2.5), np.array([1.0, -2.0, 0.5]), np.array([0.3, 2.0, -4.0])
    start = {"position": list(2.0 * quat_from_matrix(R0)), "velocity": list(w0)}
    velocity = [parse(f"={x} + {y}*t") for x, y in zip(w0, b, strict=True)]
    return R0, w0, b, start, {"velocity": velocity}, {"acceleration": [constant(x) for x in b]}


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_the_torque_is_that_of_eulers_equations_F19a(cut, reverse, formulation):
    """From the assembled start, which a cut ball too has to find from far off."""
    system = build(swung(cut, reverse, position=law_of(SEQUENCE)), formulation=formulation)
    state = system.initial_state()
    motion = system.forward_dynamics(state)
    ground = axis_angle([1, 1, 0], 0.6)
    if not reverse:
        body = lambda t: ground @ turned("xyz", angles(t))  # noqa: E731
        torque = euler(body, 0.0)
    else:  # Q is ground: the drive turns it, and the body gets the opposite
        body = lambda t: ground @ turned("xyz", angles(t)).T  # noqa: E731
        torque = -ground.T @ body(0.0) @ euler(body, 0.0)
    np.testing.assert_allclose(quat_to_matrix(motion["bodies.body.quaternion"]), body(0.0), atol=1e-12)
    np.testing.assert_allclose(motion["drives.swing"], torque, rtol=0, atol=1e-6)  # of the differences
    wrench = motion["joints.socket.reaction_moment"]
    axes = ground if reverse else body(0.0)
    np.testing.assert_allclose(motion["drives.swing"], axes.T @ wrench, rtol=0, atol=1e-10)


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
@pytest.mark.parametrize("kind, cut", [("spherical", False), ("spherical", True), ("free", False)])
def test_laws_of_rates_begin_where_the_joint_does_F19a(kind, cut, formulation):
    R0, w0, b, start, *laws = three_laws()
    if kind == "free":
        start = {"position": [0, 0, 0, *start["position"]], "velocity": [0, 0, 0, *start["velocity"]]}
    found = []
    for law in laws:
        model = swung(cut, kind=kind, start=start, **law)
        if kind == "free":
            model.add(*(Drive(name=x, joint="socket", coordinate=x, position=0.0) for x in "xyz"))
        system = build(model, formulation=formulation)
        motion = system.forward_dynamics(system.initial_state())
        R = axis_angle([1, 1, 0], 0.6) @ R0
        np.testing.assert_allclose(quat_to_matrix(motion["bodies.body.quaternion"]), R, atol=1e-12)
        np.testing.assert_allclose(R.T @ motion["bodies.body.angular_velocity"], w0, atol=1e-12)
        np.testing.assert_allclose(R.T @ motion["bodies.body.angular_acceleration"], b, atol=1e-11)
        found.append(motion["drives.swing"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_own_states_of_a_law_of_rates_stay_a_rotation_F19a():
    """Rates of quaternion and angular velocity; a quaternion that is too long comes back to one."""
    from flexmbs.dynamics import evaluate
    from flexmbs.model.laws.values import state_rates

    _, w0, b, start, velocity, acceleration = three_laws()
    for law, n in ((velocity, 4), (acceleration, 7)):
        system = build(swung(start=start, **law))
        evaluator, state = system.evaluator(), system.initial_state()
        assert len(state.aux) == n
        np.testing.assert_allclose(state.aux[:4], np.array(start["position"]) / 2.0, rtol=1e-14)
        for factor in (1.0, 1.1):
            state.aux[:4] = factor / 2.0 * np.array(start["position"])
            args = evaluator._args(state, np.zeros(3))
            evaluate.kinematics(*args)
            evaluate.forces(*args)
            out = np.zeros(n)
            state_rates(evaluator.laws, evaluator.law_work, state.aux, out)
            length_rate = out[:4] @ state.aux[:4]
            assert length_rate == pytest.approx(0.0, abs=1e-14) if factor == 1.0 else length_rate < -0.1
            h = 1e-6
            turn = quat_to_matrix(state.aux[:4]).T @ quat_to_matrix(state.aux[:4] + h * out[:4])
            np.testing.assert_allclose(log_so3(turn) / h, w0, rtol=0, atol=1e-5)
        np.testing.assert_allclose(out[4:], b[: n - 4])


def loop_with_ball(flexible, cut):
    """A driven ball on a moving body; a free body closes the loop and leaves it room."""
    rng, model = np.random.default_rng(5), Model(gravity=(1.0, -3.0, -9.0))
    for name in ("a", "b", "c"):
        add_body(rng, model, name, "flexible" if flexible else "rigid", True)
    spots = {name: rng.normal(size=3) for name in ("root", "ball", "slide", "rod")}

    def ends(first, second, key):
        R = rotation(rng)
        return {
            "from_frame": place_marker(rng, model, first, spots[key], R),
            "to_frame": place_marker(rng, model, second, spots[key], rotation(rng) if key == "ball" else R),
        }

    model.add(JOINTS["universal"](name="root", **ends("ground", "a", "root")))
    model.add(JOINTS["spherical"](name="ball", cut=cut, **ends("a", "b", "ball")))
    model.add(JOINTS["free"](name="slide", **ends("ground", "c", "slide")))
    model.add(JOINTS["spherical"](name="rod", **ends("b", "c", "rod")))
    tree = build(model)
    evaluator, state = tree.evaluator(), tree.initial_state()
    evaluator.kinematics(state)
    P, Q = (evaluator.ws.marker.R[m.number] for m in (tree.joints["ball"].P, tree.joints["ball"].Q))
    x, y, z = (float(v) for v in log_so3(P.T @ Q))
    table = {"axis": [x, y, z], "angle": f"={np.linalg.norm([x, y, z])} + 0.8*t - t**2"}
    first = law_of(table)
    law = RotationLaw(
        "angles", (*first.laws, parse("=1.3*t"), parse("=sin(t)")), np.vstack([first.axes, np.eye(3)[:2]])
    )
    model.add(Drive(name="d", joint="ball", position=law))
    return model


@pytest.mark.parametrize("flexible", [False, True])
def test_three_formulations_agree_for_a_driven_ball_in_a_loop_F19a(flexible):
    found = []
    first = build(loop_with_ball(flexible, False))
    _, state = moving_state(first, 3)
    for cut in (False, True):
        model = loop_with_ball(flexible, cut)
        for name in ("recursive", "minimal", "descriptor"):
            system = build(model, formulation=name)
            assert bool(system.joints["ball"].body) == (not cut and name != "descriptor")
            motion = system.forward_dynamics(system.state_like(first, state))
            found.append(motion)
    for motion in found[1:]:
        for path in ("drives.d", *(p for p in found[0].names() if "acceleration" in p or "reaction" in p)):
            got, wanted = motion[path], found[0][path]
            np.testing.assert_allclose(
                got, wanted, rtol=0, atol=1e-9 * max(1.0, np.abs(wanted).max()), err_msg=path
            )


def test_a_flexible_body_on_a_driven_ball_is_that_on_a_gimbal_F19a():
    """Three revolute joints with rings without mass: the same motion, and torques about their axes."""
    texts = [f"={text}" for text in ANGLES]

    def model(kind):
        rng, found = np.random.default_rng(2), Model(gravity=(0.0, 3.0, -9.81))
        add_body(rng, found, "body", "flexible")
        end = place_marker(rng, found, "body", np.array([0.3, 0.2, 0.1]), np.eye(3))
        assert isinstance(found.bodies["body"], FlexibleBody)
        if kind == "ball":
            found.add(JOINTS["spherical"](name="socket", from_frame="ground", to_frame=end))
            found.add(Drive(name="swing", joint="socket", position=law_of(SEQUENCE)))
            return found
        found.add(RigidBody(name="outer"), RigidBody(name="inner"))
        ends = [("ground", "outer"), ("outer", "inner"), ("inner", end)]
        for (a, b), axis, text in zip(ends, np.eye(3), texts, strict=True):
            found.add(JOINTS["revolute"](name=b.partition(".")[0], from_frame=a, to_frame=b, axis=axis))
            found.add(Drive(name=f"d{len(found.drives)}", joint=b.partition(".")[0], position=parse(text)))
        return found

    ball, gimbal = build(model("ball")), build(model("gimbal"))
    one = ball.forward_dynamics(ball.initial_state())
    two = gimbal.forward_dynamics(gimbal.initial_state())
    for path in ("quaternion", "angular_velocity", "acceleration", "angular_acceleration", "q_ddot"):
        path = f"bodies.body.{path}"
        np.testing.assert_allclose(one[path], two[path], rtol=0, atol=1e-9 * np.abs(two[path]).max())
    torque, (a, b, _) = one["drives.swing"], angles(0.0)
    R = turned("xyz", angles(0.0))
    axes = (np.eye(3)[0], turned("x", (a,))[:, 1], turned("xy", (a, b))[:, 2])
    for k, n in enumerate(axes):
        assert two[f"drives.d{k}"] == pytest.approx(n @ R @ torque, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_off_is_the_rotation_vector_to_q_F19a(reverse):
    """Of both readings of the relation, anywhere."""
    system = build(swung(True, reverse, position=law_of(SEQUENCE)))
    evaluator, state, rng = system.evaluator(), system.initial_state(), np.random.default_rng(4)
    for _ in range(5):
        state.pos[3:7], state.vel[:] = rng.normal(size=4), rng.normal(size=6)
        evaluator.kinematics(state)
        place = system.joints["socket"]
        P, Q = (evaluator.ws.marker.R[m.number] for m in (place.P, place.Q))
        off = log_so3(turned("xyz", angles(0.0)).T @ P.T @ Q)
        np.testing.assert_allclose(evaluator.ws.row.g[3:], off, rtol=0, atol=1e-12)
        found = found_in(evaluator.ws)
        np.testing.assert_allclose(found.value[3:], off, rtol=0, atol=1e-12)


def test_axes_that_are_no_rotation_are_found():
    t = np.linspace(0.0, 1.0, 5)
    assert law_of(SEQUENCE).defect(t).max() == 0.0
    assert law_of({"x": ["=1", "=t", 0], "y": [0, 1, 0]}).defect(t).max() == pytest.approx(0.707, abs=1e-3)
    assert law_of({"quaternion": ["=t", 0, 0, 0]}).defect(t)[0] == 1.0
    mirror = [["=1 - 2*t", 0, 0], [0, 1, 0], [0, 0, 1]]
    assert law_of({"matrix": mirror}).defect(t)[-1] == 1.0


def test_constants_of_a_rotation_stay_expressions():
    law = law_of({"quaternion": [1, 0, "=t", 0]})
    assert all(isinstance(item, Expression) for item in law.laws)


def test_a_number_cannot_drive_a_ball():
    for law in ({"position": 1.0}, {"velocity": 2.0}, {"acceleration": [1.0, 2.0]}, {}):
        with pytest.raises(InputError, match="drives the rotation of joint socket by what is no rotation"):
            build(swung(**law))
