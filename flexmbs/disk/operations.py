"""The operations by which flexmbs changes a disk; tests put others in their place."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Any

NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL
#: never through a link, never into a child process, never waiting for the other end of a pipe
SAFELY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class Operations:
    """Each method is one call of the system."""

    def create(self, path: Path) -> int:
        """A new file; fails where anything has the name."""
        return os.open(path, NEW | SAFELY, 0o666)

    def open(self, path: Path) -> int:
        """A file to be changed, made when missing."""
        return os.open(path, os.O_RDWR | os.O_CREAT | SAFELY, 0o666)

    def write(self, handle: int, data: Any) -> int:
        return os.write(handle, data)

    def reserve(self, handle: int, size: int) -> None:
        """Make a file as long as that, with room on the disk for all of it."""
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:
            os.ftruncate(handle, size)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def replace(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def link(self, old: Path, new: Path) -> None:
        os.link(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        os.mkdir(path)

    def rmdir(self, path: Path) -> None:
        os.rmdir(path)

    def sync_folder(self, path: Path) -> None:
        """Make what happened to the names in a folder durable."""
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


system = Operations()


def write_all(handle: int, data: Any) -> None:
    """Write all of it: the system may take less than it is given."""
    rest = memoryview(data).cast("B")
    while rest:
        taken = system.write(handle, rest)
        if taken <= 0:
            raise OSError(errno.EIO, "nothing is written any more")
        rest = rest[taken:]


def append(path: Path, keep: int, data: bytes) -> None:
    """Cut a file off behind its first `keep` bytes and write `data` there, synced."""
    handle = system.open(path)
    try:
        if os.fstat(handle).st_size != keep:
            system.truncate(handle, keep)
        os.lseek(handle, keep, os.SEEK_SET)
        write_all(handle, data)
        system.sync(handle)
    finally:
        os.close(handle)


def unlink(path: Path) -> None:
    """Remove a name, where it is there."""
    with contextlib.suppress(FileNotFoundError):
        system.unlink(path)


def make_folder(path: Path) -> None:
    system.mkdir(path)


def remove_folder(path: Path) -> None:
    system.rmdir(path)


def sync_folder(path: Path) -> None:
    system.sync_folder(path)
