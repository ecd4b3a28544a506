"""Meshes and matrices of other libraries as they stand in memory: scikit-fem, meshio, VTK and PyVista."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.check.quality import shapes
from flexmbs.fe.check.repair import reoriented
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.readers.meshio_formats import raw_of_meshio
from flexmbs.fe.readers.resolve import to_mesh
from flexmbs.fe.readers.source import Damaged
from flexmbs.fe.readers.vtk_cells import Grid, to_raw
from flexmbs.fe.skin import as_face_set, match_faces
from flexmbs.reduce.matrices import model_of, symmetric

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: nodes of an element and family of its reference cell -> our kind
KINDS = {
    ("tet", 4): "tet4", ("tet", 10): "tet10", ("hex", 8): "hex8", ("hex", 20): "hex20", ("hex", 27): "hex27",
    ("wedge", 6): "wedge6",
}  # fmt: skip
SAME = 1e-9


def mesh_of(source: Any) -> Mesh | None:
    """The mesh of an object of a known library; nothing for anything else."""
    library = type(source).__module__.partition(".")[0]
    name = f"{library} {type(source).__name__}"
    try:
        if library == "meshio":
            return to_mesh(raw_of_meshio(source, name), Path(name))
        if library in ("pyvista", "vtkmodules", "vtk"):
            return to_mesh(to_raw(grid_of_vtk(source, name)), Path(name))
    except Damaged as damage:
        raise damage.as_error(name) from None
    if library == "skfem" and hasattr(source, "refdom"):
        return mesh_of_skfem(source, name)
    return None


def grid_of_vtk(source: Any, name: str) -> Grid:
    """Cells, points and whole-number data of a vtkUnstructuredGrid (PyVista's is one)."""
    if not source.IsA("vtkUnstructuredGrid"):
        remedy = "cast it: grid.cast_to_unstructured_grid(), or vtkAppendFilter"
        raise InputError(Diagnostic("mesh.format", name, "is no unstructured grid", remedy))
    from vtkmodules.util.numpy_support import vtk_to_numpy

    cells = source.GetCells()
    none = np.zeros(0, dtype=np.int64)
    empty = not source.GetNumberOfCells()
    data: list[dict[str, Any]] = []
    for group in (source.GetPointData(), source.GetCellData()):
        arrays = [group.GetArray(k) for k in range(group.GetNumberOfArrays())]
        data.append({a.GetName() or "data": vtk_to_numpy(a) for a in arrays if a is not None})
    return Grid(
        np.array(vtk_to_numpy(source.GetPoints().GetData()), dtype=float),
        none if empty else np.array(vtk_to_numpy(source.GetCellTypes()), dtype=np.int64),
        np.zeros(1, dtype=np.int64)
        if empty
        else np.array(vtk_to_numpy(cells.GetOffsetsArray()), dtype=np.int64),
        none if empty else np.array(vtk_to_numpy(cells.GetConnectivityArray()), dtype=np.int64),
        *data,
    )


def mesh_of_skfem(mesh: Any, name: str) -> Mesh:
    """Mesh of scikit-fem with its subdomains as cell sets and its boundaries as face sets."""
    element = mesh.elem()
    kind, order = order_of(mesh.refdom.name, np.asarray(element.doflocs), name)
    points, rows = np.asarray(mesh.doflocs).T, np.asarray(mesh.dofs.element_dofs).T[:, order]
    return with_sets(upright(Mesh(points, {kind: rows}, source=name), kind), mesh, kind)


def upright(mesh: Mesh, kind: str) -> Mesh:
    """Cells that scikit-fem numbers the other way round, which is all the same to it, are turned."""
    mirrored = np.flatnonzero(shapes(mesh, kind).det_max < 0)
    return reoriented(mesh, {kind: mirrored}) if len(mirrored) else mesh


def with_sets(made: Mesh, mesh: Any, kind: str) -> Mesh:
    """Subdomains and boundaries of scikit-fem; corners are found again by their places."""
    cell_sets = {key: {kind: np.asarray(rows)} for key, rows in (mesh.subdomains or {}).items()}
    face_sets = {}
    for key, facets in (mesh.boundaries or {}).items():
        corners = np.asarray(mesh.facets)[:, np.asarray(facets)].T
        vertices = made.cells[kind][:, : ELEMENTS[kind].n_corners]
        place = np.full(np.asarray(mesh.p).shape[1], made.n_nodes)
        ours = {
            tuple(x): n for n, x in zip(np.unique(vertices), made.points[np.unique(vertices)], strict=True)
        }
        for vertex, x in enumerate(np.asarray(mesh.p).T):
            place[vertex] = ours.get(tuple(x), made.n_nodes)
        face_sets[key] = as_face_set(match_faces(made, [place[corners]]), [kind])
    return replace(made, cell_sets=cell_sets, face_sets=face_sets)


def order_of(domain: str, places: Floats, name: str) -> tuple[str, list[int]]:
    """Our kind of an element by the places of its nodes, and where our nodes are among its own."""
    family = {"Tetrahedral": "tet", "Hexahedral": "hex", "Wedge": "wedge"}.get(domain, domain)
    kind = KINDS.get((family, len(places)))
    if kind is None:
        what = f"{len(places)} nodes in a {domain.lower()} cell are no element of flexmbs"
        remedy = f"take the nodes of one of {', '.join(KINDS.values())}"
        raise InputError(Diagnostic("mesh.format", name, what, remedy))
    ours = np.array(ELEMENTS[kind].ref_coords, dtype=float)
    if family == "hex":
        places = 2.0 * places - 1.0
    elif family == "wedge":
        places = places * [1.0, 1.0, 2.0] - [0.0, 0.0, 1.0]
    distance = np.linalg.norm(ours[:, None] - places[None], axis=2)
    order = distance.argmin(axis=1)
    if distance.min(axis=1).max() > SAME or len(set(order.tolist())) < len(order):
        what = f"the nodes of the element are not those of {kind}"
        raise InputError(Diagnostic("mesh.format", name, what, "take a nodal (Lagrange) element"))
    return kind, order.tolist()


def model_of_basis(basis: Any, K: Any, M: Any) -> FeModel:
    """Full model of matrices that were assembled on a vector basis of scikit-fem, dof by dof by its place.

    Any weak form may stand behind K and M, as long as the displacements are the nodal values of the basis.
    """
    name = f"scikit-fem {type(basis.elem).__name__}"
    component = components(basis, name)
    local = np.asarray(basis.element_dofs)
    n_local = len(local)
    if n_local % 3 or any((component == c).sum() != n_local // 3 for c in range(3)):
        what = "has no three displacements at every node"
        raise InputError(Diagnostic("matrices.basis", name, what, "take ElementVector of a nodal element"))
    places = np.asarray(basis.elem.doflocs)
    first = np.flatnonzero(component == 0)
    nodes_of = [
        [
            int(np.flatnonzero((component == c) & (np.abs(places - places[k]).max(axis=1) < SAME))[0])
            for c in range(3)
        ]
        for k in first
    ]
    kind, order = order_of(basis.mesh.refdom.name, places[first], name)
    dofs = local[np.array(nodes_of)[order]]  # (node, component, cell)
    triples, rows = np.unique(dofs.transpose(2, 0, 1).reshape(-1, 3), axis=0, return_inverse=True)
    if len(np.unique(triples)) != 3 * len(triples) or 3 * len(triples) != basis.N:
        what = f"has {basis.N} freedoms, not three at each of {len(triples)} nodes"
        raise InputError(Diagnostic("matrices.basis", name, what, "take ElementVector of a nodal element"))
    points = np.asarray(basis.doflocs)[:, triples[:, 0]].T
    mesh = Mesh(points, {kind: rows.reshape(-1, len(order))}, source=name)
    mesh = with_sets(upright(mesh, kind), basis.mesh, kind)
    permutation = triples.ravel()
    found = []
    for label, A in (("K", K), ("M", M)):
        A = sp.csc_array(A)
        if A.shape != (basis.N, basis.N):
            what = f"is {A.shape[0]} x {A.shape[1]}; the basis has {basis.N} freedoms"
            raise InputError(Diagnostic("matrices.shape", label, what))
        found.append(symmetric(A[permutation][:, permutation], label))
    return model_of(mesh, 3, found[0], found[1], "M")


def components(basis: Any, name: str) -> Ints:
    """Direction of each local shape function: the one in which it has values."""
    result = []
    for function in basis.basis:
        value = np.asarray(function[0].value if hasattr(function[0], "value") else function[0])
        if value.ndim != 3 or value.shape[0] != 3:
            what = "is no basis of displacements in three directions"
            raise InputError(Diagnostic("matrices.basis", name, what, "Basis(mesh, ElementVector(element))"))
        size = np.abs(value).max(axis=(1, 2))
        if (size > SAME * size.max()).sum() != 1:
            what = "has shape functions that move in several directions"
            raise InputError(
                Diagnostic("matrices.basis", name, what, "take ElementVector of a nodal element")
            )
        result.append(int(np.argmax(size)))
    return np.array(result)
