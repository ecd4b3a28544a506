"""Frequencies of decks in CalculiX: elements, materials, axes, layers, connections; both read the deck."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import flexmbs as fm
from tests.fe.mesh_samples import lattice_mesh

CCX = shutil.which("ccx")
pytestmark = [pytest.mark.slow, pytest.mark.needs("ccx")]

ALLOY = "*MATERIAL, NAME=M\n*ELASTIC\n7.e10, .33\n*DENSITY\n2700."
WOOD = (
    "*MATERIAL, NAME=M\n*ELASTIC, TYPE=ENGINEERING CONSTANTS\n1.2e10, 8.e8, 5.e8, .35, .4, .45, 7.e8, 6.e8\n"
    "2.e8\n*DENSITY\n600."
)
RIGID = "*RIGID BODY, NSET=END, REF NODE=9001, ROT NODE=9002"
SKEW = "*ORIENTATION, NAME=O\n1., .5, .2, -.3, 1., .1"
SOLIDS = {"tet10": "C3D10", "hex8": "C3D8I", "hex20": "C3D20", "wedge15": "C3D15"}


def rows_of(numbers):
    """A card of many numbers, sixteen a line."""
    words = [str(n) for n in numbers]
    return ",\n".join(", ".join(words[k : k + 12]) for k in range(0, len(words), 12))


def mesh_cards(points, cells, name, first=1, elset="E"):
    lines = ["*NODE", *(f"{n + first}, {x:.12e}, {y:.12e}, {z:.12e}" for n, (x, y, z) in enumerate(points))]
    lines.append(f"*ELEMENT, TYPE={name}, ELSET={elset}")
    lines += [f"{e + first}, {rows_of(row + first)}" for e, row in enumerate(cells)]
    return "\n".join(lines)


def bar(kind, n=(8, 2, 2), size=(0.3, 0.06, 0.04), at=0.0):
    """A skew bar of straight cells."""
    T = np.array([[1.0, 0.1, 0.05], [0.2, 1, 0.1], [0, 0.3, 1]])
    mesh = lattice_mesh(kind, n, lambda x: (x * size + [at, 0, 0]) @ T)
    return mesh.points, mesh.cells[kind]


def solid(kind, material=ALLOY, *more, axes="", n=(8, 2, 2)):
    section = f"*SOLID SECTION, ELSET=E, MATERIAL=M{axes}"
    return [mesh_cards(*bar(kind, n), SOLIDS[kind]), material, *more, section]


def nodes_at(points, where):
    return np.flatnonzero(np.abs(points @ np.linalg.inv(bar_axes())[:, 0] - where) < 1e-9) + 1


def bar_axes():
    return np.array([[1.0, 0.1, 0.05], [0.2, 1, 0.1], [0, 0.3, 1]])


def two_bars(second):
    """Two halves, the second of other cells; nodes from 5001 on."""
    a, b = bar("hex20", (4, 2, 2), (0.15, 0.06, 0.04)), bar("hex20", second, (0.15, 0.06, 0.04), 0.15)
    cards = [mesh_cards(*a, "C3D20"), mesh_cards(*b, "C3D20", 5001, "F"), ALLOY]
    sections = [f"*SOLID SECTION, ELSET={name}, MATERIAL=M" for name in "EF"]
    left, right = nodes_at(a[0], 0.15), nodes_at(b[0], 0.15) + 5000
    return cards, sections, (a[0], b[0]), left, right


def joined():
    """By equations of the common nodes."""
    cards, sections, (A, B), left, right = two_bars((4, 2, 2))
    pair = [right[np.argmin(np.linalg.norm(B[right - 5001] - A[n - 1], axis=1))] for n in left]
    rows = [
        f"*EQUATION\n2\n{m}, {k}, 1., {n}, {k}, -1."
        for n, m in zip(left, pair, strict=True)
        for k in (1, 2, 3)
    ]
    return [*cards, *rows, *sections]


def with_hub(link):
    """A rigid end with a mass at its reference node."""
    points, cells = bar("hex20")
    end = nodes_at(points, 0.3)
    return [
        mesh_cards(points, cells, "C3D20"), "*NODE\n9001, .4, .05, .02\n9002, .4, .05, .02",
        f"*NSET, NSET=END\n{rows_of(end)}", ALLOY, "*ELEMENT, TYPE=MASS, ELSET=P\n9001, 9001",
        "*MASS, ELSET=P\n0.8", link, "*SOLID SECTION, ELSET=E, MATERIAL=M",
    ]  # fmt: skip


def plate(kind, section, material=ALLOY, *more, shape=lambda x: x, n=(10, 6, 1)):
    """A plate of 0.4 x 0.25 m."""
    mesh = lattice_mesh({"S8R": "hex20", "S6": "wedge15"}[kind], n, lambda x: x)
    X, cells = mesh.points, mesh.cells[{"S8R": "hex20", "S6": "wedge15"}[kind]]
    pick = [0, 1, 2, 3, 8, 9, 10, 11] if kind == "S8R" else [0, 1, 2, 6, 7, 8]  # the faces below
    used, index = np.unique(cells[:, pick], return_inverse=True)
    points = shape(X[used] * [0.4, 0.25, 0.0])
    return [mesh_cards(points, index.reshape(-1, len(pick)), kind), material, *more, section]


def edge_hub():
    """The first cells rigid, with a mass before them: the numbers of their nodes follow from the cells."""
    mesh = lattice_mesh("hex20", (10, 6, 1), lambda x: x)
    used = np.unique(mesh.cells["hex20"][:, [0, 1, 2, 3, 8, 9, 10, 11]])
    end = np.flatnonzero(mesh.points[used][:, 0] < 0.11) + 1
    return [
        "*NODE\n9001, -.05, .1, .02\n9002, -.05, .1, .02", f"*NSET, NSET=END\n{rows_of(end)}", RIGID,
        "*ELEMENT, TYPE=MASS, ELSET=P\n9001, 9001", "*MASS, ELSET=P\n0.3",
    ]  # fmt: skip


def rolled(X):
    angle = X[:, 0] / 0.3
    return np.column_stack([0.3 * np.sin(angle), X[:, 1], 0.3 * np.cos(angle)])


def frame(section, kind="B32"):
    """An L of beams in space."""
    s = np.linspace(0, 1, 33)
    points = np.concatenate(
        [np.outer(s, [0.6, 0.1, 0.0]), [0.6, 0.1, 0.0] + np.outer(s[1:], [0.1, 0.4, 0.3])]
    )
    cells = np.array([[2 * e, 2 * e + 1, 2 * e + 2] for e in range(32)])
    return [mesh_cards(points, cells, kind), ALLOY, section]


LAYERS = "\n".join(
    f"*ORIENTATION, NAME={name}\n{text}\n3, 0."
    for name, text in (("A", "1., 0., 0., 0., 1., 0."), ("B", "1., 1., 0., -1., 1., 0."))
)
PLIES = "\n".join(f".001, , M, {name}" for name in "ABBA")
SHELL = "*SHELL SECTION, ELSET=E, MATERIAL=M"
DECKS = {
    "tet10": (solid("tet10"), 6e-3),  # its mass by four points
    "hex8": (solid("hex8", n=(16, 4, 4)), 2e-2),  # statics agree to 1e-6, their mass is another
    "hex20": (solid("hex20"), 1e-6),
    "wedge15": (solid("wedge15"), 6e-3),  # stiffness and mass by other points
    "axes": (solid("hex20", WOOD, SKEW, axes=", ORIENTATION=O"), 1e-6),
    "equations": (joined(), 1e-6),
    "rigid body": (with_hub(RIGID), 1e-5),
    "S8R": (plate("S8R", f"{SHELL}\n.004"), 1e-2),
    "S6": (plate("S6", f"{SHELL}\n.004", n=(20, 12, 1)), 1e-2),
    "rolled": (plate("S8R", f"{SHELL}\n.004", shape=rolled), 1e-2),
    "shell axes": (plate("S8R", f"{SHELL}, ORIENTATION=B\n.004", WOOD, LAYERS), 1e-2),
    "layers": (plate("S8R", f"*SHELL SECTION, ELSET=E, COMPOSITE\n{PLIES}", WOOD, LAYERS), 1e-2),
    "shell hub": (plate("S8R", f"{SHELL}\n.004", ALLOY, *edge_hub()), 1e-2),
    "offset": (plate("S8R", f"{SHELL}, OFFSET=.5\n.004"), 1e-2),
    "rect": (frame("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT\n.02, .03\n.1, -.6, 0."), 1e-2),
    "circ": (frame("*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=CIRC\n.02, .02\n.1, -.6, 0."), 2e-2),
}


def by_calculix(folder, text):
    (folder / "job.inp").write_text(f"{text}\n*STEP\n*FREQUENCY\n14\n*END STEP\n")
    subprocess.run([CCX, "job"], cwd=folder, check=True, capture_output=True, timeout=300)
    table = re.split(r"E I G E N V A L U E   O U T P U T", (folder / "job.dat").read_text())[1]
    rows = [line.split() for line in table.splitlines() if re.match(r"\s+\d+\s+\S+E", line)]
    return np.array([float(row[3]) for row in rows])


@pytest.mark.parametrize("name", DECKS)
def test_frequencies_agree(tmp_path, name):
    lines, rtol = DECKS[name]
    text = "\n".join(lines)
    (tmp_path / "own.inp").write_text(text + "\n")
    own = fm.reduce(tmp_path / "own.inp", modes=6, stress="none", geometric_stiffness=False).frequency_hz
    theirs = by_calculix(tmp_path, text)[6:12]
    np.testing.assert_allclose(own, theirs, rtol=rtol)
