"""Wrenches on a flexible body over time, as a result has them: reactions of joints, forces of the case.

A wrench acts at a frame of the body; force and moment (about the frame's origin, as deformed) in body axes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.modaldata import ModalData
from flexmbs.post.places import frame_of
from flexmbs.post.record import Floats, Record, table
from flexmbs.spatial import quat_to_matrix

Modals = Mapping[str, ModalData]


@dataclass(frozen=True)
class Wrench:
    """Force and moment (time, 3) at a frame of the body, whose `place` is that at rest."""

    name: str
    frame: str
    place: Floats
    force: Floats
    moment: Floats


@dataclass(frozen=True)
class Wrenches:
    """All wrenches at frames; `elsewhere` names the forces that act on the body in another way."""

    found: list[Wrench]
    elsewhere: list[str] = field(default_factory=list)


class Samples:
    """Histories of a result at chosen samples (slice or numbers)."""

    def __init__(self, record: Record, chosen: Any) -> None:
        self.record, self.chosen = record, chosen

    def take(self, path: str) -> Floats:
        return np.asarray(self.record.require(path), dtype=float)[self.chosen]

    def rotation(self, body: str) -> Floats:
        """Body to ground, (time, 3, 3)."""
        return np.array([quat_to_matrix(row) for row in self.take(f"bodies/{body}/quaternion")])

    def marker(self, body: str, frame: str, modal: ModalData | None) -> Floats:
        """Place in ground of a frame of any body, (time, 3)."""
        place, _, Phi = frame_of(self.record, body, frame, modal)
        count = len(self.take("time"))
        if body == "ground":
            return np.tile(place, (count, 1))
        moved = np.tile(place, (count, 1))
        if Phi is not None:
            moved = moved + self.take(f"bodies/{body}/q") @ Phi.T
        return np.einsum("tij,tj->ti", self.rotation(body), moved) + self.take(f"bodies/{body}/position")


def wrenches_on(record: Record, body: str, modals: Modals, chosen: Any = slice(None)) -> Wrenches:
    """All wrenches on a flexible body; `modals` of all flexible bodies, for their frames."""
    samples = Samples(record, chosen)
    joints = _of_joints(samples, body, modals)
    forces, elsewhere = _of_forces(samples, body, modals)
    return Wrenches([*joints, *forces], elsewhere)


def _of_joints(samples: Samples, body: str, modals: Modals) -> list[Wrench]:
    found = []
    for name, data in table(samples.record.case, "joints").items():
        ends = (str(data.get("from") or "ground"), str(data.get("to") or "ground"))
        path = f"joints/{name}/reaction"
        if body in (_split(ends[0])[0], _split(ends[1])[0]) and samples.record.has(path + "_force"):
            F, M = (samples.take(f"{path}_{kind}") for kind in ("force", "moment"))
            found += _on_side(samples, body, modals, f"joints.{name}", ends, F, M)
    return found


def _of_forces(samples: Samples, body: str, modals: Modals) -> tuple[list[Wrench], list[str]]:
    found: list[Wrench] = []
    elsewhere = []
    for name, data in table(samples.record.case, "forces").items():
        on, kind = str(data.get("on") or data.get("to") or ""), str(data.get("type"))
        other = str(data.get("from") or "ground")
        if body not in (_split(on)[0], _split(other)[0]) or not samples.record.has(f"forces/{name}/force"):
            continue
        if kind == "distributed" or data.get("at") is not None or not _split(on)[1]:
            elsewhere.append(f"forces.{name}")
            continue
        F, M = (samples.take(f"forces/{name}/{kind}") for kind in ("force", "moment"))
        found += _on_side(samples, body, modals, f"forces.{name}", (other, on), F, M)
    return found, elsewhere


def _on_side(
    samples: Samples,
    body: str,
    modals: Modals,
    name: str,
    ends: tuple[str, str],
    force: Floats,
    moment: Floats,
) -> list[Wrench]:
    """Wrench at the origin of the `to` frame, and against it on the `from` side, as seen by `body`."""
    found = []
    places = [samples.marker(*_split(end), modals.get(_split(end)[0])) for end in ends]
    R = samples.rotation(body)
    for end, place, sign in ((ends[1], places[1], 1.0), (ends[0], places[0], -1.0)):
        owner, frame = _split(end)
        if owner != body:
            continue
        F = sign * force
        M = sign * moment + np.cross(places[1] - place, F)
        rest = frame_of(samples.record, body, frame, modals[body])[0]
        own = (np.einsum("tji,tj->ti", R, values) for values in (F, M))
        found.append(Wrench(name, frame, rest, *own))
    return found


def _split(path: str) -> tuple[str, str]:
    body, _, frame = path.partition(".")
    return body, frame
