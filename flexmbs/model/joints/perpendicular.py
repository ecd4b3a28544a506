"""Right angle between two axes, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, square


@joint("perpendicular")
@dataclass(kw_only=True)
class Perpendicular(Joint):
    """z axes at right angles (F19)."""

    locked = (square("z", "z"),)
