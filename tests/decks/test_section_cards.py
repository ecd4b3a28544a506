"""Every field of the cards of shells, bars and rods, and of the cards around them: what is read and said."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.readers import read_mesh
from tests.decks.samples import abaqus, nastran
from tests.decks.test_deck_structure import LAMINA, MAT1, MAT8, bars, bulk, plate_bdf, plate_inp


def mesh(tmp_path, text, name):
    (tmp_path / name).write_text(text)
    return read_mesh(tmp_path / name)


def refused(tmp_path, text, name):
    with pytest.raises(fm.InputError) as caught:
        mesh(tmp_path, text, name)
    return str(caught.value)


def counted(tmp_path, text, name):
    """What is not understood, from the message where nothing else is left to read."""
    try:
        return " | ".join(mesh(tmp_path, text, name).deck.not_understood)
    except fm.InputError as error:
        return str(error)


def said(found):
    return " | ".join(note.what for note in found.notes)


# ------------------------------------------------------------------ Nastran

STIFF = "MAT1,3,2.1+5,,.3,7.85-9"
CBAR = "CBAR,{e},1,{a},{b},0.,0.,1."
PBAR = "PBAR,1,1,200.,3000.,5000.,6000."


@pytest.mark.parametrize(
    "entries, wrong",
    [
        (("PSHELL,1,1,2.,1,,2", MAT1, MAT8),
         "PSHELL with another material across it, one of them not isotropic"),
        (("PSHELL,1,1,2.,,,,,+\n+,,,1", MAT1),
         "PSHELL without stiffness in bending, or with more between stretch and bending"),
    ],
)  # fmt: skip
def test_shells_of_nastran_that_are_not_understood(tmp_path, entries, wrong):
    assert wrong in counted(tmp_path, plate_bdf(*entries), "p.bdf")


def test_a_shell_with_another_material_across_it(tmp_path):
    """The shear factor takes the ratio of the moduli: G = E / (2 (1 + nu))."""
    deck = mesh(tmp_path, plate_bdf("PSHELL,1,1,2.,1,,3,.7", MAT1, STIFF), "p.bdf").deck
    (shell,) = deck.shells
    assert shell.shear == pytest.approx(0.7 * (2.1e5 / 2.6) / (7e4 / 2.66), rel=1e-12)


def test_a_shell_of_a_lamina_is_one_layer(tmp_path):
    (shell,) = mesh(tmp_path, plate_bdf("PSHELL,1,2,2.,2,,2", MAT8), "p.bdf").deck.shells
    assert shell.thickness == 2.0 and [(layer[0], layer[2]) for layer in shell.layers] == [(2.0, 0.0)]


@pytest.mark.parametrize("flag, thickness", [("", 3.0), ("1", 6.0)])
def test_thicknesses_at_the_corners(tmp_path, flag, thickness):
    """Their mean counts, with a word; with the flag they are shares of that of the property."""
    text = plate_bdf("PSHELL,1,1,2.,1,,1", MAT1, tail=f",,,+\n+,,{flag},2.,4.,3.,3.")
    found = mesh(tmp_path, text, "p.bdf")
    used = {found.deck.shells[k].thickness for k in found.deck.shell_cells.section}
    assert used == {thickness} and "the mean of those at their corners" in said(found)


def test_own_thickness_of_a_shell_of_several_materials(tmp_path):
    """Its stiffness is made anew: stretch with t, bending with its cube."""
    one, two = (
        mesh(tmp_path, plate_bdf("PSHELL,1,1,2.,3,,1", MAT1, STIFF, tail=tail), name).deck
        for tail, name in (("", "a.bdf"), (",,,+\n+,,,4.,4.,4.,4.", "b.bdf"))
    )
    a, b = (np.reshape(d.shells[d.shell_cells.section[0]].stiffness, (8, 8)) for d in (one, two))
    np.testing.assert_allclose(b[:3, :3], 2.0 * a[:3, :3], rtol=1e-12)
    np.testing.assert_allclose(b[3:6, 3:6], 8.0 * a[3:6, 3:6], rtol=1e-12)


@pytest.mark.parametrize(
    "prop, theory, word",
    [
        ("PBAR,1,1,200.", "rod", ""),
        ("PBAR,1,1,200.,3000.,,100.", "euler-bernoulli", "bends in one plane only"),
        ("PBAR,1,1,200.,3000.,5000.", "euler-bernoulli", "no stiffness in torsion: I1 + I2 is taken"),
    ],
)
def test_bars_without_some_of_their_numbers(tmp_path, prop, theory, word):
    found = mesh(tmp_path, bars(CBAR, prop, MAT1), "p.bdf")
    (beam,) = found.deck.beams
    assert beam.theory == theory and word in said(found)
    if "torsion" in word:
        assert beam.profile.section.J == pytest.approx(8000.0)
    if "plane" in word:
        assert beam.profile.section.Iy == beam.profile.section.Iz == 3000.0


TURNED = "CORD2R,7,,0.,0.,0.,0.,0.,9.,+\n+,0.,8.,0."  # x along the basic y, y against the basic x
POINT = "GRID,99,,0.,5.,7."


@pytest.mark.parametrize(
    "entry, more, axis",
    [
        ("CBAR,{e},1,{a},{b}", ["BAROR,,,,,0.,0.,1."], [0.0, 0.0, 1.0]),
        ("CBEAM,{e},1,{a},{b}", ["BEAMOR,,,,,0.,2.,0."], [0.0, 2.0, 0.0]),
        ("CBAR,{e},1,{a},{b},99", [POINT], None),
        ("CBAR,{e},1,{a},{b},0.,1.,2.", [], [-1.0, 0.0, 2.0]),
        ("CBAR,{e},1,{a},{b},0.,1.,2.,BGG", [], [0.0, 1.0, 2.0]),
    ],
)
def test_orientation_of_bars(tmp_path, entry, more, axis):
    """By default, towards a node, in the axes of end A or in the basic ones."""
    text = bars(entry, "PBAR,1,1,200.,3000.,5000.,6000." if "CBAR" in entry else
                "PBEAM,1,1,200.,3000.,5000.,,6000.", MAT1, TURNED, *more)  # fmt: skip
    if axis and axis[0] or "BGG" in entry:  # the nodes have axes of their own
        text = "\n".join(f"{line},7" if line.startswith("GRID") else line for line in text.split("\n"))
    cells = mesh(tmp_path, text, "p.bdf").deck.beam_cells
    for k in range(10):
        expected = axis if axis else np.array([-100.0 * k, 5.0, 7.0])
        np.testing.assert_allclose(cells.axis[cells.rows(np.array([k + 1]))[0]], expected, atol=1e-12)


def test_a_bar_without_orientation(tmp_path):
    """Only sections that bend alike in both planes need none, as long as no end is pinned."""
    assert "CBAR 1 has no orientation" in refused(tmp_path, bars("CBAR,{e},1,{a},{b}", PBAR, MAT1), "p.bdf")
    rod = "PBARL,1,1,,ROD,,,,,+\n+,5."
    assert not mesh(tmp_path, bars("CBAR,{e},1,{a},{b}", rod, MAT1), "r.bdf").deck.beam_cells.axis.any()
    pinned = bars("CBAR,{e},1,{a},{b},,,,,+\n+,5", rod, MAT1)
    assert "CBAR 1 has no orientation" in refused(tmp_path, pinned, "q.bdf")


def test_pins_and_offsets_of_bars(tmp_path):
    wrong = bars(f"{CBAR},,+\n+,7", PBAR, MAT1)
    assert "CBAR 1: pin flag 7" in refused(tmp_path, wrong, "p.bdf")
    own = bars(f"{CBAR},GGO,+\n+,,,0.,0.,1.,0.,0.,1.", PBAR, MAT1)
    assert counted(tmp_path, own, "p.bdf") == "CBAR with offsets in its own axes"
    skew = "PBAR,1,1,200.,3000.,5000.,6000.,,,+\n+,,,,,,,,,+\n+,,,1000."
    text = bars(f"{CBAR},,+\n+,5", skew, MAT1)
    assert (
        counted(tmp_path, text, "p.bdf") == "CBAR with pins in one plane of a section that is not symmetric"
    )
    deck = mesh(tmp_path, bars(f"{CBAR},,+\n+,56,4,,,1.,,,2.", PBAR, MAT1), "p.bdf").deck
    assert np.flatnonzero(deck.beam_cells.released[0]).tolist() == [4, 5, 9]
    np.testing.assert_array_equal(deck.beam_cells.offset[0], [[0, 0, 1], [0, 0, 2]])


CORNERS = {
    1: (0, 0, 0), 2: (1, 0, 0), 3: (1, 1, 0), 4: (0, 1, 0), 5: (0, 0, 1), 6: (1, 0, 1), 7: (1, 1, 1),
    8: (0, 1, 1),
}  # fmt: skip


def one_cell(name, nodes, load):
    text = ",".join(map(str, nodes[:6]))
    tail = ",+\n+," + ",".join(map(str, nodes[6:])) if nodes[6:] else ""
    grids = [f"GRID,{n},,{x}.,{y}.,{z}." for n, (x, y, z) in CORNERS.items() if n in nodes]
    return bulk(*grids, f"{name},1,1,{text}{tail}", "PSOLID,1,1", MAT1, load)


@pytest.mark.parametrize(
    "name, nodes, one, other, face",
    [
        ("CHEXA", range(1, 9), 1, 3, {1, 2, 3, 4}),
        ("CHEXA", range(1, 9), 2, 7, {2, 3, 6, 7}),
        ("CHEXA", range(1, 9), 1, 2, None),
        ("CHEXA", range(1, 9), 1, 7, None),
        ("CTETRA", (1, 2, 4, 5), 1, 5, {1, 2, 4}),
        ("CTETRA", (1, 2, 4, 5), 1, 1, None),
        ("CPENTA", (1, 2, 4, 5, 6, 8), 1, "", {1, 2, 4}),
        ("CPENTA", (1, 2, 4, 5, 6, 8), 5, "", {5, 6, 8}),
        ("CPENTA", (1, 2, 4, 5, 6, 8), 1, 6, {1, 2, 5, 6}),
    ],
)
def test_the_loaded_face_of_a_solid(tmp_path, name, nodes, one, other, face):
    """Tetrahedra name a corner of the face and the one opposite, others two on a diagonal."""
    text = one_cell(name, list(nodes), f"PLOAD4,9,1,1.,,,,{one},{other}")
    if face is None:
        assert "PLOAD4 on element 1 names no face of it" in refused(tmp_path, text, "p.bdf")
    else:
        found = mesh(tmp_path, text, "p.bdf")
        ((kind, [[cell, local]]),) = found.face_sets["pload4_9"].items()
        held = found.points[found.cells[kind][cell][list(ELEMENTS[kind].faces[local])]]
        assert {tuple(point) for point in held} == {CORNERS[n] for n in face}


# ------------------------------------------------------------------ Abaqus and CalculiX

TURN = "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n3, 0."
LINES = "*NODE\n1, 0., 0., 0.\n2, 100., 0., 0.\n3, 200., 0., 0.\n"
CELLS = "*ELEMENT, TYPE={}, ELSET=E\n1, 1, 2\n2, 2, 3\n"
MATERIAL = "*MATERIAL, NAME=M\n*ELASTIC\n2.1e5, .3\n*DENSITY\n7.85e-9\n"


def lines(section, kind="B31"):
    return LINES + CELLS.format(kind) + MATERIAL + section + "\n"


@pytest.mark.parametrize(
    "text, wrong",
    [
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M, ORIENTATION=O\n1.",
                   material=LAMINA, cards=TURN.rpartition("\n")[0]),
         "*ORIENTATION, NAME=O of shells without the axis that is normal to them"),
        (plate_inp("*SHELL SECTION, ELSET=E, MATERIAL=M\n1.\n*TRANSVERSE SHEAR STIFFNESS\n1., 1., 0."),
         "*TRANSVERSE SHEAR STIFFNESS of a section by materials"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT, OFFSET1=.5\n3., 4."),
         "*BEAM SECTION, OFFSET1"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=ODD\n3., 4."), "*BEAM SECTION, SECTION=ODD"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n3., 4.", "T3D2"), "*BEAM SECTION of T3D2"),
        (abaqus("*SOLID SECTION, ELSET=BAR, COMPOSITE\n1., 3, STEEL"), "*SOLID SECTION, COMPOSITE"),
    ],
)  # fmt: skip
def test_sections_of_abaqus_that_are_not_understood(tmp_path, text, wrong):
    assert wrong in counted(tmp_path, text, "p.inp")


GENERAL = "*BEAM GENERAL SECTION, ELSET=E, SECTION=GENERAL, DENSITY=7.85e-9\n"
PLATE = "*SHELL GENERAL SECTION, ELSET=E, DENSITY=5.4e-9\n"


@pytest.mark.parametrize(
    "text, wrong",
    [
        (plate_inp("*SHELL SECTION, ELSET=E, COMPOSITE\n1., 3", material=LAMINA), "layer without a material"),
        (plate_inp(PLATE + "1., 2., 3."), "needs 21 stiffnesses, found 3"),
        (plate_inp(PLATE + ",".join(["0."] * 8) + "\n" + ",".join(["0."] * 8) + "\n0., 0., 0., 0., 0."),
         "its stiffness is not positive"),
        (lines("*SOLID SECTION, ELSET=E, MATERIAL=M\n0.", "T3D2"),
         "of trusses: area 0, expected a positive number"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n3."),
         "SECTION=RECT needs 2 sizes, found 1"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT"), "*BEAM SECTION has no sizes"),
        (lines("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=PIPE\n3., 4."), "SECTION=PIPE"),
        (lines(GENERAL + "1., 2., 0., 3.\n0., 0., -1.\n2.1e5, 8.e4"),
         "needs A, I11, I12, I22, J, a direction"),
        (lines(GENERAL + "1., 2., 0., 3., 4.\n0., 0., -1.\n2.1e5, 0."), "G = 0, expected positive numbers"),
        (lines("*BEAM GENERAL SECTION, ELSET=E, SECTION=RECT\n3., 4."),
         "needs its sizes, a direction, and E, G"),
        (abaqus("*NONSTRUCTURAL MASS, ELSET=BAR, UNITS=TOTAL MASS\n1., 2."),
         "NONSTRUCTURAL MASS needs one number"),
        (abaqus("*NSET, NSET=N, GENERATE\n1, 5, 0"), "GENERATE needs first, last and step"),
        (abaqus("*SURFACE, NAME=S, TYPE=CUTTING SURFACE\n1, S1"), '"S" of a kind that is not supported'),
        (abaqus("*SYSTEM\n0., 0., 0., 1., 0., 0., 2., 0., 0.\n*NODE\n99, 0., 0., 0."), "do not span a plane"),
    ],
)  # fmt: skip
def test_damaged_sections_of_abaqus_are_named(tmp_path, text, wrong):
    assert wrong in refused(tmp_path, text, "p.inp")


def test_a_plate_by_its_stiffness(tmp_path):
    """Upper triangle by columns; shear across it after Abaqus, or as given; the scale behind it."""
    E, nu, t = 7e4, 0.33, 2.0
    A = E * t / (1 - nu**2) * np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]])
    S = np.zeros((6, 6))
    S[:3, :3], S[3:, 3:] = A, A * t**2 / 12
    words = [f"{S[i, j]:.12g}" for j in range(6) for i in range(j + 1)]
    text = "\n".join(", ".join(words[k : k + 8]) for k in (0, 8, 16))
    (shell,) = mesh(tmp_path, plate_inp(PLATE + text), "a.inp").deck.shells
    found = np.reshape(shell.stiffness, (8, 8))
    np.testing.assert_allclose(found[:6, :6], S, rtol=1e-11)
    assert shell.thickness == pytest.approx(t) and found[6, 6] == pytest.approx((A[0, 0] + A[2, 2]) / 3)
    given = plate_inp(f"{PLATE}{text}\n\n*TRANSVERSE SHEAR STIFFNESS\n3., 4., 1.")
    (shell,) = mesh(tmp_path, given, "b.inp").deck.shells
    found = np.reshape(shell.stiffness, (8, 8))
    np.testing.assert_array_equal(found[6:, 6:], [[3.0, 1.0], [1.0, 4.0]])


def test_shells_of_a_lamina_and_membranes(tmp_path):
    section = "*SHELL SECTION, ELSET=E, MATERIAL=M, OFFSET=SPOS\n2."
    (shell,) = mesh(tmp_path, plate_inp(section, material=LAMINA), "a.inp").deck.shells
    assert [layer[0] for layer in shell.layers] == [2.0] and shell.offset == -1.0
    membrane = plate_inp("*MEMBRANE SECTION, ELSET=E, MATERIAL=M\n2.", kind="M3D4")
    (shell,) = mesh(tmp_path, membrane, "b.inp").deck.shells
    assert (shell.bending, shell.offset, shell.thickness) == (0.0, 0.0, 2.0)


@pytest.mark.parametrize("sizes, radius", [("3.", 3.0), ("3., 3.", 1.5)])
def test_a_round_beam_by_radius_or_diameters(tmp_path, sizes, radius):
    """One number is a radius, as Abaqus reads it, with a word; two are CalculiX's diameters."""
    section = f"*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=CIRC\n{sizes}\n0., 1., 0."
    found = mesh(tmp_path, lines(section), "a.inp")
    (beam,) = found.deck.beams
    assert beam.profile.section.A == pytest.approx(np.pi * radius**2)
    assert ("is taken as the radius" in said(found)) == (len(sizes) < 4)
    np.testing.assert_array_equal(found.deck.beam_cells.axis, np.zeros((2, 3)))


def test_a_beam_by_its_numbers(tmp_path):
    found = mesh(tmp_path, lines(GENERAL + "5., 2., 0., 3., 4.\n0., 0., -1.\n2.1e5, 8.e4"), "a.inp").deck
    (beam,) = found.beams
    section = beam.profile.section
    assert (section.A, section.J, {section.Iy, section.Iz}) == (5.0, 4.0, {2.0, 3.0})
    made = found.materials[-1]
    assert (made.E, made.G, made.rho) == (2.1e5, pytest.approx(8e4), 7.85e-9)


@pytest.mark.parametrize(
    "system, place",
    [
        ("10., 0., 0., 10., 1., 0.", [8.0, 1.0, 3.0]),  # turned about z: x along the global y
        ("10., 0., 0.", [11.0, 2.0, 3.0]),
        ("10., 0., 0., 10., 0., 1., 10., 1., 0.", [8.0 + 4.0 - 4.0 - 8.0 + 10.0 - 3.0, 2.0, 1.0]),
    ],
)
def test_nodes_in_a_system(tmp_path, system, place):
    """Origin, a point on x, a point in the x-y plane; without the last two a shift or a turn about z."""
    found = mesh(tmp_path, abaqus(f"*SYSTEM\n{system}\n*NODE, NSET=P\n99, 1., 2., 3.\n*SYSTEM\n"), "a.inp")
    np.testing.assert_allclose(found.points[found.node_indices([99])[0]], place, atol=1e-14)


@pytest.mark.parametrize("kind, place", [("C", [0.0, 2.0, 3.0]), ("S", [0.0, 1.0, np.sqrt(3.0)])])
def test_nodes_by_angles(tmp_path, kind, place):
    row = "99, 2., 90., 3." if kind == "C" else "99, 2., 90., 60."
    found = mesh(tmp_path, abaqus(f"*NODE, SYSTEM={kind}\n{row}"), "a.inp")
    np.testing.assert_allclose(found.points[found.node_indices([99])[0]], place, atol=1e-14)


PART = "*PART, NAME=P\n{}\n*END PART\n*ASSEMBLY, NAME=A\n"
PART += "*INSTANCE, NAME=I, PART={}\n{}*END INSTANCE\n*END ASSEMBLY\n"


@pytest.mark.parametrize(
    "part, rows, wrong",
    [
        ("Q", "", 'instance "I" of part "Q"'),
        ("P", "1., 0., 0.\n1., 0., 0., 0., 0., 1.\n", 'the rotation of instance "I" needs seven numbers'),
        ("P", "1., 0., 0.\n1., 0., 0., 1., 0., 0., 90.\n", 'the rotation axis of instance "I" has no length'),
    ],
)
def test_instances_that_do_not_fit(tmp_path, part, rows, wrong):
    text = PART.format(abaqus().partition("*MATERIAL")[0].partition("bar\n")[2].strip(), part, rows)
    assert wrong in refused(tmp_path, text, "a.inp")


def test_an_included_file_names_itself(tmp_path):
    (tmp_path / "more.inp").write_text("*NSET, NSET=N, GENERATE\n1, 5, 0\n")
    assert "more.inp: GENERATE needs" in refused(tmp_path, abaqus("*INCLUDE, INPUT=more.inp"), "a.inp")


def test_axes_of_all_nodes_by_default(tmp_path):
    """GRDSET gives the system of coordinates and of displacements of all that have none."""
    text = nastran("GRDSET,,,,,,7", TURNED, "CELAS2,70,1.,1,1,2,1")
    (spring,) = mesh(tmp_path, text, "a.bdf").deck.springs
    np.testing.assert_allclose(spring.terms[0][1][:3], [0.0, 1.0, 0.0], atol=1e-15)
