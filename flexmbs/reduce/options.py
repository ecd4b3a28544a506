"""Options of the command line as keys of a recipe, and a recipe as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from flexmbs.errors import Diagnostic, InputError
from flexmbs.modal.interfaces import TIES
from flexmbs.toml_file import parse_toml

#: where an option of an interface ends: before a tie or a key
_PARTS = re.compile(rf":(?=(?:{'|'.join(TIES)})(?::|$)|[a-z]+=)", re.IGNORECASE)


def interface_table(items: Sequence[Any]) -> dict[str, Any]:
    """`["bore", "pin:rbe3:pos=0.1,0,0"]` -> the table of a recipe."""
    table: dict[str, Any] = {}
    for item in items:
        if isinstance(item, Mapping):
            table[str(item.get("name", item.get("set", "")))] = {k: v for k, v in item.items() if k != "name"}
            continue
        name, *parts = _PARTS.split(str(item))
        if name in table:
            what = "is given twice"
            raise InputError(Diagnostic("recipe.interface", f"interfaces.{name}", what, "name it once"))
        keys = dict(_key_of(part) for part in parts)
        place = {} if set(keys) - {"tie", "dofs", "pos", "rot"} else {"set": name}
        table[name] = place | {"tie": "rbe2"} | keys
    return table


def _key_of(part: str) -> tuple[str, Any]:
    """Key and value of `rbe3`, `pos=0.1,0,0`, `dofs=x y`, `cylinder={axis="z",...}`."""
    key, equals, text = part.partition("=")
    if not equals:
        return "tie", part.lower()
    try:
        return key, parse_toml(f"value = {text}").data["value"]
    except InputError:
        words = [word.strip() for word in text.split(",")]
    try:
        return key, [float(word) for word in words] if len(words) > 1 else words[0]
    except ValueError:
        return key, words


def recipe_text(data: Mapping[str, Any]) -> str:
    """A recipe as TOML: keys first, then tables; `reduce` reads it as the dictionary."""
    lines = [f"{key} = {_toml(value)}" for key, value in data.items() if not isinstance(value, Mapping)]
    for name, table in data.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{_toml_key(name)}]"]
            lines += [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # texts, numbers and flags are those of JSON


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
