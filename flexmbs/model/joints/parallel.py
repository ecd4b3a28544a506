"""Parallel axes, implicit face only."""

from dataclasses import dataclass

from flexmbs.model.joints.base import Joint, joint, square


@joint("parallel")
@dataclass(kw_only=True)
class Parallel(Joint):
    """z axes parallel, no condition on position (F19)."""

    locked = (square("x", "z"), square("y", "z"))
