"""Errors of pydantic -> messages with place, entity, finding and nearest valid choice."""

from __future__ import annotations

import re
import types
import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from flexmbs.errors import Diagnostic, nearest
from flexmbs.input.source import Source

Path_ = tuple[str | int, ...]


def diagnostics_of(error: ValidationError, source: Source, model: type[BaseModel]) -> list[Diagnostic]:
    """One diagnostic per finding, in the order of the file."""
    found = []
    for item in error.errors(include_url=False):
        path = _in_data(item["loc"], source.data, item["type"] == "missing", model)
        found.append((_line(source, path), _diagnostic(item, path, source, model)))
    return [diagnostic for _, diagnostic in sorted(found, key=lambda pair: pair[0])]


def _line(source: Source, path: Path_) -> tuple[int, int, int]:
    owner = source.owner(path)
    number = source.files.index(owner) if owner in source.files else len(source.files)
    return (number, *owner.place(path)) if owner is not None else (number, 0, 0)


def _in_data(loc: tuple[Any, ...], data: Any, is_missing: bool, model: type[BaseModel]) -> Path_:
    """Path in the data: pydantic's location without the tags of unions; the last may be a missing key."""
    path: list[str | int] = []
    kinds: list[Any] = [model]
    for n, step in enumerate(loc):
        tagged, kinds = _tagged(kinds, step), _after(kinds, step)
        if tagged:
            continue  # of a cam the tag is also one of its keys
        is_new = n == len(loc) - 1 and (is_missing or step == "[key]")
        if is_new or (isinstance(data, dict) and step in data):
            path.append(step)
            data = data.get(step) if isinstance(data, dict) else None
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            path.append(step)
            data = data[step]
    return tuple(path)


def dotted(path: Path_) -> str:
    """`bodies.rod.com[0]` of a path."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else str(step))
    return text


def _diagnostic(item: Any, path: Path_, source: Source, model: type[BaseModel]) -> Diagnostic:
    kind, context = item["type"], item.get("ctx", {})
    table, name = dotted(path[:-1]), path[-1] if path else ""
    prefix = f"{table}: " if table else ""
    whole = dotted(path) or "case"
    if kind == "extra_forbidden":
        what, remedy = f'{prefix}unknown key "{name}"', nearest(str(name), keys_at(model, item["loc"][:-1]))
        return Diagnostic("case.unknown_key", source.where(path, key=True), what, remedy)
    if kind == "missing":
        return Diagnostic("case.missing_key", source.where(path[:-1], key=True), f'{prefix}needs "{name}"')
    if kind == "union_tag_not_found":
        choices = quoted(context.get("expected_tags", "")) or _tags(model, item["loc"])
        what = f'{whole}: needs "type"'
        return Diagnostic("case.missing_key", source.where(path, key=True), what, nearest("", choices))
    if kind == "union_tag_invalid":
        choices = quoted(context["expected_tags"])
        what = f'{whole}: type "{context["tag"]}"'
        return Diagnostic("case.type", source.where((*path, "type")), what, nearest(context["tag"], choices))
    if path and path[-1] == "[key]":
        what = (
            f'{dotted(path[:-2])}: "{path[-2]}" is no name: letters, digits and _, not beginning with a digit'
        )
        return Diagnostic("case.name", source.where(path[:-1], key=True), what)
    if kind == "literal_error":
        choices = quoted(context["expected"])
        what = f"{prefix}{name} {_show(item['input'])}"
        return Diagnostic("case.choice", source.where(path), what, nearest(str(item["input"]), choices))
    if kind == "value":
        where = source.where(path, offset=context.get("column") or None)
        return Diagnostic("case.value", where, f"{whole}: {context['what']}")
    return Diagnostic("case.value", source.where(path), f"{whole}: {_plain(kind, context, item)}")


def quoted(text: str) -> list[str]:
    """The choices in pydantic's "'a', 'b' or 'c'"."""
    return re.findall(r"'([^']*)'", text)


def _show(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value[:60]}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    return f"a list of {len(value)}" if isinstance(value, list | tuple) else str(value)[:60]


_EXPECTED = {
    "bool": "true or false",
    "dict": "a table",
    "mapping": "a table",
    "model": "a table",
    "list": "a list, [...]",
    "string": "a text in quotes",
    "int": "a whole number",
    "float": "a number",
}


def _plain(kind: str, context: dict[str, Any], item: Any) -> str:
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        return f"expected {wanted} values, found {context['actual_length']}"
    limits = {
        "greater_than": ("gt", "above"),
        "greater_than_equal": ("ge", "at least"),
        "less_than": ("lt", "below"),
        "less_than_equal": ("le", "at most"),
    }
    if kind in limits:
        key, words = limits[kind]
        return f"must be {words} {context[key]:g}, found {_show(item['input'])}"
    if kind == "string_pattern_mismatch":
        return f"{_show(item['input'])} is not of the form {context['pattern']}"
    expected = _EXPECTED.get(kind.split("_")[0])
    if expected:
        return f"expected {expected}, found {_show(item['input'])}"
    return str(item["msg"]).lower()


def keys_at(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """Keys that the tables at pydantic's location `loc` know."""
    kinds: list[Any] = [model]
    for step in loc:
        kinds = _after(kinds, step)
    return [key for kind in kinds if _is_model(kind) for key in fields_of(kind)]


def _tagged(kinds: list[Any], step: Any) -> list[Any]:
    """Members of a union of tables that the step tells by their `type`."""
    models = [kind for kind in kinds if _is_model(kind)]
    tagged = [kind for kind in models if step in typing.get_args(fields_of(kind).get("type"))]
    return tagged if len(models) > 1 else []


def _after(kinds: list[Any], step: Any) -> list[Any]:
    """What may stand at one more step of pydantic's location."""
    return _tagged(kinds, step) or [child for kind in kinds for child in _children(kind, step)]


def fields_of(model: type[BaseModel]) -> dict[str, Any]:
    """Keys of a table as users write them, with their annotations."""
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _expand(annotation: Any) -> list[Any]:
    """Members of a union, without wrappers and None."""
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _expand(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [kind for arg in typing.get_args(annotation) for kind in _expand(arg)]
    return [] if annotation is type(None) else [annotation]


def _children(kind: Any, step: Any) -> list[Any]:
    if _is_model(kind):
        fields = fields_of(kind)
        if step in fields:
            return _expand(fields[step])
        tags = typing.get_args(fields["type"]) if "type" in fields else (step,)
        return [kind] if step in tags else []
    origin = typing.get_origin(kind)
    if origin is dict:
        return _expand(typing.get_args(kind)[1])
    return _expand(typing.get_args(kind)[0]) if origin is list else []


def _tags(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    kinds: list[Any] = [model]
    for step in loc:
        kinds = _after(kinds, step)
    return [tag for kind in kinds if _is_model(kind) for tag in typing.get_args(fields_of(kind).get("type"))]
