"""Result -> a file for another program; the ending of its name says which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.post.export.deck import is_deck, write_deck
from flexmbs.post.export.grid import build_grid
from flexmbs.post.export.matlab import write_mat, write_modelica
from flexmbs.post.export.mdf import write_mdf
from flexmbs.post.export.tables import write_csv, write_netcdf, write_parquet
from flexmbs.post.export.vtkhdf import write_vtkhdf
from flexmbs.post.export.vtu import write_pvd
from flexmbs.post.record import Record

GRIDS, TABLES, DECKS = (".vtkhdf", ".pvd"), (".csv", ".parquet", ".nc", ".mat", ".mf4"), (".inp",)

#: formats that say who wrote them
ACCEPTED = {".vtkhdf": hdf5.of_format("vtkhdf"), ".inp": is_deck}


def export(
    result: str | Path,
    output: str | Path,
    *,
    channels: Sequence[str] = (),
    bodies: Sequence[str] = (),
    modal: Mapping[str, str | Path] | None = None,
    time: float | None = None,
    overwrite: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Write the file and say what is in it.

    vtkhdf, pvd: the moving bodies with displacement and stress; csv, parquet, mat, mf4: channels; nc:
    everything; inp: the loads of one body at `time` on its mesh. `NAME_res.mat` is for Modelica tools.
    """
    output = Path(output)
    kind = _known_kind(output)
    if hdf5.file_format(result) == "flexmbs-modal":
        what = "is modal data; export takes results"
        raise InputError(
            Diagnostic("export.modal", Path(result).name, what, "flexmbs animate shows its modes")
        )
    disk.check_target(output, overwrite, ACCEPTED.get(kind, disk.looks_like))
    record = Record.load(result)
    done: dict[str, Any] = {"file": str(output), "samples": record.n_samples}
    if kind in GRIDS:
        grid = build_grid(record, modal, list(bodies))
        done |= {"points": grid.n_points, "cells": len(grid.types), "bodies": grid.names}
        if kind == ".vtkhdf":
            write_vtkhdf(output, grid, progress)
        else:
            done["files"] = len(write_pvd(output, grid, progress, overwrite=overwrite))
    elif kind in DECKS:
        if len(bodies) > 1:
            raise UsageError(Diagnostic("export.body", "--body", "a deck holds one body", "name one"))
        done |= write_deck(output, record, next(iter(bodies), None), time, modal or {})
    elif kind == ".nc":
        done["datasets"] = write_netcdf(output, record)
    else:
        done["channels"] = _table_writer(output)(output, record, channels)
    return done | {"bytes": output.stat().st_size}


def _table_writer(output: Path) -> Callable[[Path, Record, Sequence[str]], int]:
    """What writes channels; results of Modelica tools are told by the end of their name."""
    if output.name.endswith("_res.mat"):
        return write_modelica
    return {".csv": write_csv, ".parquet": write_parquet, ".mat": write_mat, ".mf4": write_mdf}[output.suffix]


def _known_kind(output: Path) -> str:
    """Ending of the output, one of those that are offered."""
    kinds = (*GRIDS, *TABLES, *DECKS)
    if output.suffix not in kinds:
        what = f'"{output.suffix}" is not offered' if output.suffix else "has no ending"
        raise UsageError(Diagnostic("export.kind", str(output), what, nearest(output.suffix or " ", kinds)))
    return output.suffix
