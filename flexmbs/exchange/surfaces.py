"""Surfaces of robots: meshes of their descriptions -> STL files beside the case, which pictures draw."""

from __future__ import annotations

import io
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.disk import MARKER, OutsideError, inside
from flexmbs.exchange.xml_files import tree_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: file endings that trimesh reads without more than itself, but for .dae (pycollada)
READ = (".stl", ".dae", ".obj", ".ply")
MOST_BYTES = 64 * 2**20


class NoSurface(Exception):
    """Why there is nothing to draw, in words."""


def stl(points: Floats, triangles: Ints) -> bytes:
    """A binary STL file [m]; normals are left to the reader, as the corners tell them."""
    table = np.zeros(len(triangles), dtype=np.dtype([("f", "<f4", 12), ("n", "<u2")]))
    table["f"][:, 3:] = points[triangles].reshape(-1, 9)
    return b"flexmbs".ljust(80) + len(triangles).to_bytes(4, "little") + table.tobytes()


def find(robot: Path, root: Path, name: str) -> Path:
    """The file that a URDF means: seen from its folder, or `package://NAME/...` in a folder NAME about it."""
    folder = robot.parent.resolve()
    places = [folder / name]
    if name.startswith("package://"):
        package, _, rest = name.removeprefix("package://").partition("/")
        places = [above / rest for above in (folder, *folder.parents) if above.name == package]
        places += [above / package / rest for above in (folder, *folder.parents)]
    elif name.startswith("file://"):
        places = [Path(name.removeprefix("file://"))]
    for place in places:
        if place.is_file():
            try:
                return inside(root, place.parent, place.name)
            except OutsideError:
                remedy = f"put an empty file {MARKER} into a folder that holds both, or give --root"
                raise NoSurface(f"outside of {root.name or root}: {remedy}") from None
    raise NoSurface("there is no such file")


def read(path: Path) -> tuple[Floats, Ints]:
    """Points [m] and triangles of a mesh file. Nothing else that it names is opened."""
    ending = path.suffix.lower()
    if ending not in READ:
        raise NoSurface(f"one of {', '.join(READ)} is drawn")
    if path.stat().st_size > MOST_BYTES:
        raise NoSurface(f"is larger than {MOST_BYTES // 2**20} MB")
    import trimesh

    logging.getLogger("trimesh").setLevel(logging.CRITICAL)
    unit = 1.0
    try:
        if ending == ".dae":
            units = [item for item in tree_of(path).iter() if item.tag.endswith("}unit")]
            unit = float(units[0].get("meter", "1")) if units else 1.0
        data = io.BytesIO(path.read_bytes())
        found: Any = trimesh.load_scene(data, file_type=ending[1:], skip_materials=True).to_mesh()
        points, triangles = unit * np.array(found.vertices, dtype=float), np.array(found.faces)
    except Exception as error:  # whatever the readers say of a damaged file
        raise NoSurface(f"cannot be read ({type(error).__name__}: {str(error)[:80]})") from None
    if triangles.ndim != 2 or not len(triangles) or not np.isfinite(points).all():
        raise NoSurface("holds no triangles")
    return points, triangles.astype(np.int64)
