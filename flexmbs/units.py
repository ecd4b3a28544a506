"""Numbers with units in strings -> SI numbers, with the dimension checked; angles in radians.

Turns and cycles are kept apart from radians, so that `"1500 Hz"` is no angular velocity by accident
and a lead of `"5 mm/rev"` (a length per turn, plainly `"5 mm"`) is refused rather than divided by 2 pi.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from flexmbs.errors import nearest

Dimension = tuple[int, int, int, int, int]  # exponents of m, kg, s, rad, cycles


class UnitError(ValueError):
    """A text that is no number with a unit, or has the wrong dimension; the caller knows the place."""


def _dim(m: int = 0, kg: int = 0, s: int = 0, rad: int = 0, cycle: int = 0) -> Dimension:
    return (m, kg, s, rad, cycle)


NONE = _dim()
LENGTH = _dim(m=1)
MASS = _dim(kg=1)
TIME = _dim(s=1)
ANGLE = _dim(rad=1)
FREQUENCY = _dim(s=-1, cycle=1)
VELOCITY = _dim(m=1, s=-1)
ANGULAR_VELOCITY = _dim(s=-1, rad=1)
ACCELERATION = _dim(m=1, s=-2)
ANGULAR_ACCELERATION = _dim(s=-2, rad=1)
FORCE = _dim(m=1, kg=1, s=-2)
TORQUE = _dim(m=2, kg=1, s=-2)
PRESSURE = _dim(m=-1, kg=1, s=-2)
DENSITY = _dim(m=-3, kg=1)
INERTIA = _dim(m=2, kg=1)
AREA = _dim(m=2)
SECOND_MOMENT = _dim(m=4)
STIFFNESS = _dim(kg=1, s=-2)
DAMPING = _dim(kg=1, s=-1)
TORSION_STIFFNESS = _dim(m=2, kg=1, s=-2, rad=-1)
TORSION_DAMPING = _dim(m=2, kg=1, s=-1, rad=-1)
FORCE_PER_LENGTH = _dim(kg=1, s=-2)
FORCE_PER_VOLUME = _dim(m=-2, kg=1, s=-2)

#: what a dimension is called, and a unit of it, for messages
NAMES: dict[Dimension, tuple[str, str]] = {
    NONE: ("a plain number", "1"),
    LENGTH: ("a length", "mm"),
    MASS: ("a mass", "kg"),
    TIME: ("a time", "s"),
    ANGLE: ("an angle", "deg"),
    FREQUENCY: ("a frequency", "Hz"),
    VELOCITY: ("a velocity", "m/s"),
    ANGULAR_VELOCITY: ("an angular velocity", "rpm or rad/s"),
    ACCELERATION: ("an acceleration", "m/s^2"),
    ANGULAR_ACCELERATION: ("an angular acceleration", "rad/s^2"),
    FORCE: ("a force", "N"),
    TORQUE: ("a torque", "N*m"),
    PRESSURE: ("a pressure or modulus", "MPa"),
    DENSITY: ("a density", "kg/m^3"),
    INERTIA: ("a moment of inertia", "kg*m^2"),
    AREA: ("an area", "mm^2"),
    SECOND_MOMENT: ("a second moment of area", "mm^4"),
    STIFFNESS: ("a stiffness", "N/mm"),
    DAMPING: ("a damping constant", "N*s/m"),
    TORSION_STIFFNESS: ("a torsional stiffness", "N*m/rad"),
    TORSION_DAMPING: ("a torsional damping constant", "N*m*s/rad"),
    FORCE_PER_VOLUME: ("a force per volume", "N/m^3"),
}

UNITS: dict[str, tuple[float, Dimension]] = {
    "m": (1.0, LENGTH),
    "mm": (1e-3, LENGTH),
    "cm": (1e-2, LENGTH),
    "um": (1e-6, LENGTH),
    "in": (0.0254, LENGTH),
    "kg": (1.0, MASS),
    "g": (1e-3, MASS),
    "t": (1e3, MASS),
    "s": (1.0, TIME),
    "ms": (1e-3, TIME),
    "min": (60.0, TIME),
    "h": (3600.0, TIME),
    "rad": (1.0, ANGLE),
    "deg": (math.pi / 180.0, ANGLE),
    "rev": (2.0 * math.pi, ANGLE),
    "rpm": (2.0 * math.pi / 60.0, ANGULAR_VELOCITY),
    "Hz": (1.0, FREQUENCY),
    "kHz": (1e3, FREQUENCY),
    "N": (1.0, FORCE),
    "kN": (1e3, FORCE),
    "Pa": (1.0, PRESSURE),
    "MPa": (1e6, PRESSURE),
    "GPa": (1e9, PRESSURE),
    "bar": (1e5, PRESSURE),
    "J": (1.0, TORQUE),
    "W": (1.0, _dim(m=2, kg=1, s=-3)),
}


@dataclass(frozen=True)
class Quantity:
    """A number in SI units and radians, with its dimension; `dimension` is None for a bare number."""

    value: float
    dimension: Dimension | None = None


_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*")
_TOKEN = re.compile(r"\s*([A-Za-z]+|1(?![\d.])|\*\*|[*/^()]|[+-]?\d+)\s*")
_MAX_LENGTH = 200


def parse_quantity(text: str) -> Quantity:
    """`"50 mm"`, `"20 N/mm"`, `"3 kg*m^2"` -> Quantity; a string without unit is a bare number."""
    if len(text) > _MAX_LENGTH:
        raise UnitError(f"longer than {_MAX_LENGTH} characters")
    head = _NUMBER.match(text)
    if not head:
        raise UnitError(f'"{text}" is no number with a unit (expressions begin with "=")')
    value = float(head[1].replace("_", ""))
    if not math.isfinite(value):
        raise UnitError(f'"{text}" is too large')
    rest = text[head.end() :]
    if not rest:
        return Quantity(value)
    factor, dimension = _Product(rest).parse()
    value *= factor
    if not math.isfinite(value):
        raise UnitError(f'"{text}" is too large')
    return Quantity(value, dimension)


class _Product:
    """Recursive descent over `unit ((*|/) unit)*`, where a unit may carry `^n` or stand in parentheses."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise UnitError(f'"{text[at:].strip()}" in the unit "{text.strip()}" is not understood')
            self.tokens.append(match[1])
            at = match.end()
        self.text = text.strip()

    def parse(self) -> tuple[float, Dimension]:
        # "20 *m" or "3 /s": a leading operator after the number
        if self.tokens and self.tokens[0] in "*/":
            self.tokens.insert(0, "1")
        found = self.product(0)
        if self.tokens:
            raise UnitError(f'"{self.tokens[0]}" in the unit "{self.text}" is not understood')
        return found

    def product(self, depth: int) -> tuple[float, Dimension]:
        factor, dimension = self.power(depth)
        while self.tokens and self.tokens[0] in ("*", "/"):
            sign = 1 if self.tokens.pop(0) == "*" else -1
            other, other_dimension = self.power(depth)
            factor *= other**sign
            dimension = _combine(dimension, other_dimension, sign)
        return factor, dimension

    def power(self, depth: int) -> tuple[float, Dimension]:
        factor, dimension = self.unit(depth)
        if self.tokens and self.tokens[0] in ("^", "**"):
            self.tokens.pop(0)
            text = self.tokens.pop(0) if self.tokens else ""
            if not re.fullmatch(r"[+-]?\d", text):
                raise UnitError(f'the unit "{self.text}" needs a whole exponent behind "^"')
            factor **= int(text)
            dimension = _combine(NONE, dimension, int(text))
        return factor, dimension

    def unit(self, depth: int) -> tuple[float, Dimension]:
        token = self.tokens.pop(0) if self.tokens else ""
        if token == "(" and depth < 4:
            found = self.product(depth + 1)
            if not self.tokens or self.tokens.pop(0) != ")":
                raise UnitError(f'the unit "{self.text}" lacks a closing parenthesis')
            return found
        if token == "1":
            return 1.0, NONE
        if token not in UNITS:
            shown = token or self.text
            raise UnitError(f'unknown unit "{shown}"; {nearest(shown, list(UNITS))}')
        return UNITS[token]


def _combine(a: Dimension, b: Dimension, sign: int) -> Dimension:
    m, kg, s, rad, cycle = (x + sign * y for x, y in zip(a, b, strict=True))
    return (m, kg, s, rad, cycle)


def check_dimension(quantity: Quantity, expected: Dimension) -> None:
    """Refuse a unit of another dimension; radians and cycles may be left out, but not exchanged."""
    found = quantity.dimension
    if found is None:
        return
    same = found[:3] == expected[:3]
    angles = all(f in (0, e) for f, e in zip(found[3:], expected[3:], strict=True))
    if not (same and angles):
        name, unit = NAMES.get(expected, ("another dimension", ""))
        hint = f" such as {unit}" if unit else ""
        raise UnitError(f"is {describe(found)}, expected {name}{hint}")


def describe(dimension: Dimension) -> str:
    """Name of a dimension for messages, or its formula."""
    if dimension in NAMES:
        return NAMES[dimension][0]
    symbols = ("m", "kg", "s", "rad", "cycle")
    parts = [f"{u}^{n}" if n != 1 else u for u, n in zip(symbols, dimension, strict=True) if n]
    return "of dimension " + "*".join(parts)


def to_si(value: float | int | str, expected: Dimension) -> float:
    """A number, or a string with a unit of the expected dimension, as an SI number (radians)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise UnitError(f"{value!r} is no number")
    if isinstance(value, str):
        quantity = parse_quantity(value)
        check_dimension(quantity, expected)
        return quantity.value
    try:
        number = float(value)
    except OverflowError:
        raise UnitError("the number is too large") from None
    if not math.isfinite(number):
        raise UnitError(f"{value} is not a finite number")
    return number
