"""Scene -> png, gif, mp4, drawn in software; texts by Pillow, films by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import (
    Diagnostic,
    InputError,
    MissingComponentError,
    UsageError,
    missing_component,
    nearest,
)
from flexmbs.hdf5 import atomic_file
from flexmbs.post.animation.page import PALETTE
from flexmbs.post.animation.raster import draw_lines, fill_triangles, shade
from flexmbs.post.record import Floats
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.post.stress import largest_von_mises, von_mises
from flexmbs.spatial import quat_to_matrix

#: azimuth from the front and elevation, as in the page
VIEWS = {
    "iso": (0.6, 0.45), "front": (0.0, 0.0), "back": (np.pi, 0.0), "right": (np.pi / 2, 0.0),
    "left": (-np.pi / 2, 0.0), "top": (0.0, 1.5533),
}  # fmt: skip
BACKGROUND = np.array([0.965, 0.969, 0.976])
FIELD_OF_VIEW = 0.6
FINER = 2  # pixels are drawn this much finer and averaged
JOINT_COLOUR = np.array([0.93, 0.55, 0.13])


@dataclass(frozen=True)
class View:
    """How pictures are made: deformation `scale`, `time` of a single one, `mode` (from 1) of modal data."""

    scale: float = 1.0
    time: float | None = None
    mode: int = 1
    size: tuple[int, int] = (1280, 720)
    fps: int = 25
    seconds: float = 6.0
    view: str = "iso"


@dataclass(frozen=True)
class Camera:
    """Rows of the view (right, head, back), the place of the eye, and the focal length in half heights."""

    rows: Floats
    eye: Floats
    focal: float

    def project(self, points: Floats, size: tuple[int, int]) -> Floats:
        """Pixels x, y and a depth that grows away from the eye and stays linear on the screen."""
        seen = (points - self.eye) @ self.rows.T
        distance = np.maximum(-seen[:, 2], 1e-9)
        half = 0.5 * size[1]
        x = 0.5 * size[0] + half * self.focal * seen[:, 0] / distance
        y = half - half * self.focal * seen[:, 1] / distance
        return np.stack([x, y, -1.0 / distance], axis=1)


def camera_of(scene: Scene, view: View) -> Camera:
    """Camera that sees the whole box from the named side."""
    if view.view not in VIEWS:
        what = f'there is no view "{view.view}"'
        raise UsageError(Diagnostic("animate.view", "--view", what, nearest(view.view, list(VIEWS))))
    azimuth, elevation = VIEWS[view.view]
    up = scene.up
    other = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = other - (other @ up) * up
    front = np.cross(side, up)
    back = np.cos(elevation) * (np.sin(azimuth) * side + np.cos(azimuth) * front) + np.sin(elevation) * up
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    rows = np.stack([right, np.cross(back, right), back])
    low, high = scene.box()
    corners = np.array([[(low, high)[k >> i & 1][i] for i in range(3)] for k in range(8)]) - 0.5 * (
        low + high
    )
    slope, aspect = np.tan(FIELD_OF_VIEW / 2), view.size[0] / view.size[1]
    seen = corners @ rows.T
    reach = np.maximum(np.abs(seen[:, 1]) / slope, np.abs(seen[:, 0]) / (slope * aspect))
    distance = float(np.max(1.15 * reach + seen[:, 2])) or 1.0
    return Camera(rows, 0.5 * (low + high) + distance * back, 1.0 / slope)


@dataclass(frozen=True)
class Frame:
    """One picture: its text and the elastic coordinates of each body, at sample k."""

    text: str
    k: int
    q: list[Floats]


def frames_of(scene: Scene, view: View, single: bool) -> Iterator[Frame]:
    """The pictures of a run, or of one swing of a mode of a body at rest."""
    if len(scene.time) > 1:
        if single:
            t = scene.time[-1] if view.time is None else view.time
            chosen = np.array([np.argmin(np.abs(scene.time - t))])
        else:
            count = max(2, int(view.fps * view.seconds))
            times = np.linspace(scene.time[0], scene.time[-1], count)
            chosen = np.abs(scene.time[:, None] - times).argmin(axis=0)
        for k in chosen:
            yield Frame(f"t = {scene.time[k]:.5g} s", int(k), [body.q[k] for body in scene.bodies])
        return
    body = scene.bodies[0]
    nf = body.q.shape[1]
    if nf and not 1 <= view.mode <= nf:
        what = f"there is no mode {view.mode}"
        raise InputError(Diagnostic("animate.mode", scene.title, what, f"modes run from 1 to {nf}"))
    for phase in [0.5 * np.pi] if single else np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False):
        yield Frame(
            _mode_text(body, view.mode) if nf else "",
            0,
            [_swing(item, view.mode, phase) for item in scene.bodies],
        )


def _mode_text(body: SceneBody, mode: int) -> str:
    frequency = body.modal.frequency_hz[mode - 1] if body.modal is not None else 0.0
    return f"mode {mode}, {frequency:.4g} Hz"


def _swing(body: SceneBody, mode: int, phase: float) -> Floats:
    q = np.array(body.q[0])
    if body.skin is not None and len(q):
        largest = np.linalg.norm(body.skin.Phi[mode - 1], axis=1).max()
        q[mode - 1] = 0.08 * body.size / max(float(largest), 1e-300) * np.sin(phase)
    return q


def render(scene: Scene, frame: Frame, view: View, camera: Camera, stress_max: float) -> Floats:
    """One picture (height, width, rgb), values 0 to 1."""
    width, height = view.size[0] * FINER, view.size[1] * FINER
    image = np.empty((height, width, 3))
    image[:] = BACKGROUND
    depth = np.full((height, width), np.inf)
    for body, q in zip(scene.bodies, frame.q, strict=True):
        points, colours = _placed(body, q, frame.k, view.scale, stress_max)
        _draw(points, body.mesh.triangles, body.mesh.edges, colours, camera, image, depth)
    for joint in scene.joints:
        R, r, Phi_q = np.eye(3), np.zeros(3), np.zeros(3)
        if joint.body >= 0:
            owner = scene.bodies[joint.body]
            R, r = quat_to_matrix(owner.quaternion[frame.k]), owner.position[frame.k]
            Phi_q = np.zeros(3) if joint.Phi is None else view.scale * joint.Phi @ frame.q[joint.body]
        points = (joint.mesh.points @ joint.rotation.T + joint.place + Phi_q) @ R.T + r
        colours = np.tile(JOINT_COLOUR, (len(points), 1))
        _draw(points, joint.mesh.triangles, joint.mesh.edges, colours, camera, image, depth)
    return image.reshape(view.size[1], FINER, view.size[0], FINER, 3).mean(axis=(1, 3))


def _placed(body: SceneBody, q: Floats, k: int, scale: float, stress_max: float) -> tuple[Floats, Floats]:
    """Points in ground (F1) and colours at the points."""
    u = body.mesh.points
    colours = np.tile(np.array(body.colour), (len(u), 1))
    if body.skin is not None and len(q):
        u = u + scale * np.tensordot(q, body.skin.Phi, axes=1)
        if body.skin.stress is not None and stress_max > 0.0:
            level = von_mises(np.tensordot(q, body.skin.stress, axes=1)) / stress_max
            table = np.linspace(0.0, 1.0, len(PALETTE))
            colours = np.stack([np.interp(level, table, np.array(PALETTE)[:, i]) for i in range(3)], axis=1)
    return u @ quat_to_matrix(body.quaternion[k]).T + body.position[k], colours


def _draw(
    points: Floats, triangles: Any, edges: Any, colours: Floats, camera: Camera, image: Floats, depth: Floats
) -> None:
    size = (image.shape[1], image.shape[0])
    screen = camera.project(points, size)
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    light = shade(normals @ camera.rows.T, (camera.eye - corners.mean(axis=1)) @ camera.rows.T)
    fill_triangles(screen, triangles, colours[triangles] * light[:, None, None], image, depth)
    near = float(np.abs(screen[:, 2]).max(initial=0.0))
    draw_lines(screen, edges, np.zeros(3), 0.25, 2e-3 * near, image, depth)


def write_pictures(
    path: Path,
    scene: Scene,
    view: View,
    progress: Callable[[float, str], None] | None = None,
) -> int:
    """Write png, gif or mp4; returns the size in bytes."""
    single = path.suffix == ".png"
    encoder = None if path.suffix != ".mp4" else ffmpeg()
    pillow = _pillow(path)
    if path.suffix == ".gif":  # mailed and put into documents: smaller
        view = replace(view, size=(800, 450), fps=15)
    frames = list(frames_of(scene, view, single))
    camera, top = camera_of(scene, view), stress_top(scene, frames)
    pictures = []
    for number, frame in enumerate(frames):
        image = render(scene, frame, view, camera, top)
        pictures.append(_labelled(pillow, image, scene.title, frame.text, top, len(scene.time) < 2))
        if progress is not None:
            progress((number + 1) / len(frames), frame.text)
    with atomic_file(path, overwrite=True) as raw:
        if encoder is not None:
            raw.write(_encode(encoder, pictures, view))
        elif single:
            pictures[0].save(raw, "PNG", optimize=True)
        else:
            reduced = [picture.quantize(96, dither=0) for picture in pictures]
            reduced[0].save(
                raw, "GIF", save_all=True, append_images=reduced[1:], duration=1000 // view.fps, loop=0
            )
    return path.stat().st_size


def stress_top(scene: Scene, frames: list[Frame]) -> float:
    """Upper end of the colours, the same in all pictures."""
    top = 0.0
    for number, body in enumerate(scene.bodies):
        if body.skin is not None and body.skin.stress is not None and body.q.shape[1]:
            q = np.array([frame.q[number] for frame in frames]) if len(scene.time) < 2 else body.q
            top = max(top, largest_von_mises(q, body.skin.stress))
    return top


def _pillow(path: Path) -> Any:
    try:
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError:
        raise missing_component(f"animate {path.suffix}", "Pillow", "plot") from None
    return PIL


def _labelled(pillow: Any, image: Floats, title: str, text: str, top: float, relative: bool) -> Any:
    picture = pillow.Image.fromarray((255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8))
    pen = pillow.ImageDraw.Draw(picture)
    small, large = pillow.ImageFont.load_default(16), pillow.ImageFont.load_default(20)
    ink = (40, 48, 60)
    pen.text((16, 12), title, ink, font=large)
    pen.text((16, 40), text, ink, font=small)
    if top > 0.0:
        high = picture.height - 40
        for row in range(160):
            level = np.interp(row / 159, np.linspace(0.0, 1.0, len(PALETTE)), np.arange(len(PALETTE)))
            low = min(int(level), len(PALETTE) - 2)
            mixed = (1 - level + low) * np.array(PALETTE[low]) + (level - low) * np.array(PALETTE[low + 1])
            pen.line([(20, high - row), (36, high - row)], tuple(int(255 * x) for x in mixed))
        for share in (0.0, 0.5, 1.0):
            value = share if relative else share * top / 1e6
            pen.text((44, high - 160 * share - 8), f"{value:.4g}", ink, font=small)
        heading = "von Mises, share of the largest" if relative else "von Mises [MPa]"
        pen.text((16, high - 192), heading, ink, font=small)
    return picture


def ffmpeg() -> str:
    """The ffmpeg program; a missing one is an error that names what to install."""
    found = shutil.which("ffmpeg")
    if found is None:
        try:
            import imageio_ffmpeg

            found = imageio_ffmpeg.get_ffmpeg_exe()
        except (ImportError, RuntimeError):
            raise MissingComponentError(
                Diagnostic(
                    "missing.ffmpeg",
                    "animate .mp4",
                    "needs the program ffmpeg",
                    "install it with: pip install imageio-ffmpeg (or apt-get install ffmpeg); "
                    ".html, .glb and .gif work without",
                )
            ) from None
    return str(found)


def _encode(program: str, pictures: list[Any], view: View) -> bytes:
    """H.264 in mp4; the size even, as the codec wants it."""
    import tempfile

    width, height = (side - side % 2 for side in view.size)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "film.mp4"
        command = [
            program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{width}x{height}", "-r", str(view.fps), "-i", "-",
            "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(target),
        ]  # fmt: skip
        data = b"".join(picture.crop((0, 0, width, height)).tobytes() for picture in pictures)
        done = subprocess.run(command, input=data, capture_output=True, check=False)
        if done.returncode or not target.is_file():
            what = f"ffmpeg failed: {done.stderr.decode(errors='replace').strip()[-200:]}"
            raise InputError(Diagnostic("animate.ffmpeg", "mp4", what, "use .gif or .html"))
        return target.read_bytes()
