"""CAD to mesh, in a process of its own: a script that `fe.cad` runs; needs gmsh and the standard library.

Reads a JSON job from standard input; writes the mesh, and a JSON answer {groups, volumes} or {error, kind},
to the files that the job names.
"""

from __future__ import annotations

import json
import sys
from typing import Any

STATED_UNIT = (".step", ".stp", ".iges", ".igs")
POINTS_PER_TURN = 12  # elements around a full circle


def limit_resources(memory: int, seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not on every system; the parent watches the time in any case
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * seconds, 2 * seconds))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def load(gmsh: Any, job: dict[str, Any]) -> None:
    """Geometry in metres: STEP and IGES state their unit, others are scaled when written."""
    number = gmsh.option.setNumber
    number("General.Terminal", 0)
    number("General.NumThreads", 1)
    number("Geometry.OCCImportLabels", 1)
    gmsh.option.setString("Geometry.OCCTargetUnit", "M" if job["ending"] in STATED_UNIT else "")
    number("Mesh.ScalingFactor", job["unit"] if job["ending"] not in STATED_UNIT else 1.0)
    if job["ending"] == ".geo":
        gmsh.open(job["source"])
    else:
        gmsh.model.add("part")
        gmsh.model.occ.importShapes(job["source"])
        gmsh.model.occ.synchronize()
        parts = gmsh.model.getEntities(job["dim"])
        if len(parts) > 1:  # touching solids share their faces, touching surfaces their edges
            gmsh.model.occ.fragment(parts[:1], parts[1:])
            gmsh.model.occ.synchronize()
    solids, surfaces = len(gmsh.model.getEntities(3)), len(gmsh.model.getEntities(2))
    if job["dim"] == 3 and not solids:
        raise ValueError(f"the geometry has no solid, only {surfaces} surfaces")
    if job["dim"] == 2 and (solids or not surfaces):
        raise ValueError(f"shells need surfaces alone; the geometry has {surfaces}, and {solids} solids")


def name_groups(gmsh: Any, dim: int) -> None:
    """Physical groups of bodies and their bounds: those of the file, else by their names, else numbers."""
    grouped = {tag for _, group in gmsh.model.getPhysicalGroups(dim) for tag in entities(gmsh, dim, group)}
    loose = [tag for _, tag in gmsh.model.getEntities(dim) if tag not in grouped]
    add_groups(gmsh, dim, loose, "body" if dim == 3 else "face_{}")
    if not gmsh.model.getPhysicalGroups(dim - 1):
        tags = [tag for _, tag in gmsh.model.getEntities(dim - 1)]
        add_groups(gmsh, dim - 1, tags, "face_{}" if dim == 3 else "edge_{}")


def add_groups(gmsh: Any, dim: int, tags: list[int], otherwise: str) -> None:
    by_name: dict[str, list[int]] = {}
    for tag in tags:
        by_name.setdefault(label(gmsh, dim, tag) or otherwise.format(tag), []).append(tag)
    for name, members in by_name.items():
        gmsh.model.addPhysicalGroup(dim, members, name=name)


def align(gmsh: Any) -> None:
    """Turn meshes of surfaces until normals agree over every edge of two surfaces."""
    across: dict[int, dict[int, int]] = {}
    for _, surface in gmsh.model.getEntities(2):
        for _, curve in gmsh.model.getBoundary([(2, surface)], combined=False, oriented=True):
            along = across.setdefault(abs(curve), {})
            along[surface] = along.get(surface, 0) + (1 if curve > 0 else -1)
    side: dict[int, int] = {}
    for _, first in gmsh.model.getEntities(2):
        side.setdefault(first, 1)
        todo = [first]
        while todo:
            surface = todo.pop()
            for along in across.values():
                if surface in along and len(along) == 2:
                    (other,) = set(along) - {surface}
                    if other not in side:
                        side[other] = -side[surface] * along[surface] * along[other]
                        todo.append(other)
    turned = [(2, surface) for surface, sign in side.items() if sign < 0]
    if turned:
        gmsh.model.mesh.reverse(turned)


def entities(gmsh: Any, dim: int, group: int) -> list[int]:
    return [int(tag) for tag in gmsh.model.getEntitiesForPhysicalGroup(dim, group)]


def label(gmsh: Any, dim: int, tag: int) -> str:
    """Last part of the path that a STEP file gives an entity."""
    text = gmsh.model.getEntityName(dim, tag).rstrip("/").split("/")[-1].strip()
    automatic = text.upper() in ("NONE", "SHELL", "FACE", "SOLID", "UNNAMED") or text.startswith(
        "Open CASCADE"
    )
    return "" if automatic else text.replace('"', "")


def sizes(gmsh: Any, job: dict[str, Any]) -> None:
    """Element size in the units of the model; without one, what the .geo says, or a twentieth of the part."""
    number = gmsh.option.setNumber
    box = gmsh.model.getBoundingBox(-1, -1)
    diagonal = sum((box[k + 3] - box[k]) ** 2 for k in range(3)) ** 0.5
    if job["size"]:
        scale = 1.0 if job["ending"] in STATED_UNIT else job["unit"]
        number("Mesh.MeshSizeMax", job["size"] / scale)
        number("Mesh.MeshSizeMin", 0.2 * job["size"] / scale)
    elif job["ending"] != ".geo":
        number("Mesh.MeshSizeMax", diagonal / 20.0)
        number("Mesh.MeshSizeMin", diagonal / 200.0)
    if job["ending"] != ".geo" or job["size"]:
        number("Mesh.MeshSizeFromCurvature", POINTS_PER_TURN)


def generate(gmsh: Any, job: dict[str, Any]) -> None:
    number = gmsh.option.setNumber
    number("Mesh.SecondOrderIncomplete", 0 if job["element"] in ("hex27", "quad9") else 1)
    if job["family"] == "hex":
        number("Mesh.SubdivisionAlgorithm", 2)
    if job["family"] == "quad":
        number("Mesh.RecombineAll", 1)
        number("Mesh.RecombinationAlgorithm", 3)  # quadrilaterals only
    gmsh.model.mesh.generate(job["dim"])
    if job["dim"] == 2:
        align(gmsh)
    if job["order"] == 2:
        gmsh.model.mesh.setOrder(2)
        if smallest_jacobian(gmsh, job["dim"]) <= 0:
            gmsh.model.mesh.optimize("HighOrder")
            if smallest_jacobian(gmsh, job["dim"]) <= 0:
                gmsh.model.mesh.optimize("HighOrderElastic")


def smallest_jacobian(gmsh: Any, dim: int) -> float:
    smallest = 1.0
    for kind in gmsh.model.mesh.getElementTypes(dim):
        tags, _ = gmsh.model.mesh.getElementsByType(kind)
        smallest = min(smallest, float(min(gmsh.model.mesh.getElementQualities(tags, "minDetJac"))))
    return smallest


def group_table(gmsh: Any) -> list[dict[str, Any]]:
    """Name, dimension and size of every group, so that people can find their faces."""
    table = []
    for dim, group in gmsh.model.getPhysicalGroups():
        tags = entities(gmsh, dim, group)
        row: dict[str, Any] = {"name": gmsh.model.getPhysicalName(dim, group) or str(group), "dim": dim}
        boxes = [gmsh.model.getBoundingBox(dim, tag) for tag in tags]
        row["box"] = [min(b[k] for b in boxes) for k in range(3)] + [
            max(b[k] for b in boxes) for k in range(3, 6)
        ]
        row["kind"] = ", ".join(sorted({gmsh.model.getType(dim, tag) for tag in tags}))
        table.append(row)
    return table


def run(job: dict[str, Any]) -> dict[str, Any]:
    limit_resources(job["memory"], job["seconds"])
    try:
        import gmsh
    except (ImportError, OSError) as error:
        return {"kind": "missing", "error": str(error)}
    gmsh.initialize(["gmsh"], readConfigFiles=False, run=False)
    try:
        load(gmsh, job)
        name_groups(gmsh, job["dim"])
        sizes(gmsh, job)
        generate(gmsh, job)
        gmsh.option.setNumber("Mesh.MshFileVersion", 4.1)
        gmsh.option.setNumber("Mesh.Binary", 0 if job["text"] else 1)
        gmsh.option.setNumber("Mesh.SaveAll", 0)
        gmsh.write(job["target"])
        return {"groups": group_table(gmsh), "volumes": len(gmsh.model.getEntities(3))}
    except MemoryError:
        return {"kind": "memory", "error": "the memory limit was reached"}
    except Exception as error:  # gmsh raises plain Exception with its log line
        return {"kind": "geometry", "error": str(error) or "gmsh gave up; the memory limit may be too low"}
    finally:
        gmsh.finalize()


if __name__ == "__main__":
    job = json.load(sys.stdin)
    answer = run(job)
    with open(job["answer"], "w", encoding="utf-8") as file:
        json.dump(answer, file)
