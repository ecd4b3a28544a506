"""Arrays whose numbers lie in files that the system maps: it holds of them what memory is free for.

The files have no names: they are gone with the arrays, or with the process. Outside of `storing_in` all of
this is ordinary memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.fe.pieces.store import mapping_of, stopped

Ints = NDArray[np.int64]

#: bytes of an array that is worth a file; rows of a matrix that are made at a time
SMALL, ROWS = 2**20, 2**15

_FOLDER: ContextVar[Path | None] = ContextVar("folder of arrays", default=None)


@contextmanager
def storing_in(folder: Path | None) -> Iterator[None]:
    """Large arrays of `room` and `kept` lie in files of this folder, if any, until the block ends."""
    before = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def is_stored() -> bool:
    """Whether large arrays lie in files now."""
    return _FOLDER.get() is not None


def room(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Zeros that will be written to and stay for long."""
    folder, size = _FOLDER.get(), int(np.prod(shape)) * np.dtype(dtype).itemsize
    if folder is None or size < max(SMALL, 1):
        return np.zeros(shape, dtype)
    try:
        with TemporaryFile(dir=folder) as file:
            operations.system.reserve(file.fileno(), size)
            return np.asarray(np.memmap(file, dtype, mode="r+", shape=shape))
    except OSError as error:
        raise stopped(folder, disk.write_error(folder, error).diagnostics[0].what) from error


def kept(values: Any) -> Any:
    """An array that stays for long: a copy in a file; in memory itself."""
    if _FOLDER.get() is None or values.nbytes < max(SMALL, 1) or is_mapped(values):
        return values
    by_columns = values.flags.f_contiguous and not values.flags.c_contiguous
    new = room(values.shape[::-1], values.dtype).T if by_columns else room(values.shape, values.dtype)
    new[...] = values
    return new


def is_mapped(values: Any) -> bool:
    return mapping_of(values) is not None


def map_matrix(A: Any) -> None:
    """Keep the entries of a sparse matrix. Writes: A.data, A.indices."""
    A.data, A.indices = kept(A.data), kept(A.indices)


def by_rows(n: int, n_columns: int, rows: Callable[[int, int], Any]) -> sparse.csr_matrix:
    """A matrix out of slabs, `rows(begin, end)`: of what is stored no more than one is in memory."""
    parts = []
    for begin in range(0, n, ROWS):
        part = sparse.csr_matrix(rows(begin, min(begin + ROWS, n)))
        part.sort_indices()
        map_matrix(part)
        parts.append(part)
    indptr = np.concatenate([[0], *(np.diff(part.indptr) for part in parts)]).cumsum()
    index = np.int32 if indptr[-1] < 2**31 else np.int64
    data, indices, at = room(int(indptr[-1])), room(int(indptr[-1]), index), 0
    for part in parts:
        data[at : at + part.nnz], indices[at : at + part.nnz] = part.data, part.indices
        at += part.nnz
        part.data = part.indices = np.zeros(0)
    found = sparse.csr_matrix((data, indices, indptr.astype(index)), shape=(n, n_columns), copy=False)
    found.has_sorted_indices = True
    return found


def symmetric_sum(*matrices: Any) -> Any:
    """The sum, csc, of symmetric matrices."""
    by = [
        sparse.csr_matrix((A.data, A.indices, A.indptr), shape=A.shape)
        for A in map(sparse.csc_matrix, matrices)
    ]
    n = by[0].shape[0]
    A = by_rows(n, n, lambda begin, end: sum((B[begin:end] for B in by[1:]), by[0][begin:end]))
    return sparse.csc_array((A.data, A.indices, A.indptr), shape=A.shape)
