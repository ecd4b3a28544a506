"""A case beside its picture: what is typed is checked and drawn, and the file changes as it is typed."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.errors import InputError
from flexmbs.spatial import quat_to_matrix
from flexmbs.toml_file import parse_toml
from flexmbs.view.case import CaseDoor
from flexmbs.view.case_edit import with_table, with_value
from flexmbs.view.complete import offers
from flexmbs.view.doors import door_of
from flexmbs.view.kept import Kept
from flexmbs.view.server import ViewServer

CASES = Path(__file__).resolve().parents[2] / "cases"


@pytest.fixture
def copied(tmp_path):
    return lambda name: Path(shutil.copy(CASES / f"{name}.toml", tmp_path))


def offered(text, known=None):
    at = text.index("|")
    found = offers(text.replace("|", ""), at, known or {})
    return {item["text"]: item["insert"] for item in found["offers"]}


HEAD = '[ground.frames]\nO = {}\n[bodies.a]\ntype = "rigid"\nframes = { tip = {} }\n[joints.j]\n'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[an|", {"analysis": "analysis"}),
        ('[joints.j]\ntype = "rev|', {"revolute": 'revolute"'}),
        ("[joints.j]\ntype = rev|\n", {"revolute": '"revolute"'}),
        ('[joints.j]\ntype = "rev|"\n', {"revolute": "revolute"}),
        ('[joints.j]\ntype = "helical"\nle|', {"lead": "lead = "}),
        ('[joints.j]\ntype = "revolute"\nle|', {}),
        ("[joints.j]\ninitial = { position = 1, h|", {"hold": "hold = "}),
        ("[joints.j]\ncut = t|", {"true": "true"}),
        ("# [joints.j]\n# cut = t|", {}),
        (HEAD + 'type = "fixed"\nfrom = "|"\n', {x: x for x in ("ground", "a", "ground.O", "a.tip")}),
        (HEAD + '[couplings.c]\ntype = "linear"\nterms = { |', {"j": "j = "}),
        (HEAD + '[forces.f]\ntype = "spring_damper"\nto = "a.|', {"a.tip": 'a.tip"'}),
    ],
)  # fmt: skip
def test_what_may_stand_there_is_offered(text, wanted):
    found = offered(text)
    assert wanted.items() <= found.items() and (wanted or not found)


def test_keys_that_are_there_are_not_offered_again():
    assert set(offered("[bodies.a]\ninertia = { ixx = 1, i|")) == {"ixy", "ixz", "iyy", "iyz", "izz"}


def test_files_keep_every_character_that_was_not_typed(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1 \r\nb = 2\nc = 3\r\nd = 4")
    kept = Kept(path)
    assert kept.text == "a = 1 \nb = 2\nc = 3\nd = 4"
    kept.save("a = 1 \nb = 2\nnew = 5\nc = 3\nd = 4")
    assert path.read_bytes() == b"\xef\xbb\xbfa = 1 \r\nb = 2\nnew = 5\r\nc = 3\r\nd = 4"
    other = Kept(path)
    kept.save("a = 2")
    with pytest.raises(InputError, match="changed or made by somebody else"):
        other.save("a = 3")
    assert path.read_bytes() == b"\xef\xbb\xbfa = 2"


LINES = "a = 1\nb = 2\nc = 3\nd = 4\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "wanted"),
    [
        ("a = 5\nb = 2\nc = 3\nd = 4\n", "a = 1\nb = 2\nc = 6\nd = 4\n", "a = 5\nb = 2\nc = 6\nd = 4\n"),
        ("b = 2\nc = 3\nd = 4\n", LINES + "e = 5\n", "b = 2\nc = 3\nd = 4\ne = 5\n"),
        (LINES + "e = 5\n", LINES + "e = 5\n", LINES + "e = 5\n"),  # both the same
        (LINES + "e = 5\n", LINES + "f = 5\n", None),
        ("a = 5\nb = 2\nc = 3\nd = 4\n", "a = 6\nb = 2\nc = 3\nd = 4\n", None),
        ("a = 5\nb = 2\nc = 3\nd = 4\n", "a = 1\nb = 6\nc = 3\nd = 4\n", None),  # side by side
        ("x = 1\n" + LINES, LINES + "x = 1\n", None),  # twice the same key
    ],
)
def test_changes_of_two_in_other_lines_are_joined(tmp_path, ours, theirs, wanted):
    path = tmp_path / "a.toml"
    path.write_text(LINES)
    kept = Kept(path)
    path.write_text(theirs)
    if wanted is None:
        with pytest.raises(InputError, match="changed or made by somebody else"):
            kept.save(ours)
        assert path.read_text() == theirs
    else:
        assert kept.save(ours) == wanted == path.read_text()


def test_a_text_is_checked_as_if_it_stood_in_its_file(copied):
    path = copied("rssr")
    text = path.read_text().replace("mass = 0.2", "mas = 0.2")
    with pytest.raises(InputError, match=r'rssr.toml:21:1 .*did you mean "mass"'):
        Case.from_text(text, path)
    door = CaseDoor(path)
    told = door.act("check", {"text": text})
    assert [item["line"] for item in told["errors"]] == [19, 21] and "scene" not in told
    assert str(path.parent) not in told["errors"][0]["text"]
    assert [["joints", "ball_a"], text[: text.index("[joints.ball_a]")].count("\n") + 1, "rssr.toml"] in told[
        "places"
    ]
    assert door.act("check", {"text": "a = ["})["errors"][0]["line"] == 1


def test_a_file_that_is_wrong_can_be_mended(tmp_path):
    (tmp_path / "a.toml").write_text("title = 'x'\n[bodies")
    door = door_of(tmp_path / "a.toml")
    assert isinstance(door, CaseDoor) and "nothing is drawn" in door.page("")


def test_a_hidden_freedom_is_an_arrow_along_the_line_of_its_balls(copied):
    door = CaseDoor(copied("rssr"))
    told = door.act("check", {"text": door.sheets.text})
    assert told["errors"] == [] and told["cuts"][0]["joint"] == "ball_b"
    assert {"parent": "crank", "body": "coupler", "joint": "ball_a"} in told["tree"]
    assert (
        told["warnings"][0]["line"]
        == dict((tuple(p), n) for p, n, _ in told["places"])[("bodies", "coupler")]
    )
    _, symbols = door.picture()
    found = [item for item in symbols if item["kind"] == "hidden"]
    assert len(found) == 1 and found[0]["moment"] and found[0]["path"] == ["bodies", "coupler"]
    # the coupler's tip lies on its x axis, so that is its line between the balls
    np.testing.assert_allclose(np.abs(found[0]["direction"]), [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(found[0]["ends"][0]["place"], [0.2, 0, 0], atol=1e-9)


def test_redundant_rows_are_arrows_at_their_joint(copied):
    """A planar loop in x-y: out of the plane and about both axes in it nothing new is said."""
    door = CaseDoor(copied("parallelogram"))
    door.act("check", {"text": door.sheets.text})
    _, symbols = door.picture()
    found = [item for item in symbols if item["kind"] == "redundant"]
    assert [item["path"] for item in found] == [["joints", "d"]] * 3
    assert sorted((item["moment"], int(np.argmax(np.abs(item["direction"])))) for item in found) == [
        (False, 2), (True, 0), (True, 1),
    ]  # fmt: skip
    frames = {item["name"] for item in symbols if item["kind"] == "frame"}
    assert frames == {"ground", "ground.right", "left_crank.tip", "right_crank.tip", "coupler.right"}


def test_springs_and_sensors_stand_where_they_act(copied):
    door = CaseDoor(copied("double-wishbone"))
    door.act("check", {"text": door.sheets.text})
    _, symbols = door.picture()
    strut = next(item for item in symbols if item["kind"] == "spring")
    assert strut["path"] == ["forces", "strut"] and [end["body"] for end in strut["ends"]] == [
        "ground",
        "arm1",
    ]
    sensor = next(item for item in symbols if item["kind"] == "sensor")
    np.testing.assert_allclose(sensor["ends"][0]["place"], [0.12, 0, 0])


TEXT = """# a case
[joints.a]            # first
type = "revolute"
initial = { position = "=x" , velocity = 1 }   # kept
[joints.b]
initial.hold = true
list = [
  [1, 2],
]
[joints.c.initial]
velocity = 2

[bodies]
d = { mass = 1 }
e = {}
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (("joints", "a", "initial", "position"), 0.5, 'position = "=x" ,', "position = 0.5 ,"),
        (("joints", "a", "initial", "hold"), True, "{ position =", "{ hold = true, position ="),
        (("joints", "b", "initial", "position"), [1.0, 0.0], "  [1, 2],\n]\n", None),
        (("joints", "c", "initial", "position"), 2.0, "velocity = 2\n", "velocity = 2\nposition = 2.0\n"),
        (("joints", "a", "cut"), True, "}   # kept", "}\ncut = true   # kept"),
        (("bodies", "d", "initial", "pos"), [1.0], "{ mass = 1 }", "{ initial.pos = [1.0], mass = 1 }"),
        (("bodies", "e", "mass"), 1, "e = {}", "e = { mass = 1}"),
        (("analysis", "t_end"), 1.0, "e = {}\n", "e = {}\n\n[analysis]\nt_end = 1.0\n"),
    ],
)
def test_a_value_changes_where_it_stands(path, value, old, new):
    new = "  [1, 2],\n]\ninitial.position = [1.0, 0.0]\n" if new is None else new
    made = with_value(TEXT, path, value)
    assert made == TEXT.replace(old, new, 1)
    assert with_value(made, path, value) == made


@pytest.mark.parametrize(
    ("there", "value", "new"),
    [
        ('"60 deg"', np.pi / 4, '"45 deg"'),
        ('["10 mm", 0, "=x"]', [0.0125, 0.5, 2.0], '["12.5 mm", 0.5, 2.0]'),
        ('"1e-3 kg*m^2"', 0.002, '"0.002 kg*m^2"'),
        ('"3"', 0.5, "0.5"),
        ('"60 deg"', [0.5, 0.25], "[0.5, 0.25]"),
    ],
)
def test_a_number_stays_in_its_unit(there, value, new):
    text = "[joints.a.initial]\nposition = {}   # kept\n"
    assert with_value(text.format(there), ("joints", "a", "initial", "position"), value) == text.format(new)


def test_a_table_goes_behind_those_of_its_kind():
    made = with_table(TEXT, ("joints", "n"), {"type": "fixed", "pos": [0.1, 2]})
    block = '[joints.n]\ntype = "fixed"\npos = [0.1, 2]\n'
    assert made == TEXT.replace("velocity = 2\n\n", f"velocity = 2\n\n{block}\n")
    assert with_table("", ("forces", "f"), {"a": 1}) == "[forces.f]\na = 1\n"
    with pytest.raises(InputError, match=r"joints.n .*write it by hand"):
        with_table("joints = {}", ("joints", "n"), {"a": 1})


def test_a_point_follows_along_the_freedom_and_the_loop_stays_closed(copied):
    """Against the closed form: the lower arm turns about the origin; the ring of the others is closed."""
    door = CaseDoor(copied("double-wishbone"))
    text = door.sheets.text
    assert door.act("check", {"text": text})["errors"] == []
    turn = np.pi / 2 - 1.3707963267948966 + 0.1
    target = 0.4 * np.array([np.cos(turn), np.sin(turn), 0.0])
    hand = {"body": "arm1", "place": [0.4, 0, 0], "target": target.tolist(), "along": [0, 0, 1]}
    for _ in range(5):
        found = door.act("drag", hand)
    assert found["left"] < 1e-6
    poses = found["poses"]

    def tip(name, x):
        return poses[name]["position"] + quat_to_matrix(poses[name]["quaternion"]) @ [x, 0, 0]

    np.testing.assert_allclose(tip("arm1", 0.4), target, atol=1e-6)
    np.testing.assert_allclose(tip("carrier", 0.28), tip("arm3", 0.32), atol=1e-9)
    kept = door.act("pose", {"text": text})
    start = door.act("check", {"text": kept["text"]})
    assert start["errors"] == []
    now = door.poses(door.at())["poses"]
    for name, pose in poses.items():
        np.testing.assert_allclose(now[name]["position"], pose["position"], atol=1e-7)
    assert [line for line in kept["text"].split("\n") if line not in text] == [
        line for line in kept["text"].split("\n") if line.startswith("initial = ")
    ]
    with pytest.raises(InputError, match="nothing was dragged"):
        door.act("pose", {"text": text})
    # out of reach it goes as far as it can: the arm points there
    far = hand | {"target": [10.0, 10.0, 5.0]}
    before = door.act("drag", far)["left"]
    for _ in range(20):
        after = door.act("drag", far)["left"]
    assert after < before and door.act("drag", hand | {"body": "x"}) is None


def test_what_is_driven_cannot_be_dragged(copied):
    path = copied("double-wishbone")
    driven = path.read_text() + '\n[drives.m]\njoint = "lower"\nposition = "=pi/2 - phi1 + t"\n'
    door = CaseDoor(path)
    assert door.act("check", {"text": driven})["errors"] == []
    hand = {"body": "arm1", "place": [0.4, 0, 0], "target": [0, 1, 0], "along": [0, 0, 1]}
    start = door.poses(door.at())["poses"]["arm1"]["quaternion"]
    np.testing.assert_allclose(door.act("drag", hand)["poses"]["arm1"]["quaternion"], start, atol=1e-12)
    with pytest.raises(InputError, match="nothing has moved"):
        door.act("pose", {"text": driven})


@pytest.mark.parametrize(
    ("kind", "form", "ends", "wanted"),
    [
        ("forces", "spring_damper", ("ground", "arm3"), {"length": 0.3, "from": "ground", "to": "arm3"}),
        ("joints", "distance", ("ground.O3", "ground"), {"length": 0.3}),
        ("forces", "torque", ("arm1.tip", ""), {"on": "arm1.tip", "torque": [0.0, 0.0, 0.0]}),
        ("bodies", "rigid", ("ground", "ground.O3"), {"com": [0.0, 0.15, 0.0], "mass": 1.0}),
    ],
)
def test_a_part_is_put_between_two_frames(copied, kind, form, ends, wanted):
    door = CaseDoor(copied("double-wishbone"))
    text = door.sheets.text
    door.act("check", {"text": text})
    asked = {"text": text, "kind": kind, "form": form, "from": ends[0], "to": ends[1]}
    made = door.act("insert", asked)
    name = made["path"][1]
    table = parse_toml(made["text"]).data[kind][name]
    assert table["type"] == form
    for key, value in wanted.items():
        assert table[key] == (value if isinstance(value, str) else pytest.approx(value))
    if kind == "bodies":  # a bar of 1 kg about its middle
        assert table["inertia"]["ixx"] == pytest.approx(0.3**2 / 12, rel=2e-4)
    assert set(text.split("\n")) <= set(made["text"].split("\n"))
    again = door.act("insert", asked | {"text": made["text"]})
    assert again["path"] == [kind, f"{name}_2"]
    assert kind == "joints" or door.act("check", {"text": made["text"]})["errors"] == []


def test_an_insertion_says_what_it_lacks(copied):
    door = CaseDoor(copied("rssr"))
    with pytest.raises(InputError, match="nothing is assembled yet"):
        door.act("insert", {"text": "", "kind": "joints", "form": "fixed"})
    door.act("check", {"text": door.sheets.text})
    with pytest.raises(InputError, match="two frames are needed"):
        door.act("insert", {"text": "", "kind": "joints", "form": "fixed", "from": "ground"})
    with pytest.raises(InputError, match='cannot insert "fixd"; did you mean "fixed"'):
        door.act("insert", {"text": "", "kind": "joints", "form": "fixd"})


def cursor(page, expression):
    """Put the cursor of the text field to a character."""
    page.run(
        f"(() => {{ const f = document.getElementById('source'), text = f.value, at = {expression};"
        " f.focus(); f.setSelectionRange(at, at); })()"
    )


def press(page, name):
    page.run(f"document.getElementById('{name}').click()")


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_case_is_typed_seen_and_kept_in_the_browser(copied):
    from tests.post.chromium import Page
    from tests.post.test_browser import PLACE_OF_POINT

    path = copied("double-wishbone")
    before = path.read_text()
    with ViewServer(door_of(path)) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait("document.querySelector('.label.joint:not([hidden])')")
        # a joint leads to its line, a line to its joint
        page.run("[...document.querySelectorAll('.label')].find((x) => x.textContent === 'j12').click()")
        rest = (
            "document.getElementById('source').value.slice(document.getElementById('source').selectionStart)"
        )
        assert page.run(rest).startswith("[joints.j12]")
        cursor(page, "text.indexOf('[joints.upper]') + 16")
        page.wait("flexmbs.viewer.show.named === 'joints.upper'")
        # names do not cover each other
        boxes = page.run(
            "[...document.querySelectorAll('.label:not([hidden])')].map((x) => x.getBoundingClientRect())"
            ".map((r) => [r.left, r.top, r.right, r.bottom])"
        )
        assert len(boxes) > 8
        for k, a in enumerate(boxes):
            assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:k])
        # what is typed moves the picture, is kept, and taken back
        place = "flexmbs.viewer.scene.bodies[1].position[1]"
        assert page.run(place) == pytest.approx(0.3)
        cursor(page, "text.indexOf('l0 = 0.3') + 8")
        page.call("Input.insertText", text="5")
        page.wait(f"Math.abs({place} - 0.35) < 1e-6")
        press(page, "save")
        page.wait("document.getElementById('said').textContent.includes('is kept')")
        assert path.read_text() == before.replace("l0 = 0.3", "l0 = 0.35")
        press(page, "undo")
        page.wait(f"Math.abs({place} - 0.3) < 1e-6")
        # a body is taken and dragged; its pose is kept in the text
        press(page, "drag")
        x, y = page.run(PLACE_OF_POINT % "[0.196, 0.0397, 0]")
        for kind, dy, down in (("mousePressed", 0, 1), ("mouseMoved", -20, 1), ("mouseMoved", -40, 1)):
            page.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y + dy,
                button="left",
                buttons=down,
                clickCount=1,
            )
        page.wait("!document.getElementById('keep-pose').hidden")
        page.call(
            "Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y - 40, button="left", clickCount=1
        )
        press(page, "keep-pose")
        page.wait("document.getElementById('said').textContent.includes('joints.lower.initial.position')")
        assert "=pi/2 - phi1" not in page.run("document.getElementById('source').value")
        press(page, "drag")
        # two frames are clicked, a spring is put between them
        page.run("document.getElementById('insert').open = true")
        for name in ("ground.top", "carrier.top"):
            page.run(
                f"[...document.querySelectorAll('.label')].find((x) => x.textContent === '{name}').click()"
            )
        page.run("document.getElementById('form').value = 'forces spring_damper'")
        press(page, "put")
        page.wait("flexmbs.viewer.scene.symbols.filter((x) => x.kind === 'spring').length === 2")
        # offers, findings at their line
        cursor(page, "text.length")
        page.call("Input.insertText", text="\n[drives.m]\njoint = ")
        page.call("Input.insertText", text='"')
        page.wait("document.querySelectorAll('#offers:not([hidden]) li').length === 4")
        page.run("document.querySelector('#offers li').dispatchEvent(new MouseEvent('mousedown'))")
        page.wait("document.getElementById('source').value.endsWith('joint = \"lower\"')")
        page.wait("document.querySelector('#errors .error button') && document.querySelector('.mark.error')")
        # somebody else was faster, in the same line, then in another one
        kept = path.read_text()
        path.write_text(kept + "# theirs\n")
        press(page, "save")
        page.wait("document.getElementById('errors').textContent.includes('somebody else')")
        assert path.read_text() == kept + "# theirs\n"
        path.write_text("# theirs\n" + kept)
        press(page, "save")
        page.wait("document.getElementById('source').value.startsWith('# theirs')")
        assert page.console == [] and path.read_text() == page.run("document.getElementById('source').value")


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_narrow_page_shows_text_and_picture_and_obeys_the_keyboard(copied):
    from tests.post.chromium import Page

    with ViewServer(door_of(copied("double-wishbone"))) as server, Page(size=(390, 780)) as page:
        page.call("Page.navigate", url=server.url)
        page.wait("document.querySelector('.label.joint:not([hidden])')")
        assert page.run("document.documentElement.scrollWidth") <= 390
        for name in ("work", "stage"):
            box = page.run(f"(({{ width, height }}) => [width, height])({name}.getBoundingClientRect())")
            assert box[0] >= 380 and box[1] >= 200, name
        page.run("drag.click(); flexmbs.viewer.select(0); flexmbs.viewer.renderer.canvas.focus()")
        turn = "flexmbs.viewer.scene.bodies[0].quaternion[3]"
        before = page.run(turn)
        page.press_key("ArrowRight")
        page.wait(f"{turn} > {before} + 1e-3")
        assert page.console == []


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_frames_at_one_place_have_names_to_click_while_a_part_is_inserted(copied):
    from tests.post.chromium import Page

    with ViewServer(door_of(copied("double-wishbone"))) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait("document.querySelector('.label.joint:not([hidden])')")
        shown = "[...document.querySelectorAll('.label:not([hidden])')].map((x) => x.textContent)"
        assert not {"carrier.top", "arm3.tip"} <= set(page.run(shown))
        page.run("document.getElementById('insert').open = true")
        page.wait(f"{shown}.includes('carrier.top') && {shown}.includes('arm3.tip')", 10)
