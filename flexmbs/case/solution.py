"""`flexmbs run --verify-solution`: how far sensors and metrics of a run are from those of finer ones.

The case is run again twice with a smaller step or tolerance, and once with a larger modal basis. Three
results give the observed order p and Richardson's estimate of the error, `r^p |y1 - y2| / (r^p - 1)` for a
refinement by r; the grid convergence index is that error, times a safety factor, over the magnitude:
1.25 where the observed order is near the expected one, 3 elsewhere and where two results are all there is.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.case.case import Case, Progress
from flexmbs.case.runner import CaseRun, execute, settings
from flexmbs.errors import Diagnostic, UsageError
from flexmbs.integrate import method

Floats = NDArray[np.float64]
STEP_RATIO, TOLERANCE_RATIO = 2.0, 10.0
SMALLEST_RTOL = 1e-13
SAFE, UNSAFE = 1.25, 3.0
#: at least: bending in two planes, torsion and extension take turns, one of a kind would prove nothing
MORE_MODES = 6
ROUNDING = 1e-13  # differences below this part of the magnitude are rounding


@dataclass(frozen=True)
class Estimate:
    """One quantity under one refinement; `order` is NaN where it cannot be observed.

    `value` is that of the run: of a sensor its largest magnitude. `extrapolated` is Richardson's value (of a
    metric), `error` the estimated error of the run, `index` the grid convergence index.
    """

    quantity: str
    refined: str
    value: float
    extrapolated: float
    differences: tuple[float, ...]
    order: float
    error: float
    index: float

    def __str__(self) -> str:
        order = "-" if math.isnan(self.order) else f"{self.order:.2f}"
        return (
            f"{self.quantity:<28} {self.value:>13.6g} {self.refined:<9} {self.error:>10.2e} {order:>6} "
            f"{100.0 * self.index:>10.2g} %"
        )

    def data(self) -> dict[str, Any]:
        """For JSON, which has no NaN."""
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in asdict(self).items()}


HEADER = f"{'quantity':<28} {'value':>13} {'refined':<9} {'error':>10} {'order':>6} {'index':>12}"


def verify_solution(
    case: Case,
    done: CaseRun,
    *,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> list[Estimate]:
    """Run a case with finer steps and larger modal bases, and estimate the errors of the run `done`."""
    say = say or (lambda text: None)
    found: list[Estimate] = []
    with tempfile.TemporaryDirectory() as folder:

        def values(name: str, finer: Case) -> dict[str, Floats]:
            say(f"verifying the solution with {name}")
            run = execute(finer, Path(folder) / "finer.h5", overwrite=True, progress=progress)
            try:
                return quantities(run.result)
            finally:
                run.result.close()

        first = quantities(done.result)
        series = list(_finer_in_time(case, done))
        if series:
            ratio, order = _refinement(case, done)
            found += estimates("time", [first, *(values(*item) for item in series)], ratio, order)
        for body, name, finer in larger_bases(case, Path(folder), say):
            found += estimates(body, [first, values(name, finer)], 1.0, math.nan)
    if not found:
        what = "has no step to refine, and no modal basis that could be larger"
        remedy = "verify a case of type dynamics, or one with flexible bodies"
        raise UsageError(Diagnostic("usage.verify_solution", case.source.name, what, remedy))
    return found


def quantities(result: Any) -> dict[str, Floats]:
    """Sensors over time and metrics; joint positions where a case has neither."""
    for groups in (("sensors/", "metrics/"), ("joints/",)):
        paths = [path for path in result.paths if path.startswith(groups)]
        paths = [path for path in paths if groups[0] != "joints/" or path.endswith("/position")]
        if paths:
            return {path.replace("/", "."): np.array(result[path], dtype=float) for path in paths}
    return {}


def _refinement(case: Case, done: CaseRun) -> tuple[float, float]:
    """Ratio of the refinement and the order expected: of the method in the step, one in the tolerance."""
    chosen = settings(case)
    if chosen.step > 0.0:
        return STEP_RATIO, float(method[done.summary.method].order)
    return TOLERANCE_RATIO, 1.0


def _finer_in_time(case: Case, done: CaseRun) -> Iterator[tuple[str, Case]]:
    """Two cases with smaller steps or tolerances, and the method of the run."""
    chosen = settings(case)
    if chosen.type != "dynamics" or chosen.t_end <= 0.0:
        return
    same = {"analysis.method": done.summary.method} if chosen.formulation == "recursive" else {}
    for k in (1, 2):
        if chosen.step > 0.0:
            step = chosen.step / STEP_RATIO**k
            yield f"step = {step:g}", case.with_values(**same, **{"analysis.step": step})
        elif chosen.rtol / TOLERANCE_RATIO**k >= SMALLEST_RTOL:
            factor = TOLERANCE_RATIO**-k
            finer = {"analysis.rtol": chosen.rtol * factor, "analysis.atol": chosen.atol * factor}
            yield f"rtol = {chosen.rtol * factor:g}", case.with_values(**same, **finer)


def larger_bases(case: Case, folder: Path, say: Callable[[str], None]) -> Iterator[tuple[str, str, Case]]:
    """For every flexible body that can have one, a case with more modes; says which cannot."""
    for name, table in case.spec.bodies.items():
        recipe, modal = getattr(table, "reduce", None), getattr(table, "modal", None)
        if recipe is None and modal is None:
            continue
        body: Any = case.model().bodies[name]
        all_modes, used = body.modal.nf, body.modal.nf if body.modes is None else len(body.modes)
        if used < all_modes:
            more = min(_more(used), all_modes)
            larger = case.with_tables(partial(_count, name, more))
            yield name, f"{more} modes of {name}", larger
        elif recipe is not None and (path := _reduced_again(case, name, recipe, folder)) is not None:
            larger = case.with_tables(partial(_swap, name, path))
            yield name, f"a larger basis of {name}", larger
        else:
            why = (
                "all modes of its file are in use"
                if recipe is None
                else "its recipe gives the shapes themselves"
            )
            say(f"the basis of {name} stays as it is: {why}")


def _more(count: int) -> int:
    return max(2 * count, count + MORE_MODES)


def _count(name: str, count: int, data: dict[str, Any]) -> None:
    data["bodies"][name]["modes"] = {"count": count}


def _swap(name: str, path: Path, data: dict[str, Any]) -> None:
    table = data["bodies"][name]
    del table["reduce"]
    table.pop("recipe", None)
    table["modal"] = str(path)


def _reduced_again(case: Case, name: str, recipe: str, folder: Path) -> Path | None:
    """Modal data from the recipe of a body with twice the modes or frequency; None where shapes are given."""
    from flexmbs.case.build.reduction import recipe_with
    from flexmbs.reduce.stage1 import run

    file = case.source.file(("bodies", name, "reduce"), recipe)
    changes = getattr(case.spec.bodies[name], "recipe", {})
    given = recipe_with(file, changes, case.parameters, case.source.root)
    more: dict[str, Any] = {}
    if given.modes is not None:
        more = {"modes": _more(given.modes)}
    elif given.fmax is not None:
        more = {"fmax": 2.0 * given.fmax}
    else:
        return None
    target = folder / f"{len(list(folder.iterdir()))}.modal.h5"
    run(recipe_with(file, changes | more, case.parameters, case.source.root), None, None).save(target)
    return target


def estimates(refined: str, levels: list[dict[str, Floats]], ratio: float, order: float) -> list[Estimate]:
    """Estimates of all quantities from results of falling step, or before and after one enlargement."""
    return [
        estimate(name, refined, [level[name] for level in levels], ratio, order)
        for name in levels[0]
        if all(name in level for level in levels)
    ]


def estimate(name: str, refined: str, y: list[Floats], ratio: float, expected: float) -> Estimate:
    """Observed order, Richardson's error and convergence index of one quantity (see the module)."""
    n = min(len(item) if item.ndim else 1 for item in y)
    rows = [np.atleast_1d(item)[:n] for item in y]
    size = float(np.abs(rows[0]).max(initial=0.0))
    gaps = tuple(float(np.abs(b - a).max(initial=0.0)) for a, b in zip(rows, rows[1:], strict=False))
    p, factor, growth = math.nan, UNSAFE, 1.0
    if len(gaps) > 1 and gaps[1] > ROUNDING * size and gaps[0] > gaps[1]:
        p = math.log(gaps[0] / gaps[1]) / math.log(ratio)
        usual = 0.5 * expected <= p <= 1.5 * expected
        factor = SAFE if usual else UNSAFE
        growth = ratio ** (p if usual else min(p, expected))
    error = gaps[0] * (growth / (growth - 1.0) if growth > 1.0 else 1.0)
    best = y[0]
    if y[0].size == 1:
        value = float(y[0].reshape(()))
        best = y[-1] + ((y[-1] - y[-2]) / (growth - 1.0) if growth > 1.0 else 0.0)
    else:
        value = size
    extrapolated = float(np.asarray(best).reshape(())) if y[0].size == 1 else math.nan
    index = factor * error / size if size > 0.0 else 0.0
    return Estimate(name, refined, value, extrapolated, gaps, p, error, index)
