"""Shells, beams, links and masses of Ansys archives: the same body in Nastran, and closed forms."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.readers.ansys import EDGES
from tests.decks.test_deck_materials import refused


def archive(points, elements, *commands, types):
    """`elements`: type, real constants, section, nodes; as CDWRITE orders its blocks."""
    lines = ["/COM,ANSYS", "/PREP7", *(f"ET,{k},{label}" for k, label in types.items())]
    lines += [c for c in commands if c.startswith(("KEYOP", "R", "      "))]
    lines += [f"NBLOCK,6,SOLID,{len(points):9d},{len(points):9d}", "(3i9,6e21.13e3)"]
    lines += [f"{n + 1:9d}{0:9d}{0:9d}" + "".join(f"{x:21.13E}" for x in p) for n, p in enumerate(points)]
    lines += ["N,R5.3,LOC,       -1,", f"EBLOCK,19,SOLID,{len(elements):9d},{len(elements):9d}", "(19i9)"]
    for k, (kind, real, section, nodes) in enumerate(elements):
        row = [1, kind, real, section, 0, 0, 0, 0, len(nodes), 0, k + 1, *nodes]
        lines += ["".join(f"{w:9d}" for w in part) for part in (row[:19], row[19:]) if part]
    lines += [
        "       -1",
        "MPDATA,R5.0, 1,EX  ,       1, 1,  70000.0    ,",
        "MP,PRXY,1,0.33",
        "MP,DENS,1,2.7E-9",
    ]
    lines += [c for c in commands if c.startswith(("SEC", "MP", "0"))]
    return "\n".join([*lines, "/GO", "FINISH", ""])


def made(tmp_path, text, name="a.cdb", modes=6, **options):
    (tmp_path / name).write_text(text)
    return fm.reduce(tmp_path / name, modes=modes, stress="none", geometric_stiffness=False, **options)


def plate(kind):
    """Points (mm) and cells of a plate of 200 x 120 in the four kinds of Ansys."""
    quadratic, triangles = kind in ("quad8", "tri6"), kind[0] == "t"
    index, cells = {}, []
    for i, j in np.ndindex(5, 3):
        ring = [(2 * i, 2 * j), (2 * i + 2, 2 * j), (2 * i + 2, 2 * j + 2), (2 * i, 2 * j + 2)]
        for corners in [ring] if not triangles else [ring[:3], [ring[0], ring[2], ring[3]]]:
            ends = zip(corners, corners[1:] + corners[:1], strict=True)
            mids = [tuple((np.add(p, q) // 2).tolist()) for p, q in ends] if quadratic else []
            cells.append([index.setdefault(place, len(index) + 1) for place in corners + mids])
    return [(20.0 * a, 20.0 * b, 0.0) for a, b in index], cells


def repeated(kind, row):
    """Triangles repeat a node, as in archives."""
    if kind == "tri3":
        return [*row, row[2]]
    if kind == "tri6":
        i, j, k, m, n, p = row
        return [i, j, k, k, m, n, k, p]
    return row


def bulk(points, cells, card, *properties):
    lines = [f"GRID,{n + 1},,{x},{y},{z}" for n, (x, y, z) in enumerate(points)]
    for e, row in enumerate(cells):
        words = [card, str(e + 1), "1", *map(str, row)]
        parts = [words[:9], ["+", *words[9:]]] if len(words) > 9 else [words]
        lines.append(",+\n".join(",".join(part) for part in parts))
    return "\n".join([*lines, *properties, "MAT1,1,70000.,,.33,2.7-9", "ENDDATA", ""])


SECTION = ("SECTYPE,       1,SHELL,    ,", "SECOFFSET,MID", "SECBLOCK,       1", "0.200000E+01,   1, 0.0,  3")
CARDS = {"quad4": "CQUAD4", "tri3": "CTRIA3", "quad8": "CQUAD8", "tri6": "CTRIA6"}


@pytest.mark.parametrize("kind", CARDS)
def test_shells_are_those_of_nastran(tmp_path, kind):
    points, cells = plate(kind)
    label = 281 if kind in ("quad8", "tri6") else 181
    elements = [(1, 1, 1, repeated(kind, row)) for row in cells]
    modal = made(tmp_path, archive(points, elements, *SECTION, types={1: label}))
    same = made(tmp_path, bulk(points, cells, CARDS[kind], "PSHELL,1,1,2.,1,,1"), "p.bdf")
    assert modal.integrals.mass == pytest.approx(2700 * 0.2 * 0.12 * 0.002, rel=1e-9)
    np.testing.assert_allclose(modal.frequency_hz, same.frequency_hz, rtol=1e-9)


def test_thickness_by_constants_offsets_and_layers(tmp_path):
    points, cells = plate("quad4")
    plain = made(tmp_path, archive(points, [(1, 1, 1, row) for row in cells], *SECTION, types={1: 181}))
    elements = [(1, 7, 1, row) for row in cells]
    for constants in (("R,7,2.0",), ("RLBLOCK,       1,       7,       6,       7", "      (2i8,6g16.9)",
                                     "      (7g16.9)", "       7       4 2.0  2.0  2.0  2.0")):  # fmt: skip
        old = made(tmp_path, archive(points, elements, *constants, types={1: 63}), "o.cdb")
        np.testing.assert_allclose(old.frequency_hz, plain.frequency_hz, rtol=1e-9)
    listed = "RLBLOCK,1,1,12,7\n(2i8,6g16.9)\n(7g16.9)\n1 12 2.0 0. 0. 0. 0. 0.\n0. 0. 0. 0. 0. 0."
    by_constants = archive(points, [(1, 1, 0, row) for row in cells], listed, types={1: 181})
    found = made(tmp_path, by_constants, "h.cdb")  # without a section, as HyperMesh writes them
    np.testing.assert_allclose(found.frequency_hz, plain.frequency_hz, rtol=1e-9)
    for word, height in (("TOP", -1e-3), ("BOT", 1e-3)):
        moved = [line.replace("MID", word) for line in SECTION]
        found = made(tmp_path, archive(points, [(1, 1, 1, row) for row in cells], *moved, types={1: 181}))
        assert found.integrals.com[2] == pytest.approx(height)
    layers = ("SECTYPE,1,SHELL", "SECDATA,0.5,1,0,3", "SECDATA,1.0,2,45,3", "SECDATA,0.5,1,0,3")
    soft = ("MP,EX,2,7000", "MP,PRXY,2,0.33", "MP,DENS,2,1.0E-9")
    found = made(tmp_path, archive(points, [(1, 1, 1, row) for row in cells], *layers, *soft, types={1: 181}))
    sandwich = "PCOMP,1,,,,,,,SYM,+\n+,1,.5,0.,,2,.5,0.\nMAT1,2,7000.,,.33,1.-9"
    same = made(tmp_path, bulk(points, cells, "CQUAD4", sandwich), "s.bdf")
    np.testing.assert_allclose(found.frequency_hz, same.frequency_hz, rtol=1e-9)


@pytest.mark.parametrize("dropped", [range(8, 20), range(8, 12)])
def test_dropped_mid_nodes_stay_between_their_ends(tmp_path, dropped):
    """A brick without any is the plain one of eight nodes; one without those of a face fits to it."""
    X = np.array([[x, y, z] for z in (0, 20) for x, y in ((0, 0), (30, 0), (30, 10), (0, 10))], dtype=float)
    mids = [(a + b) / 2 for a, b in X[np.array(EDGES[20])]]
    points = [tuple(p) for p in (*X, *mids)]
    row = [0 if k in dropped else k + 1 for k in range(20)]
    full = made(tmp_path, archive(points, [(1, 1, 1, row)], types={1: 186}), modes=6)
    assert full.integrals.mass == pytest.approx(2.7e-6 * 6000, rel=1e-9)
    if len(dropped) == 12:
        linear = {"shape": "box", "size": [0.03, 0.01, 0.02], "divisions": [1, 1, 1], "element": "hex8-plain"}
        item = {"young": 7e10, "poisson": 0.33, "density": 2700}
        same = fm.reduce({"mesh": linear, "material": item, "modes": 6, "stress": "none"})
        np.testing.assert_allclose(full.frequency_hz, same.frequency_hz, rtol=1e-6)
    else:
        below = [(x, y, z - 20.0) for x, y, z in points[:4]]
        nodes = [*range(21, 25), 1, 2, 3, 4]
        joined = archive([*points, *below], [(1, 1, 1, row), (2, 1, 1, nodes)], types={1: 186, 2: 185})
        found = made(tmp_path, joined, "j.cdb", modes=3)
        assert found.integrals.mass == pytest.approx(2.7e-6 * 12000, rel=1e-9)
        assert found.quality["rigid_modes"] == 6


LINE = [(100.0 * k, 0.0, 0.0) for k in range(11)]


def beams(label, *commands, towards=None, **options):
    points = [*LINE, *([towards] if towards else [])]
    nodes = [[k, k + 1, *([12] if towards else [])] for k in range(1, 11)]
    return archive(points, [(1, 1, 1, row) for row in nodes], *commands, types={1: label}, **options)


def test_beams_of_sections_and_of_constants(tmp_path):
    """A rectangle 20 wide (y), 40 high (z): it is slow in y, or where its orientation node turns that to."""
    section = ("SECTYPE,1,BEAM,RECT,  ,0", "SECOFFSET,CENT", "SECDATA,20.0,40.0,2,2")
    for towards, slow in ((None, 1), ((0.0, 100.0, 0.0), 2), ((0.0, 0.0, 50.0), 1)):
        modal = made(tmp_path, beams(188, *section, towards=towards))
        assert modal.integrals.mass == pytest.approx(2700 * 8e-4)
        expected = 22.3733 / (2 * np.pi) * np.sqrt(7e10 * 0.04 * 0.02**3 / 12 / (2700 * 8e-4))
        assert modal.frequency_hz[0] == pytest.approx(expected, rel=6e-3)  # shear and rotary inertia
        assert np.abs(modal.Phi[0]).max(axis=0).argmax() == slow
    by_numbers = f"SECDATA,800.0,{20 * 40**3 / 12},0,{40 * 20**3 / 12},0,73240.0"
    same = made(tmp_path, beams(188, "SECTYPE,1,BEAM,ASEC", by_numbers))
    rect = made(tmp_path, beams(188, *section))
    np.testing.assert_allclose(same.frequency_hz[:4], rect.frequency_hz[:4], rtol=3e-3)
    constants = f"R,1,800.0,{40 * 20**3 / 12},{20 * 40**3 / 12},40.0,20.0,0"
    old = made(tmp_path, beams(4, constants, "RMORE,0,73240.0,0,0"))
    np.testing.assert_allclose(old.frequency_hz[:2], rect.frequency_hz[:2], rtol=2e-2)  # without shear
    assert np.abs(old.Phi[0]).max(axis=0).argmax() == 1


def test_links_and_masses(tmp_path):
    X = [(0.0, 0.0, 0.0), (100.0, 0.0, 0.0), (0.0, 100.0, 0.0), (0.0, 0.0, 100.0)]
    edges = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)]
    rods = bulk(X, edges, "CROD", "PROD,1,1,50.")
    same = made(tmp_path, rods, "r.bdf")
    for label, command in (
        (180, ("SECTYPE,1,LINK", "SECDATA,50.0")),
        (180, ("R,1,50.0",)),
        (8, ("R,1,50.0",)),
    ):
        found = made(tmp_path, archive(X, [(1, 1, 1, e) for e in edges], *command, types={1: label}))
        np.testing.assert_allclose(found.frequency_hz, same.frequency_hz, rtol=1e-9)
    elements = [*((1, 1, 1, e) for e in edges), (2, 2, 1, (4,))]
    heavy = archive(X, elements, "R,1,50.0", "R,2,1.0E-4", "KEYOP,2,3,2", types={1: 8, 2: 21})
    found = made(tmp_path, heavy)
    assert found.integrals.mass == pytest.approx(same.integrals.mass + 0.1)
    points, cells = plate("quad4")
    elements = [*((1, 1, 1, row) for row in cells), (2, 2, 1, (1,))]
    text = archive(points, elements, *SECTION, "R,2,1e-4,1e-4,1e-4,1e-3,2e-3,3e-3", types={1: 181, 2: 21})
    bare = archive(points, [(1, 1, 1, row) for row in cells], *SECTION, types={1: 181})
    more = made(tmp_path, text).integrals.inertia - made(tmp_path, bare, "b.cdb").integrals.inertia
    np.testing.assert_allclose(more, np.diag([1e-6, 2e-6, 3e-6]), atol=1e-12)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (beams(188, "SECTYPE,1,BEAM,MESH", "SECDATA,1"), "the shape MESH"),
        (beams(188, "SECTYPE,1,SHELL"), "no section of kind BEAM"),
        (beams(188, "KEYOP,1,1,1", "SECTYPE,1,BEAM,RECT", "SECDATA,1,2"), r"KEYOPT(1) = 1"),
        (beams(188, "SECTYPE,1,BEAM,HREC", "SECDATA,20,30,1,2,1,1"), "HREC with several"),
        (beams(188, "SECTYPE,1,BEAM,CTUBE", "SECDATA,3,2"), "CTUBE with"),
        (beams(4, "R,2,1,1,1"), "real constants 1, which are not there"),
        (beams(4, "R,1,800,100,100,1,1,30"), "no THETA"),
        (beams(180, "R,1,0"), "no area"),
        (
            archive(*plate("quad4")[:1], [(1, 1, 1, (1, 2, 3, 4))], *SECTION[:2], types={1: 181}),
            "no thickness",
        ),
        (archive(LINE, [(1, 1, 1, (1, 2, 3, 99))], *SECTION, types={1: 181}), "node"),
        (archive(LINE, [(1, 1, 1, (1, 2))], types={1: 14}), "TYPE 14"),
    ],
)
def test_what_is_not_read_stops(tmp_path, text, says):
    assert says in " ".join(item.what for item in refused(tmp_path, text, "x.cdb"))
