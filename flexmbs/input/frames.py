"""Places and orientations: `rot`, `pose`, `frames`."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from flexmbs.input.rotations import Rotation, check_form
from flexmbs.input.values import (
    MovingDirection,
    MovingPoint,
    Point,
    Table,
    fail,
    law,
    vector,
)
from flexmbs.units import ANGLE, NONE

Array = NDArray[np.float64]


class MovingRotation(Table):
    """Orientation over the time, in the forms of a rotation; every number may be an expression of t."""

    axis: MovingDirection | None = None
    angle: law(ANGLE) | None = None
    sequence: Annotated[str, Field(pattern="^[xyz]{1,6}$")] | None = None
    angles: list[law(ANGLE)] | None = None
    quaternion: vector(law(NONE), 4) | None = None
    matrix: vector(MovingDirection) | None = None
    x: MovingDirection | None = None
    y: MovingDirection | None = None
    z: MovingDirection | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_form(self)
        return self


class Pose(Table):
    """Place and orientation of a body frame in ground."""

    pos: Point = Field(default=[0.0, 0.0, 0.0])
    rot: Rotation | None = None

    def matrix(self) -> Array:
        return self.rot.to_matrix() if self.rot is not None else np.eye(3)


class FrameTable(Table):
    """Frame on ground or a rigid body: origin `pos` (its entries may depend on `t`), orientation `rot`."""

    pos: MovingPoint | None = None
    rot: Rotation | None = None

    def matrix(self) -> Array:
        return self.rot.to_matrix() if self.rot is not None else np.eye(3)


def _as_place(value: Any) -> Any:
    """`at = [x, y, z]` is short for `at = { point = [x, y, z] }`."""
    return {"at": value} if isinstance(value, list | tuple) else value


class PlaceTable(Table):
    """Place on a body: `at` coordinates (may depend on `t`), node `nearest` to a point, or `node` number."""

    at: MovingPoint | None = None
    nearest: Point | None = None
    node: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(value is not None for value in (self.at, self.nearest, self.node)) != 1:
            raise fail("a place is one of: [x, y, z], { nearest = [x, y, z] }, { node = number }")
        return self


Place = Annotated[PlaceTable, BeforeValidator(_as_place, json_schema_input_type=PlaceTable | MovingPoint)]


class FlexibleFrame(Table):
    """Frame on a flexible body: `at`, `nearest` or `node`, and its orientation `rot` at rest."""

    at: MovingPoint | None = None
    nearest: Point | None = None
    node: int | None = None
    rot: Rotation | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(value is not None for value in (self.at, self.nearest, self.node)) != 1:
            raise fail("a frame on a flexible body needs one of at, nearest, node")
        return self

    def matrix(self) -> Array:
        return self.rot.to_matrix() if self.rot is not None else np.eye(3)
