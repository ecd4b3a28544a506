"""Mass matrix, velocity forces and kinetic energy of one body for Python callers (F10-F13).

The numbers come from the kernel that the recursion calls, so that what a user is shown is what was solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.ffrf.inertia import N_BODY_OUT, N_ROW_OUT, inertia
from flexmbs.ffrf.integrals import BODY_LOADS, Array, ShapeIntegrals
from flexmbs.ffrf.table import SYM, BodyBlock, pack_body
from flexmbs.spatial import LEVI_CIVITA, skew

#: What the kinetic energy is made of, in the order of `ledger`.
LEDGER_TERMS = (
    "translation", "rotation", "modal", "S_O", "S_f",
    "Theta_linear", "Theta_quadratic", "I_Rf_constant", "I_Rf_linear", "stiffening",
)  # fmt: skip


def evaluate(block: BodyBlock, q: ArrayLike, q_dot: ArrayLike, w: ArrayLike) -> tuple[Array, Array]:
    """Outputs `body` (15,) and `rows` (nf, 7) of the kernel `inertia` for one packed body."""
    q, q_dot = (np.ascontiguousarray(x, dtype=float) for x in (q, q_dot))
    wx, wy, wz = (float(x) for x in np.asarray(w, dtype=float))
    body, rows = np.full(N_BODY_OUT, np.nan), np.full(N_ROW_OUT * block.nf, np.nan)
    sizes = (block.nf, block.n_T, block.n_A, block.n_G)
    inertia(block.data, 0, sizes, (q, 0, q_dot, 0), (wx, wy, wz), (body, 0, rows, 0))
    return body, rows.reshape(block.nf, N_ROW_OUT)


def mass_matrix(
    integrals: ShapeIntegrals, q: ArrayLike = (), *, inertia_terms: str = "full", stiffening: bool = True
) -> Array:
    """Mass matrix M (6+nf, 6+nf) for `v_hat = [v; w; q_dot]` in body axes (F12, F17a)."""
    block = pack_body(integrals, inertia_terms=inertia_terms, stiffening=stiffening)
    body, rows = evaluate(block, q, np.zeros(block.nf), np.zeros(3))
    M = np.zeros((6 + block.nf, 6 + block.nf))
    M[:3, :3] = integrals.mass * np.eye(3)
    M[:3, 3:6] = -skew(body[:3])
    M[3:6, :3] = skew(body[:3])
    for c, (k, ell) in enumerate(SYM):
        M[3 + k, 3 + ell] = M[3 + ell, 3 + k] = body[3 + c]
    M[:6, 6:] = rows[:, :6].T
    M[6:, :6] = rows[:, :6]
    M[6:, 6:] = integrals.m_ff
    return M


def quadratic_velocity_forces(
    integrals: ShapeIntegrals,
    q: ArrayLike,
    q_dot: ArrayLike,
    w: ArrayLike,
    *,
    inertia_terms: str = "full",
    stiffening: bool = True,
) -> Array:
    """Quadratic velocity forces Q_v (6+nf,), rows as in `v_hat` (F13, F17a)."""
    block = pack_body(integrals, inertia_terms=inertia_terms, stiffening=stiffening)
    body, rows = evaluate(block, q, q_dot, w)
    return np.concatenate([body[9:15], rows[:, 6]])


def ledger(integrals: ShapeIntegrals, q: ArrayLike, v_hat: ArrayLike, *, stiffening: bool = True) -> Array:
    """Kinetic energy by term, (time, len(LEDGER_TERMS)), of histories q (time, nf), v_hat (time, 6+nf).

    The sum is the kinetic energy with all terms (F12, F17a); a term that a truncated model leaves out
    is shown all the same: it says what was neglected.
    """
    q, v_hat = np.atleast_2d(q), np.atleast_2d(v_hat)
    v, w, q_dot = v_hat[:, :3], v_hat[:, 3:6], v_hat[:, 6:]
    terms = np.zeros((len(v_hat), len(LEDGER_TERMS)))
    x = np.cross(v, w)  # v . (w x S_t) = S_t . (v x w)
    terms[:, 0] = 0.5 * integrals.mass * np.sum(v * v, axis=1)
    terms[:, 1] = 0.5 * np.einsum("tk,kl,tl->t", w, integrals.inertia, w)
    terms[:, 2] = 0.5 * np.einsum("ta,ab,tb->t", q_dot, integrals.m_ff, q_dot)
    terms[:, 3] = x @ integrals.S_O
    terms[:, 4] = np.einsum("tk,ka,ta->t", x, integrals.S_f, q)
    terms[:, 4] += np.einsum("tk,ka,ta->t", v, integrals.S_f, q_dot)
    ww = np.einsum("tk,tl->tkl", w, w)
    ww = np.einsum("tmm->t", ww)[:, None, None] * np.eye(3) - ww  # w^T Theta w = (w.w 1 - w w^T) : P
    terms[:, 5] = np.einsum("tkl,kla,ta->t", ww, integrals.I_kl, q, optimize=True)
    terms[:, 6] = 0.5 * np.einsum("tkl,klab,ta,tb->t", ww, integrals.S_kl, q, q, optimize=True)
    terms[:, 7] = np.einsum("ti,ijk,jka,ta->t", w, LEVI_CIVITA, integrals.I_kl, q_dot, optimize=True)
    terms[:, 8] = np.einsum("ti,ijk,jkab,ta,tb->t", w, LEVI_CIVITA, integrals.S_kl, q, q_dot, optimize=True)
    geo = integrals.load_matrices(BODY_LOADS) if stiffening and integrals.nf else None
    if geo is not None:
        terms[:, 9] = _stiffening_energy(geo, q, v, w, q_dot, x)
    return terms


def _stiffening_energy(geo: Array, q: Array, v: Array, w: Array, q_dot: Array, x: Array) -> Array:
    """Kinetic energy of the second-order displacements (F17a)."""
    Kq = np.einsum("cab,tb->tca", geo, q)
    qKq, qKd = np.einsum("tca,ta->tc", Kq, q), np.einsum("tca,ta->tc", Kq, q_dot)
    products = np.stack([w[:, k] * w[:, ell] for k, ell in SYM], axis=1)
    energy = -0.5 * np.sum(x * qKq[:, :3], axis=1) + 0.5 * np.sum(products * qKq[:, 6:], axis=1)
    return energy - np.sum(v * qKd[:, :3], axis=1) - np.sum(w * qKd[:, 3:6], axis=1)
