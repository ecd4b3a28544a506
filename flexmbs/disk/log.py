"""The log of a command: the only file that is written while it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from flexmbs.disk import operations
from flexmbs.disk.kinds import check_target
from flexmbs.disk.whole import write_error

FIRST = b"log of flexmbs\n"


def open_log(path: str | Path) -> TextIO:
    """A new log; it replaces an older log, and nothing else."""
    path = Path(path)
    check_target(path, overwrite=True, accept=is_log)
    try:
        handle = operations.system.open(path)
        operations.system.truncate(handle, 0)
        operations.write_all(handle, FIRST)
    except OSError as error:
        raise write_error(path, error) from None
    return os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace")


def is_log(path: Path) -> bool:
    with open(path, "rb") as handle:
        return handle.read(len(FIRST)) == FIRST
