"""Tables as TOML text: what is written reads back as the same tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(data: Mapping[str, Any]) -> str:
    """Text of a file: values, then a `[table]` for every table, a `[table.name]` for tables of tables."""
    lines = [f"{_key(k)} = {_value(v)}" for k, v in data.items() if not isinstance(v, Mapping)]
    for name, table in data.items():
        if isinstance(table, Mapping):
            lines += _table([name], table)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(path: list[str], table: Mapping[str, Any]) -> Iterator[str]:
    named = len(path) == 1 and bool(table) and all(isinstance(item, Mapping) for item in table.values())
    if named:
        for name, item in table.items():
            yield from _table([*path, name], item)
        return
    yield f"\n[{'.'.join(map(_key, path))}]"
    yield from (f"{_key(k)} = {_value(v)}" for k, v in table.items())


def _key(word: str) -> str:
    return word if _BARE.fullmatch(word) else _string(word)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)  # inf and nan are words of TOML
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(map(_value, value))}]"
