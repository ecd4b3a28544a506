"""Bodies whose frame must stand still: modal data that do not say what their rigid motions weigh."""

from __future__ import annotations

import numpy as np

from flexmbs.errors import Diagnostics
from flexmbs.model.bodies import GROUND, FlexibleBody
from flexmbs.model.joints.fixed import Fixed
from flexmbs.model.model import Model
from flexmbs.model.topology import Topology

REMEDY = 'join its frame to ground: type = "fixed", from = "ground", to = "{}"'


def held_bodies(model: Model) -> list[str]:
    """Bodies of which only the motion against a frame at rest is known."""
    return [
        name
        for name, body in model.bodies.items()
        if isinstance(body, FlexibleBody) and body.modal.integrals.held
    ]


def holding_joints(model: Model) -> list[str]:
    """Fixed joints of such frames with a place at rest on ground: their force is not known."""
    held = set(held_bodies(model))
    return [
        name
        for name, joint in model.joints.items()
        if isinstance(joint, Fixed)
        and any(
            end in held and _at_rest(model, other)
            for end, other in ((joint.from_frame, joint.to_frame), (joint.to_frame, joint.from_frame))
        )
    ]


def _at_rest(model: Model, path: str) -> bool:
    """Whether a frame is one of ground that does not travel."""
    body, _, name = path.partition(".")
    frame = model.ground_frames.get(name) if name else None
    return body == GROUND and (
        frame is None or all(isinstance(x, int | float | np.number) for x in frame.pos)
    )


def check_held(model: Model, topology: Topology) -> None:
    """Refuse such bodies where their frame may move, or is found by equations; and gravity."""
    found = Diagnostics()
    joints = holding_joints(model)
    still = {end for name in joints for end in (model.joints[name].from_frame, model.joints[name].to_frame)}
    tree = {branch.body for branch in topology.branches if branch.joint.name in joints}
    for name in held_bodies(model):
        if name not in still:
            what = "its frame may move, and what its rigid motions weigh is not known"
            found.error("body.held", f"bodies.{name}", what, REMEDY.format(name))
        elif topology.absolute or name not in tree:
            what = (
                "its frame is found by equations that need what its rigid motions weigh, which is not known"
            )
            remedy = 'leave out formulation = "descriptor", and cut = true of the joint that fixes it'
            found.error("body.held", f"bodies.{name}", what, remedy)
        if np.any(np.asarray(model.gravity, dtype=float)):
            what = "there is gravity, and its weight is not known"
            remedy = "leave gravity out, and put weights into the case as forces"
            found.error("body.held_weight", f"bodies.{name}", what, remedy)
    found.raise_errors()
