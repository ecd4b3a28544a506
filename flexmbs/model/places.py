"""Where the joints of a system stand: in the tree or as cuts, with their coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.joints.base import Joint
from flexmbs.model.markers import Marker
from flexmbs.model.rows import Coordinate, Group


@dataclass(frozen=True)
class JointPlace:
    """Where a joint stands: `body` > 0 whose tree joint it is (`reverse`: its P is on that body), or a cut.

    P, Q: its markers. `pos`, `vel`: first places in the state, -1 for a cut. `coordinates`: its scalar ones.
    """

    joint: Joint
    P: Marker
    Q: Marker
    body: int
    reverse: bool
    pos: int
    vel: int
    coordinates: tuple[Coordinate, ...]
    group: Group | None = None


def find_coordinate(joints: dict[str, JointPlace], joint: str, name: str | None) -> Coordinate:
    if joint not in joints:
        raise InputError(
            Diagnostic("joint.unknown", "model", f'no joint "{joint}"', nearest(joint, list(joints)))
        )
    found = joints[joint].coordinates
    names = [c.name for c in found]
    if name is None and len(found) == 1:
        return found[0]
    if name not in names:
        what = f'no coordinate "{name}"' if name else "the joint has not exactly one scalar coordinate"
        remedy = nearest(name, names) if name else f"name one of: {', '.join(names) or 'none'}"
        raise InputError(Diagnostic("joint.coordinate", f"joints.{joint}", what, remedy))
    return found[names.index(name)]
