"""Dead points of prescribed motion: places that it passes though no force there has a limit (F35)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError

#: forces of both sides that differ by this part of the largest grow without bound in between
JUMPS = 1e-3


def diverges(found: dict[int, NDArray[np.float64]]) -> bool:
    """Whether forces at places on both sides of a point differ the more the closer they are."""
    if -1 not in found:
        return False
    one, two, three = (np.abs(found[k] - found[-k]) for k in (1, 2, 3))
    size = max(float(np.abs(x).max(initial=0.0)) for x in found.values())
    return bool(np.any((one > 1.1 * two) & (two > 1.1 * three) & (one > JUMPS * size)))


def dead_point(name: str, t: float) -> SolverError:
    """The error of a motion that stands in a dead point of a constraint."""
    what = f"{name} is in a dead point: no force on it moves what the drives ask for"
    return SolverError(Diagnostic("kinematics.dead_point", f"t = {t:.6g} s", what, "drive the other end"))
