"""Mesh -> mesh file of another program, by meshio; what comes back is compared with what went in."""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.fe.check.mesh import MeshCheck, check_mesh
from flexmbs.fe.elements import plain_name
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.readers.meshio_formats import ENDINGS

#: endings of our own readers -> format of meshio that writes them
OWN = {".msh": "gmsh22", ".inp": "abaqus", ".vtk": "vtk", ".vtu": "vtu", ".bdf": "nastran", ".nas": "nastran"}
CELLS = {
    "tet4": "tetra", "tet10": "tetra10", "hex8": "hexahedron", "hex20": "hexahedron20",
    "hex27": "hexahedron27", "wedge6": "wedge", "wedge15": "wedge15",
    "pyramid5": "pyramid", "pyramid13": "pyramid13",
}  # fmt: skip
#: beside them, cells of lines and surfaces
OTHERS = {"beam2": "line", "tri3": "triangle", "tri6": "triangle6", "quad4": "quad", "quad8": "quad8",
          "quad9": "quad9"}  # fmt: skip
FACES = {3: "triangle", 4: "quad", 6: "triangle6", 8: "quad8", 9: "quad9"}
#: formats whose sets are whole-number data
BY_DATA = ("vtk", "vtu", "xdmf")
#: largest difference of a coordinate that came back, of the size of the mesh (some formats keep seven digits)
SAME = 1e-6


@dataclass(frozen=True)
class Converted:
    """The file, the checked mesh, and the names of sets that the format has lost."""

    path: Path
    check: MeshCheck
    lost: tuple[str, ...]


def convert(
    source: str | Path, target: str | Path, *, unit: float = 1.0, overwrite: bool = False
) -> Converted:
    """Read a mesh, check it, write it in the format of the ending of `target` (in metres), read it back."""
    target = Path(target)
    kind = OWN.get(target.suffix.lower(), ENDINGS.get(target.suffix.lower()))
    if kind is None:
        remedy = f"take one of {', '.join([*OWN, *ENDINGS])}"
        raise UsageError(Diagnostic("mesh.output", str(target), "the ending is no known format", remedy))
    check = check_mesh(read_mesh(source, unit=unit))
    mesh = check.require()
    out = to_meshio(mesh, kind)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / target.name
        _write(out, draft, kind, target)
        lost = _compare(mesh, draft, target)
        for item in sorted(Path(folder).iterdir()):  # .xdmf and .node come with a second file
            with disk.atomic_file(target.with_name(item.name), overwrite) as file:
                file.write(item.read_bytes())
    return Converted(target, replace(check, mesh=mesh), lost)


def _write(out: Any, draft: Path, kind: str, target: Path) -> None:
    import meshio

    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
        try:
            options = {"binary": False} if kind == "gmsh22" else {}
            meshio.write(draft, out, file_format=kind, **options)
        except (Exception, SystemExit) as error:
            what = f"meshio cannot write it ({type(error).__name__}: {str(error)[:160]})"
            raise InputError(Diagnostic("mesh.output", str(target), what, "take another format")) from None


def _compare(mesh: Mesh, draft: Path, target: Path) -> tuple[str, ...]:
    """Names of lost sets; a mesh that comes back different is an error."""
    try:
        back = read_mesh(draft)
    except InputError as error:
        what = f"what meshio writes cannot be read back: {error.diagnostics[0].what}"
        remedy = "take another format, .vtu or .msh"
        raise InputError(Diagnostic("mesh.output", str(target), what, remedy)) from None
    size = float(np.abs(mesh.points).max(initial=0.0))
    same = {kind: len(rows) for kind, rows in back.cells.items()} == {
        k: len(v) for k, v in mesh.cells.items()
    }
    for kind, rows in mesh.cells.items():
        if same:
            X, Y = mesh.points[rows], back.points[back.cells[kind]]
            same = X.shape == Y.shape and bool(np.abs(X - Y).max(initial=0.0) <= SAME * size)
    if not same:
        what = "the mesh that comes back from the file is not the one that went in"
        raise InputError(Diagnostic("mesh.output", str(target), what, "take another format, .vtu or .msh"))
    return tuple(name for name in mesh.set_names if name not in back.set_names)


def to_meshio(mesh: Mesh, kind: str = "vtu") -> Any:
    """`meshio.Mesh` of a mesh; faces of face sets become flat cells."""
    import meshio

    blocks = [(CELLS[name], rows) for name, rows in mesh.cells.items()]
    members: dict[str, list[Any]] = {}
    for name, parts in mesh.cell_sets.items():
        members[name] = [np.asarray(parts.get(cell, []), dtype=np.int64) for cell in mesh.cells]
    for name, faces in mesh.face_sets.items():
        for nodes in mesh.face_nodes(faces):
            blocks.append((FACES[nodes.shape[1]], nodes))
            listed = members.setdefault(name, [])
            listed += [np.zeros(0, dtype=np.int64)] * (len(blocks) - 1 - len(listed))
            listed.append(np.arange(len(nodes)))
    for listed in members.values():
        listed += [np.zeros(0, dtype=np.int64)] * (len(blocks) - len(listed))
    if kind in BY_DATA:
        return meshio.Mesh(
            mesh.points,
            blocks,
            point_data={name: _flags(nodes, mesh.n_nodes) for name, nodes in mesh.node_sets.items()},
            cell_data={
                name: [_flags(part, len(rows)) for part, (_, rows) in zip(parts, blocks, strict=True)]
                for name, parts in members.items()
            },
        )
    out = meshio.Mesh(mesh.points, blocks, point_sets=dict(mesh.node_sets), cell_sets=members)
    if kind == "gmsh22":
        _physical(out, members, blocks)
    return out


def _flags(chosen: Any, count: int) -> Any:
    values = np.zeros(count, dtype=np.int32)
    values[np.asarray(chosen, dtype=np.int64)] = 1
    return values


def _physical(out: Any, members: dict[str, list[Any]], blocks: list[tuple[str, Any]]) -> None:
    """Physical groups of gmsh: one for each cell, the first set that has it. Writes: out."""
    tags = [np.zeros(len(rows), dtype=np.int32) for _, rows in blocks]
    out.cell_sets = {}
    for number, (name, parts) in enumerate(members.items(), start=1):
        dims = {
            2 if kind in FACES.values() else 3 for (kind, _), p in zip(blocks, parts, strict=True) if len(p)
        }
        for tag, part in zip(tags, parts, strict=True):
            free = part[tag[part] == 0]
            tag[free] = number
        out.field_data[name] = np.array([number, max(dims, default=3)])
    out.cell_data = {"gmsh:physical": tags, "gmsh:geometrical": [tag.copy() for tag in tags]}


def write_fields(mesh: Mesh, path: Path, points: dict[str, Any], cells: dict[str, list[Any]]) -> None:
    """A mesh with numbers at its points and cells, for viewers; the ending is that of VTK or XDMF."""
    import meshio

    names = CELLS | OTHERS
    blocks = [(names[plain_name(kind)], rows) for kind, rows in mesh.cells.items()]
    options = {"data_format": "XML"} if path.suffix.lower() == ".xdmf" else {}
    made = meshio.Mesh(mesh.points, blocks, point_data=points, cell_data=cells)
    meshio.write(path, made, path.suffix.lower()[1:], **options)
