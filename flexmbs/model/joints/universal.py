"""The universal (Cardan, Hooke) joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset, square, turn


@joint("universal")
@dataclass(kw_only=True)
class Universal(Joint):
    """Two pins: Rx(angle1) Ry(angle2) (F19)."""

    motion = (turn("x", "angle1"), turn("y", "angle2"))
    locked = (offset("x"), offset("y"), offset("z"), square("x", "y"))
