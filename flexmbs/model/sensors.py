"""Sensors: what is measured where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flexmbs.model.bodies import Frame


@dataclass(kw_only=True)
class Sensor:
    """A quantity recorded at every output.

    `on`: `body` or `body.frame`, with `at` a further place on that body (as for forces); `relative_to`: the
    frame in which everything but the displacement is seen and resolved. `joint` for "reaction" and "joint";
    `value` (an expression) for "expression"; for "energy" `on` may name one body (default: all).
    """

    name: str
    type: str
    on: str | None = None
    at: Frame | None = None
    relative_to: str = "ground"
    joint: str | None = None
    value: Any = None
