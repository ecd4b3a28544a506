"""Arrays of a factor in a folder: whole files with a checksum, read again in parts."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import disk
from flexmbs._jit import kernel
from flexmbs.errors import Diagnostic, InputError

Floats = NDArray[np.float64]

CHUNK = 2**21  # numbers that are written at a time of those that are not read again
DIGEST = 32  # bytes behind the numbers of a file
LANES = 4  # words of a file that are taken into its checksum side by side
FACTOR, LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # an odd number; bits that are brought down


@kernel(inline=True)
def _step(lane, word):
    mixed = (lane ^ word) * FACTOR
    return mixed ^ (mixed >> LOW)


@kernel
def mix(words, begin, lanes):
    """Take 64-bit words into the lanes, one after another, from the `begin`-th word of all on.

    A step of a lane can be undone, whatever word it takes: one that is changed always shows. Writes: lanes.
    """
    k, n = 0, len(words)
    while k < n and (begin + k) % LANES:
        lane = (begin + k) % LANES
        lanes[lane] = _step(lanes[lane], words[k])
        k += 1
    a, b, c, d = lanes[0], lanes[1], lanes[2], lanes[3]
    while k + LANES <= n:
        a, b = _step(a, words[k]), _step(b, words[k + 1])
        c, d = _step(c, words[k + 2]), _step(d, words[k + 3])
        k += LANES
    lanes[0], lanes[1], lanes[2], lanes[3] = a, b, c, d
    while k < n:
        lane = (begin + k) % LANES
        lanes[lane] = _step(lanes[lane], words[k])
        k += 1


def sum_of(*arrays: Any) -> bytes:
    """By `mix`, of flat arrays of 64-bit words one behind another."""
    lanes, count = np.arange(1, LANES + 1, dtype=np.uint64), 0
    for values in arrays:
        words = values.view(np.uint64)
        mix(words, count, lanes)
        count += len(words)
    return lanes.tobytes()


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

    def save(self, name: str, *arrays: Floats, sync: bool = True, release: bool = False) -> None:
        """Flat arrays one behind another: written under another name, synced, renamed.

        release : they stay in memory, so the system need not have them there a second time
        """
        path = self.path(name)
        disk.unlink(path)
        try:
            with disk.atomic_file(path, sync=sync) as file:
                for values in arrays:
                    for begin in range(0, len(values) if release else 0, CHUNK):
                        file.write(values[begin : begin + CHUNK])
                        file.release()
                    if not release:
                        file.write(values)
                file.write(self.digest(name, *arrays))
        except InputError as error:
            raise stopped(path, error.diagnostics[0].what) from error

    def digest(self, name: str, *arrays: Any) -> bytes:
        """Of the key and the name by SHA-256; of the numbers by `mix`, which is as fast as memory."""
        return hashlib.sha256(self.key + name.encode() + sum_of(*arrays)).digest()

    def load(self, name: str) -> Floats | None:
        """The numbers of a file; None where it is not there, or not what was written for this matrix."""
        try:
            values, digest = self._mapped(name)
        except OSError:
            return None
        return values if digest == self.digest(name, values) else None

    def view(self, name: str, count: int) -> Floats:
        """So many numbers of a file that this run has written or checked, as the system maps them."""
        try:
            return self._mapped(name)[0][:count]
        except OSError:
            raise self.changed(name) from None

    def _mapped(self, name: str) -> tuple[Floats, bytes]:
        """Numbers and checksum of a file; who changes the numbers changes a copy."""
        with open(self.path(name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= DIGEST:
                raise OSError(f"{name} is empty")
            raw = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY)
        count = (size - DIGEST) // 8
        return np.frombuffer(raw, np.float64, count), raw[8 * count :]

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


def mapping_of(values: Any) -> mmap.mmap | None:
    """The mapped file that an array is a part of."""
    while values is not None and not isinstance(values, mmap.mmap):
        values = values.obj if isinstance(values, memoryview) else getattr(values, "base", None)
    return values


def read_ahead(values: Floats, begin: int, count: int) -> None:
    """Numbers of a mapped file that are wanted next: the system begins to read."""
    base = mapping_of(values)
    if base is not None and hasattr(mmap, "MADV_WILLNEED"):
        at = 8 * begin // mmap.PAGESIZE * mmap.PAGESIZE
        base.madvise(mmap.MADV_WILLNEED, at, 8 * (begin + count) - at)
