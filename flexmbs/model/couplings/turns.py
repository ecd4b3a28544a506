"""Turns of a wheel against the carrier that holds its axis, as a sum of joint angles (F19)."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.bodies import GROUND
from flexmbs.model.couplings.base import Term
from flexmbs.spatial import shortest_rotation


def turns(model: Any, where: str, wheel: str, carrier: str) -> list[tuple[Term, Any]]:
    """Angles between carrier and wheel, each with the direction of its axis in the carrier.

    Signs are those of a turn of the wheel relative to the carrier about each joint's own z axis. Directions
    are those at zero coordinates.
    """
    path = _path(model, where, wheel, carrier)
    R, found = np.eye(3), []
    for joint, outward in path:
        P, Q = (_axes(model, path, joint) for path in (joint.from_frame, joint.to_frame))
        inner, outer = (P, Q) if outward else (Q, P)
        axis = R @ inner[:, 2]
        names = [k for k, name in enumerate(joint.coordinates) if name == "angle"]
        if len(names) == 1:
            found.append((Term(1.0 if outward else -1.0, joint.name, names[0]), axis))
        elif joint.motion:
            raise InputError(
                Diagnostic(
                    "coupling.no_angle",
                    where,
                    f"joints.{joint.name} ({joint.type_name}) between {wheel} and {carrier} has no angle",
                    "use joints that turn about one axis",
                )
            )
        R = R @ inner @ outer.T
    return found


def _axes(model: Any, path: str, joint: Any) -> np.ndarray:
    """Axes of a joint's marker in its body."""
    body, name = model.split_frame(path)
    turn = np.eye(3) if joint.axis is None else shortest_rotation(joint.axis)
    part = model.bodies.get(body)
    if joint.point is not None:
        return (np.eye(3) if part is None else np.asarray(part.pose_rot).T) @ turn
    frames = model.ground_frames if body == GROUND else part.frames
    if name in frames:
        return np.asarray(frames[name].rot) @ turn
    modal = getattr(part, "modal", None)
    return (np.asarray(modal.interfaces[name].rotation) if modal and name else np.eye(3)) @ turn


def _path(model: Any, where: str, wheel: str, carrier: str) -> list[tuple[Any, bool]]:
    """Joints from the carrier to the wheel; True where one is passed from P to Q."""
    reached: dict[str, list[tuple[Any, bool]]] = {carrier: []}
    queue = [carrier]
    while queue:
        body = queue.pop(0)
        for joint in model.joints.values():
            a, b = (path.partition(".")[0] for path in (joint.from_frame, joint.to_frame))
            for here, there, outward in ((a, b, True), (b, a, False)):
                if here == body and there not in reached and joint.has_motion:
                    reached[there] = [*reached[body], (joint, outward)]
                    queue.append(there)
    if wheel not in reached or wheel == carrier:
        raise InputError(
            Diagnostic(
                "coupling.no_path",
                where,
                f"no joints lead from the carrier {carrier} to the wheel {wheel}",
                "name the body that holds the wheel's axis as carrier",
            )
        )
    return reached[wheel]
