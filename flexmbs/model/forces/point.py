"""Force at a point of a body (F16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexmbs.model.forces.base import Number, PlacedForce, force


@force("point")
@dataclass(kw_only=True)
class Point(PlacedForce):
    """Force with three components [N] in `axes`, at a frame, node or material point (F16)."""

    force: Sequence[Number]
