"""Materials, units and cards without effect: what a deck says is computed, or it stops with the remedy."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.unit_systems import UNIT_SYSTEMS, fitting
from tests.decks.samples import NUMBER, STEEL, abaqus, cube, nastran

VOLUME = 2 * 0.01**3  # [m^3] of the bar in millimetres
MASS = 7850 * VOLUME


def body(tmp_path, text, name="m.bdf", **options):
    """Modal data of a deck, rigid: its inertia and material."""
    (tmp_path / name).write_text(text)
    return fm.reduce(tmp_path / name, modes=0, **options)


def refused(tmp_path, text, name="m.bdf", **options):
    with pytest.raises(fm.InputError) as caught:
        body(tmp_path, text, name, **options)
    return caught.value.diagnostics


def codes(items):
    return [item.code for item in items]


@pytest.mark.parametrize("name, text", [("m.bdf", nastran()), ("m.inp", abaqus())])
def test_material_and_units_of_a_deck_give_its_mass(tmp_path, name, text):
    modal = body(tmp_path, text, name)
    np.testing.assert_allclose(modal.integrals.mass, MASS, rtol=1e-12)
    np.testing.assert_allclose(modal.integrals.com, [0.01, 0.005, 0.005], rtol=1e-12)
    (numbers,) = modal.materials.values()
    np.testing.assert_allclose([numbers[k] for k in ("E", "nu", "rho")], [2.1e11, 0.3, 7850], rtol=1e-12)
    assert "mm-t-s" in modal.quality["notes"][0] and not modal.quality["warnings"]


#: steel, aluminium and titanium in E and density of every set
@pytest.mark.parametrize("name", UNIT_SYSTEMS)
@pytest.mark.parametrize("E, rho", [(2.1e11, 7850.0), (7e10, 2700.0), (1.14e11, 4430.0)])
def test_metals_tell_their_units_or_ask(name, E, rho):
    system = UNIT_SYSTEMS[name]
    fits = [item.name for item in fitting([(E / system.stress, rho / system.density)])]
    assert name in fits
    assert fits == [name] or {"m-t-s", "ft-lbf-s"} == set(fits)  # these two are never far apart


def test_units_that_fit_twice_or_never_stop(tmp_path):
    found = refused(tmp_path, nastran(material="MAT1,1,2.1+8,,.3,7.85"))
    assert codes(found) == ["deck.units"] and "m-t-s and ft-lbf-s" in found[0].what
    found = refused(tmp_path, nastran(material="MAT1,1,2.1+5,,.3,7.85"))
    assert codes(found) == ["deck.units"] and "in none of the usual sets" in found[0].what
    modal = body(tmp_path, nastran(material="MAT1,1,2.1+8,,.3,7.85"), unit_system="m-t-s")
    np.testing.assert_allclose(modal.integrals.mass, 7850 * 2e3, rtol=1e-12)


def test_inches_with_wtmass(tmp_path):
    text = nastran("PARAM,WTMASS,.00259", material="MAT1,1,1.03+7,,.33,.0975", edge=1.0)
    modal = body(tmp_path, text)
    assert "in-lbf-s" in modal.quality["notes"][0]
    np.testing.assert_allclose(
        modal.integrals.mass, 2 * 0.0975 * 0.45359237, rtol=1e-3
    )  # .00259 has 3 digits


@pytest.mark.parametrize(
    "name, text",
    [
        ("m.bdf", nastran(material="")),
        ("m.bdf", nastran().replace("PSOLID,2,1", "")),
        ("m.inp", abaqus(material="")),
        ("m.inp", abaqus().replace("*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL", "")),
    ],
)
def test_without_a_material_a_deck_stops(tmp_path, name, text):
    found = refused(tmp_path, text, name)
    assert set(codes(found)) <= {"deck.material", "deck.no_material"} and "--material" in found[0].remedy
    modal = body(tmp_path, text, name, material="steel", unit_system="mm")
    np.testing.assert_allclose(modal.integrals.mass, MASS, rtol=1e-12)


@pytest.mark.parametrize(
    "name, text",
    [
        ("m.bdf", nastran(material="MAT1,1,2.1+5,,.3")),
        ("m.inp", abaqus(material=STEEL.partition("\n*DENSITY")[0])),
    ],
)
def test_without_density_a_deck_stops_and_density_alone_fills_it(tmp_path, name, text):
    assert codes(refused(tmp_path, text, name)) == ["deck.units"]  # E alone does not tell them
    found = refused(tmp_path, text, name, unit_system="mm")
    assert codes(found) == ["deck.material"] and "no density" in found[0].what
    modal = body(tmp_path, text, name, unit_system="mm", density=7850)
    np.testing.assert_allclose(modal.integrals.mass, MASS, rtol=1e-12)
    assert any("density of material" in note for note in modal.quality["notes"])


def test_a_contradiction_with_the_recipe_stops(tmp_path):
    found = refused(tmp_path, nastran(), material="aluminium")
    assert set(codes(found)) == {"deck.contradiction"} and len(found) == 3
    assert codes(refused(tmp_path, nastran(), density=7800)) == ["deck.contradiction"]
    modal = body(tmp_path, nastran(), material="steel")
    np.testing.assert_allclose(modal.integrals.mass, MASS, rtol=1e-12)
    taken = body(tmp_path, nastran(), material="aluminium", ignore=["MAT1"], unit_system="mm")
    np.testing.assert_allclose(taken.integrals.mass, 2700 * VOLUME, rtol=1e-12)
    assert "left out by --ignore: 1 MAT1" in taken.quality["warnings"][0]


def test_two_materials_of_a_deck(tmp_path):
    text = nastran("MAT1,7,7.+4,,.33,2.7-9").replace("PSOLID,2,1", "PSOLID,2,7")
    modal = body(tmp_path, text)
    np.testing.assert_allclose(modal.integrals.mass, (7850 + 2700) * VOLUME / 2, rtol=1e-12)
    assert set(modal.materials) == {"mat_1", "mat_7"}


def test_shear_modulus_stands_for_what_is_blank(tmp_path):
    G = 2.1e5 / 2.6
    for card in (f"MAT1,1,2.1+5,{G},,7.85-9", f"MAT1,1,,{G},.3,7.85-9"):
        (numbers,) = body(tmp_path, nastran(material=card)).materials.values()
        np.testing.assert_allclose([numbers["E"], numbers["nu"]], [2.1e11, 0.3], rtol=1e-7)


def test_elasticity_by_temperature_is_that_of_the_start(tmp_path):
    table = STEEL.replace("2.1e5, .3", "2.2e5, .3, 0.\n2.0e5, .3, 100.")
    modal = body(tmp_path, abaqus(material=table), "m.inp")
    np.testing.assert_allclose(modal.materials["STEEL"]["E"], 2.2e11, rtol=1e-12)
    start = abaqus("*INITIAL CONDITIONS, TYPE=TEMPERATURE\nBAR, 50.", material=table)
    modal = body(tmp_path, start, "m.inp")
    np.testing.assert_allclose(modal.materials["STEEL"]["E"], 2.1e11, rtol=1e-12)
    assert any("depends on temperature" in text for text in modal.quality["warnings"])


def test_engineering_constants_of_an_isotropic_material_are_isotropic(tmp_path):
    G = 2.1e5 / 2.6
    rows = f"2.1e5, 2.1e5, 2.1e5, .3, .3, .3, {G}, {G}\n{G}, 0."
    text = STEEL.replace("*ELASTIC\n2.1e5, .3", f"*ELASTIC, TYPE=ENGINEERING CONSTANTS\n{rows}")
    assert text != STEEL
    (tmp_path / "m.inp").write_text(abaqus(material=text))
    (item,) = read_mesh(tmp_path / "m.inp").deck.materials
    from flexmbs.fe.materials import isotropic

    np.testing.assert_allclose(item.C_mat, isotropic("", 2.1e5, 0.3, 1.0).C_mat, rtol=1e-12, atol=1e-6)


def test_what_has_no_effect_is_listed_once(tmp_path):
    loads = [f"FORCE,3,{n},,1.,0.,0.,1." for n in range(1, 5)]
    modal = body(tmp_path, nastran(*loads, "GRAV,3,,9810.,0.,0.,-1.", "EIGRL,1,,,10"))
    assert modal.quality["warnings"] == ["without effect on the body: 1 EIGRL, 4 FORCE, 1 GRAV"]


@pytest.mark.parametrize(
    "name, text, card",
    [
        ("m.bdf", nastran("DMIG,KNEW,0,6,1,0"), "DMIG"),
        ("m.bdf", nastran("QQQQ,1,2"), "QQQQ"),
        ("m.bdf", nastran("CGAP,11,3,1,2"), "CGAP"),
        ("m.inp", abaqus("*MATRIX ASSEMBLE, STIFFNESS=K"), "*MATRIX ASSEMBLE"),
        ("m.inp", abaqus("*ELEMENT, TYPE=GAPUNI, ELSET=G\n9, 1, 2"), "GAPUNI"),
        ("m.inp", abaqus("*CONTACT PAIR, INTERACTION=A\na, b"), "*CONTACT PAIR"),
    ],
)
def test_what_would_change_the_body_stops_by_name_and_can_be_left_out(tmp_path, name, text, card):
    found = refused(tmp_path, text, name)
    assert card in found[0].what and "--ignore" in found[0].remedy
    modal = body(tmp_path, text, name, ignore=[card.lstrip("*")])
    np.testing.assert_allclose(modal.integrals.mass, MASS, rtol=1e-12)
    assert any(f"left out by --ignore: 1 {card}" in text for text in modal.quality["warnings"])


def test_a_format_without_materials_says_that_steel_was_taken(tmp_path):
    nodes = [f"{n} {x * 0.01} {y * 0.01} {z * 0.01}" for (x, y, z), n in NUMBER.items()]
    cells = [f"{i + 1} 5 0 {' '.join(map(str, cube(i)))}" for i in range(2)]
    parts = [("MeshFormat", ["2.2 0 8"]), ("Nodes", [str(len(nodes)), *nodes]), ("Elements", ["2", *cells])]
    text = "\n".join(line for name, lines in parts for line in (f"${name}", *lines, f"$End{name}"))
    modal = body(tmp_path, text + "\n", "m.msh")
    (said,) = modal.quality["warnings"]
    for part in ("steel", "E = 2.1e+11 Pa", "density 7850 kg/m^3", "0.0157 kg"):
        assert part in said
    assert not body(tmp_path, text + "\n", "m.msh", material="steel").quality["warnings"]
