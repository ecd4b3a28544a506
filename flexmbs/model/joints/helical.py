"""The helical (screw) joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, Motion, Relation, joint, offset, screw, slide, square


@joint("helical")
@dataclass(kw_only=True)
class Helical(Joint):
    """Turn about z with a travel of `lead` [m] per turn (F19)."""

    lead: float

    @property
    def motion(self) -> tuple[Motion, ...]:  # type: ignore[override]
        return (screw("z", self.lead),)

    @property
    def locked(self) -> tuple[Relation, ...]:  # type: ignore[override]
        if self.lead == 0.0:
            return (offset("x"), offset("y"), offset("z"), square("x", "z"), square("y", "z"))
        return (offset("x"), offset("y"), square("x", "z"), square("y", "z"), slide("z", self.lead))
