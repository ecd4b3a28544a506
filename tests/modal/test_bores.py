"""Interfaces found as cylinders stand on the axis of their bore, whatever the mesh makes of the centroid."""

import numpy as np
import pytest

from flexmbs.fe.readers import read_mesh
from flexmbs.modal.bores import bore_centre
from flexmbs.modal.interfaces import make_interface
from flexmbs.resources import resource
from flexmbs.spatial import exp_so3

RADIUS, HALF = 0.02, 0.03


def cylinder(rng, n=200, start=0.0, turn=2 * np.pi):
    angle, z = start + rng.uniform(0, turn, n), rng.uniform(-HALF, HALF, n)
    z[:2] = -HALF, HALF
    return np.column_stack([RADIUS * np.cos(angle), RADIUS * np.sin(angle), z])


@pytest.mark.parametrize("seed", range(4))
def test_the_axis_of_any_bore_is_found(seed):
    rng = np.random.default_rng(seed)
    R, c = exp_so3(rng.normal(size=3)), rng.normal(size=3)
    points = cylinder(rng) @ R.T + c
    off = c + R @ [3e-4, -2e-4, 5e-4]
    np.testing.assert_allclose(bore_centre(points, off), c, atol=1e-13)


@pytest.mark.parametrize("shape", ["half", "box", "cone", "far"])
def test_what_is_no_bore_keeps_its_centroid(shape):
    rng = np.random.default_rng(1)
    points, off = cylinder(rng), np.array([1e-4, 0, 0])
    if shape == "half":
        points = cylinder(rng, turn=np.pi)
    elif shape == "box":
        points = rng.uniform(-1, 1, (100, 3))
        points[:, 0] = np.sign(points[:, 0])
    elif shape == "cone":
        points[:, :2] *= 1.0 + points[:, 2:]
    else:
        off = np.array([0.0, 0.0, 0.5 * HALF])
    np.testing.assert_array_equal(bore_centre(points, off), off)


@pytest.mark.parametrize(
    "mesh, name, centre",
    [
        ("rod.msh", "bore_big", [0, 0, 0]), ("rod.msh", "bore_small", [0.2, 0, 0]),
        ("bracket.msh", "bore_b", [0.12, 0, 0.006]), ("bracket.msh", "bore_c", [0.03, 0.09, 0.006]),
    ],
)  # fmt: skip
def test_bores_of_parts_from_gmsh_are_in_place(mesh, name, centre):
    found = read_mesh(resource("meshes", mesh))
    item = make_interface(found, name, found.node_set_of(name), set_name=name)
    np.testing.assert_allclose(item.position, centre, atol=2e-10)  # nodes stand in the file to nine digits
    np.testing.assert_allclose(item.position[2], centre[2], atol=1e-15)  # pins are square to the plane
