"""What a person does with the mouse: parts, reduced bodies, results, runs, in a real browser."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from flexmbs.reduce import reduce
from flexmbs.toml_file import parse_toml
from flexmbs.view.doors import door_of
from flexmbs.view.server import ViewServer
from tests.post.chromium import Page
from tests.post.synthetic import rod_modal, write_result
from tests.post.test_browser import PLACE_OF_POINT

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]
ROOT = Path(__file__).resolve().parents[2]
TEXT = "document.getElementById('{0}').textContent"
SOURCE = "document.getElementById('source').value"


class Seen:
    """A file on its page; `page` is the browser."""

    def __init__(self, path, **how):
        self.server = ViewServer(door_of(path))
        self.server.__enter__()
        self.page = Page(**how)
        self.page.call("Page.navigate", url=self.server.url)
        self.page.wait("window.flexmbs && window.flexmbs.ready", 60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        console = self.page.console
        strangers = [
            url for url in self.page.requests if not url.startswith((self.server.url, "data:", "blob:"))
        ]
        self.page.close()
        self.server.__exit__(*error)
        if not any(error):
            assert console == [] and strangers == []

    def press(self, name):
        """A click in the middle of a control, wherever it stands."""
        self.press_at(f"document.getElementById('{name}')")

    def press_at(self, node):
        self.page.run(f"{node}.scrollIntoView({{ block: 'center' }})")
        box = self.page.run(
            f"(({{ x, y, width, height }}) => [x, y, width, height])({node}.getBoundingClientRect())"
        )
        self.page.click(box[0] + box[2] / 2, box[1] + box[3] / 2)

    def type(self, name, text):
        self.press(name)
        self.page.call("Input.insertText", text=text)

    def at(self, point):
        return self.page.run(PLACE_OF_POINT % list(map(float, point)))

    def draw(self, *places):
        """The pointer pressed at the first place and moved over the others."""
        for k, (x, y) in enumerate([*places, places[-1]]):
            kind = "mousePressed" if k == 0 else "mouseReleased" if k == len(places) else "mouseMoved"
            down = int(k < len(places))
            self.page.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=down, clickCount=1
            )

    def view(self, name):
        self.page.run(f"flexmbs.viewer.camera.preset('{name}'), flexmbs.viewer.draw()")


@pytest.fixture
def bracket(tmp_path):
    return Path(shutil.copy(ROOT / "meshes" / "bracket.msh", tmp_path))


def test_edges_rectangles_lassos_and_sets_become_interfaces(bracket):
    with Seen(bracket) as seen:
        seen.view("top")
        seen.press("by-edges")
        seen.page.wait("document.querySelectorAll('#edges li').length === 24")
        seen.page.click(*seen.at([0.012, 0.0, 0.012]))
        seen.page.wait(TEXT.format("chosen") + " === 'chosen 1 edge: circle r 12 mm'")
        seen.type("interface-name", "ring")
        seen.press("make")
        seen.page.wait(f"{SOURCE}.includes('ring = ')")
        seen.press("by-lasso")
        corners = [(0.02, 0.02), (0.05, 0.02), (0.05, 0.05), (0.02, 0.05), (0.021, 0.021)]
        seen.draw(*(seen.at([*corner, 0.012]) for corner in corners))
        seen.page.wait(TEXT.format("chosen") + ".includes(' nodes')")
        lasso = int(seen.page.run(TEXT.format("chosen")).split()[1])
        seen.press("clear")
        seen.press("by-rectangle")
        seen.draw(seen.at([0.02, 0.02, 0.012]), seen.at([0.04, 0.04, 0.012]), seen.at([0.05, 0.05, 0.012]))
        seen.page.wait(TEXT.format("chosen") + ".includes(' nodes')")
        assert int(seen.page.run(TEXT.format("chosen")).split()[1]) == pytest.approx(lasso, rel=0.1)
        seen.press("make")
        seen.page.wait(f"{SOURCE}.includes('nearest')")
        before = seen.page.screenshot()
        seen.press("layer-bore_b")
        seen.page.wait("flexmbs.viewer.layers.some((layer) => layer.faces) && !flexmbs.viewer.dirty")
        assert seen.page.screenshot() != before
        seen.press("set-bore_b")
        seen.page.wait(TEXT.format("chosen") + ".includes('1 face: cylinder r 8 mm')")
        seen.press("make")
        seen.page.wait(f"{SOURCE}.includes('bore_b = ')")
        data = parse_toml(seen.page.run(SOURCE)).data["interfaces"]
        assert [next(iter(data)), data["bore_b"]["set"]] == ["ring", "bore_b"]
        assert "on the axis" in seen.page.run(TEXT.format("said"))
        seen.page.wait(TEXT.format("mesh-findings") + " === 'nothing is wrong with it'")


def test_supports_materials_and_typed_interfaces_are_seen(bracket):
    with Seen(bracket) as seen:
        seen.view("top")
        seen.page.click(*seen.at([0.04, 0.04, 0.012]))
        seen.press("hold")
        seen.page.wait(f"{SOURCE}.includes('[fix]')")
        seen.page.run("document.getElementById('material').value = 'titanium'")
        seen.press("take")
        seen.page.wait(f"{SOURCE}.includes('titanium')")
        colour = "flexmbs.viewer.scene.bodies.map((body) => body.colour.join())"
        before = seen.page.run(colour)
        seen.page.run(
            "(() => { const s = document.getElementById('source'), end = s.value.length;"
            " s.focus(); s.setSelectionRange(end, end); })()"
        )
        seen.page.call("Input.insertText", text='\n[interfaces]\neye = { set = "bore_c" }\n')
        seen.page.wait(f"{colour}.join(';') !== {';'.join(before)!r}")
        assert sum(a != b for a, b in zip(before, seen.page.run(colour), strict=True)) == 1
        assert len(seen.page.run("flexmbs.viewer.marks")) == 1
        seen.press("undo")
        seen.page.wait(f"{colour}.join(';') === {';'.join(before)!r}")


def test_an_interface_is_dragged_by_a_force_beside_the_certificate(tmp_path):
    modal = reduce(
        {
            "mesh": {"shape": "box", "size": [0.2, 0.02, 0.01], "divisions": [8, 2, 2], "element": "hex20"},
            "material": "steel", "modes": 2, "fix": {"x_min": "x y z"},
            "interfaces": {"tip": {"set": "x_max"}},
        }
    )  # fmt: skip
    modal.save(tmp_path / "rod.modal.h5")
    with Seen(tmp_path / "rod.modal.h5") as seen:
        face = modal.interfaces["tip"]
        seen.page.run("flexmbs.play_mode(null), flexmbs.viewer.camera.preset('front'), flexmbs.viewer.draw()")
        x, y = seen.at(face.position)
        seen.page.run("document.getElementById('force').value = 5")
        seen.draw((x, y), (x, y - 20), (x, y - 50))
        seen.page.wait(TEXT.format("pulled") + ".startsWith('5 N along (')")
        told = seen.page.run(TEXT.format("pulled"))
        way = np.array([float(word) for word in told.split("(")[1].split(")")[0].split(", ")])
        q = np.linalg.lstsq(modal.integrals.K_ff, 5.0 * way @ face.Phi, rcond=1e-12)[0]
        moved = float(told.split(" by ")[1].split(" mm")[0])
        assert moved == pytest.approx(1e3 * np.linalg.norm(face.Phi @ q), rel=1e-3)
        drawn = np.array(seen.page.run("flexmbs.viewer.poses()[0].q"))
        factor = seen.page.run("flexmbs.viewer.mode.factor")
        np.testing.assert_allclose(drawn / factor, q, rtol=1e-3, atol=1e-12 + 1e-3 * np.abs(q).max())
        assert seen.page.run("[...document.querySelectorAll('.label.frame')].map((x) => x.textContent)") == [
            "tip"
        ]
        rows = seen.page.run(
            "[...document.querySelectorAll('#certificate tbody tr')].map((x) => x.textContent)"
        )
        assert len(rows) > 5 and all("ok" in row for row in rows)


def test_a_result_stands_beside_its_report_and_is_measured_and_filmed(tmp_path):
    path, mesh = write_result(tmp_path / "a.h5", n=60), rod_modal().mesh
    x, y, z = mesh.points[np.unique(mesh.surface())].T
    facing = np.where(np.isclose(z, z.max()), np.abs(y), np.inf)
    front = [int(np.argmin(facing + np.abs(x - place))) for place in (0.1, 0.3)]
    with Seen(path) as seen:
        seen.press("report-toggle")
        frame = "document.querySelector('#work iframe').contentDocument"
        seen.page.wait(f"{frame} && {frame}.querySelector('#energy, #overview')", 60)
        seen.press("report-toggle")
        assert seen.page.run("document.getElementById('work').hidden")
        seen.page.run("flexmbs.set_time(0), flexmbs.set({ joints: false, paths: true })")
        seen.view("front")
        seen.press("probe")
        for vertex in front:
            seen.page.click(*seen.page.run(PLACE_OF_POINT % f"flexmbs.skin_point('rod', {vertex})"))
        seen.page.wait("flexmbs.viewer.probes.found.length === 2")
        told = seen.page.run(TEXT.format("distance"))
        points = [
            seen.page.run(f"flexmbs.skin_point('rod', flexmbs.viewer.probes.found[{k}].vertex)")
            for k in (0, 1)
        ]
        gap = 1e3 * np.linalg.norm(np.subtract(*points))
        assert float(told.split("two ")[1].split(" mm")[0]) == pytest.approx(gap, rel=1e-3)
        assert seen.page.run("flexmbs.viewer.probes.now(flexmbs.viewer.poses()).every((probe) => probe.path)")
        seen.page.run(
            "window.kept = [], URL.createObjectURL = (blob) => { kept.push(blob.type); return '#'; }"
        )
        seen.press("picture")
        seen.page.wait("kept.length === 1")
        seen.page.run("document.getElementById('speed').value = 3")
        seen.press("film")
        seen.page.wait("kept.length === 2", 60)
        assert seen.page.run("kept")[0] == "image/png" and seen.page.run("kept")[1].startswith("video/webm")


def test_a_run_is_stopped_resumed_and_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "cases" / "double-wishbone.toml").read_text()
    text = text[: text.index("[output]")].replace("damping = 600.0", "")
    text = text.replace("t_end = 1.0", "t_end = 1e4")  # ten seconds of work
    (tmp_path / "a.toml").write_text(text + "[output]\ncheckpoint_every = 100\n")
    with Seen(tmp_path / "a.toml") as seen:
        of = "[...document.querySelectorAll('#runs button')].find((x) => x.textContent === '{0}')"
        seen.press("run")
        seen.page.wait("document.querySelector('#runs progress')?.value > 0.01", 120)
        seen.press_at(of.format("stop"))
        seen.page.wait(TEXT.format("runs") + ".includes('run 1stopped')", 60)
        seen.press_at(of.format("resume"))
        seen.page.wait(TEXT.format("runs") + ".includes('run 1complete')", 120)
        seen.page.wait(of.format("keep"))
        seen.press_at(of.format("keep"))
        seen.page.wait(TEXT.format("said") + ".includes('a.h5 is kept')")
        assert (tmp_path / "a.h5").exists()


@pytest.mark.parametrize("what", ["part", "case", "result"])
def test_every_control_has_a_name_and_the_page_fits_a_phone(what, bracket, tmp_path):
    """What a screen reader says, and where the tab key leads."""
    file = {
        "part": lambda: bracket,
        "result": lambda: write_result(tmp_path / "a.h5", n=20),
        "case": lambda: Path(shutil.copy(ROOT / "cases" / "double-wishbone.toml", tmp_path)),
    }[what]()
    with Seen(file, size=(390, 780), dark=True) as seen:
        assert seen.page.run("document.documentElement.scrollWidth") <= 390
        seen.page.run("document.getElementById('panel').hidden = false")
        over = (
            "(() => { const { left, top, height } = panel.getBoundingClientRect();"
            " return [0.2, 0.5, 0.8].every((share) => panel.contains("
            "document.elementFromPoint(left + 20, top + 60 + share * (height - 60)))); })()"
        )
        assert seen.page.run(over)  # nothing covers the settings
        nameless = seen.page.run(
            "[...document.querySelectorAll('button, input, select, textarea, canvas[tabindex]')]"
            ".filter((x) => !(x.ariaLabel || x.labels?.length || x.textContent.trim() || x.title))"
            ".map((x) => x.outerHTML)"
        )
        assert nameless == []
        reached = set()
        for _ in range(12):
            for kind in ("keyDown", "keyUp"):
                seen.page.call(
                    "Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9
                )
            reached.add(seen.page.run("document.activeElement.outerHTML.slice(0, 80)"))
        assert len(reached) > 8


def test_a_deck_of_sheets_shows_its_thickness(tmp_path):
    """Six by six cells, half of them twice as thick."""
    lines = ["BEGIN BULK", "MAT1,1,70000.,,0.33,2.7-9", "PSHELL,1,1,2.0", "PSHELL,2,1,4.0"]
    lines += [f"GRID,{1 + i + 7 * j},,{10.0 * i},{10.0 * j},0." for j in range(7) for i in range(7)]
    cells = [(1 + i + 7 * j, 1 + (i > 2)) for j in range(6) for i in range(6)]
    lines += [f"CQUAD4,{k + 1},{part},{a},{a + 1},{a + 8},{a + 7}" for k, (a, part) in enumerate(cells)]
    (tmp_path / "deck.bdf").write_text("\n".join([*lines, "ENDDATA\n"]))
    with Seen(tmp_path / "deck.bdf") as seen:
        seen.page.run(
            "(() => { const c = document.getElementById('colours'); c.value = 'thickness';"
            " c.dispatchEvent(new Event('change')); })()"
        )
        seen.page.wait(TEXT.format("legend-title") + " === 'thickness [mm]'")
        assert seen.page.run("flexmbs.viewer.show.levels") == [2, 4]
        seen.press("by-edges")
        seen.page.wait("document.querySelectorAll('#edges li').length === 4")
        seen.press_at("document.querySelector('#edges button')")
        seen.page.wait(TEXT.format("chosen") + " === 'chosen 1 edge: line of 60 mm'")
