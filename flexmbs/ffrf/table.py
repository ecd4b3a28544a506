"""Flat tables of bodies for the kernels: ShapeIntegrals -> one row of numbers, streamed mode by mode.

Block of one body, from its offset `o`; "sym" is xx, xy, xz, yy, yz, zz:

    0       mass
    1-3     S_O
    4-9     Theta(0), sym                                               (F12)
    10      1, or 0 when the first moment stays S_O ("constant")
    11      spare
    then for every mode a a record of `record_size` numbers:
    0-2     S_f[:, a]                                                   (F4)
    3-5     I_Rf(0)[:, a]                                               (F12)
    6-11    linear term of Theta, sym                                   (F12)
    n_T = 0 or 6 rows of nf: quadratic terms of Theta, sym: tr(S) 1 - S of (F12) and K_kl of (F17a)
    n_A = 0 or 3 rows of nf: A_i = eps_ijk S^jk, antisymmetric          (F12, F13)
    n_G = 0 or 6 rows of nf: K_a and K_al of (F17)

A term that a body does not have is a size of zero, not a branch. Nothing here knows a mesh or a joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.ffrf.integrals import BODY_LOADS, Array, ShapeIntegrals, interface_loads
from flexmbs.spatial import LEVI_CIVITA

HEADER = 12
RECORD = 12
#: Index pairs of a symmetric 3x3 matrix, in the order of all tables.
SYM = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
INERTIA_TERMS = ("full", "first-order", "constant")
#: Unit loads whose matrices are this small against the largest of their kind are rounding: left out.
NEGLIGIBLE = 1e-13


@dataclass(frozen=True)
class BodyBlock:
    """One body as the kernels read it: `data` and the sizes of its parts."""

    data: Array
    nf: int
    n_T: int
    n_A: int
    n_G: int


def pack_body(
    integrals: ShapeIntegrals, *, inertia_terms: str = "full", stiffening: bool = True
) -> BodyBlock:
    """Pack the integrals of a body, with the terms that are asked for.

    `inertia_terms`: "full"; "first-order" without the S^kl terms; "constant" with M as at q = 0.
    Each choice keeps the power balance of (F13). Without matrices of all `BODY_LOADS` there is no
    stiffening by the motion of the body.
    """
    if inertia_terms not in INERTIA_TERMS:
        raise InputError(
            Diagnostic(
                "body.inertia_terms",
                "inertia_terms",
                f'"{inertia_terms}" is not known',
                nearest(inertia_terms, INERTIA_TERMS),
            )
        )
    nf = integrals.nf
    header = np.zeros(HEADER)
    header[0] = integrals.mass
    header[1:4] = integrals.S_O
    J = integrals.inertia
    header[4:10] = [J[k, ell] for k, ell in SYM]
    header[10] = inertia_terms != "constant"
    if not nf:
        return BodyBlock(header, 0, 0, 0, 0)
    geo = integrals.load_matrices(BODY_LOADS) if stiffening else None
    T = _quadratic_inertia(integrals, inertia_terms, geo)
    A = _antisymmetric(integrals, inertia_terms)
    G = np.zeros((0, nf, nf)) if geo is None else geo[:6]
    record = np.zeros((nf, RECORD))
    record[:, 0:3] = integrals.S_f.T
    record[:, 3:6] = np.einsum("ijk,jka->ai", LEVI_CIVITA, integrals.I_kl)
    if inertia_terms != "constant":
        record[:, 6:12] = _linear_inertia(integrals)
    rows = np.concatenate([T, A, G]).transpose(1, 0, 2)
    rows = rows.reshape(nf, rows.shape[1] * nf)
    data = np.concatenate([header, np.hstack([record, rows]).ravel()])
    return BodyBlock(data, nf, len(T), len(A), len(G))


def _linear_inertia(integrals: ShapeIntegrals) -> Array:
    """d Theta / d q at q = 0, sym (nf, 6) (F12)."""
    symmetric = integrals.I_kl + integrals.I_kl.transpose(1, 0, 2)
    trace = np.einsum("kka->a", symmetric)
    full = trace * np.eye(3)[:, :, None] - symmetric
    return np.array([full[k, ell] for k, ell in SYM]).T


def _quadratic_inertia(integrals: ShapeIntegrals, inertia_terms: str, geo: Array | None) -> Array:
    """Matrices T with Theta = ... + q^T T q, sym (6, nf, nf), or none (F12, F17a)."""
    nf = integrals.nf
    T = np.zeros((6, nf, nf))
    if inertia_terms == "full":
        S = 0.5 * (integrals.S_kl + integrals.S_kl.transpose(0, 1, 3, 2))
        trace = S[0, 0] + S[1, 1] + S[2, 2]
        for c, (k, ell) in enumerate(SYM):
            T[c] = (trace if k == ell else 0.0) - S[k, ell]
    elif geo is None:
        return np.zeros((0, nf, nf))
    if geo is not None:
        for c, (k, ell) in enumerate(SYM):
            T[c] += geo[6 + c] if k == ell else 0.5 * geo[6 + c]
    return T


def _antisymmetric(integrals: ShapeIntegrals, inertia_terms: str) -> Array:
    """`A_i = eps_ijk S^jk`, (3, nf, nf), or none (F12, F13)."""
    nf = integrals.nf
    if inertia_terms != "full":
        return np.zeros((0, nf, nf))
    return np.einsum("ijk,jkab->iab", LEVI_CIVITA, integrals.S_kl)


def marker_stiffening(integrals: ShapeIntegrals, interface: str) -> Array | None:
    """K_P of the six unit wrench components at an interface (6, nf, nf), or None (F17a).

    None also when all are negligible, as at the interface that supports the unit loads.
    """
    K_P = integrals.load_matrices(interface_loads(interface))
    if K_P is None:
        return None
    wrench = [c for c, name in enumerate(integrals.loads) if name not in BODY_LOADS]
    largest = np.abs(integrals.K_geo[wrench]).max(initial=0.0)
    return K_P if np.abs(K_P).max(initial=0.0) > NEGLIGIBLE * largest else None
