"""The free joint: coordinates without constraint."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, ball, joint, travel


@joint("free")
@dataclass(kw_only=True)
class Free(Joint):
    """All six motions; speeds are d_dot in P and the angular velocity in Q (F19)."""

    motion = (travel("x", "x"), travel("y", "y"), travel("z", "z"), ball())
    locked = ()
