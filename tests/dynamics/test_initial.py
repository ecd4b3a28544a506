"""Assembly of the start (F34)."""

import numpy as np
import pytest
from scipy.optimize import minimize

from flexmbs.case import Case
from flexmbs.dynamics.analyses.guess import coordinate_jacobian
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame, FreeStart, RigidBody
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.spatial import exp_so3
from tests.dynamics import awkward
from tests.dynamics.mechanisms import moving_state, random_mechanism
from tests.model.test_couplings import four_bar


def positions(system):
    motion = system.forward_dynamics(system.initial_state())
    return {name: motion[f"joints.{name}.position"].copy() for name in system.model.joints}


def test_a_tree_keeps_every_given_value():
    model = Model()
    model.add(
        RigidBody(name="a", mass=1.0, inertia=np.eye(3)), RigidBody(name="b", mass=1.0, inertia=np.eye(3))
    )
    model.add(
        JOINTS["cylindrical"](
            name="c", from_frame="ground", to_frame="a", position=[7.0, 0.2], velocity=[1, 2]
        )
    )
    model.add(JOINTS["revolute"](name="r", from_frame="b", to_frame="a", position=[-9.0], velocity=[3.0]))
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    np.testing.assert_array_equal(motion["joints.c.position"], [7.0, 0.2])
    np.testing.assert_array_equal(motion["joints.c.velocity"], [1.0, 2.0])
    assert motion["joints.r.position"][0] == -9.0
    assert motion["joints.r.velocity"][0] == 3.0


def test_held_and_driven_coordinates_stay_exactly():
    model = four_bar()
    model.joints["a"].hold = True
    found = positions(build(model))
    assert found["a"][0] == 1.0
    assert found["b"][0] != -0.7  # given, but not held
    model.joints["a"].hold = False
    model.add(Drive(name="m", joint="a", position=parse("=1.2 + 3*t")))
    motion = build(model).forward_dynamics(build(model).initial_state())
    assert motion["joints.a.position"][0] == 1.2
    assert motion["joints.a.velocity"][0] == 3.0


@pytest.mark.parametrize("given", [("a",), ("a", "b", "c"), ()])
def test_the_start_does_not_depend_on_the_cut(given):
    found = []
    for cut in ("a", "b", "c", "d"):
        model = four_bar()
        for name, joint in model.joints.items():
            joint.cut = name == cut
            if name not in given:
                joint.position = None
        # a default guess that is not singular comes from the poses
        for name, (pos, angle) in {
            "crank": ((0, 0), 1.0),
            "rod": ((0.27, 0.42), 0.3),
            "rocker": ((1.2, 0), 1.8),
        }.items():
            body = model.bodies[name]
            body.pose_pos, body.pose_rot = np.array([*pos, 0.0]), exp_so3(np.array([0, 0, angle]))
            body.pose_given = True
        values = positions(build(model))
        found.append([values[name][0] for name in ("a", "b", "c", "d")])
    np.testing.assert_allclose(found, np.tile(found[0], (4, 1)), atol=2e-8)


def test_a_given_speed_is_kept_and_the_others_follow():
    motion = build(four_bar()).forward_dynamics(build(four_bar()).initial_state())
    assert motion["joints.a.velocity"][0] == pytest.approx(2.0, rel=1e-12)
    assert abs(motion["joints.d.velocity"][0]) > 0.1


def test_a_loop_that_cannot_close_is_an_error_with_joint_and_gap():
    model = four_bar()
    model.bodies["rod"].frames["end"].pos = [0.1, 0, 0]
    model.ground_frames["g"].pos = [9.0, 0, 0]
    with pytest.raises(SolverError, match=r"joints\.\w .*cannot be assembled.*\|g\| = "):
        build(model).initial_state()


def test_contradictory_speeds_are_an_error():
    model = four_bar()
    for name in ("a", "d"):
        model.add(Drive(name=f"m{name}", joint=name, velocity=parse("=5 + 0*t") if name == "a" else 0.0))
        model.joints[name].hold = True
    with pytest.raises(SolverError, match="cannot be assembled"):
        build(model).initial_state()


def test_a_loop_with_opposed_axes_is_an_error():
    model = Model()
    model.ground_frames["turned"] = Frame(rot=np.diag([1.0, -1.0, -1.0]))
    model.add(RigidBody(name="b", mass=1.0, inertia=np.eye(3)))
    model.add(JOINTS["revolute"](name="one", from_frame="ground", to_frame="b"))
    model.add(JOINTS["cylindrical"](name="two", from_frame="ground.turned", to_frame="b"))
    with pytest.raises(SolverError, match="opposite"):
        build(model).initial_state()


@pytest.mark.parametrize("axes", ["ground", "body"])
def test_a_free_body_starts_as_told(axes):
    R = exp_so3(np.array([0.4, -0.3, 0.9]))
    v, w = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 0.2])
    model = Model()
    start = FreeStart(pos=[1, 0, 2], rot=R, velocity=v, angular_velocity=w, frame=axes)
    model.add(RigidBody(name="b", mass=1.0, com=[0.1, 0, 0], inertia=np.eye(3), initial=start))
    system = build(model)
    motion = system.forward_dynamics(system.initial_state())
    turn = R if axes == "body" else np.eye(3)
    np.testing.assert_allclose(motion["bodies.b.position"], [1, 0, 2], atol=1e-15)
    np.testing.assert_allclose(motion["bodies.b.velocity"], turn @ v, atol=1e-14)
    np.testing.assert_allclose(motion["bodies.b.angular_velocity"], turn @ w, atol=1e-14)


def test_drives_by_rates_start_from_the_joints_values():
    model = Model()
    model.add(RigidBody(name="b", mass=1.0, inertia=np.eye(3)))
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="b", position=[0.5], velocity=[2.0]))
    model.add(Drive(name="m", joint="j", acceleration=parse("=6*t + 1")))
    system = build(model)
    state = system.initial_state()
    np.testing.assert_array_equal(state.aux, [0.5, 2.0])
    motion = system.forward_dynamics(state)
    assert motion["joints.j.position"][0] == 0.5
    assert motion["joints.j.velocity"][0] == 2.0
    assert motion["joints.j.acceleration"][0] == 1.0
    assert motion["drives.m"] == pytest.approx(1.0)


def test_a_loop_that_only_modes_can_close_leaves_the_joints_where_they_are():
    """Bodies that are fixed to each other and joined once more: joint columns of the loop are rounding."""
    model = random_mechanism(6155, n_loops=2, flexible=0.6, stiff=True)
    system = build(model)
    state, evaluator = system.initial_state(), system.evaluator()
    evaluator.kinematics(state)
    assert [cut.name for cut in system.topology.cuts] == ["loop0"]
    for name, i in system.numbers.index.items():
        if i:
            np.testing.assert_allclose(evaluator.ws.body.R[i], model.bodies[name].pose_rot, atol=1e-12)
            np.testing.assert_allclose(evaluator.ws.body.r[i], model.bodies[name].pose_pos, atol=1e-12)


def test_loops_that_share_nothing_assemble_as_each_alone_F34():
    """Many loops beside each other, all off their closure by other amounts, as one by one."""
    rng, angles = np.random.default_rng(3), []
    whole = awkward.four_bar(0.3, 0.8, 0.6, 0.7, 0.9)
    whole |= {"bodies": {}, "joints": {}}
    for k in range(12):
        one = awkward.four_bar(0.3, 0.8, 0.6, 0.7, 0.9)
        for joint in one["joints"].values():
            if "initial" in joint:
                joint["initial"]["position"] += float(rng.uniform(-0.1, 0.1))
        system = Case.from_dict(one).system()
        angles.append(system.initial_state().pos)
        for name, body in one["bodies"].items():
            whole["bodies"][f"{name}{k}"] = body
        for name, joint in one["joints"].items():
            ends = {}
            for side in ("from", "to"):
                body, dot, frame = joint[side].partition(".")
                ends[side] = joint[side] if body == "ground" else f"{body}{k}{dot}{frame}"
            whole["joints"][f"{name}{k}"] = joint | ends
    system = Case.from_dict(whole).system()
    found = {c.joint: system.initial_state().pos[c.pos] for c in system.coordinates if c.pos >= 0}
    alone = Case.from_dict(awkward.four_bar(0.3, 0.8, 0.6, 0.7, 0.9)).system()
    for c in alone.coordinates:
        if c.pos >= 0:
            for k, pos in enumerate(angles):
                assert found[f"{c.joint}{k}"] == pytest.approx(pos[c.pos], abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_rates_of_cut_coordinates_are_found_many_at_a_time(seed):
    """Against one speed after the other."""
    system = build(random_mechanism(seed, n_bodies=7, n_loops=3, loop_kinds=["revolute", "cylindrical"]))
    evaluator, state = moving_state(system, seed)
    numbers = [c.number for c in system.coordinates if c.entry is not None]
    J = coordinate_jacobian(evaluator, state, numbers)
    trial = state.copy()
    for k in range(system.n_vel):
        trial.vel[:] = 0.0
        trial.vel[k] = 1.0
        evaluator.kinematics(trial)
        np.testing.assert_allclose(J[:, k], evaluator.ws.coord.v[numbers], atol=1e-12)


@pytest.mark.parametrize("length", [0.1, 0.02, 0.3])
def test_a_start_far_from_the_guess_is_closed_and_nearest_F34(length):
    """Two bars whose ends a short rod joins: full steps to the nearest swing about it. Against SciPy."""
    data = awkward.four_bar(0.2, 0.5, 0.4, 0.5, 0.5)
    data["joints"] = {
        "a": {
            "type": "revolute",
            "from": "ground",
            "to": "crank",
            "initial": {"position": 0.5, "hold": True},
        },
        "b": {"type": "revolute", "from": "crank.end", "to": "coupler", "initial": {"position": 0.5}},
        "c": {"type": "revolute", "from": "ground.far", "to": "rocker", "initial": {"position": 1.8}},
        "d": {"type": "distance", "from": "coupler.end", "to": "rocker.end", "length": length},
    }
    data["ground"] = {"frames": {"far": {"pos": [0.5, 0, 0]}}}
    found = positions(Case.from_dict(data).system())

    def gap(x):
        left = 0.2 * np.exp(0.5j) + 0.5 * np.exp(1j * (0.5 + x[0]))
        return abs(left - 0.5 - 0.4 * np.exp(1j * x[1])) - length

    best = minimize(
        lambda x: (x[0] - 0.5) ** 2 + (x[1] - 1.8) ** 2, [0.45, 1.75], method="SLSQP",
        constraints={"type": "eq", "fun": gap}, options={"ftol": 1e-14},
    )  # fmt: skip
    x = np.array([found["b"], found["c"]]).ravel()
    assert abs(gap(x)) < 1e-12
    np.testing.assert_allclose(x, best.x, atol=1e-5)  # SLSQP
