"""Scene -> png, gif, mp4, drawn in software; texts by Pillow, films by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.disk import atomic_file
from flexmbs.errors import (
    Diagnostic,
    InputError,
    MissingComponentError,
    missing_component,
)
from flexmbs.post.animation.frames import Camera, Frame, View, camera_of, frames_of, system_frames
from flexmbs.post.animation.page import PALETTE
from flexmbs.post.animation.raster import draw_lines, fill_triangles, shade
from flexmbs.post.record import Floats
from flexmbs.post.scene import Scene, SceneBody
from flexmbs.post.stress import largest_von_mises, von_mises
from flexmbs.post.visuals import crease_edges
from flexmbs.spatial import quat_to_matrix

BACKGROUND = np.array([0.965, 0.969, 0.976])
FINER = 2  # pixels are drawn this much finer and averaged
GHOST = np.array([0.15, 0.2, 0.3])
JOINT_COLOUR = np.array([0.93, 0.55, 0.13])


def render(scene: Scene, frame: Frame, view: View, camera: Camera, stress_max: float) -> Floats:
    """One picture (height, width, rgb), values 0 to 1."""
    width, height = view.size[0] * FINER, view.size[1] * FINER
    image = np.empty((height, width, 3))
    image[:] = BACKGROUND
    depth = np.full((height, width), np.inf)
    for body, q in zip(scene.bodies, frame.q, strict=True):
        points, colours = _placed(body, q, frame.k, view.scale, stress_max)
        _draw(points, body.mesh.triangles, body.mesh.edges, colours, camera, image, depth)
        if view.undeformed and body.skin is not None:
            _outline(body, frame.k, camera, image, depth)
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


def _outline(body: SceneBody, k: int, camera: Camera, image: Floats, depth: Floats) -> None:
    """Sharp edges of the body where they would be without deformation. Writes: image"""
    at_rest = body.mesh.points @ quat_to_matrix(body.quaternion[k]).T + body.position[k]
    screen = camera.project(at_rest, (image.shape[1], image.shape[0]))
    edges = crease_edges(body.mesh.points, body.mesh.triangles)
    draw_lines(screen, edges, GHOST, 0.6, 2e-3 * float(np.abs(screen[:, 2]).max(initial=0.0)), image, depth)


def _placed(body: SceneBody, q: Floats, k: int, scale: float, stress_max: float) -> tuple[Floats, Floats]:
    """Points in ground (F1) and colours at the points."""
    u = body.mesh.points
    colours = np.tile(np.array(body.colour), (len(u), 1))
    if body.skin is not None and len(q):
        u = u + scale * np.tensordot(q, body.skin.Phi, axes=1)
        if body.stress is not None and stress_max > 0.0:
            amounts = q if body.static is None else np.concatenate([q, body.static[k]])
            level = von_mises(np.tensordot(amounts, body.stress, axes=1)) / stress_max
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
    modes: Sequence[dict[str, Any]] = (),
) -> int:
    """Write png, gif or mp4; returns the size in bytes. `modes` of a linearised system: one of them."""
    single = path.suffix == ".png"
    encoder = None if path.suffix != ".mp4" else ffmpeg()
    pillow = _pillow(path)
    if path.suffix == ".gif":  # mailed and put into documents: smaller
        view = replace(view, size=(800, 450), fps=15)
    swing = len(scene.time) < 2 and bool(modes)
    relative = scene.at_rest or swing  # a mode has no size of its own, and its stresses have none
    if swing:
        scene, frames = system_frames(scene, modes, view, single)
    else:
        frames = list(frames_of(scene, view, single))
    camera, top = (
        camera_of(scene.at(frames[0].k) if single else scene, view),
        stress_top(scene, frames, relative),
    )
    pictures = []
    for number, frame in enumerate(frames):
        image = render(scene, frame, view, camera, top)
        pictures.append(_labelled(pillow, image, scene.title, frame.text, top, relative))
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


def stress_top(scene: Scene, frames: list[Frame], relative: bool) -> float:
    """Upper end of the colours, the same in all pictures."""
    top = 0.0
    for number, body in enumerate(scene.bodies):
        if body.stress is not None and body.q.shape[1]:
            q = np.array([frame.q[number] for frame in frames]) if relative else body.stress_q
            top = max(top, largest_von_mises(q, body.stress))
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
