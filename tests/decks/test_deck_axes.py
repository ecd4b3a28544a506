"""Oriented materials and tied surfaces: the same body said in other axes, or with common nodes."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import FlexmbsError
from flexmbs.spatial import axis_angle
from tests.decks.samples import abaqus, nastran

E, NU, G = (1.4e5, 9e3, 1.1e4), (0.3, 0.28, 0.4), (5e3, 4.5e3, 3.2e3)
ROWS = f"{E[0]}, {E[1]}, {E[2]}, {NU[0]}, {NU[1]}, {NU[2]}, {G[0]}, {G[1]}\n{G[2]}"
LAMINA = f"*MATERIAL, NAME=STEEL\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n{ROWS}\n*DENSITY\n1.6e-9"
MAT11 = f"MAT11,1,{E[0]},{E[1]},{E[2]},{NU[0]},{NU[1]},{NU[2]},{G[0]},+\n+,{G[1]},{G[2]},1.6-9"
SECTION = "*SOLID SECTION, ELSET=BAR, MATERIAL=STEEL"


def frequencies(tmp_path, text, name="m.inp", **options):
    (tmp_path / name).write_text(text)
    modal = fm.reduce(tmp_path / name, modes=6, stress="none", geometric_stiffness=False, **options)
    assert modal.quality["rigid_modes"] == 6
    return modal.frequency_hz


def turned(text, R):
    """The nodes of an Abaqus deck turned by R."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("*"):
            inside = line == "*NODE"
        elif inside:
            number, *xyz = line.split(",")
            line = ", ".join([number, *(f"{x:.15g}" for x in R @ np.array([float(w) for w in xyz]))])
        lines.append(line)
    return "\n".join(lines)


def test_turning_the_part_and_its_axes_changes_nothing(tmp_path):
    R = axis_angle(np.array([1.0, 2.0, 3.0]), 0.7)
    plain = frequencies(tmp_path, abaqus(material=LAMINA))
    a, b = R[:, 0], R[:, 1]
    card = f"*ORIENTATION, NAME=O, SYSTEM=RECTANGULAR\n{', '.join(f'{x:.15g}' for x in [*a, *b])}\n3, 0."
    text = turned(abaqus(material=LAMINA), R).replace(SECTION, f"{card}\n{SECTION}, ORIENTATION=O")
    np.testing.assert_allclose(frequencies(tmp_path, text), plain, rtol=1e-9)
    wrong = frequencies(tmp_path, text.replace(", ORIENTATION=O", ""))
    assert np.abs(wrong / plain - 1).max() > 0.1


def test_a_turn_about_the_third_axis_swaps_the_first_two(tmp_path):
    card = "*ORIENTATION, NAME=O\n1., 0., 0., 0., 1., 0.\n3, 90."
    text = abaqus(material=LAMINA).replace(SECTION, f"{card}\n{SECTION}, ORIENTATION=O")
    nu21 = NU[0] * E[1] / E[0]
    rows = f"{E[1]}, {E[0]}, {E[2]}, {nu21}, {NU[2]}, {NU[1]}, {G[0]}, {G[2]}\n{G[1]}"
    swapped = abaqus(material=LAMINA.replace(ROWS, rows))
    np.testing.assert_allclose(frequencies(tmp_path, text), frequencies(tmp_path, swapped), rtol=1e-9)


def test_cylinders_far_away_are_planes(tmp_path):
    """Radial and tangential axes of a line at x = -1e7: those of the deck."""
    card = "*ORIENTATION, NAME=O, SYSTEM=CYLINDRICAL\n-1.e7, 0., 0., -1.e7, 0., 1."
    text = abaqus(material=LAMINA).replace(SECTION, f"{card}\n{SECTION}, ORIENTATION=O")
    plain = frequencies(tmp_path, abaqus(material=LAMINA))
    np.testing.assert_allclose(frequencies(tmp_path, text), plain, rtol=1e-5)


def test_nastran_says_the_same(tmp_path):
    plain = frequencies(tmp_path, abaqus(material=LAMINA))
    text = nastran(material=MAT11)
    np.testing.assert_allclose(frequencies(tmp_path, text, "m.bdf"), plain, rtol=1e-9)
    system = "CORD2R,5,,0.,0.,0.,0.,0.,1.,+\n+,0.,1.,0."  # its x along y
    axes = text.replace("PSOLID,1,1", "PSOLID,1,1,5").replace("PSOLID,2,1", "PSOLID,2,1,5")
    axes = axes.replace("ENDDATA", f"{system}\nENDDATA")
    card = "*ORIENTATION, NAME=O\n0., 1., 0., -1., 0., 0."
    same = abaqus(material=LAMINA).replace(SECTION, f"{card}\n{SECTION}, ORIENTATION=O")
    np.testing.assert_allclose(frequencies(tmp_path, axes, "m.bdf"), frequencies(tmp_path, same), rtol=1e-9)


def test_elasticity_matrix_of_nastran(tmp_path):
    from flexmbs.fe.readers import read_mesh

    (tmp_path / "m.inp").write_text(abaqus(material=LAMINA))
    C = read_mesh(tmp_path / "m.inp").deck.materials[0].C_mat
    words = [f"{C[i, j]:.9E}" for i in range(6) for j in range(i, 6)]
    fields = ["1", *words, "1.6E-9"]
    lines = [",".join(["MAT9", *fields[:8]]), *(",".join(["+", *fields[k : k + 8]]) for k in (8, 16))]
    plain = frequencies(tmp_path, abaqus(material=LAMINA))
    np.testing.assert_allclose(
        frequencies(tmp_path, nastran(material="\n".join(lines)), "m.bdf"), plain, rtol=1e-7
    )


# ------------------------------------------------------------------ *TIE


def second(divisions=1, gap=0.0):
    """A second bar behind the first, `divisions` cells across; and the ties of the surfaces between them."""
    h = 10.0 / divisions
    points = [(i, j, k) for i in range(2) for j in range(divisions + 1) for k in range(divisions + 1)]
    number = {place: n + 101 for n, place in enumerate(points)}
    lines = ["*NODE"]
    lines += [f"{n}, {20 + gap + 10 * i}, {h * j}, {h * k}" for (i, j, k), n in number.items()]
    lines += ["*ELEMENT, TYPE=C3D8, ELSET=BAR"]
    count = 10
    for j in range(divisions):
        for k in range(divisions):
            ring = [(0, j), (1, j), (1, j + 1), (0, j + 1)]
            nodes = [number[i, y, z] for z in (k, k + 1) for i, y in ring]
            lines.append(f"{count}, {', '.join(map(str, nodes))}")
            count += 1
    near = [str(n) for (i, _, _), n in number.items() if i == 0]
    lines += ["*NSET, NSET=NEAR", *near, "*SURFACE, NAME=SLAVE, TYPE=NODE", "NEAR"]
    lines += ["*SURFACE, NAME=MASTER", "2, S4", "*TIE, NAME=T", "SLAVE, MASTER"]
    return "\n".join(lines)


def test_tie_of_matching_faces_is_common_nodes(tmp_path):
    tied = frequencies(tmp_path, abaqus(second()))
    plain = second().partition("*NSET")[0]
    merged = frequencies(tmp_path, abaqus(plain), merge_tol=1e-6)
    np.testing.assert_allclose(tied, merged, rtol=1e-8)


def test_tie_of_faces_that_do_not_match_carries_a_patch(tmp_path):
    """Six rigid modes, and the exact stretch of the bar: strain that is constant through both meshes."""
    from flexmbs.reduce import load_recipe
    from flexmbs.reduce.source import read_source

    text = abaqus(second(3), material="*MATERIAL, NAME=STEEL\n*ELASTIC\n2.1e5, 0.\n*DENSITY\n7.85e-9")
    frequencies(tmp_path, text)
    source = read_source(load_recipe(tmp_path / "m.inp", {"modes": 0}))
    X = source.mesh.points
    field = np.zeros((len(X), 3))
    field[:, 0] = 1e-3 * X[:, 0]
    assert np.abs(source.links.E_u @ field.ravel() - field.ravel()).max() < 1e-15
    forces = (source.links.E_u.T @ (source.fe.K_fe @ field.ravel())).reshape(-1, 3)
    inner = (X[:, 0] > 1e-9) & (X[:, 0] < 0.03 - 1e-9)
    assert np.abs(forces[inner]).max() < 1e-9 * np.abs(forces).max()


def test_tie_moves_nodes_within_the_tolerance_only(tmp_path):
    (tmp_path / "m.inp").write_text(abaqus(second(2, gap=0.1)))
    modal = fm.reduce(tmp_path / "m.inp", modes=0)
    assert any("moved onto it by up to 0.1" in text for text in modal.quality["warnings"])
    (tmp_path / "m.inp").write_text(abaqus(second(2, gap=5.0)))
    with pytest.raises(fm.InputError, match="not connected"):
        fm.reduce(tmp_path / "m.inp", modes=0)


def test_cyclic_symmetry_stops(tmp_path):
    (tmp_path / "m.inp").write_text(abaqus(second().replace("*TIE,", "*TIE, CYCLIC SYMMETRY,")))
    with pytest.raises(fm.InputError, match="cyclic symmetry"):
        fm.reduce(tmp_path / "m.inp", modes=0)


def test_axes_of_a_distribution_are_named(tmp_path):
    """They differ from cell to cell; the line of the card is a name in place of two points."""
    card = "*DISTRIBUTION, NAME=D1\n, 1., 0., 0., 0., 1., 0.\n*ORIENTATION, NAME=O\nD1"
    text = abaqus(material=LAMINA).replace(SECTION, f"{card}\n{SECTION}, ORIENTATION=O")
    with pytest.raises(FlexmbsError) as caught:
        frequencies(tmp_path, text)
    assert [(item.code, item.what[:14]) for item in caught.value.diagnostics] == [
        ("deck.not_understood", "1 *ORIENTATION")
    ]
