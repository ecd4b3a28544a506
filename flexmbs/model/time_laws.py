"""Functions of time: drives and lengths; and the expressions of constraint rows (F19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, compile_table, constant
from flexmbs.model.joints.base import Joint
from flexmbs.model.model import Model
from flexmbs.model.places import JointPlace, find_coordinate
from flexmbs.model.rows import Coordinate, Row


@dataclass(frozen=True)
class TimeLaw:
    """A function of time that prescribes: `order` 0 the value, 1 its rate, 2 its second rate.

    For orders 1 and 2 the value (and the rate) are own states, from place `aux` on, that start at `start`.
    """

    expression: Expression
    order: int = 0
    aux: int = -1
    start: tuple[float, ...] = ()
    name: str = ""


class TimeLaws:
    """Functions of time: drives, then lengths of rods; and expressions of rows."""

    def __init__(self, model: Model, joints: dict[str, JointPlace]) -> None:
        self.items: list[TimeLaw] = []
        self.on_tree: list[tuple[Coordinate, int]] = []
        self.on_cuts: list[tuple[str, Coordinate, TimeLaw]] = []
        self.rows: list[Row] = []
        aux = len(model.states)
        self.drive_of: dict[str, Coordinate] = {}
        for name, drive in model.drives.items():
            self.drive_of[name] = coordinate = find_coordinate(joints, drive.joint, drive.coordinate)
            law = _drive_law(name, drive, coordinate, joints[drive.joint].joint, aux)
            aux += law.order
            if coordinate.entry is None:
                self.on_tree.append((coordinate, len(self.items)))
            else:
                self.on_cuts.append((name, coordinate, law))
            self.items.append(law)

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
        for coordinate, number in self.on_tree:
            driven[coordinate.vel], pos[coordinate.vel] = number, coordinate.pos
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
    from dataclasses import replace

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
            expression = given if isinstance(given, Expression) else constant(float(given))
            begin = (start(joint.position), start(joint.velocity))[:order]
            return TimeLaw(expression, order, aux if order else -1, begin, name)
    raise InputError(
        Diagnostic("drive.empty", f"drives.{name}", "neither position, velocity nor acceleration")
    )
