"""Torque on a frame or material point of a body (F16)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexmbs.input.laws import TorqueLaw
from flexmbs.input.values import vector
from flexmbs.model.forces.base import Number, PlacedForce, PlacedKeys, force
from flexmbs.model.laws.tables import POINT_TORQUE


@force("torque")
@dataclass(kw_only=True)
class Torque(PlacedForce):
    """Moment with three components [N m] in `axes`; on a flexible body it turns with the place (F16)."""

    class Keys(PlacedKeys):
        """Torque on a body or frame, components `in` ground, the body (follower), or a frame."""

        torque: vector(TorqueLaw)

    torque: Sequence[Number]

    def laws(self, build: Any) -> None:
        q = build.marker(self.on, self.at)
        build.row(POINT_TORQUE, self.torque, q=q, axes=build.axes(self.axes, self.on))
