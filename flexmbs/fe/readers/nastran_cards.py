"""Entries of a Nastran file in small, large and free field; includes, case control, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.fe.readers.source import (
    MAX_BYTES,
    Damaged,
    Ints,
    confined,
    is_number,
    one_int,
    read_bytes,
)

DIGITS = tuple("0123456789.-")
SHORT_EXPONENT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([+-]\d+)$")
BEGIN = re.compile(r"\s*BEGIN\b", re.IGNORECASE)
ENDDATA = re.compile(r"ENDDATA", re.IGNORECASE)
FIELDS = 8  # of a line behind its name; half as many in large field
MAX_DEPTH = 8
MAX_FILES = 1000


@dataclass(slots=True)
class Entry:
    """Name and fields behind it, continuations joined; blank fields are empty texts."""

    name: str
    fields: list[str]
    line: int

    def text(self, index: int) -> str:
        return self.fields[index] if index < len(self.fields) else ""

    def whole(self, index: int, default: int | None = None) -> int:
        text = self.text(index)
        if not text and default is not None:
            return default
        try:
            return one_int(text, "", self.line)
        except Damaged:
            raise Damaged(f'field {index + 2} of {self.name} is "{text}", not a number', self.line) from None

    def real(self, index: int) -> float:
        text = self.text(index)
        return short_real(text, self.name, self.line) if text else 0.0

    def number(self, index: int) -> float | None:
        """A real, or nothing where the field is blank."""
        return self.real(index) if self.text(index) else None


def short_real(text: str, name: str, line: int) -> float:
    """Numbers such as 1.5, 1.5-3 and 2.D4."""
    candidate = text.upper().replace("D", "E")
    found = SHORT_EXPONENT.match(text) if "E" not in candidate else None
    candidate = f"{found[1]}e{found[2]}" if found else candidate
    if not is_number(candidate):
        raise Damaged(f'{name}: expected a number, found "{text[:30]}"', line)
    return float(candidate)


@dataclass
class Deck:
    """A file as case control lines and bulk data; `comments` are known after the entries.

    bulk : lines up to ENDDATA;  number : of these in their files;  complete : whether there is an ENDDATA
    long : numbers of lines of commas that go on behind their last field, known after the entries
    """

    path: Path
    control: list[tuple[str, int]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    bulk: list[str] = field(default_factory=list)
    number: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    complete: bool = False
    long: list[int] = field(default_factory=list)

    def entries(self) -> Iterator[Entry]:
        """Entries one by one: a list of them would take ten times the memory of the file."""
        current: Entry | None = None
        for at, line in enumerate(self.bulk):
            if not line:
                continue
            number = int(self.number[at])
            if "$" in line:
                line, _, comment = line.partition("$")
                self.comments.append(comment)
            if not line or line.isspace():
                continue
            name, fields = split_fields(line, number)
            if len(fields) > (FIELDS // 2 if "*" in line[:8] else FIELDS):
                self.long.append(number)
            if name and name[0] not in "+*":
                if current is not None:
                    yield current
                current = Entry(name.upper(), fields, number)
            elif current is None:
                raise Damaged("a continuation line without an entry before it", number)
            else:
                current.fields.extend(fields)
        if current is not None:
            yield current


def read_deck(path: Path, data: bytes) -> Deck:
    """Split a file; without BEGIN BULK everything is bulk data."""
    deck = Deck(path)
    source = _Lines(path)
    source.add(path, data, 0)
    lines, numbers = source.lines, np.concatenate([np.zeros(0, dtype=np.int64), *source.numbers])
    begins = [at for at, line in enumerate(lines) if ("B" in line or "b" in line) and BEGIN.match(line)]
    if begins:
        deck.control = list(zip(lines[: begins[0]], numbers[: begins[0]].tolist(), strict=True))
        lines, numbers = lines[begins[0] + 1 :], numbers[begins[0] + 1 :]
    end = next((at for at, line in enumerate(lines) if line[:1] in "Ee" and ENDDATA.match(line)), len(lines))
    deck.complete, lines = end < len(lines), lines[:end]
    if len(begins) > 1:
        raise Damaged("the file has several bulk data sections", remedy="superelements are not supported")
    deck.bulk, deck.number = lines, numbers
    return deck


class _Lines:
    """Lines and their numbers, includes followed inside the folder of the first file."""

    def __init__(self, path: Path) -> None:
        self.root, self.files, self.bytes_left = path.parent, 0, MAX_BYTES
        self.lines: list[str] = []
        self.numbers: list[Ints] = []

    def add(self, path: Path, data: bytes, depth: int) -> None:
        lines = data.decode("utf-8", "replace").splitlines()
        number = np.arange(1, len(lines) + 1, dtype=np.int64)
        start = 0
        for at, line in enumerate(lines):
            if line[:1] in "Ii" and line[:7].upper() == "INCLUDE":
                self.files += 1
                if depth >= MAX_DEPTH or self.files > MAX_FILES:
                    raise Damaged("includes are nested too deeply, or include themselves", at + 1)
                target = confined(path, line[7:].split("$")[0], at + 1, self.root)
                more = read_bytes(target, self.bytes_left)
                self.bytes_left -= len(more)
                self._take(lines, number, start, at)
                self.add(target, more, depth + 1)
                start = at + 1
        self._take(lines, number, start, len(lines))

    def _take(self, lines: list[str], number: Ints, start: int, end: int) -> None:
        self.lines += lines[start:end]
        self.numbers.append(number[start:end])


def split_fields(line: str, number: int) -> tuple[str, list[str]]:
    """First field, without the mark of large field, and the data fields (8 or 4) of a line.

    In a line of commas the one behind them names the continuation. Where it is none, what follows stands in
    the fields of the next line, as openFEDEM reads it: the fields are then 8 or 4 more.
    """
    if "\t" in line:
        line = line.expandtabs(8)
    if 0 <= line.find(",") < 10:  # behind a name; further on a comma belongs to a text
        words = [word.strip() for word in line.split(",")]
        width = FIELDS // 2 if "*" in words[0] else FIELDS
        fields, more = words[1 : width + 1], words[width + 1 :]
        if any(more[1:]) and more[0] and more[0][0] not in DIGITS:
            what = f"{words[0]} has fields behind the mark {more[0]} of its continuation"
            raise Damaged(what, number, "continue the entry in a line of its own: +, ...")
        if any(more[1:]) or (more and more[0][:1] in DIGITS):
            fields += more
        return name_of(words[0]), fields + [""] * (-len(fields) % width)
    head = line[:8].strip()
    if "*" in head:
        return name_of(head), [line[k : k + 16].strip() for k in range(8, 72, 16)]
    return name_of(head), [line[k : k + 8].strip() for k in range(8, 72, 8)]


def name_of(head: str) -> str:
    """`GRID*` -> `GRID`; continuation marks stay as they begin."""
    return head if head[:1] in "+*" else head.rstrip("* ")


def parse_items(text: str, line: int) -> list[Any]:
    """`1 2 5 THRU 10 EXCEPT 7 20 THRU 40 BY 2` -> arrays and ranges."""
    words = text.upper().split()
    parts: list[Any] = []
    single: list[int] = []
    at = 0
    while at < len(words):
        first = one_int(words[at], "number in a set", line)
        if at + 2 < len(words) and words[at + 1] == "THRU":
            last, step = one_int(words[at + 2], "number in a set", line), 1
            at += 3
            if at + 1 < len(words) and words[at] == "BY":
                step = max(one_int(words[at + 1], "step in a set", line), 1)
                at += 2
            if at < len(words) and words[at] == "EXCEPT":
                at += 1
                while at < len(words) and words[at].isdigit() and first <= int(words[at]) <= last:
                    if int(words[at]) > first:
                        parts.append((first, int(words[at]) - 1, step))
                    first = int(words[at]) + 1
                    at += 1
            if first <= last:
                parts.append((first, last, step))
        else:
            single.append(first)
            at += 1
    if single:
        parts.append(np.array(single, dtype=np.int64))
    return parts
