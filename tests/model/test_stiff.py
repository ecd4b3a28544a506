"""Stiff forces across the tree: the passes of the implicit step settle however stiff they are (F45)."""

import numpy as np
import pytest

from flexmbs.dynamics.evaluate import accelerations, shifted
from flexmbs.model.bodies import RigidBody
from flexmbs.model.forces.bushing import Bushing
from flexmbs.model.forces.spring_damper import SpringDamper
from flexmbs.model.joints.prismatic import Prismatic
from flexmbs.model.joints.revolute import Revolute
from flexmbs.model.laws.stiff import OFF
from flexmbs.model.model import Model
from tests.model.rig import Rig
from tests.model.test_forces import mechanism

STEP = 1e-3


def passes(rig, pos, vel, count, h=STEP):
    """Accelerations of the passes of one step of an implicit rule, with their changes."""
    acc, found, changes = np.zeros(rig.n_vel), np.zeros(rig.n_vel), []
    bh, gh = 0.25 * h * h, 0.5 * h
    aux = np.zeros(rig.system.n_aux)
    for _ in range(count):
        now = rig.moved(pos, h * vel + bh * acc)
        status = shifted(rig.sys, rig.ws, rig.laws, rig.lw, (h, now, vel + gh * acc, aux, acc), gh, bh, found)
        assert status == 0
        changes.append(np.abs(found - acc).max())
        acc = found.copy()
    return acc, changes


LAWS = {
    "spring": SpringDamper(
        name="f", from_frame="box.tip", to_frame="wing", stiffness=1e9, damping=1e4, length=1.0
    ),
    "bushing": Bushing(
        name="f", from_frame="box.tip", to_frame="wing", stiffness=[1e9] * 6, damping=[1e4] * 6
    ),
    "bushing on flexible": Bushing(
        name="f", from_frame="beam.right", to_frame="wing", stiffness=[1e7] * 6, damping=[1e3] * 6
    ),
    "bushing in three directions": Bushing(
        name="f", from_frame="box.tip", to_frame="beam.left", stiffness=[1e7] * 3 + [0.0] * 3
    ),
}


def near_rest(rig):
    """A state at which the law is almost undeflected, and small speeds."""
    rng = np.random.default_rng(3)
    pos, vel = rig.random_state(rng)
    for _ in range(60):
        rig.evaluate(pos, 0 * vel)
        energy, h = rig.sums()[0], 1e-6
        curve = np.zeros((rig.n_vel, rig.n_vel))
        for k in range(rig.n_vel):
            ahead, behind = (gradient(rig, rig.moved(pos, s * np.eye(rig.n_vel)[k])) for s in (h, -h))
            curve[k] = (ahead - behind) / (2 * h)
        slope = gradient(rig, pos)
        curve = 0.5 * (curve + curve.T) + 1e-9 * np.abs(curve).max() * np.eye(rig.n_vel)
        step = -np.linalg.lstsq(curve, slope, rcond=None)[0]
        pos = rig.moved(pos, step * min(1.0, 0.3 / np.abs(step).max()))
        if energy < 1e-8:
            break
    return pos, 0.05 * vel


def gradient(rig, pos):
    """Gradient of the potential by the forces themselves, one speed at a time."""
    found = []
    for unit in np.eye(rig.n_vel):
        rig.evaluate(pos, unit)
        damper = rig.sums()[1]
        found.append(-(rig.power(unit) + damper))
    return np.array(found)


@pytest.mark.parametrize("name", LAWS)
def test_passes_settle_with_stiff_forces_F45(name):
    rng = np.random.default_rng(4)
    rig = mechanism(rng, LAWS[name])
    pos, vel = near_rest(rig)
    _, changes = passes(rig, pos, vel, 7)
    assert changes[-1] < 1e-6 * changes[0]
    none = np.zeros(0, dtype=np.int64)
    rig.laws = rig.laws._replace(stiff_law=none, stiff_direction=none, stiff_entry=none, stiff_row=none)
    rig.ws.row.soft[:] = OFF
    _, changes = passes(rig, pos, vel, 3)
    assert not changes[-1] < changes[0]  # without the rows the same passes run away


def test_a_very_stiff_bushing_is_a_joint():
    """Two pendulums on one axis, tied by a bushing, fall like one rigid body."""
    model = Model(gravity=(0.0, 0.0, -9.81))
    for name, arm in (("a", 0.5), ("b", 0.2)):
        model.add(RigidBody(name=name, mass=2.0, com=[arm, 0.0, 0.0], inertia=np.diag([0.1, 0.3, 0.3])))
    model.add(Revolute(name="first", from_frame="ground", to_frame="a", axis=[0, 1, 0]))
    model.add(Revolute(name="second", from_frame="ground", to_frame="b", axis=[0, 1, 0]))
    model.add(Bushing(name="tie", from_frame="a", to_frame="b", stiffness=[1e12] * 6))
    acc, changes = passes(Rig(model), np.zeros(2), np.zeros(2), 5)
    expected = 9.81 * 2.0 * (0.5 + 0.2) / (2 * 0.3 + 2.0 * (0.25 + 0.04))
    np.testing.assert_allclose(acc, expected, rtol=1e-5)  # the step turns by half a milliradian
    assert changes[-1] < 1e-6 * changes[0]


def test_friction_by_the_reaction_holds_with_the_accelerations():
    """A block of weight m g slides down: a = g (sin - mu cos), the normal force found with it."""
    slope, mu = 0.6, 0.25
    model = Model(gravity=(0.0, 0.0, -9.81))
    model.add(RigidBody(name="block", mass=3.0, inertia=np.eye(3)))
    axis = [np.cos(slope), 0.0, -np.sin(slope)]
    friction = {"coefficient": mu, "stiction_velocity": 1e-3}
    model.add(Prismatic(name="plane", from_frame="ground", to_frame="block", axis=axis, friction=friction))
    rig = Rig(model)
    acc = np.zeros(1)
    status = accelerations(
        rig.sys, rig.ws, rig.laws, rig.lw, (0.0, np.zeros(1), np.ones(1), np.zeros(0), acc)
    )
    assert status == 0
    assert acc[0] == pytest.approx(9.81 * (np.sin(slope) - mu * np.cos(slope)), rel=1e-11)
