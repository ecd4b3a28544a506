"""Reference problems of mechanisms: the shipped cases, in every formulation and by every integrator.

What is offered is asked of the product: the words of the schema are tried, and a pair that is refused by name
is left out. A component that is not installed is reported, never skipped in silence.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from flexmbs.case import Case
from flexmbs.case.runner import CaseRun, execute
from flexmbs.case.schema.analysis import Analysis
from flexmbs.disk import MARKER
from flexmbs.errors import MissingComponentError, SolverError, UsageError
from flexmbs.verify.items import Counts, Table
from flexmbs.verify.numbers import TABLES
from flexmbs.verify.report import Line
from flexmbs.verify.settings import begin_of, settings
from flexmbs.verify.tables import count_lines, mode_lines, table_lines, with_times

if TYPE_CHECKING:
    from flexmbs.verify.reference import Reference


def choices(key: str) -> list[str]:
    """Words that `analysis.KEY` of a case may have."""
    return list(get_args(Analysis.model_fields[key].annotation))


@dataclass
class Runs:
    """Runs of cases that lie in `folder`; results go there, too. Remembers what was refused."""

    folder: Path
    quick: bool
    missing: dict[str, str] = field(default_factory=dict)
    refused: set[tuple[str, str]] = field(default_factory=set)

    def lines(self, name: str, not_for: Mapping[str, str]) -> Iterator[Line]:
        """Every line of [expected]: by every method and in every formulation but those in `not_for`.

        Formulations besides that of the case run by the first method that they offer.
        """
        case = Case.load(self.folder / name)
        analysis = case.spec.analysis
        assert analysis is not None, f"{name} has no [analysis]"
        methods: list[str] = [analysis.method]
        if analysis.type == "dynamics" and analysis.t_end and not self.quick:
            methods += [word for word in choices("method") if word != "auto" and word not in not_for]
        formulations = [word for word in choices("formulation") if word not in not_for]
        for formulation in [analysis.formulation] if self.quick else formulations:
            seen: set[str] = set()
            for method in methods:
                if method not in seen:
                    lines = list(self.run(case, formulation, method, analysis.type))
                    seen |= {method, *(line.method for line in lines)}  # what "auto" chose
                    yield from lines
                    if lines and formulation != analysis.formulation:
                        break  # the integrators are compared in the formulation of the case

    def tables(self, name: str, reference: Reference) -> Iterator[Line]:
        """Tables and histories of the reference, each by the method and formulation of its case."""
        groups: dict[str, list[Table]] = {}
        for item in TABLES.get(name, ()):
            if isinstance(item, Table):
                groups.setdefault(f"{item.case} {dict(item.values)}", []).append(item)
            elif isinstance(item, Counts):
                case = Case.load(self.folder / item.case)
                lines = count_lines(item, reference, case)
                yield from (replace(x, note=case.name, formulation="any", method="check") for x in lines)
            else:
                lines = mode_lines(item, reference)
                yield from (replace(x, formulation="finite elements", method="reduce") for x in lines)
        for group in list(groups.values())[: 1 if self.quick else None]:
            yield from self.table_run(group, reference)

    def table_run(self, tables: list[Table], reference: Reference) -> Iterator[Line]:
        """One run for all tables of a case with the same overrides."""
        case = with_times(Case.load(self.folder / tables[0].case), tables, reference)
        analysis = case.spec.analysis
        assert analysis is not None
        started = time.process_time()
        done = execute(case, self.folder / "verify.h5", overwrite=True)
        seconds = time.process_time() - started
        note = Path(tables[0].case).stem + "".join(f", {k} = {v}" for k, v in tables[0].values.items())
        method = done.summary.method if analysis.type == "dynamics" else analysis.type
        for table in tables:
            for line in table_lines(table, reference, done.result):
                yield replace(
                    line, note=note, formulation=analysis.formulation, method=method, seconds=seconds
                )

    def run(self, case: Case, formulation: str, method: str, analysis: str) -> Iterator[Line]:
        """One run; nothing when the product does not offer it."""
        if self.refused & {(formulation, analysis), (formulation, method)} or method in self.missing:
            return
        values: dict[str, Any] = {"analysis.formulation": formulation, "analysis.method": method}
        own, note, t_end = case.spec.analysis, case.name, begin_of(case.name, formulation, method)
        if t_end is not None:
            case, note = begin(case, t_end), f"{case.name} to {t_end:g} s"
        if own is not None and (formulation, method) != (own.formulation, own.method):
            values |= settings(case.name, formulation, method, own)
        started = time.process_time()
        try:
            done = execute(case.with_values(**values), self.folder / "verify.h5", overwrite=True)
        except UsageError as error:
            code = error.diagnostics[0].code
            if code not in ("analysis.formulation", "analysis.method"):
                raise
            self.refused.add((formulation, analysis if code == "analysis.formulation" else method))
            return
        except MissingComponentError as error:
            self.missing[method] = str(error.diagnostics[0])
            return
        except SolverError as error:
            what = f"stopped: {error.diagnostics[0].what}"
            line = Line(what, 0.0, float("nan"), 0.0, note=note)
            yield replace(line, formulation=formulation, method=method, seconds=time.process_time() - started)
            return
        yield from _lines(note, done, formulation, analysis, time.process_time() - started)


def begin(case: Case, t_end: float) -> Case:
    """The case up to an earlier end, with the lines of [expected] whose samples are numbered and kept."""
    output, analysis = case.spec.output, case.spec.analysis
    assert analysis is not None and analysis.t_end
    every = float(output.every or analysis.t_end)
    grid = {k * every for k in range(int(t_end / every) + 1)}
    samples = sorted(grid | {float(t) for t in output.times if float(t) <= t_end})
    kept = {}
    for channel, item in case.source.data["expected"].items():
        index = re.search(r"\[(\d+)\]$", channel)
        if index and int(index[1]) < len(samples):
            kept[channel] = item
    assert kept, f"{case.name}: no sample before t = {t_end}"
    shorter = Case.from_dict({**case.source.data, "expected": kept}, folder=case.folder)
    return shorter.with_values(
        **{"analysis.t_end": t_end, "output.times": samples[1:], "output.every": t_end}
    )


def _lines(note: str, done: CaseRun, formulation: str, analysis: str, seconds: float) -> Iterator[Line]:
    method = done.summary.method if analysis == "dynamics" else analysis
    for item in done.comparisons:
        yield Line(
            item.channel, item.expected, item.found, item.tolerance, formulation=formulation,
            method=method, seconds=seconds, note=note,
        )  # fmt: skip


def copied(target: Path, source: Any) -> Path:
    """A copy of the shipped cases and meshes, so that the installation stays as it is."""
    shutil.copy(source(MARKER), target)
    for name in ("cases", "meshes"):
        shutil.copytree(source(name), target / name, ignore=shutil.ignore_patterns("*.h5", "reference"))
    return target / "cases"
