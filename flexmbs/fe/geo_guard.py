"""What a .geo script may do: it is a program of gmsh, so a file from elsewhere could run commands."""

from __future__ import annotations

import re
from pathlib import Path

from flexmbs.errors import Diagnostic, Diagnostics

COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
FORBIDDEN = re.compile(
    r"\b(SystemCall|NonBlockingSystemCall|OnelabRun|Onelab\w*|CreateDir|Save|Print|Plugin|Parse|Abort|Exit|"
    r"OpenLastFile|RelocateMesh|GMSH_\w+|GetEnv|Solver|Executable\w*|SetNumber|UnsplitWindow)\b"
)
REDIRECTED = re.compile(r"\bPrintf\s*\([^;]*\)\s*>")
READS = re.compile(
    r"\b(Merge|Include|ShapeFromFile|NameFromString|MergeWithBoundingBox)\b\s*\(?\s*(\"[^\"\n]*\"|\S+)"
)
MAX_FILES = 50
MAX_BYTES = 64 * 1024**2


def check_geo(path: Path) -> list[Diagnostic]:
    """Findings in a .geo file and in the files that it includes: no commands, no files from elsewhere."""
    found = Diagnostics()
    root, waiting, seen = path.parent.resolve(), [path.resolve()], set()
    while waiting and len(seen) < MAX_FILES:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        if current.stat().st_size > MAX_BYTES:
            found.error("mesh.too_large", current.name, "is larger than a script can be")
            continue
        text = current.read_text(encoding="utf-8", errors="replace")
        waiting.extend(_check_text(text, current, root, found))
    if waiting:
        found.error("mesh.geo", str(path), f"includes more than {MAX_FILES} files")
    return found.items


def _check_text(text: str, current: Path, root: Path, found: Diagnostics) -> list[Path]:
    plain = COMMENTS.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for match in [*FORBIDDEN.finditer(plain), *REDIRECTED.finditer(plain)]:
        where = f"{current.name}:{plain.count(chr(10), 0, match.start()) + 1}"
        word = match[0].split("(")[0].strip()
        remedy = "a geometry file may only describe geometry: remove the line"
        found.error("mesh.geo", where, f'the command "{word}" is not allowed', remedy)
    more = []
    for match in READS.finditer(plain):
        where = f"{current.name}:{plain.count(chr(10), 0, match.start()) + 1}"
        name = match[2]
        target = (current.parent / name.strip('"')).resolve()
        if not name.startswith('"') or not target.is_relative_to(root):
            what = f"{match[1]} {name[:60]} reads a file outside the folder of the geometry"
            found.error("mesh.geo", where, what, "copy it beside the .geo file and name it in quotes")
        elif not target.is_file():
            found.error("mesh.geo", where, f"{match[1]} {name}: there is no such file")
        elif target.suffix.lower() in (".geo", ".pro", ".txt", ""):
            more.append(target)
    return more
