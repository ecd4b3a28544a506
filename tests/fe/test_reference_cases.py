"""The reference problems of the FE stage, each within its stated tolerance; supports by partitioning."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import gauss, wedge_rule
from flexmbs.fe.shapes.parametric import box, cylinder
from flexmbs.resources import resource
from tests.fe.modes import smallest_modes
from tests.fe.reference import SOLIDS, block, distorted


def case(name):
    data = json.loads(resource("cases", "reference", f"fe-{name}.json").read_text())
    return data["parameters"], data["reference"]


def modes(model, held, n):
    free = np.setdiff1d(np.arange(model.n_dof), held)
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    return smallest_modes(K, M, n=n).frequency_hz


def test_hex8_element():
    p, expected = case("hex8-element")
    size = np.array([p["a"], p["b"], p["c"]])
    mesh = Mesh(
        0.5 * size * ELEMENTS["hex8"].ref_coords,
        {"hex8-plain": [range(8)]},
    )
    steel = isotropic("steel", p["E"], p["nu"], p["rho"])
    model, lumped = assemble(mesh, steel), assemble(mesh, steel, mass="lumped")
    K, M = model.K_fe.toarray(), model.M_fe.toarray()
    np.testing.assert_allclose(K[0], expected["K_first_row"], rtol=1e-9)
    values = np.linalg.eigvalsh(K)
    np.testing.assert_allclose(values[6:], expected["stiffness_eigenvalues_nonzero"], rtol=1e-9)
    assert model.mass_form.Ms.sum() == pytest.approx(expected["element_mass"], rel=1e-9)
    entries = expected["M_entries"]
    found = [M[0, 3 * node] for node in (0, 1, 2, 6)]
    names = ("diagonal", "edge_neighbour", "face_diagonal", "space_diagonal")
    np.testing.assert_allclose(found, [entries[name] for name in names], rtol=1e-9)
    np.testing.assert_allclose(lumped.M_fe.diagonal(), expected["lumped_nodal_mass"], rtol=1e-9)
    for one, key in ((model, "consistent"), (lumped, "lumped")):
        frequencies = modes(one, [], 24)[6:]
        np.testing.assert_allclose(frequencies, expected[f"free_element_frequencies_hz_{key}"], rtol=1e-9)


@pytest.mark.parametrize("element", SOLIDS)
def test_rigid_integrals_of_the_box(element):
    """Any mesh reproduces them exactly, distorted cells inside as well."""
    p, expected = case("rigid-integrals-box")
    low, size = np.array(p["lower"]), np.subtract(p["upper"], p["lower"])
    unit = distorted(block(element))
    mesh = Mesh(low + unit.points * (size / np.array([1.0, 0.9, 0.5])), unit.cells)
    material = isotropic("m", 1e9, 0.3, p["density"])
    for mass in ("consistent", "lumped"):
        Ms = assemble(mesh, material, mass=mass).mass_form.Ms
        ones = np.ones(mesh.n_nodes)
        assert ones @ Ms @ ones == pytest.approx(expected["mass"], rel=1e-12)
        if mass == "consistent":
            np.testing.assert_allclose(ones @ Ms @ mesh.points, expected["S_t"], rtol=1e-12)
            Theta = mesh.points.T @ Ms @ mesh.points
            np.testing.assert_allclose(Theta, expected["Theta_kl"], rtol=1e-12)
            inertia = np.trace(Theta) * np.eye(3) - Theta
            np.testing.assert_allclose(inertia, expected["inertia_about_origin"], rtol=1e-12)
    regular = box(
        size, [2, 2, 2], corner=low, element="hex20" if element.startswith(("wedge", "pyramid")) else element
    )
    Ms = assemble(regular, material, mass="lumped").mass_form.Ms
    np.testing.assert_allclose(Ms.diagonal() @ regular.points, expected["S_t"], rtol=1e-12)


@pytest.mark.parametrize("element", ["hex20", "hex27", "tet10"])
def test_free_block(element):
    p, expected = case("free-block")
    divisions = [12, 9, 6] if element == "tet10" else [9, 7, 5]
    mesh = box(p["dimensions"], divisions, element=element)
    model = assemble(mesh, isotropic("steel", p["E"], p["nu"], p["rho"]))
    found = modes(model, [], 20)[6:]
    ratio = found / expected["frequencies_hz"]
    assert (ratio > 1 - 1e-9).all(), "a consistent mass matrix gives values from above"
    assert (ratio < 1.002).all()


@pytest.mark.parametrize("element", ["hex20", "tet10"])
def test_nafems_fv32(element):
    """Tapered membrane: one layer, w held on the mid-plane only."""
    p, expected = case("nafems-fv32")
    mesh = box(
        [p["L"], 1.0, p["thickness"]], [10, 6, 1], corner=[0, -0.5, -0.5 * p["thickness"]], element=element
    )
    x = mesh.points.copy()
    x[:, 1] *= p["H_root"] + (p["H_tip"] - p["H_root"]) * x[:, 0] / p["L"]
    mesh = Mesh(x, mesh.cells, node_sets=mesh.node_sets)
    model = assemble(mesh, isotropic("m", p["E"], p["nu"], p["rho"]))
    middle = np.flatnonzero(np.isclose(x[:, 2], 0.0))
    held = np.concatenate([model.dofs(mesh.node_sets["x_min"], [0, 1]), model.dofs(middle, [2])])
    free = np.setdiff1d(np.arange(model.n_dof), held)
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    lowest = smallest_modes(K, M, n=12)
    # hex20 has no mid-plane nodes inside a cell: the plate bends locally between the held ones
    full = np.zeros((model.n_dof, 12))
    full[free] = lowest.V
    across = (full[2::3] * (model.mass_form.Ms @ full[2::3])).sum(axis=0)
    found = lowest.frequency_hz[across < 0.5][:6]
    exact = np.array(expected["recomputed_plane_stress_hz"])
    np.testing.assert_allclose(found, exact, rtol=5e-3)
    np.testing.assert_allclose(found, expected["nafems_published_hz"], rtol=5e-3)
    assert (found > exact * (1 - 1e-4)).all()


@pytest.mark.parametrize("element", ["hex20", "hex27"])
@pytest.mark.parametrize(
    ("n", "keys"), [(8, ["m=1,n=1", "m=1,n=2", "m=2,n=2"]), (12, ["m=1,n=3", "m=2,n=3"])]
)
def test_thick_plate(element, n, keys):
    """8 x 8 x 2 cells for waves of half a side; three half waves on a side take 12.

    On 8 cells they are 0.733 % high with hex20, here and in CalculiX: the mesh, not the element.
    """
    p, expected = case("thick-plate-exact3d")
    mesh = box([p["a"], p["a"], p["h"]], [n, n, 2], corner=[0, 0, 0], element=element)
    model = assemble(mesh, isotropic("m", p["E"], p["nu"], p["rho"]))
    sets = mesh.node_sets
    x_faces = np.union1d(sets["x_min"], sets["x_max"])
    y_faces = np.union1d(sets["y_min"], sets["y_max"])
    held = np.concatenate([model.dofs(x_faces, [1, 2]), model.dofs(y_faces, [0, 2])])
    found = modes(model, held, 18)
    for key in keys:
        flexural, shear, _ = expected[key]["first_three_hz"]
        for exact in (flexural, shear) if key == "m=1,n=1" else (flexural,):
            ratio = found[np.abs(found / exact - 1).argmin()] / exact
            assert 1 - 1e-9 < ratio < 1.003, key
        times = 1 if key[2] == key[-1] else 2  # (m, n) and (n, m)
        assert (np.abs(found / flexural - 1) < 3e-3).sum() == times


@pytest.mark.parametrize("element", ["hex20", pytest.param("tet10", marks=pytest.mark.slow)])
def test_shaft_torsion(element):
    """Torsion is picked among bending and axial modes by its likeness to the exact shape."""
    p, expected = case("shaft-torsion")
    divisions = [2, 12, 20] if element == "tet10" else [1, 8, 16]
    mesh = cylinder(0.5 * p["d"], p["L"], divisions, element=element)
    model = assemble(mesh, isotropic("m", p["E"], p["nu"], p["rho"]))
    x, y, z = mesh.points.T
    turn = np.stack([-y, x, 0 * x], axis=1)
    root = model.dofs(mesh.node_sets["z_min"])
    for held, key, shape in ((root, "fixed_free_hz", np.sin), (np.zeros(0, int), "free_free_hz", np.cos)):
        free = np.setdiff1d(np.arange(model.n_dof), held)
        K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
        found = smallest_modes(K, M, n=24)
        for k in range(2):
            wave = (k + 0.5 if key == "fixed_free_hz" else k + 1.0) * np.pi / p["L"]
            exact = (turn * shape(wave * z)[:, None]).ravel()[free]
            likeness = np.abs(found.V.T @ (M @ exact)) / np.sqrt(exact @ M @ exact)
            assert likeness.max() > 0.99
            assert found.frequency_hz[likeness.argmax()] == pytest.approx(expected[key][k], rel=5e-3)
    # static twist: shear traction tau = r T / Ip on the end face, by its own scalar mass as a membrane
    free = np.setdiff1d(np.arange(model.n_dof), root)
    load = torque(mesh, element, turn)
    u = sp.linalg.spsolve(model.K_fe.tocsr()[free][:, free].tocsc(), load[free])
    assert load[free] @ u == pytest.approx(expected["static_twist_per_Nm"], rel=5e-3)


def torque(mesh, element, turn):
    """Nodal loads of a unit torque, spread over the end face as the exact shear stress is."""
    load, total = np.zeros((mesh.n_nodes, 3)), 0.0
    for cell, local in mesh.face_sets["z_max"][element]:
        face = ELEMENTS[element].faces[local]
        nodes = mesh.cells[element][cell]
        xi, weights = face_points(element, face)
        N, dN = ELEMENTS[element].shape(xi), ELEMENTS[element].dshape(xi)
        corners = ELEMENTS[element].ref_coords[list(face[: 3 if element == "tet10" else 4])]
        sides = np.stack([corners[1] - corners[0], corners[-1] - corners[0]], axis=1)
        for q, w in enumerate(weights):
            a, b = (mesh.points[nodes].T @ dN[q] @ sides).T
            area = w * np.linalg.norm(np.cross(a, b))
            traction = N[q] @ turn[nodes]
            load[nodes] += area * N[q][:, None] * traction
            total += area * traction @ traction
    return load.ravel() / total


def face_points(element, face):
    """Reference points on a face and their weights for the area of its parallelogram."""
    ref = ELEMENTS[element].ref_coords[list(face)]
    if element == "tet10":
        rule = wedge_rule(5, 1)
        flat, weights = rule.points[:, :2], rule.weights / 2
        return ref[0] + flat @ np.array([ref[1] - ref[0], ref[2] - ref[0]]), weights
    x, w = gauss(4)
    s, t = (g.ravel() for g in np.meshgrid((x + 1) / 2, (x + 1) / 2))
    corner = ref[0] + s[:, None] * (ref[1] - ref[0]) + t[:, None] * (ref[3] - ref[0])
    return corner, np.outer(w, w).ravel() / 4


def test_solid_cantilever_meets_timoshenko():
    p, expected = case("beam-cantilever")
    mesh = box([p["L"], p["b"], p["h"]], [20, 2, 2], corner=[0, 0, 0], element="hex20")
    model = assemble(mesh, isotropic("m", p["E"], p["nu"], p["rho"]))
    found = modes(model, model.dofs(mesh.node_sets["x_min"]), 5)
    exact = np.sort(
        [
            f
            for plane in ("bending_about_strong_axis_h", "bending_about_weak_axis_b")
            for f in expected[plane]["timoshenko_hz"][:2]
        ]
    )
    np.testing.assert_allclose(found[:4], exact, rtol=1e-2)
