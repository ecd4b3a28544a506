"""Where the joints of a system stand: in the tree or as cuts, with their coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.joints.base import Joint
from flexmbs.model.markers import Marker, Markers
from flexmbs.model.model import Model
from flexmbs.model.numbering import BodyNumbers
from flexmbs.model.rows import Coordinate, Entry, Group, coordinate_entries, cut_group
from flexmbs.model.topology import Topology
from flexmbs.spatial import shortest_rotation


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


def joint_markers(joint: Joint, markers: Markers) -> tuple[Marker, Marker]:
    """Markers P and Q of a joint, with its own axes."""
    if joint.ends is not None:
        P, Q = (
            markers.place(body, *end)
            for body, end in zip((joint.from_frame, joint.to_frame), joint.ends, strict=True)
        )
        return P, Q
    turn = None if joint.axis is None else shortest_rotation(joint.axis)
    if joint.point is None:
        return markers.get(joint.from_frame, turn=turn), markers.get(joint.to_frame, turn=turn)
    both = []
    for path in (joint.from_frame, joint.to_frame):
        body, _ = markers.model.split_frame(path)
        part = markers.model.bodies.get(body)
        R = np.eye(3) if part is None else np.asarray(part.pose_rot, dtype=float)
        r = np.zeros(3) if part is None else np.asarray(part.pose_pos, dtype=float)
        axes = R.T if turn is None else R.T @ turn
        both.append(markers.place(body, R.T @ (np.asarray(joint.point, dtype=float) - r), axes))
    return both[0], both[1]


def place_joints(
    model: Model, topology: Topology, numbers: BodyNumbers, markers: Markers
) -> tuple[dict[str, JointPlace], list[Coordinate]]:
    """Markers and places of all joints, those of bases included, and their coordinates, numbered."""
    places: dict[str, JointPlace] = {}
    coordinates: list[Coordinate] = []
    in_tree = {id(branch.joint): i for i, branch in enumerate(topology.branches, start=1)}
    bases = [b.joint for b in topology.branches if model.joints.get(b.joint.name) is not b.joint]
    for joint in [*model.joints.values(), *bases]:
        markers.where = f"joints.{joint.name}"
        P, Q = joint_markers(joint, markers)
        i = in_tree.get(id(joint), 0)
        reverse = bool(i) and topology.branches[i - 1].reverse
        pos = int(numbers.o_beta[i]) if i else -1
        vel = int(numbers.o_eta[i]) if i else -1
        own = _coordinates_of(joint, P, Q, i, pos, vel)
        group = None if i else cut_group(joint, P, Q, model.bodies)
        key = joint.name if id(joint) not in {id(b) for b in bases} else f"({joint.name})"
        places[key] = JointPlace(joint, P, Q, i, reverse, pos, vel, own, group)
        for c in own:
            c.number = len(coordinates)
            coordinates.append(c)
    return places, coordinates


def _coordinates_of(
    joint: Joint, P: Marker, Q: Marker, body: int, pos: int, vel: int
) -> tuple[Coordinate, ...]:
    """Scalar coordinates of a joint, in the order of its motions."""
    found = []
    entries = iter(coordinate_entries(joint, P, Q)) if not body else iter(())
    for item in joint.motion or ():
        if item.axis >= 0:
            entry: Entry | None = None if body else next(entries)
            found.append(Coordinate(joint.name, item.name, pos, vel, body, entry))
        if body:
            pos, vel = pos + (4 if item.axis < 0 else 1), vel + (3 if item.axis < 0 else 1)
    return tuple(found)
