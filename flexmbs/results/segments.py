"""The folder of a running result: immutable segments, listed in a manifest with a chain of hashes.

A segment counts once its line stands in the manifest. Everything before that line is on the disk, synced;
a torn last line, or a file without a line, is work that was never announced.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError

MANIFEST = "manifest.jsonl"
HEADER = "header.h5"
STATUS = "status.json"
START = "flexmbs"  # the chain begins with the hash of this word and the header


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


def file_hash(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def link(previous: str, sha256: str) -> str:
    return hashlib.sha256((previous + sha256).encode()).hexdigest()


def read_manifest(folder: Path) -> list[Entry]:
    """The announced segments; a torn last line is left out, damage elsewhere is an error."""
    path = folder / MANIFEST
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise damaged(folder, f"{MANIFEST} cannot be read: {error.strerror}") from None
    entries: list[Entry] = []
    chain = link(START, file_hash(folder / HEADER)) if (folder / HEADER).is_file() else ""
    for number, line in enumerate(lines[:-1]):  # what follows the last line feed was not finished
        try:
            entry = Entry(**json.loads(line))
        except (ValueError, TypeError):
            raise damaged(folder, f"line {number + 1} of {MANIFEST} is not readable") from None
        chain = link(chain, entry.sha256)
        if entry.chain != chain:
            raise damaged(folder, f"the chain of hashes breaks at segment {entry.name}")
        entries.append(entry)
    return entries


def append(folder: Path, entry: Entry) -> None:
    """Announce a segment: one line, synced. A torn line of a killed run is cut off first."""
    with open(folder / MANIFEST, "a+b") as handle:
        handle.seek(0)
        content = handle.read()
        whole = content.rfind(b"\n") + 1
        if whole != len(content):
            handle.truncate(whole)
        handle.seek(0, os.SEEK_END)
        handle.write(json.dumps(asdict(entry)).encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())


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
    with hdf5.atomic_file(folder / MANIFEST, overwrite=True) as raw:
        raw.write(text.encode())
    for path in folder.iterdir():
        if path.name not in kept | {MANIFEST, HEADER, STATUS}:
            path.unlink(missing_ok=True)


def remove(folder: Path) -> None:
    """Remove the folder of segments; the manifest first, so that a half-removed folder claims nothing."""
    if not folder.is_dir():
        return
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    hdf5.sync_folder(folder.parent)


def write_status(folder: Path, status: str, message: str) -> None:
    """Status of an unfinished result: running, interrupted or failed, and why."""
    with hdf5.atomic_file(folder / STATUS, overwrite=True) as raw:
        raw.write(json.dumps({"status": status, "message": message}).encode())


def read_status(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / STATUS).read_bytes())
        return {"status": str(found["status"]), "message": str(found["message"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"status": "running", "message": "not finished"}


def header(folder: Path) -> dict[str, Any]:
    """The header of a running result: layout and items that do not change, and the root attributes."""
    with hdf5.open_checked(folder / HEADER, format="flexmbs-result-header", max_version=1) as file:
        tree = hdf5.read_tree(file)
        tree["attributes"] = {name: value for name, value in file.attrs.items()}
    return tree
