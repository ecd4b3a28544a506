"""Values of cases and recipes: numbers with units, expressions, vectors; read into SI numbers."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from flexmbs import units
from flexmbs.errors import nearest
from flexmbs.expressions import Expression, ExpressionError, constant, parse, table_loader
from flexmbs.units import Dimension, UnitError

#: numbers of bodies beyond this are mistakes, and their products would not be finite
LARGEST = 1e60
#: directions shorter than this are none
SMALLEST = 1e-12
NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"


@dataclass
class Context:
    """What values may refer to while they are read: parameters, and the folder of tables.

    length : what a bare number counts as, where it is a length of a mesh [m]
    """

    parameters: Mapping[str, float] = field(default_factory=dict)
    folder: Path | None = None
    root: Path | None = None
    allow_python: bool = False
    length: float = 1.0


class Table(BaseModel):
    """Base of all tables: unknown keys are errors; in Python `from` and `in` are `from_` and `in_`.

    Modules of tables leave their annotations as they are: as texts (`from __future__ import annotations`)
    each would be compiled again in every start.
    """

    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, arbitrary_types_allowed=True, defer_build=True
    )


class Measured(float):
    """A number that remembers the dimension of its unit, where the key alone does not say which is due."""

    dimension: Dimension | None = None

    @staticmethod
    def of(value: float, dimension: Dimension | None) -> Measured:
        result = Measured(value)
        result.dimension = dimension
        return result


def fail(what: str, column: int = 0, *, code: str | None = None) -> PydanticCustomError:
    """Error of a value; `column` counts characters into a string, `code` is that of the finding."""
    return PydanticCustomError("value", "{what}", {"what": what, "column": column, "code": code})


def shown(value: Any) -> str:
    """A value as messages show it."""
    if isinstance(value, str):
        return f'"{value[:60]}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else str(value)[:60]


def context_of(info: ValidationInfo) -> Context:
    return info.context if isinstance(info.context, Context) else Context()


def read_expression(text: str, context: Context) -> Expression:
    """Parse `=...` and put the parameters in; one that stands alone gives its dimension."""
    load_table = table_loader(context.folder, context.root) if context.folder is not None else None
    try:
        parsed, values = parse(text, load_table=load_table), context.parameters
        if parsed.tables:
            return parsed.substitute(values)
        found = _with_numbers(text, tuple((n, float(values[n]).hex()) for n in parsed.names if n in values))
        alone = values.get(parsed.tree.label) if parsed.tree.op == "name" else None
        dimension = getattr(alone, "dimension", None)
        return found if dimension is None else replace(found, dimension=dimension)
    except ExpressionError as error:
        raise fail(str(error), error.column) from None


@lru_cache(maxsize=4096)
def _with_numbers(text: str, given: tuple[tuple[str, str], ...]) -> Expression:
    """An expression with numbers, to their last bit, in the place of names: designs have most in common."""
    return parse(text).substitute({name: float.fromhex(value) for name, value in given})


def is_expression(value: Any) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("=")


def read_number(value: Any, dimension: Dimension | None, context: Context) -> Measured:
    """A number, a string with a unit, or an expression of parameters, in SI units."""
    if isinstance(value, Measured):
        value, found = float(value), value.dimension
        if dimension is not None and found is not None:
            _checked(units.check_dimension, units.Quantity(value, found), dimension)
        return Measured.of(value, found)
    if is_expression(value):
        expression = read_expression(value, context)
        for node in expression.names.values():
            remedy = nearest(node.label, list(context.parameters))
            raise fail(f'"{node.label}" is no parameter; {remedy}', node.column)
        _check_alone(value, expression, dimension)
        try:
            return Measured.of(expression.number(), expression.dimension)
        except ExpressionError as error:
            raise fail(str(error)) from None
    if isinstance(value, str):
        quantity = _checked(units.parse_quantity, value)
        if dimension is not None:
            _checked(_check_named, value, quantity, dimension)
        return Measured.of(quantity.value, quantity.dimension)
    return Measured.of(_checked(units.to_si, value, units.NONE), None)


def read_in_units(value: Any, dimension: Dimension | None, context: Context, unit: float) -> Measured:
    """A number of a body: a bare one counts in units of `unit`, and none is beyond all bounds."""
    found = read_number(value, dimension, context)
    if found.dimension is None and not is_expression(value):
        found = Measured.of(found * unit, None)
    if not abs(found) < LARGEST:
        raise fail(f"{shown(value)} is out of range")
    return found


def _check_named(text: str, quantity: units.Quantity, dimension: Dimension) -> None:
    try:
        units.check_dimension(quantity, dimension)
    except UnitError as error:
        raise UnitError(f'"{text}" {error}') from None


def _check_alone(text: str, expression: Expression, dimension: Dimension | None) -> None:
    """A parameter that stands alone has the dimension of its key."""
    if dimension is not None and expression.dimension is not None:
        _checked(_check_named, text, units.Quantity(expression.number(), expression.dimension), dimension)


def _checked(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except UnitError as error:
        raise fail(str(error)) from None


def read_law(value: Any, dimension: Dimension | None, context: Context) -> Expression:
    """A number with unit, or an expression of time and channels."""
    if isinstance(value, Expression):
        return value.substitute(context.parameters)
    if is_expression(value):
        expression = read_expression(value, context)
        _check_alone(value, expression, dimension)
        return expression
    if isinstance(value, Mapping):
        raise fail('expected a number or an expression "=...", found a table')
    number = read_number(value, dimension, context)
    return replace(constant(number), dimension=number.dimension)


def with_schema(kinds: list[str], words: str) -> WithJsonSchema:
    """What editors are told of a value."""
    return WithJsonSchema({"type": kinds, "description": words})


def _schema(words: str, *, law: bool) -> WithJsonSchema:
    more = "; or an expression of t and channels, '=...'" if law else "; or '=...' of parameters"
    return with_schema(["number", "string"], words + ", or a string with unit" + more)


def number(dimension: Dimension | None, *, in_units: bool = False) -> Any:
    """Annotation of a number of a dimension (None: any); `in_units`: bare ones are in those of the mesh."""
    words = "number in SI units" if dimension is None else units.describe(dimension) + " in SI units"

    def read(value: Any, info: ValidationInfo) -> Measured:
        context = context_of(info)
        if in_units:
            return read_in_units(value, dimension, context, context.length)
        return read_number(value, dimension, context)

    if dimension is None:  # keeps the Measured, pydantic's float would not
        return Annotated[float, PlainValidator(read), _schema(words, law=False)]
    return Annotated[float, BeforeValidator(read), _schema(words, law=False)]


def law(dimension: Dimension | None) -> Any:
    """Annotation of a number or expression of a dimension (None: any)."""
    words = "number in SI units" if dimension is None else units.describe(dimension) + " in SI units"

    def read(value: Any, info: ValidationInfo) -> Expression:
        return read_law(value, dimension, context_of(info))

    return Annotated[Expression, BeforeValidator(read), _schema(words, law=True)]


def not_negative(item: Any) -> Any:
    """Annotation of a number or expression that is no negative number; an expression may turn negative."""

    def check(value: Any) -> Any:
        if isinstance(value, Expression) and value.is_constant and value.number() < 0.0:
            raise fail(f"must be at least 0, found {value.number():g}")
        return value

    return Annotated[item, AfterValidator(check)]


def vector(item: Any, length: int | None = 3) -> Any:
    """Annotation of a list of values."""
    if length is None:
        return list[item]
    return Annotated[list[item], Field(min_length=length, max_length=length)]


def as_given(value: Any) -> Any:
    """Tables as plain dictionaries of the keys that were given."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        found = {fields[name].alias or name: getattr(value, name) for name in value.model_fields_set}
        return {name: as_given(item) for name, item in found.items() if item is not None}
    return [as_given(item) for item in value] if isinstance(value, list) else value


def text_or(table: Any) -> Any:
    """Annotation of a text or a table."""
    return Annotated[
        Annotated[str, Tag("[text]")] | Annotated[table, Tag("[table]")],
        Discriminator(lambda value: "[text]" if isinstance(value, str) else "[table]"),
    ]


def _read_version(value: Any) -> int:
    if type(value) is not int or value != 1:
        raise fail(f"expected 1, the only version so far, found {shown(value)}")
    return value


FormatVersion = Annotated[int, PlainValidator(_read_version), WithJsonSchema({"const": 1})]
Number = number(None)
Law = law(None)
Length = number(units.LENGTH)
Mass = Annotated[number(units.MASS), Field(ge=0.0)]
Angle = number(units.ANGLE)
Time = number(units.TIME)
Frequency = number(units.FREQUENCY)
Plain = number(units.NONE)
_LETTERS = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "z": [0.0, 0.0, 1.0]}
#: three components, or the letter of an axis
Direction = Annotated[
    vector(Plain),
    BeforeValidator(
        lambda v: _LETTERS.get(v, v) if isinstance(v, str) else v,
        json_schema_input_type=Literal["x", "y", "z"] | vector(Plain),
    ),
]
Point = vector(Length)
MovingPoint = vector(law(units.LENGTH))
MovingDirection = vector(law(units.NONE))
