"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flexmbs.disk import operations
from flexmbs.disk.kinds import Accept, check_target, looks_like, what_is
from flexmbs.disk.operations import unlink, write_all
from flexmbs.errors import Diagnostic, InputError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: what a file system answers that has no hard links
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


class Sink:
    """An open new file; all that changes it goes through `operations.system`."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def write(self, data: Any) -> int:
        write_all(self.handle, data)
        return memoryview(data).nbytes

    def read(self, size: int = -1) -> bytes:
        return os.read(self.handle, size if size >= 0 else os.fstat(self.handle).st_size)

    def readinto(self, buffer: Any) -> int:
        return os.readv(self.handle, [buffer])

    def seek(self, offset: int, whence: int = 0) -> int:
        return os.lseek(self.handle, offset, whence)

    def tell(self) -> int:
        return os.lseek(self.handle, 0, os.SEEK_CUR)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        operations.system.truncate(self.handle, size)
        return size

    def release(self) -> None:
        """Sync what is written; the system need not keep any of it in memory."""
        operations.system.sync(self.handle)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self.handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def flush(self) -> None:
        """Nothing waits here."""


def write_error(path: Path, error: OSError) -> InputError:
    reason = "the disk is full" if error.errno in FULL else str(error.strerror or error)
    what, remedy = f"could not be written: {reason}", "nothing was left under this name"
    return InputError(Diagnostic("file.write", str(path), what, remedy))


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """What the system says against writing `path` becomes an error for people."""
    try:
        yield
    except OSError as error:
        raise write_error(path, error) from error


@contextlib.contextmanager
def atomic_file(
    path: str | Path, overwrite: bool = False, accept: Accept = looks_like, *, sync: bool = True
) -> Iterator[Sink]:
    """A new file that appears under `path` only when the block ends well, whole and synced.

    `sync=False`: a power cut may take it back, or its end; who reads it must notice, and can make it again.
    """
    path = Path(path)
    check_target(path, overwrite, accept)
    temporary: Path | None = None
    try:
        with told(path):
            temporary, handle = _new_beside(path)
            try:
                yield Sink(handle)
                if sync:
                    operations.system.sync(handle)
                _name(temporary, path, overwrite)
            finally:
                os.close(handle)
            if sync:
                operations.system.sync_folder(path.parent)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                unlink(temporary)


def temporary_name(path: Path) -> Path:
    """Where a file is built: beside its place, under a name that is ours alone."""
    return path.with_name(f".{path.name}.flexmbs-tmp")


def _new_beside(path: Path) -> tuple[Path, int]:
    """A new file beside `path`, locked as long as it is open: so what a killed process left is known."""
    temporary = temporary_name(path)
    for _ in range(3):
        try:
            handle = operations.system.create(temporary)
        except FileExistsError:
            _remove_unheld(temporary, path)
            continue
        with contextlib.suppress(BlockingIOError):  # taken for a leftover in this very moment
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return temporary, handle
        os.close(handle)
    raise _busy(path)


def _remove_unheld(temporary: Path, path: Path) -> None:
    """Remove what a killed process left; a file that another process writes stays."""
    found = what_is(temporary)
    if found not in ("", "a file"):
        what = f"is {found} in the place of a temporary file"
        raise InputError(Diagnostic("file.kind", str(temporary), what, "move it away"))
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(temporary, os.O_RDONLY | operations.SAFELY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            operations.system.unlink(temporary)
        except BlockingIOError:
            raise _busy(path) from None
        finally:
            os.close(handle)


def remove_left(path: Path) -> None:
    """Remove the temporary file of a killed process."""
    _remove_unheld(temporary_name(path), path)


def _busy(path: Path) -> InputError:
    what, remedy = "is being written by another process", "wait for it, or choose another name with -o"
    return InputError(Diagnostic("file.locked", str(path), what, remedy))


def _name(temporary: Path, path: Path, overwrite: bool) -> None:
    """Give the whole file its name; without `overwrite` also against whoever took the name meanwhile."""
    if not overwrite:
        try:
            operations.system.link(temporary, path)
            return
        except FileExistsError:
            check_target(path, overwrite)
        except OSError as error:
            if error.errno not in NO_LINKS:
                raise
    operations.system.replace(temporary, path)
