"""Universal files, Code_Aster, openFEDEM and Ansys archives: the same bar in all of them."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.shapes.parametric import box
from tests.decks.samples import nastran
from tests.decks.test_deck_materials import body, refused

SHEAR = np.array([[1.0, 0.1, 0.05], [0.2, 1.0, 0.1], [0.0, 0.3, 1.0]])
KINDS = ["tet4", "tet10", "hex8", "hex20"]


def part(element, divisions=(3, 2, 1)):
    mesh = box((30.0, 20.0, 10.0), divisions, element=element)
    return mesh.points @ SHEAR, mesh.cells[element]


def between(X, row, a, b):
    """Node of the row in the middle of its nodes a and b."""
    middle = 0.5 * (X[row[a]] + X[row[b]])
    return int(row[np.argmin(np.linalg.norm(X[row] - middle, axis=1))])


def going_round(X, row, element):
    """Nodes of an element as I-DEAS and openFEDEM list them: corner, mid-node, corner, ... then upwards."""
    kind = ELEMENTS[element]
    corners = list(range(kind.n_corners))
    if kind.order == 1:
        return [int(row[k]) for k in corners]
    if kind.family == "tet":
        ring = [n for a, b in ((0, 1), (1, 2), (2, 0)) for n in (int(row[a]), between(X, row, a, b))]
        return [*ring, *(between(X, row, a, 3) for a in (0, 1, 2)), int(row[3])]
    rings = []
    for base in ((0, 1, 2, 3), (4, 5, 6, 7)):
        pairs = zip(base, base[1:] + base[:1], strict=True)
        rings.append([n for a, b in pairs for n in (int(row[a]), between(X, row, a, b))])
    return [*rings[0], *(between(X, row, a, a + 4) for a in range(4)), *rings[1]]


def check(path, element, unit=1e-3):
    """The volume of the bar, no cell turned or tangled."""
    from flexmbs.fe.check.summary import volume

    found = check_mesh(read_mesh(path, unit=unit))
    mesh = found.require()
    assert not [item for item in found.warnings if item.code == "mesh.mirrored"]
    np.testing.assert_allclose(volume(mesh), 6e-6 * np.linalg.det(SHEAR), rtol=1e-9)
    assert list(mesh.cells) == [element]
    return mesh


def unv(X, rows, element, units=""):
    descriptor = {"tet4": 111, "tet10": 118, "hex8": 115, "hex20": 116}[element]
    nodes = [
        f"{n + 1:10d}{1:10d}{1:10d}{11:10d}\n" + "".join(f"{x:25.16E}".replace("E", "D") for x in p)
        for n, p in enumerate(X)
    ]
    cells = []
    for k, row in enumerate(rows):
        order = going_round(X, row, element)
        words = [f"{n + 1:10d}" for n in order]
        lines = ["".join(words[i : i + 8]) for i in range(0, len(words), 8)]
        cells.append("\n".join([f"{k + 1:10d}{descriptor:10d}{1:10d}{1:10d}{7:10d}{len(words):10d}", *lines]))
    group = f"{1:10d}" + f"{0:10d}" * 6 + f"{3:10d}\nEND\n"
    group += "".join(f"{7:10d}{n:10d}{0:10d}{0:10d}" for n in (1, 2)) + "\n" + f"{8:10d}{1:10d}{0:10d}{0:10d}"
    sets = [("2411", "\n".join(nodes)), ("2412", "\n".join(cells)), ("2467", group)]
    sets = [("164", units), *sets] if units else sets
    return "".join(f"{-1:6d}\n{name:>6}\n{text}\n{-1:6d}\n" for name, text in sets)


@pytest.mark.parametrize("element", KINDS)
def test_universal_file(tmp_path, element):
    (tmp_path / "a.unv").write_text(unv(*part(element), element))
    mesh = check(tmp_path / "a.unv", element)
    assert mesh.set_kinds("END") == ["node", "cell"] and len(mesh.node_sets["END"]) == 2


def test_units_of_a_universal_file_hold(tmp_path):
    units = "         5  mm (milli newton)         2\n  1.0000000000000000D+03  1.0D+03  1.0D+00\n  2.7D+02"
    text = unv(*part("hex8"), "hex8", units)
    modal = body(tmp_path, text, "a.unv", material="steel")
    np.testing.assert_allclose(modal.integrals.mass, 7850 * 6e-6 * np.linalg.det(SHEAR), rtol=1e-9)
    assert (
        body(tmp_path, text, "a.unv", material="steel", unit_system="mm").integrals.mass
        == modal.integrals.mass
    )
    assert refused(tmp_path, text, "a.unv", material="steel", unit_system="m")[0].code == "deck.units"


def mail(X, rows, element):
    name = {"tet4": "TETRA4", "tet10": "TETRA10", "hex8": "HEXA8", "hex20": "HEXA20"}[element]
    order = list(range(rows.shape[1]))
    if element == "hex20":  # verticals stand before the mid-nodes of the top
        order = [*range(12), 16, 17, 18, 19, 12, 13, 14, 15]
    lines = ["TITRE", "a bar", "FINSF", "COOR_3D"]
    lines += [f"N{n + 1} {p[0]:.12E} {p[1]:.12E} {p[2]:.12E}  % a node" for n, p in enumerate(X)]
    lines += ["FINSF", f"{name} NOM = INDEFINI NBOBJ = {len(rows)}"]
    lines += [f"M{k + 1} " + " ".join(f"N{row[j] + 1}" for j in order) for k, row in enumerate(rows)]
    lines += ["FINSF", "GROUP_NO NOM = END", "N1 N2", "FINSF", "GROUP_MA", "FIRST M1", "FINSF", "FIN"]
    return "\n".join(lines)


@pytest.mark.parametrize("element", KINDS)
def test_code_aster(tmp_path, element):
    (tmp_path / "a.mail").write_text(mail(*part(element), element))
    mesh = check(tmp_path / "a.mail", element)
    assert mesh.node_number[mesh.node_sets["END"]].tolist() == [1, 2] and mesh.set_kinds("FIRST") == ["cell"]


def ftl(X, rows, element):
    lines = ["FTLVERSION{7 ASCII}", "# a bar"]
    lines += [
        f"NODE{{{n + 1} {int(n == 0)} {' '.join(f'{x:.12e}' for x in p)}}}" for n, p in enumerate(1e-3 * X)
    ]
    lines += [f"NODE{{{len(X) + 1} 1 0.05 0.0 0.0}}"]
    for k, row in enumerate(rows):
        words = " ".join(str(n + 1) for n in going_round(X, row, element))
        lines.append(f"{element.upper()}{{{k + 1} {words}\n  {{PMAT 1}} {{VISUAL 1}}}}")
    lines += ['PMAT{1 2.1e+11 8.07e+10 0.3 7850\n {NAME "steel"}}', "PMASS{1 2.0}"]
    lines += [
        f"RGD{{900 {len(X) + 1} {' '.join(str(n + 1) for n in rows[0][:4])}}}",
        f"CMASS{{901 {len(X) + 1} {{PMASS 1}}}}",
        'GROUP{1 1 2 {NAME "two"}}',
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("element", KINDS)
def test_openfedem(tmp_path, element):
    modal = body(tmp_path, ftl(*part(element), element), "a.ftl")
    volume = 6e-6 * np.linalg.det(SHEAR)
    np.testing.assert_allclose(modal.integrals.mass, 7850 * volume + 2.0, rtol=1e-9)
    assert not [text for text in modal.quality["warnings"] if "mirrored" in text]
    mesh = read_mesh(tmp_path / "a.ftl")
    assert mesh.set_kinds("two") == ["cell"] and len(mesh.node_sets["external"]) == 2


def cdb(X, rows, element, number, extra=()):
    lines = ["/COM,ANSYS", "/PREP7", f"ET,1,{number}", f"NBLOCK,6,SOLID,{len(X)},{len(X)}", "(3i9,6e21.13e3)"]
    for n, p in enumerate(X):
        words = [f"{x:21.13E}" for x in p]
        while words and float(words[-1]) == 0.0:
            words.pop()  # as Ansys leaves out zeros at the end
        lines.append(f"{n + 1:9d}{0:9d}{0:9d}" + "".join(words))
    lines += ["N,R5.3,LOC,       -1,", f"EBLOCK,19,SOLID,{len(rows)},{len(rows)}", "(19i9)"]
    for k, row in enumerate(rows):
        words = [1, 1, 1, 1, 0, 0, 0, 0, len(row), 0, k + 1, *(int(n) + 1 for n in row)]
        lines += ["".join(f"{w:9d}" for w in words[i : i + 19]) for i in range(0, len(words), 19)]
    lines += ["       -1", "CMBLOCK,END,NODE,       3", "(8i10)", f"{1:10d}{2:10d}{-4:10d}"]
    lines += ["CMBLOCK,FIRST,ELEM,       1", "(8i10)", f"{1:10d}"]
    lines += ["MPTEMP,R5.0, 1, 1,  0.00000000    ,", "MPDATA,R5.0, 1,EX  ,       1, 1,  210000.000    ,"]
    lines += ["MPDATA,R5.0, 1,PRXY,       1, 1, 0.300000000    ,", "MP,DENS,1,7.85E-9"]
    return "\n".join([*lines, *extra, "/GO", "FINISH"])


@pytest.mark.parametrize("element, number", [("hex8", 185), ("hex20", 186), ("tet10", 187), ("tet4", 285)])
def test_ansys_archive(tmp_path, element, number):
    X, rows = part(element)
    modal = body(tmp_path, cdb(X, rows, element, number, ["D,       1,UX  ,  0.0,  0.0"]), "a.cdb")
    np.testing.assert_allclose(modal.integrals.mass, 7850 * 6e-6 * np.linalg.det(SHEAR), rtol=1e-9)
    assert "mm-t-s" in modal.quality["notes"][0] and "d_1 (1 nodes, x)" in modal.quality["notes"][1]
    mesh = read_mesh(tmp_path / "a.cdb")
    assert mesh.node_number[mesh.node_sets["END"]].tolist() == [1, 2, 3, 4]
    assert mesh.set_kinds("FIRST") == ["cell"]
    assert refused(tmp_path, cdb(X, rows, element, number, ["CE,R5.0,DEFI, 1, 1"]), "a.cdb")[0].code


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("shape", ["tet", "wedge", "pyramid"])
def test_bricks_with_repeated_nodes(tmp_path, shape, quadratic):
    """The reference cell of each shape, written as a brick whose corners coincide."""
    name = {"tet": "tet10", "wedge": "wedge15", "pyramid": "pyramid13"}[shape]
    element = ELEMENTS[name]
    X = 10.0 * element.ref_coords
    i = list(range(element.n_corners))
    corners = {
        "tet": lambda: [i[0], i[1], i[2], i[2], i[3], i[3], i[3], i[3]],
        "wedge": lambda: [i[0], i[1], i[2], i[2], i[3], i[4], i[5], i[5]],
        "pyramid": lambda: [i[0], i[1], i[2], i[3], i[4], i[4], i[4], i[4]],
    }[shape]()
    edges = [(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)]
    row = list(corners)
    if quadratic:
        every = np.arange(len(X))
        for a, b in edges:
            same = corners[a] == corners[b]
            row.append(corners[a] if same else between(X, every, corners[a], corners[b]))
    else:
        X = X[: element.n_corners]
    (tmp_path / "a.cdb").write_text(cdb(X, np.array([row]), name, 186 if quadratic else 185))
    from flexmbs.fe.check.summary import volume

    text = (tmp_path / "a.cdb").read_text().replace(f"{-4:10d}", f"{3:10d}")
    (tmp_path / "a.cdb").write_text(text)
    mesh = check_mesh(read_mesh(tmp_path / "a.cdb")).require()
    assert list(mesh.cells) == [
        name if quadratic else {"tet": "tet4", "wedge": "wedge6", "pyramid": "pyramid5"}[shape]
    ]
    exact = {"tet": 1 / 6, "wedge": 1.0, "pyramid": 4 / 3}[shape] * 1e3
    np.testing.assert_allclose(volume(mesh), exact, rtol=1e-9)


@pytest.mark.parametrize(
    "name, text, says",
    [
        (
            "a.unv",
            "    -1\n  2411\n 1 1 1 11\n 0.0 x 0.0\n    -1\n",
            r'4  error  expected numbers, found "x"',
        ),
        ("a.unv", "    -1\n  2411\n 1 1 1 11\n 0.0 0.0\n    -1\n", "4  error  node 1 has no three"),
        ("a.unv", "    -1\n  2411\n 1 1 1 11\n    -1\n", "4  error  nodes need two lines each"),
        ("a.unv", "    -1\n  2411\n 1 1 1 11\n 0.0 0.0 0.0\n", "1  error  a dataset has no line -1"),
        ("a.mail", "COOR_3D\nN1 0. 0.\nFINSF\n", "2  error  node N1 has not all of its coordinates"),
        ("a.mail", "COOR_3D\nN1 0. 0. inf\nFINSF\n", '2  error  node N1: expected numbers, found "inf"'),
        ("a.mail", "COOR_3D\nN1 0 0 0\nN1 0 0 0\nFINSF", "COOR_3D announces 2, 1 of different names"),
        (
            "a.mail",
            "COOR_3D\nN1 0 0 0\nFINSF\n\nPOI1 NBOBJ = 2\nM1 N1\nFINSF",
            "5  error  POI1 announces",
        ),
        ("a.ftl", "NODE{1 0 0 0 0}\nNODE{1 0 0 0 0}", "2  error  node 1 is there twice"),
        (
            "a.ftl",
            "NODE{1 0 0 0 0}\n\nNODE 2 0 0 0 0}\nNODE{3 0 0 0 0}",
            "3  error  expected a record",
        ),
        (
            "a.cdb",
            "NBLOCK,6,SOLID,2,2\n(3i9,6e21.13e3)\n" + 3 * f"{1:9d}" + "\n-1",
            "announces 2 rows, 1",
        ),
        ("a.cdb", "ET,1,185\nEBLOCK,19,SOLID,7,7\n(19i9)\n-1", "EBLOCK announces 7 rows, 0 are there"),
        (
            "a.cdb",
            "CMBLOCK,A,NODE,3\n(8i10)\n" + f"{1:10d}{-9999999:10d}{3:10d}",
            "are more than",
        ),
        ("a.cdb", "CMBLOCK,A,NODE,4\n(8i10)\n" + f"{1:10d}", "CMBLOCK A ends 3 numbers early"),
        ("a.bdf", nastran("RBE2,5,1,123,2,THRU,999999999"), "3 THRU 999999999 are more than"),
        ("a.bdf", "GRID,1,,inf", '1  error  GRID: expected a number, found "inf"'),
        ("a.inp", "*NODE\n1, 0., nan, 0.\n", '2  error  expected numbers, found "1, 0., nan, 0."'),
        ("a.ftl", "NODE{1 0 0.0 0.0 zero}", "expected numbers"),
        ("a.cdb", "NBLOCK,6,SOLID\n3i9\n", "expected a format"),
        (
            "a.cdb",
            "ET,1,14\nEBLOCK,19,SOLID\n(19i9)\n"
            + "".join(f"{k:9d}" for k in [1] * 8 + [3, 0, 7, 1, 2, 3])
            + "\n-1",
            "TYPE 14",
        ),
    ],
)
def test_damage_is_named(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(fm.InputError, match=says):
        read_mesh(tmp_path / name)
