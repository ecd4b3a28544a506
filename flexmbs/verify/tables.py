"""Tables and histories of the reference files against the channels of a run, read and never retyped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from flexmbs.case import Case
from flexmbs.case.check import check
from flexmbs.case.outcome import evaluate
from flexmbs.expressions import parse
from flexmbs.reduce import reduce
from flexmbs.resources import resource
from flexmbs.verify.items import Counts, Modes, Table, at
from flexmbs.verify.reference import Reference
from flexmbs.verify.report import Line, compare


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
        known = [float(at(row, column)) for _, row in rows]
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
    ((_, row),) = [("", at(reference.numbers, counts.rows))]
    for name, column in counts.columns.items():
        label = f"{counts.rows}{'/' * bool(column)}{column}"
        yield compare(f"{name} = {label}", float(facts[name]), float(at(row, column)))


def mode_lines(modes: Modes, reference: Reference) -> Iterator[Line]:
    """The numbers of the file for as many modes as the recipe has."""
    modal = reduce(resource("cases", modes.recipe))
    found = {"omega": 2.0 * np.pi * modal.frequency_hz, "participation": modal.integrals.S_f[1]}
    # their shapes are 2 at the tip, ours 1
    found["participation"] = 2.0 * np.abs(found["participation"]) / modal.integrals.mass
    for name, values in found.items():
        path = getattr(modes, name)
        if path:
            known = np.atleast_1d(at(reference.numbers, path))[: modal.nf]
            yield compare(f"{name} = {path}", values[: len(known)], known, rtol=modes.rtol)
