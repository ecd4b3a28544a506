"""The massless rod between two points, implicit face only."""

from dataclasses import dataclass
from typing import Any

from flexmbs.model.joints.base import Joint, Relation, distance, joint


@joint("distance")
@dataclass(kw_only=True)
class Distance(Joint):
    """Origins of P and Q stay `length` [m] apart, a number or an expression of `t` (F19)."""

    length: Any

    @property
    def locked(self) -> tuple[Relation, ...]:  # type: ignore[override]
        return (distance(self.length),)
