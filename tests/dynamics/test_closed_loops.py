"""Loops in closed form against Newton, on random linkages and through full turns (F29)."""

import numpy as np
import pytest

from flexmbs.dynamics.analyses.initial import assemble
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.closed_form import closed_forms
from flexmbs.dynamics.minimal.coordinates import Minimal, Split
from flexmbs.errors import SolverError
from flexmbs.model.bodies import GROUND, Frame, RigidBody
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from tests.dynamics.mechanisms import add_body, place_marker, rotation

#: joints round the loop, first the crank on ground; "r" turns, "p" slides
X_TO_Z = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
LOOPS = ("rrrr", "rrrp", "rrpr", "rprr", "prrr")


def linkage(seed, word, cut=""):
    """Bars in a tilted plane, joints where they are; either end of a joint first, any of them the cut."""
    rng, model = np.random.default_rng(seed), Model()
    R = rotation(rng, 2.0)
    names = [GROUND]
    for k, letter in enumerate(word):
        name = GROUND if k == len(word) - 1 else f"b{k}"
        if name != GROUND:
            add_body(rng, model, name, "rigid")
        axis = np.eye(3)
        if letter == "p":  # its z axis lies in the plane
            c, s = np.cos(a := rng.uniform(0, 6)), np.sin(a)
            axis = np.array([[0.0, -s, c], [0.0, c, s], [-1.0, 0.0, 0.0]])
        elif rng.random() < 0.5:
            axis = np.diag([1.0, -1.0, -1.0])
        x = R @ [*rng.normal(size=2), rng.uniform(-0.2, 0.2)]
        ends = [place_marker(rng, model, body, x, R @ axis) for body in (names[-1], name)]
        if rng.random() < 0.5:
            ends.reverse()
        kind = {"r": "revolute", "p": "prismatic"}[letter]
        model.add(
            JOINTS[kind](name=f"j{k}", from_frame=ends[0], to_frame=ends[1], cut=f"j{k}" == cut)
        )  # fmt: skip
        names.append(name)
    return model


def minimal_of(model):
    system = build(model)
    evaluator = system.evaluator()
    state = assemble(system)
    return Minimal(evaluator, state), state


@pytest.mark.parametrize("word", LOOPS)
@pytest.mark.parametrize("cut", ["j0", "j1", "j2", "j3"])
@pytest.mark.parametrize("seed", range(5))
def test_closed_forms_are_recognised_and_agree_with_newton_F29(word, cut, seed):
    minimal, state = minimal_of(linkage(seed, word, cut))
    assert len(minimal.forms) == 1
    step = 0.02 * np.ones(len(minimal.split.ind))
    full = np.zeros(minimal.system.n_vel)
    full[minimal.split.ind] = step
    closed, newton = state.copy(), state.copy()
    for there in (closed, newton):
        add_increment(minimal.evaluator.tables, state.pos.copy(), full, there.pos)
    minimal.close_positions(closed)
    assert minimal.iterations == 0  # nothing is left for Newton
    minimal.forms = []
    minimal.close_positions(newton)
    assert minimal.iterations > 0
    np.testing.assert_allclose(closed.pos, newton.pos, rtol=0, atol=1e-11)
    minimal.evaluator.kinematics(closed)
    assert np.abs(minimal.evaluator.ws.row.g).max() < 1e-13


def test_a_second_loop_on_the_first_closes_after_it_F29():
    """The coupler of a four-bar carries a pin that drives a slider by a further rod."""
    rng, model = np.random.default_rng(2), Model()
    points = {
        "a": (0, 0),
        "b": (0.2, 0.1),
        "c": (0.9, 0.5),
        "d": (1.0, 0.0),
        "e": (0.5, 0.8),
        "f": (0.4, 1.6),
    }
    for name in ("crank", "coupler", "rocker", "rod", "block"):
        add_body(rng, model, name, "rigid")
    pins = [("a", GROUND, "crank"), ("b", "crank", "coupler"), ("d", GROUND, "rocker"),
            ("c", "coupler", "rocker"), ("e", "coupler", "rod"), ("f", "rod", "block")]  # fmt: skip
    for name, *bodies in pins:
        ends = [place_marker(rng, model, body, np.array([*points[name], 0.0]), np.eye(3)) for body in bodies]
        model.add(JOINTS["revolute"](name=name, from_frame=ends[0], to_frame=ends[1]))
    ends = [
        place_marker(rng, model, body, np.array([*points["f"], 0.0]), X_TO_Z) for body in (GROUND, "block")
    ]
    model.add(JOINTS["prismatic"](name="way", from_frame=ends[0], to_frame=ends[1]))
    minimal, state = minimal_of(model)
    assert (len(minimal.split.ind), len(minimal.forms)) == (1, 2)
    moved = minimal.moved(state, np.array([0.03]))
    assert minimal.iterations == 0
    assert np.abs(minimal.evaluator.ws.row.g).max() < 1e-13
    assert np.abs(moved.pos - state.pos).max() > 0.01


@pytest.mark.parametrize("slider", [False, True])
def test_full_turns_stay_on_their_branch_F29(slider):
    """The closed form of the textbook for every crank angle, ten times round."""
    r, l, c, d = 0.2, 0.7, 0.5, 0.6
    model = Model()
    for name in ("crank", "rod", "last"):
        model.add(RigidBody(name=name, mass=1.0, inertia=np.eye(3)))
    frames = {"crank": [r, 0, 0], "rod": [l, 0, 0], "last": [0, 0, 0] if slider else [c, 0, 0]}
    for name, pos in frames.items():
        model.bodies[name].frames["tip"] = Frame(pos=pos)
    model.ground_frames["right"] = Frame(
        pos=[0.0 if slider else d, 0, 0], rot=X_TO_Z if slider else np.eye(3)
    )
    model.bodies["last"].frames["way"] = Frame(rot=X_TO_Z)
    turn = JOINTS["revolute"]
    model.add(turn(name="a", from_frame=GROUND, to_frame="crank", position=[0.3], hold=True))
    model.add(turn(name="b", from_frame="crank.tip", to_frame="rod", position=[0.2]))
    last = {"from_frame": "ground.right", "to_frame": "last.way" if slider else "last"}
    kind = "prismatic" if slider else "revolute"
    model.add(JOINTS[kind](name="d", position=[0.8] if slider else [1.6], **last))
    model.add(turn(name="c", from_frame="rod.tip", to_frame="last.tip", cut=True))
    minimal, state = minimal_of(model)
    place = {name: minimal.system.joints[name].pos for name in "abd"}
    crank = minimal.system.joints["a"].vel
    minimal.split = Split(np.array([crank]), np.setdiff1d(np.arange(3), [crank]), minimal.split.rows)
    minimal.forms = closed_forms(minimal.system, minimal.evaluator, minimal.split.dep)
    assert len(minimal.forms) == 1
    steps = 720
    for k in range(1, 10 * steps + 1):
        phi = 0.3 + 2.0 * np.pi * k / steps
        state.pos[place["a"]] = phi
        minimal.close_positions(state)
        pin = r * np.exp(1j * phi)
        if slider:
            x = pin.real + np.sqrt(l**2 - pin.imag**2)
            assert state.pos[place["d"]] == pytest.approx(x, abs=1e-12)
        else:
            D = abs(d - pin)
            inside = np.arccos((D**2 + c**2 - l**2) / (2 * D * c))
            psi = np.angle(pin - d) - inside
            assert np.exp(1j * state.pos[place["d"]]) == pytest.approx(np.exp(1j * psi), abs=1e-12)
    assert minimal.iterations == 0


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_rocker_beyond_its_last_position_says_what_is_missing(seed):
    """Of an independent coordinate that swings, beyond the end of its swing."""
    minimal, state = minimal_of(linkage(seed, "rrrr"))
    k = int(np.flatnonzero(minimal.evaluator.tables.tree.vel_of_pos == minimal.split.ind[0])[0])
    with pytest.raises(SolverError, match="m are missing"):
        for _ in range(400):
            state.pos[k] += 0.02
            minimal.close_positions(state)


def test_loops_in_space_are_left_to_newton():
    model = linkage(4, "rrrr")
    joint = model.joints.pop("j2")
    model.add(JOINTS["spherical"](name="j2", from_frame=joint.from_frame, to_frame=joint.to_frame))
    assert minimal_of(model)[0].forms == []
