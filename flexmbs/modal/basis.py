"""Columns -> orthonormal modes in order, sign and name (F51); effective masses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.fe.pieces.mapped import kept

Floats = NDArray[np.float64]

#: columns count as dependent when their independent part is below this, of their size, squared
DEPENDENT = 1e-12
#: translations within this of the largest count as equally large when the sign is chosen
TIE = 1e-6
#: squares of frequencies that differ by less than this part are those of one vibration with several shapes
EQUAL = 1e-8
#: what orders such shapes: how much they move along x, y, z; where that does not, how near to a place they
#: move, in halves of the body; shapes that differ by less than a part of it are alike
AXES, PLACE, ALIKE = (3.0, 2.0, 1.0), (0.9, 0.6, 0.3), 1e-3


@dataclass(frozen=True)
class Columns:
    """Displacement fields (n_t, m) with a name each."""

    U: Floats
    names: tuple[str, ...]

    @staticmethod
    def join(parts: Sequence[Columns]) -> Columns:
        U = kept(np.concatenate([part.U for part in parts], axis=1))
        return Columns(U, sum((p.names for p in parts), ()))


@dataclass(frozen=True)
class Basis:
    """Orthonormal modes U (n_t, nf) with omega2 (nf,) ascending, a name each, and what had to be dropped."""

    U: Floats
    omega2: Floats
    kind: tuple[str, ...]
    dropped: tuple[str, ...] = ()

    @property
    def frequency_hz(self) -> Floats:
        return np.sqrt(np.maximum(self.omega2, 0.0)) / (2.0 * np.pi)


def independent(G: Floats, names: Sequence[str], expected: int = 0) -> tuple[Floats, list[str]]:
    """Combinations (m, rank) that are orthonormal in the Gram matrix G, and the names of dropped columns.

    The rank decision of the reduction. Columns were of unit size before anything was taken out of them, so
    what is small now is dependent; `expected` dependencies (rigid motions) are not reported. A dropped
    direction is named by its largest column.
    """
    value, vector = np.linalg.eigh(0.5 * (G + G.T))
    keep = value > DEPENDENT * max(value.max(initial=0.0), 1.0)
    lost = [names[int(np.argmax(np.abs(vector[:, k])))] for k in np.flatnonzero(~keep)[expected:]]
    return vector[:, keep] / np.sqrt(value[keep]), lost


def orthonormalise(columns: Columns, K: sp.spmatrix, M: sp.spmatrix, expected: int = 0) -> Basis:
    """Modes of the reduced eigenproblem: m_ff = 1, K_ff = diag(omega^2), linear dependence removed (F51)."""
    U = columns.U
    gram = U.T @ (M @ U)
    coefficients, omega2, dropped = rayleigh_ritz(gram, U.T @ (K @ U), columns.names, expected)
    kind = mode_names(coefficients, np.sqrt(np.maximum(np.diag(gram), 0.0)), columns.names)
    return Basis(kept(U @ coefficients), omega2, kind, tuple(dropped))


def rayleigh_ritz(
    gram: Floats, stiffness: Floats, names: Sequence[str], expected: int = 0
) -> tuple[Floats, Floats, list[str]]:
    """Coefficients (m, nf) of the modes in the columns, omega2 (nf,), and the names of dropped columns."""
    combine, dropped = independent(gram, names, expected)
    K_r = combine.T @ (0.5 * (stiffness + stiffness.T)) @ combine
    omega2, W = np.linalg.eigh(0.5 * (K_r + K_r.T))
    return combine @ W, np.maximum(omega2, 0.0), dropped


def mode_names(coefficients: Floats, size: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """What each mode mainly is: the column with the largest share, "orthogonalised" when there are others."""
    if not coefficients.size:
        return ()
    weight = (coefficients * size[:, None]) ** 2
    weight = weight / np.maximum(weight.sum(axis=0), 1e-300)
    main = np.argmax(weight, axis=0)
    return tuple(
        names[k] if weight[k, a] > 1.0 - 1e-9 else f"orthogonalised, mostly {names[k]}"
        for a, k in enumerate(main)
    )


def signs(Phi: Floats) -> Floats:
    """(nf,) of +1, -1 that make the largest translation of each mode (mode, node, 3) positive.

    Among translations that are equally large but for rounding the first one decides.
    """
    if not Phi.size:
        return np.ones(len(Phi))
    flat = Phi.reshape(len(Phi), -1)
    size = np.abs(flat)
    first = np.argmax(size >= (1.0 - TIE) * size.max(axis=1, keepdims=True), axis=1)
    return np.where(flat[np.arange(len(flat)), first] < 0.0, -1.0, 1.0)


def turned(Phi: Floats, points: Floats, omega2: Floats) -> tuple[Floats, Floats]:
    """Combinations (nf, nf) of equal modes (mode, node, 3) that do not depend on rounding, and their omega2.

    Of a vibration with several shapes, as bending of a square section, any combination is one, and rounding
    chooses. Taken are those that extremise how much they move along the axes, then near a place.
    """
    W, common, start = np.eye(len(omega2)), omega2.copy(), 0
    size = np.abs(points - points.mean(axis=0)).max(initial=0.0) or 1.0
    near = 1.0 / (0.1 + np.sum(((points - points.mean(axis=0)) / size - PLACE) ** 2, axis=1))
    weights = np.tile(AXES, (len(points), 1)), np.repeat(near[:, None], 3, axis=1)
    for end in range(1, len(omega2) + 1):
        if end < len(omega2) and omega2[end] - omega2[end - 1] <= EQUAL * omega2[end]:
            continue
        if end - start > 1:
            own = Phi[start:end].reshape(end - start, -1)
            W[start:end, start:end] = _extremal(own, [weight.ravel() for weight in weights])
            common[start:end] = omega2[start:end].mean()
        start = end
    return W, common


def _extremal(shapes: Floats, weights: Sequence[Floats]) -> Floats:
    """Orthogonal combinations of shapes (k, n) that extremise their squares by one weight after another."""
    W, groups = np.eye(len(shapes)), [np.arange(len(shapes))]
    for weight in weights:
        finer = []
        for group in groups:
            own = W[:, group].T @ shapes
            value, vector = np.linalg.eigh((own * weight) @ own.T)
            W[:, group] = W[:, group] @ vector[:, ::-1]
            apart = np.flatnonzero(-np.diff(value[::-1]) > ALIKE * value[-1]) + 1
            finer += np.split(group, apart)
        groups = finer
    return W


def effective_mass(S_f: Floats, I_kl: Floats, m_ff: Floats) -> Floats:
    """(mode, 6): effective masses of translations and of rotations about the body origin (F4, F12)."""
    turn = np.stack([I_kl[1, 2] - I_kl[2, 1], I_kl[2, 0] - I_kl[0, 2], I_kl[0, 1] - I_kl[1, 0]])
    participation = np.concatenate([S_f, turn])
    return (participation**2 / np.where(np.diag(m_ff) > 0, np.diag(m_ff), 1.0)).T
