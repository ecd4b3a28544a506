"""Reference problems of the inertia of bodies: rigid integrals, shape integrals, M and Q_v of one state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.ffrf.integrals import ShapeIntegrals
from flexmbs.ffrf.mass import mass_matrix, quadratic_velocity_forces
from flexmbs.ffrf.parametrisation import parametrisation
from flexmbs.reduce import reduce
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare
from flexmbs.verify.solids import LEAN, box_mesh

AXES = "xyz"


def rigid_box(case: Reference, quick: bool) -> Iterator[Line]:
    """Mass, first and second moments of a box by any element."""
    p, known, (rtol,) = case.parameters, case.numbers, case.tolerances
    size = np.subtract(p["upper"], p["lower"])
    steel = {"young": 2.1e11, "poisson": 0.3, "density": p["density"]}
    for element in ("hex8", "tet10") if quick else ("hex8", "hex20", "hex27", "tet4", "tet10"):
        recipe = {"mesh": box_mesh(size, (3, 2, 2), element, p["lower"]), "material": steel}
        body = reduce(recipe, modes=0, **LEAN).integrals
        yield compare(f"{element}, mass [kg]", body.mass, known["mass"], rtol=rtol)
        yield compare(f"{element}, S_t [kg m]", body.S_O, known["S_t"], rtol=rtol)
        yield compare(f"{element}, Theta_kl [kg m2]", body.Theta_kl, known["Theta_kl"], rtol=rtol)
        about_origin = known["inertia_about_origin"]
        yield compare(f"{element}, inertia about the origin", body.inertia, about_origin, rtol=rtol)
        yield compare(f"{element}, mass centre [m]", body.com, known["com"], rtol=rtol)
        lumped = reduce(recipe, modes=0, mass="lumped", **LEAN).integrals
        yield compare(f"{element}, lumped, mass [kg]", lumped.mass, known["mass"], rtol=rtol)
        yield compare(f"{element}, lumped, S_t [kg m]", lumped.S_O, known["S_t"], rtol=rtol)


def shape_integrals(case: Reference, quick: bool) -> Iterator[Line]:
    """Integrals of polynomial shapes, and the state with its matrix, forces and energy."""
    p, (exact_to, state_to) = case.parameters, case.tolerances
    geometry, S = p["geometry"], p["S"]
    size = np.subtract(geometry["box_upper"], geometry["box_lower"])
    given = {"shapes": [[S[k][a] for k in range(3)] for a in range(len(S[0]))]}
    steel = {"young": 2.1e11, "poisson": 0.3, "density": geometry["density"]}
    for element in ("hex20",) if quick else ("hex20", "hex27", "tet10"):
        mesh = box_mesh(size, (3, 2, 2), element, geometry["box_lower"])
        body = reduce({"mesh": mesh, "material": steel, "given": given}, **LEAN).integrals
        known = case.numbers["integrals"]
        for name, found in tables(body).items():
            expected = known[name]
            if isinstance(expected, dict):
                expected = [[expected[a + b] for b in AXES] for a in AXES]
            scale = np.abs(expected).max()
            yield compare(f"{element}, {name}", found, expected, atol=exact_to * scale)
        yield from one_state(element, body, p, case.numbers, state_to)


def tables(body: ShapeIntegrals) -> dict[str, Any]:
    """Integrals under the names of the reference."""
    return {
        "mass": body.mass,
        "S_t": body.S_O,
        "Theta_kl": body.Theta_kl,
        "S_f": body.S_f,
        "I_kl": body.I_kl,
        "S_kl": body.S_kl,
    }


def one_state(name: str, body: ShapeIntegrals, p: Any, known: Any, tol: float) -> Iterator[Line]:
    """M, Q_v, the inertia force and the kinetic energy (F12, F13); the case takes r in ground axes."""
    q, q_dot, w = (np.array(p[key]) for key in ("q_f", "qdot_f", "omega_body"))
    turn = np.eye(6 + body.nf)
    turn[:3, :3] = parametrisation("zyx").rotation(np.array(p["euler_zyx"])).T
    M = turn.T @ mass_matrix(body, q) @ turn
    Q_v = turn.T @ quadratic_velocity_forces(body, q, q_dot, w)
    acc = np.concatenate([p["rddot"], p["omegadot_body"], p["qddot_f"]])
    rates = np.concatenate([p["rdot"], w, q_dot])
    found = {"M": M, "Qv": Q_v, "F_inertia": M @ acc - Q_v, "kinetic_energy": 0.5 * rates @ M @ rates}
    for key, value in found.items():
        yield compare(f"{name}, {key}", value, known[key], atol=tol * np.abs(known[key]).max())


def euler_angles(case: Reference, quick: bool) -> Iterator[Line]:
    """A force at a node in Euler angles, as the notes write it: H and Q_theta = H^T Q_R (F12, F16)."""
    p, known, (rtol,) = case.parameters, case.numbers["euler"], case.tolerances
    turn, theta = parametrisation("zyx"), np.array(p["euler_zyx"])
    H = turn.rate_matrix(theta)
    yield compare("H of the angles zyx", H, known["H"], atol=rtol)
    u = np.array(p["u0"]) + np.array(p["S"]) @ p["q_f"]
    Q_R = np.cross(u, turn.rotation(theta).T @ p["F"])
    yield compare("Q_theta of the angles zyx", H.T @ Q_R, known["Q_theta"], rtol=rtol)
