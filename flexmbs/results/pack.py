"""All segments of a run -> the one result file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.results import segments
from flexmbs.results.layout import (
    FORMAT,
    FORMAT_VERSION,
    SEGMENT_FORMAT,
    Field,
    Layout,
    write_axes,
    write_field,
    write_items,
)
from flexmbs.results.stacks import Stack, Stacks, stacked, write_parts, write_stack

BATCH_BYTES = 2**29  # datasets are gathered in batches of this size: one pass over the segments each
#: hashes of segments whose content was found safe to read: every history opens every segment
_LOOKED_AT: set[str] = set()
#: a dataset of a result, the shape of one sample and the type
Part = tuple[Field | Stack, tuple[int, ...], str]


def pack(
    path: Path,
    folder: Path,
    entries: Sequence[segments.Entry],
    layout: Layout,
    items: Mapping[str, Any],
    attributes: Mapping[str, Any],
    overwrite: bool = True,
) -> None:
    """Write the result file whole or not at all; numbers are those of the segments, bit for bit."""
    count, stacks = sum(entry.samples for entry in entries), stacked(layout)
    for entry in entries:
        segments.check_segment(folder, entry)

    def fill(root: Any) -> None:
        def histories() -> Iterator[tuple[Field | Stack, np.ndarray]]:
            for batch in batches(stacks, count):
                for (item, _, _), data in zip(batch, gather_parts(folder, entries, batch), strict=True):
                    yield item, data

        time = np.concatenate([np.zeros(0), *gather(folder, entries, "time")])
        checkpoint = read_checkpoint(folder, entries[-1]) if entries else None
        write_whole(root, stacks, time, histories(), read_events(folder, entries), checkpoint)
        write_items(root, items)
        hdf5.attributes(root, **attributes)

    hdf5.build_file(path, fill, format=FORMAT, version=FORMAT_VERSION, overwrite=overwrite)


def write_whole(
    root: Any,
    stacks: Stacks,
    time: np.ndarray,
    histories: Iterator[tuple[Field | Stack, np.ndarray]],
    events: Mapping[str, list[Any]],
    checkpoint: Mapping[str, Any] | None,
) -> None:
    """What of a result file depends on time, and the state to go on from."""
    scales = write_axes(root, stacks.axes) | write_parts(root, stacks)
    scales["time"] = hdf5.scale(root, "time", time, "s")
    for item, data in histories:
        if isinstance(item, Stack):
            write_stack(root, item, data, scales)
        else:
            write_field(root, item, data, scales)
    write_events(root, events)
    if checkpoint is not None:
        hdf5.write_tree(root.create_group("checkpoint"), checkpoint)


def batches(stacks: Stacks, count: int) -> Iterator[list[Part]]:
    """Datasets in groups whose histories fit into memory together."""
    batch: list[Part] = []
    size = 0
    for part in stacks.datasets:
        bytes_of_part = 8 * count * int(np.prod(part[1]))
        if batch and size + bytes_of_part > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += bytes_of_part
    if batch:
        yield batch


def each_segment(folder: Path, entries: Sequence[segments.Entry]) -> Iterator[Any]:
    """Segments one after the other, their bytes having been compared with their hash before."""
    for entry in entries:
        known = entry.sha256 in _LOOKED_AT
        with hdf5.open_checked(
            folder / entry.name, format=SEGMENT_FORMAT, max_version=FORMAT_VERSION, verify=False, known=known
        ) as file:
            _LOOKED_AT.add(entry.sha256)
            yield file


def gather(folder: Path, entries: Sequence[segments.Entry], name: str) -> list[np.ndarray]:
    """One dataset of every segment."""
    files = zip(entries, each_segment(folder, entries), strict=True)
    return [segments.piece(folder, file, entry, name, (), "f") for entry, file in files]


def gather_parts(folder: Path, entries: Sequence[segments.Entry], batch: Sequence[Part]) -> list[np.ndarray]:
    """Histories of a batch of datasets, in one pass over the segments."""
    count = sum(entry.samples for entry in entries)
    data = [np.empty((count, *shape), dtype=dtype) for _, shape, dtype in batch]
    start = 0
    for entry, file in zip(entries, each_segment(folder, entries), strict=True):
        stop = start + entry.samples
        for (item, shape, _), array in zip(batch, data, strict=True):
            kind = array.dtype.kind
            array[start:stop] = segments.piece(folder, file, entry, f"fields/{item.path}", shape, kind)
        start = stop
    return data


def gather_field(folder: Path, entries: Sequence[segments.Entry], item: Field, stacks: Stacks) -> np.ndarray:
    """History of one field."""
    stack = stacks.place.get(item.path)
    shape = stacks.layout.shape(item)
    found = np.empty((sum(entry.samples for entry in entries), *shape), dtype=item.dtype)
    start = 0
    for entry, file in zip(entries, each_segment(folder, entries), strict=True):
        stop = start + entry.samples
        if stack is None:
            found[start:stop] = segments.piece(
                folder, file, entry, f"fields/{item.path}", shape, found.dtype.kind
            )
        else:
            found[start:stop] = segments.part(folder, file, entry, stack, item)
        start = stop
    return found


def read_events(folder: Path, entries: Sequence[segments.Entry]) -> dict[str, list[Any]]:
    """Events of all segments, in order."""
    events: dict[str, list[Any]] = {"time": [], "kind": [], "text": []}
    for file in each_segment(folder, entries):
        found = hdf5.read_tree(file["events"]) if isinstance(file.get("events"), hdf5.Group) else {}
        new = {name: np.atleast_1d(found.get(name, [])).tolist() for name in events}
        if len({len(values) for values in new.values()}) > 1:
            raise segments.damaged(folder, f"the events of {Path(file.filename).name} do not belong together")
        for name, values in events.items():
            values.extend(new[name])
    return events


def write_events(root: Any, events: Mapping[str, list[Any]]) -> None:
    group = root.create_group("events")
    # a dimension of its own: a second one named `time` would clash with that of the samples in xarray
    axis = hdf5.scale(group, "event", np.arange(len(events["time"])))
    hdf5.dataset(group, "time", np.array(events["time"], dtype=float), units="s", scales=[axis])
    for name in ("kind", "text"):
        hdf5.dataset(group, name, hdf5.text_array(events[name]), scales=[axis])


def read_checkpoint(folder: Path, entry: segments.Entry) -> dict[str, Any]:
    for file in each_segment(folder, [entry]):
        if not isinstance(file.get("checkpoint"), hdf5.Group):
            raise segments.damaged(folder, f"segment {entry.name} holds no checkpoint")
        checkpoint: dict[str, Any] = hdf5.read_tree(file["checkpoint"])
    return checkpoint
