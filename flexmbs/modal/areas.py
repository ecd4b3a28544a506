"""Faces of a mesh -> nodal area weights, area and centroid."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import faces_within

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TRIANGLE = {3: [(0, 0), (1, 0), (0, 1)], 4: [(-1, -1), (1, -1), (1, 1), (-1, 1)]}
_POWERS = {
    3: [(0, 0), (1, 0), (0, 1)],
    6: [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)],
    4: [(0, 0), (1, 0), (0, 1), (1, 1)],
    8: [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)],
    9: [(a, b) for a in range(3) for b in range(3)],
}


def _face_nodes(n: int) -> Floats:
    """Reference nodes of a face with n nodes: corners, mid-nodes, centre."""
    corners = np.array(_TRIANGLE[3 if n in (3, 6) else 4], dtype=float)
    mids = 0.5 * (corners + np.roll(corners, -1, axis=0))
    return np.concatenate([corners, mids, corners.mean(axis=0, keepdims=True)])[:n]


def _rule(n: int) -> tuple[Floats, Floats]:
    """Product rule of 5 x 5 Gauss points; on triangles collapsed."""
    x, w = np.polynomial.legendre.leggauss(5)
    a, b = (part.ravel() for part in np.meshgrid(x, x, indexing="ij"))
    weight = np.outer(w, w).ravel()
    if n not in (3, 6):
        return np.stack([a, b], axis=1), weight
    s, t = 0.5 * (1 + a), 0.5 * (1 + b)
    return np.stack([s, t * (1 - s)], axis=1), 0.25 * weight * (1 - s)


def _monomials(powers: list[tuple[int, int]], x: Floats, derivative: int = -1) -> Floats:
    P = np.array(powers)
    factor = np.ones(len(P))
    if derivative >= 0:
        factor = P[:, derivative].astype(float)
        P = P.copy()
        P[:, derivative] = np.maximum(P[:, derivative] - 1, 0)
    return np.prod(x[:, None, :] ** P[None], axis=2) * factor


def face_shapes(n: int) -> tuple[Floats, Floats, Floats]:
    """Weights (p,), shape functions (p, n) and gradients (p, n, 2) of a face with n nodes."""
    x, weight = _rule(n)
    powers = _POWERS[n]
    inverse = np.linalg.inv(_monomials(powers, _face_nodes(n)))
    N = _monomials(powers, x) @ inverse
    dN = np.stack([_monomials(powers, x, axis) @ inverse for axis in (0, 1)], axis=-1)
    return weight, N, dN


def area_vectors(X: Floats) -> tuple[Floats, Floats]:
    """Shape functions (p, n) and oriented area elements (face, p, 3) of faces X (face, n, 3)."""
    weight, N, dN = face_shapes(X.shape[1])
    tangents = np.einsum("fni,pnj->fpji", X, dN)
    return N, weight[:, None] * np.cross(tangents[:, :, 0], tangents[:, :, 1])


def nodal_areas(mesh: Mesh, faces: list[Ints]) -> Floats:
    """Integrals of the shape functions over faces (n_nodes,) [m^2]: the nodal loads of a unit pressure.

    Weighted with them a mean over nodes is the mean over the area, and its load a uniform traction. Corners
    of 8-node faces have negative ones; moments up to the second stay those of the area, so means exist.
    """
    area = np.zeros(mesh.n_nodes)
    for nodes in faces:
        N, vectors = area_vectors(mesh.points[nodes])
        np.add.at(area, nodes, np.einsum("fp,pn->fn", np.linalg.norm(vectors, axis=2), N))
    return area


def centroid(mesh: Mesh, faces: list[Ints]) -> Floats:
    """Area centroid of faces (3,)."""
    total, moment = 0.0, np.zeros(3)
    for nodes in faces:
        X = mesh.points[nodes]
        N, vectors = area_vectors(X)
        element = np.linalg.norm(vectors, axis=2)
        total += element.sum()
        moment += np.einsum("fp,pn,fni->i", element, N, X)
    return moment / total


def set_faces(mesh: Mesh, name: str, nodes: Ints) -> list[Ints]:
    """Faces of a set: those of the face set of this name, else the skin faces whose corners are all in it."""
    chosen = mesh.face_sets[name] if name in mesh.face_sets else faces_within(mesh, nodes)
    return mesh.face_nodes(chosen)
