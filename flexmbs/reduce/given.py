"""Shapes of the user: nodal values for drawing and markers, integrals of the expressions themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.materials import material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.ffrf.integrals import ShapeIntegrals, shape_integrals
from flexmbs.input.values import LARGEST
from flexmbs.reduce.matrices import integrals_of
from flexmbs.reduce.recipe import Given, Recipe
from flexmbs.reduce.source import Source

Floats = NDArray[np.float64]

#: imaginary step of derivatives: far below rounding, exact to rounding
STEP = 1e-30
FINE_CELLS = 3000  # up to here 6 points per direction (exact for shapes of degree 5), above 4 (degree 3)


def shape_values(given: Given, x: Floats) -> Floats:
    """Displacements (n, 3, nf) of the expressions at points x (n, 3); the dtype follows x."""
    at = {"x": x[:, 0], "y": x[:, 1], "z": x[:, 2]}
    out = np.zeros((len(x), 3, len(given.shapes)), dtype=x.dtype)
    for a, laws in enumerate(given.shapes):
        for k, law in enumerate(laws):
            out[:, k, a] = law.evaluate(at)
    return out


def shape_gradients(given: Given, x: Floats) -> Floats:
    """du_k/dx_j (n, 3, 3, nf), indexed [point, k, j, mode], by the complex step."""
    slopes = []
    for j in range(3):
        moved = x.astype(complex)
        moved[:, j] += 1j * STEP
        slopes.append(shape_values(given, moved).imag / STEP)
    return np.stack(slopes, axis=2)


def nodal_shapes(given: Given, source: Source) -> Floats:
    """Nodal fields (n_dof, nf): the values given, or the expressions at the nodes, with slopes on beams."""
    mesh, n_per_node = source.mesh, source.fe.n_per_node
    if given.values is not None:
        nf, n_nodes, n = given.values.shape
        if n_nodes != mesh.n_nodes or n not in (3, n_per_node):
            what = f"has {n_nodes} nodes of {n} values, the body has {mesh.n_nodes} of {n_per_node}"
            raise InputError(Diagnostic("recipe.given", "given.values", what, "give [mode][node][3 or 6]"))
        U = np.zeros((nf, mesh.n_nodes, n_per_node))
        U[:, :, :n] = given.values
        return np.concatenate([U.reshape(nf, -1).T, np.zeros((source.fe.n_modal, nf))])
    U = np.zeros((mesh.n_nodes, n_per_node, len(given.shapes)))
    U[:, :3] = shape_values(given, mesh.points)
    _require_finite(U)
    if n_per_node == 6:
        U[:, 3:] = _beam_rotations(shape_gradients(given, mesh.points), beam_tangents(mesh))
    return np.concatenate(
        [U.reshape(-1, len(given.shapes)), np.zeros((source.fe.n_modal, len(given.shapes)))]
    )


def _require_finite(U: Floats) -> None:
    bad = np.flatnonzero(~(np.abs(U) < LARGEST).all(axis=(0, 1)))
    if len(bad):
        what = f"shape {bad[0] + 1} has no finite value everywhere on the body"
        raise InputError(Diagnostic("recipe.given", "given.shapes", what))


def beam_tangents(mesh: Mesh) -> Floats:
    """Mean direction (n_nodes, 3) of the beams at each node; zero where there are none."""
    tangent = np.zeros((mesh.n_nodes, 3))
    for nodes in mesh.cells.get("beam2", np.zeros((0, 2), dtype=np.int64)):
        axis = mesh.points[nodes[1]] - mesh.points[nodes[0]]
        tangent[nodes] += axis / np.linalg.norm(axis)
    size = np.linalg.norm(tangent, axis=1, keepdims=True)
    return tangent / np.where(size > 0, size, 1.0)


def _beam_rotations(slope: Floats, tangent: Floats) -> Floats:
    """Rotations (n, 3, nf): of the axis by the slope along it, about the axis by half the curl."""
    along = np.einsum("nkja,nj->nka", slope, tangent)
    bend = np.cross(tangent[:, :, None], along, axis=1)
    curl = 0.5 * np.stack(
        [slope[:, 2, 1] - slope[:, 1, 2], slope[:, 0, 2] - slope[:, 2, 0], slope[:, 1, 0] - slope[:, 0, 1]],
        axis=1,
    )
    free = (np.linalg.norm(tangent, axis=1) == 0)[:, None, None]  # points without beams turn as a whole
    twist = np.einsum("ni,nia->na", tangent, curl)[:, None] * tangent[:, :, None]
    return np.where(free, curl, bend + twist)


def given_integrals(
    recipe: Recipe, given: Given, source: Source, Phi: Floats, K_geo: Any, loads: tuple[str, ...]
) -> ShapeIntegrals:
    """Integrals (F2-F9) of the shapes: on solids of the expressions, else of the nodal values."""
    fe, mesh = source.fe, source.mesh
    solid = any(ELEMENTS[kind].faces for kind in mesh.cells)
    if given.shapes and solid and recipe.mass == "consistent":
        form, x, U, K_ff = _at_points(recipe, given, source)
        integrals = replace(shape_integrals(form, x, U, None, K_geo=K_geo, loads=loads), K_ff=K_ff)
    else:
        integrals = integrals_of(fe, Phi, K_geo=K_geo, loads=loads)
    if given.stiffness is not None:
        integrals = replace(integrals, K_ff=0.5 * (given.stiffness + given.stiffness.T))
    if given.damping is not None:
        integrals = integrals.with_damping(0.5 * (given.damping + given.damping.T))
    return integrals


def _at_points(recipe: Recipe, given: Given, source: Source) -> tuple[MassForm, Floats, Floats, Floats]:
    """A body of mass points: the integration points of the cells, and the point masses of the recipe.

    With rho dV as masses of these points, the integrals of the expressions are those of (F2a-F7a).
    """
    nf = len(given.shapes)
    places, weights, K_ff = [], [], np.zeros((nf, nf))
    for x, mass, volume, C_mat in _quadrature(recipe, source.mesh):
        places.append(x)
        weights.append(mass)
        eps = _strain(shape_gradients(given, x))
        K_ff += np.einsum("pia,ij,pjb,p->ab", eps, C_mat, eps, volume, optimize=True)
    heavy = np.flatnonzero(source.nodal_masses)
    attached = source.fe.mass_form.attached
    x = np.concatenate([*places, source.mesh.points[heavy], attached.position])
    mass = np.concatenate([*weights, source.nodal_masses[heavy], attached.mass])
    U = shape_values(given, x)
    _require_finite(U)
    n = len(x)
    turns = source.fe.mass_form.turns(nodal_shapes(given, source))  # (n_j, 3, nf), as massless points
    U = np.concatenate([U, turns]).reshape(-1, nf)
    rows = sp.csr_array(sp.eye_array(3 * len(turns), 3 * (n + len(turns)), k=3 * n))
    n_dof = U.shape[0]
    form = MassForm(
        3,
        Ms=sp.diags_array(np.concatenate([mass, np.zeros(len(turns))]), format="csr"),
        attached=Attached(np.zeros(0), np.zeros((0, 3)), sp.csr_array((0, n_dof)), attached.inertia, rows),
    )
    return form, np.concatenate([x, np.zeros((len(turns), 3))]), U, 0.5 * (K_ff + K_ff.T)


def _strain(slope: Floats) -> Floats:
    """Engineering strains (n, 6, nf) in the order xx yy zz xy yz zx."""
    return np.stack(
        [
            slope[:, 0, 0],
            slope[:, 1, 1],
            slope[:, 2, 2],
            slope[:, 0, 1] + slope[:, 1, 0],
            slope[:, 1, 2] + slope[:, 2, 1],
            slope[:, 2, 0] + slope[:, 0, 2],
        ],
        axis=1,
    )


def _quadrature(recipe: Recipe, mesh: Mesh) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """Points (p, 3), masses (p,), volumes (p,) and elasticity per cell type and material."""
    used, index = material_of_cells(mesh, recipe.materials)
    n = 6 if mesh.n_cells <= FINE_CELLS else 4
    for kind, rows in mesh.cells.items():
        element = ELEMENTS[kind]
        if not element.faces:
            continue
        xi, weight = gauss_points(element.family, n)
        N, dN = element.shape(xi), element.dshape(xi)
        for number, item in enumerate(used):
            X = mesh.points[rows[index[kind] == number]]
            if not len(X):
                continue
            x = np.einsum("pn,cni->cpi", N, X).reshape(-1, 3)
            J = np.einsum("cni,pnj->cpij", X, dN)
            volume = (np.linalg.det(J) * weight).ravel()
            yield x, item.rho * volume, volume, item.C_mat


def gauss_points(family: str, n: int) -> tuple[Floats, Floats]:
    """Product rule with n points per direction on a reference cell; tetrahedra and wedges collapsed."""
    t, w = np.polynomial.legendre.leggauss(n)
    a, b, c = (part.ravel() for part in np.meshgrid(t, t, t, indexing="ij"))
    weight = np.einsum("i,j,k->ijk", w, w, w).ravel()
    if family == "hex":
        return np.stack([a, b, c], axis=1), weight
    r, s = 0.5 * (1 + a), 0.5 * (1 + b)
    if family == "wedge":
        return np.stack([r, s * (1 - r), c], axis=1), weight * 0.25 * (1 - r)
    q = 0.5 * (1 + c)
    points = np.stack([r, s * (1 - r), q * (1 - r) * (1 - s)], axis=1)
    return points, weight * 0.125 * (1 - r) ** 2 * (1 - s)
