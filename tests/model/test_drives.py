"""Drives by position, velocity and acceleration, and own states (F19)."""

import numpy as np
import pytest

from flexmbs._jit import kernel
from flexmbs.expressions import parse
from flexmbs.model.bodies import RigidBody
from flexmbs.model.drives import Drive
from flexmbs.model.joints.revolute import Revolute
from flexmbs.model.laws.tables import workspace
from flexmbs.model.laws.values import drives, fill_slots, free_expressions, state_rates
from flexmbs.model.model import Model, OwnState
from flexmbs.model.system import build_system


@kernel(lean=True)
def rates(laws, lw, sys, ws, t, pos, vel, aux, aux_dot, free):
    drives(laws, lw, ws, t, aux)
    fill_slots(laws, lw, sys, ws, t, pos, vel, aux)
    state_rates(laws, lw, aux, aux_dot)
    free_expressions(laws, lw, free)


def driven(**law):
    """One arm with a drive, two own states, and an expression on demand."""
    model = Model()
    model.add(RigidBody(name="arm", mass=1.0, inertia=np.eye(3)))
    model.add(Revolute(name="motor", from_frame="ground", to_frame="arm", position=[0.4], velocity=[0.3]))
    model.add(OwnState(name="first", rate=parse("=-2*states.first + t")), OwnState(name="second", rate=1.5))
    model.add(Drive(name="d", joint="motor", **law))
    system = build_system(model, {"until": parse("=states.first - 3*t")})
    laws, ws = system.laws.tables, system.workspace()
    aux, aux_dot, free = (
        np.array([0.7, 0.1, 5.0, 6.0])[: system.n_aux],
        np.full(system.n_aux, np.nan),
        np.zeros(1),
    )
    rates(laws, workspace(laws), system.tables, ws, 0.5, np.zeros(1), np.zeros(1), aux, aux_dot, free)
    assert aux_dot[:2] == pytest.approx([-1.4 + 0.5, 1.5])
    assert free[0] == pytest.approx(0.7 - 1.5)
    return system, (ws.law.x[0], ws.law.v[0], ws.law.a[0]), aux_dot[2:]


def test_a_position_gives_its_rates():
    _, found, own = driven(position=parse("=sin(3*t)"))
    assert found == pytest.approx((np.sin(1.5), 3 * np.cos(1.5), -9 * np.sin(1.5)))
    assert len(own) == 0


def test_a_velocity_is_integrated_from_the_initial_position():
    system, found, own = driven(velocity=parse("=t**2"))
    assert found == pytest.approx((5.0, 0.25, 1.0))  # the position is an own state
    assert own == pytest.approx([0.25])
    assert system.time_laws[0].start == (0.4,)


def test_an_acceleration_is_integrated_from_the_initial_motion():
    system, found, own = driven(acceleration=2.0)
    assert found == pytest.approx((5.0, 6.0, 2.0))
    assert own == pytest.approx([6.0, 2.0])
    assert system.time_laws[0].start == (0.4, 0.3)
