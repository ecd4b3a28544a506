"""The matrices that `check --explain` prints satisfy the equations of the formulation and give the motion."""

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.dynamics.as_written import dependent_form, explained, minimal_form
from flexmbs.dynamics.mechanism import build
from flexmbs.expressions import parse
from flexmbs.model.couplings import COUPLINGS
from flexmbs.model.drives import Drive
from flexmbs.model.joints import JOINTS
from flexmbs.post import matrices
from tests.dynamics.mechanisms import body_accelerations, moving_state, random_mechanism
from tests.model.test_couplings import four_bar, spinning
from tests.test_linear_model import rotor


def explain(system, *forms):
    """Lines that the command line prints of the initial state."""
    return matrices.text(system.explain(system.initial_state()), forms)


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
            R, at = ws.body.R[place.body], ws.marker.x[place.Q.number] - ws.body.r[place.body]
            force = R @ f_p[:3]
            wrench = np.concatenate([force, R @ f_p[3:] - np.cross(at, force)])
            sign = -1.0 if place.reverse else 1.0
            scale = max(1.0, np.abs(wrench).max())
            np.testing.assert_allclose(ws.joint.reaction[j], sign * wrench, rtol=0, atol=1e-8 * scale)


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
    free = system.tables.tree.driven < 0  # prescribed speeds are no columns of C
    np.testing.assert_allclose(
        G[real][:, free], found.G_loop[real][:, free], atol=1e-12 * max(1.0, np.abs(G).max())
    )
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * max(1.0, np.abs(found.gamma_s).max()))
    np.testing.assert_allclose(found.G_loop @ found.J_loop, 0.0, atol=1e-9 * max(1.0, np.abs(G).max()))


def test_speeds_and_rates_follow_from_the_independent_ones_F27_F29(case):
    system, evaluator, state, acc, found = case
    free = system.tables.tree.driven < 0
    left = found.gbar_loop + found.G_loop[:, free] @ found.eta_bar[free]
    np.testing.assert_allclose(left, 0.0, atol=1e-9 * max(1.0, np.abs(found.gbar_loop).max(initial=0.0)))
    moving = state.copy()
    moving.vel = found.J_loop @ state.vel[found.independent] + found.eta_bar
    evaluator.kinematics(moving)
    np.testing.assert_allclose(evaluator.ws.row.g_dot, 0.0, atol=1e-9 * max(1.0, np.abs(state.vel).max()))
    rates = found.J_loop @ acc[found.independent] + found.eta_bbar
    np.testing.assert_allclose(rates[free], acc[free], atol=1e-7 * max(1.0, np.abs(acc).max()))


def test_twists_follow_from_those_of_the_parents_F20():
    """The relative velocity of a driven joint, which C does not hold: a crank that turns with 2 rad/s."""
    model = four_bar()
    model.add(Drive(name="motor", joint="a", position=parse("=0.5 + 2*t")))
    system = build(model)
    crank = explained(system, system.initial_state())["crank"]
    np.testing.assert_allclose(crank.v_rel, [0, 0, 0, 0, 0, 2.0], atol=1e-12)
    assert crank.C.size == 0 and "C (F20) what it gets of its own speeds: (none)" in "\n".join(
        explain(system)
    )


def test_minimal_form_gives_the_motion_F30(case):
    system, _, state, acc, found = case
    if np.any(system.tables.tree.massless) or "no inertia" in " ".join(found.rows):
        return  # Mhat alone is singular there
    form = minimal_form(system, state)
    np.testing.assert_allclose(form.M_hat, form.M_hat.T, atol=1e-9 * np.abs(form.M_hat).max())
    np.testing.assert_allclose(form.s_dot, acc[found.independent], rtol=1e-6, atol=1e-6)
    free = system.tables.tree.driven < 0
    projected = found.J_loop[free].T @ (form.k_hat - form.M_hat @ found.eta_bbar[free])
    np.testing.assert_allclose(projected, form.k_min, atol=1e-6 * max(1.0, np.abs(form.k_hat).max()))


@pytest.mark.parametrize("name", ["coupled", "open 1", "closed 100"])
def test_dependent_form_gives_the_motion_F32(name):
    tree = MECHANISMS[name]()
    system = build(tree.model, formulation="descriptor")
    state = system.initial_state()
    form = dependent_form(system, state)
    scale = max(1.0, np.abs(form.p1).max(), np.abs(form.p2).max())
    np.testing.assert_allclose(form.M @ form.z_ddot, form.p1 + form.Phi.T @ form.lam, atol=1e-8 * scale)
    np.testing.assert_allclose(form.Phi @ form.z_ddot, form.p2, atol=1e-8 * scale)
    truth = tree.forward_dynamics(tree.initial_state())
    for body in tree.model.bodies:
        k = form.names.index(f"{body}.x")
        if system.topology.plane is None:
            np.testing.assert_allclose(
                form.z_ddot[k : k + 3], truth[f"bodies.{body}.acceleration"], atol=1e-6 * scale
            )
    text = "\n".join(explain(tree, "descriptor"))
    assert all(
        symbol in text for symbol in ("Phi_s (F32)", "p1 (F32)", "p2 (F32)", form.rows[0], form.names[0])
    )
    assert "Mhat (F30)" in "\n".join(explain(tree, "minimal"))


def test_bodies_without_a_joint_say_so():
    system = build(random_mechanism(2, afloat=True))
    heads = [line for line in explain(system) if line.startswith("body 1 ") and "p = 0" in line]
    assert heads[0].endswith("free, no joint")


def test_lines_have_the_symbols_of_the_notes():
    text = "\n".join(explain(build(four_bar())))
    for symbol in (
        "B (F20)", "C (F20)", "arel (F20)", "M (F12)", "f* (F22)", "M* (F22)", "N (F22) C^T M* C",
        "[G^sT] (F26)",
        "[G^sT]* (F25)", "A (F25)", "L (F25)", "F (F25)", "lambda^s (F26)", "G^l (F27)", "J^l (F29)",
        "vrel (F20)", "gbar^l (F27)", "etabar (F29)", "etabarbar (F29)",
    ):  # fmt: skip
        assert symbol in text, symbol
    text = "\n".join(explain(coupled()))
    assert "J^l (F29) all speeds by the independent ones: (none)" in text  # its one freedom is driven
    assert "couplings.l (law)" in text
