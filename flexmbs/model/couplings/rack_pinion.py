"""Rack and pinion."""

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from flexmbs.input.registered import CoordinateName
from flexmbs.input.values import Angle, Length, Table
from flexmbs.model.couplings.base import Coupling, Law, Term, coordinate_number, coupling
from flexmbs.model.touching.ends import Touch, Touching, are_square, carried, common_holder
from flexmbs.model.touching.teeth import refuse


@coupling("rack_pinion")
@dataclass(kw_only=True)
class RackPinion(Coupling):
    """travel = radius * angle + const of the joints `rack` and `pinion` (F19).

    The reported force is that on the rack along its travel. With `pressure_angle` the teeth also press the
    rack away from the pinion, and the joints of both carry it; teeth are straight.
    """

    class Keys(Table):
        """Rack and pinion: travel of joint `rack` = radius * angle of joint `pinion` + const."""

        pinion: CoordinateName
        rack: CoordinateName
        radius: Length
        pressure_angle: Annotated[Angle, Field(gt=0.0, lt=1.0)] | None = None

    pinion: str
    rack: str
    radius: float
    pressure_angle: float | None = None

    def law(self, model: Any) -> Law:
        rack, pinion = coordinate_number(model, self.rack), coordinate_number(model, self.pinion)
        return Law(terms=(Term(1.0, *rack), Term(-self.radius, *pinion)))

    def touching(self, model: Any) -> Touching | None:
        if self.pressure_angle is None:
            return None
        where = f"couplings.{self.name}"
        rack, pinion = common_holder(
            model, where, *(model.joints[path.partition(".")[0]] for path in (self.rack, self.pinion))
        )
        along, axis = (held.sign * held.inner.rot[:, 2] for held in (rack, pinion))
        types = rack.joint.type_name, pinion.joint.type_name
        if types != ("prismatic", "revolute") or not are_square(along, axis):
            what = "the rack is not prismatic across the axis of a revolute pinion"
            raise refuse(where, what, "leave out pressure_angle")
        outward = np.cross(along, axis) * math.copysign(1.0, self.radius)
        point = pinion.inner.pos + abs(self.radius) * outward
        apart = math.tan(self.pressure_angle)

        def at(lam: Any, y: Any) -> Touch:
            force = np.outer(lam, along) + np.outer(np.abs(lam) * apart, outward)
            numbers = {
                "radial_force": (np.abs(lam) * apart, "N"),
                "normal_force": (np.linalg.norm(force, axis=1), "N"),
            }
            return Touch(force, np.broadcast_to(point, force.shape), numbers)

        path = carried(model, rack.joint, rack.sign > 0.0), carried(model, pinion.joint, pinion.sign < 0.0)
        return Touching(rack.inner.body, path, at)
