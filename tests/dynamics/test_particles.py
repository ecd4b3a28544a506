"""Mass points: three translations, rods between them, joints that hold their place only."""

import numpy as np
import pytest

from flexmbs.dynamics.mechanism import build
from flexmbs.model.bodies import GROUND, Frame
from flexmbs.model.joints import JOINTS
from flexmbs.model.model import Model
from tests import reference
from tests.dynamics.mechanisms import add_body, add_joint, body_accelerations, moving_state


@pytest.mark.parametrize("seed", range(4))
def test_particles_on_rods_and_bodies_agree_with_the_dense_solution(seed):
    rng, model = np.random.default_rng(seed), Model(gravity=(1.0, 2.0, -9.0))
    for name in ("p0", "p1", "p2", "q"):
        add_body(rng, model, name, "particle")
    add_body(rng, model, "r", "rigid")
    add_joint(rng, model, "s", "spherical", GROUND, "r")
    for k, (a, b) in enumerate([(GROUND, "p0"), ("p0", "p1"), ("p1", "p2"), ("p2", "r")]):
        start = np.zeros(3) if a == GROUND else model.bodies[a].pose_pos
        length = float(np.linalg.norm(model.bodies[b].pose_pos - start))
        model.add(JOINTS["distance"](name=f"rod{k}", from_frame=a, to_frame=b, length=length))
    body, point = model.bodies["r"], model.bodies["q"]
    body.frames["q"] = Frame(pos=body.pose_rot.T @ (point.pose_pos - body.pose_pos))
    model.add(JOINTS["spherical"](name="held", from_frame="r.q", to_frame="q"))
    system = build(model)
    assert system.n_vel == 3 * 4 + 3
    evaluator, state = moving_state(system, seed)
    found = body_accelerations(system, evaluator, evaluator.observe(state))
    truth = reference.solve(system, evaluator, state)
    for name, a in truth.a_hat.items():
        np.testing.assert_allclose(found[name], a, rtol=0, atol=1e-11 * max(1.0, np.abs(a).max()))
    for j, name in enumerate(system.joints):
        if name in truth.wrench:
            force = evaluator.ws.reaction[j][:3]
            np.testing.assert_allclose(
                force, truth.wrench[name][:3], atol=1e-10 * max(1.0, np.abs(force).max())
            )
