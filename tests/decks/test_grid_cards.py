"""Archives of Ansys, files of openFEDEM, VTK and universal files: unusual content and what is said of it."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.readers import read_mesh
from tests.decks.samples import abaqus, nastran
from tests.decks.test_ansys_structure import archive
from tests.decks.test_deck_structure import MAT8
from tests.decks.test_fedem import ALLOY, frame_of_beams, ftl

CUBE = [(float(i), float(j), float(k)) for k in (0, 1) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))]


def mesh(tmp_path, text, name):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_mesh(tmp_path / name)


def refused(tmp_path, text, name, **options):
    with pytest.raises(fm.InputError) as caught:
        mesh(tmp_path, text, name)
    return str(caught.value)


# ------------------------------------------------------------------ Ansys


def solid(nodes=range(1, 9), label=185, *commands, kind=1, more=()):
    return archive(CUBE, [(kind, 1, 1, list(nodes)), *more], *commands, types={1: label})


@pytest.mark.parametrize(
    "nodes, cell",
    [
        (range(1, 9), "hex8"),
        ((1, 2, 3, 3, 5, 6, 7, 7), "wedge6"),
        ((1, 2, 3, 4, 5, 5, 5, 5), "pyramid5"),
        ((1, 2, 3, 3, 5, 5, 5, 5), "tet4"),
    ],
)
def test_bricks_of_ansys_with_repeated_corners(tmp_path, nodes, cell):
    found = mesh(tmp_path, solid(nodes), "a.cdb")
    assert list(found.cells) == [cell]
    wanted = np.unique(np.array(CUBE)[[n - 1 for n in nodes]], axis=0)
    np.testing.assert_array_equal(np.unique(found.points[found.cells[cell][0]], axis=0), wanted)


def test_types_in_a_block_and_materials_by_temperature(tmp_path):
    text = solid().replace(
        "ET,1,185", "ETBLOCK,        1,        1\n(2i9,19a9)\n        1      185\n       -1"
    )
    text = text.replace(
        "/GO", "MP,EY,1,7.E4\nMP,NUXY,1,.3\nMPDATA,R5.0, 1,EX, 1, 1, 7.E4, 8.E4\nACEL,0,0,9.81\n/GO"
    )
    deck = mesh(tmp_path, text, "a.cdb").deck
    assert deck.not_understood == {"MP,EY": 1, "MP,EX by temperature": 1}
    assert deck.no_effect == {"ACEL": 1} and deck.materials[0].nu == 0.3


@pytest.mark.parametrize(
    "solid, flat, kind",
    [
        (range(1, 9), [1, 2, 3, 4], "hex8"),
        ((1, 2, 3, 3, 5, 5, 5, 5), [1, 2, 3, 3], "tet4"),
    ],
)
def test_flat_cells_without_stiffness_are_faces(tmp_path, solid, flat, kind):
    """Surface elements of Ansys lie on solids; triangles repeat a node."""
    text = archive(CUBE, [(1, 1, 1, list(solid)), (2, 1, 1, flat)], types={1: 185, 2: 154})
    found = mesh(tmp_path, text, "a.cdb")
    ((_, faces),) = found.face_sets.items()
    corners = found.cells[kind][0][list(ELEMENTS[kind].faces[faces[kind][0, 1]])]
    assert list(found.cells) == [kind] and set(found.node_number[corners].tolist()) == set(flat)


@pytest.mark.parametrize(
    "change, says",
    [
        (("EBLOCK,19,SOLID,", "EBLOCK,19,,"), "EBLOCK of an old form, without SOLID"),
        (("        1        1        1        1        0", "        1        9        1        1        0"),
         "element 1 has type 9, which no ET defines"),
        (("/GO\nFINISH\n", "CMBLOCK,S,NODE,       9\n(8i9)\n        1"), "S ends 8 numbers early"),
        (("N,R5.3", "CMBLOCK,S,NODE\n(8i9)\n        1\nN,R5.3"), "CMBLOCK needs a name, its kind and"),
        (("N,R5.3", "CMBLOCK,S,NODE,       2\n(8i9)\n        1  -999999\nN,R5.3"), "to 999999 are more than"),
        (("(19i9)", "19i9"), "expected a format such as (3i9,6e21.13e3)"),
    ],
)  # fmt: skip
def test_damaged_archives_are_named(tmp_path, change, says):
    text = solid()
    assert change[0] in text
    assert says in refused(tmp_path, text.replace(*change, 1), "a.cdb")


def test_a_row_of_an_archive_that_is_too_short(tmp_path):
    lines = solid().split("\n")
    at = lines.index("(19i9)") + 1
    lines[at] = lines[at][:45]
    assert "a row of EBLOCK has fewer than 11 numbers" in refused(tmp_path, "\n".join(lines), "a.cdb")
    odd = solid((1, 2, 3, 4, 5, 6, 7, 5))
    assert "repeats its corners in a way that is no solid" in refused(tmp_path, odd, "a.cdb")


# ------------------------------------------------------------------ openFEDEM


@pytest.mark.parametrize(
    "text, says",
    [
        (ftl("NODE{1 0 0 0}"), "expected 3 numbers, found 2"),
        (ftl("NODE{1 0 0 0 0}", "NODE{1 0 1 0 0}"), "node 1 is there twice"),
        (ftl("NODE{1 0 0 0 0}", "TET4{1 1 1 1}"), "has 3 of 4 nodes"),
        (ftl("NODE{1 0 0 0 0} junk"), 'expected a record NAME{...}, found "junk"'),
        (frame_of_beams(section=""), "there is no PBEAMSECTION 1"),
        (frame_of_beams(section="PBEAMSECTION{1 4e-4 3e-8}"), "BEAM2 1 has no section"),
        (frame_of_beams(section="PBEAMSECTION{1 4e-4 3e-8 0 2e-8}"), "its section must have A, Iy, Iz, It"),
        (frame_of_beams().replace("NODE{3 0", "NODE{33 0"), "there is no node 3"),
    ],
)
def test_damaged_files_of_openfedem_are_named(tmp_path, text, says):
    assert says in refused(tmp_path, text, "a.ftl")


def test_what_a_beam_of_openfedem_leaves_open(tmp_path):
    """Loads have no effect, the shear centre is noted once, vertical beams have the model's y."""
    text = frame_of_beams("CFORCE{1 0 0 1}", section="PBEAMSECTION{1 4e-4 3e-8 1e-8 2e-8 0 0 .01 0 0}")
    found = mesh(tmp_path, text, "a.ftl")
    assert found.deck.no_effect == {"CFORCE": 1}
    assert [note.what for note in found.notes] == ["the shear centre of beams is taken at the centroid"]
    upright = ftl("NODE{1 1 0 0 0}", "NODE{2 0 0 0 1}", "BEAM2{1 1 2 {PMAT 1} {PBEAMSECTION 1}}",
                  "PBEAMSECTION{1 4e-4 3e-8 1e-8 2e-8}", ALLOY)  # fmt: skip
    np.testing.assert_array_equal(mesh(tmp_path, upright, "b.ftl").deck.beam_cells.axis, [[0.0, 1.0, 0.0]])


def test_records_of_openfedem_that_are_ignored(tmp_path):
    (tmp_path / "a.ftl").write_text(frame_of_beams("ODD{1 2 3}"))
    assert read_mesh(tmp_path / "a.ftl").deck.not_understood == {"ODD": 1}
    deck = read_mesh(tmp_path / "a.ftl", ignore=["ODD"]).deck
    assert deck.not_understood == {} and deck.ignored == {"ODD": 1}


# ------------------------------------------------------------------ VTK

HEAD = "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
TET = "POINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n"


def test_attributes_of_vtk_that_are_no_sets_are_read_over(tmp_path):
    more = (
        "CELL_DATA 1\nNORMALS n float\n0 0 1\nTEXTURE_COORDINATES t 2 float\n0 1\nCOLOR_SCALARS c 3\n0 0 1\n"
    )
    more += "LOOKUP_TABLE l 1\n0 0 0 1\nTENSORS s float\n1 0 0\n0 1 0\n0 0 1\n"
    more += "FIELD f 2\nnames 1 1 string\nfree text\nmaterial 1 1 int\n7\nMETADATA\nINFORMATION 0\n\n"
    found = mesh(tmp_path, HEAD + TET + more, "a.vtk")
    assert found.n_cells == 1 and "material_7" in found.cell_sets


def test_bits_and_texts_in_binary(tmp_path):
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], ">f8").tobytes()
    data = HEAD.replace("ASCII", "BINARY").encode() + b"POINTS 4 double\n" + points
    data += b"\nCELLS 1 5\n" + np.array([4, 0, 1, 2, 3], ">i4").tobytes()
    data += b"\nCELL_TYPES 1\n" + np.array([10], ">i4").tobytes() + b"\nCELL_DATA 1\nSCALARS flag bit 1\n"
    data += b"LOOKUP_TABLE default\n\x80\nFIELD f 2\ntext 1 1 string\n\xc3abc\nmaterial 1 1 int\n"
    data += np.array([7], ">i4").tobytes() + b"\n"
    assert "material_7" in mesh(tmp_path, data, "a.vtk").cell_sets


@pytest.mark.parametrize(
    "text, says",
    [
        (HEAD + "POINTS -4 double\n", "a negative count"),
        (HEAD + "POINTS 4 odd\n", 'unknown data type "odd"'),
        (HEAD + "POINTS double\n", 'a count is missing after "POINTS double"'),
        (HEAD + "POINTS 4 double\n0 0 0 1 0 0\n", "claims 12 numbers and ends before"),
        (HEAD + "POINTS 2 double\n0 0 0 1              \n\n", "the file ends inside its numbers"),
        (
            HEAD + TET.replace("CELLS 1 5\n4 0 1 2 3", "CELLS 1 6\n4 0 1 2 3 3"),
            "as many numbers as it claims",
        ),
        (HEAD + TET.replace("CELLS 1 5", "CELLS 2 5"), "CELLS holds fewer cells than it claims"),
        (HEAD + TET + "CELL_DATA 1\nFIELD f 1\ntext 1 3 string\nab\n", "the file ends inside its texts"),
        (HEAD + TET + "CELL_DATA 1\nODD x\n", 'unknown keyword "ODD"'),
    ],
)
def test_damaged_vtk_is_named(tmp_path, text, says):
    assert says in refused(tmp_path, text, "a.vtk")


# ------------------------------------------------------------------ universal files


def universal(*datasets):
    return "".join(f"    -1\n{number:6d}\n{text}\n    -1\n" for number, text in datasets)


POINTS4 = (2411, "\n".join(f"{n + 1:10d}         1         1        11\n{x} {y} {z}" for n, (x, y, z) in
                           enumerate([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])))  # fmt: skip
TET4 = (2412, "1 111 1 1 7 4\n1 2 3 4")


@pytest.mark.parametrize(
    "datasets, says",
    [
        ([POINTS4, (2412, "1 111 1")], "expected six numbers of an element"),
        ([POINTS4, (2412, "1 111 1 1 7 4\n1 2 3")], "element 1 has 3 of 4 nodes"),
        ([POINTS4, (2412, "1 111 1 1 7 3\n1 2 3")], "element 1 is a tet4 with 3 nodes"),
        ([POINTS4, TET4, (2467, "1 0 0\nNAME")], "expected eight numbers of a group"),
        ([POINTS4, TET4, (2467, "1 0 0 0 0 0 0 2\nNAME\n7 1 0 0")], 'group "NAME" ends 1 entries early'),
        ([POINTS4, TET4, (164, "1 SI\n")], "the units (dataset 164) have no factor of length"),
        ([POINTS4, TET4, (164, "1 SI 2\n-1.0D0 1. 1. 0.")], "the factor of length is -1"),
    ],
)
def test_damaged_universal_files_are_named(tmp_path, datasets, says):
    assert says in refused(tmp_path, universal(*datasets), "a.unv")


def test_groups_units_and_lines_of_a_universal_file(tmp_path):
    """A line of three nodes as Salome writes it, groups of nodes and of elements."""
    odd = "2 22 1 1 7 3\n0 1 1\n1 2 3"
    groups = "1 0 0 0 0 0 0 2\n\n7 1 0 0 7 2 0 0\n2 0 0 0 0 0 0 1\nCELLS\n8 1 0 0\n3 0 0 0 0 0 0 0\nNONE"
    text = universal((164, "1 mm 2\n1.0D+03 1. 1. 0."), POINTS4, (2412, TET4[1] + "\n" + odd), (2467, groups))
    found = mesh(tmp_path, text.replace("    -1\n    -1\n", "    -1\n    -1\n"), "a.unv")
    assert found.stated_length == pytest.approx(1e-3)
    assert found.node_number[found.node_sets["group_1"]].tolist() == [1, 2]
    assert "CELLS" in found.cell_sets and "NONE" not in {*found.node_sets, *found.cell_sets}


# ------------------------------------------------------------------ axes and materials of Nastran


@pytest.mark.parametrize(
    "entries, says",
    [
        (["CORD2R,7,,0.,0.,0.,0.,0.,1.,+\n+,0.,0.,2.", "GRID,99,7,1.,1.,1."],
         "the points of coordinate system 7 lie on one line"),
        (["CORD1R,7,1,2,999", "GRID,99,7,1.,1.,1."], "refers to node 999, which does not exist"),
        (["CORD2R,7,7,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.", "GRID,99,7,1.,1.,1."], "7 is defined by itself"),
        (["GRID,99,7,1.,1.,1."], "coordinate system 7 is used and not defined"),
        (["GRID,1,,5.,5.,5."], "node 1 is defined twice at different places"),
        (["CELAS2,70,1.,99,1,1,1", "GRID,99,,1.,1.,1.,8"], "coordinate system 8 is used and not defined"),
        (["MAT8,5,1.+5,1.+4,9.,5.+3", "PCOMP,9\n+,5,1.", "CQUAD4,50,9,1,2,4,3"], "nu12^2 below E1/E2"),
    ],
)  # fmt: skip
def test_axes_and_moduli_that_do_not_fit(tmp_path, entries, says):
    assert says in refused(tmp_path, nastran(*entries), "a.bdf")


@pytest.mark.parametrize("on_axis", [False, True])
@pytest.mark.parametrize(
    "kind, on, off",
    [("C", "0.,0.,3.", "2.,90.,3."), ("S", "0.,0.,0.", "3.605551275463989,33.690067525979785,90.")],
)
def test_displacements_along_polar_axes(tmp_path, kind, on, off, on_axis):
    """Directions of a node at (0, 2, 3): radial, then around or polar; on the axis those of the system."""
    place = on if on_axis else off
    entries = [f"CORD2{kind},7,,0.,0.,0.,0.,0.,1.,+\n+,1.,0.,0.", f"GRID,99,7,{place},7"]
    entries += [f"CELAS2,7{k},1.,99,{k},1,{k}" for k in (1, 2, 3)]
    springs = mesh(tmp_path, nastran(*entries), "a.bdf").deck.springs
    found = np.array([spring.terms[0][1][:3] for spring in springs])
    if on_axis:
        np.testing.assert_allclose(found, np.eye(3), atol=1e-14)
        return
    r = np.array([0.0, 2.0, 3.0]) / np.sqrt(13.0)
    around = np.array([-1.0, 0.0, 0.0])
    polar = [[0, 1, 0], around, [0, 0, 1]] if kind == "C" else [r, np.cross(around, r), around]
    np.testing.assert_allclose(found, polar, atol=1e-13)


def test_properties_of_solids_that_are_not_understood(tmp_path):
    fluid = mesh(tmp_path, nastran().replace("PSOLID,2,1", "PSOLID,2,1,,,,,PFLUID"), "a.bdf").deck
    assert fluid.not_understood == {"PSOLID with PFLUID": 1}
    plates = mesh(
        tmp_path, nastran(material=MAT8).replace("ID,1,1", "ID,1,2").replace("ID,2,1", "ID,2,2"), "b.bdf"
    )
    assert plates.deck.not_understood == {"PSOLID with MAT8": 2}
    own = nastran("PARAM,POST,-1", material="MAT9,1,4.,1.,1.,,,,4.,+\n+,1.,,,,4.,,,,+\n+,2.,,,2.,,2.,1.")
    own = own.replace("PSOLID,1,1", "PSOLID,1,1,-1").replace("PSOLID,2,1", "PSOLID,2,1,0")
    assert mesh(tmp_path, own, "d.bdf").deck.not_understood == {"PSOLID with axes of the element": 1}


# ------------------------------------------------------------------ keywords, entries, sections


def test_keyword_lines_that_go_on_and_tables_in_files_of_their_own(tmp_path):
    (tmp_path / "more.txt").write_text("99, 1., 2., 3.\n")
    text = abaqus("*NODE, INPUT=more.txt,", "NSET=N")
    found = mesh(tmp_path, text, "a.inp")
    assert found.node_number[found.node_sets["N"]].tolist() == [99]
    np.testing.assert_array_equal(found.points[found.node_indices([99])[0]], [1.0, 2.0, 3.0])


LAMINA = "*MATERIAL, NAME=STEEL\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n"
LAMINA += "1.4e5, 9.e3, 9.e3, .3, .3, .3, 5.e3, 5.e3\n5.e3"


@pytest.mark.parametrize(
    "card, says",
    [
        ("*ORIENTATION, NAME=O\n1., 0., 0.", "*ORIENTATION needs two points"),
        ("*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n4, 30.", "*ORIENTATION turns about axis 1, 2 or 3"),
    ],
)
def test_axes_of_a_material_that_do_not_fit(tmp_path, card, says):
    text = abaqus(card, material=LAMINA).replace("MATERIAL=STEEL\n", "MATERIAL=STEEL, ORIENTATION=O\n")
    assert says in refused(tmp_path, text, "a.inp")


def test_a_continuation_without_an_entry(tmp_path):
    text = nastran().replace("BEGIN BULK\n", "BEGIN BULK\n+,1,2,3\n")
    assert "a continuation line without an entry before it" in refused(tmp_path, text, "a.bdf")
    tabs = nastran("GRID\t99\t\t1.\t2.\t3.", "CELAS2,70,1.,99,1,1,1")
    assert mesh(tmp_path, tabs, "b.bdf").deck.springs[0].stiffness == 1.0


MSH = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"


@pytest.mark.parametrize(
    "text, says",
    [
        (MSH + "$Elements\n1\n1 4 -2 1 1 1 2 3 4\n$EndElements\n", "an element claims -2 tags"),
        (MSH + "$Elements\n2\n1 4 2 1 1 1 2 3 4\n2 4 2\n$EndElements\n", "ends inside an element"),
        (MSH.replace("2.2", "4.1") + "$PartitionedEntities\n1\n$EndPartitionedEntities\n", "is partitioned"),
    ],
)
def test_damaged_msh_is_named(tmp_path, text, says):
    assert says in refused(tmp_path, text, "a.msh")
