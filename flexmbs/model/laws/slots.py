"""Channel names of expressions -> slots that the kernels fill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.channels import Channel, split_channel
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.bodies import GROUND
from flexmbs.model.laws.tables import (
    AUX,
    COORD_V,
    COORD_X,
    ELASTIC_U,
    LOCAL,
    MARK_QUAT,
    MARK_V,
    MARK_X,
    POS,
    REL_QUAT,
    REL_TURN,
    REL_V,
    REL_W,
    REL_X,
    TIME,
    VEL,
)
from flexmbs.model.markers import Markers
from flexmbs.model.model import Model

#: Slot kinds of the quantities of a frame, with the number of the first component.
FRAME = {
    "position": (MARK_X, 0),
    "velocity": (MARK_V, 0),
    "angular_velocity": (MARK_V, 3),
    "quaternion": (MARK_QUAT, 0),
}
#: The same seen from another frame.
RELATIVE = {
    "position": (REL_X, 0),
    "velocity": (REL_V, 0),
    "rotation": (REL_TURN, 0),
    "displacement": (ELASTIC_U, 0),
}


@dataclass
class Slot:
    """One channel before numbering: markers and coordinates are objects, elastic coordinates (body, mode)."""

    kind: int
    a: Any = 0
    b: Any = 0
    c: int = 0


@dataclass
class SlotBuilder:
    """Collects the channels that expressions use. Slots 0, 1, 2 are t, x, v."""

    model: Model
    markers: Markers
    joints: dict[str, Any]
    places: dict[str, int] = field(default_factory=lambda: {"t": 0, "x": 1, "v": 2})
    slots: list[Slot] = field(default_factory=lambda: [Slot(TIME), Slot(LOCAL), Slot(LOCAL)])

    def request(self, label: str) -> int:
        """Slot of a channel name, made at its first use."""
        if label not in self.places:
            self.slots.append(self.slot(split_channel(label), label))
            self.places[label] = len(self.slots) - 1
        return self.places[label]

    def slot(self, channel: Channel, label: str) -> Slot:
        makers = {
            "joints": self._joint,
            "bodies": self._body,
            "frames": self._frame,
            "states": self._state,
            "inputs": self._input,
            "sensors": self._sensor,
        }
        return makers[channel.kind](channel, label)

    def _state(self, channel: Channel, label: str) -> Slot:
        names = list(self.model.states)
        if channel.name not in names:
            raise unknown(label, channel.name, names)
        return Slot(AUX, names.index(channel.name))

    def _input(self, channel: Channel, label: str) -> Slot:
        """What comes from outside is written by who steps the system: kernels leave it alone."""
        if channel.name not in self.model.inputs:
            raise unknown(label, channel.name, list(self.model.inputs))
        return Slot(LOCAL)

    def _body(self, channel: Channel, label: str) -> Slot:
        if channel.quantity in ("q", "q_dot"):
            return Slot(POS if channel.quantity == "q" else VEL, (channel.name, channel.component))
        return self._frame(channel, label)

    def _frame(self, channel: Channel, label: str) -> Slot:
        path = f"{channel.name}.{channel.frame}" if channel.frame else channel.name
        if channel.quantity not in FRAME:
            raise unknown(label, channel.quantity, list(FRAME))
        kind, first = FRAME[channel.quantity]
        return Slot(kind, self.markers.get(path), 0, first + channel.component)

    def _joint(self, channel: Channel, label: str) -> Slot:
        """Scalar coordinates by their number; a ball by the pose of Q in P, wherever the joint stands."""
        if channel.name not in self.joints:
            raise unknown(label, channel.name, list(self.joints))
        place, rates = self.joints[channel.name], channel.quantity == "velocity"
        number, scalars = channel.component, iter(place.coordinates)
        for item in place.joint.motion or ():
            size = (3 if rates else 4) if item.axis < 0 else 1
            found = None if item.axis < 0 else next(scalars)
            if number < size:
                if found is not None:
                    return Slot(COORD_V if rates else COORD_X, found)
                return Slot(REL_W if rates else REL_QUAT, place.Q, place.P, number)
            number -= size
        raise unknown(label, str(channel.component), [str(k) for k in range(place.joint.n_beta)])

    def _sensor(self, channel: Channel, label: str) -> Slot:
        sensor = self.model.sensors.get(channel.name)
        if sensor is None:
            raise unknown(label, channel.name, list(self.model.sensors))
        if sensor.type == "joint":
            return self._joint(
                Channel("joints", sensor.joint or "", "", "position", channel.component), label
            )
        if sensor.type not in RELATIVE:
            raise InputError(
                Diagnostic(
                    "expression.channel",
                    label,
                    f"the value of a sensor of type {sensor.type} follows from the accelerations",
                    f"use sensors of type {', '.join(RELATIVE)}, joint",
                )
            )
        kind, first = RELATIVE[sensor.type]
        marker, ref = self.markers.get(sensor.on or GROUND, sensor.at), self.markers.get(sensor.relative_to)
        return Slot(kind, marker, ref, first + channel.component)

    def table(self, system: Any) -> np.ndarray:
        """Rows (kind, a, b, c) with numbers."""

        def number(item: Any, kind: int) -> int:
            if isinstance(item, tuple):
                i = system.numbers.index[item[0]]
                return int((system.tables.body.o_q if kind == POS else system.tables.tree.o_qd)[i]) + item[1]
            return item if isinstance(item, int) else item.number

        rows = [(s.kind, number(s.a, s.kind), number(s.b, s.kind), s.c) for s in self.slots]
        return np.array(rows, dtype=np.int64)


def unknown(label: str, name: str, names: list[str]) -> InputError:
    return InputError(
        Diagnostic("expression.channel", label, f'"{name}" is not in the model', nearest(name, names))
    )
