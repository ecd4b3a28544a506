"""Results of a run: written as immutable segments, packed into one file, read back by name."""

from __future__ import annotations

from flexmbs.results.layout import FORMAT, FORMAT_VERSION, Axis, Field, Item, Layout
from flexmbs.results.memory import MemoryWriter
from flexmbs.results.reader import Result
from flexmbs.results.writer import ResultWriter, Resumed

__all__ = [
    "FORMAT", "FORMAT_VERSION", "Axis", "Field", "Item", "Layout", "MemoryWriter", "Result", "ResultWriter",
    "Resumed",
]  # fmt: skip
