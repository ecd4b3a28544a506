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
from flexmbs.view.complete import offers
from flexmbs.view.drag import Drag
from flexmbs.view.insert import choices, inserted, place_of_frame
from flexmbs.view.runs import Runs
from flexmbs.view.sheets import Sheets, Texts, changed, told
from flexmbs.view.told import PARTS, parameters_of, places_of, report_lines, tree_of

if TYPE_CHECKING:
    from flexmbs.case.check import Assembled, Check

_PART = re.compile(rf"\b({'|'.join(PARTS)})\.([A-Za-z_]\w*)")
#: requests that come with the texts
TEXTUAL = ("check", "insert", "parameter", "run", "pose", "save")
_PLACE = re.compile(r"^(.*):(\d+):(\d+)$")


class CaseDoor:
    """A case file with those that it includes. `found` is the last check that went through, of `case`."""

    def __init__(self, path: Path) -> None:
        self.path, self.sheets = path, Sheets(path)
        self.case: Case | None = None
        self.found: Check | None = None
        self.lines: list[list[Any]] = []
        self.hand: Drag | None = None
        self.runs = Runs()

    def page(self, name: str) -> str | None:
        if name != "":
            return None
        texts = self.sheets.texts(self.sheets.text)
        found = self.check(texts, draw=False)
        scene, symbols = self.picture()
        found |= {"file": self.path.name, "choices": choices(), **told(texts, self.path.name)}
        return animation_page(scene, more={"case": found, "symbols": symbols})

    def act(self, word: str, data: dict[str, Any]) -> dict[str, Any] | None:
        text, others = data.get("text", ""), data.get("others")
        if not isinstance(text, str):
            return None
        texts = self.sheets.texts(text, others) if word in TEXTUAL else {}
        match word:
            case "check":
                found = self.check(texts)
                return found | {"others": told(texts, self.path.name, _given(others))["others"]}
            case "complete":
                at = data.get("at")
                return offers(text, at, self.known()) if type(at) is int and 0 <= at <= len(text) else None
            case "insert":
                return self.insert(texts, data)
            case "drag":
                return self.drag(data)
            case "parameter":
                return self.parameter(texts, data)
            case "run":
                return self.run(texts)
            case "release":
                self.hand = None
                return {} if self.found is None else self.poses(self.found.at)
            case "pose":
                return self.keep_pose(texts)
            case "save":
                return self.save(texts)
        return self.runs.act(word, data)

    def close(self) -> None:
        self.runs.close()

    def run(self, texts: Texts) -> dict[str, Any]:
        """Begin a run of the texts; its result is kept only where that is asked for."""
        found = self.check(texts, draw=False)
        if found["errors"] or self.case is None:
            return found
        return self.runs.begin(self.case, self.picture()[1])

    def save(self, texts: Texts) -> dict[str, Any]:
        """Keep the texts; they come back where somebody else has changed other lines of the files."""
        main = self.path.name
        names, joined = self.sheets.save(texts)
        also = ", ".join(name for name in names if name != main)
        said = f"{main} is kept{f' with {also}' if also else ''}; flexmbs run {main}"
        if joined == texts:
            return {"said": said}
        theirs = ", ".join(name for name in joined if joined[name] != texts[name])
        return told(joined, main, texts) | {
            "said": f"{said}; what somebody else changed in {theirs} is there"
        }

    def parameter(self, texts: Texts, data: dict[str, Any]) -> dict[str, Any] | None:
        """The texts with another number for a parameter, its unit as it was."""
        known = {item["name"]: item for item in parameters_of(*texts.values())}
        name, number = data.get("name"), data.get("number")
        if name not in known or not isinstance(number, int | float) or not np.isfinite(number):
            return None
        unit = known[name]["unit"]
        value: Any = f"{number:.6g} {unit}" if unit else float(f"{number:.6g}")
        made = changed(texts, ("parameters", str(name)), value)
        return told(made, self.path.name, texts)

    def check(self, texts: Texts, draw: bool = True) -> dict[str, Any]:
        """What is wrong with the texts, or what they are: the report of `check`, the picture of the start."""
        from flexmbs.case.check import check

        self.lines = [place for name, text in texts.items() for place in places_of(text, name)]
        found: dict[str, Any] = {"places": self.lines}
        try:
            case = self.case_of(texts)
            self.found = check(case)
        except FlexmbsError as error:
            return found | {"errors": [self.located(item) for item in error.diagnostics]}
        self.case, self.hand = case, None
        found["parameters"] = parameters_of(*texts.values())
        found |= {"errors": [], "warnings": [self.located(item) for item in self.found.warnings]}
        found |= {"report": report_lines(self.found), **tree_of(self.found)}
        if draw:
            scene, symbols = self.picture()
            tree, arrays = scene_data(scene, more={"symbols": symbols})
            found |= {"scene": tree, "arrays": arrays.text()}
        return found

    def case_of(self, texts: Texts) -> Case:
        return Case.from_text(texts[self.path.name], self.path, others=self.sheets.by_path(texts))

    def at(self) -> Assembled:
        """The mechanism that is shown."""
        if self.found is None:
            what = "nothing is assembled yet"
            raise InputError(Diagnostic("view.start", self.path.name, what, "mend its errors first"))
        return self.found.at

    def insert(self, texts: Texts, data: dict[str, Any]) -> dict[str, Any]:
        """The text with one more part between two frames; its name is that of no part of an included file."""
        at = self.at()
        evaluator = at.system.evaluator()
        evaluator.kinematics(at.state.copy())
        kind, form, first, second, name = (
            str(data.get(key) or "") for key in ("kind", "form", "from", "to", "name")
        )

        def place(path: str) -> Any:
            return place_of_frame(at.system, evaluator, path)

        taken = {path[1] for path, *_ in self.lines if path[0] == kind}
        made, name = inserted(texts[self.path.name], kind, form, (first, second), name, place, taken)
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

    def keep_pose(self, texts: Texts) -> dict[str, Any]:
        """The texts with the pose that was dragged to as initial values: as few as lead back to it."""
        at = self.at()
        if self.hand is None:
            raise InputError(Diagnostic("view.pose", "view", "nothing was dragged", "drag a body first"))
        new, old = self.hand.initial(), Drag(at.system, at.state).initial()
        other = {
            path for path, value in new.items() if not np.allclose(_flat(value), _flat(old[path]), atol=1e-9)
        }
        if not other:
            raise InputError(Diagnostic("view.pose", "view", "nothing has moved", "drag a body further"))
        for paths in (other, set(new)):
            made = texts
            for path in [path for path in new if path in paths]:
                made = changed(made, path, new[path])
            if self.leads_to(made, self.hand):
                names = ", ".join(".".join(path) for path in new if path in paths)
                said = {"said": f"the pose is kept as {names}"}
                return told(made, self.path.name, texts) | said
        what = "no initial values lead back to this pose"
        raise InputError(
            Diagnostic("view.pose", "view", what, "values with hold = true may stand against it")
        )

    def leads_to(self, texts: Texts, hand: Drag) -> bool:
        """Whether the case of the texts is assembled in the pose of the hand."""
        from flexmbs.case.check import assembled
        from flexmbs.view.still import poses_of

        try:
            found = assembled(self.case_of(texts))
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
        place = _PLACE.match(item.where)
        name = self.sheets.name_of(place[1]) if place is not None else None
        if place is not None and name is not None:
            item = replace(item, where=f"{name}:{place[2]}:{place[3]}")
            return {"text": str(item), "file": name, "line": int(place[2]), "column": int(place[3])}
        item = replace(item, where=item.where.replace(str(self.path), self.path.name))
        named = _PART.search(f"{item.where} {item.what}")
        lines = {tuple(path): (line, name) for path, line, name in self.lines}
        line, name = lines.get((named[1], named[2]), (0, "")) if named else (0, "")
        return {"text": str(item), "file": name, "line": line, "column": 1}

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
        names = {"body": list(model.bodies), "joint": list(model.joints)}
        return {"frame": frames, "axes": frames, "coordinate": coordinates, **names}


def _given(others: Any) -> dict[str, str]:
    return others if isinstance(others, dict) else {}


def _flat(value: Any) -> Any:
    """Numbers of an initial value, of a rotation those of its quaternion."""
    return np.atleast_1d(np.asarray(value["quaternion"] if isinstance(value, dict) else value, dtype=float))
