"""Edges, outlines, sets and frames of a part: what was pointed at, and where it belongs."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.fe.convert import write_fields
from flexmbs.fe.sets import pick_nodes
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.toml_file import parse_toml
from flexmbs.view.choice import _inside
from flexmbs.view.edges import edges_of
from flexmbs.view.part import PartDoor
from flexmbs.view.patches import patches_of
from flexmbs.view.pictured import part_scene
from flexmbs.view.places import kind_of, kind_of_edge, place_of

MESHES = Path(__file__).resolve().parents[2] / "meshes"
BOX = {"shape": "box", "size": [0.2, 0.1, 0.05], "divisions": [4, 3, 2], "element": "hex20"}
ROD = {"shape": "cylinder", "radius": 0.02, "length": 0.1, "divisions": [2, 16, 4], "element": "hex20"}


@pytest.fixture
def door(tmp_path):
    return PartDoor(Path(shutil.copy(MESHES / "bracket.msh", tmp_path)))


@pytest.mark.parametrize("turn", [False, True])
def test_a_box_has_twelve_edges_whose_places_hold_their_nodes_alone(turn):
    mesh, _ = build_shape(BOX)
    if turn:
        R = np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0]
        object.__setattr__(mesh, "points", mesh.points @ R.T + [0.3, -0.1, 0.2])
    edges = edges_of(mesh, patches_of(mesh))
    assert sorted(len(edge.nodes) for edge in edges) == [5] * 4 + [7] * 4 + [9] * 4  # mid-nodes too
    assert {len(edge.lines) for edge in edges} == {4, 6, 8}
    for edge in edges:
        kind, place = place_of(mesh, edge.nodes, edge=True)
        assert kind.name.startswith("line of ") and "nearest" not in place
        np.testing.assert_array_equal(pick_nodes(mesh, place), edge.nodes)
        ends = mesh.points[edge.nodes]
        np.testing.assert_allclose(kind.centre, 0.5 * (ends.max(axis=0) + ends.min(axis=0)), atol=1e-9)


def test_a_cylinder_has_two_circles_and_a_sheet_its_rim_in_sides():
    mesh, _ = build_shape(ROD)
    for edge in edges_of(mesh, patches_of(mesh)):
        kind, place = place_of(mesh, edge.nodes, edge=True)
        assert kind.name == "circle r 20 mm" and set(place) == {"plane", "cylinder"}
        np.testing.assert_array_equal(pick_nodes(mesh, place), edge.nodes)
        assert np.linalg.norm(kind.centre[:2]) < 1e-12 or np.linalg.norm(kind.centre[1:]) < 1e-12
    shape = {"shape": "shell", "size": [0.3, 0.2], "thickness": 0.002, "divisions": [6, 4]}
    sheet, _ = build_shape(shape)
    rim = edges_of(sheet, patches_of(sheet))
    lengths = sorted(kind_of_edge(sheet.points[edge.nodes], 0.36).name for edge in rim)
    assert lengths == ["line of 200 mm", "line of 200 mm", "line of 300 mm", "line of 300 mm"]


def test_frames_are_snapped_to_centres_and_axes():
    """Half a ball and a third of a bore: their middles are beside the centre."""
    draw = np.random.default_rng(3)
    x = draw.normal(size=(60, 3))
    half = 0.03 * np.abs(x) / np.linalg.norm(x, axis=1, keepdims=True) + [0.1, 0.2, 0.3]
    kind = kind_of(half, 1.0)
    assert kind.name == "sphere r 30 mm" and kind.where == "at the centre"
    np.testing.assert_allclose(kind.centre, [0.1, 0.2, 0.3], atol=1e-9)
    angle, z = draw.uniform(0, 2, 40), np.r_[0.0, 0.05, draw.uniform(0, 0.05, 38)]
    third = np.column_stack([0.02 * np.cos(angle), 0.02 * np.sin(angle), z])
    kind = kind_of(third, 1.0)
    assert kind.name == "cylinder r 20 mm" and kind.where == "on the axis"
    np.testing.assert_allclose(kind.centre, [0.0, 0.0, 0.025], atol=1e-9)
    flat = kind_of(np.column_stack([draw.normal(size=(9, 2)), np.zeros(9)]), 1.0)
    assert (flat.name, flat.centre, flat.where) == ("plane", None, "at their centroid")


def test_part_of_a_bore_gets_its_frame_on_the_axis_and_the_distance_is_told(door):
    x, y, _ = door.mesh.points.T
    bore = np.flatnonzero(np.abs(np.hypot(x, y) - 0.012) < 1e-6)
    third = bore[(x[bore] > 0.0) & (y[bore] > -0.006)]
    made = door.act("interface", {"text": door.text, "nodes": third.tolist(), "tie": "rbe3"})
    entry = parse_toml(made["text"]).data["interfaces"]["bore"]
    np.testing.assert_allclose(entry["pos"], [0.0, 0.0, 0.006], atol=1e-8)
    np.testing.assert_allclose(made["interfaces"][0]["place"], entry["pos"], atol=1e-12)
    off = float(made["said"].split(": ")[-1].split(" mm")[0])
    middle = door.mesh.points[third].mean(axis=0)
    assert "on the axis" in made["said"] and 4.0 < off < 12.0
    assert off == pytest.approx(1e3 * np.linalg.norm(middle - entry["pos"]), rel=0.1)  # faces, not nodes
    whole = door.act("interface", {"text": door.text, "nodes": bore.tolist(), "tie": "rbe3"})
    assert "pos" not in parse_toml(whole["text"]).data["interfaces"]["bore_a"]


def test_edges_become_interfaces(door):
    told = door.act("edges", {})
    number = told["kinds"].index("circle r 12 mm")
    made = door.act("interface", {"text": door.text, "edges": [number], "tie": "rbe3", "name": ""})
    assert made["errors"] == [] and "ring: 24 nodes, circle r 12 mm, frame at the centre" in made["said"]
    assert set(parse_toml(made["text"]).data["interfaces"]["ring"]) == {"tie", "plane", "cylinder"}
    assert told["ends"][-1] == told["drawn"]["edges"]["length"] and len(told["ends"]) == 24
    with pytest.raises(InputError, match="there is no such face"):
        door.act("interface", {"text": door.text, "edges": [24]})


def test_an_outline_takes_the_nodes_behind_it():
    star = np.array([[0, 3], [1, 1], [3, 0], [1, -1], [0, -3], [-1, -1], [-3, 0], [-1, 1]], dtype=float)
    points = np.array([[0, 0], [2, 0.2], [2, 2], [0, 2.5], [-2, -2], [4, 0]], dtype=float)
    assert _inside(points, star).tolist() == [True, True, False, True, False, False]


def test_nodes_within_an_outline_are_those_seen_there(door):
    """A camera that looks down z, with a perspective: w = 1 - z."""
    matrix = np.diag([10.0, 10.0, 1.0, 1.0])
    matrix[3, 2] = -1.0
    corners = [[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]]
    found = door.act("within", {"outline": corners, "matrix": matrix.T.ravel().tolist()})["nodes"]
    skin = np.unique(np.concatenate([patch.nodes for patch in door.patches]))
    x, y, z = door.mesh.points[skin].T
    wanted = skin[(np.abs(10.0 * x / (1.0 - z)) < 0.2) & (np.abs(10.0 * y / (1.0 - z)) < 0.2)]
    assert len(wanted) > 20 and found == wanted.tolist()
    assert door.act("within", {"outline": corners[:2], "matrix": [0.0] * 16}) is None
    assert door.act("within", {"outline": corners, "matrix": [float("nan")] * 16}) is None


def test_sets_are_layers_of_triangles_and_can_be_chosen(door):
    told = door.act("layer", {"set": "bore_a"})
    assert told["marks"] == [] and told["drawn"]["triangles"]["length"] > 100
    [number] = told["patches"]
    assert door.patches[number].kind == "cylinder r 12 mm"
    whole = door.act("layer", {"set": "bracket"})
    assert len(whole["nodes"]) == door.mesh.n_nodes  # inner nodes too: no faces alone
    assert door.act("layer", {"set": "bore_z"}) is None
    door.sets["loose"] = door.patches[number].nodes[:3]
    assert door.act("layer", {"set": "loose"})["nodes"] == door.sets["loose"].tolist()


def test_the_mesh_is_checked_behind_the_first_picture(tmp_path):
    mesh, _ = build_shape({**BOX, "element": "hex8"})
    twice = {"hex8": np.concatenate([mesh.cells["hex8"], mesh.cells["hex8"][:1]])}
    write_fields(type(mesh)(mesh.points, twice), tmp_path / "a.vtu", {}, {})
    door = PartDoor(tmp_path / "a.vtu")
    door.act("mesh", {})
    door.judging._thread.join()
    told = door.act("mesh", {})
    assert told["done"] and told["errors"] == [] and "repeat others" in told["findings"][0]
    door.close()


def test_large_skins_are_thinned_on_nodes_of_the_mesh_and_stay_whole_to_choose(monkeypatch):
    monkeypatch.setattr("flexmbs.view.pictured.MOST_POINTS", 3000)
    mesh, _ = build_shape({"shape": "box", "size": [1, 1, 0.01], "divisions": [60, 60, 1], "element": "hex8"})
    patches = patches_of(mesh)
    scene = part_scene(mesh, patches, "sheet")
    drawn = sum(len(body.mesh.points) for body in scene.bodies)
    assert len(mesh.points) == 2 * 61**2 and 1000 < drawn <= 4000
    assert f"of {len(mesh.points)} points" in scene.notes[0] and len(patches[0].nodes) == 61**2
    for body, patch in zip(scene.bodies, patches, strict=True):
        np.testing.assert_array_equal(body.mesh.points, mesh.points[body.nodes])
        assert np.isin(body.nodes, patch.nodes).all() and len(body.mesh.triangles)
