"""The spherical joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, ball, joint, offset


@joint("spherical")
@dataclass(kw_only=True)
class Spherical(Joint):
    """Any rotation about the common origin (F19)."""

    motion = (ball(),)
    locked = (offset("x"), offset("y"), offset("z"))
