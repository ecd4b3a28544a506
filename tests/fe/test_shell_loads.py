"""Loads on shells: pressures, edge loads and gravity, as shapes of the basis and in motion."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.case import Case
from flexmbs.case.runner import execute
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.materials import material
from flexmbs.fe.stress import stress_modes
from flexmbs.modal.areas import nodal_sizes, set_pieces
from flexmbs.modal.interfaces import make_interface
from flexmbs.model.laws.loads import mean_place, pressure_load
from tests.fe.test_shells import area_load, dofs, grid, order, solved

STEEL = material("steel")
ALL = slice(None)


def deflection(modal, force):
    """Static displacements of the reduced body under modal forces."""
    return np.einsum("anc,a->nc", modal.Phi, force / (2 * np.pi * modal.frequency_hz) ** 2)


@pytest.mark.parametrize("element", SHELLS)
def test_a_hinged_plate_under_pressure_and_under_its_weight(element):
    """Navier: 0.004062 p a^4 / D at the middle, with the shape of this load alone; shear is 0.03 % here."""
    a, t, n = 0.5, 0.005, 16 // order(element)
    rim = dict.fromkeys(("x_min", "x_max", "y_min", "y_max"), "z")
    recipe = {
        "mesh": {
            "shape": "shell", "size": [a, a], "divisions": [n, n], "element": element, "thickness": t,
        },
        "material": "steel",
        "sets": {"all": {"box": [[-9, -9, -9], [9, 9, 9]]}},
        "fix": rim | {"all": "x y rz"},
    }  # fmt: skip
    D = STEEL.E * t**3 / 12 / (1 - STEEL.nu**2)
    for load, p in (
        ({"set": "surface", "pressure": 2e3}, -2e3),
        ({"acceleration": [0, 0, 9.81]}, STEEL.rho * t * 9.81),
        ({"set": "surface", "force": [0, 0, 2e3 * a * a]}, 2e3),
    ):
        modal = fm.reduce(recipe, modes=0, loads={"one": load}, geometric_stiffness=False)
        assert modal.nf == 1
        pressed = -pressure_load(modal, ALL, "surface", "f")[6:].reshape(-1, 4)[:, 3]
        size, place, rows = mean_place(modal, ALL, "surface", "f")
        assert size == pytest.approx(a * a) and place == pytest.approx(np.zeros(3), abs=1e-12)
        np.testing.assert_allclose(pressed, size * rows[2], rtol=1e-10)
        middle = np.linalg.norm(modal.mesh.points, axis=1).argmin()
        w = deflection(modal, p * pressed)[middle, 2]
        assert w == pytest.approx(0.0040624 * p * a**4 / D, rel=0.006)


@pytest.mark.parametrize("element", SHELLS)
def test_a_tube_under_inner_pressure_grows(element):
    """Ends free to move along: p R^2 / (E t), the sign by the normal, which points outward."""
    R, t, n = 0.1, 0.005, 48 // order(element)
    recipe = {
        "mesh": {
            "shape": "shell", "radius": R, "length": 0.05, "divisions": [n, n // 3], "element": element,
            "thickness": t,
        },
        "material": "steel",
    }  # fmt: skip
    modal = fm.reduce(recipe, modes=0, loads={"p": {"set": "surface", "pressure": -1e5}})
    assert modal.nf == 1
    force = -1e5 * pressure_load(modal, ALL, "surface", "f")[6:].reshape(-1, 4)[:, 3]
    u, points = deflection(modal, force), modal.mesh.points
    radial = np.einsum("ni,ni->n", u[:, :2], points[:, :2]) / R
    # flat triangles feel the folds between them, which are least in number at the ends
    rtol = 0.02 if element == "tri3" else 0.01
    np.testing.assert_allclose(radial, 1e5 * R**2 / (STEEL.E * t), rtol=rtol)


@pytest.mark.parametrize("element", SHELLS)
def test_an_edge_load_leaves_a_constant_stress(element):
    """A strip that is pulled at its end; with equal forces on corners and mid-nodes the end is strained."""

    def place(s, v):
        v = np.interp(v, [0, 1 / 3, 2 / 3, 1], [0, 0.25, 0.7, 1])
        return 0.4 * s + 0.05 * v, 0.2 * v, 0.0

    mesh = grid(place, (4, 3), element, 0.002)
    nodes = mesh.node_sets["s_max"]
    pieces = set_pieces(mesh, "s_max", nodes)
    size = nodal_sizes(mesh, pieces)
    length = np.hypot(0.05, 0.2)
    assert size.sum() == pytest.approx(length) and not np.delete(size, nodes).any()
    F = np.zeros((mesh.n_nodes, 6))
    F[:, 0] = 0.2 / length * size * 0.002 * 50e6  # the end is at a slant
    root = mesh.node_sets["s_min"]
    x, y = mesh.points[:, :2].T
    item = STEEL
    model = assemble(mesh, item)
    u = np.zeros((mesh.n_nodes, 6))
    u[:, 0], u[:, 1] = 50e6 / item.E * x, -item.nu * 50e6 / item.E * y
    held = dofs(mesh, root, "x y z rx ry rz")
    free = np.setdiff1d(np.arange(model.n_dof), held)
    left = model.K_fe @ u.ravel() - F.ravel()
    if element == "tri3":  # its sides bend with the turns of their ends; a load on them would have moments
        left.reshape(-1, 6)[:, 3:] = 0.0
    assert np.abs(left[free]).max() < 1e-9 * np.abs(F).max()
    np.testing.assert_allclose(stress_modes(mesh, item, u.reshape(-1, 1))[0][:, 0], 50e6, rtol=1e-6)
    tip = make_interface(mesh, "tip", nodes, set_name="s_max", tie="rbe3", turns=True)
    np.testing.assert_allclose(tip.weights, size[nodes] / length, rtol=1e-12)
    middle = mesh.points[nodes].T @ tip.weights
    np.testing.assert_allclose(tip.position, middle, atol=1e-15)


@pytest.mark.parametrize("element", SHELLS)
def test_pieces_of_sets_of_nodes(element):
    """Nodes of whole cells are an area, of the rim of a hole a length, and loose ones are counted alike."""
    mesh = grid(lambda s, v: (s, v, 0.1 * s * v), (6, 6), element, 0.01)
    every = np.arange(mesh.n_nodes)
    known = area_load(mesh, STEEL, [0, 0, 1.0]).reshape(-1, 6)[:, 2]
    np.testing.assert_allclose(nodal_sizes(mesh, set_pieces(mesh, "all", every)), known, rtol=1e-3, atol=1e-6)
    rim = np.unique(np.concatenate(list(mesh.node_sets.values())))
    around = 2 + 2 * np.mean(np.sqrt(1 + 0.01))  # straight sides: two along the axes, two at a slope
    assert nodal_sizes(mesh, set_pieces(mesh, "rim", rim)).sum() == pytest.approx(around, rel=1e-12)
    assert set_pieces(mesh, "two", np.array([0, mesh.n_nodes - 1])) == []


def test_pressures_without_an_area_are_named():
    recipe = {"mesh": {"shape": "shell", "size": [1, 1], "divisions": [2, 2], "thickness": 0.01}, "modes": 2}
    with pytest.raises(InputError, match="no faces and no shells"):
        fm.reduce(recipe, loads={"p": {"set": "x_min", "pressure": 1.0}})
    with pytest.raises(InputError, match="a pressure needs a set"):
        fm.reduce(recipe, loads={"p": {"node": 1, "pressure": 1.0}})
    # a solid: on its face
    box = {"mesh": {"shape": "box", "size": [1, 1, 1], "divisions": [2, 2, 2]}, "material": "steel"}
    modal = fm.reduce(
        box, modes=0, fix={"x_min": "x", "y_min": "y", "z_min": "z"},
        loads={"p": {"set": "x_max", "pressure": 1e6}},
    )  # fmt: skip
    nodes = modal.mesh.node_set_of("x_max")
    force = 1e6 * pressure_load(modal, ALL, "x_max", "f")[6:].reshape(-1, 4)[:, 3]
    np.testing.assert_allclose(deflection(modal, force)[nodes, 0], -1e6 / STEEL.E, rtol=1e-9)


@pytest.mark.parametrize("element", SHELLS)
def test_a_solved_pressure_is_that_of_the_cells(element):
    """The load of a curved set against the integration of the cells."""
    mesh = grid(lambda s, v: (np.sin(s), v, np.cos(s)), (6, 4), element, 0.01)
    F = np.zeros((mesh.n_nodes, 6))
    for part in set_pieces(mesh, "", np.arange(mesh.n_nodes)):
        np.add.at(F[:, :3], part.nodes, -np.einsum("kpi,pn->kni", part.vectors, part.N))
    held = dofs(mesh, "s_min", "x y z rx ry rz")
    u = solved(mesh, STEEL, F.ravel(), held)
    normal = mesh.points * [1, 0, 1]
    G = np.zeros((mesh.n_nodes, 6))
    size = nodal_sizes(mesh, set_pieces(mesh, "", np.arange(mesh.n_nodes)))
    G[:, :3] = -size[:, None] * normal * np.sign(F[:, :3].sum(axis=0) @ -normal.sum(axis=0))
    v = solved(mesh, STEEL, G.ravel(), held)
    np.testing.assert_allclose(u[0::6], v[0::6], rtol=0.03, atol=0.03 * np.abs(v[0::6]).max())


def test_a_pressure_moves_a_free_plate(tmp_path):
    """In motion: p A / m against the normal; the same as a force per area."""
    (tmp_path / "plate.reduce.toml").write_text(
        "modes = 3\nmaterial = { young = 1e9, poisson = 0.3, density = 1000 }\n[mesh]\n"
        'shape = "shell"\nsize = [0.4, 0.25]\ndivisions = [4, 3]\nelement = "quad8"\nthickness = 0.01\n'
    )
    for load in ("pressure = 20", "force = [0, 0, -20]"):
        (tmp_path / "case.toml").write_text(
            'format_version = 1\n[bodies.plate]\ntype = "flexible"\nreduce = "plate.reduce.toml"\n'
            f'[forces.wind]\ntype = "distributed"\non = "plate"\nset = "surface"\n{load}\n'
            '[analysis]\nt_end = 0.1\n[expected]\n"system.com.z[-1]" = { value = -0.01, rtol = 1e-4 }\n'
        )
        run = execute(Case.load(tmp_path / "case.toml"), tmp_path / "case.h5", overwrite=True)
        assert run.comparisons and all(item.passed for item in run.comparisons)
