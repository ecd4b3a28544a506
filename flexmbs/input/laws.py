"""Numbers of forces: values, expressions, or Python functions."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, WithJsonSchema

from flexmbs import units
from flexmbs.expressions import Expression
from flexmbs.input.values import Table, context_of, law, read_law


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
        Annotated[law(dimension), Tag("[number]")] | Annotated[PythonLaw, Tag("[function]")],
        Discriminator(lambda value: "[function]" if isinstance(value, dict | PythonLaw) else "[number]"),
    ]


AnyLaw = force_law(None)
ForceLaw = force_law(units.FORCE)
TorqueLaw = force_law(units.TORQUE)
