"""Grid -> PVD: a list of VTU files, one per sample, for programs that do not know VTKHDF."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError
from flexmbs.post.export.grid import POINT_FIELDS, Grid

TYPES = {"float32": "Float32", "float64": "Float64", "int64": "Int64", "uint8": "UInt8"}


def write_pvd(
    path: Path, grid: Grid, progress: Callable[[float, str], None] | None = None, *, overwrite: bool = False
) -> list[Path]:
    """Write `a.pvd` and the folder `a/` with `a_0000.vtu`, ...; returns the files."""
    folder = path.with_suffix("")
    found = disk.what_is(folder)
    if found not in ("", "a folder"):
        what, remedy = f"is {found}, where the folder of the samples would be", "choose another name with -o"
        raise InputError(Diagnostic("file.kind", str(folder), what, remedy))
    if not found:
        disk.make_folder(folder)
    digits = max(4, len(str(len(grid.time))))
    written, entries = [], []
    for k, t in enumerate(grid.time):
        target = folder / f"{path.stem}_{k:0{digits}d}.vtu"
        write_text(target, vtu(grid, k), overwrite)
        written.append(target)
        place = f"{escape(folder.name)}/{escape(target.name)}"
        entries.append(f'<DataSet timestep="{float(t)!r}" file="{place}"/>')
        if progress is not None:
            progress((k + 1) / len(grid.time), target.name)
    head = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0" byte_order="LittleEndian">'
    write_text(
        path, f"{head}\n<Collection>\n" + "\n".join(entries) + "\n</Collection>\n</VTKFile>\n", overwrite
    )
    return [path, *written]


def write_text(path: Path, text: str, overwrite: bool) -> None:
    with disk.atomic_file(path, overwrite) as raw:
        raw.write(text.encode("utf-8"))


def data_array(name: str, values: Any, width: int = 1) -> str:
    """An array as base64 with its length in front."""
    array = np.ascontiguousarray(values)
    raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
    text = base64.b64encode(np.uint64(len(raw)).tobytes() + raw).decode("ascii")
    kind = TYPES[array.dtype.name]
    head = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{width}" format="binary">'
    return f"{head}{text}</DataArray>"


def vtu(grid: Grid, k: int) -> str:
    """One sample as an XML unstructured grid."""
    fields = grid.fields(k)
    points = data_array("Points", fields["points"].astype(np.float32), 3)
    cells = (
        data_array("connectivity", grid.connectivity)
        + data_array("offsets", grid.offsets[1:])
        + data_array("types", grid.types)
    )
    on_points = data_array("node_number", grid.node_number)
    for name, width in POINT_FIELDS.items():
        on_points += data_array(name, fields[name].astype(np.float32), width)
    return (
        '<?xml version="1.0"?>\n'
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">'
        f'<UnstructuredGrid><Piece NumberOfPoints="{grid.n_points}" NumberOfCells="{len(grid.types)}">'
        f"<Points>{points}</Points><Cells>{cells}</Cells><PointData>{on_points}</PointData>"
        f"<CellData>{data_array('body', grid.body_of_cell)}</CellData></Piece></UnstructuredGrid></VTKFile>\n"
    )
