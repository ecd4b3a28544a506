"""Sections of a .msh file, and cursors that hand out their numbers, text or binary alike."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from flexmbs.fe.readers.source import LARGEST_EXACT, Damaged, Floats, Ints, line_at, numbers, to_ints


@dataclass
class Groups:
    """Physical names, and the physical tags of each entity."""

    names: dict[tuple[int, int], str] = field(default_factory=dict)
    tags: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def name(self, dim: int, tag: int) -> str:
        return self.names.get((dim, tag), str(tag))


class TextCursor:
    """Hands out numbers of a text section in order."""

    def __init__(self, text: bytes, line: int | None, whole: bool = False) -> None:
        self.values = numbers(text, line=line)
        self.at = 0
        bad = ~(np.abs(self.values) <= LARGEST_EXACT) | (self.values != np.floor(self.values))
        if whole and bad.any():
            found = next(islice(re.finditer(rb"\S+", text), int(np.argmax(bad)), None))
            what = f'expected a whole number, found "{found[0].decode()[:40]}"'
            raise Damaged(what, (line or 1) + text.count(b"\n", 0, found.start()))

    def take(self, count: int, what: str) -> Floats:
        if count < 0 or count > len(self.values) - self.at:
            raise Damaged(
                f"the section claims {count} numbers for {what} and has {len(self.values) - self.at}"
            )
        self.at += count
        return self.values[self.at - count : self.at]

    def ints(self, count: int, what: str = "counts") -> list[int]:
        return [int(x) for x in to_ints(self.take(count, what))]

    sizes = ints

    def size_rows(self, rows: int, columns: int, what: str) -> Ints:
        return to_ints(self.take(rows * columns, what)).reshape(rows, columns)

    def reals(self, rows: int, columns: int, what: str) -> Floats:
        return self.take(rows * columns, what).reshape(rows, columns)


class BinaryCursor:
    """Hands out numbers of the binary file from `at` on, in its byte order."""

    def __init__(self, data: bytes, at: int, order: str) -> None:
        self.data, self.at = data, at
        self.int_type, self.size_type = np.dtype(order + "i4"), np.dtype(order + "u8")
        self.real_type = np.dtype(order + "f8")

    def take(self, count: int, dtype: np.dtype, what: str) -> np.ndarray:
        left = (len(self.data) - self.at) // dtype.itemsize
        if count < 0 or count > left:
            raise Damaged(f"the file claims {count} numbers for {what} and has room for {left}")
        values = np.frombuffer(self.data, dtype=dtype, count=count, offset=self.at)
        self.at += count * dtype.itemsize
        return values

    def ints(self, count: int, what: str = "counts") -> list[int]:
        return [int(x) for x in self.take(count, self.int_type, what)]

    def sizes(self, count: int, what: str = "counts") -> list[int]:
        return [int(x) for x in to_ints(self.take(count, self.size_type, what))]

    def size_rows(self, rows: int, columns: int, what: str) -> Ints:
        return to_ints(self.take(rows * columns, self.size_type, what)).reshape(rows, columns)

    def reals(self, rows: int, columns: int, what: str) -> Floats:
        return self.take(rows * columns, self.real_type, what).astype(float).reshape(rows, columns)


Cursor = TextCursor | BinaryCursor


class Sections:
    """The file as named sections; binary ones are as long as their reader says."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.here = ""  # the section that is read,
        self.line: int | None = None  # and the line in which it begins
        header = self._between("MeshFormat")
        words = header.split(maxsplit=3)
        if len(words) < 3:
            raise Damaged("the section $MeshFormat is incomplete")
        self.version = words[0].decode("ascii", "replace")
        self.binary = words[1] == b"1"
        self.order = "<"
        if self.binary:
            if words[2] != b"8":
                raise Damaged(f"binary file with numbers of {words[2].decode(errors='replace')} bytes, not 8")
            start = data.index(b"\n", data.index(b"$MeshFormat") + 12) + 1
            self.order = "<" if data[start : start + 4] == b"\x01\x00\x00\x00" else ">"

    def _start(self, name: str) -> int:
        found = re.search(rb"(?:^|\n)[ \t]*\$" + name.encode() + rb"[ \t]*\r?\n", self.data)
        return found.end() if found else -1

    def _between(self, name: str) -> bytes:
        start = self._start(name)
        end = self.data.find(b"$End" + name.encode(), max(start, 0))
        if start < 0 or end < 0:
            raise Damaged(f"there is no complete section ${name}", remedy="write the mesh again")
        return self.data[start:end]

    def has(self, name: str) -> bool:
        return self._start(name) >= 0

    def text(self, name: str) -> bytes:
        return self._between(name)

    def cursor(self, name: str) -> Cursor:
        start = self._start(name)
        self.here = f"section ${name}"
        self.line = None if self.binary or start < 0 else line_at(self.data, start)
        if not self.binary:
            return TextCursor(self._between(name), self.line, whole=name == "Elements")
        if start < 0:
            raise Damaged(f"there is no section ${name}", remedy="write the mesh again")
        return BinaryCursor(self.data, start, self.order)

    def finish(self, name: str, cursor: Cursor) -> None:
        """The section must end where its counts say."""
        if isinstance(cursor, TextCursor):
            complete = cursor.at == len(cursor.values)
        else:
            complete = self.data[cursor.at : cursor.at + 16].lstrip().startswith(b"$End" + name[:4].encode())
        if not complete:
            raise Damaged(f"the counts of section ${name} do not fit its content")
