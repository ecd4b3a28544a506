"""What each picture of a film shows, and from where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError, UsageError, nearest
from flexmbs.post.animation.shapes import mode_title, swinging
from flexmbs.post.record import Floats
from flexmbs.post.scene import Scene, SceneBody

#: azimuth from the front and elevation, as in the page
VIEWS = {
    "iso": (0.6, 0.45), "front": (0.0, 0.0), "back": (np.pi, 0.0), "right": (np.pi / 2, 0.0),
    "left": (-np.pi / 2, 0.0), "top": (0.0, 1.5533),
}  # fmt: skip
FIELD_OF_VIEW = 0.6
MARGIN = 1.18  # about what is drawn
SWING = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)  # phases of the pictures of a mode


@dataclass(frozen=True)
class View:
    """How pictures are made: deformation `scale`, `time` of a single one, `mode` (from 1) of modal data or
    of a linearised system; `undeformed`: outlines of flexible bodies without their deformation."""

    scale: float = 1.0
    time: float | None = None
    mode: int = 1
    size: tuple[int, int] = (1280, 720)
    fps: int = 25
    seconds: float = 6.0
    view: str = "iso"
    undeformed: bool = False


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


def known_view(view: View) -> str:
    """Name of the side that is looked from; an unknown one is an error."""
    if view.view not in VIEWS:
        what = f'there is no view "{view.view}"'
        raise UsageError(Diagnostic("animate.view", "--view", what, nearest(view.view, list(VIEWS))))
    return view.view


def camera_of(scene: Scene, view: View) -> Camera:
    """Camera that sees everything from the named side."""
    azimuth, elevation = VIEWS[known_view(view)]
    up = scene.up
    other = np.array([1.0, 0.0, 0.0]) if abs(up[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    side = other - (other @ up) * up
    front = np.cross(side, up)
    back = np.cos(elevation) * (np.sin(azimuth) * side + np.cos(azimuth) * front) + np.sin(elevation) * up
    right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
    rows = np.stack([right, np.cross(back, right), back])
    slope, aspect = np.tan(FIELD_OF_VIEW / 2), view.size[0] / view.size[1]
    seen = scene.outermost() @ rows.T
    target, distance = 0.5 * (seen.min(axis=0) + seen.max(axis=0)), 1.0
    for _ in range(4):  # nearest place from which all is seen, then to the middle of what is seen
        off = seen - target
        reach = np.maximum(np.abs(off[:, 1]) / slope, np.abs(off[:, 0]) / (slope * aspect))
        distance = float(np.max(MARGIN * reach + off[:, 2])) or 1.0
        shown = off[:, :2] / np.maximum(distance - off[:, 2:], 1e-300)
        target[:2] += 0.5 * distance * (shown.min(axis=0) + shown.max(axis=0))
    return Camera(rows, target @ rows + distance * back, 1.0 / slope)


@dataclass(frozen=True)
class Frame:
    """One picture: its text and the elastic coordinates of each body, at sample k."""

    text: str
    k: int
    q: list[Floats]


def frames_of(scene: Scene, view: View, single: bool) -> Iterator[Frame]:
    """The pictures of a run, or of one swing of a mode of a body at rest."""
    if not scene.at_rest:
        if single or len(scene.time) < 2:
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
    if nf:
        require_mode(scene, view.mode, nf)
    for phase in [0.5 * np.pi] if single else SWING:
        yield Frame(
            _mode_text(body, view.mode) if nf else "",
            0,
            [_swing(item, view.mode, phase) for item in scene.bodies],
        )


def require_mode(scene: Scene, mode: int, count: int) -> None:
    """Raise where there is no mode of that number."""
    if not 1 <= mode <= count:
        what = f"there is no mode {mode}"
        raise InputError(Diagnostic("animate.mode", scene.title, what, f"modes run from 1 to {count}"))


def system_frames(
    scene: Scene, modes: Sequence[dict[str, Any]], view: View, single: bool
) -> tuple[Scene, list[Frame]]:
    """One swing of a mode of a linearised system, as a scene of its own and the pictures of it."""
    require_mode(scene, view.mode, len(modes))
    mode = modes[view.mode - 1]
    moving = swinging(scene, mode, SWING + _largest_phase(mode))
    text = mode_title(list(modes), view.mode - 1)
    count = 1 if single else len(SWING)
    return moving, [Frame(text, k, [body.q[k] for body in moving.bodies]) for k in range(count)]


def _largest_phase(mode: dict[str, Any]) -> float:
    """Phase at which the largest entry of the shapes is real: a picture there shows the mode."""
    entries = np.concatenate([np.asarray(shape, dtype=float).reshape(-1, 2) for shape in mode["bodies"]])
    real, imaginary = entries[np.argmax(np.linalg.norm(entries, axis=1))]
    return float(-np.arctan2(imaginary, real))


def _mode_text(body: SceneBody, mode: int) -> str:
    frequency = body.modal.frequency_hz[mode - 1] if body.modal is not None else 0.0
    return f"mode {mode}, {frequency:.4g} Hz"


def _swing(body: SceneBody, mode: int, phase: float) -> Floats:
    q = np.array(body.q[0])
    if body.skin is not None and len(q):
        largest = np.linalg.norm(body.skin.Phi[mode - 1], axis=1).max()
        q[mode - 1] = 0.08 * body.size / max(float(largest), 1e-300) * np.sin(phase)
    return q
