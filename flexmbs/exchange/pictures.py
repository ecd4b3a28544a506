"""Modes of a body on its mesh, for ParaView and other viewers: .vtu, .xdmf, written by meshio."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fe.convert import CELLS
from flexmbs.fe.elements import plain_name
from flexmbs.modaldata import ModalData

#: cells of lines and surfaces beside the solids of `fe.convert`
MORE = {"beam2": "line", "tri3": "triangle", "tri6": "triangle6", "quad4": "quad", "quad8": "quad8",
        "quad9": "quad9"}  # fmt: skip
FORMATS = {".vtu": ("vtu", {}), ".xdmf": ("xdmf", {"data_format": "XML"})}


def write(modal: ModalData, path: Path, *, overwrite: bool = False) -> list[str]:
    """Displacements, rotations and stresses of every mode as point or cell data."""
    import meshio

    mesh = modal.mesh
    if not mesh.n_cells:
        what = "the body has no cells to draw"
        raise InputError(Diagnostic("exchange.content", path.name, what, "reduce it from a mesh"))
    names = {kind: CELLS.get(plain_name(kind), MORE.get(kind, "")) for kind in mesh.cells}
    cells = [(names[kind], rows) for kind, rows in mesh.cells.items()]
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
    kind, options = FORMATS[path.suffix.lower()]
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / path.name
        meshio.write(
            draft, meshio.Mesh(mesh.points, cells, point_data=points, cell_data=by_cell), kind, **options
        )
        with atomic_file(path, overwrite) as file:
            file.write(draft.read_bytes())
    table = ", ".join(f"{label} {f:.6g} Hz" for label, f in zip(labels, modal.frequency_hz, strict=True))
    return [f"{table}", "stresses are xx yy zz xy yz zx [Pa] of a mode with coordinate 1"]


def read(path: Path) -> tuple[ModalData, list[str]]:
    """These files hold pictures, no body."""
    what = "holds a mesh with pictures of modes, no body"
    raise UsageError(Diagnostic("exchange.format", path.name, what, "flexmbs reduce takes it as a mesh"))
