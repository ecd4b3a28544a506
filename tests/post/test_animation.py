"""Scene, skin, glTF and pictures, without a browser."""

import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from flexmbs.cli.main import main
from flexmbs.errors import InputError, UsageError
from flexmbs.fe.mesh import Mesh
from flexmbs.post.animation import animate
from flexmbs.post.animation.frames import View, camera_of, frames_of
from flexmbs.post.animation.page import inline_json, script, web_file
from flexmbs.post.places import up_axis
from flexmbs.post.record import Record
from flexmbs.post.scene import result_scene
from flexmbs.post.skin import node_stress, skin_of
from flexmbs.post.visuals import box, cylinder, inertia_ellipsoid, link, read_stl, sphere
from flexmbs.spatial import axis_angle
from tests.post.synthetic import LENGTH, SECTION, case, mode_fields, rod_modal, write_result


def volume(mesh):
    p = mesh.points[mesh.triangles]
    return np.einsum("ti,ti->", p[:, 0], np.cross(p[:, 1], p[:, 2])) / 6


def test_shapes_are_closed_and_turned_outward():
    assert volume(box([1, 2, 3])) == pytest.approx(6.0)
    assert volume(cylinder(1.0, 2.0, 256)) == pytest.approx(2 * np.pi, rel=1e-3)  # polygon
    assert volume(sphere(1.0, 96)) == pytest.approx(4 / 3 * np.pi, rel=5e-3)  # facets
    assert volume(link([0, 0, 0], [0, 3, 0], 0.1)) > 0


def test_inertia_ellipsoid_is_that_of_the_solid():
    a = np.array([0.1, 0.2, 0.3])
    mass, R = 2.0, axis_angle([1, 2, 3], 0.7)
    inertia = R @ np.diag(mass / 5 * (a @ a - a**2)) @ R.T
    mesh = inertia_ellipsoid(mass, [1, 0, 0], inertia, 0.0)
    inside = (mesh.points - [1, 0, 0]) @ R / a
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), 1.0, rtol=1e-9)


def test_stl_files_text_and_binary(tmp_path):
    mesh = box([1, 1, 1])
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in mesh.points[tri])
        + "endloop\nendfacet\n"
        for tri in mesh.triangles
    )
    (tmp_path / "a.stl").write_text(f"solid a\n{facets}endsolid a\n")
    rows = b"".join(struct.pack("<12fH", *np.zeros(3), *mesh.points[t].ravel(), 0) for t in mesh.triangles)
    (tmp_path / "b.stl").write_bytes(b" " * 80 + struct.pack("<I", len(mesh.triangles)) + rows)
    for name in ("a.stl", "b.stl"):
        read = read_stl(tmp_path / name)
        assert len(read.points) == 8 and len(read.edges) == 12 and volume(read) == pytest.approx(1.0)
    (tmp_path / "c.stl").write_bytes(b"solid nothing here")
    with pytest.raises(InputError, match="not a readable STL"):
        read_stl(tmp_path / "c.stl")


def test_skin_is_the_surface_of_the_mesh():
    skin = skin_of(rod_modal())
    assert volume(skin.mesh) == pytest.approx(LENGTH * SECTION.prod())
    Phi, stress = mode_fields(skin.mesh.points)
    np.testing.assert_allclose(skin.Phi, Phi)
    np.testing.assert_allclose(skin.stress, stress)
    lengths = np.ptp(skin.mesh.points[skin.mesh.edges], axis=1)
    assert np.all((lengths > 0).sum(axis=1) == 1)  # along the axes: no diagonals of the triangles


def test_coarser_skin_keeps_nodes_and_their_modes():
    modal = rod_modal(divisions=(60, 10, 8))
    skin = skin_of(modal, limit=500)
    assert 250 < skin.n_points <= 500 < skin.n_full and skin.coarser
    np.testing.assert_array_equal(skin.mesh.points, modal.mesh.points[skin.nodes])
    np.testing.assert_array_equal(skin.Phi, modal.Phi[:, skin.nodes])
    assert volume(skin.mesh) == pytest.approx(LENGTH * SECTION.prod(), rel=0.15)  # rounded corners


def test_stress_of_cells_is_averaged_onto_nodes():
    at_cells, at_nodes = node_stress(rod_modal(stress_at="cells")), rod_modal().stress
    assert at_cells.shape == at_nodes.shape
    np.testing.assert_allclose(at_cells[3], at_nodes[3])  # constant field
    assert np.corrcoef(at_cells[0, :, 0], at_nodes[0, :, 0])[0, 1] > 0.97


def test_beams_are_tubes_whose_rings_turn():
    x = np.linspace(0, 1, 5)
    mesh = Mesh(
        np.stack([x, 0 * x, 0 * x], axis=1), {"beam2": np.stack([np.arange(4), np.arange(1, 5)], axis=1)}
    )
    Phi, Psi = np.zeros((1, 5, 3)), np.zeros((1, 5, 3))
    Psi[0, :, 2] = 1.0  # sections turn about z: points above move in -x
    modal = replace(rod_modal(), mesh=mesh, Phi=Phi, Psi=Psi, stress=None, stress_at="none", interfaces={})
    skin = skin_of(modal)
    assert volume(skin.mesh) > 0
    np.testing.assert_allclose(skin.Phi[0, :, 0], -skin.mesh.points[:, 1], atol=1e-15)
    assert skin.stress is None


def test_bodies_without_elements_are_balls_at_their_nodes():
    mesh = Mesh(np.array([[0.0, 0, 0], [1, 0, 0]]), {})
    Phi = np.arange(6.0).reshape(1, 2, 3)
    skin = skin_of(replace(rod_modal(), mesh=mesh, Phi=Phi, stress=None, stress_at="none", interfaces={}))
    np.testing.assert_array_equal(np.unique(skin.Phi[0], axis=0), Phi[0])


def test_scene_of_a_result(result_path):
    scene = result_scene(Record.load(result_path))
    assert [body.name for body in scene.bodies] == ["crank", "rod", "slider"] and scene.notes == []
    np.testing.assert_array_equal(scene.up, [0, 1, 0])
    rod = scene.bodies[1]
    tip = np.argmax(rod.mesh.points[:, 0])
    slider = scene.bodies[2].position[40]
    np.testing.assert_allclose(rod.points_at(40, scale=0.0)[tip, :2], slider[:2], atol=0.02)
    places = {joint.name: joint for joint in scene.joints}
    assert set(places) == {"main", "big", "end", "rail"}
    np.testing.assert_allclose(abs(places["rail"].rotation[:, 2]), [1, 0, 0], atol=1e-12)
    assert places["big"].body == 1 and places["big"].Phi.shape == (3, 4)


def test_up_is_against_gravity():
    np.testing.assert_array_equal(up_axis([0.0, -9.81, 0.1]), [0, 1, 0])
    np.testing.assert_array_equal(up_axis([3.0, 0, 0]), [-1, 0, 0])
    np.testing.assert_array_equal(up_axis(None), [0, 0, 1])


def test_lost_modal_data_are_said_and_found_again(tmp_path, result_path):
    moved = tmp_path / "elsewhere.h5"
    path = write_result(tmp_path / "a.h5", n=11)
    (tmp_path / "rod.modal.h5").rename(moved)
    scene = result_scene(Record.load(path))
    assert "rod.modal.h5" in scene.notes[0] and scene.bodies[1].skin is None
    assert result_scene(Record.load(path), {"rod": moved}).bodies[1].skin is not None


def test_modal_data_of_other_sources_are_not_taken_for_those_of_the_run(tmp_path):
    data = case()
    data["bodies"]["rod"]["modal_sha256"] = "1" * 64
    path = write_result(tmp_path / "a.h5", n=5, case_data=data)
    replace(rod_modal(), source_sha256="2" * 64).save(tmp_path / "rod.modal.h5")
    scene = result_scene(Record.load(path))
    assert scene.bodies[1].skin is None and "made anew since the run" in scene.notes[0]
    assert main(["stress", str(path), "rod", "--quiet"]) == 3
    given = {"rod": tmp_path / "rod.modal.h5"}
    assert result_scene(Record.load(path), given).bodies[1].skin is not None


def test_damaged_visuals_are_drawn_by_inertia(tmp_path):
    data = case()
    data["bodies"]["crank"]["visual"] = {"file": "none.stl"}
    scene = result_scene(Record.load(write_result(tmp_path / "a.h5", n=5, case_data=data)))
    assert len(scene.bodies[0].mesh.triangles) and "none.stl" in scene.notes[0]


def read_glb(path):
    raw = path.read_bytes()
    magic, version, total = struct.unpack_from("<4sII", raw)
    assert (magic, version, total) == (b"glTF", 2, len(raw))
    size, kind = struct.unpack_from("<I4s", raw, 12)
    assert kind == b"JSON" and size % 4 == 0
    tree = json.loads(raw[20 : 20 + size])
    blob = raw[20 + size + 8 :]

    def array(number):
        item = tree["accessors"][number]
        view = tree["bufferViews"][item["bufferView"]]
        kinds = {5126: "<f4", 5125: "<u4"}
        data = np.frombuffer(blob, kinds[item["componentType"]], view["byteLength"] // 4, view["byteOffset"])
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[item["type"]]
        assert data.size == item["count"] * width
        return data.reshape(-1, width) if width > 1 else data

    return tree, array


def test_glb_holds_modes_as_morph_targets_and_q_as_weights(tmp_path, result_path):
    animate(result_path, tmp_path / "a.glb")
    tree, array = read_glb(tmp_path / "a.glb")
    record = Record.load(result_path)
    number = next(k for k, node in enumerate(tree["nodes"]) if node["name"] == "rod")
    mesh = tree["meshes"][tree["nodes"][number]["mesh"]]
    scale = np.array(mesh["extras"]["modeScale"])
    primitive = mesh["primitives"][0]
    points = array(primitive["attributes"]["POSITION"])
    assert len(primitive["targets"]) == 4
    shapes = np.stack([array(target["POSITION"]) for target in primitive["targets"]])
    np.testing.assert_allclose(shapes / scale[:, None, None], mode_fields(points.astype(float))[0], atol=1e-4)
    animation = tree["animations"][0]
    tracks = {
        channel["target"]["path"]: array(animation["samplers"][channel["sampler"]]["output"])
        for channel in animation["channels"]
        if channel["target"]["node"] == number
    }
    q = tracks["weights"].reshape(-1, 4) * scale
    np.testing.assert_allclose(q, record.require("bodies/rod/q"), rtol=1e-6, atol=1e-9)
    assert np.abs(tracks["weights"]).max() <= 1.0 + 1e-6
    np.testing.assert_allclose(tracks["translation"], record.require("bodies/rod/position"), atol=1e-7)
    quaternion = record.require("bodies/rod/quaternion")
    np.testing.assert_allclose(tracks["rotation"], quaternion[:, [1, 2, 3, 0]], atol=1e-6)


def test_glb_of_modal_data_has_one_animation_per_mode(tmp_path):
    rod_modal().save(tmp_path / "rod.modal.h5")
    animate(tmp_path / "rod.modal.h5", tmp_path / "m.glb")
    tree, _ = read_glb(tmp_path / "m.glb")
    assert [item["name"] for item in tree["animations"]][:2] == ["mode 1, 300 Hz", "mode 2, 1200 Hz"]


def test_picture_shows_the_bodies(tmp_path, result_path):
    from PIL import Image

    view = View(size=(320, 180), time=0.0125, view="front")
    animate(result_path, tmp_path / "a.png", view=view)
    pixels = np.asarray(Image.open(tmp_path / "a.png"), dtype=float)
    assert pixels.shape == (180, 320, 3)
    drawn = np.abs(pixels - pixels[90, 2]).max(axis=2) > 30
    rows, columns = np.nonzero(drawn[40:, 60:])
    assert np.ptp(columns) > 150 and np.ptp(rows) > 20


def test_film_frames_differ(tmp_path, result_path):
    from PIL import Image

    animate(result_path, tmp_path / "a.gif", view=View(size=(160, 90), seconds=0.4))
    film = Image.open(tmp_path / "a.gif")
    assert film.n_frames >= 5


def test_mp4_without_ffmpeg_says_what_to_install(tmp_path, result_path, monkeypatch, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    assert main(["animate", str(result_path), "-o", str(tmp_path / "a.mp4")]) == 5
    assert "pip install imageio-ffmpeg" in capsys.readouterr().err


def test_unknown_endings_and_views_are_named(tmp_path, result_path):
    with pytest.raises(UsageError, match=".html"):
        animate(result_path, tmp_path / "a.htm")
    with pytest.raises(UsageError, match="isometric"):
        animate(result_path, tmp_path / "a.png", view=View(view="isometric"))


def test_older_pages_are_replaced_when_asked_and_only_by_whole_ones(tmp_path, result_path):
    (tmp_path / "a.html").write_text("older")
    assert main(["animate", str(tmp_path / "none.h5"), "-o", str(tmp_path / "a.html")]) == 3
    assert main(["animate", str(result_path), "-o", str(tmp_path / "a.html")]) == 3
    assert main(["animate", str(result_path), "-o", str(tmp_path / "a.html"), "--overwrite"]) == 3
    assert (tmp_path / "a.html").read_text() == "older"
    (tmp_path / "a.html").write_text("<!DOCTYPE html>")
    assert main(["animate", str(result_path), "-o", str(tmp_path / "a.html"), "--overwrite"]) == 0
    assert "flexmbs" in (tmp_path / "a.html").read_text()


def test_page_reaches_for_nothing_outside():
    for name in ("page.html", "style.css", "matrix.js", "viewer.js"):
        assert "http" not in web_file(name)
    assert "import " not in script(("matrix", "data"))
    assert "</" not in inline_json({"a": "</script>"})


def test_a_visual_of_parts_is_all_of_them(tmp_path):
    data = case()
    parts = [
        {"shape": "box", "size": [0.02, 0.02, 0.02]},
        {"shape": "sphere", "radius": 0.3, "pos": [1.0, 0, 0]},
    ]
    data["bodies"]["crank"]["visual"] = {"parts": parts}
    points = (
        result_scene(Record.load(write_result(tmp_path / "a.h5", n=3, case_data=data))).bodies[0].mesh.points
    )
    np.testing.assert_allclose([points[:, 0].min(), points[:, 0].max()], [-0.01, 1.3], atol=1e-9)


@pytest.mark.parametrize("name", ["iso", "front", "top"])
def test_the_camera_sees_everything_and_wastes_little(result_path, name):
    scene, size = result_scene(Record.load(result_path)), (1280, 720)
    camera = camera_of(scene, View(view=name))
    seen = np.concatenate(
        [camera.project(b.points_at(k), size) for b in scene.bodies for k in range(0, len(scene.time), 5)]
    )
    low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
    assert (low > 0).all() and (high < size).all()
    assert max((high - low) / size) > 0.75  # it fills the width or the height
    np.testing.assert_allclose(0.5 * (low + high), np.array(size) / 2, atol=30)


def test_pictures_and_pages_open_as_told(result_path, tmp_path):
    page = tmp_path / "a.html"
    line = [
        "animate",
        str(result_path),
        "--scale",
        "7",
        "--time",
        "0.03",
        "--view",
        "top",
        "--undeformed",
        "--quiet",
    ]
    assert main([*line, "-o", str(page)]) == 0
    assert '"start":{"scale":7.0,"undeformed":true,"view":"top","time":0.03}' in page.read_text()
    images = []
    for extra in ([], ["--undeformed"]):
        out = tmp_path / f"{len(extra)}.png"
        assert (
            main(
                [
                    "animate",
                    str(result_path),
                    "--scale",
                    "9",
                    "--time",
                    "0.03",
                    "-o",
                    str(out),
                    "--quiet",
                    *extra,
                ]
            )
            == 0
        )
        images.append(out.read_bytes())
    assert images[0] != images[1]
    assert main(["animate", str(result_path), "-o", str(tmp_path / "b.html"), "--view", "below"]) == 2


def test_a_single_state_is_shown_as_it_is(tmp_path):
    """A static result was shown as a mode of its first body."""
    path = write_result(tmp_path / "static.h5", n=1)
    record = Record.load(path)
    (frame,) = frames_of(result_scene(record), View(), single=True)
    np.testing.assert_array_equal(frame.q[1], record.require("bodies/rod/q")[0])
    assert frame.text == "t = 0 s"
    animate(path, tmp_path / "a.html")
    assert '"modes_first":false' in (tmp_path / "a.html").read_text()
    rod_modal().save(tmp_path / "rod.modal.h5")
    animate(tmp_path / "rod.modal.h5", tmp_path / "b.html")
    assert '"modes_first":true' in (tmp_path / "b.html").read_text()
