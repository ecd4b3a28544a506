"""Functions of time: drives and lengths; and the expressions of constraint rows (F19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression
from flexmbs.expressions.table import compile_table
from flexmbs.model.attitudes import Attitude, as_law, attitude_of, attitude_rows, ball_place, drives_ball
from flexmbs.model.joints.base import Joint
from flexmbs.model.model import Model
from flexmbs.model.places import JointPlace, find_coordinate
from flexmbs.model.rows import Coordinate, Row


@dataclass(frozen=True)
class TimeLaw:
    """A function of time that prescribes: `order` 0 the value, 1 its rate, 2 its second rate.

    For orders 1 and 2 the value (and the rate) are own states, from place `aux` on, that start at `start`;
    those of rotations are with their `Attitude`.
    """

    expression: Expression
    order: int = 0
    aux: int = -1
    start: tuple[float, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Effort:
    """One number of what a drive reports: a scalar coordinate has one, a ball three, in the axes of Q.

    `vel`: the speed that it moves, -1 on a cut joint; `law`: place of that speed among the functions of time.
    """

    drive: str
    joint: str
    component: int
    coordinate: Coordinate | None
    vel: int
    law: int


class TimeLaws:
    """Functions of time: drives, then lengths of rods; and expressions of rows."""

    def __init__(self, model: Model, joints: dict[str, JointPlace]) -> None:
        self.items: list[TimeLaw] = []
        self.attitudes: list[Attitude] = []
        self.efforts: list[Effort] = []
        self.positions: dict[int, int] = {}  # places in pos of driven scalar coordinates, by speed
        self.on_cuts: list[tuple[str, list[Row]]] = []
        self.rows: list[Row] = []
        self.aux = len(model.states)
        for name, drive in model.drives.items():
            place = joints.get(drive.joint)
            if place is not None and drives_ball(place.joint, drive.coordinate):
                self._drive_ball(name, drive, place)
            else:
                self._drive_scalar(name, drive, joints)
        for n, attitude in enumerate(self.attitudes):  # own states of rotations stand behind all others
            self.attitudes[n] = replace(attitude, aux=self.aux if attitude.start else -1)
            self.aux += len(attitude.start)

    def _drive_scalar(self, name: str, drive: Any, joints: dict[str, JointPlace]) -> None:
        c = find_coordinate(joints, drive.joint, drive.coordinate)
        law = _drive_law(name, drive, c, joints[drive.joint].joint, self.aux)
        self.aux += law.order
        if c.entry is not None:
            self.on_cuts.append((name, [Row("drive", entries=[(1.0, c.entry)], law=law)]))
        else:
            self.positions[c.vel] = c.pos
        self.efforts.append(Effort(name, drive.joint, 0, c, c.vel, len(self.items)))
        self.items.append(law)

    def _drive_ball(self, name: str, drive: Any, place: JointPlace) -> None:
        first, vel = len(self.items), ball_place(place)[1]
        attitude, laws = attitude_of(drive, place, first)
        order = (drive.velocity is not None) + 2 * (drive.acceleration is not None)
        items = [TimeLaw(law, order, name=name) for law in laws]
        if not place.body:
            self.on_cuts.append((name, attitude_rows(place, len(self.attitudes), items[:3])))
        for k in range(3):
            speed = vel + k if place.body else -1
            self.efforts.append(Effort(name, drive.joint, k, None, speed, first + k))
        self.items += items
        self.attitudes.append(attitude)

    def number_of(self, law: Any) -> int:
        if law is None:
            return -1
        if isinstance(law, Expression):
            law = TimeLaw(law)
        for number, item in enumerate(self.items):
            if item is law:
                return number
        self.items.append(law)
        return len(self.items) - 1

    def row_expression(self, row: Row) -> int:
        if row.expression is None:
            return -1
        self.rows.append(row)
        return len(self.rows) - 1

    def driven(self, n_vel: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        driven, pos = np.full(n_vel, -1, dtype=np.int64), np.full(n_vel, -1, dtype=np.int64)
        for effort in self.efforts:
            if effort.vel >= 0:
                driven[effort.vel], pos[effort.vel] = effort.law, self.positions.get(effort.vel, -1)
        return driven, pos

    def row_table(self, coordinates: Sequence[Coordinate]) -> Any:
        """Expressions of rows over slots: t, then all joint coordinates."""
        slots, expressions = {"t": 0}, []
        for k, row in enumerate(self.rows):
            names = {old: f"{old}#{k}" for old in row.names}
            expressions.append(renamed(row.expression, names))
            slots |= {names[old]: 1 + c.number for old, c in row.names.items()}
        return compile_table(expressions, slots)


def renamed(expression: Any, names: dict[str, str]) -> Expression:
    """The expression with other names."""

    def walk(node: Any) -> Any:
        if node.op == "name" and node.label in names:
            return replace(node, text=names[node.label], index=(), args=())
        return replace(node, args=tuple(walk(arg) for arg in node.args)) if node.args else node

    return replace(expression, tree=walk(expression.tree))


def _drive_law(name: str, drive: Any, c: Coordinate, joint: Joint, aux: int) -> TimeLaw:
    """Time law of a drive; a rate is integrated from the joint's initial values."""
    number = joint.coordinates.index(c.name)

    def start(values: Sequence[float] | None) -> float:
        return 0.0 if values is None else float(values[number])

    for order, given in enumerate((drive.position, drive.velocity, drive.acceleration)):
        if given is not None:
            expression = as_law(given)
            begin = (start(joint.position), start(joint.velocity))[:order]
            return TimeLaw(expression, order, aux if order else -1, begin, name)
    raise InputError(
        Diagnostic("drive.empty", f"drives.{name}", "neither position, velocity nor acceleration")
    )
