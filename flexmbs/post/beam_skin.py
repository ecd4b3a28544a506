"""Beams as they are drawn: the outline of their section at both ends of every cell, and stresses there."""

from __future__ import annotations

import numpy as np

from flexmbs.fe.beam_assembly import section_forces
from flexmbs.fe.beams import BeamData
from flexmbs.fe.materials import material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import Section
from flexmbs.modaldata import ModalData
from flexmbs.post.modals import materials_of
from flexmbs.post.record import Floats
from flexmbs.post.visuals import Ints, TriMesh
from flexmbs.spatial import skew

RING = 12  # points around a round section


def is_round(section: Section) -> bool:
    return section.shape in ("circle", "tube")


def outline(section: Section, n: int | None = None) -> Floats:
    """Points (n, 2) around the section, y and z; one given by numbers is a rectangle of the same radii.

    A rectangle has its corners alone, or `RING` points where it stands beside round sections.
    """
    if is_round(section):
        angle = 2.0 * np.pi * np.arange(RING) / RING
        return 0.5 * section.size[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    sides = section.size or np.sqrt(12.0 * np.array([section.Iz, section.Iy]) / section.A)
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)
    if n == RING:
        t = np.arange(0, 4, 4 / RING)
        closed = np.vstack([corners, corners[:1]])
        corners = np.stack([np.interp(t, np.arange(5), closed[:, k]) for k in range(2)], axis=1)
    return 0.5 * corners * np.asarray(sides)


def outlines(data: BeamData) -> Floats:
    """Points (n_cells, n, 2) around the sections of all cells."""
    n = RING if any(is_round(beam.section) for beam in data.beams) else 4
    return np.array([outline(beam.section, n) for beam in data.beams])[data.index]


def rings(mesh: Mesh) -> Floats:
    """Offsets (cell, end, point, xyz) of the outline from the nodes, body axes.

    Without a section in the data (those of earlier programs) a circle of 2 % of the length.
    """
    cells, X = mesh.cells["beam2"], mesh.points
    if mesh.beam is not None:
        around = np.einsum("cpk,cki->cpi", outlines(mesh.beam), mesh.beam.axes[:, 1:])
        return np.asarray(around[:, None] + mesh.beam.offset[:, :, None])
    axis = X[cells[:, 1]] - X[cells[:, 0]]
    other = np.where(
        np.abs(axis[:, :1]) < 0.9 * np.linalg.norm(axis, axis=1)[:, None], [[1.0, 0, 0]], [[0, 1.0, 0]]
    )
    y = np.cross(axis, other)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    z = np.cross(axis / np.linalg.norm(axis, axis=1, keepdims=True), y)
    radius = 0.02 * float(np.ptp(X, axis=0).max())
    around = radius * outline(Section(1.0, 1.0, 1.0, 1.0, None, "circle", (2.0,)))
    return np.repeat(np.einsum("pk,kci->cpi", around, np.stack([y, z]))[:, None], 2, axis=1)


def beam_surface(modal: ModalData) -> tuple[TriMesh, Floats, Ints]:
    """Surface of the beams, its modes (mode, point, xyz) and the node of every point.

    The points of a ring turn with the section, `Phi + Psi x offset`.
    """
    cells = modal.mesh.cells["beam2"]
    around = rings(modal.mesh)
    n = around.shape[2]
    ends = cells.ravel()
    offset = around.reshape(-1, n, 3)  # (cell and end, point, xyz)
    points = (modal.mesh.points[ends][:, None] + offset).reshape(-1, 3)
    Phi = np.repeat(modal.Phi[:, ends, None], n, axis=2)
    if modal.Psi is not None:
        Phi = Phi - np.einsum("nrij,anj->anri", skew(offset), modal.Psi[:, ends])
    low = (2 * n * np.arange(len(cells)))[:, None] + np.arange(n)
    low_next, high, high_next = np.roll(low, -1, 1), low + n, np.roll(low, -1, 1) + n
    triangles = np.stack([low, low_next, high_next, low, high_next, high], axis=-1).reshape(-1, 3)
    edges = np.stack([low, low_next], axis=-1).reshape(-1, 2)
    if n == 4:  # the edges of a rectangle along the beam
        edges = np.concatenate([edges, np.stack([low, high], axis=-1).reshape(-1, 2)])
    mesh = TriMesh(points, np.concatenate([triangles, _caps(modal.mesh, n)]), edges)
    return mesh, Phi.reshape(len(modal.Phi), len(points), 3), np.repeat(ends, n)


def _caps(mesh: Mesh, n: int) -> Ints:
    """Triangles that close the free ends of beams."""
    cells = mesh.cells["beam2"]
    count = np.bincount(cells.ravel(), minlength=mesh.n_nodes)
    fan = np.stack([np.zeros(n - 2, dtype=np.int64), np.arange(1, n - 1), np.arange(2, n)], axis=1)
    found = [np.zeros((0, 3), dtype=np.int64)]
    for end, flip in ((0, -1), (1, 1)):
        for cell in np.flatnonzero(count[cells[:, end]] == 1):
            found.append((2 * cell + end) * n + fan[:, ::flip])
    return np.concatenate(found)


def fibre_stress(modal: ModalData, fields: Floats, free: Floats | None = None) -> Floats | None:
    """Stress (m, point, 6) of fields (m, node, 6) at the points of the surface, body axes (F53).

    Of axial force and bending everywhere, `N/A + My z/Iy - Mz y/Iz`, and of torsion on round sections;
    corners of rectangles have none. None where section or material are not known.
    free (n_cells, 3): strain without stress, of the first field.
    """
    mesh = modal.mesh
    isotropic = all({"E", "nu", "rho"} <= set(item) for item in modal.materials.values()) and modal.materials
    if mesh.beam is None or not isotropic:
        return None
    data = mesh.beam
    materials, U = materials_of(modal), fields.reshape(len(fields), 6 * mesh.n_nodes).T
    N, _, _, T, My, Mz = np.moveaxis(section_forces(mesh, materials, U), -1, 0)[..., None]
    A, Iy, Iz, J = (data.values(name)[:, None, None] for name in ("A", "Iy", "Iz", "J"))
    y, z = np.moveaxis(outlines(data), -1, 0)[:, :, None]  # (cell, 1, point)
    local = np.zeros((*N.shape[:3], y.shape[2], 3, 3))  # (mode, cell, end, point)
    local[..., 0, 0] = N / A + My * z / Iy - Mz * y / Iz
    if free is not None:
        used, index = material_of_cells(mesh, materials)
        start, E = mesh.first_cell("beam2"), np.array([item.E for item in used], dtype=float)
        local[0, ..., 0, 0] -= (E[index["beam2"]] * free[start:][: len(data.index), 1])[:, None, None]
    twist = np.array([is_round(beam.section) for beam in data.beams])[data.index][:, None, None] * T / J
    local[..., 0, 1] = local[..., 1, 0] = -twist * z
    local[..., 0, 2] = local[..., 2, 0] = twist * y
    R = mesh.beam.axes
    sigma = np.einsum("cki,acepkl,clj->acepij", R, local, R)
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
    return np.stack([sigma[..., i, j] for i, j in pairs], axis=-1).reshape(len(fields), 2 * y.size, 6)
