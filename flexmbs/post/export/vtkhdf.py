"""Grid -> VTKHDF: one file for all times, cells stored once (VTKHDF 2.0, `UnstructuredGrid` with `Steps`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import hdf5
from flexmbs.post.export.grid import POINT_FIELDS, Grid


def write_vtkhdf(path: Path, grid: Grid, progress: Callable[[float, str], None] | None = None) -> None:
    """Write the grid; moving points and fields are appended sample by sample."""

    def fill(root: Any) -> None:
        top = root.draft.opened().create_group("VTKHDF")  # moving points are written one after the other
        top.attrs.create("Version", np.array([2, 0], dtype=np.int64))
        top.attrs.create("Type", np.bytes_(b"UnstructuredGrid"))
        for name, value in (
            ("NumberOfPoints", [grid.n_points]),
            ("NumberOfCells", [len(grid.types)]),
            ("NumberOfConnectivityIds", [len(grid.connectivity)]),
            ("Connectivity", grid.connectivity),
            ("Offsets", grid.offsets),
        ):
            top.create_dataset(name, data=np.asarray(value, dtype=np.int64))
        top.create_dataset("Types", data=grid.types)
        top.create_dataset("CellData/body", data=grid.body_of_cell)
        top["CellData/body"].attrs.create("names", hdf5.text_array(grid.names))
        _steps(top.create_group("Steps"), grid)
        _fields(top, grid, progress)

    hdf5.build_file(path, fill, format="vtkhdf", version=2, overwrite=True)


def _steps(steps: Any, grid: Grid) -> None:
    """Where each sample begins: points and point fields move on, cells stay."""
    n, zero = len(grid.time), np.zeros(len(grid.time), dtype=np.int64)
    moving = grid.n_points * np.arange(n, dtype=np.int64)
    steps.attrs.create("NSteps", np.int64(n))
    steps.create_dataset("Values", data=grid.time)
    steps.create_dataset("PartOffsets", data=zero)
    steps.create_dataset("NumberOfParts", data=zero + 1)
    steps.create_dataset("PointOffsets", data=moving)
    steps.create_dataset("CellOffsets", data=zero[:, None])
    steps.create_dataset("ConnectivityIdOffsets", data=zero[:, None])
    for name in POINT_FIELDS:
        steps.create_dataset(f"PointDataOffsets/{name}", data=moving)
    steps.create_dataset("PointDataOffsets/node_number", data=zero)
    steps.create_dataset("CellDataOffsets/body", data=zero)


def _fields(top: Any, grid: Grid, progress: Callable[[float, str], None] | None) -> None:
    n, count = len(grid.time), grid.n_points
    top.create_dataset("PointData/node_number", data=grid.node_number)
    sets = {
        "points": top.create_dataset("Points", (n * count, 3), dtype=np.float32, chunks=(max(count, 1), 3))
    }
    for name, width in POINT_FIELDS.items():
        shape = (n * count, width) if width > 1 else (n * count,)
        chunks = (max(count, 1), width) if width > 1 else (max(count, 1),)
        sets[name] = top.create_dataset(f"PointData/{name}", shape, dtype=np.float32, chunks=chunks)
    for k in range(n):
        for name, values in grid.fields(k).items():
            sets[name][k * count : (k + 1) * count] = values
        if progress is not None:
            progress((k + 1) / n, f"t = {grid.time[k]:.5g} s")
