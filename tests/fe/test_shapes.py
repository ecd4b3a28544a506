"""Parametric bodies: volume, sets, every element type, and what a wrong table is told."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.assembly import assemble
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.materials import material
from flexmbs.fe.shapes.parametric import beam, box, build_shape, cylinder, points

STEEL = material("steel")
KINDS = ["hex8", "hex20", "hex27", "tet4", "tet10"]


def skin(mesh, kind):
    """Local faces that belong to one cell only."""
    seen = {}
    for local, nodes in enumerate(ELEMENTS[kind].faces):
        for cell, row in enumerate(mesh.cells[kind][:, list(nodes)]):
            seen.setdefault(tuple(sorted(row)), []).append((cell, local))
    return {owners[0] for owners in seen.values() if len(owners) == 1}


def face_area(mesh, kind, name):
    """Area of a face set by the corners of its faces."""
    area = 0.0
    for cell, local in mesh.face_sets[name][kind]:
        nodes = ELEMENTS[kind].faces[local]
        n = 3 if len(nodes) in (3, 6) else 4
        x = mesh.points[mesh.cells[kind][cell, list(nodes[:n])]]
        area += np.linalg.norm(np.cross(x[1] - x[0], x[2] - x[0])) / (2 if n == 3 else 1)
    return area


@pytest.mark.parametrize("kind", KINDS)
def test_box_fills_its_volume_and_its_sets_are_its_skin(kind):
    mesh = box([0.4, 0.3, 0.2], [3, 2, 2], corner=[1, 2, 3], element=kind)
    model = assemble(mesh, STEEL)
    assert model.mass_form.Ms.sum() == pytest.approx(STEEL.rho * 0.024, rel=1e-13)
    np.testing.assert_allclose(
        [mesh.points.min(axis=0), mesh.points.max(axis=0)], [[1, 2, 3], [1.4, 2.3, 3.2]]
    )
    assert sorted(mesh.face_sets) == ["x_max", "x_min", "y_max", "y_min", "z_max", "z_min"]
    covered = {tuple(face) for sets in mesh.face_sets.values() for face in sets[kind].tolist()}
    assert covered == skin(mesh, kind)
    for name, area in (("x_min", 0.06), ("y_max", 0.08), ("z_min", 0.12)):
        assert face_area(mesh, kind, name) == pytest.approx(area)
        np.testing.assert_array_equal(mesh.face_set_nodes(name), mesh.node_sets[name])


def test_box_is_centred_by_default():
    mesh = box([2.0, 1.0, 1.0], [2, 1, 1])
    np.testing.assert_allclose(mesh.points.mean(axis=0), 0.0, atol=1e-12)
    assert list(mesh.cells) == ["hex20"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", [0.0, 0.4])
def test_cylinder_has_its_volume_and_its_skin(kind, inner):
    mesh = cylinder(1.0, 2.0, [2, 24, 3], inner_radius=inner, origin=[5.0, 0.0, 1.0], element=kind)
    model = assemble(mesh, STEEL)
    mass = STEEL.rho * np.pi * (1 - inner**2) * 2.0
    # linear cells cut the circle: 1 - sin(x)/x with x = 2 pi / 24
    rtol = 1.3e-2 if ELEMENTS[kind].order == 1 else 2e-5
    assert model.mass_form.Ms.sum() == pytest.approx(mass, rel=rtol)
    names = ["inner", "outer", "z_max", "z_min"] if inner else ["outer", "z_max", "z_min"]
    assert sorted(mesh.face_sets) == names
    covered = {tuple(face) for sets in mesh.face_sets.values() for face in sets[kind].tolist()}
    assert covered == skin(mesh, kind)
    radius = np.hypot(*(mesh.points[mesh.node_sets["outer"], :2] - [5.0, 0.0]).T)
    np.testing.assert_allclose(radius, 1.0, rtol=1e-12)
    assert mesh.points[:, 2].min() == 1.0 and mesh.points[:, 2].max() == 3.0


def test_beam_along_x_and_through_nodes():
    section = {"rectangle": [0.02, 0.04]}
    mesh = beam(section, length=2.0, divisions=4)
    np.testing.assert_allclose(mesh.points[:, 0], [0, 0.5, 1, 1.5, 2])
    assert sorted(mesh.node_sets) == ["end", "start", "x_max", "x_min"]
    np.testing.assert_array_equal(mesh.beam.axes, np.broadcast_to(np.eye(3), (4, 3, 3)))
    bent = beam(section, nodes=[[0, 0, 0], [1, 0, 0], [1, 1, 0]], divisions=2, y_axis=[0, 0, 1.0])
    assert bent.n_nodes == 5 and bent.n_cells == 4
    np.testing.assert_allclose(bent.beam.axes[3], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-15)
    assert bent.node_sets["y_max"].tolist() == [4]


def test_points_without_inertia_have_three_dofs_and_with_it_six():
    mesh, masses = points([[0, 0, 0], [1, 0, 0]], [2.0, 3.0])
    model = assemble(mesh, STEEL, point_masses=masses)
    assert model.n_per_node == 3 and model.K_fe.nnz >= 0 and abs(model.K_fe).sum() == 0
    np.testing.assert_array_equal(model.M_fe.diagonal(), [2, 2, 2, 3, 3, 3])
    mesh, masses = points([[0, 0, 0], [1, 0, 0]], [2.0, 3.0], [[1, 2, 3], [4, 5, 6]])
    model = assemble(mesh, STEEL, point_masses=masses)
    assert model.n_per_node == 6
    np.testing.assert_array_equal(model.M_fe.diagonal(), [2, 2, 2, 1, 2, 3, 3, 3, 3, 4, 5, 6])
    assert model.mass_form.inner(0, np.ones((12, 1)), 0, np.ones((12, 1)))[0, 0] == 5.0


def test_tables_of_recipes_build_the_same():
    mesh, masses = build_shape(
        {"shape": "plate", "size": [1, 1, 0.1], "divisions": [2, 2, 1], "element": "hex8"}
    )
    assert mesh.n_nodes == 18 and masses == []
    mesh, _ = build_shape(
        {"shape": "tube", "radius": 1, "inner_radius": 0.5, "length": 1, "divisions": [1, 8, 1]}
    )
    assert "inner" in mesh.node_sets
    mesh, _ = build_shape({"shape": "beam", "length": 1, "section": {"circle": 0.1}, "theory": "timoshenko"})
    assert mesh.beam.beams[0].rotary_inertia
    _, masses = build_shape({"shape": "points", "points": [[0, 0, 0]], "masses": [1.0]})
    assert masses[0].mass == 1.0


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"shape": "bax"}, 'did you mean "box"'),
        ({"shape": "box", "sise": [1, 1, 1]}, 'did you mean "size"'),
        ({"shape": "box", "size": [1, 1, 1]}, "divisions.*is missing"),
        ({"shape": "box", "size": [1, 1], "divisions": [1, 1, 1]}, "expected 3 positive numbers"),
        ({"shape": "box", "size": [1, 1, "x"], "divisions": [1, 1, 1]}, "expected 3 positive numbers"),
        ({"shape": "box", "size": [1, 1, 1], "divisions": [1, 0, 1]}, "whole numbers from 1"),
        ({"shape": "box", "size": [1, 1, 1], "divisions": [1, 1.5, 1]}, "whole numbers from 1"),
        ({"shape": "box", "size": [1, 1, 1], "divisions": [1, 1, 1], "element": "hex9"}, "hex"),
        ({"shape": "cylinder", "radius": 1, "length": 1, "divisions": [1, 6, 1]}, "a multiple of 4"),
        (
            {"shape": "tube", "radius": 1, "inner_radius": 2, "length": 1, "divisions": [1, 8, 1]},
            "inner_radius",
        ),
        ({"shape": "beam", "section": {"circle": 0.1}}, "give one of them"),
        ({"shape": "beam", "length": 1, "section": {"circle": -1}}, "expected 1 positive number"),
        ({"shape": "beam", "length": 1, "section": {"circel": 1}}, 'did you mean "circle"'),
        ({"shape": "beam", "length": 1, "section": {"circle": 1, "A": 1}}, "give one shape"),
        ({"shape": "beam", "length": 1, "section": {"tube": [1, 2]}}, "the outer diameter first"),
        ({"shape": "beam", "length": 1, "section": {"circle": 1}, "theory": "timoschenko"}, "timoshenko"),
        ({"shape": "beam", "length": 1, "section": {"circle": 1}, "y_axis": [1, 0, 0]}, "along the beam"),
        ({"shape": "beam", "nodes": [[0, 0, 0], [0, 0, 0]], "section": {"circle": 1}}, "no length"),
        ({"shape": "points", "points": [], "masses": []}, "at least 1 point"),
        ({"shape": "points", "points": [[0, 0], [1]], "masses": [1]}, "at least 1 point"),
        ({"shape": "points", "points": [[0, 0, 0]], "masses": [1], "inertias": [["a"]]}, "symmetric 3 x 3"),
        ({"shape": "points", "points": [[0, 0, 0]], "masses": [1], "inertias": 3}, "one for each"),
        ({"shape": "box", "size": [1, 1, 1], "divisions": [1000, 1000, 1000]}, "at most 2000000 cells"),
        ({"shape": "beam", "nodes": [[0, 0, 0], [0, 0]], "section": {"circle": 1}}, "at least 2 points"),
        ({"shape": "beam", "length": 1, "section": {"circle": 1}, "y_axis": [0, 1]}, "expected 3 numbers"),
        ({"shape": "beam", "length": 1, "section": {"circle": 1}, "rotary_inertia": "yes"}, "true or false"),
        ({"shape": "points", "points": [[0, 0, 0]], "masses": [1, 2]}, "expected 1 numbers"),
        ({"shape": "points", "points": [[0, 0, 0]], "masses": [1], "inertias": []}, "one for each"),
    ],
)
def test_a_wrong_table_is_told_what_is_wrong(table, told):
    with pytest.raises(InputError, match=told):
        build_shape(table)
