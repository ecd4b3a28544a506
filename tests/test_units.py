"""Numbers with units: values, dimensions, and what is refused."""

import math
import random

import pytest

from flexmbs import units
from flexmbs.units import UNITS, UnitError, parse_quantity, to_si


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("50 mm", units.LENGTH, 0.05),
        ("1 in", units.LENGTH, 0.0254),
        ("1500 rpm", units.ANGULAR_VELOCITY, 1500 * math.pi / 30),
        ("30 deg", units.ANGLE, math.pi / 6),
        ("2 rev", units.ANGLE, 4 * math.pi),
        ("20 N/mm", units.STIFFNESS, 2e4),
        ("3 kg*m^2", units.INERTIA, 3.0),
        ("3 kg*m**2", units.INERTIA, 3.0),
        ("10kHz", units.FREQUENCY, 1e4),
        ("7.85 g/cm^3", units.DENSITY, 7850.0),
        ("2 N*m/deg", units.TORSION_STIFFNESS, 360 / math.pi),
        ("2 N*m", units.TORQUE, 2.0),
        ("1 bar", units.PRESSURE, 1e5),
        ("5 N/(m*s)", (0, 1, -3, 0, 0), 5.0),
        ("1 h", units.TIME, 3600.0),
        ("5 1/s", units.ANGULAR_VELOCITY, 5.0),
        ("-1.5e-3 m", units.LENGTH, -1.5e-3),
        ("12", units.MASS, 12.0),
    ],
)
def test_values(text, dimension, value):
    assert to_si(text, dimension) == pytest.approx(value, rel=1e-14)  # rounding


@pytest.mark.parametrize("name", sorted(UNITS))
def test_every_unit_is_its_own_quotient(name):
    quantity = parse_quantity(f"1 {name}/{name}")
    assert quantity.value == pytest.approx(1.0)
    assert quantity.dimension == units.NONE


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("50 mm", units.MASS),
        ("8 kHz", units.ANGULAR_VELOCITY),  # cycles are no radians
        ("1500 rpm", units.FREQUENCY),
        ("5 mm/rev", units.LENGTH),  # a lead is a length per turn, written plainly
        ("3 N", units.TORQUE),
    ],
)
def test_other_dimensions_are_refused(text, dimension):
    with pytest.raises(UnitError, match="expected"):
        to_si(text, dimension)


def test_messages_name_the_nearest_unit():
    with pytest.raises(UnitError, match='did you mean "mm"'):
        parse_quantity("3 mmm")
    with pytest.raises(UnitError, match="is a length, expected a mass such as kg"):
        to_si("3 m", units.MASS)


@pytest.mark.parametrize(
    "text",
    ["", "mm", "3 m^", "3 m^2.5", "3 (m", "3 m)", "1e999 m", "3 m//s", "nan m", "x" * 300, "3 m^9^9", "inf"],
)
def test_nonsense_is_refused(text):
    with pytest.raises(UnitError):
        parse_quantity(text)


@pytest.mark.parametrize("value", [True, None, [1], float("nan"), float("inf"), 10**400])
def test_other_values_are_no_numbers(value):
    with pytest.raises(UnitError):
        to_si(value, units.LENGTH)


def test_random_texts_end_in_a_number_or_a_unit_error():
    rng = random.Random(3)
    pieces = ["1", "2.5", " ", "mm", "N", "/", "*", "^", "2", "(", ")", "rad", "e", "-", "é", "\n"]
    for _ in range(3000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(9)))
        try:
            assert math.isfinite(parse_quantity(text).value)
        except UnitError:
            pass
