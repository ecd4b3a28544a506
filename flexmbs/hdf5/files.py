"""HDF5 files that appear whole or not at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from flexmbs import disk
from flexmbs.hdf5.content import content_hash
from flexmbs.hdf5.draft import Draft, Node, attributes
from flexmbs.hdf5.quiet import opened
from flexmbs.hdf5.reading import file_format
from flexmbs.hdf5.writing import content_of, create, describe, image, write_attributes

#: a file up to this size is built in memory and written at once
IN_MEMORY = 2**26
GONE = np.zeros(0)


def build_file(
    path: str | Path,
    fill: Callable[[Node], None],
    *,
    format: str,
    version: int,
    overwrite: bool = False,
    sync: bool = True,
) -> None:
    """Write an HDF5 file whole or not at all; `fill` describes it, from the root group on.

    The root gets `format`, `format_version` and `content_sha256`. With `overwrite` it replaces a file of the
    same format. `sync`: see `disk.atomic_file`.
    """
    with disk.atomic_file(path, overwrite, of_format(format), sync=sync) as raw, Building(raw) as building:
        fill(building.draft.root)
        building.finish(format=format, format_version=version)


class Building:
    """A file on its way: a draft in memory; from IN_MEMORY bytes on, what is said goes to HDF5 at once."""

    def __init__(self, raw: Any) -> None:
        self._raw, self._waiting = raw, 0
        self.draft = Draft(self._added, self.opened)
        self._file: h5py.File | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Building:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _added(self, node: Node) -> None:
        self._waiting += 0 if node.array is None else node.array.nbytes
        if self._file is not None:
            self._create(node)
        elif self._waiting > IN_MEMORY:
            self.opened()

    def _create(self, node: Node) -> None:
        create(self._file, node)
        if node.array is not None:
            node.array = GONE  # its numbers are where they belong

    def opened(self) -> h5py.File:
        """The file itself, for what is written piece by piece; with all that was said so far."""
        if self._file is None:
            self._file = self._stack.enter_context(opened(self._raw, IN_MEMORY))
            for node in self.draft.nodes.values():
                self._create(node)
        return self._file

    def finish(self, **said: Any) -> None:
        """Write what is not there yet."""
        draft = self.draft
        attributes(draft.root, **said)
        if self._file is None:
            sha256, raw = content_of(draft)
            attributes(draft.root, content_sha256=sha256)
            self._raw.write(image(draft, raw))
            return
        describe(self._file, draft)
        attributes(draft.root, content_sha256=content_hash(self._file))
        write_attributes(h5py.h5o.open(self._file.id, b"/"), draft.root.attributes)


def of_format(format: str) -> Callable[[Path], bool]:
    """Whether a file is one of ours, of this format."""
    return lambda path: file_format(path) == format
