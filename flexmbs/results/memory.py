"""A result that stays in memory: what is measured and not kept, or written at once when it is complete."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.results.layout import FORMAT, FORMAT_VERSION, Field, Layout, flatten, write_items
from flexmbs.results.pack import write_whole
from flexmbs.results.reader import Joined, Result
from flexmbs.results.stacks import Stack, stacked

#: where such a result lies
NOWHERE = Path("memory")


class MemoryStore(Joined):
    """Datasets of a `MemoryWriter`."""

    name = NOWHERE.name

    def __init__(self, writer: MemoryWriter) -> None:
        self.layout, self._parts, self._noted = writer.layout, writer.parts, writer.events
        self.attributes, self._given = writer.attributes, writer.items

    @cached_property
    def items(self) -> dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]]:  # type: ignore[override]
        """What does not change in time; it may have to be worked out."""
        return {
            path: (item.data, {"units": item.units, "equation": item.equation} | item.attributes, item.axes)
            for path, item in flatten(self._given)
            if item.data is not None
        }

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
    """Takes the segments of a run like `ResultWriter`, and keeps them where they are.

    With a `target` the file of the result is written there in one stream when the run ends, in whatever way;
    a power cut before that leaves
    nothing, and one soon after it may: who needs to know asks for its size.
    """

    layout: Layout
    items: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    parts: list[dict[str, Any]] = field(default_factory=list)
    events: dict[str, list[Any]] = field(default_factory=lambda: {"time": [], "kind": [], "text": []})
    target: Path | None = None
    path: Path = NOWHERE
    resumed: None = None
    _checkpoint: Mapping[str, Any] | None = None
    _started: float = field(default_factory=time.monotonic)

    def __enter__(self) -> MemoryWriter:
        self.attributes |= {"format": FORMAT, "format_version": FORMAT_VERSION}
        self.path = self.target or self.path
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
        self._checkpoint = checkpoint

    def mark(self, status: str, message: str) -> None:
        """Say how an unfinished run ended."""
        self.attributes |= {"status": status, "message": message}
        self._save()

    def result(self) -> Result:
        """The result so far."""
        return Result(MemoryStore(self), self.path)

    def finish(
        self, status: str, message: str = "", items: Mapping[str, Any] | None = None, **attributes: Any
    ) -> Path:
        """Write the file, if one is wanted."""
        self.attributes |= attributes
        self.items = {**self.items, **(items or {})}
        self.mark(status, message)
        return self.path

    def _save(self) -> None:
        """The file as `pack` writes it."""
        if self.target is None:
            return
        stacks = stacked(self.layout)

        def history(path: str) -> Any:
            return np.concatenate([part[path] for part in self.parts])

        def histories() -> Iterator[tuple[Field | Stack, np.ndarray]]:
            for item, shape, dtype in stacks.datasets:
                if not self.parts:
                    yield item, np.empty((0, *shape), dtype=dtype)
                elif isinstance(item, Stack):
                    yield item, item.join({member.path: history(member.path) for member in item.members})
                else:
                    yield item, history(item.path).astype(dtype)

        def fill(root: Any) -> None:
            t = history("time") if self.parts else np.zeros(0)
            write_whole(root, stacks, t, histories(), self.events, self._checkpoint)
            write_items(root, self.items)
            own = {key: value for key, value in self.attributes.items() if not key.startswith("format")}
            t_reached = own.pop("t_reached", float("nan"))
            hdf5.attributes(root, **own, t_reached=t_reached, wall_seconds=time.monotonic() - self._started)

        with disk.told(self.target):
            hdf5.build_file(
                self.target, fill, format=FORMAT, version=FORMAT_VERSION, overwrite=True, sync=False
            )
