"""Bodies as stiffness and mass of six freedoms per interface and modal ones: Craig-Bampton coordinates.

Such matrices say how a body vibrates about its place and what it weighs; how its inertia changes with its
deflections (I^kl but for its moments, S^kl) and its geometric stiffness they do not say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, null_space

from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.exchange.given import Nodes, body_of, check_mass, symmetric
from flexmbs.ffrf.integrals import ShapeIntegrals, euler_tensor, held_integrals
from flexmbs.ffrf.mass import mass_matrix
from flexmbs.modaldata import ModalData
from flexmbs.spatial import LEVI_CIVITA, skew

Floats = NDArray[np.float64]

#: rigid motions may meet this part of the resistance that entries of K could give: digits of a text file
GROUNDED = 1e-6
#: this part of the largest entries is none of them
ROUNDING = 1e-9
#: three equal masses, and no product of mass and place that is not a first moment, up to this part
RIGID_MASS = 1e-6
NOT_KNOWN = (
    "how the inertia changes with deflections and the geometric stiffness are not known: right for small "
    "deflections of a body that turns slowly against its frequencies"
)
HELD = (
    "the structure is held somewhere: mass, mass centre, inertia, what its deflections move of them and what "
    "holds it are not known; its frame must be fixed to ground, without gravity"
)


@dataclass(frozen=True)
class Boundary:
    """K, M, C (6 n + m square): translations and rotations of n frames at P (n, 3), body axes, then modes."""

    P: Floats
    K: Floats
    M: Floats
    C: Floats


def boundary_of(modal: ModalData, *, held: bool = False) -> Boundary:
    """The body in its interfaces and what is left of its modes: static shapes, then modes with these held.

    held : its frame stands still, as that of a supported body; else it has six rigid motions
    """
    i, nf, n = modal.integrals, modal.nf, len(modal.interfaces)
    if not n:
        raise UsageError(
            Diagnostic("exchange.nodes", modal.source, "the body has no interface", "reduce it with one")
        )
    P = np.array([item.position for item in modal.interfaces.values()])
    rows = [
        np.hstack([rigid_rows(x), np.vstack([item.Phi, item.Psi])])
        for x, item in zip(P, modal.interfaces.values(), strict=True)
    ]
    first = 6 if held else 0
    G = np.concatenate(rows)[:, first:]  # interfaces by [rigid, q]
    if np.linalg.matrix_rank(G) < 6 * n:
        what = f"{nf} modes do not move {n} interfaces in all directions"
        why = "reduce it with craig-bampton, and with all directions of the interfaces"
        raise UsageError(Diagnostic("exchange.interfaces", modal.source, what, why))
    M = mass_matrix(i, np.zeros(nf), stiffening=False)
    K, C = np.zeros_like(M), np.zeros_like(M)
    K[6:, 6:], C[6:, 6:] = i.K_ff, i.D_ff
    K, M, C = (A[first:, first:] for A in (K, M, C))
    N = null_space(G)  # motions with all interfaces held: no rigid one is among them
    static = np.linalg.pinv(G)
    static -= N @ np.linalg.solve(N.T @ K @ N, N.T @ K @ static) if N.shape[1] else 0.0
    if N.shape[1]:
        N = N @ eigh(N.T @ K @ N, N.T @ M @ N)[1]
    T = np.hstack([static, N])
    return Boundary(P, *(0.5 * (A + A.T) for A in (T.T @ K @ T, T.T @ M @ T, T.T @ C @ T)))


def rigid_rows(x: Floats) -> Floats:
    """Motion of a frame at x by the six rigid motions about the origin."""
    return np.block([[np.eye(3), -skew(x)], [np.zeros((3, 3)), np.eye(3)]])


def body_from(path: Path, form: Boundary, program: str) -> ModalData:
    """Modal data in a mean-axis frame; interfaces are `frame1`, ... in the order of the file."""
    K, M, C = checked(path, form)
    R, moved = rigid_motions(path, K, form.P)
    if not moved <= GROUNDED:
        what = f"the stiffness resists rigid motions ({moved:.3g} of what it could)"
        raise InputError(
            Diagnostic(
                "exchange.grounded", path.name, what, "expected a free body; order and units of the freedoms?"
            )
        )
    mass, S_O, J = rigid_inertia(R.T @ M @ R, path)
    W = M @ R
    free = null_space(W.T)  # mean axis: no momentum of deflections
    m_free = free.T @ M @ free
    check_mass(m_free, path)
    omega2, V = eigh(free.T @ K @ free, m_free)
    Phi = free @ V
    nf = Phi.shape[1]
    m_ff = np.eye(nf)
    integrals = ShapeIntegrals(
        mass, S_O, np.zeros((3, nf)), euler_tensor(J), np.zeros((3, 3, nf)),
        np.einsum("kl,ab->klab", np.eye(3) / 3.0, m_ff), m_ff, np.diag(np.maximum(omega2, 0.0)),
        Phi.T @ C @ Phi,
    )  # fmt: skip
    nodes = _frames(form.P, Phi)
    return body_of(path, integrals, nodes, nodes.label, program)


def held_body(path: Path, form: Boundary, program: str) -> ModalData:
    """Modal data in a frame at rest, in the coordinates of the file; what moves with the frame is NaN."""
    K, M, C = checked(path, form)
    nodes = _frames(form.P, np.eye(len(K)))
    modal = body_of(path, held_integrals(M, K, C), nodes, nodes.label, program)
    warnings = [*modal.quality["warnings"], HELD]
    return replace(modal, frame="held", quality={"rigid_modes": 0, "warnings": warnings})


def checked(path: Path, form: Boundary) -> tuple[Floats, Floats, Floats]:
    """K, M, C, symmetric."""
    named = ((form.K, "stiffness"), (form.M, "mass"), (form.C, "damping"))
    K, M, C = (symmetric(A, what, path) for A, what in named)
    return K, M, C


def rigid_motions(path: Path, K: Floats, P: Floats) -> tuple[Floats, float]:
    """Rigid motions of frames at P with what follows statically, and the part of what K could resist."""
    n, size = len(P), len(K)
    R = np.zeros((size, 6))
    R[: 6 * n] = np.concatenate([rigid_rows(x) for x in P])
    inner = slice(6 * n, size)
    if size > 6 * n:
        if np.linalg.matrix_rank(K[inner, inner]) < size - 6 * n:
            what = "with its interfaces held the body moves without stiffness"
            remedy = "expected modes with a stiffness each behind the freedoms of interfaces"
            raise InputError(Diagnostic("exchange.grounded", path.name, what, remedy))
        R[inner] = -np.linalg.solve(K[inner, inner], K[inner, : 6 * n] @ R[: 6 * n])
    # of one interface all that resists is rounding
    could = max((np.abs(K) @ np.abs(R)).max(), ROUNDING * np.abs(K).max() * np.abs(R).max())
    return R, float(np.abs(K @ R).max() / could) if could else 0.0


def _frames(P: Floats, Phi: Floats) -> Nodes:
    """Frames `frame1`, ... in the order of the file; Phi (6 n + ..., nf)."""
    n, nf = len(P), Phi.shape[1]
    shapes = Phi[: 6 * n].reshape(n, 6, nf)
    labels = tuple(f"frame{k + 1}" for k in range(n))
    return Nodes(labels, P, np.tile(np.eye(3), (n, 1, 1)), shapes[:, :3].copy(), shapes[:, 3:].copy())


def rigid_inertia(A: Floats, path: Path) -> tuple[float, Floats, Floats]:
    """mass, S_O, inertia tensor about the origin out of the mass matrix of the six rigid motions."""
    mass = float(np.trace(A[:3, :3]) / 3.0)
    S_O = 0.5 * np.einsum("kij,ij->k", LEVI_CIVITA, A[:3, 3:])  # A is -skew(S_O) there
    left = np.abs(A[:3, :3] - mass * np.eye(3)).max() / abs(mass) if mass else np.inf
    size = np.abs(A[:3, 3:]).max() + np.sqrt(abs(mass) * np.abs(A[3:, 3:]).max())
    left = max(left, np.abs(A[:3, 3:] + skew(S_O)).max() / size) if size else np.inf
    if not (mass > 0.0 and left <= RIGID_MASS):
        what = f"rigid motions have masses {np.diag(A)[:3]}, and are not those of one body ({left:.3g})"
        raise InputError(
            Diagnostic("exchange.mass", path.name, what, "expected m m m; order and units of the freedoms?")
        )
    return mass, S_O, A[3:, 3:]
