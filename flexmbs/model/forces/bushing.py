"""Elastic connection of two frames in six directions (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexmbs.model.forces.base import Number, PairForce, force


@force("bushing")
@dataclass(kw_only=True)
class Bushing(PairForce):
    """Six springs and dampers between two frames: translations, then rotations, in the axes of P (F16).

    The deflection is the place d of Q in P and the rotation vector phi of Q against P; the wrench is that of
    the potential `sum (k_i d_i^2 + k_i phi_i^2)/2` and of the dampers `c_i d_i_dot`, `c_i phi_i_dot`, exact for
    large rotations below half a turn.
    """

    stiffness: Sequence[Number] = (0.0,) * 6
    damping: Sequence[Number] = (0.0,) * 6
