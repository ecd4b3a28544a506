"""Arrays of a factor in a folder: whole files with a checksum, read again in parts."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import disk

Floats = NDArray[np.float64]

DIGEST = 32  # bytes behind the numbers of a file


class Store:
    """Files of one factor; `key` (bytes) is that of its matrix and goes into every checksum."""

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        self.folder, self.key = folder, key

    def path(self, name: str) -> Path:
        return self.folder / name

    def save(self, name: str, values: Floats) -> None:
        """Written under another name, synced, renamed."""
        path = self.path(name)
        disk.unlink(path)
        with disk.atomic_file(path) as file:
            file.write(values)
            file.write(self._digest(name, values))

    def _digest(self, name: str, values: Any) -> bytes:
        found = hashlib.blake2b(self.key + name.encode(), digest_size=DIGEST)
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
        handle = os.open(self.path(name), os.O_RDONLY)
        try:
            left, at = memoryview(into).cast("B"), 8 * begin
            while left:
                count = os.preadv(handle, [left], at)
                if not count:
                    raise OSError(f"{self.path(name)} ends too early")
                left, at = left[count:], at + count
        finally:
            os.close(handle)

    def drop(self, name: str) -> None:
        disk.unlink(self.path(name))
