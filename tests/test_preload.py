"""A static preload whose stress stiffens the body: a taut beam, a pulled strip of shells and solids, a
compressed one."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.materials import isotropic, material
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.prestress import prestress_matrix
from flexmbs.fe.shapes.parametric import box, build_shape, cylinder
from flexmbs.fe.stress import geometric_stiffness
from flexmbs.fe.thermal import thermal_loads, warmed
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie
from flexmbs.post.record import Record
from flexmbs.post.recovery import recover
from flexmbs.post.skin import skin_of
from tests.fe.reference import block, distorted
from tests.fe.test_shells import grid

LEAN = {"stress": "none", "geometric_stiffness": False}


def taut(force, divisions=40, **more):
    """A round bar of 100 m, hinged at both ends, pulled along."""
    return {
        "mesh": {"shape": "beam", "length": 100.0, "divisions": divisions, "section": {"circle": 0.3}},
        "material": {"young": 210e9, "poisson": 0.3, "density": 7874.0},
        "fix": {"start": "x y z rx", "end": "y z"},
        "preload": {"pull": {"set": "end", "force": [force, 0.0, 0.0]}},
        "modes": 8,
        **LEAN,
        **more,
    }


def test_a_taut_beam_has_its_published_frequencies():
    """100 m under 54.6 MN: 1.567220, 3.141518, 4.729918 Hz; each twice, in two planes."""
    found = fm.reduce(taut(54.6e6)).frequency_hz[:6]
    np.testing.assert_allclose(found, np.repeat([1.567220, 3.141518, 4.729918], 2), rtol=2e-6)


def test_tension_raises_and_pressure_lowers_as_the_closed_form_says():
    E, rho, d, L = 210e9, 7874.0, 0.3, 100.0
    area, inertia = np.pi * d**2 / 4, np.pi * d**4 / 64
    euler = np.pi**2 * E * inertia / L**2
    for force in (0.0, 5 * euler, -0.9 * euler):
        n = np.array([1.0, 2.0])
        omega2 = (n * np.pi / L) ** 2 * (force + E * inertia * (n * np.pi / L) ** 2) / (rho * area)
        found = fm.reduce(taut(force)).frequency_hz
        np.testing.assert_allclose(found[:4], np.repeat(np.sqrt(omega2) / (2 * np.pi), 2), rtol=1e-5)


@pytest.mark.parametrize("name", ["tet10", "hex8", "hex20", "wedge6", "pyramid13"])
def test_the_matrix_of_solids_is_the_geometric_stiffness_of_all_fields(name):
    """Of cells without inner functions; those move in the projection on modes, and not in the matrix."""
    mesh, steel = distorted(block(name, (1, 1, 1))), material("steel")
    rng = np.random.default_rng(1)
    U, Phi = 1e-3 * rng.normal(size=(3 * mesh.n_nodes, 1)), rng.normal(size=(3 * mesh.n_nodes, 3))
    if name in ("hex8", "wedge6"):  # a linear field moves no inner function
        Phi = (mesh.points @ rng.normal(size=(3, 9))).reshape(-1, 3, 3)
        Phi = np.concatenate([Phi[:, :, k].reshape(mesh.n_nodes, 3) for k in range(3)], axis=1)
        Phi = Phi.reshape(mesh.n_nodes, 3, 3).transpose(0, 2, 1).reshape(-1, 3)
    K = prestress_matrix(mesh, {"": steel}, U.ravel())
    expected = geometric_stiffness(mesh, steel, U, Phi)[0]
    np.testing.assert_allclose(Phi.T @ (K @ Phi), expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("element", ["tri3", "tri6", "quad4", "quad8", "quad9"])
def test_the_matrix_of_shells_is_the_geometric_stiffness_of_all_fields(element):
    mesh = grid(lambda s, v: (s, v, 0.3 * s * s + 0.1 * s * v), (2, 2), element, 0.05, offset=0.01)
    steel, rng = material("steel"), np.random.default_rng(1)
    U, Phi = 1e-3 * rng.normal(size=(6 * mesh.n_nodes, 1)), rng.normal(size=(6 * mesh.n_nodes, 4))
    K = prestress_matrix(mesh, {"": steel}, U.ravel())
    expected = geometric_stiffness(mesh, steel, U, Phi)[0]
    np.testing.assert_allclose(Phi.T @ (K @ Phi), expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())


def test_strips_of_shells_and_of_solids_are_strings_when_thin():
    """omega = n pi / L sqrt(sigma / rho) with bending that hardly matters, of both kinds of cells."""
    L, b, t, sigma = 1.0, 0.05, 0.002, 2e8
    steel = isotropic("string", 210e9, 0.0, 7850.0)
    shell = grid(lambda s, v: (L * s, b * v, 0.0), (20, 2), "quad8", t)
    solid = box((L, b, t), (20, 2, 1), corner=(0, 0, -t / 2), element="hex20")
    for mesh, high in ((shell, "s_max"), (solid, "x_max")):
        hinges = {
            name: {"box": [[x - 1e-6, -1.0, -1e-6], [x + 1e-6, 1.0, 1e-6]]}
            for name, x in (("p", 0), ("q", L))
        }
        modal = fm.reduce(
            mesh, material={"young": 210e9, "poisson": 0.0, "density": 7850.0}, sets=hinges,
            fix={"p": "x y z", "q": "y z"}, modes=3,
            preload={"pull": {"set": high, "force": [sigma * b * t, 0, 0]}}, **LEAN,
        )  # fmt: skip
        exact = np.sqrt((sigma + (np.pi / L) ** 2 * steel.E * t**2 / 12) / steel.rho) / (2 * L)
        assert modal.frequency_hz[0] == pytest.approx(exact, rel=1e-3)
    assert assemble(shell, steel).K_pre is None


@pytest.mark.parametrize("kind", ["beam", "quad8"])
def test_a_spinning_cantilever_flaps_as_published(kind):
    """omega L^2 (rho A / E I)^0.5 at spins of 0, 6 and 12 in the same measure: Wright et al. (1982), hub of
    radius 0."""
    L, t, E, rho = 1.0, 0.004, 2e11, 8000.0
    if kind == "beam":
        mesh = {"shape": "beam", "length": L, "divisions": 24, "section": {"rectangle": [0.1, t]}}
        fix = {"start": "x y z rx ry rz"}
    else:
        mesh = {"shape": "shell", "element": kind, "size": [L, 0.1], "corner": [0, -0.05, 0],
                "divisions": [12, 1], "thickness": t}  # fmt: skip
        fix = {"x_min": "x y z rx ry rz"}
    scale, found = np.sqrt(E * t**2 / 12 / rho) / L**2, []
    for spin in (0.0, 6.0, 12.0):
        preload = {"spin": {"angular_velocity": [0.0, 0.0, spin * scale]}} if spin else {}
        modal = fm.reduce({"mesh": mesh, "material": {"young": E, "poisson": 0.0, "density": rho},
                           "fix": fix, "preload": preload, "modes": 2, **LEAN})  # fmt: skip
        found.append(2 * np.pi * modal.frequency_hz[:2] / scale)
    known = [[3.5160, 22.0345], [7.3604, 26.8091], [13.1702, 37.6031]]
    np.testing.assert_allclose(found, known, rtol=0.003)


def test_wrong_preloads_are_refused():
    with pytest.raises(InputError, match="not in balance"):
        fm.reduce(taut(1e6, fix={"start": "y z rx", "end": "y z"}))
    euler = np.pi**2 * 210e9 * np.pi * 0.3**4 / 64 / 100.0**2
    with pytest.raises(InputError, match="beyond buckling"):
        fm.reduce(taut(-1.1 * euler))
    pair = {"pull": {"set": "end", "force": [1e3, 0, 0]}, "back": {"set": "start", "force": [-1e3, 0, 0]}}
    with pytest.raises(InputError, match="nothing holds the body against turning"):
        fm.reduce(taut(0.0, fix={}, preload=pair))


def test_a_loss_factor_is_twice_the_ratio_of_every_mode():
    modal = fm.reduce(
        taut(0.0, material={"young": 210e9, "poisson": 0.3, "density": 7874.0, "loss_factor": 0.04})
    )
    omega = 2 * np.pi * modal.frequency_hz
    np.testing.assert_allclose(modal.integrals.D_ff, np.diag(0.04 * omega), atol=1e-9 * omega.max())
    assert not fm.reduce(taut(0.0)).integrals.D_ff.any()


def test_modes_are_damped_as_much_as_they_strain_each_material():
    """A stiff half and a soft, lossy one: the share of the strain energy decides."""
    mesh = box((1.0, 0.1, 0.1), (8, 1, 1), corner=(0, 0, 0), element="hex8")
    half = np.flatnonzero(mesh.points[mesh.cells["hex8"]].mean(axis=1)[:, 0] > 0.5)
    mesh = Mesh(mesh.points, mesh.cells, cell_sets={"soft": {"hex8": half}}, node_sets=mesh.node_sets)
    hard = {"young": 70e9, "poisson": 0.3, "density": 2700.0}
    soft = {"young": 3e9, "poisson": 0.4, "density": 1100.0, "loss_factor": 0.1}
    modal = fm.reduce(mesh, material=hard, materials={"soft": soft}, fix={"x_min": "x y z"}, modes=3, **LEAN)
    ratio = np.diag(modal.integrals.D_ff) / (2 * np.pi * modal.frequency_hz)
    part = Mesh(mesh.points, {"hex8": mesh.cells["hex8"][half]})
    K = assemble(part, material(soft)).K_fe
    for k in range(3):
        u = modal.Phi[k].ravel()
        omega2 = (2 * np.pi * modal.frequency_hz[k]) ** 2
        assert ratio[k] == pytest.approx(0.1 * (u @ (K @ u)) / omega2, rel=1e-9)
    assert 0.0 < ratio.min() < ratio.max() < 0.1


WARM = {"young": 210e9, "poisson": 0.3, "density": 7850.0, "expansion": 12e-6}


@pytest.mark.parametrize("kind", ["hex8", "tet10", "wedge6", "quad4", "tri6", "beam"])
def test_a_free_body_expands_without_stress(kind):
    """Its loads give u = expansion change x, and no stress is left to stiffen it."""
    item = material(WARM)
    if kind == "beam":
        mesh = build_shape(taut(0.0)["mesh"])[0]
    elif kind in ("quad4", "tri6"):
        mesh = grid(lambda s, v: (s, 0.5 * v, 0.2 * s), (3, 2), kind, 0.02)
    else:
        mesh = distorted(block(kind, (2, 2, 1)))
    model, change = assemble(mesh, item), warmed(mesh, 50.0)
    F = thermal_loads(mesh, {"": item}, change, model.n_per_node)
    u = np.zeros((mesh.n_nodes, model.n_per_node))
    u[:, :3] = 12e-6 * 50.0 * mesh.points
    np.testing.assert_allclose(model.K_fe @ u.ravel(), F, atol=1e-8 * np.abs(F).max())
    held = prestress_matrix(mesh, {"": item}, 0 * u.ravel(), change)
    free = prestress_matrix(mesh, {"": item}, u.ravel(), change)
    assert abs(held).max() > 0 and abs(free).max() < 1e-8 * abs(held).max()


def test_a_beam_cooled_between_walls_is_taut():
    """E A expansion change is the same as a force that pulls."""
    cooled = taut(0.0, fix={"start": "x y z rx", "end": "x y z"}, preload={"cold": {"temperature": -100.0}})
    cooled["material"] = {**cooled["material"], "expansion": 12e-6}
    pulled = taut(210e9 * np.pi * 0.3**2 / 4 * 12e-6 * 100.0)
    np.testing.assert_allclose(
        fm.reduce(cooled).frequency_hz[:4], fm.reduce(pulled).frequency_hz[:4], rtol=1e-9
    )


def test_a_shrunk_ring_presses_as_lame_says():
    """A ring of 0.1 to 0.15 m shrunk by 100 K onto one of 0.05 to 0.1 m: p = E eps (..) of two thick
    rings."""
    a, b, c, E, eps = 0.05, 0.1, 0.15, 210e9, 12e-6 * 100.0
    mesh = cylinder(c, 0.02, (8, 48, 1), inner_radius=a, element="hex20")
    item = material({**WARM, "poisson": 0.0})
    centre = mesh.points[mesh.cells["hex20"]].mean(axis=1)
    outside = np.flatnonzero(np.hypot(centre[:, 0], centre[:, 1]) > b)
    mesh = Mesh(mesh.points, mesh.cells, cell_sets={"ring": {"hex20": outside}}, node_sets=mesh.node_sets)
    change = warmed(mesh, -100.0, "ring")
    F = thermal_loads(mesh, {"": item}, change, 3)
    model = assemble(mesh, item)
    tied = tie(model.K_fe, model.M_fe, mesh.points, 3)
    u = np.asarray(tied.G @ Statics(tied).holding().respond(np.asarray(tied.G.T @ F)[:, None])).reshape(-1, 3)
    p = E * eps / ((b**2 + a**2) / (b**2 - a**2) + (c**2 + b**2) / (c**2 - b**2))
    radius = np.hypot(mesh.points[:, 0], mesh.points[:, 1])
    outward = np.einsum("nk,nk->n", u[:, :2], mesh.points[:, :2]) / radius
    # radial displacement of the bore of a ring under outer pressure, and of the rim of the one around it
    bore = -2 * p * a * b**2 / (E * (b**2 - a**2))
    rim = 2 * p * c * b**2 / (E * (c**2 - b**2)) - eps * c
    assert outward[np.isclose(radius, a)].mean() == pytest.approx(bore, rel=5e-3)
    assert outward[np.isclose(radius, c)].mean() == pytest.approx(rim, rel=5e-3)


BAR = """material = "steel"
modes = 2
[mesh]
shape = "box"
size = [1.0, 0.1, 0.1]
divisions = [6, 1, 1]
[fix]
x_min = "x y z"
[preload.pull]
set = "x_max"
force = [1e6, 0, 0]
"""
CASE = """format_version = 1
[bodies.bar]
type = "flexible"
reduce = "bar.toml"
[joints.wall]
type = "fixed"
from = "ground"
to = "bar"
[analysis]
t_end = 0.01
"""


def test_stresses_of_a_run_contain_that_of_the_preload(tmp_path):
    """A bar pulled in its recipe hangs at rest in a case: its stress is force over area."""
    (tmp_path / "bar.toml").write_text(BAR)
    (tmp_path / "case.toml").write_text(CASE)
    fm.run(tmp_path / "case.toml", tmp_path / "case.h5")
    found = recover(Record.load(tmp_path / "case.h5"), "bar")
    far = np.flatnonzero(found.places[:, 0] > 0.3)
    assert found.envelope.von_mises[far].mean() == pytest.approx(1e8, rel=1e-3)


SHELL = """[mesh]
shape = "shell"
size = [1.0, 0.1]
corner = [0, 0, 0]
divisions = [10, 1]
element = "quad8"
thickness = 0.01
"""
BEAM = """[mesh]
shape = "beam"
length = 1.0
divisions = 10
section = { rectangle = [0.1, 0.01] }
"""


@pytest.mark.parametrize("mesh", [SHELL, BEAM], ids=["shell", "beam"])
def test_faces_of_shells_and_beams_have_the_stress_of_the_preload(tmp_path, mesh):
    """A cantilever bent in its recipe, at rest in a case: 6 F (L - x) / (b t^2) at top and bottom."""
    pull = '[preload.pull]\nset = "x_max"\nforce = [0, 0, 10]\n'
    material = "material = { young = 2e11, poisson = 0.0, density = 7850 }\nmodes = 2\n"
    (tmp_path / "bar.toml").write_text(material + mesh + '[fix]\nx_min = "x y z rx ry rz"\n' + pull)
    (tmp_path / "case.toml").write_text(CASE)
    fm.run(tmp_path / "case.toml", tmp_path / "case.h5")
    found = recover(Record.load(tmp_path / "case.h5"), "bar")
    x = found.places[:, 0]
    rim = np.isclose(np.abs(found.places[:, 2]), 0.005)
    assert rim.sum() > 40 and not any("preload" in note for note in found.notes)
    exact = 6 * 10 * (1 - x[rim]) / (0.1 * 1e-4)
    np.testing.assert_allclose(found.envelope.von_mises[rim], exact, atol=0.01 * 6e6)


def strip(element, **more):
    """A strip along x, 1 by 0.1 m and 1 cm thick, of a material without Poisson's ratio."""
    mesh = {"shape": "shell", "size": [1.0, 0.1], "corner": [0, 0, 0], "divisions": [10, 1]}
    if element == "beam2":
        mesh = {"shape": "beam", "length": 1.0, "divisions": 10, "section": {"rectangle": [0.1, 0.01]}}
        sets = {"x_min": "start", "x_max": "end"}
        more["fix"] = {sets[name]: value for name, value in more["fix"].items()}
    else:
        mesh |= {"element": element, "thickness": 0.01}
    return {"mesh": mesh, "material": {**WARM, "poisson": 0.0}, "modes": 1, **more}


CLAMPED = {"x_min": "x z rx ry rz", "x_max": "x z rx ry rz"}  # free to grow across


@pytest.mark.parametrize("element", ["tri3", "quad8", "beam2"])
def test_a_strip_between_walls_is_pressed_where_it_is_warmed(element):
    """-E expansion change at both faces; what bends it at once comes on top."""
    warm = {"temperature": 20.0}
    modal = fm.reduce(strip(element, fix=CLAMPED, preload={"warm": warm}))
    skin, pressed = skin_of(modal), -210e9 * 12e-6 * 20.0
    np.testing.assert_allclose(skin.static[0][:, 0], pressed, rtol=1e-6)
    np.testing.assert_allclose(skin.static[0][:, 1:], 0.0, atol=1e-6 * -pressed)
    np.testing.assert_allclose(modal.preload_stress[:, 0], pressed, rtol=1e-6)
    weight = {"acceleration": [0.0, 0.0, 100.0]}
    bent, both = (
        fm.reduce(strip(element, fix=CLAMPED, preload=preload))
        for preload in ({"weight": weight}, {"warm": warm, "weight": weight})
    )
    bent, both = skin_of(bent).static[0], skin_of(both).static[0]
    assert np.ptp(bent[:, 0]) > 0.1 * -pressed
    np.testing.assert_allclose(both - bent, skin.static[0], atol=1e-5 * -pressed)


def test_a_strip_of_two_metals_bends_when_it_is_warmed():
    """Layers of equal stiffness, free strains 0 and d: E d / 4 outside, E d / 2 where they meet (Timoshenko
    1925), which is the layer above."""
    layers = [
        {"thickness": 0.005, "material": {**WARM, "poisson": 0.0, "expansion": a}} for a in (0.0, 12e-6)
    ]
    recipe = strip("quad4", preload={"warm": {"temperature": 50.0}})
    del recipe["mesh"]["thickness"]
    recipe["mesh"]["layers"] = layers
    modal = fm.reduce(recipe)
    faces, most = skin_of(modal).static[0][:, 0], 210e9 * 12e-6 * 50.0
    n = len(faces) // 2
    np.testing.assert_allclose(faces[:n], -most / 4, rtol=1e-6)
    np.testing.assert_allclose(faces[n:], most / 4, rtol=1e-6)
    np.testing.assert_allclose(modal.preload_stress[:, 0], -most / 2, rtol=1e-6)


def test_a_file_keeps_what_the_faces_need(tmp_path):
    modal = fm.reduce(strip("quad4", fix=CLAMPED, preload={"warm": {"temperature": 20.0}}))
    modal.save(tmp_path / "a.modal.h5")
    again = fm.ModalData.load(tmp_path / "a.modal.h5")
    np.testing.assert_array_equal(skin_of(again).static, skin_of(modal).static)
    assert len(again.static_stress.field) == len(again.static_stress.stress) > 0


def test_a_free_body_that_is_warmed_keeps_no_stress():
    recipe = {
        "mesh": {"shape": "box", "size": [0.2, 0.1, 0.1], "divisions": [2, 1, 1]},
        "material": WARM,
        "preload": {"warm": {"temperature": 80.0}},
        "modes": 1,
    }
    modal = fm.reduce(recipe)
    assert np.abs(modal.preload_stress).max() < 1e-6 * 210e9 * 12e-6 * 80.0
    assert modal.frequency_hz[0] == pytest.approx(
        fm.reduce({**recipe, "preload": {}}).frequency_hz[0], rel=1e-9
    )
