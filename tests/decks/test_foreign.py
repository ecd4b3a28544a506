"""Meshes and matrices that stand in memory: scikit-fem, meshio, VTK; the same body as by our own elements."""

import numpy as np
import pytest

import flexmbs as fm
from tests.decks.test_meshio_formats import part

skfem = pytest.importorskip("skfem")

E, NU, RHO = 2.1e11, 0.3, 7850.0
MATERIAL = {"young": E, "poisson": NU, "density": RHO}


def grid(kind):
    axes = [np.linspace(0, 0.03, 4), np.linspace(0, 0.02, 3), np.linspace(0, 0.01, 2)]
    mesh = (skfem.MeshTet if kind.startswith("Tet") else skfem.MeshHex).init_tensor(*axes)
    mesh = mesh.with_boundaries({"end": lambda x: np.isclose(x[0], 0.03)})
    mesh = mesh.with_subdomains({"left": lambda x: x[0] < 0.01})
    return (
        {"Tet2": skfem.MeshTet2, "Hex2": skfem.MeshHex2}[kind].from_mesh(mesh) if kind.endswith("2") else mesh
    )


def ours(kind):
    """The same block by our own shape, where scikit-fem has the same cells."""
    return {"Hex1": "hex8", "Hex2": "hex27", "Tet1": "tet4", "Tet2": "tet10"}[kind]


@pytest.mark.parametrize("kind", ["Tet1", "Tet2", "Hex1", "Hex2"])
def test_meshes_of_scikit_fem(kind):
    modal = fm.reduce(grid(kind), modes=0, material=MATERIAL)
    np.testing.assert_allclose(modal.integrals.mass, RHO * 6e-6, rtol=1e-12)
    assert list(modal.mesh.cells) == [ours(kind)] and not modal.quality["warnings"] or kind == "Tet1"
    if not kind.endswith("2"):  # scikit-fem drops names when it raises the order
        assert modal.mesh.set_kinds("end") == ["face"] and modal.mesh.set_kinds("left") == ["cell"]
        assert np.isclose(modal.mesh.points[modal.mesh.node_set_of("end"), 0], 0.03).all()


def matrices(basis, rho=RHO, young=E):
    """K and M of linear elasticity by the forms of scikit-fem; `rho`, `young` may depend on place."""
    from skfem.helpers import ddot, dot, eye, sym_grad, trace

    @skfem.BilinearForm
    def stiffness(u, v, w):
        e = young(w.x) if callable(young) else young
        lam, mu = e * NU / ((1 + NU) * (1 - 2 * NU)), e / (2 * (1 + NU))
        eps = sym_grad(u)
        return ddot(2 * mu * eps + lam * eye(trace(eps), 3), sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, w):
        return (rho(w.x) if callable(rho) else rho) * dot(u, v)

    return stiffness.assemble(basis), mass.assemble(basis)


@pytest.mark.parametrize(
    "kind, element",
    [("Tet1", "ElementTetP2"), ("Tet2", "ElementTetP2"), ("Hex1", "ElementHex2")],
)
def test_matrices_of_scikit_fem_are_those_of_our_elements(kind, element):
    basis = skfem.Basis(grid(kind), skfem.ElementVector(getattr(skfem, element)()), intorder=6)
    K, M = matrices(basis)
    modal = fm.reduce(basis=basis, K=K, M=M, modes=6, material=MATERIAL)
    same = fm.reduce(modal.mesh, modes=6, material=MATERIAL)
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-8)
    np.testing.assert_allclose(modal.integrals.Theta_kl, same.integrals.Theta_kl, rtol=1e-10, atol=1e-18)
    np.testing.assert_allclose(modal.integrals.S_kl, same.integrals.S_kl, rtol=1e-6, atol=1e-8)
    assert modal.stress is not None and modal.quality["rigid_modes"] == 6


def test_matrices_of_compatible_bricks_keep_their_own_stiffness():
    """The 8-node brick of scikit-fem has no inner functions: stiffer than ours, with the same inertia."""
    basis = skfem.Basis(grid("Hex1"), skfem.ElementVector(skfem.ElementHex1()), intorder=6)
    K, M = matrices(basis)
    modal = fm.reduce(basis=basis, K=K, M=M, modes=6, material=MATERIAL)
    softer = fm.reduce(modal.mesh, modes=6, material=MATERIAL)
    assert (modal.frequency_hz >= softer.frequency_hz).all()
    np.testing.assert_allclose(modal.integrals.Theta_kl, softer.integrals.Theta_kl, rtol=1e-10, atol=1e-18)


def test_a_graded_body_of_scikit_fem():
    """Density and stiffness that grow along x: mass and centre by the integral of the density."""
    basis = skfem.Basis(grid("Hex1"), skfem.ElementVector(skfem.ElementHex2()), intorder=6)
    K, M = matrices(basis, rho=lambda x: RHO * (1 + x[0] / 0.03), young=lambda x: E * (1 + x[0] / 0.03))
    modal = fm.reduce(basis=basis, K=K, M=M, modes=4, interfaces=["end"])
    np.testing.assert_allclose(modal.integrals.mass, RHO * 6e-6 * 1.5, rtol=1e-12)
    np.testing.assert_allclose(modal.integrals.com[0], 0.03 * (1 / 2 + 1 / 3) / 1.5, rtol=1e-12)
    assert modal.stress is None and set(modal.interfaces) == {"end"}


def test_what_is_no_vector_basis_is_named():
    basis = skfem.Basis(grid("Hex1"), skfem.ElementHex1())
    K = M = np.eye(basis.N)
    with pytest.raises(fm.InputError, match="no basis of displacements"):
        fm.reduce(basis=basis, K=K, M=M, modes=0)
    with pytest.raises(fm.InputError, match="belong together"):
        fm.reduce(basis=basis, K=K, modes=0)
    vector = skfem.Basis(grid("Hex1"), skfem.ElementVector(skfem.ElementHex1()))
    K, M = matrices(vector)
    with pytest.raises(fm.InputError, match="rigid motions strain"):
        fm.reduce(basis=vector, K=K + 1e11 * M, M=M, modes=0)


def test_meshio_mesh_in_memory():
    from flexmbs.fe.convert import to_meshio

    modal = fm.reduce(to_meshio(part("hex20")), modes=0, material=MATERIAL)
    np.testing.assert_allclose(
        modal.integrals.mass, fm.reduce(part("hex20"), modes=0, material=MATERIAL).integrals.mass
    )
    assert {"few", "half"} <= set(modal.mesh.set_names)


def test_grid_of_vtk_in_memory():
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray

    mesh = part("hex8")
    made, points, cells = vtk.vtkUnstructuredGrid(), vtk.vtkPoints(), vtk.vtkCellArray()
    points.SetData(numpy_to_vtk(mesh.points, deep=True))
    rows = mesh.cells["hex8"]
    cells.SetData(8, numpy_to_vtkIdTypeArray(np.ascontiguousarray(rows.ravel()), deep=True))
    made.SetPoints(points)
    made.SetCells(vtk.VTK_HEXAHEDRON, cells)
    flag = numpy_to_vtk(np.arange(len(rows), dtype=np.int32) % 2, deep=True)
    flag.SetName("odd")
    made.GetCellData().AddArray(flag)
    modal = fm.reduce(made, modes=0, material=MATERIAL)
    np.testing.assert_allclose(
        modal.integrals.mass, fm.reduce(mesh, modes=0, material=MATERIAL).integrals.mass
    )
    assert len(modal.mesh.cell_sets["odd"]["hex8"]) == 3
    with pytest.raises(fm.InputError, match="no unstructured grid"):
        fm.reduce(vtk.vtkPolyData(), modes=0)
