"""Attached inertias on bodies that spin: a disc on a shaft whirls as rotor dynamics says (F17b)."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.errors import SolverError
from flexmbs.modal.unit_loads import turning_stiffness
from flexmbs.spatial import exp_so3

LENGTH, DIAMETER, YOUNG, DENSITY = 1.0, 0.02, 2.1e11, 7850.0
MASS, POLAR, ACROSS = 8.0, 0.04, 0.02


def whirl_of_a_rotor(spin, n=40):
    """Angular frequencies in ground, backward ones negative: -w^2 M + spin w G + K = 0 (Euler, clamped)."""
    L, A, I = LENGTH / n, np.pi * DIAMETER**2 / 4, np.pi * DIAMETER**4 / 64
    a, b, c, d = 12, 6 * L, 4 * L * L, 2 * L * L
    bent = YOUNG * I / L**3 * np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]])
    a, b, c, d = 156, 22 * L, 54, 13 * L
    heavy = [[a, b, c, -d], [b, 4 * L * L, d, -3 * L * L], [c, d, a, -b], [-d, -3 * L * L, -b, 4 * L * L]]
    turns = np.array(
        [
            [36, 3 * L, -36, 3 * L],
            [3 * L, 4 * L * L, -3 * L, -L * L],
            [-36, -3 * L, 36, -3 * L],
            [3 * L, -L * L, -3 * L, 4 * L * L],
        ]
    )
    K, M, G = np.zeros((3, 2 * n + 2, 2 * n + 2))
    for e in range(n):
        place = slice(2 * e, 2 * e + 4)
        K[place, place] += bent
        M[place, place] += DENSITY * A * L / 420 * np.array(heavy)
        G[place, place] += DENSITY * 2 * I / (30 * L) * turns  # the shaft about its own axis
    M[n, n] += MASS
    M[n + 1, n + 1] += ACROSS
    G[n + 1, n + 1] += POLAR
    K, M, G = (x[2:-2, 2:-2] for x in (K, M, G))
    inverse = np.linalg.inv(M)
    return np.linalg.eigvals(np.block([[0 * K, np.eye(len(K))], [inverse @ K, spin * inverse @ G]])).real


@pytest.fixture(scope="module")
def shaft(tmp_path_factory):
    path = tmp_path_factory.mktemp("shaft") / "shaft.modal.h5"
    disc = {"node": 11, "mass": MASS, "inertia": [POLAR, ACROSS, ACROSS]}
    recipe = {
        "mesh": {"shape": "beam", "length": LENGTH, "divisions": 20, "section": {"circle": DIAMETER}},
        "material": {"young": YOUNG, "poisson": 0.3, "density": DENSITY},
        "point_masses": [disc],
        "interfaces": {"left": {"set": "x_min"}, "right": {"set": "x_max"}},
    }
    fm.reduce(recipe, modes=12, frame="tangent:left").save(path)
    return str(path)


def test_a_disc_on_a_shaft_whirls_as_in_axes_that_stand(shaft, tmp_path):
    case = {
        "parameters": {"speed": 0.0},
        "ground": {"frames": {"end": {"pos": [LENGTH, 0, 0]}}},
        "bodies": {"shaft": {"type": "flexible", "modal": shaft}},
        "joints": {
            "left": {"type": "revolute", "axis": [1, 0, 0], "from": "ground", "to": "shaft.left"},
            "right": {"type": "cylindrical", "axis": [1, 0, 0], "from": "ground.end", "to": "shaft.right"},
        },
        "drives": {"motor": {"joint": "left", "position": "=speed*t"}},
        "analysis": {
            "type": "linearize",
            "campbell": {"parameter": "speed", "values": [50.0, 150.0, 300.0]},
        },
    }
    campbell = fm.run(Case.from_dict(case), tmp_path / "a.h5").linear.campbell
    rates, whirl = 2 * np.pi * campbell.frequency_hz, campbell.whirl
    for spin, w, sense in zip(campbell.value, rates, whirl, strict=True):
        bending = np.abs(sense) > 0.5
        seen = (sense * w + spin)[bending][:4]  # modes are seen from the shaft, which turns
        own = whirl_of_a_rotor(spin)
        nearest = own[np.abs(own[:, None] - seen).argmin(axis=0)]
        np.testing.assert_allclose(seen, nearest, rtol=2e-4)
        assert len(set(nearest.round(6))) == 4
        turning = w[~bending][0]  # torsion does not feel the spin
        np.testing.assert_allclose(turning, rates[0][np.abs(whirl[0]) < 0.5][0], rtol=1e-6)


def test_attached_inertias_turn_without_stretching_F17b():
    """With the linear rows, the terms of second order are those of a rotation."""
    rng = np.random.default_rng(1)
    turn = rng.normal(size=(3, 3))
    J = rng.normal(size=(3, 3))
    J = J @ J.T + np.eye(3)
    P = 0.5 * np.trace(J) * np.eye(3) - J

    class Form:
        inertias = J[None]
        turns = staticmethod(lambda Phi: turn[None])

    K = turning_stiffness(Form(), np.eye(3))
    q, q_dot, w, h = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), 1e-3

    def tensor(R):
        X = R @ P @ R.T
        return np.trace(X) * np.eye(3) - X

    def cross(a):
        return np.cross(np.eye(3), a).T

    def difference(of):  # of second order in the deflection
        return (of(h) + of(-h) - 2 * of(0.0)) / (2 * h * h)

    exact = difference(lambda s: 0.5 * w @ tensor(exp_so3(s * turn @ q)) @ w)
    linear = difference(lambda s: 0.5 * w @ tensor(np.eye(3) + cross(s * turn @ q)) @ w)
    pairs = [(k, ell) for k in range(3) for ell in range(k, 3)]
    added = 0.5 * sum(w[k] * w[ell] * q @ K[6 + n] @ q for n, (k, ell) in enumerate(pairs))
    assert exact - linear == pytest.approx(added, rel=1e-5)

    def momentum(rotation, s):  # int x cross x_dot, x = rotation(q) xi
        R, e = rotation(s * turn @ q), 1e-6
        rate = (rotation(s * turn @ (q + e * q_dot)) - rotation(s * turn @ (q - e * q_dot))) / (2 * e)
        X = R @ P @ rate.T
        return np.array([X[1, 2] - X[2, 1], X[2, 0] - X[0, 2], X[0, 1] - X[1, 0]])

    exact = difference(lambda s: momentum(exp_so3, s))
    linear = difference(lambda s: momentum(lambda a: np.eye(3) + cross(a), s))
    added = [-q @ K[3 + k] @ q_dot for k in range(3)]
    np.testing.assert_allclose(exact - linear, added, rtol=1e-4, atol=1e-5)


def test_a_start_with_too_much_deflection_says_so(shaft, tmp_path):
    """Not that the body needs mass: terms of second order outweigh its little inertia about the axis."""
    case = {
        "bodies": {"shaft": {"type": "flexible", "modal": shaft, "initial": {}}},
        "joints": {"ball": {"type": "spherical", "from": "ground", "to": "shaft.left"}},
        "analysis": {"type": "dynamics", "t_end": 0.01},
    }
    nf = fm.ModalData.load(shaft).nf
    case["bodies"]["shaft"]["initial"]["q"] = [0.05] * 3 + [0.0] * (nf - 3)
    with pytest.raises(
        SolverError, match="deflections of bodies.shaft are too large for its geometric stiff"
    ):
        fm.run(Case.from_dict(case), tmp_path / "b.h5")
