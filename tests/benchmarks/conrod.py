"""The mesh of the benchmarks: a connecting rod of straight tet10 elements, the two bores are interfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.runner import DATA

YOUNG, POISSON, DENSITY = 2.1e11, 0.3, 7850.0
BORES = ((0.0, 0.022), (0.18, 0.011))  # x of the axis, radius
# edges of tet10 in the order of VTK
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


def corner_mesh(size: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, tetrahedra and surface triangles from gmsh."""
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    cad = gmsh.model.occ
    big = cad.addCylinder(0, 0, 0, 0, 0, 0.02, 0.034)
    small = cad.addCylinder(0.18, 0, 0, 0, 0, 0.02, 0.019)
    shank = cad.addBox(0.02, -0.011, 0.004, 0.15, 0.022, 0.012)
    body, _ = cad.fuse([(3, big)], [(3, small), (3, shank)])
    holes = [(3, cad.addCylinder(x, 0, -0.01, 0, 0, 0.04, radius)) for x, radius in BORES]
    cad.cut(body, holes)
    cad.synchronize()
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


def conrod(dof: int) -> dict[str, np.ndarray]:
    """Mesh of about `dof` unknowns: corners, tets, points, tet10, triangles and nodes of the bores."""
    path = DATA / f"conrod_{dof}.npz"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        size = 0.012 * (5000 / dof) ** (1 / 3)
        for _ in range(4):
            corners, tets, triangles = corner_mesh(size)
            points, tet10, middle = with_middles(corners, tets)
            found = 3 * len(points)
            if abs(found / dof - 1) < 0.08:
                break
            size *= (found / dof) ** (1 / 2.8)
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
