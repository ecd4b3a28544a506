"""`flexmbs stress`: envelope, hot spots and histories of a flexible body, as text and HDF5."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, InputError
from flexmbs.modaldata import ModalData
from flexmbs.post.modals import body_modal
from flexmbs.post.record import Floats, Record
from flexmbs.post.skin import skin_of
from flexmbs.post.static_part import neighbours, static_amounts, static_shapes
from flexmbs.post.stress import (
    Envelope,
    Ints,
    envelope,
    hot_spots,
    principal,
    rainflow_counts,
    signed_von_mises,
    strain,
    von_mises,
)

#: what the number of a point counts
KINDS = {"nodes": "node", "cells": "cell", "fibres": "node"}


@dataclass(frozen=True)
class Recovery:
    """Stresses of one body at nodes, or at the centres of cells where the data are those of cells.

    q : (time, mode and shape), elastic coordinates and the amounts of the static stresses that the modes
    miss;  stress : (mode and shape, point, 6) that belong to them (F53)
    """

    body: str
    at: str
    time: Floats
    q: Floats
    places: Floats
    number: Ints
    stress: Floats
    envelope: Envelope
    spots: Ints
    material: dict[str, float] = field(default_factory=dict)
    n_modes: int = 0
    notes: list[str] = field(default_factory=list)

    def history(self, point: int, modes_alone: bool = False) -> Floats:
        """Stress (time, 6) at one point; of the modes alone, or with the static part that they miss."""
        used = slice(self.n_modes if modes_alone else None)
        return self.q[:, used] @ self.stress[used, point]

    def row(self, point: int, yield_stress: float | None = None) -> dict[str, Any]:
        """What is said of a point: its number, place, extremes and their times."""
        found = {
            "number": int(self.number[point]),
            "place": self.places[point].tolist(),
            "von_mises": float(self.envelope.value[0, point]),
            "time": float(self.time[self.envelope.sample[0, point]]),
            "max_principal": float(self.envelope.value[1, point]),
            "min_principal": float(self.envelope.value[2, point]),
        }
        if yield_stress is not None:
            size = found["von_mises"]
            found["safety"] = yield_stress / size if size > 0.0 else float("inf")
        return found


def recover(
    record: Record,
    body: str,
    *,
    modal: Mapping[str, str | Path | ModalData] | None = None,
    start: float | None = None,
    end: float | None = None,
    count: int = 10,
    apart: float | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> Recovery:
    """Envelope and hot spots of a flexible body over the samples between `start` and `end`.

    `count` hot spots, at least `apart` [m] from each other (default: a twentieth of the body).
    """
    record.require_body(body)
    notes: list[str] = []
    data = _with_stress(record, body, modal or {}, notes)
    inside = _samples(record, start, end)
    at, own, shapes, places, number = points_of(data, notes)
    q, stress = _terms(record, body, data, (own, shapes), modal or {}, inside, notes)
    found = envelope(q, stress, progress)
    gap = apart if apart is not None else 0.05 * float(np.linalg.norm(np.ptp(places, axis=0)))
    spots = hot_spots(found.von_mises, places, count, gap)
    material = next(iter(data.materials.values())) if len(data.materials) == 1 else {}
    return Recovery(
        body,
        at,
        record.time[inside],
        q,
        places,
        number,
        stress,
        found,
        spots,
        dict(material),
        data.nf,
        notes,
    )


def _with_stress(
    record: Record, body: str, given: Mapping[str, str | Path | ModalData], notes: list[str]
) -> ModalData:
    """Modal data of a body, which must be there and hold stress modes."""
    data = body_modal(record, body, given, notes)
    if data is None:
        remedy = "give it: --modal BODY=FILE"
        raise InputError(Diagnostic("stress.no_modal", record.path.name, notes[0], remedy))
    if data.stress is None or not data.stress.size:
        what = f'the modal data of "{body}" hold no stress modes'
        raise InputError(Diagnostic("stress.no_modes", data.source, what, "reduce again with --stress nodes"))
    return data


def _samples(record: Record, start: float | None, end: float | None) -> Any:
    """Which samples lie between two times; none is an error."""
    low, high = -np.inf if start is None else start, np.inf if end is None else end
    inside = (record.time >= low) & (record.time <= high)
    if not inside.any():
        what, remedy = f"no sample between {low:g} s and {high:g} s", f"it ends at {record.time[-1]:g} s"
        raise InputError(Diagnostic("stress.range", record.path.name, what, remedy))
    return inside


def _terms(
    record: Record,
    body: str,
    data: ModalData,
    known: tuple[Floats, Floats | None],
    given: Mapping[str, str | Path | ModalData],
    inside: Any,
    notes: list[str],
) -> tuple[Floats, Floats]:
    """Coordinates (time, term) and stresses (term, point, 6) of the modes and of what they miss (F53)."""
    modals = {body: data} | {name: body_modal(record, name, given, []) for name in neighbours(record, body)}
    q = np.ascontiguousarray(record.require(f"bodies/{body}/q")[inside])
    static, (own, shapes) = static_amounts(record, body, modals, notes, inside), known
    n = min(static.shape[1], 0 if shapes is None else len(shapes))
    if n < static.shape[1]:  # of files of earlier programs
        notes.append(f"{body}: stresses are those of the modes alone; reduce it again for the static part")
    if shapes is None:
        return q, own
    return np.hstack([q, static[:, :n]]), np.concatenate([own, shapes[:n]])


def points_of(data: ModalData, notes: list[str]) -> tuple[str, Floats, Floats | None, Floats, Ints]:
    """What the points are, stress modes there (mode, point, 6), static shapes, places and numbers.

    Beams: the outline of their sections at the ends of the cells, shells: both faces, with the numbers of
    the nodes.
    """
    mesh = data.mesh
    assert data.stress is not None
    if mesh.turns and not mesh.drawn_only:
        skin = skin_of(data, limit=mesh.n_nodes)
        if skin.stress is not None:
            return "fibres", skin.stress, skin.static, skin.mesh.points, mesh.node_number[skin.nodes]
        notes.append("stresses of these beams and shells are means over their sections, without bending")
    shapes = static_shapes(data)
    if data.stress_at == "nodes":
        return "nodes", data.stress, shapes, mesh.points, mesh.node_number
    centres = [mesh.points[cells].mean(axis=1) for cells in mesh.cells.values()]
    numbers = np.concatenate([mesh.cell_number[kind] for kind in mesh.cells])
    return "cells", data.stress, shapes, np.concatenate(centres), numbers


def point_index(found: Recovery, number: int) -> int:
    """Index of a node (or cell) by its number in the mesh file; of fibres, that of the largest stress."""
    places = np.flatnonzero(found.number == number)
    if not len(places):
        kind = KINDS[found.at]
        what = f"there is no {kind} {number}"
        span = f"numbers run from {found.number.min()} to {found.number.max()}"
        raise InputError(Diagnostic("stress.no_point", found.body, what, span))
    return int(places[np.argmax(found.envelope.von_mises[places])])


def histories(found: Recovery, points: Sequence[int]) -> dict[str, dict[str, Floats]]:
    """Histories at points by their number: components, von Mises, signed, principal, strain where known."""
    tables = {}
    for point in points:
        sigma = found.history(point)
        values = {
            "stress": sigma,
            "von_mises": von_mises(sigma),
            "signed_von_mises": signed_von_mises(sigma),
            "principal": principal(sigma),
        }
        if found.material.get("E") and found.material.get("nu") is not None:
            values["strain"] = strain(sigma, float(found.material["E"]), float(found.material["nu"]))
        tables[str(int(found.number[point]))] = values
    return tables


def summary(
    found: Recovery, points: Sequence[int], yield_stress: float | None, rainflow: bool
) -> dict[str, Any]:
    """All that the command says, as plain data."""
    rows = [found.row(int(point), yield_stress) for point in found.spots]
    asked = [found.row(point, yield_stress) for point in points]
    done: dict[str, Any] = {
        "body": found.body,
        "at": found.at,
        "points": len(found.number),
        "samples": len(found.time),
        "hot_spots": rows,
        "asked": asked,
    }
    if len(found.stress) > found.n_modes and len(found.spots):
        hottest = int(found.spots[0])
        done["modes_alone"] = float(von_mises(found.history(hottest, modes_alone=True)).max())
    if found.notes:
        done["notes"] = found.notes
    if yield_stress is not None:
        largest = float(found.envelope.von_mises.max())
        done |= {"yield": yield_stress, "safety": yield_stress / largest if largest > 0.0 else float("inf")}
    if rainflow:
        chosen = points or found.spots[:1]
        done["rainflow"] = {
            str(int(found.number[p])): rainflow_counts(signed_von_mises(found.history(int(p))))
            for p in chosen
        }
    return done


def as_text(done: dict[str, Any]) -> str:
    """Tables for people, stresses in MPa, places in millimetres."""
    kind = KINDS[done["at"]]
    safety = "  safety" if "yield" in done else ""
    head = f"{kind:>9}         x         y         z  [mm]   von Mises   principal max ... min [MPa]"
    head += "    time [s]" + safety
    lines = [f"{done['body']}: {done['points']} {done['at']}, {done['samples']} samples; hot spots", head]
    lines += [_line(row) for row in done["hot_spots"]]
    if done["asked"]:
        lines += ["asked for", *(_line(row) for row in done["asked"])]
    if "modes_alone" in done:
        part = "with the static part that the modes miss (F53)"
        lines.append(f"{part}; the modes alone give {done['modes_alone'] / 1e6:.4g} MPa at the first place")
    lines += done.get("notes", [])
    if "yield" in done:
        lines.append(f"smallest safety against {done['yield'] / 1e6:.4g} MPa: {done['safety']:.3g}")
    for number, counts in done.get("rainflow", {}).items():
        lines.append(f"rainflow of the signed von Mises stress at {kind} {number}: range [MPa] x count")
        lines += [f"{size / 1e6:>12.5g} x {count:g}" for size, count in sorted(counts, reverse=True)[:20]]
    return "\n".join(lines)


def _line(row: dict[str, Any]) -> str:
    x, y, z = (1e3 * value for value in row["place"])
    text = (
        f"{row['number']:>9} {x:>9.2f} {y:>9.2f} {z:>9.2f}       {row['von_mises'] / 1e6:>10.4g}"
        f"   {row['max_principal'] / 1e6:>13.4g} ... {row['min_principal'] / 1e6:<10.4g} {row['time']:>10.5g}"
    )
    return text + (f"  {row['safety']:>6.3g}" if "safety" in row else "")
