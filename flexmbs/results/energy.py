"""Energies of a motion: the size against which an imbalance counts, one for all who tell it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: terms of the balance, datasets of /energy
TERMS = ("kinetic", "gravity", "strain", "spring", "dissipated", "work")


def swing(values: Floats) -> Floats:
    """Least and largest value (2,) of a term."""
    return np.array([np.min(values), np.max(values)])


def energy_size(swings: Mapping[str, Floats]) -> float:
    """The largest swing of a term, or kinetic energy: constants, such as preloads, do not count."""
    largest = max((float(high - low) for low, high in swings.values()), default=0.0)
    return max(largest, float(swings["kinetic"][1])) if "kinetic" in swings else largest
