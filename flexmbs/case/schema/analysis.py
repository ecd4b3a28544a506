"""Tables of what is asked: analysis, output, expected values, metrics."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from flexmbs.input.registered import CoordinateName
from flexmbs.input.values import Frequency, Law, Number, Plain, Table, Time, fail

#: spans beyond these [s] are mistakes, and their sums and quotients no numbers any more
SHORTEST, LONGEST = 1e-60, 1e60


def _within_reach(value: float) -> float:
    if value and not SHORTEST <= abs(value) <= LONGEST:
        raise fail(f"{value:.4g} s is out of range, {SHORTEST:g} to {LONGEST:g} s")
    return value


Span = Annotated[Time, Field(ge=0.0), AfterValidator(_within_reach)]
Positive = Annotated[Time, Field(gt=0.0), AfterValidator(_within_reach)]
Step = Annotated[
    Annotated[Literal["auto"], Tag("word")] | Annotated[Positive, Tag("number")],
    Discriminator(lambda value: "word" if value == "auto" else "number"),
]
Band = Annotated[
    Annotated[Literal["auto", "all"], Tag("word")]
    | Annotated[Annotated[Frequency, Field(gt=0.0)], Tag("number")],
    Discriminator(lambda value: "word" if value in ("auto", "all") else "number"),
]
TYPES = ("assembly", "kinematics", "inverse_dynamics", "statics", "dynamics", "linearize")


class Range(Table):
    """Numbers by `values`, or `n` of them between the ends, in even or logarithmic steps."""

    values_: list[Number] | None = Field(default=None, alias="values")
    from_: Number | None = Field(default=None, alias="from")
    to: Number | None = None
    n: Annotated[int, Field(ge=2, le=100_000)] = 201
    spacing: Literal["linear", "log"] = "linear"

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers."""
        if self.values_ is not None:
            return tuple(float(x) for x in self.values_)
        assert self.from_ is not None and self.to is not None
        step = np.geomspace if self.spacing == "log" else np.linspace
        return tuple(step(float(self.from_), float(self.to), self.n).tolist())

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.values_ is not None
        if given == (self.from_ is not None and self.to is not None) or (given and not self.values_):
            raise fail('give "from" and "to", or "values"')
        if self.from_ is not None and self.to is not None and self.spacing == "log":
            if not 0.0 < self.from_ < self.to:
                raise fail("logarithmic spacing needs 0 < from < to")
        return self


class Frequencies(Range):
    """Frequencies of a response [Hz]."""

    values_: list[Frequency] | None = Field(default=None, alias="values")
    from_: Frequency | None = Field(default=None, alias="from")
    to: Frequency | None = None


class Campbell(Range):
    """The parameter over which a linear model is computed, by name or dotted key, and its values."""

    parameter: str
    n: Annotated[int, Field(ge=2, le=10_000)] = 21


def _as_range(value: Any) -> Any:
    """A list of numbers is a range of these values."""
    return {"values": value} if isinstance(value, list) else value


class Analysis(Table):
    """What is computed, and how."""

    type: Literal["assembly", "kinematics", "inverse_dynamics", "statics", "dynamics", "linearize"] = (
        "dynamics"
    )
    formulation: Literal["recursive", "minimal", "descriptor"] = "recursive"
    t_end: Span | None = None
    until: Law | None = None
    start: str = "assembled"
    method: Literal[
        "auto", "generalized-alpha", "dopri5", "dop853", "rk4", "radau", "cvode", "ida"
    ] = "auto"  # fmt: skip
    rho_inf: Annotated[Plain, Field(ge=0.0, le=1.0)] = 0.8
    step: Step = "auto"
    rtol: Annotated[Plain, Field(gt=0.0, lt=1.0)] = 1e-6
    atol: Annotated[Plain, Field(gt=0.0)] = 1e-9
    band: Band = "auto"
    redundant: Literal["least-norm", "error"] = "least-norm"
    about: Literal["assembled", "equilibrium"] = "equilibrium"
    motion: str | None = None
    independent: list[CoordinateName] = Field(default=[])
    stabilisation: Literal["projection", "baumgarte"] = "projection"
    elastic: Literal["dynamic", "quasi-static"] = "dynamic"
    inputs: list[str] = Field(default=[])
    outputs: list[str] = Field(default=[])
    frequencies: (
        Annotated[
            Frequencies, BeforeValidator(_as_range, json_schema_input_type=Frequencies | list[Frequency])
        ]
        | None
    ) = None
    campbell: Campbell | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.type in ("dynamics", "kinematics") and self.t_end is None:
            raise fail(f'an analysis of type "{self.type}" needs "t_end"')
        if self.type == "inverse_dynamics" and self.motion is None:
            raise fail('an analysis of type "inverse_dynamics" needs "motion"')
        if self.elastic != "dynamic" and self.type != "inverse_dynamics":
            raise fail('"elastic" belongs to an analysis of type "inverse_dynamics"')
        if self.band not in ("auto", "all") and self.type != "dynamics":
            raise fail('"band" belongs to an analysis of type "dynamics"')
        for key in ("inputs", "outputs", "frequencies", "campbell"):
            if getattr(self, key) and self.type != "linearize":
                raise fail(f'"{key}" belongs to an analysis of type "linearize"')
        return self


class OutputTable(Table):
    """Where and when results are written."""

    file: str | None = None
    every: Positive | None = None
    times: list[Span] = Field(default=[])
    checkpoint_every: Positive | None = None


class Expected(Table):
    """Expected value of a channel or metric; within atol + rtol*|value|."""

    value: Number
    rtol: Annotated[Plain, Field(ge=0.0)] = 0.0
    atol: Annotated[Plain, Field(ge=0.0)] = 0.0

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rtol == 0.0 and self.atol == 0.0:
            raise fail("an expected value needs rtol or atol above zero")
        return self
