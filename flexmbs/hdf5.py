"""HDF5 behind one door: whole files or none on the way out, nothing trusted on the way in.

Writing: the file is built under a temporary name in the target's folder, through a file object that
never raises (an exception inside HDF5's driver ends the interpreter), then synced and renamed.
Reading: only hard links, plain numbers and fixed-length strings, known filters; sizes are checked before
anything is read, and the hash of the content is compared with the stored one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np
from h5py import Dataset, Group

from flexmbs.errors import Diagnostic, InputError

MAX_DATASET_BYTES = 64 * 2**30
MAX_OBJECTS = 200_000
ALLOWED_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


class _QuietFile:
    """A raw file that keeps its first error instead of raising it; HDF5 cannot survive an exception."""

    def __init__(self, raw: BinaryIO) -> None:
        self.raw = raw
        self.error: OSError | None = None

    def _guard(self, action: Callable[[], Any], otherwise: Any) -> Any:
        if self.error is None:
            try:
                return action()
            except OSError as error:
                self.error = error
        return otherwise

    def write(self, data: Any) -> int:
        self._guard(lambda: self.raw.write(data), None)
        return len(data)

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._guard(lambda: self.raw.read(size), b"")
        return data

    def readinto(self, buffer: Any) -> int:
        count: int = self._guard(lambda: self.raw.readinto(buffer), 0)  # type: ignore[attr-defined]
        return count

    def seek(self, offset: int, whence: int = 0) -> int:
        place: int = self._guard(lambda: self.raw.seek(offset, whence), 0)
        return place

    def tell(self) -> int:
        place: int = self._guard(self.raw.tell, 0)
        return place

    def truncate(self, size: int | None = None) -> int:
        length: int = self._guard(lambda: self.raw.truncate(size), 0)
        return length

    def flush(self) -> None:
        self._guard(self.raw.flush, None)


def write_error(path: Path, error: OSError) -> InputError:
    reason = (
        "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror or error)
    )
    return InputError(
        Diagnostic(
            "file.write", str(path), f"could not be written: {reason}", "nothing was left under this name"
        )
    )


def sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_file(path: Path, overwrite: bool) -> Iterator[BinaryIO]:
    """A new file that appears under `path` only when the block ends well, whole and synced."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(
            Diagnostic("file.exists", str(path), "exists already", "use --overwrite, or another name with -o")
        )
    if not path.parent.is_dir():
        raise InputError(
            Diagnostic("file.folder", str(path), f'there is no folder "{path.parent}"', "create it")
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w+b", buffering=0) as raw:
            yield raw  # type: ignore[misc]
            os.fsync(raw.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def build_file(
    path: str | Path,
    fill: Callable[[Group], None],
    *,
    format: str,
    version: int,
    overwrite: bool = False,
) -> None:
    """Write an HDF5 file whole or not at all; `fill` receives the root group.

    The root gets `format`, `format_version` and `content_sha256`.
    """
    with atomic_file(Path(path), overwrite) as raw:
        quiet = _QuietFile(raw)
        try:
            with h5py.File(quiet, "w", libver=("v110", "v110")) as file:
                fill(file)
                attributes(file, format=format, format_version=version, content_sha256=content_hash(file))
        finally:
            if quiet.error is not None:  # whatever HDF5 said afterwards: this is the cause
                raise quiet.error


def attributes(node: Group | Dataset, **values: Any) -> None:
    """Set attributes; texts (and lists of texts) become fixed-length strings, which every reader knows."""
    for name, value in values.items():
        if isinstance(value, str):
            value = np.bytes_(value.encode("utf-8") or b" ")
        elif isinstance(value, list | tuple) and value and all(isinstance(item, str) for item in value):
            value = text_array(value)
        elif isinstance(value, list | tuple) and not value:
            value = np.zeros(0)
        node.attrs.create(name, value)


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
    **extra: Any,
) -> Dataset:
    """Create a dataset with checksum, `units`, `equation` and dimension scales (None: no scale there)."""
    if isinstance(data, str):
        data = np.bytes_(data.encode("utf-8") or b" ")
    elif isinstance(data, list | tuple) and data and all(isinstance(item, str) for item in data):
        data = text_array(data)
    array = np.asarray(data)
    if array.dtype.kind not in "fiubSc":
        raise TypeError(f"{name}: dtype {array.dtype} does not go into a file")
    filters: dict[str, Any] = {}
    if array.ndim and array.size:
        filters = {"fletcher32": True, "chunks": chunk_shape(array)}
        if compress:
            filters |= {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    node = group.create_dataset(name, data=array, dtype=array.dtype, track_times=False, **filters)
    attributes(node, units=units or "1", **({"equation": equation} if equation else {}), **extra)
    for axis, scale in enumerate(scales):
        if scale is not None:
            node.dims[axis].attach_scale(scale)
    return node


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


def content_hash(root: Group) -> str:
    """SHA-256 over the names, shapes, types and bytes of all datasets."""
    digest = hashlib.sha256()
    for name, node in sorted(walk(root)):
        if isinstance(node, h5py.Dataset):
            digest.update(f"{name}{node.shape}{node.dtype.str}".encode())
            for block in blocks(node):
                digest.update(np.ascontiguousarray(block).tobytes())
    return digest.hexdigest()


def blocks(node: Dataset, target_bytes: int = 2**24) -> Iterator[np.ndarray]:
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
                raise _refused(root, path, f"holds more than {MAX_OBJECTS} objects")
            full = f"{path}/{name}"
            if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise _refused(root, full, "is a soft or external link")
            if full.count("/") > 20:
                raise _refused(root, full, "is nested too deeply")
            node = group[name]
            yield full, node
            if isinstance(node, h5py.Group):
                stack.append((full, node))


def _refused(root: Group, where: str, what: str) -> InputError:
    name = Path(str(root.file.filename)).name
    return InputError(Diagnostic("file.unsafe", name, f"{where} {what}", "such files are not read"))


def _check_dataset(root: Group, path: str, node: Dataset) -> None:
    plist = node.id.get_create_plist()
    if plist.get_external_count() or plist.get_layout() == h5py.h5d.VIRTUAL:
        raise _refused(root, path, "stores its data elsewhere")
    filters = {plist.get_filter(k)[0] for k in range(plist.get_nfilters())}
    if filters - ALLOWED_FILTERS:
        raise _refused(root, path, f"needs the unknown filter {min(filters - ALLOWED_FILTERS)}")
    if (
        node.dtype.kind not in "fiubSc"
        or h5py.check_string_dtype(node.dtype) is not None
        and node.dtype.kind != "S"
    ):
        raise _refused(root, path, f"has the type {node.dtype}")
    if node.size and node.size * node.dtype.itemsize > MAX_DATASET_BYTES:
        raise _refused(root, path, f"claims {node.size * node.dtype.itemsize / 2**30:.0f} GiB")


def _unreadable(path: Path, said: str, formats: Sequence[str]) -> InputError:
    """Why a file does not open; of one that was cut off, how much is there."""
    sizes = re.search(r"truncated file: eof = (\d+),.* stored_eof = (\d+)", said)
    if sizes is not None:
        what = f"is cut off: {sizes[1]} of {sizes[2]} bytes are there"
        return InputError(Diagnostic("file.format", path.name, what, "copy it or make it again"))
    what = "is a folder" if path.is_dir() else f"is not a readable HDF5 file ({said})"
    if "signature not found" in said:
        what = "is not an HDF5 file"
    return InputError(Diagnostic("file.format", path.name, what, f"expected {' or '.join(formats)}"))


@contextlib.contextmanager
def open_checked(
    path: str | Path, *, format: str | Sequence[str], max_version: int, verify: bool = True
) -> Iterator[h5py.File]:
    """Open a file of ours for reading, after checking that it is one, whole, and safe to read."""
    path = Path(path)
    formats = [format] if isinstance(format, str) else list(format)
    try:
        file = h5py.File(path, "r", locking="best-effort")
    except FileNotFoundError:
        raise InputError(Diagnostic("file.missing", str(path), "there is no such file")) from None
    except OSError as error:
        raise _unreadable(path, str(error).splitlines()[0], formats) from None
    with file:
        try:
            _check_file(file, path, formats, max_version, verify)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            what = f"is damaged: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
            raise InputError(Diagnostic("file.damaged", path.name, what, "write it again")) from None
        yield file


def _check_file(file: h5py.File, path: Path, formats: list[str], max_version: int, verify: bool) -> None:
    found = text(file.attrs["format"]) if "format" in file.attrs else "no format attribute"
    if found not in formats:
        raise InputError(
            Diagnostic("file.format", path.name, f'is "{found}"', f"expected {' or '.join(formats)}")
        )
    version = int(file.attrs["format_version"])
    if version > max_version:
        what = f"has format_version {version}, this flexmbs reads up to {max_version}"
        raise InputError(Diagnostic("file.version", path.name, what, "use a newer flexmbs"))
    for name, node in walk(file):
        if isinstance(node, h5py.Dataset):
            _check_dataset(file, name, node)
    if verify and text(file.attrs["content_sha256"]) != content_hash(file):
        what = "is damaged: its content does not match its checksum"
        raise InputError(Diagnostic("file.damaged", path.name, what, "write it again"))


def file_format(path: str | Path) -> str:
    """The `format` attribute of an HDF5 file, or "" when the file is none of ours."""
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            return text(file.attrs["format"]) if "format" in file.attrs else ""
    except OSError:
        return ""


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


@contextlib.contextmanager
def lock(path: str | Path) -> Iterator[None]:
    """Hold the lock of `path` while the block runs; a second holder is told who has it."""
    lock_path = Path(f"{path}.lock")
    try:
        opened = open(lock_path, "a+", encoding="utf-8")
    except OSError as error:
        raise write_error(Path(path), error) from None
    with opened as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat(lock_path)  # gone: the last holder has just removed the file that was opened here
        except OSError:
            handle.seek(0)
            holder = handle.read().strip() or "another process"
            what = f"is being written by {holder}"
            raise InputError(
                Diagnostic("file.locked", str(path), what, "wait for it, or choose another result with -o")
            ) from None
        handle.truncate(0)
        handle.write(f"process {os.getpid()}")
        handle.flush()
        try:
            yield
        finally:
            lock_path.unlink(missing_ok=True)
