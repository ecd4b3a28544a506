"""Turns of a wheel against the carrier that holds its axis, as a sum of joint angles (F19)."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.model.couplings.base import Term
from flexmbs.model.touching.ends import End, are_parallel, end_of


def turns(model: Any, where: str, wheel: str, carrier: str) -> list[tuple[Term, Any]]:
    """Angles between carrier and wheel, each with the direction of its axis in the carrier, all parallel.

    Signs are those of a turn of the wheel relative to the carrier about each joint's own z axis. Directions
    are those at zero coordinates.
    """
    found = []
    path = path_to(model, where, wheel, carrier)
    for (joint, outward), end in zip(path, axes_along(model, path, carrier), strict=True):
        names = [k for k, name in enumerate(joint.coordinates) if name == "angle"]
        if len(names) == 1:
            found.append((Term(1.0 if outward else -1.0, joint.name, names[0]), end.rot[:, 2]))
        elif joint.motion:
            raise InputError(
                Diagnostic(
                    "coupling.no_angle",
                    where,
                    f"joints.{joint.name} ({joint.type_name}) between {wheel} and {carrier} has no angle",
                    "use joints that turn about one axis",
                )
            )
    for (term, axis), (own, along) in zip(found[:-1], found[1:], strict=True):
        if not are_parallel(axis, along):
            pair = f"joints.{term.joint} and joints.{own.joint}"
            what = f"between {wheel} and {carrier} the axes of {pair} are not parallel"
            remedy = "name the body that holds the wheel's axis as carrier"
            raise InputError(Diagnostic("coupling.no_angle", where, what, remedy))
    return found


def axes_along(model: Any, path: list[tuple[Any, bool]], carrier: str) -> list[End]:
    """The inner markers of the joints of a path as they stand in the carrier, all coordinates zero."""
    r, R, found = np.zeros(3), np.eye(3), []
    for joint, outward in path:
        P, Q = (end_of(model, joint, side) for side in (joint.from_frame, joint.to_frame))
        inner, outer = (P, Q) if outward else (Q, P)
        found.append(End(carrier, r + R @ inner.pos, R @ inner.rot))
        R_next = R @ inner.rot @ outer.rot.T
        r, R = found[-1].pos - R_next @ outer.pos, R_next
    return found


def path_to(model: Any, where: str, wheel: str, carrier: str) -> list[tuple[Any, bool]]:
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
