"""Modes of the whole system, out of a `linearize` result, as motions of its bodies."""

from __future__ import annotations

from typing import Any

from flexmbs.post.record import Record
from flexmbs.post.scene import Scene


def system_modes(record: Record, scene: Scene) -> list[dict[str, Any]]:
    """Per mode its text and frequency, and per body (6 + nf, re im): translation, rotation, modes."""
    return []
