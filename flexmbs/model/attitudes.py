"""Prescribed rotations of balls, numbered: where their laws, speeds and own states stand (F19a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression, constant
from flexmbs.model.drives import Drive, RotationLaw
from flexmbs.model.joints.base import ROTATION, Joint
from flexmbs.model.laws.attitudes import ACCELERATION, FACTORS, MATRIX, QUATERNION, VELOCITY
from flexmbs.model.places import JointPlace
from flexmbs.model.rows import ATTITUDE, Entry, Row

_FORMS = {"angles": FACTORS, "quaternion": QUATERNION, "matrix": MATRIX}
ZERO = constant(0.0)


@dataclass(frozen=True)
class Attitude:
    """Rotation of the ball of a joint that a drive prescribes.

    `law`, `speed`: places among the functions of time of the first law and of the first of the three speeds;
    `pos`: place of the quaternion in the state, -1 for a cut joint. `start`: own states, from place `aux` on,
    of laws that give rates: quaternion, angular velocity.
    """

    drive: str
    kind: int
    law: int
    speed: int
    pos: int
    axes: NDArray[np.float64]
    start: tuple[float, ...] = ()
    aux: int = -1


def drives_ball(joint: Joint, coordinate: str | None) -> bool:
    """Whether a coordinate of a joint is the rotation of its ball, which needs no name where it is alone."""
    return ROTATION in joint.drivable and (coordinate or joint.drivable[0]) == ROTATION


def ball_place(place: JointPlace) -> tuple[int, int]:
    """Places of the ball's quaternion in pos and of its first speed in vel, -1 for a cut joint."""
    if not place.body:
        return -1, -1
    before = place.joint.drivable.index(ROTATION)  # a ball is the last factor, after scalar ones
    return place.pos + before, place.vel + before


def attitude_of(drive: Drive, place: JointPlace, first: int) -> tuple[Attitude, list[Expression]]:
    """The attitude of a drive whose functions of time stand from place `first` on, and these functions.

    The three speeds come first. They are the laws themselves where a rate is given.
    """
    pos, joint, rotation = ball_place(place)[0], place.joint, drive.position
    if isinstance(rotation, RotationLaw):
        axes = np.asarray(rotation.axes, dtype=float)
        found = Attitude(drive.name, _FORMS[rotation.form], first + 3, first, pos, axes)
        return found, [ZERO, ZERO, ZERO, *rotation.laws]
    kind, given = VELOCITY, drive.velocity
    if given is None:
        kind, given = ACCELERATION, drive.acceleration
    if rotation is not None or not isinstance(given, Sequence) or len(given) != 3:
        what = f"drives the rotation of joint {joint.name} by what is no rotation"
        remedy = "give a RotationLaw as position, or three components as velocity or acceleration"
        raise InputError(Diagnostic("drive.rotation", f"drives.{drive.name}", what, remedy))
    quaternion = (1.0, 0.0, 0.0, 0.0) if joint.position is None else tuple(joint.position)[-4:]
    length = float(np.linalg.norm(quaternion))
    start = tuple(float(x) / length for x in quaternion)
    if kind == ACCELERATION:
        start += (0.0, 0.0, 0.0) if joint.velocity is None else tuple(float(x) for x in joint.velocity)[-3:]
    return Attitude(drive.name, kind, first, first, pos, np.zeros((0, 3)), start), [as_law(x) for x in given]


def as_law(value: Any) -> Expression:
    return value if isinstance(value, Expression) else constant(float(value))


def attitude_rows(place: JointPlace, number: int, laws: Any) -> list[Row]:
    """Rows of a cut joint whose ball is driven: angular velocity of Q against P as prescribed."""
    return [
        Row(f"rotation {'xyz'[k]}", entries=[(1.0, Entry(ATTITUDE, place.P, place.Q, k, number))], law=law,
            is_moment=True)
        for k, law in enumerate(laws)
    ]  # fmt: skip
