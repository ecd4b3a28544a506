"""A new part between two frames that were pointed at, as lines of the case; what it needs is filled in."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.case.schema.joints import own_parameters
from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.model.bodies import GROUND
from flexmbs.model.joints import JOINTS
from flexmbs.toml_file import parse_toml
from flexmbs.view.case_edit import with_table

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.dynamics.mechanism import Mechanism

#: parts by kind and type, and how many frames they need
FORCES = {"spring_damper": 2, "bushing": 2, "point": 1, "torque": 1}
#: what a new part has until somebody says better
STIFFNESS, TORSION, LEAD, MASS = 1e4, 1e2, 0.01, 1.0


def choices() -> dict[str, list[str]]:
    return {
        "joints": [name for name in JOINTS if name != "free"],
        "forces": list(FORCES),
        "bodies": ["rigid"],
    }


def inserted(
    text: str,
    kind: str,
    form: str,
    frames: tuple[str, str],
    name: str,
    places: Any,
    others: Collection[str] = (),
) -> tuple[str, str]:
    """The text with the part, and its name. `places`: frame -> place in ground; `others`: further names that
    are taken."""
    known = choices()
    if kind not in known or form not in known[kind]:
        remedy = nearest(form, [item for items in known.values() for item in items])
        raise InputError(Diagnostic("view.insert", "view", f'cannot insert "{form}"', remedy))
    first, second = frames
    if not first or (not second and FORCES.get(form) != 1):
        raise InputError(Diagnostic("view.frames", "view", "two frames are needed", "click their names"))
    start, end = places(first), places(second or first)
    table = {"joints": _joint, "forces": _force, "bodies": _body}[kind](
        form, first, second, end - start, start
    )
    taken = set(others).union(*(parse_toml(text).data.get(group, {}) for group in (kind, "ground")))
    name = _free(name or {"joints": form, "forces": form, "bodies": "link"}[kind], taken)
    return with_table(text, (kind, name), table), name


def _free(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _joint(form: str, first: str, second: str, span: Any, start: Any) -> dict[str, Any]:
    table: dict[str, Any] = {"type": form, "from": first, "to": second}
    for key, needed in own_parameters(JOINTS[form]).items():
        if needed:
            table[key] = float(np.linalg.norm(span)) or 1.0 if key == "length" else LEAD
    return table


def _force(form: str, first: str, second: str, span: Any, start: Any) -> dict[str, Any]:
    if FORCES[form] == 1:
        return {
            "type": form,
            "on": second or first,
            "force" if form == "point" else "torque": [0.0, 0.0, 0.0],
        }
    table: dict[str, Any] = {"type": form, "from": first, "to": second}
    if form == "bushing":
        return table | {"stiffness": [STIFFNESS] * 3 + [TORSION] * 3}
    return table | {"stiffness": STIFFNESS, "length": float(np.linalg.norm(span))}


def _body(form: str, first: str, second: str, span: Any, start: Any) -> dict[str, Any]:
    """A slender bar from the first frame to the second, in the axes of ground."""
    length = float(np.linalg.norm(span))
    if length == 0.0:
        what = "the two frames stand at the same place"
        raise InputError(Diagnostic("view.frames", "view", what, "a body reaches from one to the other"))
    along = span / length
    inertia = MASS * length**2 / 12.0 * (np.eye(3) * (1.0 + 1e-4) - np.outer(along, along))
    keys = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    return {
        "type": form,
        "mass": MASS,
        "com": (0.5 * span).tolist(),
        "inertia": {key: inertia[at] for key, at in keys.items() if abs(inertia[at]) > 1e-12 * length**2},
        "frames": {"start": {"pos": [0.0, 0.0, 0.0]}, "end": {"pos": span.tolist()}},
        "pose": {"pos": start.tolist()},
        "visual": {"shape": "link", "to": "end", "radius": 0.05 * length},
    }


def place_of_frame(system: Mechanism, evaluator: Evaluator, path: str) -> Any:
    """Where a frame stands in ground. Needs kinematics."""
    from flexmbs.model.markers import Markers

    body, _ = system.model.split_frame(path)
    marker = Markers(system.model, list(system.bodies)).get(path)
    if body == GROUND:
        return marker.u0
    i = system.bodies.index(body)
    return evaluator.ws.body.r[i] + evaluator.ws.body.R[i] @ marker.u0
