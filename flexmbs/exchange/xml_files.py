"""XML of elsewhere, looked at before a library reads it: whole, and no files outside the root."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from flexmbs.disk import MARKER, OutsideError, inside
from flexmbs.errors import Diagnostic, InputError

MOST_BYTES = 32 * 2**20
#: elements of MJCF that bring in another description
INCLUDES = ("include", "model")


def tree_of(path: Path) -> ElementTree.Element:
    """The root element; libraries mend or leave out what is damaged, and read what entities name."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise _refused(path, f"is larger than {MOST_BYTES} bytes", "choose a smaller file")
        data = path.read_bytes()
        if b"<!ENTITY" in data:
            raise _refused(path, "declares entities", "write out what they stand for")
        return ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise _refused(path, f"is no XML: {str(error)[:80]}", "expected a whole file") from None
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}", "name a file that can") from None


def check_files(path: Path, root: Path) -> None:
    """Every file that an MJCF description names, and those that they name, lie in the root."""
    folder = path.parent
    trees, todo, seen = [], [path], {path.resolve()}
    while todo:
        current = todo.pop()
        trees.append((current, tree_of(current)))
        for item in (item for name in INCLUDES for item in trees[-1][1].iter(name)):
            other = _confined(current, root, folder, item.get("file", ""))
            if other.is_file() and other.resolve() not in seen:
                seen.add(other.resolve())
                todo.append(other)
    elements = [(current, item) for current, tree in trees for item in tree.iter()]
    names = [value for _, item in elements for key, value in item.items() if key.endswith("dir")]
    for current, item in elements:
        for key, value in item.items():
            if key.startswith("file"):
                for name in ("", *names):
                    _confined(current, root, folder / name, value)


def _confined(path: Path, root: Path, folder: Path, name: str) -> Path:
    try:
        return inside(root, folder, name)
    except OutsideError:
        remedy = f"move it there, or put an empty file {MARKER} into a folder that holds both, or give --root"
        raise _refused(path, f'names "{name[:80]}", outside of {root.name or root}', remedy) from None


def _refused(path: Path, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("exchange.content", path.name, what, remedy))
