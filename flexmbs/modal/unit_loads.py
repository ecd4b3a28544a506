"""Unit loads of a moving body: accelerations, products of angular velocities, interface wrenches (F17)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.fe.pieces.mapped import kept, room
from flexmbs.modal.basis import Basis
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import TiedModel
from flexmbs.spatial import LEVI_CIVITA

Floats = NDArray[np.float64]

#: shapes with less than this share of the strain energy of every load are left out: 1e-5 of its stress
MISSED = 1e-10


def moment_rows(form: Any, points: Floats, n_dof: int) -> tuple[Floats, Floats]:
    """S_f and I^kl of (F4a, F6a) as rows over the nodal dofs: (3, n_dof) and (3, 3, n_dof)."""
    p = form.n_per_node
    X = np.zeros((len(points), p))
    X[:, :3] = points
    X = X.reshape(-1, 1)
    S_f, I_kl = np.zeros((3, n_dof)), np.zeros((3, 3, n_dof))
    for k in range(3):
        one = np.zeros((n_dof, 1))
        one[k::p] = 1.0
        S_f[k] = _row(form, k, one, k)
        for ell in range(3):
            I_kl[k, ell] = _row(form, k, X, ell)
    extra = form.attached
    P = 0.5 * np.einsum("jii->j", extra.inertia)[:, None, None] * np.eye(3) - extra.inertia
    for k in range(3):
        for ell in range(3):
            at = np.zeros((len(extra.mass), 3))
            at[:, ell] = extra.mass * extra.position[:, k]
            turn = -np.einsum("mn,jm->jn", LEVI_CIVITA[ell], P[:, k])
            I_kl[k, ell] += extra.rows.T @ at.ravel() + extra.turn_rows.T @ turn.ravel()
        at = np.zeros((len(extra.mass), 3))
        at[:, k] = extra.mass
        S_f[k] += extra.rows.T @ at.ravel()
    return S_f, I_kl


def _row(form: Any, k: int, A: Floats, ell: int) -> Floats:
    """`A_k^T Ms^kl` as a row over all nodal dofs."""
    operator = form.Ms if form.Ms_kl is None else form.Ms_kl[k][ell]
    part = np.asarray(operator.T @ form.component(A, k)).ravel()
    if form.Ms_kl is not None:
        return part
    row = np.zeros(form.n_per_node * len(part))
    row[ell :: form.n_per_node] = part
    return row


def body_loads(form: Any, points: Floats, n_dof: int) -> Floats:
    """Nodal forces (n_dof, 12) of the unit loads, in the order of `ffrf.integrals.BODY_LOADS` (F17)."""
    S_f, I_kl = moment_rows(form, points, n_dof)
    turn = np.einsum("ijk,jkd->id", LEVI_CIVITA, I_kl)
    trace = I_kl[0, 0] + I_kl[1, 1] + I_kl[2, 2]
    products = [
        I_kl[k, k] - trace if k == ell else I_kl[k, ell] + I_kl[ell, k]
        for k in range(3)
        for ell in range(k, 3)
    ]
    return np.concatenate([S_f, turn, np.stack(products)]).T


def turning_stiffness(form: Any, Phi: Floats) -> Floats:
    """What attached inertias add to `K_geo` of `body_loads`, (12, nf, nf): they turn, rigid (F17b).

    Linear rows would stretch them; the rotation of second order, theta~^2 / 2, takes that back.
    """
    J, Psi = form.inertias, form.turns(Phi)
    one, trace = np.eye(3), np.einsum("jkk->j", J)[:, None, None]
    P = 0.5 * trace * one - J
    parts = [np.zeros_like(P)] * 3 + [np.einsum("mn,jnp->jmp", eps, P) for eps in LEVI_CIVITA]
    for k in range(3):
        for ell in range(k, 3):
            X = 0.5 * (one[k][:, None] * P[:, None, ell] + one[ell][:, None] * P[:, None, k])
            X = X - P[:, k, ell, None, None] * one
            parts.append(P - 0.5 * trace * one - X if k == ell else -2.0 * X)
    K = np.array([np.einsum("jma,jmn,jnb->ab", Psi, part, Psi, optimize=True) for part in parts])
    return 0.5 * (K + np.swapaxes(K, 1, 2))


def wrench_loads(model: TiedModel) -> Floats:
    """Tied forces (n_t, 6 n_interfaces) of unit wrenches at the interfaces, body axes (F17)."""
    parts = [np.asarray(model.rows[name].T @ item.axes.T) for name, item in model.interfaces.items()]
    return np.concatenate(parts, axis=1) if parts else np.zeros((model.n, 0))


def unit_responses(statics: Statics, loads: Floats, support: sp.csr_matrix | None) -> Floats:
    """Static displacements (n_t, n_load) with the support of the frame, or by inertia relief (F17).

    A load that the relief balances all by itself, such as a uniform acceleration, and one that acts on what
    is held give rounding only; they are set to zero, so that no stress follows from them.
    """
    held = statics.holding(support)
    relieved = held.relieve(loads)
    rest = relieved
    if support is not None:
        C = support.toarray()
        rest = relieved - C.T @ np.linalg.lstsq(C.T, relieved, rcond=None)[0]
    size = np.linalg.norm(loads, axis=0)
    carried = np.linalg.norm(rest, axis=0) > 1e-10 * np.where(size > 0, size, 1.0)
    U = room(loads.shape)
    if carried.any():
        U[:, carried] = held.respond(relieved[:, carried])
    return U


def missed_shapes(K: sp.spmatrix, basis: Basis, F: Floats, U: Floats) -> tuple[Floats, Floats, Floats]:
    """The part of static responses U (n_t, load) to tied loads F that orthonormal modes miss (F53).

    Returns shapes (n_t, shape) that span it, the share (shape, load) of each in every load, and the static
    coordinates q_c (mode, load). Modes of a complete basis miss nothing: no shapes are left then.
    """
    carried = np.linalg.norm(U, axis=0) > 0.0
    q = np.where(carried, (basis.U.T @ F) / basis.omega2[:, None], 0.0)
    energy = np.sqrt(np.einsum("ic,ic->c", U, K @ U))
    size = np.where(energy > 0.0, energy, 1.0)
    rest = (U - basis.U @ q) / size
    gram = rest.T @ (K @ rest)
    value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
    vector = vector[:, value > MISSED][:, ::-1]
    return kept(rest @ vector), vector.T * size, q
