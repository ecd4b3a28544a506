"""A text file that is worked on: it changes where it is typed, and never over a change of somebody else."""

from __future__ import annotations

from difflib import SequenceMatcher
from pathlib import Path

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.toml_file import MAX_BYTES, read_toml

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

    def refuse_changed(self) -> None:
        if self._there() != self.raw:
            what = "was changed or made by somebody else since it was read"
            raise InputError(Diagnostic("view.changed", self.path.name, what, "open it again"))

    def save(self, text: str) -> None:
        """Keep the text in the file, unless somebody else has changed that."""
        self.refuse_changed()
        raw = text if self.raw is None else as_before(text, self.raw)
        with disk.atomic_file(self.path, overwrite=self.raw is not None) as file:
            file.write(raw.encode())
        self.raw = raw


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
