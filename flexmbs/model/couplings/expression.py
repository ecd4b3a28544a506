"""General holonomic relation of joint coordinates and time."""

from dataclasses import dataclass
from typing import Any

from flexmbs.expressions import Expression
from flexmbs.input.values import Law as AnyLaw
from flexmbs.input.values import Table
from flexmbs.model.couplings.base import Coupling, Law, coordinate_number, coupling, number_of_position


@coupling("expression")
@dataclass(kw_only=True)
class General(Coupling):
    """zero(joint coordinates, t) = 0 (F19).

    Coordinates are written `joint`, `joint.coordinate` or `joints.<joint>.position[i]`.
    """

    class Keys(Table):
        """General relation of joint coordinates and time: zero = 0."""

        zero: AnyLaw

    zero: Expression

    def check(self, door: Any) -> None:
        words = "joint coordinates and t; a free joint from ground gives a body x, y and z"
        door.only(("zero",), self.zero, lambda name: name == "t" or _is_position(name), words)

    def law(self, model: Any) -> Law:
        names = [name for name in self.zero.names if name != "t"]
        of = tuple(_coordinate(model, name) for name in names)
        return Law(zero=self.zero, of=of, names=tuple(names), constant_from_start=False)


def _is_position(name: str) -> bool:
    return name.startswith("joints.") and ".position[" in name


def _coordinate(model: Any, name: str) -> tuple[str, int]:
    words = name.removeprefix("joints.").split(".")
    if len(words) > 1 and words[1].startswith("position"):
        index = int(words[1].partition("[")[2].rstrip("]") or 0)
        return words[0], number_of_position(model.joints[words[0]], index)
    return coordinate_number(model, ".".join(words))
