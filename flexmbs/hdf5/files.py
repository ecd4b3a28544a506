"""HDF5 files that appear whole or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
from h5py import Group

from flexmbs import disk, interrupts
from flexmbs.hdf5.content import attributes, content_hash, name_users, walk
from flexmbs.hdf5.reading import file_format

#: a file up to this size is built in memory and written at once
IN_MEMORY = 2**26


class QuietFile:
    """A file that keeps its first error instead of raising it; HDF5 cannot survive an exception.

    It lies in memory until it is larger than IN_MEMORY; from then on every piece goes to the disk.
    """

    def __init__(self, raw: Any) -> None:
        self.raw = raw
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
        if self.memory is not None and self.memory.tell() + size > IN_MEMORY:
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


def build_file(
    path: str | Path,
    fill: Callable[[Group], None],
    *,
    format: str,
    version: int,
    overwrite: bool = False,
    sync: bool = True,
) -> None:
    """Write an HDF5 file whole or not at all; `fill` receives the root group.

    The root gets `format`, `format_version` and `content_sha256`. With `overwrite` it replaces a file of the
    same format. `sync`: see `disk.atomic_file`.
    """

    def whole(file: Group) -> None:
        fill(file)
        nodes = dict(walk(file))
        name_users(file, nodes)
        attributes(file, format=format, format_version=version, content_sha256=content_hash(file, nodes))

    with disk.atomic_file(path, overwrite, of_format(format), sync=sync) as raw:
        fill_file(raw, whole)


def fill_file(raw: Any, fill: Callable[[Group], None]) -> None:
    """Let HDF5 build a file in an open one; an error of writing is raised when the driver is at its end."""
    quiet = QuietFile(raw)
    try:
        with interrupts.held(), h5py.File(quiet, "w", libver=("v110", "v110")) as file:
            fill(file)
        quiet.to_disk()
    finally:
        if quiet.error is not None:  # whatever HDF5 said afterwards: this is the cause
            raise quiet.error


def of_format(format: str) -> Callable[[Path], bool]:
    """Whether a file is one of ours, of this format."""
    return lambda path: file_format(path) == format
