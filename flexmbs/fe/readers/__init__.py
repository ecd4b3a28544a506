"""Mesh files -> Mesh. A mesh file is untrusted: whatever is wrong with it ends in an InputError."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers.meshio_formats import ENDINGS as MESHIO
from flexmbs.fe.readers.raw import RawMesh
from flexmbs.fe.readers.resolve import to_mesh
from flexmbs.fe.readers.source import MAX_BYTES, Damaged, read_bytes


def _ansys(path: Path, data: bytes, cards: frozenset[str]) -> RawMesh:
    from flexmbs.fe.readers.ansys import read_ansys

    return read_ansys(path, data, cards)


def _unv(path: Path, data: bytes, cards: frozenset[str]) -> RawMesh:
    from flexmbs.fe.readers.unv import read_unv

    return read_unv(data)


def _aster(path: Path, data: bytes, cards: frozenset[str]) -> RawMesh:
    from flexmbs.fe.readers.aster import read_aster

    return read_aster(data)


def _fedem(path: Path, data: bytes, cards: frozenset[str]) -> RawMesh:
    from flexmbs.fe.readers.fedem import read_fedem

    return read_fedem(path, data, cards)


OWN = {"ansys archive": _ansys, "unv": _unv, "aster": _aster, "fedem": _fedem}
FORMATS = {
    "gmsh": (".msh",),
    "abaqus": (".inp",),
    "vtk": (".vtk",),
    "vtu": (".vtu",),
    "nastran": (".bdf", ".nas", ".dat", ".fem"),
    "ansys archive": (".cdb",),
    "unv": (".unv", ".uff"),
    "aster": (".mail",),
    "fedem": (".ftl",),
}
#: first elements of files in XML
ROOTS = {b"VTKFile": "vtu", b"Xdmf": "xdmf", b"dolfin": "dolfin-xml"}
ROOT = re.compile(rb"<(VTKFile|Xdmf|dolfin)\b")
CAD = (".step", ".stp", ".geo", ".iges", ".igs", ".brep")


def read_mesh(
    path: str | Path,
    *,
    unit: float = 1.0,
    max_bytes: int = MAX_BYTES,
    ignore: Collection[str] = (),
    shells: bool = False,
    lines: Collection[str] = (),
) -> Mesh:
    """Mesh of a file in metres; `unit` is the length of the file's unit [m], 1e-3 for millimetres.

    `shells`: triangles and quadrilaterals that lie on no face of a solid are cells, not an error.
    `lines`: sets whose lines are cells `beam2`, quadratic ones two each.
    `ignore`: cards of a deck that are left out on purpose. What a deck says beside its mesh is in `deck`.

    Structure is checked (finite, numbers known, types supported, no named group lost); geometry is what
    `fe.checks.check_mesh` looks at.
    """
    mesh = guarded(Path(path), max_bytes, ignore, lambda raw: to_mesh(raw, Path(path), shells, lines))
    return mesh if unit == 1.0 else mesh.scaled(unit)


def read_nodes(
    path: str | Path,
) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[int, NDArray[np.float64]]]:
    """Numbers and places (n, 3) of the nodes of a file, in its own units, and axes by number of those whose
    displacements have their own; cells need not be there."""
    raw, frames = guarded(Path(path), MAX_BYTES, (), lambda raw: (raw, raw.frames()))
    return raw.node_number, raw.points, frames


def guarded(path: Path, max_bytes: int, ignore: Collection[str], make: Callable[[RawMesh], Any]) -> Any:
    """What `make` makes of the content of a file; whatever is wrong with it is an InputError."""
    data = read_bytes(path, max_bytes).removeprefix(b"\xef\xbb\xbf")  # byte order mark of some editors
    try:
        return make(reader_of(path, data, ignore)())
    except Damaged as damage:
        raise damage.as_error(path) from None
    except MemoryError:
        what = f"the mesh does not fit into memory ({len(data) / 2**20:.0f} MiB of file)"
        raise InputError(Diagnostic("mesh.too_large", str(path), what, "coarsen the mesh")) from None
    except (ValueError, IndexError, KeyError, OverflowError, TypeError, struct.error) as error:
        what = f"the content does not follow the format ({type(error).__name__}: {str(error)[:120]})"
        raise InputError(Diagnostic("mesh.damaged", str(path), what, "write the mesh again")) from error


def reader_of(path: Path, data: bytes, ignore: Collection[str] = ()) -> Callable[[], RawMesh]:
    """The reader for a file, by its name, or by its first bytes."""
    cards = frozenset(" ".join(name.upper().lstrip("*").split()) for name in ignore)
    kind = format_of(path, data)
    if kind == "gmsh":
        from flexmbs.fe.readers.gmsh import read_gmsh

        return lambda: read_gmsh(data)
    if kind == "abaqus":
        from flexmbs.fe.readers.abaqus import read_abaqus

        return lambda: read_abaqus(path, data, cards)
    if kind == "vtk":
        from flexmbs.fe.readers.vtk import read_vtk

        return lambda: read_vtk(data)
    if kind == "ansys" or kind in MESHIO.values():
        from flexmbs.fe.readers.meshio_formats import read_by_meshio

        return lambda: read_by_meshio(path, kind)
    if kind in OWN:
        return lambda: OWN[kind](path, data, cards)
    if kind == "vtu":
        from flexmbs.fe.readers.vtu import read_vtu

        return lambda: read_vtu(data)
    from flexmbs.fe.readers.nastran import read_nastran

    return lambda: read_nastran(path, data, cards)


def format_of(path: Path, data: bytes) -> str:
    """Name of the format; content that says what it is wins over the ending."""
    head = data[:4096].lstrip()
    if head.startswith(b"$MeshFormat"):
        return "gmsh"
    if head.startswith(b"# vtk DataFile"):
        return "vtk"
    if head.startswith((b"<?xml", b"<VTKFile")):
        root = ROOT.search(head)
        return ROOTS[root[1]] if root else "vtu"
    ending = path.suffix.lower()
    if head.startswith(b"** MBDyn"):
        what = "is a reduced body of MBDyn, not a mesh"
        raise InputError(Diagnostic("mesh.format", str(path), what, f"flexmbs import {path.name}"))
    if ending == ".msh" and head.startswith(b"("):
        return "ansys"
    for kind, endings in FORMATS.items():
        if ending in endings:
            return kind
    if ending in MESHIO:
        return MESHIO[ending]
    if ending in CAD:
        remedy = f"mesh it first: flexmbs mesh {path.name} -o {path.stem}.msh"
        raise InputError(Diagnostic("mesh.format", str(path), "is geometry, not a mesh", remedy))
    known = ", ".join([*(ending for endings in FORMATS.values() for ending in endings), *MESHIO])
    raise InputError(
        Diagnostic(
            "mesh.format", str(path), f'unknown kind of mesh file "{ending}"', f"flexmbs reads {known}"
        )
    )


def is_mesh_file(path: str | Path) -> bool:
    """Whether the ending is that of a mesh file."""
    ending = Path(path).suffix.lower()
    return ending in MESHIO or any(ending in endings for endings in FORMATS.values())
