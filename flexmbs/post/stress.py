"""Stress recovery: sigma(t) = sum_a sigma_a q_a(t) (F53), streamed over blocks of nodes."""

from __future__ import annotations

import numpy as np

from flexmbs.post.record import Floats

BLOCK_BYTES = 2**25


def von_mises(sigma: Floats) -> Floats:
    """Von Mises stress of components (..., xx yy zz xy yz zx)."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(sigma, -1, 0)
    return np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3.0 * (xy**2 + yz**2 + zx**2))


def largest_von_mises(q: Floats, stress: Floats) -> float:
    """Largest von Mises stress over all times and points; stress (mode, point, 6)."""
    nf, n_points = stress.shape[:2]
    step = max(1, BLOCK_BYTES // (48 * max(len(q), 1)))
    largest = 0.0
    for start in range(0, n_points, step):
        block = stress[:, start : start + step].reshape(nf, -1)
        largest = max(largest, float(von_mises((q @ block).reshape(len(q), -1, 6)).max()))
    return largest
