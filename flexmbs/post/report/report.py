"""Result -> report page."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import __version__, disk
from flexmbs.errors import MissingComponentError
from flexmbs.post.animation.animate import curves_of, first_curves
from flexmbs.post.animation.frames import View
from flexmbs.post.animation.page import (
    Arrays,
    animation_page,
    fill,
    inline_json,
    script,
    web_file,
    write_page,
)
from flexmbs.post.animation.pictures import write_pictures
from flexmbs.post.animation.shapes import system_modes
from flexmbs.post.channels import select
from flexmbs.post.facts import key_facts
from flexmbs.post.record import Record
from flexmbs.post.report import sections
from flexmbs.post.report.markup import section
from flexmbs.post.scene import Scene, result_scene

PLOT_SAMPLES = 1200
ANIMATION_VERTICES = 8000
Progress = Callable[[float, str], None]


@dataclass
class Figures:
    """Collects the curves of the page; `figure` returns the markup of one plot."""

    record: Record
    pick: Any
    arrays: Arrays = field(default_factory=Arrays)
    curves: list[dict[str, Any]] = field(default_factory=list)

    def figure(self, names: list[str], caption: str) -> str:
        """A plot of channels per unit; nothing when the result has none of them."""
        by_unit: dict[str, list[str]] = {}
        for number in (number for name in names for number in self._put(name)):
            by_unit.setdefault(self.curves[number]["unit"], []).append(str(number))
        return "".join(
            f"<figure><figcaption>{escape(caption)} <small>{escape(f'[{unit}]' if unit else '')}</small>"
            "</figcaption>"
            f'<canvas class="plot" data-curves="{" ".join(numbers)}" aria-label="{escape(caption)}"></canvas>'
            "</figure>"
            for unit, numbers in by_unit.items()
        )

    def _put(self, name: str) -> list[int]:
        """Numbers of the curves of a channel and its components, none where the result lacks it."""
        if not self.record.has(name.split("[")[0].replace(".", "/")):
            return []
        start = len(self.curves)
        for channel in select(self.record, [name]):
            values = self.arrays.put(channel.values(self.record)[self.pick])
            self.curves.append({"name": channel.short, "unit": channel.unit, "values": values})
        return list(range(start, len(self.curves)))


def report(
    result: str | Path,
    output: str | Path,
    *,
    modal: Mapping[str, str | Path] | None = None,
    animation: bool = True,
    matrices: Any = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the report of a result, finished or not; returns sizes and the facts it opens with.

    `matrices`: what `case.explain(t, result)` gives, to be shown typeset.
    """
    disk.check_target(output, overwrite)
    record = Record.load(result)
    text, parts = report_page(record, modal, animation, matrices, progress)
    size = write_page(output, text)
    if progress is not None:
        progress(1.0, "written")
    return {
        "file": str(output),
        "bytes": size,
        "bytes_without_animation": size - len(parts["animation"].encode()),
        "sections": [name for name, body in parts.items() if body],
        "facts": key_facts(record),
    }


def report_page(
    record: Record,
    modal: Mapping[str, str | Path] | None = None,
    animation: bool = True,
    matrices: Any = None,
    progress: Progress | None = None,
) -> tuple[str, dict[str, str]]:
    """The page, and its sections by name."""
    tell = progress or (lambda share, text: None)
    pick = np.unique(np.linspace(0, record.n_samples - 1, min(record.n_samples, PLOT_SAMPLES)).astype(int))
    figures = Figures(record, pick)
    tell(0.1, "scene")
    scene = result_scene(record, modal, ANIMATION_VERTICES)
    tell(0.4, "animation")
    moving = animation_frame(record, scene) if animation else ""
    tell(0.7, "stresses and certificates")
    parts = [
        ("animation", "Motion", moving),
        ("overview", "Overview", sections.overview(record)),
        ("warnings", "Warnings", sections.warnings(record, scene.notes)),
        ("stress", "Stresses", sections.stresses(record, scene)),
        ("plots", "Histories", sections.plots(record, figures)),
        ("topology", "Bodies and joints", sections.topology(record)),
        ("modes", "Linearisation", sections.linear(record)),
        ("energy", "Energy", sections.energy(record, figures)),
        ("closure", "Closure", sections.closure(record, figures)),
        ("solver", "Solver", sections.solver(record, figures)),
        ("matrices", "Matrices of the notes", _typeset(matrices)),
        ("certificates", "Flexible bodies", sections.certificates(scene)),
        ("provenance", "Provenance", sections.provenance(record)),
    ]
    text = page(record, [part for part in parts if part[2]], figures)
    return text, {name: body for name, _, body in parts}


def _typeset(matrices: Any) -> str:
    """Every symbol of the notes at a moment, body by body, in MathML."""
    if matrices is None:
        return ""
    from flexmbs.post.matrices import page as typeset

    return typeset(matrices, ("minimal", "descriptor"))


def animation_frame(record: Record, scene: Scene) -> str:
    """The animation page inside a frame of the report, so that neither disturbs the other."""
    curves = curves_of(record)
    page_text = animation_page(scene, curves, first_curves(curves), system_modes(record, scene))
    return f'<iframe title="animation" srcdoc="{escape(page_text)}"></iframe>' + still(record, scene)


def still(record: Record, scene: Scene) -> str:
    """A picture of the moment of large stresses, for print; nothing where Pillow is not installed."""
    view = View(size=(1200, 675), time=float(record.time[busiest(scene)]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "still.png"
        try:
            write_pictures(path, scene, view, None, system_modes(record, scene))
        except MissingComponentError:
            return ""
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<img class="still" alt="the mechanism at t = {view.time:.5g} s" src="data:image/png;base64,{data}">'
    )


def busiest(scene: Scene) -> int:
    """Sample at which the stresses of a mode or of a static part are large together; else the middle."""
    sizes = [
        np.linalg.norm(body.stress_q * np.abs(body.stress).max(axis=(1, 2)), axis=1)
        for body in scene.bodies
        if body.stress is not None and body.stress.size
    ]
    return int(np.max(sizes, axis=0).argmax()) if sizes else len(scene.time) // 2


def page(record: Record, parts: list[tuple[str, str, str]], figures: Figures) -> str:
    tree = {"time": figures.arrays.put(record.time[figures.pick], "float64"), "curves": figures.curves}
    return fill(
        web_file("report.html"),
        {
            "title": escape(record.title),
            "version": __version__,
            "style": web_file("report.css"),
            "kicker": escape(sections.kicker(record)),
            "headline": sections.headline(record),
            "navigation": "".join(f'<a href="#{name}">{escape(title)}</a>' for name, title, _ in parts),
            "sections": "".join(section(name, title, body) for name, title, body in parts),
            "scene": inline_json(tree),
            "arrays": figures.arrays.text(),
            "script": script(("data", "plot", "report")),
        },
    )
