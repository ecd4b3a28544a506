"""What a person points at becomes an interface of the recipe; what the server refuses."""

import http.client
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from flexmbs.errors import InputError, UsageError
from flexmbs.fe.sets import pick_nodes
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.fe.skin import skin_faces
from flexmbs.post.scene import modal_scene
from flexmbs.reduce import reduce
from flexmbs.reduce.reading import read_recipe
from flexmbs.toml_file import parse_toml
from flexmbs.view.bodies import unit_loads
from flexmbs.view.doors import door_of
from flexmbs.view.part import PartDoor
from flexmbs.view.patches import patches_of
from flexmbs.view.pictured import node_values
from flexmbs.view.places import place_of
from flexmbs.view.recipe_edit import with_entry
from flexmbs.view.server import ViewServer
from flexmbs.view.work import Work

MESHES = Path(__file__).resolve().parents[2] / "meshes"


@pytest.fixture
def bracket(tmp_path):
    return Path(shutil.copy(MESHES / "bracket.msh", tmp_path))


def test_a_box_has_six_planes_and_a_cylinder_two_and_its_side():
    box, _ = build_shape(
        {"shape": "box", "size": [0.2, 0.1, 0.05], "divisions": [4, 3, 2], "element": "hex20"}
    )
    assert [patch.kind for patch in patches_of(box)] == ["plane"] * 6
    rod, _ = build_shape(
        {"shape": "cylinder", "radius": 0.02, "length": 0.1, "divisions": [2, 16, 4], "element": "hex8"}
    )
    assert sorted(patch.kind for patch in patches_of(rod)) == ["cylinder r 20 mm", "plane", "plane"]


def test_faces_of_a_part_that_meet_at_small_angles_are_told_apart(bracket):
    """The outline has corners of 22 to 50 degrees beside bores of twelve facets, 30 degrees each."""
    door = PartDoor(bracket)
    kinds = sorted(patch.kind for patch in door.patches)
    assert kinds == ["cylinder r 12 mm", *["cylinder r 8 mm"] * 2, *["plane"] * 8]
    faces = sum(len(rows) for patch in door.patches for rows in patch.faces)
    assert faces == sum(len(rows) for rows in door.mesh.face_nodes(skin_faces(door.mesh)))


@pytest.mark.parametrize("turn", [False, True])
def test_places_hold_the_nodes_of_their_patch_and_no_others(bracket, turn):
    mesh = PartDoor(bracket).mesh
    if turn:  # axes that are none of x, y, z
        R = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0]
        object.__setattr__(mesh, "points", mesh.points @ R.T + [0.3, -0.1, 0.2])
    for patch in patches_of(mesh):
        _, place = place_of(mesh, patch.nodes)
        np.testing.assert_array_equal(pick_nodes(mesh, place), patch.nodes)
        if patch.kind.startswith("cylinder"):
            assert "cylinder" in place


def test_the_text_changes_where_the_interface_is_put_and_nowhere_else():
    text = '# my part\nmesh = "a.msh"  # ours\n\n[interfaces]\nfoot = "foot"   # kept\n\n[fix]\nrim = "x"\n'
    made = with_entry(text, "interfaces", "eye", {"tie": "rbe3", "plane": {"x": 0.1}})
    line = 'eye = { tie = "rbe3", plane = { x = 0.1 } }\n'
    assert made == text.replace("# kept\n", "# kept\n" + line)
    assert with_entry('mesh = "a.msh"', "interfaces", "eye", {"set": "b"}) == (
        'mesh = "a.msh"\n\n[interfaces]\neye = { set = "b" }\n'
    )


def test_a_click_on_a_bore_makes_an_interface_on_its_axis(bracket):
    door = PartDoor(bracket)
    number = next(k for k, patch in enumerate(door.patches) if patch.kind == "cylinder r 12 mm")
    done = door.act("interface", {"text": door.text, "patches": [number], "tie": "rbe3", "name": ""})
    data = parse_toml(done["text"]).data["interfaces"]
    named = next(iter(data))
    assert data[named]["tie"] == "rbe3" and data[named]["set"] == named  # the mesh has a name for it
    np.testing.assert_allclose(done["interfaces"][0]["place"], [0.0, 0.0, 0.006], atol=1e-9)
    assert done["interfaces"][0]["patches"] == [number] and "on the axis" in done["said"]
    door.choices.sets = {}
    with pytest.raises(InputError, match="shares 96 node"):
        door.act("interface", {"text": done["text"], "patches": [number], "tie": "rbe2"})
    done = door.act("interface", {"text": door.text, "patches": [number], "tie": "rbe3"})
    assert parse_toml(done["text"]).data["interfaces"]["bore"]["cylinder"]["radius"] == pytest.approx(0.012)
    again = door.act("interface", {"text": done["text"], "patches": [number], "tie": "rbe3"})
    assert "bore_2" in parse_toml(again["text"]).data["interfaces"]


def test_what_is_wrong_with_the_text_is_told_with_its_place(bracket):
    door = PartDoor(bracket)
    told = door.act("check", {"text": door.text + '[interfaces]\nx = { set = "bore_z" }\n'})
    assert "bracket.reduce.toml:" in told["errors"][0] and 'no set "bore_z"' in told["errors"][0]
    with pytest.raises(InputError, match="no face is chosen"):
        door.act("interface", {"text": door.text, "patches": []})
    with pytest.raises(InputError, match='unknown tie "rbe4"'):
        door.act("interface", {"text": door.text, "patches": [0], "tie": "rbe4"})
    assert door.act("interfere", {"text": ""}) is None


def test_the_recipe_is_kept_unless_somebody_else_changed_it(bracket):
    door = PartDoor(bracket)
    door.act("save", {"text": door.text})
    file = bracket.with_name("bracket.reduce.toml")
    assert read_recipe(file).modes == 6
    with pytest.raises(InputError, match="there is a recipe of this part already"):
        PartDoor(bracket)
    again = PartDoor(file)
    door.act("save", {"text": door.text + "# more\n"})
    with pytest.raises(InputError, match="was changed or made by somebody else"):
        again.act("save", {"text": again.text + "# other\n"})
    assert file.read_text() == door.text + "# more\n"
    found = again.act("save", {"text": "# mine\n" + again.text})
    assert file.read_text() == found["text"] == "# mine\n" + door.text + "# more\n"
    assert "what somebody else changed is there" in found["said"] and found["errors"] == []


def test_a_reduction_runs_beside_the_page_and_shows_its_modes(bracket):
    door = PartDoor(bracket)
    done = door.act("interface", {"text": door.text, "patches": [0], "tie": "rbe2", "name": "top"})
    assert door.act("progress", {}) is None and door.page("modes") is None
    door.act("reduce", {"text": done["text"].replace("modes = 6", "modes = 2")})
    end = time.monotonic() + 120.0
    while not door.act("progress", {})["done"] and time.monotonic() < end:
        time.sleep(0.05)
    assert door.act("progress", {})["errors"] == [] and "mode 1" not in door.page("")
    assert door.work.made.nf >= 2 and "Modes" in door.page("modes")
    assert list(bracket.parent.iterdir()) == [bracket]  # nothing is written unasked
    door.close()


def test_faces_are_held_and_materials_taken(bracket):
    door = PartDoor(bracket)
    number = next(k for k, patch in enumerate(door.patches) if patch.kind == "cylinder r 12 mm")
    made = door.act("support", {"text": door.text, "patches": [number], "dofs": "z rx"})
    [(name, dofs)] = parse_toml(made["text"]).data["fix"].items()
    assert dofs == "z rx" and name in door.mesh.set_names and made["errors"] == []
    door.choices.sets = {}
    made = door.act("support", {"text": door.text, "patches": [number]})
    data = parse_toml(made["text"]).data
    assert data["fix"] == {"support": "x y z"} and "cylinder" in data["sets"]["support"]
    made = door.act("material", {"text": door.text + "\n[fix]\n", "material": "titanium"})
    assert made["text"] == door.text.rstrip("\n") + '\nmaterial = "titanium"\n\n[fix]\n'
    with pytest.raises(InputError, match='unknown material "steal"; did you mean "steel"'):
        door.act("material", {"text": door.text, "material": "steal"})


def test_colours_come_when_they_are_asked_for(bracket):
    door = PartDoor(bracket)
    assert [item["key"] for item in door.told()["colours"]] == ["quality"]
    found = door.act("values", {"key": "quality"})
    assert 0.0 < found["low"] < found["high"] <= 1.0
    assert [item["length"] for item in found["values"]] == [len(patch.nodes) for patch in door.patches]
    assert door.act("values", {"key": "thickness"}) is None


def test_nodes_of_a_rectangle_become_an_interface(bracket):
    door = PartDoor(bracket)
    nodes = np.flatnonzero(np.linalg.norm(door.mesh.points[:, :2], axis=1) < 0.0121)
    assert 20 < len(nodes)
    made = door.act("interface", {"text": door.text, "nodes": nodes.tolist(), "tie": "rbe3"})
    assert made["errors"] == [] and f": {len(nodes)} nodes" in made["said"]
    with pytest.raises(InputError, match="there is no such face"):
        door.act("interface", {"text": door.text, "nodes": [door.mesh.n_nodes]})


def test_colours_are_the_worst_cell_at_every_node():
    """A box of cubes has quality 1; one cube that is sheared by 45 degrees has sin 45 at its corners."""
    box, _ = build_shape({"shape": "box", "size": [3, 1, 1], "divisions": [3, 1, 1], "element": "hex8"})
    assert node_values(box, "thickness") is None
    np.testing.assert_allclose(node_values(box, "quality"), 1.0)
    end = box.points[:, 0] == box.points[:, 0].max()
    object.__setattr__(box, "points", box.points + np.outer(end, [0.0, 1.0, 0.0]))
    x, found = box.points[:, 0], node_values(box, "quality")
    np.testing.assert_allclose(found[x > 0.4], np.sqrt(0.5))
    np.testing.assert_allclose(found[x < -0.6], 1.0)


def test_an_interface_gives_way_as_a_cantilever_does(tmp_path):
    """Force and moment at the end of a held bar, against beams: L^3/3EI, L/EA, L/EI."""
    length, side = 0.2, 0.01
    recipe = {
        "mesh": {"shape": "box", "size": [length, side, side], "divisions": [20, 2, 2], "element": "hex20"},
        "material": "steel", "modes": 2, "sets": {"a": {"plane": {"x": -0.1}}, "b": {"plane": {"x": 0.1}}},
        "fix": {"a": "x y z"}, "interfaces": {"b": {"tie": "rbe2", "set": "b"}},
    }  # fmt: skip
    modal = reduce(recipe)
    found = {(x["load"]["name"], x["load"]["way"]): x["load"]["compliance"]
             for x in unit_loads(modal, modal_scene(modal, "bar"))}  # fmt: skip
    EI, EA = 210e9 * side**4 / 12, 210e9 * side**2
    assert found["b", "force z"] == pytest.approx(length**3 / (3 * EI), rel=0.01)
    assert found["b", "force x"] == pytest.approx(length / EA, rel=0.01)
    assert found["b", "moment y"] == pytest.approx(length / EI, rel=0.01)
    assert len(found) == 6


STEP = """
import gmsh
gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
occ = gmsh.model.occ
box, hole = occ.addBox(0, 0, 0, 100, 40, 20), occ.addCylinder(30, 20, -10, 0, 0, 50, 10)
plate, _ = occ.cut([(3, box)], [(3, hole)])
occ.fuse(plate, [(3, occ.addCone(80, 20, 20, 0, 0, 20, 15, 8))])
occ.synchronize()
gmsh.write("part.step")
"""


@pytest.mark.slow
@pytest.mark.needs("gmsh")
def test_a_step_file_opens_with_the_faces_of_its_geometry(tmp_path):
    subprocess.run([sys.executable, "-c", STEP], cwd=tmp_path, check=True, capture_output=True)
    door = door_of(tmp_path / "part.step")
    kinds = sorted(patch.kind for patch in door.patches)
    assert kinds == ["cone", "cylinder r 10 mm", *["plane"] * 7]
    number = next(k for k, patch in enumerate(door.patches) if patch.kind.startswith("cylinder"))
    made = door.act("interface", {"text": door.text, "patches": [number], "tie": "rbe2", "name": "eye"})
    np.testing.assert_allclose(made["interfaces"][0]["place"], [0.03, 0.02, 0.01], atol=1e-9)
    assert [item.name for item in tmp_path.iterdir()] == ["part.step"]
    door.act("save", {"text": made["text"]})
    door.close()
    assert sorted(item.name for item in tmp_path.iterdir()) == ["part.msh", "part.reduce.toml", "part.step"]
    again = door_of(tmp_path / "part.reduce.toml")
    assert again.check(again.text)["interfaces"][0]["name"] == "eye"


def test_work_ends_with_the_server_and_the_interpreter_waits_for_it():
    begun = threading.Event()

    def make(progress):
        begun.set()
        while True:
            progress(0.5, "half")
            time.sleep(0.005)

    work = Work(make)
    assert begun.wait(10.0) and not work._thread.daemon
    work.close()
    assert work.done and work.told()["text"] == "stopped" and not work._thread.is_alive()


def test_files_that_are_none_are_told(tmp_path):
    (tmp_path / "a.step").write_text("x")
    (tmp_path / "a.msh").write_text("x")
    with pytest.raises(UsageError, match="flexmbs view a.msh"):
        door_of(tmp_path / "a.step")
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UsageError, match="no part, recipe, case or result"):
        door_of(tmp_path / "a.txt")


class Still:
    def page(self, name):
        return "hello" if name == "" else None

    def act(self, word, data):
        if word == "wrong":
            raise InputError()
        return {"word": word, **data}

    def close(self):
        self.closed = True


def answer(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server.server_address[1], timeout=10)
    connection.request(method, path, body, headers)
    found = connection.getresponse()
    return found.status, found.read(), found.headers


def test_only_our_own_page_is_answered():
    with ViewServer(Still()) as server:
        base, host = f"/{server.token}/", server.hosts[0]
        status, text, headers = answer(server, "GET", base)
        assert (status, text, headers["X-Frame-Options"]) == (200, b"hello", "SAMEORIGIN")
        assert answer(server, "GET", "/")[0] == 404
        assert answer(server, "GET", f"/{server.token[:-1]}x/")[0] == 404
        assert answer(server, "GET", base, Host="evil.example")[0] == 403
        assert answer(server, "GET", base, Host=host, Origin="http://evil.example")[0] == 403
        assert answer(server, "POST", base + "go", b'{"a": 1}', Origin=f"http://{host}")[0] == 200
        assert json.loads(answer(server, "POST", base + "go", b'{"a": 1}')[1]) == {"word": "go", "a": 1}
        assert answer(server, "POST", base + "go", b"[1]")[0] == 400
        assert answer(server, "POST", base + "go", b"[" * 100_000)[0] == 400
        assert answer(server, "POST", base + "go", **{"Content-Length": "9000000000"})[0] == 413
        assert json.loads(answer(server, "POST", base + "wrong", b"{}")[1]) == {"errors": []}
    assert server.door.closed


@pytest.mark.slow
def test_the_command_says_its_address_and_ends_with_the_terminal(bracket):
    command = [sys.executable, "-m", "flexmbs.cli.main", "view", str(bracket), "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_face_is_clicked_named_and_reduced_in_the_browser(bracket):
    from tests.post.chromium import Page
    from tests.post.test_browser import PLACE_OF_POINT

    with ViewServer(PartDoor(bracket)) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait("window.flexmbs && window.flexmbs.ready")
        page.run("flexmbs.viewer.camera.preset('top'), flexmbs.viewer.draw()")
        page.click(*page.run(PLACE_OF_POINT % "[0.04, 0.04, 0.012]"))
        page.wait("document.getElementById('chosen').textContent.includes('1 face: plane')")
        page.run("document.getElementById('interface-name').value = 'top'")
        page.run("document.getElementById('make').click()")
        page.wait("document.getElementById('source').value.includes('top = {')")
        page.wait("document.getElementById('said').textContent.startsWith('top: ')")
        page.run(
            "(() => { const c = document.getElementById('colours'); c.value = 'quality';"
            " c.dispatchEvent(new Event('change')); })()"
        )
        page.wait("document.getElementById('legend-title').textContent === 'scaled Jacobian'")
        page.run(
            "(() => { const t = document.getElementById('source'); t.value += 'x = 1';"
            " t.dispatchEvent(new Event('input')); })()"
        )
        page.wait("document.querySelector('#errors li')")
        page.run(
            "document.getElementById('source').value = document.getElementById('source').value.slice(0, -5)"
        )
        page.run("document.getElementById('reduce').click()")
        page.wait("document.querySelector('#said a')", 120)
        page.run("location.href = 'modes'")
        page.wait("window.flexmbs && window.flexmbs.ready && flexmbs.viewer.mode")
        assert page.console == []
        assert all(url.startswith((server.url, "data:")) for url in page.requests)
