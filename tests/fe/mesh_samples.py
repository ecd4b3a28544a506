"""Small curved meshes of every cell type with sets of every kind, for tests of readers and checks."""

import numpy as np

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import faces_within

SOLIDS = ["tet4", "tet10", "hex8", "hex20", "hex27", "wedge6", "wedge15"]


def curved(x):
    """A smooth map of the unit cube: every straight line becomes a parabola."""
    X, Y, Z = x.T
    return np.stack(
        [X + 0.11 * Y**2 - 0.05 * Z * X, Y + 0.07 * Z**2, 0.8 * Z + 0.06 * X**2 + 0.03 * X * Y], axis=1
    )


def sub_cells(family):
    """Corners of the cells that a brick [-1, 1]^3 is cut into, in its coordinates."""
    if family == "hex":
        return [ELEMENTS["hex8"].ref_coords]
    b = ELEMENTS["hex8"].ref_coords
    if family == "wedge":
        return [b[[0, 1, 2, 4, 5, 6]], b[[0, 2, 3, 4, 6, 7]]]
    paths = [(1, 2), (1, 5), (3, 2), (3, 7), (4, 5), (4, 7)]  # around the diagonal 0-6
    cells = [b[[0, one, two, 6]] for one, two in paths]
    return [c if np.linalg.det(c[1:] - c[0]) > 0 else c[[0, 2, 1, 3]] for c in cells]


def lattice_mesh(kind, n=(2, 2, 2), shape=curved):
    """Mesh of the mapped unit cube."""
    element, n = ELEMENTS[kind], np.array(n)
    centres = np.stack(np.meshgrid(*(np.arange(k) for k in n), indexing="ij"), -1).reshape(-1, 3) * 2 + 1
    rows = []
    for corners in sub_cells(element.family):
        linear = ELEMENTS[element.family + str(element.n_corners)]
        nodes = linear.shape(element.ref_coords) @ corners  # exact: halves of whole numbers
        rows.append(centres[:, None, :] + np.round(nodes).astype(int)[None])
    grid = np.concatenate(rows).reshape(-1, 3)
    key, index = np.unique(grid, axis=0, return_inverse=True)
    cells = index.reshape(-1, element.n_nodes)
    return Mesh(shape(key / (2.0 * n)), {kind: cells})


def sample(kind, shape=curved):
    """Two by two by two bricks cut into cells; numbers with gaps; node, face and cell sets."""
    mesh = lattice_mesh(kind, shape=shape)
    cube = lattice_mesh(kind, shape=lambda x: x).points
    low = np.flatnonzero(cube[:, 0] == 0.0)
    high = np.flatnonzero(cube[:, 2] == 1.0)
    half = np.flatnonzero(cube[mesh.cells[kind]][:, :, 0].mean(axis=1) < 0.5)
    return Mesh(
        mesh.points,
        mesh.cells,
        node_number=np.arange(mesh.n_nodes) * 3 + 11,
        cell_number={kind: np.arange(mesh.n_cells) * 2 + 101},
        node_sets={"corner": np.flatnonzero((cube == 1.0).all(axis=1)), "low": low},
        face_sets={
            "left": faces_within(mesh, low),
            "top": faces_within(mesh, high),
            "front": faces_within(mesh, np.flatnonzero(cube[:, 1] == 0.0)),
            "right": faces_within(mesh, np.flatnonzero(cube[:, 0] == 1.0)),
        },
        cell_sets={"half": {kind: half}, "all": {kind: np.arange(mesh.n_cells)}},
    )


def mixed():
    """A hex20 brick and wedge15 cells side by side, joined through whole faces."""
    one, two = lattice_mesh("hex20", (1, 1, 1), lambda x: x), lattice_mesh("wedge15", (1, 1, 1), lambda x: x)
    points = np.concatenate([one.points, two.points + [1.0, 0, 0]])
    key, first, index = np.unique(np.round(points, 6), axis=0, return_index=True, return_inverse=True)
    index = index.ravel()
    cells = {"hex20": index[one.cells["hex20"]], "wedge15": index[two.cells["wedge15"] + one.n_nodes]}
    return Mesh(curved(points[first]), cells)


def geometry(mesh):
    """Node coordinates of the cells in the order of their numbers, cell type -> (n, k, 3)."""
    return {kind: mesh.points[rows[np.argsort(mesh.cell_number[kind])]] for kind, rows in mesh.cells.items()}


def face_geometry(mesh, name):
    """Corner coordinates of the faces of a set as a sorted array."""
    rows = [mesh.points[nodes].mean(axis=1) for nodes in mesh.face_nodes(mesh.face_sets[name])]
    centres = np.concatenate(rows)
    return centres[np.lexsort(np.round(centres, 9).T)]
