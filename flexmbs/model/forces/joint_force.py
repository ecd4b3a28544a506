"""Force or torque on a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flexmbs.model.forces.base import Force, Number, force
from flexmbs.model.laws.joint_laws import coordinate
from flexmbs.model.laws.tables import COORD_FORCE


@force("joint_force")
@dataclass(kw_only=True)
class JointForce(Force):
    """Effort `value` on one coordinate of a joint; positive drives the coordinate up.

    `coordinate` may be left out where the joint has only one.
    """

    joint: str
    value: Number
    coordinate: str | None = None

    def laws(self, build: Any) -> None:
        build.row(COORD_FORCE, (self.value,), coordinate=coordinate(build, self.joint, self.coordinate))
