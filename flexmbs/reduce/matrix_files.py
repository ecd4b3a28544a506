"""Matrix files of other programs -> entries, and the freedom (node, direction) of each row if the file tells.

CalculiX .sti/.mas with .dof, Abaqus .mtx, Nastran DMIG in bulk data or punch files, OP4, Harwell-Boeing and
Matrix Market.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import mmread

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.readers.nastran_cards import Entry, split_fields
from flexmbs.fe.readers.source import Damaged, one_int, reals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_BYTES = 16 * 2**30
MOST_EMPTY = 8  # rows for each entry: more would be no stiffness, and take memory
FORMAT = re.compile(r"\(\s*(?:\d*P\s*,?\s*)?(\d+)\s*[IEDGF]\s*(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class MatrixFile:
    """A square matrix as the file has it; `dofs` (n, 2): node and direction 1 to 6 of each row, if told."""

    path: Path
    entries: Any
    dofs: Ints | None = None


class Unreadable(ValueError):
    """The content is not what the format says."""


def read_matrix_file(path: Path, initial: str = "") -> MatrixFile:
    """The matrix of a file, by its ending and its first bytes; only one triangle may be stored.

    initial : of its name, where a punch file holds several (KAAX, MAAX)
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise Unreadable(f"larger than {MAX_BYTES // 2**30} GiB")
        found = by_content(path, path.read_bytes(), initial)
        if np.iscomplexobj(found.entries):
            raise Unreadable("complex matrices are not supported")
        if max(found.entries.shape) > MOST_EMPTY * found.entries.nnz + 1000:
            raise Unreadable(f"claims {max(found.entries.shape)} rows for {found.entries.nnz} entries")
        return found
    except Damaged as damage:
        raise damage.as_error(path) from None
    except (OSError, ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)[:160]
        if isinstance(error, IndexError | MemoryError):
            reason = "it claims more than it holds"
        what = f"is no readable matrix file: {reason}"
        remedy = "Matrix Market, .sti/.mas with .dof, .mtx of Abaqus, DMIG, OP4 or HBMAT"
        raise InputError(Diagnostic("matrices.format", str(path), what, remedy)) from None


def by_content(path: Path, data: bytes, initial: str = "") -> MatrixFile:
    ending = path.suffix.lower()
    head = data[:400]
    if head.startswith(b"%%MatrixMarket"):
        return MatrixFile(path, sp.coo_array(mmread(BytesIO(data))), mapping_of(path))
    if ending in (".sti", ".mas"):
        return calculix(path, data)
    if re.search(rb"^(DMIG|\*\s*USER ELEMENT)", data, re.MULTILINE | re.IGNORECASE):
        return dmig(path, data, initial) if b"DMIG" in data.upper() else user_element(path, data)
    if ending == ".op4":
        return op4(path, data, initial)
    if ending in (".hb", ".rb", ".rsa", ".hbmat", ".matrix"):
        return harwell_boeing(path, data)
    if ending == ".mtx":
        return abaqus(path, data)
    raise Unreadable(f'unknown kind of matrix file "{ending}"')


def table_of(data: bytes) -> tuple[Floats, Ints]:
    """Rows of numbers, commas and D exponents allowed, comments left out; and their lines."""
    text = re.sub(rb"^[ \t]*[*%#!].*$", b"", data, flags=re.MULTILINE).replace(b",", b" ")
    text = text.translate(bytes.maketrans(b"Dd", b"Ee"))
    rows = [(k + 1, line.split()) for k, line in enumerate(text.splitlines()) if line.strip()]
    if not rows:
        raise Unreadable("it has no rows of numbers")
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise Damaged(f"expected {width} numbers as in the first row, found {len(row)}", line)
    try:
        table = np.array([row for _, row in rows], dtype=np.float64)
    except ValueError:
        table = np.full((1, 1), np.nan)
    if not np.isfinite(table).all():
        for line, row in rows:
            reals([word.decode("ascii", "replace") for word in row], line)
    return table, np.array([line for line, _ in rows])


def whole(values: Floats, lines: Ints, most: int = 2**53) -> Ints:
    """Indices from 1 on, row by row as they stand in these lines."""
    bad = (values != np.floor(values)) | (values < 1) | (values > most)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        what = f"index {values[row, column]:g}, expected a whole number from 1"
        raise Damaged(what + (f" to {most}" if most < 2**53 else ""), int(lines[row]))
    return values.astype(np.int64)


def calculix(path: Path, data: bytes) -> MatrixFile:
    """Upper triangle `i j value`; the rows are those of the .dof file beside it."""
    table, lines = table_of(data)
    if table.shape[1] != 3:
        raise Unreadable(f"rows of {table.shape[1]} numbers, not i, j, value")
    beside = path.with_suffix(".dof")
    if not beside.is_file():
        raise Unreadable(f"{beside.name} is not beside it")
    dofs = dofs_of(beside)
    n = len(dofs)
    i, j = whole(table[:, :2], lines, n).T - 1
    return MatrixFile(path, sp.coo_array((table[:, 2], (i, j)), shape=(n, n)), dofs)


def dofs_of(path: Path) -> Ints:
    """Lines `node.direction` of a .dof file."""
    rows = []
    for k, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        node, _, direction = line.strip().partition(".")
        if line.strip():
            if not node.isdigit() or direction not in tuple("123456"):
                raise Unreadable(f'{path.name}:{k + 1}: expected node.direction, found "{line.strip()[:40]}"')
            rows.append((int(node), int(direction)))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def abaqus(path: Path, data: bytes) -> MatrixFile:
    """`node, dof, node, dof, value` (MATRIX INPUT, LABELS), or `i j value` (COORDINATE)."""
    table, lines = table_of(data)
    if table.shape[1] == 3:
        i, j = whole(table[:, :2], lines).T - 1
        n = int(max(i.max(initial=-1), j.max(initial=-1))) + 1
        return MatrixFile(path, sp.coo_array((table[:, 2], (i, j)), shape=(n, n)))
    if table.shape[1] != 5:
        raise Unreadable(f"rows of {table.shape[1]} numbers, not node, dof, node, dof, value")
    labels = whole(table[:, :4], lines).reshape(-1, 2, 2)
    dofs, place = np.unique(labels.reshape(-1, 2), axis=0, return_inverse=True)
    i, j = place.reshape(-1, 2).T
    return MatrixFile(path, sp.coo_array((table[:, 4], (i, j)), shape=(len(dofs), len(dofs))), dofs)


def user_element(path: Path, data: bytes) -> MatrixFile:
    """A substructure as USER ELEMENT text: nodes in comments, directions, then the lower triangle by rows."""
    lines = data.decode("utf-8", "replace").splitlines()
    nodes: list[int] = []
    rows: list[tuple[int, int]] = []
    values: list[float] = []
    state = ""
    for at, line in enumerate(lines, start=1):
        text = line.strip()
        if text.upper().startswith("** ELEMENT NODES"):
            state = "nodes"
        elif text.startswith("**") and state == "nodes":
            nodes += [one_int(word, "node", at) for word in text.lstrip("* ").split(",") if word.strip()]
        elif text.upper().startswith("*USER ELEMENT"):
            state = "dofs"
        elif text.upper().startswith("*MATRIX"):
            state = "matrix"
        elif text.startswith("*"):
            state = ""
        elif state in ("dofs", "nodes") and text:
            words = [one_int(word, "direction", at) for word in text.split(",") if word.strip()]
            if len(words) == 1 or not rows:
                rows += [(1, word) for word in words]
            else:
                rows += [(words[0], word) for word in words[1:]]
        elif state == "matrix" and text:
            values += reals([word for word in text.split(",") if word.strip()], at)
    current, labels = 0, []
    for place, component in rows:
        current = place or current
        labels.append((nodes[current - 1] if nodes else current, component))
    n = len(labels)
    if len(values) != n * (n + 1) // 2:
        raise Unreadable(f"{len(values)} entries for {n} freedoms; {n * (n + 1) // 2} are expected")
    i, j = np.tril_indices(n)
    return MatrixFile(path, sp.coo_array((values, (i, j)), shape=(n, n)), np.array(labels, dtype=np.int64))


def dmig(path: Path, data: bytes, initial: str = "") -> MatrixFile:
    """The first DMIG matrix of bulk data or of a punch file, with this initial where there is one."""
    dofs: dict[tuple[int, int], int] = {}
    i, j, v = [], [], []
    name, form = "", 0
    entry: Entry | None = None
    entries: list[Entry] = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), start=1):
        line = line.partition("$")[0]
        if not line.strip():
            continue
        head, fields = split_fields(line, number)
        if head and head[0] not in "+*":
            entry = Entry(head.upper(), fields, number)
            entries.append(entry)
        elif entry is not None:
            entry.fields.extend(fields)
    entries = [entry for entry in entries if entry.name == "DMIG"]
    if any(entry.text(0).upper().startswith(initial) for entry in entries):
        entries = [entry for entry in entries if entry.text(0).upper().startswith(initial)]
    for entry in entries:
        if name and entry.text(0) != name:
            continue
        if entry.text(1) == "0" and not name:
            name, form = entry.text(0), entry.whole(2)
            if form not in (1, 6) or entry.whole(3) not in (1, 2):
                raise Unreadable(f"{name} is no real square matrix")
            continue
        column = dofs.setdefault((entry.whole(1), entry.whole(2, 0)), len(dofs))
        fields = entry.fields[4:]
        for k in range(0, len(fields) - 2, 4):
            if fields[k]:
                item = Entry("DMIG", fields[k : k + 3], entry.line)
                i.append(dofs.setdefault((item.whole(0), item.whole(1, 0)), len(dofs)))
                j.append(column)
                v.append(item.real(2))
    n = len(dofs)
    if not n:
        raise Unreadable("no DMIG with entries")
    A = sp.coo_array((v, (i, j)), shape=(n, n))
    order = np.lexsort(np.array(list(dofs), dtype=np.int64).T[::-1])
    A = sp.coo_array(sp.csr_array(A)[order][:, order])
    return MatrixFile(path, A, np.array(list(dofs), dtype=np.int64)[order])


def op4(path: Path, data: bytes, initial: str = "") -> MatrixFile:
    """The first matrix of an OP4 file, text or binary, dense or sparse, with this initial where there is one.

    Its rows have no names.
    """
    binary = data[:4] in (b"\x18\0\0\0", b"\0\0\0\x18")
    found = op4_binary(data) if binary else op4_text(data.decode("ascii", "replace").splitlines())
    name, first = next(found)
    if not name.startswith(initial):
        first = next((A for name, A in found if name.startswith(initial)), first)
    return MatrixFile(path, first)


class Fields:
    """Lines of numbers in columns of fixed width, taken one after the other."""

    def __init__(self, lines: list[str], at: int = 0) -> None:
        self.lines, self.at = lines, at

    @property
    def more(self) -> bool:
        return self.at < len(self.lines)

    def line(self) -> str:
        if not self.more:
            raise Damaged("the file ends early", len(self.lines))
        self.at += 1
        return self.lines[self.at - 1]

    def reals(self, count: int, per_line: int, width: int) -> list[float]:
        """Numbers over as many lines as they need."""
        result: list[float] = []
        while len(result) < count:
            line, n = self.line(), min(per_line, count - len(result))
            result += reals([line[k * width : (k + 1) * width] for k in range(n)], self.at)
        return result

    def wholes(self, count: int, per_line: int, width: int) -> list[int]:
        result: list[int] = []
        while len(result) < count:
            line, n = self.line(), min(per_line, count - len(result))
            result += [one_int(line[k * width : (k + 1) * width], "number", self.at) for k in range(n)]
        return result


def op4_text(lines: list[str]) -> Iterator[tuple[str, Any]]:
    """Names and matrices, one after the other."""
    while lines and not lines[-1].strip():
        lines.pop()
    fields = Fields(lines)
    while not fields.at or fields.more:
        head = lines[fields.at] if lines else ""
        yield head[32:40].strip().upper(), op4_matrix(fields, head)


def op4_matrix(fields: Fields, head: str) -> Any:
    n_col, n_row, _, kind = fields.wholes(4, 4, 8)
    found = re.search(r"(\d+)[EDG](\d+)", head[40:].upper())
    per_line, width = (int(found[1]), int(found[2])) if found else (5, 16)
    if kind not in (1, 2):
        raise Unreadable("complex matrices are not supported")
    big, n_row = n_row < 0, abs(n_row)
    words_of = kind
    entries: list[tuple[int, int, Floats]] = []

    def values(count: int) -> Floats:
        return np.array(fields.reals(count, per_line, width))

    while True:
        column, row, words = fields.wholes(3, 3, 8)
        if column > n_col:  # what every matrix ends with, and a number behind it
            if fields.more:
                fields.line()
            break
        if row > 0:
            entries.append((column - 1, row - 1, values(words)))
            continue
        left = words
        while left > 0:
            mark = [one_int(word, "mark of a string", fields.at) for word in fields.line().split()]
            if big or len(mark) == 2:
                length, first = mark[0] - 1, mark[1]
                left -= length + 2
            else:
                length = mark[0] // 65536 - 1
                first = mark[0] - 65536 * (length + 1)
                left -= length + 1
            entries.append((column - 1, first - 1, values(length // words_of)))
    return of_columns(entries, n_row, n_col)


def op4_binary(data: bytes) -> Iterator[tuple[str, Any]]:
    """Names and matrices, one after the other, of Fortran records with 4-byte integers."""
    order = "<" if data[:4] == b"\x18\0\0\0" else ">"
    at = 0

    def record() -> bytes:
        nonlocal at
        if at + 4 > len(data):
            raise Unreadable("the file ends early")
        size = int(np.frombuffer(data, f"{order}i4", 1, at)[0])
        body = data[at + 4 : at + 4 + size]
        if len(body) != size:
            raise Unreadable("the file ends inside a record")
        at += size + 8
        return body

    while not at or at < len(data):
        head = record()
        yield head[16:24].decode("ascii", "replace").strip().upper(), op4_records(head, record, order)


def op4_records(head: bytes, record: Callable[[], bytes], order: str) -> Any:
    n_col, n_row, _, kind = (int(x) for x in np.frombuffer(head[:16], f"{order}i4"))
    if kind not in (1, 2):
        raise Unreadable("complex matrices are not supported")
    real = f"{order}f{4 * kind}"
    big, n_row = n_row < 0, abs(n_row)
    entries: list[tuple[int, int, Floats]] = []
    while True:
        body = record()
        column, row, _ = (int(x) for x in np.frombuffer(body[:12], f"{order}i4"))
        if column > n_col:
            break
        rest = body[12:]
        if row > 0:
            entries.append((column - 1, row - 1, np.frombuffer(rest, real).astype(float)))
            continue
        while rest:
            if big:
                length, first = (int(x) for x in np.frombuffer(rest[:8], f"{order}i4"))
                length, rest = length - 1, rest[8:]
            else:
                mark = int(np.frombuffer(rest[:4], f"{order}i4")[0])
                length = mark // 65536 - 1
                first, rest = mark - 65536 * (length + 1), rest[4:]
            size = 4 * length
            entries.append((column - 1, first - 1, np.frombuffer(rest[:size], real).astype(float)))
            rest = rest[size:]
    return of_columns(entries, n_row, n_col)


def of_columns(entries: list[tuple[int, int, Floats]], n_row: int, n_col: int) -> Any:
    rows = [np.arange(first, first + len(part)) for _, first, part in entries]
    columns = [np.full(len(part), column) for column, _, part in entries]
    if not rows:
        return sp.coo_array((n_row, n_col))
    data = np.concatenate([part for _, _, part in entries])
    return sp.coo_array((data, (np.concatenate(rows), np.concatenate(columns))), shape=(n_row, n_col))


def harwell_boeing(path: Path, data: bytes) -> MatrixFile:
    """Harwell-Boeing text (HBMAT of Ansys), symmetric ones by one triangle, with a .mapping beside it."""
    lines = data.decode("ascii", "replace").splitlines()
    counts = [int(word) for word in re.findall(r"-?\d+", lines[1])]
    kind = lines[2][:3].upper()
    n_row, n_col, n_entry = (int(word) for word in lines[2][3:].split()[:3])
    formats = [(int(a), int(b)) for a, b in FORMAT.findall(lines[3])]
    if kind[0] != "R" or kind[2] != "A" or len(formats) < 3:
        raise Unreadable(f"{kind} is no real assembled matrix")
    fields = Fields(lines, 5 if len(counts) > 4 and counts[4] > 0 else 4)
    first = np.array(fields.wholes(n_col + 1, *formats[0])) - 1
    rows = np.array(fields.wholes(n_entry, *formats[1])) - 1
    if rows.min(initial=0) < 0 or rows.max(initial=0) >= n_row:
        wrong = rows[(rows < 0) | (rows >= n_row)][0] + 1
        raise Unreadable(f"an entry is in row {wrong} of {n_row}")
    if first[0] != 0 or first[-1] != n_entry or (np.diff(first) < 0).any():
        raise Unreadable(f"its columns do not hold {n_entry} entries")
    A = sp.csc_array((np.array(fields.reals(n_entry, *formats[2])), rows, first), shape=(n_row, n_col))
    return MatrixFile(path, sp.coo_array(A), mapping_of(path))


def mapping_of(path: Path) -> Ints | None:
    """Freedoms of the rows from a `.mapping` file beside the matrix: equation, node, direction."""
    beside = path.with_suffix(".mapping")
    if not beside.is_file():
        return None
    names = {"UX": 1, "UY": 2, "UZ": 3, "ROTX": 4, "ROTY": 5, "ROTZ": 6}
    rows = []
    for line in beside.read_text().splitlines():
        words = line.replace(",", " ").split()
        if len(words) >= 3 and words[0].isdigit() and words[1].isdigit():
            direction = names.get(words[2].upper()) or (int(words[2]) if words[2].isdigit() else 0)
            rows.append((int(words[0]), int(words[1]), direction))
    rows.sort()
    if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
        raise Unreadable(f"{beside.name} does not number the equations from 1 on")
    return np.array([row[1:] for row in rows], dtype=np.int64)
