"""Further formats, read by meshio, behind the same checks; sets are those that meshio keeps."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, missing_component
from flexmbs.fe.readers.raw import RawMesh
from flexmbs.fe.readers.source import Damaged, Ints, confined, to_ints
from flexmbs.fe.readers.vtk_cells import Grid, to_raw
from flexmbs.hdf5 import is_hdf5
from flexmbs.hdf5.foreign import refuse_links

#: ending -> name of the format in meshio; those that our own readers take are not here
ENDINGS = {
    ".med": "med", ".xdmf": "xdmf", ".xmf": "xdmf", ".e": "exodus", ".exo": "exodus", ".ex2": "exodus",
    ".cgns": "cgns", ".mesh": "medit", ".meshb": "medit", ".ugrid": "ugrid", ".node": "tetgen",
    ".ele": "tetgen", ".vol": "netgen", ".mdpa": "mdpa", ".f3grid": "flac3d", ".avs": "avsucd",
    ".xml": "dolfin-xml", ".h5m": "h5m",
    ".su2": "su2", ".hmf": "hmf", ".tec": "tecplot", ".post": "permas", ".dato": "permas",
}  # fmt: skip
#: our names of its cell types are those of VTK; number of the type there
VTK = {
    "vertex": 1, "line": 3, "line3": 21, "triangle": 5, "triangle6": 22, "triangle7": 34, "quad": 9,
    "quad8": 23, "quad9": 28, "tetra": 10, "tetra10": 24, "hexahedron": 12, "hexahedron20": 25,
    "hexahedron27": 29, "wedge": 13, "wedge15": 26, "pyramid": 14, "pyramid13": 27,
}  # fmt: skip
#: of the child that reads: bytes and seconds in any case, and for each byte of the file
LEAST_MEMORY, MEMORY, LEAST_SECONDS, SECONDS = 2**28, 60, 8, 2e-6
REMEDY = "write the mesh again, or as .vtu, .msh or .inp"
OTHER = 1000  # number of a type that VTK_CELLS does not know


def read_by_meshio(path: Path, kind: str) -> RawMesh:
    """Content of a file in the format `kind` of meshio."""
    for part in parts_of(path, kind):
        if is_hdf5(part):
            refuse_links(part)
    size = path.stat().st_size
    with tempfile.TemporaryDirectory(prefix="flexmbs-meshio-") as folder:
        job: dict[str, Any] = {"source": str(path.absolute()), "format": kind}
        job |= {"arrays": str(Path(folder) / "arrays.npz"), "memory": LEAST_MEMORY + MEMORY * size}
        job["seconds"] = int(LEAST_SECONDS + SECONDS * size)
        answer = _answer(job)
        if answer.get("kind") == "missing":
            raise missing_component(str(path), answer["error"], "data")
        if "error" in answer:
            raise Damaged(f"meshio cannot read it ({answer['error']})", remedy=REMEDY)
        with np.load(job["arrays"], allow_pickle=False) as arrays:
            return raw_of_meshio(_unpacked(answer, arrays), path.name)


def parts_of(path: Path, kind: str) -> list[Path]:
    """The file, and those that it names, which lie in its folder or below."""
    if kind != "xdmf":
        return [path]
    text = path.read_bytes()
    if b"<!ENTITY" in text:
        raise Damaged("the XML declares entities, which no mesh needs")
    try:
        items = list(ElementTree.fromstring(text).iter("DataItem"))
    except (ElementTree.ParseError, ValueError) as error:
        raise Damaged(f"is no XML: {error}") from None
    named = [item.text or "" for item in items if item.get("Format") in ("HDF", "Binary")]
    return [path, *(confined(path, name.strip().split(":")[0], None, path.parent) for name in set(named))]


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    """What the child says; everything that can go wrong with it is damage of the file."""
    # -P: the folder of the script holds modules whose names others use too
    command = [sys.executable, "-P", str(Path(__file__).with_name("meshio_child.py"))]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            capture_output=True,
            timeout=10 * job["seconds"],
            check=False,
        )
        ended = f"it ended with signal {-done.returncode}" if done.returncode < 0 else ""
        if done.returncode == -signal.SIGXCPU:
            ended = f"it took longer than {job['seconds']} s"
        return {"error": ended} if ended else dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired as error:
        return {"error": f"it took longer than {error.timeout:.0f} s"}
    except ValueError:
        return {"error": "it gave no answer"}


def _unpacked(answer: dict[str, Any], arrays: Any) -> Any:
    """The mesh that the child has read, with the attributes of `meshio.Mesh`."""

    def array(name: str | None) -> Any:
        return None if name is None else arrays[name]

    cells = [
        SimpleNamespace(type=kind, data=np.zeros((count, 0), dtype=np.int64) if name is None else array(name))
        for kind, name, count in answer["cells"]
    ]
    return SimpleNamespace(
        points=array(answer["points"]),
        cells=cells,
        point_data={key: array(name) for key, name in answer["point_data"].items()},
        cell_data={key: [array(name) for name in parts] for key, parts in answer["cell_data"].items()},
        point_sets={key: array(name) for key, name in answer["point_sets"].items()},
        cell_sets={key: [array(name) for name in parts] for key, parts in answer["cell_sets"].items()},
        cell_tags={int(key): names for key, names in answer["cell_tags"].items()},
        point_tags={int(key): names for key, names in answer["point_tags"].items()},
    )


def raw_of_meshio(mesh: Any, name: str) -> RawMesh:
    """What a `meshio.Mesh` holds: cells, named sets, integer data as sets, and a note about what is lost."""
    points = np.asarray(mesh.points, dtype=float)
    if points.ndim != 2 or points.shape[1] not in (2, 3):
        raise Damaged(f"its points have the shape {points.shape}")
    points = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    rows, types = [], []
    unknown: dict[str, int] = {}
    for block in mesh.cells:
        if block.type not in VTK:
            unknown[block.type] = unknown.get(block.type, 0) + len(block.data)
        rows.append([np.asarray(row, dtype=np.int64) for row in block.data])
        types.append(np.full(len(block.data), VTK.get(block.type, OTHER)))
    cells = [row for block in rows for row in block]
    sizes = np.array([len(row) for row in cells], dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    grid = Grid(
        points,
        np.concatenate([none, *types]),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([none, *cells]),
        point_data={key.split(":")[-1]: flat(value) for key, value in mesh.point_data.items()},
        cell_data={
            key.split(":")[-1]: np.concatenate([flat(part) for part in value]) if len(value) else none
            for key, value in mesh.cell_data.items()
        },
    )
    tagged(mesh, grid)
    raw = to_raw(grid)
    raw.unsupported = {
        key: count for key, count in raw.unsupported.items() if str(OTHER) not in key
    } | unknown
    _named(mesh, raw, [len(block.data) for block in mesh.cells])
    if not raw.node_sets and not raw.cell_sets:
        what = "no set came with the file"
        remedy = "sets by place: [sets] in a recipe"
        raw.notes.append(Diagnostic("mesh.no_sets", name, what, remedy, "warn"))
    return raw


def flat(values: Any) -> Any:
    """Whole numbers stay whole; some formats keep them as floats, or as one column."""
    array = np.asarray(values)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    return array


def tagged(mesh: Any, grid: Grid) -> None:
    """Families of MED: their groups instead of their numbers. Writes: grid, mesh.cell_sets."""
    for data, families, by_name in (
        (grid.cell_data, getattr(mesh, "cell_tags", None) or {}, "cells"),
        (grid.point_data, getattr(mesh, "point_tags", None) or {}, "points"),
    ):
        key = "cell_tags" if by_name == "cells" else "point_tags"
        if not families or key not in data:
            continue
        tags = data.pop(key)
        for group in sorted({name for names in families.values() for name in names}):
            numbers = [number for number, names in families.items() if group in names]
            data[group] = np.isin(tags, numbers).astype(np.int64)


def _named(mesh: Any, raw: RawMesh, sizes: list[int]) -> None:
    """Sets by name; numbers count from 1 through all blocks, as `to_raw` gives them. Writes: raw."""
    for name, nodes in (mesh.point_sets or {}).items():
        members = to_ints(np.asarray(nodes).ravel())
        if len(members) and (members.min() < 0 or members.max() >= len(raw.node_number)):
            raise Damaged(f'node set "{name}" refers to nodes that do not exist')
        raw.node_sets.setdefault(str(name), []).append(raw.node_number[members])
    start = np.cumsum([0, *sizes])
    for name, parts in (mesh.cell_sets or {}).items():
        if str(name).startswith("gmsh:"):
            continue
        found: list[Ints] = []
        for k, part in enumerate(parts):
            if part is None:
                continue
            members = to_ints(np.asarray(part).ravel())
            if len(members) and (members.min() < 0 or members.max() >= sizes[k]):
                raise Damaged(f'cell set "{name}" refers to cells that do not exist')
            found.append(members + start[k] + 1)
        raw.cell_sets.setdefault(str(name), []).extend(found)
