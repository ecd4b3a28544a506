"""The cylindrical joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset, square, travel, turn


@joint("cylindrical")
@dataclass(kw_only=True)
class Cylindrical(Joint):
    """Turn about and travel along the common z axis (F19)."""

    motion = (turn("z"), travel("z"))
    locked = (offset("x"), offset("y"), square("x", "z"), square("y", "z"))
