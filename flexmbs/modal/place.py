"""A place in a body -> the nodes around it and how their displacements move and turn it (F18)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.spatial import LEVI_CIVITA, skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: how far outside its reference cell a point may lie: faceted surfaces of curved bodies
OUTSIDE = 1e-2
#: half the permutation symbol: rotation_i = HALF_CURL[i, j, c] du_c/dx_j
HALF_CURL = 0.5 * LEVI_CIVITA


@dataclass(frozen=True)
class PlaceRows:
    """Rows of a place: `displacement`, `rotation` (3, n, n_per_node) act on the values at `nodes`."""

    position: Floats
    nodes: Ints
    displacement: Floats
    rotation: Floats


def rows_at_node(mesh: Mesh, node: int, turns: bool) -> PlaceRows:
    """Rows of a node: its own rotation where it has one, else half the curl, averaged over its solid cells.

    turns : whether the fields have rotations, six components at every node
    """
    nodes = np.array([node], dtype=np.int64)
    if turns and mesh.turning_nodes()[node]:
        rows = np.zeros((2, 3, 1, 6))
        rows[0, :, 0, :3] = rows[1, :, 0, 3:] = np.eye(3)
        return PlaceRows(mesh.points[node], nodes, rows[0], rows[1])
    parts = []
    for kind, cells in mesh.cells.items():
        element = ELEMENTS[kind]
        for cell, local in zip(*np.nonzero(cells == node), strict=True):
            if not element.turns:
                xi = element.ref_coords[local : local + 1]
                parts.append((cells[cell], gradients(mesh, kind, int(cell), xi)[0]))
    nodes = np.unique(np.concatenate([nodes, *(cell for cell, _ in parts)]))
    slope = np.zeros((len(nodes), 3))
    for cell, gradient in parts:
        slope[np.searchsorted(nodes, cell)] += gradient / len(parts)
    displacement = np.zeros((3, len(nodes), 3))
    displacement[:, np.searchsorted(nodes, node)] = np.eye(3)
    return _of_solids(mesh.points[node], nodes, displacement, slope, turns)


def rows_at_point(mesh: Mesh, x: Floats, where: str, turns: bool) -> PlaceRows:
    """Rows of a point inside the body, interpolated within its element."""
    near = int(np.argmin(np.linalg.norm(mesh.points - x, axis=1)))
    if np.linalg.norm(mesh.points[near] - x) <= 1e-9 * _size(mesh):
        return rows_at_node(mesh, near, turns)
    kind, cell, xi = locate(mesh, x, where)
    nodes, N = mesh.cells[kind][cell], ELEMENTS[kind].shape(xi[None])[0]
    if kind == "beam2":
        return rows_on_beam(mesh, cell, float(xi[0]))
    if kind in SHELLS:  # fibres across the surface turn with its nodes
        foot = N @ mesh.points[nodes]
        displacement, rotation = np.zeros((3, len(nodes), 6)), np.zeros((3, len(nodes), 6))
        displacement[..., :3] = rotation[..., 3:] = np.einsum("n,ij->inj", N, np.eye(3))
        displacement[..., 3:] = np.einsum("n,ij->inj", N, -skew(x - foot))
        return PlaceRows(x, nodes, displacement, rotation)
    slope = gradients(mesh, kind, cell, xi[None])[0]
    return _of_solids(N @ mesh.points[nodes], nodes, np.einsum("n,ij->inj", N, np.eye(3)), slope, turns)


def _of_solids(x: Floats, nodes: Ints, displacement: Floats, slope: Floats, turns: bool) -> PlaceRows:
    """Rows out of those of the displacements; fields with rotations have these beside them."""
    none = np.zeros((3, len(nodes), 3 if turns else 0))
    rotation = np.concatenate([_half_curl(slope), none], axis=2)
    return PlaceRows(x, nodes, np.concatenate([displacement, none], axis=2), rotation)


def _half_curl(slope: Floats) -> Floats:
    """Rows (3, n, 3) of the mean rotation out of the gradients (n, 3) of the shape functions."""
    return np.einsum("ijc,nj->inc", HALF_CURL, slope)


def gradients(mesh: Mesh, kind: str, cell: int, xi: Floats) -> Floats:
    """Gradients (n_points, n_nodes, 3) of the shape functions in space."""
    X = mesh.points[mesh.cells[kind][cell]]
    dN = ELEMENTS[kind].dshape(xi)
    jacobian = np.einsum("ni,pnj->pij", X, dN)
    if not (np.linalg.det(jacobian) > 0.0).all():
        what = f"{kind} cell {mesh.cell_number[kind][cell]} has no volume"
        raise InputError(Diagnostic("mesh.inverted", mesh.source or "mesh", what))
    return np.einsum("pnj,pjk->pnk", dN, np.linalg.inv(jacobian))


def rows_on_beam(mesh: Mesh, cell: int, xi: float) -> PlaceRows:
    """Cubic between the two nodes of a beam: slopes from the nodal rotations, twist linear."""
    nodes = mesh.cells["beam2"][cell]
    arms = np.zeros((2, 3)) if mesh.beam is None else mesh.beam.offset[cell]
    X = mesh.points[nodes] + arms
    axis = X[1] - X[0]
    length = float(np.linalg.norm(axis))
    tangent, s = axis / length, 0.5 * (1.0 + xi)
    along = np.outer(tangent, tangent)
    across, turn = np.eye(3) - along, -skew(tangent)  # theta x tangent is the slope
    value = (1 - 3 * s**2 + 2 * s**3, 3 * s**2 - 2 * s**3)
    slope = (length * (s - 2 * s**2 + s**3), length * (s**3 - s**2))
    value_s = ((6 * s**2 - 6 * s) / length, (6 * s - 6 * s**2) / length)
    slope_s = (1 - 4 * s + 3 * s**2, 3 * s**2 - 2 * s)
    displacement, rotation = np.zeros((3, 2, 6)), np.zeros((3, 2, 6))
    for n, share in enumerate((1.0 - s, s)):
        displacement[:, n, :3] = share * along + value[n] * across
        displacement[:, n, 3:] = slope[n] * turn
        rotation[:, n, :3] = value_s[n] * skew(tangent) @ across
        rotation[:, n, 3:] = share * along + slope_s[n] * skew(tangent) @ turn
        displacement[:, n, 3:] -= displacement[:, n, :3] @ skew(arms[n])
        rotation[:, n, 3:] -= rotation[:, n, :3] @ skew(arms[n])
    return PlaceRows((1.0 - s) * X[0] + s * X[1], nodes, displacement, rotation)


def locate(mesh: Mesh, x: Floats, where: str = "mesh") -> tuple[str, int, Floats]:
    """Cell type, cell and reference coordinates of a point; a point outside the body is an error."""
    best: tuple[float, str, int, Floats] = (np.inf, "", -1, np.zeros(3))
    for kind, cells in mesh.cells.items():
        X = mesh.points[cells]
        low, high = X.min(axis=1), X.max(axis=1)
        margin = 0.1 * (high - low).max(axis=1, keepdims=True)
        if kind in SHELLS and mesh.shell is not None:
            margin = margin + _reach(mesh, kind)[:, None]
        near = np.flatnonzero(((x >= low - margin) & (x <= high + margin)).all(axis=1))
        if len(near):
            xi, outside = _invert(kind, X[near], x)
            if kind in SHELLS:
                outside = np.maximum(outside, _beyond(mesh, kind, near, xi, x))
            k = int(np.argmin(outside))
            if outside[k] < best[0]:
                best = (float(outside[k]), kind, int(near[k]), xi[k])
    if best[0] <= OUTSIDE:
        return best[1:]
    distance = np.linalg.norm(mesh.points - x, axis=1)
    close = int(np.argmin(distance))
    place = "[" + ", ".join(f"{value:.6g}" for value in x) + "]"
    what = f"the point {place} is not in the body, {distance[close]:.3g} m from its nearest node"
    remedy = f"use {{ nearest = {place} }} or {{ node = {mesh.node_number[close]} }}"
    raise InputError(Diagnostic("mesh.outside", where, what, remedy))


def _invert(kind: str, X: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Reference coordinates of x in each of the cells X (cell, node, 3), and how far outside they lie."""
    element = ELEMENTS[kind]
    if element.family == "line":
        axis = X[:, 1] - X[:, 0]
        length2 = np.sum(axis * axis, axis=1)
        xi = np.zeros((len(X), 3))
        xi[:, 0] = 2.0 * np.einsum("ci,ci->c", x - X[:, 0], axis) / length2 - 1.0
        foot = X[:, 0] + 0.5 * (1.0 + xi[:, :1]) * axis
        return xi, np.maximum(np.abs(xi[:, 0]) - 1.0, np.linalg.norm(x - foot, axis=1) / np.sqrt(length2))
    xi = np.tile(element.ref_coords[: element.n_corners].mean(axis=0), (len(X), 1))
    inside = np.full(len(X), True)
    if not element.turns:
        inside = np.linalg.det(np.einsum("cni,cnj->cij", X, element.dshape(xi))) != 0.0
    X = np.where(inside[:, None, None], X, element.ref_coords)  # cells without volume hold no point
    for _ in range(12):
        error = x - np.einsum("cn,cni->ci", element.shape(xi), X)
        jacobian = np.einsum("cni,cnj->cij", X, element.dshape(xi))
        step = np.linalg.pinv(jacobian) @ error[..., None]  # a curved cell may be singular on the way
        xi = np.clip(xi + step[..., 0], -3.0, 3.0)
    error = x - np.einsum("cn,cni->ci", element.shape(xi), X)
    if element.turns:  # the foot of the point on the surface: what is left stands on it
        tangents = np.einsum("cni,cnj->cij", X, element.dshape(xi))[..., :2]
        tangents = tangents / np.linalg.norm(tangents, axis=1, keepdims=True)
        error = np.einsum("ci,cij->cj", error, tangents)
    missed = np.linalg.norm(error, axis=1) > 1e-8 * np.ptp(X, axis=1).max(axis=1)
    return xi, np.where(missed | ~inside, np.inf, outside_reference(element.family, xi))


def _reach(mesh: Mesh, kind: str) -> Floats:
    """How far the material of shells reaches from the surface of their nodes (n_cells,)."""
    assert mesh.shell is not None
    reach = [abs(item.offset) + 0.5 * item.thickness for item in mesh.shell.sections]
    return np.array(reach)[mesh.shell.index[kind]]


def _beyond(mesh: Mesh, kind: str, cells: Ints, xi: Floats, x: Floats) -> Floats:
    """How far a point stands outside the thickness, of it; 0 for shells without one."""
    if mesh.shell is None:
        return np.zeros(len(cells))
    foot = np.einsum("cn,cni->ci", ELEMENTS[kind].shape(xi), mesh.points[mesh.cells[kind][cells]])
    return np.linalg.norm(x - foot, axis=1) / _reach(mesh, kind)[cells] - 1.0


def outside_reference(family: str, xi: Floats) -> Floats:
    """How far reference points (n, 3) lie outside the reference cell; negative inside."""
    x, y, z = xi.T
    square, triangle = [abs(x) - 1.0, abs(y) - 1.0], [-x, -y, x + y - 1.0]
    sides = {
        "hex": [*square, abs(z) - 1.0],
        "wedge": [*triangle, abs(z) - 1.0],
        "tet": [-x, -y, -z, x + y + z - 1.0],
        "pyramid": [abs(x) + z - 1.0, abs(y) + z - 1.0, -z],
        "quad": square,
        "tri": triangle,
    }
    return np.asarray(np.max(sides[family], axis=0))


def _size(mesh: Mesh) -> float:
    return float(np.linalg.norm(np.ptp(mesh.points, axis=0))) or 1.0
