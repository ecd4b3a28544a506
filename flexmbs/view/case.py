"""A case in the browser: its text beside the assembled start; the text is all that there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.case import Case
from flexmbs.errors import Diagnostic, FlexmbsError
from flexmbs.post.animation.page import animation_page, scene_data
from flexmbs.post.scene import Scene
from flexmbs.toml_file import parse_toml
from flexmbs.view.complete import offers
from flexmbs.view.kept import Kept

if TYPE_CHECKING:
    from flexmbs.case.check import Check

#: tables of parts that have a line of their own
PARTS = ("bodies", "joints", "couplings", "drives", "states", "inputs", "forces", "sensors")
_PART = re.compile(rf"\b({'|'.join(PARTS)})\.([A-Za-z_]\w*)")
_PLACE = re.compile(r"^(.*):(\d+):(\d+)$")


class CaseDoor:
    """A case file. `found` is the last check that went through, of `case`."""

    def __init__(self, path: Path) -> None:
        self.path, self.kept = path, Kept(path)
        self.case: Case | None = None
        self.found: Check | None = None
        self.lines: list[list[Any]] = []

    def page(self, name: str) -> str | None:
        if name != "":
            return None
        told = self.check(self.kept.text or "", draw=False)
        scene, symbols = self.picture()
        told |= {"file": self.path.name, "text": self.kept.text}
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
            case "save":
                self.kept.save(text)
                return {"said": f"{self.path.name} is kept; flexmbs run {self.path.name}"}
        return None

    def close(self) -> None:
        """Nothing goes on beside it."""

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
        self.case = case
        told |= {"errors": [], "warnings": [self.located(item) for item in self.found.warnings]}
        told |= {"report": report_lines(self.found), **tree_of(self.found)}
        if draw:
            scene, symbols = self.picture()
            tree, arrays = scene_data(scene, more={"symbols": symbols})
            told |= {"scene": tree, "arrays": arrays.text()}
        return told

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
