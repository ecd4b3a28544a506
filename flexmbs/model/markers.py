"""Frames -> markers: where joints, forces and sensors touch a body (F18)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.ffrf.integrals import ShapeIntegrals, rigid_integrals, standing
from flexmbs.ffrf.marker import pack_rows
from flexmbs.ffrf.table import marker_stiffening
from flexmbs.model.band import above, damping_of_band
from flexmbs.model.bodies import GROUND, Body, FlexibleBody, Frame, Particle, RigidBody
from flexmbs.model.model import Model
from flexmbs.model.path import Path, path_through

Array = NDArray[np.float64]


def integrals_of(body: Body) -> ShapeIntegrals:
    """Inertia of a body: that of its modal data with the modes kept, or of a rigid body or particle."""
    if isinstance(body, FlexibleBody):
        whole = standing(body.modal.integrals) if body.modal.integrals.held else body.modal.integrals
        kept = whole if body.modes is None else whole.select(body.modes)
        own = kept if body.D_ff is None else kept.with_damping(body.D_ff)
        if np.isinf(body.band) or not above(body).any():
            return own
        return own.with_damping(own.D_ff + damping_of_band(body, own.K_ff))
    if isinstance(body, RigidBody):
        return rigid_integrals(body.mass, body.com, body.inertia)
    if isinstance(body, Particle):
        return rigid_integrals(body.mass, np.zeros(3), np.zeros((3, 3)))
    raise TypeError(f"{type(body).__name__} has no inertia")


@dataclass(eq=False)
class Marker:
    """A place on a body. `number` is its row in the tables, known once all markers are collected.

    `u0` (3,), `R0` (3, 3) body <- marker; `rows` six numbers per mode or None; `K_P` (6, nf, nf) of (F17a) or
    None; `travel`: three numbers or expressions of t when it travels, else None; `path`: its rows on the way
    through a flexible body.
    """

    body: str
    u0: Array
    R0: Array
    rows: Array | None = None
    K_P: Array | None = None
    travel: tuple[Any, ...] | None = None
    path: Path | None = None
    number: int = -1


@dataclass
class Markers:
    """Collects the markers of a model; the same frame gives the same marker."""

    model: Model
    bodies: list[str]
    found: dict[Any, Marker] = field(default_factory=dict)
    where: str = "model"
    loaded: frozenset[str] = frozenset()

    def end_loads(self) -> None:
        """All that joints, couplings and forces touch is found; what follows only looks."""
        self.loaded = frozenset(key[0] for key in self.found if isinstance(key, tuple))

    def rigid_for_nothing(self, body: FlexibleBody) -> list[str]:
        """Interfaces of a body that hold their nodes rigidly although nothing is attached to them."""
        return [
            name
            for name, face in body.modal.interfaces.items()
            if face.type == "rbe2" and len(face.nodes) > 1 and f"{body.name}.{name}" not in self.loaded
        ]

    def get(self, path: str, at: Frame | None = None, turn: Array | None = None) -> Marker:
        """Marker at `body` or `body.frame`, or at the further place `at` on it; axes turned by `turn`."""
        key = (path, id(at) if at is not None else None, None if turn is None else turn.tobytes())
        if key not in self.found:
            marker = self._make(path, at)
            if turn is not None:
                marker.R0 = marker.R0 @ turn
            self.found[key] = marker
        return self.found[key]

    def place(self, body: str, pos: Array, R0: Array) -> Marker:
        """Marker at a place of the undeformed body, given in the body frame."""
        if isinstance(self.model.bodies.get(body), FlexibleBody):
            marker = self._make(body, Frame(at=pos))
            marker.R0 = R0
        else:
            marker = Marker(body, np.asarray(pos, dtype=float), R0)
        self.found[id(marker)] = marker
        return marker

    def _make(self, path: str, at: Frame | None) -> Marker:
        body, name = self.model.split_frame(path)
        part = self.model.bodies.get(body)
        frames = self.model.ground_frames if body == GROUND else part.frames if part else {}
        if at is None and name in frames:
            at = frames[name]
        if isinstance(part, FlexibleBody):
            return self._flexible(part, name, at)
        if at is None:
            if name:
                raise self._unknown(path, list(frames))
            return Marker(body, np.zeros(3), np.eye(3))
        place = at.pos if at.at is None else at.at
        return _rigid(body, place, np.asarray(at.rot, dtype=float))

    def _flexible(self, body: FlexibleBody, name: str, at: Frame | None) -> Marker:
        modal = body.modal
        modes = slice(None) if body.modes is None else np.asarray(body.modes, dtype=np.int64)
        if at is not None:
            if at.node is not None:
                u0, Phi, Psi = modal.marker_rows(node=at.node)
            elif at.nearest is not None:
                u0, Phi, Psi = modal.marker_rows(nearest=np.asarray(at.nearest, dtype=float))
            else:
                place = at.pos if at.at is None else at.at
                if any(not isinstance(x, int | float | np.number) for x in place):
                    return _travelling(body, modes, place, at)
                u0, Phi, Psi = modal.marker_rows(at=np.asarray(place, dtype=float))
            rows = pack_rows(Phi[:, modes], Psi[:, modes])
            return Marker(body.name, u0, np.asarray(at.rot, dtype=float), rows)
        if not name:
            return Marker(body.name, np.zeros(3), np.eye(3))
        if name not in modal.interfaces:
            raise self._unknown(f"{body.name}.{name}", [*modal.interfaces, *body.frames])
        face = modal.interfaces[name]
        rows = pack_rows(face.Phi[:, modes], face.Psi[:, modes])
        stiffening = body.geometric_stiffening is not False
        K_P = marker_stiffening(integrals_of(body), name) if stiffening else None
        marker = Marker(
            body.name, np.asarray(face.position, float), np.asarray(face.rotation, float), rows, K_P
        )
        if not np.any(rows) and K_P is None:
            marker.rows = None  # clamped by a tangent frame: it does not move with the modes
        return marker

    def _unknown(self, path: str, names: list[str]) -> InputError:
        body, _, name = path.partition(".")
        return InputError(
            Diagnostic("frame.unknown", self.where, f'"{body}" has no frame "{name}"', nearest(name, names))
        )

    def finish(self) -> list[Marker]:
        """Number the markers by body; none can be added after this."""
        order = {name: k for k, name in enumerate(self.bodies)}
        markers = sorted(self.found.values(), key=lambda item: order[item.body])
        for number, marker in enumerate(markers):
            marker.number = number
        return markers


def _travelling(body: FlexibleBody, modes: Any, place: Any, at: Frame) -> Marker:
    """Marker that travels through a flexible body; its rows are written at every evaluation."""
    path = path_through(body.modal, modes, place, f"bodies.{body.name}")
    rows = np.full(path.coef.shape[2], np.nan)
    R0 = np.asarray(at.rot, dtype=float)
    return Marker(body.name, np.zeros(3), R0, rows, travel=tuple(place), path=path)


def _rigid(body: str, place: Any, R0: Array) -> Marker:
    """Marker of a body without modes; its place may hold expressions of t."""
    if all(isinstance(x, int | float | np.number) for x in place):
        return Marker(body, np.array([float(x) for x in place]), R0)
    return Marker(body, np.zeros(3), R0, travel=tuple(place))
