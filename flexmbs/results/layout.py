"""What a result holds: axes, fields over time, and items that do not change."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from flexmbs import hdf5

FORMAT = "flexmbs-result"
SEGMENT_FORMAT = "flexmbs-segment"
HEADER_FORMAT = "flexmbs-result-header"
#: 1: datasets of their own for each part; 2: side by side (`stacks.py`)
FORMAT_VERSION = 2
#: attributes of fields that are flags, true where nothing is said
FLAGS = ("determinate",)


@dataclass(frozen=True)
class Axis:
    """A dimension of fields; `path` names it from the root (`xyz`, `bodies/rod/mode`).

    `labels` are the names of its entries (`x y z`), `values` its numbers (default 0, 1, ...).
    """

    path: str
    size: int
    labels: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    units: str = "1"


@dataclass(frozen=True)
class Field:
    """A dataset with time as its first dimension; `axes` are the paths of the further ones."""

    path: str
    axes: tuple[str, ...] = ()
    units: str = "1"
    equation: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    dtype: str = "float64"


@dataclass(frozen=True)
class Item:
    """A value that does not change in time, with its units.

    `axes` are the paths of its dimension scales, items with `scale` set; "" where it is only counted.
    """

    data: Any
    units: str = "1"
    equation: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    scale: bool = False


#: axes that every result has
COMMON_AXES = (
    Axis("xyz", 3, ("x", "y", "z")),
    Axis("wxyz", 4, ("w", "x", "y", "z")),
)


@dataclass(frozen=True)
class Layout:
    """Axes and fields of one result."""

    axes: tuple[Axis, ...]
    fields: tuple[Field, ...]

    @cached_property
    def by_path(self) -> dict[str, Axis]:
        return {axis.path: axis for axis in self.axes}

    def axis(self, path: str) -> Axis:
        return self.by_path[path]

    def shape(self, item: Field) -> tuple[int, ...]:
        """Shape of one sample of a field."""
        return tuple(self.axis(path).size for path in item.axes)

    @cached_property
    def sample_bytes(self) -> int:
        """Bytes of all fields at one time."""
        return sum(math.prod(self.shape(item)) * np.dtype(item.dtype).itemsize for item in self.fields)

    def to_json(self) -> str:
        return json.dumps(
            {"axes": [vars(a) for a in self.axes], "fields": [vars(f) for f in self.fields]},
            default=lambda value: value.tolist(),
        )

    @classmethod
    def from_json(cls, text: str) -> Layout:
        raw = json.loads(text)
        axes = tuple(
            Axis(**(a | {"labels": tuple(a["labels"]), "values": tuple(a["values"])})) for a in raw["axes"]
        )
        return cls(axes, tuple(Field(**(f | {"axes": tuple(f["axes"])})) for f in raw["fields"]))


def flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Item]]:
    """Leaves of a nested dictionary as (path, Item); a function is called for its part of the tree."""
    for name, value in tree.items():
        path = f"{prefix}{name}"
        value = value() if callable(value) else value
        if isinstance(value, Mapping):
            yield from flatten(value, path + "/")
        else:
            yield path, value if isinstance(value, Item) else Item(value)


def parent(group: Any, path: str) -> tuple[Any, str]:
    """Group that holds `path`, made when missing, and the last name of the path."""
    folder, _, name = path.rpartition("/")
    return (group.require_group(folder) if folder else group), name


def write_items(group: Any, tree: Mapping[str, Any]) -> None:
    """Write the items that do not change; an item named `@` holds attributes of its group."""
    items = list(flatten(tree))
    scales: dict[str, Any] = {}
    for path, item in items:
        if item.scale:
            node, name = parent(group, path)
            scales[path] = hdf5.scale(node, name, item.data, item.units)
            hdf5.attributes(scales[path], **item.attributes)
    for path, item in items:
        node, name = parent(group, path)
        if name == "@":
            hdf5.attributes(node, **item.attributes)
        if item.data is None or item.scale:
            continue
        made = [scales[axis] if axis else None for axis in item.axes]
        made = _with_counted(node, name, item.data, made)
        hdf5.dataset(
            node, name, item.data, units=item.units, equation=item.equation, scales=made, **item.attributes
        )


def _with_counted(group: Any, name: str, data: Any, scales: list[Any]) -> list[Any]:
    """Scales of all dimensions: those that have none count 0, 1, ...; netCDF asks for all of them."""
    shape = np.shape(data)
    found = scales + [None] * (len(shape) - len(scales))
    for k, n in enumerate(shape):
        if found[k] is None:
            found[k] = hdf5.scale(group, f"{name}-{k + 1}", np.arange(n))
    return found


def write_axes(group: Any, axes: Iterable[Axis]) -> dict[str, Any]:
    """Create the dimension scales; returns them by path."""
    scales = {}
    for axis in axes:
        node, name = parent(group, axis.path)
        values = np.array(axis.values) if axis.values else np.arange(axis.size, dtype=np.int64)
        scales[axis.path] = hdf5.scale(node, name, values, axis.units)
        if axis.labels:
            hdf5.attributes(scales[axis.path], labels=list(axis.labels))
    return scales


def write_field(group: Any, item: Field, data: np.ndarray, scales: Mapping[str, Any]) -> None:
    """Write the complete history of one field with its dimension scales."""
    node, name = parent(group, item.path)
    attached = [scales["time"], *(scales[path] for path in item.axes)]
    labels = {}
    if item.axes and scales[item.axes[-1]].labels:
        labels = {"components": scales[item.axes[-1]].labels}
    hdf5.dataset(
        node,
        name,
        data,
        units=item.units,
        equation=item.equation,
        scales=attached,
        digests=True,
        **(labels | item.attributes),
    )
