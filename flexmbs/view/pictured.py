"""What is drawn of a part: its faces, coarser where they are many; colours of cells; sets and edges above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.check.quality import shapes
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import group_rows, triangles_of_faces
from flexmbs.post.animation.page import Arrays
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.post.skin import coarser_nodes
from flexmbs.post.visuals import TriMesh
from flexmbs.view.edges import Edge
from flexmbs.view.patches import Patch

Ints = NDArray[np.int64]

FAMILIES = ("tet", "hex", "wedge", "pyramid", "tri", "quad")
STONE = (0.62, 0.66, 0.71)
MOST_POINTS = 60_000  # of the skin; more are drawn coarser
MOST_MARKS = 2_000  # nodes of a set without faces


def part_scene(mesh: Mesh, patches: Sequence[Patch], title: str) -> Scene:
    """The patches as bodies at rest, each by its own; points are nodes of the mesh."""
    parts = [triangles_of_faces(patch.faces) for patch in patches]
    seen = np.unique(np.concatenate([triangles.ravel() for triangles in parts]))
    notes = []
    if len(seen) > MOST_POINTS:
        parts = _coarser_parts(mesh, parts, MOST_POINTS / len(seen))
        drawn = len(np.unique(np.concatenate([triangles.ravel() for triangles in parts])))
        notes = [f"skin drawn with {drawn} of {len(seen)} points; all of them are chosen and tied"]
    bodies = []
    for k, (patch, triangles) in enumerate(zip(patches, parts, strict=True)):
        nodes, number = np.unique(triangles, return_inverse=True)
        rows = number.reshape(-1, 3)
        rest = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 0))
        drawn_mesh = TriMesh(mesh.points[nodes], rows, rim_of(rows))
        bodies.append(SceneBody(f"face {k + 1}", patch.kind, drawn_mesh, *rest, STONE, nodes=nodes))
    return Scene(title, np.zeros(1), bodies, notes=notes, at_rest=True)


def _coarser_parts(mesh: Mesh, parts: list[Ints], share: float) -> list[Ints]:
    """Triangles of about a share of the nodes. Nodes between two patches stand for such ones, so that these
    stay joined; those of corners, and of patches that would vanish, stay where they are."""
    owners = [np.unique(triangles) for triangles in parts]
    node, owner = np.concatenate(owners), np.repeat(np.arange(len(parts)), [len(own) for own in owners])
    count = np.bincount(node, minlength=mesh.n_nodes)
    low, high = np.full(mesh.n_nodes, len(parts)), np.full(mesh.n_nodes, -1)
    np.minimum.at(low, node, owner)
    np.maximum.at(high, node, owner)
    stands_for = np.arange(mesh.n_nodes)
    movable = np.flatnonzero((count == 1) | (count == 2))
    label, _ = group_rows(np.column_stack([low[movable], high[movable]]))
    order = np.argsort(label, kind="stable")
    for nodes in np.split(movable[order], np.flatnonzero(np.diff(label[order])) + 1):
        limit = int((share if count[nodes[0]] == 1 else share**0.5) * len(nodes))
        if 2 <= limit < len(nodes):
            stands_for[nodes] = coarser_nodes(mesh.points, nodes, limit)[nodes]
    return [_coarser(triangles, stands_for) for triangles in parts]


def _coarser(triangles: Ints, stands_for: Ints) -> Ints:
    moved = stands_for[triangles]
    flat = (moved == np.roll(moved, 1, axis=1)).any(axis=1)
    _, first = np.unique(group_rows(np.sort(moved[~flat], axis=1))[0], return_index=True)
    return moved[~flat][first] if len(first) else triangles


def colours_of(mesh: Mesh) -> list[dict[str, str]]:
    """What may be seen as colours; the numbers come when they are asked for."""
    known = [{"key": "quality", "title": "scaled Jacobian", "unit": ""}]
    return known + [{"key": "thickness", "title": "thickness", "unit": "mm"}] * (mesh.shell is not None)


def values_at(mesh: Mesh, scene: Scene, key: str) -> dict[str, Any] | None:
    """Numbers at the points of every body of the picture, and their ends."""
    of_nodes = node_values(mesh, key)
    if of_nodes is None:
        return None
    arrays = Arrays()
    found = [arrays.put(of_nodes[body.nodes]) for body in scene.bodies]
    ends = {"low": float(np.nanmin(of_nodes)), "high": float(np.nanmax(of_nodes))}
    return {"values": found, "arrays": arrays.text(), **ends}


def node_values(mesh: Mesh, key: str) -> Any:
    """What is told of cells, at their nodes: the worst quality, the least thickness [mm], or None."""
    least = np.full(mesh.n_nodes, np.inf)
    for kind, rows in mesh.cells.items():
        values = _of_cells(mesh, kind, key)
        if values is not None:
            np.minimum.at(least, rows.ravel(), np.repeat(values, rows.shape[1]))
    return np.where(np.isfinite(least), least, np.nan) if np.isfinite(least).any() else None


def _of_cells(mesh: Mesh, kind: str, key: str) -> Any:
    if key == "quality":
        return shapes(mesh, kind).scaled if ELEMENTS[kind].family in FAMILIES else None
    if key != "thickness" or mesh.shell is None or kind not in mesh.shell.index:
        return None
    return 1e3 * np.array([item.thickness for item in mesh.shell.sections])[mesh.shell.index[kind]]


def layer_of(mesh: Mesh, scene: Scene, nodes: Ints) -> dict[str, Any]:
    """A set above the picture: the triangles all of whose corners belong to it, else crosses at its nodes."""
    inside = np.zeros(mesh.n_nodes, dtype=bool)
    inside[nodes] = True
    triangles = [body.nodes[body.mesh.triangles] for body in scene.bodies]
    within = np.concatenate([rows[inside[rows].all(axis=1)] for rows in triangles])
    alone = np.array([], dtype=np.int64) if len(within) else nodes[:: 1 + len(nodes) // MOST_MARKS]
    return drawn(mesh, within, np.zeros((0, 2), dtype=np.int64)) | {"marks": mesh.points[alone].tolist()}


def drawn(mesh: Mesh, triangles: Ints, lines: Ints) -> dict[str, Any]:
    """Arrays of triangles and lines of nodes of the mesh."""
    nodes, number = np.unique(np.concatenate([triangles.ravel(), lines.ravel()]), return_inverse=True)
    arrays = Arrays()
    shape = {
        "points": arrays.put(mesh.points[nodes]),
        "triangles": arrays.put(number[: triangles.size], "uint32"),
        "edges": arrays.put(number[triangles.size :], "uint32"),
    }
    return {"drawn": shape, "arrays": arrays.text()}


def edges_drawn(mesh: Mesh, edges: Sequence[Edge]) -> dict[str, Any]:
    """All edges as lines; `ends`: where those of each edge end among them."""
    lines = np.concatenate([np.zeros((0, 2), dtype=np.int64), *(edge.lines for edge in edges)])
    return drawn(mesh, np.zeros((0, 3), dtype=np.int64), lines) | {
        "ends": np.cumsum([2 * len(edge.lines) for edge in edges]).tolist()
    }


def rim_of(triangles: Any) -> Any:
    """Edges that belong to one triangle only."""
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    edges, count = np.unique(np.sort(pairs, axis=1), axis=0, return_counts=True)
    return edges[count == 1]
