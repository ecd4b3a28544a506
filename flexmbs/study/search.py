"""What searches ask of a case: values at parameters within their ranges, and slopes that repeat its steps.

Error control chooses other steps for every value of a parameter; what that changes in a result is noise of
the size of the tolerance, which a difference of neighbours divides by their distance. With the steps of one
run results are smooth, and central differences with small distances tell the slope of what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.case import Case
from flexmbs.case.runner import CaseRun, execute
from flexmbs.errors import Diagnostic, FlexmbsError, InputError
from flexmbs.integrate import Steps
from flexmbs.units import UnitError, parse_quantity

Floats = NDArray[np.float64]
Progress = Callable[[float, str], None]
#: distance of differences, in parts of the size of a parameter
NEAR = 1e-5
#: values of something at parameters; the steps of the first call are repeated by those that follow
Measure = Callable[[Floats, Steps | None], Floats]


class Runs:
    """Runs of a case at parameters in parts of their ranges, x in [0, 1]; the last one is remembered."""

    def __init__(
        self,
        case: Case,
        ranges: Mapping[str, Sequence[Any]],
        read: Callable[[CaseRun], Floats],
        progress: Progress | None = None,
        most: int = 1,
    ) -> None:
        self.case, self.names, self.read = case, list(ranges), read
        self.low, self.high = np.array([[float(end) for end in ends] for ends in ranges.values()]).T
        self.count, self.failed, self.first_failure = 0, 0, ""
        self._progress, self._most = progress, most
        self._at, self._y, self._steps = np.full(len(self.names), np.nan), np.zeros(0), Steps()
        self.start = np.array([value_of(case, name) for name in self.names])
        for name, value, low, high in zip(self.names, self.start, self.low, self.high, strict=True):
            if not low <= value <= high:
                what = f"the case says {name} = {value:g}, outside of its range {low:g} to {high:g}"
                remedy = "widen the range, or begin with another value: --set"
                raise InputError(Diagnostic("study.range", case.source.name, what, remedy))

    @property
    def x0(self) -> Floats:
        return np.asarray((self.start - self.low) / (self.high - self.low))

    def parameters(self, x: Floats) -> Floats:
        """Values of the parameters."""
        return np.asarray(self.low + x * (self.high - self.low))

    def values(self, x: Floats) -> Floats:
        """What is read from the run at x; raises what the run raises."""
        if not np.array_equal(x, self._at):
            steps = Steps()
            self._y = self._run(x, steps)
            self._at, self._steps = np.array(x), steps
        return self._y

    def slopes(self, x: Floats) -> Floats:
        """Slopes over x of what is read; the steps of the run at x are repeated."""
        self.values(x)
        unit = np.ones(len(x))
        return differences(self._run, np.array(x), self._steps, unit, np.zeros(len(x)), unit)

    def tried(self, x: Floats, instead: Floats) -> Floats:
        """`values`, and something else where a run fails: searches look elsewhere then."""
        try:
            return self.values(x)
        except InputError:
            raise
        except FlexmbsError as error:
            self.failed += 1
            self.first_failure = self.first_failure or str(error.diagnostics[0])
            return instead

    def _run(self, x: Floats, steps: Steps | None) -> Floats:
        self.count += not (steps is not None and steps.known)
        if self._progress is not None:
            self._progress(min(self.count / self._most, 1.0), f"{self.count} runs")
        varied = self.case.with_values(**dict(zip(self.names, self.parameters(x).tolist(), strict=True)))
        return self.read(execute(varied, keep=False, steps=steps))


def differences(
    measure: Measure,
    x: Floats,
    steps: Steps,
    size: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
) -> Floats:
    """Slopes (value, parameter) at x, of order 2, by runs that repeat the steps of one at x.

    size : that of every parameter, of which differences take a small part; 1 where it is zero. Within `low`
    and `high`: at a bound differences are one-sided.
    """
    columns: list[Floats] = []
    repeated: Floats | None = None
    for j, h in enumerate(NEAR * np.where(size > 0.0, size, 1.0)):
        one = np.zeros(len(x))
        one[j] = h
        if low is not None and x[j] - h < low[j]:
            side = 1.0
        elif high is not None and x[j] + h > high[j]:
            side = -1.0
        else:
            columns.append((measure(x + one, steps) - measure(x - one, steps)) / (2.0 * h))
            continue
        repeated = measure(x, steps) if repeated is None else repeated
        once, twice = measure(x + side * one, steps), measure(x + 2.0 * side * one, steps)
        columns.append(side * (4.0 * once - twice - 3.0 * repeated) / (2.0 * h))
    return np.column_stack(columns)


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
