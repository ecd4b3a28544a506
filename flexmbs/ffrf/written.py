"""One body in the letters of the notes: integrals, blocks of M and parts of Q_v at a state (F2-F13, F17a).

Dense, term by term as the formulation prints them, for readers; the equations of motion use `inertia.py`.
Both take the same truncations (`inertia_terms`), and a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.errors import Diagnostic, SolverError
from flexmbs.ffrf.integrals import BODY_LOADS, Array, ShapeIntegrals
from flexmbs.ffrf.parametrisation import parametrisation, velocity_map
from flexmbs.ffrf.table import SYM
from flexmbs.spatial import LEVI_CIVITA, quat_from_matrix, skew

#: parts of Q_v, in the order of their sum
PARTS = ("Q_centrifugal", "Q_coriolis", "Q_stiffening")


@dataclass(frozen=True)
class BodyState:
    """What the equations of one body depend on: elastic coordinates, rates, angular velocity, axes."""

    q: Array
    q_dot: Array
    w: Array  # body axes
    R_IB: Array


def has_stiffening(integrals: ShapeIntegrals) -> bool:
    """Whether a body has the matrices of all unit loads of its motion (F17)."""
    return integrals.nf > 0 and integrals.load_matrices(BODY_LOADS) is not None


def written(
    integrals: ShapeIntegrals, at: BodyState, *, inertia_terms: str = "full", stiffening: bool = True
) -> dict[str, Array]:
    """All quantities of a body for v_hat = [v; w; q_dot], by their names (F10-F13, F17a)."""
    i, q, q_dot, w = integrals, at.q, at.q_dot, at.w
    S_kl = i.S_kl if inertia_terms == "full" else np.zeros_like(i.S_kl)
    linear = 0.0 if inertia_terms == "constant" else 1.0
    C_kl = i.I_kl + np.einsum("a,klab->klb", q, S_kl)
    if not linear:  # first moment and inertia tensor stay: of C_kl what turns them is left out
        C_kl = 0.5 * (C_kl - C_kl.transpose(1, 0, 2))
    Iq = linear * i.I_kl @ q
    P_kl = i.Theta_kl + Iq + Iq.T + np.einsum("a,klab,b->kl", q, S_kl, q)
    found = {
        name: getattr(i, name) for name in ("S_O", "S_f", "Theta_kl", "I_kl", "S_kl", "m_ff", "K_ff", "D_ff")
    }
    found |= {"mass": np.array(i.mass), "C_kl": C_kl, "P_kl": P_kl, "E_kl": C_kl @ q_dot}
    found["S_t"] = i.S_O + linear * i.S_f @ q
    found["Theta"] = np.trace(P_kl) * np.eye(3) - P_kl
    found["I_Rf"] = np.einsum("ijk,jka->ia", LEVI_CIVITA, C_kl)
    S_f, E_kl = i.S_f, found["E_kl"]
    geo = i.load_matrices(BODY_LOADS) if stiffening and i.nf else None
    if geo is not None:
        found |= _stiffened(geo, q)
        found["S_t"] = found["S_t"] + found["s2"]
        found["Theta"] = found["Theta"] + found["Theta2"]
        found["I_Rf"] = found["I_Rf"] - found["G_R"].T
        S_f = S_f - found["G_T"].T
    rate = (1.0 + linear) * i.S_f  # of S_t and of S_f q_dot
    Q_f = -(np.einsum("k,l,kla->a", w, w, C_kl) - w @ w * np.einsum("kka->a", C_kl))
    found["Q_centrifugal"] = np.concatenate(
        [-np.cross(w, np.cross(w, found["S_t"])), -np.cross(w, found["Theta"] @ w), Q_f]
    )
    Q_f = -2.0 * np.einsum("lmk,m,lkab,b->a", LEVI_CIVITA, w, S_kl, q_dot)
    found["Q_coriolis"] = np.concatenate(
        [-np.cross(w, rate @ q_dot), -2.0 * (np.trace(E_kl) * w - E_kl.T @ w), Q_f]
    )
    found["Q_stiffening"] = np.zeros(6 + i.nf)
    if geo is not None:
        quadratic = np.einsum("a,cab,b->c", q_dot, geo[:6], q_dot)
        Q_T = quadratic[:3] + 2.0 * np.cross(w, found["G_T"].T @ q_dot)  # the part of S_f(q)
        Q_R = quadratic[3:] + np.cross(w, found["G_R"].T @ q_dot) - 2.0 * _theta2(geo, q, q_dot) @ w
        products = np.array([w[k] * w[ell] for k, ell in SYM])
        found["K_w"] = np.einsum("c,cab->ab", products, geo[6:])
        found["Q_stiffening"] = np.concatenate([Q_T, Q_R, found["K_w"] @ q])
    found["m_TT"], found["m_TR"], found["m_Tf"] = i.mass * np.eye(3), -skew(found["S_t"]), S_f
    found["m_RR"], found["m_Rf"] = found["Theta"], found["I_Rf"]
    found["M"] = np.block([
        [found["m_TT"], found["m_TR"], found["m_Tf"]],
        [found["m_TR"].T, found["m_RR"], found["m_Rf"]],
        [found["m_Tf"].T, found["m_Rf"].T, found["m_ff"]],
    ])  # fmt: skip
    found["Q_v"] = sum((found[part] for part in PARTS), np.zeros(6 + i.nf))
    return found


def _stiffened(geo: Array, q: Array) -> dict[str, Array]:
    """What the second-order displacements add (F17a)."""
    s2 = -0.5 * np.einsum("a,cab,b->c", q, geo[:3], q)
    return {"G_T": (geo[:3] @ q).T, "G_R": (geo[3:6] @ q).T, "s2": s2, "Theta2": _theta2(geo, q, q)}


def _theta2(geo: Array, p: Array, q: Array) -> Array:
    """Theta2 as a bilinear form (F17a)."""
    xx, xy, xz, yy, yz, zz = np.einsum("a,cab,b->c", p, geo[6:12], q)
    return np.array([[xx, xy / 2, xz / 2], [xy / 2, yy, yz / 2], [xz / 2, yz / 2, zz]])


def in_rotation_parameters(name: str, found: dict[str, Array], at: BodyState) -> dict[str, Array]:
    """The quantities of `written` for [r_dot; theta_dot; q_dot], as the notes have them (F12).

    `Q_parameters` is what the change of H^-1 adds; with it Q_v is the right-hand side of the second rates.
    """
    nf, chosen = len(at.q), parametrisation(name)
    theta = parameters_of(name, at.R_IB)
    H = chosen.rate_matrix(theta)
    theta_dot = np.asarray(0.25 * H.T @ at.w if chosen.size == 4 else np.linalg.solve(H, at.w), dtype=float)
    Tr = velocity_map(name, theta, nf)
    out = {key: value for key, value in found.items() if key not in ("M", "Q_v", *PARTS)}
    out |= {"theta": theta, "theta_dot": theta_dot, "H_rot": H, "M": Tr.T @ found["M"] @ Tr}
    out |= {part: Tr.T @ found[part] for part in PARTS}
    bias = np.zeros(6 + nf)
    bias[3:6] = chosen.rate_bias(theta, theta_dot)
    out["Q_parameters"] = -Tr.T @ found["M"] @ bias
    out["Q_v"] = sum((out[part] for part in (*PARTS, "Q_parameters")), np.zeros(3 + chosen.size + nf))
    T, R, f = slice(0, 3), slice(3, 3 + chosen.size), slice(3 + chosen.size, None)
    for block, rows, columns in (
        ("m_TT", T, T), ("m_TR", T, R), ("m_Tf", T, f), ("m_RR", R, R), ("m_Rf", R, f), ("m_ff", f, f),
    ):  # fmt: skip
        out[block] = out["M"][rows, columns]
    return out


def parameters_of(name: str, R_IB: Array) -> Array:
    """Rotation parameters of an orientation; an error where their rates do not follow from w."""
    chosen = parametrisation(name)
    if chosen.size == 4:
        return np.asarray(quat_from_matrix(R_IB))
    first, second, third = ("xyz".index(letter) for letter in name)
    proper = first == third
    other = 3 - first - second if proper else third
    e = LEVI_CIVITA[first, second, other]
    R = R_IB
    if proper:
        middle = np.arctan2(np.hypot(R[first, second], R[first, other]), R[first, first])
        one = np.arctan2(R[second, first], -e * R[other, first])
        three = np.arctan2(R[first, second], e * R[first, other])
    else:
        middle = np.arctan2(e * R[first, third], np.hypot(R[first, first], R[first, second]))
        one = np.arctan2(-e * R[second, third], R[third, third])
        three = np.arctan2(-e * R[first, second], R[first, first])
    theta = np.array([one, middle, three])
    if np.linalg.cond(chosen.rate_matrix(theta)) > 1e8:
        what = f"the angles {name} do not tell where the body stands: first and third axis coincide"
        raise SolverError(
            Diagnostic("rotation.singular", "rotation", what, "take others, or euler_parameters")
        )
    return theta
