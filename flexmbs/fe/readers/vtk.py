"""VTK legacy files (unstructured grids, text and binary, up to version 5) -> RawMesh."""

from __future__ import annotations

import re
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.readers.raw import RawMesh
from flexmbs.fe.readers.source import Damaged, Ints, line_at, to_ints
from flexmbs.fe.readers.vtk_cells import Grid, to_raw

DTYPES = {
    "bit": "u1", "unsigned_char": "u1", "char": "i1", "signed_char": "i1", "unsigned_short": "u2",
    "short": "i2",
    "unsigned_int": "u4", "int": "i4", "unsigned_long": "u8", "long": "i8", "vtktypeint64": "i8",
    "vtktypeuint64": "u8", "vtkidtype": "i4", "float": "f4", "double": "f8", "vtktypeint32": "i4",
    "vtktypeuint8": "u1", "vtktypeint8": "i1",
}  # fmt: skip
WORD = re.compile(rb"\s*(\S+)")
WORDS_AT_ONCE = 1 << 16


class Reader:
    """Walks through the file: lines of keywords, and arrays in text or binary."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.keyword, self.binary = "", False

    def line(self) -> list[str]:
        """Words of the next line that is not blank; none at the end."""
        while self.at < len(self.data):
            end = self.data.find(b"\n", self.at)
            end = len(self.data) if end < 0 else end
            text = self.data[self.at : end].decode("utf-8", "replace").strip()
            self.at = end + 1
            if text:
                return text.split()
        return []

    def array(self, count: int, type_name: str) -> NDArray:
        """The next `count` values; more than the file can hold is damage."""
        if type_name.lower() not in DTYPES:
            raise Damaged(f'unknown data type "{type_name[:20]}"')
        dtype = np.dtype(DTYPES[type_name.lower()])
        if count < 0:
            raise Damaged(f"a negative count {count}")
        if self.binary:
            if type_name.lower() == "bit":
                return self._bits(count)
            return self._binary(count, dtype)
        return self._text(count, dtype)

    def _binary(self, count: int, dtype: np.dtype) -> NDArray:
        size = count * dtype.itemsize
        if size > len(self.data) - self.at:
            raise Damaged(f"the file claims {count} numbers and ends before")
        values = np.frombuffer(self.data, dtype.newbyteorder(">"), count, self.at)
        self.at += size
        return values.astype(dtype)

    def _bits(self, count: int) -> NDArray:
        packed = self._binary((count + 7) // 8, np.dtype("u1"))
        return np.unpackbits(packed)[:count]

    def _text(self, count: int, dtype: np.dtype) -> NDArray:
        if 2 * count > len(self.data) - self.at + 1:
            raise Damaged(f"the file claims {count} numbers and ends before")
        words: list[bytes] = []
        start = self.at
        while len(words) < count:
            words.extend(self._some_words(count - len(words)))
        try:
            values = np.array(words, dtype=np.float64) if words else np.zeros(0)
        except ValueError:
            word = next((word for word in words if not is_number(word)), b"")
            self.at = max(self.data.find(word, start), start)  # for the line of the message
            found = word.decode("ascii", "replace")[:20]
            raise Damaged(f'expected {count} numbers, found "{found}" among them') from None
        return values if dtype.kind == "f" else to_ints(values)

    def _some_words(self, count: int) -> list[bytes]:
        """Up to `count` of the next words."""
        if count > WORDS_AT_ONCE // 16:  # whole lines are faster; never beyond the words wanted
            end = self.data.find(b"\n", min(self.at + count, len(self.data)))
            text = self.data[self.at : end if end >= 0 else len(self.data)]
            words = text.split()
            if words and len(words) <= count:
                self.at += len(text)
                return words
        words = []
        while len(words) < min(count, WORDS_AT_ONCE):
            found = WORD.match(self.data, self.at)
            if not found:
                raise Damaged("the file ends inside its numbers")
            words.append(found[1])
            self.at = found.end()
        return words

    def one_int(self, words: list[str], index: int) -> int:
        try:
            return int(words[index])
        except (IndexError, ValueError):
            raise Damaged(f'a count is missing after "{" ".join(words)[:20]}"') from None

    def read(self) -> RawMesh:
        self.line()
        self.data_title()
        kind = self.line()
        self.binary = kind[:1] == ["BINARY"]
        dataset = self.line()
        if [word.upper() for word in dataset[:2]] != ["DATASET", "UNSTRUCTURED_GRID"]:
            found = dataset[1] if len(dataset) > 1 else "nothing"
            raise Damaged(f"the dataset is {found[:20]}", remedy="save it as UNSTRUCTURED_GRID")
        return to_raw(self.grid())

    def data_title(self) -> None:
        end = self.data.find(b"\n", self.at)
        self.at = len(self.data) if end < 0 else end + 1

    def grid(self) -> Grid:
        none = np.zeros(0, dtype=np.int64)
        grid = Grid(np.zeros((0, 3)), none, np.zeros(1, dtype=np.int64), none)
        place: dict[str, NDArray] = {}
        count = 0
        while words := self.line():
            keyword = self.keyword = words[0].upper()
            if keyword == "POINTS":
                n_points = self.one_int(words, 1)
                grid.points = self.array(3 * n_points, (words + ["", ""])[2]).astype(float).reshape(-1, 3)
            elif keyword == "CELLS":
                grid.offsets, grid.connectivity = self.cells(words)
            elif keyword == "CELL_TYPES":
                grid.types = to_ints(self.array(self.one_int(words, 1), "int"))
            elif keyword in ("POINT_DATA", "CELL_DATA"):
                place = grid.point_data if keyword == "POINT_DATA" else grid.cell_data
                count = self.one_int(words, 1)
            elif keyword == "METADATA":
                self.skip_metadata()
            else:
                self.attribute(keyword, words, count, place)
        return grid

    def cells(self, words: list[str]) -> tuple[Ints, Ints]:
        first, second = self.one_int(words, 1), self.one_int(words, 2)
        start = self.at
        following = self.line()
        if following[:1] == ["OFFSETS"]:  # version 5: first = number of offsets
            offsets = to_ints(self.array(first, (following + [""])[1]))
            following = self.line()
            if following[:1] != ["CONNECTIVITY"]:
                raise Damaged("CONNECTIVITY is missing after OFFSETS")
            return offsets, to_ints(self.array(second, (following + [""])[1]))
        self.at = start
        values = to_ints(self.array(second, "int"))
        return split_counted(values, first)

    def attribute(self, keyword: str, words: list[str], count: int, place: dict[str, NDArray]) -> None:
        """One data attribute; arrays that cannot be sets are read over."""
        columns = {
            "VECTORS": 3,
            "NORMALS": 3,
            "TENSORS": 9,
            "TENSORS6": 6,
            "GLOBAL_IDS": 1,
            "PEDIGREE_IDS": 1,
        }
        name = unquote((words + [""])[1])
        if keyword == "SCALARS":
            width = self.one_int(words, 3) if len(words) > 3 else 1
            start = self.at
            if [word.upper() for word in self.line()[:1]] != ["LOOKUP_TABLE"]:
                self.at = start
            self.store(place, name, self.array(count * width, (words + ["", ""])[2]), width)
        elif keyword in columns:
            self.array(count * columns[keyword], (words + ["", ""])[2])
        elif keyword == "TEXTURE_COORDINATES":
            self.array(count * self.one_int(words, 2), (words + [""] * 3)[3])
        elif keyword == "COLOR_SCALARS":
            self.array(count * self.one_int(words, 2), "unsigned_char" if self.binary else "float")
        elif keyword == "LOOKUP_TABLE":
            self.array(4 * self.one_int(words, 2), "unsigned_char" if self.binary else "float")
        elif keyword == "FIELD":
            self.field(self.one_int(words, 2), place)
        else:
            raise Damaged(f'unknown keyword "{words[0][:20]}"', remedy="write the mesh again")

    def field(self, n_arrays: int, place: dict[str, NDArray]) -> None:
        for _ in range(n_arrays):
            words = self.line()
            if words[:1] == ["METADATA"]:
                self.skip_metadata()
                words = self.line()
            width, rows = self.one_int(words, 1), self.one_int(words, 2)
            if (words + [""] * 3)[3].lower() == "string":
                self.skip_strings(width * rows)
                continue
            self.store(place, unquote(words[0]), self.array(width * rows, (words + [""] * 3)[3]), width)

    def skip_strings(self, count: int) -> None:
        """Texts: one per line, or with their length in front (1, 2, 4 or 8 bytes, less two bits)."""
        for _ in range(count):
            if self.at >= len(self.data):
                raise Damaged("the file ends inside its texts")
            if self.binary:
                size = 1 << (3 - (self.data[self.at] >> 6))
                length = int.from_bytes(self.data[self.at : self.at + size], "big") & (
                    (1 << (8 * size - 2)) - 1
                )
                self.at += size + length
            else:
                self.data_title()

    def store(self, place: dict[str, NDArray], name: str, values: NDArray, width: int) -> None:
        if width == 1:
            place[name] = values

    def skip_metadata(self) -> None:
        """Metadata end with a blank line."""
        end = re.compile(rb"\n[ \t]*\r?\n").search(self.data, max(self.at - 1, 0))
        self.at = len(self.data) if end is None else end.end()


def is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def split_counted(values: Ints, n_cells: int) -> tuple[Ints, Ints]:
    """Rows "k, k node indices" -> offsets and connectivity."""
    sizes, at = [], 0
    counts = values.tolist()
    for _ in range(n_cells):
        if at >= len(counts) or counts[at] < 0:
            raise Damaged("CELLS holds fewer cells than it claims")
        sizes.append(counts[at])
        at += counts[at] + 1
    if at != len(counts):
        raise Damaged("CELLS does not hold as many numbers as it claims")
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    keep = np.ones(len(values), dtype=bool)
    keep[offsets[:-1] + np.arange(n_cells)] = False
    return offsets, values[keep]


def read_vtk(data: bytes) -> RawMesh:
    """Content of a legacy .vtk file."""
    reader = Reader(data)
    try:
        return reader.read()
    except Damaged as damage:
        line = None if reader.binary else line_at(data, reader.at)
        raise damage.within(reader.keyword[:20], line) from None
