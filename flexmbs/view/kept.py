"""A text file that is worked on: it changes where it is typed; changes of others are joined or refused."""

from __future__ import annotations

from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path

from flexmbs import disk
from flexmbs.errors import Diagnostic, FlexmbsError, InputError
from flexmbs.toml_file import MAX_BYTES, parse_toml, read_toml

BOM = "\ufeff"


class Kept:
    """The file as it was read, `raw`; None where there is none yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw = self._there()

    def _there(self) -> str | None:
        if not self.path.exists():
            return None
        if self.path.is_dir() or self.path.stat().st_size > MAX_BYTES:
            read_toml(self.path)  # says what is wrong
        try:
            return self.path.read_bytes().decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return read_toml(self.path).text  # says what is wrong

    @property
    def text(self) -> str | None:
        """Its text as pages and parsers have it: lines end in one character."""
        return None if self.raw is None else plain(self.raw)

    def joined(self, text: str) -> str:
        """The text with what somebody else has changed in the file since it was read, in other lines."""
        there = self._there()
        if there == self.raw:
            return text
        if there is not None and self.raw is not None:
            both = merged(plain(self.raw), text, plain(there))
            with suppress(FlexmbsError):
                parse_toml(both or "")
                if both is not None:
                    return both
        elif text == self.text:
            return text
        what = "was changed or made by somebody else since it was read"
        raise InputError(Diagnostic("view.changed", self.path.name, what, "open it again"))

    def save(self, text: str) -> str:
        """Keep the text in the file, joined with what somebody else has changed there; returns it."""
        text, there = self.joined(text), self._there()
        if there is None or plain(there) != text:
            with disk.atomic_file(self.path, overwrite=there is not None) as file:
                there = text if there is None else as_before(text, there)
                file.write(there.encode())
        self.raw = there
        return text


def merged(base: str, ours: str, theirs: str) -> str | None:
    """Both changes of a text, line by line; None where they touch the same lines, or lines side by side."""
    lines = base.splitlines(keepends=True)
    changes = []
    for text in (ours, theirs):
        new = text.splitlines(keepends=True)
        matcher = SequenceMatcher(None, lines, new, autojunk=False)
        changes += [(i, j, new[k:m]) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]
    changes.sort(key=lambda change: change[:2])
    out, at = list[str](), 0
    for k, (start, end, new) in enumerate(changes):
        before = changes[k - 1] if k else (-1, -1, [])
        if (start, end, new) == before:
            continue  # the same change by both
        if start <= before[1]:
            return None
        out += [*lines[at:start], *new]
        at = end
    return "".join(out + lines[at:])


def plain(raw: str) -> str:
    return raw.removeprefix(BOM).replace("\r\n", "\n")


def as_before(text: str, raw: str) -> str:
    """The text with the ends of lines, and the mark at the front, that the file has where it is the same."""
    if "\r" not in raw and not raw.startswith(BOM):
        return text
    old, new = raw.removeprefix(BOM).splitlines(keepends=True), text.splitlines(keepends=True)
    windows = 2 * raw.count("\r\n") > raw.count("\n")
    out = [BOM] if raw.startswith(BOM) else []
    same = SequenceMatcher(None, [plain(line) for line in old], new, autojunk=False)
    for tag, i, _, j, end in same.get_opcodes():
        for k in range(j, end):
            out.append(
                old[i + k - j] if tag == "equal" else new[k].replace("\n", "\r\n" if windows else "\n")
            )
    return "".join(out)
