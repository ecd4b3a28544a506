"""A case in the browser: its text beside the assembled start; the text is all that there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.case import Case
from flexmbs.errors import Diagnostic, FlexmbsError, InputError
from flexmbs.post.animation.page import animation_page, scene_data
from flexmbs.post.scene import Scene
from flexmbs.toml_file import parse_toml
from flexmbs.view.case_edit import with_value
from flexmbs.view.complete import offers
from flexmbs.view.drag import Drag
from flexmbs.view.insert import choices, inserted, place_of_frame
from flexmbs.view.kept import Kept
from flexmbs.view.runs import Runs

if TYPE_CHECKING:
    from flexmbs.case.check import Assembled, Check

#: tables of parts that have a line of their own
PARTS = ("bodies", "joints", "couplings", "drives", "states", "inputs", "forces", "sensors")
_PART = re.compile(rf"\b({'|'.join(PARTS)})\.([A-Za-z_]\w*)")
_NUMBER = re.compile(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s].*)$")
_PLACE = re.compile(r"^(.*):(\d+):(\d+)$")


class CaseDoor:
    """A case file. `found` is the last check that went through, of `case`."""

    def __init__(self, path: Path) -> None:
        self.path, self.kept = path, Kept(path)
        self.case: Case | None = None
        self.found: Check | None = None
        self.lines: list[list[Any]] = []
        self.hand: Drag | None = None
        self.runs = Runs()

    def page(self, name: str) -> str | None:
        if name != "":
            return None
        told = self.check(self.kept.text or "", draw=False)
        scene, symbols = self.picture()
        told |= {"file": self.path.name, "text": self.kept.text, "choices": choices()}
        return animation_page(scene, more={"case": told, "symbols": symbols})

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        text = data.get("text", "")
        if not isinstance(text, str):
            return None
        match word:
            case "check":
                return self.check(text)
            case "complete":
                at = data.get("at")
                return offers(text, at, self.known()) if type(at) is int and 0 <= at <= len(text) else None
            case "insert":
                return self.insert(text, data)
            case "drag":
                return self.drag(data)
            case "parameter":
                return self.parameter(text, data)
            case "run":
                return self.run(text)
            case "release":
                self.hand = None
                return {} if self.found is None else self.poses(self.found.at)
            case "pose":
                return self.keep_pose(text)
            case "save":
                self.kept.save(text)
                return {"said": f"{self.path.name} is kept; flexmbs run {self.path.name}"}
        return self.runs.act(word, data)

    def close(self) -> None:
        self.runs.close()

    def run(self, text: str) -> dict[str, Any]:
        """Begin a run of the text; its result is kept only where that is asked for."""
        told = self.check(text, draw=False)
        if told["errors"] or self.case is None:
            return told
        return self.runs.begin(self.case, text, self.picture()[1])

    def parameter(self, text: str, data: dict[str, Any]) -> dict[str, Any] | None:
        """The text with another number for a parameter, its unit as it was."""
        known = {item["name"]: item for item in parameters_of(text)}
        name, number = data.get("name"), data.get("number")
        if name not in known or not isinstance(number, int | float) or not np.isfinite(number):
            return None
        unit = known[name]["unit"]
        value: Any = f"{number:.6g} {unit}" if unit else float(f"{number:.6g}")
        return {"text": with_value(text, ("parameters", str(name)), value)}

    def check(self, text: str, draw: bool = True) -> dict[str, Any]:
        """What is wrong with the text, or what it is: the report of `check`, and the picture of its start."""
        from flexmbs.case.check import check

        self.lines = self.places(text)
        told: dict[str, Any] = {"places": self.lines}
        try:
            case = Case.from_text(text, self.path)
            self.found = check(case)
        except FlexmbsError as error:
            return told | {"errors": [self.located(item) for item in error.diagnostics]}
        self.case, self.hand = case, None
        told["parameters"] = parameters_of(text)
        told |= {"errors": [], "warnings": [self.located(item) for item in self.found.warnings]}
        told |= {"report": report_lines(self.found), **tree_of(self.found)}
        if draw:
            scene, symbols = self.picture()
            tree, arrays = scene_data(scene, more={"symbols": symbols})
            told |= {"scene": tree, "arrays": arrays.text()}
        return told

    def at(self) -> Assembled:
        """The mechanism that is shown."""
        if self.found is None:
            what = "nothing is assembled yet"
            raise InputError(Diagnostic("view.start", self.path.name, what, "mend its errors first"))
        return self.found.at

    def insert(self, text: str, data: dict[str, Any]) -> dict[str, Any]:
        """The text with one more part between two frames."""
        at = self.at()
        evaluator = at.system.evaluator()
        evaluator.kinematics(at.state.copy())
        kind, form, first, second, name = (
            str(data.get(key) or "") for key in ("kind", "form", "from", "to", "name")
        )

        def place(path: str) -> Any:
            return place_of_frame(at.system, evaluator, path)

        made, name = inserted(text, kind, form, (first, second), name, place)
        return {"text": made, "path": [kind, name], "said": f"{kind}.{name}: {form}"}

    def drag(self, data: dict[str, Any]) -> dict[str, Any] | None:
        """Bring a point of a body towards a point of ground, as far as the joints let it."""
        at, body = self.at(), data.get("body")
        if body not in at.system.model.bodies:
            return None
        try:
            place, target, along = (
                np.array(data[key], dtype=float).reshape(3) for key in ("place", "target", "along")
            )
        except (KeyError, TypeError, ValueError):
            return None
        if not np.isfinite([place, target, along]).all() or not along.any():
            return None
        self.hand = self.hand or Drag(at.system, at.state)
        left = self.hand.to(str(body), place, target, along)
        return {"left": left, **self.poses(at, self.hand.state)}

    def poses(self, at: Assembled, state: Any = None) -> dict[str, Any]:
        from flexmbs.view.still import poses_of

        evaluator, state = at.system.evaluator(), at.state if state is None else state
        evaluator.kinematics(state.copy())
        return {"poses": poses_of(at.system, evaluator, state)}

    def keep_pose(self, text: str) -> dict[str, Any]:
        """The text with the pose that was dragged to as initial values: as few as lead back to it."""
        at = self.at()
        if self.hand is None:
            raise InputError(Diagnostic("view.pose", "view", "nothing was dragged", "drag a body first"))
        new, old = self.hand.initial(), Drag(at.system, at.state).initial()
        changed = {
            path for path, value in new.items() if not np.allclose(_flat(value), _flat(old[path]), atol=1e-9)
        }
        if not changed:
            raise InputError(Diagnostic("view.pose", "view", "nothing has moved", "drag a body further"))
        for paths in (changed, set(new)):
            made = text
            for path in [path for path in new if path in paths]:
                made = with_value(made, path, new[path])
            if self.leads_to(made, self.hand):
                names = ", ".join(".".join(path) for path in new if path in paths)
                return {"text": made, "said": f"the pose is kept as {names}"}
        what = "no initial values lead back to this pose"
        raise InputError(
            Diagnostic("view.pose", "view", what, "values with hold = true may stand against it")
        )

    def leads_to(self, text: str, hand: Drag) -> bool:
        """Whether the case of the text is assembled in the pose of the hand."""
        from flexmbs.case.check import assembled
        from flexmbs.view.still import poses_of

        try:
            found = assembled(Case.from_text(text, self.path))
        except FlexmbsError:
            return False
        evaluator = found.system.evaluator()
        evaluator.kinematics(found.state.copy())
        got = poses_of(found.system, evaluator, found.state)
        wanted = poses_of(hand.system, hand.evaluator, hand.state)
        return all(
            np.allclose(got[name]["position"], pose["position"], rtol=0.0, atol=1e-6 * hand.size)
            and abs(abs(float(got[name]["quaternion"] @ pose["quaternion"])) - 1.0) < 1e-9
            for name, pose in wanted.items()
        )

    def picture(self) -> tuple[Scene, list[dict[str, Any]]]:
        """The assembled start; nothing where the case could not be assembled."""
        if self.case is None or self.found is None:
            return Scene(self.path.stem, np.zeros(1), [], notes=["nothing is drawn: see the errors"]), []
        from flexmbs.view.still import start_record, start_scene
        from flexmbs.view.symbols import Symbols

        record = start_record(self.case, self.found.at)
        analysis = self.case.spec.analysis
        t_end = float(analysis.t_end or 0.0) if analysis is not None else 0.0
        return start_scene(record), Symbols(record, self.found.at, t_end).all()

    def located(self, item: Diagnostic) -> dict[str, Any]:
        """A finding with its line, where it is one of this file, or names a part of it."""
        item = replace(item, where=item.where.replace(str(self.path), self.path.name))
        place = _PLACE.match(item.where)
        if place is not None:
            own = place[1] == self.path.name
            return {"text": str(item), "line": int(place[2]) if own else 0, "column": int(place[3])}
        named = _PART.search(f"{item.where} {item.what}")
        lines = {tuple(path): line for path, line in self.lines}
        line = lines.get((named[1], named[2]), 0) if named else 0
        return {"text": str(item), "line": line, "column": 1}

    def places(self, text: str) -> list[list[Any]]:
        """Lines where parts begin, and their frames: [["joints", "main"], 12], ..."""
        try:
            known = parse_toml(text).places
        except FlexmbsError:
            return []
        return [
            [list(path), place.key[0]]
            for path, place in known.items()
            if (len(path) == 2 and path[0] in PARTS)
            or (len(path) == 4 and path[2] == "frames")
            or (len(path) == 3 and path[:2] == ("ground", "frames"))
        ]

    def known(self) -> dict[str, list[str]]:
        """Names of the last mechanism that only its files tell: interfaces, coordinates."""
        if self.found is None:
            return {}
        model = self.found.at.system.model
        frames = [f"{name}.{frame}" for name, body in model.bodies.items() for frame in body.frames]
        for name, body in model.bodies.items():
            modal = getattr(body, "modal", None)
            frames += [f"{name}.{face}" for face in (modal.interfaces if modal is not None else ())]
        coordinates = [f"{c.joint}.{c.name}" for c in self.found.at.system.coordinates]
        return {"frame": frames, "axes": frames, "coordinate": coordinates}


def report_lines(found: Check) -> list[str]:
    """The report of `check`, line by line, without what stands elsewhere: tree, cuts, warnings."""
    from flexmbs.case.check import text

    warnings = {str(item) for item in found.warnings}
    lines = text(found).split("\n")
    return [line for line in lines if line not in warnings and not line.startswith(("tree ", "cut "))]


def tree_of(found: Check) -> dict[str, Any]:
    """Branches of the spanning tree and cuts, with their joints."""
    system = found.at.system
    own = {id(joint) for joint in system.model.joints.values()}
    branches = [
        {
            "parent": branch.parent, "body": branch.body,
            "joint": branch.joint.name if id(branch.joint) in own else None,
        }
        for branch in system.topology.branches
    ]  # fmt: skip
    cuts = [{"joint": j.name, "why": system.topology.reasons.get(j.name, "")} for j in system.topology.cuts]
    return {"tree": branches, "cuts": cuts}


def parameters_of(text: str) -> list[dict[str, Any]]:
    """Parameters that are a number, or one with a unit."""
    table = parse_toml(text).data.get("parameters", {})
    found = []
    for name, value in table.items():
        match = _NUMBER.match(value) if isinstance(value, str) else None
        if match:
            found.append({"name": name, "number": float(match[1]), "unit": match[2].strip()})
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append({"name": name, "number": float(value), "unit": ""})
    return found


def _flat(value: Any) -> Any:
    """Numbers of an initial value, of a rotation those of its quaternion."""
    return np.atleast_1d(np.asarray(value["quaternion"] if isinstance(value, dict) else value, dtype=float))
