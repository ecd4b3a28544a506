"""Bodies that a command has reduced for itself, in the user's cache, by the content of recipe and files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flexmbs import disk
from flexmbs.errors import InputError
from flexmbs.modaldata import ModalData

if TYPE_CHECKING:
    from flexmbs.reduce import Recipe

#: the bodies used longest ago are removed above this size
MOST_BYTES = 2**31
OURS = re.compile(r"[0-9a-f]{64}\.modal\.h5")


#: where a process of a study keeps them instead, in sight of all others
SHARED = "FLEXMBS_BODIES"


def folder() -> Path:
    """That of the study that is at work; else of the user."""
    shared = os.environ.get(SHARED)
    return Path(shared) if shared else own_folder()


@contextlib.contextmanager
def shared(folder: Path) -> Iterator[None]:
    """Bodies are looked for in a folder first, and kept there."""
    before = os.environ.get(SHARED)
    os.environ[SHARED] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(SHARED)
        if before is not None:
            os.environ[SHARED] = before


def own_folder() -> Path:
    """`FLEXMBS_CACHE`, else the user's cache folder."""
    chosen = os.environ.get("FLEXMBS_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(chosen) / "bodies" if chosen else Path(base) / "flexmbs" / "bodies"


def place(recipe: Recipe) -> Path:
    """Where the body of a recipe is kept: another recipe, mesh, program or library has another place."""
    from flexmbs._jit import sources_hash
    from flexmbs.reduce import stage1

    versions = sorted(stage1.provenance(recipe)["versions"].items())
    program = sources_hash(Path(stage1.__file__))
    key = hashlib.sha256(f"{stage1.source_hash(recipe)} {versions} {program}".encode()).hexdigest()
    return folder() / f"{key}.modal.h5"


def load(recipe: Recipe) -> ModalData | None:
    """The body as it was kept; None when it was not, or is damaged."""
    path = place(recipe)
    found = _load(path)
    return found if found is not None or path.parent == own_folder() else _load(own_folder() / path.name)


def _load(path: Path) -> ModalData | None:
    if disk.what_is(path) != "a file":
        return None
    try:
        modal = ModalData.load(path)
        os.utime(path)
    except (InputError, OSError):
        return None
    return modal


def keep(recipe: Recipe, modal: ModalData) -> Path | None:
    """Keep a body; None where the cache cannot be written to."""
    path = place(recipe)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if disk.what_is(path) == "a file":  # it could not be read, and in this folder all is ours
            disk.unlink(path)
        modal.save(path, overwrite=True)
        if path.parent == own_folder():
            _prune(path)
    except (OSError, InputError):
        return None
    return path


def _prune(newest: Path) -> None:
    found = [path for path in newest.parent.iterdir() if OURS.fullmatch(path.name) and path != newest]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    room = MOST_BYTES - newest.stat().st_size
    for path in found:
        room -= path.stat().st_size
        if room < 0:
            with contextlib.suppress(OSError):
                disk.unlink(path)
