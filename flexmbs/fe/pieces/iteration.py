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
        while (values := store.load(self._name(len(self.steps)))) is not None:
            self.steps.append(parts_of(values))
        self.found = len(self.steps)

    def _name(self, k: int) -> str:
        return f"{self.name}.{k}"

    def keep(self, block: Floats, A: Floats, R: Floats) -> Floats:
        """Write the block that is next, with the projection A of those before; the block in its file."""
        head = np.array([*block.shape, len(A), *R.shape], dtype=float)
        name, numbers = self._name(len(self.steps)), np.concatenate([head, *map(np.ravel, (A, R))])
        self.store.save(name, numbers, block.ravel())
        self.steps.append(parts_of(self.store.view(name, len(numbers) + block.size)))
        return self.steps[-1][0]


def parts_of(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Block, projection and residual factor in the numbers of a file."""
    rows, columns, size, high, wide = values[:HEAD].astype(np.int64).tolist()
    ends = np.cumsum([HEAD, size * size, high * wide, rows * columns]).tolist()
    A, R, block = (values[a:b] for a, b in pairwise(ends))
    return block.reshape(rows, columns), A.reshape(size, size).copy(), R.reshape(high, wide).copy()
