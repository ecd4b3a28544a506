"""The assembled start of a case as a scene: what a result of one instant would show, without a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flexmbs.case.drawing import drawing
from flexmbs.post.record import Record
from flexmbs.post.scene import Scene, result_scene
from flexmbs.spatial import quat_from_matrix

if TYPE_CHECKING:
    from flexmbs.case.case import Case
    from flexmbs.case.check import Assembled
    from flexmbs.dynamics.evaluator import Evaluator
    from flexmbs.model.state import State
    from flexmbs.model.system import System


@dataclass
class Instant:
    """Datasets of one instant, read as those of a result are."""

    path: Path
    values: dict[str, Any]

    @property
    def paths(self) -> list[str]:
        return sorted(self.values)  # as in a file

    def __getitem__(self, path: str) -> Any:
        return self.values[path]


def poses_of(system: System, evaluator: Evaluator, state: State) -> dict[str, dict[str, Any]]:
    """Position, quaternion and elastic coordinates of every body. Needs kinematics."""
    ws, t = evaluator.ws, system.tables
    found = {}
    for name in system.model.bodies:
        i = system.bodies.index(name)
        q = state.pos[t.body.o_q[i] :][: t.body.nf[i]].copy()
        found[name] = {
            "position": ws.body.r[i].copy(),
            "quaternion": np.asarray(quat_from_matrix(ws.body.R[i])),
            "q": q,
        }
    return found


def start_record(case: Case, at: Assembled) -> Record:
    """The assembled start as a record: bodies, and the case as it is drawn."""
    evaluator = at.system.evaluator()
    evaluator.kinematics(at.state.copy())
    path = case.folder / f"{case.name}.h5"  # is never written: files are named as seen from its folder
    values: dict[str, Any] = {"time": np.zeros(1), "provenance/drawing": drawing(case, path)}
    flexible = [name for name, body in at.system.model.bodies.items() if hasattr(body, "modal")]
    for name, pose in poses_of(at.system, evaluator, at.state).items():
        pose = pose if name in flexible else {key: pose[key] for key in ("position", "quaternion")}
        values |= {f"bodies/{name}/{key}": value[None] for key, value in pose.items()}
    values["provenance/case_resolved"] = json.dumps(case.source.data, default=str)
    return Record(cast(Any, Instant(path, values)))


def start_scene(record: Record) -> Scene:
    return result_scene(record, None)
