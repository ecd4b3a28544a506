"""Tables of couplings, drives, own states, forces and sensors."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from flexmbs import units
from flexmbs.case.schema.frames import Place
from flexmbs.case.schema.values import (
    Angle,
    Law,
    Length,
    Number,
    Plain,
    Table,
    context_of,
    fail,
    law,
    read_law,
    vector,
)
from flexmbs.expressions import Expression


def _read_channel(value: Any, info: ValidationInfo) -> Expression:
    text = value if isinstance(value, str) else ""
    return read_law("=" + text.removeprefix("="), None, context_of(info))


Channel = Annotated[Expression, BeforeValidator(_read_channel), WithJsonSchema({"type": "string"})]


class PythonLaw(Table):
    """A number from Python, `function = "file.py:name"` of t and channels; slow, needs --allow-python."""

    function: Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$")]
    channels: list[Channel] = Field(default=[])


def force_law(dimension: units.Dimension | None) -> Any:
    """A number, an expression, or a Python function: what every number of a force may be."""
    return Annotated[
        Annotated[law(dimension), Tag("number")] | Annotated[PythonLaw, Tag("function")],
        Discriminator(lambda value: "function" if isinstance(value, dict | PythonLaw) else "number"),
    ]


AnyLaw = force_law(None)
ForceLaw = force_law(units.FORCE)
TorqueLaw = force_law(units.TORQUE)


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


class Drive(Table):
    """Prescribed joint coordinate: `position`, `velocity` or `acceleration` as a function of t."""

    joint: str
    coordinate: str | None = None
    position: Law | None = None
    velocity: Law | None = None
    acceleration: Law | None = None

    @model_validator(mode="after")
    def _check(self) -> Drive:
        if sum(item is not None for item in (self.position, self.velocity, self.acceleration)) != 1:
            raise fail("a drive needs one of position, velocity, acceleration")
        return self


class StateTable(Table):
    """Own first-order state: d/dt = `rate`, an expression of t, channels and states."""

    rate: Law
    initial: Number = 0.0


class PointForce(Table):
    """Force on a body or frame, components `in` ground, the body (follower), or a frame."""

    type: Literal["point"]
    on: str
    at: Place | None = None
    force: vector(ForceLaw)
    in_: str = Field(default="ground", alias="in")


class Torque(Table):
    """Torque on a body or frame, components `in` ground, the body (follower), or a frame."""

    type: Literal["torque"]
    on: str
    at: Place | None = None
    torque: vector(TorqueLaw)
    in_: str = Field(default="ground", alias="in")


class SpringDamper(Table):
    """Spring and damper between two frames, or `force` of x (length), v (its rate); tension positive."""

    type: Literal["spring_damper"]
    from_: str = Field(alias="from")
    to: str
    stiffness: force_law(units.STIFFNESS) | None = None
    damping: force_law(units.DAMPING) | None = None
    length: force_law(units.LENGTH) | None = None
    preload: ForceLaw | None = None
    force: ForceLaw | None = None

    @model_validator(mode="after")
    def _check(self) -> SpringDamper:
        if self.force is not None and (self.stiffness is not None or self.damping is not None):
            raise fail("a spring_damper has either force, or stiffness and damping")
        if self.force is None and self.stiffness is None and self.damping is None and self.preload is None:
            raise fail("a spring_damper needs stiffness, damping, preload or force")
        if self.stiffness is not None and self.length is None:
            raise fail('a spring_damper with stiffness needs its free "length"')
        return self


class Bushing(Table):
    """Six springs and dampers in the axes of `from`: three translations, three rotations."""

    type: Literal["bushing"]
    from_: str = Field(alias="from")
    to: str
    stiffness: Annotated[list[AnyLaw], Field(min_length=6, max_length=6)]
    damping: Annotated[list[AnyLaw], Field(min_length=6, max_length=6)] | None = None


class JointForce(Table):
    """Effort on a joint coordinate; positive drives the coordinate up."""

    type: Literal["joint_force"]
    joint: str
    coordinate: str | None = None
    value: AnyLaw


class Distributed(Table):
    """`pressure` on a face set, or `force` per length, area or volume over a set."""

    type: Literal["distributed"]
    on: str
    set: str
    pressure: force_law(units.PRESSURE) | None = None
    force: vector(AnyLaw) | None = None
    in_: str = Field(default="ground", alias="in")

    @model_validator(mode="after")
    def _check(self) -> Distributed:
        if (self.pressure is None) == (self.force is None):
            raise fail("a distributed load needs either pressure or force")
        return self


AnyForce = Annotated[
    PointForce | Torque | SpringDamper | Bushing | JointForce | Distributed, Field(discriminator="type")
]

_ON = ("position", "velocity", "acceleration", "displacement", "rotation", "stress")


class Sensor(Table):
    """Sensor of a body, frame or place (`on`, `at`), of a joint, of the energy, or an expression."""

    type: Literal[
        "position", "velocity", "acceleration", "displacement", "rotation",
        "reaction", "joint", "energy", "expression", "stress",
    ]  # fmt: skip
    on: str | None = None
    at: Place | None = None
    relative_to: str = "ground"
    joint: str | None = None
    value: Law | None = None

    @model_validator(mode="after")
    def _check(self) -> Sensor:
        need = {"reaction": "joint", "joint": "joint", "expression": "value", "energy": None}.get(
            self.type, "on"
        )
        for key in ("on", "joint", "value"):
            if key == need and getattr(self, key) is None:
                raise fail(f'a sensor of type "{self.type}" needs "{key}"')
            if key != need and getattr(self, key) is not None and (self.type, key) != ("energy", "on"):
                raise fail(f'a sensor of type "{self.type}" takes no "{key}"')
        if self.at is not None and need != "on":
            raise fail(f'a sensor of type "{self.type}" takes no "at"')
        return self
