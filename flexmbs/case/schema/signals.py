"""Tables of drives, own states, inputs and sensors."""

# mypy: disable-error-code="valid-type"

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from flexmbs import units
from flexmbs.input.frames import MovingRotation, Place
from flexmbs.input.registered import FrameName, JointName
from flexmbs.input.values import NAME, Law, Number, Table, Time, fail, vector


def _form_of_law(value: Any) -> str:
    if isinstance(value, Mapping | MovingRotation):
        return "rotation"
    return "components" if isinstance(value, list | tuple) else "number"


_OfNumber = Annotated[Law, Tag("number")]
LawOfRotation = Annotated[
    _OfNumber | Annotated[MovingRotation, Tag("rotation")] | Annotated[vector(Law), Tag("components")],
    Discriminator(_form_of_law),
]


class Drive(Table):
    """Prescribed joint coordinate: `position`, `velocity` or `acceleration` as a function of t.

    Of the rotation of a ball the position is a rotation table; angular velocity and acceleration have three
    components in the axes of Q.
    """

    joint: JointName
    coordinate: str | None = None
    position: LawOfRotation | None = None
    velocity: LawOfRotation | None = None
    acceleration: LawOfRotation | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(item is not None for item in (self.position, self.velocity, self.acceleration)) != 1:
            raise fail("a drive needs one of position, velocity, acceleration")
        return self


class StateTable(Table):
    """Own first-order state: d/dt = `rate`, an expression of t, channels and states."""

    rate: Law
    initial: Number = 0.0


class InputTable(Table):
    """A number from outside, held between steps and `default` in a run; both are given in `unit`."""

    unit: str = "1"
    default: Number = 0.0

    @field_validator("unit")
    @classmethod
    def _read(cls, text: str) -> str:
        unit_of(text)
        return text

    @property
    def value(self) -> float:
        """The default in SI units."""
        given = getattr(self.default, "dimension", None) is not None
        return float(self.default) * (1.0 if given else unit_of(self.unit).value)

    @model_validator(mode="after")
    def _check(self) -> Self:
        given, wanted = getattr(self.default, "dimension", None), unit_of(self.unit).dimension or units.NONE
        if given not in (None, wanted):
            raise fail(f'the default is no number in "{self.unit}"')
        return self


class FmuTable(Table):
    """A model of another program (FMI 2 or 3, co-simulation), stepped beside the mechanism.

    Its outputs are numbers from outside, `inputs.NAME.OUTPUT`; its inputs follow from channels. `outputs`
    gives them other names.
    """

    type: Literal["fmu"]
    file: str
    step: Annotated[Time, Field(gt=0.0)]
    inputs: dict[str, Law] = Field(default={})
    outputs: dict[Annotated[str, Field(pattern=NAME)], str] | None = None
    parameters: dict[str, Number] = Field(default={})


def _kind_of_input(value: Any) -> str:
    given = value.get("type") if isinstance(value, Mapping) else getattr(value, "type", None)
    return "number" if given is None else "fmu"


AnyInput = Annotated[
    Annotated[InputTable, Tag("number")] | Annotated[FmuTable, Tag("fmu")], Discriminator(_kind_of_input)
]


def unit_of(text: str) -> units.Quantity:
    """One of a unit, in SI units; "1" where there is none."""
    try:
        return units.parse_quantity("1" if text == "1" else f"1 {text}")
    except units.UnitError as error:
        raise fail(str(error)) from None


class Sensor(Table):
    """Sensor of a body, frame or place (`on`, `at`), of a joint, of the energy, or an expression."""

    type: Literal[
        "position", "velocity", "acceleration", "displacement", "rotation",
        "reaction", "joint", "energy", "expression", "stress",
    ]  # fmt: skip
    on: FrameName | None = None
    at: Place | None = None
    relative_to: FrameName = "ground"
    joint: JointName | None = None
    value: Law | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        need = {"reaction": "joint", "joint": "joint", "expression": "value", "energy": None}.get(
            self.type, "on"
        )
        for key in ("on", "joint", "value"):
            if key == need and getattr(self, key) is None:
                raise fail(f'a sensor of type "{self.type}" needs "{key}"')
            if key != need and getattr(self, key) is not None and (self.type, key) != ("energy", "on"):
                raise fail(f'a sensor of type "{self.type}" takes no "{key}"')
        if self.at is not None and need != "on":
            raise fail(f'a sensor of type "{self.type}" takes no "at"')
        return self
