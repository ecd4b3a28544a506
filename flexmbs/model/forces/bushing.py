"""Elastic connection of two frames in six directions (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexmbs.model.forces.base import Number, PairForce, force
from flexmbs.model.laws.tables import BUSHING


@force("bushing")
@dataclass(kw_only=True)
class Bushing(PairForce):
    """Six springs and dampers between two frames: translations, then rotations, in the axes of P (F16).

    The deflection is the place d of Q in P and the rotation vector phi of Q against P. The wrench is that
    of the potential `sum (k_i d_i^2 + k_i phi_i^2)/2` and of dampers on the rates of d and phi: exact for
    large rotations below half a turn.
    """

    stiffness: Sequence[Number] = (0.0,) * 6
    damping: Sequence[Number] = (0.0,) * 6

    def laws(self, build: Any) -> None:
        p, q = build.marker(self.from_frame), build.marker(self.to_frame)
        build.row(BUSHING, (*self.stiffness, *self.damping), p=p, q=q, stiff=True)
