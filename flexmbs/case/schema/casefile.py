"""The whole case file."""

# mypy: disable-error-code="valid-type"

from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from flexmbs import units
from flexmbs.case.schema.analysis import Analysis, Expected, OutputTable
from flexmbs.case.schema.bodies import AnyBody
from flexmbs.case.schema.joints import AnyJoint
from flexmbs.case.schema.search import Fit, Optimise
from flexmbs.case.schema.signals import AnyInput, Drive, Sensor, StateTable
from flexmbs.case.schema.sweep import Sweep
from flexmbs.input.frames import FrameTable
from flexmbs.input.registered import Registered
from flexmbs.input.values import NAME, FormatVersion, Law, Number, Table, number, vector
from flexmbs.model.couplings.base import COUPLINGS
from flexmbs.model.forces.base import FORCES

Name = Annotated[str, Field(pattern=NAME)]
Acceleration = number(units.ACCELERATION)


def _keys(name: str, cls: Any) -> type[Table]:
    """The table of a force or coupling, its type included."""
    keys, told = cls.Keys, {"type": (Literal[name], ...)}
    return create_model(cls.__name__, __base__=keys, __doc__=keys.__doc__, **told)  # type: ignore[call-overload]


AnyForce = Annotated[Any, Registered(FORCES, _keys, Table)]
AnyCoupling = Annotated[Any, Registered(COUPLINGS, _keys, Table)]


class Ground(Table):
    """Frames of ground."""

    frames: dict[Name, FrameTable] = Field(default={})


class CaseFile(Table):
    """A mechanism and what is asked of it. SI units and radians for bare numbers."""

    format_version: FormatVersion = 1
    title: str = ""
    gravity: vector(Acceleration) = Field(default=[0.0, 0.0, 0.0])
    include: list[str] = Field(default=[])
    parameters: dict[Name, Number] = Field(default={})
    ground: Ground = Field(default_factory=Ground)
    bodies: dict[Name, AnyBody] = Field(default={})
    joints: dict[Name, AnyJoint] = Field(default={})
    couplings: dict[Name, AnyCoupling] = Field(default={})
    drives: dict[Name, Drive] = Field(default={})
    states: dict[Name, StateTable] = Field(default={})
    inputs: dict[Name, AnyInput] = Field(default={})
    forces: dict[Name, AnyForce] = Field(default={})
    sensors: dict[Name, Sensor] = Field(default={})
    analysis: Analysis | None = None
    output: OutputTable = Field(default_factory=OutputTable)
    expected: dict[str, Expected] = Field(default={})
    metrics: dict[Name, Law] = Field(default={})
    sweep: Sweep | None = None
    fit: Fit | None = None
    optimise: Optimise | None = None
