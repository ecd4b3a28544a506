"""Values of a recipe: numbers with units, expressions of parameters, vectors, rotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import units
from flexmbs.errors import Diagnostics, nearest
from flexmbs.expressions import Expression, ExpressionError, parse
from flexmbs.fe.unit_systems import UnitSystem
from flexmbs.spatial import axis_angle, quat_to_matrix
from flexmbs.toml_file import TomlFile
from flexmbs.units import Dimension, UnitError

Floats = NDArray[np.float64]
Key = tuple[str | int, ...]

#: numbers beyond this are mistakes, and their products would not be finite
LARGEST = 1e60
ROTATIONS = ("axis", "angle", "sequence", "angles", "quaternion", "matrix", "x", "y", "z")


class Values:
    """Reads single values; what is wrong goes to `found` with its place, and a harmless value comes back."""

    def __init__(self, file: TomlFile | None, name: str, length_unit: float = 1.0) -> None:
        self.file = file
        self.name = name
        self.length_unit = length_unit
        self.units: UnitSystem | None = None
        self.found = Diagnostics()
        self.parameters: dict[str, float] = {}

    def where(self, key: Key, *, is_key: bool = False) -> str:
        return self.file.where(key, key=is_key) if self.file and key in self.file.places else self.name

    def error(self, key: Key, what: str, remedy: str = "", *, code: str = "recipe.value") -> None:
        label = ".".join(str(part) for part in key)
        self.found.error(code, self.where(key), f"{label}: {what}" if label else what, remedy)

    def read_parameters(self, table: Mapping[str, Any]) -> None:
        """[parameters], each of which may use those before it."""
        for name, value in table.items():
            self.parameters[name] = self.number(("parameters", name), value, None)

    def number(self, key: Key, value: Any, dimension: Dimension | None, *, scale: float = 1.0) -> float:
        """A number in SI units; a bare one counts in units of `scale`."""
        number = self._number(key, value, dimension, scale)
        if not abs(number) < LARGEST:
            self.error(key, f"{value!r} is out of range")
            return 1.0
        return number

    def _number(self, key: Key, value: Any, dimension: Dimension | None, scale: float) -> float:
        try:
            if isinstance(value, str) and value.lstrip().startswith("="):
                return self._expression(value)
            if isinstance(value, str):
                quantity = units.parse_quantity(value)
                if dimension is not None:
                    units.check_dimension(quantity, dimension)
                return quantity.value * (scale if quantity.dimension is None else 1.0)
            return units.to_si(value, dimension or units.NONE) * scale
        except (UnitError, ExpressionError) as problem:
            self.error(key, str(problem))
            return 1.0

    def _expression(self, text: str) -> float:
        expression = parse(text).substitute(self.parameters)
        for label in expression.names:
            raise ExpressionError(f'"{label}" is no parameter; {nearest(label, list(self.parameters))}')
        return expression.number()

    def length(self, key: Key, value: Any) -> float:
        """A length or coordinate [m]; bare numbers are millimetres with `unit_system = "mm"`."""
        return self.number(key, value, units.LENGTH, scale=self.length_unit)

    def numbers(
        self,
        key: Key,
        value: Any,
        shape: tuple[int, ...],
        dimension: Dimension | None = None,
        *,
        scale: float = 1.0,
    ) -> Floats:
        """A nested list of the given shape (-1: any length)."""
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
            self.error(key, f"expected a list of {_shape_text(shape)} numbers")
            return np.zeros([max(n, 0) for n in shape])
        if shape[0] not in (-1, len(value)):
            self.error(key, f"has {len(value)} entries, expected {shape[0]}")
            return np.zeros([max(n, 0) for n in shape])
        if len(shape) > 1:
            rows = [
                self.numbers((*key, k), row, shape[1:], dimension, scale=scale) for k, row in enumerate(value)
            ]
            if len({row.shape for row in rows}) > 1:
                self.error(key, "rows of different lengths")
                return np.zeros([max(n, 0) for n in shape])
            return np.array(rows) if rows else np.zeros([max(n, 0) for n in shape])
        return np.array(
            [self.number((*key, k), item, dimension, scale=scale) for k, item in enumerate(value)]
        )

    def lengths(self, key: Key, value: Any, shape: tuple[int, ...]) -> Floats:
        return self.numbers(key, value, shape, units.LENGTH, scale=self.length_unit)

    def whole(self, key: Key, value: Any, least: int = 0) -> int:
        """An integer not below `least`."""
        number = self.number(key, value, None)
        if isinstance(value, bool) or number != int(number) or not least <= number < 2**62:
            self.error(key, f"expected a whole number from {least}, found {value}")
            return least
        return int(number)

    def choice(self, key: Key, value: Any, choices: Sequence[str]) -> str:
        if value not in choices:
            self.error(key, f'"{value}"', nearest(str(value), choices), code="recipe.choice")
            return choices[0]
        return str(value)

    def flag(self, key: Key, value: Any) -> bool:
        if not isinstance(value, bool):
            self.error(key, f"expected true or false, found {value!r}")
        return bool(value)

    def text(self, key: Key, value: Any) -> str:
        if not isinstance(value, str):
            self.error(key, f"expected a text, found {value!r}")
        return str(value)

    def table(self, key: Key, value: Any, keys: Sequence[str] | None = None) -> dict[str, Any]:
        """A table; with `keys`, any other key is an error."""
        if not isinstance(value, Mapping):
            self.error(key, "expected a table")
            return {}
        if keys is not None:
            self.keys(key, value, keys)
        return {str(name): item for name, item in value.items()}

    def keys(self, key: Key, table: Mapping[str, Any], keys: Sequence[str]) -> None:
        """Unknown keys are errors that name the nearest valid one."""
        for name in table:
            if name not in keys:
                full = (*key, name)
                label = ".".join(str(part) for part in key)
                what = f'{label}: unknown key "{name}"' if label else f'unknown key "{name}"'
                self.found.error("recipe.key", self.where(full, is_key=True), what, nearest(str(name), keys))

    def law(self, key: Key, value: Any) -> Expression | None:
        """An expression of x, y, z and parameters, with or without the leading `=`."""
        try:
            text = str(value) if not isinstance(value, bool) else ""
            expression = parse(text if text.lstrip().startswith("=") else f"={text}").substitute(
                self.parameters
            )
            for label in expression.names:
                if label not in ("x", "y", "z"):
                    choices = ["x", "y", "z", *self.parameters]
                    raise ExpressionError(f'unknown name "{label}"; {nearest(label, choices)}')
            return expression
        except ExpressionError as problem:
            self.error(key, str(problem))
            return None

    def rotation(self, key: Key, value: Any) -> Floats:
        """Rotation matrix of a `rot` table: axis and angle, sequence, quaternion, matrix, or two axes."""
        table = self.table(key, value, ROTATIONS)
        given = set(table)

        def vector(name: str, n: int) -> Floats:
            return self.numbers((*key, name), table[name], (n,))

        if given == {"axis", "angle"}:
            axis = vector("axis", 3)
            if np.linalg.norm(axis) > 0:
                return axis_angle(axis, self.number((*key, "angle"), table["angle"], units.ANGLE))
        elif given == {"quaternion"} and np.linalg.norm(vector("quaternion", 4)) > 0:
            return quat_to_matrix(vector("quaternion", 4))
        elif given == {"matrix"}:
            R = self.numbers((*key, "matrix"), table["matrix"], (3, 3))
            if np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0:
                u, _, vt = np.linalg.svd(R)
                return u @ vt
        elif given == {"sequence", "angles"} and set(str(table["sequence"])) <= set("xyz"):
            angles = self.numbers((*key, "angles"), table["angles"], (len(table["sequence"]),), units.ANGLE)
            R = np.eye(3)
            for letter, angle in zip(table["sequence"], angles, strict=False):
                R = R @ axis_angle(np.eye(3)["xyz".index(letter)], float(angle))
            return R
        elif len(given) == 2 and given <= {"x", "y", "z"}:
            return self._two_axes(key, {name: vector(name, 3) for name in sorted(given)})
        remedy = "{ axis, angle }, { sequence, angles }, { quaternion }, { matrix }, or two of { x, y, z }"
        self.error(key, "is no rotation", f"give {remedy}")
        return np.eye(3)

    def _two_axes(self, key: Key, axes: dict[str, Floats]) -> Floats:
        """Rotation whose axes lie along the given two, which must be at right angles."""
        (first, a), (second, b) = axes.items()
        size = np.linalg.norm(a) * np.linalg.norm(b)
        if size == 0 or abs(a @ b) > 1e-6 * size:
            self.error(key, f"the axes {first} and {second} are not at right angles")
            return np.eye(3)
        i, j = "xyz".index(first), "xyz".index(second)
        R = np.zeros((3, 3))
        R[:, i] = a / np.linalg.norm(a)
        b = b - (b @ R[:, i]) * R[:, i]
        R[:, j] = b / np.linalg.norm(b)
        k = 3 - i - j
        R[:, k] = np.cross(R[:, (k + 1) % 3], R[:, (k + 2) % 3])
        return R


def _shape_text(shape: tuple[int, ...]) -> str:
    return " x ".join("n" if n < 0 else str(n) for n in shape)
