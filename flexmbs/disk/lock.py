"""The lock of a file that is being written."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from flexmbs.disk import operations
from flexmbs.disk.kinds import what_is
from flexmbs.disk.operations import write_all
from flexmbs.disk.whole import write_error
from flexmbs.errors import Diagnostic, InputError

HOLDER = b"process "


@contextlib.contextmanager
def lock(path: str | Path) -> Iterator[None]:
    """Hold the lock of `path` while the block runs; a second holder is told who has it."""
    path, lock_path = Path(path), Path(f"{path}.lock")
    found = what_is(lock_path)
    if found not in ("", "a file"):
        raise _foreign(lock_path, f"is {found}")
    try:
        handle = operations.system.open(lock_path)
    except OSError as error:
        raise write_error(path, error) from None
    try:
        _take(handle, path, lock_path)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if _is_named(handle, lock_path):
                    operations.system.unlink(lock_path)
    finally:
        os.close(handle)


def _take(handle: int, path: Path, lock_path: Path) -> None:
    said = os.pread(handle, 80, 0)
    if not said.startswith(HOLDER) and not HOLDER.startswith(said):  # one that was cut off is ours too
        raise _foreign(lock_path, "is a file of another program")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_named(handle, lock_path):  # the last holder has just removed the file that was opened here
            raise BlockingIOError
    except OSError:
        what = f"is being written by {said.decode('ascii', 'replace').strip() or 'another process'}"
        remedy = "wait for it, or choose another result with -o"
        raise InputError(Diagnostic("file.locked", str(path), what, remedy)) from None
    try:
        operations.system.truncate(handle, 0)
        write_all(handle, HOLDER + str(os.getpid()).encode())
    except OSError as error:
        raise write_error(path, error) from None


def _is_named(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _foreign(lock_path: Path, what: str) -> InputError:
    remedy = "it would be the lock of the result; move it away, or choose another result with -o"
    return InputError(Diagnostic("file.kind", str(lock_path), what, remedy))
