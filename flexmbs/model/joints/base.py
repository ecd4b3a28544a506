"""What a joint is: data. Elementary screws for its explicit face, locked relations for the other (F19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexmbs.registry import Registry

#: All joint types by the name that a user writes.
JOINTS: Registry[Joint] = Registry("joint", "flexmbs.model.joints")
joint = JOINTS

AXES = {"x": 0, "y": 1, "z": 2}
#: what the rotation of a ball is called, which is a coordinate for drives alone
ROTATION = "rotation"


class Motion(NamedTuple):
    """One factor of the explicit face: an elementary screw, or a ball when `axis` is -1.

    The coordinate beta turns by `turn * beta` about the axis and travels by `travel * beta` along it.
    """

    axis: int
    turn: float
    travel: float
    name: str


def turn(axis: str, name: str = "angle") -> Motion:
    """Rotation about an axis of the frame reached so far; coordinate in rad."""
    return Motion(AXES[axis], 1.0, 0.0, name)


def travel(axis: str, name: str = "travel") -> Motion:
    """Translation along an axis of the frame reached so far; coordinate in m."""
    return Motion(AXES[axis], 0.0, 1.0, name)


def screw(axis: str, lead: float, name: str = "angle") -> Motion:
    """Rotation with a travel of `lead` per full turn, right-handed positive; coordinate in rad."""
    return Motion(AXES[axis], 1.0, lead / (2.0 * np.pi), name)


def ball(name: str = "quaternion") -> Motion:
    """Any rotation: a unit quaternion, speeds are the relative angular velocity in the axes of Q."""
    return Motion(-1, 1.0, 0.0, name)


class Relation(NamedTuple):
    """One row of the implicit face; `kind` is a row kind of `primitives.py`, `a` and `b` axes of P and Q."""

    kind: int
    a: int
    b: int
    value: Any


OFFSET, SQUARE, EQUAL_TURN, DISTANCE, SLIDE = 0, 1, 2, 3, 4


def offset(axis: str) -> Relation:
    """The origin of Q lies in the plane of P normal to an axis: d_axis = 0."""
    return Relation(OFFSET, AXES[axis], 0, 0.0)


def square(axis_p: str, axis_q: str) -> Relation:
    """An axis of P stays at right angles to an axis of Q."""
    return Relation(SQUARE, AXES[axis_p], AXES[axis_q], 0.0)


def equal_turn(axis: str) -> Relation:
    """Component of the axial vector of R vanishes; about z: x_P.y_Q = y_P.x_Q."""
    k = AXES[axis]
    return Relation(EQUAL_TURN, (k + 1) % 3, (k + 2) % 3, 0.0)


def distance(length: Any) -> Relation:
    """The origins of P and Q stay `length` apart; a number or an expression of `t`."""
    return Relation(DISTANCE, 0, 0, length)


def slide(axis: str, lead: float) -> Relation:
    """Travel along an axis follows the turn about it: d - lead / (2 pi) angle = 0."""
    k = AXES[axis]
    return Relation(SLIDE, k, k, lead / (2.0 * np.pi))


@dataclass(kw_only=True)
class Joint:
    """A joint between marker P (`from_frame`) and marker Q (`to_frame`), written `body` or `body.frame`.

    `axis` (3,) turns the joint's own axes in both markers by the shortest rotation that brings z to it.
    With `point` (3,) the joint is placed by point and axis in ground, all bodies at their poses; then the
    two frames are names of bodies. `position`, `velocity`: initial values in the order of the
    interface's table (None: not given). `hold`: kept exactly by assembly. `cut`: the joint must be a cut.
    `spring`, `damper`, `friction`, `stop`: the tables of the case file with expressions parsed, each a
    mapping or a list of mappings with an optional key "coordinate"; `model/forces` reads them.
    `compliance` (6,): three translations [m/N], three rotations [rad/(N m)] in the axes of P; they decide the
    share of a redundant joint and have no effect on the motion (F28). `ends`: places and axes of P and Q in
    their bodies, in place of frames.
    """

    name: str
    from_frame: str
    to_frame: str
    axis: Sequence[float] | None = None
    point: Sequence[float] | None = None
    position: Sequence[float] | None = None
    velocity: Sequence[float] | None = None
    hold: bool = False
    cut: bool = False
    spring: Any = None
    damper: Any = None
    friction: Any = None
    stop: Any = None
    compliance: Sequence[float] | None = None
    ends: Any = None

    type_name: ClassVar[str] = ""  # as users write it
    motion: ClassVar[tuple[Motion, ...] | Any] = None
    locked: ClassVar[tuple[Relation, ...] | Any] = ()

    @property
    def n_beta(self) -> int:
        """Number of position coordinates; a ball has four."""
        return sum(4 if item.axis < 0 else 1 for item in self.motion or ())

    @property
    def n_eta(self) -> int:
        """Number of velocity coordinates; a ball has three."""
        return sum(3 if item.axis < 0 else 1 for item in self.motion or ())

    @property
    def coordinates(self) -> list[str]:
        """Names of the scalar coordinates, which springs, drives and couplings use; a ball has none."""
        return [item.name for item in self.motion or () if item.axis >= 0]

    @property
    def drivable(self) -> list[str]:
        """Names of what a drive can prescribe: the scalar coordinates, and the rotation of a ball."""
        return [ROTATION if item.axis < 0 else item.name for item in self.motion or ()]

    @property
    def has_motion(self) -> bool:
        """Whether the type has an explicit face, that is, can stand in the tree."""
        return self.motion is not None
