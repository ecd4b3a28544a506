"""One self-contained page: the scene as JSON and base64 arrays, own WebGL2 modules, nothing from outside."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import __version__
from flexmbs.disk import atomic_file
from flexmbs.post.animation.frames import View, known_view
from flexmbs.post.arrows import Arrow
from flexmbs.post.scene import Scene, SceneBody, SceneJoint
from flexmbs.post.stress import largest_von_mises

#: in the order of their imports
MODULES = (
    "matrix",
    "data",
    "camera",
    "motion",
    "probe",
    "plot",
    "surface",
    "renderer",
    "controls",
    "labels",
    "stage",
    "tools",
    "viewer",
    "live",
    "editor",
    "sheets",
    "outline",
    "choose",
    "part",
    "body",
    "runs",
    "case",
    "main",
)
SHADERS = {"skin": "skin.vert.glsl", "surface": "surface.frag.glsl", "plain": "plain.frag.glsl"}
MAX_SAMPLES = 3000  # of a page that is mailed
SERVED_SAMPLES = 20_000  # of one that a program beside it serves
UNSEEN = 1e-3  # of the largest stress
#: blue, green, yellow, red: monotone in lightness up to yellow, so that it also reads in print
PALETTE = (
    (0.23, 0.34, 0.73), (0.20, 0.49, 0.80), (0.17, 0.63, 0.78), (0.25, 0.74, 0.64), (0.53, 0.82, 0.44),
    (0.87, 0.84, 0.31), (0.98, 0.67, 0.22), (0.93, 0.40, 0.17), (0.74, 0.12, 0.17),
)  # fmt: skip
THEME = {
    "light": {
        "background": [0.965, 0.969, 0.976, 1],
        "rule": [0.5, 0.55, 0.62, 0.28],
        "ghost": [0.15, 0.2, 0.3, 0.45],
    },
    "dark": {
        "background": [0.078, 0.094, 0.122, 1],
        "rule": [0.6, 0.68, 0.78, 0.22],
        "ghost": [0.9, 0.93, 1.0, 0.5],
    },
}


@dataclass
class Arrays:
    """Collects arrays into one block of bytes; what goes into the JSON is where each lies."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def put(self, values: Any, kind: str = "float32") -> dict[str, Any]:
        array = np.ascontiguousarray(
            values, dtype="<" + {"float32": "f4", "float64": "f8", "uint32": "u4"}[kind]
        )
        self.parts += [b"\0" * (-self.size % 8), array.tobytes()]
        offset = self.size + -self.size % 8
        self.size = offset + array.nbytes
        return {"kind": kind, "offset": offset, "length": int(array.size), "shape": list(array.shape)}

    def text(self) -> str:
        """All bytes for a page: first bytes of all numbers, then second ones, ..., compressed, as base64."""
        whole = b"".join(self.parts)
        planes = np.frombuffer(whole + b"\0" * (-len(whole) % 4), np.uint8).reshape(-1, 4).T
        return base64.b64encode(gzip.compress(planes.tobytes(), mtime=0)).decode("ascii")


@dataclass(frozen=True)
class Curve:
    """A channel of the page: `owner` is the body or joint whose click shows it."""

    name: str
    unit: str
    owner: str
    values: Any


def animation_page(
    scene: Scene,
    curves: Sequence[Curve] = (),
    shown: Sequence[str] = (),
    system_modes: Sequence[Any] = (),
    view: View | None = None,
    more: Mapping[str, Any] | None = None,
    samples: int = MAX_SAMPLES,
) -> str:
    """The page as text; see `scene_data`."""
    tree, arrays = scene_data(scene, curves, shown, system_modes, view, more, samples)
    return assemble(scene.title, tree, arrays)


def scene_data(
    scene: Scene,
    curves: Sequence[Curve] = (),
    shown: Sequence[str] = (),
    system_modes: Sequence[Any] = (),
    view: View | None = None,
    more: Mapping[str, Any] | None = None,
    samples: int = MAX_SAMPLES,
) -> tuple[dict[str, Any], Arrays]:
    """What a page draws. `curves` are sampled at the times of the scene before it is thinned out.

    `view`: how it opens; at a time it stands still. `more`: what else the page finds in its scene.
    `samples`: as many as are kept.
    """
    view = view or View()
    thin = scene.thinned(samples)
    pick = np.searchsorted(scene.time, thin.time)
    arrays = Arrays()
    radius = thin.radius()
    tree = {
        "title": thin.title,
        "time": arrays.put(thin.time, "float64"),
        "up": thin.up.tolist(),
        "bounds": _bounds(thin.outermost(), radius),
        "bodies": [_body(body, arrays) for body in thin.bodies],
        "joints": [_joint(joint, arrays) for joint in thin.joints],
        "arrows": [_arrow(arrow, arrays) for arrow in thin.arrows],
        "channels": [_channel(curve, pick, arrays) for curve in curves],
        "shown": list(shown),
        "start": {
            "scale": view.scale,
            "undeformed": view.undeformed,
            "view": known_view(view),
            "time": view.time,
        },
        "modes_first": scene.at_rest or (len(thin.time) < 2 and bool(system_modes)),
        "system_modes": [_system_mode(mode, arrays) for mode in system_modes],
        "palette": [list(colour) for colour in PALETTE],
        "theme": THEME,
        "notes": thin.notes,
        **_largest(thin, radius, swinging=scene.at_rest or bool(system_modes)),
        **(more or {}),
    }
    return tree, arrays


def _bounds(outermost: Any, radius: float) -> dict[str, Any]:
    """The box of all that moves, for the camera."""
    low, high = outermost.min(axis=0), outermost.max(axis=0)
    return {"low": low, "high": high, "centre": 0.5 * (low + high), "radius": radius, "outermost": outermost}


def _channel(curve: Curve, pick: Any, arrays: Arrays) -> dict[str, Any]:
    values = arrays.put(np.asarray(curve.values)[pick])
    return {"name": curve.name, "unit": curve.unit, "owner": curve.owner, "values": values}


def _largest(scene: Scene, radius: float, swinging: bool) -> dict[str, float]:
    """Ends of the colour scales, and a good deformation scale: displacements are then 5 % of the scene.

    Modes are drawn at a good size as they are.
    """
    stress = displacement = 0.0
    for body in scene.bodies:
        if body.skin is None or not body.q.shape[1]:
            continue
        if body.stress is not None:
            stress = max(stress, largest_von_mises(body.stress_q, body.stress))
        chosen = body.q[np.unique(np.linspace(0, len(body.q) - 1, 200).astype(int))]
        flat = body.skin.Phi.reshape(len(body.skin.Phi), -1)
        for q in chosen:
            displacement = max(displacement, float(np.linalg.norm((q @ flat).reshape(-1, 3), axis=1).max()))
    wanted = 0.05 * radius / displacement if displacement > 0.0 and not swinging else 1.0
    power = 10.0 ** np.floor(np.log10(max(wanted, 1.0)))
    nice = power * max(step for step in (1.0, 2.0, 5.0) if step * power <= max(wanted, 1.0))
    return {"stress_max": stress, "displacement_max": displacement, "suggested_scale": float(nice)}


def _mesh(body: SceneBody | SceneJoint, arrays: Arrays) -> dict[str, Any]:
    mesh = {
        "points": arrays.put(body.mesh.points),
        "triangles": arrays.put(body.mesh.triangles.ravel(), "uint32"),
        "edges": arrays.put(body.mesh.edges.ravel(), "uint32"),
    }
    skin = getattr(body, "skin", None)
    if skin is not None and len(skin.Phi):
        mesh["Phi"] = arrays.put(skin.Phi)
        mesh["nodes"] = arrays.put(skin.nodes, "uint32")
    elif (nodes := getattr(body, "nodes", None)) is not None:
        mesh["nodes"] = arrays.put(nodes, "uint32")
    return mesh


def _body(body: SceneBody, arrays: Arrays) -> dict[str, Any]:
    n_modes = 0 if body.skin is None else len(body.skin.Phi)
    mesh = _mesh(body, arrays)
    felt = felt_stresses(body)
    if n_modes and body.stress is not None:
        mesh["stress"] = arrays.put(body.stress[felt])
    modes = []
    if body.modal is not None:
        for frequency, kind in zip(body.modal.frequency_hz, body.modal.kind, strict=True):
            modes.append({"frequency_hz": float(frequency), "kind": str(kind).rpartition("mostly ")[2]})
    return {
        "name": body.name,
        "kind": body.kind,
        "colour": list(body.colour),
        "size": body.size,
        "n_modes": n_modes,
        "modes": modes,
        "mesh": mesh,
        "position": arrays.put(body.position),
        "quaternion": arrays.put(body.quaternion),
        "q": arrays.put(body.q),
        "static": arrays.put(body.stress_q[:, felt][:, body.q.shape[1] :]),
    }


def felt_stresses(body: SceneBody) -> Any:
    """Numbers of the modes, and of those static stresses that anyone could see in the colours."""
    nf = body.q.shape[1]
    if body.stress is None or body.stress_q.shape[1] == nf:
        return np.arange(nf)
    sizes = np.abs(body.stress_q).max(axis=0) * np.abs(body.stress).max(axis=(1, 2))
    seen = np.flatnonzero(sizes[nf:] > UNSEEN * sizes.max()) + nf
    return np.concatenate([np.arange(nf), seen])


def _joint(joint: SceneJoint, arrays: Arrays) -> dict[str, Any]:
    return {
        "name": joint.name,
        "type": joint.type,
        "body": joint.body,
        "place": joint.place.tolist(),
        "rotation": joint.rotation.ravel().tolist(),
        "Phi": None if joint.Phi is None else joint.Phi.tolist(),
        "mesh": _mesh(joint, arrays),
    }


def _arrow(arrow: Arrow, arrays: Arrays) -> dict[str, Any]:
    return {
        "name": arrow.name,
        "body": arrow.body,
        "place": arrow.place.tolist(),
        "Phi": None if arrow.Phi is None else arrow.Phi.tolist(),
        "force": arrays.put(arrow.force),
    }


def _system_mode(mode: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    return mode | {"bodies": [arrays.put(shape) for shape in mode["bodies"]]}


def assemble(title: str, tree: dict[str, Any], arrays: Arrays) -> str:
    """Put everything into the template."""
    parts = {
        "title": html.escape(title),
        "version": __version__,
        "style": web_file("style.css"),
        "scene": inline_json(tree),
        "arrays": arrays.text(),
        "script": script(MODULES),
        **{f"shader_{name}": web_file(path) for name, path in SHADERS.items()},
    }
    return fill(web_file("page.html"), parts)


def web_file(name: str) -> str:
    return files("flexmbs.post").joinpath("web", name).read_text(encoding="utf-8")


def fill(template: str, parts: dict[str, str]) -> str:
    """Replace `{{name}}` once each; what is put in is not looked at again."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found.group(1)], template)


def inline_json(tree: Any) -> str:
    """JSON that cannot end its script element."""
    return json.dumps(tree, separators=(",", ":"), default=lambda value: value.tolist()).replace(
        "<", "\\u003c"
    )


def script(modules: Sequence[str]) -> str:
    """The modules as one script: their imports and exports resolved by putting them one after the other."""
    texts = []
    for name in modules:
        text = re.sub(r"^import\s[^;]*;\n", "", web_file(f"{name}.js"), flags=re.MULTILINE)
        texts.append(re.sub(r"^export\s+", "", text, flags=re.MULTILINE))
    return '(() => {\n"use strict";\n' + "\n".join(texts) + "})();"


def write_page(path: str | Path, text: str) -> int:
    """Write a page whole or not at all; returns its size in bytes."""
    data = text.encode("utf-8")
    with atomic_file(Path(path), overwrite=True) as raw:
        raw.write(data)
    return len(data)
