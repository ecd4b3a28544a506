"""What stands in reference files: tables, counts and modes, and how their rows are found."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flexmbs.resources import resource
from flexmbs.verify.reference import Reference


@dataclass(frozen=True)
class Table:
    """Rows of a reference file, and the channels that have to give them.

    `rows`: a path in the numbers of the file, words between slashes, `*` for all keys or positions in their
    order, `a|b` for some; or the name of a CSV file with a column `t`. `columns`: an expression of channels
    and its path in the row ("" for the row itself). A row belongs to the sample of its time: `at`, or
    the key itself (`t=0.5`), or the column that `at` names; otherwise to the sample of its own position, or
    to the last one with `last`. `{row}` in an expression is the position. `values` override the case, in a
    run of its own.
    """

    case: str
    rows: str
    columns: Mapping[str, str]
    rtol: float = 0.0
    atol: float = 0.0
    at: tuple[float, ...] | str = ()
    last: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)

    def read(self, reference: Reference) -> list[tuple[str, Any]]:
        """Keys and contents of the rows."""
        if self.rows.endswith(".csv"):
            text = resource("cases", "reference", self.rows).read_text(encoding="utf-8")
            return [(f"t={row['t']}", row) for row in csv.DictReader(text.splitlines())]
        found: list[tuple[str, Any]] = [("", reference.numbers)]
        for word in self.rows.split("/"):
            found = [item for _, value in found for item in _children(value, word)]
        return found

    def times(self, rows: list[tuple[str, Any]]) -> list[float]:
        """Times of the rows; empty where rows are samples in their order."""
        if isinstance(self.at, str):
            return [float(row[self.at]) for _, row in rows]
        if self.at:
            return list(self.at)
        keys = [re.fullmatch(r"(?:t=)?(\d+\.\d+(?:e-?\d+)?)", key) for key, _ in rows]
        return [float(key[1]) for key in keys if key] if all(keys) else []


@dataclass(frozen=True)
class Counts:
    """Numbers of freedoms in a reference file against those of `flexmbs check`."""

    case: str
    rows: str
    columns: Mapping[str, str]
    values: Mapping[str, Any] = field(default_factory=dict)


def _children(value: Any, word: str) -> list[tuple[str, Any]]:
    if word != "*":
        return [(key, at(value, key)) for key in word.split("|")]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [(str(key), item) for key, item in items]


def at(value: Any, path: str) -> Any:
    """The entry at a path of keys and positions."""
    for word in path.split("/") if path else ():
        value = value[int(word)] if isinstance(value, list) else value[word]
    return value


@dataclass(frozen=True)
class Modes:
    """Natural frequencies [rad/s] and participation of the modes of a recipe."""

    recipe: str
    omega: str = ""
    participation: str = ""
    rtol: float = 0.0


Item = Table | Counts | Modes
