"""Recipes: units and expressions, every error by name and together, options over keys, command line."""

import json

import h5py
import numpy as np
import pytest
import scipy.io

import flexmbs as fm
from flexmbs.cli.main import main
from flexmbs.errors import InputError
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.parametric import box
from flexmbs.modaldata import ModalData
from flexmbs.reduce.options import interface_table
from flexmbs.reduce.reading import make_recipe, read_recipe
from flexmbs.reduce.stage1 import source_hash
from flexmbs.resources import resource

BAR = """
modes = 2
material = { young = "210 GPa", poisson = 0.3, density = 7850 }
stress = "none"
geometric_stiffness = false

[parameters]
length = "300 mm"
half = "=length/2"

[mesh]
shape = "box"
size = ["=2*half", "40 mm", 0.03]
divisions = [4, 1, 1]
element = "hex8"

[interfaces]
left = { set = "x_min" }
right = { set = "x_max", tie = "rbe3", pos = ["=half", 0, 0], rot = { axis = [0, 0, 1], angle = "90 deg" } }
"""


@pytest.fixture
def recipe(tmp_path):
    path = tmp_path / "bar.toml"
    path.write_text(BAR)
    return path


def test_units_and_parameters(recipe):
    modal = fm.reduce(recipe)
    assert modal.integrals.mass == pytest.approx(7850 * 0.3 * 0.04 * 0.03)
    right = modal.interface("right")
    assert np.allclose(right.position, [0.15, 0, 0]) and np.allclose(right.rotation[:, 0], [0, 1, 0])
    assert modal.nf == 8 and modal.materials["default"]["E"] == 2.1e11


def test_options_override_the_recipe(recipe):
    modal = fm.reduce(
        recipe,
        modes=0,
        interfaces=["x_max:rbe3"],
        method="free-interface",
        density=1000.0,
        young=1e9,
        poisson=0.1,
    )
    assert list(modal.interfaces) == ["x_max"] and modal.interfaces["x_max"].type == "rbe3"
    assert modal.integrals.mass == pytest.approx(0.36) and modal.nf == 6
    assert fm.reduce(recipe, fmax="2 kHz", frame="tangent:left").frame == "tangent:left"


def hash_of(path, **options):
    return source_hash(read_recipe(path, options))


def test_options_are_part_of_what_modal_data_were_made_from(recipe):
    """Else a case would take data of other options for those of its recipe."""
    assert hash_of(recipe) == hash_of(recipe, modes=None) != hash_of(recipe, modes=3)
    assert hash_of(recipe, modes=3) != hash_of(recipe, modes=4)
    with pytest.raises(InputError, match='^option fmax  error  fmax: "3 kg" is a mass, expected a frequency'):
        hash_of(recipe, fmax="3 kg")


def test_interface_options():
    table = interface_table(["bore", "pin:RBE3", "a:b"])
    assert table["bore"] == {"set": "bore", "tie": "rbe2"} and table["pin"]["tie"] == "rbe3"
    assert "a:b" in table


def test_interface_options_take_the_keys_of_a_recipe():
    table = interface_table(
        ["bore:rbe3:pos=0.1,0,-2e-3", "pin:dofs=x y", "a:b:set=c", 'hub:cylinder={axis="z",radius=0.01}']
    )
    assert table["bore"] == {"set": "bore", "tie": "rbe3", "pos": [0.1, 0.0, -2e-3]}
    assert table["pin"] == {"set": "pin", "tie": "rbe2", "dofs": "x y"}
    assert table["a:b"] == {"set": "c", "tie": "rbe2"}
    assert table["hub"] == {"tie": "rbe2", "cylinder": {"axis": "z", "radius": 0.01}}


def test_options_become_a_recipe_that_does_the_same(tmp_path):
    (tmp_path / "parts").mkdir()
    mesh = tmp_path / "parts" / "rod.msh"
    mesh.write_bytes(resource("meshes", "rod.msh").read_bytes())
    options = ["--interface", "bore_big:rbe3:pos=0,0,1e-3", "--interface", "bore_small", "--modes", "2"]
    options += ["--material", "aluminium", "--stress", "none", "--no-geometric-stiffness"]
    recipe = tmp_path / "rod.reduce.toml"
    assert main(["reduce", str(mesh), *options, "--write-recipe", str(recipe)]) == 0
    assert 'mesh = "parts/rod.msh"' in recipe.read_text() and not list(tmp_path.glob("**/*.h5"))
    assert main(["reduce", str(mesh), *options, "--write-recipe", str(recipe)]) == 3  # exists
    assert main(["reduce", str(mesh), *options, "-o", str(tmp_path / "a.modal.h5")]) == 0
    assert main(["reduce", str(recipe), "-o", str(tmp_path / "b.modal.h5")]) == 0
    a, b = (fm.ModalData.load(tmp_path / f"{name}.modal.h5") for name in "ab")
    np.testing.assert_array_equal(a.integrals.K_ff, b.integrals.K_ff)
    np.testing.assert_allclose(a.interfaces["bore_big"].position, [0, 0, 1e-3], atol=1e-15)
    assert b.interfaces["bore_big"].type == "rbe3"
    assert main(["reduce", str(mesh), "--interface", "bore_big:size=3", "--write-recipe", str(recipe)]) == 3


BAD = [
    ("modes = 2", "modez = 2", 'unknown key "modez"; did you mean "modes"'),
    ('"210 GPa"', '"210 kg"', "expected a pressure"),
    ("poisson = 0.3", "poisson = 0.7", "poisson = 0.7"),
    ('"=2*half"', '"=2*hlf"', '"hlf" is no parameter; did you mean "half"'),
    ('set = "x_min"', 'set = "x_mn"', 'no set "x_mn" in box; did you mean "x_min"'),
    ('tie = "rbe3"', 'tie = "rbe4"', 'did you mean "rbe2"|did you mean "rbe3"'),
    ("divisions = [4, 1, 1]", "divisions = [4, 0, 1]", "whole number from 1"),
    ('shape = "box"', 'shape = "boxx"', 'did you mean "box"'),
    ("angle = ", "angl = ", 'unknown key "angl"'),
    ('"x_min" }', '"x_min", dofs = "x u" }', 'unknown direction "u"'),
    ("modes = 2", "tol = 0.1", "needs fmax"),
    ("modes = 2", "", "how many modes"),
    ("modes = 2", "modes = 2\nframe = 'tangent:lft'", 'did you mean "left"'),
    ("modes = 2", "modes = 2\nmethod = 'given'", "needs a table"),
    ("modes = 2", "modes = -1", "whole number from 0"),
    ("modes = 2", "modes = 2\nstress = 'node'", "Cannot overwrite|overwrite"),
    ("[interfaces]", "[fix]\nx_mid = 'x'\n[interfaces]", 'no set "x_mid"'),
    ("[interfaces]", "[fix]\nx_min = 'x y z'\n[interfaces]", "held by"),
    ("[interfaces]", "[sets]\nq = { sphre = 3 }\n[interfaces]", 'did you mean "sphere"'),
    ("[interfaces]", "[loads]\nq = { force = [0, 0, 1] }\n[interfaces]", "needs either set or node"),
    ("[interfaces]", "[given]\nstiffness = 3\n[interfaces]", "expected a list of .* numbers, found 3"),
    ("[interfaces]", "[given]\nstiffness = [[1, 0], [0]]\n[interfaces]", "rows of different lengths"),
]


@pytest.mark.parametrize("old, new, message", BAD, ids=[new or old for old, new, _ in BAD])
def test_mistakes_are_named(recipe, old, new, message):
    assert old in BAR
    recipe.write_text(BAR.replace(old, new))
    with pytest.raises(InputError, match=message):
        fm.reduce(recipe)


def test_all_errors_of_a_recipe_come_together(recipe):
    text = BAR.replace("modes = 2", "modez = 2").replace('"40 mm"', '"40 kg"').replace('"rbe3"', '"rbe9"')
    recipe.write_text(text)
    with pytest.raises(InputError) as caught:
        fm.reduce(recipe)
    places = [item.where.rpartition("bar.toml")[2] for item in caught.value.diagnostics]
    assert places == ["", ":2:1", ":13:20", ":19:32"]  # no number of modes; key, item of a list, value


def test_given_shapes_are_checked():
    mesh = {"shape": "box", "size": [1, 1, 1], "divisions": [1, 1, 1]}
    base = {"mesh": mesh, "material": "steel"}
    for shapes, message in (
        ([["x", "y"]], r"given.shapes\[0\]: expected 3 values, found 2"),
        ([["x", "y", "w"]], 'unknown name "w"'),
        ([["x", "0", "0"], ["2*x", "0", "0"]], "no inertia of its own"),
        ([["log(x)", "0", "0"]], "no finite value"),
        ([["__import__('os')", "0", "0"]], "__import__|not"),
    ):
        with pytest.raises(InputError, match=message):
            fm.reduce({**base, "given": {"shapes": shapes}})


def test_a_point_mass_at_an_interface_counts(recipe):
    inertia = [0.01, 0.02, 0.03]
    heavy = fm.reduce(recipe, point_masses=[{"interface": "right", "mass": 2.0, "inertia": inertia}])
    light = fm.reduce(recipe)
    at = np.array([0.15, 0.0, 0.0])
    assert heavy.integrals.mass == pytest.approx(light.integrals.mass + 2.0)
    own = np.diag(inertia) + 2.0 * (at @ at * np.eye(3) - np.outer(at, at))
    assert np.allclose(heavy.integrals.inertia, light.integrals.inertia + own, rtol=1e-10)
    assert heavy.frequency_hz[0] < light.frequency_hz[0]
    with pytest.raises(InputError, match='no interface "rigth"; did you mean "right"'):
        fm.reduce(recipe, point_masses=[{"interface": "rigth", "mass": 2.0}])


def test_millimetres(recipe):
    metres = fm.reduce(recipe)
    mesh = {"shape": "box", "size": [300, 40, 30], "divisions": [4, 1, 1], "element": "hex8"}
    same = fm.reduce(
        recipe,
        mesh=mesh,
        unit_system="mm",
        interfaces={"left": "x_min", "right": {"set": "x_max", "tie": "rbe3"}},
    )
    assert np.allclose(same.frequency_hz, metres.frequency_hz, rtol=1e-9)


def test_a_load_adds_its_static_shape(recipe):
    plain = fm.reduce(recipe, modes=0)
    more = fm.reduce(recipe, modes=0, loads={"side": {"set": "y_max", "force": [0.0, 0, 100]}})
    assert more.nf == plain.nf + 1 and more.frequency_hz[0] < plain.frequency_hz[0]


def test_matrices_out_and_in_give_the_same_body(tmp_path, recipe):
    K, M = tmp_path / "K.mtx", tmp_path / "M.mtx"
    out = tmp_path / "bar.modal.h5"
    assert main(["reduce", str(recipe), "--quiet", "-o", str(out), "--save-matrices", str(K), str(M)]) == 0
    modal = ModalData.load(out)
    nodes = tmp_path / "nodes.txt"
    np.savetxt(nodes, np.column_stack([modal.mesh.node_number, modal.mesh.points]), fmt="%.17g")
    left, right = (modal.interfaces[name].nodes for name in ("left", "right"))
    sets = {
        "left": {"nearest": modal.mesh.points[left].tolist()},
        "right": {"nearest": modal.mesh.points[right].tolist()},
    }
    other = fm.reduce(
        {"matrices": [str(K), str(M), str(nodes)], "sets": sets, "interfaces": ["left", "right"], "modes": 2}
    )
    same = fm.reduce(recipe, interfaces=["x_min", "x_max"])
    assert np.allclose(other.frequency_hz, same.frequency_hz, rtol=1e-7)
    assert np.allclose(other.integrals.S_kl, same.integrals.S_kl, atol=1e-6)
    scipy.io.mmwrite(K, np.eye(5))
    with pytest.raises(InputError, match="are expected"):
        fm.reduce({"matrices": [str(K), str(M), str(nodes)], "modes": 2})
    K.write_text("%%MatrixMarket matrix nonsense\n")
    with pytest.raises(InputError, match="Matrix Market"):
        fm.reduce({"matrices": [str(K), str(M), str(nodes)], "modes": 2})


def test_command_line(tmp_path, recipe, capsys):
    assert main(["reduce", str(recipe), "--quiet", "--fmax", "3kHz", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["file"].endswith("bar.modal.h5") and data["modes"] == len(data["frequency_hz"])
    assert main(["info", str(tmp_path / "bar.modal.h5")]) == 0
    text = capsys.readouterr().out
    assert "Sylvester" in text and "right: rbe3" in text
    assert main(["reduce", str(recipe), "--quiet", "--frame", "tangent:top"]) == 3
    assert main(["reduce", str(tmp_path / "none.msh"), "--modes", "3", "--material", "steel"]) == 3
    assert main(["info", str(tmp_path / "none.h5")]) == 3
    assert main(["reduce"]) == 2
    keep = tmp_path / "keep.txt"
    keep.write_text("mine")
    assert main(["reduce", str(recipe), "--quiet", "-o", str(keep)]) == 3
    assert keep.read_text() == "mine"


def test_interfaces_by_place(recipe):
    text = BAR.replace('left = { set = "x_min" }', "left = { plane = { x = -0.15 }, pos = [-0.15, 0, 0] }")
    recipe.write_text(text.replace("[fix]", ""))
    by_place, by_set = fm.reduce(recipe), fm.reduce(recipe, interfaces={"left": "x_min", "right": "x_max"})
    assert np.array_equal(by_place.interface("left").nodes, by_set.interface("left").nodes)
    node = fm.reduce(recipe, interfaces={"p": {"nearest": [0.15, 0.02, 0.015]}, "left": "x_min"})
    assert node.interface("p").dofs == "x y z" and len(node.interface("p").nodes) == 1


def test_a_material_file_lies_in_the_current_folder(tmp_path, recipe, monkeypatch):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "brass.toml").write_text('young = "100 GPa"\npoisson = 0.34\ndensity = 8500\n')
    monkeypatch.chdir(tmp_path / "work")
    out = tmp_path / "b.modal.h5"
    assert main(["reduce", str(recipe), "--quiet", "--material", "brass.toml", "-o", str(out)]) == 0
    first = ModalData.load(out)
    assert first.materials["default"]["rho"] == 8500.0
    (tmp_path / "work" / "brass.toml").write_text("young = 1e11\npoisson = 0.34\ndensity = 8400\n")
    assert main(["reduce", str(recipe), "--quiet", "--material", "brass.toml", "-o", str(out)]) == 3
    assert ModalData.load(out).source_sha256 == first.source_sha256
    again = ["reduce", str(recipe), "--quiet", "--material", "brass.toml", "-o", str(out), "--overwrite"]
    assert main(again) == 0
    assert ModalData.load(out).source_sha256 != first.source_sha256


def test_axes_of_an_orthotropic_material():
    """Turned by a right angle, the stiff direction lies along y."""
    wood = {
        "young": ["12 GPa", "1 GPa", 0.8e9],
        "poisson": [0.3, 0.3, 0.02],
        "shear": [9e8, 2e8, 8e8],
        "density": 500,
    }
    turned = make_recipe(PLATE, {"material": {**wood, "rotation": {"axis": [0, 0, 1], "angle": "90 deg"}}})
    turned, other = turned.materials[""].C_mat, make_recipe(PLATE, {"material": wood}).materials[""].C_mat
    assert turned[0, 0] == pytest.approx(other[1, 1]) and turned[1, 1] == pytest.approx(other[0, 0])


def test_materials_by_cell_set():
    mesh = box((1.0, 1.0, 1.0), (2, 1, 1), element="hex8")
    mesh = Mesh(mesh.points, mesh.cells, cell_sets={"left": {"hex8": np.array([0])}})
    light = {"young": 1e9, "poisson": 0.3, "density": 1000.0}
    modal = fm.reduce(mesh, material="steel", materials={"left": light}, modes=2)
    assert modal.integrals.mass == pytest.approx(0.5 * (modal.materials["default"]["rho"] + 1000.0))
    assert modal.quality["mass_error"] < 1e-12
    with pytest.raises(InputError, match='did you mean "left"'):
        fm.reduce(mesh, material="steel", materials={"lft": light}, modes=2)


def test_a_recipe_without_anything_says_what_is_missing():
    with pytest.raises(InputError, match="there is no mesh"):
        make_recipe({}, {})


PLATE = {"mesh": {"shape": "box", "size": [1, 1, 0.1], "divisions": [1, 1, 1], "element": "hex8"}, "modes": 0}


def test_steel_is_the_default(capsys):
    for modal in (fm.reduce(PLATE), fm.reduce(box((1.0, 1.0, 1.0), (1, 1, 1), element="hex8"), modes=0)):
        assert modal.materials["default"]["rho"] == 7850.0
    points = {"shape": "points", "points": [[0, 0, 0], [1, 0, 0]], "masses": [1, 2]}
    given = {"values": [[[0, 0, 0], [0, 1, 0]]], "stiffness": [[6.0]]}
    assert not fm.reduce({"mesh": points, "given": given}).materials
    with pytest.raises(InputError, match="no material"):  # by cell set: the others are not guessed
        fm.reduce(box_of_sets(), materials={"left": "titanium"}, modes=0)


def box_of_sets():
    mesh = box((1.0, 1.0, 1.0), (2, 1, 1), element="hex8")
    return Mesh(mesh.points, mesh.cells, cell_sets={"left": {"hex8": np.array([0])}})


CONTRADICTIONS = [
    ({"material": "steel", "density": 7000.0}, "material: is given together with density"),
    ({"young": 1e9}, "^recipe  error  material: lacks poisson, density"),
    ({"material": "stel"}, '^recipe  error  material: "stel" is not a known material; did you mean "steel"'),
    ({"interfaces": ["x_min", "x_min:rbe3"]}, "interfaces.x_min  error  is given twice"),
    ({"interfaces": ["x_min:rbe4"]}, 'unknown tie "rbe4" of the set "x_min"; choices: rbe2, rbe3'),
    ({"matrices": ["K", "M", "nodes"]}, "exclude a mesh"),
]


@pytest.mark.parametrize("options, message", CONTRADICTIONS, ids=[text for _, text in CONTRADICTIONS])
def test_contradictions_are_not_decided_in_silence(options, message):
    with pytest.raises(InputError, match=message):
        fm.reduce(PLATE, **options)


def test_an_option_of_material_replaces_that_of_the_recipe(recipe):
    assert fm.reduce(recipe, material="titanium").materials["default"]["rho"] == 4430.0
    recipe.write_text(BAR.replace("material =", "young = 1e9\npoisson = 0.3\ndensity = 1e3\nother ="))
    with pytest.raises(InputError, match='unknown key "other"'):
        fm.reduce(recipe)
    recipe.write_text("\n".join(line for line in recipe.read_text().splitlines() if "other" not in line))
    assert fm.reduce(recipe, material="titanium").materials["default"]["rho"] == 4430.0


@pytest.mark.parametrize(
    "new, place",
    [
        (
            'size = ["=2*half", "-40 mm", 0.03]',
            "bar.toml:13:8  error  mesh.size: [0.3, -0.04, 0.03]; expected 3",
        ),
        (
            'sise = 3\nsize = ["=2*half", "40 mm", 0.03]',
            'bar.toml:13:1  error  mesh: unknown key "sise"; did you mean "size"?',
        ),
        ("", 'bar.toml:11:1  error  mesh: needs "size"'),
    ],
)
def test_mistakes_of_a_shape_have_their_line(recipe, new, place):
    recipe.write_text(BAR.replace('size = ["=2*half", "40 mm", 0.03]', new))
    with pytest.raises(InputError) as caught:
        fm.reduce(recipe)
    assert place in str(caught.value)


def test_points_need_a_stiffness_and_tubes_a_bore():
    given = {"shape": "points", "points": [[0, 0, 0], [1, 0, 0]], "masses": [1, 2]}
    with pytest.raises(InputError, match="given: lacks stiffness"):
        fm.reduce({"mesh": given, "given": {"values": [[[0, 0, 0], [0, 1, 0]]]}})
    with pytest.raises(InputError, match='mesh: needs "inner_radius"'):
        fm.reduce({"mesh": {"shape": "tube", "radius": 1, "length": 1, "divisions": [1, 8, 1]}}, modes=0)


def test_rotations_that_are_not_held_are_named(recipe):
    recipe.write_text(BAR.replace("[interfaces]", "[fix]\nz_min = 'y rz'\n[interfaces]").split("left =")[0])
    warnings = fm.reduce(recipe).quality["warnings"]
    assert any("fix.z_min: nodes of solids have no rotations" in text for text in warnings)


def test_interfaces_that_share_nodes_have_their_line(recipe):
    recipe.write_text(BAR.replace('"x_max", tie', '"y_max", tie'))
    with pytest.raises(InputError, match=r"bar.toml:1\d:8  error  interfaces.left: shares"):
        fm.reduce(recipe)


def test_a_wrong_option_is_wrong_usage(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in (["--fmax", "3 kg"], ["--modes", "1.5"], ["--modes", "1", "--method", "craig"], []):
        assert main(["reduce", "part.msh", *options]) == 2
        assert capsys.readouterr().err.startswith("reduce  error  ")
    assert main(["reduce", "--from-matrices", "K", "M", "nodes", "--modes", "1"]) == 3
    assert main(["reduce", "--stiffness", "K", "--mass", "M", "--nodes", "nodes", "--modes", "1"]) == 3
    assert main(["reduce", "--stiffness", "K", "--mass", "lumped", "--nodes", "nodes"]) == 2
    assert "\nK  error  is no readable matrix file: No such file or directory" in capsys.readouterr().err


def test_the_material_is_shown(tmp_path, recipe, capsys):
    assert main(["reduce", str(recipe), "--quiet"]) == 0
    assert "material     default: E 2.1e+11 Pa, nu 0.3, rho 7850 kg/m^3" in capsys.readouterr().out


def test_units_follow_the_scale_of_the_modes(tmp_path, recipe):
    with_beam = {"shape": "beam", "length": 1, "divisions": 2, "section": {"circle": 0.1}}
    given = fm.reduce({"mesh": with_beam, "given": {"shapes": [["0", "x**2", "0"]]}})
    for modal, expected in ((fm.reduce(recipe), "1 s^-2 kg^-0.5"), (given, "kg N/m 1")):
        modal.save(tmp_path / "x.modal.h5", overwrite=True)
        with h5py.File(tmp_path / "x.modal.h5") as file:
            names = ("inertia/m_ff", "inertia/K_ff", "modes/Phi")
            assert " ".join(file[name].attrs["units"].decode() for name in names) == expected
            assert file["quality/mass"].attrs["units"] == b"kg"


def test_the_certificate_holds_the_error_against_tol(tmp_path, recipe, capsys):
    assert main(["reduce", str(recipe), "--quiet", "--tol", "0.05", "--fmax", "3 kHz"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if "over the band" in line)
    assert "<= 5e-02" in line and " ok" in line
    assert main(["info", str(tmp_path / "bar.modal.h5")]) == 0
    assert line in capsys.readouterr().out


def test_values_of_numpy_are_as_good_as_lists():
    """And a large array is part of the hash as a whole, of which its text shows the ends alone."""
    listed = {**PLATE["mesh"], "size": [1, 1, 0.1], "divisions": [1, 1, 1]}
    arrays = {**listed, "size": np.array([1.0, 1.0, 0.1]), "divisions": np.array([1, 1, 1])}
    eye = np.eye(3)
    for mesh, modes, values, pos, interfaces in (
        (listed, 2, np.ones((1, 8, 3)).cumsum().reshape(1, 8, 3).tolist(), [0, 0, 0], ["x_min"]),
        (arrays, np.int64(2), np.ones((1, 8, 3)).cumsum().reshape(1, 8, 3), np.zeros(3), "x_min"),
    ):
        body = {"mesh": mesh}
        given = fm.reduce(
            body, given={"values": values}, point_masses=[{"node": 1, "mass": 1, "inertia": eye}]
        )
        assert given.nf == 1 and given.integrals.mass == pytest.approx(786.0)
        assert fm.reduce(body, modes=modes, interfaces=interfaces).nf == 2
        assert fm.reduce(body, modes=1, interfaces={"a": {"set": "x_min", "pos": pos}}).nf == 1
    many = np.zeros((1, 2000, 3))
    other = many.copy()
    other[0, 1000, 0] = 1e-9
    assert (
        make_recipe(body, {"given": {"values": many}}).text
        != make_recipe(body, {"given": {"values": other}}).text
    )
