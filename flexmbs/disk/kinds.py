"""What stands under a name, and whether it may be replaced by a file of a given kind."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from flexmbs.errors import Diagnostic, InputError

TYPES = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
#: ending of the name -> how files of this kind begin; all others that are written are text
XML = (b"<?xml", b"<svg", b"<VTKFile")
BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    ".png": (b"\x89PNG",), ".gif": (b"GIF8",), ".pdf": (b"%PDF",), ".glb": (b"glTF",),
    ".svg": XML, ".pvd": XML, ".vtu": XML, ".html": (b"<!DOCTYPE html", b"<!doctype html"),
    ".h5": (b"\x89HDF",), ".nc": (b"\x89HDF", b"CDF"), ".vtkhdf": (b"\x89HDF",),
    ".parquet": (b"PAR1",), ".msh": (b"$MeshFormat",), ".mp4": (b"\0\0\0",), ".fmu": (b"PK",),
    ".mat": (b"MATLAB 5.0",), ".mf4": (b"MDF",), ".stl": (b"flexmbs",),
}  # fmt: skip
LOOKED_AT = 4096

Accept = Callable[[Path], bool]


def what_is(path: Path) -> str:
    """What stands under a name, in words: "" for nothing, "a file", "a folder", "a symbolic link", ..."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return next((words for test, words in TYPES if test(mode)), "a file")


def looks_like(path: Path) -> bool:
    """Whether a file holds what its name promises: its first bytes, or text where there is no sign."""
    with open(path, "rb") as handle:
        head = handle.read(LOOKED_AT)
    signs = BEGINNINGS.get(path.suffix.lower())
    return not head or (head.startswith(signs) if signs else b"\0" not in head)


def check_target(path: str | Path, overwrite: bool, accept: Accept = looks_like) -> None:
    """Refuse an output that cannot or should not be written, before the work for it begins.

    Only a regular file is ever replaced, only when that is asked for, and only one that `accept` takes for
    an earlier output of the same kind.
    """
    path = Path(path)
    found = what_is(path)
    if found and found != "a file":
        raise InputError(Diagnostic("file.kind", str(path), f"is {found}", "choose another name with -o"))
    if found and not overwrite:
        remedy = "use --overwrite, or another name with -o"
        raise InputError(Diagnostic("file.exists", str(path), "exists already", remedy))
    if found and path.stat().st_size and not accept(path):
        what = f"is no {path.suffix.lstrip('.') or 'such'} file that was written here before"
        raise InputError(
            Diagnostic("file.kind", str(path), what, "move it away, or choose another name with -o")
        )
    if not path.absolute().parent.is_dir():
        raise InputError(
            Diagnostic("file.folder", str(path), f'there is no folder "{path.parent}"', "create it")
        )
