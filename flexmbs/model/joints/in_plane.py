"""Point on plane, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset


@joint("in_plane")
@dataclass(kw_only=True)
class InPlane(Joint):
    """Q in the plane x-y of P (F19)."""

    locked = (offset("z"),)
