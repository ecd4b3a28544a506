"""A case and the files that it includes: a text changes where a part stands, and stays in its own file."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from flexmbs.view.case import CaseDoor
from flexmbs.view.doors import door_of
from flexmbs.view.server import ViewServer

MAIN = """# a pendulum of two files
include = ["parts/arm.toml"]
gravity = [0, -9.81, 0]
[analysis]
t_end = 1.0
"""
ARM = """# the arm        (and its joint)
[parameters]
L = "400 mm"     # long
[bodies.arm]
type = "rigid"
frames = { tip = { pos = ["=L", 0, 0] } }
mass = 2.0
com = ["=L/2", 0, 0]
inertia = { ixx = 1e-3, iyy = 0.03, izz = 0.03 }
[joints.hinge]
type = "revolute"
from = "ground"
to = "arm"
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "a.toml").write_text(MAIN)
    (tmp_path / "parts" / "arm.toml").write_bytes(ARM.replace("\n", "\r\n").encode())
    return tmp_path / "a.toml"


def other(text):
    return {"parts/arm.toml": text}


def test_included_files_come_with_the_page_and_findings_lead_into_them(path):
    door = CaseDoor(path)
    told = door.act("check", {"text": MAIN})
    assert told["errors"] == [] and told["others"] == other(ARM)
    assert [["joints", "hinge"], 10, "parts/arm.toml"] in told["places"]
    assert door.act("check", {"text": MAIN, "others": other(ARM)})["others"] == {}
    wrong = door.act("check", {"text": MAIN, "others": other(ARM.replace("revolute", "revolut"))})
    assert [(item["file"], item["line"]) for item in wrong["errors"]] == [("parts/arm.toml", 11)]
    assert wrong["errors"][0]["text"].startswith("parts/arm.toml:11:")
    alone = door.act("check", {"text": MAIN.replace("include", "# include"), "others": {}})
    assert alone["places"] == []


def test_a_value_changes_in_the_file_where_it_stands_and_nowhere_else(path):
    door = CaseDoor(path)
    texts = {"text": MAIN, "others": other(ARM)}
    assert door.act("check", texts)["parameters"] == [{"name": "L", "number": 400.0, "unit": "mm"}]
    made = door.act("parameter", texts | {"name": "L", "number": 500.0})
    assert made == {"text": MAIN, "others": other(ARM.replace("400 mm", "500 mm"))}
    target = [0.4 * np.cos(0.3), 0.4 * np.sin(0.3), 0]
    door.act("drag", {"body": "arm", "place": [0.4, 0, 0], "target": target, "along": [0, 0, 1]})
    posed = door.act("pose", texts)
    assert posed["text"] == MAIN
    [line] = set(posed["others"]["parts/arm.toml"].split("\n")) - set(ARM.split("\n"))
    assert line.startswith("initial") and posed["others"]["parts/arm.toml"].replace(line + "\n", "") == ARM
    assert door.act("check", {"text": MAIN, "others": posed["others"]})["errors"] == []
    pose = door.poses(door.at())["poses"]["arm"]["quaternion"]
    np.testing.assert_allclose(pose, [np.cos(0.15), 0, 0, np.sin(0.15)], atol=1e-6)


def test_names_of_included_parts_are_taken(path):
    door = CaseDoor(path)
    door.act("check", {"text": MAIN})
    asked = {"text": MAIN, "kind": "joints", "form": "fixed", "name": "hinge", "from": "ground", "to": "arm"}
    assert door.act("insert", asked)["path"] == ["joints", "hinge_2"]


def test_all_files_are_kept_or_none(path):
    door, arm = CaseDoor(path), path.parent / "parts" / "arm.toml"
    door.act("check", {"text": MAIN})
    longer = ARM.replace("400 mm", "410 mm")
    said = door.act("save", {"text": MAIN + "# more\n", "others": other(longer)})["said"]
    assert "a.toml is kept with parts/arm.toml" in said
    assert path.read_text() == MAIN + "# more\n" and arm.read_bytes() == longer.replace("\n", "\r\n").encode()
    arm.write_text(ARM)
    with pytest.raises(InputError, match="changed or made by somebody else"):
        door.act("save", {"text": MAIN, "others": other(ARM.replace("400 mm", "420 mm"))})
    assert path.read_text() == MAIN + "# more\n" and arm.read_text() == ARM


def test_changes_of_somebody_else_in_other_lines_are_joined_in_the_browsers_texts(path):
    door, arm = CaseDoor(path), path.parent / "parts" / "arm.toml"
    door.act("check", {"text": MAIN})
    path.write_text(MAIN.replace("t_end = 1.0", "t_end = 2.0   # theirs"))
    arm.write_bytes(ARM.replace("mass = 2.0", "mass = 3.0").replace("\n", "\r\n").encode())
    mine = ARM.replace("400 mm", "410 mm")
    found = door.act("save", {"text": MAIN, "others": other(mine)})
    both = mine.replace("mass = 2.0", "mass = 3.0")
    assert found["text"] == path.read_text() == MAIN.replace("t_end = 1.0", "t_end = 2.0   # theirs")
    assert found["others"] == other(both) and arm.read_bytes() == both.replace("\n", "\r\n").encode()
    assert found["said"].endswith("what somebody else changed in a.toml, parts/arm.toml is there")
    again = door.act("save", {"text": found["text"], "others": found["others"]})
    assert "text" not in again and arm.read_bytes() == both.replace("\n", "\r\n").encode()


def test_an_include_that_is_not_there_or_outside_is_told(path):
    door = CaseDoor(path)
    told = door.act("check", {"text": MAIN.replace("parts/arm", "parts/leg")})
    assert "there is no file" in told["errors"][0]["text"] and told["others"] == {}
    outside = door.act("check", {"text": MAIN.replace("parts/arm.toml", "../arm.toml"), "others": {}})
    assert outside["errors"] and outside["others"] == {}


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_a_joint_of_an_included_file_leads_there_in_the_browser(path):
    from tests.post.chromium import Page

    with ViewServer(door_of(path)) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait("document.querySelector('.label.joint:not([hidden])')")
        assert page.run("document.getElementById('source').value") == MAIN
        page.run("[...document.querySelectorAll('.label')].find((x) => x.textContent === 'hinge').click()")
        source = "document.getElementById('source')"
        page.wait(f"{source}.value.startsWith('# the arm')")
        assert page.run(f"{source}.value.slice({source}.selectionStart)").startswith("[joints.hinge]")
        length = "flexmbs.viewer.scene.bounds.radius"
        before = page.run(length)
        page.run(f"{source}.setSelectionRange({ARM.index('400 mm')}, {ARM.index('400 mm') + 3})")
        page.call("Input.insertText", text="800")
        page.wait(f"{length} > 1.5 * {before}")
        page.run("document.querySelector('#files button').click()")
        assert page.run(f"{source}.value") == MAIN
        page.run("document.getElementById('save').click()")
        page.wait("document.getElementById('said').textContent.includes('with parts/arm.toml')")
        assert path.read_text() == MAIN
        kept = (path.parent / "parts" / "arm.toml").read_bytes().decode()
        assert kept == ARM.replace("400 mm", "800 mm").replace("\n", "\r\n")
        page.run("[...document.querySelectorAll('#files button')][1].click()")
        page.run("document.getElementById('undo').click()")
        page.wait(f"{source}.value.includes('400 mm')")
        page.wait(f"Math.abs({length} - {before}) < 1e-6")
        assert page.console == []
