"""The table of many runs: what varies, how, and what is kept of each."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from flexmbs import units
from flexmbs.input.registered import BodyName
from flexmbs.input.values import Number, Plain, Table, fail, number

Pair = Annotated[list[Number], Field(min_length=2, max_length=2)]
KEEP = r"^(all|failed|none|worst [1-9][0-9]*)$"


class Spread(Table):
    """A distribution of a parameter: one of these, cut off outside `within`."""

    uniform: Pair | None = None
    normal: Pair | None = None
    lognormal: Pair | None = None
    triangular: Annotated[list[Number], Field(min_length=3, max_length=3)] | None = None
    weibull: Pair | None = None
    within: Pair | None = None

    @property
    def kind(self) -> str:
        return next(name for name in KINDS if getattr(self, name) is not None)

    @property
    def numbers(self) -> list[float]:
        return [float(item) for item in getattr(self, self.kind)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(getattr(self, name) is not None for name in KINDS) != 1:
            raise fail(f"a distribution is one of {', '.join(KINDS)}")
        a = self.numbers
        wrong = {
            "uniform": a[0] > a[-1],
            "normal": a[1] <= 0.0,
            "lognormal": min(a[:2]) <= 0.0,
            "triangular": not a[0] <= a[1] <= a[-1] or a[0] == a[-1],
            "weibull": min(a[:2]) <= 0.0,
        }
        if wrong[self.kind]:
            raise fail(f"{KINDS[self.kind]}; these are {', '.join(f'{value:g}' for value in a)}")
        if self.within is not None and not self.within[0] < self.within[1]:
            raise fail("within needs its lower bound first")
        return self


#: what the numbers of each distribution are
KINDS = {
    "uniform": "uniform takes a lower and an upper bound",
    "normal": "normal takes a mean and a standard deviation above zero",
    "lognormal": "lognormal takes a median and a deviation of the logarithm, both above zero",
    "triangular": "triangular takes lower bound, peak and upper bound in this order",
    "weibull": "weibull takes a scale and a shape, both above zero",
}


def _as_spread(value: Any) -> Any:
    return {"uniform": value} if isinstance(value, list) else value


class Related(Table):
    """Correlation of two sampled parameters (of their ranks, by normal scores)."""

    parameters: Annotated[list[str], Field(min_length=2, max_length=2)]
    value: Annotated[Plain, Field(gt=-1.0, lt=1.0)]


class Sample(Table):
    """Samples of parameters: random or of low discrepancy, or the designs of Morris and Saltelli."""

    method: Literal["sobol", "halton", "latin", "random", "morris", "saltelli"] = "sobol"
    n: Annotated[int, Field(gt=0, le=1_000_000)]
    seed: Annotated[int, Field(ge=0)] = 0
    levels: Annotated[int, Field(ge=4, le=1000)] = 4
    parameters: Annotated[
        dict[str, Annotated[Spread, BeforeValidator(_as_spread, json_schema_input_type=Spread | Pair)]],
        Field(min_length=1),
    ]
    correlation: list[Related] = Field(default=[])

    @model_validator(mode="after")
    def _check(self) -> Self:
        for item in self.correlation:
            for name in item.parameters:
                if name not in self.parameters:
                    raise fail(f'correlation names "{name}", which is not sampled')
        if self.correlation and self.method in ("morris", "saltelli"):
            raise fail(f'the design of "{self.method}" needs independent parameters')
        return self


#: what is told of a hot spot: von Mises stress, time, place in axes of the body, number of the node or cell
SPOT = ("", ".time", ".x", ".y", ".z", ".number")


def _as_values(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


Choices = Annotated[list[Any], BeforeValidator(_as_values, json_schema_input_type=Any), Field(min_length=1)]


class Sweep(Table):
    """Many runs: all combinations (`grid`), value by value (`zip`), the rows of a `table`, or `sample`.

    `where`: conditions between parameters; `collect`: metrics, all where it is empty; `hot_spots`: flexible
    bodies whose largest stress is told, with its place and time; `keep`: results;
    `limits`: of metrics, beyond which a design counts as failed in the report.
    """

    grid: dict[str, Choices] | None = None
    zip: dict[str, Choices] | None = None
    table: str | None = None
    sample: Sample | None = None
    where: list[str] = Field(default=[])
    collect: list[str] = Field(default=[])
    hot_spots: list[BodyName] = Field(default=[])
    keep: Annotated[str, Field(pattern=KEEP)] = "all"
    rank: str | None = None
    limits: dict[str, Pair] = Field(default={})
    time_out: Annotated[number(units.TIME), Field(gt=0.0)] | None = None
    on_failure: Literal["go on", "stop"] = "go on"

    @property
    def spots(self) -> list[str]:
        """Names of what is told of the hot spots of bodies."""
        return [f"{body}.hot_spot{what}" for body in self.hot_spots for what in SPOT]

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = (self.grid, self.zip, self.table, self.sample)
        if sum(item is not None for item in given) != 1:
            raise fail("a sweep needs one of grid, zip, table, sample")
        if self.zip is not None and len({len(values) for values in self.zip.values()}) > 1:
            raise fail("the lists of zip have different lengths")
        if self.keep.startswith("worst") and self.rank is None:
            raise fail(f'keep = "{self.keep}" needs rank: a metric, "-" before it where little is bad')
        if self.where and self.sample is not None and self.sample.method in ("morris", "saltelli"):
            raise fail(f'the design of "{self.sample.method}" is whole or worth nothing; leave out where')
        return self
