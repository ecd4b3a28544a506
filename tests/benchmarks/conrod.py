"""Meshes of the benchmarks, straight tet10: a rod whose bores are interfaces, and a compact casting."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.runner import DATA

YOUNG, POISSON, DENSITY = 2.1e11, 0.3, 7850.0
BORES = ((0.0, 0.022), (0.18, 0.011))  # x of the axis, radius
# edges of tet10 in the order of VTK
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def rod_shape(cad: Any) -> None:
    """Two eyes and a shank."""
    big = cad.addCylinder(0, 0, 0, 0, 0, 0.02, 0.034)
    small = cad.addCylinder(0.18, 0, 0, 0, 0, 0.02, 0.019)
    shank = cad.addBox(0.02, -0.011, 0.004, 0.15, 0.022, 0.012)
    body, _ = cad.fuse([(3, big)], [(3, small), (3, shank)])
    holes = [(3, cad.addCylinder(x, 0, -0.01, 0, 0, 0.04, radius)) for x, radius in BORES]
    cad.cut(body, holes)


def casting_shape(cad: Any) -> None:
    """A block with a bore along it, a pocket and ribs: compact, so with large separators."""
    block = cad.addBox(0, 0, 0, 0.16, 0.12, 0.11)
    ribs = [(3, cad.addBox(x, -0.02, 0, 0.008, 0.16, 0.09)) for x in (0.02, 0.06, 0.1, 0.14)]
    body, _ = cad.fuse([(3, block)], ribs)
    bore = cad.addCylinder(-0.01, 0.06, 0.045, 0.18, 0, 0, 0.02)
    pocket = cad.addBox(0.03, 0.03, 0.085, 0.1, 0.06, 0.05)
    cad.cut(body, [(3, bore), (3, pocket)])


SHAPES = {"conrod": (rod_shape, 0.012), "casting": (casting_shape, 0.022)}


def corner_mesh(size: float, shape: str = "conrod") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, tetrahedra and surface triangles from gmsh."""
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    SHAPES[shape][0](gmsh.model.occ)
    gmsh.model.occ.synchronize()
    gmsh.option.setNumber("Mesh.MeshSizeMin", size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.option.setNumber("Mesh.Algorithm3D", 10)
    gmsh.model.mesh.generate(3)
    tags, points, _ = gmsh.model.mesh.getNodes()
    number = np.zeros(int(tags.max()) + 1, int)
    number[tags.astype(int)] = np.arange(len(tags))
    tets = number[gmsh.model.mesh.getElementsByType(4)[1].astype(int)].reshape(-1, 4)
    triangles = number[gmsh.model.mesh.getElementsByType(2)[1].astype(int)].reshape(-1, 3)
    gmsh.finalize()
    used = np.unique(tets)
    place = np.full(len(tags), -1)
    place[used] = np.arange(len(used))
    points = points.reshape(-1, 3)[used]
    tets, triangles = place[tets], place[triangles]
    turned = np.linalg.det(points[tets[:, 1:]] - points[tets[:, :1]]) < 0
    tets[turned] = tets[turned][:, [1, 0, 2, 3]]
    return points, tets, triangles


def with_middles(points: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[Any, int]]:
    """Straight tet10: middle nodes on the edges; also edge -> node."""
    edges = np.sort(np.concatenate([tets[:, pair] for pair in EDGES]), axis=1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    all_points = np.vstack([points, 0.5 * (points[unique[:, 0]] + points[unique[:, 1]])])
    cells = np.hstack([tets, len(points) + inverse.reshape(6, -1).T])
    return all_points, cells, {tuple(edge): len(points) + k for k, edge in enumerate(unique.tolist())}


def casting(dof: int) -> dict[str, np.ndarray]:
    """Mesh of the casting with about `dof` unknowns: points, tet10, nodes of its base and of its bore."""
    path = DATA / f"casting_{dof}.npz"
    if not path.exists():
        corners, tets, _ = corner_mesh_near(dof, "casting")
        points, tet10, _ = with_middles(corners, tets)
        on = np.abs(np.hypot(corners[:, 1] - 0.06, corners[:, 2] - 0.045) - 0.02) < 1e-6
        base = np.abs(points[:, 2]) < 1e-9
        np.savez(path, points=points, tet10=tet10, bore0=np.flatnonzero(base), bore1=np.flatnonzero(on))
    stored = np.load(path)
    return {key: stored[key] for key in stored.files}


def corner_mesh_near(dof: int, shape: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mesh whose tet10 have about `dof` unknowns."""
    DATA.mkdir(parents=True, exist_ok=True)
    size = SHAPES[shape][1] * (5000 / dof) ** (1 / 3)
    for _ in range(4):
        corners, tets, triangles = corner_mesh(size, shape)
        edges = np.sort(np.concatenate([tets[:, pair] for pair in EDGES]), axis=1)
        found = 3 * (len(corners) + len(np.unique(edges, axis=0)))
        if abs(found / dof - 1) < 0.08:
            break
        size *= (found / dof) ** (1 / 2.8)
    return corners, tets, triangles


def conrod(dof: int) -> dict[str, np.ndarray]:
    """Mesh of about `dof` unknowns: corners, tets, points, tet10, triangles and nodes of the bores."""
    path = DATA / f"conrod_{dof}.npz"
    if not path.exists():
        corners, tets, triangles = corner_mesh_near(dof, "conrod")
        points, tet10, middle = with_middles(corners, tets)
        bore_of = np.zeros(len(triangles), int)
        arrays: dict[str, Any] = {}
        for k, (x, radius) in enumerate(BORES):
            on = np.abs(np.hypot(corners[:, 0] - x, corners[:, 1]) - radius) < 1e-6
            bore_of[on[triangles].all(axis=1)] = k + 1
            nodes = set(np.unique(triangles[bore_of == k + 1]).tolist())
            for tri in triangles[bore_of == k + 1]:
                nodes |= {
                    middle[tuple(sorted((int(tri[a]), int(tri[b]))))] for a, b in ((0, 1), (1, 2), (0, 2))
                }
            arrays[f"bore{k}"] = np.array(sorted(nodes))
        np.savez(
            path, corners=corners, tets=tets, triangles=triangles, bore_of=bore_of,
            points=points, tet10=tet10, **arrays,
        )  # fmt: skip
    stored = np.load(path)
    return {key: stored[key] for key in stored.files}
