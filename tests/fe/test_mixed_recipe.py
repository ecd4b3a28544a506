"""Beams, rods and shells of one file, by the sets of a recipe."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.errors import InputError
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import isotropic
from flexmbs.fe.shapes.shell import flat_shell
from flexmbs.fe.shells.sections import ShellSection

STEEL = {"young": 210e9, "poisson": 0.0, "density": 7850.0}
ITEM = isotropic("steel", 210e9, 0.0, 7850.0)
KINDS = {"quad4": (3, 1), "quad8": (16, 8)}  # numbers of gmsh of a cell and of its edge


def written(path, points, cells, names):
    """File of gmsh 2.2: cells are rows (type, group, nodes from 0), names {group: (dim, name)}."""
    text = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names))]
    text += [f'{dim} {group} "{name}"' for group, (dim, name) in names.items()]
    text += ["$EndPhysicalNames", "$Nodes", str(len(points))]
    text += [f"{k + 1} " + " ".join(f"{x:.12g}" for x in point) for k, point in enumerate(points)]
    text += ["$EndNodes", "$Elements", str(len(cells))]
    for k, (kind, group, nodes) in enumerate(cells):
        text.append(f"{k + 1} {kind} 2 {group} {group} " + " ".join(str(node + 1) for node in nodes))
    path.write_text("\n".join([*text, "$EndElements", ""]))


def tip_deflection(modal, place, axis):
    """Of a body with one mode, the static response to a load there."""
    node = np.linalg.norm(modal.mesh.points - place, axis=1).argmin()
    return float(np.sum((modal.Phi[:, node, axis] / (2 * np.pi * modal.frequency_hz)) ** 2))


@pytest.mark.parametrize("element", KINDS)
def test_a_rib_beside_a_plate_makes_one_section(tmp_path, element):
    """A strip with a rib below it, a beam off its nodes: EI of both about their common axis."""
    L, b, t, rib = 1.0, 0.05, 0.005, (0.01, 0.03)
    plate = flat_shell(np.array([L, b]), np.array([0, -b / 2, 0]), (20, 2), element, ShellSection(t))
    rows = plate.cells[element]
    cell, edge = KINDS[element]
    sides = np.unique(
        np.concatenate([rows[:, list(e)] for e in ELEMENTS[element].edges]), axis=0
    )  # each edge twice, both ways
    middle = sides[(np.abs(plate.points[sides][:, :, 1]) < 1e-9).all(axis=1)]
    _, once = np.unique(np.sort(middle, axis=1), axis=0, return_index=True)
    cells = [(cell, 1, row) for row in rows] + [(edge, 2, row) for row in middle[once]]
    written(tmp_path / "p.msh", plate.points, cells, {1: (2, "plate"), 2: (1, "rib")})
    beams = {"rib": {"section": {"rectangle": list(rib)}, "offset": [0.0, -(t + rib[1]) / 2]}}
    modal = fm.reduce(
        {"mesh": {"file": str(tmp_path / "p.msh"), "thickness": t, "beams": beams}, "material": STEEL},
        modes=0,
        sets={"root": {"plane": {"x": 0.0}}, "tip": {"nearest": [L, 0, 0]}},
        fix={"root": "x y z rx ry rz"},
        loads={"pull": {"set": "tip", "force": [0, 0, 1.0]}},
    )
    assert modal.integrals.mass == pytest.approx(7850 * L * (b * t + rib[0] * rib[1]))
    A = np.array([b * t, rib[0] * rib[1]])
    z = np.array([0.0, -(t + rib[1]) / 2])
    own = np.array([b * t**3, rib[0] * rib[1] ** 3]) / 12
    EI = 210e9 * (own + A * (z - A @ z / A.sum()) ** 2).sum()
    assert tip_deflection(modal, [L, 0, 0], 2) == pytest.approx(L**3 / (3 * EI), rel=0.01)


def test_a_stayed_boom(tmp_path):
    """A beam and a rod to its tip; the rod takes its share by its length, and has no moments at its end."""
    points, lines = [[0, 0, 0], [1, 0, 0], [0, 0, 0.5]], [(1, 1, (0, 1)), (1, 2, (2, 1))]
    written(tmp_path / "b.msh", points, lines, {1: (1, "boom"), 2: (1, "stay")})
    beams = {
        "boom": {"section": {"circle": 0.02}},
        "stay": {"section": {"circle": 0.004}, "theory": "rod"},
    }
    file = str(tmp_path / "b.msh")
    options = {
        "modes": 0,
        "sets": {"feet": {"plane": {"x": 0.0}}, "tip": {"nearest": [1, 0, 0]}},
        "fix": {"feet": "x y z rx ry rz"},
        "loads": {"down": {"set": "tip", "force": [0, 0, -1.0]}},
    }
    modal = fm.reduce({"mesh": {"file": file, "beams": beams}, "material": STEEL, **options})
    d = np.array([1.0, -0.5]) / np.hypot(1.0, 0.5)
    area, wire = np.pi * 1e-4, np.pi * 4e-6
    K = np.diag([210e9 * area, 3 * 210e9 * np.pi * 0.01**4 / 4])
    K += 210e9 * wire / np.hypot(1.0, 0.5) * np.outer(d, d)
    assert tip_deflection(modal, [1, 0, 0], 2) == pytest.approx(np.linalg.inv(K)[1, 1], rel=1e-9)
    beams["stay"]["offset"] = [0.0, 0.01]
    with pytest.raises(InputError, match="of a rod"):
        fm.reduce({"mesh": {"file": file, "beams": beams}, "material": STEEL, **options})
    with pytest.raises(InputError, match='"mast"'):
        fm.reduce(
            {"mesh": {"file": file, "beams": {"boom": beams["boom"], "mast": beams["boom"]}}, **options}
        )


def test_the_axis_of_a_beam_stands_off_its_nodes():
    """Of a parametric beam: mass and inertia where the axis is."""
    mesh = {"shape": "beam", "length": 2.0, "divisions": 8, "section": {"circle": 0.02}, "offset": [0.1, 0.3]}
    modal = fm.reduce({"mesh": mesh, "material": STEEL, "modes": 4})
    np.testing.assert_allclose(modal.integrals.com, [1.0, 0.1, 0.3], rtol=1e-9)
    plain = fm.reduce({"mesh": mesh | {"offset": [0.0, 0.0]}, "material": STEEL, "modes": 4})
    np.testing.assert_allclose(modal.frequency_hz, plain.frequency_hz, rtol=1e-6)
