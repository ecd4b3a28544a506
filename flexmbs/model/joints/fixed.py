"""The fixed joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, equal_turn, joint, offset


@joint("fixed")
@dataclass(kw_only=True)
class Fixed(Joint):
    """No relative motion (F19)."""

    motion = ()
    locked = (offset("x"), offset("y"), offset("z"), equal_turn("x"), equal_turn("y"), equal_turn("z"))
