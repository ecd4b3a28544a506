"""Bodies without inertia where the motion stays determined, and where it does not (F26a)."""

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.errors import SolverError
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from tests import reference
from tests.dynamics.mechanisms import body_accelerations, moving_state, random_mechanism
from tests.model.test_couplings import four_bar


@pytest.mark.parametrize("cut", ["a", "b", "c", "d"])
@pytest.mark.parametrize("weightless", ["rod", "rocker"])
def test_a_massless_link_in_a_loop_moves_as_the_dense_solution_says(cut, weightless):
    model = four_bar()
    body = model.bodies[weightless]
    body.mass, body.inertia = 0.0, np.zeros((3, 3))
    model.joints[cut].cut = True
    system = build(model)
    evaluator, state = system.evaluator(), system.initial_state()
    acc = evaluator.observe(state)
    truth = reference.solve(system, evaluator, state)
    found = body_accelerations(system, evaluator, acc)
    for name, a in truth.a_hat.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-9 * np.abs(a).max())


def test_a_massless_body_at_the_end_of_a_chain_is_an_error_with_its_name():
    model = Model(gravity=(0, 0, -9.81))
    model.add(RigidBody(name="ghost"))
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="ghost"))
    system = build(model)
    with pytest.raises(SolverError, match="ghost"):
        system.forward_dynamics(system.initial_state())


def test_intermediate_body_without_mass_makes_two_hinges_a_universal_joint():
    """Two crossed hinges with nothing between them are a universal joint."""
    found = []
    for split in (False, True):
        model = Model(gravity=(0, 0, -9.81))
        model.add(RigidBody(name="arm", mass=2.0, com=[0.3, 0.1, -0.2], inertia=np.diag([0.1, 0.2, 0.3])))
        if split:
            model.add(RigidBody(name="cross", frames={"y": Frame()}))
            model.add(
                JOINTS["revolute"](
                    name="x",
                    from_frame="ground",
                    to_frame="cross",
                    axis=[1, 0, 0],
                    position=[0.4],
                    velocity=[1.0],
                )
            )
            model.add(
                JOINTS["revolute"](
                    name="y",
                    from_frame="cross",
                    to_frame="arm",
                    axis=[0, 1, 0],
                    position=[-0.3],
                    velocity=[2.0],
                )
            )
        else:
            model.add(
                JOINTS["universal"](
                    name="u", from_frame="ground", to_frame="arm", position=[0.4, -0.3], velocity=[1.0, 2.0]
                )
            )
        system = build(model)
        found.append(system.forward_dynamics(system.initial_state())["bodies.arm.angular_acceleration"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11)


@pytest.mark.parametrize("seed", range(100, 125))
def test_absolute_coordinates_give_the_same_accelerations_F32(seed):
    model = random_mechanism(seed, n_loops=2)
    system = build(model)
    evaluator, state = moving_state(system, 5)
    acc = evaluator.observe(state)
    found = body_accelerations(system, evaluator, acc)
    other = build(model, formulation="descriptor")
    twin = other.state_like(system, state)
    second = other.evaluator()
    again = body_accelerations(other, second, second.observe(twin))
    scale = max(np.abs(a).max() for a in found.values())
    for name, a in found.items():
        np.testing.assert_allclose(again[name], a, rtol=0, atol=1e-9 * scale)
    for j, name in enumerate(system.joints):
        if name in model.joints:
            k = list(other.joints).index(name)
            np.testing.assert_allclose(
                second.ws.joint.reaction[k],
                evaluator.ws.joint.reaction[j],
                rtol=0,
                atol=1e-7 * scale,
                err_msg=name,
            )
