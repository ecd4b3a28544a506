"""Arrays of a factor in a folder: whole files with a checksum, read again in parts."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError

Floats = NDArray[np.float64]

DIGEST = 32  # bytes behind the numbers of a file


def stopped(path: Path, what: str) -> InputError:
    """A file could not be written; what lies there can be used again."""
    remedy = "make room and give the same command again: it goes on with what is there"
    return InputError(Diagnostic("pieces.full", str(path), what, remedy))


class Store:
    """Files of one factor; `key` is that of its matrix and part of every checksum."""

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        self.folder, self.key = folder, key

    def path(self, name: str) -> Path:
        return self.folder / name

    def save(self, name: str, *arrays: Floats, sync: bool = True) -> None:
        """Arrays one behind another: written under another name, synced, renamed."""
        path = self.path(name)
        disk.unlink(path)
        try:
            with disk.atomic_file(path, sync=sync) as file:
                for values in arrays:
                    file.write(values)
                file.write(self._digest(name, *arrays))
        except InputError as error:
            raise stopped(path, error.diagnostics[0].what) from error

    def _digest(self, name: str, *arrays: Any) -> bytes:
        found = hashlib.blake2b(self.key + name.encode(), digest_size=DIGEST)
        for values in arrays:
            found.update(memoryview(values).cast("B"))
        return found.digest()

    def load(self, name: str) -> Floats | None:
        """The numbers of a file; None where it is not there, or not what was written for this matrix."""
        try:
            raw = np.fromfile(self.path(name), dtype=np.uint8)
        except OSError:
            return None
        values = raw[: max(len(raw) - DIGEST, 0) // 8 * 8].view(np.float64)
        return values if raw[values.nbytes :].tobytes() == self._digest(name, values) else None

    def read(self, name: str, begin: int, into: Any) -> None:
        """Numbers of a file from `begin` on. Writes: into."""
        left, at = memoryview(into).cast("B"), 8 * begin
        try:
            with open(self.path(name), "rb", buffering=0) as file:
                while left:
                    count = os.preadv(file.fileno(), [left], at)
                    if not count:
                        raise self.changed(name)
                    left, at = left[count:], at + count
        except OSError:
            raise self.changed(name) from None

    def changed(self, name: str) -> InputError:
        """A file that was written by this very run is no longer there, or not as it was."""
        what, remedy = "was changed while it was in use", "give the same command again"
        return InputError(Diagnostic("pieces.changed", str(self.path(name)), what, remedy))

    def drop(self, name: str) -> None:
        disk.unlink(self.path(name))

    def remove(self) -> None:
        """The folder with all that is in it."""
        with contextlib.suppress(OSError):
            for path in self.folder.iterdir():
                disk.unlink(path)
            disk.remove_folder(self.folder)
