"""A result, or modal data, as things to draw: bodies with their motion, joints, extent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import InputError
from flexmbs.modaldata import ModalData
from flexmbs.post.arrows import Arrow, arrows_of
from flexmbs.post.modals import body_modal
from flexmbs.post.places import frame_of, inertia_matrix, numbers, rotation_of, up_axis
from flexmbs.post.record import Floats, Record, table
from flexmbs.post.skin import MAX_VERTICES, Skin, skin_of
from flexmbs.post.static_part import static_amounts
from flexmbs.post.visuals import TriMesh, bar, inertia_ellipsoid, joined, joint_symbol, sphere, visual_mesh
from flexmbs.spatial import quat_to_matrix, shortest_rotation

COLOURS = (
    (0.36, 0.55, 0.78), (0.80, 0.52, 0.32), (0.45, 0.66, 0.46), (0.72, 0.42, 0.52), (0.55, 0.48, 0.74),
    (0.40, 0.66, 0.70), (0.74, 0.66, 0.38), (0.58, 0.60, 0.64),
)  # fmt: skip


@dataclass(frozen=True)
class SceneBody:
    """One body: mesh in body axes and its motion; `skin` and `q` (time, mode) where it is flexible.

    static : (time, shape), amounts of the static stresses that the modes miss (F53)
    nodes : numbers of the points in a mesh of cells
    """

    name: str
    kind: str
    mesh: TriMesh
    position: Floats
    quaternion: Floats
    q: Floats
    colour: tuple[float, float, float]
    skin: Skin | None = None
    modal: ModalData | None = None
    static: Floats | None = None
    nodes: Any = None

    def samples(self, pick: Any) -> SceneBody:
        """The body at chosen samples alone."""
        names = ("position", "quaternion", "q", "static")
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return replace(self, **{name: values[pick] for name, values in found.items()})

    @cached_property
    def stress(self) -> Floats | None:
        """Stresses (mode and shape, point, 6) that belong to `stress_q`; None where there are none."""
        if self.skin is None or self.skin.stress is None or self.static is None or self.skin.static is None:
            return None if self.skin is None else self.skin.stress
        return np.concatenate([self.skin.stress, self.skin.static[: self.static.shape[1]]])

    @cached_property
    def stress_q(self) -> Floats:
        """(time, mode and shape): elastic coordinates, then amounts of the static stresses."""
        return self.q if self.static is None else np.hstack([self.q, self.static])

    @property
    def size(self) -> float:
        """Diagonal of its box at rest."""
        return float(np.linalg.norm(np.ptp(self.mesh.points, axis=0)))

    def points_at(self, k: int, scale: float = 1.0) -> Floats:
        """Points of the mesh in ground at sample k, `r + A (u0 + scale S q)` (F1)."""
        u = self.mesh.points
        if self.skin is not None and self.q.shape[1]:
            u = u + scale * np.tensordot(self.q[k], self.skin.Phi, axes=1)
        return u @ quat_to_matrix(self.quaternion[k]).T + self.position[k]


@dataclass(frozen=True)
class SceneJoint:
    """Symbol of a joint at marker Q, which sits on body number `body` (-1: ground) and moves with Phi q."""

    name: str
    type: str
    body: int
    place: Floats
    rotation: Floats
    mesh: TriMesh
    Phi: Floats | None = None


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn; `notes` say in words what the picture leaves out."""

    title: str
    time: Floats
    bodies: list[SceneBody]
    joints: list[SceneJoint] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    up: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    notes: list[str] = field(default_factory=list)
    at_rest: bool = False  # a body without a run, whose modes are the thing to see

    def outermost(self, samples: int = 60) -> Floats:
        """Points (n, 3) of all bodies at all times that lie furthest out, in many directions."""
        chosen = np.unique(np.linspace(0, len(self.time) - 1, min(samples, len(self.time))).astype(int))
        directions = _directions(128)
        best, found = np.full(len(directions), -np.inf), np.zeros((len(directions), 3))
        for body in self.bodies:
            points = extreme_points(body.mesh.points, directions)
            for k in chosen if len(points) else ():
                placed = points @ quat_to_matrix(body.quaternion[k]).T + body.position[k]
                reach = placed @ directions.T
                further = reach.max(axis=0) > best
                best = np.maximum(best, reach.max(axis=0))
                found[further] = placed[reach.argmax(axis=0)[further]]
        if not np.isfinite(best).all():
            return np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
        return np.unique(found, axis=0)

    def box(self) -> tuple[Floats, Floats]:
        """Corners of a box about everything at all times."""
        points = self.outermost()
        return points.min(axis=0), points.max(axis=0)

    def radius(self) -> float:
        """Half the diagonal of that box; 1 where everything is one point."""
        low, high = self.box()
        return float(0.5 * np.linalg.norm(high - low)) or 1.0

    def at(self, k: int) -> Scene:
        """The scene at sample k alone."""
        return self.samples(slice(k, k + 1))

    def samples(self, pick: Any) -> Scene:
        bodies = [body.samples(pick) for body in self.bodies]
        arrows = [arrow.samples(pick) for arrow in self.arrows]
        return replace(self, time=self.time[pick], bodies=bodies, arrows=arrows)

    def thinned(self, limit: int) -> Scene:
        """At most `limit` samples, evenly chosen, first and last kept."""
        if len(self.time) <= limit:
            return self
        pick = np.unique(np.linspace(0, len(self.time) - 1, limit).round().astype(int))
        note = f"{len(pick)} of {len(self.time)} samples"
        return replace(self.samples(pick), notes=[*self.notes, note])


def _directions(count: int) -> Floats:
    """Unit vectors (count + 6, 3): the axes, and a spiral that covers the sphere evenly."""
    z = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
    spiral = np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1) * np.sqrt(1.0 - z**2)[:, None]
    spiral[:, 2] = z
    return np.concatenate([np.eye(3), -np.eye(3), spiral])


def extreme_points(points: Floats, directions: Floats) -> Floats:
    """The points that lie furthest out in the directions."""
    return points[np.unique((points @ directions.T).argmax(axis=0))] if len(points) else points


def result_scene(
    record: Record, modal: Mapping[str, str | Path] | None = None, limit: int = MAX_VERTICES
) -> Scene:
    """Scene of a result. `modal`: files of modal data that have moved; `limit`: points per skin."""
    notes: list[str] = []
    bodies = []
    modals = {name: body_modal(record, name, modal or {}, notes) for name in record.flexible}
    for k, name in enumerate(record.bodies):
        colour = body_colour(record, name, COLOURS[k % len(COLOURS)])
        body = _body(record, name, modals.get(name), colour, limit, notes)
        if body.skin is not None and body.skin.static is not None:
            amounts = static_amounts(record, name, modals, notes)
            body = replace(body, static=amounts[:, : len(body.skin.static)])
        bodies.append(body)
    scene = Scene(record.title, record.time, bodies, notes=notes, up=up_axis(record.case.get("gravity")))
    smallest = 0.02 * _extent(scene)
    bodies = [
        b if len(b.mesh.points) else replace(b, mesh=_stand_in(record, b.name, smallest)) for b in bodies
    ]
    joints = [
        found for name in table(record.case, "joints") if (found := _joint(record, name, bodies, smallest))
    ]
    return replace(scene, bodies=bodies, joints=joints, arrows=arrows_of(record, bodies, joints, notes))


def _extent(scene: Scene) -> float:
    """Size of the scene before bodies without a visual have a mesh: their origins count too."""
    low, high = (
        scene.box() if any(len(body.mesh.points) for body in scene.bodies) else (np.zeros(3), np.zeros(3))
    )
    places = [body.position for body in scene.bodies]
    low = np.minimum(low, np.min([p.min(axis=0) for p in places], axis=0, initial=np.inf)) if places else low
    high = (
        np.maximum(high, np.max([p.max(axis=0) for p in places], axis=0, initial=-np.inf)) if places else high
    )
    return float(0.5 * np.linalg.norm(high - low)) or 1.0


def modal_scene(modal: ModalData, title: str, limit: int = MAX_VERTICES) -> Scene:
    """Scene of one body at rest, to show its modes."""
    skin = skin_of(modal, limit)
    rest = np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, modal.nf))
    body = SceneBody(title, "flexible", skin.mesh, *rest, COLOURS[0], skin, modal)
    return Scene(title, np.zeros(1), [body], notes=skin_notes(title, skin), at_rest=True)


def body_colour(record: Record, name: str, default: tuple[float, float, float]) -> tuple[float, float, float]:
    """Colour "#rrggbb" of the body's visual, else the default."""
    text = str(table(record.case, "bodies", name, "visual").get("color") or "")
    if not re.fullmatch("#[0-9a-fA-F]{6}", text):
        return default
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue


def skin_notes(name: str, skin: Skin) -> list[str]:
    if not skin.coarser:
        return []
    return [f"{name}: skin drawn with {skin.n_points} of {skin.n_full} points"]


def _body(
    record: Record, name: str, modal: ModalData | None, colour: Any, limit: int, notes: list[str]
) -> SceneBody:
    position = np.atleast_2d(record.require(f"bodies/{name}/position"))
    unturned = np.tile([1.0, 0.0, 0.0, 0.0], (len(position), 1))
    quaternion = np.atleast_2d(record.get(f"bodies/{name}/quaternion", unturned))
    if modal is not None:
        skin = skin_of(modal, limit)
        notes += skin_notes(name, skin)
        q = np.asarray(record.require(f"bodies/{name}/q"))
        return SceneBody(name, "flexible", skin.mesh, position, quaternion, q, colour, skin, modal)
    mesh = _visual(record, name, notes)
    kind = str(table(record.case, "bodies", name).get("type", "rigid"))
    return SceneBody(name, kind, mesh, position, quaternion, np.zeros((len(position), 0)), colour)


NOTHING = TriMesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64), np.zeros((0, 2), dtype=np.int64))


def _visual(record: Record, name: str, notes: list[str]) -> TriMesh:
    """Mesh of the body's `visual` tables; nothing where it has none."""
    visual = table(record.case, "bodies", name).get("visual")
    if not visual:
        return NOTHING

    def place_of(frame: str) -> Floats:
        return frame_of(record, name, frame)[0]

    try:
        own = [visual] if visual.get("shape") or visual.get("file") else []
        parts = [*own, *(visual.get("parts") or ())]
        return joined([visual_mesh(part, place_of, record.find_file) for part in parts]) if parts else NOTHING
    except (InputError, KeyError, TypeError, ValueError) as error:
        notes.append(f"{name}: its visual cannot be drawn ({error}); drawn by its inertia")
        return NOTHING


def _stand_in(record: Record, name: str, smallest: float) -> TriMesh:
    """Inertia ellipsoid with bars to the frames; a small ball where mass or inertia are not known.

    The ellipsoid is drawn smaller, in proportion, where it would reach further than the frames.
    """
    data = table(record.case, "bodies", name)
    com = np.asarray(data.get("com") or (0.0, 0.0, 0.0), dtype=float)
    frames = [frame_of(record, name, frame)[0] for frame in table(data, "frames")]
    bars = [bar(com, place, 0.4 * smallest) for place in frames if np.linalg.norm(place - com) > smallest]
    inertia, mass = inertia_matrix(data.get("inertia")), float(data.get("mass") or 0.0)
    if mass <= 0.0 or not np.any(inertia):
        return joined([sphere(smallest).moved(com), *bars])
    solid = inertia_ellipsoid(mass, com, inertia, 0.3 * smallest)
    reach = max((float(np.linalg.norm(place - com)) for place in frames), default=0.0)
    size = float(np.linalg.norm(solid.points - com, axis=1).max())
    if bars and size > 0.3 * reach:
        solid = TriMesh(com + 0.3 * reach / size * (solid.points - com), solid.triangles, solid.edges)
    return joined([solid, *bars])


def _joint(record: Record, name: str, bodies: list[SceneBody], size: float) -> SceneJoint | None:
    """Symbol at marker Q; None for a free joint, which is nothing to see."""
    data = table(record.case, "joints", name)
    kind = str(data.get("type", ""))
    names = [body.name for body in bodies]
    for side in ("to", "from"):
        body, _, frame = str(data.get(side) or "").partition(".")
        if kind == "free" or body not in (*names, "ground"):
            continue
        number = names.index(body) if body in names else -1
        modal = bodies[number].modal if number >= 0 else None
        place, rotation, Phi = frame_of(record, body, frame, modal)
        if data.get("point") is not None:  # given in ground, all bodies at their poses
            pose = table(record.case, "bodies", body, "pose")
            rotation = rotation_of(pose.get("rot")).T
            place = rotation @ (numbers(data["point"]) - numbers(pose.get("pos")))
        if data.get("axis") is not None:
            rotation = rotation @ shortest_rotation(data["axis"])
        return SceneJoint(name, kind, number, place, rotation, joint_symbol(kind, 1.7 * size), Phi)
    return None
