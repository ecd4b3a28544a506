"""Matrices whose numbers lie in files that the system maps: it holds of them what memory is free for."""

from __future__ import annotations

import mmap
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from flexmbs import disk
from flexmbs.disk.operations import write_all
from flexmbs.fe.pieces.store import stopped


def map_matrix(A: Any, folder: Path) -> None:
    """Let the entries of a sparse matrix, in place, be views of files in a folder, which have no names.

    Writes: A.data, A.indices; who changes them later changes a copy in memory.
    """
    for name in ("data", "indices"):
        setattr(A, name, mapped(getattr(A, name), folder))


def mapped(values: Any, folder: Path) -> Any:
    """A view of a file with these numbers; themselves where they are one, or none."""
    if not len(values) or is_mapped(values):
        return values
    try:
        with TemporaryFile(dir=folder) as file:
            write_all(file.fileno(), np.ascontiguousarray(values))
            return np.asarray(np.memmap(file, values.dtype, mode="c", shape=values.shape))
    except OSError as error:
        raise stopped(folder, disk.write_error(folder, error).diagnostics[0].what) from error


def is_mapped(values: Any) -> bool:
    while values is not None and not isinstance(values, mmap.mmap):
        values = getattr(values, "base", None)
    return values is not None
