"""CAD file or gmsh script -> mesh file, by gmsh in a child process with limits of time and memory."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flexmbs import disk
from flexmbs.errors import Diagnostic, InputError, MissingComponentError, UsageError, missing_component
from flexmbs.fe.cad.geo_guard import check_geo
from flexmbs.fe.check.mesh import MeshCheck, check_mesh
from flexmbs.fe.readers import read_mesh
from flexmbs.units import LENGTH, UnitError, to_si

ENDINGS = (".step", ".stp", ".iges", ".igs", ".brep", ".geo")
ELEMENTS = {
    "tet": ("tet", None), "hex": ("hex", None), "tet4": ("tet", 1), "tet10": ("tet", 2),
    "hex8": ("hex", 1), "hex20": ("hex", 2), "hex27": ("hex", 2),
    "tri": ("tri", None), "quad": ("quad", None), "tri3": ("tri", 1), "tri6": ("tri", 2),
    "quad4": ("quad", 1), "quad8": ("quad", 2), "quad9": ("quad", 2),
}  # fmt: skip
SECONDS = 600
MEMORY = 8 * 1024**3
UNUSABLE = ("mesh.inverted_cells", "mesh.flat_cells")
LIBRARIES = "apt-get install libglu1-mesa libxcursor1 libxft2 libxinerama1 libxrender1"


@dataclass(frozen=True)
class CadMesh:
    """What came out: the file, its groups (name, dim, box [m], kind), and the checked mesh."""

    path: Path
    groups: list[dict[str, Any]]
    check: MeshCheck
    notes: list[Diagnostic] = field(default_factory=list)


def mesh_cad(
    source: str | Path,
    target: str | Path,
    *,
    size: float | str | None = None,
    element: str = "tet",
    order: int | None = None,
    unit: float = 1.0,
    seconds: int = SECONDS,
    memory: int = MEMORY,
    text: bool = False,
    overwrite: bool = False,
    progress: Callable[[float, str], None] | None = None,
) -> CadMesh:
    """Mesh a part; the mesh file is in metres, whatever the unit of a STEP or IGES file.

    size : largest element [m] or with a unit, "3 mm"; default a twentieth of the part
    element : tet, hex, or one of the solid types; of surfaces tri, quad, or one of the types of shells
    unit : length unit of .geo and .brep [m], which do not state it
    text : write text in place of binary
    """
    source, target = Path(source), Path(target)
    job = _job(source, target, size, element, order, unit)
    disk.check_target(target, overwrite)
    if importlib.util.find_spec("gmsh") is None:
        raise missing_component("flexmbs mesh", "gmsh (it makes meshes from CAD files)", "cad")
    if progress is not None:
        progress(0.05, f"meshing {source.name}")
    with tempfile.TemporaryDirectory(prefix="flexmbs-mesh-") as folder:
        made = Path(folder) / "mesh.msh"
        job |= {"memory": memory, "seconds": seconds, "text": text, "target": str(made)}
        answer = _run_child(job, Path(folder), seconds, str(source))
        if progress is not None:
            progress(0.8, "checking the mesh")
        check = check_mesh(replace(read_mesh(made, shells=job["dim"] == 2), source=str(target)))
        _refuse_unusable(check, source)
        with disk.atomic_file(target, overwrite) as raw:
            raw.write(made.read_bytes())
    groups = answer["groups"]
    if source.suffix.lower() in (".geo", ".brep"):
        for row in groups:
            row["box"] = [unit * value for value in row["box"]]
    if progress is not None:
        progress(1.0, "done")
    return CadMesh(target, groups, check)


def _job(
    source: Path, target: Path, size: float | str | None, element: str, order: int | None, unit: float
) -> dict[str, Any]:
    """Check the request."""
    ending = source.suffix.lower()
    if element not in ELEMENTS:
        raise UsageError(
            Diagnostic("mesh.element", "element", f'"{element}"', f"choices: {', '.join(ELEMENTS)}")
        )
    family, fixed = ELEMENTS[element]
    if order not in (None, 1, 2) or (order and fixed and order != fixed):
        raise UsageError(Diagnostic("mesh.order", "order", f"{order} does not fit element {element}"))
    largest = None if size is None else _length(size)
    if ending not in ENDINGS:
        remedy = f"flexmbs mesh reads {', '.join(ENDINGS)}"
        raise InputError(
            Diagnostic("mesh.format", str(source), f'unknown kind of geometry "{ending}"', remedy)
        )
    if not source.is_file():
        raise InputError(Diagnostic("mesh.no_file", str(source), "there is no such file", "check the path"))
    if target.suffix.lower() != ".msh":
        raise UsageError(
            Diagnostic("mesh.output", str(target), "meshes are written as .msh", "name it X.msh")
        )
    findings = check_geo(source) if ending == ".geo" else []
    if findings:
        raise InputError(*findings)
    return {
        "source": str(source.absolute()),
        "ending": ending,
        "size": largest,
        "element": element,
        "family": family,
        "order": fixed or order or 2,
        "dim": 2 if family in ("tri", "quad") else 3,
        "unit": unit,
    }


def _length(size: float | str) -> float:
    try:
        length = to_si(size, LENGTH)
    except UnitError as error:
        raise UsageError(Diagnostic("mesh.size", "size", f"{size} {error}", 'say 0.003 or "3 mm"')) from None
    if length <= 0:
        raise UsageError(Diagnostic("mesh.size", "size", f"{size}", "it must be positive"))
    return length


def _run_child(job: dict[str, Any], folder: Path, seconds: int, where: str) -> dict[str, Any]:
    """Answer of the child; everything that can go wrong with it is an InputError."""
    answer = folder / "answer.json"
    job["answer"] = str(answer)
    script = Path(__file__).with_name("child.py")
    # -P: the folder of the script holds modules whose names others use too
    command = [sys.executable, "-P", str(script)]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(job).encode(),
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        what = f"meshing took longer than {seconds} s"
        raise InputError(
            Diagnostic("mesh.time", where, what, "take a larger --size or --time-limit")
        ) from None
    if not answer.exists():
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        what = f"gmsh stopped ({describe_exit(done.returncode)}: {last[0][:120]})"
        raise InputError(Diagnostic("mesh.cad", where, what, "repair the geometry, or take another --size"))
    result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if result.get("kind") == "missing":
        what = f"gmsh cannot be loaded ({result['error'][:120]})"
        raise MissingComponentError(
            Diagnostic("missing.cad", "flexmbs mesh", what, f"install it: {LIBRARIES}")
        )
    if "error" in result:
        remedy = "take a larger --size" if result["kind"] == "memory" else "repair the geometry"
        raise InputError(Diagnostic("mesh.cad", where, result["error"][:200], remedy))
    return result


def describe_exit(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit {code}"


def _refuse_unusable(check: MeshCheck, source: Path) -> None:
    bad = [item for item in check.errors if item.code in UNUSABLE]
    if bad:
        remedy = "take a smaller --size, or --order 1"
        raise InputError(*(Diagnostic(item.code, str(source), item.what, remedy) for item in bad))
