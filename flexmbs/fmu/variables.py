"""Variables of an FMU with their numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

#: references of variables: time is 0, then outputs; metrics, inputs and parameters begin here
METRICS, INPUTS, PARAMETERS = 1_000_000, 2_000_000, 3_000_000


@dataclass(frozen=True)
class Port:
    """A variable: `place` is the path of a field and the component in it, for outputs."""

    reference: int
    name: str
    unit: str = ""
    start: float = 0.0
    place: tuple[str, int] = ("", 0)


@dataclass(frozen=True)
class Ports:
    """All variables but time."""

    outputs: tuple[Port, ...]
    metrics: tuple[Port, ...]
    inputs: tuple[Port, ...]
    parameters: tuple[Port, ...]

    def to_data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Ports:
        def read(items: list[dict[str, Any]]) -> tuple[Port, ...]:
            return tuple(Port(**item | {"place": tuple(item["place"])}) for item in items)

        return cls(**{kind: read(items) for kind, items in data.items()})
