"""Names that refer to other parts of the case: do they exist? Works on plain data, beside the schema."""

from __future__ import annotations

from typing import Any

from flexmbs.errors import Diagnostics, nearest
from flexmbs.input.problems import dotted
from flexmbs.input.registered import Named, names_in
from flexmbs.input.source import Path_, Source
from flexmbs.input.values import Table

#: names that mean something else where they would be read
_TAKEN = {
    ("bodies", "ground"): "the ground",
    ("parameters", "t"): "time",
    ("parameters", "pi"): "the number",
    ("inputs", "t"): "time",
    ("inputs", "pi"): "the number",
    ("states", "t"): "time",
    ("states", "pi"): "the number",
}


def check_references(source: Source, model: type[Table], problems: Diagnostics) -> None:
    """Report every name of a body, frame or joint that does not exist, and names that are taken."""
    checker = _Checker(source, problems)
    for (table, name), meaning in _TAKEN.items():
        if name in table_of(source.data, table):
            what = f'{table}.{name}: "{name}" means {meaning}; take another name'
            problems.error("case.name", source.where((table, name), key=True), what)
    for item in names_in(model, source.data):
        checker.named(item)
    checker.visuals()
    checker.sweep()


def table_of(data: dict[str, Any], name: str) -> dict[str, Any]:
    """A top-level table, empty when it is missing or no table (the schema says so)."""
    found = data.get(name)
    return found if isinstance(found, dict) else {}


class _Checker:
    def __init__(self, source: Source, problems: Diagnostics) -> None:
        self.source = source
        self.problems = problems
        self.bodies = table_of(source.data, "bodies")
        self.joints = table_of(source.data, "joints")

    def fail(self, path: Path_, what: str, remedy: str, *, key: bool = False) -> None:
        where = self.source.where(path, key=key)
        self.problems.error("case.reference", where, f"{dotted(path)}: {what}", remedy)

    def named(self, item: Named) -> None:
        if item.kind == "body":
            self.body(item.path, item.text)
        elif item.kind == "frame":
            self.frame(item.path, item.text)
        elif item.kind in ("joint", "coordinate"):
            self.joint(item)

    def body(self, path: Path_, value: str) -> bool:
        if value != "ground" and value not in self.bodies:
            self.fail(path, f'there is no body "{value}"', nearest(value, ["ground", *self.bodies]))
            return False
        return True

    def frame(self, path: Path_, value: str) -> None:
        body, dot, frame = value.partition(".")
        if not self.body(path, body) or not dot:
            return
        known = self.frames_of(body)
        if known is not None and frame not in known:
            owner = "ground" if body == "ground" else f"body {body}"
            self.fail(path, f'{owner} has no frame "{frame}"', nearest(frame, known))

    def frames_of(self, body: str) -> list[str] | None:
        """Frames known from the file; None for flexible bodies, whose interfaces are elsewhere."""
        table = table_of(self.source.data, "ground") if body == "ground" else self.bodies[body]
        if not isinstance(table, dict) or table.get("type") == "flexible":
            return None
        frames = table.get("frames", {})
        return list(frames) if isinstance(frames, dict) else None

    def joint(self, item: Named) -> None:
        name = item.text.partition(".")[0] if item.kind == "coordinate" else item.text
        if name not in self.joints:
            self.fail(
                item.path, f'there is no joint "{name}"', nearest(name, list(self.joints)), key=item.key
            )

    def visuals(self) -> None:
        for name, body in self.bodies.items():
            visual = table_of(body, "visual") if isinstance(body, dict) else {}
            parts = visual.get("parts")
            place: Path_ = ("bodies", name, "visual")
            shapes: list[tuple[Path_, Any]] = [(place, visual)]
            for k, part in enumerate(parts if isinstance(parts, list) else []):
                shapes.append(((*place, "parts", k), part))
            known = self.frames_of(name)
            for where, shape in shapes:
                to = shape.get("to") if isinstance(shape, dict) else None
                if isinstance(to, str) and known is not None and to not in known:
                    self.fail((*where, "to"), f'no frame "{to}"', nearest(to, known))

    def sweep(self) -> None:
        """Parameters that are varied must exist, and collected metrics too."""
        sweep = table_of(self.source.data, "sweep")
        known = list(table_of(self.source.data, "parameters"))
        searches = [("fit", "parameters"), ("optimise", "parameters")]
        for words in [("sweep", "grid"), ("sweep", "zip"), ("sweep", "sample", "parameters"), *searches]:
            found: Any = self.source.data
            for word in words:
                found = found.get(word, {}) if isinstance(found, dict) else {}
            for name in found if isinstance(found, dict) else {}:
                if name not in known and "." not in name:
                    path = (*words, name)
                    self.fail(path, f'there is no parameter "{name}"', nearest(name, known), key=True)
        metrics = list(table_of(self.source.data, "metrics"))
        hot = sweep.get("hot_spots")
        spots = [f"{body}.hot_spot" for body in hot] if isinstance(hot, list) else []
        collect, rank = sweep.get("collect", []), sweep.get("rank")
        named: list[tuple[Path_, Any]] = []
        if isinstance(rank, str):
            named.append((("sweep", "rank"), rank.removeprefix("-")))
        for k, name in enumerate(collect if isinstance(collect, list) else []):
            named.append((("sweep", "collect", k), name))
        best = table_of(self.source.data, "optimise")
        named += [(("optimise", key), best[key]) for key in ("minimise", "maximise") if key in best]
        for table in ("sweep", "optimise"):
            limits = table_of(self.source.data, table).get("limits", {})
            named += [
                ((table, "limits", name), name) for name in (limits if isinstance(limits, dict) else {})
            ]
        for place, name in named:
            known = metrics + (spots if place[0] == "sweep" and place[1] != "collect" else [])
            if isinstance(name, str) and name not in known:
                self.fail(place, f'there is no metric "{name}"', nearest(name, known))
