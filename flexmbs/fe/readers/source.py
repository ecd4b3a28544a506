"""The file behind a reader: bounded reading, numbers out of text, and errors that name file and line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_BYTES = 4 * 1024**3
#: numbers beyond these are damage, and their products would not be finite
SMALLEST, LARGEST = 1e-100, 1e100
#: numpy reads a field without a number as this
EMPTY_FIELD = -1.0
LARGEST_EXACT = 2**53  # integers that a double holds exactly


class Damaged(Exception):
    """The content contradicts the format; turned into an InputError with the name of the file."""

    def __init__(self, what: str, line: int | None = None, remedy: str = "") -> None:
        super().__init__(what)
        self.what, self.line, self.remedy = what, line, remedy

    def within(self, place: str, line: int | None = None) -> Damaged:
        """The same, with the part of the file in which it was met, and its line where that is not known."""
        if place and place not in self.what:
            self.what = f"{place}: {self.what}"
        self.line = self.line or line
        return self

    def as_error(self, path: Path | str) -> InputError:
        where = f"{path}:{self.line}" if self.line else str(path)
        return InputError(Diagnostic("mesh.damaged", where, self.what, self.remedy))


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The whole file; its size is looked at first."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(Diagnostic("mesh.no_file", str(path), "is not a file"))
        if size > max_bytes:
            what = f"the file has {size / 2**20:.0f} MiB, more than the limit of {max_bytes / 2**20:.0f} MiB"
            raise InputError(
                Diagnostic("mesh.too_large", str(path), what, "raise the limit or coarsen the mesh")
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            Diagnostic("mesh.no_file", str(path), f"cannot be read: {error.strerror}", "check the path")
        ) from None


def numbers(text: str | bytes, sep: str = " ", line: int | None = None) -> Floats:
    """All numbers of a text, separated by white space or `sep`; anything else is damage."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    if not text.strip():
        return np.zeros(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values = np.fromstring(text, dtype=np.float64, sep=sep)
        except (DeprecationWarning, ValueError):
            values = np.array([np.nan])
    if sep != " " and (values == EMPTY_FIELD).any():
        empty = re.search(rf"(^|{re.escape(sep)})\s*({re.escape(sep)}|$)", text)
        if empty:
            before = text.count("\n", 0, empty.start())
            raise Damaged("a field without a number", line + before if line else line)
    if not (np.abs(values) < LARGEST).all():
        token, before = first_non_number(text, sep)
        raise Damaged(f'expected numbers, found "{token}"', line + before if line else line) from None
    return values


def first_non_number(text: str, sep: str) -> tuple[str, int]:
    """The first token that is none, and the number of line ends before it."""
    for found in re.finditer(r"\S+" if sep == " " else rf"[^{re.escape(sep)}\s]+", text):
        if not is_number(found[0]):
            return found[0][:40], text.count("\n", 0, found.start())
    return text.strip()[:40], 0


def is_number(text: str) -> bool:
    try:
        return abs(float(text)) < LARGEST
    except ValueError:
        return False


def reals(words: Sequence[str], line: int | None = None) -> list[float]:
    """Numbers within reason, with exponents of D as well."""
    plain = [word.replace("D", "E").replace("d", "e") for word in words]
    for word, text in zip(words, plain, strict=True):
        if not is_number(text):
            raise Damaged(f'expected numbers, found "{word[:40]}"', line)
    return [float(text) for text in plain]


def line_at(data: bytes, place: int) -> int:
    """Number of the line, from 1, in which a place of a text lies."""
    return data.count(b"\n", 0, place) + 1


def to_ints(values: Any, what: str = "number", line: int | None = None) -> Ints:
    """Integers from floats that must be whole and exact."""
    values = np.asarray(values)
    if values.dtype.kind in "iu":
        if values.dtype.itemsize == 8 and values.dtype.kind == "u" and (values > LARGEST_EXACT).any():
            raise Damaged(f"{what} {values.max()} is too large", line)
        return np.ascontiguousarray(values, dtype=np.int64)
    bad = ~(np.abs(values) <= LARGEST_EXACT) | (values != np.floor(values))
    if bad.any():
        raise Damaged(f"{what} {values[bad][0]:g} is not a whole number", line)
    return np.ascontiguousarray(values, dtype=np.int64)


def one_int(text: str, what: str, line: int | None = None) -> int:
    try:
        if abs(int(text)) <= LARGEST_EXACT:
            return int(text)
    except ValueError:
        pass
    raise Damaged(f'{what} "{text.strip()[:40]}" is not a whole number within reason', line)


def confined(path: Path, name: str, line: int | None, root: Path) -> Path:
    """Path of an included file, which must lie in the folder of the mesh file or below."""
    name = name.strip().strip("'\"").replace("\\", "/")
    try:
        target = (path.parent / name).resolve()
    except (OSError, ValueError, RuntimeError):
        raise Damaged(f'include "{name[:80]}" is no path', line) from None
    if not target.is_relative_to(root.resolve()):
        raise Damaged(f'include "{name}" leaves the folder of the mesh file', line, "copy it beside the mesh")
    if not target.is_file():
        raise Damaged(f'included file "{name}" does not exist', line)
    return target
