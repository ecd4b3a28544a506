"""The helical (screw) joint."""

import math
from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, Motion, Relation, joint, offset, screw, slide, square
from flexmbs.model.joints.prismatic import Prismatic


@joint("helical")
@dataclass(kw_only=True)
class Helical(Joint):
    """Turn about z with a travel of `lead` [m] per turn; `lead = inf` is the prismatic pair (F19)."""

    lead: float

    @property
    def motion(self) -> tuple[Motion, ...]:  # type: ignore[override]
        return Prismatic.motion if math.isinf(self.lead) else (screw("z", self.lead),)

    @property
    def locked(self) -> tuple[Relation, ...]:  # type: ignore[override]
        if math.isinf(self.lead):
            return Prismatic.locked
        if self.lead == 0.0:
            return (offset("x"), offset("y"), offset("z"), square("x", "z"), square("y", "z"))
        return (offset("x"), offset("y"), square("x", "z"), square("y", "z"), slide("z", self.lead))
