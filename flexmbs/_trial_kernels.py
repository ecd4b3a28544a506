"""Kernels by which `_trial` sees whether our own compiler fits: they use all that it changes in numba."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexmbs import _dispatch
from flexmbs._jit import handle, kernel


class Pair(NamedTuple):
    values: np.ndarray
    factor: float


@kernel(inline=True, lean=True)
def item(x, k):  # type: ignore[no-untyped-def]
    return x[k]


@kernel(lean=True, apart=True)
def add(x, k):  # type: ignore[no-untyped-def]
    x[0] += k + item(x, x.size - 1)
    return 0


@kernel(lean=True, later="float64")
def half(x, k):  # type: ignore[no-untyped-def]
    return item(x, k) / 2


@kernel(lean=True)
def twice(x):  # type: ignore[no-untyped-def]
    return add(x, 2.0) + add(x, 3)


@kernel(lean=True, apart=True)
def weighted(pair):  # type: ignore[no-untyped-def]
    twice(pair.values)
    return pair.factor * pair.values[0] + max(pair.values[-1], 1) + half(pair.values, 1)


@kernel(reassociate=True)
def both(pair, n):  # type: ignore[no-untyped-def]
    x = np.zeros(n)
    return weighted(pair) + twice(pair.values) + twice(x) + x[0]


def check() -> None:
    """Compare what the kernels give, compiled now or before, with what they must give."""
    values = np.array([0.0, 7.0, 0.5])
    pair: Any = handle(Pair(values, 10.0))
    found = [both(pair, 3), float(values[0]), twice(values), float(values[0])]
    wanted = [10.0 * 6.0 + 1.0 + 3.5 + 5.0, 12.0, 0, 18.0]
    if found != wanted:
        raise RuntimeError(f"kernels give {found}, not {wanted}")
    loaded = bool(sum(both.stats.cache_hits.values()))
    if not loaded and [_dispatch._has_entry(item) for item in add.overloads.values()] != [False, False]:
        raise RuntimeError("kernels get entries that nobody asked for")
