"""Tables of bodies."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from flexmbs import units
from flexmbs.input.frames import FlexibleFrame, FrameTable, Pose
from flexmbs.input.rotations import Rotation
from flexmbs.input.values import (
    NAME,
    Frequency,
    Law,
    Length,
    Mass,
    Number,
    Plain,
    Point,
    Table,
    fail,
    number,
    vector,
)

FrameName = Annotated[str, Field(pattern=NAME)]
Moment = number(units.INERTIA)
Velocity = vector(number(units.VELOCITY))
AngularVelocity = vector(number(units.ANGULAR_VELOCITY))


class Inertia(Table):
    """Inertia tensor about the mass centre, body axes, tensor components [kg m^2]."""

    ixx: Moment = 0.0
    iyy: Moment = 0.0
    izz: Moment = 0.0
    ixy: Moment = 0.0
    ixz: Moment = 0.0
    iyz: Moment = 0.0

    def matrix(self) -> np.ndarray:
        return np.array(
            [[self.ixx, self.ixy, self.ixz], [self.ixy, self.iyy, self.iyz], [self.ixz, self.iyz, self.izz]]
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        a, b, c = np.linalg.eigvalsh(self.matrix())
        slack = 1e-9 * max(abs(a), abs(c), 1e-300)
        if a < -slack:
            raise fail(f"the inertia tensor has a negative principal moment, {a:.4g} kg m^2")
        if a + b < c * (1.0 - 1e-6) - slack:
            raise fail(
                f"no mass distribution has the principal moments {a:.4g}, {b:.4g}, {c:.4g} kg m^2: "
                "the largest exceeds the sum of the others"
            )
        return self


class Shape(Table):
    """A thing to draw: a `shape`, or a surface `file` (STL)."""

    shape: Literal["link", "box", "cylinder", "sphere", "none"] | None = None
    file: str | None = None
    to: str | None = None
    radius: Length | None = None
    length: Length | None = None
    size: Point | None = None
    pos: Point | None = None
    rot: Rotation | None = None

    def plain(self) -> dict[str, Any]:
        """The given keys as plain values; `rot` as a matrix."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        found["rot"] = self.rot.to_matrix().tolist() if self.rot is not None else None
        return {name: value for name, value in found.items() if value is not None}


class Visual(Shape):
    """How a body is drawn, a shape or several `parts`, in a color; means nothing to the mechanics."""

    color: str | None = None
    parts: list[Shape] = Field(default=[])

    def plain(self) -> dict[str, Any]:
        found = super().plain()
        return found | {"parts": [part.plain() for part in self.parts]}


class FreeInitial(Table):
    """Start of a body without joints; pos and rot default to its pose."""

    pos: Point | None = None
    rot: Rotation | None = None
    velocity: Velocity = Field(default=[0.0, 0.0, 0.0])
    angular_velocity: AngularVelocity = Field(default=[0.0, 0.0, 0.0])
    in_: Literal["ground", "body"] = Field(default="ground", alias="in")


class FlexibleInitial(FreeInitial):
    """Start of a flexible body: also its elastic coordinates, missing ones are zero."""

    q: list[Number] = Field(default=[])
    q_dot: list[Number] = Field(default=[])


class BodyTable(Table):
    """What all bodies have."""

    pose: Pose | None = None
    visual: Visual | None = None
    kinetic_energy: Law | None = None
    potential_energy: Law | None = None


class RigidBodyTable(BodyTable):
    """Rigid body."""

    type: Literal["rigid"]
    mass: Mass
    com: Point = Field(default=[0.0, 0.0, 0.0])
    inertia: Inertia = Field(default_factory=Inertia)
    frames: dict[FrameName, FrameTable] = Field(default={})
    initial: FreeInitial | None = None


class ParticleTable(BodyTable):
    """Mass point with three translations."""

    type: Literal["particle"]
    mass: Mass
    initial: FreeInitial | None = None


ModeNumbers = list[int]


class Modes(Table):
    """Choice of modes: first `count`, those up to `max_frequency` [Hz], or a `list` of numbers (from 1)."""

    count: Annotated[int, Field(ge=0)] | None = None
    max_frequency: Frequency | None = None
    list: ModeNumbers | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(value is not None for value in (self.count, self.max_frequency, self.list)) != 1:
            raise fail("modes needs one of count, max_frequency, list")
        return self


def _as_modes(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return {"list": list(value)}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"count": value}
    return value


Ratio = Annotated[Plain, Field(ge=0.0)]


class NoDamping(Table):
    """No damping, the default."""

    type: Literal["none"]


class ModalDamping(Table):
    """Modal damping: one `ratio` for all modes, or one per mode."""

    type: Literal["modal"]
    ratio: Annotated[
        list[Ratio],
        BeforeValidator(
            lambda v: v if isinstance(v, list | tuple) else [v], json_schema_input_type=Ratio | list[Ratio]
        ),
    ]


class RayleighDamping(Table):
    """Rayleigh damping: `alpha` [1/s] times the mass matrix plus `beta` [s] times the stiffness matrix."""

    type: Literal["rayleigh"]
    alpha: Annotated[number((0, 0, -1, 0, 0)), Field(ge=0.0)] = 0.0
    beta: Annotated[number(units.TIME), Field(ge=0.0)] = 0.0


class MatrixDamping(Table):
    """Damping by a symmetric `matrix` of the elastic coordinates."""

    type: Literal["matrix"]
    matrix: list[list[Number]]


Damping = Annotated[NoDamping | ModalDamping | RayleighDamping | MatrixDamping, Field(discriminator="type")]


class FlexibleBodyTable(BodyTable):
    """Flexible body: `modal`, a file of `flexmbs reduce`, or `reduce`, a recipe that is built when needed.

    `recipe`: keys of the recipe that are other here.
    """

    type: Literal["flexible"]
    modal: str | None = None
    reduce: str | None = None
    recipe: dict[str, Any] = Field(default={})
    modes: (
        Annotated[Modes, BeforeValidator(_as_modes, json_schema_input_type=Modes | int | list[int])] | None
    ) = None
    damping: Damping | None = None
    inertia_terms: Literal["full", "first-order", "constant"] = "full"
    geometric_stiffening: bool | None = None
    frames: dict[FrameName, FlexibleFrame] = Field(default={})
    initial: FlexibleInitial | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.modal is None) == (self.reduce is None):
            raise fail('a flexible body needs either "modal" (a file) or "reduce" (a recipe)')
        if self.recipe and self.reduce is None:
            raise fail('"recipe" changes keys of the file that "reduce" names')
        return self


AnyBody = Annotated[RigidBodyTable | FlexibleBodyTable | ParticleTable, Field(discriminator="type")]
