"""The mechanism as people describe it: named parts, no numbering (input of `build_system`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from flexmbs.errors import Told, known_fields
from flexmbs.model.bodies import GROUND, Body, Frame
from flexmbs.model.joints.base import Joint

if TYPE_CHECKING:
    from flexmbs.model.couplings.base import Coupling


@dataclass(kw_only=True)
class OwnState:
    """A first-order state of the case: `rate` an expression of `t`, channels and states."""

    name: str
    rate: Any
    initial: float = 0.0


@dataclass(kw_only=True)
class Input:
    """A number that comes from outside, held between the steps of who gives it; `default` in SI units.

    It is given in `unit`, which is `factor` in SI units.
    """

    name: str
    default: float = 0.0
    unit: str = "1"
    factor: float = 1.0


@dataclass(kw_only=True)
class Fmu:
    """A model of another program that is stepped beside the mechanism, every `step` [s].

    `inputs`: expressions of channels, by the names of its inputs. Its `outputs`, names in the case and its
    own, are inputs of the mechanism, `name.output`, held over a step. `told` is its description.
    """

    name: str
    told: Any
    step: float
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, float] = field(default_factory=dict)


@dataclass(kw_only=True)
class Model(Told):
    """All parts by name. `gravity` (3,) in ground axes [m/s^2]; `ground_frames` are the frames of ground.

    `drives`, `forces` and `sensors` hold the dataclasses of `model/drives.py`, `model/forces` and
    `model/sensors.py`. `redundant`: "least-norm" or "error" (F28). `independent`: joint coordinates that are
    to be the independent ones of the minimal form, `crank` or `crank.angle` (F29).
    """

    title: str = ""
    gravity: Sequence[float] = (0.0, 0.0, 0.0)
    ground_frames: dict[str, Frame] = field(default_factory=dict)
    bodies: dict[str, Body] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    couplings: dict[str, Coupling] = field(default_factory=dict)
    drives: dict[str, Any] = field(default_factory=dict)
    forces: dict[str, Any] = field(default_factory=dict)
    states: dict[str, OwnState] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    fmus: dict[str, Fmu] = field(default_factory=dict)
    sensors: dict[str, Any] = field(default_factory=dict)
    redundant: str = "least-norm"
    independent: Sequence[str] = ()

    def __post_init__(self) -> None:
        known_fields(
            self, "ground_frames", "bodies", "joints", "couplings", "drives", "forces", "states", "inputs",
            "sensors",
        )  # fmt: skip

    def add(self, *parts: Any) -> Model:
        """Put parts into the table of their kind, by name; returns the model itself."""
        for part in parts:
            self._table_of(part)[part.name] = part
        return self

    def _table_of(self, part: Any) -> dict[str, Any]:
        kind: type
        table: dict[str, Any]
        from flexmbs.model.couplings.base import Coupling
        from flexmbs.model.drives import Drive
        from flexmbs.model.forces.base import Force
        from flexmbs.model.sensors import Sensor

        for kind, table in (
            (Body, self.bodies), (Joint, self.joints), (Coupling, self.couplings), (Drive, self.drives),
            (Force, self.forces), (OwnState, self.states), (Input, self.inputs), (Sensor, self.sensors),
        ):  # fmt: skip
            if isinstance(part, kind):
                return table
        raise TypeError(f"{type(part).__name__} is no part of a model")

    def split_frame(self, path: str) -> tuple[str, str]:
        """Body and frame of `body` or `body.frame`; the frame is "" for the body frame itself."""
        body, _, frame = path.partition(".")
        if body != GROUND and body not in self.bodies:
            raise KeyError(path)
        return body, frame
