"""Opening a file of ours after checking that it is one, whole, and safe to read."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import h5py
from h5py import Dataset, Group

from flexmbs.errors import Diagnostic, InputError
from flexmbs.hdf5.content import content_hash, refused, text, walk

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MAX_DATASET_BYTES = 64 * 2**30
#: what a file may claim beyond its own size: so much in all, and so many times its size; bytes of a piece
MOST_CLAIMED, MOST_PACKED, MAX_CHUNK_BYTES = 2**27, 30, 144 * 2**20
ALLOWED_FILTERS = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}


def stored(node: Dataset) -> tuple[bool, set[int]]:
    """Whether the numbers are in another file, and the filters that they need.

    The list of properties ends with this call: HDF5 crashes at the end of a program in which an error still
    holds that of a virtual dataset.
    """
    plist = node.id.get_create_plist()
    elsewhere = plist.get_external_count() > 0 or plist.get_layout() == h5py.h5d.VIRTUAL
    return elsewhere, {plist.get_filter(k)[0] for k in range(plist.get_nfilters())}


def _check_dataset(root: Group, path: str, node: Dataset) -> None:
    elsewhere, filters = stored(node)
    if elsewhere:
        raise refused(root, path, "stores its data elsewhere")
    if filters - ALLOWED_FILTERS:
        raise refused(root, path, f"needs the unknown filter {min(filters - ALLOWED_FILTERS)}")
    if (
        node.dtype.kind not in "fiubSc"
        or h5py.check_string_dtype(node.dtype) is not None
        and node.dtype.kind != "S"
    ):
        raise refused(root, path, f"has the type {node.dtype}")
    if claimed(node) > MAX_DATASET_BYTES:
        raise refused(root, path, f"claims {claimed(node) / 2**30:.0f} GiB")
    if node.chunks and math.prod(node.chunks) * node.dtype.itemsize > MAX_CHUNK_BYTES:
        raise refused(root, path, "is stored in pieces that are too large")


def claimed(node: Dataset) -> int:
    """Bytes of a dataset in memory, by what its header says."""
    return int(node.size or 0) * int(node.dtype.itemsize)


def _check_claims(root: Group, path: Path, nodes: Sequence[Dataset]) -> None:
    """Sizes that the file cannot hold are refused before anything of that size is made."""
    size, total = path.stat().st_size, sum(claimed(node) for node in nodes)
    stored = sum(node.id.get_storage_size() for node in nodes)
    if stored > size or total > MOST_CLAIMED + MOST_PACKED * size:
        largest = max(nodes, key=claimed)
        claim = f"claims {total / 2**20:.0f} MiB for a file of {size / 2**20:.2f}"
        raise refused(root, str(largest.name), claim)


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
    path: str | Path,
    *,
    format: str | Sequence[str],
    max_version: int,
    verify: bool = True,
    known: bool = False,
) -> Iterator[h5py.File]:
    """Open a file of ours for reading, after checking that it is one, whole, and safe to read.

    `verify=False`: its bytes were compared with a hash before; `known`: and it was opened here before.
    """
    path = Path(path)
    formats = [format] if isinstance(format, str) else list(format)
    try:
        file = h5py.File(path, "r", locking="best-effort")
    except FileNotFoundError:
        raise InputError(Diagnostic("file.missing", str(path), "there is no such file")) from None
    except OSError as error:
        raise _unreadable(path, str(error).splitlines()[0], formats) from None
    with file:
        with readable(path):
            if not known:
                _check_file(file, path, formats, max_version, verify)
        yield file


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """What HDF5 raises on damage that no checksum shows is an error of the file."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        what = f"is damaged: {(str(error).splitlines() or [type(error).__name__])[0]:.120}"
        raise InputError(Diagnostic("file.damaged", path.name, what, "write it again")) from None


def _check_file(file: h5py.File, path: Path, formats: list[str], max_version: int, verify: bool) -> None:
    found = text(file.attrs["format"]) if "format" in file.attrs else "no format attribute"
    if found not in formats:
        raise InputError(
            Diagnostic("file.format", path.name, f'is "{found}"', f"expected {' or '.join(formats)}")
        )
    version = int(file.attrs["format_version"])
    if not 1 <= version <= max_version:
        what = f"has format_version {version}, this flexmbs reads 1 to {max_version}"
        raise InputError(Diagnostic("file.version", path.name, what, "use a newer flexmbs"))
    nodes = []
    for name, node in walk(file):
        if isinstance(node, h5py.Dataset):
            _check_dataset(file, name, node)
            nodes.append(node)
    _check_claims(file, path, nodes)
    if verify and text(file.attrs["content_sha256"]) != content_hash(file):
        what = "is damaged: its content does not match its checksum"
        raise InputError(Diagnostic("file.damaged", path.name, what, "write it again"))


def is_hdf5(path: str | Path) -> bool:
    """Whether a regular file begins as HDF5 does."""
    try:
        if not Path(path).is_file():
            return False
        with open(path, "rb") as file:
            return file.read(len(SIGNATURE)) == SIGNATURE
    except (OSError, ValueError):
        return False


def file_format(path: str | Path) -> str:
    """The `format` attribute of an HDF5 file, or "" when the file is none of ours."""
    if not is_hdf5(path):
        return ""
    try:
        with h5py.File(path, "r", locking="best-effort") as file:
            return text(file.attrs["format"]) if "format" in file.attrs else ""
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):
        return ""
