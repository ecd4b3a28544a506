"""Comparison of two results, dataset by dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, UsageError
from flexmbs.results.reader import Result

#: what depends on the run and not on the motion
NOT_COMPARED = ("checkpoint/", "provenance/", "summary/", "solver/")


@dataclass(frozen=True)
class Difference:
    """Where two results differ, by how much (largest, absolute), and at what time."""

    path: str
    what: str
    error: float = float("nan")
    tolerance: float = float("nan")

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass
class ResultComparison:
    """All differences; `compared` counts the datasets that were looked at."""

    compared: int = 0
    items: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.items

    @property
    def text(self) -> str:
        if self.equal:
            return f"{self.compared} datasets agree"
        lines = [str(item) for item in self.items[:20]]
        if len(self.items) > 20:
            lines.append(f"... and {len(self.items) - 20} more")
        return "\n".join([f"{len(self.items)} of {self.compared} datasets differ:", *lines])


def compare(a: Result, b: Result, *, rtol: float = 1e-6, atol: float = 1e-9) -> ResultComparison:
    """Compare all datasets of two results; those of the solver and the provenance are left out.

    Numbers agree within `atol + rtol * scale`, scale the largest magnitude of the dataset in `a`.
    """
    if rtol < 0.0 or atol < 0.0:
        raise UsageError(Diagnostic("compare.tolerance", "compare", "tolerances are not negative"))
    found = ResultComparison()
    paths = [
        {path for path in result.paths if not path.startswith(NOT_COMPARED)} for result in (a, b)
    ]  # fmt: skip
    for path in sorted(paths[0] | paths[1]):
        found.compared += 1
        if path not in paths[1] or path not in paths[0]:
            missing = b if path not in paths[1] else a
            found.items.append(Difference(path, f"is not in {missing.path.name}"))
            continue
        item = _dataset(path, a, b, rtol, atol)
        if item is not None:
            found.items.append(item)
    return found


def _dataset(path: str, a: Result, b: Result, rtol: float, atol: float) -> Difference | None:
    x, y = np.asarray(a[path]), np.asarray(b[path])
    if x.shape != y.shape:
        return Difference(path, f"shapes {x.shape} and {y.shape}")
    if x.dtype.kind in "USO" or y.dtype.kind in "USO":
        return None if np.array_equal(x, y) else Difference(path, "texts differ")
    if not x.size:
        return None
    scale = float(np.nanmax(np.abs(x))) if np.any(np.isfinite(x)) else 0.0
    tolerance = atol + rtol * scale
    error = np.abs(x.astype(float) - y.astype(float))
    error = np.where(np.isnan(x) & np.isnan(y), 0.0, error)
    if np.all(error <= tolerance):
        return None
    return _described(path, a, error, tolerance)


def _described(path: str, a: Result, error: Any, tolerance: float) -> Difference:
    """The largest difference and its place; NaN on one side counts as largest."""
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(error), np.inf, error))), error.shape)
    worst = float(error[place]) if error.ndim else float(error)
    when = ""
    if error.ndim and a.dimensions(path)[:1] == ("time",):
        when = f" at t = {float(a['time'][place[0]]):.6g} s"
    return Difference(path, f"differs by {worst:.3g}{when} (tolerance {tolerance:.3g})", worst, tolerance)
