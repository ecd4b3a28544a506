"""Result -> a file for another program; the ending of its name says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flexmbs import hdf5
from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.post.export.grid import build_grid
from flexmbs.post.export.tables import write_csv, write_netcdf, write_parquet
from flexmbs.post.export.vtkhdf import write_vtkhdf
from flexmbs.post.export.vtu import write_pvd
from flexmbs.post.record import Record

GRIDS, TABLES = (".vtkhdf", ".pvd"), (".csv", ".parquet", ".nc")


def export(
    result: str | Path,
    output: str | Path,
    *,
    channels: Sequence[str] = (),
    bodies: Sequence[str] = (),
    modal: Mapping[str, str | Path] | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Write the file (over an older one) and say what is in it.

    vtkhdf, pvd: the moving bodies with displacement and stress; csv, parquet: channels; nc: everything.
    """
    output = Path(output)
    kind = output.suffix
    if kind not in (*GRIDS, *TABLES):
        what = f'"{kind}" is not offered'
        choices = nearest(kind, (*GRIDS, *TABLES)) if kind else "choices: " + ", ".join((*GRIDS, *TABLES))
        raise UsageError(Diagnostic("export.kind", str(output), what, choices))
    if hdf5.file_format(result) == "flexmbs-modal":
        what = "is modal data; export takes results"
        raise InputError(
            Diagnostic("export.modal", Path(result).name, what, "flexmbs animate shows its modes")
        )
    record = Record.load(result)
    done: dict[str, Any] = {"file": str(output), "samples": record.n_samples}
    if kind in GRIDS:
        grid = build_grid(record, modal, list(bodies))
        done |= {"points": grid.n_points, "cells": len(grid.types), "bodies": grid.names}
        if kind == ".vtkhdf":
            write_vtkhdf(output, grid, progress)
        else:
            done["files"] = len(write_pvd(output, grid, progress))
    elif kind == ".nc":
        done["datasets"] = write_netcdf(output, record)
    else:
        write = write_csv if kind == ".csv" else write_parquet
        done["channels"] = write(output, record, channels)
    return done | {"bytes": output.stat().st_size}
