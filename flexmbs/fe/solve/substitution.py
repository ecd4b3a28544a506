"""Forward and backward substitution with a supernodal factor, eight right-hand sides at a time.

The factor streams through memory once for all eight, which costs little more than for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs._simd import LANES, gather, spread
from flexmbs.fe.solve.symbolic import Symbolic

Floats = NDArray[np.float64]

spread_1, spread_4 = spread(1), spread(4)
gather_1, gather_4, gather_8 = gather(1), gather(4), gather(8)


@kernel(inline=True, lean=True)
def _divide_row(X, at, pivot):
    for c in range(LANES):
        X[at + c] /= pivot


@kernel(lean=True)
def forward(first, row_start, rows, panel, L, X, work):
    """X := L^-1 X; X holds LANES numbers per unknown, side by side."""
    for s in range(len(first) - 1):
        ld, width = row_start[s + 1] - row_start[s], first[s + 1] - first[s]
        own, below, start = first[s] * LANES, ld - width, panel[s]
        for r in range(below * LANES):
            work[r] = 0.0
        for k in range(0, width, 4):
            n = min(4, width - k)
            for j in range(k, k + n):
                at, x = start + j * ld, own + j * LANES
                _divide_row(X, x, L[at + j])
                spread_1(X, x + LANES, k + n - j - 1, L, at + j + 1, ld, X, x)
                if n < 4:
                    spread_1(work, 0, below, L, at + width, ld, X, x)
            if n == 4:
                at, x = start + k * ld, own + k * LANES
                spread_4(X, x + 4 * LANES, width - k - 4, L, at + k + 4, ld, X, x)
                spread_4(work, 0, below, L, at + width, ld, X, x)
        for r in range(below):
            i = rows[row_start[s] + width + r] * LANES
            for c in range(LANES):
                X[i + c] += work[r * LANES + c]


@kernel(lean=True)
def backward(first, row_start, rows, panel, L, X, work):
    """X := L^-T X; X holds LANES numbers per unknown, side by side."""
    for s in range(len(first) - 2, -1, -1):
        ld, width = row_start[s + 1] - row_start[s], first[s + 1] - first[s]
        own, below, start = first[s] * LANES, ld - width, panel[s]
        for r in range(below):
            i = rows[row_start[s] + width + r] * LANES
            for c in range(LANES):
                work[r * LANES + c] = X[i + c]
        k = width
        while k > 0:
            n = 8 if k >= 8 else 4 if k >= 4 else 1
            k -= n
            at, x, inner = start + k * ld, own + k * LANES, width - k - n
            if n == 8:
                gather_8(X, x, inner, L, at + k + 8, ld, X, x + 8 * LANES)
                gather_8(X, x, below, L, at + width, ld, work, 0)
            elif n == 4:
                gather_4(X, x, inner, L, at + k + 4, ld, X, x + 4 * LANES)
                gather_4(X, x, below, L, at + width, ld, work, 0)
            else:
                gather_1(X, x, inner, L, at + k + 1, ld, X, x + LANES)
                gather_1(X, x, below, L, at + width, ld, work, 0)
            for j in range(k + n - 1, k - 1, -1):
                at, x = start + j * ld, own + j * LANES
                gather_1(X, x, k + n - j - 1, L, at + j + 1, ld, X, x + LANES)
                _divide_row(X, x, L[at + j])


#: supernodes [begin, end) and their panels; of a whole factor, or a part of it after another
Part = tuple[int, int, Floats]


def substitute(
    sym: Symbolic,
    parts: Callable[[bool], Iterable[Part]],
    sign: Floats | None,
    B: Floats,
    wide: int = LANES,
) -> Floats:
    """A^-1 B (n, m) out of the factor L S L^T of A; `sign` is None where S = 1; zero where left out.

    parts : panels of L from the first to the last supernode, or (True) from the last to the first
    wide : columns that go through one pass over them
    """
    result = np.zeros(B.shape) if sym.n < len(B) else np.empty(B.shape)
    work = np.empty(max(1, int(np.max(np.diff(sym.row_start), initial=0))) * LANES)
    for start in range(0, B.shape[1], wide):
        end = min(start + wide, B.shape[1])
        columns = [slice(k, min(k + LANES, end)) for k in range(start, end, LANES)]
        X = [_lanes(B[:, part], sym) for part in columns]
        for kernel_of, upward in ((forward, False), (backward, True)):
            for begin, stop, L in parts(upward):
                at = slice(begin, stop + 1)
                panel = sym.panel[at] - sym.panel[begin]
                for flat in X:
                    kernel_of(sym.first[at], sym.row_start[at], sym.rows, panel, L, flat, work)
            if sign is not None and not upward:
                X = [(flat.reshape(sym.n, LANES) * sign[:, None]).reshape(-1) for flat in X]
        for part, flat in zip(columns, X, strict=True):
            result[sym.order, part] = flat.reshape(sym.n, LANES)[:, : part.stop - part.start]
    return result


def _lanes(B: Floats, sym: Symbolic) -> Floats:
    """Up to LANES columns in the order of the factor, side by side."""
    X = np.zeros((sym.n, LANES))
    X[:, : B.shape[1]] = B[sym.order]
    return X.reshape(-1)
