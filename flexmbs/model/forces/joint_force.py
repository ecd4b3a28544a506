"""Force or torque on a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.model.forces.base import Force, Number, force


@force("joint_force")
@dataclass(kw_only=True)
class JointForce(Force):
    """Effort `value` on one coordinate of a joint; positive drives the coordinate up.

    `coordinate` may be left out where the joint has only one.
    """

    joint: str
    value: Number
    coordinate: str | None = None
