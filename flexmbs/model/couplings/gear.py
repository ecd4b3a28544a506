"""Gear pairs with parallel axes: spur and helical."""

from dataclasses import dataclass
from typing import Any

from flexmbs.model.couplings.base import Coupling, Law, Term, coupling
from flexmbs.model.couplings.turns import turns


@coupling("gear")
@dataclass(kw_only=True)
class Gear(Coupling):
    """zA a + zB b = const of the turns a, b of two wheels against their carrier (F19).

    Turns count about one common direction, that of wheel A's axis. `internal`: zA a - zB b. `module` [m] only
    for the tangential force that is reported; the reported torque is that on wheel A.
    """

    wheels: tuple[str, str]
    carrier: str = "ground"
    teeth: tuple[float, float]
    internal: bool = False
    module: float | None = None
    common_direction = True

    def law(self, model: Any) -> Law:
        where = f"couplings.{self.name}"
        first, second = (turns(model, where, wheel, self.carrier) for wheel in self.wheels)
        axis = first[0][1]
        terms = []
        for share, sign, count in (
            (first, 1.0, self.teeth[0]),
            (second, -1.0 if self.internal else 1.0, self.teeth[1]),
        ):
            for (factor, joint, number), direction in share:
                same = -1.0 if self.common_direction and direction @ axis < 0.0 else 1.0
                terms.append(Term(sign * count * factor * same, joint, number))
        return Law(terms=tuple(terms), scale=float(self.teeth[0]))
