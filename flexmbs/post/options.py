"""Options that several commands share, from text to values."""

from __future__ import annotations

from collections.abc import Sequence

from flexmbs.errors import Diagnostic, UsageError
from flexmbs.units import PRESSURE, UnitError, parse_quantity


def pairs(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise UsageError(Diagnostic("usage.pair", option, f'"{text}" is not of the form {form}'))
        found[name.strip()] = value.strip()
    return found


def pressure(text: str | None, option: str) -> float | None:
    """A stress, "355 MPa" or a number of pascals."""
    if text is None:
        return None
    try:
        found = parse_quantity(text)
    except UnitError as error:
        raise UsageError(Diagnostic("usage.unit", option, str(error))) from None
    if found.dimension not in (None, PRESSURE) or not found.value > 0.0:
        raise UsageError(Diagnostic("usage.unit", option, f'"{text}" is no stress', 'such as "355 MPa"'))
    return found.value
