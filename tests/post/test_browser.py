"""The page in a real browser: nothing from outside, no complaints, everything moves as the file says."""

import base64

import numpy as np
import pytest

from flexmbs.post import visuals
from flexmbs.post.animation import animate
from flexmbs.post.record import Record
from flexmbs.post.scene import result_scene
from flexmbs.post.stress import von_mises
from flexmbs.spatial import quat_to_matrix
from tests.post.chromium import Page
from tests.post.synthetic import box_mesh, mode_fields, rod_modal, write_result

pytestmark = [pytest.mark.slow, pytest.mark.needs("chromium")]

#: place in the window of a point in ground
PLACE_OF_POINT = """(() => {
    const { viewer } = flexmbs;
    const p = %s;
    const { canvas } = viewer.renderer;
    const m = viewer.camera.matrices(canvas.width / canvas.height).view_projection;
    const c = [0, 1, 3].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
    const box = canvas.getBoundingClientRect();
    const [x, y] = [0.5 + 0.5 * c[0] / c[2], 0.5 - 0.5 * c[1] / c[2]];
    return [box.left + x * box.width, box.top + y * box.height];
})()"""

#: colour of the picture at a place in the window
PIXEL = """(() => {
    const { gl, canvas } = flexmbs.viewer.renderer;
    const box = canvas.getBoundingClientRect();
    const out = new Uint8Array(4);
    gl.readPixels(Math.round(%r - box.left), canvas.height - 1 - Math.round(%r - box.top), 1, 1,
        gl.RGBA, gl.UNSIGNED_BYTE, out);
    return Array.from(out.slice(0, 3));
})()"""


#: as with a graphics card: how coarse a moving picture is would depend on the load of the machine
IN_FULL = "flexmbs.viewer.renderer.software = false; flexmbs.viewer.coarse = false; flexmbs.viewer.draw()"
SIZE = "(() => { const { canvas } = flexmbs.viewer.renderer; return [canvas.width, canvas.height]; })()"


@pytest.fixture(scope="module")
def opened(result_path, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "a.html"
    animate(result_path, path)
    with Page() as page:
        page.open(path)
        page.wait("window.flexmbs && window.flexmbs.ready")
        page.run(IN_FULL)
        yield page
        assert page.console == []
        assert [url for url in page.requests if not url.startswith(("file:///", "data:"))] == []
        assert len([url for url in page.requests if url.startswith("file:")]) == 1


def test_transforms_and_weights_equal_the_file(opened, result_path):
    record = Record.load(result_path)
    for k in (0, 57, 200):
        opened.run(f"flexmbs.set_time({float(record.time[k])!r})")
        for name in record.bodies:
            got = opened.run(f"flexmbs.transform('{name}')")
            np.testing.assert_allclose(
                got["position"], record.require(f"bodies/{name}/position")[k], atol=1e-7
            )
            quaternion = record.require(f"bodies/{name}/quaternion")[k]
            np.testing.assert_allclose(got["quaternion"], quaternion, atol=1e-6)
        weights = opened.run("Array.from(flexmbs.weights('rod'))")
        np.testing.assert_allclose(
            weights, record.require("bodies/rod/q")[k], rtol=1e-6, atol=1e-12
        )  # float32


def test_between_samples_the_motion_is_interpolated(opened, result_path):
    record = Record.load(result_path)
    middle = float(0.5 * (record.time[30] + record.time[31]))
    opened.run(f"flexmbs.set_time({middle!r})")
    q = record.require("bodies/rod/q")
    np.testing.assert_allclose(
        opened.run("Array.from(flexmbs.weights('rod'))"), 0.5 * (q[30] + q[31]), rtol=1e-5, atol=1e-9
    )


def test_points_of_the_skin_follow_F1(opened, result_path):
    record = Record.load(result_path)
    modal = rod_modal()
    nodes = np.unique(modal.mesh.surface())
    k = 33
    opened.run(f"flexmbs.set_time({float(record.time[k])!r})")
    q = record.require("bodies/rod/q")[k]
    R = quat_to_matrix(record.require("bodies/rod/quaternion")[k])
    for vertex in (0, 17, len(nodes) - 1):
        u = (
            modal.mesh.points[nodes[vertex]]
            + q @ mode_fields(modal.mesh.points[nodes[vertex]][None])[0][:, 0]
        )
        expected = record.require("bodies/rod/position")[k] + R @ u
        got = opened.run(f"Array.from(flexmbs.skin_point('rod', {vertex}))")
        np.testing.assert_allclose(got, expected, atol=2e-7)  # float32


def test_slider_and_play_move_the_picture(opened):
    opened.run("flexmbs.set_time(0)")
    before = opened.screenshot()
    opened.run(
        "const s = document.getElementById('slider'); s.value = 0.03; s.dispatchEvent(new Event('input'))"
    )
    opened.wait("Math.abs(flexmbs.viewer.t - 0.03) < 1e-9 && !flexmbs.viewer.dirty")
    assert opened.screenshot() != before
    opened.run("document.getElementById('play').click()")
    opened.wait("Math.abs(flexmbs.viewer.t - 0.03) > 1e-4")
    opened.run("flexmbs.set_time(0.01)")
    assert opened.run("flexmbs.viewer.playing") is False


def test_a_click_selects_the_body_and_lists_its_channels(opened):
    opened.run("flexmbs.set_time(0)")
    opened.run("flexmbs.set({ joints: false })")
    place = opened.run(PLACE_OF_POINT % "[0.3, 0, 0]")
    opened.click(*place)
    assert opened.run("flexmbs.viewer.name_of(flexmbs.viewer.show.selected)") == "rod"
    opened.wait("document.getElementById('channels-title').textContent === 'Channels of rod'")
    assert "rod.q[0]" in opened.run("document.getElementById('channels').textContent")
    assert opened.run("flexmbs.pick(3, 200)") is None
    opened.run("flexmbs.set({ joints: true, selected: -1 })")


def test_stress_colours_are_those_of_the_shader(opened, result_path):
    """Red where the bending stress is largest, blue where there is none; the scale ends at the largest."""
    record = Record.load(result_path)
    modal = rod_modal()
    sigma = np.abs(record.require("bodies/rod/q") @ modal.stress[:, :, 0])
    np.testing.assert_allclose(opened.run("flexmbs.viewer.scene.stress_max"), sigma.max(), rtol=1e-6)
    k = int(np.argmax(sigma.max(axis=1)))
    opened.run(f"flexmbs.set_time({float(record.time[k])!r})")
    opened.run("flexmbs.set({ joints: false, edges: false, axes: false, grid: false })")
    side = (np.unique(modal.mesh.surface()), modal.mesh.points)
    front = np.flatnonzero(np.isclose(side[1][side[0], 2], modal.mesh.points[:, 2].max()))
    level = sigma[k][side[0][front]]
    inner = np.abs(side[1][side[0][front], 1]) < 0.4 * np.ptp(modal.mesh.points[:, 1])
    opened.run("flexmbs.viewer.camera.preset('front')")
    opened.run("flexmbs.viewer.draw()")
    hot, cold = front[inner][np.argmax(level[inner])], front[inner][np.argmin(level[inner])]
    colours = []
    for vertex in (hot, cold):
        x, y = opened.run(PLACE_OF_POINT % f"flexmbs.skin_point('rod', {vertex})")
        colours.append(opened.run(PIXEL % (x, y)))
    share = level[inner].max() / sigma.max()
    stops = opened.run("flexmbs.viewer.scene.palette")
    expected = [np.interp(share, np.linspace(0, 1, 9), [stop[i] for stop in stops]) for i in range(3)]
    got = np.array(colours[0]) / max(colours[0])
    np.testing.assert_allclose(got, np.array(expected) / max(expected), atol=0.12)  # light adds gloss
    assert colours[1][2] > colours[1][0]
    opened.run("flexmbs.set({ joints: true, edges: true, axes: true, grid: true })")


#: colours of all pixels of the picture, drawn anew
PIXELS = """(() => {
    flexmbs.viewer.draw();
    const { gl, canvas } = flexmbs.viewer.renderer;
    const out = new Uint8Array(4 * canvas.width * canvas.height);
    gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return btoa(Array.from(out, (x) => String.fromCharCode(x)).join(""));
})()"""


def picture_of(page):
    return np.frombuffer(base64.b64decode(page.run(PIXELS)), np.uint8).reshape(-1, 4)


def test_a_selection_keeps_the_colours_of_the_stress(opened):
    opened.run("flexmbs.set_time(0.03); flexmbs.set({ joints: false, edges: true, selected: -1 })")
    before = picture_of(opened)
    opened.run("flexmbs.set({ selected: 1 })")
    changed = (picture_of(opened) != before).any(axis=1)
    opened.run("flexmbs.set({ edges: false, selected: -1 })")
    surface = picture_of(opened)
    opened.run("flexmbs.set({ selected: 1 })")
    assert changed.any()
    lines = (surface != picture_of(opened)).any(axis=1)
    assert 0 < lines.mean() < 0.03  # its edges alone
    opened.run("flexmbs.set({ joints: true, edges: true, selected: -1 })")


def test_a_probe_tells_what_acts_at_the_point_and_how_it_went(opened, result_path):
    record, modal = Record.load(result_path), rod_modal()
    k = 41
    opened.run(f"flexmbs.set_time({float(record.time[k])!r}); flexmbs.set({{ joints: false }})")
    opened.run("flexmbs.viewer.camera.preset('front'), flexmbs.viewer.draw()")
    nodes = np.unique(modal.mesh.surface())
    points = modal.mesh.points[nodes]
    front = np.flatnonzero(np.isclose(points[:, 2], points[:, 2].max()))
    vertex = int(front[np.argmin(np.abs(points[front, 0] - 0.3) + np.abs(points[front, 1]))])
    opened.run("document.getElementById('probe').click()")
    opened.click(*opened.run(PLACE_OF_POINT % f"flexmbs.skin_point('rod', {vertex})"))
    opened.run("document.getElementById('probe').click()")
    assert opened.run("flexmbs.viewer.probes.found.map((probe) => [probe.number, probe.vertex])") == [
        [1, vertex]
    ]
    q = record.require("bodies/rod/q")
    sigma = np.tensordot(q, modal.stress[:, nodes[vertex]], 1)
    told = opened.run("flexmbs.viewer.probes.now(flexmbs.viewer.poses())[0]")
    np.testing.assert_allclose(told["von_mises"], von_mises(sigma[k]), rtol=1e-5)
    xx, yy, zz, xy, yz, zx = sigma[k]
    values, axes = np.linalg.eigh([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
    np.testing.assert_allclose(
        [item["value"] for item in told["principal"]], values[::-1], rtol=1e-5, atol=1.0
    )
    largest = int(np.argmax(np.abs(values)))
    direction = quat_to_matrix(record.require("bodies/rod/quaternion")[k]) @ axes[:, largest]
    assert abs(direction @ told["principal"][2 - largest]["direction"]) == pytest.approx(1.0, abs=1e-5)
    opened.run("document.querySelectorAll('.probe > button')[1].click()")
    curve = opened.run("Array.from(flexmbs.viewer.plot.curves.at(-1).values)")
    np.testing.assert_allclose(curve, von_mises(sigma), rtol=1e-5, atol=1.0)
    opened.wait(f"document.getElementById('probes').textContent.includes('rod.node {nodes[vertex]}')")
    opened.run("flexmbs.viewer.probes.drop(flexmbs.viewer.probes.found[0])")
    assert "rod.node" not in opened.run("flexmbs.viewer.plot.curves.map((item) => item.name).join()")
    opened.run("flexmbs.set({ joints: true })")


def test_principal_stresses_of_any_tensor(opened):
    draw = np.random.default_rng(3)
    for tensor in [*draw.normal(size=(20, 6)), np.zeros(6), np.array([2.0, 2.0, 2.0, 0.0, 0.0, 0.0])]:
        xx, yy, zz, xy, yz, zx = tensor
        matrix = np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])
        found = opened.run(f"flexmbs.principal({tensor.tolist()})")
        axes = np.array([item["direction"] for item in found]).T
        values = np.array([item["value"] for item in found])
        np.testing.assert_allclose(axes @ np.diag(values) @ axes.T, matrix, atol=1e-12)
        np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)


def test_ends_and_unit_of_the_colours_are_ones_own(opened):
    opened.run("flexmbs.set({ field: 1 }), flexmbs.set_time(0.03)")
    change = (
        "(() => {{ const s = document.getElementById('{0}'); s.value = '{1}';"
        " s.dispatchEvent(new Event('change')); flexmbs.viewer.draw(); }})()"
    )
    opened.run(change.format("unit", "ksi"))
    opened.run(change.format("high", "10"))
    assert opened.run("flexmbs.viewer.show.levels") == pytest.approx([0.0, 10 * 6894757.293168361])
    assert opened.run("document.getElementById('legend-title').textContent") == "von Mises stress [ksi]"
    assert opened.run("document.querySelector('#legend-marks li').textContent") == "10"
    opened.run(change.format("unit", "MPa"))
    assert float(opened.run("document.getElementById('high').value")) == pytest.approx(68.948, rel=1e-4)
    opened.run("flexmbs.set({ ranges: {} })")


def test_a_section_hides_what_lies_beyond(opened):
    opened.run("flexmbs.set_time(0), flexmbs.set({ joints: false })")
    place = opened.run(PLACE_OF_POINT % "[0.3, 0, 0]")
    box = opened.run(
        "(() => { const b = flexmbs.viewer.renderer.canvas.getBoundingClientRect();"
        " return [b.left, b.top]; })()"
    )
    x, y = (at - corner for at, corner in zip(place, box, strict=True))
    assert opened.run(f"flexmbs.pick({x}, {y})") == "rod"
    opened.run("flexmbs.set({ section: [1, 0, 0, 0.2] })")
    assert opened.run(f"flexmbs.pick({x}, {y})") is None
    assert opened.run(f"flexmbs.viewer.met_at(1, {x}, {y})") is None
    opened.run("flexmbs.set({ section: null, joints: true })")


def test_the_picture_as_seen_and_keys(opened):
    size = opened.run(SIZE)
    assert opened.run("(() => { const s = flexmbs.picture(); return [s.width, s.height]; })()") == size
    before = opened.run("flexmbs.viewer.camera.azimuth")
    opened.run("document.getElementById('view').focus()")
    opened.press_key("ArrowLeft")
    assert opened.run("flexmbs.viewer.camera.azimuth") != before


def test_what_moves_is_coarser_without_a_graphics_card_and_rests_in_full(opened):
    """A picture that is kept is in full, whatever is seen just now."""
    full = opened.run(SIZE)
    opened.run("flexmbs.viewer.renderer.software = true; flexmbs.viewer.coarse = true")
    coarse = opened.run(f"flexmbs.viewer.draw(); {SIZE}")
    assert np.allclose(full, np.multiply(coarse, 2), atol=1)
    assert opened.run("(() => { const s = flexmbs.picture(); return [s.width, s.height]; })()") == full
    opened.run("flexmbs.viewer.coarse = true; flexmbs.viewer.draw()")
    opened.wait("!flexmbs.viewer.coarse && !flexmbs.viewer.dirty")
    assert opened.run(SIZE) == full
    opened.run(IN_FULL)


#: whether a moving picture leaves the back of a skin out
OUTSIDE = """(() => {
    const { renderer, stage } = flexmbs.viewer;
    const [points, triangles, edges] = [new Float32Array(%s), new Uint32Array(%s), new Uint32Array(0)];
    const thing = renderer.upload({ points, triangles, edges });
    renderer.draw(thing, { pose: new Float32Array(16), colour: [0, 0, 0, 1], coarse: true });
    renderer.remove(thing);
    return thing.outside;
})()"""
TURNED = [0, 2, 1]


def test_the_back_of_a_skin_is_left_out_where_nobody_could_see_it(opened):
    inner, outer = visuals.box([1, 1, 1]), visuals.box([2, 2, 2])
    beside = inner.moved([5, 0, 0])
    faces, n = inner.triangles, len(inner.points)
    twice = np.concatenate([inner.points, beside.points])
    around = np.concatenate([outer.points, inner.points])
    one_turned = np.concatenate([faces[:-1], faces[-1:, TURNED]])
    skins = {
        "closed": (inner.points, faces, True),
        "two bodies": (twice, np.concatenate([faces, faces + n]), True),
        "a triangle is missing": (inner.points, faces[:-1], False),
        "a triangle is turned": (inner.points, one_turned, False),
        "inside out": (inner.points, faces[:, TURNED], False),
        "one of two is inside out": (twice, np.concatenate([faces, faces[:, TURNED] + n]), False),
        "a cavity": (around, np.concatenate([faces, faces[:, TURNED] + n]), False),
    }  # fmt: skip
    for name, (points, triangles, wanted) in skins.items():
        found = opened.run(OUTSIDE % (points.ravel().tolist(), triangles.ravel().tolist()))
        assert found is wanted, name


def test_a_moving_picture_without_backs_is_the_one_with_them(opened):
    """But for single places on its outline, where front and back are equally far."""
    opened.run("flexmbs.set({ edges: false, joints: false })")
    compared = """(() => {
        const { viewer } = flexmbs;
        const { gl, canvas } = viewer.renderer;
        const { bodies } = viewer.stage;
        const seen = () => {
            viewer.coarse = true;
            viewer.draw();
            const out = new Uint8Array(4 * canvas.width * canvas.height);
            gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, out);
            return out;
        };
        const without = seen();
        const some = bodies.some((thing) => thing.outside);
        for (const thing of bodies) thing.outside = false;
        const whole = seen();
        for (const thing of bodies) delete thing.outside;
        return [some, whole.filter((x, k) => Math.abs(x - without[k]) > 2).length];
    })()"""
    for _ in range(3):
        opened.run("flexmbs.viewer.camera.orbit(70, 40)")
        some, different = opened.run(compared)
        assert some and different <= 30
    opened.run("flexmbs.viewer.camera.preset('iso'), flexmbs.set({ edges: true, joints: true })")
    opened.run(IN_FULL)


def test_mode_browser_swings_one_mode(opened):
    opened.run("flexmbs.play_mode({ body: 1, mode: 2 })")
    opened.wait("flexmbs.viewer.mode")
    weights = opened.run("flexmbs.viewer.phase = Math.PI / 2, Array.from(flexmbs.weights('rod'))")
    assert weights[2] > 0 and weights[0] == weights[1] == weights[3] == 0
    opened.run("document.getElementById('back').click()")
    assert opened.run("flexmbs.viewer.mode") is None
    opened.run("flexmbs.set_time(0)")


def test_modal_data_animate_their_modes(tmp_path):
    rod_modal().save(tmp_path / "rod.modal.h5")
    animate(tmp_path / "rod.modal.h5", tmp_path / "m.html")
    with Page(size=(900, 700), dark=True) as page:
        page.open(tmp_path / "m.html")
        page.wait("window.flexmbs && window.flexmbs.ready")
        assert page.run("flexmbs.viewer.mode.mode") == 0
        first = page.screenshot()
        page.wait("flexmbs.viewer.phase > 1.9")
        assert page.screenshot() != first
        assert page.run("document.querySelectorAll('#modes li').length") == 4
        assert page.console == []


def test_modes_of_a_linearised_system_move_its_bodies(tmp_path):
    """One mode: the slider travels, the crank turns a quarter period later."""
    motion = {name: np.zeros((1, 6 + nf, 2)) for name, nf in (("crank", 0), ("rod", 4), ("slider", 0))}
    motion["slider"][0, 0, 0] = 2.0
    motion["crank"][0, 5, 1] = 1.0
    motion["rod"][0, 6, 0] = 0.5
    linear = {"frequency_hz": np.array([12.5]), "damping_ratio": np.array([0.02]), "motion": motion}
    path = write_result(tmp_path / "lin.h5", n=1, linear=linear)
    animate(path, tmp_path / "lin.html")
    with Page() as page:
        page.open(tmp_path / "lin.html")
        page.wait("window.flexmbs && window.flexmbs.ready")
        assert "12.5 Hz" in page.run("document.getElementById('modes').textContent")
        page.run("flexmbs.play_mode({ system: 0 })")
        page.run("flexmbs.viewer.play(false)")
        amplitude = page.run("flexmbs.viewer.scene.system_modes[0].amplitude")
        rest = Record.load(path).require("bodies/slider/position")[0, 0]
        at = page.run("flexmbs.viewer.phase = 0, flexmbs.transform('slider').position[0]")
        assert at == pytest.approx(rest + 2.0 * amplitude, rel=1e-5)
        assert page.run("flexmbs.weights('rod')[0]") == pytest.approx(0.5 * amplitude, rel=1e-5)
        assert page.run("flexmbs.transform('crank').quaternion[3]") == pytest.approx(0.0, abs=1e-6)
        at = page.run("flexmbs.viewer.phase = -Math.PI / 2, flexmbs.transform('crank').quaternion[3]")
        assert at == pytest.approx(np.sin(0.5 * amplitude), rel=1e-4)
        page.run("flexmbs.viewer.phase = 0, flexmbs.set({ scale: 1 })")
        q0 = Record.load(path).require("bodies/rod/q")[0]
        stress = result_scene(Record.load(path)).bodies[1].skin.stress
        tops = [
            von_mises(np.tensordot(q, stress, 1)).max() for q in (q0, q0 + 0.5 * amplitude * np.eye(4)[0])
        ]
        assert page.run("flexmbs.viewer.show.levels[1]") == pytest.approx(max(tops), rel=1e-4)
        assert page.run("flexmbs.viewer.scene.suggested_scale") == 1.0
        assert page.console == []


def test_titles_cannot_run_code(tmp_path):
    from tests.post.synthetic import case

    bad = case()
    bad["title"] = "</script><script>window.bad = 1</script><img src=x onerror='window.bad=2'>"
    path = write_result(tmp_path / "bad.h5", n=5, case_data=bad)
    animate(path, tmp_path / "bad.html")
    with Page() as page:
        page.open(tmp_path / "bad.html")
        page.wait("window.flexmbs && window.flexmbs.ready")
        assert page.run("window.bad") is None
        assert page.run("document.title") == bad["title"]


def test_large_skins_are_drawn_coarser_and_say_so(tmp_path):
    rod = rod_modal(divisions=(80, 12, 8))
    rod.save(tmp_path / "rod.modal.h5")
    done = animate(tmp_path / "rod.modal.h5", tmp_path / "m.html", limit=1000)
    drawn, full = done["skins"]["rod"]
    assert full == len(np.unique(box_mesh((80, 12, 8)).surface())) and 500 < drawn <= 1000
    assert f"{drawn} of {full} points" in done["notes"][0]
    with Page() as page:
        page.open(tmp_path / "m.html")
        page.wait("window.flexmbs && window.flexmbs.ready")
        assert page.console == []


def test_reactions_are_drawn_where_they_act_and_as_large_as_they_are(tmp_path):
    def more(t):
        force = np.stack([100.0 * np.cos(60 * t), 50.0 + 0 * t, 200.0 * np.sin(60 * t)], axis=1)
        return {"joints/main/reaction_force": (("time", "xyz"), "N", force)}

    path = write_result(tmp_path / "r.h5", more=more)
    record = Record.load(path)
    animate(path, tmp_path / "r.html")
    with Page() as page:
        page.open(tmp_path / "r.html")
        page.wait("window.flexmbs && window.flexmbs.ready")
        page.run(f"flexmbs.set_time({float(record.time[70])!r})")
        page.run("flexmbs.set({ forces: true, joints: false, grid: false })")
        force = record.require("joints/main/reaction_force")
        size = np.linalg.norm(force, axis=1).max()
        assert page.run("flexmbs.viewer.stage.largest") == pytest.approx(size, rel=1e-6)
        lines = np.array(
            page.run("flexmbs.viewer.stage.arrow_lines([70, 0], flexmbs.viewer.poses(), flexmbs.viewer.show)")
        )
        radius = page.run("flexmbs.viewer.scene.bounds.radius")
        joint = page.run("flexmbs.viewer.scene.joints.find((joint) => joint.name === 'main').place")
        np.testing.assert_allclose(lines[0], joint, atol=1e-6)
        np.testing.assert_allclose(lines[1] - lines[0], 0.5 * radius * force[70] / size, rtol=1e-5, atol=1e-6)
        assert page.console == []
