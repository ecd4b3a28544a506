"""Derivatives of vectors by differences, each over the step that suits it, with what is known of their error.

The step of every coordinate is divided by four until differences of fourth order over two steps agree and the
slopes on both sides are one. So a law that bends or changes within a millionth of the model is as good as a
smooth one, and where the sides differ at every step the state stands in a kink (F38).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, SolverError

Array = NDArray[np.float64]

#: first step, of unit displacements; each further one is divided by SHRINK, at most LEVELS of them
FIRST_STEP, SHRINK, LEVELS = 1e-3, 4.0, 14
#: first differences that can be compared: of fourth order over two steps, twice
FIRST = 2
#: an entry is done when it changes by this part, or by what this part of its row, more than rounding, makes
AGREED, ROW_ROUNDING, EPSILON = 1e-9, 1e-12, 1e-15
#: it has no value when at every step it is off by more than this part, and what it is off by goes on by one
#: ratio, within that part, over the last steps: rounding does not; the ratio of a kink is about one
NO_SLOPE, LAST, STEADY = 1e-3, 5, 0.1
FADES, GROWS = 0.4, 2.5


@dataclass
class Slopes:
    """`values` (rows, columns), `error` of each entry, `left` and `right`: slopes below and above the state.

    `kinks`: entries where these differ at every step, `jumps`: where f itself does.
    """

    values: Array
    error: Array
    left: Array
    right: Array
    kinks: NDArray[np.bool_]
    jumps: NDArray[np.bool_]

    def require(self, rows: list[str], columns: list[str]) -> None:
        """`SolverError` where an entry is no number."""
        for i, k in np.argwhere(~np.isfinite(self.values)):
            what = f"{rows[i]} has no value on one side of the state, however near, by {columns[k]}"
            remedy = "take the linear model about another state"
            raise SolverError(Diagnostic("linear.no_value", columns[k], what, remedy))

    def findings(self, rows: list[str], columns: list[str]) -> list[Diagnostic]:
        """A warning for every coordinate by which something has no derivative, with the first such row."""
        found = []
        for k in np.flatnonzero((self.kinks | self.jumps).any(axis=0)):
            i = int(np.argmax(self.kinks[:, k] | self.jumps[:, k]))
            sides = f"its slope is {self.left[i, k]:.6g} below and {self.right[i, k]:.6g} above"
            how = f"{sides}, the mean was taken" if self.kinks[i, k] else "it jumps there"
            what = f"{rows[i]} has no derivative by {columns[k]}: {how}"
            remedy = "take the linear model beside the kink"
            found.append(Diagnostic("linear.kink", columns[k], what, remedy, severity="warn"))
        return found


@dataclass
class Ladder:
    """Differences of f along one direction over ever smaller steps."""

    f: Callable[[Array], Array]
    middle: Array
    direction: Array
    sides: list[Array] = field(default_factory=list)  # per step (2, rows): changes below and above
    central: list[Array] = field(default_factory=list)
    jump: list[Array] = field(default_factory=list)

    def refine(self) -> None:
        """Add the next smaller step."""
        h = FIRST_STEP / SHRINK ** len(self.sides)
        up, down = (self._change(sign * h) for sign in (1.0, -1.0))
        self.sides.append(np.array([-down / h, up / h]))
        self.central.append(0.5 * (up - down) / h)
        self.jump.append((up + down) / h)

    def _change(self, h: float) -> Array:
        """Change of f over a step; no number where the mechanism does not go that far."""
        try:
            return self.f(h * self.direction) - self.middle
        except SolverError:
            return np.full(len(self.middle), np.nan)

    def compared(self) -> tuple[Array, Array]:
        """Slopes of fourth order from step FIRST on, and their change from the last ones (levels, rows).

        What the sides differ by, less what curvature makes, counts as a difference.
        """
        slope = extrapolated(np.array(self.central), SHRINK**2)
        kink = extrapolated(np.array(self.jump), SHRINK)
        error = np.maximum(np.abs(np.diff(slope, axis=0)), np.abs(kink[1:]))
        return slope[1:], np.where(np.isfinite(error), error, np.inf)

    def over_steps(self, size: Array) -> Array:
        """Values of the size of f over the steps of `compared`, (levels, rows)."""
        steps = FIRST_STEP / SHRINK ** np.arange(FIRST, len(self.sides))
        return size / steps[:, None]

    def settled(self, size: Array) -> bool:
        """Whether every slope is as good as it gets."""
        slope, error = self.compared()
        good = error <= AGREED * np.abs(slope) + ROW_ROUNDING * self.over_steps(size)
        return bool(good.any(axis=0).all())


def slopes(f: Callable[[Array], Array], units: Array) -> Slopes:
    """Derivatives of f at zero by x; `units`: a unit displacement of every x."""
    middle = f(np.zeros(len(units)))
    ladders = [Ladder(f, middle, unit * row) for unit, row in zip(units, np.eye(len(units)), strict=True)]
    for ladder in ladders:
        for _ in range(FIRST + 1):
            ladder.refine()
    shape = (len(middle), len(units))
    changes = np.array([FIRST_STEP * np.abs(ladder.sides[0]).max(axis=0) for ladder in ladders])
    changes = np.nan_to_num(changes).reshape(len(units), len(middle))
    size = np.maximum(changes.max(axis=0, initial=0.0), np.abs(middle))
    values, marks = np.zeros((4, *shape)), np.zeros((2, *shape), dtype=bool)
    found = Slopes(*values, *marks)
    with np.errstate(invalid="ignore", over="ignore"):  # beyond the domain of f, where steps are too long
        for k, ladder in enumerate(ladders):
            while len(ladder.sides) < LEVELS and not ladder.settled(size):
                ladder.refine()
            _take(found, k, ladder, size)
    values /= units
    return found


def _take(found: Slopes, k: int, ladder: Ladder, size: Array) -> None:
    """Of every row the slope that is known best, into column k."""
    slope, error = ladder.compared()
    over = ladder.over_steps(size)
    best = np.argmin(error + ROW_ROUNDING * over, axis=0), np.arange(len(size))
    found.values[:, k], found.error[:, k] = slope[best], (error + EPSILON * over)[best]
    found.left[:, k], found.right[:, k] = ladder.sides[-1]
    if len(ladder.sides) == LEVELS:
        lost, noise = (error > NO_SLOPE * np.abs(slope)).all(axis=0), ROW_ROUNDING * size
        steps = FIRST_STEP / SHRINK ** np.arange(LEVELS)[:, None]
        kink, jump = np.array(ladder.jump), np.array(ladder.central) * steps
        found.kinks[:, k] = lost & _stays(extrapolated(kink, SHRINK), noise / steps[-1])
        bit = EPSILON * size.max()  # rows of nothing but rounding have that of the others
        found.jumps[:, k] = lost & _stays(extrapolated(jump, SHRINK), np.maximum(noise, bit))


def extrapolated(values: Array, q: float) -> Array:
    """What values over steps tend to, less what shrinks by q from one to the next."""
    return (q * values[1:] - values[:-1]) / (q - 1.0)


def _stays(values: Array, noise: Array) -> NDArray[np.bool_]:
    """Whether the last rows have one ratio each to the one before, about one, and are no rounding."""
    last = values[-LAST:]
    there = (np.abs(last) > 0.0).all(axis=0) & (np.abs(last[-1]) > noise)
    ratio = last[1:] / np.where(there, last[:-1], 1.0)
    one = (np.ptp(ratio, axis=0) < STEADY * ratio) & (ratio > FADES) & (ratio < GROWS)
    return np.asarray(there & one.all(axis=0), dtype=bool)
