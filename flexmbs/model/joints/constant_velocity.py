"""The constant-velocity joint, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, equal_turn, joint, offset


@joint("constant_velocity")
@dataclass(kw_only=True)
class ConstantVelocity(Joint):
    """Q in place at P; turns about the two z axes are transmitted 1:1 (F19)."""

    locked = (offset("x"), offset("y"), offset("z"), equal_turn("z"))
