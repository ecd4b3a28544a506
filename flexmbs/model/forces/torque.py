"""Torque on a frame or material point of a body (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexmbs.model.forces.base import Number, PlacedForce, force
from flexmbs.model.laws.tables import POINT_TORQUE


@force("torque")
@dataclass(kw_only=True)
class Torque(PlacedForce):
    """Moment with three components [N m] in `axes`; on a flexible body it turns with the place (F16)."""

    torque: Sequence[Number]

    def laws(self, build: Any) -> None:
        q = build.marker(self.on, self.at)
        build.row(POINT_TORQUE, self.torque, q=q, axes=build.axes(self.axes, self.on))
