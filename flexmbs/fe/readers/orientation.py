"""*ORIENTATION: axes of a material, rectangular, cylindrical or spherical, at any place."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.readers.abaqus_cards import Card, data_lines, real
from flexmbs.fe.readers.source import Damaged
from flexmbs.spatial import axis_angle

Floats = NDArray[np.float64]
Axes = Callable[[Floats], Floats]

SYSTEMS = {"R": "R", "RECTANGULAR": "R", "C": "C", "CYLINDRICAL": "C", "S": "S", "SPHERICAL": "S"}


def orientation(card: Card) -> Axes | None:
    """Axes (n, 3, 3), columns the material directions, at places (n, 3); none for forms that are not read."""
    kind = SYSTEMS.get(card.options.get("SYSTEM", "RECTANGULAR").upper())
    if kind is None or card.options.get("DEFINITION", "COORDINATES").upper() != "COORDINATES":
        return None
    words = data_lines(card)
    if words and re.match(r"[A-Za-z_]", words[0][0]):  # the name of a *DISTRIBUTION, cell by cell
        return None
    lines = [[real(word, card.line) for word in line if word] for line in words]
    values = np.zeros(9)
    if not lines or len(lines[0]) < 6:
        raise Damaged("*ORIENTATION needs two points", card.line)
    values[: min(len(lines[0]), 9)] = lines[0][:9]
    a, b, c = values.reshape(3, 3)
    extra = lines[1] if len(lines) > 1 else []

    def axes(X: Floats) -> Floats:
        result = frames(kind, a, b, c, X, card.line)
        if len(extra) > 1 and extra[1]:
            turn = axis_angle(np.eye(3)[int(extra[0]) - 1], np.radians(extra[1]))
            result = result @ turn
        return result

    if extra and (extra[0] not in (1, 2, 3)):
        raise Damaged("*ORIENTATION turns about axis 1, 2 or 3", card.line)
    return axes


def normal_of(card: Card) -> int:
    """The axis (1, 2, 3) that the card says is about normal to shells; 0 where it says none."""
    lines = data_lines(card)
    return int(real(lines[1][0], card.line)) if len(lines) > 1 and lines[1] and lines[1][0] else 0


def frames(kind: str, a: Floats, b: Floats, c: Floats, X: Floats, line: int) -> Floats:
    """R: first axis towards a, plane of the first two by b, from the origin c. C, S: about a line a b."""
    if kind == "R":
        x, z = np.tile(a - c, (len(X), 1)), np.tile(np.cross(a - c, b - c), (len(X), 1))
    else:
        arm, along = X - a, (b - a) / np.linalg.norm(b - a)
        radial = arm - (arm @ along)[:, None] * along
        if kind == "C":
            x, z = radial, np.tile(along, (len(X), 1))
        else:
            x, z = arm, np.cross(arm, np.cross(np.tile(along, (len(X), 1)), arm))
    y = np.cross(z, x)
    parts = [x, y, np.cross(x, y)]
    size = [np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    if not min(float(item.min(initial=1.0)) for item in size) > 0.0:
        raise Damaged("*ORIENTATION has no directions at the place of an element", line)
    return np.stack([part / n for part, n in zip(parts, size, strict=True)], axis=2)
