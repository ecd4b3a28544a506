"""Shapes to draw: boxes, cylinders, spheres, links, inertia ellipsoids, STL files, symbols of joints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.spatial import shortest_rotation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_STL_TRIANGLES = 2_000_000
CREASE = np.cos(np.radians(28.0))


@dataclass(frozen=True)
class TriMesh:
    """Triangles to draw: points (n, 3) [m], triangles (n, 3) outward, edges (n, 2) to draw as lines."""

    points: Floats
    triangles: Ints
    edges: Ints

    def moved(self, position: ArrayLike = (0.0, 0.0, 0.0), rotation: ArrayLike | None = None) -> TriMesh:
        points = self.points if rotation is None else self.points @ np.asarray(rotation, dtype=float).T
        return TriMesh(points + np.asarray(position, dtype=float), self.triangles, self.edges)


def joined(parts: Sequence[TriMesh]) -> TriMesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(part.points) for part in parts)])
    return TriMesh(
        np.concatenate([part.points for part in parts]),
        np.concatenate([part.triangles + start for part, start in zip(parts, starts[:-1], strict=True)]),
        np.concatenate([part.edges + start for part, start in zip(parts, starts[:-1], strict=True)]),
    )


def box(size: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0)) -> TriMesh:
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)], dtype=float)
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    triangles = [tri for a, b, c, d in quads for tri in ((a, b, c), (a, c, d))]
    edges = [(a, b) for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]
    points = 0.5 * corners * np.asarray(size, dtype=float) + np.asarray(centre, dtype=float)
    return TriMesh(points, np.array(triangles), np.array(edges))


def cylinder(radius: float, length: float, n: int = 32) -> TriMesh:
    """Closed cylinder about z, centred at the origin."""
    angle = 2.0 * np.pi * np.arange(n) / n
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.zeros(n)], axis=1)
    up = np.array([0.0, 0.0, 0.5 * length])
    points = np.concatenate([ring - up, ring + up, [-up, up]])
    a, b = np.arange(n), (np.arange(n) + 1) % n
    side = np.concatenate([np.stack([a, b, b + n], 1), np.stack([a, b + n, a + n], 1)])
    caps = np.concatenate(
        [np.stack([b, a, 0 * a + 2 * n], 1), np.stack([a + n, b + n, 0 * a + 2 * n + 1], 1)]
    )
    edges = np.concatenate([np.stack([a, b], 1), np.stack([a + n, b + n], 1)])
    return TriMesh(points, np.concatenate([side, caps]), edges)


def sphere(radius: float, n: int = 24) -> TriMesh:
    return ellipsoid([radius] * 3, n=n)


def ellipsoid(semi_axes: ArrayLike, n: int = 24) -> TriMesh:
    """Ellipsoid by latitude and longitude, with three great circles as edges."""
    lat = np.pi * (np.arange(1, n // 2) / (n // 2) - 0.5)
    lon = 2.0 * np.pi * np.arange(n) / n
    grid = np.stack(
        [
            np.outer(np.cos(lat), np.cos(lon)),
            np.outer(np.cos(lat), np.sin(lon)),
            np.outer(np.sin(lat), np.ones(n)),
        ],
        -1,
    )
    points = np.concatenate([grid.reshape(-1, 3), [[0, 0, -1], [0, 0, 1]]]) * np.asarray(
        semi_axes, dtype=float
    )
    rows, south, north = len(lat), len(lat) * n, len(lat) * n + 1
    a, b = np.arange(n), (np.arange(n) + 1) % n
    triangles = [
        np.stack([b, a, 0 * a + south], 1),
        np.stack([a, b, 0 * a + north], 1) + [[(rows - 1) * n] * 2 + [0]],
    ]
    for k in range(rows - 1):
        low, high = k * n, (k + 1) * n
        triangles += [np.stack([a + low, b + low, b + high], 1), np.stack([a + low, b + high, a + high], 1)]
    middle = (rows // 2) * n
    circles = [np.stack([a + middle, b + middle], 1)]
    for column in (0, n // 4, n // 2, 3 * n // 4):
        line = np.concatenate([[south], column + n * np.arange(rows), [north]])
        circles.append(np.stack([line[:-1], line[1:]], 1))
    return TriMesh(points, np.concatenate(triangles), np.concatenate(circles))


def bar(start: ArrayLike, end: ArrayLike, radius: float) -> TriMesh:
    """Cylinder from one point to another."""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        return sphere(radius).moved(start)
    return cylinder(radius, length).moved(0.5 * (start + end), shortest_rotation(end - start))


def link(start: ArrayLike, end: ArrayLike, radius: float) -> TriMesh:
    """Bar with round ends: how a crank or a coupler is drawn."""
    return joined([bar(start, end, 0.6 * radius), sphere(radius).moved(start), sphere(radius).moved(end)])


def inertia_ellipsoid(mass: float, com: ArrayLike, inertia: ArrayLike, smallest: float) -> TriMesh:
    """Solid ellipsoid of the same mass and inertia; no semi-axis below `smallest`."""
    moments, axes = np.linalg.eigh(np.asarray(inertia, dtype=float))
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    squares = 2.5 / mass * (moments.sum() - 2.0 * moments) if mass > 0.0 else np.zeros(3)
    semi_axes = np.maximum(np.sqrt(np.maximum(squares, 0.0)), smallest)
    return ellipsoid(semi_axes).moved(com, axes)


def read_stl(path: Path) -> TriMesh:
    """Triangles of an STL file, text or binary; equal corners merged, edges where the surface bends."""
    raw = path.read_bytes()
    count = int.from_bytes(raw[80:84], "little") if len(raw) >= 84 else -1
    if 84 + 50 * count == len(raw) and count <= MAX_STL_TRIANGLES:
        table = np.frombuffer(raw, dtype=np.dtype([("f", "<f4", 12), ("n", "<u2")]), offset=84, count=count)
        corners = table["f"][:, 3:].reshape(-1, 3).astype(float)
    else:
        corners = _text_corners(raw)
    if not len(corners) or len(corners) % 3 or not np.isfinite(corners).all():
        raise InputError(Diagnostic("visual.stl", path.name, "is not a readable STL file", "export it again"))
    points, inverse = np.unique(corners, axis=0, return_inverse=True)
    triangles = inverse.reshape(-1, 3).astype(np.int64)
    return TriMesh(points, triangles, crease_edges(points, triangles))


def _text_corners(raw: bytes) -> Floats:
    rows = [line.split()[1:4] for line in raw.splitlines() if line.strip().startswith(b"vertex")]
    try:
        return np.array(rows, dtype=float).reshape(-1, 3)
    except ValueError:
        return np.zeros((0, 3))


def crease_edges(points: Floats, triangles: Ints) -> Ints:
    """Edges where two triangles meet at an angle, or that belong to one triangle only."""
    p = points[triangles]
    normal = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    face = np.tile(np.arange(len(triangles)), 3)
    edges, label, count = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(label.ravel(), kind="stable")
    first = np.cumsum(np.concatenate([[0], count[:-1]]))
    second = np.minimum(first + 1, len(order) - 1)
    flat = np.einsum("ei,ei->e", normal[face[order[first]]], normal[face[order[second]]]) > CREASE
    return edges[(count != 2) | ~flat]


def visual_mesh(
    visual: Mapping[str, Any], place_of: Callable[[str], Floats], file_of: Callable[[str], Path | None]
) -> TriMesh:
    """Mesh of a case's `visual` table, in body axes.

    `place_of` gives the place of a frame of the body, `file_of` finds a file that the case names.
    """
    shape = visual.get("shape")
    radius = float(visual.get("radius") or 0.0)
    if shape == "none":
        return TriMesh(np.zeros((1, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    if visual.get("to"):
        end = place_of(str(visual["to"]))
        radius = radius or 0.06 * float(np.linalg.norm(end)) or 0.01
        return link(np.zeros(3), end, radius) if shape == "link" else bar(np.zeros(3), end, radius)
    pos, rot = visual.get("pos") or (0.0, 0.0, 0.0), visual.get("rot")
    if shape == "box":
        return box(visual["size"]).moved(pos, rot)
    if shape == "sphere":
        return sphere(radius or 0.01).moved(pos)
    if shape in ("cylinder", "link"):
        return cylinder(radius or 0.01, float(visual.get("length") or 4.0 * radius)).moved(pos, rot)
    path = file_of(str(visual.get("file", "")))
    if path is None:
        raise InputError(Diagnostic("visual.file", "visual", f'"{visual.get("file")}" was not found'))
    return read_stl(path).moved(pos, rot)


def joint_symbol(kind: str, size: float) -> TriMesh:
    """Symbol of a joint type about its z axis; `size` is its half-length."""
    s = size
    disc = cylinder(0.9 * s, 0.25 * s, 24)
    shapes: dict[str, Callable[[], TriMesh]] = {
        "revolute": lambda: cylinder(0.32 * s, 2.6 * s, 24),
        "cylindrical": lambda: cylinder(0.3 * s, 3.2 * s, 24),
        "helical": lambda: joined(
            [cylinder(0.3 * s, 3.0 * s, 24), *(disc.moved([0, 0, k * 0.7 * s]) for k in (-1, 0, 1))]
        ),
        "prismatic": lambda: box([0.7 * s, 0.7 * s, 3.0 * s]),
        "universal": lambda: joined(
            [bar([-s, 0, 0], [s, 0, 0], 0.25 * s), bar([0, -s, 0], [0, s, 0], 0.25 * s)]
        ),
        "spherical": lambda: sphere(0.8 * s),
        "planar": lambda: disc,
        "fixed": lambda: box([s, s, s]),
    }
    return shapes.get(kind, lambda: ellipsoid([0.6 * s] * 3, n=8))()
