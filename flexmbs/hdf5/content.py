"""Datasets, attributes and trees of an open file; every link is a hard one, and the content has a hash."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
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
#: where digests of the chunks of large datasets stand
CHECKSUMS = "checksums"


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


def content_hash(root: Group) -> str:
    """SHA-256 over the names, shapes, types and bytes of all datasets, or the digests of their chunks."""
    digest = hashlib.sha256()
    nodes = {name: node for name, node in walk(root) if isinstance(node, h5py.Dataset)}
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
