"""Slow twins of the compiled element loops, and small meshes of every element type."""

import numpy as np

from flexmbs.fe.elements import ELEMENTS, LINEAR
from flexmbs.fe.materials import tensor
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import inner_gradients, is_straight, mass_rule, stiffness_rule
from flexmbs.fe.shapes.lattice import extrude, grid
from flexmbs.fe.shapes.parametric import box

SOLIDS = [
    "tet4",
    "tet10",
    "hex8",
    "hex8-plain",
    "hex20",
    "hex27",
    "wedge6",
    "wedge6-plain",
    "wedge15",
    "pyramid5",
    "pyramid13",
]
SIZE = (1.0, 0.9, 0.5)


def block(name, divisions=(2, 2, 2), size=SIZE):
    """Box of one element type, wedges included, with the face sets of `box`."""
    if name.startswith("pyramid"):
        return pyramids(name, divisions, size)
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


def pyramids(name, divisions, size):
    """Bricks cut into six pyramids with the centre as apex."""
    bricks, element = box(size, divisions, corner=(0.0, 0.0, 0.0), element="hex8"), ELEMENTS[name]
    hexa, rows = bricks.points[bricks.cells["hex8"]], []
    for face in ELEMENTS["hex8"].faces:
        base = hexa[:, list(face[::-1])]
        corners = np.concatenate([base, hexa.mean(axis=1, keepdims=True)], axis=1)
        rows.append(np.einsum("na,eak->enk", ELEMENTS["pyramid5"].shape(element.ref_coords), corners))
    places = np.concatenate(rows).reshape(-1, 3)
    _, first, index = np.unique(np.round(places, 9), axis=0, return_index=True, return_inverse=True)
    return Mesh(places[first], {name: index.reshape(-1, element.n_nodes)}, source="block")


def on_boundary(mesh, size=SIZE):
    return (np.isclose(mesh.points, 0.0) | np.isclose(mesh.points, size)).any(axis=1)


def distorted(mesh, amount=0.03, curved=False, seed=3):
    """Inner corner nodes moved, mid-nodes back on straight edges (or moved too)."""
    kind = next(iter(mesh.cells))
    element, cells = ELEMENTS[kind], mesh.cells[kind]
    points = mesh.points.copy()
    inner = ~on_boundary(mesh)
    amount *= 0.4 if kind == "pyramid13" else 1.0  # their angles are sharp
    move = amount * np.random.default_rng(seed).uniform(-1, 1, points.shape)
    points[inner] += move[inner]
    if not curved:
        linear = ELEMENTS[LINEAR[element.family]]
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
        for cell, (row, straight) in enumerate(
            zip(cells, is_straight(element, mesh.points, cells), strict=True)
        ):
            at = np.ix_(row, row)
            blocks = full_stiffness(mesh, C, kind, cell, bool(straight))
            m = 3 * len(row)
            A = blocks.reshape(blocks.shape[0] * 3, -1)
            A = A[:m, :m] - A[:m, m:] @ np.linalg.solve(A[m:, m:], A[m:, :m])
            K[np.ix_(row, range(3), row, range(3))] += A.reshape(len(row), 3, len(row), 3)
            rule = mass_rule(kind, bool(straight))
            for N, dN, w in zip(
                element.shape(rule.points), element.dshape(rule.points), rule.weights, strict=True
            ):
                Ms[at] += material.rho * w * np.linalg.det(mesh.points[row].T @ dN) * np.outer(N, N)
    return K.reshape(3 * n, 3 * n), Ms


def function_gradients(mesh, kind, cell, points):
    """Gradients (points, functions, 3), inner functions behind the nodes, and det J."""
    element, X = ELEMENTS[kind], mesh.points[mesh.cells[kind][cell]]
    result, determinant = [], []
    centre = X.T @ element.dshape(element.ref_coords[: element.n_corners].mean(axis=0)[None])[0]
    for k, dN in enumerate(element.dshape(points)):
        J = X.T @ dN
        grad = dN @ np.linalg.inv(J)
        if len(element.inner):
            inner = inner_gradients(kind)[k] @ np.linalg.inv(centre)
            grad = np.vstack([grad, inner * np.linalg.det(centre) / np.linalg.det(J)])
        result.append(grad)
        determinant.append(np.linalg.det(J))
    return np.array(result), np.array(determinant)


def full_stiffness(mesh, C, kind, cell, straight):
    """Stiffness (functions, 3, functions, 3) of one cell, inner functions included (F9)."""
    rule = stiffness_rule(kind, straight)
    grad, detJ = function_gradients(mesh, kind, cell, rule.points)
    return np.einsum("p,paj,cjdl,pbl->acbd", rule.weights * detJ, grad, C, grad, optimize=True)


def functions_of(mesh, material, kind, cell, u):
    """Nodal fields (n_nodes, 3, m) -> coefficients of all functions of one cell."""
    row = mesh.cells[kind][cell]
    straight = bool(is_straight(ELEMENTS[kind], mesh.points, row[None])[0])
    K = full_stiffness(mesh, tensor(material.C_mat), kind, cell, straight)
    m = 3 * len(row)
    K = K.reshape(K.shape[0] * 3, -1)
    nodal = u[row].reshape(m, -1)
    return np.concatenate([nodal, -np.linalg.solve(K[m:, m:], K[m:, :m] @ nodal)]).reshape(-1, 3, u.shape[2])


def point_stress(mesh, material, kind, cell, k, points, u):
    """Stress (6,) of nodal displacements u (n_nodes, 3) at point k of a rule in one cell (F53)."""
    grad = function_gradients(mesh, kind, cell, points)[0][k]
    H = functions_of(mesh, material, kind, cell, u[:, :, None])[:, :, 0].T @ grad  # du_k / dx_j
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
            gradients, detJ = function_gradients(mesh, kind, cell, rule.points)
            local = functions_of(mesh, material, kind, cell, modes)
            for k, w in enumerate(rule.weights * detJ):
                H = np.einsum("ai,akm->ikm", gradients[k], local)
                for c in range(len(K_geo)):
                    field = U_load[:, c].reshape(-1, 3)
                    xx, yy, zz, xy, yz, zx = point_stress(mesh, material, kind, cell, k, rule.points, field)
                    sigma = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
                    K_geo[c] += w * np.einsum("ij,ika,jkb->ab", sigma, H, H)
    return K_geo
