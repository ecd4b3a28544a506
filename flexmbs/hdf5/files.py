"""Files that appear whole or not at all, and the lock of a file that is being written."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import h5py
from h5py import Group

from flexmbs.errors import Diagnostic, InputError
from flexmbs.hdf5.content import attributes, content_hash


class _QuietFile:
    """A raw file that keeps its first error instead of raising it; HDF5 cannot survive an exception."""

    def __init__(self, raw: BinaryIO) -> None:
        self.raw = raw
        self.error: OSError | None = None

    def _guard(self, action: Callable[[], Any], otherwise: Any) -> Any:
        if self.error is None:
            try:
                return action()
            except OSError as error:
                self.error = error
        return otherwise

    def write(self, data: Any) -> int:
        self._guard(lambda: self.raw.write(data), None)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._guard(lambda: self.raw.read(size), b"")
        return data

    def readinto(self, buffer: Any) -> int:
        count: int = self._guard(lambda: self.raw.readinto(buffer), 0)  # type: ignore[attr-defined]
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        place: int = self._guard(lambda: self.raw.seek(offset, whence), 0)
        return place

    def tell(self) -> int:
        place: int = self._guard(self.raw.tell, 0)
        return place

    def truncate(self, size: int | None = None) -> int:
        length: int = self._guard(lambda: self.raw.truncate(size), 0)
        return length

    def flush(self) -> None:
        self._guard(self.raw.flush, None)


def write_error(path: Path, error: OSError) -> InputError:
    reason = (
        "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
    )
    return InputError(
        Diagnostic(
            "file.write", str(path), f"could not be written: {reason}", "nothing was left under this name"
        )
    )


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_file(path: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """A new file that appears under `path` only when the block ends well, whole and synced."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(
            Diagnostic("file.exists", str(path), "exists already", "use --overwrite, or another name with -o")
        )
    if not path.parent.is_dir():
        raise InputError(
            Diagnostic("file.folder", str(path), f'there is no folder "{path.parent}"', "create it")
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w+b", buffering=0) as raw:
            yield raw  # type: ignore[misc]
            os.fsync(raw.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def build_file(
    path: str | Path,
    fill: Callable[[Group], None],
    *,
    format: str,
    version: int,
    overwrite: bool = False,
) -> None:
    """Write an HDF5 file whole or not at all; `fill` receives the root group.

    The root gets `format`, `format_version` and `content_sha256`.
    """
    with atomic_file(Path(path), overwrite) as raw:
        quiet = _QuietFile(raw)
        try:
            with h5py.File(quiet, "w", libver=("v110", "v110")) as file:
                fill(file)
                attributes(file, format=format, format_version=version, content_sha256=content_hash(file))
        finally:
            if quiet.error is not None:  # whatever HDF5 said afterwards: this is the cause
                raise quiet.error


@contextlib.contextmanager
def lock(path: str | Path) -> Iterator[None]:
    """Hold the lock of `path` while the block runs; a second holder is told who has it."""
    lock_path = Path(f"{path}.lock")
    try:
        opened = open(lock_path, "a+", encoding="utf-8")
    except OSError as error:
        raise write_error(Path(path), error) from None
    with opened as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat(lock_path)  # gone: the last holder has just removed the file that was opened here
        except OSError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            what = f"is being written by {holder}"
            raise InputError(
                Diagnostic("file.locked", str(path), what, "wait for it, or choose another result with -o")
            ) from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()}")
        handle.flush()
        try:
            yield
        finally:
            lock_path.unlink(missing_ok=True)
