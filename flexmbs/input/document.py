"""JSON Schema of cases and recipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from flexmbs import disk
from flexmbs.input.descriptions import described


def json_schema(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Schema (draft 2020-12) of a file, made from the class that reads it."""
    schema = model.model_json_schema(by_alias=True)
    for title, table in {model.__name__: schema, **schema.get("$defs", {})}.items():
        for key, item in table.get("properties", {}).items():
            item.setdefault("description", described(title, key, table.get("description", "")))
    _loosen(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"flexmbs {name} file",
    }


def write_schema(path: str | Path, schema: dict[str, Any], *, overwrite: bool = False) -> None:
    """Write the schema as text."""
    with disk.atomic_file(path, overwrite) as raw:
        raw.write((json.dumps(schema, indent=2) + "\n").encode())


def _loosen(item: Any) -> None:
    """`oneOf` becomes `anyOf`, in place: a text can be a word and a number with a unit at once."""
    for part in item if isinstance(item, list) else item.values() if isinstance(item, dict) else ():
        _loosen(part)
    if isinstance(item, dict) and isinstance(item.get("oneOf"), list):
        item["anyOf"] = item.pop("oneOf")
