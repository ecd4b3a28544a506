"""Vector operations against NumPy."""

from functools import cache

import numpy as np
import pytest

from flexmbs import _simd
from flexmbs._jit import kernel

operations = {
    (kind, columns): getattr(_simd, kind)(columns) for kind in ("spread", "gather") for columns in (1, 4, 8)
}


@cache
def compiled(kind, columns):
    operation = operations[kind, columns]

    @kernel
    def call(out, to, n, matrix, at, ld, X, source):
        operation(out, to, n, matrix, at, ld, X, source)

    return call


@pytest.mark.parametrize("n", [0, 1, 5, 12])
@pytest.mark.parametrize(("kind", "columns"), operations)
def test_products_with_eight_right_hand_sides(kind, columns, n):
    rng = np.random.default_rng(columns + n)
    ld, to, at, source = 20, 16, 3, 8
    matrix = rng.normal(size=ld * columns + at)
    A = np.stack([matrix[at + k * ld : at + k * ld + n] for k in range(columns)], axis=1)
    out, X = rng.normal(size=(20, 8)), rng.normal(size=(20, 8))
    expected = out.copy()
    if kind == "spread":
        expected[2 : 2 + n] -= A @ X[1 : 1 + columns]
    else:
        expected[2 : 2 + columns] -= A.T @ X[1 : 1 + n]
    for call in (compiled(kind, columns), getattr(_simd, f"_{kind}_python")(columns)):
        result = out.copy().reshape(-1)
        call(result, to, n, matrix, at, ld, X.reshape(-1), source)
        np.testing.assert_allclose(result.reshape(20, 8), expected, rtol=1e-13, atol=1e-14)
