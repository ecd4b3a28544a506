"""What a picture of a mechanism shows beside bodies and joints, where, and by which name.

Frames, springs, forces, sensors, ways of travelling frames; redundant rows and hidden freedoms as arrows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.analyses.directions import in_ground
from flexmbs.dynamics.analyses.idle import Hidden, hidden_freedoms
from flexmbs.dynamics.analyses.mobility import characteristic_length, constraints, independent, joint_speeds
from flexmbs.expressions import Expression
from flexmbs.model.bodies import GROUND, Body, FlexibleBody, Frame
from flexmbs.model.joints.base import DISTANCE, OFFSET
from flexmbs.post.places import frame_of
from flexmbs.post.record import Record

if TYPE_CHECKING:
    from flexmbs.case.check import Assembled
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.rows import Row

Array = NDArray[np.float64]

WAY = 60  # points of the way of a travelling frame
Symbol = dict[str, Any]


class Symbols:
    """Everything that is drawn of an assembled case; `record` knows the places of frames."""

    def __init__(self, record: Record, at: Assembled, t_end: float) -> None:
        self.record, self.system, self.state, self.t_end = record, at.system, at.state, t_end
        self.model = at.system.model
        self.bodies = record.bodies

    def all(self) -> list[Symbol]:
        evaluator = self.system.evaluator()
        evaluator.kinematics(self.state.copy())
        return [*self.frames(), *self.forces(), *self.sensors(), *self.arrows(evaluator)]

    def end(self, path: str, at: Any = None) -> Symbol | None:
        """A place that moves with its body: `body`, `body.frame`, or a further place `at` on it."""
        body, _, frame = path.partition(".")
        if body not in (*self.bodies, "ground"):
            return None
        part = self.model.bodies.get(body)
        modal = _modal(part)
        if isinstance(at, Frame):
            place, Phi = _further(at, modal)
        else:
            place, _, Phi = frame_of(self.record, body, frame, modal)
        return {"body": body, "place": place, "Phi": Phi}

    def frames(self) -> Iterator[Symbol]:
        origin = {"body": "ground", "place": np.zeros(3), "Phi": None}
        yield {
            "kind": "frame", "name": "ground", "path": ["ground"], "ends": [origin],
            "axes": np.eye(3).ravel(), "way": [],
        }  # fmt: skip
        owners = {GROUND: self.model.ground_frames, **{n: b.frames for n, b in self.model.bodies.items()}}
        for body, frames in owners.items():
            modal = _modal(self.model.bodies.get(body))
            faces = list(modal.interfaces) if modal is not None else []
            for name in [*frames, *(face for face in faces if face not in frames)]:
                place, axes, Phi = frame_of(self.record, body, name, modal)
                owner = ["ground"] if body == "ground" else ["bodies", body]
                end = {"body": body, "place": place, "Phi": Phi}
                frame = frames.get(name)
                way = [] if frame is None else self.way(frame)
                path = [*owner, "frames", name]
                yield {
                    "kind": "frame", "name": f"{body}.{name}", "path": path, "ends": [end],
                    "axes": axes.ravel(), "way": way,
                }  # fmt: skip

    def way(self, frame: Frame) -> list[list[float]]:
        """Places of a travelling frame over the run, in body axes."""
        entries = list(frame.pos if frame.at is None else frame.at)
        if not any(isinstance(x, Expression) for x in entries) or not self.t_end:
            return []
        times = np.linspace(0.0, self.t_end, WAY)
        return [[x.number({"t": t}) if isinstance(x, Expression) else x for x in entries] for t in times]

    def forces(self) -> Iterator[Symbol]:
        for name, force in self.model.forces.items():
            at = getattr(force, "at", None)
            pair = [getattr(force, key, None) for key in ("from_frame", "to_frame")]
            on = getattr(force, "on", None)
            paths = [on] if isinstance(on, str) else [path for path in pair if isinstance(path, str)]
            ends = [end for path in paths if (end := self.end(path, at if len(paths) == 1 else None))]
            if not ends or len(ends) != len(paths):
                continue
            kind = "spring" if len(ends) == 2 else "force"
            values = getattr(force, "torque" if force.type_name == "torque" else "force", None)
            yield {
                "kind": kind, "name": name, "path": ["forces", name], "ends": ends,
                "moment": force.type_name == "torque", "bushing": force.type_name == "bushing",
                "direction": self.direction(force, values, ends[-1]["body"]) if kind == "force" else None,
            }  # fmt: skip

    def direction(self, force: Any, values: Any, body: str) -> Array | None:
        """Along which a force of plain numbers acts, in the axes of its body at the start."""
        if not isinstance(values, list | tuple | np.ndarray) or len(values) != 3:
            return None
        if not all(isinstance(x, int | float | np.number) for x in values) or not np.any(values):
            return None
        along = np.asarray(values, dtype=float) / np.linalg.norm(np.asarray(values, dtype=float))
        if force.axes == "body":
            return along
        return self.turned(body, along) if force.axes == "ground" else None

    def turned(self, body: str, along: Array) -> Array:
        """A direction of ground in the axes of a body at the start."""
        return along if body == GROUND else np.asarray(self.rotation(body).T @ along)

    def rotation(self, body: str) -> Array:
        from flexmbs.spatial import quat_to_matrix

        return quat_to_matrix(self.record.require(f"bodies/{body}/quaternion")[0])

    def local(self, body: str, point: Array) -> Symbol:
        """An end at a point of ground that moves with a body from the start on."""
        if body == GROUND:
            return {"body": body, "place": point, "Phi": None}
        r = self.record.require(f"bodies/{body}/position")[0]
        return {"body": body, "place": self.rotation(body).T @ (point - r), "Phi": None}

    def sensors(self) -> Iterator[Symbol]:
        for name, sensor in self.model.sensors.items():
            path = sensor.on
            if path is None and sensor.joint in self.model.joints:
                path = self.model.joints[sensor.joint].to_frame
            end = self.end(path, sensor.at) if path else None
            if end is not None:
                yield {"kind": "sensor", "name": name, "path": ["sensors", name], "ends": [end]}

    def arrows(self, evaluator: Evaluator) -> Iterator[Symbol]:
        """Redundant rows where their joints are, hidden freedoms where their bodies are."""
        for name, row in self.redundant(evaluator):
            found = _row_direction(row, evaluator)
            if found is None:
                continue
            at, along, body = found
            yield {
                "kind": "redundant", "name": name, "path": name.partition(" (")[0].split("."),
                "ends": [self.local(body, at)], "direction": self.turned(body, along),
                "moment": row.is_moment,
            }  # fmt: skip
        for item in hidden_freedoms(self.system, evaluator, self.state):
            yield from self.hidden(item)

    def redundant(self, evaluator: Evaluator) -> Iterator[tuple[str, Row]]:
        """The rows that say nothing new, as `check` names them (F28)."""
        names, rows = constraints(self.system, ("joint", "coupling"))
        if not rows:
            return
        evaluator.loops(self.state.copy())
        held = ~joint_speeds(self.system)
        kept, _, _ = independent(evaluator, rows, held, characteristic_length(self.system, evaluator))
        for k in sorted(set(range(len(rows))) - set(kept)):
            yield in_ground([names[k]], [rows[k]], evaluator)[0], rows[k]

    def hidden(self, item: Hidden) -> Iterator[Symbol]:
        middle, body = item.places.mean(axis=0), item.bodies[0]
        for twist in item.twists:
            v, w = twist[:3], twist[3:]
            turn = float(np.linalg.norm(w))
            if turn > 1e-9 * max(1.0, float(np.linalg.norm(v))):
                along, on_axis = w / turn, np.cross(w, v) / turn**2
                at = on_axis + along * float(along @ (middle - on_axis))
            else:
                turn, along, at = 0.0, v / np.linalg.norm(v), middle
            yield {
                "kind": "hidden", "name": item.text, "path": ["bodies", body],
                "ends": [self.local(body, at)], "direction": self.turned(body, along),
                "moment": turn > 0.0,
            }  # fmt: skip


def _modal(part: Body | None) -> Any:
    """Modal data of a flexible body with the modes that it keeps."""
    if not isinstance(part, FlexibleBody):
        return None
    return part.modal if part.modes is None else part.modal.select([int(a) + 1 for a in part.modes])


def _further(at: Frame, modal: Any) -> tuple[Array, Array | None]:
    if modal is None:
        return np.array([x if isinstance(x, int | float) else 0.0 for x in at.pos], dtype=float), None
    given = {"at": at.at, "nearest": at.nearest, "node": at.node}
    place, Phi, _ = modal.marker_rows(**{key: value for key, value in given.items() if value is not None})
    return place, Phi


def _row_direction(row: Row, evaluator: Evaluator) -> tuple[Array, Array, str] | None:
    """Where a row of a cut joint acts, along or about what, and on which body; None of a coupling."""
    if not row.entries:
        return None
    entry, ws = row.entries[0][1], evaluator.ws
    P, Q = entry.P.number, entry.Q.number
    R, x = ws.marker.R, ws.marker.x
    if entry.kind == OFFSET:
        along = R[P][:, entry.a]
    elif entry.kind == DISTANCE:
        along = x[Q] - x[P]
    elif row.is_moment:
        third = 3 - entry.a - entry.b
        along = np.cross(R[P][:, entry.a], R[Q][:, entry.b]) if entry.a == entry.b else R[P][:, third]
    else:
        along = R[P][:, 2]
    size = float(np.linalg.norm(along))
    return (x[Q].copy(), along / size, entry.Q.body) if size > 0.0 else None
