"""The prismatic joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, equal_turn, joint, offset, travel


@joint("prismatic")
@dataclass(kw_only=True)
class Prismatic(Joint):
    """Travel along the common z axis (F19)."""

    motion = (travel("z"),)
    locked = (offset("x"), offset("y"), equal_turn("x"), equal_turn("y"), equal_turn("z"))
