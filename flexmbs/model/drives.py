"""Drives: joint coordinates prescribed as functions of time (F19, rheonomic)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(kw_only=True)
class Drive:
    """Prescribes one coordinate of a joint: exactly one of `position`, `velocity`, `acceleration`.

    Each is a number or an expression of t alone. A velocity is integrated from the joint's initial
    position, an acceleration from its initial position and velocity. `coordinate` may be left out where the
    joint has only one.
    """

    name: str
    joint: str
    coordinate: str | None = None
    position: Any = None
    velocity: Any = None
    acceleration: Any = None
