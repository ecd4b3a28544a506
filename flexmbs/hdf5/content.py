"""Datasets, attributes and trees of an open file; every link is a hard one, and the content has a hash."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import Dataset, Group

from flexmbs.errors import Diagnostic, InputError

MAX_OBJECTS = 200_000
#: bytes of a dataset that are read in one piece
AT_ONCE = 2**24
#: where digests of the chunks of large datasets stand, and how many bytes are large
CHECKSUMS, DIGESTED = "checksums", 2**20


def attributes(node: Group | Dataset, **values: Any) -> None:
    """Set attributes; texts (and lists of texts) become fixed-length strings, which every reader knows."""
    for name, value in values.items():
        if isinstance(value, str):
            value = np.bytes_(value.encode("utf-8") or b" ")
        elif isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
            value = text_array(value)
        elif isinstance(value, list | tuple) and not value:
            value = np.zeros(0)
        _attribute(node, name.encode(), np.asarray(value))


def _attribute(node: Group | Dataset, name: bytes, array: np.ndarray) -> None:
    """One attribute, as `node.attrs.create` would: files have hundreds, and that takes two thirds longer."""
    kind = _stored_as(array.dtype)
    if h5py.h5a.exists(node.id, name):
        h5py.h5a.delete(node.id, name)
    made = h5py.h5a.create(node.id, name, kind, h5py.h5s.create_simple(array.shape))
    made.write(np.ascontiguousarray(array), mtype=kind)


@cache
def _stored_as(dtype: np.dtype) -> Any:
    """The type of HDF5 for one of NumPy."""
    if dtype.kind not in "fiubSc":
        raise TypeError(f"an attribute of {dtype} does not go into a file")
    return h5py.h5t.py_create(dtype, logical=True)


def text_array(texts: Sequence[str]) -> np.ndarray:
    """Texts as an array of fixed-length UTF-8 strings."""
    encoded = [text.encode("utf-8") for text in texts]
    return np.array(encoded, dtype=f"S{max([1, *map(len, encoded)])}")


def text(value: Any) -> str:
    """A text out of an attribute or dataset element."""
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace").rstrip("\x00")
    return str(value)


def texts(value: Any) -> list[str]:
    """A list of texts out of an attribute or dataset."""
    return [
        text(item)
        for item in np.atleast_1d(np.asarray(value)).tolist()
        if np.asarray(value).dtype.kind in "SU"
    ]


def dataset(
    group: Group,
    name: str,
    data: Any,
    *,
    units: str = "",
    equation: str = "",
    scales: Sequence[Dataset | None] = (),
    compress: bool = False,
    chunks: tuple[int, ...] | None = None,
    digests: bool = False,
    **extra: Any,
) -> Dataset:
    """Create a dataset with checksum, `units`, `equation` and dimension scales (None: no scale there).

    `digests`: a large one gets a SHA-256 of every chunk, in `/checksums`, so that a part of it can be read
    and checked alone (`read_part`).
    """
    if isinstance(data, str):
        data = np.bytes_(data.encode("utf-8") or b" ")
    elif isinstance(data, list | tuple) and data and all(isinstance(item, str) for item in data):
        data = text_array(data)
    array = np.asarray(data)
    if array.dtype.kind not in "fiubSc":
        raise TypeError(f"{name}: dtype {array.dtype} does not go into a file")
    filters: dict[str, Any] = {}
    if array.ndim and array.size:
        filters = {"fletcher32": True, "chunks": chunks or chunk_shape(array)}
        if compress:
            filters |= {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    node = group.create_dataset(name, data=array, dtype=array.dtype, track_times=False, **filters)
    attributes(node, units=units or "1", **({"equation": equation} if equation else {}), **extra)
    if any(scale is not None for scale in scales):
        attach(node, scales)
    if digests and array.nbytes > DIGESTED:
        found = [digest_of(array[place]) for place in grid(array.shape, node.chunks)]
        dataset(group.file.require_group(CHECKSUMS), str(node.name).lstrip("/"), text_array(found))
    return node


def digest_of(block: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(block).data).hexdigest()


def grid(shape: Sequence[int], chunks: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """The places of all chunks, in order."""
    starts = (range(0, n, chunk) for n, chunk in zip(shape, chunks, strict=True))
    for corner in product(*starts):
        yield tuple(slice(k, min(k + c, n)) for k, c, n in zip(corner, chunks, shape, strict=True))


def part_chunks(array: np.ndarray, target_bytes: int = 2**20) -> tuple[int, ...]:
    """Chunks of histories of parts (time, part, ...): of few parts, over as many times as go into them."""
    one = max(1, int(np.prod(array.shape[2:])) * array.itemsize)
    times = max(1, min(array.shape[0], target_bytes // one))
    parts = max(1, min(array.shape[1], target_bytes // (one * times)))
    return (times, parts, *array.shape[2:])


def read_part(node: Dataset, first: int, end: int) -> tuple[np.ndarray, int]:
    """Entries first to end of the second dimension, in whole chunks, and the entry with which they begin.

    What has digests is compared with them.
    """
    sums = node.file.get(CHECKSUMS + str(node.name))
    if sums is None:
        return node[:, first:end], first
    width = node.chunks[1]
    low, high = first // width * width, min(-(-end // width) * width, node.shape[1])
    data = np.empty((node.shape[0], high - low, *node.shape[2:]), dtype=node.dtype)
    told = texts(sums[()])
    for place, wanted in zip(grid(node.shape, node.chunks), told, strict=True):
        if low <= place[1].start < high:
            block = node[place]
            if digest_of(block) != wanted:
                raise ValueError(f"{node.name} does not match its checksum")
            data[place[0], place[1].start - low : place[1].stop - low] = block
    return data, low


def read_whole(node: Dataset) -> np.ndarray:
    """All of a dataset, compared with its digests where it has them."""
    sums = node.file.get(CHECKSUMS + str(node.name))
    data = node[()]
    if sums is not None:
        found = [digest_of(data[place]) for place in grid(node.shape, node.chunks)]
        if found != texts(sums[()]):
            raise ValueError(f"{node.name} does not match its checksum")
    return data


def attach(node: Dataset, scales: Sequence[Dataset | None]) -> None:
    """Name the scales of a dataset's dimensions; in the end `name_users` tells the scales of it.

    HDF5 would add every dataset to a list in the scale, and write the list anew each time: of thousands of
    datasets most of the file would be old lists.
    """
    found = np.empty(node.ndim, dtype=object)
    for axis in range(node.ndim):
        scale = scales[axis] if axis < len(scales) else None
        found[axis] = np.array([scale.ref] if scale is not None else [], dtype=h5py.ref_dtype)
    node.attrs.create("DIMENSION_LIST", found, dtype=h5py.vlen_dtype(h5py.ref_dtype))
    attributes(node, dimensions=[str(scale.name) if scale is not None else "" for scale in scales])


def name_users(root: Group, nodes: Mapping[str, Group | Dataset]) -> None:
    """Write into every scale which datasets use it, and for which dimension: the other half of `attach`."""
    users: dict[str, list[Any]] = {}
    for node in nodes.values():
        if isinstance(node, h5py.Dataset) and h5py.h5a.exists(node.id, b"dimensions"):
            for axis, path in enumerate(texts(node.attrs["dimensions"])):
                if path:
                    users.setdefault(path, []).append((node.ref, axis))
    for path, found in users.items():
        kind = [("dataset", h5py.ref_dtype), ("dimension", "<u4")]
        root[path].attrs.create("REFERENCE_LIST", np.array(found, dtype=kind))


def dimensions(node: Dataset) -> tuple[str, ...]:
    """Paths of the scales of a dataset, "" where there is none; a scale is its own.

    They are written twice, for HDF5 and as texts, and the texts are read: a damaged list of references makes
    the library run without end.
    """
    if text(node.attrs.get("CLASS", b"")) == "DIMENSION_SCALE":
        return (str(node.name),)
    found = texts(node.attrs.get("dimensions", np.zeros(0)))
    return tuple((found + [""] * node.ndim)[: node.ndim])


def chunk_shape(array: np.ndarray, target_bytes: int = 2**20) -> tuple[int, ...]:
    """Whole rows of the first axis, about 1 MiB a chunk."""
    row = max(1, int(np.prod(array.shape[1:])) * array.itemsize)
    if row > 16 * target_bytes:
        return tuple(min(length, 256) for length in array.shape)
    return (max(1, min(array.shape[0], target_bytes // row)), *array.shape[1:])


def scale(group: Group, name: str, values: Any, units: str = "1") -> Dataset:
    """Create a dimension scale."""
    node = dataset(group, name, values, units=units)
    node.make_scale(name)
    return node


def content_hash(root: Group, there: Mapping[str, Group | Dataset] | None = None) -> str:
    """SHA-256 over the names, shapes, types and bytes of all datasets, or the digests of their chunks.

    there : all objects of the file, where they are known.
    """
    digest = hashlib.sha256()
    found = walk(root) if there is None else there.items()
    nodes = {name: node for name, node in found if isinstance(node, h5py.Dataset)}
    for name, node in sorted(nodes.items()):
        shape, dtype = node.id.shape, node.id.dtype
        digest.update(f"{name}{shape}{dtype.str}".encode())
        if f"/{CHECKSUMS}{name}" in nodes:
            continue
        if shape is not None and not dtype.hasobject and math.prod(shape) * dtype.itemsize < AT_ONCE:
            whole = np.empty(shape, dtype)
            if whole.size:
                node.id.read(h5py.h5s.ALL, h5py.h5s.ALL, whole)
            digest.update(whole.tobytes())
        else:
            for block in blocks(node):
                digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()


def blocks(node: Dataset, target_bytes: int = AT_ONCE) -> Iterator[np.ndarray]:
    """The dataset in pieces along its first axis, so that a large one need not fit into memory."""
    if node.ndim == 0 or node.size == 0:
        yield np.asarray(node[()])
        return
    step = max(1, target_bytes // max(1, node.size // node.shape[0] * node.dtype.itemsize))
    for start in range(0, node.shape[0], step):
        yield node[start : start + step]


def walk(root: Group) -> Iterator[tuple[str, Group | Dataset]]:
    """All objects below `root` by path; every link on the way must be a hard link."""
    count = 0
    stack: list[tuple[str, Group]] = [("", root)]
    while stack:
        path, group = stack.pop()
        for name in group:
            count += 1
            if count > MAX_OBJECTS:
                raise refused(root, path, f"holds more than {MAX_OBJECTS} objects")
            full = f"{path}/{name}"
            if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise refused(root, full, "is a soft or external link")
            if full.count("/") > 20:
                raise refused(root, full, "is nested too deeply")
            node = opened(group, name)
            yield full, node
            if isinstance(node, h5py.Group):
                stack.append((full, node))


def opened(group: Group, name: str) -> Group | Dataset:
    """An object of a group, as `group[name]` without what that does for references and names of types."""
    found = h5py.h5o.open(group.id, name.encode())
    if isinstance(found, h5py.h5d.DatasetID):
        return h5py.Dataset(found)
    return h5py.Group(found) if isinstance(found, h5py.h5g.GroupID) else group[name]


def refused(root: Group, where: str, what: str) -> InputError:
    name = Path(str(root.file.filename)).name
    return InputError(Diagnostic("file.unsafe", name, f"{where} {what}", "such files are not read"))


def read_tree(group: Group) -> dict[str, Any]:
    """All datasets below a group as nested dictionaries of arrays (texts decoded)."""
    tree: dict[str, Any] = {}
    for name in group:
        node = group[name]
        if isinstance(node, h5py.Group):
            tree[name] = read_tree(node)
        else:
            value = node[()]
            is_text = node.dtype.kind == "S"
            tree[name] = (texts(value) if node.ndim else text(value)) if is_text else value
    return tree


def write_tree(group: Group, tree: Mapping[str, Any]) -> None:
    """Write nested dictionaries of arrays, numbers and texts."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            write_tree(group.create_group(str(name)), value)
        else:
            dataset(group, str(name), value)
