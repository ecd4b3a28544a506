"""Histories of the same kind of many parts side by side in one dataset, and back by name (layout 2).

A dataset costs some kilobytes beside its numbers, and files of many parts were mostly that. What a layout
calls `bodies/rod/position` is a part of `bodies/position`: its second dimension are the parts, named in
`bodies/name`, or, where parts have different numbers of entries, all their entries, and `bodies/mode_part`
names the part of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.results.layout import FLAGS, Axis, Field, Layout


@dataclass(frozen=True)
class Stack:
    """Fields `group/NAME/quantity` of several parts; `ragged`: of entries, else of parts.

    `axis`: its second dimension; `parts`: the dataset that names the part of each of its entries.
    """

    path: str
    members: tuple[Field, ...]
    sizes: tuple[int, ...]
    axis: str
    ragged: bool

    @property
    def further(self) -> tuple[str, ...]:
        """Paths of the dimensions behind the second."""
        return () if self.ragged else self.members[0].axes

    @property
    def parts(self) -> str:
        return f"{self.axis}_part" if self.ragged else self.axis

    @cached_property
    def columns(self) -> dict[str, int | slice]:
        """Where each field stands along the second dimension: a slice where it has axes of its own."""
        ends = np.cumsum(self.sizes).tolist()
        return {
            member.path: slice(end - size, end) if self.ragged and member.axes else end - size
            for member, end, size in zip(self.members, ends, self.sizes, strict=True)
        }

    @property
    def width(self) -> int:
        return sum(self.sizes)

    def each(self, values: list[Any]) -> list[Any]:
        """A value per field as one per entry."""
        return [value for value, size in zip(values, self.sizes, strict=True) for _ in range(size)]

    def join(self, samples: Mapping[str, Any]) -> np.ndarray:
        """The histories of all members in one array."""
        found = [np.asarray(samples[m.path], dtype=m.dtype) for m in self.members]
        if not self.ragged:
            return np.stack(found, axis=1)
        return np.concatenate([x.reshape(len(x), n) for x, n in zip(found, self.sizes, strict=True)], axis=1)


@dataclass(frozen=True)
class Stacks:
    """What datasets a layout makes: stacks, and fields that stand alone."""

    layout: Layout
    stacks: tuple[Stack, ...]
    alone: tuple[Field, ...]

    @cached_property
    def place(self) -> dict[str, Stack]:
        """The stack of each field that is in one."""
        return {member.path: stack for stack in self.stacks for member in stack.members}

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Dimensions that datasets have beside time and those of `write_parts`."""
        used = {path for item in (*self.alone, *(s.members[0] for s in self.stacks if not s.ragged))
                for path in item.axes}  # fmt: skip
        return tuple(axis for axis in self.layout.axes if axis.path in used or "/" not in axis.path)

    @cached_property
    def datasets(self) -> tuple[tuple[Field | Stack, tuple[int, ...], str], ...]:
        """All of them with the shape of one sample and the type."""
        alone = [(item, self.layout.shape(item), item.dtype) for item in self.alone]
        behind = [() if s.ragged else self.layout.shape(s.members[0]) for s in self.stacks]
        joined = [
            (s, (s.width, *rest), s.members[0].dtype) for s, rest in zip(self.stacks, behind, strict=True)
        ]
        return (*alone, *joined)

    def join(self, samples: Mapping[str, Any]) -> Iterator[tuple[str, np.ndarray]]:
        """Path and numbers of each dataset."""
        for item in self.alone:
            yield item.path, np.asarray(samples[item.path], dtype=item.dtype)
        for stack in self.stacks:
            yield stack.path, stack.join(samples)


def stacked(layout: Layout, version: int = 2) -> Stacks:
    """The stacks of a layout; version 1 had none."""
    groups: dict[tuple[str, str], list[Field]] = {}
    for item in layout.fields:
        words = item.path.split("/")
        if version > 1 and len(words) == 3 and len(item.axes) < 2:
            groups.setdefault((words[0], words[2]), []).append(item)
    groups = {key: items for key, items in groups.items() if any(0 not in layout.shape(x) for x in items)}
    whole: dict[str, set[str]] = {}
    for (group, _), items in groups.items():
        whole.setdefault(group, set()).update(_name(item) for item in items)
    known: dict[str, Any] = {}
    stacks = tuple(_stack(layout, key, items, whole[key[0]], known) for key, items in groups.items())
    inside = {member.path for stack in stacks for member in stack.members}
    return Stacks(layout, stacks, tuple(item for item in layout.fields if item.path not in inside))


def _name(item: Field) -> str:
    """Name of the part that a field belongs to."""
    return item.path.split("/")[1]


def _stack(
    layout: Layout, key: tuple[str, str], items: list[Field], whole: set[str], known: dict[str, Any]
) -> Stack:
    """The stack of one quantity of a group; `known` are the axes so far, with what they stand for."""
    group, quantity = key
    own = f"{group}/{_name(items[0])}/"
    common = {item.axes for item in items}
    ragged = len(common) > 1 or any(path.startswith(own) for path in items[0].axes)
    names = tuple(_name(item) for item in items)
    entries = (group, names, tuple(item.axes for item in items) if ragged else ())
    axis = next((path for path, found in known.items() if found == entries), "")
    if not axis:
        words = {_told(item.axes[0]) if item.axes else "/" for item in items}
        word = "name" if set(names) == whole else f"{quantity}_name"
        word = word if not ragged else min(words) if len(words) == 1 else "/"
        axis = (
            f"{group}/{word}"
            if not word.startswith("/") and f"{group}/{word}" not in known
            else f"{group}/{quantity}_entry"
        )
    known[axis] = entries
    sizes = tuple(int(np.prod(layout.shape(item))) for item in items) if ragged else (1,) * len(items)
    return Stack(f"{group}/{quantity}", tuple(items), sizes, axis, ragged)


def write_parts(root: Any, stacks: Stacks) -> dict[str, Any]:
    """The second dimensions of all stacks, with the tables that name their entries; scales by path."""
    scales: dict[str, Any] = {}
    for stack in stacks.stacks:
        if stack.axis in scales:
            continue
        folder, _, word = stack.axis.rpartition("/")
        group, names = root.require_group(folder), [_name(member) for member in stack.members]
        if not stack.ragged:
            scales[stack.axis] = hdf5.scale(group, word, hdf5.text_array(names))
            continue
        axes = [
            stacks.layout.axis(member.axes[0]) if member.axes else Axis("", 1) for member in stack.members
        ]
        numbers = [np.array(axis.values) if axis.values else np.arange(axis.size) for axis in axes]
        scales[stack.axis] = scale = hdf5.scale(group, word, np.concatenate(numbers))
        tables = {
            "part": stack.each(names),
            "axis": stack.each([_told(axis.path) for axis in axes]),
            "label": [label for axis in axes for label in (axis.labels or ("",) * axis.size)],
        }
        for table, texts in tables.items():
            hdf5.dataset(group, f"{word}_{table}", hdf5.text_array(texts), scales=[scale])
    return scales


def _told(path: str) -> str:
    """An axis as a table names it: one of a part by its last word, a common one from the root."""
    return path.rpartition("/")[2] if path.count("/") == 2 else f"/{path}" if path else ""


def write_stack(root: Any, stack: Stack, data: np.ndarray, scales: Mapping[str, Any]) -> None:
    """Write the histories of a stack, and beside them what is not the same for all its parts."""
    folder, _, name = stack.path.rpartition("/")
    group, members = root.require_group(folder), stack.members
    attached = [scales["time"], scales[stack.axis], *(scales[path] for path in stack.further)]
    more: dict[str, Any] = {"parts": stack.parts}
    empty = [
        f"{_name(member)} {_told(member.axes[0])} {member.units}"
        for member, size in zip(members, stack.sizes, strict=True)
        if not size
    ]
    if empty:
        more["empty"] = empty
    units = list(dict.fromkeys(member.units for member in members))
    if len(units) > 1:
        told = hdf5.text_array(stack.each([member.units for member in members]))
        hdf5.dataset(group, f"{name}_units", told, scales=attached[1:2])
    flags = [flag for flag in FLAGS if any(flag in member.attributes for member in members)]
    for flag in flags:
        values = stack.each([int(member.attributes.get(flag, True)) for member in members])
        hdf5.dataset(group, f"{name}_{flag}", np.array(values, dtype=np.int8), scales=attached[1:2])
    if stack.further and attached[-1].labels:
        more["components"] = attached[-1].labels
    said = units[0] if len(units) == 1 else f"see {name}_units"
    hdf5.dataset(
        group, name, data, units=said, equation=members[0].equation, scales=attached,
        chunks=hdf5.part_chunks(data), digests=True, **more,
    )  # fmt: skip
