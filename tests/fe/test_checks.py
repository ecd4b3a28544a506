"""What can be wrong with a mesh is found, named, and where documented, mended."""

from dataclasses import replace

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.check import connectivity
from flexmbs.fe.check.mesh import check_mesh
from flexmbs.fe.check.quality import mirror, quality_text, shapes
from flexmbs.fe.check.repair import merge_nodes
from flexmbs.fe.check.summary import mesh_summary, summary_text, volume
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shapes.shell import SIDES, surface
from flexmbs.fe.shells.sections import ShellSection
from flexmbs.fe.skin import faces_within
from tests.fe.mesh_samples import SOLIDS, curved, face_geometry, lattice_mesh, mixed, sample


def same(x):
    return x


def codes(items):
    return [item.code for item in items]


def joined(one, two, shift, tolerance=1e-9):
    """Two meshes in one; nodes at the same place become one when tolerance > 0."""
    points = np.concatenate([one.points, two.points + shift])
    cells = {kind: rows.copy() for kind, rows in one.cells.items()}
    for kind, rows in two.cells.items():
        more = rows + one.n_nodes
        cells[kind] = np.concatenate([cells[kind], more]) if kind in cells else more
    mesh = Mesh(points, cells)
    return merge_nodes(mesh, tolerance)[0] if tolerance else mesh


@pytest.mark.parametrize("kind", SOLIDS)
def test_a_good_mesh_has_no_findings(kind):
    check = check_mesh(sample(kind))
    assert check.diagnostics == []
    row = check.quality[kind]
    assert (
        row["cells"] == check.mesh.n_cells
        and 0.3 < row["min_scaled_jacobian"] <= row["mean_scaled_jacobian"] <= 1
    )


def test_a_mixed_mesh_is_one_body():
    check = check_mesh(mixed())
    assert check.diagnostics == [] and set(check.quality) == {"hex20", "wedge15"}


@pytest.mark.parametrize("kind", SOLIDS)
def test_regular_cells_have_scaled_jacobian_one(kind):
    element = ELEMENTS[kind]
    T = np.eye(3)
    if element.family == "tet":
        T = np.array([[1, 0, 0], [0.5, np.sqrt(0.75), 0], [0.5, np.sqrt(1 / 12), np.sqrt(2 / 3)]])
    elif element.family == "wedge":
        T = np.array([[1, 0, 0], [0.5, np.sqrt(0.75), 0], [0, 0, 0.5]])
    mesh = Mesh(element.ref_coords @ T, {kind: np.arange(element.n_nodes)[None]})
    found = shapes(mesh, kind)
    np.testing.assert_allclose(found.scaled, 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.aspect, 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", SOLIDS)
def test_mirrored_cells_are_turned_with_their_faces(kind):
    good = sample(kind)
    nodes, faces = mirror(kind)
    rows = good.cells[kind].copy()
    chosen = np.arange(0, len(rows), 2)
    rows[chosen] = rows[chosen][:, nodes]
    sets = {}
    for name, parts in good.face_sets.items():
        part = parts[kind].copy()
        turned = np.isin(part[:, 0], chosen)
        part[turned, 1] = faces[part[turned, 1]]
        sets[name] = {kind: part}
    check = check_mesh(replace(good, cells={kind: rows}, face_sets=sets))
    assert codes(check.diagnostics) == ["mesh.mirrored"] and check.diagnostics[0].severity == "warn"
    assert volume(check.mesh) == pytest.approx(volume(good), rel=1e-13)
    for name in ("left", "top"):
        np.testing.assert_allclose(face_geometry(check.mesh, name), face_geometry(good, name), atol=1e-15)


def test_wrong_order_of_tet10_is_recognised():
    """The last two mid-nodes exchanged: gmsh's order in a file that means VTK's."""
    good = lattice_mesh("tet10")
    check = check_mesh(replace(good, cells={"tet10": good.cells["tet10"][:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]}))
    assert codes(check.errors) == ["mesh.inverted_cells"]
    assert "node order" in check.errors[0].remedy


@pytest.mark.parametrize("kind", ["hex20", "hex27", "wedge15"])
def test_wrong_order_of_mid_nodes_is_recognised(kind):
    good = lattice_mesh(kind)
    first, last = ELEMENTS[kind].n_corners, ELEMENTS[kind].n_corners + len(ELEMENTS[kind].edges)
    order = np.arange(ELEMENTS[kind].n_nodes)
    order[first:last] = np.roll(order[first:last], 3)
    check = check_mesh(replace(good, cells={kind: good.cells[kind][:, order]}))
    assert codes(check.errors) == ["mesh.inverted_cells"] and "node order" in check.errors[0].remedy


def test_few_tangled_cells_are_no_matter_of_the_order():
    """A corner pushed through its cells leaves their mid-nodes behind, as a wrong order does everywhere."""
    good = lattice_mesh("tet10")
    points = good.points.copy()
    first, second = good.cells["tet10"][0, :2]
    points[first] += 3.0 * (points[second] - points[first])
    check = check_mesh(replace(good, points=points))
    assert codes(check.errors) == ["mesh.inverted_cells"]
    assert check.errors[0].remedy.startswith("remesh")


def test_tangled_curved_cell_is_an_error_though_its_volume_is_positive():
    good = lattice_mesh("tet10", (1, 1, 1), same)
    points = good.points.copy()
    middle = good.cells["tet10"][0, 4]
    points[middle] += 0.45 * (points[good.cells["tet10"][0, 1]] - points[good.cells["tet10"][0, 0]])
    check = check_mesh(replace(good, points=points))
    assert codes(check.errors) == ["mesh.inverted_cells"]
    assert str(good.cell_number["tet10"][0]) in check.errors[0].what


def test_a_cell_folded_at_a_corner_gets_straight_edges():
    """Integration points see a positive Jacobian, as in a published knuckle; place and way are told."""
    good = lattice_mesh("tet10", (2, 2, 2), same)
    points, rows = good.points.copy(), good.cells["tet10"]
    middle = rows[0, 4]
    points[middle] -= 0.28 * (points[rows[0, 1]] - points[rows[0, 0]])
    check = check_mesh(replace(good, points=points))
    assert not check.errors and codes(check.warnings) == ["mesh.folded"]
    assert (
        "28 % of an edge" in check.warnings[0].what
        and str(good.cell_number["tet10"][0]) in check.warnings[0].what
    )
    np.testing.assert_allclose(check.mesh.points, good.points, atol=1e-15)


def test_many_folded_cells_stay_an_error():
    good = lattice_mesh("tet10", (3, 3, 3), same)
    points, rows = good.points.copy(), good.cells["tet10"]
    for cell in range(0, len(rows), 12):
        points[rows[cell, 4]] = good.points[rows[cell, 4]] - 0.28 * (
            points[rows[cell, 1]] - points[rows[cell, 0]]
        )
    assert "mesh.inverted_cells" in codes(check_mesh(replace(good, points=points)).errors)


def test_flat_cells_are_an_error():
    mesh = lattice_mesh("tet4", (1, 1, 1), lambda x: x * [1.0, 1.0, 0.0])
    assert "mesh.flat_cells" in codes(check_mesh(mesh).errors)


def plate(element, n=(2, 2)):
    return surface(lambda s, t: np.column_stack([s, t, 0.2 * s * t]), n, element, ShellSection(0.01), SIDES)


@pytest.mark.parametrize("kind", SHELLS)
def test_surfaces_have_shapes_as_solids_have(kind):
    good = plate(kind)
    check = check_mesh(good)
    assert not check.diagnostics and 0.7 < check.quality[kind]["min_scaled_jacobian"] <= 1.0 + 1e-12
    rows, last = good.cells[kind].copy(), ELEMENTS[kind].n_corners - 1
    rows[0, [0, 1]] = rows[0, [1, 0]]  # a bow tie, and of a triangle the other side
    turned = check_mesh(replace(good, cells={kind: rows}))
    assert ("mesh.inverted_cells" in codes(turned.errors)) == (kind != "tri3")
    rows = good.cells[kind].copy()
    rows[0, last] = rows[0, 0]
    (found,) = check_mesh(replace(good, cells={kind: rows})).errors
    assert found.code in ("mesh.flat_cells", "mesh.inverted_cells") and "cell 1" in found.what
    points = good.points * [1.0, 0.0, 0.0]
    assert "mesh.flat_cells" in codes(check_mesh(replace(good, points=points)).errors)


def test_collapsed_brick_is_a_warning():
    """A brick with two nodes in one place at an edge: positive at the quadrature points."""
    mesh = lattice_mesh("hex8", (1, 1, 1), same)
    rows = mesh.cells["hex8"].copy()
    rows[0, 2], rows[0, 6] = rows[0, 3], rows[0, 7]
    check = check_mesh(Mesh(mesh.points, {"hex8": rows}))
    assert "mesh.collapsed_cells" in codes(check.warnings) and not check.errors


def test_crowds_of_nodes_take_no_memory():
    """Two hundred thousand nodes in one place: all pairs of them would be 2e10."""
    points = np.zeros((200_000, 3))
    mesh = Mesh(points, {"tet4": np.arange(200_000).reshape(-1, 4)})
    check = check_mesh(mesh)
    assert {"mesh.flat_cells", "mesh.components"} <= set(codes(check.errors))
    points = 1e-12 * np.random.default_rng(1).random((2000, 3))
    assert merge_nodes(Mesh(points, {"tet4": np.arange(2000).reshape(-1, 4)}), 1e-9)[1] > 1900


def test_duplicate_cells_are_an_error():
    mesh = lattice_mesh("hex8")
    rows = np.concatenate([mesh.cells["hex8"], mesh.cells["hex8"][3:4, [1, 2, 3, 0, 5, 6, 7, 4]]])
    assert codes(check_mesh(Mesh(mesh.points, {"hex8": rows})).errors) == [
        "mesh.duplicate_cells",
        "mesh.crowded_faces",
    ]


def test_separate_parts_are_an_error_with_their_places():
    one = lattice_mesh("tet4", (1, 1, 1), same)
    check = check_mesh(joined(one, one, [3.0, 0, 0]))
    assert codes(check.errors) == ["mesh.components"] and "8 nodes from node 9" in check.errors[0].what


def test_unmerged_parts_ask_for_a_tolerance_and_are_merged_with_it():
    one = lattice_mesh("hex20", (1, 1, 1), same)
    mesh = joined(one, one, [1.0, 0, 1e-10], tolerance=0)
    check = check_mesh(mesh)
    assert codes(check.errors) == ["mesh.components"] and "mesh.coincident_nodes" in codes(check.warnings)
    assert "--merge-tol" in check.errors[0].remedy
    merged = check_mesh(mesh, merge_tol=1e-8)
    assert codes(merged.diagnostics) == ["mesh.merged"] and merged.mesh.n_nodes == 32


def test_merge_tolerance_must_not_collapse_cells():
    check = check_mesh(lattice_mesh("hex8"), merge_tol=0.6)
    assert codes(check.errors) == ["mesh.merge_tolerance"]


@pytest.mark.parametrize(
    ("shift", "joint"), [([1.0, 1.0, 1.0], "at one node"), ([1.0, 1.0, 0], "along one edge")]
)
def test_parts_joined_like_a_hinge_are_an_error(shift, joint):
    one = lattice_mesh("hex20", (1, 1, 1), same)
    check = check_mesh(joined(one, one, shift))
    assert codes(check.errors) == ["mesh.hinge"] and joint in check.errors[0].what


def test_orphan_nodes_are_left_out_and_named():
    mesh = lattice_mesh("tet10")
    more = Mesh(
        np.vstack([[9.0, 9, 9], mesh.points]), {"tet10": mesh.cells["tet10"] + 1}, node_sets={"a": [0, 3]}
    )
    check = check_mesh(more)
    assert codes(check.diagnostics) == ["mesh.orphan_nodes"] and "node 1" in check.diagnostics[0].what
    assert check.mesh.n_nodes == mesh.n_nodes and check.mesh.node_number[
        check.mesh.node_sets["a"]
    ].tolist() == [4]


def test_linear_beside_quadratic_cells_hang():
    check = check_mesh(
        joined(lattice_mesh("hex8", (1, 1, 1), same), lattice_mesh("hex20", (1, 1, 1), same), [1.0, 0, 0])
    )
    assert codes(check.errors) == ["mesh.hanging_nodes"] and "4 mid-nodes" in check.errors[0].what


@pytest.mark.parametrize("kind", ["hex8", "hex20", "tet10"])
def test_refinement_without_transition_hangs(kind):
    coarse, fine = lattice_mesh(kind, (1, 1, 1), same), lattice_mesh(kind, (2, 2, 2), same)
    check = check_mesh(joined(coarse, fine, [1.0, 0, 0]))
    assert "mesh.hanging_nodes" in codes(check.errors)


def test_tetrahedra_on_a_brick_hang():
    brick, tets = lattice_mesh("hex8", (1, 1, 1), same), lattice_mesh("tet4", (1, 1, 1), same)
    check = check_mesh(joined(brick, tets, [1.0, 0, 0]))
    assert "1 quadrilateral faces meet triangles" in check.errors[0].what


def test_millimetres_are_suspected():
    check = check_mesh(lattice_mesh("hex8", shape=lambda x: 120.0 * x))
    assert codes(check.diagnostics) == ["mesh.units"] and "--unit-system mm" in check.diagnostics[0].remedy


def test_parts_below_a_millimetre_are_suspected():
    check = check_mesh(lattice_mesh("hex8", shape=lambda x: 2e-4 * x))
    assert codes(check.diagnostics) == ["mesh.units"] and "metres" in check.diagnostics[0].remedy


def test_empty_sets_are_named():
    mesh = replace(
        lattice_mesh("hex8"), node_sets={"none": np.zeros(0, dtype=int)}, face_sets={"nothing": {}}
    )
    assert [item.what for item in check_mesh(mesh).warnings] == [
        "empty node sets: none",
        "empty face sets: nothing",
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: {"points": np.where(m.points > 0.5, np.nan, m.points)}, "mesh.not_finite"),
        (lambda m: {"points": 1e12 * m.points}, "mesh.not_finite"),
        (lambda m: {"node_number": np.ones(m.n_nodes)}, "mesh.duplicate_numbers"),
        (lambda m: {"cells": {"hex8": m.cells["hex8"] + 1}}, "mesh.no_node"),
        (lambda m: {"cells": {"hex8": m.cells["hex8"][:, :7]}}, "mesh.damaged"),
        (lambda m: {"cells": {"pyramid4": m.cells["hex8"][:, :5]}}, "mesh.unsupported_cells"),
        (lambda m: {"node_sets": {"a": [99]}}, "mesh.no_node"),
    ],
)
def test_broken_arrays_are_errors(change, code):
    mesh = lattice_mesh("hex8")
    check = check_mesh(replace(mesh, **change(mesh)))
    assert codes(check.errors) == [code]
    with pytest.raises(InputError):
        check.require()


def test_summary_for_people():
    check = check_mesh(sample("hex20"))
    summary = mesh_summary(check)
    text = summary_text(summary)
    assert summary["nodes"] == 81 and "left" in text and quality_text(check.quality) in text


# ---- the mesh itself


@pytest.mark.parametrize("kind", SOLIDS)
def test_skin_is_closed_and_sets_know_their_nodes(kind):
    mesh = sample(kind)
    triangles = mesh.surface()
    edges = np.sort(
        np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1
    )
    _, count = np.unique(edges, axis=0, return_counts=True)
    assert (count == 2).all()
    np.testing.assert_array_equal(mesh.node_set_of("left"), mesh.node_set_of("low"))
    assert mesh.set_kinds("half") == ["cell"] and mesh.components().max() == 0
    assert faces_within(mesh, mesh.node_set_of("top")).keys() == {kind}


def test_unknown_sets_and_nodes_name_the_choices():
    mesh = sample("tet4")
    with pytest.raises(InputError, match='did you mean "left"'):
        mesh.node_set_of("lfet")
    with pytest.raises(InputError, match="node numbers run from 11 to 89"):
        mesh.node_indices([11, 12])
    np.testing.assert_array_equal(mesh.node_indices([14, 11]), [1, 0])


def test_orphans_have_no_component():
    mesh = lattice_mesh("tet4", (1, 1, 1), curved)
    more = Mesh(np.vstack([mesh.points, [9.0, 9, 9]]), mesh.cells)
    assert more.components().tolist() == [0] * 8 + [-1]


def moved(mesh, node, to):
    points = mesh.points.copy()
    points[node] = to
    return replace(mesh, points=points)


@pytest.mark.parametrize("kind", ["tet4", "tet10", "wedge6", "hex8"])
def test_volumes_agree_with_the_skin_where_no_cells_overlap(kind):
    """What the rule rests on: cells on two sides of every face fill what the skin encloses."""
    mesh = lattice_mesh(kind, (3, 3, 2))
    assert connectivity.on_one_side(mesh)[0] == 0 and not len(connectivity.buried(mesh))


def test_tangled_tetrahedra_are_told_though_each_has_a_volume():
    """A node pushed through its neighbours: the cells that turned over count as mirrored, and overlap."""
    mesh = lattice_mesh("tet4", (4, 4, 4), same)
    middle = int(np.argmin(np.linalg.norm(mesh.points - mesh.points.mean(axis=0), axis=1)))
    neighbours = mesh.cells["tet4"][(mesh.cells["tet4"] == middle).any(axis=1)]
    rng, told = np.random.default_rng(5), 0
    for _ in range(40):
        other = mesh.points[rng.choice(neighbours.ravel())]
        tangled = moved(
            mesh, middle, mesh.points[middle] + rng.uniform(1.5, 4.0) * (other - mesh.points[middle])
        )
        check = check_mesh(tangled)
        gained = volume(check.mesh) / volume(mesh) - 1.0
        assert (gained > 1e-9) == ("mesh.overlap" in codes(check.errors)), gained
        told += gained > 1e-9
    assert told >= 15


def test_a_pulled_corner_is_a_shape_and_no_overlap():
    mesh = lattice_mesh("tet4", (2, 2, 2), same)
    corner = int(np.argmax(mesh.points.sum(axis=1)))
    check = check_mesh(moved(mesh, corner, 1.5 * mesh.points[corner]))
    assert "mesh.overlap" not in codes(check.diagnostics)


@pytest.mark.parametrize("kind", ["tet4", "tet10", "hex8", "wedge6"])
def test_parts_that_overlap_are_told_and_parts_that_touch_are_not(kind):
    one = lattice_mesh(kind, (3, 3, 3), same)
    size = np.ptp(one.points, axis=0)
    over = check_mesh(joined(one, one, 0.37 * size, 0.0))
    assert "mesh.overlap" in codes(over.errors)
    touching = check_mesh(joined(one, one, [size[0], 0.1 * size[1], 0.0], 0.0))
    assert "mesh.overlap" not in codes(touching.errors)
