"""Parameters that make a metric best while others keep their limits: SciPy's methods on runs of a case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from flexmbs.case import Case
from flexmbs.case.schema.search import Optimise
from flexmbs.errors import Diagnostic, InputError
from flexmbs.study.given import load, without_expected
from flexmbs.study.search import Progress, Runs

Floats = NDArray[np.float64]
#: what limits may be passed by, in parts of their size
PASSED = 1e-4


@dataclass(frozen=True)
class Best:
    """Parameters and metrics of the best design, and how they were found."""

    parameters: dict[str, float]
    metrics: dict[str, float]
    start: dict[str, float]
    beyond: list[str]
    runs: int
    failed: int
    converged: bool
    message: str

    @property
    def text(self) -> str:
        lines = [f"{'' if self.converged else 'NOT '}converged after {self.runs} runs: {self.message}"]
        lines += [f"{name} = {value:.8g}" for name, value in self.parameters.items()]
        for name, value in self.metrics.items():
            note = "  BEYOND ITS LIMITS" if name in self.beyond else ""
            lines.append(f"{name}: {value:.6g}, at the start {self.start[name]:.6g}{note}")
        if self.failed:
            lines.append(f"{self.failed} runs failed and were taken as bad")
        return "\n".join(lines)

    def data(self) -> dict[str, Any]:
        """For JSON."""
        return dict(self.__dict__)


def optimise(
    path: str | Path | Case,
    *,
    root: str | Path | None = None,
    allow_python: bool = False,
    overrides: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Best:
    """Find the parameters that `[optimise]` of a case asks for."""
    case = (
        without_expected(path) if isinstance(path, Case) else load(path, root, allow_python, overrides or {})
    )
    table = case.spec.optimise
    if table is None:
        remedy = "include the case in a file with [optimise]"
        raise InputError(Diagnostic("study.optimise", str(path), "has no [optimise]", remedy))
    goal = table.minimise or table.maximise or ""
    names = [goal, *(name for name in table.limits if name != goal)]
    runs = Runs(
        case,
        table.parameters,
        lambda run: np.array([run.metrics[name] for name in names]),
        progress,
        table.runs,
    )
    search = _Search(table, runs, names)
    found = search.run()
    best = search.best(found)
    values = dict(zip(names, runs.values(best).tolist(), strict=True))
    return Best(
        dict(zip(runs.names, runs.parameters(best).tolist(), strict=True)),
        values,
        dict(zip(names, search.first.tolist(), strict=True)),
        [name for name in table.limits if search.excess(name, values[name]) > PASSED],
        runs.count,
        runs.failed,
        bool(found.success),
        str(found.message).rstrip("."),
    )


class _Search:
    """The problem as SciPy takes it: goal and limits in parts of their size, parameters of their ranges."""

    def __init__(self, table: Optimise, runs: Runs, names: list[str]) -> None:
        self.table, self.runs, self.names = table, runs, names
        self.first = runs.values(runs.x0)
        self.sign = 1.0 if table.minimise else -1.0
        self.size = {name: self._size(name, value) for name, value in zip(names, self.first, strict=True)}
        self.worst = float(self.sign * self.first[0] / self.size[names[0]])
        self.seen: list[tuple[float, float, Floats]] = []

    def _size(self, name: str, value: float) -> float:
        ends = self.table.limits.get(name)
        given = [abs(float(end)) for end in (ends.min, ends.max) if end is not None] if ends else []
        return max(abs(float(value)), *given, 1e-12)

    def excess(self, name: str, value: float) -> float:
        """How far a metric is beyond its limits, in parts of its size."""
        ends = self.table.limits[name]
        low = float(ends.min) if ends.min is not None else -np.inf
        high = float(ends.max) if ends.max is not None else np.inf
        return max(low - value, value - high, 0.0) / self.size[name]

    def values(self, x: Floats) -> Floats:
        """All metrics at x; where a run fails the goal is worse than any, the others are as at the start."""
        failed = self.runs.failed
        bad = self.first.copy()
        bad[0] = self.sign * self.size[self.names[0]] * (self.worst + 1.0)
        found = self.runs.tried(np.clip(x, 0.0, 1.0), bad)
        goal = float(self.sign * found[0] / self.size[self.names[0]])
        if self.runs.failed == failed:
            self.worst = max(self.worst, goal)
            beyond = sum(
                self.excess(name, value)
                for name, value in zip(self.names, found, strict=True)
                if name in self.table.limits
            )
            self.seen.append((beyond if beyond > PASSED else 0.0, goal, np.clip(x, 0.0, 1.0)))
        return found

    def goal(self, x: Floats) -> float:
        return float(self.sign * self.values(x)[0] / self.size[self.names[0]])

    def goal_slope(self, x: Floats) -> Floats:
        return np.asarray(self.sign * self.runs.slopes(np.clip(x, 0.0, 1.0))[0] / self.size[self.names[0]])

    def limits(self) -> list[optimize.NonlinearConstraint]:
        """The limits of metrics."""
        found = []
        for name, ends in self.table.limits.items():
            k, size = self.names.index(name), self.size[name]
            low = float(ends.min) / size if ends.min is not None else -np.inf
            high = float(ends.max) / size if ends.max is not None else np.inf
            slopes: dict[str, Any] = {}
            if self.table.method == "slsqp":
                slopes["jac"] = lambda x, k=k, s=size: self.runs.slopes(np.clip(x, 0.0, 1.0))[k : k + 1] / s
            found.append(
                optimize.NonlinearConstraint(
                    lambda x, k=k, s=size: self.values(x)[k] / s, low, high, **slopes
                )
            )
        return found

    def run(self) -> Any:
        """What SciPy finds."""
        table, tol = self.table, float(self.table.tolerance)
        box = optimize.Bounds(np.zeros(len(self.runs.names)), np.ones(len(self.runs.names)), True)
        if table.method == "differential-evolution":
            size = 5 * len(self.runs.names)
            return optimize.differential_evolution(
                self.goal, box, popsize=5, maxiter=max(table.runs // size - 1, 1), tol=max(tol, 1e-6),
                constraints=self.limits() or (), seed=table.seed, x0=self.runs.x0, polish=False,
            )  # fmt: skip
        options: dict[str, Any] = {
            "slsqp": {"maxiter": table.runs, "ftol": tol},
            "cobyqa": {"maxfev": table.runs, "final_tr_radius": tol, "initial_tr_radius": 0.1},
            "nelder-mead": {"maxfev": table.runs, "xatol": tol, "fatol": tol},
        }[table.method]
        slope = self.goal_slope if table.method == "slsqp" else None
        return optimize.minimize(
            self.goal, self.runs.x0, method=table.method, jac=slope, bounds=box,
            constraints=self.limits(), options=options,
        )  # fmt: skip

    def best(self, found: Any) -> Floats:
        """The best that was seen: where limits are kept, the best goal; else the least excess."""
        self.values(np.asarray(found.x))
        return min(self.seen, key=lambda item: item[:2])[2]
