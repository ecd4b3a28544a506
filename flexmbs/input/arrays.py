"""Whole numbers, arrays, and values in two forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Discriminator, PlainValidator, Tag, ValidationInfo

from flexmbs.input.values import Context, context_of, fail, read_in_units, shown, with_schema
from flexmbs.units import Dimension

__all__ = ["array", "one_or", "whole"]

Floats = NDArray[np.float64]


def whole(least: int) -> Any:
    """Annotation of a whole number from `least`."""

    def read(value: Any, info: ValidationInfo) -> int:
        found = read_in_units(value, None, context_of(info), 1.0)
        if isinstance(value, bool) or found != int(found) or not least <= found < 2**62:
            raise fail(f"expected a whole number from {least}, found {shown(value)}")
        return int(found)

    return Annotated[int, BeforeValidator(read), with_schema(["integer", "string"], f"from {least}")]


def one_or(many: Any, one: Any, *, nested: bool = False) -> Any:
    """Annotation of a list or a single value; `nested`: a list of lists or a list."""

    def is_many(value: Any) -> bool:
        if nested:
            return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], list | tuple)
        return isinstance(value, list | tuple)

    return Annotated[
        Annotated[many, Tag("[many]")] | Annotated[one, Tag("[one]")],
        Discriminator(lambda value: "[many]" if is_many(value) else "[one]"),
    ]


def array(shape: tuple[int, ...], dimension: Dimension | None = None, *, in_units: bool = False) -> Any:
    """Annotation of a nested list of numbers of a shape (-1: any length), read into an array."""

    def read(value: Any, info: ValidationInfo) -> Floats:
        context = context_of(info)
        scale = context.length if in_units else 1.0
        return _array(value, shape, dimension, context, scale)

    words = f"list of {_shape_text(shape)} numbers"
    return Annotated[Any, PlainValidator(read), with_schema(["array"], words)]


def _array(
    value: Any, shape: tuple[int, ...], dimension: Dimension | None, context: Context, scale: float
) -> Floats:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise fail(f"expected a list of {_shape_text(shape)} numbers, found {shown(value)}")
    if shape[0] not in (-1, len(value)):
        raise fail(f"has {len(value)} entries, expected {shape[0]}")
    if len(shape) == 1:
        return np.array([read_in_units(item, dimension, context, scale) for item in value])
    rows = [_array(row, shape[1:], dimension, context, scale) for row in value]
    if len({row.shape for row in rows}) > 1:
        raise fail("rows of different lengths")
    return np.array(rows) if rows else np.zeros([max(n, 0) for n in shape])


def _shape_text(shape: tuple[int, ...]) -> str:
    return " x ".join("n" if n < 0 else str(n) for n in shape)
