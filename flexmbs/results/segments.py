"""The folder of a running result: immutable segments, listed in a manifest with a chain of hashes.

A segment counts once its line stands in the manifest. Everything before that line is on the disk, synced;
a torn last line, or a file without a line, is work that was never announced.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, InputError
from flexmbs.results.layout import FORMAT_VERSION, HEADER_FORMAT, Layout

MANIFEST = "manifest.jsonl"
HEADER = "header.h5"
STATUS = "status.json"
START = "flexmbs"  # the chain begins with the hash of this word and the header
SEGMENT = re.compile(r"[0-9]{6,9}\.h5")
HASH = re.compile(r"[0-9a-f]{64}")
MAX_MANIFEST_BYTES = 2**28
MAX_AXIS = 10**7


@dataclass(frozen=True)
class Entry:
    """One line of the manifest: a segment, its hash, and the hash of the whole chain up to it."""

    name: str
    sha256: str
    chain: str
    samples: int
    t: float


def parts_folder(path: Path) -> Path:
    """Folder of segments of a result file; a folder is taken as it is."""
    return path if path.name.endswith(".parts") else path.with_name(path.name + ".parts")


def is_ours(path: Path) -> bool:
    """Whether this is a file that a run makes in its folder."""
    name = path.name
    known = name in (MANIFEST, HEADER, STATUS) or SEGMENT.fullmatch(name) or name.endswith(".flexmbs-tmp")
    return bool(known) and disk.what_is(path) == "a file"


def check_folder(folder: Path) -> None:
    """Refuse a folder that this program did not make, or in which there is more than it made."""
    found = disk.what_is(folder)
    if found not in ("", "a folder"):
        raise _foreign(folder, f"is {found}")
    names = sorted(os.listdir(folder)) if found else []
    others = [name for name in names if not is_ours(folder / name)]
    made = hdf5.is_hdf5(folder / HEADER) or all(name.endswith(".flexmbs-tmp") for name in names)
    if others or not made:
        raise _foreign(folder, f"holds {', '.join((others or names)[:4])}, which is not of a run of flexmbs")


def _foreign(folder: Path, what: str) -> InputError:
    remedy = "a run would keep its segments there; move it away, or choose another result with -o"
    return InputError(Diagnostic("result.parts", str(folder), what, remedy))


def file_hash(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def link(previous: str, sha256: str) -> str:
    return hashlib.sha256((previous + sha256).encode()).hexdigest()


def read_manifest(folder: Path) -> list[Entry]:
    """The announced segments; a torn last line is left out, damage elsewhere is an error."""
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise damaged(folder, f"{MANIFEST} is larger than {MAX_MANIFEST_BYTES} bytes")
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise damaged(folder, f"{MANIFEST} cannot be read: {error.strerror}") from None
    entries: list[Entry] = []
    chain = link(START, file_hash(folder / HEADER)) if (folder / HEADER).is_file() else ""
    for number, line in enumerate(lines[:-1]):  # what follows the last line feed was not finished
        try:
            entry = _entry(line)
        except (ValueError, TypeError, RecursionError):
            raise damaged(folder, f"line {number + 1} of {MANIFEST} is not readable") from None
        chain = link(chain, entry.sha256)
        if entry.chain != chain:
            raise damaged(folder, f"the chain of hashes breaks at segment {entry.name}")
        entries.append(entry)
    return entries


def _entry(line: bytes) -> Entry:
    """A line of the manifest; raises ValueError or TypeError for anything that a run does not write."""
    entry = Entry(**json.loads(line))
    texts = SEGMENT.fullmatch(entry.name), HASH.fullmatch(entry.sha256), HASH.fullmatch(entry.chain)
    if not all(texts) or type(entry.samples) is not int or entry.samples < 0:
        raise ValueError
    if not math.isfinite(entry.t):
        raise ValueError
    return entry


def append(folder: Path, entry: Entry) -> None:
    """Announce a segment: one line, synced. A torn line of a killed run is cut off first."""
    path = folder / MANIFEST
    content = path.read_bytes() if path.is_file() else b""
    whole = content.rfind(b"\n") + 1
    disk.append(path, whole, json.dumps(asdict(entry)).encode() + b"\n")
    if not content:
        disk.sync_folder(folder)


def check_segment(folder: Path, entry: Entry) -> Path:
    """Path of a segment after comparing it with its hash."""
    path = folder / entry.name
    if not path.is_file():
        raise damaged(folder, f"segment {entry.name} is missing")
    if file_hash(path) != entry.sha256:
        raise damaged(folder, f"segment {entry.name} does not match its checksum")
    return path


def whole_entries(folder: Path) -> tuple[list[Entry], str]:
    """Announced segments up to the first damaged one, and what was found there ("" when all are whole)."""
    entries = read_manifest(folder)
    for number, entry in enumerate(entries):
        try:
            check_segment(folder, entry)
        except InputError as error:
            return entries[:number], error.diagnostics[0].what
    return entries, ""


def damaged(folder: Path, what: str) -> InputError:
    remedy = "--resume computes again from the last whole segment, --overwrite from the start"
    return InputError(Diagnostic("result.damaged", folder.name, what, remedy))


def truncate(folder: Path, entries: list[Entry]) -> None:
    """Forget everything that is not in `entries`: the manifest is replaced whole, loose files removed."""
    kept = {entry.name for entry in entries}
    text = "".join(json.dumps(asdict(entry)) + "\n" for entry in entries)
    _replace(folder / MANIFEST, text)
    for path in folder.iterdir():
        if is_ours(path) and path.name not in kept | {MANIFEST, HEADER, STATUS}:
            disk.unlink(path)


def _replace(path: Path, text: str) -> None:
    with disk.atomic_file(path, overwrite=True, accept=lambda _: True) as raw:
        raw.write(text.encode())


def remove(folder: Path) -> None:
    """Remove what a run made, and the folder when nothing else is in it.

    The manifest goes first, so that a half-removed folder claims nothing; the header, by which it is known,
    last.
    """
    if disk.what_is(folder) != "a folder":
        return
    disk.unlink(folder / MANIFEST)
    for path in folder.iterdir():
        if is_ours(path) and path.name != HEADER:
            disk.unlink(path)
    disk.unlink(folder / HEADER)
    with contextlib.suppress(OSError):  # somebody has put something there meanwhile: it stays
        disk.remove_folder(folder)
    disk.sync_folder(folder.parent)


def write_status(folder: Path, status: str, message: str) -> None:
    """Status of an unfinished result: running, interrupted or failed, and why."""
    _replace(folder / STATUS, json.dumps({"status": status, "message": message}))


def read_status(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / STATUS).read_bytes())
        return {"status": str(found["status"]), "message": str(found["message"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"status": "running", "message": "not finished"}


def layout_of(folder: Path, file: Any) -> Layout:
    """The layout in a header; anything that a run does not write is damage."""
    try:
        layout = Layout.from_json(hdf5.text(file["layout"][()]))
        for axis in layout.axes:
            if type(axis.size) is not int or not 0 <= axis.size <= MAX_AXIS:
                raise ValueError
        for item in layout.fields:
            if np.dtype(item.dtype).kind not in "fi" or not isinstance(item.path, str):
                raise ValueError
            layout.shape(item)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, RecursionError):
        raise damaged(folder, f"the layout in {HEADER} is not readable") from None
    return layout


def part(folder: Path, file: Any, entry: Entry, stack: Any, item: Any) -> Any:
    """The history of one field out of the dataset of its stack, as far as a segment holds it."""
    found = file.get(f"fields/{stack.path}")
    shape = getattr(found, "shape", ())
    if shape[:2] != (entry.samples, stack.width) or found.dtype.kind != np.dtype(item.dtype).kind:
        raise damaged(folder, f"segment {entry.name} holds no {stack.path} as it should")
    return found[:, stack.columns[item.path]]


def piece(folder: Path, file: Any, entry: Entry, path: str, shape: tuple[int, ...], kind: str) -> Any:
    """A dataset of a segment, of the shape that it has to have."""
    found = file.get(path)
    if found is None or getattr(found, "shape", None) != (entry.samples, *shape) or found.dtype.kind != kind:
        raise damaged(folder, f"segment {entry.name} holds no {path.removeprefix('fields/')} as it should")
    return found[()]


def header(folder: Path) -> dict[str, Any]:
    """The header of a running result: layout and items that do not change, and the root attributes."""
    opened = hdf5.open_checked(folder / HEADER, format=HEADER_FORMAT, max_version=FORMAT_VERSION)
    with opened as file:
        tree = hdf5.read_tree(file)
        tree["attributes"] = {name: value for name, value in file.attrs.items()}
    return tree
