"""Friction by the reaction of a joint remembers nothing: not of samples, pauses, or earlier evaluations."""

from functools import partial

import numpy as np
import pytest

from flexmbs.dynamics.descriptor.equations import Descriptor
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.minimal.forces import observe
from flexmbs.integrate import Integrator, Settings
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.simulate.motion.branch import watch
from flexmbs.simulate.motion.equations import problem, state_vector

T_END = 2.0


def rubbing(formulation="recursive"):
    """A double pendulum with friction by the forces on its bearings."""
    model, inertia = Model(gravity=(0.0, 0.0, -9.81)), np.diag([0.01, 0.05, 0.05])
    for name in "ab":
        end = {"end": Frame(pos=[0.6, 0.0, 0.0])}
        model.add(RigidBody(name=name, mass=1.0, com=[0.3, 0.0, 0.0], inertia=inertia, frames=end))
    keys = {"axis": [0, 1, 0], "friction": {"coefficient": 0.3, "radius": 0.05, "stiction_velocity": 0.1}}
    model.add(JOINTS["revolute"](name="j", from_frame="ground", to_frame="a", **keys))
    model.add(JOINTS["revolute"](name="k", from_frame="a.end", to_frame="b", velocity=[0.5], **keys))
    return build(model, formulation=formulation)


def started(method, times):
    system = rubbing()
    p, y0 = problem(system), state_vector(system, system.initial_state())
    watch(p, 0.0, y0, T_END)
    return Integrator(p, Settings(method=method), 0.0, y0, times, T_END)


def states(run):
    chunks = []
    while not run.finished:
        chunks.append(run.advance().y)
    return np.concatenate(chunks)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "generalized-alpha"])
def test_neither_samples_nor_resuming_change_a_number(method):
    fine = np.linspace(0.0, T_END, 201)
    coarse = fine[::10]
    whole = states(started(method, coarse))
    np.testing.assert_array_equal(states(started(method, fine))[::10], whole)
    first = started(method, coarse)
    first.advance(n_steps=25)
    kept = first.checkpoint()
    rest = states(first)
    again = started(method, coarse)
    again.restore(kept)
    np.testing.assert_array_equal(states(again), rest)
    np.testing.assert_array_equal(whole[-len(rest) :], rest)


def observed(system, state):
    """Function of a state: its accelerations, by arrays that stay."""
    if system.topology.absolute:
        return Descriptor(system).observe
    evaluator = system.evaluator()
    if system.formulation == "minimal":
        return partial(observe, Minimal(evaluator, state))
    return evaluator.observe


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_accelerations_are_those_of_the_state_alone(formulation):
    system = rubbing(formulation)
    here = system.initial_state()
    fast = here.copy()
    fast.vel *= 18.0
    accelerations = observed(system, here.copy())
    first, other, again = (accelerations(state.copy()).copy() for state in (here, fast, here))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1.0
