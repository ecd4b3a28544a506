"""Tables of joints, made from the registry of joint types, and of springs, dampers, friction and stops."""

# mypy: disable-error-code="valid-type"

import dataclasses
import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    create_model,
    model_validator,
)

from flexmbs import units
from flexmbs.input.registered import FrameName, Registered
from flexmbs.input.rotations import Rotation
from flexmbs.input.values import (
    LARGEST,
    SMALLEST,
    Direction,
    Law,
    Length,
    Number,
    Point,
    Table,
    context_of,
    fail,
    law,
    not_negative,
    read_number,
)
from flexmbs.model.joints import JOINTS, Joint


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _form_of_position(value: Any) -> str:
    return "rotation" if isinstance(value, dict | Rotation) else "values"


Values = Annotated[list[Number], BeforeValidator(_as_list, json_schema_input_type=Number | list[Number])]
Position = Annotated[
    Annotated[Rotation, Tag("rotation")] | Annotated[Values, Tag("values")], Discriminator(_form_of_position)
]


class JointInitial(Table):
    """Start of a joint's coordinates, in the order of the table of joints; `hold`: kept exactly by assembly.

    The position of a spherical joint may be a rotation table."""

    position: Position | None = None
    velocity: Values | None = None
    hold: bool = False


class Spring(Table):
    """Joint spring: effort = -stiffness*(position - free), or `force` of x (position) and v (velocity)."""

    stiffness: Law | None = None
    free: Number = 0.0
    force: Law | None = None
    coordinate: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.stiffness is None) == (self.force is None):
            raise fail("a spring needs either stiffness or force")
        return self


class Damper(Table):
    """Joint damper: effort = -damping*velocity, or `force`, an expression of x (position), v (velocity)."""

    damping: not_negative(Law) | None = None
    force: Law | None = None
    coordinate: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.damping is None) == (self.force is None):
            raise fail("a damper needs either damping or force")
        return self


class Friction(Table):
    """Dry friction, regularised below `stiction_velocity`: `effort`, or `coefficient` and `radius`."""

    effort: Number | None = None
    coefficient: Annotated[Number, Field(ge=0.0)] | None = None
    radius: Length | None = None
    stiction_velocity: Annotated[Number, Field(gt=0.0)] = 1e-3
    coordinate: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.effort is None) == (self.coefficient is None):
            raise fail("friction needs either effort, or coefficient (with radius on turning joints)")
        return self


class Stop(Table):
    """Elastic stops at `lower` and `upper` values of the coordinate."""

    lower: Number | None = None
    upper: Number | None = None
    stiffness: Annotated[Number, Field(gt=0.0)]
    damping: Annotated[Number, Field(ge=0.0)] = 0.0
    coordinate: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.lower is None and self.upper is None:
            raise fail("a stop needs lower, upper, or both")
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise fail(f"lower {self.lower:g} is not below upper {self.upper:g}")
        return self


Compliance = Annotated[Number, Field(ge=0.0)]


class JointTable(Table):
    """What all joints have: markers P (`from`), Q (`to`), or two bodies with `point` and `axis` in ground.

    `compliance`: three translations, three rotations in the axes of `from`; they share what is redundant."""

    from_: FrameName = Field(alias="from")
    to: FrameName
    axis: Direction | None = None
    point: Point | None = None
    initial: JointInitial | None = None
    cut: bool = False
    compliance: Annotated[list[Compliance], Field(min_length=6, max_length=6)] | None = None
    spring: (
        Annotated[list[Spring], BeforeValidator(_as_list, json_schema_input_type=Spring | list[Spring])]
        | None
    ) = None
    damper: (
        Annotated[list[Damper], BeforeValidator(_as_list, json_schema_input_type=Damper | list[Damper])]
        | None
    ) = None
    friction: (
        Annotated[list[Friction], BeforeValidator(_as_list, json_schema_input_type=Friction | list[Friction])]
        | None
    ) = None
    stop: (
        Annotated[list[Stop], BeforeValidator(_as_list, json_schema_input_type=Stop | list[Stop])] | None
    ) = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.axis is not None and not SMALLEST < math.hypot(*self.axis) < LARGEST:
            raise fail("the axis is zero, or too long; give a direction, such as [0, 0, 1]")
        return self


def _lead(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return value
    return read_number(value, units.LENGTH, context_of(info))


#: travel per turn [m]; inf travels without turning
Lead = Annotated[float, PlainValidator(_lead, json_schema_input_type=float | str)]
#: annotation of the parameters that joint types add; others are numbers of any dimension
_PARAMETERS: dict[str, Any] = {"lead": Lead, "length": law(units.LENGTH)}


def own_parameters(cls: type) -> dict[str, bool]:
    """Parameters that a registered type adds to its base, and whether each must be given."""
    base = {item.name for item in dataclasses.fields(Joint)}
    missing = dataclasses.MISSING
    return {
        item.name: item.default is missing and item.default_factory is missing
        for item in dataclasses.fields(cls)
        if item.name not in base
    }


def joint_table(name: str, cls: type) -> type[JointTable]:
    """The table of a joint type: what all have, and its own parameters."""
    extra: dict[str, Any] = {"type": (Literal[name], ...)}
    for parameter, needed in own_parameters(cls).items():
        kind = _PARAMETERS.get(parameter, Number)
        extra[parameter] = (kind, ...) if needed else (kind | None, None)
    return create_model(f"{cls.__name__}Joint", __base__=JointTable, __doc__=cls.__doc__, **extra)


AnyJoint = Annotated[Any, Registered(JOINTS, joint_table, JointTable)]
