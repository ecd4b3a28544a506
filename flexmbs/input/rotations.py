"""Rotations in their five forms."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from flexmbs.input.values import LARGEST, SMALLEST, Angle, Direction, Plain, Table, fail, vector
from flexmbs.spatial import axis_angle, quat_to_matrix

Array = NDArray[np.float64]

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Rotation(Table):
    """Orientation, body to parent, in one of five forms.

    `axis` and `angle`; `sequence` and `angles` about the turned axes; `quaternion` [w, x, y, z]; `matrix`; or
    two of the axes `x`, `y`, `z` as seen in the parent.
    """

    axis: Direction | None = None
    angle: Angle | None = None
    sequence: Annotated[str, Field(pattern="^[xyz]{1,6}$")] | None = None
    angles: list[Angle] | None = None
    quaternion: vector(Plain, 4) | None = None
    matrix: vector(Direction) | None = None
    x: Direction | None = None
    y: Direction | None = None
    z: Direction | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_form(self)
        self.to_matrix()
        return self

    def to_matrix(self) -> Array:
        """Rotation matrix, parent <- body."""
        if self.axis is not None:
            return axis_angle(_direction(self.axis, "axis"), self.angle or 0.0)
        if self.sequence is not None:
            return self._from_sequence(self.sequence, self.angles or [])
        if self.quaternion is not None:
            if np.linalg.norm(self.quaternion) < 1e-6:
                raise fail("the quaternion is zero")
            return quat_to_matrix(np.array(self.quaternion))
        if self.matrix is not None:
            return _proper(np.array(self.matrix))
        return self._from_axes()

    @staticmethod
    def _from_sequence(sequence: str, angles: list[float]) -> Array:
        R = np.eye(3)
        for letter, angle in zip(sequence, angles, strict=True):
            R = R @ axis_angle(_AXES[letter], angle)
        return R

    def _from_axes(self) -> Array:
        """The first given axis holds exactly, the second is made square to it."""
        names = [name for name in "xyz" if getattr(self, name) is not None]
        a, b = (_direction(getattr(self, name), name) for name in names)
        i, j = ("xyz".index(name) for name in names)
        b = b - (a @ b) * a
        if np.linalg.norm(b) < 1e-6:
            raise fail(f"the axes {names[0]} and {names[1]} are parallel")
        if np.linalg.norm(b) < 1.0 - 1e-6:
            raise fail(f"the axes {names[0]} and {names[1]} are not at right angles")
        b = b / np.linalg.norm(b)
        columns = np.zeros((3, 3))
        columns[:, i], columns[:, j] = a, b
        k = 3 - i - j
        sign = 1.0 if (j - i) % 3 == 1 else -1.0
        columns[:, k] = sign * np.cross(a, b)
        return columns


def _direction(values: Any, name: str) -> Array:
    n = np.array(values, dtype=float)
    length = np.linalg.norm(n)
    if not SMALLEST < length < LARGEST:
        raise fail(f"the direction {name} is zero, or too long")
    return n / length


def _proper(R: Array) -> Array:
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(R) < 0.0:
        raise fail(
            f"the matrix is no rotation: R^T R differs from 1 by {error:.1e}, det {np.linalg.det(R):.3g}"
        )
    U, _, Vt = np.linalg.svd(R)
    return U @ Vt


def check_form(table: Any) -> None:
    """A rotation is given in one form, with as many angles as axes."""
    given = {name for name in type(table).model_fields if getattr(table, name) is not None}
    forms = [{"axis", "angle"}, {"sequence", "angles"}, {"quaternion"}, {"matrix"}]
    axes_form = given <= {"x", "y", "z"} and len(given) == 2
    if given not in forms and not axes_form:
        found = ", ".join(sorted(given)) or "nothing"
        raise fail(
            f"a rotation needs axis and angle, or sequence and angles, or quaternion, or matrix, "
            f"or two of x, y, z; found {found}"
        )
    if table.sequence is not None and len(table.sequence) != len(table.angles):
        n = len(table.sequence)
        raise fail(f'the sequence "{table.sequence}" needs {n} angles, found {len(table.angles)}')
