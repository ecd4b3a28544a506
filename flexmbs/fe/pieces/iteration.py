"""Blocks of an iteration, and where it stands, in the folder of a factor: a killed one goes on."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.pieces.store import Store

Floats = NDArray[np.float64]

HEAD = 5  # rows and columns of the block, size of the projection, rows and columns of the residual factor


class Iteration:
    """Steps of a block iteration: a file has the block that is next, and what those before it tell."""

    def __init__(self, store: Store, name: str) -> None:
        self.store, self.name = store, name
        self.steps: list[tuple[Floats, Floats, Floats]] = []
        while (step := self._read(len(self.steps))) is not None:
            self.steps.append(step)
        self.found = len(self.steps)

    def _read(self, k: int) -> tuple[Floats, Floats, Floats] | None:
        values = self.store.load(f"{self.name}.{k}")
        if values is None:
            return None
        rows, columns, size, high, wide = values[:HEAD].astype(np.int64).tolist()
        ends = np.cumsum([HEAD, size * size, high * wide, rows * columns]).tolist()
        A, R, block = (values[a:b] for a, b in pairwise(ends))
        return block.reshape(rows, columns), A.reshape(size, size).copy(), R.reshape(high, wide).copy()

    def keep(self, block: Floats, A: Floats, R: Floats) -> Floats:
        """Write the block that is next, with the projection A of those before; the block in its file."""
        head = np.array([*block.shape, len(A), *R.shape], dtype=float)
        k = len(self.steps)
        self.store.save(f"{self.name}.{k}", np.concatenate([head, *map(np.ravel, (A, R))]), block.ravel())
        step = self._read(k)
        if step is None:
            raise self.store.changed(f"{self.name}.{k}")
        self.steps.append(step)
        return step[0]
