"""Nut and spindle whose turning and sliding are joints of their own."""

import math
from dataclasses import dataclass
from typing import Any

from flexmbs.input.registered import CoordinateName
from flexmbs.input.values import Length, Table
from flexmbs.model.couplings.base import Coupling, Law, Term, coordinate_number, coupling


@coupling("screw")
@dataclass(kw_only=True)
class Screw(Coupling):
    """travel = lead per turn + const of the joints `slide` and `nut` (F19)."""

    class Keys(Table):
        """Screw: the joint `slide` travels `lead` per turn of the joint `nut`."""

        nut: CoordinateName
        slide: CoordinateName
        lead: Length

    nut: str
    slide: str
    lead: float

    def law(self, model: Any) -> Law:
        slide, nut = coordinate_number(model, self.slide), coordinate_number(model, self.nut)
        return Law(terms=(Term(1.0, *slide), Term(-self.lead / (2.0 * math.pi), *nut)))
