"""Rack and pinion."""

from dataclasses import dataclass
from typing import Any

from flexmbs.model.couplings.base import Coupling, Law, Term, coordinate_number, coupling


@coupling("rack_pinion")
@dataclass(kw_only=True)
class RackPinion(Coupling):
    """travel = radius * angle + const of the joints `rack` and `pinion` (F19)."""

    pinion: str
    rack: str
    radius: float

    def law(self, model: Any) -> Law:
        rack, pinion = coordinate_number(model, self.rack), coordinate_number(model, self.pinion)
        return Law(terms=(Term(1.0, *rack), Term(-self.radius, *pinion)))
