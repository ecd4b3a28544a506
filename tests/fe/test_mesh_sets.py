"""Node sets by place."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.sets import pick_nodes, with_picked_sets
from tests.fe.mesh_samples import lattice_mesh


@pytest.fixture(scope="module")
def cube():
    return lattice_mesh("hex8", (4, 4, 4), lambda x: x - 0.5)


@pytest.mark.parametrize(
    ("places", "inside"),
    [
        ({"plane": {"x": 0.5}}, lambda x: x[:, 0] == 0.5),
        ({"plane": {"point": [0, 0, 0], "normal": [1, 1, 0]}}, lambda x: np.abs(x[:, 0] + x[:, 1]) < 1e-9),
        ({"plane": [[0, 0, 0.25], "z"]}, lambda x: x[:, 2] == 0.25),
        ({"box": [[0.5, 1, 1], [0, -0.25, -1]]}, lambda x: (x[:, 0] >= 0) & (x[:, 1] >= -0.25)),
        (
            {"sphere": {"center": [0, 0, 0], "radius": 0.5}},
            lambda x: np.abs(np.linalg.norm(x, axis=1) - 0.5) < 1e-9,
        ),
        (
            {"sphere": {"center": [0, 0, 0], "radius": 0.3, "inside": True}},
            lambda x: np.linalg.norm(x, axis=1) < 0.3,
        ),
        (
            {"cylinder": {"point": [0, 0, 0], "axis": "z", "radius": 0.25, "length": 0.5}},
            lambda x: (np.abs(np.hypot(x[:, 0], x[:, 1]) - 0.25) < 1e-9) & (x[:, 2] >= 0),
        ),
        ({"nearest": [0.2, 0.2, 0.9]}, lambda x: (x == [0.25, 0.25, 0.5]).all(axis=1)),
        ({"nearest": [[1, 1, 1], [-1, -1, -1]]}, lambda x: np.abs(x.sum(axis=1)) == 1.5),
        ({"plane": {"x": 0.4}, "tolerance": 0.11}, lambda x: x[:, 0] == 0.5),
        (
            {"plane": {"x": 0.5}, "box": [[0, 0, 0], [1, 1, 1]]},
            lambda x: (x[:, 0] == 0.5) & (x[:, 1:] >= 0).all(axis=1),
        ),
    ],
)
def test_places_pick_the_nodes_there(cube, places, inside):
    np.testing.assert_array_equal(pick_nodes(cube, places), np.flatnonzero(inside(cube.points)))


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({"plan": {"x": 0.5}}, 'did you mean "plane"'),
        ({"plane": {"pont": [0, 0, 0]}}, 'unknown key "pont"; did you mean "point"?'),
        ({"plane": {"point": [0, 0], "normal": [0, 0, 1]}}, "point must be three numbers"),
        ({"plane": {"point": [0, 0, 0], "normal": [0, 0, 0]}}, "normal must not be zero"),
        ({"plane": {"x": "a"}}, "x must be a number"),
        ({"sphere": {"center": [0, 0, 0], "radius": -1}}, "radius must be positive"),
        ({"sphere": {"center": [0, 0, 0], "radius": 1, "inside": 1}}, "inside must be true or false"),
        ({"nearest": "a"}, "takes a point"),
        ({"box": 3}, "takes a table or a list of from, to"),
        ({"box": [[2, 2, 2], [3, 3, 3]]}, "no node lies there"),
        ({"box": [[0, 0, 0], [1, 1, 1]], "tolerance": -1}, "must be a length"),
        ({}, "names no place"),
    ],
)
def test_wrong_places_are_errors_with_a_remedy(cube, places, says):
    with pytest.raises(InputError) as error:
        pick_nodes(cube, places, "sets.a")
    assert says in str(error.value) and "sets.a" in str(error.value)


def test_all_errors_of_all_sets_come_together(cube):
    with pytest.raises(InputError) as error:
        with_picked_sets(cube, {"a": {"plan": 1}, "b": {"box": 1}})
    assert len(error.value.diagnostics) == 2
    mesh = with_picked_sets(cube, {"a": {"plane": {"x": 0.5}}})
    assert len(mesh.node_set_of("a")) == 25
    with pytest.raises(InputError, match="choose another name"):
        with_picked_sets(mesh, {"a": {"plane": {"x": 0.5}}})
