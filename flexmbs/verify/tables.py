"""Tables and histories of the reference files against the channels of a run, read and never retyped."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.outcome import evaluate
from flexmbs.expressions import parse
from flexmbs.reduce import reduce
from flexmbs.resources import resource
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare


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
        return [(key, _at(value, key)) for key in word.split("|")]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [(str(key), item) for key, item in items]


def _at(value: Any, path: str) -> Any:
    """The entry at a path of keys and positions."""
    for word in path.split("/") if path else ():
        value = value[int(word)] if isinstance(value, list) else value[word]
    return value


def with_times(case: Case, tables: list[Table], reference: Reference) -> Case:
    """The case with the overrides of the tables and samples at all their times."""
    values = dict(tables[0].values)
    times = {t for table in tables for t in table.times(table.read(reference))}
    if times:
        values["output.times"] = sorted(times | set(map(float, case.spec.output.times)))
    plain = Case.from_dict(
        {**case.source.data, "expected": {}}, folder=case.folder
    )  # it speaks of its own samples
    return plain.with_values(**values)


def table_lines(table: Table, reference: Reference, result: Any) -> Iterator[Line]:
    """Every column against its channel, the worst row shown."""
    rows = table.read(reference)
    t, times = np.asarray(result["time"], float), table.times(rows)
    if times:
        samples = [int(np.argmin(np.abs(t - time))) for time in times]
        assert np.allclose(t[samples], times, rtol=1e-9, atol=1e-12), f"{table.rows}: no sample at its times"
    else:
        samples = [len(t) - 1] * len(rows) if table.last else list(range(len(rows)))
    for channel, column in table.columns.items():
        known = [float(_at(row, column)) for _, row in rows]
        if "{row}" in channel:
            found = [_series(channel.replace("{row}", str(k)), result)[-1] for k in range(len(rows))]
        else:
            found = list(np.asarray(_series(channel, result))[samples])
        label = f"{table.rows}{'/' * bool(column)}{column}"
        yield compare(f"{channel} = {label}", found, known, rtol=table.rtol, atol=table.atol)


def _series(channel: str, result: Any) -> Any:
    return np.broadcast_to(evaluate(parse(channel), result), np.shape(result["time"]))


def count_lines(counts: Counts, reference: Reference, case: Case) -> Iterator[Line]:
    """Equations, rank, redundant rows and freedoms; they are whole numbers and have no tolerance."""
    facts = check(case.with_values(**counts.values) if counts.values else case).data()
    facts["rank"] = 6 * facts["bodies"] - facts["mobility"]
    facts["equations"] = facts["rank"] + facts["redundant"]
    ((_, row),) = [("", _at(reference.numbers, counts.rows))]
    for name, column in counts.columns.items():
        label = f"{counts.rows}{'/' * bool(column)}{column}"
        yield compare(f"{name} = {label}", float(facts[name]), float(_at(row, column)))


@dataclass(frozen=True)
class Modes:
    """Natural frequencies [rad/s] and participation of the modes of a recipe."""

    recipe: str
    omega: str = ""
    participation: str = ""
    rtol: float = 0.0


Item = Table | Counts | Modes


def mode_lines(modes: Modes, reference: Reference) -> Iterator[Line]:
    """The numbers of the file for as many modes as the recipe has."""
    modal = reduce(resource("cases", modes.recipe))
    found = {"omega": 2.0 * np.pi * modal.frequency_hz, "participation": modal.integrals.S_f[1]}
    # their shapes are 2 at the tip, ours 1
    found["participation"] = 2.0 * np.abs(found["participation"]) / modal.integrals.mass
    for name, values in found.items():
        path = getattr(modes, name)
        if path:
            known = np.atleast_1d(_at(reference.numbers, path))[: modal.nf]
            yield compare(f"{name} = {path}", values[: len(known)], known, rtol=modes.rtol)
