"""Elastic connection of two frames in six directions (F16)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from flexmbs import units
from flexmbs.input.laws import AnyLaw
from flexmbs.input.values import not_negative
from flexmbs.model.forces.base import Number, PairForce, PairKeys, force
from flexmbs.model.laws.tables import BUSHING

Six = Annotated[list[AnyLaw], Field(min_length=6, max_length=6)]


@force("bushing")
@dataclass(kw_only=True)
class Bushing(PairForce):
    """Six springs and dampers between two frames: translations, then rotations, in the axes of P (F16).

    The deflection is the place d of Q in P and the rotation vector phi of Q against P. The wrench is that
    of the potential `sum (k_i d_i^2 + k_i phi_i^2)/2` and of dampers on the rates of d and phi: exact for
    large rotations below half a turn.
    """

    class Keys(PairKeys):
        """Six springs and dampers in the axes of `from`: three translations, three rotations."""

        stiffness: Six
        damping: Annotated[list[not_negative(AnyLaw)], Field(min_length=6, max_length=6)] | None = None

    stiffness: Sequence[Number] = (0.0,) * 6
    damping: Sequence[Number] = (0.0,) * 6

    def check(self, door: Any) -> None:
        for k in range(6):
            door.unit(("stiffness", k), self.stiffness[k], (units.STIFFNESS, units.TORSION_STIFFNESS), k > 2)
            door.unit(("damping", k), self.damping[k], (units.DAMPING, units.TORSION_DAMPING), k > 2)

    def laws(self, build: Any) -> None:
        p, q = build.marker(self.from_frame), build.marker(self.to_frame)
        build.row(BUSHING, (*self.stiffness, *self.damping), p=p, q=q, stiff=True)
