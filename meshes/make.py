"""Make the shipped meshes with gmsh: `python meshes/make.py`, or one part at another size.

    python meshes/make.py                                    all shipped meshes, as they lie here
    python meshes/make.py rod --size 4.4e-3 -o rod_49k.msh   49 000 degrees of freedom, for benchmarks

Coordinates are rounded to 10 nm and mid-nodes of straight edges lie exactly in the middle, which keeps the
text files small and straight cells straight. All lengths in metres.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import gmsh
import numpy as np

HERE = Path(__file__).resolve().parent
DECIMALS = 8


def rod(size: float) -> None:
    """Connecting rod along x: big bore about the origin, small bore at x = 0.2, pins along z; tet10."""
    occ = gmsh.model.occ
    length, thick, web = 0.2, 0.016, 0.010
    ends = [disc(0.0, 0.032, thick), disc(length, 0.018, thick)]
    corners = [(0.02, -0.014), (0.19, -0.009), (0.19, 0.009), (0.02, 0.014)]
    points = [occ.addPoint(x, y, -web / 2) for x, y in corners]
    lines = [occ.addLine(points[k], points[(k + 1) % 4]) for k in range(4)]
    shank = occ.extrude([(2, occ.addPlaneSurface([occ.addCurveLoop(lines)]))], 0, 0, web)
    solid, _ = occ.fuse([(3, ends[0])], [(3, ends[1]), *(item for item in shank if item[0] == 3)])
    bores = [(3, disc(0.0, 0.022, 2 * thick)), (3, disc(length, 0.010, 2 * thick))]
    solid, _ = occ.cut(solid, bores)
    occ.synchronize()
    group(3, "rod", [tag for _, tag in solid])
    group(2, "bore_big", cylinders(0.0, 0.022))
    group(2, "bore_small", cylinders(length, 0.010))
    option("Mesh.MeshSizeMax", size)
    option("Mesh.MeshSizeFromCurvature", max(12, round(0.13 / size)))
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.optimize("Netgen")
    gmsh.model.mesh.setOrder(2)


def disc(x: float, radius: float, thick: float) -> int:
    """Cylinder along z about (x, 0), centred."""
    return int(gmsh.model.occ.addCylinder(x, 0, -thick / 2, 0, 0, thick, radius))


def bracket(size: float) -> None:
    """Flat bracket with three bores along z, two layers of quadrilaterals and triangles: hex20, wedge15."""
    occ, thick = gmsh.model.occ, 0.012
    places = {"bore_a": (0.0, 0.0, 0.012), "bore_b": (0.12, 0.0, 0.008), "bore_c": (0.03, 0.09, 0.008)}
    outline = [(-0.025, -0.022), (0.14, -0.018), (0.14, 0.016), (0.05, 0.108), (0.012, 0.108), (-0.025, 0.02)]
    points = [occ.addPoint(x, y, 0) for x, y in outline]
    lines = [occ.addLine(points[k - 1], points[k]) for k in range(len(points))]
    plate = occ.addPlaneSurface([occ.addCurveLoop(lines)])
    holes = [(2, occ.addDisk(x, y, 0, radius, radius)) for x, y, radius in places.values()]
    ((_, face),), _ = occ.cut([(2, plate)], holes)
    occ.synchronize()
    option("Mesh.MeshSizeMax", size)
    option("Mesh.MeshSizeFromCurvature", 12)
    option("Mesh.RecombinationAlgorithm", 0)
    gmsh.model.mesh.setRecombine(2, face, angle=30.0)
    made = occ.extrude([(2, face)], 0, 0, thick, [2], recombine=True)
    occ.synchronize()
    group(3, "bracket", [tag for dim, tag in made if dim == 3])
    for name, (x, y, radius) in places.items():
        group(2, name, cylinders(x, radius, y))
    option("Mesh.SecondOrderIncomplete", 1)
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.setOrder(2)


def plate(size: float) -> None:
    """Plate 0.4 x 0.3 x 0.006 in x, y, z >= 0, one layer of hex20; edges, a corner and the top are named."""
    occ = gmsh.model.occ
    lengths, thick = (0.4, 0.3), 0.006
    face = occ.addRectangle(0, 0, 0, *lengths)
    made = occ.extrude([(2, face)], 0, 0, thick, [1], recombine=True)
    occ.synchronize()
    for _, curve in gmsh.model.getEntities(1):
        box = gmsh.model.getBoundingBox(1, curve)
        divisions = [round((box[k + 3] - box[k]) / size) for k in (0, 1)]
        gmsh.model.mesh.setTransfiniteCurve(curve, max(*divisions, 1) + 1)
    for _, surface in gmsh.model.getEntities(2):
        gmsh.model.mesh.setTransfiniteSurface(surface)
        gmsh.model.mesh.setRecombine(2, surface)
    group(3, "plate", [tag for dim, tag in made if dim == 3])
    for axis, high in (("x", lengths[0]), ("y", lengths[1])):
        for name, value in ((f"{axis}_min", 0.0), (f"{axis}_max", high)):
            group(2, name, faces_at("xy".index(axis), value))
    group(2, "top", faces_at(2, thick))
    corner = gmsh.model.getEntitiesInBoundingBox(*at(lengths[0], lengths[1], thick), dim=0)
    group(0, "corner", [tag for _, tag in corner])
    option("Mesh.SecondOrderIncomplete", 1)
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.setOrder(2)


def arm(size: float) -> None:
    """Lower arm of a car, pressed of one sheet: web in the plane z = 0, flanges 30 mm down along its legs.

    Middle surface of quad8; hinge along x at y = 0, ball joint at y = 0.35.
    """
    occ = gmsh.model.occ
    outline = [
        (-0.18, 0), (-0.12, 0), (0, 0.24), (0.12, 0), (0.18, 0), (0.035, 0.35), (-0.035, 0.35)
    ]  # fmt: skip
    points = [occ.addPoint(x, y, 0) for x, y in outline]
    lines = [occ.addLine(points[k], points[(k + 1) % len(points)]) for k in range(len(points))]
    occ.addPlaneSurface([occ.addCurveLoop(lines)])
    occ.extrude([(1, lines[k]) for k in (1, 2, 4, 6)], 0, 0, -0.03)
    occ.removeAllDuplicates()
    occ.synchronize()
    web = gmsh.model.getEntitiesInBoundingBox(-1, -1, -1e-6, 1, 1, 1e-6, dim=2)
    flanges = [tag for _, tag in gmsh.model.getEntities(2) if (2, tag) not in web]
    group(2, "web", [tag for _, tag in web])
    group(2, "flanges", flanges)
    reach = {"rear": (-0.2, 0.0, 0.0), "front": (0.0, 0.2, 0.0), "ball": (-0.1, 0.1, 0.35)}
    for name, (low, high, y) in reach.items():
        box = (low, y - 1e-6, -0.04, high, y + 1e-6, 0.01)
        group(1, name, [tag for _, tag in gmsh.model.getEntitiesInBoundingBox(*box, dim=1)])
    option("Mesh.MeshSizeMax", size)
    option("Mesh.RecombineAll", 1)
    option("Mesh.RecombinationAlgorithm", 3)
    option("Mesh.SecondOrderIncomplete", 1)
    gmsh.model.mesh.generate(2)
    gmsh.model.mesh.setOrder(2)


def at(x: float, y: float, z: float, reach: float = 1e-6) -> tuple[float, ...]:
    return (x - reach, y - reach, z - reach, x + reach, y + reach, z + reach)


def cylinders(x: float, radius: float, y: float = 0.0) -> list[int]:
    """Faces whose box is that of a cylinder along z about (x, y)."""
    found = []
    for _, tag in gmsh.model.getEntities(2):
        box = gmsh.model.getBoundingBox(2, tag)
        target = (x - radius, y - radius, x + radius, y + radius)
        same = np.allclose([box[0], box[1], box[3], box[4]], target, atol=1e-6)
        if same and gmsh.model.getType(2, tag) != "Plane":
            found.append(tag)
    return found


def faces_at(axis: int, value: float) -> list[int]:
    boxes = ((tag, gmsh.model.getBoundingBox(2, tag)) for _, tag in gmsh.model.getEntities(2))
    return [tag for tag, box in boxes if abs(box[axis] - value) < 1e-6 and abs(box[axis + 3] - value) < 1e-6]


def group(dim: int, name: str, tags: list[int]) -> None:
    if not tags:
        raise SystemExit(f"group {name} is empty: the geometry is not what this script expects")
    gmsh.model.addPhysicalGroup(dim, tags, name=name)


def option(name: str, value: float) -> None:
    gmsh.option.setNumber(name, value)


def round_nodes() -> None:
    """Corners on the grid of 10 nm; mid-nodes of straight edges exactly between them."""
    tags, flat, _ = gmsh.model.mesh.getNodes()
    X = {int(tag): x for tag, x in zip(tags, np.reshape(flat, (-1, 3)), strict=True)}
    rounded = {tag: np.round(x, DECIMALS) for tag, x in X.items()}
    for ends, mid in edges():
        middle = 0.5 * (rounded[ends[0]] + rounded[ends[1]])
        if np.abs(X[mid] - 0.5 * (X[ends[0]] + X[ends[1]])).max() < 10.0**-DECIMALS:
            rounded[mid] = np.round(middle, DECIMALS + 1)
    for tag, x in rounded.items():
        gmsh.model.mesh.setNode(tag, x + 0.0, [])  # + 0.0: no negative zero


def edges() -> list[tuple[tuple[int, int], int]]:
    """Corner nodes and mid-node of every edge of the cells, in gmsh's order of nodes."""
    tables = {
        11: [(0, 1), (1, 2), (2, 0), (3, 0), (3, 2), (3, 1)],
        16: [(0, 1), (1, 2), (2, 3), (3, 0)],
        17: [(0, 1), (0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 5), (4, 7), (5, 6), (6, 7)],
        18: [(0, 1), (0, 2), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)],
    }
    found = []
    for kind in gmsh.model.mesh.getElementTypes(gmsh.model.getDimension()):
        corners = {11: 4, 16: 4, 17: 8, 18: 6}[kind]
        _, nodes = gmsh.model.mesh.getElementsByType(kind)
        for row in np.reshape(nodes, (-1, corners + len(tables[kind]))):
            found += [
                ((int(row[a]), int(row[b])), int(row[corners + k])) for k, (a, b) in enumerate(tables[kind])
            ]
    return found


PARTS: dict[str, tuple[Callable[[float], None], float]] = {
    "rod": (rod, 0.010),
    "bracket": (bracket, 0.012),
    "plate": (plate, 0.025),
    "arm": (arm, 0.016),
}


def make(name: str, path: Path, size: float | None = None) -> Path:
    """Write one part as text, gmsh 4.1."""
    build, default = PARTS[name]
    gmsh.initialize(["gmsh"], readConfigFiles=False)
    try:
        option("General.Terminal", 0)
        option("General.NumThreads", 1)
        gmsh.model.add(name)
        build(size or default)
        gmsh.model.mesh.renumberNodes()
        gmsh.model.mesh.renumberElements()
        round_nodes()
        option("Mesh.MshFileVersion", 4.1)
        gmsh.write(str(path))
    finally:
        gmsh.finalize()
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the shipped meshes with gmsh.")
    parser.add_argument("part", nargs="?", choices=sorted(PARTS))
    parser.add_argument("--size", type=float, help="largest element [m]")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    for name in [args.part] if args.part else sorted(PARTS):
        path = args.output or HERE / f"{name}.msh"
        make(name, path, args.size)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
