"""Point on line, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, offset


@joint("in_line")
@dataclass(kw_only=True)
class InLine(Joint):
    """Q on the z axis of P (F19)."""

    locked = (offset("x"), offset("y"))
