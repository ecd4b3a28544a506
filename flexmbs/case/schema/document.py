"""JSON Schema of case files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.case.schema.casefile import CaseFile


def json_schema() -> dict[str, Any]:
    """Schema (draft 2020-12) made from the classes that read case files."""
    schema = CaseFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "flexmbs case file"}


def write_schema(path: str | Path, schema: dict[str, Any], *, overwrite: bool = False) -> None:
    """Write the schema as text."""
    with disk.atomic_file(path, overwrite) as raw:
        raw.write((json.dumps(schema, indent=2) + "\n").encode())
