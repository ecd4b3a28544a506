"""Parameters from measurements: least squares, with intervals and what the measurements leave open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from flexmbs.case import Case
from flexmbs.case.schema.search import Fit
from flexmbs.errors import Diagnostic, InputError, SolverError
from flexmbs.results import Result
from flexmbs.results.channels import channel
from flexmbs.simulate.motion.measured import read_rows
from flexmbs.study.given import load, without_expected
from flexmbs.study.search import Progress, Runs

Floats = NDArray[np.float64]
LEVEL = 0.95
#: residuals of a run that fails, in those of the start
FAR = 10.0
#: a direction is told by parameters whose part is at least this
PART = 0.1


@dataclass(frozen=True)
class Fitted:
    """Values of parameters, their intervals, and how well they are determined.

    weak : directions over the ranges of the parameters in which the measurements leave more open than the
    ranges do, as {parameter: part}.
    """

    names: list[str]
    values: Floats
    deviations: Floats
    low: Floats
    high: Floats
    correlation: Floats
    weak: list[dict[str, float]]
    at_bound: list[str]
    rms: dict[str, float]
    runs: int
    failed: int
    converged: bool
    message: str

    @property
    def parameters(self) -> dict[str, float]:
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @property
    def text(self) -> str:
        lines = [f"{'' if self.converged else 'NOT '}converged after {self.runs} runs: {self.message}"]
        for k, name in enumerate(self.names):
            note = "  (at the end of its range)" if name in self.at_bound else ""
            ends = f"{self.low[k]:.6g} to {self.high[k]:.6g}"
            lines.append(f"{name} = {self.values[k]:.8g}, {100 * LEVEL:.0f} % between {ends}{note}")
        for i, j in zip(*np.nonzero(np.triu(np.abs(self.correlation) > 0.9, 1)), strict=True):
            lines.append(
                f"{self.names[i]} and {self.names[j]} are correlated by {self.correlation[i, j]:.4f}"
            )
        for direction in self.weak:
            told = ", ".join(f"{part:+.2f} {name}" for name, part in direction.items())
            lines.append(f"not determined by these measurements (parts of the ranges): {told}")
        lines += [f"{name}: deviates by {value:.4g} (root mean square)" for name, value in self.rms.items()]
        if self.failed:
            lines.append(f"{self.failed} runs failed and were taken as far off")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """For JSON."""
        found = {
            name: {"value": v, "deviation": s, "low": a, "high": b}
            for name, v, s, a, b in zip(
                self.names,
                *([float(x) if np.isfinite(x) else None for x in column]
                  for column in (self.values, self.deviations, self.low, self.high)),
                strict=True,
            )
        }  # fmt: skip
        return {
            "parameters": found, "correlation": self.correlation.tolist(), "not_determined": self.weak,
            "at_bound": self.at_bound, "rms": self.rms, "runs": self.runs, "failed": self.failed,
            "converged": self.converged, "message": self.message,
        }  # fmt: skip


def fit(
    path: str | Path | Case,
    *,
    root: str | Path | None = None,
    allow_python: bool = False,
    overrides: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Fitted:
    """Fit the parameters of `[fit]` of a case to what was measured."""
    case = (
        without_expected(path) if isinstance(path, Case) else load(path, root, allow_python, overrides or {})
    )
    table = case.spec.fit
    if table is None:
        remedy = "include the case in a file with [fit]"
        raise InputError(Diagnostic("study.fit", str(path), "has no [fit]", remedy))
    times, measured = _measured(case, table)
    case = _at_times(case, times)
    scale = np.array([float(table.deviation[name]) if table.deviation else _size(measured[name])
                      for name in table.channels])  # fmt: skip

    def read(result: Result) -> Floats:
        return (_read(result, table, times) - np.column_stack(list(measured.values()))) / scale

    runs = Runs(case, table.parameters, lambda run: read(run.result).ravel(), progress, table.runs)
    first = runs.values(runs.x0)
    far = np.full_like(first, FAR * max(float(np.abs(first).max()), 1e-6))
    tolerance = float(table.tolerance)
    found = optimize.least_squares(
        lambda x: runs.tried(x, far), runs.x0, runs.slopes, (0.0, 1.0), max_nfev=table.runs,
        xtol=tolerance, ftol=tolerance, gtol=tolerance,
    )  # fmt: skip
    rms = np.sqrt(np.mean(np.reshape(found.fun, (len(times), -1)) ** 2, axis=0)) * scale
    return _judged(runs, found, dict(zip(table.channels, rms.tolist(), strict=True)), bool(table.deviation))


def _judged(runs: Runs, found: Any, rms: dict[str, float], known: bool) -> Fitted:
    """Intervals and weak directions by the slopes at the end; `known`: the deviation of measurements is."""
    n, m = len(runs.names), len(found.fun)
    width = runs.high - runs.low
    _, sv, Vt = np.linalg.svd(found.jac, full_matrices=False)
    noise = 1.0 if known else np.sqrt(2.0 * found.cost / max(m - n, 1))
    quantile = float(
        stats.norm.ppf(0.5 + LEVEL / 2) if known else stats.t.ppf(0.5 + LEVEL / 2, max(m - n, 1))
    )
    seen = sv > 1e-10 * max(sv[0], 1e-300)
    spread = np.where(seen, noise / np.where(seen, sv, 1.0), np.inf)
    half = quantile * spread  # of every direction, in parts of the ranges
    weak = [_direction(runs.names, Vt[k]) for k in range(len(sv)) if half[k] > 0.5]
    parts = np.where(np.abs(Vt) > 1e-7, Vt, 0.0) ** 2
    with np.errstate(invalid="ignore"):
        variance = np.nansum(parts * spread[:, None] ** 2, axis=0)
    finite = np.where(np.isfinite(spread), spread, 0.0)
    covariance = (Vt.T * finite**2) @ Vt
    own = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    deviations = np.sqrt(variance) * width
    values = runs.parameters(found.x)
    bound = [name for name, side in zip(runs.names, found.active_mask, strict=True) if side != 0]
    return Fitted(
        runs.names, values, deviations, values - quantile * deviations, values + quantile * deviations,
        np.clip(covariance / np.outer(own, own), -1.0, 1.0), weak, bound, rms, runs.count, runs.failed,
        bool(found.status > 0), str(found.message).rstrip("."),
    )  # fmt: skip


def _direction(names: list[str], v: Floats) -> dict[str, float]:
    v = v * np.sign(v[np.abs(v).argmax()])
    return {name: round(float(part), 4) for name, part in zip(names, v, strict=True) if abs(part) >= PART}


def _measured(case: Case, table: Fit) -> tuple[Floats, dict[str, Floats]]:
    """Times, and the columns that are fitted."""
    path = case.source.file(("fit", "measured"), table.measured)
    names, rows = read_rows(path)
    for column in table.channels:
        if column not in names[1:]:
            what = f'{table.measured} has no column "{column}"'
            where = case.source.where(("fit", "channels", column), key=True)
            raise InputError(Diagnostic("study.measured", where, what, f"it has {', '.join(names[1:])}"))
    end = float(case.spec.analysis.t_end or 0.0) if case.spec.analysis is not None else 0.0
    times = rows[:, 0]
    if np.any(np.diff(times) <= 0.0) or times[0] < 0.0 or times[-1] > end:
        what = (
            f"{table.measured}: times from {times.min():g} to {times.max():g} s, the run from 0 to {end:g} s"
        )
        remedy = "sort the rows, shift the times, or change analysis.t_end"
        where = case.source.where(("fit", "measured"))
        raise InputError(Diagnostic("study.measured", where, what, remedy))
    return times, {name: rows[:, names.index(name)] for name in table.channels}


def _at_times(case: Case, times: Floats) -> Case:
    """The case with output at these times alone, and without what is computed of it besides."""

    def change(data: dict[str, Any]) -> None:
        end = float(case.spec.analysis.t_end)  # type: ignore[union-attr, arg-type]
        data["output"] = {"every": end, "times": times.tolist()}
        for name in ("metrics", "sweep", "optimise"):
            data.pop(name, None)

    return case.with_tables(change)


def _read(result: Result, table: Fit, times: Floats) -> Floats:
    """Channels at the measured times (time, channel)."""
    there = np.asarray(result["time"])
    k = np.clip(np.searchsorted(there, times - 1e-12 * max(times[-1], 1e-300)), 0, len(there) - 1)
    if np.any(np.abs(there[k] - times) > 1e-9 * max(times[-1], 1e-300)):
        what = f"the run ends at t = {there[-1]:g} s, before the measurements do, at {times[-1]:g} s"
        raise SolverError(Diagnostic("study.short", "fit", what, "leave out analysis.until"))
    columns = []
    for text in table.channels.values():
        values = np.asarray(channel(result, text))
        if values.ndim != 1:
            what = f'channel "{text}" has {values[0].size} components'
            raise InputError(Diagnostic("study.measured", "fit.channels", what, "name one: .x, or [0]"))
        columns.append(values[k])
    return np.column_stack(columns)


def _size(values: Floats) -> float:
    """What a column is weighed by where its deviation is not known: the size of its changes."""
    size = float(np.std(values))
    return size if size > 0.0 else max(abs(float(values[0])), 1.0)
