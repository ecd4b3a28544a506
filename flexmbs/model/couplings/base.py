"""What a coupling is: a scalar law of joint coordinates, as a list of terms or an expression (F19)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from flexmbs.errors import Diagnostic, InputError
from flexmbs.input.values import Table
from flexmbs.registry import Registry

if TYPE_CHECKING:
    from flexmbs.model.touching.ends import Touching

#: All coupling types by the name that a user writes.
COUPLINGS: Registry[Coupling] = Registry("coupling", "flexmbs.model.couplings")
coupling = COUPLINGS


class Term(NamedTuple):
    """`factor` times a joint coordinate; `coordinate` is its number within the joint."""

    factor: float
    joint: str
    coordinate: int


class Law(NamedTuple):
    """sum of `terms` + `zero` = constant.

    `zero` is an expression or None; it sees the joint coordinates `of` under the `names` given.
    `constant_from_start`: the constant is what the law has at the start, else 0. `scale`: the reported
    force is `scale` times the multiplier of this row. `side` 1 or -1: the law holds only while its multiplier
    has that sign, else its value may grow to that side; 0: it always holds. The first `leading` terms, or the
    first of `of`, are the part that the coupling drives: what it gets is the power that is reported.
    """

    terms: tuple[Term, ...] = ()
    zero: Any = None
    of: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = ()
    constant_from_start: bool = True
    scale: float = 1.0
    side: float = 0.0
    leading: int = 1


@dataclass(kw_only=True)
class Coupling:
    """Base of all couplings; `law(model)` gives the scalar law in joint coordinates.

    `Keys`: the table of a coupling in a case file. `variables`: names that its expressions know beside t.
    """

    Keys: ClassVar[type[Table]] = Table
    variables: ClassVar[tuple[str, ...]] = ()
    name: str

    @classmethod
    def read(cls, keys: dict[str, Any], door: Any) -> dict[str, Any]:
        """The fields of the class out of those of the table, files that they name read through the `Door`."""
        return keys

    def check(self, door: Any) -> None:
        """Report to the `Door` of the case file what only the model tells to be wrong."""

    def law(self, model: Any) -> Law:
        raise TypeError(f"{type(self).__name__} has no law")

    def touching(self, model: Any) -> Touching | None:
        """Where the parts touch and with what force; None where that is not known."""
        return None

    def warnings(self, model: Any) -> list[str]:
        """What is unusual about this coupling, for people."""
        return []


def coordinate_number(model: Any, path: str) -> tuple[str, int]:
    """Joint and number of the coordinate that `joint` or `joint.coordinate` names."""
    name, _, coordinate = path.partition(".")
    names = model.joints[name].coordinates
    return name, names.index(coordinate) if coordinate else 0


def number_of_position(joint: Any, index: int) -> int:
    """Number of the scalar coordinate that stands at `position[index]` of a joint's result."""
    place = number = 0
    for item in joint.motion or ():
        if place == index and item.axis >= 0:
            return number
        place, number = place + (4 if item.axis < 0 else 1), number + (item.axis >= 0)
    raise InputError(
        Diagnostic(
            "coupling.coordinate", f"joints.{joint.name}", f"position[{index}] is no scalar coordinate"
        )
    )
