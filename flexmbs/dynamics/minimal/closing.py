"""Closing conditions solved for dependent coordinates: dense for a few rows, sparse for many (F29).

A row of G touches the joints of its own loop, so factors of a row of loops stay as narrow as the loops are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.dynamics.loops.frontal import SMALL
from flexmbs.errors import Diagnostic, SolverError

if TYPE_CHECKING:
    from flexmbs.dynamics.evaluator import Evaluator

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
#: x with G_d x = b, or G_d^T x = b, (n,) or (n, columns)
Solve = Callable[..., Array]


def singular() -> SolverError:
    """Dependent coordinates that do not follow from the independent ones."""
    what = "the dependent coordinates do not follow from the independent ones"
    remedy = "the mechanism stands at a singular position; start beside it"
    return SolverError(Diagnostic("minimal.singular", "model", what, remedy))


def solve(A: Array, b: Array) -> Array:
    """Solution of equations for dependent coordinates; `SolverError` where they are exactly singular."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        raise singular() from None


class Closing:
    """G_d = G[rows, dep] and G_i = G[rows, ind] of an evaluator at the state it was last evaluated at."""

    def __init__(self, evaluator: Evaluator, rows: Ints, dep: Ints, ind: Ints) -> None:
        self.evaluator, self.size, self.n_ind = evaluator, len(dep), len(ind)
        system = evaluator.system
        starts, columns = evaluator.pattern
        of_row = np.repeat(_places(rows, system.n_rows), np.diff(starts))
        self.dep, self.ind = (
            _entries(of_row, _places(chosen, system.n_vel)[columns]) for chosen in (dep, ind)
        )

    @property
    def is_small(self) -> bool:
        return self.size <= SMALL

    def factors(self) -> Solve:
        """How to solve with G_d as it is now. Needs `Evaluator.loops`."""
        values = self.evaluator.ws.loop.G
        place, rows, columns = self.dep
        if self.is_small:
            A = np.zeros((self.size, self.size))
            A[rows, columns] = values[place]
            return lambda b, transposed=False: solve(A.T if transposed else A, b)
        return _sparse(values[place], rows, columns, self.size)

    def independent(self) -> Array:
        """G_i, (rows, independent speeds). Needs `Evaluator.loops`."""
        place, rows, columns = self.ind
        G = np.zeros((self.size, self.n_ind))
        G[rows, columns] = self.evaluator.ws.loop.G[place]
        return G


def _places(chosen: Ints, size: int) -> Ints:
    """Of each number its place among the chosen ones, or -1."""
    found = np.full(size, -1, dtype=np.int64)
    found[chosen] = np.arange(len(chosen))
    return found


def _entries(rows: Ints, columns: Ints) -> tuple[Ints, Ints, Ints]:
    """Entries of G in chosen rows and columns: their places in the list of all, rows, columns."""
    place = np.flatnonzero((rows >= 0) & (columns >= 0))
    return place, rows[place], columns[place]


def _sparse(values: Array, rows: Ints, columns: Ints, size: int) -> Solve:
    """Sparse factors; where there is a value that is no number, so is every solution."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    if not np.isfinite(values).all():
        return lambda b, transposed=False: np.full_like(b, np.nan)
    try:
        found: Any = splu(csc_matrix((values, (rows, columns)), (size, size)))
    except RuntimeError:
        raise singular() from None
    return lambda b, transposed=False: np.asarray(found.solve(b, "T" if transposed else "N"))
