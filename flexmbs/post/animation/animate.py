"""Result or modal data -> a file to look at; the ending of its name says which kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import disk, hdf5
from flexmbs.errors import Diagnostic, UsageError, nearest
from flexmbs.modaldata import ModalData
from flexmbs.post.animation.frames import View
from flexmbs.post.animation.gltf import write_glb
from flexmbs.post.animation.page import Curve, animation_page, write_page
from flexmbs.post.animation.pictures import write_pictures
from flexmbs.post.animation.shapes import system_modes
from flexmbs.post.channels import Channel, catalogue
from flexmbs.post.record import Record
from flexmbs.post.scene import Scene, modal_scene, result_scene
from flexmbs.post.skin import MAX_VERTICES
from flexmbs.results import Result

ENDINGS = (".html", ".glb", ".mp4", ".gif", ".png")
#: groups of channels that belong to no sensor
SYSTEM = ("energy.", "solver.", "system.", "forces.", "drives.", "couplings.")
MAX_CURVE_BYTES = 6_000_000
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Story:
    """A scene with its curves and, for a `linearize` result, the modes of the system."""

    scene: Scene
    curves: list[Curve] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    modes: list[dict[str, Any]] = field(default_factory=list)


def load_story(
    source: str | Path | Result, modal: Mapping[str, str | Path] | None = None, limit: int = MAX_VERTICES
) -> Story:
    """Read a result (finished or not, or in memory) or `X.modal.h5`."""
    if isinstance(source, Result):
        return result_story(Record(source), modal, limit)
    if hdf5.file_format(source) == "flexmbs-modal":
        return Story(modal_scene(ModalData.load(source), Path(source).name.split(".")[0], limit))
    return result_story(Record.load(source), modal, limit)


def result_story(record: Record, modal: Mapping[str, str | Path] | None, limit: int = MAX_VERTICES) -> Story:
    """Scene of a result with its curves, and the modes of the system where it was linearised."""
    scene = result_scene(record, modal, limit)
    curves, modes = curves_of(record), system_modes(record, scene)
    if not modes and record.has("linear/frequency_hz"):
        scene.notes.append(no_modes(record))
    return Story(scene, curves, first_curves(curves), modes)


def no_modes(record: Record) -> str:
    """Why a linearised result shows no modes of its system."""
    if not len(record.require("linear/frequency_hz")):
        return "the linearised system has no modes: nothing in it can move by itself"
    return "the result does not say how its bodies move in the modes of the system; run it again"


def animate(
    source: str | Path | Result,
    output: str | Path,
    *,
    modal: Mapping[str, str | Path] | None = None,
    limit: int = MAX_VERTICES,
    view: View | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the animation of a result, or of the modes of a body; returns what it has."""
    output = Path(output)
    if output.suffix not in ENDINGS:
        what = f'"{output.suffix}" is no kind of animation'
        remedy = nearest(output.suffix, ENDINGS) if output.suffix else "choices: " + ", ".join(ENDINGS)
        raise UsageError(Diagnostic("animate.kind", str(output), what, remedy))
    disk.check_target(output, overwrite)
    story = load_story(source, modal, limit)
    if output.suffix == ".html":
        text = animation_page(story.scene, story.curves, story.shown, story.modes, view or View())
        size = write_page(output, text)
    elif output.suffix == ".glb":
        size = write_glb(output, story.scene, story.modes)
    else:
        size = write_pictures(output, story.scene, view or View(), progress, story.modes)
    skins = {b.name: [b.skin.n_points, b.skin.n_full] for b in story.scene.bodies if b.skin is not None}
    return {
        "file": str(output),
        "bytes": size,
        "bodies": [body.name for body in story.scene.bodies],
        "skins": skins,
        "samples": len(story.scene.time),
        "notes": story.scene.notes,
    }


def curves_of(record: Record) -> list[Curve]:
    """Channels for the page, those people ask for first until the page would grow too large."""
    channels = catalogue(record)
    room = max(1, MAX_CURVE_BYTES // (4 * record.n_samples))
    kept = set(sorted(channels, key=rank)[:room])
    chosen = [channel for channel in channels if channel in kept]
    return [Curve(c.short, c.unit, c.owner, c.values(record)) for c in chosen]


def rank(channel: Channel) -> int:
    word = channel.path.split("/")[-1]
    if channel.group in ("sensors", "energy", "joints", "drives", "states", "metrics", "couplings"):
        return 0
    return {"position": 1, "q": 1, "velocity": 2, "angular_velocity": 2, "q_dot": 2}.get(word, 3)


def first_curves(curves: list[Curve]) -> list[str]:
    """What the plot under the animation shows at first: a sensor, else elastic coordinates, else energies."""
    names = [curve.name for curve in curves]
    moving = [c.name for c in curves if not c.owner and float(np.ptp(c.values)) > 0.0]
    sensors = [name for name in moving if not name.startswith(SYSTEM)]
    elastic = [name for name in names if name.endswith((".q[0]", ".q[1]"))]
    energies = [name for name in names if name in ("energy.kinetic", "energy.strain")]
    return (sensors[:2] or elastic[:2] or energies or names[:1])[:2]
