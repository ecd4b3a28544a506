"""Vectors of an iteration, and where it stands, in the folder of a factor: a killed one goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flexmbs import disk
from flexmbs.disk import operations
from flexmbs.errors import InputError
from flexmbs.fe.pieces.mapped import is_mapped, is_stored
from flexmbs.fe.pieces.store import DIGEST, Store, stopped

Floats = NDArray[np.float64]

HEAD = 4  # vectors of the block, size of the projection, rows and columns of the residual factor


class Iteration:
    """Steps of a block iteration: all vectors (of `n` numbers) in one file, and a small file for each step.

    That has the checksum of the block that is next, and what those before it tell; it is written when the
    block is on the disk. What stands behind the last block that is whole counts for nothing. Where large
    arrays are not stored, the vectors are in memory as well, and the system lets go of the file.
    """

    def __init__(self, store: Store, name: str, n: int) -> None:
        self.store, self.name, self.n = store, name, n
        self.path = store.path(f"{name}.vectors")
        self.steps: list[tuple[int, Floats, Floats]] = []
        self.count = 0
        self._vectors = np.zeros((0, n))
        while (values := store.load(self._name())) is not None and self._has_block(values):
            self._take(values)
        self.found = len(self.steps)

    def _name(self) -> str:
        return f"{self.name}.{len(self.steps)}"

    def _has_block(self, values: Floats) -> bool:
        """Whether the block of a step is in the file of the vectors as it was written."""
        end = self.count + int(values[0])
        if not self.path.exists() or os.path.getsize(self.path) < 8 * self.n * end:
            return False
        block = self._mapped(end)[self.count : end].ravel()
        return self.store.digest(self._name(), block) == values[-DIGEST // 8 :].tobytes()

    def _take(self, values: Floats) -> None:
        width, size, high, wide = values[:HEAD].astype(np.int64).tolist()
        ends = np.cumsum([HEAD, size * size, high * wide]).tolist()
        A, R = (values[a:b].copy() for a, b in pairwise(ends))
        self.steps.append((width, A.reshape(size, size), R.reshape(high, wide)))
        self.count += width

    def vectors(self, columns: int) -> Floats:
        """Room for so many vectors (columns, n), with those that are there; `keep` fills it."""
        before, there = self._vectors, min(len(self._vectors), self.count)
        columns = max(columns, self.count, 1)
        if is_stored():
            self._vectors = self._mapped(columns)
            return self._vectors
        self._vectors = np.zeros((columns, self.n))
        self._vectors[:there] = before[:there]
        if there < self.count:
            self._vectors[: self.count] = self._mapped(self.count)
        return self._vectors

    def _mapped(self, columns: int) -> Floats:
        """The file of the vectors with room for so many, as the system maps it."""
        size = 8 * columns * self.n
        with self._file() as handle:
            if os.fstat(handle).st_size < size:
                operations.system.truncate(handle, size)
        return np.asarray(np.memmap(self.path, np.float64, mode="r", shape=(columns, self.n)))

    def keep(self, block: Floats, A: Floats, R: Floats) -> None:
        """Write the block that is next (n, m) behind the others, with the projection A of these."""
        begin, end = self.count, self.count + block.shape[1]
        if is_mapped(self._vectors):
            numbers = np.ascontiguousarray(block.T).ravel()
        else:
            self._vectors[begin:end] = block.T
            numbers = self._vectors[begin:end].ravel()
        with self._file() as handle:
            file = disk.Sink(handle)
            file.seek(8 * self.n * begin)
            file.write(numbers)
            if is_mapped(self._vectors):
                operations.system.sync(handle)
            else:
                file.release()
        head = np.array([block.shape[1], len(A), *R.shape], dtype=float)
        own = np.frombuffer(self.store.digest(self._name(), numbers), np.float64)
        values = np.concatenate([head, A.ravel(), R.ravel(), own])
        self.store.save(self._name(), values)
        self._take(values)

    @contextmanager
    def _file(self) -> Iterator[int]:
        """The file of the vectors, to be changed."""
        try:
            with disk.told(self.path):
                handle = operations.system.open(self.path)
                try:
                    yield handle
                finally:
                    os.close(handle)
        except InputError as error:
            raise stopped(self.path, error.diagnostics[0].what) from error
