"""The revolute joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset, square, turn


@joint("revolute")
@dataclass(kw_only=True)
class Revolute(Joint):
    """Turn about the common z axis (F19)."""

    motion = (turn("z"),)
    locked = (offset("x"), offset("y"), offset("z"), square("x", "z"), square("y", "z"))
