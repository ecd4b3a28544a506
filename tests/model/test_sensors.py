"""Sensors and channels against derivatives of poses; energies against mass matrices and the motion."""

import numpy as np
import pytest

from flexmbs._jit import kernel
from flexmbs.dynamics.tree.kinematics import positions, velocities
from flexmbs.dynamics.tree.residuals import masses
from flexmbs.errors import InputError
from flexmbs.expressions import parse
from flexmbs.ffrf.mass import mass_matrix
from flexmbs.model.bodies import Frame
from flexmbs.model.energy import energies
from flexmbs.model.forces.point import Point
from flexmbs.model.measure import measure, stress_rows
from flexmbs.model.model import OwnState
from flexmbs.model.sensors import Sensor
from flexmbs.spatial import log_so3, quat_to_matrix
from tests.model.rig import Rig
from tests.model.test_forces import mechanism


@kernel(lean=True)
def observe(sensors, sys, ws, pos, vel, acc, out, energy):
    positions(sys, ws, pos)
    velocities(sys, ws, pos, vel, acc)
    measure(sensors, sys, ws, out)
    masses(sys, ws, pos, vel)
    energies(sys, ws, pos, vel, energy)


def with_sensors(rng):
    kinds = ("position", "velocity", "acceleration", "rotation", "displacement")
    rig = mechanism(rng)
    model = rig.system.model
    for kind in kinds:
        model.add(Sensor(name=kind, type=kind, on="beam.left", relative_to="wing.tip"))
    model.add(Sensor(name="place", type="position", on="beam", at=Frame(at=[1.0, 0.25, 0.15])))
    return Rig(model)


def seen(rig, pos, vel, acc):
    part = rig.system.sensors
    out, energy = np.full(3 * len(part.places), np.nan), np.full((len(rig.sys.tree.parent), 4), np.nan)
    observe(part.tables, rig.sys, rig.ws, pos, vel, acc, out, energy)
    return dict(zip(part.places, out.reshape(-1, 3), strict=True)), energy


def path(rig, pos, vel, acc, t):
    """State at a small time along a motion; balls turn about a fixed axis, enough for first rates."""
    return rig.moved(pos, t * vel + 0.5 * t * t * acc), vel + t * acc


def test_velocity_sensor_is_the_rate_of_the_position_sensor():
    rng = np.random.default_rng(1)
    rig = with_sensors(rng)
    pos, vel = rig.random_state(rng)
    acc, h = rng.normal(size=rig.n_vel), 1e-5
    now = seen(rig, pos, vel, acc)[0]
    ahead, behind = (seen(rig, *path(rig, pos, vel, acc, s * h), acc)[0] for s in (1, -1))
    for value, rate in (("position", "velocity"), ("velocity", "acceleration")):
        slope = (ahead[value] - behind[value]) / (2 * h)
        np.testing.assert_allclose(now[rate], slope, rtol=1e-6, atol=1e-6)  # difference quotient


def test_rotation_sensor_is_the_rotation_vector_between_the_frames():
    rng = np.random.default_rng(2)
    rig = with_sensors(rng)
    now, _ = seen(rig, *rig.random_state(rng), np.zeros(rig.n_vel))
    found = rig.system.markers.get("wing.tip"), rig.system.markers.get("beam.left")
    P, Q = (rig.ws.marker.R[m.number] for m in found)
    np.testing.assert_allclose(now["rotation"], log_so3(P.T @ Q), rtol=1e-12, atol=1e-13)


def test_displacement_sensor_shows_the_elastic_part_in_body_axes():
    rng = np.random.default_rng(3)
    rig = with_sensors(rng)
    pos, vel = rig.random_state(rng)
    body = rig.system.model.bodies["beam"]
    i = rig.system.numbers.index["beam"]
    q = pos[rig.sys.body.o_q[i] : rig.sys.body.o_q[i] + 3]
    face = body.modal.interfaces["left"]
    K = body.modal.integrals.K_geo[12:15]
    expected = face.Phi @ q - 0.5 * np.einsum("a,cab,b->c", q, K, q)
    now, _ = seen(rig, pos, vel, np.zeros(rig.n_vel))
    np.testing.assert_allclose(now["displacement"], expected, rtol=1e-12)


def test_energies_are_those_of_the_mass_matrices():
    rng = np.random.default_rng(4)
    rig = with_sensors(rng)
    model = rig.system.model
    model.gravity = (1.0, -2.0, -9.81)
    rig = Rig(model)
    pos, vel = rig.random_state(rng)
    _, energy = seen(rig, pos, vel, np.zeros(rig.n_vel))
    for name, body in model.bodies.items():
        i, integrals = rig.system.numbers.index[name], rig.system.integrals(name)
        q = pos[rig.sys.body.o_q[i] : rig.sys.body.o_q[i] + integrals.nf]
        R, v = rig.ws.body.R[i], rig.ws.body.v[i]
        v_hat = np.concatenate([R.T @ v[:3], R.T @ v[3:], vel[rig.speeds(i)]])
        M = mass_matrix(integrals, q)
        S_t = np.array([M[5, 1], M[3, 2], M[4, 0]])
        gravity = -np.dot(model.gravity, integrals.mass * rig.ws.body.r[i] + R @ S_t)
        q_dot = v_hat[6:]
        expected = [
            0.5 * v_hat @ M @ v_hat, gravity, 0.5 * q @ integrals.K_ff @ q, q_dot @ integrals.D_ff @ q_dot,
        ]  # fmt: skip
        np.testing.assert_allclose(energy[i], expected, rtol=1e-11, atol=1e-12, err_msg=body.name)


CHANNELS = {
    "joints.pivot.velocity[0]": lambda rig, pos, vel: vel[rig.system.coordinate("pivot").vel],
    "joints.ball.position[2]": lambda rig, pos, vel: quaternion(rig, pos, "ball")[2],
    "joints.ball.velocity[1]": lambda rig, pos, vel: vel[rig.system.joints["ball"].vel + 1],
    "joints.slide.position[1]": lambda rig, pos, vel: pos[rig.system.coordinate("slide", "travel").pos],
    "bodies.beam.q[1]": lambda rig, pos, vel: pos[rig.sys.body.o_q[rig.system.numbers.index["beam"]] + 1],
    "bodies.beam.q_dot[2]": lambda rig, pos, vel: vel[
        rig.sys.tree.o_qd[rig.system.numbers.index["beam"]] + 2
    ],
    "bodies.box.angular_velocity[1]": lambda rig, pos, vel: rig.ws.body.v[rig.system.numbers.index["box"], 4],
    "frames.beam.left.position[2]": lambda rig, pos, vel: rig.ws.marker.x[
        rig.system.markers.get("beam.left").number, 2
    ],
    "frames.beam.left.velocity[0]": lambda rig, pos, vel: rig.ws.marker.v[
        rig.system.markers.get("beam.left").number, 0
    ],
    "sensors.position[1]": lambda rig, pos, vel: seen(rig, pos, vel, 0 * vel)[0]["position"][1],
    "sensors.velocity[2]": lambda rig, pos, vel: seen(rig, pos, vel, 0 * vel)[0]["velocity"][2],
    "sensors.rotation[0]": lambda rig, pos, vel: seen(rig, pos, vel, 0 * vel)[0]["rotation"][0],
    "sensors.displacement[0]": lambda rig, pos, vel: seen(rig, pos, vel, 0 * vel)[0]["displacement"][0],
    "states.filter": lambda rig, pos, vel: 0.25,
    "t": lambda rig, pos, vel: 0.5,
}


def quaternion(rig, pos, joint):
    start = rig.system.joints[joint].pos
    return pos[start : start + 4] * np.sign(pos[start])


@pytest.mark.parametrize("label", CHANNELS)
def test_channels_reach_expressions(label):
    rng = np.random.default_rng(5)
    model = with_sensors(rng).system.model
    model.add(OwnState(name="filter", rate=0.0))
    model.add(Point(name="f", on="box", force=[parse(f"={label}"), 0.0, 0.0]))
    rig = Rig(model)
    pos, vel = rig.random_state(rng)
    rig.aux[0] = 0.25
    found = rig.evaluate(pos, vel, 0.5)[0, 0]
    assert found == pytest.approx(CHANNELS[label](rig, pos, vel), rel=1e-12, abs=1e-13)


def test_quaternion_channels_are_those_of_the_frame():
    rng = np.random.default_rng(6)
    model = with_sensors(rng).system.model
    for k in range(4):
        name = f"f{k}"
        model.add(Point(name=name, on="box", force=[parse(f"=frames.arm.tip.quaternion[{k}]"), 0.0, 0.0]))
    rig = Rig(model)
    quat = rig.evaluate(*rig.random_state(rng))[:, 0]
    R = rig.ws.marker.R[rig.system.markers.get("arm.tip").number]
    np.testing.assert_allclose(quat_to_matrix(quat), R, atol=1e-14)
    assert quat[0] >= 0.0


def test_stress_sensor_takes_the_rows_of_its_node():
    rng = np.random.default_rng(7)
    model = with_sensors(rng).system.model
    body = model.bodies["beam"]
    object.__setattr__(body.modal, "stress", rng.normal(size=(3, 8, 6)))
    object.__setattr__(body.modal, "stress_at", "nodes")
    model.add(Sensor(name="s", type="stress", on="beam", at=Frame(nearest=body.modal.mesh.points[5])))
    np.testing.assert_array_equal(stress_rows(model, "s"), body.modal.stress[:, 5])


def test_stress_of_cells_takes_the_first_cell_of_the_node():
    rng = np.random.default_rng(8)
    model = with_sensors(rng).system.model
    body = model.bodies["beam"]
    object.__setattr__(body.modal, "stress", rng.normal(size=(3, 1, 6)))
    object.__setattr__(body.modal, "stress_at", "cells")
    model.add(Sensor(name="s", type="stress", on="beam.left"))
    np.testing.assert_array_equal(stress_rows(model, "s"), body.modal.stress[:, 0])


def test_stress_sensors_that_cannot_be_are_refused():
    rng = np.random.default_rng(9)
    model = with_sensors(rng).system.model
    model.add(
        Sensor(name="rigid", type="stress", on="box"),
        Sensor(name="placeless", type="stress", on="beam"),
    )
    with pytest.raises(InputError, match="no stress modes"):
        stress_rows(model, "rigid")
    object.__setattr__(model.bodies["beam"].modal, "stress", np.zeros((3, 8, 6)))
    with pytest.raises(InputError, match="needs a place"):
        stress_rows(model, "placeless")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("joints.pivt.position[0]", "pivot"),
        ("joints.pivot.position[3]", "not in the model"),
        ("states.fliter", "filter"),
        ("sensors.positon[0]", "position"),
        ("sensors.acceleration[0]", "follows from the accelerations"),
        ("frames.beam.left.colour[0]", "position"),
    ],
)
def test_channels_that_are_not_there_are_named(label, words):
    rng = np.random.default_rng(10)
    model = with_sensors(rng).system.model
    model.add(OwnState(name="filter", rate=0.0))
    model.add(Point(name="f", on="box", force=[parse(f"={label}"), 0.0, 0.0]))
    with pytest.raises(InputError, match=words):
        Rig(model)
