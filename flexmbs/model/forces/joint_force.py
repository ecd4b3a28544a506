"""Force or torque on a joint coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flexmbs import units
from flexmbs.input.laws import AnyLaw
from flexmbs.input.registered import JointName
from flexmbs.input.values import Table
from flexmbs.model.forces.base import Force, Number, force
from flexmbs.model.laws.tables import COORD_FORCE


@force("joint_force")
@dataclass(kw_only=True)
class JointForce(Force):
    """Effort `value` on one coordinate of a joint; positive drives the coordinate up.

    `coordinate` may be left out where the joint has only one.
    """

    class Keys(Table):
        """Effort on a joint coordinate; positive drives the coordinate up."""

        joint: JointName
        coordinate: str | None = None
        value: AnyLaw

    joint: str
    value: Number
    coordinate: str | None = None

    def check(self, door: Any) -> None:
        turns = door.coordinate(self.joint, self.coordinate, "which one does the force drive?")
        door.unit(("value",), self.value, (units.FORCE, units.TORQUE), turns)

    def laws(self, build: Any) -> None:
        from flexmbs.model.laws.joint_laws import coordinate

        build.row(COORD_FORCE, (self.value,), coordinate=coordinate(build, self.joint, self.coordinate))
