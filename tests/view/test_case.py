"""A case beside its picture: what is typed is checked and drawn, and the file changes as it is typed."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.errors import InputError
from flexmbs.view.case import CaseDoor
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


def test_a_text_is_checked_as_if_it_stood_in_its_file(copied):
    path = copied("rssr")
    text = path.read_text().replace("mass = 0.2", "mas = 0.2")
    with pytest.raises(InputError, match=r'rssr.toml:21:1 .*did you mean "mass"'):
        Case.from_text(text, path)
    door = CaseDoor(path)
    told = door.act("check", {"text": text})
    assert [item["line"] for item in told["errors"]] == [19, 21] and "scene" not in told
    assert str(path.parent) not in told["errors"][0]["text"]
    assert [["joints", "ball_a"], text[: text.index("[joints.ball_a]")].count("\n") + 1] in told["places"]
    assert door.act("check", {"text": "a = ["})["errors"][0]["line"] == 1


def test_a_file_that_is_wrong_can_be_mended(tmp_path):
    (tmp_path / "a.toml").write_text("title = 'x'\n[bodies")
    door = door_of(tmp_path / "a.toml")
    assert isinstance(door, CaseDoor) and "nothing is drawn" in door.page("")


def test_a_hidden_freedom_is_an_arrow_along_the_line_of_its_balls(copied):
    door = CaseDoor(copied("rssr"))
    told = door.act("check", {"text": door.kept.text})
    assert told["errors"] == [] and told["cuts"][0]["joint"] == "ball_b"
    assert {"parent": "crank", "body": "coupler", "joint": "ball_a"} in told["tree"]
    assert (
        told["warnings"][0]["line"] == dict((tuple(p), n) for p, n in told["places"])[("bodies", "coupler")]
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
    door.act("check", {"text": door.kept.text})
    _, symbols = door.picture()
    found = [item for item in symbols if item["kind"] == "redundant"]
    assert [item["path"] for item in found] == [["joints", "d"]] * 3
    assert sorted((item["moment"], int(np.argmax(np.abs(item["direction"])))) for item in found) == [
        (False, 2), (True, 0), (True, 1),
    ]  # fmt: skip
    frames = {item["name"] for item in symbols if item["kind"] == "frame"}
    assert frames == {"ground.right", "left_crank.tip", "right_crank.tip", "coupler.right"}


def test_springs_and_sensors_stand_where_they_act(copied):
    door = CaseDoor(copied("double-wishbone"))
    door.act("check", {"text": door.kept.text})
    _, symbols = door.picture()
    strut = next(item for item in symbols if item["kind"] == "spring")
    assert strut["path"] == ["forces", "strut"] and [end["body"] for end in strut["ends"]] == [-1, 0]
    sensor = next(item for item in symbols if item["kind"] == "sensor")
    np.testing.assert_allclose(sensor["ends"][0]["place"], [0.12, 0, 0])


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
        place = "flexmbs.viewer.scene.bodies[2].position[1]"
        assert page.run(place) == pytest.approx(0.3)
        cursor(page, "text.indexOf('l0 = 0.3') + 8")
        page.call("Input.insertText", text="5")
        page.wait(f"Math.abs({place} - 0.35) < 1e-6")
        press(page, "save")
        page.wait("document.getElementById('said').textContent.includes('is kept')")
        assert path.read_text() == before.replace("l0 = 0.3", "l0 = 0.35")
        press(page, "undo")
        page.wait(f"Math.abs({place} - 0.3) < 1e-6")
        # offers, findings at their line
        cursor(page, "text.length")
        page.call("Input.insertText", text="\n[drives.m]\njoint = ")
        page.call("Input.insertText", text='"')
        page.wait("document.querySelectorAll('#offers:not([hidden]) li').length === 4")
        page.run("document.querySelector('#offers li').dispatchEvent(new MouseEvent('mousedown'))")
        page.wait("document.getElementById('source').value.endsWith('joint = \"lower\"')")
        page.wait("document.querySelector('#errors .error button') && document.querySelector('.mark.error')")
        # somebody else was faster
        path.write_text(before)
        press(page, "save")
        page.wait("document.getElementById('errors').textContent.includes('somebody else')")
        assert page.console == [] and path.read_text() == before
