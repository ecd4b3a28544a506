"""Modal data -> what is drawn of a flexible body: skin, mode shapes and modal stresses at its points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.skin import skin_faces, triangles_of_faces
from flexmbs.modaldata import ModalData
from flexmbs.post.beam_skin import beam_surface, fibre_stress
from flexmbs.post.shell_skin import RIM, face_stress, shell_surface
from flexmbs.post.static_part import static_fields, static_shapes
from flexmbs.post.visuals import Floats, Ints, TriMesh, ellipsoid

MAX_VERTICES = 20_000


@dataclass(frozen=True)
class Skin:
    """Surface of a flexible body, `points + sum_a q_a Phi[a]` (F1).

    Phi : (mode, point, xyz);  stress : (mode, point, xx yy zz xy yz zx) or None (F53)
    static : (shape, point, 6), static stresses that the modes miss (F53)
    nodes : (point,) indices in the mesh;  n_full : points before the skin was made coarser
    """

    mesh: TriMesh
    Phi: Floats
    nodes: Ints
    stress: Floats | None = None
    n_full: int = 0
    static: Floats | None = None

    @property
    def n_points(self) -> int:
        return len(self.mesh.points)

    @property
    def coarser(self) -> bool:
        return self.n_points < self.n_full


def skin_of(modal: ModalData, limit: int = MAX_VERTICES) -> Skin:
    """Skin of solids, sections along beams, faces of shells, or balls at the nodes of a body without
    elements."""
    kinds = [kind for kind, cells in modal.mesh.cells.items() if len(cells)]
    parts = []
    if any(not ELEMENTS[kind].turns for kind in kinds):
        parts.append(_solid(modal, modal.mesh.face_nodes(skin_faces(modal.mesh)), limit))
    if modal.mesh.drawn_only:  # of a body that was read
        parts.append(_solid(modal, [modal.mesh.cells[kind] for kind in modal.mesh.drawn_only], limit))
    if "beam2" in kinds:
        parts.append(_turning(modal, beam_surface, fibre_stress))
    if modal.mesh.shell is not None:
        parts.append(_turning(modal, shell_surface, face_stress))
    return _joined(parts) if parts else _balls(modal)


def _turning(
    modal: ModalData,
    surface: Callable[[ModalData], tuple[TriMesh, Floats, Ints]],
    stress_of: Callable[[ModalData, Floats, Floats | None], Floats | None],
) -> Skin:
    """Surface of beams or of shells; stresses follow from displacements and rotations."""
    mesh, Phi, nodes = surface(modal)
    stress = static = None
    if modal.Psi is not None and modal.stress_at != "none":
        fields = static_fields(modal)
        stress = stress_of(modal, np.concatenate([modal.Phi, modal.Psi], axis=2), None)
        static = None if fields is None else stress_of(modal, fields, modal.preload_strain)
    return Skin(mesh, Phi, nodes, stress, len(mesh.points), static)


def _joined(parts: list[Skin]) -> Skin:
    """Several surfaces as one; stresses where all have them."""
    if len(parts) == 1:
        return parts[0]
    start = np.cumsum([0] + [part.n_points for part in parts])
    mesh = TriMesh(
        np.concatenate([part.mesh.points for part in parts]),
        np.concatenate([part.mesh.triangles + first for part, first in zip(parts, start, strict=False)]),
        np.concatenate([part.mesh.edges + first for part, first in zip(parts, start, strict=False)]),
    )
    known = [part.stress for part in parts if part.stress is not None]
    static = [part.static for part in parts if part.static is not None]
    shapes = min((len(item) for item in static), default=0)
    return Skin(
        mesh,
        np.concatenate([part.Phi for part in parts], axis=1),
        np.concatenate([part.nodes for part in parts]),
        np.concatenate(known, axis=1) if len(known) == len(parts) else None,
        n_full=sum(part.n_full for part in parts),
        static=np.concatenate([item[:shapes] for item in static], axis=1)
        if len(static) == len(parts)
        else None,
    )


def node_stress(modal: ModalData) -> Floats | None:
    """Modal stresses at the nodes."""
    if modal.stress is None or not modal.stress.size or modal.stress_at == "none":
        return None
    return at_nodes(modal, modal.stress)


def static_node_stress(modal: ModalData) -> Floats | None:
    """Stresses of the preload and static ones that the modes miss, at the nodes."""
    shapes = static_shapes(modal)
    return None if shapes is None else at_nodes(modal, shapes)


def at_nodes(modal: ModalData, stress: Floats) -> Floats:
    """Stresses at the nodes; those of cells are averaged over the cells of a node."""
    if modal.stress_at == "nodes":
        return stress
    total = np.zeros((len(stress), modal.mesh.n_nodes, 6))
    count = np.zeros(modal.mesh.n_nodes)
    start = 0
    for cells in modal.mesh.cells.values():
        values = stress[:, start : start + len(cells)]
        for column in cells.T:
            for a, field in enumerate(values):
                np.add.at(total[a], column, field)
            np.add.at(count, column, 1.0)
        start += len(cells)
    return total / np.maximum(count, 1.0)[:, None]


def _solid(modal: ModalData, faces: list[Ints], limit: int) -> Skin:
    triangles = triangles_of_faces(faces)
    edges = rim_edges(faces)
    nodes = np.unique(triangles)
    n_full = len(nodes)
    if n_full > limit:
        keep = coarser_nodes(modal.mesh.points, nodes, limit)
        triangles = keep[triangles]
        lost = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
        triangles = np.unique(triangles[~lost], axis=0)
        edges = np.zeros((0, 2), dtype=np.int64)  # those of the elements are gone
        nodes = np.unique(triangles)
    number = np.zeros(modal.mesh.n_nodes, dtype=np.int64)
    number[nodes] = np.arange(len(nodes))
    stress, static = node_stress(modal), static_node_stress(modal)
    return Skin(
        mesh=TriMesh(modal.mesh.points[nodes], number[triangles], number[edges]),
        Phi=np.ascontiguousarray(modal.Phi[:, nodes]),
        nodes=nodes,
        stress=None if stress is None else np.ascontiguousarray(stress[:, nodes]),
        n_full=n_full,
        static=None if static is None else np.ascontiguousarray(static[:, nodes]),
    )


def rim_edges(faces: list[Ints]) -> Ints:
    """Edges of elements on the skin, through their mid-nodes."""
    parts = [np.zeros((0, 2), dtype=np.int64)]
    for rows in faces:
        rim = rows[:, RIM[rows.shape[1]]]
        parts.append(np.stack([rim, np.roll(rim, -1, axis=1)], axis=2).reshape(-1, 2))
    return np.unique(np.sort(np.concatenate(parts), axis=1), axis=0)


def coarser_nodes(points: Floats, nodes: Ints, limit: int) -> Ints:
    """For every node the one that stands for it: the node nearest the mean in its cube of a regular grid.

    The cubes are made just large enough that at most `limit` of them hold nodes; kept nodes are nodes of
    the mesh, so their modes and stresses are exact.
    """
    low, size = points[nodes].min(axis=0), float(np.ptp(points[nodes], axis=0).max())
    fine, coarse = size * 1e-4, size
    for _ in range(40):
        width = np.sqrt(fine * coarse)
        n_cubes = len(np.unique(_cubes(points[nodes], low, width)))
        fine, coarse = (width, coarse) if n_cubes > limit else (fine, width)
        if coarse / fine < 1.01:
            break
    cube, label, count = np.unique(
        _cubes(points[nodes], low, coarse), return_inverse=True, return_counts=True
    )
    mean = np.zeros((len(cube), 3))
    np.add.at(mean, label, points[nodes])
    gap = np.linalg.norm(points[nodes] - (mean / count[:, None])[label], axis=1)
    order = np.lexsort((gap, label))
    first = order[np.cumsum(np.concatenate([[0], count[:-1]]))]
    stands_for = np.arange(len(points), dtype=np.int64)
    stands_for[nodes] = nodes[first][label]
    return stands_for


def _cubes(points: Floats, low: Floats, width: float) -> Ints:
    cell = np.floor((points - low) / width).astype(np.int64)
    n = cell.max(axis=0) + 1
    return (cell[:, 0] * n[1] + cell[:, 1]) * n[2] + cell[:, 2]


def _balls(modal: ModalData) -> Skin:
    """A ball at every node, moving with it; a body of points has no more to show."""
    X = modal.mesh.points
    size = float(np.ptp(X, axis=0).max()) if len(X) > 1 else 0.0
    ball = ellipsoid([0.03 * size or 0.01] * 3, n=12)
    n = len(ball.points)
    start = n * np.arange(len(X))[:, None, None]
    mesh = TriMesh(
        (X[:, None] + ball.points).reshape(-1, 3),
        (start + ball.triangles).reshape(-1, 3),
        (start + ball.edges).reshape(-1, 2),
    )
    nodes = np.repeat(np.arange(len(X)), n)
    return Skin(mesh, np.repeat(modal.Phi, n, axis=1), nodes, n_full=len(mesh.points))
