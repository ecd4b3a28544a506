"""K - omega2 M, whose negative eigenvalues are counted: whole for a factor in memory, by rows for pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class OtherPattern(ValueError):
    """A matrix has entries where the one that was factored has none."""


@dataclass(frozen=True)
class Shifted:
    """K - omega2 M of symmetric csr matrices."""

    K: Any
    M: Any
    omega2: float

    def rows(self, which: Ints) -> sparse.csr_matrix:
        return sparse.csr_matrix(self.K[which] - self.omega2 * self.M[which])

    def diagonal(self) -> Floats:
        return np.asarray(self.K.diagonal() - self.omega2 * self.M.diagonal())

    def whole(self) -> sparse.csc_matrix:
        return sparse.csc_matrix((self.K - self.omega2 * self.M).T)

    def of_same_pattern(self) -> sparse.csc_matrix:
        """The whole matrix, where its entries stand where those of K do."""
        A = self.whole()
        if A.nnz != self.K.nnz or not np.array_equal(A.indices, self.K.indices):
            raise OtherPattern
        return A
