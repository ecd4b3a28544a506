"""Impacts: speeds behind a moment at which drives, or constraints, ask for others at once (F44)."""

import numpy as np
import pytest

from flexmbs._jit import handle
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.dynamics.loops import projection
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.drives import Drive
from tests.dynamics.mechanisms import moving_state, random_mechanism


def inertia(system, state):
    """M (n_vel, n_vel) of the tree, driven speeds among the others, and the twists of all bodies."""
    evaluator, none = system.evaluator(), np.full(system.n_vel, -1, dtype=np.int64)
    tree = system.tables.tree._replace(driven=none, driven_pos=none)
    evaluator.tables = handle(system.tables._replace(tree=tree))
    state = state.copy()
    unit = np.vstack([np.zeros(system.n_vel), np.eye(system.n_vel)])
    forces = np.array([evaluator.tree_forces(state, acc) for acc in unit])
    evaluator.kinematics(state)
    return (forces[0] - forces[1:]).T, evaluator.ws.body.v.copy()


@pytest.mark.parametrize("n_loops", [0, 2])
@pytest.mark.parametrize("seed", range(5))
def test_what_drives_strike_passes_on_the_momentum_of_what_is_free_F44(seed, n_loops):
    model = random_mechanism(seed, n_bodies=6, n_loops=n_loops)
    joint = next(item for item in model.joints.values() if item.coordinates and not item.name.startswith("l"))
    law = Drive(name="m", joint=joint.name, coordinate=joint.coordinates[-1], velocity=parse("=0.7"))
    model.add(law)
    system = build(model)
    evaluator, state = moving_state(system, seed)
    before = state.copy()
    rng = np.random.default_rng(seed)
    before.vel[:] = rng.normal(size=system.n_vel)
    M, twist = inertia(system, before)
    after = before.copy()
    after.vel += 0.1 * rng.normal(size=system.n_vel)  # where it begins does not matter
    assert projection.impact(*evaluator._args(after, evaluator.acc), twist, before.vel) == 0

    driven = system.tables.tree.driven >= 0
    jump, G = after.vel - before.vel, evaluator.jacobian(after)
    assert driven.any() and np.abs(jump[driven]).max() > 0.01
    np.testing.assert_allclose(after.vel[driven], 0.7, rtol=1e-14)
    np.testing.assert_allclose(evaluator.ws.row.g_dot, 0.0, atol=1e-9)
    impulse = (M @ jump)[~driven]
    if len(G):
        impulse -= G[:, ~driven].T @ np.linalg.lstsq(G[:, ~driven].T, impulse, rcond=None)[0]
    np.testing.assert_allclose(impulse, 0.0, atol=1e-9 * np.abs(M @ jump).max())


WAYS = [{"method": word} for word in ("dop853", "generalized-alpha")]
WAYS += [{"formulation": word} for word in ("minimal", "descriptor")]


def wheel(inertia):
    return {"type": "rigid", "mass": 1, "inertia": {"ixx": 1, "iyy": 1, "izz": inertia}}


def spindle(bodies, law, cut, way):
    """A wheel that is turned against a disc on a free shaft."""
    return {
        "bodies": bodies,
        "joints": {
            "shaft": {"type": "revolute", "from": "ground", "to": "disc", "initial": {"velocity": 0}},
            "hub": {"type": "revolute", "from": "disc", "to": "wheel", "cut": cut},
        },
        "drives": {"motor": {"joint": "hub"} | law},
        "analysis": {"t_end": 1.0, "rtol": 1e-8, "atol": 1e-10} | way,
        "output": {"every": 0.1},
    }


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("law", [{"position": "=max(0, t - 0.45)"}, {"velocity": "=where(t > 0.45, 1, 0)"}])
def test_a_drive_that_bends_strikes_what_carries_it_as_well(tmp_path, law, cut, way):
    """1 kg m^2 against 2: 2 w + (w + 1) = 0."""
    data = spindle({"disc": wheel(2.0), "wheel": wheel(1.0)}, law, cut, way)
    found = execute(Case.from_dict(data), tmp_path / "a.h5").result
    assert found.joints.shaft.velocity[-1, 0] == pytest.approx(-1.0 / 3.0, abs=1e-9)
    assert found.joints.shaft.position[-1, 0] == pytest.approx(-0.55 / 3.0, abs=1e-9)
    assert found.energy.work[-1] == pytest.approx(1.0 / 3.0, abs=1e-9)
    assert found.energy.dissipated[-1] == pytest.approx(0.0, abs=1e-9)
    assert np.abs(found.energy.balance_error).max() < 1e-8


@pytest.mark.parametrize("method", ["dop853", "generalized-alpha"])
def test_steps_behind_a_jump_are_as_at_a_start(tmp_path, method):
    """Those that found it are too short for what follows: rounding of the closure over h^2 is a force."""
    bodies = {"disc": wheel(2.0), "wheel": wheel(1.0) | {"com": [0.2, 0.1, 0.0]}}
    data = spindle(bodies, {"velocity": "=0.3 + where(t > 0.45, 1, 0)"}, True, {"method": method})
    found = execute(Case.from_dict(data), tmp_path / "a.h5").result
    w = -1.05 / 3.05
    assert found.joints.shaft.velocity[-1, 0] == pytest.approx(w, abs=1e-8)
    work = 0.5 * (2.0 * w**2 + 1.05 * (1.3 + w) ** 2 - 1.05 * 0.3**2)
    assert found.energy.work[-1] == pytest.approx(work, abs=1e-8)
    assert np.abs(found.energy.balance_error).max() < 1e-8
