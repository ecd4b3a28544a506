"""Which contacts are open, in runs of other formulations than the recursion (F44)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Lifting:
    """Tells the workspace of a formulation which contacts are open, as the end of a state vector says."""

    def __init__(self, rows: NDArray[np.int64], start: Floats) -> None:
        self.rows = rows
        self._marked = -start[len(start) - len(rows) :]

    def mark(self, ws: Any, y: Floats) -> bool:
        """Mark the rows of open contacts; whether these are others than before. Writes: ws.row.soft."""
        if not len(self.rows):
            return False
        now = -y[len(y) - len(self.rows) :]
        ws.row.soft[self.rows] = now
        other, self._marked = not np.array_equal(self._marked, now), now
        return other
