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


tiles = {rows: _simd.product(rows) for rows in (2, 6)}


@cache
def compiled_tile(rows):
    operation = tiles[rows]

    @kernel
    def call(out, to, width, A, at, step, ld, B, source, wide, n):
        operation(out, to, width, A, at, step, ld, B, source, wide, n)

    return call


@pytest.mark.parametrize(("step", "ld"), [(1, 8), (9, 1)])
@pytest.mark.parametrize("n", [0, 1, 7])
@pytest.mark.parametrize("rows", tiles)
def test_tiles_of_a_product(rows, n, step, ld):
    rng = np.random.default_rng(n)
    A, B, out = rng.normal(size=(2, 5, 8)), rng.normal(size=(9, 13)), rng.normal(size=(7, 2, 11))
    expected = out.copy()
    left = A.ravel()[3 + ld * np.arange(n)[:, None] + step * np.arange(rows)]
    expected.reshape(14, 11)[1 : 1 + rows, 2:10] = left.T @ B[1 : 1 + n, 4:12]
    for call in (compiled_tile(rows), _simd._product_python(rows)):
        result = out.copy()
        call(result, 13, 11, A, 3, step, ld, B, 17, 13, n)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.skipif(_simd.DISABLED, reason="of the compiled operation")
def test_tiles_are_of_contiguous_arrays():
    A = np.zeros((8, 8))
    with pytest.raises(Exception, match="No implementation of function"):
        compiled_tile(6)(A, 0, 8, A[:, ::2], 0, 1, 8, A, 0, 8, 1)


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
