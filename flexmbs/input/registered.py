"""Tables whose key `type` names a registered class, and texts that name other parts of the file."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator
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
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        for mark in args[1:]:
            if isinstance(mark, Names) and isinstance(value, str):
                yield Named(path, mark, value)
            if isinstance(mark, Registered) and isinstance(value, dict):
                kind = str(value.get("type"))
                yield from names_in(mark.table(kind) if kind in mark.registry else mark.base, value, path)
        yield from names_in(args[0], value, path)
    elif origin in (Union, types.UnionType):
        for arg in args:
            yield from names_in(arg, value, path)
    elif origin is list and isinstance(value, list):
        for k, item in enumerate(value):
            yield from names_in(args[0], item, (*path, k))
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from (found._replace(key=True) for found in names_in(args[0], key, (*path, key)))
            yield from names_in(args[1], item, (*path, key))
    elif isinstance(annotation, type) and issubclass(annotation, Table) and isinstance(value, dict):
        for name, info in annotation.model_fields.items():
            key = info.alias or name
            if key in value:
                inner = Annotated[info.annotation, *info.metadata] if info.metadata else info.annotation
                yield from names_in(inner, value[key], (*path, key))
