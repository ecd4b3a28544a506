"""Rotations over the time, in all forms of a `rot` table -> laws of a ball (F19a)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs.expressions import Expression, Node, constant
from flexmbs.input.frames import MovingRotation
from flexmbs.input.source import Path_
from flexmbs.model.drives import RotationLaw

#: completes the names of an expression at a place of the case
Complete = Callable[[Path_, Any], Any]


def rotation_law(path: Path_, table: MovingRotation, complete: Complete) -> RotationLaw:
    """The laws of a rotation; axes that move or are given two at a time become quaternion and matrix."""

    def laws(key: str, items: Any) -> list[Expression]:
        found = [complete((*path, key, k), item) for k, item in enumerate(items)]
        return [item if isinstance(item, Expression) else constant(float(item)) for item in found]

    if table.sequence is not None:
        axes = np.eye(3)[["xyz".index(letter) for letter in table.sequence]]
        return RotationLaw("angles", tuple(laws("angles", table.angles or [])), axes)
    if table.quaternion is not None:
        return RotationLaw("quaternion", tuple(laws("quaternion", table.quaternion)))
    if table.matrix is not None:
        rows = [laws("matrix", row) for row in table.matrix]
        return RotationLaw("matrix", tuple(x for row in rows for x in row))
    if table.axis is None:
        given = {name: laws(name, getattr(table, name)) for name in "xyz" if getattr(table, name) is not None}
        return RotationLaw("matrix", _of_axes(given))
    axis, (angle,) = laws("axis", table.axis), laws("angle", [table.angle])
    if all(x.is_constant for x in axis):
        n = np.array([x.number() for x in axis])
        return RotationLaw("angles", (angle,), (n / (np.linalg.norm(n) or np.nan))[None])
    half = _of("mul", angle, constant(0.5))
    first = _of("mul", _of("cos", half), _length(axis))
    sine = _of("sin", half)
    return RotationLaw("quaternion", (first, *(_of("mul", sine, x) for x in axis)))


def _of(op: str, *args: Expression) -> Expression:
    """An operation on expressions; its text is that of the first which has names."""
    named = next((item for item in args if not item.is_constant), args[0])
    tables = {name: spline for item in args for name, spline in item.tables.items()}
    return Expression(named.text, Node(op, tuple(item.tree for item in args)), tables)


def _length(n: list[Expression]) -> Expression:
    x, y, z = (_of("mul", item, item) for item in n)
    return _of("sqrt", _of("add", _of("add", x, y), z))


def _of_axes(given: dict[str, list[Expression]]) -> tuple[Expression, ...]:
    """Matrix of two of its axes as seen in the parent, the third by the right-hand rule, row by row."""
    (name_a, a), (name_b, b) = ((name, [_of("div", x, _length(n)) for x in n]) for name, n in given.items())
    i, j = "xyz".index(name_a), "xyz".index(name_b)
    p, q = (a, b) if (j - i) % 3 == 1 else (b, a)
    third = [
        _of("sub", _of("mul", p[(k + 1) % 3], q[(k + 2) % 3]), _of("mul", p[(k + 2) % 3], q[(k + 1) % 3]))
        for k in range(3)
    ]
    columns = {i: a, j: b, 3 - i - j: third}
    return tuple(columns[column][row] for row in range(3) for column in range(3))
