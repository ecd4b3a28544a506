"""Matrices of numbers in Matlab's .mat files of version 5 to 7 (`-v6`, `-v7`), full or sparse.

SciPy's reader trusts the sizes that stand in a file, and ends the process where they are wrong.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError

HEAD = 128
#: types of data by their number, as numpy names them
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
MATRIX, PACKED = 14, 15
#: classes of arrays: sparse, and from double to uint64
SPARSE, NUMBERS = 5, range(6, 16)
COMPLEX = 0x0800
#: bytes of what is unpacked, in those of the packed: zlib makes no more
MOST = 1100
#: bytes of a sparse matrix as a full one, in any case and in those of its entries
SMALL, FILLED = 2**26, 100

Element = tuple[int, bytes]


class _Damaged(Exception):
    """Content that is not what the format says."""


def read_matrices(path: Path, names: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """Those of the named matrices that are in the file; what is no real matrix of numbers is refused."""
    data = path.read_bytes()
    order = {b"IM": "<", b"MI": ">"}.get(data[HEAD - 2 : HEAD], "")
    found: dict[str, NDArray[np.float64]] = {}
    try:
        if not order or data[HEAD - 4 : HEAD - 2] not in (b"\x00\x01", b"\x01\x00"):
            raise _Damaged("its head is another")
        for kind, content in _elements(data[HEAD:], order):
            if kind == PACKED:
                kind, content = _unpacked(content, order)
            if kind == MATRIX:
                found |= _matrix(content, order, names)
    except _Damaged as error:
        what = f"is not a whole .mat file of version 5: {error}"
        raise InputError(Diagnostic("file.format", path.name, what, "save it with -v7 or -v6")) from None
    return found


def _elements(data: bytes, order: str) -> Iterator[Element]:
    """Type and bytes of one element after the other; short ones stand in their own tag."""
    at = 0
    while at < len(data):
        if at + 8 > len(data):
            raise _Damaged("it is cut off")
        kind, size = (int(x) for x in np.frombuffer(data, order + "u4", 2, at))
        first, end = at + 8, at + 8 + size
        following = end if kind == PACKED else end + -size % 8
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            first, end, following = at + 4, at + 4 + size, at + 8
        if end > min(len(data), following):
            raise _Damaged("it is cut off")
        yield kind, data[first:end]
        at = following


def _unpacked(content: bytes, order: str) -> Element:
    machine = zlib.decompressobj()
    try:
        plain = machine.decompress(content, MOST * len(content))
    except zlib.error:
        raise _Damaged("what is packed does not unpack") from None
    found = next(_elements(plain, order), None)
    if found is None:
        raise _Damaged("there is nothing in what is packed")
    return found


def _numbers(element: Element, order: str, *, whole: bool = False) -> NDArray[np.float64]:
    kind, content = element
    if kind not in TYPES or len(content) % int(TYPES[kind][1]) or (whole and TYPES[kind][0] == "f"):
        raise _Damaged("there are no numbers of the right kind where some are expected")
    return np.frombuffer(content, order + TYPES[kind]).astype(float)


def _matrix(content: bytes, order: str, names: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """The matrix of an element by its name, if that is wanted."""
    parts = list(_elements(content, order))
    if len(parts) < 3:
        raise _Damaged("an array lacks its name")
    name = parts[2][1].decode("ascii", "replace")
    if name not in names:
        return {}
    flags, shape = (_numbers(part, order, whole=True) for part in parts[:2])
    if len(flags) != 2 or len(shape) != 2 or not (shape >= 0.0).all():
        raise _Damaged(f"{name} is no matrix")
    kind, rows, columns = int(flags[0]) & 0xFF, int(shape[0]), int(shape[1])
    if int(flags[0]) & COMPLEX or kind not in (SPARSE, *NUMBERS):
        raise _Damaged(f"{name} is no matrix of real numbers")
    if kind == SPARSE:
        inner = [_numbers(part, order, whole=True) for part in parts[3:5]]
        return {name: _dense(name, rows, columns, [*inner, *(_numbers(part, order) for part in parts[5:])])}
    values = [_numbers(part, order) for part in parts[3:]]
    if len(values) != 1 or values[0].size != rows * columns:
        raise _Damaged(f"{name} has not the numbers of its {rows} rows and {columns} columns")
    return {name: values[0].reshape((rows, columns), order="F")}


def _dense(name: str, rows: int, columns: int, values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """A matrix from the rows of its entries, where columns begin, and the entries."""
    if len(values) != 3 or len(values[1]) != columns + 1:
        raise _Damaged(f"{name} has not the parts of a sparse matrix")
    row, start, entry = values
    count = int(start[-1])
    counts = np.diff(start)
    right = start[0] == 0 and (counts >= 0).all() and count <= min(len(row), len(entry))
    if not right or not ((row[:count] >= 0) & (row[:count] < rows)).all():
        raise _Damaged(f"{name} has entries outside its {rows} rows and {columns} columns")
    if 8 * rows * columns > max(SMALL, FILLED * entry.nbytes):
        raise _Damaged(f"{name} claims {rows} rows and {columns} columns for {count} entries")
    found = np.zeros((rows, columns))
    column = np.repeat(np.arange(columns), counts.astype(int))
    with np.errstate(all="ignore"):
        np.add.at(found, (row[:count].astype(int), column), entry[:count])
    return found
