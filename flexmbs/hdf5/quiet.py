"""A file object through which HDF5 writes, and which never raises."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from typing import Any

import h5py

from flexmbs.interrupts import held


class QuietFile:
    """A file that keeps its first error instead of raising it; HDF5 cannot survive an exception.

    It lies in memory until it is larger than `most` bytes; from then on every piece goes to the disk.
    """

    def __init__(self, raw: Any, most: int) -> None:
        self.raw, self.most = raw, most
        self.memory: io.BytesIO | None = io.BytesIO()
        self.error: OSError | None = None

    @property
    def here(self) -> Any:
        return self.raw if self.memory is None else self.memory

    def _guard(self, action: Callable[[], Any], otherwise: Any) -> Any:
        if self.error is None:
            try:
                return action()
            except OSError as error:
                self.error = error
        return otherwise

    def to_disk(self) -> None:
        """Write what lies in memory, in one piece, and go on behind it on the disk."""
        if self.memory is not None:
            place, memory = self.memory.tell(), self.memory
            self.memory = None
            self._guard(lambda: self.raw.write(memory.getbuffer()), None)
            self._guard(lambda: self.raw.seek(place), None)

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self.memory is not None and self.memory.tell() + size > self.most:
            self.to_disk()
        self._guard(lambda: self.here.write(data), None)
        return size

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._guard(lambda: self.here.read(size), b"")
        return data

    def readinto(self, buffer: Any) -> int:
        count: int = self._guard(lambda: self.here.readinto(buffer), 0)
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        place: int = self._guard(lambda: self.here.seek(offset, whence), 0)
        return place

    def tell(self) -> int:
        place: int = self._guard(lambda: self.here.tell(), 0)
        return place

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        if self.memory is not None and size > self.memory.seek(0, io.SEEK_END):
            self.memory.write(b"\0" * (size - self.memory.tell()))
        else:
            self._guard(lambda: self.here.truncate(size), 0)
        return size

    def flush(self) -> None:
        """Nothing waits here."""


@contextlib.contextmanager
def opened(raw: Any, most: int) -> Iterator[h5py.File]:
    """Let HDF5 build a file in an open one; an error of writing is raised when the driver is at its end.

    `most`: see `QuietFile`.
    """
    quiet = QuietFile(raw, most)
    try:
        with held(), h5py.File(quiet, "w", libver=("v110", "v110")) as file:
            yield file
        quiet.to_disk()
    finally:
        if quiet.error is not None:  # whatever HDF5 said afterwards: this is the cause
            raise quiet.error
