"""Reading a result, finished or not, by the names of its datasets."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError, unknown_name
from flexmbs.results import frames, pack, segments
from flexmbs.results.catalogue import Damaged, Place, catalogue
from flexmbs.results.channels import channel
from flexmbs.results.layout import (
    FORMAT,
    FORMAT_VERSION,
    HEADER_FORMAT,
    Axis,
    Field,
    Layout,
)
from flexmbs.results.stacks import stacked
from flexmbs.results.validate import Shape, check_numbers, validate


class Named:
    """Names of datasets of a file, and what lies below each."""

    name: str
    paths: list[str]

    def holds(self, path: str) -> bool:
        """Whether there is a dataset of this path."""
        return path in self.known

    @cached_property
    def known(self) -> frozenset[str]:
        return frozenset(self.paths)

    @cached_property
    def below(self) -> dict[str, dict[str, None]]:
        """What comes next behind each beginning of a path."""
        found: dict[str, dict[str, None]] = {}
        for path in self.paths:
            prefix = ""
            for word in path.split("/"):
                found.setdefault(prefix, {})[word] = None
                prefix += word + "/"
        return found


class FileStore(Named):
    """Datasets of a finished result; the file stays open for reading."""

    def __init__(self, path: Path) -> None:
        self._stack = contextlib.ExitStack()
        opened = hdf5.open_checked(path, format=FORMAT, max_version=FORMAT_VERSION)
        self._file = self._stack.enter_context(opened)
        self._path, self.name = path, path.name
        self._blocks: dict[str, tuple[int, Any]] = {}
        self._known: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {}
        try:
            with hdf5.readable(path):
                found = hdf5.walk(self._file)
                nodes = {name.lstrip("/"): node for name, node in found if hasattr(node, "shape")}
                self._nodes = {
                    name: node for name, node in nodes.items() if not name.startswith(hdf5.CHECKSUMS + "/")
                }
                self.attributes = _plain(self._file.attrs)
                validate(self.name, {p: _shape(p, x) for p, x in self._nodes.items()}, self.attributes)
                self._catalogue = catalogue(self._nodes)
        except Damaged as error:
            self.close()
            raise InputError(
                Diagnostic("result.invalid", path.name, str(error), "run the case again")
            ) from None
        except BaseException:
            self.close()
            raise
        self._places = self._catalogue.places
        self.paths = sorted([*(self._nodes.keys() - self._catalogue.inside), *self._places])

    def read(self, path: str) -> Any:
        with hdf5.readable(self._path):
            place = self._places.get(path)
            values = _value(self._nodes[path]) if place is None else self._at(place)
            return check_numbers(self.name, path, values)

    def _at(self, place: Place) -> Any:
        """Numbers at a place; what is read beside them is kept, as the next ones often stand there."""
        node = self._nodes[place.path]
        if place.of_axis:
            return node[place.column]
        end = place.column.stop if isinstance(place.column, slice) else place.column + 1
        low, data = self._blocks.get(place.path, (0, None))
        if data is None or not low <= place.first < end <= low + data.shape[1]:
            data, low = hdf5.read_part(node, place.first, end)
            self._blocks[place.path] = low, data
        column = slice(place.first - low, end - low)
        values = data[:, column if isinstance(place.column, slice) else column.start]
        return np.array(values)

    def shape_of(self, path: str) -> tuple[int, ...]:
        """Shape of a dataset, without reading it."""
        place = self._places.get(path)
        node = self._nodes[path if place is None else place.path]
        if place is None:
            return tuple(node.shape)
        count = (place.column.stop - place.column.start,) if isinstance(place.column, slice) else ()
        return count if place.of_axis else (node.shape[0], *count, *node.shape[2:])

    def attributes_of(self, path: str) -> dict[str, Any]:
        with hdf5.readable(self._path):
            place = self._places.get(path)
            if place is not None:
                whole, names = self._told(place.path)
                axis = place.path if place.of_axis else names[1]
                return self._catalogue.attributes(place, whole, axis)
            found = _plain(self._file[path].attrs) if path in self._file else None
        if found is None:
            raise unknown_name(self.name, path, [*self.below.get("", {}), *self.paths])
        return found

    def dimensions(self, path: str) -> tuple[str, ...]:
        """Names of the dimensions, as paths of their scales."""
        with hdf5.readable(self._path):
            place = self._places.get(path)
            if place is None:
                return _dimensions(self._nodes[path], "/")
            if place.of_axis:
                return (place.axis,)
            own = (place.axis,) if isinstance(place.column, slice) else ()
            return ("time", *own, *self._told(place.path)[1][2:])

    def _told(self, path: str) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Attributes and dimensions of a dataset of all parts, read once."""
        if path not in self._known:
            node = self._nodes[path]
            self._known[path] = _plain(node.attrs), _dimensions(node, "/")
        return self._known[path]

    def close(self) -> None:
        self._stack.close()


class Joined(Named, ABC):
    """Datasets of a result that is in pieces, described by its layout: histories, axes, and other items.

    `items`: path -> (value, attributes, dimensions).
    """

    layout: Layout
    attributes: dict[str, Any]
    items: dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]]

    @cached_property
    def _fields(self) -> dict[str, Field]:
        return {item.path: item for item in self.layout.fields}

    def holds(self, path: str) -> bool:
        """As above; histories are known without the other items, which may have to be worked out."""
        return path in self._fields or super().holds(path)

    @cached_property
    def _axes(self) -> dict[str, Axis]:
        return {axis.path: axis for axis in self.layout.axes}

    @cached_property
    def paths(self) -> list[str]:  # type: ignore[override]
        """All of them, sorted."""
        events = ("events/event", "events/time", "events/kind", "events/text")
        return sorted(["time", *events, *self._fields, *self._axes, *self.items])

    @abstractmethod
    def _count(self) -> int:
        """Number of samples."""

    @abstractmethod
    def _history(self, path: str) -> Any:
        """Values of a field, or of `time`, at all samples."""

    @abstractmethod
    def _events_so_far(self) -> dict[str, list[Any]]:
        """Times, kinds and texts."""

    def shape_of(self, path: str) -> tuple[int, ...]:
        """Shape of a dataset, without reading it where it is a history."""
        if path in self._fields:
            return (self._count(), *self.layout.shape(self._fields[path]))
        return np.shape(self._read(path))

    def read(self, path: str) -> Any:
        return check_numbers(self.name, path, self._read(path))

    def _read(self, path: str) -> Any:
        if path in self._fields or path == "time":
            return self._history(path)
        if path.startswith("events/"):
            return self._events(path.removeprefix("events/"))
        if path in self._axes:
            axis = self._axes[path]
            return np.array(axis.values) if axis.values else np.arange(axis.size)
        return self.items[path][0]

    def _events(self, name: str) -> Any:
        events = self._events_so_far()
        if name == "event":
            return np.arange(len(events["time"]))
        return np.array(events[name], dtype=float) if name == "time" else events[name]

    def attributes_of(self, path: str) -> dict[str, Any]:
        if path in self._fields:
            item = self._fields[path]
            found = {"units": item.units, "equation": item.equation} | item.attributes
            labels = self._axes[item.axes[-1]].labels if item.axes else ()
            return ({"components": list(labels)} if labels else {}) | found
        if path in self._axes:
            axis = self._axes[path]
            return {"units": axis.units} | ({"labels": list(axis.labels)} if axis.labels else {})
        if path in self.items:
            return self.items[path][1]
        return {"units": "s" if path in ("time", "events/time") else "1"}

    def dimensions(self, path: str) -> tuple[str, ...]:
        if path in self._fields:
            return ("time", *self._fields[path].axes)
        if path == "time" or path in self._axes:
            return (path,)
        if path.startswith("events/"):
            return ("events/event",)
        return self.items[path][2] if path in self.items else ()

    def close(self) -> None:
        """Nothing stays open."""


class PartsStore(Joined):
    """Datasets of a running, interrupted or failed result: the segments, joined on reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries = segments.read_manifest(folder)
        for entry in self.entries:
            segments.check_segment(folder, entry)
        opened = hdf5.open_checked(folder / segments.HEADER, format=HEADER_FORMAT, max_version=FORMAT_VERSION)
        with opened as file:
            self.layout = segments.layout_of(folder, file)
            self.stacks = stacked(self.layout, int(file.attrs["format_version"]))
            top = file["items"] if isinstance(file.get("items"), hdf5.Group) else file
            nodes = {name.lstrip("/"): node for name, node in hdf5.walk(top) if hasattr(node, "shape")}
            self.items = {
                path: (_value(node), _plain(node.attrs), _dimensions(node, "/items/"))
                for path, node in nodes.items()
            }
            shapes = {
                path: Shape(node.dtype.kind, node.shape, partial(self._item_dimensions, path))
                for path, node in nodes.items()
            }
            self.attributes = _plain(file.attrs) | self._state()
        self.name = folder.name
        validate(self.name, shapes | self._shapes(), self.attributes)

    def _count(self) -> int:
        return sum(entry.samples for entry in self.entries)

    def _item_dimensions(self, path: str) -> tuple[str, ...]:
        found: tuple[str, ...] = self.items[path][2]
        return found

    def _shapes(self) -> dict[str, Shape]:
        """What the fields are: the pieces of the segments are compared with it when they are read."""
        count = self._count()
        found = {"time": Shape("f", (count,), lambda: ("time",))}
        for item in self.layout.fields:
            shape = (count, *self.layout.shape(item))
            found[item.path] = Shape(np.dtype(item.dtype).kind, shape, lambda: ("time",))
        return found

    def _state(self) -> dict[str, Any]:
        t = self.entries[-1].t if self.entries else float("nan")
        return {"format": FORMAT, "t_reached": t} | segments.read_status(self.folder)

    def _history(self, path: str) -> Any:
        if path == "time":
            return np.concatenate([np.zeros(0), *pack.gather(self.folder, self.entries, "time")])
        return pack.gather_field(self.folder, self.entries, self._fields[path], self.stacks)

    def _events_so_far(self) -> dict[str, list[Any]]:
        return pack.read_events(self.folder, self.entries)


class Branch(Mapping[str, Any]):
    """The part of a result below one path: `result.bodies["rod"].q`."""

    def __init__(self, store: FileStore | Joined, prefix: str, cache: dict[str, Any]) -> None:
        self._store, self._prefix, self._cache = store, prefix, cache

    def __getitem__(self, name: str) -> Any:
        path = self._prefix + str(name)
        if not self._store.holds(path):
            path = self._prefix + str(name).replace(".", "/")
        if path in self._cache:
            return self._cache[path]
        if self._store.holds(path):
            return self._cache.setdefault(path, self._store.read(path))
        if path + "/" in self._store.below:
            return Branch(self._store, path + "/", self._cache)
        where = f"{self._store.name}:/{self._prefix}".rstrip("/")
        raise unknown_name(where, str(name), list(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.below.get(self._prefix, {}))

    def __len__(self) -> int:
        return len(self._store.below.get(self._prefix, {}))

    def __contains__(self, name: object) -> bool:
        """Whether there is something of that name; nothing is read for it."""
        path = self._prefix + str(name).replace(".", "/")
        return self._store.holds(path) or path + "/" in self._store.below

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        return f"<{self._prefix or 'result'}: {', '.join(self)}>"


class Result(Branch):
    """A result file or the folder of an unfinished one, read on demand.

    `result.time`, `result.bodies["rod"].q`, `result["energy/kinetic"]`, `result.channel("rod.q[0]")`.
    """

    def __init__(self, store: FileStore | Joined, path: Path) -> None:
        super().__init__(store, "", {})
        self._path = path

    @classmethod
    def load(cls, path: str | Path, *, unfinished: bool = False) -> Result:
        """Open a result by its name; an unfinished one (`path.parts`) is found by the same name.

        Where there are both, the file is the result of an earlier run: `unfinished` opens the other.
        """
        path = Path(path)
        folder = segments.parts_folder(path)
        if (unfinished or not path.is_file()) and (folder / segments.HEADER).is_file():
            return cls(PartsStore(folder), path)
        return cls(FileStore(path), path)

    def __repr__(self) -> str:
        """Status, what there is, and the metrics."""
        metrics = [f"{p.removeprefix('metrics/')} = {float(self[p]):.6g}" for p in self.paths
                   if p.startswith("metrics/")]  # fmt: skip
        end = f"; metrics: {', '.join(metrics)}" if metrics else ""
        return f"<result {self._path.name}, {self.status}: {', '.join(self)}{end}>"

    @property
    def path(self) -> Path:
        return self._path

    @property
    def attributes(self) -> dict[str, Any]:
        """Root attributes: status, message, t_reached, ..."""
        return self._store.attributes

    @property
    def status(self) -> str:
        return str(self.attributes["status"])

    @property
    def paths(self) -> list[str]:
        """Paths of all datasets."""
        return list(self._store.paths)

    def holds(self, path: str) -> bool:
        """Whether there is a dataset of this path."""
        return self._store.holds(path)

    def attributes_of(self, path: str) -> dict[str, Any]:
        """Attributes of a dataset: units, equation, components, ..."""
        return self._store.attributes_of(path)

    def shape_of(self, path: str) -> tuple[int, ...]:
        """Shape of a dataset; histories are not read for it."""
        return self._store.shape_of(path)

    def units(self, path: str) -> str:
        return str(self.attributes_of(path).get("units", "1"))

    def dimensions(self, path: str) -> tuple[str, ...]:
        """Dimensions of a dataset, as paths of their scales; the first of a history is `time`."""
        return self._store.dimensions(path)

    def channel(self, text: str) -> Any:
        """Values of a channel as case files write them, `main.position`, `joints.main.position[-1]`."""
        return channel(self, text)

    def show(self) -> Any:
        """The motion as a moving picture: in a notebook in place, else in the browser."""
        return import_module("flexmbs.post.show").show(self)  # late: pictures stand above this room

    def _repr_html_(self) -> str:
        """A small table in notebooks."""
        return str(import_module("flexmbs.post.cards").card(self))  # late, as for show()

    def to_xarray(self) -> Any:
        """The whole result as an `xarray.DataTree`."""
        return frames.to_xarray(self)

    def to_pandas(self) -> Any:
        """All histories as one table with time as its index, columns named like channels."""
        return frames.to_pandas(self)

    def checkpoint(self) -> dict[str, Any]:
        """Complete state of the integrator at the end."""
        if isinstance(self._store, PartsStore):
            if not self._store.entries:
                what = "holds no step yet"
                raise InputError(Diagnostic("result.empty", self._path.name, what, "wait, or --resume"))
            return pack.read_checkpoint(self._store.folder, self._store.entries[-1])
        return _nested({p: self[p] for p in self.paths if p.startswith("checkpoint/")})["checkpoint"]

    def close(self) -> None:
        """Close the file; reading datasets that were not read before is then an error."""
        self._store.close()


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in flat.items():
        *folders, name = path.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[name] = value
    return tree


def _value(node: Any) -> Any:
    value = hdf5.read_whole(node)
    if node.dtype.kind == "S":
        return [hdf5.text(item) for item in value.tolist()] if node.ndim else hdf5.text(value)
    return value


def _shape(path: str, node: Any) -> Shape:
    return Shape(node.dtype.kind, node.shape, lambda: _dimensions(node, "/"))


def _dimensions(node: Any, root: str) -> tuple[str, ...]:
    """Paths of the scales of a dataset, below `root`; a scale is its own."""
    found = enumerate(hdf5.dimensions(node))
    return tuple(path.removeprefix(root) if path else f"dim_{k}" for k, path in found)


def _plain(attrs: Any) -> dict[str, Any]:
    """Attributes of a node without those that HDF5 keeps for itself; texts decoded."""
    hidden = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "dimensions", "content_sha256"}
    plain: dict[str, Any] = {}
    for name, value in attrs.items():
        if name in hidden:
            continue
        if isinstance(value, bytes):
            plain[name] = hdf5.text(value).strip()
        elif isinstance(value, np.ndarray) and value.dtype.kind == "S":
            plain[name] = hdf5.texts(value)
        else:
            plain[name] = value.item() if isinstance(value, np.generic) else value
    return plain
