"""Tables whose key `type` names a registered class, and texts that name other parts of the file."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any, Union

from pydantic import Field, TypeAdapter, ValidationInfo
from pydantic_core import PydanticKnownError, SchemaValidator, core_schema

from flexmbs.input.source import Path_
from flexmbs.input.values import Table, fail, shown
from flexmbs.registry import Registry


class Registered:
    """Annotation of a table that has the keys of the class its `type` names; that class alone is loaded.

    `make(name, cls)` gives the class of the table, a child of `base`.
    """

    def __init__(self, registry: Registry[Any], make: Callable[[str, Any], type[Table]], base: type[Table]):
        self.registry, self.make, self.base = registry, make, base
        self._made: dict[Any, tuple[type[Table], SchemaValidator]] = {}

    def table(self, name: str) -> type[Table]:
        """The class of the tables of a type."""
        return self._of(name)[0]

    def _of(self, name: str) -> tuple[type[Table], SchemaValidator]:
        cls = self.registry[name]
        if cls not in self._made:
            table = self.make(name, cls)
            table.model_rebuild()
            told = core_schema.tagged_union_schema({name: table.__pydantic_core_schema__}, "type")
            self._made[cls] = table, SchemaValidator(told)  # errors have the type in their place
        return self._made[cls]

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, Table):
            return value
        if not isinstance(value, dict):
            raise fail(f"expected a table, found {shown(value)}")
        told = {"discriminator": "'type'", "expected_tags": ", ".join(map(repr, self.registry.names()))}
        if "type" not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "'type'"})
        name = value["type"]
        if not isinstance(name, str) or name not in self.registry:
            raise PydanticKnownError("union_tag_invalid", {**told, "tag": str(name)})
        return self._of(name)[1].validate_python(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        tables = tuple(self.table(name) for name in self.registry)
        whole: Any = Annotated[Union[tables], Field(discriminator="type")]  # type: ignore[valid-type] # noqa: UP007
        return handler(TypeAdapter(whole).core_schema)


class Names(str):
    """What a text names: "body", "frame" (`body` or `body.frame`), "axes", "joint", "coordinate"."""


BodyName = Annotated[str, Names("body")]
FrameName = Annotated[str, Names("frame")]
#: ground, body, or a frame
AxesName = Annotated[str, Names("axes")]
JointName = Annotated[str, Names("joint")]
#: `joint` where it has one coordinate, or `joint.coordinate`
CoordinateName = Annotated[str, Names("coordinate")]


class Named(typing.NamedTuple):
    """A text that names something, and where it stands; `key`: it is the last key of the path."""

    path: Path_
    kind: str
    text: str
    key: bool = False


def names_in(annotation: Any, value: Any, path: Path_ = ()) -> Iterator[Named]:
    """Every name in data as they were read from a file, by the annotations of their tables."""
    marks, base, origin, args = _read(annotation)
    for mark in marks:
        if isinstance(mark, Names):
            if isinstance(value, str):
                yield Named(path, mark, value)
        elif isinstance(value, dict):
            kind = str(value.get("type"))
            yield from names_in(mark.table(kind) if kind in mark.registry else mark.base, value, path)
    if base is not annotation:
        yield from names_in(base, value, path)
    elif origin is Union:
        for arg in args:
            yield from names_in(arg, value, path)
    elif origin is list and isinstance(value, list):
        for k, item in enumerate(value):
            yield from names_in(args[0], item, (*path, k))
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from (found._replace(key=True) for found in names_in(args[0], key, (*path, key)))
            yield from names_in(args[1], item, (*path, key))
    elif origin is Table and isinstance(value, dict):
        for key, inner in args:
            if key in value:
                yield from names_in(inner, value[key], (*path, key))


#: annotations that were looked at: they are the same for every file
_LOOKED_AT: dict[Any, tuple[Any, Any, Any, Any]] = {}


def _read(annotation: Any) -> tuple[Any, Any, Any, Any]:
    """Marks of names, what they stand at, and its kind: a table with its fields, a union, list or dictionary.

    Fields that cannot hold a name are left out of tables.
    """
    try:
        return _LOOKED_AT[annotation]
    except (KeyError, TypeError):  # TypeError: it has no hash
        pass
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    found: tuple[Any, Any, Any, Any] = (), annotation, None, ()
    if origin is Annotated:
        found = [mark for mark in args[1:] if isinstance(mark, Names | Registered)], args[0], None, ()
    elif origin in (Union, types.UnionType):
        found = (), annotation, Union, args
    elif origin in (list, dict):
        found = (), annotation, origin, args
    elif isinstance(annotation, type) and issubclass(annotation, Table):
        found = (), annotation, Table, [field for field in _fields(annotation) if _may_name(field[1], ())]
    with suppress(TypeError):
        _LOOKED_AT[annotation] = found
    return found


def _fields(table: type[Table]) -> Iterator[tuple[str, Any]]:
    """Keys and annotations of a table."""
    for name, info in table.model_fields.items():
        whole = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
        yield info.alias or name, whole


def _may_name(annotation: Any, above: tuple[Any, ...]) -> bool:
    """Whether data of this annotation can hold a name; `above`: tables that are looked at already."""
    if isinstance(annotation, Names | Registered):
        return True
    if isinstance(annotation, type) and issubclass(annotation, Table):
        inner = [kind for _, kind in _fields(annotation)] if annotation not in above else []
        return any(_may_name(kind, (*above, annotation)) for kind in inner)
    return any(_may_name(kind, above) for kind in typing.get_args(annotation))
