"""The folder beyond which an input names no files: that of the case or recipe, or a marked one above it."""

from __future__ import annotations

from pathlib import Path

MARKER = ".flexmbs-root"


class OutsideError(ValueError):
    """A file name that leads out of the root; the text says so to people."""


def root_of(folder: Path) -> Path:
    """The nearest folder upwards that holds the marker, else the folder itself."""
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / MARKER).is_file():
            return candidate
    return folder


def inside(root: Path | None, folder: Path, file: str) -> Path:
    """Path of a file that an input names, seen from its folder; links are followed before it is judged.

    Without a root, as for tables of a program in Python, every name is good.
    """
    try:
        path = folder / file
        resolved = path.resolve()
    except (OSError, ValueError, RuntimeError):
        raise OutsideError(f'"{file[:80]}" is no file name') from None
    if root is not None and not resolved.is_relative_to(root.resolve()):
        raise OutsideError(
            f'"{file[:80]}" lies outside of {root.name or root}, the root of this case: move it there, '
            f"or put an empty file {MARKER} into a folder that holds both, or give --root"
        )
    return path
