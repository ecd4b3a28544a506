"""Writing a result: commit segments while the run goes on, pack them into one file at the end."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.results import segments
from flexmbs.results.layout import (
    FORMAT,
    FORMAT_VERSION,
    HEADER_FORMAT,
    SEGMENT_FORMAT,
    Layout,
    parent,
    write_items,
)
from flexmbs.results.pack import pack, read_checkpoint
from flexmbs.results.stacks import Stacks, stacked


@dataclass
class Resumed:
    """Where a resumed run goes on: the last checkpoint, and what had to be given up."""

    checkpoint: dict[str, Any]
    t: float
    samples: int
    warning: str = ""


@dataclass
class ResultWriter:
    """Writes `path` through the folder `path.parts`; use as a context manager (it holds the lock).

    `attributes` are root attributes (case_sha256, title, ...), `items` what does not change in time.
    `announce(t)` is called after each durable segment.
    """

    path: Path
    layout: Layout
    items: Mapping[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    resume: bool = False
    announce: Any = None
    resumed: Resumed | None = None
    _entries: list[segments.Entry] = field(default_factory=list)
    _chain: str = ""
    _started: float = field(default_factory=time.monotonic)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @cached_property
    def _stacks(self) -> Stacks:
        return stacked(self.layout)

    @property
    def folder(self) -> Path:
        return segments.parts_folder(self.path)

    def __enter__(self) -> ResultWriter:
        self.path = Path(self.path)
        if not self.path.parent.is_dir():
            what = f'there is no folder "{self.path.parent}"'
            raise InputError(Diagnostic("file.folder", str(self.path), what, "create it"))
        if self.path.is_dir():
            what, remedy = "is a folder", f"give a file in it, -o {self.path / 'result.h5'}"
            raise UsageError(Diagnostic("result.folder", os.fspath(self.path), what, remedy))
        self._stack.enter_context(disk.lock(self.path))
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        if not self._entries:  # nothing to go on from
            with contextlib.suppress(OSError):
                segments.remove(self.folder)
        self._stack.close()

    def _open(self) -> None:
        segments.check_folder(self.folder)
        unfinished = (self.folder / segments.HEADER).is_file()
        if self.overwrite:
            disk.check_target(self.path, self.overwrite, hdf5.of_format(FORMAT))
        if disk.what_is(self.path) and not self.overwrite:
            remedy = "--overwrite replaces it, -o chooses another name"
            if unfinished:
                remedy = "--resume --overwrite goes on with the unfinished run, and replaces it at the end"
            raise _exists(self.path, remedy)
        if unfinished and not (self.resume or self.overwrite):
            remedy = "--resume goes on, --overwrite starts again, -o chooses another name"
            raise _exists(self.folder, remedy)
        with disk.told(self.path):
            if unfinished and self.resume:
                self._go_on()
            else:
                self._start()

    def _start(self) -> None:
        segments.remove(self.folder)
        disk.make_folder(self.folder)
        hdf5.build_file(
            self.folder / segments.HEADER, self._fill_header, format=HEADER_FORMAT, version=FORMAT_VERSION
        )
        disk.sync_folder(self.folder.parent)
        self._chain = segments.link(segments.START, segments.file_hash(self.folder / segments.HEADER))

    def _fill_header(self, root: Any) -> None:
        hdf5.dataset(root, "layout", self.layout.to_json())
        write_items(root.create_group("items"), self.items)
        hdf5.attributes(root, **self.attributes)

    def _go_on(self) -> None:
        """Continue after the last whole segment, with the layout that was written."""
        head = segments.header(self.folder)
        found = hdf5.text(head["attributes"].get("case_sha256", b""))
        wanted = self.attributes.get("case_sha256", "")
        if found.strip() != wanted:
            what = "was begun with another case (or other --set values)"
            raise InputError(
                Diagnostic("result.other_case", str(self.folder), what, "--overwrite starts again")
            )
        old = head["attributes"]["format_version"] != FORMAT_VERSION
        if old or hdf5.text(head["layout"]) != self.layout.to_json():
            what = "was begun with other outputs, or by another version of flexmbs"
            raise InputError(Diagnostic("result.other_layout", str(self.folder), what, "--overwrite"))
        segments.write_status(self.folder, "running", "not finished")
        entries, loss = segments.whole_entries(self.folder)
        segments.truncate(self.folder, entries)
        self._entries = entries
        start = segments.link(segments.START, segments.file_hash(self.folder / segments.HEADER))
        self._chain = entries[-1].chain if entries else start
        if entries:
            checkpoint = read_checkpoint(self.folder, entries[-1])
            samples = sum(entry.samples for entry in entries)
            self.resumed = Resumed(checkpoint, entries[-1].t, samples, loss)

    def commit(
        self,
        samples: Mapping[str, np.ndarray],
        checkpoint: Mapping[str, Any],
        t: float,
        events: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a segment durable: fields over its times, events, and the complete state to go on from."""
        name = f"{len(self._entries):06d}.h5"

        def fill(root: Any) -> None:
            fields = root.create_group("fields")
            for where, data in self._stacks.join(samples):
                node, last = parent(fields, where)
                chunks = hdf5.part_chunks(data) if data.ndim > 1 and data.size else None
                hdf5.dataset(node, last, data, chunks=chunks)
            hdf5.dataset(root, "time", np.asarray(samples["time"], dtype=float), units="s")
            hdf5.write_tree(root.create_group("events"), events or {})
            hdf5.write_tree(root.create_group("checkpoint"), checkpoint)

        path = self.folder / name
        with self._kept(), disk.told(path):
            hdf5.build_file(path, fill, format=SEGMENT_FORMAT, version=FORMAT_VERSION, overwrite=True)
            sha256 = segments.file_hash(path)
            self._chain = segments.link(self._chain, sha256)
            entry = segments.Entry(name, sha256, self._chain, len(samples["time"]), float(t))
            segments.append(self.folder, entry)
        self._entries.append(entry)
        if self.announce is not None:
            self.announce(float(t))

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        """An error of writing says what there is to go on from."""
        try:
            yield
        except InputError as error:
            if not self._entries:
                raise
            remedy = f"what was committed is kept: --resume goes on from t = {self._entries[-1].t:.6g} s"
            raise InputError(replace(error.diagnostics[0], remedy=remedy)) from error

    def mark(self, status: str, message: str) -> None:
        """Say how an unfinished run ended."""
        segments.write_status(self.folder, status, message)

    def result(self) -> Any:
        """The result so far, for reading."""
        from flexmbs.results.reader import PartsStore, Result

        return Result(PartsStore(self.folder), self.path)

    def finish(
        self, status: str, message: str = "", items: Mapping[str, Any] | None = None, **attributes: Any
    ) -> Path:
        """Pack all segments into the one file, atomically, and remove them."""
        t_reached = self._entries[-1].t if self._entries else float("nan")
        wall = time.monotonic() - self._started
        root = self.attributes | {"status": status, "message": message, "t_reached": t_reached}
        root |= {"wall_seconds": wall} | attributes
        whole = dict(self.items) | dict(items or {})
        with disk.told(self.path):
            pack(self.path, self.folder, self._entries, self.layout, whole, root, self.overwrite)
        with contextlib.suppress(OSError):  # what stays is known as the rest of a complete result
            segments.remove(self.folder)
        return self.path


def complete_result(path: Path, case_sha256: str) -> Any:
    """The complete result of a case under this name, if it is one; what its run left beside it is removed."""
    from flexmbs.results.reader import Result

    if hdf5.file_format(path) != FORMAT:
        return None
    with disk.told(path):
        disk.remove_left(path)  # it may be the same file under two names, and be locked while it is read
    there, folder = Result.load(path), segments.parts_folder(path)
    same = hdf5.text(there.attributes.get("case_sha256", b"")).strip() == case_sha256
    if not same or there.status != "complete":
        return None
    segments.check_folder(folder)
    entries = segments.read_manifest(folder) if disk.what_is(folder) else []
    if entries and entries[-1].t != there.attributes["t_reached"]:
        return None  # a run that is to replace it
    if disk.what_is(folder) or disk.what_is(Path(f"{path}.lock")):
        with disk.told(path), disk.lock(path):
            segments.remove(folder)
    return there


def _exists(path: Path, remedy: str) -> UsageError:
    return UsageError(Diagnostic("result.exists", os.fspath(path), "exists already", remedy))
