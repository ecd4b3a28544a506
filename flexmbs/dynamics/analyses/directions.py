"""Names of rows of joints by ground axes, where their own axes lie along these."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from flexmbs.dynamics.evaluator import Evaluator
from flexmbs.model.rows import Row

#: what a row locks: a direction of the frame of the part that the joint comes from
_DIRECTION = re.compile(r"\((translation|rotation) ([xyz])\)")
#: cosine from which on an axis lies along another one
ALONG = 1.0 - 1e-6


def in_ground(names: Sequence[str], rows: Sequence[Row], evaluator: Evaluator) -> list[str]:
    """Names of rows; a direction along another ground axis than its letter says which. Needs kinematics."""
    return [_named(name, row, evaluator) for name, row in zip(names, rows, strict=True)]


def _named(name: str, row: Row, evaluator: Evaluator) -> str:
    found = _DIRECTION.search(name)
    if found is None or not row.entries:
        return name
    kind, letter = found.groups()
    axis = np.abs(evaluator.ws.marker.R[row.entries[0][1].P.number][:, "xyz".index(letter)])
    along = int(np.argmax(axis))
    if axis[along] < ALONG or "xyz"[along] == letter:
        return name
    word = "along" if kind == "translation" else "about"
    return _DIRECTION.sub(f"({kind} {word} ground {'xyz'[along]})", name)
