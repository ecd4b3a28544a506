"""Assembly against slow twins and scikit-fem; patch tests, zero modes, exact mass, convergence."""

import numpy as np
import pytest
import scipy.sparse as sp

from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble, element_groups
from flexmbs.fe.attach import PointMass, rotation_rows
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic, material, orthotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import stiffness_rule
from flexmbs.fe.shapes.parametric import box, cylinder
from flexmbs.ffrf.integrals import shape_integrals
from flexmbs.spatial import LEVI_CIVITA, skew
from tests.fe import reference
from tests.fe.modes import smallest_modes
from tests.fe.reference import SIZE, SOLIDS, block, distorted, on_boundary

STEEL = material("steel")


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("curved", [False, True])
def test_matrices_agree_with_the_sum_over_points_F9(name, curved):
    mesh = distorted(block(name, (2, 2, 1)), curved=curved)
    shuffle = np.random.default_rng(0).permutation(mesh.n_nodes)  # the pattern must not need any order
    mesh = Mesh(mesh.points[np.argsort(shuffle)], {name: shuffle[mesh.cells[name]]})
    fibre = orthotropic("fibre", [40e9, 9e9, 11e9], [0.28, 0.3, 0.07], [4e9, 3e9, 5e9], 1600.0)
    model = assemble(mesh, fibre)
    K, Ms = reference.matrices(mesh, fibre)
    np.testing.assert_allclose(model.K_fe.toarray(), K, atol=1e-13 * np.abs(K).max())
    np.testing.assert_allclose(model.mass_form.Ms.toarray(), Ms, atol=1e-13 * Ms.max())
    np.testing.assert_allclose(model.M_fe.toarray(), np.kron(Ms, np.eye(3)), atol=1e-13 * Ms.max())


def from_scikit_fem(mesh, name):
    """The same geometry as a Mesh, and for every scikit-fem dof of `basis` its dof here."""
    import skfem

    vector = {
        "tet4": "ElementTetP1",
        "tet10": "ElementTetP2",
        "hex8-plain": "ElementHex1",
        "hex27": "ElementHex2",
    }
    element = ELEMENTS[name]
    basis = skfem.Basis(mesh, skfem.ElementVector(getattr(skfem, vector[name])()), intorder=9)
    unit = element.ref_coords.T if element.family == "tet" else (element.ref_coords.T + 1) / 2
    mapping = mesh.mapping()
    places = mapping.F(unit).transpose(1, 2, 0)
    mirrored = mapping.detDF(unit)[:, 0] < 0  # scikit-fem integrates |det J| and does not mind
    places[mirrored] = mapping.F(unit[[1, 0, 2]]).transpose(1, 2, 0)[mirrored]
    points, cells = np.unique(np.round(places.reshape(-1, 3), 9), axis=0, return_inverse=True)
    exact = np.empty_like(points)
    exact[cells.ravel()] = places.reshape(-1, 3)
    ours = Mesh(exact, {name: cells.reshape(places.shape[:2])})
    node = np.array([np.abs(exact - x).sum(axis=1).argmin() for x in basis.doflocs.T])
    component = np.empty(basis.N, dtype=int)
    for part in (basis.nodal_dofs, basis.edge_dofs, basis.facet_dofs, basis.interior_dofs):
        for row, dofs in enumerate(part):
            component[dofs] = row % 3
    return ours, basis, 3 * node + component


@pytest.mark.parametrize("case", ["tet4", "tet10", "tet10 curved", "hex8-plain", "hex27 curved"])
def test_matrices_agree_with_scikit_fem(case):
    import skfem
    from skfem.helpers import ddot, dot, sym_grad, trace

    name = case.split()[0]
    plain = skfem.MeshTet().refined(1) if name.startswith("tet") else skfem.MeshHex().refined(1)
    rng = np.random.default_rng(5)
    if "curved" in case:
        kind = skfem.MeshTet2 if name == "tet10" else skfem.MeshHex2
        mesh = kind.from_mesh(plain)
        mesh = kind(mesh.doflocs + 0.02 * rng.uniform(-1, 1, mesh.doflocs.shape), mesh.t)
    else:
        mesh = type(plain)(plain.p + 0.05 * rng.uniform(-1, 1, plain.p.shape), plain.t)
    ours, basis, dof = from_scikit_fem(mesh, name)
    lam, mu, rho = 1.2, 0.8, 2.5

    @skfem.BilinearForm
    def stiffness(u, v, w):
        e = sym_grad(u)
        return 2 * mu * ddot(e, sym_grad(v)) + lam * trace(e) * trace(sym_grad(v))

    @skfem.BilinearForm
    def mass(u, v, w):
        return rho * dot(u, v)

    E, nu = mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))
    model = assemble(ours, isotropic("m", E, nu, rho))
    # the integrand of K is rational: the same points; that of M is integrated exactly by both
    rule = stiffness_rule(name, case in ("tet4", "tet10"))
    to_unit = (rule.points, rule.weights) if "tet" in name else ((rule.points + 1) / 2, rule.weights / 8)
    same_points = skfem.Basis(mesh, basis.elem, quadrature=(to_unit[0].T, to_unit[1]))
    K, M = stiffness.assemble(same_points).toarray(), mass.assemble(basis).toarray()
    at = np.ix_(dof, dof)
    np.testing.assert_allclose(model.K_fe.toarray()[at], K, atol=1e-12 * np.abs(K).max())
    np.testing.assert_allclose(model.M_fe.toarray()[at], M, atol=1e-12 * np.abs(M).max())


@pytest.mark.parametrize("name", SOLIDS)
def test_a_free_element_has_six_zero_modes(name):
    element = ELEMENTS[name]
    nodes = element.ref_coords + 0.08 * np.random.default_rng(2).uniform(-1, 1, (element.n_nodes, 3))
    model = assemble(Mesh(nodes, {name: np.arange(element.n_nodes)[None]}), STEEL)
    values = np.linalg.eigvalsh(model.K_fe.toarray())
    assert (np.abs(values[:6]) < 1e-12 * values[-1]).all() and values[6] > 1e-4 * values[-1]
    assert abs(model.K_fe - model.K_fe.T).max() == 0.0


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("curved", [False, True])
def test_patch_test(name, curved):
    """A linear field on the boundary of distorted cells gives the linear field inside."""
    if curved and name in ("hex20", "hex27", "wedge15"):
        pytest.skip("the usual rules of these elements are exact for bilinear faces only")
    mesh = distorted(block(name), curved=curved)
    model = assemble(mesh, STEEL)
    u = (mesh.points @ np.random.default_rng(6).uniform(-1, 1, (3, 3))).ravel()
    held = model.dofs(np.flatnonzero(on_boundary(mesh)))
    free = np.setdiff1d(np.arange(model.n_dof), held)
    assert len(free)
    K = model.K_fe.tocsr()
    inside = sp.linalg.spsolve(K[free][:, free].tocsc(), -(K[free][:, held] @ u[held]))
    np.testing.assert_allclose(inside, u[free], atol=1e-12)


@pytest.mark.parametrize("name", SOLIDS)
def test_mass_and_moments_of_a_curved_body_are_exact_F2a(name):
    """Whatever happens inside the box: det J is a polynomial, and the rule is exact for it."""
    mesh = distorted(block(name), curved=True)
    form = assemble(mesh, STEEL).mass_form
    ones, x = np.ones(mesh.n_nodes), mesh.points
    volume = np.prod(SIZE)
    # inner nodes were moved, the boundary was not: the body is still the box
    assert ones @ form.Ms @ ones == pytest.approx(STEEL.rho * volume, rel=1e-13)
    np.testing.assert_allclose(ones @ form.Ms @ x, STEEL.rho * volume * np.array(SIZE) / 2, rtol=1e-13)
    exact = np.outer(SIZE, SIZE) / 4 + np.diag(np.square(SIZE)) / 12
    np.testing.assert_allclose(x.T @ form.Ms @ x, STEEL.rho * volume * exact, rtol=1e-12)


@pytest.mark.parametrize("name", SOLIDS)
@pytest.mark.parametrize("curved", [False, True])
def test_lumped_masses_are_positive_and_complete(name, curved):
    mesh = distorted(block(name), curved=curved)
    full, lumped = assemble(mesh, STEEL), assemble(mesh, STEEL, mass="lumped")
    nodal = lumped.mass_form.Ms.diagonal()
    assert nodal.min() > 0.0 and lumped.M_fe.nnz == 3 * mesh.n_nodes
    assert nodal.sum() == pytest.approx(full.mass_form.Ms.sum(), rel=1e-13)
    if ELEMENTS[name].order == 1:
        np.testing.assert_allclose(nodal, full.mass_form.Ms.sum(axis=0), rtol=1e-12)


def slip_walls(mesh):
    """Dofs that stay free when every wall of the box holds its normal displacement."""
    held = np.isclose(mesh.points, 0.0) | np.isclose(mesh.points, SIZE)
    return np.flatnonzero(~held.ravel())


def shear_errors(name, k):
    """Errors of omega^2 and displacement, k cells along x: a box with slipping walls has an exact mode.

    omega^2 = G/rho (pi^2/a^2 + pi^2/b^2); the displacement is that under the inertia forces of this mode.
    """
    a, b = np.pi / SIZE[0], np.pi / SIZE[1]
    exact = STEEL.G / STEEL.rho * (a**2 + b**2)
    mesh = block(name, (k, k, k // 2))
    model, free = assemble(mesh, STEEL), slip_walls(mesh)
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    x, y, _ = mesh.points.T
    field = np.stack([b * np.sin(a * x) * np.cos(b * y), -a * np.cos(a * x) * np.sin(b * y), 0 * x], 1)
    u = field.ravel()[free]
    error = sp.linalg.spsolve(K, exact * (M @ u)) - u
    distance = np.sqrt(error @ M @ error / (u @ M @ u))
    return smallest_modes(K, M, n=1).omega2[0] / exact - 1, distance


@pytest.mark.parametrize("name", SOLIDS)
def test_frequency_and_displacement_converge_with_the_order_of_the_element(name):
    order = ELEMENTS[name].order
    errors = np.array([shear_errors(name, k) for k in (4, 8)])
    assert errors[:, 0].min() > 0.0, "consistent mass: frequencies come from above"
    frequency, displacement = np.log2(errors[0] / errors[1])
    assert frequency > 2 * order - 0.35  # coarse meshes
    assert displacement > order + 0.65


def test_a_row_of_bricks_bends_as_a_beam_does():
    """A cantilever of ten bricks along and two across; the plain ones have false shear."""
    found = {}
    for name in ("hex20", "hex8", "hex8-plain", "wedge6", "wedge6-plain"):
        mesh = block(name, (2, 2, 10), (0.1, 0.1, 1.0))
        model = assemble(mesh, STEEL)
        free = np.setdiff1d(np.arange(model.n_dof), model.dofs(np.flatnonzero(mesh.points[:, 2] == 0.0)))
        K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
        found[name] = np.sqrt(smallest_modes(K, M, n=1).omega2[0])
    ratio = {name: value / found["hex20"] for name, value in found.items()}
    assert 1.0 < ratio["hex8"] < 1.01 and ratio["hex8-plain"] > 1.18
    assert 1.0 < ratio["wedge6"] < 1.03 and ratio["wedge6-plain"] > 1.18


def test_mixed_cells_and_several_materials():
    """A brick beside two wedges, of two materials, equals the sum of its parts."""
    brick, wedge = block("hex20", (1, 1, 1)), block("wedge15", (1, 1, 1))
    shifted = wedge.points + [SIZE[0], 0.0, 0.0]
    points, index = np.unique(np.round(np.vstack([brick.points, shifted]), 12), axis=0, return_inverse=True)
    index = index.ravel()
    cells = {"hex20": index[brick.cells["hex20"]], "wedge15": index[brick.n_nodes + wedge.cells["wedge15"]]}
    sets = {"right": {"wedge15": np.array([0, 1])}}
    mesh = Mesh(points, cells, cell_sets=sets)
    assert mesh.n_nodes == brick.n_nodes + wedge.n_nodes - 8
    aluminium = material("aluminium")
    model = assemble(mesh, {"": STEEL, "right": aluminium})
    left, _ = reference.matrices(Mesh(points, {"hex20": cells["hex20"]}), STEEL)
    right, _ = reference.matrices(Mesh(points, {"wedge15": cells["wedge15"]}), aluminium)
    np.testing.assert_allclose(model.K_fe.toarray(), left + right, atol=1e-13 * left.max())
    assert model.mass_form.Ms.sum() == pytest.approx(np.prod(SIZE) * (STEEL.rho + aluminium.rho), rel=1e-13)


def test_curved_cells_stay_apart_from_straight_ones():
    mesh = cylinder(0.1, 0.2, [1, 8, 1], element="hex20")
    groups = {(group.kind, group.straight): len(group.which) for group in element_groups(mesh)}
    assert groups == {("hex20", True): 4, ("hex20", False): 8}


@pytest.mark.parametrize("element", ["hex20", "hex27", "tet10"])
def test_cylinder_converges_to_its_integrals(element):
    """Mass and inertia of a tube with quadratic sides: error of order h^4."""
    errors = []
    for around in (8, 16):
        mesh = cylinder(0.5, 1.0, [1, around, 1], inner_radius=0.3, element=element)
        Ms = assemble(mesh, STEEL).mass_form.Ms
        mass = STEEL.rho * np.pi * (0.5**2 - 0.3**2)
        polar = 0.5 * mass * (0.5**2 + 0.3**2)
        r = mesh.points[:, :2]
        errors.append([Ms.sum() / mass - 1, np.einsum("ik,ij,jk->", r, Ms.toarray(), r) / polar - 1])
    assert (np.abs(errors[1]) < 1e-3).all()
    assert (np.log2(np.abs(errors[0]) / np.abs(errors[1])) > 3.8).all()


def test_point_masses_enter_both_matrix_and_form():
    mesh = box([1, 1, 1], [1, 1, 1], element="hex8")
    base = assemble(mesh, STEEL)
    J = np.diag([0.1, 0.2, 0.3])
    n = base.n_dof
    rows = sp.csr_array((np.ones(3), (np.arange(3), [0, 1, 2])), shape=(6, n))
    masses = [
        PointMass(2.0, node=3),
        PointMass(5.0, inertia=J, node=0),
        PointMass(1.5, position=[9, 0, 0], rows=rows),
    ]
    model = assemble(mesh, STEEL, point_masses=masses)
    rigid = np.zeros((mesh.n_nodes, 3, 2))
    rigid[:, 0, 0] = 1.0
    rigid[:, :, 1] = np.cross([0, 0, 1.0], mesh.points)  # turning about z
    R = rigid.reshape(n, 2)
    added = R.T @ (model.M_fe - base.M_fe) @ R
    assert added[0, 0] == pytest.approx(8.5)
    arm = mesh.points[[3, 0, 0], :2]
    expected = 2.0 * arm[0] @ arm[0] + (5.0 + 1.5) * arm[1] @ arm[1] + J[2, 2]
    assert added[1, 1] == pytest.approx(expected)
    assert model.mass_form.Ms.sum() == pytest.approx(base.mass_form.Ms.sum() + 7.0)
    np.testing.assert_allclose(model.mass_form.turns(R)[0, :, 1], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(model.mass_form.moves(R)[0, 0, 0], 1.0)


@pytest.mark.parametrize("name", SOLIDS)
def test_a_node_of_a_solid_turns_with_half_the_curl(name):
    mesh = distorted(block(name), curved=True)
    H = np.random.default_rng(7).normal(size=(3, 3))
    u = (mesh.points @ H.T).ravel()
    half_curl = 0.5 * np.array([H[2, 1] - H[1, 2], H[0, 2] - H[2, 0], H[1, 0] - H[0, 1]])
    np.testing.assert_allclose(rotation_rows(mesh, 4, 3) @ u, half_curl, atol=1e-12)


def test_bad_input_is_named():
    mesh = box([1, 1, 1], [1, 1, 1], element="hex8")
    with pytest.raises(InputError, match="choices: consistent, lumped"):
        assemble(mesh, STEEL, mass="lumpd")
    with pytest.raises(InputError, match="1 cells have no material"):
        assemble(mesh, {})
    with pytest.raises(InputError, match='"left" is not a cell set'):
        assemble(mesh, {"": STEEL, "left": STEEL})
    twice = Mesh(mesh.points, mesh.cells, cell_sets={"a": {"hex8": [0]}, "b": {"hex8": [0]}})
    with pytest.raises(InputError, match='1 cells belong to "a" too'):
        assemble(twice, {"a": STEEL, "b": STEEL})
    turned = Mesh(
        mesh.points, {"hex8": mesh.cells["hex8"][:, [4, 5, 6, 7, 0, 1, 2, 3]]}, cell_number={"hex8": [77]}
    )
    with pytest.raises(InputError, match="hex8 cell 77 is inverted or tangled"):
        assemble(turned, STEEL)
    with pytest.raises(InputError, match="inverted"):
        assemble(turned, STEEL, mass="lumped")
    for wrong in (
        {"mass": -1.0, "node": 0},
        {"mass": 1.0},
        {"mass": 1.0, "node": 99},
        {"mass": 1.0, "node": 0, "inertia": [1, -2, 3]},
    ):
        with pytest.raises(InputError):
            assemble(mesh, STEEL, point_masses=[PointMass(**wrong)])


@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_integrals_of_a_solid_with_masses_are_those_of_its_matrix(mass):
    """m, Theta, I_Rf and m_ff from the integrals against rigid motions and modes in M_fe (F2a-F8, F12)."""
    mesh = distorted(block("hex20", (2, 1, 1)), curved=True)
    bare = assemble(mesh, STEEL)
    ends = mesh.node_sets["x_max"]
    mean = np.zeros(
        (6, bare.n_dof)
    )  # rigid marker at the mean of the end's nodes, in the least-squares sense
    arms = mesh.points[ends] - mesh.points[ends].mean(axis=0)
    rigid = np.concatenate([np.hstack([np.eye(3), -skew(arm)]) for arm in arms])
    mean[:, bare.dofs(ends)] = np.linalg.pinv(rigid)
    masses = [
        PointMass(900.0, node=5, inertia=[10.0, 20.0, 15.0]),
        PointMass(700.0, [5.0, 6.0, 7.0], position=mesh.points[ends].mean(axis=0), rows=sp.csr_array(mean)),
    ]
    model = assemble(mesh, STEEL, mass=mass, point_masses=masses)
    Phi = np.random.default_rng(3).normal(size=(model.n_dof, 4))
    found = shape_integrals(model.mass_form, mesh.points, Phi, model.K_fe)
    R = np.concatenate([np.hstack([np.eye(3), -skew(x)]) for x in mesh.points])
    M = R.T @ model.M_fe @ R
    np.testing.assert_allclose(found.mass, M[0, 0], rtol=1e-12)
    np.testing.assert_allclose(found.inertia, M[3:, 3:], rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found.S_f, R[:, :3].T @ model.M_fe @ Phi, rtol=1e-10, atol=1e-9)
    I_Rf = np.einsum("ijk,jka->ia", LEVI_CIVITA, found.I_kl)
    np.testing.assert_allclose(I_Rf, R[:, 3:].T @ model.M_fe @ Phi, rtol=1e-10, atol=1e-8)
    np.testing.assert_allclose(found.m_ff, Phi.T @ model.M_fe @ Phi, rtol=1e-11, atol=1e-8)
