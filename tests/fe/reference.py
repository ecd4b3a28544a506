"""Slow twins of the compiled element loops, and small meshes of every element type."""

import numpy as np

from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import tensor
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import is_straight, mass_rule, stiffness_rule
from flexmbs.fe.shapes.lattice import extrude, grid
from flexmbs.fe.shapes.parametric import box

SOLIDS = ["tet4", "tet10", "hex8", "hex20", "hex27", "wedge6", "wedge15"]
SIZE = (1.0, 0.9, 0.5)


def block(name, divisions=(2, 2, 2), size=SIZE):
    """Box of one element type, wedges included, with the face sets of `box`."""
    if not name.startswith("wedge"):
        return box(size, divisions, corner=(0.0, 0.0, 0.0), element=name)
    x, y, z = (np.linspace(0.0, size[k], 2 * divisions[k] + 1) for k in range(3))
    points, lattices = extrude(grid(x, y), z)
    lower = np.round((ELEMENTS[name].ref_coords + [0, 0, 1]) * [2, 2, 1]).astype(int)
    # triangles (0,0) (2,0) (2,2) and (0,0) (2,2) (0,2) of the lattice
    first = np.column_stack([lower[:, 0] + lower[:, 1], lower[:, 1], lower[:, 2]])
    second = np.column_stack([lower[:, 0], lower[:, 0] + lower[:, 1], lower[:, 2]])
    weights = np.array([1, 3, 9])
    cells = np.concatenate([lattices[:, first @ weights], lattices[:, second @ weights]])
    used, flat = np.unique(cells, return_inverse=True)
    return Mesh(points[used], {name: flat.reshape(cells.shape)}, source="block")


def on_boundary(mesh, size=SIZE):
    return (np.isclose(mesh.points, 0.0) | np.isclose(mesh.points, size)).any(axis=1)


def distorted(mesh, amount=0.03, curved=False, seed=3):
    """Inner corner nodes moved, mid-nodes back on straight edges (or moved too)."""
    kind = next(iter(mesh.cells))
    element, cells = ELEMENTS[kind], mesh.cells[kind]
    points = mesh.points.copy()
    inner = ~on_boundary(mesh)
    move = amount * np.random.default_rng(seed).uniform(-1, 1, points.shape)
    points[inner] += move[inner]
    if not curved:
        linear = ELEMENTS[{"tet": "tet4", "hex": "hex8", "wedge": "wedge6"}[element.family]]
        N = linear.shape(element.ref_coords)
        for row in cells:
            points[row] = N @ points[row[: element.n_corners]]
    return Mesh(points, mesh.cells, node_sets=mesh.node_sets, face_sets=mesh.face_sets)


def matrices(mesh, material):
    """Dense K_fe and Ms by the formulas, element by element, point by point (F9, F2a)."""
    C = tensor(material.C_mat)
    n = mesh.n_nodes
    K, Ms = np.zeros((n, 3, n, 3)), np.zeros((n, n))
    for kind, cells in mesh.cells.items():
        element = ELEMENTS[kind]
        for row, straight in zip(cells, is_straight(element, mesh.points, cells), strict=True):
            at = np.ix_(row, row)
            rule = stiffness_rule(kind, bool(straight))
            for dN, w in zip(element.dshape(rule.points), rule.weights, strict=True):
                J = mesh.points[row].T @ dN
                grad = dN @ np.linalg.inv(J)
                blocks = np.einsum("aj,cjdl,bl->acbd", grad, C, grad) * w * np.linalg.det(J)
                K[np.ix_(row, range(3), row, range(3))] += blocks
            rule = mass_rule(kind, bool(straight))
            for N, dN, w in zip(
                element.shape(rule.points), element.dshape(rule.points), rule.weights, strict=True
            ):
                Ms[at] += material.rho * w * np.linalg.det(mesh.points[row].T @ dN) * np.outer(N, N)
    return K.reshape(3 * n, 3 * n), Ms


def point_stress(mesh, material, kind, cell, xi, u):
    """Stress (6,) of nodal displacements u (n_nodes, 3) at a reference point of one cell (F53)."""
    row = mesh.cells[kind][cell]
    dN = ELEMENTS[kind].dshape(np.atleast_2d(xi))[0]
    grad = dN @ np.linalg.inv(mesh.points[row].T @ dN)
    H = u[row].T @ grad  # du_k / dx_j
    eps = np.array([H[0, 0], H[1, 1], H[2, 2], H[0, 1] + H[1, 0], H[1, 2] + H[2, 1], H[2, 0] + H[0, 2]])
    return material.C_mat @ eps


def geometric(mesh, material, U_load, Phi):
    """K_sigma,c point by point (F17)."""
    K_geo = np.zeros((U_load.shape[1], Phi.shape[1], Phi.shape[1]))
    modes = Phi.reshape(mesh.n_nodes, 3, -1)
    for kind, cells in mesh.cells.items():
        element = ELEMENTS[kind]
        for cell, straight in enumerate(is_straight(element, mesh.points, cells)):
            rule = stiffness_rule(kind, bool(straight))
            row = cells[cell]
            for xi, w in zip(rule.points, rule.weights, strict=True):
                dN = element.dshape(xi[None])[0]
                J = mesh.points[row].T @ dN
                H = np.einsum("ai,akm->ikm", dN @ np.linalg.inv(J), modes[row])
                for c in range(len(K_geo)):
                    xx, yy, zz, xy, yz, zx = point_stress(
                        mesh, material, kind, cell, xi, U_load[:, c].reshape(-1, 3)
                    )
                    sigma = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
                    K_geo[c] += w * np.linalg.det(J) * np.einsum("ij,ika,jkb->ab", sigma, H, H)
    return K_geo
