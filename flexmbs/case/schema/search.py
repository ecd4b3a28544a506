"""The tables of searches: what is fitted to measurements, and what is made best."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from flexmbs.case.schema.sweep import Pair
from flexmbs.input.values import Number, Table, fail


def _check_ranges(ranges: dict[str, list[Any]]) -> None:
    for name, (low, high) in ranges.items():
        if not float(low) < float(high):
            raise fail(f"the range of {name} needs its lower bound first")


class Fit(Table):
    """Parameters, each with the range it lies in, so that channels are what was measured.

    `measured`: a CSV file, the first column time; `channels`: column = channel of the result; `deviation`: of
    what was measured, by column. The start is what the case says.
    """

    parameters: Annotated[dict[str, Pair], Field(min_length=1)]
    measured: str
    channels: Annotated[dict[str, str], Field(min_length=1)]
    deviation: dict[str, Annotated[Number, Field(gt=0.0)]] = Field(default={})
    tolerance: Annotated[Number, Field(gt=0.0, lt=1.0)] = 1e-8
    runs: Annotated[int, Field(gt=0)] = 100

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_ranges(self.parameters)
        if self.deviation and set(self.deviation) != set(self.channels):
            raise fail("deviation names other columns than channels: give it for all of them or for none")
        return self


class Limits(Table):
    """What a metric may be."""

    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.min is None and self.max is None:
            raise fail("a limit is [lower, upper], { min = value } or { max = value }")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise fail("a limit needs its lower bound first")
        return self


def _as_limits(value: Any) -> Any:
    return dict(zip(("min", "max"), value, strict=False)) if isinstance(value, list) else value


class Optimise(Table):
    """Parameters, each with its range, so that a metric is least or greatest and others keep their limits."""

    parameters: Annotated[dict[str, Pair], Field(min_length=1)]
    minimise: str | None = None
    maximise: str | None = None
    limits: dict[
        str, Annotated[Limits, BeforeValidator(_as_limits, json_schema_input_type=Limits | list[Number])]
    ] = Field(default={})
    method: Literal["slsqp", "cobyqa", "nelder-mead", "differential-evolution"] = "slsqp"
    tolerance: Annotated[Number, Field(gt=0.0, lt=1.0)] = 1e-6
    runs: Annotated[int, Field(gt=0)] = 200
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_ranges(self.parameters)
        if (self.minimise is None) == (self.maximise is None):
            raise fail("give one of minimise and maximise: the name of a metric")
        if self.limits and self.method == "nelder-mead":
            raise fail('"nelder-mead" knows no limits; take "cobyqa", "slsqp" or "differential-evolution"')
        return self
