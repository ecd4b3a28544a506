"""Shells, bars and rods of decks: the same body said in other words, closed forms, CalculiX."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.materials import material
from flexmbs.fe.profiles import ABAQUS, NASTRAN
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.stress import stress_modes

MAT1 = "MAT1,1,7.+4,,.33,2.7-9"
MAT8 = "MAT8,2,1.4+5,9.+3,.3,5.+3,5.+3,5.+3,1.6-9"
W, H = 200.0, 120.0
NX, NY = 6, 4


def nodes(nx=NX, ny=NY):
    return [(i * W / nx, j * H / ny, 0.0) for j in range(ny + 1) for i in range(nx + 1)]


def quads(nx=NX, ny=NY):
    def at(i, j):
        return j * (nx + 1) + i + 1

    return [(at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)) for j in range(ny) for i in range(nx)]


def bulk(*entries):
    return "\n".join(["SOL 103", "CEND", "BEGIN BULK", *entries, "ENDDATA", ""])


def plate_bdf(*entries, tail=""):
    grids = [f"GRID,{n + 1},,{x},{y},{z}" for n, (x, y, z) in enumerate(nodes())]
    cells = [f"CQUAD4,{e + 1},1,{','.join(map(str, row))}{tail}" for e, row in enumerate(quads())]
    return bulk(*grids, *cells, *entries)


STEEL = "*MATERIAL, NAME=M\n*ELASTIC\n7.e4, .33\n*DENSITY\n2.7e-9"
LAMINA = (
    "*MATERIAL, NAME=M\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.4e5, 9.e3, 9.e3, .3, 0., 0., 5.e3, 5.e3\n"
    "5.e3\n*DENSITY\n1.6e-9"
)


def plate_inp(section, kind="S4", material=STEEL, cards=""):
    lines = ["*NODE", *(f"{n + 1}, {x}, {y}, {z}" for n, (x, y, z) in enumerate(nodes()))]
    lines += [f"*ELEMENT, TYPE={kind}, ELSET=E"]
    lines += [f"{e + 1}, {', '.join(map(str, row))}" for e, row in enumerate(quads())]
    return "\n".join([*lines, material, cards, section, ""])


def reduced(tmp_path, text, name, **options):
    (tmp_path / name).write_text(text)
    return fm.reduce(tmp_path / name, modes=6, stress="none", geometric_stiffness=False, **options)


def frequencies(tmp_path, text, name="p.bdf", **options):
    return reduced(tmp_path, text, name, **options).frequency_hz


def refused(tmp_path, text, name):
    with pytest.raises(InputError) as error:
        reduced(tmp_path, text, name)
    return str(error.value)


PLAIN = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1)


def test_a_plate_is_that_of_the_recipe_in_both_dialects(tmp_path):
    plain = frequencies(tmp_path, PLAIN)
    bare = [line for line in PLAIN.splitlines() if not line.startswith(("PSHELL", "MAT1"))]
    (tmp_path / "bare.bdf").write_text("\n".join(bare))
    recipe = """modes = 6
unit_system = "mm"
mesh = { file = "bare.bdf", thickness = "2 mm" }
material = { young = 7e10, poisson = 0.33, density = 2700 }
"""
    (tmp_path / "plate.toml").write_text(recipe)
    np.testing.assert_allclose(fm.reduce(tmp_path / "plate.toml").frequency_hz, plain, rtol=1e-9)
    inp = frequencies(tmp_path, plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M\n2."), "p.inp")
    np.testing.assert_allclose(inp, plain, rtol=1e-9)


LAYERS = "PCOMP,1,,,,,,,SYM,+\n+,2,.5,0.,,2,.5,90."
CROSSED = "PCOMP,1,,,,,,,SYM,+\n+,2,.5,90.,,2,.5,0."
PLIES = "\n".join(f".5, 3, M, {angle}." for angle in (0, 90, 90, 0))


def test_a_laminate_in_both_dialects_and_its_closed_form(tmp_path):
    """[0 90]s: the mass, and by the first bending mode the stiffness along x, E_x I of its layers."""
    modal = reduced(tmp_path, plate_bdf(LAYERS, MAT8), "l.bdf")
    assert modal.integrals.mass == pytest.approx(1.6e-9 * 1e3 * W * H * 2.0, rel=1e-9)
    text = plate_inp(f"*SHELL SECTION, ELSET=E, COMPOSITE\n{PLIES}", material=LAMINA)
    np.testing.assert_allclose(frequencies(tmp_path, text, "l.inp"), modal.frequency_hz, rtol=1e-9)
    turned = frequencies(tmp_path, plate_bdf(LAYERS, MAT8, tail=",90."), "t.bdf")
    rigid, huge = (MAT8.replace("5.+3,5.+3,5.+3", f"5.+3,{G},{G}") for G in ("", "1.+15"))
    stiff = frequencies(tmp_path, plate_bdf(LAYERS, rigid), "g.bdf")
    np.testing.assert_allclose(frequencies(tmp_path, plate_bdf(LAYERS, huge), "h.bdf"), stiff, rtol=1e-9)
    swapped = frequencies(tmp_path, plate_bdf(CROSSED, MAT8), "s.bdf")
    np.testing.assert_allclose(turned, swapped, rtol=1e-9)
    assert np.abs(turned / modal.frequency_hz - 1).max() > 0.05
    system = "CORD2R,7,,0.,0.,0.,0.,0.,1.,+\n+,0.,1.,0."  # its x along y
    by_system = frequencies(tmp_path, plate_bdf(LAYERS, MAT8, system, tail=",7"), "m.bdf")
    np.testing.assert_allclose(by_system, turned, rtol=1e-9)


def test_bending_stiffness_of_a_strip_of_layers(tmp_path):
    """Tip of a narrow cantilever of [0 90]s: P L^3 / 3 E I with the E of each layer along x."""
    n, L, b = 20, 200.0, 4.0
    grids = [f"GRID,{2 * i + j + 1},,{i * L / n},{j * b},0." for i in range(n + 1) for j in range(2)]
    cells = [f"CQUAD4,{i + 1},1,{2 * i + 1},{2 * i + 3},{2 * i + 4},{2 * i + 2}" for i in range(n)]
    material = MAT8.replace(",.3,", ",0.,")
    text = bulk(*grids, *cells, LAYERS, material, f"SET1,1,1,2\nSET1,2,{2 * n + 1},{2 * n + 2}")
    ends = {"root": {"set": "set_1"}, "tip": {"set": "set_2"}}
    modal = reduced(tmp_path, text, "strip.bdf", interfaces=ends)
    K = np.linalg.inv(modal.integrals.K_ff)
    rows = modal.interfaces["tip"].Phi[2] - modal.interfaces["root"].Phi[2]
    turn = modal.interfaces["root"].Psi[1]
    rows = rows + turn * L * 1e-3  # seen from the root
    compliance = rows @ K @ rows
    z = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) * 1e-3
    EI = b * 1e-3 * (np.array([1.4e11, 9e9, 9e9, 1.4e11]) * np.diff(z**3) / 3).sum()
    assert compliance == pytest.approx((L * 1e-3) ** 3 / (3 * EI), rel=5e-3)


def test_offsets_thicknesses_and_mass_of_their_own(tmp_path):
    for text, name, com in (
        (plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, tail=",,3."), "z.bdf", 3e-3),
        (plate_bdf("PCOMP,1,0.\n+,1,2.", MAT1), "y.bdf", 1e-3),
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M, OFFSET=SPOS\n2."), "z.inp", -1e-3),
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M, OFFSET=-0.5\n2."), "y.inp", 1e-3),
    ):
        modal = reduced(tmp_path, text, name)
        assert modal.integrals.com[2] == pytest.approx(com)
        np.testing.assert_allclose(modal.frequency_hz, frequencies(tmp_path, PLAIN), rtol=1e-3)
    thick = plate_bdf("PSHELL,1,1,2.,1,,1,,5.-9", MAT1, tail=",,,+\n+,,,4.,4.,4.,4.")
    mass = reduced(tmp_path, thick, "t.bdf").integrals.mass
    assert mass == pytest.approx((2.7e-9 * 4.0 + 5e-9) * 1e3 * W * H)


def test_shear_and_bending_factors(tmp_path):
    """12 I / t^3 = 4 doubles slow frequencies of a thin plate; no bending at all leaves a membrane."""
    plain = frequencies(tmp_path, PLAIN)
    stiff = frequencies(tmp_path, plate_bdf("PSHELL,1,1,2.,1,4.,1", MAT1))
    np.testing.assert_allclose(stiff, 2 * plain, rtol=2e-2)


def as_mat2(mid, Q, rho=""):
    return f"MAT2,{mid}," + "".join(f"{Q[i, j]:.9g}," for i in range(3) for j in range(i, 3)) + rho


def plane(E, nu):
    return E / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])


def test_materials_of_stretch_bending_shear_and_between_are_the_laminate(tmp_path):
    """G1 = int Q / T, G2 = int z^2 Q / I, G4 = -int z Q / T^2 of three plies."""
    plies = (
        (1.0, plane(2e5, 0.3), 2e5 / 2.6),
        (2.0, plane(7e4, 0.33), 7e4 / 2.66),
        (0.5, plane(3e4, 0.2), 3e4 / 2.4),
    )
    T, z, G = 3.5, -1.75, [np.zeros((3, 3)) for _ in range(3)]
    for t, Q, _ in plies:
        for n in range(3):
            G[n] += Q * ((z + t) ** (n + 1) - z ** (n + 1)) / (n + 1)
        z += t
    across = sum(t * shear for t, _, shear in plies) / T
    mats = [as_mat2(11, G[0] / T, "5.-9"), as_mat2(12, G[2] * 12 / T**3), as_mat2(14, -G[1] / T**2)]
    mats.append(f"MAT2,13,{across:.9g},0.,,{across:.9g}")
    moduli = plate_bdf("PSHELL,1,11,3.5,12,,13,,0.,+\n+,,,14", *mats)
    laminate = plate_bdf(
        "PCOMP,1,,,,,,,,+\n+,1,1.,0.,,2,2.,0.,,+\n+,3,.5,0.",
        "MAT1,1,2.+5,,.3,5.-9", "MAT1,2,7.+4,,.33,5.-9", "MAT1,3,3.+4,,.2,5.-9",
    )  # fmt: skip
    one, other = reduced(tmp_path, moduli, "m.bdf"), reduced(tmp_path, laminate, "l.bdf")
    np.testing.assert_allclose(one.frequency_hz, other.frequency_hz, rtol=1e-6)
    free = reduced(tmp_path, moduli.replace("+\n+,,,14", ""), "u.bdf").frequency_hz
    assert (free > 1.02 * other.frequency_hz).any()  # what MID4 says matters
    with_offset = re.compile(r"^(CQUAD4,.*)$", re.M)
    offset = [reduced(tmp_path, with_offset.sub(r"\1,,1.5", text), "o.bdf") for text in (moduli, laminate)]
    np.testing.assert_allclose(offset[0].frequency_hz, offset[1].frequency_hz, rtol=1e-6)


def test_another_material_of_the_same_constants_is_the_same_plate(tmp_path):
    """Stiffness, masses and stresses; a stiffer core in bending is not."""
    plain = plate_bdf("PSHELL,1,1,2.,1,1.5,1", MAT1)
    copy = plate_bdf("PSHELL,1,1,2.,3,1.5,3", MAT1, MAT1.replace("MAT1,1", "MAT1,3"))
    found = []
    for text in (plain, copy):
        (tmp_path / "p.bdf").write_text(text)
        found.append(fm.reduce(tmp_path / "p.bdf", modes=3))
    np.testing.assert_allclose(found[1].frequency_hz, found[0].frequency_hz, rtol=1e-9)
    U = np.random.default_rng(3).normal(size=(6 * found[0].mesh.n_nodes, 2))
    alloy = material({"young": 7e10, "poisson": 0.33, "density": 2700})
    for face in ("top", "middle", "bottom"):
        one, other = (stress_modes(item.mesh, alloy, U, face=face) for item in found)
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-9 * np.abs(one).max())
    np.testing.assert_allclose(found[1].integrals.mass, found[0].integrals.mass, rtol=1e-12)
    sandwich = plate_bdf("PSHELL,1,1,2.,3,12.,3", MAT1, "MAT1,3,3.5+4,,.33")
    ratio = reduced(tmp_path, sandwich, "s.bdf").frequency_hz / reduced(tmp_path, PLAIN, "p.bdf").frequency_hz
    np.testing.assert_allclose(ratio[0], np.sqrt(12 * 0.5), rtol=2e-2)  # D over that of the plain plate


def test_a_shell_by_its_stiffness(tmp_path):
    """*SHELL GENERAL SECTION with A, B, D of a laminate in the axes of an orientation, and with its shear."""
    layup = ((0.8, 30.0), (1.2, -20.0))
    E1, E2, nu, G = 1.4e5, 9e3, 0.3, 5e3
    Q = np.array([[E1, nu * E2, 0], [nu * E2, E2, 0], [0, 0, 0]]) / (1 - nu**2 * E2 / E1)
    Q[2, 2] = G
    parts, z = [np.zeros((3, 3)) for _ in range(3)], -1.0
    for t, degrees in layup:
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        T = np.array([[c * c, s * s, c * s], [s * s, c * c, -c * s], [-2 * c * s, 2 * c * s, c * c - s * s]])
        for n in range(3):
            parts[n] += T.T @ Q @ T * ((z + t) ** (n + 1) - z ** (n + 1)) / (n + 1)
        z += t
    D = np.block([[parts[0], parts[1]], [parts[1], parts[2]]])
    numbers = [f"{D[i, j]:.10e}" for j in range(6) for i in range(j + 1)]
    lines = "\n".join(", ".join(numbers[k : k + 8]) for k in (0, 8, 16))
    turned = "*ORIENTATION, NAME=O\n1., .7, 0., -.7, 1., 0.\n3, 0.\n"
    shear = f"*TRANSVERSE SHEAR STIFFNESS\n{2.0 * 5 / 6 * G}, {2.0 * 5 / 6 * G}, 0."
    general = f"{turned}*SHELL GENERAL SECTION, ELSET=E, ORIENTATION=O, DENSITY=3.2E-9\n{lines}\n{shear}"
    plies = "\n".join(f"{t}, , M, {degrees}" for t, degrees in layup)
    layers = f"{turned}*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=O\n{plies}"
    one = reduced(tmp_path, plate_inp(general, material="*HEADING\n"), "g.inp", unit_system="mm")
    other = reduced(tmp_path, plate_inp(layers, material=LAMINA), "l.inp")
    np.testing.assert_allclose(
        one.frequency_hz, other.frequency_hz, rtol=1e-4
    )  # their fibres are of other depth
    np.testing.assert_allclose(one.integrals.mass, other.integrals.mass, rtol=1e-9)
    short = general.replace("SHEAR STIFFNESS", "SHEAR")  # enough letters to tell it
    again = reduced(tmp_path, plate_inp(short, material="*HEADING\n"), "s.inp", unit_system="mm")
    np.testing.assert_allclose(again.frequency_hz, one.frequency_hz, rtol=1e-12)
    found = refused(
        tmp_path, plate_inp(general.replace(numbers[3] + ",", "", 1), material="*HEADING\n"), "f.inp"
    )
    assert "21 stiffnesses" in found


def test_membranes_on_the_faces_of_a_brick(tmp_path):
    """A skin on both faces of a brick across its bending: E b t h^2 / 2 beside E b h^3 / 12."""
    n, t, h, b = 20, 1.0, 20.0, 20.0
    grids = [
        f"GRID,{4 * i + k + 1},,{i * 20.0},{y * b},{z * h}"
        for i in range(n + 1)
        for k, (y, z) in enumerate([(0, 0), (1, 0), (1, 1), (0, 1)])
    ]
    bricks, skin = [], []
    for i in range(n):
        a, c = [4 * i + k for k in (1, 2, 3, 4)], [4 * i + 4 + k for k in (1, 2, 3, 4)]
        bricks.append(f"CHEXA,{i + 1},1,{','.join(map(str, [*a, *c][:6]))},+\n+,{c[2]},{c[3]}")
        skin += [
            f"CQUAD4,{100 + i},2,{a[0]},{c[0]},{c[1]},{a[1]}",
            f"CQUAD4,{200 + i},2,{a[3]},{c[3]},{c[2]},{a[2]}",
        ]
    steel, prop = "MAT1,1,2.1+5,,0.,7.85-9", ("PSOLID,1,1", "MAT1,2,2.1+5,,0.,7.85-12", f"PSHELL,2,2,{t}")
    bare = frequencies(tmp_path, bulk(*grids, *bricks, prop[0], steel), "bare.bdf")
    modal = reduced(tmp_path, bulk(*grids, *bricks, *skin, *prop, steel), "skin.bdf", unit_system="mm")
    # bending across the skins, and in their planes
    ratios = sorted([np.sqrt(1 + 6 * t / h), np.sqrt(1 + 2 * t / h)])
    np.testing.assert_allclose(np.sort(modal.frequency_hz[:2] / bare[:2]), ratios, rtol=5e-3)


BARS = [f"GRID,{i + 1},,{100.0 * i},0.,0." for i in range(11)]


def bars(entry, *more):
    return bulk(*BARS, *(entry.format(e=i + 1, a=i + 1, b=i + 2) for i in range(10)), *more)


def test_bars_by_numbers_and_by_name_against_the_free_beam(tmp_path):
    """f = 22.3733 / 2 pi sqrt(E I / rho A L^4), I1 in the plane of the orientation."""
    b, h = 20.0, 40.0
    numbers = f"PBAR,1,1,{b * h},{b * h**3 / 12},{h * b**3 / 12},1.+5"
    text = bars("CBAR,{e},1,{a},{b},0.,0.,1.", numbers, "MAT1,1,2.1+5,,.3,7.85-9")
    found = frequencies(tmp_path, text)
    for I, k in ((h * b**3 / 12, 0), (b * h**3 / 12, 1)):
        expected = 22.3733 / (2 * np.pi) * np.sqrt(2.1e5 * I / (7.85e-9 * b * h * 1000.0**4))
        assert found[k] == pytest.approx(expected, rel=1e-3)
    tall = reduced(tmp_path, text, "b.bdf")
    root = tall.mesh.beam.axes[0]
    np.testing.assert_allclose(root[1], [0, 0, 1], atol=1e-12)
    named = bars(
        "CBEAM,{e},1,{a},{b},0.,0.,1.", f"PBEAML,1,1,,BAR,,,,,+\n+,{b},{h}", "MAT1,1,2.1+5,,.3,7.85-9"
    )
    np.testing.assert_allclose(frequencies(tmp_path, named), found, rtol=2e-2)
    inp = "*NODE\n" + "\n".join(f"{i + 1}, {100.0 * i}, 0., 0." for i in range(11))
    material = STEEL.replace("7.e4, .33", "2.1e5, .3").replace("2.7e-9", "7.85e-9")
    section = f"*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n{h}, {b}\n0., 0., 1.\n"
    linear = "*ELEMENT, TYPE=B31, ELSET=E\n" + "\n".join(f"{i + 1}, {i + 1}, {i + 2}" for i in range(10))
    squares = "*ELEMENT, TYPE=B32, ELSET=E\n" + "\n".join(
        f"{i + 1}, {2 * i + 1}, {2 * i + 2}, {2 * i + 3}" for i in range(5)
    )
    for cells in (linear, squares):
        text = "\n".join([inp, cells, material, section])
        np.testing.assert_allclose(
            frequencies(tmp_path, text, "b.inp"), frequencies(tmp_path, named), rtol=1e-9
        )


def test_a_clamped_bar_is_clamped(tmp_path):
    """f = 3.5160 / 2 pi sqrt(E I / rho A L^4); before, the rotations of a support were left free."""
    numbers = "PBAR,1,1,800.,1.+5,1.+5,1.+5"
    text = bars("CBAR,{e},1,{a},{b},0.,0.,1.", numbers, "MAT1,1,2.1+5,,.3,7.85-9", "SPC1,4,123456,1")
    modal = reduced(tmp_path, text.replace("CEND", "CEND\nSPC = 4"), "p.bdf", supports="fix")
    assert modal.quality["rigid_modes"] == 0
    expected = 3.5160153 / (2 * np.pi) * np.sqrt(2.1e5 * 1e5 / (7.85e-9 * 800.0 * 1000.0**4))
    np.testing.assert_allclose(modal.frequency_hz[:2], expected, rtol=1e-3)


def test_rotations_count_in_the_mean_of_beams(tmp_path):
    """The mean of one node is the node; nodes on a line do not carry a turn about it, their rotations do."""
    prop, steel = "PBARL,1,1,,TUBE,,,,,+\n+,20.,15.", "MAT1,1,2.1+5,,.3,7.85-9"
    line = ("CBAR,{e},1,{a},{b},0.,0.,1.", prop, steel, "GRID,50,,500.,90.,0.", "CONM2,70,50,,1.-4")
    rigid = frequencies(tmp_path, bars(*line, "RBE2,60,6,123456,50"), "r.bdf")
    alone = frequencies(tmp_path, bars(*line, "RBE3,60,,50,123456,1.,123456,6"), "a.bdf")
    np.testing.assert_allclose(alone, rigid, rtol=1e-9)
    mean = bars(*line, "RBE3,60,,50,123456,1.,1234,5,6,+\n+,7")
    three = frequencies(tmp_path, mean, "m.bdf")
    assert 1e-4 < np.abs(three / rigid - 1.0).max() < 0.5
    assert "carry no rotation" in refused(tmp_path, mean.replace("1.,1234", "1.,123"), "q.bdf")


def test_tapered_beams_are_computed_as_tapered(tmp_path):
    """One CBEAM of rectangles from 40 x 20 to 20 x 10 is the tapered beam of a recipe, cut finer."""
    ends = ["GRID,1,,0.,0.,0.", "GRID,2,,1000.,0.,0.", "CBEAM,1,1,1,2,0.,0.,1.", "MAT1,1,2.1+5,,.3,7.85-9"]
    named = bulk(*ends, "PBEAML,1,1,,BAR,,,,,+\n+,20.,40.,0.,YES,1.,10.,20.,0.")
    recipe = {
        "mesh": {
            "shape": "beam", "divisions": 64, "nodes": [[0, 0, 0], [1, 0, 0]], "theory": "timoshenko",
            "section": {"rectangle": [0.04, 0.02], "shear_factor": 5 / 6}, "y_axis": [0, 0, 1],
            "section_end": {"rectangle": [0.02, 0.01], "shear_factor": 5 / 6},
        },
        "modes": 4, "stress": "none",
    }  # fmt: skip
    fine = fm.reduce(recipe)
    found = reduced(tmp_path, named, "t.bdf")
    np.testing.assert_allclose(found.frequency_hz[:4], fine.frequency_hz[:4], rtol=2e-2)
    np.testing.assert_allclose(found.integrals.mass, 7850 * (0.04 * 0.02 * 7 / 12), rtol=3e-3)
    A, I = (800.0, 200.0), ((106666.7, 6666.7), (26666.7, 1666.7))
    numbers = [
        f"PBEAM,1,1,{A[0]},{I[0][0]},{I[1][0]},,73241.,,+", "+,,,,,,,,,+",
        f"+,YES,1.,{A[1]},{I[0][1]},{I[1][1]},,4578.,,+", "+,,,,,,,,,+", "+,.8333,.8333",
    ]  # fmt: skip
    linear = reduced(tmp_path, bulk(*ends, *numbers), "n.bdf")
    np.testing.assert_allclose(linear.integrals.mass, 7850 * 5e-4, rtol=1e-6)
    assert 0.9 < linear.frequency_hz[0] / found.frequency_hz[0] < 1.3


def test_sections_of_abaqus_by_walls_and_by_shapes_of_general_sections(tmp_path):
    nodes = "*NODE\n" + "\n".join(f"{i + 1}, {100.0 * i}, 0., 0." for i in range(11))
    cells = "*ELEMENT, TYPE=B31, ELSET=E\n" + "\n".join(f"{i + 1}, {i + 1}, {i + 2}" for i in range(10))
    shapes = {
        "TRAPEZOID": "40., 30., 20., 10.", "HEX": "30., 3.", "L": "50., 40., 3., 4.", "RECT": "20., 30.",
        "ARBITRARY": "3, 15., 18., 15., 0., .5\n-15., 0., .5\n-15., 18., .5",
    }  # fmt: skip
    for name, sizes in shapes.items():
        own = f"*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION={name}\n{sizes}\n0., 0., 1."
        general = f"*BEAM GENERAL SECTION, ELSET=E, SECTION={name}, DENSITY=2.7E-9\n{sizes}\n0., 0., 1."
        general += f"\n7.E4, {7e4 / 2.66}"
        one, other = (
            reduced(tmp_path, "\n".join([nodes, cells, STEEL, text, ""]), "b.inp") for text in (own, general)
        )
        np.testing.assert_allclose(one.frequency_hz, other.frequency_hz, rtol=1e-9)
        assert one.quality["rigid_modes"] == 6
    channel = reduced(tmp_path, "\n".join([nodes, cells, STEEL, own, ""]), "b.inp")
    # first axis z, second axis -y: the walls reach from the nodes, at the web, to the second axis
    np.testing.assert_allclose(
        channel.integrals.S_O / channel.integrals.mass, [0.5, -(18**2) / 66 * 1e-3, 0.0], atol=1e-9
    )
    with pytest.raises(InputError, match="3 each in lines of their own"):
        reduced(tmp_path, "\n".join([nodes, cells, STEEL, own.replace("3, 15.", "5, 15.")]), "c.inp")


def test_axes_of_beams_run_through_the_shear_centre(tmp_path):
    """CBEAM with PBEAML: the centroid stands off the nodes; CBAR with PBARL: it is on them; PBEAM says it."""
    steel, sizes = "MAT1,1,2.1+5,,.3,7.85-9", ",CHAN,,,,,+\n+,20.,32.,2.,2."
    bar = reduced(tmp_path, bars("CBAR,{e},1,{a},{b},0.,1.,0.", f"PBARL,1,1,{sizes}", steel), "a.bdf")
    beam = reduced(tmp_path, bars("CBEAM,{e},1,{a},{b},0.,1.,0.", f"PBEAML,1,1,{sizes}", steel), "b.bdf")
    assert abs(bar.integrals.S_O[1:]).max() < 1e-9
    made = NASTRAN["CHAN"][1](20.0, 32.0, 2.0, 2.0)
    off = -made.section.shear_centre[1] * 1e-3
    np.testing.assert_allclose(beam.integrals.S_O / beam.integrals.mass, [0.5, 0.0, off], atol=1e-9)
    s = made.section
    by_hand = [
        f"PBEAM,1,1,{s.A},{s.Iz},{s.Iy},,{s.J},,+", "+,,,,,,,,,+",
        f"+,{s.shear_factor[0]:.4f},{s.shear_factor[1]:.4f},,,,,,,+", f"+,,,,,0.,{off * 1e3:.5f}",
    ]  # fmt: skip
    said = reduced(tmp_path, bars("CBEAM,{e},1,{a},{b},0.,1.,0.", *by_hand, steel), "c.bdf")
    np.testing.assert_allclose(said.integrals.S_O, beam.integrals.S_O, atol=1e-7)
    np.testing.assert_allclose(said.frequency_hz, beam.frequency_hz, rtol=1e-3)
    assert np.abs(beam.frequency_hz / bar.frequency_hz - 1).max() > 0.02


def test_offsets_and_pins_of_bars(tmp_path):
    entry = "CBAR,{e},1,{a},{b},0.,0.,1.,,+\n+,,,0.,7.,0.,0.,7.,0."
    prop, steel = "PBARL,1,1,,TUBE,,,,,+\n+,20.,15.", "MAT1,1,2.1+5,,.3,7.85-9"
    modal = reduced(tmp_path, bars(entry, prop, steel), "o.bdf")
    assert modal.integrals.com[1] == pytest.approx(7e-3)
    plain = bars("CBAR,{e},1,{a},{b},0.,0.,1.", prop, steel)
    np.testing.assert_allclose(modal.frequency_hz, frequencies(tmp_path, plain), rtol=1e-6)
    hinged = plain.replace("CBAR,5,1,5,6,0.,0.,1.", "CBAR,5,1,5,6,0.,0.,1.,,+\n+,,56")
    data = read_mesh(tmp_path / "o.bdf")
    assert data.deck.beam_cells.number.tolist() == list(range(1, 11))
    (tmp_path / "h.bdf").write_text(hinged)
    assert np.flatnonzero(read_mesh(tmp_path / "h.bdf").deck.beam_cells.released[4]).tolist() == [10, 11]


TETRA = [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (0.0, 0.0, 100.0)]
EDGES = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]


def test_a_tetrahedron_of_rods_in_all_words(tmp_path):
    grids = [f"GRID,{n + 1},,{x},{y},{z}" for n, (x, y, z) in enumerate(TETRA)]
    found = {}
    for name, element, prop in (
        ("CROD", "CROD,{e},1,{a},{b}", "PROD,1,1,50."),
        ("CONROD", "CONROD,{e},{a},{b},1,50.", ""),
        ("CTUBE", "CTUBE,{e},1,{a},{b}", f"PTUBE,1,1,{np.sqrt(200 / np.pi):.9f}"),
    ):
        cells = [element.format(e=e + 1, a=a, b=b) for e, (a, b) in enumerate(EDGES)]
        found[name] = reduced(tmp_path, bulk(*grids, *cells, prop, MAT1), f"{name}.bdf")
    inp = ["*NODE", *(f"{n + 1}, {x}, {y}, {z}" for n, (x, y, z) in enumerate(TETRA))]
    inp += ["*ELEMENT, TYPE=T3D2, ELSET=E", *(f"{e + 1}, {a}, {b}" for e, (a, b) in enumerate(EDGES))]
    inp += [STEEL, "*SOLID SECTION, ELSET=E, MATERIAL=M", "50.", ""]
    found["T3D2"] = reduced(tmp_path, "\n".join(inp), "t.inp")
    X = np.array(TETRA)
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    for a, b in EDGES:
        d = X[b - 1] - X[a - 1]
        size = np.linalg.norm(d)
        for i, j, sign, share in ((a, a, 1, 2), (b, b, 1, 2), (a, b, -1, 1), (b, a, -1, 1)):
            rows, cols = slice(3 * i - 3, 3 * i), slice(3 * j - 3, 3 * j)
            K[rows, cols] += sign * 7e4 * 50.0 / size**3 * np.outer(d, d)
            M[rows, cols] += share * 2.7e-9 * 50.0 * size / 6 * np.eye(3)
    omega2 = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)[6:]
    for name, modal in found.items():
        np.testing.assert_allclose(modal.frequency_hz, np.sqrt(omega2) / (2 * np.pi), rtol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        (("PSHELL,1,,2.,1,,1", MAT1), "without stiffness in its plane"),
        (("PCOMP,1,,,,,,,MEM,+\n+,2,.5,0.", MAT8), "LAM = MEM"),
        (("PSHELL,1,1,0.,1", MAT1), "no thickness"),
        (("PCOMP,1\n+,2,.5,0.,,,-1.", MAT8), "without material or thickness"),
    ],
)
def test_sections_that_are_not_understood_stop(tmp_path, entries, says):
    assert says in refused(tmp_path, plate_bdf(*entries), "p.bdf")


@pytest.mark.parametrize(
    ("prop", "says"),
    [
        ("PBARL,1,1,,RAIL,,,,,+\n+,1.,1.,1.,1.", "PBARL of type RAIL"),
        ("PBARL,1,1,,BOX,,,,,+\n+,10.,10.,6.,1.", "do not fit together"),
        ("PBEAM,1,1,10.,1.,1.,,1.,,+\n+,,,,,,,,,+\n+,,,,,,,,,+\n+,1.", "off the shear centre"),
        ("PBAR,1,1,0.,1.,1.,1.", "expected a positive number"),
    ],
)
def test_bars_that_are_not_understood_stop(tmp_path, prop, says):
    assert says in refused(tmp_path, bars("CBAR,{e},1,{a},{b},0.,0.,1.", prop, MAT1), "p.bdf")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (plate_inp("*SHELL SECTION, ELSET=E, COMPOSITE\n1., 3, M, ORI", material=LAMINA), "ORIENTATION"),
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M\n0."), "expected a positive number"),
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M, NODAL THICKNESS\n1."), "thicknesses of nodes"),
        (plate_inp("*SOLID SECTION, ELSET=E, MATERIAL=M\n1.", kind="CPS4"), "section of a plane"),
    ],
)
def test_keywords_that_are_not_understood_stop(tmp_path, text, says):
    assert says in refused(tmp_path, text, "p.inp")


def test_a_surface_of_shells_is_an_interface(tmp_path):
    text = plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M\n2.", cards="*SURFACE, NAME=TOP\n1, SPOS\n2, SPOS")
    modal = reduced(tmp_path, text, "p.inp", interfaces={"top": {"set": "TOP", "tie": "rbe3"}})
    assert len(modal.interfaces["top"].nodes) == 6


def test_shapes_have_the_numbers_of_their_walls():
    """Area and moments by counting points of a fine grid."""
    y, z = (np.linspace(-60, 60, 1201)[:-1] + 0.05 for _ in range(2))
    Y, Z = np.meshgrid(y, z, indexing="ij")
    inside = (np.abs(Y) < 20) & (np.abs(Z) < 50) & ~((np.abs(Y) < 18) & (np.abs(Z) < 46))
    for found in (
        NASTRAN["BOX"][1](100.0, 40.0, 2.0, 4.0),
        ABAQUS["BOX"][1](40.0, 100.0, 2.0, 4.0, 2.0, 4.0),
    ):
        s, area = found.section, inside.sum() * 0.01
        np.testing.assert_allclose(s.A, area, rtol=1e-9)
        moments = sorted([(Y[inside] ** 2).sum() * 0.01, (Z[inside] ** 2).sum() * 0.01])
        np.testing.assert_allclose(sorted([s.Iz, s.Iy]), moments, rtol=1e-5)
    tee = NASTRAN["T"][1](60.0, 80.0, 6.0, 4.0)
    inside = ((Y > 34) & (Y < 40) & (np.abs(Z) < 30)) | ((Y > -40) & (Y <= 34) & (np.abs(Z) < 2))
    area = inside.sum() * 0.01
    middle = Y[inside].sum() * 0.01 / area
    np.testing.assert_allclose(tee.section.A, area, rtol=1e-9)
    np.testing.assert_allclose(tee.centre[0], middle + 40.0, rtol=1e-9)
    np.testing.assert_allclose(tee.section.Iz, ((Y[inside] - middle) ** 2).sum() * 0.01, rtol=1e-5)
    np.testing.assert_allclose(tee.section.Iy, (Z[inside] ** 2).sum() * 0.01, rtol=1e-5)


#: outlines (y, z) as the sketches of the manual draw them, with sizes in millimetres
OUTLINES = {
    "CROSS": ((20, 4, 30, 6), lambda y, z: (z < 2) & (y < 15) | (z < 12) & (y < 3)),
    "H": ((24, 8, 30, 6), lambda y, z: (z < 16) & (z > 12) & (y < 15) | (z < 12) & (y < 3)),
    "T1": ((30, 20, 4, 6), lambda y, z: (z < 2) & (y < 15) | (z > 2) & (z < 22) & (y < 3)),
    "T2": ((30, 24, 4, 6), lambda y, z: (y > 0) & ((y < 4) & (z < 15) | (y < 24) & (z < 3))),
    "CHAN2": ((4, 6, 20, 30), lambda y, z: (y > 0) & ((y < 6) & (z < 15) | (y < 20) & (z > 11) & (z < 15))),
    "HAT": (
        (20, 2, 16, 10),
        lambda y, z: (
            (y > 18) & (y < 20) & (z < 8)
            | (y > 0) & (y < 20) & (z > 6) & (z < 8)
            | (y > 0) & (y < 2) & (z > 6) & (z < 18)
        ),
    ),
}


@pytest.mark.parametrize("name", OUTLINES)
def test_further_shapes_have_the_numbers_of_their_outlines(name):
    """Area and moments by counting points; both sides are alike but that of T1."""
    sizes, outline = OUTLINES[name]
    grid = np.linspace(-40, 40, 1601)[:-1] + 0.025
    Y, Z = np.meshgrid(grid, grid, indexing="ij")
    y, z = (np.abs(Y) if name in ("CROSS", "H", "T1") else Y), (Z if name == "T1" else np.abs(Z))
    inside = outline(y, z) & (Z > -2 if name == "T1" else True)
    n, make = NASTRAN[name]
    found = make(*map(float, sizes)).section
    assert n == len(sizes)
    area = inside.sum() * 0.0025
    np.testing.assert_allclose(found.A, area, rtol=1e-9)
    for moment, values in ((found.Iz, Y[inside]), (found.Iy, Z[inside])):
        np.testing.assert_allclose(moment, ((values - values.mean()) ** 2).sum() * 0.0025, rtol=1e-4)


CCX = shutil.which("ccx")


@pytest.mark.slow
@pytest.mark.needs("ccx")
@pytest.mark.parametrize("what", ["shell", "beam"])
def test_the_same_deck_in_calculix(tmp_path, what):
    """CalculiX makes solids of both: thin plates and slender beams agree within a percent."""
    nx, ny = 12, 8
    if what == "shell":
        index, cells = {}, []
        ring = [(0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1)]
        for j in range(ny):
            for i in range(nx):
                places = [(2 * i + a, 2 * j + b) for a, b in ring]
                cells.append([index.setdefault(place, len(index) + 1) for place in places])
        lines = ["*NODE", *(f"{n}, {a * W / nx / 2}, {b * H / ny / 2}, 0." for (a, b), n in index.items())]
        lines += ["*ELEMENT, TYPE=S8R, ELSET=E"]
        lines += [f"{e + 1}, {', '.join(map(str, row))}" for e, row in enumerate(cells)]
        lines += [STEEL, "*SHELL SECTION, ELSET=E, MATERIAL=M", "2."]
    else:
        lines = ["*NODE", *(f"{n + 1}, {25.0 * n}, 0., 0." for n in range(41))]
        lines += ["*ELEMENT, TYPE=B32, ELSET=E"]
        lines += [f"{e + 1}, {2 * e + 1}, {2 * e + 2}, {2 * e + 3}" for e in range(20)]
        lines += [STEEL, "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT", "20., 30.", "0., 1., 0."]
    own = frequencies(tmp_path, "\n".join([*lines, ""]), "own.inp")
    step = ["*STEP", "*FREQUENCY", "12", "*END STEP", ""]
    (tmp_path / "theirs.inp").write_text("\n".join([*lines, *step]))
    subprocess.run([CCX, "theirs"], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    rows = re.findall(r"^\s+\d+\s+\S+\s+\S+\s+(\S+)\s+\S+\s*$", (tmp_path / "theirs.dat").read_text(), re.M)
    theirs = np.array([float(row) for row in rows])
    theirs = theirs[theirs > 1.0][: 4 if what == "shell" else 2]
    np.testing.assert_allclose(own[: len(theirs)], theirs, rtol=1e-2)


ALONG_Y = "*ORIENTATION, NAME=OY\n0., 1., 0., -1., 0., 0.\n3, 0."
ALONG_X = "*ORIENTATION, NAME=OX\n1., 0., 0., 0., 1., 0.\n3, 0."
SKEW = "*ORIENTATION, NAME=SKEW\n1., 1., 0., -1., 1., 0.\n3, 0."


def test_plies_with_orientations_of_their_own(tmp_path):
    """A name in place of an angle: the same laminate as by angles, alone and mixed, about a skew section."""
    by_angle = frequencies(
        tmp_path, plate_inp(f"*SHELL SECTION, ELSET=E, COMPOSITE\n{PLIES}", material=LAMINA), "a.inp"
    )
    named = "\n".join(f".5, 3, M, {name}" for name in ("OX", "OY", "OY", "OX"))
    mixed = ".5, 3, M, OX\n.5, 3, M, 90.\n.5, 3, M, OY\n.5, 3, M"
    skew = ".5, 3, M, OX\n.5, 3, M, 45.\n.5, 3, M, OY\n.5, 3, M, -45."
    for section in (
        f"*SHELL SECTION, ELSET=E, COMPOSITE\n{named}",
        f"*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=OX\n{mixed}",
        f"*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=SKEW\n{skew}",
    ):
        text = plate_inp(section, material=LAMINA, cards=f"{ALONG_X}\n{ALONG_Y}\n{SKEW}")
        np.testing.assert_allclose(frequencies(tmp_path, text, "n.inp"), by_angle, rtol=1e-9)


def test_plies_with_orientations_act_in_stresses_and_stiffening(tmp_path):
    """By names about a skew section as by angles: stresses at the faces, and K_geo of all unit loads."""
    skew = ".5, 3, M, OX\n.5, 3, M, 45.\n.5, 3, M, OY\n.5, 3, M, -45."
    named = plate_inp(
        f"*SHELL SECTION, ELSET=E, COMPOSITE, ORIENTATION=SKEW\n{skew}", material=LAMINA,
        cards=f"{ALONG_X}\n{ALONG_Y}\n{SKEW}",
    )  # fmt: skip
    plain = plate_inp(f"*SHELL SECTION, ELSET=E, COMPOSITE\n{PLIES}", material=LAMINA)
    one, other = (fm.reduce(write(tmp_path, "p.inp", text), modes=4) for text in (plain, named))
    np.testing.assert_allclose(other.stress, one.stress, atol=1e-7 * np.abs(one.stress).max())
    K = one.integrals.K_geo
    np.testing.assert_allclose(other.integrals.K_geo, K, atol=1e-7 * np.abs(K).max())
    faces = []
    for modal in (one, other):
        U = np.concatenate([modal.Phi, modal.Psi], axis=2).reshape(modal.nf, -1).T
        faces.append(stress_modes(modal.mesh, material("steel"), U, face="top"))  # layers have their own
    np.testing.assert_allclose(faces[1], faces[0], atol=1e-7 * np.abs(faces[0]).max())


def mass_of(tmp_path, text, name):
    return reduced(tmp_path, text, name, unit_system="mm").integrals


AREA_MASS = 2.7e-9 * 2.0 * W * H  # tonnes of the plate


@pytest.mark.parametrize(
    ("cards", "more"),
    [
        ("NSM,5,PSHELL,1,1.-9", 1e-9 * W * H),
        ("NSM,5,PSHELL,1,1.-9\nNSM,5,ELEMENT,1,2.-9", 1e-9 * W * H + 2e-9 * W * H / 24),
        ("NSM1,5,PSHELL,1.-9,ALL", 1e-9 * W * H),
        ("NSM1,5,ELEMENT,1.-9,1,THRU,12", 0.5e-9 * W * H),
        ("NSML,5,PSHELL,1,3.-5", 3e-5),
        ("NSML1,5,ELEMENT,3.-5,1,THRU,12", 3e-5),
        ("NSM,7,PSHELL,1,1.-9\nNSML1,8,PSHELL,3.-5,1\nNSMADD,5,7,8", 1e-9 * W * H + 3e-5),
        ("NSM,6,PSHELL,1,1.-9", 0.0),
    ],
)
def test_mass_beside_the_material_in_nastran(tmp_path, cards, more):
    text = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, cards).replace("CEND\n", "CEND\nNSM = 5\n")
    found = mass_of(tmp_path, text, "n.bdf")
    assert found.mass == pytest.approx(1e3 * (AREA_MASS + more), rel=1e-9)
    if "12" in cards:  # the lower half of the plate
        expected = (AREA_MASS * H / 2 + more * H / 4) / (AREA_MASS + more) * 1e-3
        assert found.com[1] == pytest.approx(expected, rel=1e-9)


def test_mass_beside_the_material_of_bars(tmp_path):
    entry, prop = "CBAR,{e},1,{a},{b},0.,0.,1.", "PBARL,1,1,,BAR,,,,,+\n+,20.,40."
    steel = "MAT1,1,2.1+5,,.3,7.85-9"
    plain = 7.85e-9 * 800.0 * 1000.0
    for cards, more in (
        ("NSM,5,PBARL,1,1.-6", 1e-3), ("NSML1,5,PBAR,4.-3,ALL", 4e-3), ("NSM1,5,ELEMENT,1.-6,1,THRU,5", 5e-4),
    ):  # fmt: skip
        text = bars(entry, prop, steel, cards).replace("CEND\n", "CEND\nNSM = 5\n")
        assert mass_of(tmp_path, text, "n.bdf").mass == pytest.approx(1e3 * (plain + more), rel=1e-9)
    wrong = bars(entry, prop, steel, "NSM,5,PSHELL,1,1.-6").replace("CEND\n", "CEND\nNSM = 5\n")
    assert "there is no PSHELL with elements, 1" in refused(tmp_path, wrong, "w.bdf")


@pytest.mark.parametrize(
    ("options", "value", "more"),
    [
        ("UNITS=TOTAL MASS", 3e-5, 3e-5),
        ("UNITS=TOTAL MASS, DISTRIBUTION=VOLUME PROPORTIONAL", 3e-5, 3e-5),
        ("UNITS=MASS PER AREA", 1e-9, 1e-9 * W * H),
        ("UNITS=MASS PER VOLUME", 1e-9, 2e-9 * W * H),
    ],
)
def test_mass_beside_the_material_in_abaqus(tmp_path, options, value, more):
    section = f"*SHELL SECTION, ELSET=E, MATERIAL=M\n2.\n*NONSTRUCTURAL MASS, ELSET=E, {options}\n{value}"
    found = mass_of(tmp_path, plate_inp(section), "n.inp")
    assert found.mass == pytest.approx(1e3 * (AREA_MASS + more), rel=1e-9)
    assert "of other elements" in refused(
        tmp_path, plate_inp(section.replace(options, "UNITS=MASS PER LENGTH")), "w.inp"
    )


def test_mass_beside_the_material_of_solids_and_beams(tmp_path):
    """A brick and half of it: a total in proportion to the mass, then more on one of two elements."""
    places = [(x, y, z) for x in (0, 10, 20) for y in (0, 10) for z in (0, 10)]
    lines = ["*NODE", *(f"{n + 1}, {x}, {y}, {z}" for n, (x, y, z) in enumerate(places))]
    lines += ["*ELEMENT, TYPE=C3D8, ELSET=E"]
    lines += [f"{e + 1}, {', '.join(str(4 * e + k) for k in (1, 5, 7, 3, 2, 6, 8, 4))}" for e in (0, 1)]
    lines += ["*ELSET, ELSET=ONE\n2", STEEL, "*SOLID SECTION, ELSET=E, MATERIAL=M"]
    lines += ["*NONSTRUCTURAL MASS, ELSET=E, UNITS=TOTAL MASS\n1.e-6"]
    lines += ["*NONSTRUCTURAL MASS, ELSET=ONE, UNITS=MASS PER VOLUME\n1.e-9", ""]
    found = mass_of(tmp_path, "\n".join(lines), "s.inp")
    steel = 2.7e-9 * 2000
    assert found.mass == pytest.approx(1e3 * (steel + 1e-6 + 1e-6), rel=1e-9)
    moment = (steel + 1e-6) * 10 + 1e-6 * 15
    assert found.com[0] == pytest.approx(1e-3 * moment / (steel + 2e-6), rel=1e-9)
    beam = "*NODE\n" + "\n".join(f"{i + 1}, {25.0 * i}, 0., 0." for i in range(21))
    beam += "\n*ELEMENT, TYPE=B32, ELSET=E\n" + "\n".join(
        f"{i + 1}, {2 * i + 1}, {2 * i + 2}, {2 * i + 3}" for i in range(10)
    )
    section = "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n10., 20.\n0., 0., 1."
    extra = "*NONSTRUCTURAL MASS, ELSET=E, UNITS=MASS PER LENGTH\n1.e-6"
    found = mass_of(tmp_path, "\n".join([beam, STEEL, section, extra, ""]), "b.inp")
    assert found.mass == pytest.approx(1e3 * (2.7e-9 * 200 + 1e-6) * 500, rel=1e-9)
    assert found.com[0] == pytest.approx(0.25)


def test_mass_on_elements_without_a_body_stops(tmp_path):
    extra = "*ELEMENT, TYPE=MASS, ELSET=P\n900, 1\n*MASS, ELSET=P\n1.e-6\n"
    extra += "*NONSTRUCTURAL MASS, ELSET=P, UNITS=TOTAL MASS\n1.e-6"
    text = plate_inp(f"*SHELL SECTION, ELSET=E, MATERIAL=M\n2.\n{extra}")
    assert "elements that carry none" in refused(tmp_path, text, "p.inp")
    assert "UNITS=KILOS" in refused(tmp_path, text.replace("TOTAL MASS", "KILOS"), "k.inp")


LINKS = {
    "RBE2": "RBE2,50,6,123456,60",
    "RBAR": "RBAR,50,6,60,123456",
    "RBE1": "RBE1,50,6,123456,,,,,,+\n+,UM,60,123456",
}


@pytest.mark.parametrize("link", LINKS)
def test_rigid_elements_hold_the_rotations_of_beams_and_shells(tmp_path, link):
    """A bar that is cut and joined again is the bar; a plate tied along an edge is that of an interface."""
    prop, steel = "PBARL,1,1,,BAR,,,,,+\n+,20.,40.", "MAT1,1,2.1+5,,.3,7.85-9"
    whole = bars("CBAR,{e},1,{a},{b},0.,0.,1.", prop, steel)
    cut = whole.replace("CBAR,6,1,6,7", "CBAR,6,1,60,7").replace(
        "ENDDATA", f"GRID,60,,500.,0.,0.\n{LINKS[link]}\nENDDATA"
    )
    np.testing.assert_allclose(frequencies(tmp_path, cut, "c.bdf"), frequencies(tmp_path, whole), rtol=1e-9)
    if link != "RBE2":
        return
    edge = [n + 1 for n, place in enumerate(nodes()) if place[0] == 0.0]
    numbers = ",".join(map(str, edge[1:]))
    tied = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, f"RBE2,50,{edge[0]},123456,{numbers}")
    marker = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, f"SET1,1,{','.join(map(str, edge))}")
    modes = fm.reduce(
        write(tmp_path, "m.bdf", marker), modes=5, interfaces={"edge": "set_1"}, method="free-interface"
    )
    tied_hz = frequencies(tmp_path, tied, "t.bdf")
    np.testing.assert_allclose(tied_hz[:4], modes.frequency_hz[:4], rtol=1e-6)


def write(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_rigid_bodies_of_abaqus_hold_the_rotations_of_shells(tmp_path):
    """*RIGID BODY and a kinematic coupling of an edge are the RBE2 of the other dialect."""
    edge = [n + 1 for n, place in enumerate(nodes()) if place[0] == 0.0]
    nset = "*NSET, NSET=EDGE\n" + ", ".join(map(str, edge))
    reference = "*NODE\n900, -10., 60., 0."
    numbers = ",".join(map(str, edge))
    bdf = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, "GRID,900,,-10.,60.,0.", f"RBE2,50,900,123456,{numbers}")
    known = frequencies(tmp_path, bdf)
    for cards in (
        f"{reference}\n{nset}\n*RIGID BODY, TIE NSET=EDGE, REF NODE=900",
        f"{reference}\n{nset}\n*SURFACE, NAME=S, TYPE=NODE\nEDGE\n"
        "*COUPLING, REF NODE=900, SURFACE=S, CONSTRAINT NAME=C\n*KINEMATIC\n1, 6",
    ):
        text = plate_inp(f"*SHELL SECTION, ELSET=E, MATERIAL=M\n2.\n{cards}")
        np.testing.assert_allclose(frequencies(tmp_path, text, "r.inp"), known, rtol=1e-9)
    card = "*RIGID BODY, PIN NSET=EDGE, REF NODE=900"  # a hinge along the edge
    text = plate_inp(f"*SHELL SECTION, ELSET=E, MATERIAL=M\n2.\n{reference}\n{nset}\n{card}")
    assert np.abs(frequencies(tmp_path, text, "q.inp") / known - 1).max() > 0.01
