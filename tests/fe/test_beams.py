"""Beam elements: frequencies of their theories, statics, inertia form, geometric stiffness."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.attach import PointMass
from flexmbs.fe.beam_assembly import section_forces
from flexmbs.fe.materials import isotropic, material, orthotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.sections import rectangle, section_from, tube
from flexmbs.fe.shapes.parametric import beam
from flexmbs.fe.stress import geometric_stiffness, stress_modes
from flexmbs.ffrf.integrals import shape_integrals
from flexmbs.resources import resource
from flexmbs.spatial import LEVI_CIVITA, skew
from tests.fe.modes import smallest_modes

CANTILEVER = json.loads(resource("cases", "reference", "fe-beam-cantilever.json").read_text())
SHAFT = json.loads(resource("cases", "reference", "fe-shaft-torsion.json").read_text())
MATERIAL = isotropic("reference", 210e9, 0.3, 7850.0)
SECTION = rectangle(0.05, 0.1)
PLANES = {"strong": [2, 4], "weak": [1, 5]}  # w and ry; v and rz
TILT = np.linalg.qr(np.array([[1.0, 0.4, 0.2], [0.1, 1.0, -0.5], [0.3, 0.2, 1.0]]))[0]


def cantilever(theory, n=100, mass="consistent", **options):
    return assemble(beam(SECTION, length=1.0, divisions=n, theory=theory, **options), MATERIAL, mass=mass)


def frequencies(model, components, n):
    """Lowest frequencies [Hz] of the beam clamped at its start, in these components only."""
    free = model.dofs(np.arange(1, model.mesh.n_nodes), components)
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    return smallest_modes(K, M, n=n).frequency_hz


BENDING = {
    "strong": CANTILEVER["reference"]["bending_about_strong_axis_h"],
    "weak": CANTILEVER["reference"]["bending_about_weak_axis_b"],
}


@pytest.mark.parametrize("plane", PLANES)
def test_bending_frequencies_of_euler_and_bernoulli(plane):
    expected = np.array(BENDING[plane]["euler_bernoulli_hz"])
    found = frequencies(cantilever("euler-bernoulli"), PLANES[plane], 5)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (found >= expected * (1 - 1e-8)).all()  # from above, up to rounding
    coarse = [
        frequencies(cantilever("euler-bernoulli", n=n), PLANES[plane], 3)[2] / expected[2] - 1
        for n in (6, 12)
    ]
    assert np.log2(coarse[0] / coarse[1]) > 3.7


@pytest.mark.parametrize("plane", PLANES)
def test_bending_frequencies_of_timoshenko(plane):
    """Second order: the shear strain is constant in an element; the first mode is good to 1e-6 as it is."""
    expected = np.array(BENDING[plane]["timoshenko_hz"])
    rough, fine = (frequencies(cantilever("timoshenko", n=n), PLANES[plane], 5) for n in (80, 160))
    assert (rough > fine).all() and (fine >= expected * (1 - 1e-8)).all()
    assert fine[0] == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose((4 * fine - rough) / 3, expected, rtol=1e-6)


def test_axial_and_torsional_frequencies_of_the_cantilever():
    model = cantilever("euler-bernoulli", n=1600)  # linear along the axis: error (pi / 320)^2 / 24 in mode 3
    np.testing.assert_allclose(frequencies(model, [0], 3), CANTILEVER["reference"]["axial_bar_hz"], rtol=2e-6)
    np.testing.assert_allclose(
        frequencies(model, [0], 2), CANTILEVER["reference"]["axial_bar_hz"][:2], rtol=1e-6
    )
    expected = CANTILEVER["reference"]["torsion_hz_st_venant"]
    np.testing.assert_allclose(frequencies(model, [3], 2), expected, rtol=1e-6)
    torsion = CANTILEVER["reference"]["st_venant_torsion_constant"]
    assert rectangle(0.05, 0.1).J == pytest.approx(torsion, rel=1e-12)


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_static_tip_deflection_needs_one_element(theory):
    model = cantilever(theory, n=1)
    u = np.linalg.solve(model.K_fe.toarray()[6:, 6:], np.eye(6)[2] * 1000.0)
    expected = CANTILEVER["reference"]["static_tip_force_1kN_strong_axis"][theory.replace("-", "_")]
    assert u[2] == pytest.approx(expected, rel=1e-12)
    assert u[4] < 0.0, "a force up turns the tip about minus y"


def test_shaft_torsion_as_a_bar():
    """Fixed-free, free-free, and with a disc at the end, to 1e-6."""
    p, expected = SHAFT["parameters"], SHAFT["reference"]
    mesh = beam(tube(p["d"]), length=p["L"], divisions=1600)
    steel = isotropic("shaft", p["E"], p["nu"], p["rho"])
    np.testing.assert_allclose(
        frequencies(assemble(mesh, steel), [3], 2), expected["fixed_free_hz"][:2], rtol=1e-6
    )
    disc = [PointMass(0.0, inertia=[p["J_disc"], 0, 0], node=1600)]
    found = frequencies(assemble(mesh, steel, point_masses=disc), [3], 2)
    np.testing.assert_allclose(found, expected["fixed_with_disc_hz"][:2], rtol=1e-6)
    free = assemble(mesh, steel)
    ends = free.dofs(np.arange(1601), [3])
    K, M = (A.tocsr()[ends][:, ends].tocsc() for A in (free.K_fe, free.M_fe))
    np.testing.assert_allclose(
        smallest_modes(K, M, n=3).frequency_hz[1:], expected["free_free_hz"][:2], rtol=1e-6
    )
    twist = sp.linalg.spsolve(K[1:, 1:], np.eye(1600)[-1])[-1]
    assert twist == pytest.approx(expected["static_twist_per_Nm"], rel=1e-12)


def spatial_beam(theory="timoshenko", mass="consistent", n=3):
    mesh = beam(
        SECTION, nodes=np.array([[0, 0, 0], [1, 0, 0], [1, 0.7, 0.2]]) @ TILT.T, divisions=n, theory=theory
    )
    return assemble(mesh, MATERIAL, mass=mass)


def rigid_motions(model):
    R = np.zeros((model.mesh.n_nodes, 6, 6))
    R[:, :3, :3] = R[:, 3:, 3:] = np.eye(3)
    R[:, :3, 3:] = [-skew(x) for x in model.mesh.points]
    return R.reshape(-1, 6)


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_rigid_motions_cost_nothing_and_carry_the_inertia(theory, mass):
    model = spatial_beam(theory, mass)
    R = rigid_motions(model)
    np.testing.assert_allclose(
        model.mass_form.turns(R),
        np.broadcast_to(np.eye(3, 6, 3), (len(model.mass_form.inertias), 3, 6)),
        atol=1e-12,
    )
    K = model.K_fe.toarray()
    assert np.abs(K @ R).max() < 1e-12 * np.abs(K).max()
    values = np.linalg.eigvalsh(K)
    assert (np.abs(values[:6]) < 1e-12 * values[-1]).all() and values[6] > 1e-9 * values[-1]
    M = R.T @ model.M_fe @ R
    length = 1.0 + np.hypot(0.7, 0.2)
    np.testing.assert_allclose(M[:3, :3], np.eye(3) * 7850 * SECTION.A * length, rtol=1e-12, atol=1e-9)
    if mass == "consistent":
        # about the origin: the line's own second moments, and those of the sections
        J = np.zeros((3, 3))
        for a, b in ((np.zeros(3), TILT @ [1, 0, 0]), (TILT @ [1, 0, 0], TILT @ [1, 0.7, 0.2])):
            d, mid = b - a, 0.5 * (a + b)
            size = np.linalg.norm(d)
            second = np.outer(mid, mid) + np.outer(d, d) / 12
            J += 7850 * SECTION.A * size * (np.trace(second) * np.eye(3) - second)
        axes, lengths = model.mesh.beam.axes, np.repeat([1.0, np.hypot(0.7, 0.2)], 3) / 3
        across = 1.0 if theory == "timoshenko" else 0.0
        own = 7850 * np.array([SECTION.Iy + SECTION.Iz, across * SECTION.Iy, across * SECTION.Iz])
        J += np.einsum("e,eak,a,eal->kl", lengths, axes, own, axes)
        np.testing.assert_allclose(M[3:, 3:], J, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_form_and_matrix_are_the_same_inertia_F8(mass):
    model = spatial_beam(mass=mass)
    form, rng = model.mass_form, np.random.default_rng(1)
    A, B = rng.normal(size=(2, model.n_dof, 3))
    translation = sum(form.inner(k, A, k, B) for k in range(3))
    turning = np.einsum("jka,jkl,jlb->ab", form.turns(A), form.inertias, form.turns(B))
    np.testing.assert_allclose(translation + turning, A.T @ model.M_fe @ B, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(form.inner(0, A, 1, B), form.inner(1, B, 0, A).T, rtol=1e-12)


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_integrals_of_a_beam_are_those_of_its_matrix(theory, mass):
    """m, Theta, I_Rf and m_ff from the integrals against rigid motions and modes in M_fe (F2a-F8, F12)."""
    mesh = beam(
        SECTION, nodes=np.array([[0, 0, 0], [1, 0, 0], [1, 0.7, 0.2]]) @ TILT.T, divisions=3, theory=theory
    )
    masses = [PointMass(1.3, node=2, inertia=[0.1, 0.2, 0.15])]
    model = assemble(mesh, MATERIAL, mass=mass, point_masses=masses)
    Phi = np.random.default_rng(3).normal(size=(model.n_dof, 4))
    found = shape_integrals(model.mass_form, mesh.points, Phi, model.K_fe)
    R = rigid_motions(model)
    M = R.T @ model.M_fe @ R
    tolerance = {"rtol": 1e-12, "atol": 1e-11}
    np.testing.assert_allclose(found.mass, M[0, 0], **tolerance)
    np.testing.assert_allclose(found.inertia, M[3:, 3:], **tolerance)
    np.testing.assert_allclose(found.S_f, R[:, :3].T @ model.M_fe @ Phi, **tolerance)
    I_Rf = np.einsum("ijk,jka->ia", LEVI_CIVITA, found.I_kl)
    np.testing.assert_allclose(I_Rf, R[:, 3:].T @ model.M_fe @ Phi, **tolerance)
    np.testing.assert_allclose(found.m_ff, Phi.T @ model.M_fe @ Phi, **tolerance)


def test_the_position_field_has_no_rotation_rows_F5():
    """u0 as nodal values: positions and no turning; its moments are those of the line."""
    model = spatial_beam("euler-bernoulli")
    X = np.hstack([model.mesh.points, np.zeros_like(model.mesh.points)]).reshape(-1, 1)
    Theta = np.array([[model.mass_form.inner(k, X, ell, X)[0, 0] for ell in range(3)] for k in range(3)])
    exact = np.zeros((3, 3))
    for a, b in ((np.zeros(3), TILT @ [1, 0, 0]), (TILT @ [1, 0, 0], TILT @ [1, 0.7, 0.2])):
        d, mid = b - a, 0.5 * (a + b)
        exact += 7850 * SECTION.A * np.linalg.norm(d) * (np.outer(mid, mid) + np.outer(d, d) / 12)
    np.testing.assert_allclose(Theta, exact, rtol=1e-12, atol=1e-9)


def test_section_forces_of_a_cantilever_with_a_tip_load():
    model = cantilever("timoshenko", n=4)
    load = np.array([100.0, 20.0, -30.0, 4.0, 5.0, -6.0])
    u = np.zeros((model.n_dof, 1))
    force = np.zeros(model.n_dof - 6)
    force[-6:] = load
    u[6:, 0] = sp.linalg.spsolve(model.K_fe.tocsr()[6:, 6:].tocsc(), force)
    found = section_forces(model.mesh, {"": MATERIAL}, u)[0]
    x = model.mesh.points[model.mesh.cells["beam2"], 0]
    rest = 1.0 - x
    expected = np.zeros_like(found)
    expected[:] = load
    expected[..., 4] += rest * 30.0  # My grows by -Vz towards the clamp
    expected[..., 5] += rest * 20.0
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-6)
    sig = stress_modes(model.mesh, MATERIAL, u, at="cells")[0]
    np.testing.assert_allclose(sig * SECTION.A, np.tile([100, 0, 0, 20, 0, -30], (4, 1)), atol=1e-5)
    assert stress_modes(model.mesh, MATERIAL, u).shape == (1, 5, 6)


def buckling_load(model, held, force):
    """Smallest factor on `force` (n_dof,) at which K + K_sigma becomes singular."""
    free = np.setdiff1d(np.arange(model.n_dof), held)
    K = model.K_fe.toarray()[np.ix_(free, free)]
    u = np.zeros((model.n_dof, 1))
    u[free, 0] = np.linalg.solve(K, force[free])
    Phi = np.eye(model.n_dof)[:, free]
    K_geo = geometric_stiffness(model.mesh, MATERIAL, u, Phi)[0]
    values = np.linalg.eigvals(np.linalg.solve(K, -K_geo))
    return 1.0 / values.real.max()


def test_column_buckles_at_eulers_load_F17():
    model = cantilever("euler-bernoulli", n=8)
    force = np.zeros(model.n_dof)
    force[-6] = -1.0
    found = buckling_load(model, model.dofs([0]), force)
    assert found == pytest.approx(np.pi**2 * 210e9 * SECTION.Iz / 4.0, rel=1e-4)  # h^4


def test_column_buckles_by_twisting_F17():
    """A section without torsional stiffness: P = G J A / (Iy + Iz), whatever the length."""
    cross = section_from({"A": 1e-2, "Iy": 4e-5, "Iz": 5e-5, "J": 1e-8})
    model = assemble(beam(cross, length=1.0, divisions=4), MATERIAL)
    force = np.zeros(model.n_dof)
    force[-6] = -1.0
    found = buckling_load(model, model.dofs([0]), force)
    assert found == pytest.approx(MATERIAL.G * 1e-8 * 1e-2 / 9e-5, rel=1e-9)


@pytest.mark.parametrize("plane", ["x-z", "x-y"])
def test_deep_beam_tips_over_at_prandtls_load_F17(plane):
    """Lateral buckling of a cantilever under a tip force: P = 4.0126 sqrt(EI GJ) / L^2 (Prandtl)."""
    deep = {"Iy": 1e-5, "Iz": 1e-8} if plane == "x-z" else {"Iy": 1e-8, "Iz": 1e-5}
    slender = section_from({"A": 1e-3, "J": 3e-8, **deep})
    model = assemble(beam(slender, length=1.0, divisions=20), MATERIAL)
    force = np.zeros(model.n_dof)
    force[-4 if plane == "x-z" else -5] = -1.0
    found = buckling_load(model, model.dofs([0]), force)
    exact = 4.0126 * np.sqrt(210e9 * 1e-8 * MATERIAL.G * 3e-8)
    assert found == pytest.approx(exact, rel=5e-3)  # mesh, and Iz / Iy


def test_geometric_stiffness_turns_with_the_beam_F17():
    rng = np.random.default_rng(2)
    results = []
    for R in (np.eye(3), TILT * np.sign(np.linalg.det(TILT))):
        nodes = np.array([[0.0, 0, 0], [1, 0, 0]]) @ R.T
        mesh = beam(SECTION, nodes=nodes, divisions=3, theory="timoshenko", y_axis=R @ [0, 1, 0])
        rng = np.random.default_rng(2)
        local = rng.normal(size=(mesh.n_nodes, 2, 3, 4))
        turned = np.einsum("ij,nbjm->nbim", R, local).reshape(-1, 4)
        results.append(geometric_stiffness(mesh, MATERIAL, turned[:, :2], turned))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9, atol=1e-9 * np.abs(results[0]).max())


def test_shear_factors_of_cowper_and_given_ones():
    assert rectangle(1, 2).shear_factors(0.3)[0] == pytest.approx(CANTILEVER["parameters"]["shear_factor"])
    assert tube(1.0).shear_factors(0.3)[0] == pytest.approx(6 * 1.3 / (7 + 6 * 0.3))
    thin = tube(1.0, 0.999).shear_factors(0.3)[1]
    assert thin == pytest.approx(2 * 1.3 / (4 + 3 * 0.3), rel=1e-5)
    given = section_from({"A": 1, "Iy": 1, "Iz": 1, "J": 1, "shear_factor": [0.5, 0.6]})
    assert given.shear_factors(0.3) == (0.5, 0.6)


def test_what_beams_cannot_do_is_said():
    mesh = beam({"A": 1, "Iy": 1, "Iz": 1, "J": 1}, length=1.0, theory="timoshenko")
    with pytest.raises(InputError, match="shear_factor.*is missing"):
        assemble(mesh, MATERIAL)
    fibre = orthotropic("fibre", [3e9] * 3, [0.3] * 3, [1e9] * 3, 1000.0)
    with pytest.raises(InputError, match="is not isotropic"):
        assemble(beam(SECTION, length=1.0), fibre)
    bare = Mesh([[0, 0, 0], [1, 0, 0]], {"beam2": [[0, 1]]})
    with pytest.raises(InputError, match="without a section"):
        assemble(bare, material("steel"))


def test_a_node_of_solids_has_no_rotations_beside_beams():
    good = beam(SECTION, length=1.0)
    mixed = Mesh(
        np.vstack([good.points, np.eye(3)]),
        {"beam2": good.cells["beam2"], "tet4": [[0, 2, 3, 4]]},
        beam=good.beam,
    )
    model = assemble(mixed, MATERIAL)
    alone = assemble(Mesh(mixed.points, {"tet4": mixed.cells["tet4"]}), MATERIAL)
    K, first = model.K_fe.toarray().reshape(len(mixed.points), 6, -1, 6), good.n_nodes
    assert not K[first:, 3:].any() and K[0, 3:].any()
    own = alone.K_fe.toarray().reshape(len(mixed.points), 3, -1, 3)
    np.testing.assert_array_equal(K[2:, :3, 2:, :3], own[2:, :, 2:])


def test_flapping_frequencies_of_a_rotating_beam_F17():
    """K + s K_geo with the centrifugal unit load, s = -w_z w_z, against the converged values."""
    reference = json.loads(resource("cases", "reference", "flex-rotating-beam-frequencies.json").read_text())
    p, expected = reference["parameters"]["example"], reference["reference"]["with_geometric_stiffening"]
    E, A = 1e9, 1e-4
    thin = section_from({"A": A, "Iy": p["EI"] / E, "Iz": p["EI"] / E, "J": 2 * p["EI"] / E})
    light = isotropic("m", E, 0.0, p["rhoA"] / A)
    model = assemble(beam(thin, length=p["L"], divisions=30), light)
    free = np.setdiff1d(np.arange(model.n_dof), model.dofs([0]))
    field = np.zeros((model.mesh.n_nodes, 6))
    field[:, 0] = -model.mesh.points[:, 0]  # e_z u0_z - u0
    load = model.M_fe @ field.reshape(-1, 1)
    u = np.zeros_like(load)
    K = model.K_fe.tocsr()
    u[free, 0] = sp.linalg.spsolve(K[free][:, free].tocsc(), load[free, 0])
    flap = model.dofs(np.arange(1, model.mesh.n_nodes), [2, 4])
    Phi = np.eye(model.n_dof)[:, flap]
    K_geo = geometric_stiffness(model.mesh, light, u, Phi)[0]
    K_flap, M_flap = (B.tocsr()[flap][:, flap].toarray() for B in (model.K_fe, model.M_fe))
    scale = p["L"] ** 2 * np.sqrt(p["rhoA"] / p["EI"])
    for gamma in (1, 4, 12):
        omega = gamma / scale
        values = eigh(K_flap - omega**2 * K_geo, M_flap, eigvals_only=True)[:3]
        np.testing.assert_allclose(np.sqrt(values) * scale, expected[str(gamma)]["flap"], rtol=1e-3)  # h^2: N


ALLOY = {"young": 7e10, "poisson": 0.33, "density": 2700.0}


@pytest.mark.parametrize(
    ("start", "end", "known"),
    [
        ({"rectangle": [0.1, 0.05]}, {"rectangle": [0.05, 0.05]}, (3.8238, 18.3173, 47.2648)),
        ({"circle": 0.1}, {"circle": 0.05}, (4.6252, 19.5476, 48.5789)),
    ],
)
def test_tapered_cantilevers(start, end, known):
    """Frequencies over sqrt(E I / rho A L^4) at the root, published for beams half as high at their end."""
    mesh = beam(start, length=40.0, divisions=60, section_end=end)
    held = {"start": "x y z rx ry rz"}
    modal = fm.reduce(mesh, material=ALLOY, modes=8, fix=held, geometric_stiffness=False)
    along_y = np.abs(modal.Phi).max(axis=1).argmax(axis=1) == 1
    root = section_from(start)
    unit = np.sqrt(ALLOY["young"] * root.Iz / (ALLOY["density"] * root.A * 40.0**4)) / (2 * np.pi)
    found = modal.frequency_hz if "circle" in start else modal.frequency_hz[along_y]
    found = found[:: 2 if "circle" in start else 1]  # two planes of a circle
    np.testing.assert_allclose(found[:3] / unit, known, rtol=5e-4)


def test_a_quarter_of_a_ring_bends_as_it_should():
    """Loads at the end of a clamped quarter: P R^3 / E I by pi / 4 along its radius, 3 pi / 4 - 2 across."""
    R, d = 2.0, 0.02
    s = np.sqrt(0.5)
    nodes = [[R, 0, 0], [R * s, R * s, 0], [0, R, 0]]
    mesh = beam({"circle": d}, nodes=nodes, divisions=40, arcs=True)
    np.testing.assert_allclose(np.linalg.norm(mesh.points, axis=1), R, rtol=1e-12)
    modal = fm.reduce(
        mesh,
        material=ALLOY,
        modes=0,
        fix={"start": "x y z rx ry rz"},
        interfaces=["end"],
        geometric_stiffness=False,
    )
    tip = modal.interface("end")
    give = tip.Phi @ np.linalg.solve(modal.integrals.K_ff, tip.Phi.T)
    I = np.pi * d**4 / 64
    unit = R**3 / (ALLOY["young"] * I)
    np.testing.assert_allclose(give[[1, 0], [1, 0]] / unit, [np.pi / 4, 0.75 * np.pi - 2], rtol=2e-3)
    two = beam({"circle": d}, nodes=[*nodes, [-R * s, R * s, 0], [-R, 0, 0]], divisions=10, arcs=True)
    np.testing.assert_allclose(np.linalg.norm(two.points, axis=1), R, rtol=1e-12)
    assert len(two.points) == 21


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"section_end": {"circle": 1.0}}, "circle behind rectangle"),
        ({"arcs": True}, "arcs need"),
        ({"arcs": True, "nodes": [[0, 0, 0], [1, 0, 0], [2, 0, 0]]}, "on the line"),
        ({"section_end": {"rectangle": [0.0, 1.0]}}, "positive"),
    ],
)
def test_wrong_tapers_and_arcs_are_named(options, says):
    with pytest.raises(InputError, match=says):
        beam({"rectangle": [0.1, 0.2]}, **({"length": 1.0} if "nodes" not in options else {}), **options)


def test_a_tapered_arc_of_a_recipe_is_kept_in_its_file(tmp_path):
    mesh = {
        "shape": "beam", "nodes": [[1, 0, 0], [0.6, 0.8, 0], [0, 1, 0]], "arcs": True, "divisions": 6,
        "section": {"tube": ["20 mm", "16 mm"]}, "section_end": {"tube": ["10 mm", "8 mm"]},
    }  # fmt: skip
    modal = fm.reduce({"mesh": mesh, "material": ALLOY, "modes": 3})
    again = fm.ModalData.load(modal.save(tmp_path / "a.modal.h5") or tmp_path / "a.modal.h5")
    sizes = [again.mesh.beam.beams[k].section.size[0] for k in again.mesh.beam.index]
    np.testing.assert_allclose(sizes, 0.02 - 0.01 * (np.arange(6) + 0.5) / 6, rtol=1e-9)
    length = 2 * 6 * np.sin(np.pi / 24)  # of the polygon
    mean = np.pi / 4 * np.mean([d**2 - (0.8 * d) ** 2 for d in sizes])
    assert modal.integrals.mass == pytest.approx(2700 * mean * length, rel=1e-9)
