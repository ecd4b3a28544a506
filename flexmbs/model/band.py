"""Band of interest: modes above it follow their loads without vibrating (F14a).

Modes of a body far above what its basis was made for are no better than their static correction, and undamped
they are the stiffest part of a system. With a damping in proportion to their stiffness they still take their
share of every deflection, all by the same short time late, and error control leaves them alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.bodies import Body, FlexibleBody

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: by how much of a radian at the end of the band modes above it follow late
LAG = 0.1
#: names of bodies in a line
MOST = 4


def modal_damping(m_ff: Array, K_ff: Array, ratio: Array) -> Array:
    """Matrix with the damping ratios of the modes of (K_ff, m_ff): `M V diag(2 ratio omega) V^T M` (F14).

    Modes that are orthogonal as they stand keep their order, also where frequencies coincide.
    """
    from scipy.linalg import eigh

    if not len(m_ff):
        return np.zeros((0, 0))
    mass, stiffness = np.diag(m_ff), np.diag(K_ff)
    loose = np.abs(m_ff - np.diag(mass)) / np.sqrt(np.outer(mass, mass))
    stiff = np.abs(K_ff - np.diag(stiffness)) / np.sqrt(np.outer(stiffness, stiffness) + 1e-300)
    if max(float(loose.max()), float(stiff.max())) < 1e-6:
        return np.diag(2.0 * ratio * np.sqrt(np.maximum(mass * stiffness, 0.0)))
    omega2, V = eigh(K_ff, m_ff)
    MV = m_ff @ V
    return (MV * (2.0 * ratio * np.sqrt(np.maximum(omega2, 0.0)))) @ MV.T


def band_of_recipe(body: FlexibleBody) -> float:
    """Up to where the recipe of a body asks for vibrations [Hz]: half of a plain `fmax`, `fmax` with `tol`.

    With a number of modes alone, the highest of these; infinite where it says nothing, as for given shapes.
    """
    return float(body.modal.quality.get("interest_hz", np.inf))


def above(body: FlexibleBody, band: float | None = None) -> Flags:
    """Which of the modes kept lie above the band, or another one; none where they do not vibrate."""
    pick, end = _kept(body), body.band if band is None else band
    if not end < np.inf:
        return np.zeros(len(pick), dtype=bool)
    found = np.asarray(body.modal.frequency_hz, dtype=float)[pick] > end
    return np.asarray(found & _orthogonal(body, pick))


def _kept(body: FlexibleBody) -> NDArray[np.int64]:
    """Numbers of the modes kept."""
    count = body.modal.integrals.nf
    return np.arange(count) if body.modes is None else np.asarray(body.modes, dtype=np.int64)


def _orthogonal(body: FlexibleBody, pick: NDArray[np.int64]) -> bool:
    """Whether the shapes of a body vibrate each by itself, so that a frequency belongs to a coordinate."""
    parts = (A[np.ix_(pick, pick)] for A in (body.modal.integrals.m_ff, body.modal.integrals.K_ff))
    return all(np.abs(A - np.diag(np.diag(A))).max(initial=0.0) <= 1e-6 * np.abs(A).max() for A in parts)


def damping_of_band(body: FlexibleBody, K_ff: Array) -> Array:
    """What is added to the damping of a body, so that modes above the band follow late by LAG (F14a)."""
    high = above(body)
    return np.where(np.outer(high, high), LAG / (2.0 * np.pi * body.band) * K_ff, 0.0)


@dataclass(frozen=True)
class Followed:
    """Modes of a body that follow without vibrating; `late`: part of its deflections that is wrong by it."""

    name: str
    band: float
    count: int
    modes: int
    late: float

    def text(self, names: Sequence[str] = ()) -> str:
        """In words, for all bodies of which it is the same."""
        shown = ", ".join(f"bodies.{name}" for name in list(names or [self.name])[:MOST])
        shown += f" and {len(names) - MOST} more" if len(names) > MOST else ""
        return (
            f"{shown}: {self.count} of {self.modes} modes, above {self.band:.4g} Hz, follow their "
            f"loads without vibrating; deflections up to {0.5 * self.band:.4g} Hz change by {self.late:.1%}, "
            f"vibrations there lose up to {np.pi * self.late:.1%} in a period "
            '(band = "all" resolves them)'
        )


def told(found: Iterable[Followed]) -> list[str]:
    """What the band leaves out, once for all bodies that are alike."""
    alike: dict[Followed, list[str]] = {}
    for item in found:
        alike.setdefault(replace(item, name=""), []).append(item.name)
    return [item.text(names) for item, names in alike.items()]


def followed(name: str, body: FlexibleBody) -> Followed | None:
    """What the band leaves out of a body; None where it leaves out nothing.

    `late`: largest change of the deflections of an interface under forces on it, up to half of the band, over
    those at rest. At the end of the band itself the next mode above may be as near as it likes.
    """
    high = above(body)
    if not high.any():
        return None
    pick = _kept(body)
    omega = 2.0 * np.pi * np.asarray(body.modal.frequency_hz, dtype=float)[pick]
    w, mass = np.pi * body.band, np.diag(body.modal.integrals.m_ff)[pick]
    free = omega[high] ** 2 - w**2
    change = np.abs(1.0 / (free + 0.5j * LAG * omega[high] ** 2) - 1.0 / free) / mass[high]
    late = 0.0
    for interface in body.modal.interfaces.values():
        Phi = interface.Phi[:, pick]
        rest = (Phi / (mass * omega**2)) @ Phi.T
        moved = (Phi[:, high] * change) @ Phi[:, high].T
        size = max(float(np.linalg.norm(rest, 2)), 1e-300)
        late = max(late, float(np.linalg.norm(moved, 2)) / size)
    return Followed(name, body.band, int(high.sum()), len(pick), late)


def bands(bodies: Mapping[str, Body]) -> list[Followed]:
    """What the band leaves out of the bodies of a model."""
    found = [followed(name, body) for name, body in bodies.items() if isinstance(body, FlexibleBody)]
    return [item for item in found if item is not None]
