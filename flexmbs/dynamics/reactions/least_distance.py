"""Shares of contacts that only push, by non-negative least squares: the second opinion (F28)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.reactions.contact_shares import NO_PUSH
from flexmbs.dynamics.reactions.share import SMALL_ENERGY
from flexmbs.dynamics.tolerances import NOTHING

Array = NDArray[np.float64]

#: what is missed of a bound that can be kept, and what shows that one cannot, of the largest force
LEFT, MISSED = 1e-11, 1e-9


def without_pull(lam: Array, null: Array, squares: Array, energy: Array, side: Array) -> Array:
    """lam + null y with no multiplier against its side: nearest to lam, in energy first, then in squares.

    `squares` and `energy` are factors of them, by y. Sides are 1, -1, or 0 where any sign will do. Contacts
    that every y lets pull count like those.
    """
    _, s, Vt = np.linalg.svd(squares, full_matrices=False)
    kept = s > 1e-10 * s.max(initial=NOTHING)
    to_y = Vt[kept].T / s[kept]
    size, V = np.linalg.eigh((energy @ to_y).T @ (energy @ to_y))
    top = float(size.max(initial=0.0)) or 1.0
    basis = null @ to_y @ V / np.sqrt(np.maximum(size, 0.0) / top + SMALL_ENERGY)
    rows = np.flatnonzero(side * np.any(np.abs(null) > NO_PUSH * np.abs(null).max(initial=0.0), axis=1))
    out = lam
    while len(rows):
        scale = float(np.abs(lam[rows]).max()) or 1.0
        G, h = side[rows, None] * basis[rows], -side[rows] * lam[rows] / scale
        if not np.any(h > NO_PUSH):
            break
        size = LEFT**0.5 * np.linalg.norm(G, axis=1)  # what may be missed, at a price
        x = least_distance(np.hstack([G, np.diag(size)]), h)
        missed = size * x[basis.shape[1] :] > MISSED
        if not missed.any():
            out = lam + basis @ x[: basis.shape[1]] * scale
            out[rows] = np.where(np.abs(out[rows]) > MISSED * scale, out[rows], 0.0)
            break
        rows = rows[~missed]
    return out


def least_distance(G: Array, h: Array) -> Array:
    """Shortest x with G x >= h (Lawson and Hanson, chapter 23)."""
    from scipy.optimize import nnls

    E = np.vstack([G.T, h])
    f = np.zeros(len(E))
    f[-1] = 1.0
    u, _ = nnls(E, f)
    r = E @ u - f
    return np.asarray(-r[:-1] / r[-1])
