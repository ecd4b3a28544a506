"""Shells of eight nodes get a ninth: what changes place in the mesh, and what it is good for."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.middles import with_middles
from flexmbs.fe.shells.sections import ShellData, ShellSection
from tests.fe.reference import block
from tests.fe.test_shells import grid, hinged_plate


def test_eight_nodes_become_nine_and_nothing_else_changes():
    """Of six cells the second stays, on the face of a brick; there is a cell of nine nodes already."""
    eight = grid(lambda s, v: (3.0 * s, v, 0.0), (6, 1), "quad8", 0.1)
    rows, n = eight.cells["quad8"], eight.n_nodes
    brick = block("hex20", (1, 1, 1))
    face = brick.cells["hex20"][0][[0, 1, 2, 3, 8, 9, 10, 11]]
    own = np.setdiff1d(np.arange(20), face)
    place = np.zeros(20, dtype=np.int64)
    place[face], place[own] = rows[1], n + np.arange(12)
    points = np.concatenate([eight.points, brick.points[own] + [0.0, 0.0, -9.0]])
    centre = points[rows[5]].mean(axis=0)
    points = np.concatenate([points, [centre]])
    cells = {
        "quad8": rows[:5],
        "hex20": place[brick.cells["hex20"]],
        "quad9": np.append(rows[5], len(points) - 1)[None],
    }
    sections = tuple(ShellSection(0.1 * (k + 1)) for k in range(6))
    shell = ShellData(sections, {"quad8": np.arange(5), "quad9": np.array([5])})
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 3, 3)))[0]
    mesh = Mesh(
        points,
        cells,
        cell_number={"quad8": np.arange(11, 16), "hex20": [7], "quad9": [16]},
        node_sets={"first": rows[0], "part": rows[2][:7]},
        cell_sets={"some": {"quad8": [1, 3], "quad9": [0]}},
        shell=shell,
        axes={"quad8": turned},
    )
    found = with_middles(mesh, after=500)
    assert {kind: len(part) for kind, part in found.cells.items()} == {"hex20": 1, "quad9": 5, "quad8": 1}
    np.testing.assert_array_equal(found.cells["quad8"], rows[1:2])
    np.testing.assert_array_equal(found.cells["quad9"][1:, :8], rows[[0, 2, 3, 4]])
    np.testing.assert_array_equal(found.cell_number["quad9"], [16, 11, 13, 14, 15])
    np.testing.assert_array_equal(found.shell.index["quad9"], [5, 0, 2, 3, 4])
    np.testing.assert_array_equal(found.axes["quad9"], [np.eye(3), *turned[[0, 2, 3, 4]]])
    np.testing.assert_array_equal(found.axes["quad8"], turned[1:2])
    new = found.cells["quad9"][1:, 8]
    np.testing.assert_array_equal(new, len(points) + np.arange(4))
    np.testing.assert_array_equal(found.node_number[new], [501, 502, 503, 504])
    np.testing.assert_allclose(found.points[new], points[rows[[0, 2, 3, 4], :4]].mean(axis=1), atol=1e-12)
    assert set(found.node_sets["first"]) == {*rows[0], new[0]} and len(found.node_sets["part"]) == 7
    assert {kind: list(which) for kind, which in found.cell_sets["some"].items()} == {
        "quad8": [0],
        "quad9": [0, 3],
    }
    faces = eight.cells["quad8"]
    assert with_middles(Mesh(eight.points, {"quad8": faces})).cells.keys() == {"quad8"}  # not a shell


def test_a_thick_plate_of_eight_nodes_converges_as_one_of_nine():
    """The first frequency of a hinged square, a tenth as thick as wide: order 4; of eight nodes alone 2."""
    exact, errors = hinged_plate(0.1)[0], []
    for n in (4, 8):
        recipe = {
            "mesh": {"shape": "shell", "size": [1, 1], "corner": [0, 0, 0], "divisions": [n, n],
                     "element": "quad8", "thickness": 0.1},
            "material": {"young": 1.0, "poisson": 0.3, "density": 1.0},
            "fix": {"x_min": "z rx", "x_max": "z rx", "y_min": "z ry", "y_max": "z ry"},
            "modes": 1, "geometric_stiffness": False, "stress": "none",
        }  # fmt: skip
        modal = fm.reduce(recipe)
        bend = modal.frequency_hz[np.abs(modal.Phi[:, :, 2]).max(axis=1) > 1e-6][0]
        errors.append((2 * np.pi * bend) ** 2 / exact - 1.0)
    assert abs(errors[1]) < 2e-4 and errors[0] / errors[1] > 2**3.2


@pytest.mark.parametrize("which", ["recipe", "stress"])
def test_a_recipe_of_eight_nodes_is_one_of_nine(which):
    """The same modal data as with `element = "quad9"`, whose cells are flat here."""
    mesh = {"shape": "shell", "size": [1, 0.5], "divisions": [4, 2], "thickness": 0.02}
    more = {"preload": {"spin": {"angular_velocity": [0, 0, 30]}}, "fix": {"x_min": "x y z rx ry rz"}}
    more = (more if which == "stress" else {}) | {"material": "steel", "modes": 4}
    eight, nine = (fm.reduce({"mesh": {**mesh, "element": kind}, **more}) for kind in ("quad8", "quad9"))
    np.testing.assert_allclose(eight.frequency_hz, nine.frequency_hz, rtol=1e-8)
    assert eight.mesh.n_nodes == nine.mesh.n_nodes
    if which == "stress":
        largest = [np.abs(modal.preload_stress).max() for modal in (eight, nine)]
        assert largest[0] == pytest.approx(largest[1], rel=1e-8)
