"""Mass points: three translations, rods between them, joints that hold their place only."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
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
            force = evaluator.ws.joint.reaction[j][:3]
            np.testing.assert_allclose(
                force, truth.wrench[name][:3], atol=1e-10 * max(1.0, np.abs(force).max())
            )


BEAD = {
    "gravity": [0, -9.81, 0],
    "bodies": {"p": {"type": "particle", "mass": 2.0}},
    "joints": {
        "place": {
            "type": "free", "from": "ground", "to": "p",
            "initial": {"position": [0.5, 0.25, 0, 1, 0, 0, 0], "velocity": [1, 1, 0.3, 0, 0, 0]},
        }
    },
    "couplings": {"wire": {"type": "expression", "zero": "=place.position.y - place.position.x**2"}},
}  # fmt: skip


def solved(data, formulation, tmp_path, t_end=0.5):
    analysis = {"t_end": t_end, "formulation": formulation, "rtol": 1e-10, "atol": 1e-12}
    output = {"file": str(tmp_path / "r.h5"), "every": 0.1}
    return fm.run(fm.Case.from_dict(data | {"analysis": analysis, "output": output}))


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_a_bead_on_a_wire_given_by_an_equation_moves_as_by_lagrange(formulation, tmp_path):
    """On y = x^2: (1 + 4 x^2) x_dd + 4 x x_d^2 + 2 g x = 0; the wire presses with m (y_dd + g) = lambda."""

    def rate(t, y):
        return [y[1], -(4 * y[0] * y[1] ** 2 + 2 * 9.81 * y[0]) / (1 + 4 * y[0] ** 2)]

    truth = solve_ivp(rate, (0, 1), [0.5, 1.0], rtol=1e-11, atol=1e-13, dense_output=True)
    result = solved(BEAD, formulation, tmp_path)
    x, v = truth.sol(result["time"])
    expected = np.column_stack([x, x**2, 0.3 * result["time"]])
    np.testing.assert_allclose(result["bodies/p/position"], expected, atol=1e-8)
    bend = np.array([rate(0, pair)[1] for pair in zip(x, v, strict=True)])
    force = 2.0 * (2 * v**2 + 2 * x * bend + 9.81)
    np.testing.assert_allclose(np.ravel(result["couplings/wire/force"]), force, rtol=1e-6)


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_coordinates_of_a_particle_may_be_driven_and_sprung(formulation, tmp_path):
    """A free joint of a particle has x, y, z: one driven, one on a spring, one thrown."""
    data = BEAD | {
        "couplings": {},
        "drives": {"lift": {"joint": "place", "coordinate": "z", "position": "=t**2"}},
    }
    place = {"spring": {"coordinate": "x", "stiffness": 8.0}}
    data["joints"] = {"place": BEAD["joints"]["place"] | place}
    result = solved(data, formulation, tmp_path)
    t = result["time"]
    motion = [0.5 * np.cos(2 * t) + 0.5 * np.sin(2 * t), 0.25 + t - 0.5 * 9.81 * t**2, t**2]
    np.testing.assert_allclose(result["bodies/p/position"], np.column_stack(motion), atol=1e-8)


def bead_and_weight(q, rate):
    """J, abar, r of a bead on y = x^2 with a weight on a rod, by q = (x of the bead, angle of the rod)."""
    x, s, c = q[0], np.sin(q[1]), np.cos(q[1])
    r = np.array([x, x**2, 0, x + ROD * s, x**2 - ROD * c, 0])
    J = np.array([[1, 0], [2 * x, 0], [0, 0], [1, ROD * c], [2 * x, ROD * s], [0, 0]])
    turn, fall = ROD * rate[1] ** 2, 2 * rate[0] ** 2
    return J, np.array([0, fall, 0, -turn * s, fall + turn * c, 0]), r


ROD, GRAVITY = 0.5, 9.81
MASSES = np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
WEIGHTS = np.array([0, -2 * GRAVITY, 0, 0, -GRAVITY, 0])


def minimal_rate(t, y):
    """x' = Psi(x, t): J^T M J q'' = -J^T M abar + J^T F."""
    J, abar, _ = bead_and_weight(y[:2], y[2:])
    return [*y[2:], *np.linalg.solve(J.T @ MASSES @ J, J.T @ (WEIGHTS - MASSES @ abar))]


@pytest.mark.parametrize("formulation", ["recursive", "minimal", "descriptor"])
def test_particles_move_as_by_minimal_coordinates_and_route_1_gives_their_forces(formulation, tmp_path):
    start = np.array([0.5, 0.4, 1.0, -2.0])
    J, _, r = bead_and_weight(start[:2], start[2:])
    v = J @ start[2:]
    plane = [{"type": "in_plane", "from": "ground", "to": body} for body in ("p", "weight")]
    rod = {"type": "distance", "from": "p", "to": "weight", "length": ROD}
    place = {"position": [*r[:3], 1, 0, 0, 0], "velocity": [*v[:3], 0, 0, 0]}
    weight = {"type": "particle", "mass": 1.0, "initial": {"pos": [*r[3:]], "velocity": [*v[3:]]}}
    data = BEAD | {
        "bodies": BEAD["bodies"] | {"weight": weight},
        "joints": {
            "place": BEAD["joints"]["place"] | {"initial": place},
            "rod": rod, "plane1": plane[0], "plane2": plane[1],
        },
    }  # fmt: skip
    result = solved(data, formulation, tmp_path)
    truth = solve_ivp(minimal_rate, (0, 1), start, rtol=1e-11, atol=1e-13, dense_output=True, method="DOP853")
    for k, t in enumerate(result["time"]):
        y = truth.sol(t)
        J, abar, r = bead_and_weight(y[:2], y[2:])
        Fk = MASSES @ (J @ minimal_rate(t, y)[2:] + abar) - WEIGHTS
        np.testing.assert_allclose(result["bodies/p/position"][k], r[:3], atol=1e-7)
        np.testing.assert_allclose(result["bodies/weight/position"][k], r[3:], atol=1e-7)
        force = result["joints/rod/reaction_force"][k]
        wire = np.ravel(result["couplings/wire/force"])[k] * np.array([-2 * y[0], 1, 0])
        np.testing.assert_allclose(np.concatenate([wire - force, force]), Fk, atol=1e-5)


def test_equations_of_places_are_told_how_they_are_written():
    data = BEAD | {"couplings": {"wire": {"type": "expression", "zero": "=p.position.y - p.position.x**2"}}}
    with pytest.raises(fm.InputError, match="a free joint from ground gives a body x, y and z"):
        fm.Case.from_dict(data).system()
