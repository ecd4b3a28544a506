"""Scene -> binary glTF: bodies as nodes, modes as morph targets, q(t) as weights (opens in Blender)."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs import __version__
from flexmbs.disk import atomic_file
from flexmbs.post.animation.shapes import mode_title, swinging
from flexmbs.post.scene import Scene, SceneBody, SceneJoint
from flexmbs.spatial import quat_from_matrix, shortest_rotation

FLOAT, UINT = 5126, 5125
ARRAY_BUFFER, ELEMENT_BUFFER = 34962, 34963
MAX_SAMPLES = 3000
SWING = 24  # samples of one period when the modes of a body at rest are shown
JOINT_COLOUR = (0.93, 0.55, 0.13)


@dataclass
class Glb:
    """The JSON part of a glTF file and its one buffer."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    views: list[dict[str, Any]] = field(default_factory=list)
    accessors: list[dict[str, Any]] = field(default_factory=list)
    meshes: list[dict[str, Any]] = field(default_factory=list)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    materials: list[dict[str, Any]] = field(default_factory=list)
    animations: list[dict[str, Any]] = field(default_factory=list)

    def accessor(self, values: Any, form: str, target: int | None = None, limits: bool = False) -> int:
        """Store an array; returns the number of its accessor."""
        is_index = target == ELEMENT_BUFFER
        array = np.ascontiguousarray(values, dtype="<u4" if is_index else "<f4")
        view = {"buffer": 0, "byteOffset": self.size, "byteLength": array.nbytes}
        self.views.append(view | ({"target": target} if target else {}))
        data = array.tobytes()
        data += b"\0" * (-len(data) % 4)
        self.parts.append(data)
        self.size += len(data)
        count = array.size if form == "SCALAR" else len(array)
        item = {
            "bufferView": len(self.views) - 1,
            "componentType": UINT if is_index else FLOAT,
            "count": int(count),
            "type": form,
        }
        if limits:
            flat = array.reshape(count, -1)
            item |= {"min": flat.min(axis=0).tolist(), "max": flat.max(axis=0).tolist()}
        self.accessors.append(item)
        return len(self.accessors) - 1

    def mesh(self, thing: SceneBody | SceneJoint, colour: Any, scales: Any) -> int:
        """Mesh with one morph target per mode, each times its scale."""
        self.materials.append(
            {
                "name": thing.name,
                "doubleSided": True,
                "pbrMetallicRoughness": {
                    "baseColorFactor": [*map(float, colour), 1.0],
                    "metallicFactor": 0.1,
                    "roughnessFactor": 0.6,
                },
            }
        )
        primitive: dict[str, Any] = {
            "attributes": {"POSITION": self.accessor(thing.mesh.points, "VEC3", ARRAY_BUFFER, limits=True)},
            "indices": self.accessor(thing.mesh.triangles.ravel(), "SCALAR", ELEMENT_BUFFER),
            "material": len(self.materials) - 1,
        }
        mesh: dict[str, Any] = {"name": thing.name, "primitives": [primitive]}
        skin = getattr(thing, "skin", None)
        if skin is not None and len(skin.Phi):
            shapes = [s * Phi for s, Phi in zip(scales, skin.Phi, strict=True)]
            primitive["targets"] = [
                {"POSITION": self.accessor(shape, "VEC3", ARRAY_BUFFER, limits=True)} for shape in shapes
            ]
            mesh["weights"] = [0.0] * len(shapes)
            names = [f"mode {a + 1}" for a in range(len(shapes))]
            mesh["extras"] = {"targetNames": names, "modeScale": [float(s) for s in scales]}
        self.meshes.append(mesh)
        return len(self.meshes) - 1

    def animate(self, name: str, tracks: list[tuple[int, str, Any]], times: int) -> None:
        """An animation of tracks (node, path, values accessor)."""
        samplers = [{"input": times, "output": output, "interpolation": "LINEAR"} for _, _, output in tracks]
        channels = [
            {"sampler": k, "target": {"node": node, "path": path}} for k, (node, path, _) in enumerate(tracks)
        ]
        self.animations.append({"name": name, "samplers": samplers, "channels": channels})

    def bytes(self, root: list[int]) -> bytes:
        tree = {
            "asset": {"version": "2.0", "generator": f"flexmbs {__version__}"},
            "scene": 0,
            "scenes": [{"nodes": root}],
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": self.size}],
        } | ({"animations": self.animations} if self.animations else {})
        text = json.dumps(tree, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        blob = b"".join(self.parts)
        total = 12 + 8 + len(text) + 8 + len(blob)
        head = struct.pack("<4sII", b"glTF", 2, total)
        return (
            head
            + struct.pack("<I4s", len(text), b"JSON")
            + text
            + struct.pack("<I4s", len(blob), b"BIN\0")
            + blob
        )


def xyzw(quaternion: Any) -> Any:
    """Quaternion w x y z in glTF's order."""
    return np.roll(np.asarray(quaternion), -1, axis=-1)


def write_glb(path: str | Path, scene: Scene, modes: Sequence[dict[str, Any]] = ()) -> int:
    """Write the scene; returns the size in bytes. `modes` of a linearised system: an animation for each."""
    scene = scene.thinned(MAX_SAMPLES)
    glb = Glb()
    glb.nodes.append({"name": "scene", "rotation": upright(scene), "children": []})
    moving = len(scene.time) > 1
    tracks = []
    for body in scene.bodies:
        scales = mode_scales(body, moving)
        node = _body_node(glb, body, scales)
        if moving:
            tracks += _body_tracks(glb, node, body, scales)
    for joint in scene.joints:
        _joint_node(glb, joint)
    if moving:
        times = glb.accessor(scene.time - scene.time[0], "SCALAR", limits=True)
        glb.animate("motion", tracks, times)
    elif modes:
        _system_animations(glb, scene, list(modes))
    else:
        _mode_animations(glb, scene)
    data = glb.bytes([0])
    with atomic_file(Path(path), overwrite=True) as raw:
        raw.write(data)
    return len(data)


def upright(scene: Scene) -> list[float]:
    """Rotation that brings the scene's up to glTF's y."""
    R = shortest_rotation([0.0, 1.0, 0.0]) @ shortest_rotation(scene.up).T
    return [float(x) for x in xyzw(quat_from_matrix(R))]


def mode_scales(body: SceneBody, moving: bool) -> Any:
    """Scale per mode so that weights stay within -1 ... 1, as editors offer; q = weight * scale."""
    if body.skin is None:
        return np.zeros(0)
    if moving:
        largest = np.abs(body.q).max(axis=0)
        return np.where(largest > 0.0, largest, 1.0)
    return 0.08 * body.size / np.maximum(np.linalg.norm(body.skin.Phi, axis=2).max(axis=1), 1e-300)


def _body_node(glb: Glb, body: SceneBody, scales: Any) -> int:
    node: dict[str, Any] = {
        "name": body.name,
        "translation": body.position[0].tolist(),
        "rotation": xyzw(body.quaternion[0]).tolist(),
    }
    if len(body.mesh.triangles):
        node["mesh"] = glb.mesh(body, body.colour, scales)
    if len(scales):
        node["weights"] = (body.q[0] / scales).tolist()
    glb.nodes.append(node)
    glb.nodes[0]["children"].append(len(glb.nodes) - 1)
    return len(glb.nodes) - 1


def _body_tracks(glb: Glb, node: int, body: SceneBody, scales: Any) -> list[tuple[int, str, Any]]:
    tracks = [
        (node, "translation", glb.accessor(body.position, "VEC3")),
        (node, "rotation", glb.accessor(xyzw(body.quaternion), "VEC4")),
    ]
    if len(scales):
        tracks.append((node, "weights", glb.accessor((body.q / scales).ravel(), "SCALAR")))
    return tracks


def _joint_node(glb: Glb, joint: SceneJoint) -> None:
    """Symbol as a child of its body (or of the scene, on ground), at its undeformed place."""
    glb.nodes.append(
        {
            "name": joint.name,
            "translation": joint.place.tolist(),
            "rotation": xyzw(quat_from_matrix(joint.rotation)).tolist(),
            "mesh": glb.mesh(joint, JOINT_COLOUR, ()),
        }
    )
    owner = glb.nodes[joint.body + 1]  # node 0 is the scene, then the bodies in order
    owner.setdefault("children", []).append(len(glb.nodes) - 1)


def _mode_animations(glb: Glb, scene: Scene) -> None:
    """One animation per mode of each body, a full swing in two seconds."""
    phase = np.linspace(0.0, 2.0 * np.pi, SWING + 1)
    times = glb.accessor(phase / np.pi, "SCALAR", limits=True)
    for number, body in enumerate(scene.bodies):
        if body.skin is None or body.modal is None:
            continue
        n = len(body.skin.Phi)
        for a, frequency in enumerate(body.modal.frequency_hz):
            weights = np.zeros((len(phase), n))
            weights[:, a] = np.sin(phase)
            output = glb.accessor(weights.ravel(), "SCALAR")
            glb.animate(f"mode {a + 1}, {frequency:.4g} Hz", [(number + 1, "weights", output)], times)


def _system_animations(glb: Glb, scene: Scene, modes: list[dict[str, Any]]) -> None:
    """One animation per mode of the system, a full swing of all bodies in two seconds."""
    phase = np.linspace(0.0, 2.0 * np.pi, SWING + 1)
    times = glb.accessor(phase / np.pi, "SCALAR", limits=True)
    for k, mode in enumerate(modes):
        tracks = []
        for number, body in enumerate(swinging(scene, mode, phase).bodies):
            tracks += _body_tracks(glb, number + 1, body, mode_scales(scene.bodies[number], moving=False))
        glb.animate(mode_title(modes, k), tracks, times)
