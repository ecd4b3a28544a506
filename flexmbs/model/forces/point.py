"""Force at a point of a body (F16)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flexmbs.input.laws import ForceLaw
from flexmbs.input.values import vector
from flexmbs.model.forces.base import Number, PlacedForce, PlacedKeys, force
from flexmbs.model.laws.tables import POINT_FORCE


@force("point")
@dataclass(kw_only=True)
class Point(PlacedForce):
    """Force with three components [N] in `axes`, at a frame, node or material point (F16)."""

    class Keys(PlacedKeys):
        """Force on a body or frame, components `in` ground, the body (follower), or a frame."""

        force: vector(ForceLaw)

    force: Sequence[Number]

    def laws(self, build: Any) -> None:
        q = build.marker(self.on, self.at)
        build.row(POINT_FORCE, self.force, q=q, axes=build.axes(self.axes, self.on))
