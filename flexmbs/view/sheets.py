"""The texts of a case: its file and those that it includes, each kept where it stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flexmbs.disk import root_of
from flexmbs.errors import FlexmbsError
from flexmbs.expressions import ExpressionError, confined
from flexmbs.input.source import MAX_INCLUDES
from flexmbs.toml_file import parse_toml
from flexmbs.view.case_edit import with_value
from flexmbs.view.kept import Kept

Texts = dict[str, str]


class Sheets:
    """The files by name, as seen from the folder of the case; the first is the case itself."""

    def __init__(self, path: Path) -> None:
        self.path, self.main = path, path.name
        self.kept = {self.main: Kept(path)}

    @property
    def text(self) -> str:
        return self.kept[self.main].text or ""

    def texts(self, text: str, others: Any = None) -> Texts:
        """What a request says, and of files that it does not know yet what they hold."""
        given = others if isinstance(others, dict) else {}
        found, paths = {self.main: text}, {self.main: self.path.resolve()}
        for name in self._walk(found, paths):
            if name not in self.kept or self.kept[name].path != paths[name]:
                self.kept[name] = Kept(paths[name])
            said = given.get(name)
            found[name] = said if isinstance(said, str) else self.kept[name].text or ""
        return found

    def _walk(self, found: Texts, paths: dict[str, Path]) -> Any:
        """Names of files that are included, each before it is looked into."""
        base, root, todo = self.path.parent.resolve(), root_of(self.path.parent), [self.main]
        while todo and len(found) <= MAX_INCLUDES:
            name = todo.pop(0)
            for item in includes(found[name]):
                try:
                    target = confined(paths[name].parent, item, root)
                except ExpressionError:
                    continue  # the check says it
                other = os.path.relpath(target, base)
                if other in paths:
                    continue
                paths[other] = target
                yield other
                todo.append(other)

    def by_path(self, texts: Texts) -> dict[Path, str]:
        """Texts of the included files by where they are."""
        return {self.kept[name].path.resolve(): text for name, text in texts.items() if name != self.main}

    def name_of(self, where: str) -> str | None:
        """The name of a file that a message names."""
        path = Path(where).resolve()
        return next((name for name, kept in self.kept.items() if kept.path.resolve() == path), None)

    def save(self, texts: Texts) -> tuple[list[str], Texts]:
        """Keep all texts that have changed, or none where somebody else has changed the same lines.

        Names of those that have, and the texts with what somebody else has changed in other lines.
        """
        changed = [name for name, text in texts.items() if text != self.kept[name].text]
        for name, text in texts.items():
            self.kept[name].joined(text)
        return changed, {name: self.kept[name].save(text) for name, text in texts.items()}


def includes(text: str) -> list[str]:
    try:
        found = parse_toml(text).data.get("include", [])
    except FlexmbsError:
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def changed(texts: Texts, path: tuple[str, ...], value: Any) -> Texts:
    """The texts with another value at a path, in the file where it stands, else where its table does."""

    def depth(name: str) -> int:
        try:
            known = parse_toml(texts[name]).places
        except FlexmbsError:
            return 0
        return max((n for n in range(2, len(path) + 1) if path[:n] in known), default=0)

    owner = max(texts, key=depth)  # the first of several
    return texts | {owner: with_value(texts[owner], path, value)}


def told(texts: Texts, main: str, before: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An answer with the texts, of the included ones those that are other ones than before."""
    known = before or {}
    others = {name: text for name, text in texts.items() if name != main and known.get(name) != text}
    return {"text": texts[main], "others": others}
