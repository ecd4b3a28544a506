"""The report: what it says, its size, and how it looks in a browser."""

import re

import numpy as np
import pytest

from flexmbs.case import Case
from flexmbs.cli.main import main
from flexmbs.post.facts import energy_error
from flexmbs.post.record import Record
from flexmbs.post.report import report, sections
from flexmbs.post.report.graph import Graph, Node, _columns, _levels, graph_svg, topology_graph
from flexmbs.post.report.markup import table
from flexmbs.resources import resource
from flexmbs.results import Result
from tests.post.synthetic import case, write_result


@pytest.fixture(scope="module")
def written(result_path, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return report(result_path, path), path


def test_report_has_all_that_the_result_holds(written):
    done, path = written
    text = path.read_text()
    for name in ("overview", "topology", "animation", "plots", "energy", "closure", "stress", "solver"):
        assert name in done["sections"]
    assert "The run is complete" in text and "joints.main passes a dead centre" in text
    assert done["facts"]["bodies"] == 3 and done["facts"]["elastic coordinates"] == 4
    assert done["facts"]["relative energy error"] == pytest.approx(1e-9 / 4, rel=1e-3)


def test_report_is_small_and_self_contained(written):
    done, path = written
    assert done["bytes_without_animation"] < 2_000_000 and done["bytes"] == path.stat().st_size
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#|data:)""", path.read_text().split("srcdoc=")[0])


def test_without_animation(result_path, tmp_path, capsys):
    out = tmp_path / "r.html"
    assert main(["report", str(result_path), "-o", str(out), "--no-animation", "--quiet"]) == 0
    assert "<iframe" not in out.read_text() and "MB" in capsys.readouterr().out


def test_matrices_of_the_notes_are_typeset(tmp_path):
    given = resource("cases") / "double-wishbone.toml"
    assert main(["run", str(given), "-o", str(tmp_path / "a.h5"), "--quiet"]) == 0
    out = tmp_path / "r.html"
    command = ["report", str(tmp_path / "a.h5"), "-o", str(out), "--no-animation", "--quiet"]
    assert main([*command, "--matrices", str(given), "--at", "0.1"]) == 0
    shown = out.read_text().partition('id="matrices"')[2].partition("</section>")[0]
    found = Case.load(given).explain(0.1, Result.load(tmp_path / "a.h5"))
    for value in (found["M_star", "carrier"][0, 0], found.minimal.M_min[0, 0], found.descriptor.p2[0]):
        assert f"{value:.6g}".lstrip("-") in shown
    assert shown.count("<math") > 100 and "t = 0.1 s" in shown


def test_names_of_joints_in_the_graph_do_not_cover_each_other():
    """A six-bar, whose two loops meet below: names in the middle of the lines would stand on each other."""
    graph = Graph(
        {name: Node(name, "rigid") for name in ("ground", "crank", "rocker", "slider", "coupler", "link")}
    )
    joints = "main:ground:crank foot:ground:rocker guide:ground:slider big:crank:coupler top:coupler:rocker"
    for item in f"{joints} mid:rocker:link end:link:slider".split():
        name, a, b = item.split(":")
        graph.edges.append((name, "revolute", a, b, name in ("top", "end")))
    _levels(graph)
    _columns(graph)
    found = re.findall(
        r'<text( class="soft")? x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)">([^<]+)', graph_svg(graph)
    )
    boxes = []
    for soft, x, y, anchor, text in found:
        wide, left = (6.0 if soft else 7.0) * len(text), float(x)
        left -= {"start": 0.0, "middle": 0.5 * wide, "end": wide}[anchor]
        boxes.append((left, float(y) - 9.0, left + wide, float(y) + 1.0))
    assert len(boxes) == 6 + 2 * 7
    for k, a in enumerate(boxes):
        assert a[0] >= 0.0
        assert not any(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for b in boxes[:k])


def test_graph_puts_bodies_in_levels(result_path):
    graph = topology_graph(Record.load(result_path))
    assert {name: node.level for name, node in graph.nodes.items()} == {
        "ground": 0, "crank": 1, "slider": 1, "rod": 2,
    }  # fmt: skip
    svg = graph_svg(graph)
    assert svg.count("<path") == 4 and svg.count("<rect") == 4


def test_texts_of_files_are_escaped(tmp_path):
    bad = case()
    bad["title"] = "<script>window.bad = 1</script>"
    path = write_result(tmp_path / "a.h5", n=5, case_data=bad)
    report(path, tmp_path / "r.html", animation=False)
    assert "<script>window.bad" not in (tmp_path / "r.html").read_text()
    assert "<b>" not in table(["a"], [["<b>"]])


def test_energy_error_is_relative_to_the_largest_swing(result_path):
    record = Record.load(result_path)
    assert energy_error(record) == pytest.approx(np.abs(record.require("energy/balance_error")).max() / 4.0)


@pytest.mark.slow
@pytest.mark.needs("chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_report_in_a_browser(written, dark):
    from tests.post.chromium import Page

    with Page(size=(1000, 900), dark=dark) as page:
        page.open(written[1])
        page.wait("window.flexmbs && window.flexmbs.ready")
        page.wait("document.querySelector('iframe').contentWindow.flexmbs?.ready")
        count = page.run("document.querySelectorAll('canvas.plot').length")
        assert count >= 5 == page.run("flexmbs.plots.filter(p => p.canvas.width > 0).length") or count > 5
        before = page.run("flexmbs.plots[0].canvas.toDataURL()")
        page.run("flexmbs.set_time(0.05)")
        assert page.run("flexmbs.plots[0].canvas.toDataURL()") != before
        assert page.run("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.console == []
        assert [url for url in page.requests if not url.startswith(("file:///", "data:", "about:"))] == []


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_report_on_a_phone_does_not_scroll_sideways(written):
    from tests.post.chromium import Page

    with Page(size=(390, 800)) as page:
        page.open(written[1])
        page.wait("window.flexmbs && window.flexmbs.ready")
        assert page.run("document.documentElement.scrollWidth") <= 390


def test_what_the_run_said_at_its_end_is_told(tmp_path):
    said = "12 steps with dopri5\nwarning: 3 redundant constraint rows"
    record = Record.load(write_result(tmp_path / "a.h5", n=5, said=said))
    assert "<li>3 redundant constraint rows</li>" in sections.warnings(record, [])
    assert sections.closing_lines(record, warning=False) == ["12 steps with dopri5"]


def test_report_has_a_picture_for_print(written):
    text = written[1].read_text()
    assert text.count('<img class="still"') == 1 and "img.still { display: block; }" in text
