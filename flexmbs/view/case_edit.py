"""Changes to the text of a case that leave every other character as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, FlexmbsError, InputError
from flexmbs.toml_file import Path_, TomlFile, parse_toml
from flexmbs.units import UnitError, parse_quantity

DIGITS = 12
NUMBER_AND_UNIT = re.compile(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)$")
_HEADER = re.compile(r"\[([^\[\]]+)\]")


def value_text(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    if isinstance(value, int):
        return str(value)
    text = f"{float(value) + 0.0:.{DIGITS}g}"
    return text if re.search(r"[.en]", text) else f"{text}.0"


def with_table(text: str, path: tuple[str, str], table: Mapping[str, Any]) -> str:
    """The text with one more table, behind those of its kind, else at the end."""
    lines = "".join(f"{key} = {value_text(item)}\n" for key, item in table.items())
    block = f"[{'.'.join(path)}]\n{lines}"
    file = parse_toml(text)
    wanted = copy.deepcopy(file.data)
    wanted.setdefault(path[0], {})[path[1]] = dict(table)
    ends = [at for words, at in _blocks(file) if words[0] == path[0]]
    places = [ends[-1]] if ends else []
    for at in [*places, len(text)]:
        front, back = text[:at].rstrip("\n"), text[at:].lstrip("\n")
        made = f"{front}\n\n{block}" + (f"\n{back}" if back else "")
        if _says(made.lstrip("\n"), wanted):
            return made.lstrip("\n")
    raise _by_hand(".".join(path))


def with_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """The text with another value at a path, of a key that is there or not; numbers stay in their units."""
    file = parse_toml(text)
    wanted = inner = copy.deepcopy(file.data)
    for key in path[:-1]:
        inner = inner.setdefault(key, {}) if isinstance(inner, dict) else {}
    if isinstance(inner, dict):
        value = inner[path[-1]] = in_its_unit(value, inner.get(path[-1]))
    for made in _changed(file, path, value_text(value)):
        if _says(made, wanted):
            return made
    raise _by_hand(".".join(path))


def in_its_unit(value: Any, there: Any) -> Any:
    """A number (SI) in the unit of what stands there; of a list, item by item."""
    if isinstance(value, list) and isinstance(there, list) and len(value) == len(there):
        return [in_its_unit(item, old) for item, old in zip(value, there, strict=True)]
    known = NUMBER_AND_UNIT.match(there) if isinstance(there, str) else None
    if known is None or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        factor = parse_quantity(f"1 {known[2]}").value
    except UnitError:
        return value
    return f"{value / factor:.{DIGITS}g} {known[2]}"


def _changed(file: TomlFile, path: tuple[str, ...], value: str) -> list[str]:
    """Ways to say it: in place of the value, in the table that is there, in one more table."""
    text, made = file.text, []
    place = file.places.get(path)
    if place is not None and place.end != (0, 0):
        start, end = (_offset(text, at) for at in (place.value, place.end))
        return [text[:start] + value + text[end:]]
    ends = dict(_blocks(file))
    for n in range(len(path) - 1, 0, -1):
        place, rest = file.places.get(path[:n]), path[n:]
        inner = f"{rest[-1]} = {value}"
        if place is None:
            continue
        start = _offset(text, place.value)
        if place.end != (0, 0) and text[start] == "{":
            comma = "" if re.match(r"\{\s*\}", text[start:]) else ","
            made.append(f"{text[: start + 1]} {'.'.join(rest[:-1] + (inner,))}{comma}{text[start + 1 :]}")
        elif path[:n] in ends:
            at = ends[path[:n]]
            line = f"{rest[0]} = {{ {'.'.join(rest[1:-1] + (inner,))} }}" if len(rest) > 1 else inner
            made += [f"{text[:at]}\n{item}{text[at:]}" for item in (line, ".".join(rest[:-1] + (inner,)))]
    if len(path) == 1:  # behind the last key that stands above all tables
        starts = [_offset(text, file.places[path].key) for path in ends]
        first = min(starts, default=len(text))
        above = [_offset(text, place.end) for place in file.places.values() if place.end != (0, 0)]
        at = max((end for end in above if end <= first), default=0)
        return [f"{text[:at]}{chr(10) * bool(at)}{path[0]} = {value}{chr(10) * (not at)}{text[at:]}"]
    block = f"[{'.'.join(path[:-1])}]\n{path[-1]} = {value}\n"
    return [*made, f"{text.rstrip()}\n\n{block}"]


def _blocks(file: TomlFile) -> list[tuple[Path_, int]]:
    """Headers in their order, and where what stands below each of them ends."""
    text, found, ends = file.text, [], []
    for path, place in file.places.items():
        start = _offset(text, place.key)
        header = _HEADER.match(text, start) if place.end == (0, 0) and isinstance(path[-1], str) else None
        if header and len(re.split(r"\s*\.\s*", header[1].strip())) == len(path):
            found.append((path, start, header.end()))
        elif place.end != (0, 0):
            ends.append(_offset(text, place.end))
    out: list[tuple[Path_, int]] = []
    for k, (path, start, end) in enumerate(found):
        stop = found[k + 1][1] if k + 1 < len(found) else len(text)
        out.append((path, max([end, *(item for item in ends if start < item < stop)])))
    return out


def _offset(text: str, at: tuple[int, int]) -> int:
    line, column = at
    start = 0
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start + column - 1


def _says(text: str, wanted: dict[str, Any]) -> bool:
    """Whether the text has these data, numbers to the digits that are written."""
    try:
        return _same(parse_toml(text).data, wanted)
    except FlexmbsError:
        return False


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, Mapping):
        return set(one) == set(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list | tuple | np.ndarray):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, int | float) and isinstance(other, int | float | np.number):
        return abs(one - float(other)) <= 10.0 ** (1 - DIGITS) * abs(float(other))
    return type(one) is type(other) and bool(one == other)


def _by_hand(what: str) -> InputError:
    found = "cannot be put into the text without changing other parts of it"
    return InputError(Diagnostic("view.edit", what, found, "write it by hand"))
