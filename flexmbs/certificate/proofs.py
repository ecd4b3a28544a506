"""Tests of a reduced body against its full model, each a number with a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.fe.pieces.mapped import ROWS
from flexmbs.fe.solve.shifted import Shifted
from flexmbs.fe.solve.solvers import largest_entry
from flexmbs.modal.basis import Basis
from flexmbs.modal.eigen import Modes
from flexmbs.modal.receptance import scaled_rows
from flexmbs.modal.statics import Constrained, Statics
from flexmbs.modal.ties import TiedModel, rigid_field

Floats = NDArray[np.float64]

#: eigenvalues within this of each other are not told apart
CLOSE = 1e-4
#: eigenvalues of K^-1 M of what counts as a lower mode, in that of the mode
FAR = 2.0


def rigid_residual(K_fe: Any, points: Floats, n_per_node: int) -> float:
    """Largest force of K under the six rigid motions, of the largest that its entries could give."""
    n_modal = K_fe.shape[0] - n_per_node * len(points)
    R = rigid_field(points, n_per_node, points.mean(axis=0), n_modal)
    force = np.abs(K_fe @ R).max(axis=0)
    K_fe, R = sp.csc_array(K_fe), np.abs(R)
    rows = sp.csr_array((K_fe.data, K_fe.indices, K_fe.indptr), shape=K_fe.shape)  # symmetric
    possible = np.zeros(R.shape[1])
    for begin in range(0, len(R), ROWS):
        possible = np.maximum(possible, (abs(rows[begin : begin + ROWS]) @ R).max(axis=0))
    return float(np.max(force / np.where(possible > 0, possible, 1.0)))


def eigen_residuals(held: Constrained, modes: Modes, images: Floats | None = None) -> Floats:
    """|v - omega2 K^-1 M v| in M per pair: it bounds the relative error of omega2; `images` are K^-1 M v."""
    images = held.inverse_mass(modes.V) if images is None else images
    return _residuals(modes.V, images, 1.0 / modes.omega2, held.model.M)


def _residuals(V: Floats, images: Floats, mu: Floats, M: Any) -> Floats:
    """Lengths of v - K^-1 M v / mu in M: how far mu is, relatively, from an eigenvalue of K^-1 M.

    What lies along lower modes counts by its square over the distance of their eigenvalues, as it does in a
    Rayleigh quotient: rounding of v is made mu_j / mu_i times as long there.
    """
    R = V - images / mu
    lower = mu[:, None] > FAR * mu
    C = np.where(lower, V.T @ (M @ R), 0.0)
    second = C**2 * mu / np.where(lower, mu[:, None] - mu, 1.0)
    return np.asarray(_size(R - V @ C, M) + second.sum(axis=0))


def _size(R: Floats, M: Any) -> Floats:
    """Lengths in M of columns."""
    return np.asarray(np.sqrt(np.abs(np.einsum("ij,ij->j", R, M @ R))))


def frequency_bounds(held: Constrained, modes: Modes, images: Floats) -> Floats:
    """How far each frequency can be off, relatively, when none was missed; `images` are K^-1 M v.

    Of the operator K^-1 M with eigenvalues mu = 1/omega^2, which is symmetric in M: a Rayleigh quotient with
    residual r is within |r| of an eigenvalue, and within |r|^2 / gap, the gap to the next one that belongs to
    no mode of its own group of close ones. Of the last group the next one is not known.
    """
    M, V = held.model.M, modes.V
    MV = M @ V
    mu = np.einsum("ij,ij->j", MV, images) / np.einsum("ij,ij->j", MV, V)
    r = mu * _residuals(V, images, mu, M) / np.sqrt(np.einsum("ij,ij->j", MV, V))
    bound, n = np.empty(len(mu)), len(mu)
    starts = np.concatenate([[0], np.flatnonzero(mu[:-1] - mu[1:] > CLOSE * mu[:-1]) + 1, [n]])
    for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        size = np.linalg.norm(r[a:b])
        above = mu[a - 1] - r[a - 1] - mu[a] if a else np.inf
        gap = min(above, mu[b - 1] - mu[b] - r[b]) if b < n else 0.0
        bound[a:b] = min(size, size**2 / gap) if gap > 0.0 else size
    return np.asarray(0.5 * (bound / mu + np.abs(mu * modes.omega2 - 1.0)))


def backward_errors(held: Constrained, modes: Modes) -> Floats:
    """|K v - omega2 M v| less the forces of the held coordinates, of |K| |v| + omega2 |M| |v|, per pair."""
    model, r = held.model, held.unbalanced(modes.V, modes.omega2)
    largest = largest_entry(model.K) + modes.omega2 * largest_entry(model.M)
    return np.asarray(np.linalg.norm(r, axis=0) / (largest * np.linalg.norm(modes.V, axis=0)))


def count_below(held: Constrained, omega2: float) -> int:
    """Number of eigenvalues of the body with C u held that lie below omega2 (Sylvester's law of inertia).

    A = K - omega2 M without the pinned coordinates has the ordering of the stiffness: the pins come back,
    and the held coordinates go, through the inertia of the small Schur complement of the bordered matrix.
    Gives up the factor of K.
    """
    statics, model, C = held.statics, held.model, held.C
    A = Shifted(model.K, model.M, omega2)
    pins, m = statics.pins, C.shape[0]
    border = np.concatenate([A.rows(pins).toarray(), C.toarray()])
    corner = np.zeros((len(pins) + m, len(pins) + m))
    corner[:, : len(pins)] = border[:, pins]
    corner[: len(pins), :] = border[:, pins].T
    pivots, product = statics.inertia(A, border.T)
    S = corner - product  # the inverse is zero at the pins
    size = np.sqrt(np.abs(np.diag(S)))
    size = np.where(size > 0, size, 1.0)
    negative = int(np.sum(np.linalg.eigvalsh(0.5 * (S + S.T) / np.outer(size, size)) < 0.0))
    return pivots + negative - m


def static_error(statics: Statics, basis: Basis) -> float | None:
    """Displacements at the interfaces under unit loads there, reduced against full, relative to the largest.

    Free bodies are held at their first interface with six freedoms; None where there is no such test.
    """
    model = statics.model
    support = None
    if model.rigid.shape[1]:
        whole = [name for name, item in model.interfaces.items() if len(item.dofs) == 6]
        if not whole or model.rigid.shape[1] < 6 or len(model.interfaces) < 2:
            return None
        support = model.rows[whole[0]]
    rows = scaled_rows(model)
    if not rows.shape[0]:
        return None
    full = rows @ statics.holding(support).respond(np.ascontiguousarray(rows.T))
    return float(np.abs(reduced_compliance(model, basis, rows, support) - full).max() / np.abs(full).max())


def reduced_compliance(model: TiedModel, basis: Basis, rows: Floats, support: sp.csr_matrix | None) -> Floats:
    """Displacements of `rows` under unit loads there, by modes and rigid motions with the support held."""
    stiffness = np.concatenate([np.zeros(model.rigid.shape[1]), basis.omega2])
    fields = np.concatenate([model.rigid, basis.U], axis=1)
    C = rows @ fields
    held = np.zeros((0, len(stiffness))) if support is None else np.asarray(support @ fields)
    n, m = len(stiffness), len(held)
    A = np.zeros((n + m, n + m))
    A[:n, :n] = np.diag(stiffness)
    A[:n, n:], A[n:, :n] = held.T, held
    scale = np.ones(n + m)
    scale[model.rigid.shape[1] : n] = 1.0 / np.sqrt(basis.omega2)
    rhs = np.concatenate([C.T, np.zeros((m, len(C)))])
    solved = scale[:, None] * np.linalg.solve(scale[:, None] * A * scale, scale[:, None] * rhs)
    return np.asarray(C @ solved[:n])


def orthogonality(m_ff: Floats, K_ff: Floats) -> float:
    """Largest deviation of m_ff from 1 and of K_ff from a diagonal, each of its own scale."""
    if not len(m_ff):
        return 0.0
    size = np.sqrt(np.maximum(np.diag(K_ff), 1e-300))
    off = K_ff / np.outer(size, size) - np.eye(len(K_ff))
    return float(max(np.abs(m_ff - np.eye(len(m_ff))).max(), np.abs(off).max()))


def mean_axis_residual(S_f: Floats, I_kl: Floats, mass: float, Theta_kl: Floats) -> float:
    """|S_f| and |int rho u0~ S|, relative to the largest they could be for mass-normalised modes (F50)."""
    if not S_f.shape[1]:
        return 0.0
    turn = np.stack([I_kl[1, 2] - I_kl[2, 1], I_kl[2, 0] - I_kl[0, 2], I_kl[0, 1] - I_kl[1, 0]])
    inertia = np.sqrt(max(float(np.trace(Theta_kl)), 1e-300))
    return float(max(np.abs(S_f).max() / np.sqrt(max(mass, 1e-300)), np.abs(turn).max() / inertia))
