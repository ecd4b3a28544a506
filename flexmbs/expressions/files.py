"""Tables of numbers from CSV files, confined to a folder: the splines of `table("file.csv", x)`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from flexmbs.disk.root import OutsideError, inside
from flexmbs.expressions.tree import ExpressionError, Spline, spline_through

MAX_BYTES = 50_000_000
LARGEST = 1e100


def confined(folder: Path, file: str, root: Path | None = None) -> Path:
    """Path of a file seen from `folder`, inside `root` (default: the folder) or below."""
    try:
        path = inside(root or folder, folder, file).resolve()
        found = path.is_file()
    except OutsideError as error:
        raise ExpressionError(str(error)) from None
    except (OSError, ValueError):  # a name that no file can have
        found = False
    if not found:
        raise ExpressionError(f'there is no file "{file[:80]}" beside the case')
    return path


def table_loader(folder: Path, root: Path | None = None) -> Callable[[str], Spline]:
    """Reads tables of `folder` for `parse`."""
    return lambda file: read_table(confined(folder, file, root))


def read_table(path: Path) -> Spline:
    """C2 spline through the first two columns of a CSV file; a first line with names is skipped."""
    return _spline(path.name, read_rows(path))


def read_rows(path: Path) -> np.ndarray:
    """First two columns (n, 2) of a CSV file; a first line with names is skipped."""
    if path.stat().st_size > MAX_BYTES:
        raise ExpressionError(f'"{path.name}" is larger than {MAX_BYTES} bytes')
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ExpressionError(f'"{path.name}" is not readable as UTF-8 text') from None
    rows: list[tuple[float, float]] = []
    has_head = False
    for number, line in enumerate(lines, start=1):
        cells = line.split("#")[0].replace(";", ",").replace("\t", ",").split(",")
        if not any(cell.strip() for cell in cells):
            continue
        try:
            rows.append((float(cells[0]), float(cells[1])))
        except (ValueError, IndexError):
            if rows or has_head:
                raise ExpressionError(f'"{path.name}" line {number}: not two numbers') from None
            has_head = True
    found = np.array(rows, dtype=float).reshape(-1, 2)
    if not (np.abs(found) < LARGEST).all():
        raise ExpressionError(f'"{path.name}" holds numbers that are not finite, or beyond {LARGEST:g}')
    return found


def _spline(name: str, rows: np.ndarray) -> Spline:
    if len(rows) < 2:
        raise ExpressionError(f'"{name}" holds fewer than two points')
    if not (np.diff(rows[:, 0]) > 0).all():
        first = int(np.argmax(np.diff(rows[:, 0]) <= 0))
        raise ExpressionError(f'"{name}": the first column must ascend; it does not after {rows[first, 0]:g}')
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            found = spline_through(rows[:, 0], rows[:, 1])
        if np.isfinite(found.c).all():
            return found
    except (RuntimeWarning, ValueError):  # LinAlgError is one as well
        pass
    raise ExpressionError(f'"{name}": its points are too close, or too uneven, for a curve through them')
