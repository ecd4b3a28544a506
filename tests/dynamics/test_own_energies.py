"""Energies of bodies as expressions, T(s, s_dot, t) and V(s, t), in the equations of mixed type (F32)."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.case.second_opinion import other_formulation
from flexmbs.dynamics.as_written import explained, minimal_form
from flexmbs.dynamics.mechanism import build
from flexmbs.errors import InputError, SolverError, UsageError
from flexmbs.expressions import parse
from tests.dynamics.mechanisms import moving_state, random_mechanism

#: two bars by their energies alone: their bodies have no mass
PENDULUM = """
[parameters]
m1 = 2.0
m2 = 1.5
l1 = 0.6
l2 = 0.4
g = 9.81

[bodies.upper]
type = "rigid"
mass = 0
kinetic_energy = "=m1/2*(l1*a.velocity)**2"
potential_energy = "=-m1*g*l1*cos(a.position)"
frames = { end = { pos = [0, -0.6, 0] } }

[bodies.lower]
type = "rigid"
mass = 0
kinetic_energy = "=m2/2*((l1*a.velocity)**2 + (l2*(a.velocity + b.velocity))**2 \\
 + 2*l1*l2*a.velocity*(a.velocity + b.velocity)*cos(b.position))"
potential_energy = "=-m2*g*(l1*cos(a.position) + l2*cos(a.position + b.position))"

[joints.a]
type = "revolute"
from = "ground"
to = "upper"
initial = { position = 1.0, velocity = 0.3 }

[joints.b]
type = "revolute"
from = "upper.end"
to = "lower"
initial = { position = 0.7 }

[analysis]
type = "dynamics"
formulation = "descriptor"
t_end = 0.3
rtol = 1e-9
atol = 1e-11

[output]
every = 0.1
""".replace("\\\n", "")
MASSES = {
    "upper": 'mass = "=m1"\ncom = [0, "=-l1", 0]',
    "lower": 'mass = "=m2"\ncom = [0, "=-l2", 0]',
}


@pytest.fixture
def pendulum(tmp_path):
    def written(text=PENDULUM):
        path = tmp_path / "pendulum.toml"
        path.write_text(text)
        return Case.load(path)

    return written


def with_masses():
    """The same pendulum as two mass points, for the recursion."""
    lines, body = [], ""
    for line in PENDULUM.splitlines():
        body = line[8:-1] if line.startswith("[bodies.") else body
        if not line.startswith(("kinetic", "potential", "formulation")):
            lines.append(MASSES[body] if line == "mass = 0" else line)
    return "\n".join(["gravity = [0, -9.81, 0]", *lines])


def test_bars_without_mass_move_as_their_energies_say_F32(pendulum, tmp_path):
    by_energies = execute(pendulum(), tmp_path / "a.h5").result
    by_masses = execute(pendulum(with_masses()), tmp_path / "b.h5").result
    for joint in ("a", "b"):
        a, b = (r.joints[joint].position for r in (by_energies, by_masses))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-7)  # errors of both runs
    for name in ("kinetic", "gravity"):
        a, b = (np.asarray(r[f"energy/{name}"]) for r in (by_energies, by_masses))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6)
    assert np.abs(by_energies["energy/balance_error"]).max() < 1e-7


def test_coordinates_of_the_body_itself_are_those_of_a_joint_that_measures(pendulum, tmp_path):
    """A pendulum by T(x, y) and V(y) of its end, which a planar joint beside the hinge gives."""
    bar = """
[bodies.bar]
type = "rigid"
mass = 0
kinetic_energy = "=2*(place.velocity.x**2 + place.velocity.y**2)/2"
potential_energy = "=2*9.81*place.position.y"
frames = { end = { pos = [0, -0.6, 0] } }

[joints.hinge]
type = "revolute"
from = "ground"
to = "bar"
initial = { position = 1.0 }

[joints.place]
type = "planar"
from = "ground"
to = "bar.end"
axis = "z"

[analysis]
formulation = "descriptor"
t_end = 0.5
rtol = 1e-9
atol = 1e-11

[output]
every = 0.1
"""
    found = execute(pendulum(bar), tmp_path / "a.h5").result
    t = np.asarray(found["time"])
    truth = solve_ivp(
        lambda _, y: [y[1], -9.81 / 0.6 * np.sin(y[0])],
        (0, 0.5),
        [1.0, 0.0],
        t_eval=t,
        rtol=1e-11,
        atol=1e-12,
    )
    np.testing.assert_allclose(np.ravel(found.joints["hinge"].position), truth.y[0], rtol=0, atol=1e-8)


def lagrangian(x1, v1, x2, v2):
    """T with all kinds of terms, and V, as texts of two coordinates."""
    T = f"0.7*{v1}**2*(1 + {x2}**2)/2 + 0.3*{v1}*{v2}*sin({x1}) + 0.4*{v2}**2/2 + 0.2*{v2}*t"
    return T, f"5*{x1}*{x2} + 3*t*{x2}**2"


def terms(t, x, v):
    """Mass terms and efforts of it, by hand."""
    H = np.array([[0.7 * (1 + x[1] ** 2), 0.3 * np.sin(x[0])], [0.3 * np.sin(x[0]), 0.4]])
    first = -1.4 * v[0] * x[1] * v[1] - 5 * x[1]
    second = 0.7 * v[0] ** 2 * x[1] - 0.3 * v[0] ** 2 * np.cos(x[0]) - 0.2 - 5 * x[0] - 6 * t * x[1]
    return H, np.array([first, second])


@pytest.mark.parametrize("seed", range(12))
def test_accelerations_are_those_of_the_minimal_form_with_the_terms_by_hand_F30(seed):
    model = random_mechanism(seed, n_loops=seed % 3, flexible=0.5 * (seed % 2))
    tree = build(model)
    state = moving_state(tree, seed + 1)[1]
    state.t = 0.3
    scalar = [c for c in tree.coordinates if c.entry is None and tree.tables.tree.driven[c.vel] < 0]
    scalar = [c for c in scalar if len(model.joints[c.joint].coordinates) == model.joints[c.joint].n_beta]
    if len(scalar) < 2:
        pytest.skip("no two coordinates in the tree")
    c = scalar[0], scalar[-1]
    names = []
    for item in c:
        k = model.joints[item.joint].coordinates.index(item.name)
        names += [f"joints.{item.joint}.{what}[{k}]" for what in ("position", "velocity")]
    places = [item.vel for item in c]
    x, v = state.pos[[item.pos for item in c]], state.vel[places]

    form, at = minimal_form(tree, state), explained(tree, state)
    free = np.flatnonzero(tree.tables.tree.driven < 0)
    own = np.searchsorted(free, places)
    H, effort = terms(state.t, x, v)
    M, k = form.M_hat.copy(), form.k_hat.copy()
    M[np.ix_(own, own)] += H
    k[own] += effort
    J = at.J_loop[free]
    s_dot = np.linalg.solve(J.T @ M @ J, J.T @ (k - M @ at.eta_bbar[free]))
    expected = (J @ s_dot + at.eta_bbar[free])[own]

    T, V = lagrangian(*names)
    body = next(iter(model.bodies.values()))
    body.kinetic_energy, body.potential_energy = parse(T), parse(V)
    absolute = build(model, formulation="descriptor")
    motion = absolute.forward_dynamics(absolute.state_like(tree, state))
    for item, value in zip(c, expected, strict=True):
        column = model.joints[item.joint].coordinates.index(item.name)
        size = max(1.0, np.abs(s_dot).max())
        assert motion.joints[item.joint].acceleration[column] == pytest.approx(value, rel=0, abs=1e-8 * size)


def test_energies_that_follow_the_time_do_work(pendulum, tmp_path):
    text = PENDULUM.replace("+ 2*l1*l2", "+ 0.3*t*a.velocity/m2 + 2*l1*l2").replace(
        "m1*g*l1*cos(a.position)", "m1*g*l1*cos(a.position)*(1 + sin(5*t))"
    )
    found = execute(pendulum(text), tmp_path / "a.h5").result
    assert np.ptp(found["energy/work"]) > 0.1
    assert np.abs(found["energy/balance_error"]).max() < 1e-7


def test_a_driven_coordinate_feels_its_own_kinetic_energy(pendulum, tmp_path):
    """J phi_ddot + dJ/dphi phi_dot^2 / 2 + dV/dphi, of a flywheel whose inertia follows its angle."""
    text = """
[bodies.wheel]
type = "rigid"
mass = 0
kinetic_energy = "=(2 + sin(hub.position))*hub.velocity**2/2"
potential_energy = "=7*cos(hub.position)"

[joints.hub]
type = "revolute"
from = "ground"
to = "wheel"

[drives.motor]
joint = "hub"
position = "=t**3"

[analysis]
type = "kinematics"
formulation = "descriptor"
t_end = 1.0

[output]
every = 0.25
"""
    found = execute(pendulum(text), tmp_path / "a.h5").result
    t = np.asarray(found["time"])
    effort = (2 + np.sin(t**3)) * 6 * t + np.cos(t**3) * 9 * t**4 / 2 - 7 * np.sin(t**3)
    np.testing.assert_allclose(np.ravel(found["drives/motor/effort"]), effort, rtol=0, atol=1e-9)


def test_other_formulations_refuse_them_by_name(pendulum):
    case = pendulum()
    assert other_formulation(case) is None
    tree = case.system()
    for refused in (
        lambda: tree.forward_dynamics(tree.initial_state()),
        lambda: execute(case.with_values(**{"analysis.formulation": "minimal"}), keep=False),
    ):
        with pytest.raises(UsageError, match=r'bodies.upper.*energy of its own.*formulation = "descriptor"'):
            refused()


def test_only_coordinates_of_joints_may_stand_there(pendulum):
    with pytest.raises(InputError, match=r"toml:12.*kinetic_energy.*upper.velocity.*only t, and positions"):
        pendulum(PENDULUM.replace("l1*a.velocity", "l1*upper.velocity.x", 1)).model()
    with pytest.raises(InputError, match=r"toml:13.*potential_energy.*a.velocity.*only t, and positions"):
        pendulum(PENDULUM.replace("cos(a.position)", "a.velocity", 1)).model()


def test_matrices_are_those_of_the_descriptor_form_alone(pendulum):
    found = pendulum().explain()
    M, turns = found.descriptor.M, [2, 5]
    half = 1.5 * 0.6 * 0.4 * np.cos(0.7)
    np.testing.assert_allclose(M[np.ix_(turns, turns)], [[1.26, half], [half, 0.24]], rtol=1e-12)
    assert np.count_nonzero(M) == 4
    assert not found.bodies
    with pytest.raises(SolverError, match="descriptor form"):
        _ = found.minimal
