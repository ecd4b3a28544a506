"""Changes to the text of a recipe that leave every other character as it is."""

from __future__ import annotations

import re
from typing import Any

from flexmbs.reduce.options import recipe_text
from flexmbs.toml_file import parse_toml

_HEADER = re.compile(r"^\s*\[", re.MULTILINE)


def with_entry(text: str, table: str, name: str, entry: Any) -> str:
    """The text with one more line at the end of a table, which is made where there is none."""
    line = recipe_text({table: {name: entry}}).split("\n", 2)[2].strip("\n")
    header = re.search(rf"^\s*\[\s*{re.escape(table)}\s*\][^\n]*(\n|$)", text, re.MULTILINE)
    if header is None:
        return f"{text.rstrip()}\n\n[{table}]\n{line}\n".lstrip("\n")
    following = _HEADER.search(text, header.end())
    stop = len(text) if following is None else following.start()
    body = text[header.start() : stop]
    kept = body.rstrip()
    return text[: header.start()] + f"{kept}\n{line}\n" + body[len(kept) :].removeprefix("\n") + text[stop:]


def free_name(text: str, wanted: str, table: str = "interfaces") -> str:
    """A name that no interface of the text has, or no entry of another table."""
    taken = parse_toml(text).data.get(table, {})
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
