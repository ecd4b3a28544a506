"""Names of channels as they stand in the expressions of a `Model`: complete, with one component each.

Case files may leave words out; `case/` completes every name to one of these before a `Model` is made:

    t                                       time
    x, v                                    argument of a law and its rate (length, joint coordinate, cam)
    joints.<joint>.position[i]  .velocity[i]            i: number of the coordinate
    bodies.<body>.q[a]  .q_dot[a]                       a: number of the kept mode, from 0
    bodies.<body>.position[i]  .velocity[i]  .angular_velocity[i]  .quaternion[i]          of the body frame
    frames.<body>.<frame>.position[i]  .velocity[i]  .angular_velocity[i]  .quaternion[i]  of a frame
    states.<state>
    sensors.<sensor>[i]                     position, velocity, displacement, rotation, joint sensors

Components of vectors are in ground axes, of sensors as the sensor says. An expression sensor never appears:
its expression is put in its place.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from flexmbs.expressions.tree import ExpressionError


class Channel(NamedTuple):
    """Parts of a complete channel name; `frame` is "" for the body frame, `quantity` "" for states."""

    kind: str  # "t", "x", "v", "joints", "bodies", "frames", "states", "sensors"
    name: str = ""
    frame: str = ""
    quantity: str = ""
    component: int = 0


_LABEL = re.compile(r"^(\w+)((?:\.\w+)*)(?:\[(\d+)\])?$")


def split_channel(label: str) -> Channel:
    """Parts of a complete channel name, the key by which a `Model`'s expressions ask for a slot."""
    match = _LABEL.match(label)
    if not match:
        raise ExpressionError(f'"{label}" is no complete channel name')
    kind, words = match[1], match[2].split(".")[1:]
    component = int(match[3] or 0)
    if kind in ("t", "x", "v") and not words:
        return Channel(kind)
    if kind in ("joints", "bodies") and len(words) == 2:
        return Channel(kind, words[0], "", words[1], component)
    if kind == "frames" and len(words) == 3:
        return Channel(kind, words[0], words[1], words[2], component)
    if kind in ("states", "sensors") and len(words) == 1:
        return Channel(kind, words[0], "", "", component)
    raise ExpressionError(f'"{label}" is no complete channel name')
