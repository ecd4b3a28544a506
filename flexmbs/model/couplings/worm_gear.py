"""A worm and its wheel: turns count about the joints' own z axes."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from flexmbs.input.values import Angle, fail
from flexmbs.model.couplings.base import coupling
from flexmbs.model.couplings.gear import Gear, GearKeys
from flexmbs.model.touching.ends import Touching
from flexmbs.model.touching.teeth import Mesh, Pair, refuse, worm


@coupling("worm_gear")
@dataclass(kw_only=True)
class WormGear(Gear):
    """zA a + zB b = const, a and b about the z axes of their own joints (F19).

    teeth = [threads, teeth of the wheel]; the module is that of the wheel, which is the axial one of the
    worm. Its `lead_angle` gives the worm's radius, and with `pressure_angle` (normal) the force on the teeth,
    without friction. Alone, module gives the tangential force on the wheel.
    """

    class Keys(GearKeys):
        """Worm and wheel: zA a + zB b = const of the turns of `wheels` about their own axes on `carrier`."""

        lead_angle: Annotated[Angle, Field(gt=0.0, lt=1.5)] | None = None

        @model_validator(mode="after")
        def _check_lead(self) -> Self:
            if self.pressure_angle is not None and self.lead_angle is None:
                raise fail("the force on the teeth of a worm needs its lead_angle")
            return self

    lead_angle: float | None = None
    common_direction = False

    def touching(self, model: Any) -> Touching | None:
        if self.pressure_angle is not None and self.lead_angle is None:
            raise refuse(self._where, "the force on the teeth of a worm needs its lead_angle")
        return super().touching(model)

    def _radii(self) -> tuple[float, float]:
        assert self.module is not None and self.lead_angle is not None
        threads, teeth = self.teeth
        return 0.5 * self.module * threads / math.tan(self.lead_angle), 0.5 * self.module * teeth

    def _mesh(self, pair: Pair) -> Mesh:
        assert self.lead_angle is not None
        return worm(pair, self.lead_angle)
