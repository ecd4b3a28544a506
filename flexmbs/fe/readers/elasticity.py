"""Engineering constants of a deck -> elasticity matrix."""

from __future__ import annotations

import numpy as np

from flexmbs.fe.readers.source import SMALLEST, Damaged, Floats


def by_constants(values: Floats, name: str, line: int | None = None) -> Floats:
    """Elasticity matrix of E1 E2 E3 nu12 nu13 nu23 G12 G13 G23."""
    E, nu, G = values[:3], values[3:6], values[6:9]
    if min(*E, *G) <= SMALLEST:
        raise Damaged(f"{name}: moduli must be positive", line)
    S = np.diag([*(1.0 / E), 1.0 / G[0], 1.0 / G[2], 1.0 / G[1]])
    for (i, j), ratio in zip(((0, 1), (0, 2), (1, 2)), nu, strict=True):
        S[i, j] = S[j, i] = -ratio / E[i]
    if np.linalg.eigvalsh(S).min() <= 0.0:
        raise Damaged(f"{name}: with its ratios and moduli it would give energy when strained", line)
    return np.asarray(np.linalg.inv(S))
