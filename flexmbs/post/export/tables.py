"""Channels as tables: csv, parquet, NetCDF."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import missing_component
from flexmbs.post.channels import Channel, catalogue, select
from flexmbs.post.record import Record

ROWS = 2000  # of a table in memory as text at a time


def chosen_channels(record: Record, patterns: Sequence[str]) -> list[Channel]:
    return select(record, patterns) if patterns else catalogue(record)


def write_csv(path: Path, record: Record, patterns: Sequence[str] = ()) -> int:
    """Time and channels as columns, full precision, units in the heading: `slider.position.x [m]`."""
    channels = chosen_channels(record, patterns)
    heads = ["time [s]", *(f"{c.name} [{c.unit}]" if c.unit else c.name for c in channels)]
    data = np.column_stack([record.time, *(channel.values(record) for channel in channels)])
    with atomic_file(path, overwrite=True) as raw:
        raw.write((",".join(f'"{head}"' if "," in head else head for head in heads) + "\n").encode())
        for start in range(0, len(data), ROWS):
            lines = [",".join(map(repr, row)) for row in data[start : start + ROWS].tolist()]
            raw.write(("\n".join(lines) + "\n").encode())
    return len(channels)


def write_parquet(path: Path, record: Record, patterns: Sequence[str] = ()) -> int:
    """The same table as Apache Parquet, units in the metadata of the columns."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise missing_component("export .parquet", "pyarrow", "data") from None
    channels = chosen_channels(record, patterns)
    fields = [pyarrow.field("time", pyarrow.float64(), metadata={"units": "s"})]
    fields += [pyarrow.field(c.name, pyarrow.float64(), metadata={"units": c.unit or "1"}) for c in channels]
    columns = [pyarrow.array(record.time), *(pyarrow.array(c.values(record)) for c in channels)]
    memory = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields)), memory)
    with atomic_file(path, overwrite=True) as raw:
        raw.write(memory.getvalue())
    return len(channels)


def write_netcdf(path: Path, record: Record) -> int:
    """All datasets in the groups of the result, dimensions named, as NetCDF-4."""
    try:
        import netCDF4  # noqa: F401
    except ImportError:
        raise missing_component("export .nc", "netCDF4", "data") from None
    tree: Any = record.result.to_xarray()
    for node in tree.subtree:  # NetCDF has no truth values
        for item in (node, *node.variables.values()):
            item.attrs.update(
                {name: int(x) for name, x in item.attrs.items() if isinstance(x, bool | np.bool_)}
            )
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "a.nc"
        tree.to_netcdf(made, engine="netcdf4")
        with atomic_file(path, overwrite=True) as raw:
            raw.write(made.read_bytes())
    return sum(len(node.data_vars) for node in tree.subtree)
