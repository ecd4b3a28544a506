"""All force laws: force = -gradient of the energy, action = reaction, power balance, on any bodies."""

import numpy as np
import pytest

from flexmbs._jit import kernel
from flexmbs.expressions import parse
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import interface_loads
from flexmbs.modaldata.data import InterfaceData, from_shapes
from flexmbs.model.bodies import FlexibleBody, Frame, RigidBody
from flexmbs.model.forces.base import FORCES, PythonNumber
from flexmbs.model.forces.bushing import Bushing
from flexmbs.model.forces.distributed import Distributed
from flexmbs.model.forces.joint_force import JointForce
from flexmbs.model.forces.point import Point
from flexmbs.model.forces.spring_damper import SpringDamper
from flexmbs.model.forces.torque import Torque
from flexmbs.model.joints.cylindrical import Cylindrical
from flexmbs.model.joints.revolute import Revolute
from flexmbs.model.joints.spherical import Spherical
from flexmbs.model.laws.tables import DAMPING, FORCE, LENGTH, MOMENT, RATE, STIFFNESS, VALUE
from flexmbs.model.laws.values import friction_loads, switches
from flexmbs.model.model import Model
from flexmbs.spatial import exp_so3
from tests.ffrf import reference
from tests.model.rig import Rig


def flexible(rng, name="beam", nf=3):
    """A body with random modes, two interfaces, stiffening of all unit loads, a mesh of one hexahedron."""
    cloud, integrals = reference.random_body(rng, nf, geo=True, interfaces=("left", "right"))
    integrals.K_geo[...] *= 0.1
    assert interface_loads("right")[0] in integrals.loads
    faces = {
        side: InterfaceData(
            rng.normal(size=3), exp_so3(rng.normal(size=3)), *rng.normal(size=(2, 3, nf)),
            np.array([0]), np.array([1.0]),
        )
        for side in ("left", "right")
    }  # fmt: skip
    corners = np.array([[x, y, z] for z in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))], dtype=float)
    mesh = Mesh(
        corners @ np.diag([2.0, 0.5, 0.3]) + 0.02 * rng.normal(size=(8, 3)),
        {"hex8": [np.arange(8)]},
        face_sets={"top": {"hex8": [[0, 5]]}, "skin": {"hex8": [[0, k] for k in range(6)]}},
        cell_sets={"all": {"hex8": [0]}},
    )
    modal = from_shapes(integrals, mesh=mesh, Phi=0.3 * rng.normal(size=(nf, 8, 3)), interfaces=faces)
    return FlexibleBody(name=name, modal=modal, frames={"in": Frame(at=[1.0, 0.25, 0.15])})


def mechanism(rng, *forces):
    """A revolute arm on ground, free rigid and flexible bodies, a ball and a cylinder joint."""
    model = Model()
    J = np.diag([1.0, 2.0, 2.5])
    for name in ("arm", "box", "wing", "rod"):
        frames = {"tip": Frame(pos=rng.normal(size=3), rot=exp_so3(rng.normal(size=3)))}
        model.add(RigidBody(name=name, mass=2.0, com=[0.1, 0.0, 0.2], inertia=J, frames=frames))
    model.add(flexible(rng))
    model.ground_frames["post"] = Frame(pos=rng.normal(size=3), rot=exp_so3(rng.normal(size=3)))
    model.add(Revolute(name="pivot", from_frame="ground.post", to_frame="arm", axis=[0, 1, 0]))
    model.add(Spherical(name="ball", from_frame="arm.tip", to_frame="wing.tip"))
    model.add(Cylindrical(name="slide", from_frame="beam.right", to_frame="rod.tip"))
    return Rig(model.add(*forces))


SIX = [3.0, 4.0, 5.0, 2.0, 1.5, 2.5]
CONSERVATIVE = {
    "spring": SpringDamper(name="f", from_frame="box.tip", to_frame="beam.left", stiffness=7.0, length=0.4),
    "preload": SpringDamper(name="f", from_frame="arm.tip", to_frame="beam.in", preload=3.0),
    "to ground": SpringDamper(name="f", from_frame="beam.right", to_frame="ground.post", stiffness=2.0),
    "one body": SpringDamper(name="f", from_frame="beam.left", to_frame="beam.right", stiffness=2.0),
    "bushing": Bushing(name="f", from_frame="box.tip", to_frame="beam.left", stiffness=SIX),
    "bushing on flexible": Bushing(name="f", from_frame="beam.right", to_frame="wing.tip", stiffness=SIX),
    "bushing to ground": Bushing(name="f", from_frame="ground.post", to_frame="beam.in", stiffness=SIX),
}


@pytest.mark.parametrize("law", CONSERVATIVE.values(), ids=CONSERVATIVE.keys())
def test_force_is_minus_the_gradient_of_its_energy(law):
    rng = np.random.default_rng(1)
    rig = mechanism(rng, law)
    pos, _ = rig.random_state(rng)
    for k in range(rig.n_vel):
        unit = np.eye(rig.n_vel)[k]
        rig.evaluate(pos, unit)
        force = rig.power(unit)
        h, energy = 1e-5, {}
        for s in (-2, -1, 1, 2):
            rig.evaluate(rig.moved(pos, s * h * unit), unit)
            energy[s] = rig.sums()[0]
        slope = (8 * (energy[1] - energy[-1]) - (energy[2] - energy[-2])) / (12 * h)
        assert force == pytest.approx(-slope, rel=1e-7, abs=1e-8)  # fourth-order difference
        assert rig.sums()[2] == pytest.approx(0.0, abs=1e-12 * (1 + abs(force)))


@pytest.mark.parametrize("law", list(CONSERVATIVE.values())[:2], ids=str)
def test_action_is_reaction(law):
    rng = np.random.default_rng(2)
    rig = mechanism(rng, law)
    rig.evaluate(*rig.random_state(rng))
    np.testing.assert_allclose(rig.total_wrench(), 0.0, atol=1e-12 * np.abs(rig.ws.body.f_app).max())


def test_action_is_reaction_of_a_bushing():
    rng = np.random.default_rng(2)
    law = Bushing(name="f", from_frame="box.tip", to_frame="beam.left", stiffness=SIX, damping=SIX)
    rig = mechanism(rng, law)
    rig.evaluate(*rig.random_state(rng))
    np.testing.assert_allclose(rig.total_wrench(), 0.0, atol=1e-11)


ALL = [
    SpringDamper(
        name="spring", from_frame="box.tip", to_frame="beam.left", stiffness=7.0, damping=2.0, length=0.4,
        preload=1.0,
    ),
    SpringDamper(
        name="law", from_frame="arm.tip", to_frame="beam.in",
        force=parse("=3*(x - 0.2)**3 + 0.5*v + 0.1*sin(t)"),
    ),
    SpringDamper(name="moving", from_frame="box", to_frame="wing", stiffness=2.0, length=parse("=0.1*t")),
    Bushing(name="bushing", from_frame="beam.right", to_frame="box.tip", stiffness=SIX, damping=SIX),
    Point(name="dead", on="beam.left", force=[1.0, parse("=2*t"), parse("=joints.pivot.position[0]")]),
    Point(name="follower", on="beam.in", force=[1.0, 2.0, 3.0], axes="body"),
    Point(name="place", on="box", at=Frame(pos=[0.3, 0.2, 0.1]), force=[1.0, 2.0, 3.0], axes="wing.tip"),
    Torque(name="torque", on="beam.right", torque=[1.0, 2.0, 3.0], axes="body"),
    JointForce(name="push", joint="slide", coordinate="travel", value=parse("=-2*joints.slide.velocity[1]")),
    Distributed(name="gas", on="beam", set="top", pressure=parse("=3 + t")),
    Distributed(name="snow", on="beam", set="top", force=[0.0, 0.0, -2.0]),
    Distributed(name="field", on="beam", set="all", force=[1.0, 0.0, 0.0], axes="body"),
]  # fmt: skip
SPRINGS = {
    "spring": [{"stiffness": 3.0, "free": 0.2, "coordinate": "travel"}],
    "damper": {"damping": 0.7, "coordinate": "angle"},
    "friction": {"effort": 0.6, "stiction_velocity": 2.0, "coordinate": "travel"},
    "stop": {"lower": -0.05, "upper": 0.05, "stiffness": 30.0, "damping": 2.0, "coordinate": "travel"},
}


def test_every_registered_force_is_in_the_power_balance():
    types = {type(law) for law in ALL}
    assert {FORCES[name] for name in FORCES} == types


@pytest.mark.parametrize("seed", range(4))
def test_power_of_all_laws_balances(seed):
    """Power on bodies and coordinates = work - dissipated - rate of the potential."""
    rng = np.random.default_rng(seed)
    rig = mechanism(rng, *ALL)
    rig.system.model.joints["slide"].__dict__.update(SPRINGS)
    rig = Rig(rig.system.model)
    pos, vel = rig.random_state(rng)
    rig.evaluate(pos, vel, 0.3)
    power, (_, dissipated, work) = rig.power(vel), rig.sums()
    assert dissipated > 0.0
    assert rig.lw.power == pytest.approx([work, dissipated])
    h, energy = 1e-5, {}
    for s in (-2, -1, 1, 2):
        rig.evaluate(rig.moved(pos, s * h * vel), vel, 0.3)
        energy[s] = rig.sums()[0]
    rate = (8 * (energy[1] - energy[-1]) - (energy[2] - energy[-2])) / (12 * h)
    assert power == pytest.approx(work - dissipated - rate, rel=1e-8, abs=1e-8)


def test_slopes_of_a_spring_law_are_those_of_its_tension():
    rng = np.random.default_rng(3)
    rig = mechanism(rng, ALL[1])
    pos, vel = rig.random_state(rng)
    out = rig.evaluate(pos, vel, 0.3)[0]
    x, v = out[LENGTH], out[RATE]
    assert out[VALUE] == pytest.approx(3 * (x - 0.2) ** 3 + 0.5 * v + 0.1 * np.sin(0.3), rel=1e-13)
    assert out[STIFFNESS] == pytest.approx(9 * (x - 0.2) ** 2, rel=1e-12)
    assert out[DAMPING] == pytest.approx(0.5, rel=1e-12)


def test_slopes_of_joint_laws_are_what_the_step_takes():
    rng = np.random.default_rng(4)
    rig = mechanism(rng)
    rig.system.model.joints["slide"].__dict__.update(SPRINGS)
    rig.system.model.joints["pivot"].spring = {"force": parse("=-5*x**3 - 0.2*v")}
    rig = Rig(rig.system.model)
    pos, vel = rig.random_state(rng)

    def efforts(pos, vel):
        rig.evaluate(pos, vel)
        return rig.ws.coord.tau.copy()

    efforts(pos, vel)
    K, D = rig.ws.coord.K.copy(), rig.ws.coord.D.copy()
    for name, coordinate in (("slide", "travel"), ("slide", "angle"), ("pivot", None)):
        c = rig.system.coordinate(name, coordinate)
        for slope, moved in (
            (K, lambda s, c=c: (pos + s * np.eye(rig.n_pos)[c.pos], vel)),
            (D, lambda s, c=c: (pos, vel + s * np.eye(rig.n_vel)[c.vel])),
        ):
            found = (efforts(*moved(1e-6)) - efforts(*moved(-1e-6)))[c.number] / 2e-6
            assert slope[c.number] == pytest.approx(-found, rel=1e-6, abs=1e-8)


def test_stop_pushes_only_inside_and_never_pulls():
    rng = np.random.default_rng(5)
    rig = mechanism(rng)
    rig.system.model.joints["slide"].stop = SPRINGS["stop"]
    rig = Rig(rig.system.model)
    c = rig.system.coordinate("slide", "travel")
    for x, v, expected in (
        (0.0, 1.0, 0.0),
        (0.15, 0.0, -3.0),
        (0.15, 0.5, -4.0),
        (0.15, -9.0, 0.0),
        (-0.1, 0.0, 1.5),
    ):
        pos, vel = rig.random_state(rng)
        pos[c.pos], vel[c.vel] = x, v
        rig.evaluate(pos, vel)
        assert rig.ws.coord.tau[c.number] == pytest.approx(expected, abs=1e-14)


def test_friction_by_the_reaction_takes_its_coefficient_and_radius():
    rng = np.random.default_rng(6)
    rig = mechanism(rng)
    rig.system.model.joints["slide"].friction = {"coefficient": 0.2, "radius": 0.05, "coordinate": "angle"}
    rig = Rig(rig.system.model)
    c = rig.system.coordinate("slide", "angle")
    pos, vel = rig.random_state(rng)
    vel[c.vel] = -3.0
    rig.lw.load_of[c.number] = 400.0
    rig.evaluate(pos, vel)
    assert rig.ws.coord.tau[c.number] == pytest.approx(0.2 * 0.05 * 400.0)


def test_python_numbers_are_called_with_time_and_channels():
    rng = np.random.default_rng(7)
    seen = []

    def law(t, angle):
        seen.append((t, angle))
        return 10.0 * t + angle

    number = PythonNumber(function=law, channels=[parse("=2*joints.pivot.position[0]")])
    rig = mechanism(rng, Point(name="f", on="arm.tip", force=[0.0, number, 0.0]))
    pos, vel = rig.random_state(rng)
    out = rig.evaluate(pos, vel, 0.7)[0]
    angle = 2 * pos[rig.system.coordinate("pivot").pos]
    assert rig.part.python
    assert seen[-1] == (0.7, pytest.approx(angle))
    np.testing.assert_allclose(out[FORCE : FORCE + 3], [0.0, 7.0 + angle, 0.0])


def test_python_number_that_fails_gives_nan():
    rng = np.random.default_rng(8)
    rig = mechanism(rng, Point(name="f", on="arm", force=[PythonNumber(function=lambda t: 1 / 0), 0.0, 0.0]))
    assert np.isnan(rig.evaluate(*rig.random_state(rng))[0, FORCE])


def test_follower_turns_with_its_body_and_dead_load_does_not():
    rng = np.random.default_rng(9)
    force = [1.0, 2.0, 3.0]
    rig = mechanism(
        rng, Point(name="a", on="box.tip", force=force, axes="body"), Point(name="b", on="box", force=force)
    )
    out = rig.evaluate(*rig.random_state(rng))
    R = rig.ws.body.R[rig.system.numbers.index["box"]]
    np.testing.assert_allclose(out[0, FORCE : FORCE + 3], R @ force, rtol=1e-13)
    np.testing.assert_array_equal(out[1, FORCE : FORCE + 3], force)


def test_pressure_all_around_a_body_vanishes_and_on_a_face_is_its_area():
    rng = np.random.default_rng(10)
    rig = mechanism(
        rng,
        Distributed(name="sea", on="beam", set="skin", pressure=4.0),
        Distributed(name="gas", on="beam", set="top", pressure=4.0),
    )
    pos, vel = rig.random_state(rng)
    pos[:] = np.where(rig.sys.tree.vel_of_pos >= 0, 0.0, pos)
    out = rig.evaluate(pos, vel)
    np.testing.assert_allclose(out[0, : MOMENT + 3], 0.0, atol=1e-13)
    i = rig.system.numbers.index["beam"]
    X = rig.system.model.bodies["beam"].modal.mesh.points[4:]  # the face z = 1, corners in order
    s, w = np.polynomial.legendre.leggauss(4)
    area = np.zeros(3)
    for a, wa in zip(s, w, strict=True):
        for b, wb in zip(s, w, strict=True):
            by_a = 0.25 * (np.array([-(1 - b), 1 - b, 1 + b, -(1 + b)]) @ X)
            by_b = 0.25 * (np.array([-(1 - a), -(1 + a), 1 + a, 1 - a]) @ X)
            area += wa * wb * np.cross(by_a, by_b)
    np.testing.assert_allclose(rig.ws.body.R[i].T @ out[1, FORCE : FORCE + 3], -4.0 * area, rtol=1e-12)


@kernel(lean=True)
def switch_values(laws, lw, out):
    switches(laws, lw, out)


def test_switches_are_zero_where_laws_jump():
    rng = np.random.default_rng(11)
    law = SpringDamper(
        name="f", from_frame="arm.tip", to_frame="beam.in", force=parse("=where(x > 0.7, 3, 1)*v")
    )
    push = JointForce(name="g", joint="pivot", value=parse("=max(t - 0.4, 0)"))
    rig = mechanism(rng, law, push)
    rig.system.model.joints["slide"].stop = {"upper": 0.05, "stiffness": 30.0, "coordinate": "travel"}
    rig = Rig(rig.system.model)
    pos, vel = rig.random_state(rng)
    out = rig.evaluate(pos, vel, 0.3)
    found = np.full(len(rig.laws.switch_expr), np.nan)
    switch_values(rig.laws, rig.lw, found)
    travel = pos[rig.system.coordinate("slide", "travel").pos]
    expected = sorted([out[0, LENGTH] - 0.7, 0.3 - 0.4, travel - 0.05])
    np.testing.assert_allclose(sorted(found), expected, rtol=1e-12)


@kernel(lean=True)
def press(laws, lw, sys, ws):
    return friction_loads(laws, lw, sys, ws)


def test_friction_takes_the_reaction_across_a_slide_and_all_of_it_in_a_bearing():
    rng = np.random.default_rng(12)
    rig = mechanism(rng)
    rig.system.model.joints["slide"].friction = [
        {"coefficient": 0.2, "coordinate": "travel"},
        {"coefficient": 0.1, "radius": 0.5, "coordinate": "angle"},
    ]
    rig = Rig(rig.system.model)
    pos, vel = rig.random_state(rng)
    rig.evaluate(pos, vel)
    j = list(rig.system.joints).index("slide")
    axis = rig.ws.marker.R[rig.sys.joint.q[j]][:, 2]
    across = np.cross(axis, [1.0, 0.0, 0.0])
    rig.ws.joint.reaction[j, :3] = 3.0 * axis + 4.0 * across / np.linalg.norm(across)
    assert press(rig.laws, rig.lw, rig.sys, rig.ws) == pytest.approx(1.0)
    assert press(rig.laws, rig.lw, rig.sys, rig.ws) == 0.0
    slide, turn = (rig.system.coordinate("slide", name).number for name in ("travel", "angle"))
    assert rig.lw.load_of[[slide, turn]] == pytest.approx([4.0, 5.0])
