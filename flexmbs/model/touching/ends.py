"""Where joints stand in their bodies: markers as couplings read them, before anything is numbered (F19)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.bodies import GROUND
from flexmbs.spatial import shortest_rotation

Floats = NDArray[np.float64]

#: sine of an angle between axes that counts as none, part by which lengths and ratios may miss each other
ALIGNED, SAME = 1e-6, 1e-6


def are_parallel(a: Floats, b: Floats) -> bool:
    """Whether two unit vectors are along one line."""
    return bool(np.linalg.norm(np.cross(a, b)) <= ALIGNED)


def are_square(a: Floats, b: Floats) -> bool:
    """Whether two unit vectors are at right angles."""
    return bool(abs(a @ b) <= ALIGNED)


class End(NamedTuple):
    """A marker in the axes of its body, undeformed; `pos` is not finite where it travels."""

    body: str
    pos: Floats
    rot: Floats


def end_of(model: Any, joint: Any, path: str) -> End:
    """The marker of a joint on the side `path`, with the joint's own axes."""
    turn = np.eye(3) if joint.axis is None else shortest_rotation(joint.axis)
    if joint.point is None:
        found = frame_of(model, path)
        return End(found.body, found.pos, found.rot @ turn)
    body, _ = model.split_frame(path)
    part = model.bodies.get(body)
    R = np.eye(3) if part is None else np.asarray(part.pose_rot, dtype=float)
    r = np.zeros(3) if part is None else np.asarray(part.pose_pos, dtype=float)
    return End(body, R.T @ (np.asarray(joint.point, dtype=float) - r), R.T @ turn)


def frame_of(model: Any, path: str) -> End:
    """A frame in the axes of its body; an interface of a flexible one undeformed."""
    body, name = model.split_frame(path)
    part = model.bodies.get(body)
    frames = model.ground_frames if body == GROUND else part.frames
    if name in frames:
        frame = frames[name]
        if frame.node is not None or frame.nearest is not None:
            place = part.modal.marker_rows(node=frame.node, nearest=frame.nearest)[0]
        else:
            place = _numbers(frame.pos if frame.at is None else frame.at)
        return End(body, place, np.asarray(frame.rot))
    modal = getattr(part, "modal", None)
    if modal and name:
        face = modal.interfaces[name]
        return End(body, np.asarray(face.position, dtype=float), np.asarray(face.rotation, dtype=float))
    return End(body, np.zeros(3), np.eye(3))


def _numbers(place: Any) -> Floats:
    return np.array([x if isinstance(x, int | float | np.number) else np.nan for x in place], dtype=float)


class Held(NamedTuple):
    """A joint between a body and the one that holds it: both ends; `sign` 1 where `from` holds.

    The coordinate of the joint counts `sign` times along or about z of `inner`.
    """

    joint: Any
    inner: End
    outer: End
    sign: float


def held_by(model: Any, joint: Any, body: str) -> Held | None:
    """The joint as one that `body` holds; None when it does not touch it."""
    P, Q = (end_of(model, joint, path) for path in (joint.from_frame, joint.to_frame))
    if body == P.body:
        return Held(joint, P, Q, 1.0)
    return Held(joint, Q, P, -1.0) if body == Q.body else None


def common_holder(model: Any, where: str, first: Any, second: Any) -> tuple[Held, Held]:
    """Two joints as held by the body that they share; an error when they share none."""
    sides = [{path.partition(".")[0] for path in (j.from_frame, j.to_frame)} for j in (first, second)]
    for body in sorted(sides[0] & sides[1]):
        found = held_by(model, first, body), held_by(model, second, body)
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    what = f"joints.{first.name} and joints.{second.name} share no body that holds both"
    remedy = "let both joints start at the same housing, or give the law by lift"
    raise InputError(Diagnostic("coupling.no_path", where, what, remedy))


class Touch(NamedTuple):
    """Forces on the first of two parts that touch, over time, in the axes of the body that holds both.

    `numbers`: what else there is to say, by name, each with its unit.
    """

    force: Floats  # (t, 3)
    point: Floats  # (t, 3)
    numbers: dict[str, tuple[Floats, str]]


class Carried(NamedTuple):
    """A joint on the way from the first part to the second; `to_first`: its `to` side is the first's."""

    joint: str
    to_first: bool
    Q: End


class Touching(NamedTuple):
    """Two parts that touch, held by `holder`, in whose axes the touch is; `path`: joints between them (F19).

    `at(lam, y)`: the touch for multipliers (t,) and coordinates (t,) of the joint `follows`, if it has one.
    """

    holder: str
    path: tuple[Carried, ...]
    at: Callable[[Floats, Floats], Touch]
    follows: str = ""


def carried(model: Any, joint: Any, to_first: bool) -> Carried:
    """A joint of the model on the way between two parts."""
    return Carried(joint.name, to_first, end_of(model, joint, joint.to_frame))


def load_of(item: Carried, force: Floats, point: Floats, origin: Floats) -> Floats:
    """What a joint carries besides the effort of the law: force and moment (t, 6) of `from` on `to` at Q.

    The law knows only efforts on joint coordinates; the force itself, on the first part and back on the
    second, goes through all joints between them. `force`, `point` and the `origin` of Q (t, 3) in ground.
    """
    whole = np.hstack([force, np.cross(point - origin, force)])
    return -whole if item.to_first else whole
