"""Slopes over parameters, by differences of runs that repeat the steps of one run.

Error control chooses other steps for every value of a parameter; what that changes in a result is noise of
the size of the tolerance, which a difference of neighbours divides by their distance. With the steps of one
run results are smooth, and central differences with small distances tell the slope of what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import Diagnostic, InputError, unknown_name
from flexmbs.integrate import Steps
from flexmbs.study.work import metrics_of, without_expected
from flexmbs.units import UnitError, parse_quantity

Floats = NDArray[np.float64]
#: distance of differences, in parts of the size of a parameter
NEAR = 1e-5
#: values of something at parameters; the steps of the first call are repeated by those that follow
Measure = Callable[[Floats, Steps | None], Floats]


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
        found = metrics_of(execute(varied, keep=False, steps=steps).result)
        return np.array([found[name] for name in wanted])

    _, J = linear(measure, x, np.abs(x))
    return {name: dict(zip(names, row.tolist(), strict=True)) for name, row in zip(wanted, J, strict=True)}


def linear(
    measure: Measure, x: Floats, size: Floats, low: Floats | None = None, high: Floats | None = None
) -> tuple[Floats, Floats]:
    """Values at x (of a run under error control) and their slopes (value, parameter), of order 2.

    size : that of every parameter, of which differences take a small part; 1 where it is zero. Within `low`
    and `high`: at a bound differences are one-sided.
    """
    steps = Steps()
    y = measure(x, steps)
    J = np.empty((len(y), len(x)))
    repeated: Floats | None = None
    for j, h in enumerate(NEAR * np.where(size > 0.0, size, 1.0)):
        one = np.zeros(len(x))
        one[j] = h
        if low is not None and x[j] - h < low[j]:
            side = 1.0
        elif high is not None and x[j] + h > high[j]:
            side = -1.0
        else:
            J[:, j] = (measure(x + one, steps) - measure(x - one, steps)) / (2.0 * h)
            continue
        repeated = measure(x, steps) if repeated is None else repeated
        once, twice = measure(x + side * one, steps), measure(x + 2.0 * side * one, steps)
        J[:, j] = side * (4.0 * once - twice - 3.0 * repeated) / (2.0 * h)
    return y, J


def value_of(case: Case, name: str) -> float:
    """Value of a parameter, or of a dotted key that is a number, in SI units."""
    if name in case.parameters:
        return float(case.parameters[name])
    found = case.source.data
    try:
        for key in name.split("."):
            found = found[key]
        value: object = found
        return float(parse_quantity(value).value if isinstance(value, str) else value)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, UnitError):
        known = ", ".join(case.parameters) or "none"
        what = f'"{name}" is neither a parameter nor a key with a number'
        raise InputError(
            Diagnostic("study.parameter", case.source.name, what, f"parameters: {known}")
        ) from None
