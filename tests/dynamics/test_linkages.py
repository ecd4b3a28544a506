"""Linkages with closed forms, on acceleration level and driven."""

import numpy as np
import pytest

from flexmbs.dynamics.analyses.inverse import Follower
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from tests.dynamics.test_analyses import reference_problem


def slender(name, mass, length):
    J = mass * length**2 / 12
    return RigidBody(
        name=name, mass=mass, com=[length / 2, 0, 0], inertia=np.diag([1e-6, J, J]),
        frames={"end": Frame(pos=[length, 0, 0])},
    )  # fmt: skip


def test_parallelogram_with_redundant_rows_moves_as_its_equation_says():
    p, _ = reference_problem("linkage-parallelogram")
    for angle in (1.0, 0.3, -2.0):
        model = Model(gravity=(0, -p["g"], 0))
        model.ground_frames["b"] = Frame(pos=[p["B"], 0, 0])
        model.add(
            slender("one", p["m"], p["L"]), slender("two", p["m"], p["L"]), slender("bar", p["mb"], p["B"])
        )
        revolute = JOINTS["revolute"]
        model.add(
            revolute(name="a", from_frame="ground", to_frame="one", position=[angle]),
            revolute(name="b", from_frame="ground.b", to_frame="two", position=[angle]),
            revolute(name="c", from_frame="one.end", to_frame="bar", position=[-angle]),
            revolute(name="d", from_frame="bar.end", to_frame="two.end", position=[angle]),
        )
        motion = build(model).forward_dynamics(build(model).initial_state())
        m, mb = p["m"], p["mb"]
        expected = -(m + mb) * p["g"] * np.cos(angle) / ((2 * m / 3 + mb) * p["L"])
        assert motion["joints.a.acceleration"][0] == pytest.approx(expected, rel=1e-11)


def test_cardan_joint_has_its_ratio():
    p, expected = reference_problem("joint-cardan-ratio")
    delta = np.deg2rad(p["delta_deg"])
    out = np.array([np.cos(delta), np.sin(delta), 0.0])
    model = Model()
    model.add(RigidBody(name="in", mass=1.0, inertia=np.eye(3) * p["J1"]))
    model.add(RigidBody(name="out", mass=1.0, inertia=np.eye(3) * p["J2"]))
    model.add(JOINTS["revolute"](name="a", from_frame="ground", to_frame="in", axis=[1, 0, 0]))
    model.add(JOINTS["revolute"](name="b", from_frame="ground", to_frame="out", axis=out))
    # first pin along y of the input shaft (in the plane of both shafts), second along z of the output
    model.bodies["in"].frames["pin"] = Frame(rot=np.array([[0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0]]))
    side = np.cross([0, 0, 1.0], out)
    model.bodies["out"].frames["pin"] = Frame(rot=np.column_stack([side, [0, 0, 1.0], out]))
    model.add(JOINTS["universal"](name="u", from_frame="in.pin", to_frame="out.pin"))
    model.add(Drive(name="motor", joint="a", position=parse("=t")))
    system = build(model)
    follower = Follower(system.evaluator(), system.initial_state())
    place = system.joints["b"]
    done = 0
    for degrees in range(0, 121):
        acc = follower.at(np.deg2rad(degrees))
        if f"{degrees}deg" in expected["table_b_ratio_dratio_da"]:
            b, ratio, slope = expected["table_b_ratio_dratio_da"][f"{degrees}deg"]
            assert follower.state.pos[place.pos] == pytest.approx(b, rel=1e-10, abs=1e-12)
            assert follower.state.vel[place.vel] == pytest.approx(ratio, rel=1e-10)
            assert acc[place.vel] == pytest.approx(slope, rel=1e-9, abs=1e-11)
            done += 1
    assert done == 6


def test_rssr_linkage_with_an_idle_coupler_follows_its_closed_form():
    p, expected = reference_problem("linkage-rssr")
    model = Model()
    a, b, c = p["a"], p["b"], p["c"]
    model.add(slender("crank", 1.0, a), slender("rocker", 1.0, b), slender("coupler", 1.0, c))
    # rocker: tip at (d + b cos psi, y0, h0 + b sin psi), turning about -y by psi
    model.ground_frames["r"] = Frame(
        pos=[p["d"], p["y0"], p["h0"]], rot=np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    )
    psi0 = expected["table_psi_psidot_psiddot"]["0deg"][0]
    tip = np.array([p["d"] + b * np.cos(psi0), p["y0"], p["h0"] + b * np.sin(psi0)])
    along = (tip - [a, 0, 0]) / c
    side = np.cross(along, [0, 0, 1.0])
    side /= np.linalg.norm(side)
    model.bodies["coupler"].pose_pos = np.array([a, 0, 0])
    model.bodies["coupler"].pose_rot = np.column_stack([along, side, np.cross(along, side)])
    model.bodies["coupler"].pose_given = True
    for name in ("crank", "rocker"):
        model.bodies[name].pose_given = name == "crank"
    model.add(
        JOINTS["revolute"](name="crank", from_frame="ground", to_frame="crank"),
        JOINTS["revolute"](name="rocker", from_frame="ground.r", to_frame="rocker", position=[psi0]),
        JOINTS["spherical"](name="A", from_frame="crank.end", to_frame="coupler"),
        JOINTS["spherical"](name="B", from_frame="coupler.end", to_frame="rocker.end"),
        Drive(name="motor", joint="crank", position=parse(f"={p['omega']}*t")),
    )
    system = build(model)
    follower = Follower(system.evaluator(), system.initial_state())
    place, found = system.joints["rocker"], 0
    for degrees in range(0, 301, 2):
        acc = follower.at(np.deg2rad(degrees) / p["omega"])
        if f"{degrees}deg" in expected["table_psi_psidot_psiddot"]:
            psi, rate, second = expected["table_psi_psidot_psiddot"][f"{degrees}deg"]
            assert follower.state.pos[place.pos] == pytest.approx(psi, rel=1e-9)
            assert follower.state.vel[place.vel] == pytest.approx(rate, rel=1e-9)
            assert acc[place.vel] == pytest.approx(second, rel=1e-8)
            found += 1
    assert found == 6
    assert follower.idle == 1  # the coupler may spin
