"""Channels as ASAM MDF 4, which tools for measurements read."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from flexmbs.disk import atomic_file
from flexmbs.errors import missing_component
from flexmbs.post.channels import catalogue, select
from flexmbs.post.record import Record


def write_mdf(path: Path, record: Record, patterns: Sequence[str] = ()) -> int:
    """One group with time as its master, a channel for each component, units as they are."""
    try:
        from asammdf import MDF, Signal
    except ImportError:
        raise missing_component("export .mf4", "asammdf", "mdf") from None
    channels = select(record, patterns) if patterns else catalogue(record)
    signals = [Signal(c.values(record), record.time, c.unit or "1", c.name) for c in channels]
    with tempfile.TemporaryDirectory() as folder, MDF(version="4.10") as file:
        file.append(signals, comment=f"flexmbs {record.path.name}", common_timebase=True)
        made = file.save(Path(folder) / "a.mf4")
        with atomic_file(path, overwrite=True) as raw:
            raw.write(Path(made).read_bytes())
    return len(channels)
