"""Frames that travel through bodies: every term of their velocity and acceleration (F18a)."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame
from flexmbs.model.forces.point import Point
from flexmbs.model.forces.spring_damper import SpringDamper
from flexmbs.model.laws.tables import WORK
from flexmbs.model.path import path_through
from flexmbs.model.sensors import Sensor
from tests.model.rig import Rig
from tests.model.test_forces import mechanism
from tests.model.test_sensors import seen

PLACE = [parse("=0.6 + 0.3*sin(2*t)"), 0.25, parse("=0.15 + 0.05*sin(2*t)")]


def travelling(rng, on="beam", place=PLACE):
    rig = mechanism(rng)
    model = rig.system.model
    model.bodies[on].frames["cart"] = Frame(at=place) if on == "beam" else Frame(pos=place)
    kinds = ("position", "velocity", "acceleration", "rotation", "displacement")
    for kind in kinds:
        model.add(Sensor(name=kind, type=kind, on=f"{on}.cart", relative_to="wing.tip"))
    return Rig(model)


def at_time(rig, pos, vel, acc, t):
    rig.evaluate(pos, vel, t)  # fills the places of travelling markers
    return seen(rig, pos, vel, acc)[0]


@pytest.mark.parametrize("on", ["beam", "box"])
def test_velocity_and_acceleration_of_a_travelling_frame_F18a(on):
    rng = np.random.default_rng(1)
    rig = travelling(rng, on)
    pos, vel = rig.random_state(rng)
    acc, h, t = rng.normal(size=rig.n_vel), 1e-5, 0.3
    now = at_time(rig, pos, vel, acc, t)
    m = rig.system.markers.get(f"{on}.cart").number
    R, w, alpha = rig.ws.marker.R[m].copy(), rig.ws.marker.v[m, 3:].copy(), rig.ws.marker.a[m, 3:].copy()
    around = []
    for s in (h, -h):
        there = rig.moved(pos, s * vel + 0.5 * s * s * acc), vel + s * acc, acc, t + s
        around.append((at_time(rig, *there), rig.ws.marker.R[m].copy(), rig.ws.marker.v[m, 3:].copy()))
    (ahead, R_ahead, w_ahead), (behind, R_behind, w_behind) = around
    for value, rate in (("position", "velocity"), ("velocity", "acceleration")):
        slope = (ahead[value] - behind[value]) / (2 * h)
        np.testing.assert_allclose(now[rate], slope, rtol=1e-6, atol=1e-6)  # difference quotient
    W = (R_ahead - R_behind) / (2 * h) @ R.T
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], w, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((w_ahead - w_behind) / (2 * h), alpha, rtol=1e-6, atol=1e-5)


def test_rows_of_a_path_are_those_of_its_places_F18a():
    rng = np.random.default_rng(2)
    rig = travelling(rng)
    pos, vel = rig.random_state(rng)
    modal = rig.system.model.bodies["beam"].modal
    q = pos[rig.sys.body.o_q[rig.system.numbers.index["beam"]] :][:3]
    for t in (0.0, 0.4, 2.0):
        x = [p.number({"t": t}) if hasattr(p, "number") else p for p in PLACE]
        _, Phi, _ = modal.marker_rows(at=x)
        found = at_time(rig, pos, vel, 0 * vel, t)["displacement"]
        # smooth in one hexahedron: what is left is the error of the spline
        np.testing.assert_allclose(found, Phi @ q, rtol=1e-5, atol=1e-7)


def test_a_travelling_spring_does_the_work_of_its_drive_F18a():
    """Work is what the bodies get beyond the loss of the spring: zero when the frame stands still."""
    rng = np.random.default_rng(3)
    for place, still in ((PLACE, False), ([0.6, 0.25, 0.15], True)):
        model = travelling(rng, "beam", place).system.model
        model.add(
            SpringDamper(name="s", from_frame="box.tip", to_frame="beam.cart", stiffness=5.0, length=0.2)
        )
        rig = Rig(model)
        pos, vel = rig.random_state(rng)
        rig.evaluate(pos, vel, 0.3)
        work, power = rig.lw.out[0, WORK], rig.power(vel)
        h, energy = 1e-5, []
        for s in (h, -h):
            rig.evaluate(rig.moved(pos, s * vel), vel, 0.3 + s)
            energy.append(rig.sums()[0])
        assert power == pytest.approx(work - (energy[0] - energy[1]) / (2 * h), rel=1e-6, abs=1e-7)
        assert (abs(work) < 1e-12) == still


def test_force_at_a_travelling_place_loads_the_modes_there():
    rng = np.random.default_rng(4)
    model = mechanism(rng).system.model
    model.add(Point(name="f", on="beam", at=Frame(at=PLACE), force=[0.0, 0.0, 1.0], axes="body"))
    rig = Rig(model)
    pos, vel = rig.random_state(rng)
    rig.evaluate(pos, vel, 0.4)
    x = [p.number({"t": 0.4}) if hasattr(p, "number") else p for p in PLACE]
    _, Phi, _ = model.bodies["beam"].modal.marker_rows(at=x)
    i = rig.system.numbers.index["beam"]
    np.testing.assert_allclose(rig.force(i)[6:], Phi[2], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ([parse("=0.6 + 0.3*sin(t)"), parse("=0.2 + 0.1*cos(t)"), 0.1], "on a curve"),
        ([parse("=0.6 + t"), 40.0, 0.1], "misses the body"),
        ([parse("=sqrt(-1 - t)"), 0.0, 0.1], "no place"),
    ],
)
def test_paths_that_cannot_be_are_refused(place, words):
    rng = np.random.default_rng(5)
    modal = mechanism(rng).system.model.bodies["beam"].modal
    with pytest.raises(InputError, match=words):
        path_through(modal, slice(None), place, "bodies.beam")


def test_a_frame_that_leaves_the_body_has_no_place():
    rng = np.random.default_rng(6)
    rig = travelling(rng, "beam", [parse("=0.6 + t"), 0.25, 0.15])
    pos, vel = rig.random_state(rng)
    assert np.isfinite(at_time(rig, pos, vel, 0 * vel, 0.5)["position"]).all()
    assert np.isnan(at_time(rig, pos, vel, 0 * vel, 3.0)["position"]).any()
