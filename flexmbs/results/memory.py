"""A result that stays in memory: what is measured and not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.results.layout import FORMAT, FORMAT_VERSION, Layout, flatten
from flexmbs.results.reader import Joined, Result

#: where such a result lies
NOWHERE = Path("memory")


class MemoryStore(Joined):
    """Datasets of a `MemoryWriter`."""

    name = NOWHERE.name

    def __init__(self, writer: MemoryWriter) -> None:
        self.layout, self._parts, self._noted = writer.layout, writer.parts, writer.events
        self.attributes = writer.attributes
        self.items = {
            path: (item.data, {"units": item.units, "equation": item.equation} | item.attributes, item.axes)
            for path, item in flatten(writer.items)
            if item.data is not None
        }
        self.paths = self._all_paths()

    def _count(self) -> int:
        return sum(len(part["time"]) for part in self._parts)

    def _history(self, path: str) -> Any:
        if path == "time":
            return np.concatenate([np.zeros(0), *(part["time"] for part in self._parts)])
        item = self._fields[path]
        empty = np.zeros((0, *self.layout.shape(item)))
        return np.concatenate([empty, *(part[path] for part in self._parts)]).astype(item.dtype)

    def _events_so_far(self) -> dict[str, list[Any]]:
        return self._noted


@dataclass
class MemoryWriter:
    """Takes the segments of a run like `ResultWriter`, and keeps them where they are."""

    layout: Layout
    items: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    events: dict[str, list[Any]] = field(default_factory=lambda: {"time": [], "kind": [], "text": []})
    path: Path = NOWHERE
    resumed: None = None

    def __enter__(self) -> MemoryWriter:
        self.attributes |= {"format": FORMAT, "format_version": FORMAT_VERSION}
        return self

    def __exit__(self, *error: Any) -> None:
        """Nothing is open."""

    def commit(
        self,
        samples: Mapping[str, np.ndarray],
        checkpoint: Mapping[str, Any],
        t: float,
        events: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a segment."""
        self.parts.append({path: np.array(values) for path, values in samples.items()})
        for name, values in (events or {}).items():
            self.events[name].extend(np.atleast_1d(values).tolist())
        self.attributes["t_reached"] = float(t)

    def mark(self, status: str, message: str) -> None:
        """Say how an unfinished run ended."""
        self.attributes |= {"status": status, "message": message}

    def result(self) -> Result:
        """The result so far."""
        return Result(MemoryStore(self), self.path)

    def finish(
        self, status: str, message: str = "", items: Mapping[str, Any] | None = None, **attributes: Any
    ) -> Path:
        """Nothing is left to do."""
        self.mark(status, message)
        self.attributes |= attributes
        self.items = {**self.items, **(items or {})}
        return self.path
