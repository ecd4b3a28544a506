"""Gear pairs with parallel axes: spur and helical."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from flexmbs.input.registered import BodyName
from flexmbs.input.values import Angle, Length, Plain, Table, fail
from flexmbs.model.couplings.base import Coupling, Law, Term, coupling
from flexmbs.model.touching.ends import SAME, End, Touching, are_parallel, carried
from flexmbs.model.touching.teeth import Mesh, Pair, meshing, parallel, refuse
from flexmbs.model.touching.turns import axes_along, path_to, turns


class GearKeys(Table):
    """Keys of all gear pairs."""

    wheels: Annotated[list[BodyName], Field(min_length=2, max_length=2)]
    carrier: BodyName = "ground"
    teeth: Annotated[list[Annotated[Plain, Field(gt=0.0)]], Field(min_length=2, max_length=2)]
    internal: bool = False
    module: Annotated[Length, Field(gt=0.0)] | None = None
    pressure_angle: Annotated[Angle, Field(gt=0.0, lt=1.0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.pressure_angle is not None and self.module is None:
            raise fail("pressure_angle needs the module")
        return self


@coupling("gear")
@dataclass(kw_only=True)
class Gear(Coupling):
    """zA a + zB b = const of the turns a, b of two wheels against their carrier (F19).

    Turns count about one common direction, that of wheel A's axis. `internal`: zA a - zB b. The reported
    torque is that on wheel A. `module` [m] (transverse) gives the tangential force, with `pressure_angle`
    (normal) and `helix_angle` (that of A, right-handed positive) the whole force on the teeth, which the
    joints of the wheels then carry.
    """

    class Keys(GearKeys):
        """Gear pair: zA a + zB b = const of the turns of `wheels` relative to `carrier`, bodies or ground."""

        helix_angle: Annotated[Angle, Field(gt=-1.5, lt=1.5)] = 0.0

    wheels: Sequence[str]
    carrier: str = "ground"
    teeth: Sequence[float]
    internal: bool = False
    module: float | None = None
    pressure_angle: float | None = None
    helix_angle: float = 0.0
    common_direction = True

    def law(self, model: Any) -> Law:
        shares = [turns(model, self._where, wheel, self.carrier) for wheel in self.wheels]
        terms = [
            Term(factor * count, joint, number)
            for share, signs, teeth in zip(shares, self._signs(shares), self.teeth, strict=True)
            for ((factor, joint, number), _), count in zip(share, [s * teeth for s in signs], strict=True)
        ]
        return Law(terms=tuple(terms), scale=float(self.teeth[0]), leading=len(shares[0]))

    def _signs(self, shares: Any) -> list[list[float]]:
        """Sign of every turn in the law: about the axis of the wheel's own joint, or of A's; of the mesh."""
        own = [share[-1][1] for share in shares]
        axes = (own[0], own[0] if self.common_direction else own[1])
        mesh = (1.0, -1.0 if self.internal else 1.0)
        return [
            [-sign if direction @ axis < 0.0 else sign for _, direction in share]
            for share, axis, sign in zip(shares, axes, mesh, strict=True)
        ]

    def touching(self, model: Any) -> Touching | None:
        """The mesh; None without module and pressure angle."""
        if self.module is None or self.pressure_angle is None:
            return None
        shares = [turns(model, self._where, wheel, self.carrier) for wheel in self.wheels]
        ways = [path_to(model, self._where, wheel, self.carrier) for wheel in self.wheels]
        first, second = (self._axis(model, *item) for item in zip(self.wheels, ways, strict=True))
        ratio = self._signs(shares)[1][-1] * self.teeth[1] / self.teeth[0]
        pair = Pair(self._where, first, second, ratio, self._radii(), self.pressure_angle)
        common = [joint for joint, _ in ways[0] if any(joint is other for other, _ in ways[1])]
        path = [
            carried(model, joint, outward == to_first)
            for way, to_first in zip(ways, (True, False), strict=True)
            for joint, outward in way
            if not any(joint is item for item in common)
        ]
        return meshing(pair, self._mesh(pair), float(self.teeth[0]), tuple(path))

    def _radii(self) -> tuple[float, float]:
        assert self.module is not None
        return 0.5 * self.module * self.teeth[0], 0.5 * self.module * self.teeth[1]

    def _mesh(self, pair: Pair) -> Mesh:
        return parallel(pair, self.internal, self.helix_angle)

    def _axis(self, model: Any, wheel: str, way: list[tuple[Any, bool]]) -> End:
        """The axis of a wheel on the carrier, its own joint's: all joints between them turn about it."""
        ends = axes_along(model, way, self.carrier)
        if any(joint.type_name not in ("revolute", "fixed") for joint, _ in way):
            what = f"between {wheel} and {self.carrier} stand other joints than revolute ones"
            raise refuse(self._where, what, "leave out pressure_angle")
        turning = [end for end, (joint, _) in zip(ends, way, strict=True) if joint.type_name == "revolute"]
        axis = turning[0].rot[:, 2]
        for end in turning[1:]:
            gap = np.linalg.norm(np.cross(end.pos - turning[0].pos, axis))
            if not are_parallel(end.rot[:, 2], axis) or gap > SAME * min(self._radii()):
                what = f"the joints between {wheel} and {self.carrier} have no common axis"
                raise refuse(self._where, what, "leave out pressure_angle, or place them on one axis")
        return turning[-1]

    @property
    def _where(self) -> str:
        return f"couplings.{self.name}"
