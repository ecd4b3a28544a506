"""Errors of pydantic -> messages with place, entity, finding and nearest valid choice."""

from __future__ import annotations

import re
import types
import typing
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from flexmbs.errors import Diagnostic, Diagnostics, InputError, merged, nearest
from flexmbs.input.registered import Registered
from flexmbs.input.source import Source
from flexmbs.input.values import Context, shown

Path_ = tuple[str | int, ...]
T = TypeVar("T", bound=BaseModel)

#: as many findings as are put into words; a file with more is another kind of file
MOST_TOLD = 1000
#: keys that say which of several tables is meant
TAGS = ("type", "shape")


def read_tables(
    model: type[T], data: dict[str, Any], source: Source, context: Context, found: Diagnostics
) -> T:
    """Data checked by the class of their tables; raises all findings, those before it too, in order."""
    try:
        result = model.model_validate(data, context=context)
        if not found.errors:
            return result
    except ValidationError as error:
        found.extend(diagnostics_of(error, source, model))
    except RecursionError:
        found.error(f"{source.kind}.limits", source.name, "nested too deeply")
    raise InputError(*merged(sorted(found.errors, key=_place)))


def _place(item: Diagnostic) -> tuple[str, int, int]:
    name, *numbers = item.where.rsplit(":", 2)
    if len(numbers) == 2 and all(number.isdigit() for number in numbers):
        return (name, int(numbers[0]), int(numbers[1]))
    return (item.where, 0, 0)


def diagnostics_of(error: ValidationError, source: Source, model: type[BaseModel]) -> list[Diagnostic]:
    """One diagnostic per finding, in the order of the file."""
    found = []
    for item in error.errors(include_url=False)[:MOST_TOLD]:
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
    whole = dotted(path) or source.kind
    if kind == "extra_forbidden":
        what, remedy = f'{prefix}unknown key "{name}"', nearest(str(name), keys_at(model, item["loc"][:-1]))
        return Diagnostic(f"{source.kind}.unknown_key", source.where(path, key=True), what, remedy)
    if kind == "missing":
        return Diagnostic(
            f"{source.kind}.missing_key", source.where(path[:-1], key=True), f'{prefix}needs "{name}"'
        )
    if kind == "union_tag_not_found":
        choices = quoted(context.get("expected_tags", "")) or _tags(model, item["loc"])
        what = f'{whole}: needs "{_tag_of(context)}"'
        return Diagnostic(
            f"{source.kind}.missing_key", source.where(path, key=True), what, nearest("", choices)
        )
    if kind == "union_tag_invalid":
        choices, key = quoted(context["expected_tags"]), _tag_of(context)
        what = f'{whole}: {key} "{context["tag"]}"'
        return Diagnostic(
            f"{source.kind}.type", source.where((*path, key)), what, nearest(context["tag"], choices)
        )
    if path and path[-1] == "[key]":
        what = (
            f'{dotted(path[:-2])}: "{path[-2]}" is no name: letters, digits and _, not beginning with a digit'
        )
        return Diagnostic(f"{source.kind}.name", source.where(path[:-1], key=True), what)
    if kind == "literal_error":
        choices = quoted(context["expected"])
        what = f"{prefix}{name} {shown(item['input'])}"
        return Diagnostic(
            f"{source.kind}.choice", source.where(path), what, nearest(str(item["input"]), choices)
        )
    if kind == "value":
        where = source.where(path, offset=context.get("column") or None)
        if context["code"]:
            return Diagnostic(context["code"], where, f"{whole}: {context['what']}")
        return Diagnostic(f"{source.kind}.value", where, f"{whole}: {context['what']}")
    return Diagnostic(f"{source.kind}.value", source.where(path), f"{whole}: {_plain(kind, context, item)}")


def _tag_of(context: dict[str, Any]) -> str:
    """The key that says which of several tables is meant."""
    return str(context.get("discriminator", "")).strip("'")


def quoted(text: str) -> list[str]:
    """The choices in pydantic's "'a', 'b' or 'c'"."""
    return re.findall(r"'([^']*)'", text)


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
        return f"must be {words} {context[key]:g}, found {shown(item['input'])}"
    if kind == "string_pattern_mismatch":
        return f"{shown(item['input'])} is not of the form {context['pattern']}"
    expected = _EXPECTED.get(kind.split("_")[0])
    if expected:
        return f"expected {expected}, found {shown(item['input'])}"
    return str(item["msg"]).lower()


def keys_at(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    """Keys that the tables at pydantic's location `loc` know."""
    kinds: list[Any] = [model]
    for step in loc:
        kinds = _after(kinds, step)
    return [key for kind in kinds if _is_model(kind) for key in fields_of(kind)]


def _tagged(kinds: list[Any], step: Any) -> list[Any]:
    """Tables of a union that the step tells by their `type`."""
    named = [kind.table(step) for kind in kinds if isinstance(kind, Registered) and step in kind.registry]
    if named:
        return named
    models = [kind for kind in kinds if _is_model(kind)]
    tagged = [kind for kind in models if step in _tags_of(kind)]
    return tagged if len(models) > 1 else []


def _after(kinds: list[Any], step: Any) -> list[Any]:
    """What may stand at one more step of pydantic's location; which of two forms it is, is no step."""
    if isinstance(step, str) and step.startswith("["):
        return kinds
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
        inner, *marks = typing.get_args(annotation)
        return [mark for mark in marks if isinstance(mark, Registered)] or _expand(inner)
    if origin in (typing.Union, types.UnionType):
        return [kind for arg in typing.get_args(annotation) for kind in _expand(arg)]
    return [] if annotation is type(None) else [annotation]


def _children(kind: Any, step: Any) -> list[Any]:
    if _is_model(kind):
        fields = fields_of(kind)
        if step in fields:
            return _expand(fields[step])
        return [kind] if step in (_tags_of(kind) or (step,)) else []
    origin = typing.get_origin(kind)
    if origin is dict:
        return _expand(typing.get_args(kind)[1])
    return _expand(typing.get_args(kind)[0]) if origin is list else []


def _tags(model: type[BaseModel], loc: tuple[Any, ...]) -> list[str]:
    kinds: list[Any] = [model]
    for step in loc:
        kinds = _after(kinds, step)
    named = [name for kind in kinds if isinstance(kind, Registered) for name in kind.registry]
    return named or [tag for kind in kinds if _is_model(kind) for tag in _tags_of(kind)]


def _tags_of(model: type[BaseModel]) -> tuple[Any, ...]:
    """Values of the key that tells this table from others."""
    fields = fields_of(model)
    literals = [fields[key] for key in TAGS if typing.get_origin(fields.get(key)) is typing.Literal]
    return typing.get_args(literals[0]) if literals else ()
