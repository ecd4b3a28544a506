"""Slopes over parameters, by differences of runs that repeat the steps of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import unknown_name
from flexmbs.integrate import Steps
from flexmbs.study.given import without_expected
from flexmbs.study.search import differences, value_of

Floats = NDArray[np.float64]


def slopes(
    case: Case | str | Path, names: Sequence[str], *, collect: Sequence[str] = ()
) -> dict[str, dict[str, float]]:
    """Slopes of metrics of a case over parameters or dotted keys: `found[metric][parameter]`, SI units."""
    made = without_expected(case if isinstance(case, Case) else Case.load(case))
    wanted = list(collect) or list(made.spec.metrics)
    for name in wanted:
        if name not in made.spec.metrics:
            raise unknown_name("metrics", name, list(made.spec.metrics))
    x = np.array([value_of(made, name) for name in names])

    def measure(at: Floats, steps: Steps | None) -> Floats:
        varied = made.with_values(**dict(zip(names, at.tolist(), strict=True)))
        found = execute(varied, keep=False, steps=steps).metrics
        return np.array([found[name] for name in wanted])

    steps = Steps()
    measure(x, steps)
    J = differences(measure, x, steps, np.abs(x))
    return {name: dict(zip(names, row.tolist(), strict=True)) for name, row in zip(wanted, J, strict=True)}
