"""What pictures need to know of a case: places, shapes and files as plain numbers, stored with the result."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.model.bodies import Body, FlexibleBody, Frame, Particle, RigidBody

if TYPE_CHECKING:
    from flexmbs.case.case import Case


def drawing(case: Case, result: Path) -> str:
    """JSON of the mechanism as drawn: `bodies`, `joints`, `forces`, `ground`, `gravity` in SI units.

    Files are named relative to the folder of the result, so that a project can move as a whole.
    """
    model = case.model()
    folder = Path(result).resolve().parent
    bodies = {name: _body(body) | _files(case, name, body, folder) for name, body in model.bodies.items()}
    joints = {
        name: _given(
            type=joint.type_name,
            **{"from": joint.from_frame, "to": joint.to_frame},
            axis=_plain(joint.axis),
            point=_plain(joint.point),
        )
        for name, joint in model.joints.items()
    }
    tree = {
        "title": case.spec.title,
        "gravity": _plain(model.gravity),
        "ground": {"frames": {name: _frame(frame) for name, frame in model.ground_frames.items()}},
        "bodies": bodies,
        "joints": joints,
        "forces": {name: _force(force) for name, force in model.forces.items()},
    }
    return json.dumps(tree)


def _body(body: Body) -> dict[str, Any]:
    data = {
        "frames": {name: _frame(frame) for name, frame in body.frames.items()},
        "pose": {"pos": _numbers(body.pose_pos), "rot": {"matrix": _plain(body.pose_rot)}},
        "visual": body.visual,
    }
    if isinstance(body, RigidBody):
        data |= {"type": "rigid", "mass": body.mass, "com": _plain(body.com), "inertia": _plain(body.inertia)}
    elif isinstance(body, Particle):
        data |= {"type": "particle", "mass": body.mass}
    elif isinstance(body, FlexibleBody):
        modes = None if body.modes is None else {"list": [int(a) + 1 for a in body.modes]}
        data |= {"type": "flexible", "modes": modes}
    return _given(**data)


def _files(case: Case, name: str, body: Body, folder: Path) -> dict[str, Any]:
    """Modal data and surface of a body, relative to the result."""
    found: dict[str, Any] = {}
    table = case.spec.bodies[name]
    for key in ("modal", "reduce"):
        text = getattr(table, key, None)
        if text:
            path = (case.source.folder_of(("bodies", name, key)) / text).resolve()
            if key == "reduce" and isinstance(body, FlexibleBody):  # beside it, or in the cache
                kept = Path(body.modal.source)
                path = kept.resolve() if kept.is_file() else path.with_suffix(".modal.h5")
            found["modal"] = os.path.relpath(path, folder)
    if isinstance(
        body, FlexibleBody
    ):  # so that pictures notice when the file was made anew from other sources
        found["modal_sha256"] = str(body.modal.source_sha256)
    if body.visual:
        parts = [_relative(part, folder) for part in body.visual.get("parts", ())]
        found["visual"] = _relative(body.visual, folder) | {"parts": parts}
    return found


def _relative(shape: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A shape to draw with its file as seen from the folder."""
    return shape | {"file": os.path.relpath(shape["file"], folder)} if shape.get("file") else shape


def _frame(frame: Frame) -> dict[str, Any]:
    return _given(
        pos=_numbers(frame.pos),
        rot={"matrix": _plain(frame.rot)},
        at=None if frame.at is None else _numbers(frame.at),
        nearest=_plain(frame.nearest),
        node=frame.node,
    )


def _force(force: Any) -> dict[str, Any]:
    """Type of a force and where it acts."""
    ends = {"on": "on", "from_frame": "from", "to_frame": "to"}
    places = {ends[key]: getattr(force, key) for key in ends if isinstance(getattr(force, key, None), str)}
    at = getattr(force, "at", None)
    return _given(type=force.type_name, at=_frame(at) if isinstance(at, Frame) else None, **places)


def _numbers(values: Any) -> list[float]:
    """Three numbers; entries that are expressions of time are drawn at zero."""
    return [float(value) if isinstance(value, int | float | np.number) else 0.0 for value in values]


def _plain(values: Any) -> Any:
    return None if values is None else np.asarray(values, dtype=float).tolist()


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
