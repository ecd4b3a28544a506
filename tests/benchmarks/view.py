"""How quick the page of `flexmbs view` is: `python -m tests.benchmarks.view [NAME ...]`.

part: a part of 100,000 nodes, from the start of the program's work to the first picture in the browser.
frames: pictures a second of a flexible body with 20,000 triangles, drawn without a graphics card.
skin: a part whose skin has a million triangles: how many are drawn, and how long to the first picture.
scrub: 10,000 samples of a run: from a move of the slider to the picture.

Times are of the wall clock; beside them, for machines that do other work, CPU time of program and browser.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from flexmbs.fe.convert import write_fields
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.post.animation.page import SERVED_SAMPLES, Curve, animation_page
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.post.skin import Skin
from flexmbs.post.visuals import TriMesh, ellipsoid
from flexmbs.view.doors import PageDoor
from flexmbs.view.part import PartDoor
from flexmbs.view.server import ViewServer
from tests.post.chromium import Page

#: seconds from one picture to the next: of the middle one of so many, and of the best one
FRAMES = """(async () => {
    const { viewer } = flexmbs;
    const { gl } = viewer.renderer;
    const pixel = new Uint8Array(4);
    const times = [];
    for (let k = 0; k < %d; ++k) {
        const begun = performance.now();
        %s
        viewer.draw();
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
        times.push(performance.now() - begun);
    }
    times.sort((a, b) => a - b);
    return [times[times.length >> 1] / 1000, times[0] / 1000];
})()"""
FIRST = "performance.timeOrigin + performance.getEntriesByName('first picture')[0].startTime"
AS_IT_MOVES = "viewer.coarse = viewer.renderer.software;"
DRAWN = "window.flexmbs && window.flexmbs.ready && !flexmbs.viewer.dirty"


def box(divisions: list[int]) -> tuple[Path, int]:
    """A mesh file of bricks, and its number of nodes."""
    mesh, _ = build_shape({"shape": "box", "size": [1, 0.5, 0.4], "divisions": divisions, "element": "hex8"})
    path = Path(tempfile.mkdtemp()) / "box.vtu"
    write_fields(mesh, path, {}, {})
    return path, mesh.n_nodes


def cpu(page: Page) -> float:
    """CPU seconds of all processes of the browser so far."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(words[1]), int(words[11]) + int(words[12])
    own, ticks = {page.process.pid}, 0
    for number, (parent, spent) in sorted(parents.items()):
        if number in own or parent in own:
            own.add(number)
            ticks += spent
    return ticks / os.sysconf("SC_CLK_TCK")


def part(divisions: list[int], name: str) -> None:
    path, n_nodes = box(divisions)
    with Page() as page:
        page.call("Page.navigate", url="about:blank")
        begun, spent = time.time(), time.process_time() + cpu(page)
        door = PartDoor(path)
        opened = time.time() - begun
        with ViewServer(door) as server:
            page.call("Page.navigate", url=server.url)
            page.wait(DRAWN, 120)
            spent = time.process_time() + cpu(page) - spent
            whole = 1e-3 * page.run(FIRST) - begun
            count = "flexmbs.viewer.scene.bodies.reduce((n, body) => n + body.mesh.triangles.length / 3, 0)"
            drawn = page.run(count)
            frame, _ = page.run(FRAMES % (9, ""))
    print(f"{name}: {n_nodes} nodes, {drawn:.0f} triangles drawn; read {opened:.2f} s, first picture after")
    print(f"  {whole:.2f} s, {spent:.2f} of CPU time; a picture takes {1e3 * frame:.0f} ms")


def flexible_scene(n_modes: int, n_samples: int) -> tuple[Scene, list[Curve]]:
    """A ball of 20,000 triangles with modes, and a run of it."""
    ball = ellipsoid([0.2, 0.1, 0.1], n=142)
    rng, time_ = np.random.default_rng(0), np.linspace(0.0, 1.0, n_samples)
    Phi = rng.normal(size=(n_modes, *ball.points.shape)) * 0.001
    stress = rng.normal(size=(n_modes, len(ball.points), 6)) * 1e6
    mesh = TriMesh(ball.points, ball.triangles, ball.edges)
    skin = Skin(mesh, Phi, np.arange(len(ball.points)), stress, len(ball.points))
    q = np.sin(np.outer(time_, np.arange(1, n_modes + 1)))
    rest = np.zeros((n_samples, 3)), np.tile([1.0, 0, 0, 0], (n_samples, 1))
    body = SceneBody("ball", "flexible", mesh, *rest, q, (0.4, 0.5, 0.8), skin)
    curves = [Curve(f"ball.q[{k}]", "1", "ball", q[:, k]) for k in range(n_modes)]
    return Scene("ball", time_, [body]), curves


def drawn(scene: Scene, curves: list[Curve], text: str, count: int = 31) -> tuple[list[float], float, int]:
    """Seconds of a picture (middle, best), CPU seconds, and the number of samples."""
    shown = [curve.name for curve in curves[:4]]
    page_text = animation_page(scene, curves, shown, samples=SERVED_SAMPLES)
    with ViewServer(PageDoor(lambda: page_text)) as server, Page() as page:
        page.call("Page.navigate", url=server.url)
        page.wait(DRAWN, 60)
        page.run("flexmbs.viewer.play(false)")
        before = cpu(page)
        seconds = page.run(FRAMES % (count, text))
        spent = (cpu(page) - before) / count
        return seconds, spent, int(page.run("flexmbs.viewer.scene.time.length"))


def frames() -> None:
    for n_modes in (0, 10, 20):
        scene, curves = flexible_scene(n_modes, 200)
        if not n_modes:
            body = scene.bodies[0]
            scene = Scene("ball", scene.time, [replace(body, skin=None, q=body.q[:, :0])])
        seconds, spent, _ = drawn(
            scene, curves, "viewer.set_time(k / 40); viewer.camera.orbit(3, 1); " + AS_IT_MOVES
        )
        triangles = len(scene.bodies[0].mesh.triangles)
        print(f"frames: {triangles} triangles, {n_modes} modes: {1.0 / seconds[0]:.0f} pictures a second,")
        print(f"  {1.0 / seconds[1]:.0f} at best, {1.0 / spent:.0f} a second of CPU time")


def scrub() -> None:
    scene, curves = flexible_scene(10, 10_000)
    move = "viewer.set_time((k * 7919 % 10000) / 10000); " + AS_IT_MOVES
    seconds, spent, samples = drawn(scene, curves, move)
    print(f"scrub: {samples} of 10000 samples, {1e3 * seconds[0]:.0f} ms from a move of the slider to the")
    print(f"  picture, {1e3 * seconds[1]:.0f} at best, {1e3 * spent:.0f} of CPU time")


BENCHMARKS = {
    "part": lambda: part([70, 40, 34], "part"),
    "frames": frames,
    "skin": lambda: part([500, 500, 1], "skin"),
    "scrub": scrub,
}

if __name__ == "__main__":
    for name in [item for item in sys.argv[1:] if item in BENCHMARKS] or BENCHMARKS:
        BENCHMARKS[name]()
