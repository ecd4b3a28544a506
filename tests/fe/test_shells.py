"""Shells: rigid motions, patch tests, the obstacle course of MacNeal and Harder, plates in closed form."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.beams import BeamData
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.materials import isotropic, material, orthotropic
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.fe.shapes.shell import SIDES, surface
from flexmbs.fe.shells.assembly import shell_chunks
from flexmbs.fe.shells.sections import ShellData, ShellSection, section_from
from flexmbs.fe.stress import geometric_stiffness, stress_modes
from flexmbs.post.skin import skin_of
from tests.fe.modes import smallest_modes

UNIT = isotropic("unit", 1e7, 0.3, 1000.0)


def grid(place, divisions, element, t, **section):
    """Shell of place(s, t) -> (x, y, z) with sets s_min ... t_max."""

    def columns(s, v):
        return np.column_stack([np.broadcast_to(part, s.shape) for part in place(s, v)])

    return surface(columns, divisions, element, ShellSection(t, **section), SIDES)


def dofs(mesh, nodes, components):
    nodes = mesh.node_sets[nodes] if isinstance(nodes, str) else np.atleast_1d(nodes)
    return (
        6 * np.asarray(nodes)[:, None] + ["x y z rx ry rz".split().index(c) for c in components.split()]
    ).ravel()


def solved(mesh, item, F, *held):
    model = assemble(mesh, item)
    free = np.setdiff1d(np.arange(model.n_dof), np.concatenate(held))
    K, u = model.K_fe.tocsc(), np.zeros(model.n_dof)
    u[free] = sp.linalg.spsolve(K[free][:, free], F[free])
    return u


def at(mesh, x):
    return int(np.linalg.norm(mesh.points - x, axis=1).argmin())


def area_load(mesh, item, force):
    """Nodal forces of a force per area (3,)."""
    F = np.zeros((mesh.n_nodes, 6))
    for chunk in shell_chunks(mesh, {"": item}):
        nodal = np.einsum("eg,gn->en", chunk.points.area, chunk.points.N)
        np.add.at(F[:, :3], chunk.nodes, nodal[..., None] * np.asarray(force))
    return F.ravel()


def end_load(mesh, name, total):
    """Nodal forces of a total at a side of one cell: as a constant force per length would have it."""
    nodes, F = mesh.node_sets[name], np.zeros((mesh.n_nodes, 6))
    weight = np.ones(len(nodes))
    if len(nodes) == 3:
        order = np.argsort(np.linalg.norm(mesh.points[nodes] - mesh.points[nodes].mean(axis=0), axis=1))
        weight[order[0]] = 4.0
    F[nodes, : len(total)] = (weight / weight.sum())[:, None] * np.asarray(total)
    return F.ravel()


def order(element):
    return ELEMENTS[element].order


@pytest.mark.parametrize("element", SHELLS)
def test_a_free_cell_has_six_zero_modes_and_no_others(element):
    ref = ELEMENTS[element].ref_coords
    nodes = ref + 0.1 * np.random.default_rng(2).uniform(-1, 1, ref.shape)
    cells = {element: np.arange(len(ref))[None]}
    mesh = Mesh(nodes, cells, shell=ShellData.uniform(cells, ShellSection(0.1, 0.03)))
    values = np.linalg.eigvalsh(assemble(mesh, UNIT).K_fe.toarray())
    assert (np.abs(values[:6]) < 1e-12 * values[-1]).all() and values[6] > 1e-8 * values[-1]


CORNERS = np.array(
    [[0.04, 0.02], [0.18, 0.03], [0.16, 0.08], [0.08, 0.08], [0, 0], [0.24, 0], [0.24, 0.12], [0, 0.12]]
)
QUADS = [(0, 1, 2, 3), (4, 5, 1, 0), (5, 6, 2, 1), (6, 7, 3, 2), (7, 4, 0, 3)]


def patch(element):
    """Five cells (ten triangles) in a plane at a slant, with straight edges; their places in that plane,
    its axes."""
    family = ELEMENTS[element].family
    rows = QUADS if family == "quad" else [r for a, b, c, d in QUADS for r in ((a, b, c), (a, c, d))]
    N = ELEMENTS["tri3" if family == "tri" else "quad4"].shape(ELEMENTS[element].ref_coords)
    flat = np.einsum("na,eak->enk", N, CORNERS[np.array(rows)]).reshape(-1, 2)
    points, index = np.unique(np.round(flat, 12), axis=0, return_inverse=True)
    cells = {element: index.reshape(len(rows), -1)}
    R = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
    R *= np.linalg.det(R)
    shell = ShellData.uniform(cells, ShellSection(0.02))
    mesh = Mesh(np.column_stack([points, 0 * points[:, 0]]) @ R.T, cells, shell=shell)
    return mesh, points, R


@pytest.mark.parametrize("element", SHELLS)
@pytest.mark.parametrize("kind", ["stretch", "bending"])
def test_patch_test(element, kind):
    """Constant stretch, constant curvature: right displacements, rotations and stresses inside distorted
    cells."""
    mesh, points, R = patch(element)
    x, y = points.T
    rim = np.isclose(x * (0.24 - x) * y * (0.12 - y), 0.0)
    local = np.zeros((mesh.n_nodes, 6))
    if kind == "stretch":
        local[:, 0], local[:, 1] = 1e-3 * (x + 0.5 * y), 1e-3 * (y + 0.5 * x)
        eps, z = np.array([1e-3, 1e-3, 1e-3]), 1.0
    else:  # w = (x^2 + x y + y^2) / 2 /1000
        local[:, 2] = 0.5e-3 * (x * x + x * y + y * y)
        local[:, 3], local[:, 4] = 0.5e-3 * (x + 2 * y), -0.5e-3 * (2 * x + y)
        eps, z = -np.array([1e-3, 1e-3, 1e-3]), 0.01
    u = np.hstack([local[:, :3] @ R.T, local[:, 3:] @ R.T]).ravel()
    model = assemble(mesh, UNIT)
    held = model.dofs(np.flatnonzero(rim))
    free = np.setdiff1d(np.arange(model.n_dof), held)
    K = model.K_fe.tocsr()
    inside = sp.linalg.spsolve(K[free][:, free].tocsc(), -(K[free][:, held] @ u[held]))
    np.testing.assert_allclose(inside, u[free], rtol=0, atol=1e-11)  # of strains of 1e-3
    sigma = stress_modes(mesh, UNIT, u[:, None], face="top")[0]
    found = np.einsum("ai,bj,nij->nab", R.T, R.T, sigma[:, [[0, 3, 5], [3, 1, 4], [5, 4, 2]]])
    stiff = UNIT.E / (1 - UNIT.nu**2)
    expected = z * stiff * np.array([eps[0] + 0.3 * eps[1], eps[1] + 0.3 * eps[0], 0.35 * eps[2]])
    np.testing.assert_allclose(
        found[:, [0, 1, 0], [0, 1, 1]], np.tile(expected, (mesh.n_nodes, 1)), rtol=1e-6
    )


# found on these meshes over the accepted value: (least, most) for tri3, tri6, quad4, quad8, quad9
def within(element, value, exact, *bounds):
    low, high = bounds[SHELLS.index(element)]
    assert low <= value / exact <= high, f"{value / exact:.4f}"


def roof(element, cells=16):
    """Deflection of the free edge of the roof of Scordelis and Lo, over the published 0.3024."""
    n = cells // order(element)
    a, R = np.radians(40.0), 25.0
    mesh = grid(lambda s, v: (R * np.sin(a * s), 25.0 * v, R * np.cos(a * s)), (n, n), element, 0.25)
    item = isotropic("roof", 4.32e8, 0.0, 1.0)
    held = [dofs(mesh, "t_max", "x z"), dofs(mesh, "t_min", "y rx rz"), dofs(mesh, "s_min", "x ry rz")]
    u = solved(mesh, item, area_load(mesh, item, [0, 0, -90.0]), *held)
    w = -u[6 * at(mesh, [R * np.sin(a), 0, R * np.cos(a)]) + 2]
    return w / 0.3024


@pytest.mark.parametrize("element", SHELLS)
def test_scordelis_lo_roof(element):
    within(element, roof(element), 1.0, (0.99, 1.01), *[(0.99, 1.005)] * 4)


def hemisphere(element, cells=16):
    """Deflections under two pairs of forces, over the published 0.0935, and over each other."""
    n, a = cells // order(element), np.radians(72.0)

    def place(s, v):
        return (
            10 * np.cos(a * v) * np.cos(np.pi / 2 * s),
            10 * np.cos(a * v) * np.sin(np.pi / 2 * s),
            10 * np.sin(a * v),
        )

    mesh = grid(place, (n, n), element, 0.04)
    A, B = at(mesh, [10, 0, 0]), at(mesh, [0, 10, 0])
    F = np.zeros(6 * mesh.n_nodes)
    F[6 * A], F[6 * B + 1] = 1.0, -1.0
    held = [dofs(mesh, "s_min", "y rx rz"), dofs(mesh, "s_max", "x ry rz"), dofs(mesh, A, "z")]
    u = solved(mesh, isotropic("m", 6.825e7, 0.3, 1.0), F, *held)
    return u[6 * A] / 0.0935, -u[6 * B + 1] / u[6 * A]


@pytest.mark.parametrize("element", SHELLS)
def test_hemisphere_with_a_hole(element):
    """Nearly without stretch: what locks in membranes shows here."""
    ratio, other = hemisphere(element)
    assert other == pytest.approx(1.0, rel=0.02)
    within(element, ratio, 1.0, (0.97, 1.01), (0.95, 1.01), (0.99, 1.01), (0.99, 1.01), (0.99, 1.01))


def pinched_cylinder(element, cells=32):
    """Deflection under the force, over the published 1.8248e-5."""
    n, R = cells // order(element), 300.0
    mesh = grid(
        lambda s, v: (R * np.sin(np.pi / 2 * s), 300.0 * v, R * np.cos(np.pi / 2 * s)), (n, n), element, 3.0
    )
    A = at(mesh, [0, 0, R])
    F = np.zeros(6 * mesh.n_nodes)
    F[6 * A + 2] = -0.25
    sides = {"t_max": "x z", "t_min": "y rx rz", "s_min": "x ry rz", "s_max": "z rx ry"}
    held = [dofs(mesh, name, words) for name, words in sides.items()]
    u = solved(mesh, isotropic("m", 3e6, 0.3, 1.0), F, *held)
    return -u[6 * A + 2] / 1.8248e-5


@pytest.mark.parametrize("element", SHELLS)
def test_pinched_cylinder(element):
    # shear makes the place of a point load softer without end: finer meshes go above the value of thin shells
    within(
        element,
        pinched_cylinder(element),
        1.0,
        (0.97, 1.02),
        (0.98, 1.04),
        (0.97, 1.02),
        (0.98, 1.02),
        (0.98, 1.02),
    )


def twisted_beam(element, t):
    """Deflections across and along the width, over the published ones."""
    n, b, r = order(element), 1.1, np.pi / 2
    mesh = grid(
        lambda s, v: (12 * s, b * (v - 0.5) * np.cos(r * s), b * (v - 0.5) * np.sin(r * s)),
        (12 // n, 2 // n),
        element,
        t,
    )
    tip = at(mesh, [12, 0, 0])
    exact = {0.32: (5.424e-3, 1.754e-3), 0.0032: (5.256e-3, 1.294e-3)}[t]
    for axis, value in zip((2, 1), exact, strict=True):
        F = np.zeros(6 * mesh.n_nodes)
        F[6 * tip + axis] = 1.0 if t == 0.32 else 1e-6
        u = solved(mesh, isotropic("m", 29e6, 0.22, 1.0), F, dofs(mesh, "s_min", "x y z rx ry rz"))
        yield u[6 * tip + axis] / value


@pytest.mark.parametrize("element", SHELLS)
@pytest.mark.parametrize("t", [0.32, 0.0032])
def test_twisted_beam(element, t):
    """Twelve cells long, two wide, turned by 90 degrees: thick, and thin beyond anything that is made."""
    for ratio in twisted_beam(element, t):
        within(
            element,
            ratio,
            1.0,
            (0.98, 1.02),
            (0.73, 1.01),
            (0.95, 1.01),
            (0.98, 1.01),
            (0.98, 1.01),
        )


def slender(element, shape):
    """Six cells along a cantilever of 6 x 0.2 x 0.1: rectangles, trapezoids, parallelograms."""
    shift = {"rectangles": (0, 0), "trapezoids": (1, -1), "parallelograms": (1, 1)}[shape]

    def place(s, v):
        k = np.round(6 * s, 9)
        low = np.floor(k)
        x = [
            c + np.where((c > 0) & (c < 6), (v - 0.5) * 0.2 * np.where(c % 2 == 1, shift[0], shift[1]), 0)
            for c in (low, low + 1)
        ]
        return (1 - k + low) * x[0] + (k - low) * x[1], 0.2 * v, 0.0

    return grid(place, (6, 1), element, 0.1)


def slender_cantilever(element, shape):
    """Extension, bending in the plane and across it, over the published deflections."""
    mesh = slender(element, shape)
    tip = at(mesh, [6, 0, 0])
    for axis, exact in enumerate((3e-5, 0.1081, 0.4321)):
        F = end_load(mesh, "s_max", np.eye(3)[axis])
        u = solved(mesh, UNIT, F, dofs(mesh, "s_min", "x y z rx ry rz"))
        yield u[6 * tip + axis] / exact


@pytest.mark.parametrize("element", SHELLS)
@pytest.mark.parametrize("shape", ["rectangles", "trapezoids", "parallelograms"])
def test_slender_cantilever(element, shape):
    """Extension, bending in the plane and across it; four nodes in a trapezoid cannot bend in their plane."""
    inplane = {
        "tri3": (0.4, 1.06),
        "tri6": (0.73, 1.0),
        "quad4": (0.05, 1.0),
        "quad8": (0.98, 1.0),
        "quad9": (0.98, 1.0),
    }
    if shape == "rectangles":
        inplane |= {"tri3": (0.98, 1.06), "tri6": (0.98, 1.0), "quad4": (0.98, 1.0)}
    bounds = ((0.96, 1.001), inplane[element], (0.88, 1.0))
    for ratio, (low, high) in zip(slender_cantilever(element, shape), bounds, strict=True):
        assert low <= ratio <= high, f"{ratio:.4f}"


def ring(element, cells=6):
    """A quarter of a ring that is held at one end, bent in its plane and across, over the published ones."""
    n = cells // order(element)

    def place(s, v):
        r, a = 4.12 + 0.2 * v, np.pi / 2 * s
        return r * np.sin(a), r * np.cos(a), 0.0

    mesh = grid(place, (n, 1), element, 0.1)
    for axis, exact in ((0, 0.08734), (2, 0.5022)):
        u = solved(
            mesh, isotropic("m", 1e7, 0.25, 1.0), end_load(mesh, "s_max", np.eye(3)[axis]),
            dofs(mesh, "s_min", "x y z rx ry rz"),
        )  # fmt: skip
        yield abs(u[6 * mesh.node_sets["s_max"] + axis].mean()) / exact


@pytest.mark.parametrize("element", SHELLS)
def test_a_quarter_of_a_ring(element):
    """In its plane as Castigliano's theorem has it, 1.4 % above the published number; across, shells as wide
    as two thicknesses are 3.8 % stiffer in torsion than the bar."""
    inplane, across = ring(element, 24)
    R, EA, GA, EI = 4.22, 1e7 * 0.02, 4e6 * 0.02, 1e7 * 0.1 * 0.2**3 / 12
    exact = np.pi / 4 * (R**3 / EI + R / EA + 1.2 * R / GA)
    within(element, 0.08734 * inplane, exact, (0.98, 1.02), *[(0.99, 1.0)] * 4)
    within(element, across, 1.0, (0.94, 0.962), *[(0.955, 0.962)] * 4)


def hinged_plate(t):
    """omega^2 of the first mode of a hinged unit square with E = rho = 1, nu = 0.3, and its slope over its
    deflection; with shear and rotary inertia."""
    S, D, k = 5 / 6 / 2.6 * t, t**3 / 12 / 0.91, np.pi * 2**0.5
    stiff = np.array([[S * k * k, -S * k], [-S * k, D * k * k + S]])
    values, vectors = scipy.linalg.eigh(stiff, np.diag([t, t**3 / 12]))
    return values[0], vectors[1, 0] / vectors[0, 0] / 2**0.5


def plate_errors(element, n, t):
    """Errors of omega^2, and of the deflection under the inertia forces of this mode, of a hinged square."""
    mesh, item = grid(lambda s, v: (s, v, 0.0), (n, n), element, t), isotropic("m", 1.0, 0.3, 1.0)
    omega2, turn = hinged_plate(t)
    x, y = np.pi * mesh.points[:, :2].T
    exact = np.zeros((mesh.n_nodes, 6))
    exact[:, 2] = np.sin(x) * np.sin(y)
    exact[:, 3], exact[:, 4] = turn * np.sin(x) * np.cos(y), -turn * np.cos(x) * np.sin(y)
    model = assemble(mesh, item)
    sides = [dofs(mesh, side, "z rx" if side[0] == "s" else "z ry") for side in SIDES]
    held = np.concatenate([dofs(mesh, np.arange(mesh.n_nodes), "x y rz"), *sides])
    free = np.setdiff1d(np.arange(model.n_dof), held)
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    off = np.zeros(model.n_dof)
    off[free] = omega2 * sp.linalg.spsolve(K, M @ exact.ravel()[free]) - exact.ravel()[free]
    return smallest_modes(K, M, n=1).omega2[0] / omega2 - 1.0, np.abs(off[2::6]).max()


#: 2 of linear cells, 4 of quadratic ones; thick `quad8` 2, without the node that bodies give it inside
@pytest.mark.parametrize("element", SHELLS)
@pytest.mark.parametrize("t", [0.1, 0.001])
def test_orders_of_convergence(element, t):
    n = (8, 16) if order(element) == 1 else (4, 8)
    errors = np.abs([plate_errors(element, cells, t) for cells in n])
    least = 1.9 if order(element) == 1 else 3.2
    if element == "quad8" and t == 0.1:
        assert errors[1].max() < 0.005
    else:
        assert (np.log2(errors[0] / errors[1]) > least).all() and errors[1].max() < 0.02


@pytest.mark.parametrize("element", SHELLS)
def test_plates_do_not_lock_however_thin(element):
    """A clamped square under pressure, thickness a tenth to a ten-thousandth; the thick one with its
    shear."""
    for t, exact in ((0.1, 1.505), (0.01, 1.2677), (1e-4, 1.26532)):
        n = 16 // order(element)
        mesh = grid(lambda s, v: (s, v, 0.0), (n, n), element, t)
        F = area_load(mesh, UNIT, [0, 0, 1.0])
        rim = np.unique(np.concatenate(list(mesh.node_sets.values())))
        u = solved(mesh, UNIT, F, dofs(mesh, rim, "x y z rx ry rz"))
        D = UNIT.E * t**3 / 12 / (1 - 0.09)
        w = u[6 * at(mesh, [0.5, 0.5, 0]) + 2] * D * 1e3
        within(element, w, exact, (0.98, 1.01), (0.98, 1.05), (0.98, 1.01), (0.98, 1.01), (0.98, 1.01))


@pytest.mark.parametrize("element", SHELLS)
@pytest.mark.parametrize("mass", ["consistent", "lumped"])
def test_mass_and_inertia_of_an_offset_plate(element, mass):
    """Those of the block that it stands for, thickness and offset included."""
    for offset in (0.0, 0.03):
        mesh = grid(lambda s, v: (0.4 * s, 0.3 * v, 0.0), (8, 6), element, 0.02, offset=offset)
        modal = fm.reduce(
            mesh, material={"young": 1e9, "poisson": 0.3, "density": 1000.0}, mass=mass, modes=0
        )
        size = np.array([0.4, 0.3, 0.02])
        m = 1000.0 * size.prod()
        assert modal.integrals.mass == pytest.approx(m, rel=1e-12)
        np.testing.assert_allclose(modal.integrals.com, [0.2, 0.15, offset], atol=1e-12)
        centre = np.array([0.2, 0.15, offset])
        exact = m * (np.outer(centre, centre) + np.diag(size**2) / 12)
        consistent = mass == "consistent" and offset == 0.0
        np.testing.assert_allclose(
            modal.integrals.Theta_kl, exact, rtol=1e-9 if consistent else 0.02, atol=1e-12
        )
        assert modal.integrals.Theta_kl[2, 2] == pytest.approx(exact[2, 2], rel=1e-9)


@pytest.mark.parametrize("element", SHELLS)
def test_a_hinged_plate_vibrates_as_it_should(element):
    """f = pi/2 (1/a^2 + 1/b^2) sqrt(D / m) for 1 1, 2 1, 1 2 half waves."""
    a, b, t, n = 0.5, 0.4, 0.002, 16 // order(element)
    mesh = grid(lambda s, v: (a * s, b * v, 0.0), (n, n), element, t)
    steel = material("steel")
    model = assemble(mesh, steel)
    rim = np.unique(np.concatenate(list(mesh.node_sets.values())))
    free = np.setdiff1d(
        np.arange(model.n_dof),
        np.concatenate([dofs(mesh, rim, "z"), dofs(mesh, np.arange(mesh.n_nodes), "x y rz")]),
    )
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    found = smallest_modes(K, M, n=3).frequency_hz
    D = steel.E * t**3 / 12 / (1 - steel.nu**2)
    exact = [
        np.pi / 2 * ((i / a) ** 2 + (j / b) ** 2) * np.sqrt(D / steel.rho / t)
        for i, j in ((1, 1), (2, 1), (1, 2))
    ]
    np.testing.assert_allclose(found, exact, rtol=0.03 if order(element) == 1 else 0.006)


@pytest.mark.parametrize("element", SHELLS)
def test_a_plate_buckles_at_the_stress_of_bryan_F17(element):
    """Pushed along x, hinged all around: sigma = 4 pi^2 D / (b^2 t)."""
    b, t, n = 0.4, 0.002, 16 // order(element)
    mesh = grid(lambda s, v: (b * s, b * v, 0.0), (n, n), element, t)
    steel = material("steel")
    model = assemble(mesh, steel)
    x, y, _ = mesh.points.T
    pushed = np.zeros((mesh.n_nodes, 6))
    pushed[:, 0], pushed[:, 1] = -x, steel.nu * y
    rim = np.unique(np.concatenate(list(mesh.node_sets.values())))
    free = np.setdiff1d(
        np.arange(model.n_dof),
        np.concatenate([dofs(mesh, rim, "z"), dofs(mesh, np.arange(mesh.n_nodes), "x y rz")]),
    )
    K, M = (A.tocsr()[free][:, free].tocsc() for A in (model.K_fe, model.M_fe))
    modes = smallest_modes(K, M, n=12)
    Phi = np.zeros((model.n_dof, 12))
    Phi[free] = modes.V
    K_geo = geometric_stiffness(mesh, steel, pushed.reshape(-1, 1), Phi)[0]
    factor = 1.0 / scipy.linalg.eigh(-K_geo, np.diag(modes.omega2), eigvals_only=True)[-1]
    D = steel.E * t**3 / 12 / (1 - steel.nu**2)
    exact = 4 * np.pi**2 * D / (b**2 * t)
    assert steel.E * factor == pytest.approx(exact, rel=0.03 if order(element) == 1 else 0.01)


@pytest.mark.parametrize("element", SHELLS)
def test_geometric_stiffness_is_the_sum_of_its_definition_F17(element):
    """int sigma_ij d_i u . d_j u over the thickness, three points of Gauss, of a curved shell off its
    nodes."""
    mesh = grid(lambda s, v: (s, v, 0.3 * s * s + 0.1 * s * v), (2, 1), element, 0.05)
    rng = np.random.default_rng(3)
    U, Phi = 1e-3 * rng.normal(size=(6 * mesh.n_nodes, 2)), rng.normal(size=(6 * mesh.n_nodes, 3))
    found = geometric_stiffness(mesh, UNIT, U, Phi)
    exact = np.zeros_like(found)
    for chunk in shell_chunks(mesh, {"": UNIT}):
        eps = chunk.strains(U)
        u = Phi.reshape(-1, 6, 3)[chunk.nodes]
        fibre = np.cross(u[:, :, 3:], chunk.points.directors[..., None], axis=2)
        S = chunk.S[..., :8, :8] / 0.05
        for zeta, weight in zip(*np.polynomial.legendre.leggauss(3), strict=True):
            z, w = 0.025 * zeta, 0.025 * weight
            Q = S[..., :3, :3]
            inside = np.einsum("epij,epjc->epic", Q, eps[:, :, :3] + z * eps[:, :, 3:6])
            across = np.einsum("epij,epjc->epic", S[..., 6:8, 6:8], eps[:, :, 6:8])
            H = np.einsum("epin,enkm->epikm", chunk.points.slopes, u[:, :, :3] + z * fibre)
            d = np.einsum("pn,enkm->epkm", chunk.points.N, fibre)
            for c in range(2):
                xx, yy, xy = np.moveaxis(inside[..., c], -1, 0)
                zx, zy = np.moveaxis(across[..., c], -1, 0)
                zero = 0 * xx
                sigma = np.stack([np.stack(r, -1) for r in ((xx, xy, zx), (xy, yy, zy), (zx, zy, zero))], -2)
                G = np.concatenate([H, d[:, :, None]], axis=2)
                exact[c] += np.einsum("ep,epij,epika,epjkb->ab", w * chunk.points.area, sigma, G, G)
    # of the second moment the stress of bending is left out: third order in z
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9 * np.abs(exact).max())


def test_an_offset_plate_bends_about_its_own_middle():
    """A strip held by its ends' rows: the offset changes where the nodes are, not the stiffness of
    bending."""
    found = {}
    for offset in (0.0, 0.02):
        mesh = grid(lambda s, v, z=-offset: (s, 0.1 * v, z), (20, 2), "quad4", 0.02, offset=offset)
        root = mesh.node_sets["s_min"]
        u = solved(mesh, UNIT, end_load(mesh, "s_max", [0, 0, 1.0]), dofs(mesh, root, "x y z rx ry rz"))
        found[offset] = u[6 * mesh.node_sets["s_max"] + 2].mean()
    assert found[0.02] == pytest.approx(found[0.0], rel=2e-3)  # the clamped row holds another height
    strip = UNIT.E * 0.1 * 0.02**3 / 12
    assert found[0.0] == pytest.approx(1.0 / (3 * strip), rel=0.03)


def test_layers_of_one_material_are_the_material():
    layers = [{"thickness": 0.004, "material": "steel", "angle": a} for a in (0, 0.8, -0.5)]
    whole, parts = section_from({"thickness": 0.012}), section_from({"layers": layers})
    K = []
    for section in (whole, parts):
        mesh = surface(lambda s, v: np.column_stack([s, v, 0.2 * s * v]), (2, 2), "quad8", section, SIDES)
        K.append(assemble(mesh, material("steel")).K_fe.toarray())
    np.testing.assert_allclose(K[0], K[1], atol=1e-12 * np.abs(K[0]).max())


def test_a_cross_ply_cantilever_bends_by_its_layers():
    """Fibres along, across, along: EI is the sum over the layers, and along is not across."""
    ply = {
        "name": "ply",
        "young": [40e9, 9e9, 9e9],
        "poisson": [0.0, 0.0, 0.0],
        "shear": [4e9, 4e9, 4e9],
        "density": 1600.0,
    }
    for axis, E in (((1.0, 0, 0), (40e9, 9e9)), ((0, 1.0, 0), (9e9, 40e9))):
        layers = [{"thickness": 0.001, "material": ply, "angle": a} for a in (0, np.pi / 2, 0)]
        section = section_from({"layers": layers, "axis": axis})
        mesh = surface(
            lambda s, v: np.column_stack([0.3 * s, 0.02 * v, 0 * s]), (12, 1), "quad9", section, SIDES
        )
        u = solved(mesh, UNIT, end_load(mesh, "s_max", [0, 0, 1.0]), dofs(mesh, "s_min", "x y z rx ry rz"))
        EI = 0.02 / 12 * (E[0] * (0.003**3 - 0.001**3) + E[1] * 0.001**3)
        w = u[6 * mesh.node_sets["s_max"] + 2]
        shear = 0.3 / (5 / 6 * 4e9 * 0.02 * 0.003)
        np.testing.assert_allclose(w, 0.3**3 / (3 * EI) + shear, rtol=1e-3)


def test_an_orthotropic_plate_is_the_solid_of_the_same_material():
    """Stretch and bending along x of a material in mesh axes that are not those of the cells."""
    wood = orthotropic("wood", [12e9, 1e9, 0.6e9], [0.3, 0.35, 0.03], [0.8e9, 0.05e9, 0.7e9], 500.0)
    mesh = grid(lambda s, v: (0.3 * v, 0.3 * s, 0 * s), (4, 3), "quad4", 0.01)  # the normal is -z, x across
    x, y, _ = mesh.points.T
    u = np.zeros((mesh.n_nodes, 6))
    u[:, 0], u[:, 1] = (
        1e-3 * x,
        -1e-3 * np.linalg.inv(wood.C_mat)[1, 0] / np.linalg.inv(wood.C_mat)[0, 0] * -1 * y,
    )
    sigma = stress_modes(mesh, wood, u.reshape(-1, 1), face="top")[0]
    np.testing.assert_allclose(sigma[:, 0], 1e-3 * 12e9, rtol=1e-9)
    np.testing.assert_allclose(sigma[:, 1:], 0.0, atol=1.0)


def test_plate_brick_and_beam_at_shared_nodes():
    """A beam on a plate turns with it; a plate on a brick hangs on its displacements: a row of nodes is a
    hinge."""
    plate = grid(lambda s, v: (0.2 * s, 0.1 * v, 0.0), (4, 2), "quad4", 0.01)
    tip = at(plate, [0.2, 0.05, 0.0])
    points = np.vstack([plate.points, [[0.2, 0.05, 0.1]]])
    beam = np.array([[tip, plate.n_nodes]])
    data = BeamData.uniform(points, beam, {"circle": 0.01})
    mesh = Mesh(
        points, plate.cells | {"beam2": beam}, beam=data, shell=plate.shell, node_sets=plate.node_sets
    )
    steel = material("steel")
    F = np.zeros(6 * mesh.n_nodes)
    F[6 * plate.n_nodes] = 1.0
    u = solved(mesh, steel, F, dofs(mesh, "s_min", "x y z rx ry rz"))
    moment = np.zeros(6 * plate.n_nodes)
    moment[6 * tip], moment[6 * tip + 4] = 1.0, 0.1
    alone = solved(plate, steel, moment, dofs(plate, "s_min", "x y z rx ry rz"))
    bend = 0.1**3 / (3 * steel.E * data.beams[0].section.Iy)
    expected = alone[6 * tip] + 0.1 * alone[6 * tip + 4] + bend
    assert u[6 * plate.n_nodes] == pytest.approx(expected, rel=1e-9)


def on_a_brick(plate, corner, divisions):
    """The plate and a brick that share nodes."""
    brick = box((0.05, 0.1, 0.1), divisions, corner=corner, element="hex8")
    place = np.vstack([plate.points, brick.points])
    _, first, index = np.unique(np.round(place, 9), axis=0, return_index=True, return_inverse=True)
    index = index.ravel()
    cells = {"quad4": index[plate.cells["quad4"]], "hex8": index[brick.cells["hex8"] + plate.n_nodes]}
    return Mesh(place[first], cells, shell=plate.shell)


def test_a_plate_on_a_brick_shares_displacements_only():
    """A face of nodes holds it, a row of nodes is a hinge."""
    plate = grid(lambda s, v: (0.2 * s, 0.1 * v, 0.0), (4, 2), "quad4", 0.01)
    both = on_a_brick(plate, (0.0, 0.0, 0.0), (1, 2, 1))
    modal = fm.reduce(both, material="steel", modes=4, stress="nodes")
    assert modal.integrals.mass == pytest.approx(7850 * (0.2 * 0.1 * 0.01 + 0.05 * 0.01), rel=1e-9)
    assert modal.frequency_hz[0] > 100.0 and np.isfinite(modal.stress).all()
    with pytest.raises(InputError, match="joined at a single node or edge"):
        fm.reduce(on_a_brick(plate, (-0.05, 0.0, 0.0), (1, 2, 1)), material="steel", modes=4)


def test_a_body_of_shells_is_written_and_read(tmp_path):
    table = {"shape": "shell", "size": [0.4, 0.2], "divisions": [8, 4], "thickness": 0.003, "offset": 0.001}
    modal = fm.reduce({"mesh": table}, material="steel", interfaces=["x_min", "x_max"], modes=6)
    modal.save(tmp_path / "plate.modal.h5")
    back = fm.ModalData.load(tmp_path / "plate.modal.h5")
    assert back.mesh.shell.sections == modal.mesh.shell.sections
    again = fm.reduce(
        {"mesh": {"shape": "shell", "radius": 0.1, "length": 0.3, "divisions": [12, 6], "thickness": 0.002}},
        material="steel",
        modes=4,
    )
    assert again.integrals.mass == pytest.approx(7850 * 0.002 * 0.3 * 24 * 0.1 * np.sin(np.pi / 12), rel=1e-9)


def test_wrong_sections_are_named():
    cases = [
        ({"thickness": 0.0}, "positive number"),
        ({"thickness": 1e-3, "layers": []}, None),
        ({}, "both or neither"),
        ({"thickness": 1e-3, "thick": 2}, "unknown key"),
        ({"layers": [{"thickness": 1e-3}]}, "each needs"),
        ({"layers": [{"thickness": -1.0, "material": "steel"}]}, "positive number"),
        ({"layers": [{"depth": 1.0}]}, "unknown key"),
        ({"thickness": 1e-3, "axis": [0, 0, 0]}, "a direction"),
        ({"thickness": "thin"}, "a number"),
    ]
    for table, words in cases:
        if words is None:
            section_from(table)
        else:
            with pytest.raises(InputError, match=words):
                section_from(table)
    cells = {"quad4": np.array([[0, 1, 2, 3]])}
    square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], cells)
    with pytest.raises(InputError, match="without a thickness"):
        assemble(square, UNIT)


GMSH = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
2 1 "web"
2 2 "flange"
$EndPhysicalNames
$Nodes
6
1 0 0 0
2 100 0 0
3 100 50 0
4 0 50 0
5 100 0 40
6 0 0 40
$EndNodes
$Elements
2
1 3 2 1 1 1 2 3 4
2 3 2 2 2 1 2 5 6
$EndElements
"""


def test_a_surface_mesh_of_gmsh_with_thicknesses(tmp_path):
    """One line for one thickness, a table for several; an angle of two plates at a fold."""
    (tmp_path / "angle.msh").write_text(GMSH)
    rest = 'unit_system = "mm"\nmaterial = "steel"\nmodes = 3\n'
    (tmp_path / "a.toml").write_text(rest + 'mesh = { file = "angle.msh", thickness = "2 mm" }\n')
    modal = fm.reduce(tmp_path / "a.toml")
    assert modal.integrals.mass == pytest.approx(7850 * 0.1 * 0.09 * 0.002)
    assert sorted(modal.mesh.cell_sets) == ["flange", "web"]
    web, flange = '{ thickness = "2 mm" }', '{ thickness = "1 mm", offset = "0.5 mm" }'
    table = f'[mesh]\nfile = "angle.msh"\nsections = {{ web = {web}, flange = {flange} }}\n'
    (tmp_path / "b.toml").write_text(rest + table)
    modal = fm.reduce(tmp_path / "b.toml")
    assert modal.integrals.mass == pytest.approx(7850 * 0.1 * (0.05 * 0.002 + 0.04 * 0.001))
    (tmp_path / "c.toml").write_text(rest + f'[mesh]\nfile = "angle.msh"\nsections = {{ web = {web} }}\n')
    with pytest.raises(InputError, match="1 cells have no thickness"):
        fm.reduce(tmp_path / "c.toml")


def test_faces_are_drawn_apart_with_their_own_stress():
    """Bending: top and bottom carry opposite stresses, the middle none; the skin is as thick as the plate."""
    mesh = grid(lambda s, v: (s, 0.1 * v, 0.0), (10, 1), "quad4", 0.02, offset=0.005)
    modal = fm.reduce(mesh, material="steel", fix={"s_min": "x y z rx ry rz"}, modes=2, frame="mean-axis")
    skin = skin_of(modal)
    assert np.ptp(skin.mesh.points[:, 2]) == pytest.approx(0.02)
    assert skin.mesh.points[:, 2].mean() == pytest.approx(0.005)
    x, z = skin.mesh.points[:, 0], skin.mesh.points[:, 2]
    near = np.isclose(x, 0.1)
    top, bottom = (skin.stress[0, near & (side * (z - 0.005) > 0), 0].mean() for side in (1, -1))
    assert top == pytest.approx(-bottom, rel=1e-6) and abs(top) > 1e6
    triangles = skin.mesh.points[skin.mesh.triangles]
    volume = np.einsum("ti,ti->", triangles[:, 0], np.cross(triangles[:, 1], triangles[:, 2])) / 6
    assert volume == pytest.approx(1.0 * 0.1 * 0.02)  # closed, and outward


@pytest.mark.parametrize("element", ["tri3", "tri6", "quad4", "quad8", "quad9"])
def test_a_membrane_stretches_and_has_no_rotations(element):
    """Ends pulled apart: sigma = E eps; frequencies of a strip along its length, c / 2 L; nothing else."""
    mesh = grid(lambda s, v: (0.4 * s, 0.1 * v, 0.0), (12, 2), element, 0.002, bending=0.0)
    steel = isotropic("s", 210e9, 0.0, 7850.0)
    model = assemble(mesh, steel)
    K = model.K_fe.toarray().reshape(mesh.n_nodes, 6, mesh.n_nodes, 6)
    assert not K[:, 3:].any() and not K[:, 2].any() and not mesh.turning_nodes().any()
    u = np.zeros((mesh.n_nodes, 6))
    u[:, 0] = 1e-4 * mesh.points[:, 0]
    sigma = stress_modes(mesh, steel, u.reshape(-1, 1))[0]
    np.testing.assert_allclose(sigma[:, 0], 21e6, rtol=1e-9)
    along = 6 * np.arange(mesh.n_nodes)
    K, M = (A.tocsr()[along][:, along].tocsc() for A in (model.K_fe, model.M_fe))
    omega2 = np.sort(np.linalg.eigvals(np.linalg.solve(M.toarray(), K.toarray())).real)
    assert np.sqrt(omega2[1]) / (2 * np.pi) == pytest.approx(np.sqrt(210e9 / 7850) / 0.8, rel=2e-2)


@pytest.mark.parametrize("element", ["tri3", "quad4"])
def test_a_plate_of_a_micron_is_one_of_a_metre_in_small(element):
    """Stiffnesses against turning are 1e-13 of the others there; their pivots passed for zero."""

    def frequencies(size):
        shape = {"shape": "shell", "size": [size, size], "divisions": [5, 5], "element": element}
        recipe = {"mesh": shape | {"thickness": 0.005 * size}, "material": "steel", "modes": 4}
        recipe |= {"interfaces": {"edge": {"set": "x_min"}}, "stress": "none", "geometric_stiffness": False}
        return fm.reduce(recipe).frequency_hz

    np.testing.assert_allclose(frequencies(4e-4) * 4e-4, frequencies(1.0), rtol=1e-6)
