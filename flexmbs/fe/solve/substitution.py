"""Forward and backward substitution with a supernodal factor, eight right-hand sides at a time.

The factor streams through memory once for all eight, which costs little more than for one. Further eights
take their turn while its panels are in the cache: 24 cost about half of three times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs._simd import LANES, gather, spread
from flexmbs.fe.solve.symbolic import Symbolic

Floats = NDArray[np.float64]

#: right-hand sides that go through one pass; entries of panels that stay in the cache meanwhile
WIDE, CACHED = 3 * LANES, 2**20

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


class Substitution:
    """Right-hand sides (n, m) on their way through a factor, LANES of them side by side."""

    def __init__(self, sym: Symbolic, B: Floats) -> None:
        self.sym, self.n_columns = sym, B.shape[1]
        self.lanes = []
        for begin in range(0, B.shape[1], LANES):
            part = B[:, begin : begin + LANES]
            X = np.zeros((sym.n, LANES))
            X[:, : part.shape[1]] = part[sym.order]
            self.lanes.append(X.reshape(-1))
        self.work = np.empty(max(1, int(np.max(np.diff(sym.row_start), initial=0))) * LANES)

    def forward(self, begin: int, end: int, L: Floats) -> None:
        """L^-1 by supernodes [begin, end), whose panels are L."""
        self._through(forward, self._groups(begin, end), L)

    def backward(self, begin: int, end: int, L: Floats) -> None:
        """L^-T by these supernodes."""
        self._through(backward, self._groups(begin, end)[::-1], L)

    def _groups(self, begin: int, end: int) -> list[tuple[int, int]]:
        """The supernodes in groups whose panels stay in the cache from eight columns to the next eight."""
        if len(self.lanes) == 1:
            return [(begin, end)]
        panel, groups = self.sym.panel, []
        while begin < end:
            following = int(np.searchsorted(panel, panel[begin] + CACHED, side="right")) - 1
            groups.append((begin, min(max(following, begin + 1), end)))
            begin = groups[-1][1]
        return groups

    def _through(self, kernel_of: Callable[..., None], groups: list[tuple[int, int]], L: Floats) -> None:
        sym, start = self.sym, self.sym.panel[min(groups)[0]] if groups else 0
        for begin, end in groups:
            at = slice(begin, end + 1)
            for X in self.lanes:
                kernel_of(sym.first[at], sym.row_start[at], sym.rows, sym.panel[at] - start, L, X, self.work)

    def values(self) -> Floats:
        """The columns in the order of the factor (n, m)."""
        parts = [X.reshape(self.sym.n, LANES) for X in self.lanes]
        return np.concatenate([*parts, np.empty((self.sym.n, 0))], axis=1)[:, : self.n_columns]


#: supernodes [begin, end) and their panels; of a whole factor, or a part of it after another
Part = tuple[int, int, Floats]


def substitute(
    sym: Symbolic,
    parts: Callable[[bool], Iterable[Part]],
    sign: Floats | None,
    B: Floats,
    wide: int = WIDE,
) -> Floats:
    """A^-1 B (n, m) out of the factor L S L^T of A; `sign` is None where S = 1; zero where left out.

    parts : panels of L from the first to the last supernode, or (True) from the last to the first
    wide : columns that go through one pass over them
    """
    result = np.zeros(B.shape) if sym.n < len(B) else np.empty(B.shape)
    for start in range(0, B.shape[1], wide):
        X = Substitution(sym, B[:, start : start + wide])
        for part in parts(False):
            X.forward(*part)
        if sign is not None:
            for flat in X.lanes:
                flat.reshape(sym.n, LANES)[:] *= sign[:, None]
        for part in parts(True):
            X.backward(*part)
        for k, flat in enumerate(X.lanes):
            begin = start + k * LANES
            end = min(begin + LANES, start + X.n_columns)
            result[:, begin:end][sym.order] = flat.reshape(sym.n, LANES)[:, : end - begin]
    return result
