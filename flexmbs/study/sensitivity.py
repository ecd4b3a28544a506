"""How much a parameter matters to a metric: Sobol's indices, elementary effects, or slopes of ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: resamples for the confidence intervals, and their level
RESAMPLES, LEVEL = 400, 0.95


@dataclass(frozen=True)
class Index:
    """A measure of sensitivity to a parameter, with the bounds of its confidence interval."""

    parameter: str
    kind: str
    value: float
    low: float
    high: float


def indices(method: str, names: list[str], X: Floats, y: Floats) -> list[Index]:
    """Indices of a metric y (design) over parameters X (design, parameter); NaN where runs failed.

    method : that of the samples; those of Morris and Saltelli have indices of their own.
    """
    if method == "saltelli":
        return _sobol(names, y.reshape(-1, len(names) + 2))
    if method == "morris":
        return _effects(names, X.reshape(-1, len(names) + 1, len(names)), y.reshape(-1, len(names) + 1))
    good = np.isfinite(y)
    return _ranks(names, X[good], y[good]) if good.sum() > len(names) + 2 else []


def _intervals(names: list[str], kind: str, blocks: Floats, value: Callable[[Floats], Floats]) -> list[Index]:
    """Values of all parameters and their intervals by resampling whole blocks (block, ...)."""
    rng = np.random.default_rng(0)
    drawn = [value(blocks[rng.integers(0, len(blocks), len(blocks))]) for _ in range(RESAMPLES)]
    return _with_intervals(names, kind, value(blocks), drawn)


def _with_intervals(names: list[str], kind: str, found: Floats, drawn: list[Floats]) -> list[Index]:
    """Values of all parameters with the quantiles of those that were drawn."""
    low, high = np.quantile(drawn, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0], axis=0)
    return [Index(name, kind, float(found[j]), float(low[j]), float(high[j])) for j, name in enumerate(names)]


def _sobol(names: list[str], f: Floats) -> list[Index]:
    """First-order and total indices; columns of f are A, B, and A with one column of B."""
    f = f[np.isfinite(f).all(axis=1)]
    if len(f) < 2 or np.ptp(f[:, :2]) == 0.0:
        return []
    f = f - f[:, :2].mean()

    def first(rows: Floats) -> Floats:
        a, b, mixed = rows[:, 0], rows[:, 1], rows[:, 2:]
        return np.asarray((b[:, None] * (mixed - a[:, None])).mean(axis=0) / rows[:, :2].var())

    def total(rows: Floats) -> Floats:
        return np.asarray(0.5 * ((rows[:, :1] - rows[:, 2:]) ** 2).mean(axis=0) / rows[:, :2].var())

    return _intervals(names, "first-order index", f, first) + _intervals(names, "total index", f, total)


def _effects(names: list[str], X: Floats, f: Floats) -> list[Index]:
    """Mean size of elementary effects (mu*) and their deviation (sigma), over the range of each parameter."""
    good = np.isfinite(f).all(axis=1)
    X, f = X[good], f[good]
    if len(f) < 2:
        return []
    size = np.ptp(X.reshape(-1, len(names)), axis=0)
    moved = np.diff(X, axis=1) / size
    which = np.abs(moved).argmax(axis=2)
    effect = np.empty((len(f), len(names)))
    rows = np.arange(len(f))[:, None]
    effect[rows, which] = np.diff(f, axis=1) / np.take_along_axis(moved, which[..., None], 2)[..., 0]
    return _intervals(names, "mean effect", effect, lambda e: np.abs(e).mean(axis=0)) + _intervals(
        names, "spread of effects", effect, lambda e: e.std(axis=0, ddof=1)
    )


def _ranks(names: list[str], X: Floats, y: Floats) -> list[Index]:
    """Coefficients of a linear regression of ranks, each in units of its deviation.

    They follow from means of products, so that resampled ones are weighted sums: of thousands of designs to
    rank and solve four hundred resamples would take seconds.
    """
    both = np.column_stack([X, y])
    if np.any(np.ptp(both, axis=0) == 0.0):
        return []
    ranks = np.column_stack([_rank(column) for column in both.T])
    ranks = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    m, n = ranks.shape[1], len(ranks)
    products = np.column_stack([ranks, (ranks[:, :, None] * ranks[:, None, :]).reshape(n, -1)])

    def slopes(sums: Floats) -> Floats:
        mean, square = sums[:m], sums[m:].reshape(m, m)
        size = np.sqrt(np.maximum(np.diag(square) - mean**2, 1e-300))
        R = (square - np.outer(mean, mean)) / np.outer(size, size)
        return np.asarray(np.linalg.lstsq(R[:-1, :-1], R[:-1, -1], rcond=None)[0])

    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(RESAMPLES):
        times = np.bincount(rng.integers(0, n, n), minlength=n)
        drawn.append(slopes(times @ products / n))
    return _with_intervals(names, "slope of ranks", slopes(products.mean(axis=0)), drawn)


def _rank(values: Floats) -> Floats:
    """Ranks from 1 on; equal values have the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - 0.5 * (counts - 1))[which], dtype=float)


def share_outside(values: Floats, low: float, high: float) -> tuple[float, float, float]:
    """Share of values outside of limits, a failed run (NaN) counted as outside, and its 95 % interval."""
    n = len(values)
    out = int(np.count_nonzero(~((values >= low) & (values <= high))))
    tail = (1.0 - LEVEL) / 2.0  # Clopper and Pearson
    from scipy.special import betaincinv  # the whole of scipy.stats takes seconds to load

    lower = float(betaincinv(out, n - out + 1, tail)) if out else 0.0
    upper = float(betaincinv(out + 1, n - out, 1.0 - tail)) if out < n else 1.0
    return out / n, lower, upper


@dataclass(frozen=True)
class Response:
    """A quadric in parameters that are scaled to -1 ... 1; `share` of the variance that it explains (R^2)."""

    factors: Floats
    size: int
    share: float

    def __call__(self, x: Floats) -> Floats:
        """Values at scaled parameters (n, size)."""
        return np.asarray(_quadratic(x) @ self.factors)


def response(X: Floats, y: Floats) -> Response | None:
    """Least squares quadric of the finite values; None where there are fewer than twice its terms."""
    good = np.isfinite(y) & np.isfinite(X).all(axis=1)
    low, high = X.min(axis=0), X.max(axis=0)
    terms = _quadratic(2.0 * (X[good] - low) / np.where(high > low, high - low, 1.0) - 1.0)
    if good.sum() < 2 * terms.shape[1] or np.ptp(y[good]) == 0.0:
        return None
    factors = np.asarray(np.linalg.lstsq(terms, y[good], rcond=None)[0], dtype=float)
    left = np.sum((y[good] - terms @ factors) ** 2)
    return Response(factors, X.shape[1], float(1.0 - left / np.sum((y[good] - y[good].mean()) ** 2)))


def _quadratic(x: Floats) -> Floats:
    """1, x, and all products of two of them."""
    pairs = [x[:, i] * x[:, j] for i in range(x.shape[1]) for j in range(i + 1)]
    return np.column_stack([np.ones(len(x)), x, *pairs])
