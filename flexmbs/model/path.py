"""Path of a frame that travels through a flexible body -> splines of its mode rows (F18a)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression
from flexmbs.ffrf.marker import pack_rows

Array = NDArray[np.float64]

#: Times at which a path is looked at, to find its line [s].
TIMES = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 57)])
SAMPLES = 201
#: Knots per element on the path: enough for quadratic and cubic shapes.
KNOTS_PER_CELL, LEAST_PIECES = 2, 16


@dataclass(frozen=True)
class Path:
    """Rows along a line: arc lengths `knots` (n,), `coef` (n - 1, 4, 6 nf), `line`: start and direction."""

    knots: Array
    coef: Array
    line: Array


def path_through(modal: Any, modes: Any, place: Sequence[Any], where: str) -> Path:
    """Splines of the rows along the path that `place`, numbers or expressions of t, describes."""
    from scipy.interpolate import CubicSpline

    from flexmbs.modal.place import locate

    start, direction = _line(place, where)
    first, last = _inside(modal, start, direction, where)
    inner = np.linspace(first, last, SAMPLES)[1:-1]
    cells = {locate(modal.mesh, start + s * direction, where)[:2] for s in inner}
    knots = np.linspace(first, last, max(KNOTS_PER_CELL * len(cells), LEAST_PIECES) + 1)
    values = []
    for s in knots:
        _, Phi, Psi = modal.marker_rows(at=start + s * direction)
        values.append(pack_rows(Phi[:, modes], Psi[:, modes]))
    spline = CubicSpline(knots, np.array(values))
    coef = np.ascontiguousarray(spline.c.transpose(1, 0, 2))
    return Path(knots, coef, np.concatenate([start, direction]))


def _line(place: Sequence[Any], where: str) -> tuple[Array, Array]:
    """Start and direction of the line on which a place moves."""
    points = []
    for t in TIMES:
        x = [float(p.evaluate({"t": t})) if isinstance(p, Expression) else float(p) for p in place]
        if np.isfinite(x).all():
            points.append(x)
    if not points:
        raise _error(where, "the frame has no place at any time", "check the expressions of at")
    X = np.array(points)
    start = X[0]
    _, size, Vt = np.linalg.svd(X - start, full_matrices=False)
    if size[0] == 0.0:
        return start, np.array([1.0, 0.0, 0.0])
    if size[1] > 1e-9 * size[0]:
        raise _error(
            where,
            "the frame travels through a flexible body on a curve",
            "let it travel on a straight line, or on a rigid body",
        )
    return start, Vt[0]


def _inside(modal: Any, start: Array, direction: Array, where: str) -> tuple[float, float]:
    """Arc lengths between which the line runs inside the body, around its start or nearest to it."""
    low, high = modal.mesh.points.min(axis=0), modal.mesh.points.max(axis=0)
    reach = float(np.linalg.norm(high - low)) + float(np.linalg.norm(start - 0.5 * (low + high)))
    first, last = -reach, reach
    for c in range(3):
        if abs(direction[c]) > 1e-12:
            ends = sorted(((low[c] - start[c]) / direction[c], (high[c] - start[c]) / direction[c]))
            first, last = max(first, ends[0]), min(last, ends[1])
    s = np.linspace(first, last, SAMPLES) if last > first else np.zeros(0)
    good = np.array([_is_inside(modal, start + x * direction) for x in s], dtype=bool)
    if not good.any():
        raise _error(where, "the path of the frame misses the body", "check the expressions of at")
    k = int(np.flatnonzero(good)[np.argmin(np.abs(s[good]))])
    a = b = k
    while a > 0 and good[a - 1]:
        a -= 1
    while b < len(s) - 1 and good[b + 1]:
        b += 1
    if a == b:
        raise _error(where, "the path of the frame only touches the body", "check the expressions of at")
    return float(s[a]), float(s[b])


def _is_inside(modal: Any, x: Array) -> bool:
    from flexmbs.modal.place import locate

    try:
        locate(modal.mesh, x)
    except InputError:
        return False
    return True


def _error(where: str, what: str, remedy: str) -> InputError:
    return InputError(Diagnostic("frame.travel", where, what, remedy))
