"""Every analytic derivative of motion and constraints against the complex step (see tests/complex_step.py).

The whole position and velocity stage runs with complex numbers: joints, markers at rest, elastic and
travelling ones, locked relations, coordinates of cut joints, couplings, drives. Derivatives of the markers
alone, and of SO(3), are in tests/ffrf/test_marker.py and tests/test_spatial.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from flexmbs.dynamics import evaluate
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.bodies import Frame, RigidBody
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from flexmbs.model.state import State
from flexmbs.spatial import axial, quat_multiply
from tests.complex_step import by_name, derivative, plain, pos_rates, twin
from tests.dynamics.mechanisms import IN_TREE, ONLY_CUT, random_mechanism
from tests.model.test_travel import travelling

#: value and its rate, in the workspace
RATES = {
    "body.r": "body.v", "body.v": "body.a", "marker.x": "marker.v", "marker.v": "marker.a",
    "coord.x": "coord.v", "row.g": "row.g_dot", "row.g_dot": "row.g_ddot", "law.x": "law.v", "law.v": "law.a",
}  # fmt: skip


class Motion:
    """Position and velocity stage of a system at complex states around a random one, or the closed one."""

    def __init__(self, system, rng, is_closed=False):
        self.system, self.t, self.evaluator = system, 0.37, system.evaluator()
        self.tables, self.laws = plain(self.evaluator.tables), plain(self.evaluator.laws)
        self.pos, self.aux = 0.4 * rng.normal(size=system.n_pos), rng.normal(size=system.n_aux)
        for b in self.tables.prim.ball_beta:
            self.pos[b : b + 4] /= np.linalg.norm(self.pos[b : b + 4])
        self.vel, self.acc = rng.normal(size=(2, system.n_vel))
        self.turns = np.zeros(len(self.tables.relation.kind))
        if is_closed:
            start = system.initial_state()
            self.pos, self.turns = start.pos, start.turns
        state = self.state()
        self.evaluator.kinematics(state, self.acc)  # driven entries are set
        self.pos, self.vel = state.pos, state.vel

    def state(self):
        return State(self.t, self.pos.copy(), self.vel.copy(), self.aux.copy(), self.turns.copy())

    def stage(self, t, pos, vel, acc):
        """Arrays of the workspace behind the stage."""
        ws, work = twin(self.evaluator.ws), twin(self.evaluator.law_work)
        ws.relation.turn[:] = self.turns
        evaluate.kinematics(self.tables, ws, self.laws, work, (t, pos, vel, self.aux + 0j, acc))
        return {**by_name(ws), "values": ws.relation.at[:, 0], "rates": ws.relation.at[:, 1]}

    def at(self):
        return [self.t, self.pos, self.vel, self.acc]

    def along(self, vel, acc, t_dot):
        """Derivative along a motion."""
        rates = pos_rates(self.tables, self.pos, vel)
        return derivative(self.stage, self.at(), [t_dot, rates, acc, np.zeros_like(acc)])


def close(found, wanted, what):
    size = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=2e-11 * size, err_msg=what)  # rounding


def spins(R, R_dot):
    return np.array([axial(d @ a.T) for a, d in zip(R, R_dot, strict=True)]).reshape(-1, 3)


def check_rates(system, rng, is_closed=False):
    """Velocities are rates of places, accelerations those of velocities, of everything (F18-F20, F27)."""
    motion = Motion(system, rng, is_closed)
    found, rate = motion.evaluator.ws, motion.along(motion.vel, motion.acc, 1.0)
    now = by_name(found)
    for value, name in RATES.items():
        wanted = now[name]
        close(rate[value], wanted[..., : rate[value].shape[-1]], value)
    close(spins(found.body.R, rate["body.R"]), found.body.v[:, 3:], "angular velocities of bodies")
    close(spins(found.marker.R, rate["marker.R"]), found.marker.v[:, 3:], "angular velocities of markers")
    close(rate["values"], found.relation.at[:, 1], "rates of relations")
    close(rate["rates"], found.relation.at[:, 2], "second rates of relations")
    return motion


def check_columns(motion):
    """Columns of C_i and B_i move bodies as their coordinates do, those of G the constraints (F20, F27)."""
    system, t = motion.system, motion.tables
    G = motion.evaluator.jacobian(motion.state())
    ws, columns = motion.evaluator.ws, []
    for k in range(system.n_vel):
        unit = np.eye(system.n_vel)[k]
        if t.tree.driven[k] >= 0:
            columns.append(np.zeros(len(G)))
            continue
        rate = motion.along(unit, np.zeros_like(unit), 0.0)
        columns.append(rate["row.g"])
        i = int(np.searchsorted(t.tree.o_eta, k, side="right")) - 1
        moved = np.hstack([rate["body.r"], spins(ws.body.R, rate["body.R"])])
        close(moved[i], ws.tree.H[k], f"column {k} of body {i}")
        if k >= t.tree.o_qd[i]:
            check_children(ws, t, i, k - t.tree.o_qd[i], moved)
    wanted = np.array(columns).T.reshape(G.shape)
    close(np.where(t.tree.driven >= 0, 0.0, G), wanted, "rows of constraints")


def check_children(ws, t, i, a, moved):
    """Mode a of body i carries its children by the columns of B, beside the motion of its frame (F20)."""
    for c in np.flatnonzero(t.tree.parent == i):
        if c == i:
            continue
        column = ws.tree.B[t.tree.o_B[c] + 6 * a :][:6].copy()
        column[:3] += moved[i, :3] + np.cross(moved[i, 3:], ws.body.r[c] - ws.body.r[i])
        column[3:] += moved[i, 3:]
        close(moved[c], column, f"mode {a} of body {i} at body {c}")


@pytest.mark.parametrize("seed", range(6))
def test_motion_and_constraints_of_random_mechanisms_F20_F27(seed):
    rng = np.random.default_rng(seed)
    kinds = [[*IN_TREE[1:-1], *ONLY_CUT][(3 * seed + k) % 14] for k in range(3)]
    model = random_mechanism(seed, n_bodies=4, n_loops=3, flexible=0.5, loop_kinds=kinds, stiff=seed % 2 == 1)
    check_columns(check_rates(build(model), rng, is_closed=True))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", IN_TREE)
def test_explicit_faces_of_joints_F19(kind, reverse):
    rng = np.random.default_rng(len(kind))
    check_columns(check_rates(build(pair(rng, kind, reverse, cut=False)), rng))


@pytest.mark.parametrize("kind", [*IN_TREE[1:-1], *ONLY_CUT])
def test_implicit_faces_of_joints_F19(kind):
    """Relations of a cut joint, and the coordinates that it leaves: angles are those of a closed joint."""
    rng = np.random.default_rng(len(kind))
    model = random_mechanism(
        31, n_bodies=3, n_loops=1, loop_kinds=[kind], stiff=True, afloat=True, cuts=["loop0"]
    )
    motion = check_rates(build(model), rng, is_closed=True)
    assert "loop0" in {group.name for group in motion.system.groups}
    check_columns(motion)


@pytest.mark.parametrize("kind", ["fixed", "prismatic", *ONLY_CUT])
def test_locked_relations_anywhere_F19(kind):
    """The rows of joints without angles are what they are also where they are open; lengths follow time."""
    rng = np.random.default_rng(len(kind))
    motion = check_rates(build(pair(rng, kind, False, cut=True)), rng)
    assert motion.system.n_rows > 0 and np.abs(motion.evaluator.ws.row.g).max() > 0.01
    check_columns(motion)


def pair(rng, kind, reverse, cut):
    """Two bodies that move freely, joined; the second one hangs on the joint where it is no cut."""
    model = Model()
    frames = {"f": Frame(pos=rng.normal(size=3), rot=np.linalg.qr(rng.normal(size=(3, 3)))[0])}
    frames["f"].rot *= np.linalg.det(frames["f"].rot)
    for name in ("a", "b"):
        model.add(RigidBody(name=name, mass=1.0, inertia=np.eye(3), frames=frames))
    model.add(JOINTS["free"](name="float", from_frame="ground", to_frame="a"))
    if cut:
        model.add(JOINTS["free"](name="other", from_frame="ground", to_frame="b"))
    keys = (
        {"lead": 0.7}
        if kind == "helical"
        else {"length": parse("=0.8 + 0.1*t")}
        if kind == "distance"
        else {}
    )
    ends = ("b.f", "a.f") if reverse else ("a.f", "b.f")
    return model.add(JOINTS[kind](name="j", from_frame=ends[0], to_frame=ends[1], cut=cut, **keys))


LIFT = "=0.05 + 0.01*sin(2*x) + 0.002*x"
LAWS = {
    "gear": {"wheels": ("A", "B"), "teeth": (20, 30)},
    "gear on a carrier": {"wheels": ("A", "C"), "carrier": "B", "teeth": (20, 30), "internal": True},
    "rack_pinion": {"pinion": "a", "rack": "d", "radius": 0.3},
    "screw": {"nut": "b", "slide": "d", "lead": 0.1},
    "linear": {"terms": {"a": 2.0, "b": -1.0, "d": 0.5}},
    "expression": {"zero": parse("=sin(joints.a.position[0])*joints.d.position[0] + 0.1*t**2 - 0.2")},
    "cam": {"cam": "a", "follower": "d", "lift": parse(LIFT)},
    "cam of points": {
        "cam": "a", "follower": "d", "roller": 0.01, "at": "D.tip",
        "polar": [[phi, 0.1 + 0.01 * np.cos(phi)] for phi in np.linspace(0.0, 2 * np.pi, 41)[:-1]],
    },
}  # fmt: skip


def shafts():
    """Two wheels on ground, a third on the second, a slide: joints whose coordinates couplings relate."""
    model = Model()
    places = {"A": [0, 0, 0], "B": [0.4, 0, 0], "C": [0.2, 0.1, 0], "D": [0, 0.15, 0]}
    for name, place in places.items():
        rigid = RigidBody(
            name=name, mass=1.0, inertia=np.eye(3), pose_pos=np.array(place, float), pose_given=True
        )
        rigid.frames["tip"] = Frame()
        model.add(rigid)
        model.ground_frames[name] = Frame(pos=place)
    model.bodies["B"].frames["c"] = Frame(pos=[-0.2, 0.1, 0.0])
    model.add(
        JOINTS["revolute"](name="a", from_frame="ground.A", to_frame="A"),
        JOINTS["revolute"](name="b", from_frame="ground.B", to_frame="B"),
        JOINTS["revolute"](name="c", from_frame="B.c", to_frame="C"),
        JOINTS["prismatic"](name="d", from_frame="ground.D", to_frame="D", axis=[0, 1, 0]),
    )
    return model


@pytest.mark.parametrize("name", LAWS)
def test_laws_of_couplings_F19(name):
    rng = np.random.default_rng(7)
    model = shafts()
    model.add(COUPLINGS[name.split()[0]](name="c", **LAWS[name]))
    motion = check_rates(build(model), rng)
    assert np.abs(motion.evaluator.ws.row.g_ddot).max() > 0.0
    check_columns(motion)


@pytest.mark.parametrize("given", ["position", "velocity", "acceleration"])
@pytest.mark.parametrize("cut", [False, True])
def test_drives_of_any_order_F19(given, cut):
    rng = np.random.default_rng(8)
    model = shafts()
    model.joints["c"].cut = cut
    if cut:
        model.add(JOINTS["free"](name="float", from_frame="ground", to_frame="C"))
    model.add(Drive(name="motor", joint="c", **{given: parse("=0.3*sin(2*t) + t**2")}))
    motion = Motion(build(model), rng)
    found, rate = by_name(motion.evaluator.ws), motion.along(motion.vel, motion.acc, 1.0)
    pairs = {"position": 2, "velocity": 1, "acceleration": 0}[given]
    names = ["law.x", "law.v", "law.a"][3 - pairs - 1 :] if pairs else []
    for value, slope in zip(names[:-1], names[1:], strict=True):
        assert np.abs(found[slope]).max() > 0.0
        close(rate[value], found[slope], value)


TURNS = {
    "angles": ("0.3*sin(2*t) + t**2", "1 - 2*t", "exp(t)"),
    "quaternion": ("1 + t", "sin(2*t)", "t**2", "0.4"),
    "matrix": ("cos(2*t)", "-sin(2*t)", "0", "sin(2*t)", "cos(2*t)", "0", "0", "0", "1"),
}


@pytest.mark.parametrize("form", TURNS)
@pytest.mark.parametrize("cut", [False, True])
def test_attitudes_of_any_form_F19a(form, cut):
    """Speeds are rates of the attitude, their rates are theirs; in a cut g has the rates of its speeds."""
    rng = np.random.default_rng(8)
    model = shafts()
    model.joints["c"] = JOINTS["spherical"](name="c", from_frame="ground", to_frame="C", cut=cut)
    law = RotationLaw(form, tuple(parse(f"={text}") for text in TURNS[form]), np.eye(3))
    model.add(Drive(name="motor", joint="c", position=law))
    motion = Motion(build(model), rng)
    found, rate = motion.evaluator.ws, motion.along(motion.vel, motion.acc, 1.0)
    q, w = found.law.attitude[0], found.law.v[:3]
    product = quat_multiply(q, np.array([0.0, *w])) / 2.0
    close(rate["law.attitude"][0], product, "attitude")
    close(rate["law.v"][:3], found.law.a[:3], "speeds")
    assert np.abs(w).max() > 0.1 and not cut or len(found.row.g) >= 3
    close(rate["row.g_dot"], found.row.g_ddot, "second rates of rows")


@pytest.mark.parametrize("on", ["beam", "box"])
def test_travelling_frames_F18a(on):
    rng = np.random.default_rng(9)
    rig = travelling(rng, on)
    motion = check_rates(build(rig.system.model), rng)
    assert np.abs(motion.evaluator.ws.travel.x[:, 1:]).max() > 0.0
