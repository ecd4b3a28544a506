"""Rows of constraints by what they may hold: of many loops most is nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: entries up to which a part is taken from the whole matrix
SMALL = 1000


@dataclass(frozen=True)
class Sparse:
    """Rows by what they may hold: where each begins, columns, values."""

    start: Ints
    column: Ints
    value: Array
    width: int

    @classmethod
    def of(cls, G: Array) -> Sparse:
        """That of a whole matrix."""
        rows, columns = np.nonzero(G)
        return cls(np.searchsorted(rows, np.arange(len(G) + 1)), columns, G[rows, columns], G.shape[1])

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def row(self) -> Ints:
        """The row of every value."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def held(self) -> NDArray[np.bool_]:
        """Which columns hold something."""
        found = np.zeros(self.width, dtype=bool)
        found[self.column] = True
        return found

    def lengths(self) -> Array:
        """Euclidean norms of the rows."""
        return np.sqrt(np.bincount(self.row, self.value**2, len(self)))

    def scaled(self, scale: Array) -> Sparse:
        """Rows times numbers."""
        return replace(self, value=self.value * scale[self.row])

    def divided(self, size: Array) -> Sparse:
        """Rows over numbers."""
        return replace(self, value=self.value / size[self.row])

    def take(self, rows: Ints) -> Sparse:
        """Some rows, in the order given."""
        places, start = self._places(rows)
        return replace(self, start=start, column=self.column[places], value=self.value[places])

    def without(self, columns: NDArray[np.bool_]) -> Sparse:
        """The same with nothing in some columns, and without what is zero."""
        held = ~columns[self.column] & (self.value != 0.0)
        count = np.bincount(self.row[held], minlength=len(self))
        return replace(
            self, start=np.append(0, np.cumsum(count)), column=self.column[held], value=self.value[held]
        )

    def part(self, rows: Ints, columns: Ints) -> Array:
        """Rows and columns, these in their order, as a matrix."""
        if len(self) * self.width <= SMALL:
            whole = np.zeros((len(self), self.width))
            whole[self.row, self.column] = self.value
            return whole[rows[:, None], columns]
        places, start = self._places(rows)
        row, column = np.repeat(np.arange(len(rows)), np.diff(start)), self.column[places]
        at = np.searchsorted(columns, column)
        held = np.append(columns, -1)[at] == column
        out = np.zeros((len(rows), len(columns)))
        out[row[held], at[held]] = self.value[places][held]
        return out

    def block(self, rows: Ints, columns: Ints) -> Sparse:
        """Rows, and columns in their order that hold all of them, numbered anew."""
        found = self.take(rows)
        return replace(found, column=np.searchsorted(columns, found.column), width=len(columns))

    def transposed(self, x: Array) -> Array:
        """What the transpose makes of columns x (rows, n)."""
        out = np.zeros((self.width, x.shape[1]))
        np.add.at(out, self.column, self.value[:, None] * x[self.row])
        return out

    def _places(self, rows: Ints) -> tuple[Ints, Ints]:
        """Where the values of some rows stand, and where each row then begins."""
        count = np.diff(self.start)[rows]
        start = np.append(0, np.cumsum(count))
        return np.arange(start[-1]) + np.repeat(self.start[rows] - start[:-1], count), start
