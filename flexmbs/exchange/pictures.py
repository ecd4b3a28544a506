"""Modes of a body on its mesh, for ParaView and other viewers: .vtu, .xdmf, written by meshio."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fe.convert import write_fields
from flexmbs.modaldata import ModalData


def write(modal: ModalData, path: Path, *, overwrite: bool = False) -> list[str]:
    """Displacements, rotations and stresses of every mode as point or cell data."""
    mesh = modal.mesh
    if not mesh.n_cells:
        what = "the body has no cells to draw"
        raise InputError(Diagnostic("exchange.content", path.name, what, "reduce it from a mesh"))
    labels = [f"mode_{k + 1}" for k in range(modal.nf)]
    points = {label: np.ascontiguousarray(modal.Phi[k]) for k, label in enumerate(labels)}
    if modal.Psi is not None:
        points |= {f"{label}_rotation": np.ascontiguousarray(modal.Psi[k]) for k, label in enumerate(labels)}
    by_cell: dict[str, list[np.ndarray]] = {}
    if modal.stress is not None and modal.stress_at == "nodes":
        points |= {f"{label}_stress": np.ascontiguousarray(modal.stress[k]) for k, label in enumerate(labels)}
    elif modal.stress is not None and modal.stress_at == "cells":
        ends = np.cumsum([len(rows) for rows in mesh.cells.values()])[:-1]
        by_cell = {f"{label}_stress": np.split(modal.stress[k], ends) for k, label in enumerate(labels)}
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / path.name
        write_fields(mesh, draft, points, by_cell)
        with atomic_file(path, overwrite) as file:
            file.write(draft.read_bytes())
    table = ", ".join(f"{label} {f:.6g} Hz" for label, f in zip(labels, modal.frequency_hz, strict=True))
    return [f"{table}", "stresses are xx yy zz xy yz zx [Pa] of a mode with coordinate 1"]


def read(path: Path) -> tuple[ModalData, list[str]]:
    """These files hold pictures, no body."""
    what = "holds a mesh with pictures of modes, no body"
    raise UsageError(Diagnostic("exchange.format", path.name, what, "flexmbs reduce takes it as a mesh"))
