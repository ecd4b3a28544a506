"""Products of matrix columns with eight right-hand sides at a time, and of small matrices, in vector
instructions.

A compiler cannot tell that the arrays of these loops do not overlap, so it leaves them scalar, four times
slower. Here the instructions are written out: a row of eight numbers is one vector, on any processor.
Arrays are flat; the rows of `out` and `X` hold `LANES` numbers, a matrix stands column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from flexmbs._jit import DISABLED

LANES = 8

INT = ir.IntType(64)
VECTOR = ir.VectorType(ir.DoubleType(), LANES)
FUSED = ("contract",)


def _at(builder: Any, start: Any, offset: int) -> Any:
    return builder.add(start, ir.Constant(INT, offset))


def _load(builder: Any, data: Any, place: Any) -> Any:
    pointer = builder.bitcast(builder.gep(data, [place]), VECTOR.as_pointer())
    return builder.load(pointer, align=8)


def _store(builder: Any, vector: Any, data: Any, place: Any) -> None:
    pointer = builder.bitcast(builder.gep(data, [place]), VECTOR.as_pointer())
    builder.store(vector, pointer, align=8)


def _alike(builder: Any, entry: Any) -> Any:
    """A vector of one number."""
    first = builder.insert_element(ir.Constant(VECTOR, None), entry, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, first, mask)


def _less(builder: Any, vector: Any, matrix: Any, place: Any, row: Any) -> Any:
    """vector - matrix[place] * row."""
    alike = _alike(builder, builder.load(builder.gep(matrix, [place])))
    return builder.fsub(vector, builder.fmul(alike, row, flags=FUSED), flags=FUSED)


def _spread_compiled(columns: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        out, matrix, X = (
            context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 3, 6)
        )
        to, n, at, ld, source = (values[k] for k in (1, 2, 4, 5, 7))
        rows = [_load(builder, X, _at(builder, source, LANES * k)) for k in range(columns)]
        starts = [builder.add(at, builder.mul(ld, ir.Constant(INT, k))) for k in range(columns)]
        with cgutils.for_range(builder, n) as loop:
            place = builder.add(to, builder.mul(loop.index, ir.Constant(INT, LANES)))
            vector = _load(builder, out, place)
            for start, row in zip(starts, rows, strict=True):
                vector = _less(builder, vector, matrix, builder.add(start, loop.index), row)
            _store(builder, vector, out, place)
        return context.get_dummy_value()

    return _intrinsic(codegen)


def _gather_compiled(columns: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        out, matrix, X = (
            context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 3, 6)
        )
        to, n, at, ld, source = (values[k] for k in (1, 2, 4, 5, 7))
        places = [_at(builder, to, LANES * k) for k in range(columns)]
        sums = [cgutils.alloca_once(builder, VECTOR) for _ in places]
        for total, place in zip(sums, places, strict=True):
            builder.store(_load(builder, out, place), total)
        starts = [builder.add(at, builder.mul(ld, ir.Constant(INT, k))) for k in range(columns)]
        with cgutils.for_range(builder, n) as loop:
            place = builder.add(source, builder.mul(loop.index, ir.Constant(INT, LANES)))
            row = _load(builder, X, place)
            for start, total in zip(starts, sums, strict=True):
                entry = builder.add(start, loop.index)
                builder.store(_less(builder, builder.load(total), matrix, entry, row), total)
        for total, place in zip(sums, places, strict=True):
            _store(builder, builder.load(total), out, place)
        return context.get_dummy_value()

    return _intrinsic(codegen)


def _product_compiled(rows: int) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        out, A, B = (
            context.make_array(signature.args[k])(context, builder, values[k]).data for k in (0, 3, 7)
        )
        to, width, at, step, ld, source, wide, n = (values[k] for k in (1, 2, 4, 5, 6, 8, 9, 10))
        # a sum waits for its last step: of few rows, each has two, of every other step
        turns = 2 if rows < 6 else 1
        sums = [[cgutils.alloca_once(builder, VECTOR) for _ in range(rows)] for _ in range(turns)]
        for total in sum(sums, []):
            builder.store(ir.Constant(VECTOR, [0.0] * LANES), total)

        def add(index: Any, totals: list[Any]) -> None:
            row = _load(builder, B, builder.add(source, builder.mul(wide, index)))
            start = builder.add(at, builder.mul(ld, index))
            for k, total in enumerate(totals):
                place = builder.add(start, builder.mul(step, ir.Constant(INT, k)))
                entry = _alike(builder, builder.load(builder.gep(A, [place])))
                more = builder.fmul(entry, row, flags=FUSED)
                builder.store(builder.fadd(builder.load(total), more, flags=FUSED), total)

        number = ir.Constant(INT, turns)
        with cgutils.for_range(builder, builder.sdiv(n, number)) as loop:
            for turn, totals in enumerate(sums):
                add(_at(builder, builder.mul(loop.index, number), turn), totals)
        if turns == 2:
            with builder.if_then(builder.trunc(n, ir.IntType(1))):
                add(_at(builder, n, -1), sums[0])
        for k, parts in enumerate(zip(*sums, strict=True)):
            total = builder.load(parts[0])
            for part in parts[1:]:
                total = builder.fadd(total, builder.load(part))
            place = builder.add(to, builder.mul(width, ir.Constant(INT, k)))
            _store(builder, total, out, place)
        return context.get_dummy_value()

    @intrinsic
    def operation(typing_context, out, to, width, A, at, step, ld, B, source, wide, n):  # type: ignore[no-untyped-def]
        if any(item.layout != "C" for item in (out, A, B)):
            return None  # no such operation: places are counted in contiguous arrays
        return numba.types.void(out, to, width, A, at, step, ld, B, source, wide, n), codegen

    return operation


def _product_python(rows: int) -> Callable[..., None]:
    def operation(out, to, width, A, at, step, ld, B, source, wide, n):  # type: ignore[no-untyped-def]
        lanes, inner = np.arange(LANES), np.arange(n)[:, None]
        left = A.reshape(-1)[at + ld * inner + step * np.arange(rows)]
        right = B.reshape(-1)[source + wide * inner + lanes]
        out.reshape(-1)[to + width * np.arange(rows)[:, None] + lanes] = left.T @ right

    return operation


def product(rows: int) -> Any:
    """Operation (out, to, width, A, at, step, ld, B, source, wide, n): out[r] = sum over k < n of
    A[k, r] B[k].

    Arrays of any shape, contiguous. A tile has so many rows of `LANES` numbers: row r stands at to + r width
    in out, row k of B at source + k wide; A[k, r] at at + r step + k ld.
    """
    return _product_python(rows) if DISABLED else _product_compiled(rows)


def _intrinsic(codegen: Callable[..., Any]) -> Any:
    @intrinsic
    def operation(typing_context, out, to, n, matrix, at, ld, X, source):  # type: ignore[no-untyped-def]
        return numba.types.void(out, to, n, matrix, at, ld, X, source), codegen

    return operation


def _views(out: Any, to: int, X: Any, source: int) -> tuple[Any, Any]:
    """Rows of out and X from these places on."""
    n_out, n_X = (len(out) - to) // LANES, (len(X) - source) // LANES
    return (
        out[to : to + n_out * LANES].reshape(n_out, LANES),
        X[source : source + n_X * LANES].reshape(n_X, LANES),
    )


def _spread_python(columns: int) -> Callable[..., None]:
    def operation(out, to, n, matrix, at, ld, X, source):  # type: ignore[no-untyped-def]
        goal, rows = _views(out, to, X, source)
        for k in range(columns):
            goal[:n] -= matrix[at + k * ld : at + k * ld + n, None] * rows[k]

    return operation


def _gather_python(columns: int) -> Callable[..., None]:
    def operation(out, to, n, matrix, at, ld, X, source):  # type: ignore[no-untyped-def]
        goal, rows = _views(out, to, X, source)
        for k in range(columns):
            goal[k] -= matrix[at + k * ld : at + k * ld + n] @ rows[:n]

    return operation


def spread(columns: int) -> Any:
    """Operation (out, to, n, matrix, at, ld, X, source): out[i] -= sum over the columns k of A[i, k] X[k].

    i < n; the rows of out start at `to`, those of X at `source`; A[i, k] = matrix[at + i + k ld].
    """
    return _spread_python(columns) if DISABLED else _spread_compiled(columns)


def gather(columns: int) -> Any:
    """The transpose of `spread`: out[k] -= sum over i < n of A[i, k] X[i]."""
    return _gather_python(columns) if DISABLED else _gather_compiled(columns)
