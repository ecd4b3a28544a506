"""Mass, centre and inertia from the surface of a mesh alone, to hold the volume integrals against."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import skin_faces
from flexmbs.modal.areas import area_vectors

Floats = NDArray[np.float64]


def surface_moments(mesh: Mesh) -> tuple[float, Floats, Floats]:
    """Volume, first moments (3,) and second moments (3, 3) by the divergence theorem over the skin."""
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for nodes in mesh.face_nodes(skin_faces(mesh)):
        X = mesh.points[nodes]
        N, n = area_vectors(X)
        x = np.einsum("pn,fni->fpi", N, X)
        volume += float(np.einsum("fpi,fpi->", x, n)) / 3.0
        first += 0.5 * np.einsum("fpi,fpi,fpi->i", x, x, n)
        square = np.einsum("fpi,fpi,fpi,fpj->ij", x, x, n, x)  # int x_i x_j = 1/2 oint x_i^2 x_j n_i
        second += 0.5 * square - np.diag(np.diag(square)) / 6.0
    return volume, first, 0.5 * (second + second.T)


def parts_by_density(mesh: Mesh, materials: Mapping[str, Material]) -> list[tuple[float, Mesh]]:
    """The mesh cut into parts of one density each."""
    used, index = material_of_cells(mesh, materials)
    densities = sorted({item.rho for item in used})
    parts = []
    for rho in densities:
        chosen = [k for k, item in enumerate(used) if item.rho == rho]
        cells = {
            kind: rows[np.isin(index[kind], chosen)]
            for kind, rows in mesh.cells.items()
            if np.isin(index[kind], chosen).any() and ELEMENTS[kind].faces
        }
        if cells:
            parts.append((rho, Mesh(mesh.points, cells, node_number=mesh.node_number)))
    return parts


def surface_inertia(mesh: Mesh, materials: Mapping[str, Material]) -> tuple[float, Floats, Floats]:
    """Mass, S_O (3,) and Theta_kl (3, 3) of the meshed volume (F2, F3, F5)."""
    mass, S_O, Theta_kl = 0.0, np.zeros(3), np.zeros((3, 3))
    for rho, part in parts_by_density(mesh, materials):
        volume, first, second = surface_moments(part)
        mass, S_O, Theta_kl = mass + rho * volume, S_O + rho * first, Theta_kl + rho * second
    return mass, S_O, Theta_kl
