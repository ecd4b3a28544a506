"""Tables of forces; every number of a force may be an expression or a Python function."""

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
from flexmbs.expressions import Expression
from flexmbs.input.values import Table, context_of, fail, law, read_law, vector


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
