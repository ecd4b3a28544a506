"""HDF5 files of other programs: plain datasets at the root, written whole, read with the same distrust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np
from h5py import Dataset
from numpy.typing import NDArray

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.hdf5.content import refused, walk
from flexmbs.hdf5.files import IN_MEMORY
from flexmbs.hdf5.quiet import opened
from flexmbs.hdf5.reading import _check_dataset, _unreadable, is_hdf5, readable, stored


def write_arrays(path: Path, arrays: Mapping[str, NDArray[np.generic]], *, overwrite: bool = False) -> None:
    """Write arrays at the root of a new file, without anything of ours beside them."""

    with disk.atomic_file(path, overwrite, is_hdf5) as raw, opened(raw, IN_MEMORY) as file:
        for name, value in arrays.items():
            file.create_dataset(name, data=value)


def refuse_links(path: Path) -> None:
    """Refuse a file that takes parts of its content from others."""
    with readable(path), h5py.File(path, "r", locking="best-effort") as file:
        for name, node in walk(file):
            if isinstance(node, Dataset) and stored(node)[0]:
                raise refused(file, name, "stores its data elsewhere")


def read_arrays(path: Path, *, most_bytes: int = 4 * 2**30) -> dict[str, NDArray[np.generic]]:
    """All plain numeric datasets at the root; links and what claims more than it may are refused."""
    try:
        file = h5py.File(path, "r", locking="best-effort")
    except (OSError, RuntimeError) as error:
        raise _unreadable(path, str(error), ["an HDF5 file"]) from None
    found = {}
    with readable(path), file:
        for name in file:
            if not isinstance(file.get(name, getlink=True), h5py.HardLink):
                raise InputError(
                    Diagnostic("file.unsafe", path.name, f'"{name[:80]}" is a link', "expected a dataset")
                )
            node = file[name]
            if not isinstance(node, Dataset):
                continue
            _check_dataset(file, name, node)
            if node.size and node.size * node.dtype.itemsize > min(most_bytes, 1100 * path.stat().st_size):
                what = f'"{name[:80]}" claims {node.size * node.dtype.itemsize / 2**30:.3g} GiB'
                raise InputError(
                    Diagnostic("file.damaged", path.name, what, "expected what the file can hold")
                )
            if node.dtype.kind in "fiu":
                found[name] = np.asarray(node[()])
    return found
