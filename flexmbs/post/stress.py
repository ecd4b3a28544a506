"""Stress recovery: sigma(t) = sum_a sigma_a q_a(t) (F53), streamed over blocks of points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs.post.record import Floats

Ints = NDArray[np.int64]
BLOCK_BYTES = 2**25
#: rows of an envelope: what is largest or smallest over time
RANGES = ("von_mises", "max_principal", "min_principal")


def von_mises(sigma: Floats) -> Floats:
    """Von Mises stress of components (..., xx yy zz xy yz zx)."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(sigma, -1, 0)
    return np.sqrt(0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) + 3.0 * (xy**2 + yz**2 + zx**2))


def principal(sigma: Floats) -> Floats:
    """Principal stresses (..., 3), largest first."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(sigma, -1, 0)
    tensor = np.stack(
        [np.stack([xx, xy, zx], -1), np.stack([xy, yy, yz], -1), np.stack([zx, yz, zz], -1)], -2
    )
    return np.linalg.eigvalsh(tensor)[..., ::-1]


def signed_von_mises(sigma: Floats) -> Floats:
    """Von Mises stress with the sign of the principal stress of the largest size, for fatigue."""
    values = principal(sigma)
    return np.where(values[..., 0] + values[..., 2] < 0.0, -1.0, 1.0) * von_mises(sigma)


def strain(sigma: Floats, E: float, nu: float) -> Floats:
    """Strain of an isotropic material, tensor components xx yy zz xy yz zx (shear: half the angle)."""
    trace = sigma[..., :3].sum(axis=-1, keepdims=True)
    eps = (1.0 + nu) / E * sigma
    eps[..., :3] -= nu / E * trace
    return eps


def blocks(q: Floats, stress: Floats) -> Iterator[tuple[int, Floats]]:
    """Histories sigma (time, block of points, 6) with the number of the first point of each block."""
    nf, n_points = stress.shape[:2]
    step = max(1, BLOCK_BYTES // (48 * max(len(q), 1)))
    for start in range(0, n_points, step):
        part = np.ascontiguousarray(stress[:, start : start + step]).reshape(nf, -1)
        yield start, (q @ part).reshape(len(q), -1, 6)


def largest_von_mises(q: Floats, stress: Floats) -> float:
    """Largest von Mises stress over all times and points; stress (mode, point, 6)."""
    return max((float(von_mises(sigma).max()) for _, sigma in blocks(q, stress)), default=0.0)


@kernel
def extremes(sigma, value, sample):
    """Extremes over time per point: rows von Mises, largest and smallest principal stress.

    sigma : (time, point, 6).  Writes: value (3, point), sample (3, point) number of the time
    """
    n_times, n_points = sigma.shape[0], sigma.shape[1]
    for t in range(n_times):
        for n in range(n_points):
            xx, yy, zz = sigma[t, n, 0], sigma[t, n, 1], sigma[t, n, 2]
            xy, yz, zx = sigma[t, n, 3], sigma[t, n, 4], sigma[t, n, 5]
            mean = (xx + yy + zz) / 3.0
            a, b, c = xx - mean, yy - mean, zz - mean
            J2 = 0.5 * (a * a + b * b + c * c) + xy * xy + yz * yz + zx * zx
            J3 = a * (b * c - yz * yz) - xy * (xy * c - yz * zx) + zx * (xy * yz - b * zx)
            r = np.sqrt(J2 / 3.0)
            turn = 0.0
            if r > 0.0:
                turn = np.arccos(min(1.0, max(-1.0, 0.5 * J3 / (r * r * r)))) / 3.0
            high = mean + 2.0 * r * np.cos(turn)
            low = mean + 2.0 * r * np.cos(turn + 2.0 * np.pi / 3.0)
            size = np.sqrt(3.0 * J2)
            if t == 0 or size > value[0, n]:
                value[0, n], sample[0, n] = size, t
            if t == 0 or high > value[1, n]:
                value[1, n], sample[1, n] = high, t
            if t == 0 or low < value[2, n]:
                value[2, n], sample[2, n] = low, t


@dataclass(frozen=True)
class Envelope:
    """Extremes over time at every point: `value` and `sample` (3, point), rows as in `RANGES`."""

    value: Floats
    sample: Ints

    @property
    def von_mises(self) -> Floats:
        return self.value[0]


def envelope(q: Floats, stress: Floats, progress: Callable[[float, str], None] | None = None) -> Envelope:
    """Extremes over the samples q (time, mode) for modal stresses (mode, point, 6)."""
    n_points = stress.shape[1]
    value, sample = np.zeros((3, n_points)), np.zeros((3, n_points), dtype=np.int64)
    for start, sigma in blocks(q, stress):
        stop = start + sigma.shape[1]
        part_value, part_sample = np.zeros((3, stop - start)), np.zeros((3, stop - start), dtype=np.int64)
        extremes(sigma, part_value, part_sample)
        value[:, start:stop], sample[:, start:stop] = part_value, part_sample
        if progress is not None:
            progress(stop / n_points, f"{stop} of {n_points} points")
    return Envelope(value, sample)


def hot_spots(values: Floats, places: Floats, count: int, apart: float) -> Ints:
    """Points of the largest values, no two closer than `apart`, largest first."""
    left = np.ones(len(values), dtype=bool)
    found: list[int] = []
    for k in np.argsort(-values, kind="stable"):
        if len(found) == count:
            break
        if left[k]:
            found.append(int(k))
            left &= np.linalg.norm(places - places[k], axis=1) >= apart
    return np.array(found, dtype=np.int64)


def rainflow_counts(history: Floats) -> list[tuple[float, float]]:
    """Ranges and counts of the cycles of a history, by the library rainflow."""
    try:
        import rainflow
    except ImportError:
        from flexmbs.errors import Diagnostic, MissingComponentError

        remedy = "install it with: pip install rainflow"
        raise MissingComponentError(
            Diagnostic("missing.rainflow", "stress --rainflow", "needs rainflow", remedy)
        ) from None
    return [(float(size), float(count)) for size, count in rainflow.count_cycles(history)]
