"""Forces and reactions of a result as arrows to draw: where each acts, and how large it is over time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.post.places import frame_of
from flexmbs.post.record import Floats, Record, table

if TYPE_CHECKING:
    from flexmbs.post.scene import SceneBody, SceneJoint

MAX_NUMBERS = 1_500_000  # of all arrows together; of more none is drawn, and a note says so


@dataclass(frozen=True)
class Arrow:
    """A force in ground axes over time, at a point of body number `body` (-1: ground), as deformed."""

    name: str
    body: int
    place: Floats
    force: Floats
    Phi: Floats | None = None

    def samples(self, pick: Any) -> Arrow:
        return replace(self, force=self.force[pick])


def arrows_of(
    record: Record, bodies: list[SceneBody], joints: list[SceneJoint], notes: list[str]
) -> list[Arrow]:
    """Reactions at the joints that are drawn, and forces of the case at the frames on which they act."""
    found = []
    for joint in joints:
        path = f"joints/{joint.name}/reaction_force"
        if record.has(path):
            force = np.atleast_2d(record.require(path))
            found.append(Arrow(f"joints.{joint.name}", joint.body, joint.place, force, joint.Phi))
    names = [body.name for body in bodies]
    for name, data in table(record.case, "forces").items():
        body, _, frame = str(data.get("on") or data.get("to") or "").partition(".")
        if (
            not record.has(f"forces/{name}/force")
            or body not in names
            or not frame
            or data.get("at") is not None
        ):
            continue
        number = names.index(body)
        place, _, Phi = frame_of(record, body, frame, bodies[number].modal)
        found.append(
            Arrow(f"forces.{name}", number, place, np.atleast_2d(record.require(f"forces/{name}/force")), Phi)
        )
    if sum(arrow.force.size for arrow in found) > MAX_NUMBERS:
        notes.append(
            f"the {len(found)} forces and reactions of {len(record.time)} samples are too many to draw"
        )
        return []
    return [arrow for arrow in found if np.isfinite(arrow.force).all() and arrow.force.any()]
