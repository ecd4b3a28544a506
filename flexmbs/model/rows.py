"""Cut joints, couplings and drives on cut joints -> constraint rows in groups (F26)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import Expression, ExpressionError
from flexmbs.model.bodies import Particle
from flexmbs.model.joints.base import DISTANCE, OFFSET, SLIDE, Joint, Relation

if TYPE_CHECKING:
    from flexmbs.model.markers import Marker

#: Further kinds of relations, for the coordinates of cut joints: travel is OFFSET.
ANGLE, ANGLE_FIRST, ANGLE_SECOND = 5, 6, 7
#: rotation from a prescribed attitude (`b`: its number) to Q, component `a` (F19a)
ATTITUDE = 9


def counts_turns(kinds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which relations see an angle; its whole turns are counted."""
    return np.isin(kinds, (ANGLE, ANGLE_FIRST, ANGLE_SECOND, SLIDE))


def no_turns(kinds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Turns before any are counted: angles within half a turn, those of screws as the travel has them."""
    return np.where(kinds == SLIDE, np.nan, 0.0)


@dataclass(eq=False)
class Entry:
    """A relation between two markers, evaluated once per stage."""

    kind: int
    P: Marker
    Q: Marker
    a: int = 0
    b: int = 0
    value: float = 0.0
    number: int = -1


@dataclass(eq=False)
class Coordinate:
    """A scalar joint coordinate: of the tree (`pos`, `vel` places) or of a cut joint (`entry`)."""

    joint: str
    name: str
    pos: int = -1
    vel: int = -1
    body: int = -1
    entry: Entry | None = None
    number: int = -1

    @property
    def is_angle(self) -> bool:
        return self.name.startswith("angle")


@dataclass(eq=False)
class Row:
    """One scalar constraint: sum of entries and coordinates - constant - time law + expression = 0.

    `expression` sees the coordinates in `of`; their coefficients are then its derivatives.
    `constant_from_start`: the constant is what the row has at the start. `text` says what it locks.
    `is_moment`: its multiplier is a moment; `scale` times it is what a coupling reports. `side`: the sign
    that its multiplier keeps, or the row lets go to that side; 0 where it always holds.
    `massless`: speed and body of a motion without inertia (F26a); the row then has no entries.
    """

    text: str
    entries: list[tuple[float, Entry]] = field(default_factory=list)
    coordinates: list[tuple[float, Coordinate]] = field(default_factory=list)
    expression: Expression | None = None
    of: list[Coordinate] = field(default_factory=list)
    names: dict[str, Coordinate] = field(default_factory=dict)
    law: Any = None
    constant: float = 0.0
    constant_from_start: bool = False
    is_moment: bool = False
    scale: float = 1.0
    side: float = 0.0
    massless: tuple[int, int] | None = None
    number: int = -1


@dataclass(eq=False)
class Group:
    """Rows that share a path: those of one cut joint, coupling, or drive on a cut joint."""

    name: str
    kind: str
    rows: list[Row]

    @property
    def path(self) -> str:
        """Where the case file has it; what the program adds stands among the joints."""
        return f"{'couplings' if self.kind == 'coupling' else 'joints'}.{self.name}"


TEXT = {0: "translation", 1: "rotation", 2: "rotation", 3: "distance", 4: "screw"}


def locked_relations(joint: Joint, on_particle: bool) -> Sequence[Relation]:
    """Relations of the implicit face; a particle has no orientation, so only its place is held."""
    if on_particle:
        return [item for item in joint.locked if item.kind in (OFFSET, DISTANCE)]
    return list(joint.locked)


def cut_group(joint: Joint, P: Marker, Q: Marker, bodies: dict[str, Any]) -> Group:
    """Constraint rows of a cut joint."""
    on_particle = any(isinstance(bodies.get(m.body), Particle) for m in (P, Q))
    rows = []
    for item in locked_relations(joint, on_particle):
        row = Row(f"{TEXT[item.kind]} {_axes(item)}".strip(), is_moment=item.kind in (1, 2))
        value = item.value
        if item.kind == DISTANCE:
            value, row.law, row.constant = _length(value)
        row.entries.append((1.0, Entry(item.kind, P, Q, item.a, item.b, value)))
        rows.append(row)
    return Group(joint.name, "joint", rows)


def _axes(item: Relation) -> str:
    """Axis names of a relation; a rotation is named by the axis about which it is locked."""
    if item.kind == OFFSET:
        return "xyz"[item.a]
    if item.kind == 1:
        return "xyz"[3 - item.a - item.b] if item.a != item.b else "about the common normal"
    if item.kind == 2:
        return "xyz"[3 - item.a - item.b]
    return ""


def _length(length: Any) -> tuple[float, Any, float]:
    """Scale, time law and constant of the row (d.d - length^2) / (2 scale): its multiplier is a force."""
    if isinstance(length, Expression) and length.is_constant:
        length = length.number()
    if isinstance(length, Expression):
        try:
            scale = abs(length.number({"t": 0.0})) or 1.0
        except ExpressionError:  # no value: said with its joint where the motion begins
            scale = 1.0
        return scale, half_square(length, scale), 0.0
    scale = abs(float(length)) or 1.0
    return scale, None, float(length) ** 2 / (2.0 * scale)


def half_square(length: Expression, scale: float) -> Expression:
    """length^2 / (2 scale) as an expression."""
    from dataclasses import replace

    from flexmbs.expressions import Node

    square = Node("mul", (length.tree, length.tree))
    return replace(length, tree=Node("mul", (square, Node("const", value=0.5 / scale))))


def coordinate_entries(joint: Joint, P: Marker, Q: Marker) -> list[Entry]:
    """Entries that give the scalar coordinates of a cut joint from the poses of its markers."""
    turns = [item for item in joint.motion or () if item.axis >= 0 and item.turn != 0.0]
    entries = []
    for item in joint.motion or ():
        if item.axis < 0:
            continue
        if item.turn == 0.0:
            entries.append(Entry(OFFSET, P, Q, item.axis))
        elif len(turns) == 1:
            entries.append(Entry(ANGLE, P, Q, item.axis))
        else:
            kind = ANGLE_FIRST if item is turns[0] else ANGLE_SECOND
            entries.append(Entry(kind, P, Q, turns[0].axis, turns[1].axis))
    return entries
