"""`system.explain(state)`: every array against an assembly that shares nothing with the recursion."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import h5py
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.dynamics.by_symbol import position_names
from flexmbs.dynamics.loops.projection import add_increment
from flexmbs.dynamics.mechanism import build
from flexmbs.dynamics.minimal.coordinates import Minimal
from flexmbs.dynamics.symbols import NOTATION
from flexmbs.errors import InputError, SolverError, UnknownNameError, UsageError
from flexmbs.expressions import parse
from flexmbs.ffrf.integrals import BODY_LOADS
from flexmbs.ffrf.parametrisation import parametrisation, velocity_map
from flexmbs.ffrf.written import BodyState, in_rotation_parameters, parameters_of, written
from flexmbs.model.drives import Drive
from flexmbs.post import matrices
from flexmbs.post.mathml import formula
from flexmbs.spatial import skew
from tests import reference as twin
from tests.dynamics.mechanisms import moving_state, random_mechanism
from tests.ffrf import reference
from tests.model.test_couplings import four_bar

STEP = 1e-6


def driven():
    """A four-bar whose crank is driven."""
    model = four_bar()
    model.add(Drive(name="motor", joint="a", position=parse("=0.5 + 2*t + 3*t**2")))
    return build(model)


MECHANISMS = {
    "driven": driven,
    "open": lambda: build(random_mechanism(1, flexible=0.5)),
    "closed": lambda: build(random_mechanism(101, n_loops=2, flexible=0.5)),
    "closed too": lambda: build(random_mechanism(102, n_loops=2)),
}


@pytest.fixture(params=MECHANISMS, scope="module")
def case(request):
    system = MECHANISMS[request.param]()
    evaluator, state = moving_state(system, 5)
    return system, evaluator, state, system.explain(state)


def near(found, expected, size=1e-9):
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=size * max(1.0, np.abs(expected).max(initial=0.0))
    )


def free_of(system):
    return np.flatnonzero(system.tables.tree.driven < 0)


def twists(system, state):
    """Velocities of all bodies in body axes."""
    evaluator = system.evaluator()
    evaluator.kinematics(state)
    found = {}
    for i, name in enumerate(system.bodies[1:], start=1):
        turn = np.kron(np.eye(2), evaluator.ws.body.R[i].T)
        nf, k = int(system.tables.body.nf[i]), int(system.tables.tree.o_qd[i])
        found[name] = np.concatenate([turn @ evaluator.ws.body.v[i], state.vel[k : k + nf]])
    return found


def with_speeds(state, vel):
    changed = state.copy()
    changed.vel[:] = vel
    return changed


def test_J_and_vbar_give_the_velocities_F27(case):
    system, _, state, found = case
    free = free_of(system)
    still = with_speeds(state, np.zeros(system.n_vel))
    at_rest = twists(system, still)
    for name, group in found.bodies.items():
        near(group.v_bar, at_rest[name])
        for column, k in enumerate(free):
            one = twists(system, with_speeds(state, np.eye(system.n_vel)[k]))[name]
            near(group.J_tree[:, column], one - at_rest[name])
        near(group.v_hat, group.J_tree @ state.vel[free] + group.v_bar)


def test_J_is_the_derivative_of_the_poses_F27(case):
    """Central differences of places and axes of all bodies along every free speed."""
    system, evaluator, state, found = case
    for column, k in enumerate(free_of(system)):
        poses = []
        for h in (STEP, -STEP):
            moved = state.copy()
            add_increment(evaluator.tables, state.pos, h * np.eye(system.n_vel)[k], moved.pos)
            evaluator.kinematics(moved)
            poses.append((evaluator.ws.body.r.copy(), evaluator.ws.body.R.copy()))
        for i, name in enumerate(system.bodies[1:], start=1):
            R = found.bodies[name].R_IB
            rate = (poses[0][0][i] - poses[1][0][i]) / (2 * STEP)
            turn = R.T @ (poses[0][1][i] - poses[1][1][i]) / (2 * STEP)
            near(found.bodies[name].J_tree[:3, column], R.T @ rate, 1e-7)
            near(skew(found.bodies[name].J_tree[3:6, column]), turn, 1e-7)


def test_abar_is_the_acceleration_at_constant_speeds_F27(case):
    """Central differences of the velocities along the motion whose free speeds do not change."""
    system, evaluator, state, found = case
    ends = []
    for h in (STEP, -STEP):
        moved = state.copy()
        moved.t += h
        add_increment(evaluator.tables, state.pos, h * state.vel, moved.pos)
        ends.append(twists(system, moved))
    for name, group in found.bodies.items():
        v_dot = (ends[0][name] - ends[1][name]) / (2 * STEP)
        v_dot[:3] += np.cross(group.v_hat[3:6], group.v_hat[:3])
        near(group.a_bar, v_dot, 1e-6)


def test_H_gives_the_rates_of_the_joint_coordinates_F19(case):
    system, evaluator, state, found = case
    ends = []
    for h in (STEP, -STEP):
        pos = state.pos.copy()
        add_increment(evaluator.tables, state.pos, h * state.vel, pos)
        ends.append(pos)
    rates, start = (ends[0] - ends[1]) / (2 * STEP), 0
    for group in found.bodies.values():
        end = start + len(group.beta)
        near(group.H_kin @ group.eta, rates[start:end], 1e-8)
        near(group.get("phi", np.zeros(1)), 0.0, 1e-12)
        start = end + len(group.get("q", ()))


def test_accelerations_and_wrenches_are_those_of_the_dense_twin(case):
    system, evaluator, state, found = case
    if any(drive for drive in system.model.drives):
        return  # the twin knows no drives
    evaluator.kinematics(state.copy())
    truth = twin.solve(system, evaluator, state)
    for name, group in found.bodies.items():
        near(group.a_hat, truth.a_hat[name], 1e-7)
        R, i = group.R_IB, system.numbers.index[name]
        place = system.topology.branches[i - 1].joint.name
        if place in truth.wrench and not system.joints[place].reverse and truth.rank == truth.n_rows:
            at = evaluator.ws.marker.x[system.joints[place].Q.number] - group.r
            force, moment = truth.wrench[place][:3], truth.wrench[place][3:]
            near(R @ group.f_p[:3], force, 1e-6)
            near(R @ group.f_p[3:6], moment + np.cross(at, force), 1e-6)


def test_bodies_obey_newton_and_euler_with_all_their_wrenches_F21(case):
    """M ahat = f^c + f^t + f^s + f^p - what the next bodies pass on, from the printed arrays alone."""
    system, _, _, found = case
    left = {}
    for name, group in found.bodies.items():
        f_s = group.get("f_s", 0.0)
        left[name] = group.M @ group.a_hat - group.Q_v - group.f_app - f_s - group.f_p
    for branch in system.topology.branches:
        if branch.parent in left:
            B, f_p = found.bodies[branch.body].B, found.bodies[branch.body].f_p
            left[branch.parent] += B.T @ f_p
    for name, missing in left.items():
        near(missing / max(1.0, np.abs(found.bodies[name].f).max()), 0.0 * missing, 1e-7)


def test_closure_is_made_of_the_cuts_F26_F27(case):
    system, _, state, found = case
    x = found.loops
    if not len(x):
        return
    G, gbar, gamma = np.zeros_like(x.G_loop), x.gbar_s.copy(), x.gamma_s.copy()
    left = x.GA @ x.lam + x.gamma_s
    for name, group in found.bodies.items():
        near(group.G_s, group.GsT.T)
        G += group.G_s @ group.J_tree
        own = [list(found.bodies[name].symbol("J_tree").columns).index(c) for c in group_speeds(found, name)]
        G[:, own] += group.tau_lam.T
        gbar += group.G_s @ group.v_bar
        gamma += group.G_s @ group.a_bar
        left += group.G_s @ group.a_hat0 + group.tau_lam.T @ group.eta_hat_dot0
        near(group.E, group.C.T @ group.GsT_star + group.tau_lam)
    near(G, x.G_loop)
    near(gbar, x.gbar_loop)
    near(gamma, x.gamma_loop, 1e-8)
    near(left, 0.0 * left, 1e-8 * max(1.0, np.abs(x.gamma_s).max()))
    near(x.G_loop @ x.J_loop, 0.0 * x.G_loop @ x.J_loop)
    near(x.G_loop @ x.eta_bar + x.gbar_loop, 0.0 * x.gbar_loop)
    near(x.G_loop @ x.eta_bbar + x.gamma_loop, 0.0 * x.gbar_loop, 1e-8)


def group_speeds(found, name):
    return found.bodies[name].symbol("C").columns


def reference_body(system, name, group):
    """M and Q_v of a body from its integrals, by the sums of the formulation."""
    integrals, options, _ = system._of_body(None, name)
    q, q_dot = (np.asarray(group.get(key, np.zeros(0))) for key in ("q", "q_dot"))
    geo = integrals.load_matrices(BODY_LOADS) if options.get("stiffening") and integrals.nf else None
    Q = reference.velocity_forces(integrals, q, q_dot, group.v_hat[3:6], geo)
    return reference.mass_matrix(integrals, q, geo), Q


def test_joint_space_is_the_projection_of_all_bodies_F30(case):
    system, _, state, found = case
    x, n = found.minimal, len(free_of(system))
    M_hat, k_c, k_t = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for name, group in found.bodies.items():
        M, Q_v = reference_body(system, name, group)
        near(group.M, M)
        near(group.Q_v, Q_v)
        M_hat += group.J_tree.T @ M @ group.J_tree
        k_c += group.J_tree.T @ (Q_v - M @ group.a_bar)
        k_t += group.J_tree.T @ group.f_app
        own = [list(group.symbol("J_tree").columns).index(c) for c in group_speeds(found, name)]
        k_t[own] += group.tau
    near(x.M_hat, M_hat)
    near(x.k_c, k_c, 1e-8)
    near(x.k_t, k_t, 1e-8)
    J, bias = (np.eye(n), np.zeros(n)) if not len(found.loops) else (found.loops.J_loop, found.loops.eta_bbar)
    near(x.M_min, J.T @ M_hat @ J, 1e-8)
    near(x.kbar_c, J.T @ (k_c - M_hat @ bias), 1e-7)
    near(x.kbar_t, J.T @ k_t, 1e-7)
    near(x.k_min, x.kbar_c + x.kbar_t, 1e-7)
    near(x.M_min @ x.s_dot, x.k_min, 1e-7)


def test_independent_coordinates_move_by_Hbar_F29(case):
    system, evaluator, state, found = case
    x = found.minimal
    if not len(x.s):
        return
    names = x.symbol("q_ind").rows
    places = [position_names(system).index(name) for name in names]
    minimal = Minimal(evaluator, state.copy())
    ends = []
    for h in (STEP, -STEP):
        moved = state.copy()
        moved.t += h
        ends.append(minimal.moved(moved, h * x.s).pos[places])
    near(x.H_min @ x.s + x.h_min, (ends[0] - ends[1]) / (2 * STEP), 1e-7)


@pytest.mark.parametrize("geo", [False, True])
def test_forms_of_a_body_are_the_printed_ones_F12_F13_F17(geo):
    rng = np.random.default_rng(3)
    _, body = reference.random_body(rng, 4, geo=geo)
    q, q_dot, w = 0.3 * rng.normal(size=4), rng.normal(size=4), rng.normal(size=3)
    at = BodyState(q, q_dot, w, np.eye(3))
    for stiffening in (True, False):
        found = written(body, at, stiffening=stiffening)
        K = body.K_geo if geo and stiffening else None
        near(found["M"], reference.mass_matrix(body, q, K), 1e-12)
        near(found["Q_v"], reference.velocity_forces(body, q, q_dot, w, K), 1e-12)
        near(found["m_RR"], found["Theta"])
        near(skew(found["S_t"]), -found["m_TR"])


@pytest.mark.parametrize("name", ["zyx", "zxz", "xyz", "yxy"])
def test_forms_in_rotation_parameters_obey_Lagranges_equations_F12(name):
    """Q_v of [r; theta; q] is dT/dx - dM/dt x_dot, by central differences of M(theta, q)."""
    rng = np.random.default_rng(4)
    _, body = reference.random_body(rng, 3)
    x, rate = np.concatenate([[0.4, 0.9, -0.3], 0.2 * rng.normal(size=3)]), rng.normal(size=9)

    def mass(theta_q):
        Tr = velocity_map(name, theta_q[:3], 3)
        return Tr.T @ reference.mass_matrix(body, theta_q[3:]) @ Tr

    slopes = [(mass(x + STEP * e) - mass(x - STEP * e)) / (2 * STEP) for e in np.eye(6)]
    expected = -sum(s * v for s, v in zip(slopes, rate[3:], strict=True)) @ rate
    expected[3:] += 0.5 * np.array([rate @ s @ rate for s in slopes])
    R = parametrisation(name).rotation(x[:3])
    w = parametrisation(name).rate_matrix(x[:3]) @ rate[3:6]
    at = BodyState(x[3:], rate[6:], w, R)
    found = in_rotation_parameters(name, written(body, at), at)
    near(found["theta"], x[:3], 1e-12)
    near(found["theta_dot"], rate[3:6], 1e-12)
    near(found["M"], mass(x), 1e-12)
    # M ahat = Q_v in quasi-velocities has a = v_dot + w~ v: of r_ddot it is A^T r_ddot, nothing is left over
    near(found["Q_v"], expected, 1e-7)
    near(found["m_RR"], found["M"][3:6, 3:6])


def test_angles_that_do_not_tell_are_refused():
    with pytest.raises(SolverError, match="first and third axis"):
        parameters_of("zxz", np.eye(3))
    assert parameters_of("euler_parameters", np.eye(3))[0] == 1.0


def wishbone(**changes):
    """The shipped case; what it expects of its whole motion is left out."""
    case = Case.load("cases/double-wishbone.toml", **changes)
    return case.with_tables(lambda data: data.pop("expected", None))


def test_planar_rows_are_those_of_the_notes_F32():
    """Places in ground axes and differences of angles: their gradients by central differences."""
    system = wishbone(**{"joints.lower.initial.velocity": -1.0}).system()
    state = system.initial_state()
    found = system.explain(state).descriptor
    names, planar = found.symbol("z").rows, build(system.model, formulation="descriptor")
    z, evaluator = planar.state_like(system, state), planar.evaluator()

    def places(pos):
        moved = z.copy()
        moved.pos[:] = pos
        evaluator.kinematics(moved)
        rows = []
        for joint in (planar.joints[name] for name in system.model.joints):
            rows.append((evaluator.ws.marker.x[joint.Q.number] - evaluator.ws.marker.x[joint.P.number])[:2])
        return np.concatenate(rows)

    slope = np.column_stack(
        [(places(z.pos + STEP * e) - places(z.pos - STEP * e)) / (2 * STEP) for e in np.eye(len(z.pos))]
    )
    assert names[:3] == ("arm1.x", "arm1.y", "arm1.phi")
    near(found.Phi_s, slope, 1e-8)
    near(found.M @ found.z_ddot, found.p1 + found.Phi_s.T @ found.lam_z, 1e-8)
    near(found.Phi_s @ found.z_ddot, found.p2, 1e-8)
    axes = system.explain(state, rows="body").descriptor
    near(found.Phi_s.T @ found.lam_z, axes.Phi_s.T @ axes.lam_z)
    assert np.abs(found.Phi_s - axes.Phi_s).max() > 0.1


def test_any_time_of_a_result(tmp_path):
    """The equations at a state of a result give the accelerations that it has; between samples nearly."""
    case = wishbone(**{"analysis.t_end": 0.02, "output.every": 0.005})
    result = fm.run(case, tmp_path / "a.h5")
    for k, t in enumerate(result["time"]):
        found = case.explain(t, result)
        assert found.t == t
        near(found["eta_hat_dot", "arm3"][0], result["joints/upper/acceleration"][k, 0], 1e-6)
        near(found["r", "carrier"], result["bodies/carrier/position"][k])
    computed, between = case.explain(0.0125), case.explain(0.0125, result)
    near(between["beta", "arm1"], computed["beta", "arm1"], 1e-5)
    near(between["lam"], computed["lam"], 1e-2)
    with pytest.raises(UsageError, match="goes from 0 to 0.02"):
        case.explain(0.3, result)


def test_arrays_are_saved_with_their_names(tmp_path):
    system = wishbone().system()
    found = system.explain(system.initial_state(), rotations=["zyx"])
    assert found.save(tmp_path / "m.h5") == [] and found.save(tmp_path / "m.npz") == []
    with h5py.File(tmp_path / "m.h5") as file:
        node = file["bodies/carrier/M_star"]
        np.testing.assert_array_equal(node[()], found["M_star", "carrier"])
        assert node.attrs["equation"] == b"F22" and node.attrs["rows"][5] == b"angular.z"
        assert file["bodies/arm1/zyx/m_RR"].shape == (3, 3)
        np.testing.assert_array_equal(file["descriptor/Phi_s"][()], found.descriptor.Phi_s)
    arrays = np.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(arrays["loops/lam"], found["lam"])
    np.testing.assert_array_equal(arrays["minimal/M_hat"], found.minimal["M_hat"])
    with pytest.raises(UsageError, match="name it .h5 or .npz"):
        found.save(tmp_path / "m.mat")


def test_notebooks_and_texts_have_all_of_it():
    found = wishbone().explain(rotations=["zyx"])
    html = found._repr_html_()
    assert html.count("<math") > 100 and "2.4" not in html.split("<details>")[0]
    for part in re.findall(r"<math.*?</math>", html):
        ElementTree.fromstring(part)
    symbol = found.bodies["carrier"].symbol("M")
    assert "<mn>1.232</mn>" in symbol._repr_html_() and "angular.z, linear.y" in symbol._repr_html_()
    assert symbol.latex().startswith(r"\[ M = \left[\begin{array}{rrrrrr}") and "1.232" in symbol.latex()
    lines = str(symbol).splitlines()
    assert lines[0] == "M (F12) mass matrix" and lines[1].split() == list(symbol.columns)
    assert [float(word) for word in lines[7].split()[1:]] == [0, 3.6, 0, 0, 0, 1.232]
    narrow = matrices.lines(symbol, 6, 50)
    assert max(map(len, narrow)) <= 50 and sum(line.count("angular.z") for line in narrow) == 3
    all_digits = matrices.lines(found.loops.symbol("lam"), matrices.ALL)
    assert repr(float(found["lam"][0])) in " ".join(all_digits)


def test_the_latex_document_is_whole():
    text = matrices.document(wishbone().explain(rotations=["zyx"]), ["minimal", "descriptor"], None, 6)
    words = re.findall(r"\\(begin|end)\{(\w+)\}", text)
    open_ = []
    for kind, name in words:
        if kind == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert (
        not open_ and text.count("{") == text.count("}") and text.count(r"\left[") == text.count(r"\right]")
    )
    assert r"\dot{\hat\eta}" in text and r"\Phi_s" in text


def test_names_that_are_not_there_say_what_is():
    found = wishbone().explain()
    with pytest.raises(UnknownNameError, match="M_star"):
        found["M_sta", "arm1"]
    with pytest.raises(UnknownNameError, match="did you mean"):
        found["M_star", "arm"]
    with pytest.raises(InputError, match='did you mean "zyz"'):
        wishbone().explain(rotations=["zyz_"])
    assert found.bodies["arm1"].M is found["M", "arm1"]


def test_every_symbol_is_typeset_and_cites_an_equation_that_exists():
    text = Path("docs/formulation.md").read_text()
    for name, n in NOTATION.items():
        assert formula(n.latex).endswith("</math>"), name
        assert not n.equation or re.search(rf"F{n.equation[1:].rstrip('a')}a?\)", text), name
