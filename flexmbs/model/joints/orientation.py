"""Common orientation, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, equal_turn, joint


@joint("orientation")
@dataclass(kw_only=True)
class Orientation(Joint):
    """No relative turning, position free (F19)."""

    locked = (equal_turn("x"), equal_turn("y"), equal_turn("z"))
