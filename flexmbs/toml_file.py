"""TOML text -> data, with the line and column of every key and value (tomllib keeps none).

The values come from tomllib, so that they are TOML to the letter. A second pass over the same, by then
valid, text only finds places: it splits keys, tables and arrays and never interprets a scalar.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexmbs.errors import Diagnostic, InputError

MAX_BYTES = 32_000_000
MAX_DEPTH = 24
#: keys, values, tables and comments in one file: enough for a generator, little enough for the parser
MAX_ITEMS = 150_000
#: characters of one text or comment
MAX_TEXT = 1_000_000
HDF5_SIGNATURE = b"\x89HDF\r\n"

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """Line and column (from 1) of a key, of its value, and behind that; array items have only a value.

    Of a header all stand at its bracket.
    """

    key: tuple[int, int]
    value: tuple[int, int]
    end: tuple[int, int] = (0, 0)


@dataclass
class TomlFile:
    """Content of a TOML file: plain `data`, and `places` by path, `("bodies", "rod", "modes", 0)`."""

    name: str
    text: str
    data: dict[str, Any]
    places: dict[Path_, Place] = field(default_factory=dict)
    folder: Path | None = None

    def place(self, path: Path_, *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value (or key) at `path`, or of the nearest thing around it."""
        path = tuple(path)
        while path and path not in self.places:
            path, key = path[:-1], True
        if not path:
            return (1, 1)
        found = self.places[path]
        return found.key if key else found.value

    def where(self, path: Path_, *, key: bool = False, offset: int = 0) -> str:
        """`file:line:column` for messages; `offset` counts characters into the value."""
        line, column = self.place(path, key=key)
        return f"{self.name}:{line}:{column + offset}"


def read_toml(path: str | Path, *, name: str | None = None, max_bytes: int = MAX_BYTES) -> TomlFile:
    """Read a TOML file; every way in which it can be unreadable is an `InputError` that says where."""
    path = Path(path)
    name = name or str(path)
    try:
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "there is no such file"
            raise InputError(Diagnostic("toml.missing", name, what))
        if path.stat().st_size > max_bytes:
            raise InputError(_too_large(name, path.stat().st_size, max_bytes))
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(Diagnostic("toml.unreadable", name, f"cannot be read: {reason}")) from None
    if raw.startswith(HDF5_SIGNATURE):
        what = "is an HDF5 file, a result or modal data, where a TOML file is expected"
        raise InputError(Diagnostic("toml.binary", name, what, "flexmbs info shows it"))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise InputError(
            Diagnostic("toml.encoding", f"{name}:{line}:{column}", "not UTF-8 text", "save the file as UTF-8")
        ) from None
    result = parse_toml(text, name=name, max_bytes=max_bytes)
    result.folder = path.parent
    return result


def parse_toml(text: str, *, name: str = "<text>", max_bytes: int = MAX_BYTES) -> TomlFile:
    """Parse TOML text; see `read_toml`."""
    if len(text) > max_bytes:
        raise InputError(_too_large(name, len(text), max_bytes))
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        check_extent(text)
        data = tomllib.loads(text)
        _check_depth(data)
        places = _Places(text).scan()
    except tomllib.TOMLDecodeError as error:
        raise InputError(_syntax_error(name, text, str(error))) from None
    except _Beyond as error:
        where = f"{name}:{text.count(chr(10), 0, error.at) + 1}" if error.at >= 0 else name
        raise InputError(Diagnostic("toml.limits", where, str(error), error.remedy)) from None
    except ValueError as error:
        raise InputError(Diagnostic("toml.limits", name, f"not a value that TOML allows: {error}")) from None
    return TomlFile(name, text, data, places)


def parse_value(text: str) -> Any:
    """A value as it would stand behind `=` in a TOML file; anything else is taken as a string."""
    try:
        check_extent(text)
        data = tomllib.loads(f"value = {text}\n")
        _check_depth(data)
    except (ValueError, _Beyond):
        return text
    return data["value"] if set(data) == {"value"} else text


class _Beyond(Exception):
    """Text beyond a limit, from the character `at` on."""

    def __init__(self, what: str, remedy: str, at: int = -1) -> None:
        super().__init__(what)
        self.remedy, self.at = remedy, at


def _too_deep(at: int = -1) -> _Beyond:
    return _Beyond(f"nested deeper than {MAX_DEPTH} levels", "write flatter tables", at)


#: comments and strings, also those without an end, and what structures a text; nothing is tried twice
_TOKEN = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]++|\\.|"(?!""))*+"{0,5}+|'
    r"'''(?:[^']++|'(?!''))*+'{0,5}+|"
    r'"(?:[^"\\\n]++|\\.)*+"?+|'
    r"'[^'\n]*+'?+|[\[\]{},=.]",
    re.DOTALL,
)


def check_extent(text: str) -> None:
    """Refuse text with too many items, or nested too deeply, by its punctuation alone, before it is parsed.

    A parser takes a hundred times the memory of such text, and time that grows with the square of its depth.
    """
    items = depth = dots = 0
    for found in _TOKEN.finditer(text):
        first = found[0][0]
        dots = dots + 1 if first == "." else 0
        items += first not in "]}"
        depth += (first in "[{") - (first in "]}")
        if max(depth, dots) > MAX_DEPTH:
            raise _too_deep(found.start())
        if len(found[0]) > MAX_TEXT:
            raise _Beyond(f"a text of more than {MAX_TEXT} characters", "shorten it", found.start())
        if items > MAX_ITEMS:
            what, remedy = (
                f"more than {MAX_ITEMS} keys and values",
                "long lists of numbers go into table files",
            )
            raise _Beyond(what, remedy, found.start())


def _too_large(name: str, size: int, limit: int) -> Diagnostic:
    return Diagnostic("toml.size", name, f"{size} bytes are more than the limit of {limit}")


def _check_depth(data: Any) -> None:
    """Refuse deep nesting before anything walks through the data by recursion."""
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _syntax_error(name: str, text: str, message: str) -> Diagnostic:
    what, _, place = message.rpartition(" (at ")
    numbers = re.match(r"line (\d+), column (\d+)", place)
    if numbers:
        line, column = int(numbers[1]), int(numbers[2])
    else:  # "at end of document"
        line, column = text.count("\n") + 1, len(text) - (text.rfind("\n") + 1) + 1
        what = (what or message) + " at the end of the file"
    what = _in_plain_words(what[:1].lower() + what[1:])
    return Diagnostic("toml.syntax", f"{name}:{line}:{column}", f"not valid TOML: {what}")


def _in_plain_words(what: str) -> str:
    """Findings of tomllib as people say them."""
    twice = re.match(r"cannot declare \((.*?),?\) twice", what)
    if twice:
        table = ".".join(part.strip().strip("'\"") for part in twice[1].split(","))
        return f"the table [{table}] stands here for the second time; write its keys into the first"
    if what == "invalid value":
        return f"{what}; texts stand in quotes, true and false are small letters"
    return what


_SPACE = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r'[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{1,2}(?!"))?|\'\'\'.*?\'\'\'(?:\'{1,2}(?!\'))?|"(?:[^"\\]|\\.)*"|\'[^\']*\'',
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class _Places:
    """Finds the places of keys and values in text that tomllib has accepted."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line, self.line_start = 1, 0
        self.places: dict[Path_, Place] = {}
        self.items: dict[Path_, int] = {}

    def scan(self) -> dict[Path_, Place]:
        table: Path_ = ()
        while True:
            self.skip(_SPACE)
            if self.at >= len(self.text):
                return self.places
            table = self.header() if self.text[self.at] == "[" else self.pair(table)

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        found = match.group() if match else ""
        lines = found.count("\n")
        if lines:
            self.line += lines
            self.line_start = self.at + found.rindex("\n") + 1
        self.at += len(found)
        return found

    def here(self) -> tuple[int, int]:
        return self.line, self.at - self.line_start + 1

    def header(self) -> Path_:
        """`[a.b]` or `[[a.b]]`: the path of the table; items of arrays of tables are counted."""
        is_array = self.text.startswith("[[", self.at)
        place = self.here()
        self.at += 2 if is_array else 1
        self.skip(_BLANK)
        keys, _ = self.keys()
        path: Path_ = ()
        for key in keys[:-1]:
            path = (*path, key)
            self.places.setdefault(path, Place(place, place))
            path = self.latest(path)
        path = (*path, keys[-1])
        self.places.setdefault(path, Place(place, place))
        if is_array:
            self.items[path] = self.items.get(path, -1) + 1
            path = (*path, self.items[path])
            self.places[path] = Place(place, place)
        self.skip(_BLANK)
        self.at += 2 if is_array else 1
        return path

    def latest(self, path: Path_) -> Path_:
        return (*path, self.items[path]) if path in self.items else path

    def keys(self) -> tuple[list[str], tuple[int, int]]:
        place = self.here()
        found = []
        while True:
            text = self.skip(_KEY)
            found.append(tomllib.loads(f"k = {text}")["k"] if text[0] in "\"'" else text)
            if not self.skip(_DOT):
                return found, place

    def pair(self, table: Path_) -> Path_:
        """`key = value`; returns the table, which goes on behind the pair."""
        keys, key_place = self.keys()
        self.skip(_BLANK)
        self.at += 1  # the equals sign
        self.skip(_BLANK)
        value_place = self.here()
        for n in range(1, len(keys)):
            self.places.setdefault((*table, *keys[:n]), Place(key_place, key_place))
        path = (*table, *keys)
        self.places[path] = Place(key_place, value_place)
        self.places[path] = Place(key_place, value_place, self.value(path))
        return table

    def value(self, path: Path_) -> tuple[int, int]:
        """Walk over a value; returns where it ends."""
        start, blank = self.text[self.at], 0
        if start in "\"'":
            self.skip(_STRING)
        elif start == "[":
            self.array(path)
        elif start == "{":
            self.inline_table(path)
        else:
            scalar = self.skip(_SCALAR)
            blank = len(scalar) - len(scalar.rstrip())
        line, column = self.here()
        return line, column - blank

    def array(self, path: Path_) -> None:
        self.at += 1
        for k in range(len(self.text)):
            self.skip(_SPACE)
            if self.text[self.at] == "]":
                break
            place = self.here()
            self.places[*path, k] = Place(place, place)
            self.places[*path, k] = Place(place, place, self.value((*path, k)))
            self.skip(_SPACE)
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def inline_table(self, path: Path_) -> None:
        self.at += 1
        while True:
            self.skip(_SPACE)
            if self.text[self.at] == "}":
                break
            self.pair(path)
            self.skip(_SPACE)
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1
