"""What only one format has: instances and sets of sets, coordinate systems, loads; and what is refused."""

import struct

import numpy as np
import pytest

from flexmbs.errors import FlexmbsError, InputError
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.check.summary import volume
from flexmbs.fe.node_orders import ORDERS
from flexmbs.fe.readers import read_mesh
from tests.fe.mesh_samples import sample

BRICK = """*NODE
1, 0, 0, 0
2, 1, 0, 0
3, 1, 1, 0
4, 0, 1, 0
5, 0, 0, 1.D0
6, 1, 0, 1
7, 1, 1, 1
8, 0, 1, 1
*ELEMENT, TYPE=C3D8, ELSET=solid
1, 1,2,3,4,
5,6,7,8
"""
GRIDS = "".join(
    f"GRID,{n},,{float(x)},{float(y)},{float(z)}\n"
    for n, (x, y, z) in enumerate(
        [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], start=1
    )
)
CHEXA = "CHEXA,1,1,1,2,3,4,5,6\n+,7,8\n"


def read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return read_mesh(tmp_path / name)


def numbers(mesh, name):
    return sorted(mesh.node_number[mesh.node_set_of(name)].tolist())


def message(tmp_path, name, text):
    with pytest.raises(InputError) as error:
        read(tmp_path, name, text)
    return str(error.value)


# ---- Abaqus and CalculiX


def test_abaqus_generate_and_sets_of_sets(tmp_path):
    text = (
        BRICK
        + "*NSET, NSET=low, GENERATE\n1, 4, 1\n*Nset, nset=MORE\nLOW, 8\n*nset, nset=odd, generate\n1,7,2\n"
    )
    mesh = read(tmp_path, "m.inp", text + "*NSET, NSET=of_solid, ELSET=Solid\n")
    assert numbers(mesh, "MORE") == [1, 2, 3, 4, 8]
    assert numbers(mesh, "odd") == [1, 3, 5, 7]
    assert numbers(mesh, "of_solid") == list(range(1, 9))


def test_abaqus_generate_takes_no_memory(tmp_path):
    mesh = read(tmp_path, "m.inp", BRICK + "*NSET, NSET=low, GENERATE\n1, 4000000000000, 3\n")
    assert numbers(mesh, "low") == [1, 4, 7]


def test_sets_of_sets_do_not_grow_without_end(tmp_path):
    """Every set names the one before twice: 2^40 entries if they were written out."""
    text = (
        BRICK + "*NSET, NSET=s0\n1, 2\n" + "".join(f"*NSET, NSET=s{k + 1}\ns{k}, s{k}\n" for k in range(40))
    )
    assert numbers(read(tmp_path, "m.inp", text), "s40") == [1, 2]


def test_abaqus_surface_of_element_set_and_free_faces(tmp_path):
    mesh = read(tmp_path, "m.inp", BRICK + "*SURFACE, NAME=top\nsolid, S2\n*SURFACE, NAME=skin\n1,\n")
    assert numbers(mesh, "top") == [5, 6, 7, 8]
    assert len(mesh.face_sets["skin"]["hex8"]) == 6


def test_abaqus_instances_are_moved_and_turned(tmp_path):
    text = (
        "*PART, NAME=Brick\n" + BRICK + "*NSET, NSET=end, GENERATE\n5, 8, 1\n*END PART\n*ASSEMBLY, NAME=A\n"
    )
    text += "*INSTANCE, NAME=one, PART=brick\n*END INSTANCE\n*INSTANCE, NAME=two, PART=Brick\n0, 0, 2\n"
    text += "0, 0, 2, 1, 0, 2, 90.\n*END INSTANCE\n*NSET, NSET=both, INSTANCE=one\nend\n"
    text += "*NSET, NSET=both, INSTANCE=two\n1\n*ELSET, ELSET=all\none.solid, two.solid\n*END ASSEMBLY\n"
    mesh = read(tmp_path, "m.inp", text)
    assert mesh.n_nodes == 16 and volume(mesh) == pytest.approx(2.0)
    # (0, 0, 1) moved to (0, 0, 3), then turned about the x axis through z = 2
    np.testing.assert_allclose(mesh.points[mesh.node_indices(15)], [[0, -1, 2]], atol=1e-15)
    assert numbers(mesh, "both") == [5, 6, 7, 8, 11]
    assert numbers(mesh, "two.end") == [15, 16, 17, 18]
    assert len(mesh.cell_sets["all"]["hex8"]) == 2
    assert [note.code for note in mesh.notes] == ["mesh.renumbered"]


def test_abaqus_independent_instances_carry_their_mesh(tmp_path):
    text = "*PART, NAME=P\n*END PART\n*ASSEMBLY, NAME=A\n*INSTANCE, NAME=one, PART=P\n 0, 0, 5\n" + BRICK
    text += (
        "*NSET, NSET=low, GENERATE\n1, 4, 1\n*END INSTANCE\n*NSET, NSET=a, INSTANCE=one\nlow\n*END ASSEMBLY\n"
    )
    mesh = read(tmp_path, "m.inp", text)
    assert mesh.points[:, 2].max() == 6.0 and numbers(mesh, "a") == numbers(mesh, "low") == [1, 2, 3, 4]


def test_abaqus_files_of_other_programs(tmp_path):
    """Comments and blank fields in elements, sections far down, surfaces named like their node sets."""
    text = BRICK.replace("1,2,3,4,\n5", "1,2,3,4,,\n** between\n5") + "*NSET, NSET=low, GENERATE\n1, 4, 1\n"
    text += "**\n" * 99 + "*SURFACE, NAME=low, TYPE=NODE\nlow\n*SOLID SECTION, ELSET=solid, MATERIAL=a\n"
    text += "*NSET, NSET=a, INSTANCE=gone\n7\n*NSET, NSET=A\n8\n"
    mesh = read(tmp_path, "m.inp", text)
    assert numbers(mesh, "low") == [1, 2, 3, 4] and numbers(mesh, "a") == [7, 8]


def test_abaqus_includes_stay_in_the_folder(tmp_path):
    (tmp_path / "nodes.inc").write_text(BRICK)
    assert read(tmp_path, "m.inp", "*INCLUDE, INPUT=nodes.inc\n").n_cells == 1
    assert "leaves the folder" in message(tmp_path, "m.inp", "*INCLUDE, INPUT=../../etc/passwd\n")
    assert "nested too deeply" in message(tmp_path, "m.inp", "*INCLUDE, INPUT=m.inp\n")


def test_abaqus_systems(tmp_path):
    text = "*NODE, SYSTEM=C\n1, 1, 90, 2\n*SYSTEM\n1,0,0, 1,1,0\n0,0,0\n*NODE\n2, 3, 0, 0\n*SYSTEM\n*NODE\n"
    text += "3, 0, 0, 0\n4, 0, 3, 5\n*ELEMENT, TYPE=C3D4\n1, 3, 1, 2, 4\n"
    mesh = read(tmp_path, "m.inp", text)
    np.testing.assert_allclose(mesh.points[:2], [[0, 1, 2], [1, 3, 0]], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BRICK + "*NSET, NSET=a\n99\n", 'node set "a" refers to node 99'),
        (BRICK + "*NSET, NSET=a\nlow\n", 'node set "low" is used and not defined'),
        (BRICK + "*NSET, NSET=a\na\n", "contain themselves"),
        (BRICK + "*ELSET, ELSET=a\n1, 2\n", 'element set "a" refers to element 2'),
        (BRICK + "*SURFACE, NAME=s\nsolid, S7\n", "faces that do not exist"),
        (BRICK + "*SURFACE, NAME=s\nsolid, FRONT\n", 'm.inp:13  error  face "FRONT"'),
        (BRICK + "*ELEMENT, TYPE=C3D5\n2, 1,2,3,4,5\n3, 1,2,3,4,6\n", "2 cells of type C3D5"),
        (BRICK + "*ELEMENT, TYPE=S4, ELSET=e\n2, 1,2,3,6\n", "1 quad4 cells lie on no face"),
        (BRICK + "*ELEMENT, TYPE=S4, ELSET=e\n2, 1,2,3,4\n*SHELL SECTION, ELSET=e\n", "has no thickness"),
        (BRICK + "*ELEMENT, TYPE=B21\n2, 1,2\n", "1 cells of type B21"),
        (BRICK + "*NGEN\n1, 9\n", "*NGEN is not supported"),
        (
            BRICK.replace("8, 0, 1, 1", "8, 0, one, 1"),
            'm.inp:9  error  expected numbers, found "8, 0, one, 1"',
        ),
        (
            BRICK.replace("8, 0, 1, 1", "8, 0, nan, 1"),
            'm.inp:9  error  expected numbers, found "8, 0, nan, 1"',
        ),
        (BRICK.replace("5,6,7,8", "5,6,7"), "need 8 nodes each"),
        (BRICK.replace("5,6,7,8", "5,6,7,80"), "node 80"),
        (BRICK + "*NODE\n1, 5, 5, 5\n", "node number 1 is defined more than once"),
        (BRICK.replace("*ELEMENT", "*OTHER"), "no solid cells"),
    ],
)
def test_abaqus_says_what_is_wrong(tmp_path, text, says):
    assert says in message(tmp_path, "m.inp", text)


def test_abaqus_flat_cells_without_section_mark_faces(tmp_path):
    mesh = read(
        tmp_path, "m.inp", BRICK + "*ELEMENT, TYPE=CPS4, ELSET=front\n2, 1,2,6,5\n*CONTACT PAIR\na, b\n"
    )
    assert mesh.set_kinds("front") == ["face"] and numbers(mesh, "front") == [1, 2, 5, 6]
    assert mesh.deck.not_understood == {"*CONTACT PAIR": 1}


# ---- Nastran


def test_nastran_coordinate_systems(tmp_path):
    """Cylindrical in rectangular, spherical, and a system given by nodes; positions worked out by hand."""
    text = "CORD2R,1,0,1.,0.,0.,1.,0.,1.\n+,1.,1.,0.\nCORD2C,2,1,0.,0.,0.,0.,0.,1.\n+,1.,0.,0.\n"
    text += "CORD2S,3,0,0.,0.,0.,0.,0.,1.\n+,1.,0.,0.\nCORD1R,4,11,12,13\n"
    text += "GRID,11,,0.,0.,5.\nGRID,12,,0.,0.,6.\nGRID,13,,0.,1.,5.\n"
    text += "GRID,1,2,2.,0.,3.\nGRID,2,3,2.,90.,90.\nGRID,3,4,1.,2.,3.\nGRID,4,,4.,4.,4.\n"
    text += "CTETRA,1,1,2,4,1,3\nENDDATA\n"
    mesh = read(tmp_path, "m.bdf", text)
    there = mesh.points[mesh.node_indices([1, 2, 3])]
    np.testing.assert_allclose(there, [[1, 2, 3], [0, 2, 0], [-2, 1, 8]], atol=1e-14)


def test_nastran_grdset_and_short_numbers(tmp_path):
    text = "BEGIN BULK\nGRDSET,,1\nCORD2R,1,0,0.,0.,1.,0.,0.,2.\n+,1.,0.,1.\n" + GRIDS.replace("1.0", "1.+0")
    mesh = read(tmp_path, "m.bdf", text + CHEXA + "ENDDATA\n")
    assert mesh.points[:, 2].min() == 1.0 and volume(mesh) == pytest.approx(1.0)


def test_nastran_sets_ranges_and_loads(tmp_path):
    text = (
        "SOL 103\nSET 4 = 1 THRU 8 EXCEPT 3,6\nSET 5 = 1 THRU 7 BY 2\nSET 6=ALL\n"
        "SET 7=0.1,2.5\nSET 8=1,99\nBEGIN BULK\n" + GRIDS + CHEXA
    )
    text += "SET1,9,5,THRU,8\nPLOAD4,70,1,1.,,,,5,7\nRBE2,5,1,123,2\nENDDATA\n"
    mesh = read(tmp_path, "m.bdf", text)
    assert numbers(mesh, "set_4") == [1, 2, 4, 5, 7, 8] and numbers(mesh, "set_5") == [1, 3, 5, 7]
    assert numbers(mesh, "set_9") == [5, 6, 7, 8] and numbers(mesh, "pload4_70") == [5, 6, 7, 8]
    assert "set 8 is passed over" in str(mesh.notes[0])
    assert mesh.deck.links[0].nodes.tolist() == [2] and mesh.deck.no_effect == {"PLOAD4": 1}


def test_nastran_tetra_load_names_the_opposite_node(tmp_path):
    text = GRIDS + "CTETRA,1,1,1,2,4,5\nPLOAD4,70,1,1.,,,,1,5\nENDDATA\n"
    assert numbers(read(tmp_path, "m.bdf", text), "pload4_70") == [1, 2, 4]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (GRIDS + CHEXA.replace("7,8", "7,88") + "ENDDATA\n", "node 88"),
        (GRIDS + CHEXA.replace("7,8", "7"), "nodes are not all numbers"),
        (GRIDS.replace("GRID,8,", "GRID,8,9") + CHEXA, "coordinate system 9 is used and not defined"),
        (
            GRIDS + "CORD2R,1,1,0.,0.,0.,0.,0.,1.\n+,1.,0.,0.\nGRID,9,1,0.,0.,0.\n" + CHEXA,
            "defined by itself",
        ),
        (GRIDS + CHEXA + "CVISC,2,1,1,2\n", "1 cells of type CVISC"),
        (GRIDS + CHEXA + "CTETRA,2,1,1,2,3,5,6\n", "CTETRA with 5 of 10 nodes"),
        (GRIDS + CHEXA + "CONM2,2,99,,3.\n", "CONM2 2 names node 99"),
        (GRIDS + CHEXA + "CQUAD4,2,2,1,2,3,4\nPSHEAR,2,1,.1\n", "with a section"),
        (GRIDS + CHEXA + "CQUAD4,2,7,1,2,3,5\n", "lie on no face"),
        (
            GRIDS.replace("GRID,8,,0.0", "GRID,8,,x") + CHEXA,
            'm.bdf:8  error  GRID: expected a number, found "x"',
        ),
        ("INCLUDE '/etc/passwd'\n", "leaves the folder"),
    ],
)
def test_nastran_says_what_is_wrong(tmp_path, text, says):
    assert says in message(tmp_path, "m.bdf", text)


# ---- gmsh, VTK, VTU


@pytest.mark.parametrize("name", ["m.msh", "n.msh", "m.inp", "m.vtk", "m.vtu", "m.bdf"])
def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path, name):
    from tests.fe import mesh_writers as write
    from tests.fe.mesh_samples import sample

    writers = {"m.msh": write.write_gmsh41, "n.msh": write.write_gmsh22, "m.inp": write.write_inp}
    writers |= {"m.vtk": write.write_vtk, "m.vtu": write.write_vtu, "m.bdf": write.write_bdf}
    path = tmp_path / name
    writers[name](sample("hex20"), path)
    good = read_mesh(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    back = read_mesh(path)
    np.testing.assert_array_equal(back.cells["hex20"], good.cells["hex20"])
    assert back.set_names == good.set_names


def test_vtk_texts_are_passed_over(tmp_path):
    grid = "# vtk DataFile Version 5.1\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
    grid += "FIELD FieldData 1\nname 1 2 string\na%20b\nc\nMETADATA\nINFORMATION 0\n\n"
    grid += "POINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 2 4\n"
    grid += "OFFSETS vtktypeint64\n0 4\nCONNECTIVITY vtktypeint64\n0 1 2 3\nCELL_TYPES 1\n10\n"
    assert read(tmp_path, "m.vtk", grid).n_cells == 1


def test_claimed_counts_are_compared_with_the_file(tmp_path):
    """Counts of terabytes end at once, without taking memory."""
    head = b"$MeshFormat\n4.1 1 8\n" + struct.pack("<i", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    path = tmp_path / "m.msh"
    path.write_bytes(
        head + struct.pack("<4Q3iQ", 1, 1 << 40, 1, 1 << 40, 3, 1, 0, 1 << 40) + b"\n$EndNodes\n"
    )
    with pytest.raises(InputError, match="has room for"):
        read_mesh(path)
    says = message(tmp_path, "m.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\n"
                                      "POINTS 900000000000 double\n0 0 0\n")  # fmt: skip
    assert "ends before" in says
    text = '<VTKFile type="UnstructuredGrid"><UnstructuredGrid>'
    text += '<Piece NumberOfPoints="90000000000" NumberOfCells="0">'
    text += '<Points><DataArray type="Float64" format="binary">AAAA</DataArray></Points><Cells>'
    text += "".join(f'<DataArray type="Int64" Name="{n}"/>' for n in ("connectivity", "offsets", "types"))
    assert "more than the file can hold" in message(
        tmp_path, "m.vtu", text + "</Cells></Piece></UnstructuredGrid></VTKFile>"
    )


def test_xml_entities_are_refused(tmp_path):
    text = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><VTKFile/>'
    assert "entities" in message(tmp_path, "m.vtu", text)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("m.msh", "$MeshFormat\n4.0 0 8\n$EndMeshFormat\n", "save it as version 4.1 or 2.2"),
        ("m.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$ParametricNodes\n", "Mesh.SaveParametric = 0"),
        ("m.msh", "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 1\n", "no complete section $Nodes"),
        ("m.vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n", "save it as UNSTRUCTURED_GRID"),
        ("m.vtu", '<VTKFile type="PolyData"></VTKFile>', "save it as UnstructuredGrid"),
        ("m.step", "ISO-10303-21;", "mesh it first: flexmbs mesh m.step -o m.msh"),
        ("m.xyz", "1 2 3", "unknown kind of mesh file"),
    ],
)
def test_other_content_is_named(tmp_path, name, text, says):
    assert says in message(tmp_path, name, text)


def test_a_missing_file_and_a_large_one(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_mesh(tmp_path / "none.msh")
    (tmp_path / "m.inp").write_text(BRICK)
    with pytest.raises(InputError, match="more than the limit"):
        read_mesh(tmp_path / "m.inp", max_bytes=100)


def test_gmsh_cells_that_are_not_supported_are_counted(tmp_path):
    text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n"
    text += "4 0 1 0\n5 0 0 1\n$EndNodes\n$Elements\n2\n1 {} 2 0 1 {}\n2 4 2 0 1 1 2 3 5\n$EndElements\n"
    unknown = text.format(14, " ".join("12345123451234"))
    assert "1 cells of type pyramid14, which is not supported" in message(tmp_path, "m.msh", unknown)
    mesh = read(tmp_path, "n.msh", text.format(7, "1 2 3 4 5"))
    assert mesh.cells["pyramid5"].tolist() == [[0, 1, 2, 3, 4]]


def test_gmsh_named_group_without_elements_is_reported(tmp_path):
    text = '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 7 "gone"\n$EndPhysicalNames\n'
    text += "$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n"
    text += "$Elements\n1\n1 4 2 3 1 1 2 3 4\n$EndElements\n"
    check = check_mesh(read(tmp_path, "m.msh", text))
    assert "empty face sets: gone" in str(check.warnings[0])
    assert check.mesh.cell_sets["3"]["tet4"].tolist() == [0]  # a group without a name


def test_no_damage_passes_as_a_bug(tmp_path):
    """Random damage of one file per format ends in a mesh or an InputError."""
    from tests.fe import mesh_writers as write
    from tests.fe.mesh_samples import sample

    rng = np.random.default_rng(20)
    mesh = sample("hex8")
    writers = {
        "a.msh": lambda p: write.write_gmsh41(mesh, p),
        "b.msh": lambda p: write.write_gmsh41(mesh, p, binary=True),
        "c.msh": lambda p: write.write_gmsh22(mesh, p),
        "d.msh": lambda p: write.write_gmsh22(mesh, p, binary=True),
        "a.inp": lambda p: write.write_inp(mesh, p),
        "a.vtk": lambda p: write.write_vtk(mesh, p),
        "b.vtk": lambda p: write.write_vtk(mesh, p, binary=True, version=5),
        "a.vtu": lambda p: write.write_vtu(mesh, p),
        "b.vtu": lambda p: write.write_vtu(mesh, p, "appended", packed=True),
        "a.bdf": lambda p: write.write_bdf(mesh, p, "small"),
    }
    for name, writer in writers.items():
        path = tmp_path / name
        writer(path)
        good = path.read_bytes()
        for _ in range(25):
            path.write_bytes(damaged(good, rng))
            try:
                check_mesh(read_mesh(path))
            except FlexmbsError as error:
                assert error.diagnostics[0].code.startswith("mesh."), name


def damaged(good, rng):
    """Cut, flip bits, take out a piece, or write something over it."""
    content = bytearray(good)
    at = int(rng.integers(len(content)))
    kind = int(rng.integers(4))
    if kind == 0:
        return bytes(content[:at])
    if kind == 1:
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == 2:
        del content[at : at + int(rng.integers(1, 60))]
    else:
        texts = [b"99999999999", b"-1", b"nan", b"1e308", b"\xff" * 8, b"\0" * 4]
        content[at : at + 4] = texts[int(rng.integers(len(texts)))]
    return bytes(content)


def small_field(name, *words):
    """An entry in fields of eight, as many lines as it needs."""
    text = [f"{word:>8}" for word in words]
    lines = ["".join(text[k : k + 8]) for k in range(0, len(text), 8)]
    return f"{name:<8}" + f"+\n{'+':<8}".join(f"{line:<64}" for line in lines)


@pytest.mark.parametrize("kind", ["tet4", "tet10", "hex8", "hex20", "wedge6", "wedge15"])
def test_long_runs_of_nastran_read_as_single_entries_do(tmp_path, kind):
    mesh = sample(kind)
    card = {"t": "CTETRA", "h": "CHEXA", "w": "CPENTA", "p": "CPYRAM"}[kind[0]]
    back = np.argsort(ORDERS["nastran"].get(kind, range(mesh.cells[kind].shape[1])))
    lines = ["BEGIN BULK", "CORD2R,3,,1.,0.,0.,1.,0.,1.", ",2.,0.,0."]
    for n, x in enumerate(mesh.points):
        words = [f"{value:.5f}" for value in x]
        if n % 5 == 1:
            words = [f"{value * 1e3:.1f}-3" for value in x]
        plain = small_field("GRID", n + 1, 3 if n % 7 == 2 else "", *words)
        lines.append(plain if n % 3 else f"GRID,{n + 1},,{','.join(words)}")
    lines.append(small_field("GRID", 9001, "", "", "", "", 3))  # with a system for displacements
    for e, row in enumerate(mesh.cells[kind]):
        lines.append(small_field(card, e + 1, 1 + e % 2, *(row[back] + 1)))
    lines += ["PSOLID,1,1", "PSOLID,2,1", "MAT1,1,2.1+11,,.3,7850.", "ENDDATA", "GRID,1,,9.,9.,9."]
    (tmp_path / "m.bdf").write_text("\n".join(lines))
    quick, slow = read_mesh(tmp_path / "m.bdf"), read_mesh(tmp_path / "m.bdf", ignore=["PLOTEL"])
    for one, other in ((quick, slow), (slow, quick)):
        np.testing.assert_array_equal(np.sort(one.node_number), np.sort(other.node_number))
        index = one.node_indices(other.node_number)
        np.testing.assert_array_equal(one.points[index], other.points)
        order = np.argsort(one.cell_number[kind])
        np.testing.assert_array_equal(
            one.node_number[one.cells[kind][order]],
            other.node_number[other.cells[kind][np.argsort(other.cell_number[kind])]],
        )
        assert sorted(one.cell_sets) == ["pid_1", "pid_2"]
    np.testing.assert_array_equal(slow.cells[kind], mesh.cells[kind][: len(slow.cells[kind])])


def test_a_node_at_two_places_is_found_in_long_runs(tmp_path):
    text = "\n".join(
        [small_field("GRID", 1, "", "0.", "0.", "0."), small_field("GRID", 1, "", "1.", "0.", "0.")]
    )
    assert "m.bdf:2  error  node 1 is defined twice" in message(tmp_path, "m.bdf", text + "\n")


def test_blanks_behind_commas_at_the_ends_of_lines(tmp_path):
    """Elements that go on over lines, and lines with a comma too many, also with blanks behind it."""
    text = "*NODE\n" + "".join(f"{n}, {n % 2}., {n // 2}., {n // 4}.,  \n" for n in range(1, 5))
    text += "*ELEMENT, TYPE=C3D4, ELSET=E\n1, 1, 2,  \n3, 4, \n2, 1, 2, 3, 4,\t\n"
    (tmp_path / "m.inp").write_text(text)
    mesh = read_mesh(tmp_path / "m.inp")
    assert mesh.cells["tet4"].shape == (2, 4) and (mesh.cells["tet4"] >= 0).all()
    (tmp_path / "m.inp").write_text(text.replace("1, 1, 2,  \n3, 4, ", "1, 1, , 3, 4"))
    with pytest.raises(InputError, match="without a number"):
        read_mesh(tmp_path / "m.inp")
