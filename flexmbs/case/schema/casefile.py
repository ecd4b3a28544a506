"""The whole case file."""

# mypy: disable-error-code="valid-type"

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from flexmbs import units
from flexmbs.case.schema.analysis import Analysis, Expected, OutputTable, Sweep
from flexmbs.case.schema.bodies import AnyBody
from flexmbs.case.schema.couplings import AnyCoupling
from flexmbs.case.schema.forces import AnyForce
from flexmbs.case.schema.frames import FrameTable
from flexmbs.case.schema.joints import joint_union
from flexmbs.case.schema.signals import Drive, Sensor, StateTable
from flexmbs.input.values import NAME, FormatVersion, Law, Number, Table, number, vector

Name = Annotated[str, Field(pattern=NAME)]
Acceleration = number(units.ACCELERATION)
AnyJoint: Any = joint_union()


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
    forces: dict[Name, AnyForce] = Field(default={})
    sensors: dict[Name, Sensor] = Field(default={})
    analysis: Analysis | None = None
    output: OutputTable = Field(default_factory=OutputTable)
    expected: dict[str, Expected] = Field(default={})
    metrics: dict[Name, Law] = Field(default={})
    sweep: Sweep | None = None
