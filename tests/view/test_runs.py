"""Runs beside the page: as `flexmbs run` has them, stopped and resumed, side by side, kept where asked."""

import time
from pathlib import Path

import numpy as np
import pytest

from flexmbs.case import run
from flexmbs.errors import InputError
from flexmbs.results import Result
from flexmbs.view.case import CaseDoor
from flexmbs.view.doors import door_of
from flexmbs.view.server import ViewServer
from flexmbs.view.told import parameters_of

CASES = Path(__file__).resolve().parents[2] / "cases"
METRIC = '[metrics]\nfastest = "=max(abs(joints.lower.velocity))"\n'


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A mechanism in a folder that is the current one, where its result goes."""
    monkeypatch.chdir(tmp_path)
    text = (CASES / "double-wishbone.toml").read_text()
    path = tmp_path / "a.toml"
    path.write_text(text[: text.index("[output]")] + METRIC)
    return path


def ended(door, number, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        told = next(item for item in door.act("runs", {})["runs"] if item["number"] == number)
        if told["state"] != "running":
            return told
        time.sleep(0.02)
    raise AssertionError(told)


def test_a_run_is_that_of_the_command_and_kept_where_asked(path):
    door = CaseDoor(path)
    text = door.sheets.text.replace("t_end = 1.0", "t_end = 0.1")
    number = door.act("run", {"text": text})["run"]
    told = ended(door, number)
    assert told["state"] == "complete" and told["errors"] == [] and told["share"] == 1.0
    found = door.act("scene", {"run": number})
    assert found["next"] == 1001 and {item["kind"] for item in found["scene"]["symbols"]} == {
        "frame", "spring", "sensor",
    }  # fmt: skip
    assert not (path.parent / "a.h5").exists()
    with pytest.raises(InputError, match="only complete runs|exists already"):
        (path.parent / "a.h5").write_text("")
        door.act("keep", {"run": number})
    (path.parent / "a.h5").unlink()
    assert door.act("keep", {"run": number})["runs"][0]["kept"] == "a.h5"
    slower = door.act("parameter", {"text": text, "name": "l", "number": 0.25})["text"]
    other = door.act("run", {"text": slower})["run"]
    assert ended(door, other)["parameters"]["l"] == 0.25
    compared = door.act("compare", {"run": other, "with": number})["compared"]
    assert "datasets differ" in compared[0]
    door.close()
    assert sorted(item.name for item in path.parent.iterdir()) == ["a.h5", "a.toml"]
    path.write_text(text)
    same = run(path, path.parent / "b.h5")
    kept = Result.load(path.parent / "a.h5")
    np.testing.assert_array_equal(kept["joints/lower/position"], same["joints/lower/position"])
    assert told["metrics"] == {"fastest": float(same["metrics/fastest"])}


def test_a_text_with_errors_is_not_run(path):
    door = CaseDoor(path)
    assert door.act("run", {"text": "a = 1"})["errors"] and door.act("runs", {}) == {"runs": []}
    assert door.act("scene", {"run": 1}) is None and door.act("stop", {"run": "x"}) is None


def test_numbers_of_parameters_keep_their_units(path):
    text = '[parameters]\na = "50 mm"  # length\nb = 2\nc = "=a"\nd = -1.5e3\ne = "1500rpm"\n'
    assert [(x["name"], x["number"], x["unit"]) for x in parameters_of(text)] == [
        ("a", 50.0, "mm"), ("b", 2.0, ""), ("d", -1500.0, ""), ("e", 1500.0, "rpm"),
    ]  # fmt: skip
    door = CaseDoor(path)
    made = door.act("parameter", {"text": text, "name": "a", "number": 62.5})["text"]
    assert made == text.replace("50 mm", "62.5 mm")
    assert door.act("parameter", {"text": text, "name": "c", "number": 1.0}) is None


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(path):
    door = CaseDoor(path)
    text = door.sheets.text.replace("t_end = 1.0", "t_end = 4.0").replace("damping = 600.0", "")
    text += "[output]\ncheckpoint_every = 0.1\n"
    number = door.act("run", {"text": text})["run"]
    with pytest.raises(InputError, match="not at its end yet"):
        door.act("run", {"text": text})
    while not door.act("runs", {})["runs"][0]["share"] > 0.02:
        time.sleep(0.005)
    door.act("stop", {"run": number})
    told = ended(door, number)
    assert told["state"] == "stopped" and "interrupted at t" in told["errors"][0]
    assert 0.0 < told["share"] < 1.0 and door.act("scene", {"run": number})["next"] > 10
    with pytest.raises(InputError, match="is not complete"):
        door.act("keep", {"run": number})
    door.act("resume", {"run": number})
    assert ended(door, number)["state"] == "complete"
    whole = door.act("run", {"text": text})["run"]
    assert ended(door, whole)["state"] == "complete"
    assert door.act("compare", {"run": number, "with": whole})["compared"][0].endswith("datasets agree")
    door.close()
    assert [item.name for item in path.parent.iterdir()] == ["a.toml"]


#: how many places of the picture the ghosts change
GHOSTLY = """(() => {
    const { viewer } = flexmbs;
    const { gl, canvas } = viewer.renderer;
    const seen = () => {
        viewer.coarse = false;
        viewer.draw();
        const out = new Uint8Array(4 * canvas.width * canvas.height);
        gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, out);
        return out;
    };
    viewer.play(false);
    viewer.set_time(0.5 * viewer.span()[1]);
    const whole = seen();
    const ghosts = viewer.ghosts.splice(0);
    const alone = seen();
    viewer.ghosts.push(...ghosts);
    return whole.filter((x, k) => k % 4 === 0 && x !== alone[k]).length;
})()"""


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_runs_are_begun_followed_and_put_side_by_side_in_the_browser(path):
    from tests.post.chromium import Page

    with ViewServer(door_of(path)) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait("document.querySelector('.label.joint:not([hidden])')")
        page.run("document.getElementById('run').click()")
        table = "document.getElementById('runs').textContent"
        page.wait(f"{table}.includes('run 1complete')", 60)
        page.wait("flexmbs.viewer.scene.time.length === 1001")
        page.run(
            "(() => {"
            " const s = [...document.querySelectorAll('#sliders input')].find((x) => x.ariaLabel === 'l');"
            " s.value = 0.25; s.dispatchEvent(new Event('input')); })()"
        )
        page.wait("document.getElementById('source').value.includes('l = 0.25')")
        page.wait("flexmbs.viewer.scene.time.length === 1")
        page.run("document.getElementById('run').click()")
        page.wait(f"{table}.includes('run 2complete')", 60)
        page.wait("flexmbs.viewer.scene.time.length === 1001")
        for name in ("ghost", "compare"):
            page.run(
                "[...document.querySelectorAll('#runs button')]"
                f".find((x) => x.textContent === '{name}').click()"
            )
        page.wait("flexmbs.viewer.ghosts.length === 1")
        page.wait("document.getElementById('compared').textContent.includes('datasets differ')")
        page.run("flexmbs.viewer.toggle_channel('lower.velocity')")
        assert page.run("flexmbs.viewer.plot.twins(flexmbs.viewer.plot.curves.at(-1)).length") == 1
        # the two springs pull differently: so do the ghost and the run stand
        assert page.run(
            "Math.abs(flexmbs.viewer.ghosts[0].scene.bodies[0].quaternion[4 * 200]"
            " - flexmbs.viewer.scene.bodies[0].quaternion[4 * 200]) > 1e-3"
        )
        assert page.run(GHOSTLY) > 3000  # links: 9400, edges alone 600
        assert page.console == []
