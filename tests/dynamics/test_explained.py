"""The matrices that `check --explain` prints satisfy the equations of the formulation and give the motion."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.case.explain import explain
from flexmbs.dynamics.explained import explained
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from tests.dynamics.mechanisms import body_accelerations, moving_state, random_mechanism
from tests.model.test_couplings import four_bar, spinning
from tests.test_linear_model import rotor


def coupled():
    """A four-bar, driven at a cut joint, with a wheel geared to it."""
    model = four_bar()
    model.joints["d"].cut = True
    model.add(spinning("wheel", 0.3))
    model.add(JOINTS["revolute"](name="w", from_frame="ground", to_frame="wheel"))
    model.add(COUPLINGS["linear"](name="l", terms={"w": 1.0, "d": -3.0}))
    model.add(Drive(name="motor", joint="b", position=parse("=-0.7 + 2*t + t**2")))
    return build(model)


def weightless(cut):
    """A four-bar whose rod has no inertia; cut at its far end the rod hangs at the crank."""
    model = four_bar()
    model.bodies["rod"].mass, model.bodies["rod"].inertia = 0.0, np.zeros((3, 3))
    model.joints[cut].cut = True
    return build(model)


MECHANISMS = {
    "coupled": coupled,
    "weightless b": lambda: weightless("b"),
    "weightless c": lambda: weightless("c"),
    "massless": lambda: Case.from_dict(rotor()).system(),
    **{f"open {k}": lambda k=k: build(random_mechanism(k, flexible=0.5 * (k % 2))) for k in range(4)},
    **{
        f"closed {k}": lambda k=k: build(random_mechanism(k, n_loops=2, flexible=0.5 * (k % 2)))
        for k in range(100, 106)
    },
}


@pytest.fixture(params=MECHANISMS)
def case(request):
    system = MECHANISMS[request.param]()
    evaluator, state = moving_state(system, 5)
    return system, evaluator, state, evaluator.observe(state), explained(system, state)


def test_recursion_by_hand_gives_the_motion_F22(case):
    system, evaluator, _, acc, found = case
    truth = body_accelerations(system, evaluator, acc)
    scale = max(1.0, *(np.abs(a).max() for a in truth.values()))
    for step in found.steps:
        a_hat, rates, f_p = found.solution(step.name)
        np.testing.assert_allclose(a_hat, truth[step.name], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(rates, acc[step.speeds], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(  # (F21)
            step.C.T @ f_p, step.tau + step.tau_lam @ found.lam - step.extra * rates, atol=1e-9 * scale
        )


def test_joint_wrenches_are_the_reactions_F21(case):
    system, evaluator, _, _, found = case
    for j, place in enumerate(system.joints.values()):
        if place.body:
            step, ws = found.steps[place.body - 1], evaluator.ws
            f_p = found.solution(step.name)[2][:6]
            R, at = ws.R[place.body], ws.mark_x[place.Q.number] - ws.r[place.body]
            force = R @ f_p[:3]
            wrench = np.concatenate([force, R @ f_p[3:] - np.cross(at, force)])
            sign = -1.0 if place.reverse else 1.0
            scale = max(1.0, np.abs(wrench).max())
            np.testing.assert_allclose(ws.reaction[j], sign * wrench, rtol=0, atol=1e-8 * scale)


def test_closure_is_that_of_the_tree_F26_F27_F29(case):
    system, _, _, _, found = case
    if not found.rows:
        return
    Jt = {0: np.zeros((6, system.n_vel))}
    G = np.zeros_like(found.G_loop)
    left = found.gamma_s + found.GA @ found.lam
    for s in found.steps:
        Jt[s.number] = s.B @ Jt[s.parent]
        Jt[s.number][:, s.speeds] += s.C
        G += s.GsT.T @ Jt[s.number]
        G[:, s.speeds] += s.tau_lam.T
        left += s.GsT.T @ s.a_hat0 + s.tau_lam.T @ s.eta_hat_dot0
    real = [not name.endswith("(no inertia)") for name in found.rows]
    free = system.tables.driven < 0  # prescribed speeds are no columns of C
    np.testing.assert_allclose(
        G[real][:, free], found.G_loop[real][:, free], atol=1e-12 * max(1.0, np.abs(G).max())
    )
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * max(1.0, np.abs(found.gamma_s).max()))
    np.testing.assert_allclose(found.G_loop @ found.J_loop, 0.0, atol=1e-9 * max(1.0, np.abs(G).max()))


def test_lines_have_the_symbols_of_the_notes():
    text = "\n".join(explain(build(four_bar())))
    for symbol in (
        "B (F20)", "C (F20)", "arel (F20)", "M (F12)", "f* (F22)", "M* (F22)", "N = C^T M* C", "[G^sT] (F26)",
        "[G^sT]* (F25)", "A (F25)", "L (F25)", "F (F25)", "lambda^s (F26)", "G^l (F27)", "J^l (F29)",
    ):  # fmt: skip
        assert symbol in text, symbol
    text = "\n".join(explain(coupled()))
    assert "s, the independent speeds: none" in text  # its one freedom is driven
    assert "couplings.l (law)" in text
