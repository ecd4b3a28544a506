"""What a .geo script may do: it is a program of gmsh, so a file from elsewhere could run commands."""

from __future__ import annotations

import re
from pathlib import Path

from flexmbs.errors import Diagnostic, Diagnostics

# strings, comments: as gmsh reads them, from left to right
PIECES = re.compile(r"\"[^\"]*\"|'[^']*'|//[^\n]*|/\*.*?\*/", re.DOTALL)
FORBIDDEN = re.compile(
    r"\b(System\w*|NonBlockingSystemCall|Onelab\w*|CreateDir|Save|Print|Open|OpenProject|Plugin|Parse|Abort|Exit|"
    r"GetEnv|Solver|ExternalProcess|CommandLine|FileName|ListFromFile|StringToName|S2N|NameFromString|"
    r"Homology|Cohomology|Betti|General\s*\.\s*\w*(?:File|Editor|Browser|Dir|Path)\w*)\b"
)
REDIRECTED = re.compile(r"\bPrintf\s*\([^;]*\)\s*>")
READS = re.compile(r"\b(Merge\w*|Include|ShapeFromFile)\b\s*\(?\s*(\S?)")
ESCAPED = re.compile(r"\\[\"']")
SHAPES = (".step", ".stp", ".iges", ".igs", ".brep", ".stl", ".msh")  # anything else is read as a script
MAX_FILES = 50
MAX_BYTES = 64 * 1024**2


def check_geo(path: Path) -> list[Diagnostic]:
    """Findings in a .geo file and in the files that it includes: no commands, no files from elsewhere."""
    found = Diagnostics()
    root, waiting = path.parent.resolve(), [path.resolve()]
    seen: set[Path] = set()
    while waiting and len(seen) < MAX_FILES:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.stat().st_size > MAX_BYTES:
            found.error("mesh.too_large", current.name, "is larger than a script can be")
            continue
        script = _Script(current, root, found)
        script.check_commands()
        waiting.extend(script.files())
    if waiting:
        found.error("mesh.geo", str(path), f"includes more than {MAX_FILES} files")
    return found.items


class _Script:
    """One file: `code` has strings and comments blanked, places unchanged."""

    def __init__(self, path: Path, root: Path, found: Diagnostics) -> None:
        self.path, self.root, self.found = path, root, found
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.code = PIECES.sub(_blank, self.text)

    def _where(self, at: int) -> str:
        return f"{self.path.name}:{self.text.count(chr(10), 0, at) + 1}"

    def check_commands(self) -> None:
        for match in [*FORBIDDEN.finditer(self.code), *REDIRECTED.finditer(self.code)]:
            word = match[0].split("(")[0].strip()
            remedy = "a geometry file may only describe geometry: remove the line"
            self.found.error("mesh.geo", self._where(match.start()), f'"{word}" is not allowed', remedy)
        for match in ESCAPED.finditer(self.text):
            what = "a quote behind a backslash, which programs read in different ways"
            self.found.error("mesh.geo", self._where(match.start()), what, "remove the backslash")

    def files(self) -> list[Path]:
        """Scripts that this one reads; they must be named in quotes and lie in the folder."""
        more = []
        for match in READS.finditer(self.code):
            where, start = self._where(match.start()), match.start(2)
            end = self.text.find(self.text[start : start + 1], start + 1)
            name = self.text[start + 1 : end] if match[2] in ('"', "'") and end > 0 else ""
            target = (self.path.parent / name).resolve()
            if not name or not target.is_relative_to(self.root):
                what = f"{match[1]} {name[:60]} reads a file outside the folder of the geometry"
                self.found.error(
                    "mesh.geo", where, what, "copy it beside the .geo file and name it in quotes"
                )
            elif not target.is_file():
                self.found.error("mesh.geo", where, f'{match[1]} "{name[:60]}": there is no such file')
            elif target.suffix.lower() not in SHAPES:
                more.append(target)
        return more


def _blank(piece: re.Match[str]) -> str:
    """Strings keep their quotes, comments vanish; line ends stay."""
    text = piece[0]
    inner = re.sub(r"[^\n]", " ", text)
    return text[0] + inner[1:-1] + text[-1] if text[0] in "\"'" else inner
