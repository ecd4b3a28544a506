"""A draft becomes a file: object by object where its structure is new, else by other numbers in one like it.

HDF5 takes a third of a millisecond to make a dataset with its attributes, and ten microseconds to change its
numbers. Runs of one study, and segments of one run, differ in their numbers only, so the image of a small
file is kept: the next one of the same structure is that image with what is different.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5o, h5p, h5s, h5t

from flexmbs.hdf5.content import CHECKSUMS, text_array
from flexmbs.hdf5.quiet import opened

if TYPE_CHECKING:
    from flexmbs.hdf5.draft import Draft, Node

#: images that are kept, and bytes of the largest
MOST, LARGEST = 8, 2**22


def create(file: h5py.File, node: Node) -> None:
    """An object, with its numbers."""
    name = node.path.encode()
    if node.array is None:
        h5g.create(file.id, name, _links(), _group())
        return
    array, space = node.array, h5s.create_simple(node.array.shape)
    kind = _stored_as(array.dtype)
    made = h5d.create(file.id, name, kind, space, _properties(node.chunks, node.compress), _links())
    if array.size:
        made.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(array), mtype=kind)


@cache
def _links() -> Any:
    found = h5p.create(h5p.LINK_CREATE)
    found.set_char_encoding(h5t.CSET_UTF8)
    return found


@cache
def _group() -> Any:
    found = h5p.create(h5p.GROUP_CREATE)
    found.set_obj_track_times(False)
    return found


@cache
def _properties(chunks: tuple[int, ...] | None, compress: bool) -> Any:
    """How a dataset is stored: the same content gives the same bytes, so without the time of day."""
    found = h5p.create(h5p.DATASET_CREATE)
    found.set_obj_track_times(False)
    if chunks is not None:
        found.set_chunk(chunks)
        if compress:
            found.set_shuffle()
            found.set_deflate(1)
        found.set_fletcher32()
    return found


@cache
def _stored_as(dtype: np.dtype) -> Any:
    """The type of HDF5 for one of NumPy."""
    return h5t.py_create(dtype, logical=True)


def describe(file: h5py.File, draft: Draft) -> None:
    """What is said of all objects but the root, when all are there: attributes and scales.

    The datasets of a scale are told to it at once. HDF5 would add each to a list in the scale, and write the
    list anew each time: of thousands of datasets most of the file would be old lists.
    """
    users: dict[str, list[Any]] = {}
    for node in draft.nodes.values():
        if not (node.attributes or node.scale or node.scales):
            continue
        made = h5o.open(file.id, node.path.encode())
        write_attributes(made, node.attributes)
        if node.scale:
            h5py.h5ds.set_scale(made, node.scale.encode())
        if node.scales:
            _attach(file, made, node.scales)
            for axis, path in enumerate(node.scales):
                if path:
                    users.setdefault(path, []).append((_reference(file, node.path), axis))
    kind = np.dtype([("dataset", h5py.ref_dtype), ("dimension", "<u4")])
    for path, found in users.items():
        file[path].attrs.create("REFERENCE_LIST", np.array(found, dtype=kind))


def _reference(file: h5py.File, path: str) -> Any:
    return h5py.h5r.create(file.id, path.encode(), h5py.h5r.OBJECT)


def _attach(file: h5py.File, made: Any, scales: tuple[str, ...]) -> None:
    """Name the scales of a dataset's dimensions, for HDF5 and as texts."""
    found = np.empty(len(scales), dtype=object)
    for axis, path in enumerate(scales):
        found[axis] = np.array([_reference(file, path)] if path else [], dtype=h5py.ref_dtype)
    kind = h5py.vlen_dtype(h5py.ref_dtype)
    h5py.AttributeManager(h5py.Dataset(made)).create("DIMENSION_LIST", found, dtype=kind)
    write_attributes(made, {"dimensions": list(scales)})


def write_attributes(made: Any, values: Mapping[str, Any]) -> None:
    """Attributes of an object; texts (and lists of texts) become fixed-length strings."""
    for name, value in values.items():
        array = _as_array(value)
        kind = _stored_as(array.dtype)
        attribute = h5a.create(made, name.encode(), kind, h5s.create_simple(array.shape))
        attribute.write(np.ascontiguousarray(array), mtype=kind)


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, str):
        return np.asarray(np.bytes_(value.encode("utf-8") or b" "))
    if isinstance(value, list | tuple):
        is_text = value and all(isinstance(item, str) for item in value)
        return text_array(value) if is_text else np.asarray(value, dtype=None if value else float)
    return np.asarray(value)


def content_of(draft: Draft) -> tuple[str, list[bytes]]:
    """What `content_hash` finds in the file, from the draft; and the bytes of all datasets in its order."""
    arrays = [(node.path, node.array) for node in draft.nodes.values() if node.array is not None]
    raw = [array.tobytes() for _, array in arrays]
    digest = hashlib.sha256()
    for (path, array), data in sorted(zip(arrays, raw, strict=True), key=lambda item: item[0][0]):
        digest.update(f"{path}{array.shape}{array.dtype.str}".encode())
        if f"/{CHECKSUMS}{path}" not in draft.nodes:
            digest.update(data)
    return digest.hexdigest(), raw


def image(draft: Draft, raw: list[bytes]) -> bytes:
    """The bytes of the file; `raw` are those of its datasets."""
    if any(node.compress for node in draft.nodes.values()):  # other numbers take other room
        return _built(draft)
    key = structure(draft)
    mould = _MOULDS.pop(key, None)
    found = _built(draft) if mould is None else mould.cast(draft, raw)
    if len(found) <= LARGEST:
        _MOULDS[key] = mould or Mould(found, raw, dict(draft.root.attributes))
        while len(_MOULDS) > MOST:
            _MOULDS.popitem(last=False)
    return found


def _built(draft: Draft) -> bytes:
    found = io.BytesIO()
    with opened(found, sys.maxsize) as file:
        for node in draft.nodes.values():
            create(file, node)
        describe(file, draft)
        write_attributes(h5o.open(file.id, b"/"), draft.root.attributes)
    return found.getvalue()


def structure(draft: Draft) -> Hashable:
    """All of a draft but the numbers of its datasets and of the attributes of its root."""
    parts: list[Hashable] = [(name, _kind_of(value)) for name, value in draft.root.attributes.items()]
    for node in draft.nodes.values():
        told = tuple((name, _told(value)) for name, value in node.attributes.items())
        data = (node.array.shape, node.array.dtype.str) if node.array is not None else None
        parts.append((node.path, data, node.chunks, node.compress, node.scales, node.scale, told))
    return tuple(parts)


def _told(value: Any) -> Hashable:
    """A value of an attribute as a key: equal ones are stored alike."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    return (*_kind_of(value), _as_array(value).tobytes())


def _kind_of(value: Any) -> tuple[Any, ...]:
    array = _as_array(value)
    return array.shape, array.dtype.str


@dataclass(frozen=True)
class Mould:
    """A whole file: its bytes, those of its datasets, and the attributes of its root."""

    image: bytes
    raw: list[bytes]
    attributes: dict[str, Any]

    def cast(self, draft: Draft, raw: list[bytes]) -> bytes:
        """The file with other numbers."""
        nodes = [node for node in draft.nodes.values() if node.array is not None]
        changed = [node for node, old, new in zip(nodes, self.raw, raw, strict=True) if old != new]
        said = {
            name: value
            for name, value in draft.root.attributes.items()
            if _as_array(value).tobytes() != _as_array(self.attributes[name]).tobytes()
        }
        file = self._opened()
        for node in changed:
            array = np.ascontiguousarray(node.array)
            made = h5o.open(file, node.path.encode())
            made.write(h5s.ALL, h5s.ALL, array, mtype=_stored_as(array.dtype))
        root = h5o.open(file, b"/")
        for name, value in said.items():
            array = _as_array(value)
            h5a.open(root, name.encode()).write(np.ascontiguousarray(array), mtype=_stored_as(array.dtype))
        h5f.flush(file)
        found = bytes(file.get_file_image())
        file.close()
        return found

    def _opened(self) -> Any:
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_fapl_core(2**16, False)
        access.set_file_image(self.image)
        access.set_libver_bounds(h5f.LIBVER_V110, h5f.LIBVER_V110)
        access.set_fclose_degree(h5f.CLOSE_STRONG)
        return h5f.open(b"image", h5f.ACC_RDWR, access)


_MOULDS: OrderedDict[Hashable, Mould] = OrderedDict()
