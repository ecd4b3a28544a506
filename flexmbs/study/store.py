"""The folder of a study: what is to be done, a row for every design that is done, and results that are kept.

    study.json        the study as resolved, and its designs with their ids; written once
    rows/ID.json      a finished design: values, status, metrics; written last, so it says that all is done
    rows/ID.tries     a byte for each worker of a cluster that has begun it and not come to an end
    runs/ID.h5        its result, if it is kept
    rows.json         all rows in one file, made when all are there, gone while anything is computed
    table.csv         the same as a table

Whoever finds a row needs not compute it again; nothing here needs a lock.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.errors import Diagnostic, InputError

FORMAT, VERSION = "flexmbs-study", 1
Row = dict[str, Any]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_design(value: Any) -> bool:
    """Ids become names of files."""
    whole = isinstance(value, dict) and _is_text(value.get("id")) and isinstance(value.get("values"), dict)
    return whole and ID.fullmatch(value["id"]) is not None


def _are_limits(value: Any) -> bool:
    ends = list(value.values()) if isinstance(value, dict) else [None]
    return all(isinstance(item, list) and len(item) == 2 and all(map(_is_number, item)) for item in ends)


def _fit(designs: list[dict[str, Any]], names: list[str], sample: str) -> bool:
    """Whether all designs have values of all names; samples are numbers, in whole blocks."""
    block = {"saltelli": len(names) + 2, "morris": len(names) + 1}.get(sample, 1)
    if any(set(item["values"]) != set(names) for item in designs) or len(designs) % block:
        return False
    return not sample or all(_is_number(value) for item in designs for value in item["values"].values())


ID = re.compile("[0-9a-f]{20}")
#: what stands in study.json, and what is right for it; a folder may come from anywhere
WHOLE: dict[str, Callable[[Any], bool]] = {
    "title": _is_text,
    "case": _is_text,
    "root": lambda value: value is None or _is_text(value),
    "allow_python": lambda value: isinstance(value, bool),
    "overrides": lambda value: isinstance(value, dict),
    "flexmbs": _is_text,
    "names": _are_texts,
    "collect": _are_texts,
    "sample": _is_text,
    "limits": _are_limits,
    "time_out": lambda value: value is None or _is_number(value),
    "keep": lambda value: value in ("none", "failed", "all"),
    "worst": lambda value: type(value) is int and value >= 0,
    "designs": lambda value: isinstance(value, list) and bool(value) and all(map(_is_design, value)),
}
#: the same of a row; one that is not whole counts as not done
WHOLE_ROW: dict[str, Callable[[Any], bool]] = {
    "status": _is_text,
    "message": _is_text,
    "seconds": _is_number,
    "metrics": lambda value: isinstance(value, dict) and all(map(_is_number, value.values())),
}


def _write_study(folder: Path, data: dict[str, Any]) -> None:
    with disk.atomic_file(folder / "study.json", overwrite=True, accept=lambda path: True) as file:
        file.write(json.dumps(data | {"format": FORMAT, "format_version": VERSION}).encode())


@dataclass
class Store:
    """A folder and what its study.json says."""

    folder: Path
    data: dict[str, Any]
    ids: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.ids = [item["id"] for item in self.data["designs"]]

    @staticmethod
    def create(folder: Path, data: dict[str, Any], *, resume: bool = False) -> Store:
        """A new folder; with `resume` the one that is there, if it is of the same study."""
        kind = disk.what_is(folder)
        if not kind:
            disk.make_folder(folder)
            for name in ("rows", "runs"):
                disk.make_folder(folder / name)
            _write_study(folder, data)
            return Store(folder, data)
        there = Store.open(folder)
        if not resume:
            what, remedy = "is a study already", "go on with --resume, or name another folder with -o"
            raise InputError(Diagnostic("study.exists", str(folder), what, remedy))
        if there.data["designs"] != data["designs"]:
            what = "is of another study: case, modal data, designs or flexmbs are not what they were"
            raise InputError(Diagnostic("study.other", str(folder), what, "name another folder with -o"))
        _write_study(folder, data)  # workers do what is asked for now, not what a folder says
        return Store(folder, data)

    @staticmethod
    def open(folder: Path) -> Store:
        """The study in a folder; `InputError` where there is none."""
        try:
            data = json.loads((folder / "study.json").read_bytes())
            if data["format"] != FORMAT:
                raise ValueError
            if data["format_version"] != VERSION:
                what = f"has format_version {data['format_version']}, this flexmbs reads {VERSION}"
                raise InputError(Diagnostic("study.version", str(folder), what))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            what = f"is {disk.what_is(folder)} without a study" if disk.what_is(folder) else "is not there"
            remedy = "name the folder that flexmbs sweep made"
            raise InputError(Diagnostic("study.none", str(folder), what, remedy)) from None
        wrong = [name for name, is_right in WHOLE.items() if not is_right(data.get(name))]
        if not wrong and not _fit(data["designs"], data["names"], data["sample"]):
            wrong = ["designs"]
        if wrong:
            what, remedy = f'"{wrong[0]}" is missing or not as it was written', "make the study again"
            raise InputError(Diagnostic("study.damaged", f"{folder}: study.json", what, remedy))
        return Store(folder, data)

    def result(self, k: int) -> Path:
        return self.folder / "runs" / f"{self.ids[k]}.h5"

    def size(self, k: int) -> int:
        """Bytes of the result of a design, 0 where there is none."""
        with suppress(OSError):
            return self.result(k).stat().st_size
        return 0

    def row(self, k: int) -> Row | None:
        """The row of a design, or None where it is not done."""
        try:
            found = json.loads((self.folder / "rows" / f"{self.ids[k]}.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        whole = self._is_row(found, k)
        if whole and self.data["keep"] == "all" and found["status"] == "complete":
            size = self.size(k) if self.result(k).is_file() else None
            whole = self.data["worst"] > 0 or size == found.get("bytes", size) is not None
        return found | {"design": k} if whole else None  # designs of equal values share a row

    def _is_row(self, found: Any, k: int) -> bool:
        """Whether this is a row of design k as it was written."""
        return (
            isinstance(found, dict)
            and found.get("id") == self.ids[k]
            and all(is_right(found.get(name)) for name, is_right in WHOLE_ROW.items())
        )

    def write_row(self, k: int, row: Row) -> Row:
        """Write the row of a finished design; one that a power cut takes away is computed again."""
        target = self.folder / "rows" / f"{self.ids[k]}.json"
        full = {"id": self.ids[k], "design": k} | row
        with disk.atomic_file(target, overwrite=True, sync=False) as file:
            file.write(json.dumps(full).encode())
        return full

    @property
    def _together(self) -> Path:
        return self.folder / "rows.json"

    def begin(self) -> None:
        """Rows are about to change; nobody is at them yet."""
        disk.unlink(self._together)
        for path in (self.folder / "rows").glob("*.tries"):
            disk.unlink(path)

    def _tries(self, k: int) -> Path:
        return self.folder / "rows" / f"{self.ids[k]}.tries"

    def begin_try(self, k: int) -> tuple[int, bytes]:
        """A worker begins a design: a file for the reason of its own end, and what others have left there.

        They leave a byte each, as several may come at once.
        """
        with disk.told(self._tries(k)):
            handle = operations.system.open(self._tries(k))
            try:
                before = os.pread(handle, 100, 0)
                os.lseek(handle, 0, os.SEEK_END)
                operations.system.write(handle, b"x")
            except OSError:
                os.close(handle)
                raise
        return handle, before

    def end_tries(self, k: int, handle: int) -> None:
        """A worker has come to an end with a design, whatever it was."""
        os.close(handle)
        disk.unlink(self._tries(k))

    def finish(self) -> None:
        """Write all rows together, so that they are read at once, and the table."""
        rows = list(self.rows())
        if len(rows) == len(self.ids):
            with disk.atomic_file(self._together, overwrite=True, sync=False) as file:
                file.write(json.dumps(rows).encode())
        self.write_table()

    def forget(self, k: int) -> None:
        """Take a row back, so that its design is computed again."""
        with suppress(FileNotFoundError):
            disk.unlink(self.folder / "rows" / f"{self.ids[k]}.json")

    def rows(self) -> Iterator[Row]:
        """All rows that are there, in the order of the designs."""
        with suppress(OSError, ValueError, RecursionError):
            together = json.loads(self._together.read_bytes())
            whole = isinstance(together, list) and len(together) == len(self.ids)
            if whole and all(self._is_row(row, k) for k, row in enumerate(together)):
                yield from (row | {"design": k} for k, row in enumerate(together))
                return
        for k in range(len(self.ids)):
            row = self.row(k)
            if row is not None:
                yield row

    def write_table(self) -> Path:
        """All rows as CSV: values, metrics, status."""
        import csv
        import io

        text, names = io.StringIO(), self.data["names"]
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["design", *names, *self.data["collect"], "status", "seconds", "message", "id"])
        for row in self.rows():
            values = self.data["designs"][row["design"]]["values"]
            writer.writerow(
                [row["design"], *(values[name] for name in names)]
                + [
                    repr(row["metrics"][name]) if name in row["metrics"] else ""
                    for name in self.data["collect"]
                ]
                + [row["status"], f"{row['seconds']:.3f}", row["message"], row["id"]]
            )
        path = self.folder / "table.csv"
        with disk.atomic_file(path, overwrite=True) as file:
            file.write(text.getvalue().encode())
        return path


def identity(base: str, values: dict[str, Any]) -> str:
    """Name of a design: by the case, its modal data and the program (`base`), and the values that vary."""
    return hashlib.sha256((base + json.dumps(values, sort_keys=True)).encode()).hexdigest()[:20]
