"""The planar joint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset, square, travel, turn


@joint("planar")
@dataclass(kw_only=True)
class Planar(Joint):
    """Travel in the plane x-y of P, then turn about z (F19)."""

    motion = (travel("x", "x"), travel("y", "y"), turn("z"))
    locked = (offset("z"), square("x", "z"), square("y", "z"))
