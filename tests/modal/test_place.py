"""Rows of a place in a body: rigid motion is found everywhere in every cell, mixtures among them."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.sections import ShellData, ShellSection
from flexmbs.modal.place import rows_at_node, rows_at_point
from flexmbs.modal.ties import rigid_field

SKEW = np.array([[1.1, 0.2, 0.1], [0.0, 0.9, 0.15], [0.05, 0.0, 0.8]])
SOLIDS = [kind for kind, element in ELEMENTS.items() if not element.turns]
CENTRE = np.array([0.2, 0.1, 0.3])


def cell(kind, thickness=0.1):
    """One cell; shells carry a section off their nodes."""
    element = ELEMENTS[kind]
    cells = {kind: np.arange(element.n_nodes)[None]}
    shell = ShellData.uniform(cells, ShellSection(thickness, 0.02)) if kind in SHELLS else None
    return Mesh(element.ref_coords @ SKEW.T, cells, shell=shell)


def inside(element, n=40):
    """Points of the reference cell: its corners drawn towards its centre, and mixtures of them."""
    corners = element.ref_coords[: element.n_corners]
    share = np.random.default_rng(3).dirichlet(np.full(len(corners), 0.4), n)
    return 0.02 * corners.mean(axis=0) + 0.98 * share @ corners


def check_rigid(rows, x, field):
    U = field[rows.nodes]
    found = np.einsum("kna,nam->km", rows.displacement, U), np.einsum("kna,nam->km", rows.rotation, U)
    arm = np.cross(np.eye(3)[None], (x - CENTRE)[None, None])[0].T
    np.testing.assert_allclose(found[0], np.hstack([np.eye(3), arm]), atol=1e-7)
    np.testing.assert_allclose(found[1], np.hstack([np.zeros((3, 3)), np.eye(3)]), atol=1e-7)


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("kind", SOLIDS)
def test_rigid_motion_everywhere_in_a_solid(kind, turns):
    """Also beside shells and beams, whose bodies have rotations at every node."""
    mesh, n = cell(kind), 6 if turns else 3
    field = rigid_field(mesh.points, n, CENTRE).reshape(-1, n, 6)
    field[:, 3:] = np.nan if turns else field[:, 3:]  # solids have none
    for xi in inside(ELEMENTS[kind]):
        x = SKEW @ xi
        rows = rows_at_point(mesh, x, "", turns)
        assert rows.displacement.shape == (3, ELEMENTS[kind].n_nodes, n)
        check_rigid(rows, x, np.nan_to_num(field))
    check_rigid(rows_at_node(mesh, 2, turns), mesh.points[2], np.nan_to_num(field))


@pytest.mark.parametrize("kind", SHELLS)
def test_rigid_motion_everywhere_in_a_shell(kind):
    mesh = cell(kind)
    field = rigid_field(mesh.points, 6, CENTRE).reshape(-1, 6, 6)
    normal = np.cross(SKEW[:, 0], SKEW[:, 1])
    normal /= np.linalg.norm(normal)
    for xi in inside(ELEMENTS[kind], 12):
        for height in (-0.03, 0.0, 0.069):  # from the bottom to the top
            x = SKEW @ xi + height * normal
            check_rigid(rows_at_point(mesh, x, "", True), x, field)
        with pytest.raises(InputError, match="not in the body"):
            rows_at_point(mesh, SKEW @ xi + 0.08 * normal, "", True)
    check_rigid(rows_at_node(mesh, 1, True), mesh.points[1], field)


@pytest.mark.parametrize("kind", [*SOLIDS, *SHELLS])
def test_points_beside_a_cell_are_refused(kind):
    element = ELEMENTS[kind]
    centre = element.ref_coords[: element.n_corners].mean(axis=0)
    for corner in element.ref_coords[: element.n_corners]:
        with pytest.raises(InputError, match="not in the body"):
            rows_at_point(cell(kind), SKEW @ (corner + 0.08 * (corner - centre)), "", element.turns)


def test_a_node_of_a_solid_beside_shells_turns_as_the_solid():
    """The rotations that such a node has no use for are zero, and were taken as its own."""
    solid, element = cell("hex8"), ELEMENTS["quad4"]
    apart = np.concatenate([solid.points, 5.0 + element.ref_coords])
    cells = {"hex8": solid.cells["hex8"], "quad4": 8 + np.arange(4)[None]}
    shell = ShellData.uniform({"quad4": cells["quad4"]}, ShellSection(0.1))
    mesh = Mesh(apart, cells, shell=shell)
    field = rigid_field(mesh.points, 6, CENTRE).reshape(-1, 6, 6)
    field[:8, 3:] = 0.0
    for node in (0, 6, 10):
        check_rigid(rows_at_node(mesh, node, True), mesh.points[node], field)
