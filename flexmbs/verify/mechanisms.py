"""Reference problems of mechanisms: the shipped cases, in every formulation and by every integrator.

What is offered is asked of the product: the words of the schema are tried, and a pair that is refused by name
is left out. A component that is not installed is reported, never skipped in silence.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from flexmbs.case import Case
from flexmbs.case.runner import CaseRun, execute
from flexmbs.case.schema.analysis import Analysis
from flexmbs.errors import MissingComponentError, SolverError, UsageError
from flexmbs.verify.report import Line


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

    def lines(self, name: str, methods: tuple[str, ...]) -> Iterator[Line]:
        """Every line of [expected], for each formulation and method; `methods` besides the case's own."""
        case = Case.load(self.folder / name)
        analysis = case.spec.analysis
        assert analysis is not None, f"{name} has no [analysis]"
        own = analysis.method
        for formulation in [analysis.formulation] if self.quick else choices("formulation"):
            yield from self.run(case, formulation, own, analysis.type)
            if self.quick:
                continue
            for method in methods:
                yield from self.run(case, formulation, method, analysis.type)

    def run(self, case: Case, formulation: str, method: str, analysis: str) -> Iterator[Line]:
        """One run; nothing when the product does not offer it."""
        if self.refused & {(formulation, analysis), (formulation, method)} or method in self.missing:
            return
        values = {"analysis.formulation": formulation, "analysis.method": method}
        started = time.perf_counter()
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
            line = Line(what, 0.0, float("nan"), 0.0, note=case.name)
            yield replace(line, formulation=formulation, method=method, seconds=time.perf_counter() - started)
            return
        yield from _lines(case, done, formulation, analysis, time.perf_counter() - started)


def _lines(case: Case, done: CaseRun, formulation: str, analysis: str, seconds: float) -> Iterator[Line]:
    method = done.summary.method if analysis == "dynamics" else analysis
    for item in done.comparisons:
        yield Line(
            item.channel, item.expected, item.found, item.tolerance, formulation=formulation,
            method=method, seconds=seconds, note=case.name,
        )  # fmt: skip


def copied(target: Path, source: Any) -> Path:
    """A copy of the shipped cases and meshes: bodies are reduced anew, the installation stays as it is."""
    for name in ("cases", "meshes"):
        shutil.copytree(source(name), target / name, ignore=shutil.ignore_patterns("*.h5", "reference"))
    return target / "cases"
