"""[parameters]: numbers, strings with units, expressions of other parameters -> SI numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from flexmbs.errors import nearest
from flexmbs.expressions import ExpressionError
from flexmbs.input.values import Context, is_expression, read_expression, read_number

Problem = tuple[str, str, int | None]  # parameter, what, column


def resolve(raw: Mapping[str, Any]) -> tuple[dict[str, float], list[Problem]]:
    """Values of all parameters, and what is wrong; a wrong parameter counts as 1 for those after it."""
    values: dict[str, float] = {}
    problems: list[Problem] = []
    for name in raw:
        _resolve(name, raw, values, problems, ())
    return values, problems


def _resolve(
    name: str,
    raw: Mapping[str, Any],
    values: dict[str, float],
    problems: list[Problem],
    chain: tuple[str, ...],
) -> None:
    if name in values:
        return
    try:
        if name in chain:
            loop = " -> ".join([*chain[chain.index(name) :], name])
            raise PydanticCustomError("value", "{what}", {"what": f"refers to itself: {loop}", "column": 0})
        values[name] = _value(raw[name], raw, values, problems, (*chain, name))
    except PydanticCustomError as error:
        context = error.context or {}
        problems.append((name, str(context.get("what")), context.get("column")))
        values[name] = 1.0
    except ExpressionError as error:
        problems.append((name, str(error), error.column))
        values[name] = 1.0


def _value(
    value: Any,
    raw: Mapping[str, Any],
    values: dict[str, float],
    problems: list[Problem],
    chain: tuple[str, ...],
) -> float:
    if not is_expression(value):
        return read_number(value, None, Context())
    expression = read_expression(value, Context())
    for node in expression.names.values():
        if node.label not in raw:
            remedy = nearest(node.label, list(raw))
            raise ExpressionError(f'"{node.label}" is no parameter; {remedy}', node.column)
        if len(chain) > 50:
            raise ExpressionError("parameters refer to each other too deeply", node.column)
        _resolve(node.label, raw, values, problems, chain)
    number = expression.number(values)
    return values[expression.tree.label] if expression.tree.op == "name" else number
