"""Tables of couplings: scalar laws between joint coordinates (F19)."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flexmbs import units
from flexmbs.input.values import Angle, Law, Length, Number, Plain, Table, fail


class GearPair(Table):
    """Gear pair: zA a + zB b = const of the turns of `wheels` relative to `carrier`, bodies or ground."""

    type: Literal["gear", "bevel_gear", "worm_gear"]
    wheels: Annotated[list[str], Field(min_length=2, max_length=2)]
    carrier: str = "ground"
    teeth: Annotated[list[Annotated[Plain, Field(gt=0.0)]], Field(min_length=2, max_length=2)]
    internal: bool = False
    module: Annotated[Length, Field(gt=0.0)] | None = None
    pressure_angle: Annotated[Angle, Field(gt=0.0, lt=1.0)] | None = None
    helix_angle: Annotated[Angle, Field(gt=-1.5, lt=1.5)] = 0.0
    lead_angle: Annotated[Angle, Field(gt=0.0, lt=1.5)] | None = None

    @model_validator(mode="after")
    def _check(self) -> GearPair:
        if self.helix_angle and self.type != "gear":
            raise fail("helix_angle goes with gear")
        if self.lead_angle is not None and self.type != "worm_gear":
            raise fail("lead_angle goes with worm_gear")
        if self.pressure_angle is not None and self.module is None:
            raise fail("pressure_angle needs the module")
        if self.pressure_angle is not None and self.lead_angle is None and self.type == "worm_gear":
            raise fail("the force on the teeth of a worm needs its lead_angle")
        return self


class RackPinion(Table):
    """Rack and pinion: travel of joint `rack` = radius * angle of joint `pinion` + const."""

    type: Literal["rack_pinion"]
    pinion: str
    rack: str
    radius: Length
    pressure_angle: Annotated[Angle, Field(gt=0.0, lt=1.0)] | None = None


class Screw(Table):
    """Screw: the joint `slide` travels `lead` per turn of the joint `nut`."""

    type: Literal["screw"]
    nut: str
    slide: str
    lead: Length


class CamProfile(Table):
    """Outline of a cam: `polar` angle and radius, `points` x and y, or a `file` (CSV) of these columns."""

    polar: list[Annotated[list[Number], Field(min_length=2, max_length=2)]] | None = None
    points: list[Annotated[list[Length], Field(min_length=2, max_length=2)]] | None = None
    file: str | None = None
    columns: Literal["polar", "points"] = "polar"

    @model_validator(mode="after")
    def _check(self) -> CamProfile:
        if sum(item is not None for item in (self.polar, self.points, self.file)) != 1:
            raise fail("a profile is one of polar, points, file")
        for row in self.polar or ():
            for value, dimension in zip(row, (units.ANGLE, units.LENGTH), strict=True):
                found = getattr(value, "dimension", None)
                if found is not None and found != dimension:
                    raise fail("a polar profile holds pairs of angle and radius")
        return self


class Cam(Table):
    """Cam: follower = lift(cam), `lift` an expression of x, or a `table` (CSV file), or from a `profile`."""

    type: Literal["cam"]
    cam: str
    follower: str
    lift: Law | None = None
    table: str | None = None
    profile: CamProfile | None = None
    roller: Annotated[Length, Field(gt=0.0)] | None = None
    at: str | None = None
    pushes: Literal["up", "down"] = "up"
    unilateral: bool = False

    @model_validator(mode="after")
    def _check(self) -> Cam:
        if sum(item is not None for item in (self.lift, self.table, self.profile)) != 1:
            raise fail("a cam needs one of lift, table, profile")
        if self.profile is None and (self.roller is not None or self.at is not None):
            raise fail("roller and at go with a profile")
        return self


class LinearCoupling(Table):
    """Linear relation: the sum of factor times joint coordinate keeps the value that it has at the start."""

    type: Literal["linear"]
    terms: Annotated[dict[str, Plain], Field(min_length=1)]


class ExpressionCoupling(Table):
    """General relation of joint coordinates and time: zero = 0."""

    type: Literal["expression"]
    zero: Law


AnyCoupling = Annotated[
    GearPair | RackPinion | Screw | Cam | LinearCoupling | ExpressionCoupling, Field(discriminator="type")
]
