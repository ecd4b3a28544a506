"""Stress modes and geometric stiffness: exact fields, slow twins, stiffening of a pulled bar."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import material
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.fe.stress import extrapolation, geometric_stiffness, stress_modes, stress_rule
from tests.fe import reference
from tests.fe.modes import smallest_modes
from tests.fe.reference import SOLIDS, block, distorted

STEEL = material("steel")


def strain_field(H):
    """Displacement u = H x and its engineering strain xx yy zz xy yz zx."""
    E = 0.5 * (H + H.T)
    return np.array([E[0, 0], E[1, 1], E[2, 2], 2 * E[0, 1], 2 * E[1, 2], 2 * E[2, 0]])


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("at", ["nodes", "cells"])
def test_constant_stress_is_exact_F53(name, at):
    mesh = distorted(block(name), curved=True)
    rng = np.random.default_rng(1)
    H = rng.uniform(-1, 1, (2, 3, 3))
    U = np.einsum("mij,nj->nim", H, mesh.points).reshape(-1, 2)
    found = stress_modes(mesh, STEEL, U, at=at)
    expected = np.array([STEEL.C_mat @ strain_field(h) for h in H])
    assert found.shape == (2, mesh.n_nodes if at == "nodes" else mesh.n_cells, 6)
    np.testing.assert_allclose(found, np.broadcast_to(expected[:, None], found.shape), rtol=1e-9, atol=1.0)


@pytest.mark.parametrize("name", ["hex8", "tet10", "hex20", "hex27", "wedge15", "pyramid13"])
def test_linear_stress_is_exact_on_straight_quadratic_elements_and_bricks_F53(name):
    """Pure bending: sigma_xx = E y, u = (x y, -(x^2 + nu (y^2 - z^2))/2, -nu y z)."""
    mesh = block(name)
    x, y, z = mesh.points.T
    nu = STEEL.nu
    U = np.stack([x * y, -0.5 * (x**2 + nu * (y**2 - z**2)), -nu * y * z], axis=1).reshape(-1, 1)
    found = stress_modes(mesh, STEEL, U)[0]
    expected = np.zeros_like(found)
    expected[:, 0] = STEEL.E * y
    np.testing.assert_allclose(found, expected, atol=1e-9 * STEEL.E)


@pytest.mark.parametrize("name", SOLIDS)
def test_nodal_stress_is_the_mean_of_extrapolated_cells(name):
    mesh = distorted(block(name, (1, 1, 1)), curved=True)
    u = np.random.default_rng(2).normal(size=(mesh.n_nodes, 3))
    total, count = np.zeros((mesh.n_nodes, 6)), np.zeros(mesh.n_nodes)
    for cell, row in enumerate(mesh.cells[name]):
        rule = stress_rule(name)
        sig = [
            reference.point_stress(mesh, STEEL, name, cell, k, rule.points, u)
            for k in range(len(rule.points))
        ]
        total[row] += extrapolation(name) @ np.array(sig)
        count[row] += 1
    found = stress_modes(mesh, STEEL, u.reshape(-1, 1))[0]
    np.testing.assert_allclose(found, total / count[:, None], rtol=1e-10, atol=1e-3)


@pytest.mark.parametrize("name", SOLIDS)
def test_extrapolation_reproduces_linear_fields(name):
    element, rule = ELEMENTS[name], stress_rule(name)
    if len(rule.weights) == 1:
        np.testing.assert_array_equal(extrapolation(name), 1.0)
    else:
        np.testing.assert_allclose(extrapolation(name) @ rule.points, element.ref_coords, atol=1e-13)


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("curved", [False, True])
def test_geometric_stiffness_is_the_sum_over_points_F17(name, curved):
    mesh = distorted(block(name, (1, 1, 2)), curved=curved)
    rng = np.random.default_rng(3)
    U_load, Phi = rng.normal(size=(3 * mesh.n_nodes, 2)), rng.normal(size=(3 * mesh.n_nodes, 3))
    expected = reference.geometric(mesh, STEEL, U_load, Phi)
    found = geometric_stiffness(mesh, STEEL, U_load, Phi)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_geometric_stiffness_in_several_chunks(monkeypatch):
    mesh = block("tet10", (2, 2, 1))
    rng = np.random.default_rng(4)
    U_load, Phi = rng.normal(size=(3 * mesh.n_nodes, 3)), rng.normal(size=(3 * mesh.n_nodes, 5))
    whole = geometric_stiffness(mesh, STEEL, U_load, Phi)
    monkeypatch.setattr("flexmbs.fe.stress.CHUNK_BYTES", 48 * 4 * 15 * 7)
    told = []
    parts = geometric_stiffness(
        mesh, STEEL, U_load, Phi, progress=lambda fraction, text: told.append(fraction)
    )
    np.testing.assert_allclose(parts, whole, rtol=1e-10, atol=1e-12 * np.abs(whole).max())
    assert len(told) > 1 and told[-1] == 1.0


def test_tension_stiffens_a_pulled_bar_F17():
    """sigma_xx = s: K_sigma of a sideways slope w = x is s times the volume."""
    mesh = box([1.0, 0.1, 0.1], [3, 1, 1], corner=[0, 0, 0], element="hex20")
    x, y, z = mesh.points.T
    pulled = np.stack([x, -STEEL.nu * y, -STEEL.nu * z], axis=1).reshape(-1, 1)
    slope = np.stack([0 * x, 0 * x, x], axis=1).reshape(-1, 1)
    found = geometric_stiffness(mesh, STEEL, pulled, slope)
    assert found[0, 0, 0] == pytest.approx(STEEL.E * 0.01, rel=1e-12)


def test_no_load_and_no_modes_give_no_stiffness():
    mesh = block("hex8", (2, 1, 1))
    nothing = np.zeros((3 * mesh.n_nodes, 1))
    Phi = np.random.default_rng(5).normal(size=(3 * mesh.n_nodes, 2))
    np.testing.assert_array_equal(geometric_stiffness(mesh, STEEL, nothing, Phi), 0.0)
    assert geometric_stiffness(mesh, STEEL, nothing[:, :0], Phi).shape == (0, 2, 2)
    assert geometric_stiffness(mesh, STEEL, nothing, Phi[:, :0]).shape == (1, 0, 0)


def test_several_materials_and_wrong_places():
    mesh = box([2, 1, 1], [2, 1, 1], corner=[0, 0, 0], element="hex8")
    mesh = Mesh(mesh.points, mesh.cells, cell_sets={"soft": {"hex8": np.array([1])}})
    soft = material({"young": 1e9, "poisson": 0.3, "density": 1000})
    U = np.zeros((mesh.n_nodes, 3))
    U[:, 0] = mesh.points[:, 0]
    sig = stress_modes(mesh, {"": STEEL, "soft": soft}, U.reshape(-1, 1), at="cells")[0]
    np.testing.assert_allclose(sig[:, 0], [STEEL.C_mat[0, 0], soft.C_mat[0, 0]])
    with pytest.raises(InputError, match="choices: nodes, cells"):
        stress_modes(mesh, STEEL, U.reshape(-1, 1), at="gauss")
    assert assemble(mesh, {"": STEEL, "soft": soft}).n_dof == 36


@pytest.mark.parametrize("element", ["hex20", "tet10"])
def test_a_solid_column_buckles_at_eulers_load_F17(element):
    """Cantilever under a compressive end load, in the space of its lowest bending modes."""
    mesh = box([1.0, 0.05, 0.1], [12, 1, 2], corner=[0, 0, 0], element=element)
    slender = material({"young": 210e9, "poisson": 0.0, "density": 7850})  # no clamping of the contraction
    model = assemble(mesh, slender)
    free = np.setdiff1d(np.arange(model.n_dof), model.dofs(mesh.node_sets["x_min"]))
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    Phi = np.zeros((model.n_dof, 8))
    Phi[free] = smallest_modes(K, M, n=8).V
    pressed = np.zeros((model.n_dof, 1))
    pressed[0::3, 0] = -mesh.points[:, 0] / (210e9 * 0.005)  # unit force: sigma_xx = -1 / A
    K_geo = geometric_stiffness(mesh, slender, pressed, Phi)[0]
    loads = 1.0 / np.linalg.eigvals(np.linalg.solve(Phi.T @ (model.K_fe @ Phi), -K_geo)).real
    euler = np.pi**2 * 210e9 * np.array([0.1 * 0.05**3, 0.05 * 0.1**3]) / 12 / 4
    # shear lowers the second by 1 / (1 + 1.2 P / G A), the space of modes raises both
    assert np.sort(loads[loads > 0])[0] == pytest.approx(euler[0], rel=1e-2)
    assert np.abs(loads / euler[1] - 1).min() < 2e-2
