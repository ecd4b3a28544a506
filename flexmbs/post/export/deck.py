"""Flexible body at one sample -> deck for CalculiX or Abaqus: mesh, material, loads in equilibrium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import qr

from flexmbs import __version__
from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.modal.ties import rigid_field
from flexmbs.modaldata import ModalData
from flexmbs.post.export.loads import BodyLoads, body_loads
from flexmbs.post.modals import body_modal, materials_of
from flexmbs.post.record import Record

#: names of our elements in Abaqus, which orders their nodes as VTK does
ELEMENTS = {
    "tet4": "C3D4",
    "tet10": "C3D10",
    "hex8": "C3D8I",
    "hex8-plain": "C3D8",
    "hex20": "C3D20",
    "wedge6": "C3D6",
    "wedge6-plain": "C3D6",
    "wedge15": "C3D15",
}
BALANCED = 1e-5  # of the loads: what is worse is said
LARGE = 1e-2  # moments of the loads over the displacements, of the loads: what is more is said


def is_deck(path: Path) -> bool:
    """Whether a file is a deck that was written here, and not somebody's mesh."""
    with open(path, "rb") as handle:
        return b"flexmbs" in handle.read(1000).split(b"*NODE")[0]


def write_deck(
    path: Path, record: Record, body: str | None, time: float | None, modal: Mapping[str, str | Path]
) -> dict[str, Any]:
    """Write the deck of a body at the sample nearest to `time`; says how well the loads balance."""
    body = _chosen(record, body)
    notes: list[str] = []
    data = body_modal(record, body, modal, notes)
    if data is None:
        raise InputError(
            Diagnostic("export.no_modal", record.path.name, notes[0], "give it: --modal BODY=FILE")
        )
    _check(data, body)
    t = record.time[-1] if time is None else time
    k = int(np.argmin(np.abs(record.time - t)))
    others = {name: body_modal(record, name, modal, notes) for name in record.flexible if name != body}
    known = {name: found for name, found in others.items() if found is not None}
    loads = body_loads(record, body, known | {body: data}, k)
    text = "\n".join(lines(record, body, data, loads)) + "\n"
    with atomic_file(path, overwrite=True, accept=is_deck) as raw:
        raw.write(text.encode("ascii", errors="replace"))
    done: dict[str, Any] = {
        "body": body,
        "time": loads.time,
        "imbalance": loads.imbalance,
        "levers": loads.levers,
        "wrenches": [
            {"of": w.name, "frame": w.frame, "force": w.force.tolist(), "moment": w.moment.tolist()}
            for w in loads.wrenches
        ],
    }
    if loads.imbalance > BALANCED:
        done["warning"] = f"the loads balance only to {loads.imbalance:.1e} of their size"
    elif loads.levers > LARGE:
        done["warning"] = (
            f"moments of the loads change by {loads.levers:.1e} of their size as the body deforms; "
            "inertia forces take that up, and a linear analysis is as wrong as that"
        )
    return done


def _chosen(record: Record, body: str | None) -> str:
    if body is None and len(record.flexible) == 1:
        return record.flexible[0]
    if body is None:
        what = "says not which body"
        choices = "--body " + " or ".join(record.flexible or ["..., but none is flexible"])
        raise UsageError(Diagnostic("export.body", "export .inp", what, choices))
    record.require_body(body)
    return body


def _check(data: ModalData, body: str) -> None:
    wrong = [kind for kind, rows in data.mesh.cells.items() if len(rows) and kind not in ELEMENTS]
    if wrong or not data.mesh.n_cells:
        what, remedy = f'the mesh of "{body}" holds {", ".join(wrong) or "no cells"}', "choices: "
        if data.mesh.turns:  # CalculiX makes solids of them, which take moments and rigid sets in another way
            remedy = "stresses of its beams and shells under the same loads: flexmbs stress; decks hold: "
        raise InputError(Diagnostic("export.element", data.source, what, remedy + ", ".join(ELEMENTS)))


def lines(record: Record, body: str, data: ModalData, loads: BodyLoads) -> Iterator[str]:
    """The deck, line by line."""
    mesh = data.mesh
    yield f"** {body} at t = {loads.time:.9g} s of {record.path.name}, by flexmbs {__version__}"
    yield "** SI units, body axes; inertia, gravity and the wrenches at the frames balance each other"
    yield f"** on the deformed body to {loads.imbalance:.1e}; levers moved by deformation, {loads.levers:.1e}"
    yield "** of the loads, are made up for by inertia forces, so that the body at rest is in equilibrium"
    yield "*NODE, NSET=NALL"
    for number, (x, y, z) in zip(mesh.node_number.tolist(), mesh.points.tolist(), strict=True):
        yield f"{number}, {x:.12e}, {y:.12e}, {z:.12e}"
    extra = int(mesh.node_number.max()) + 1
    reference = {name: (extra + 2 * k, extra + 2 * k + 1) for k, name in enumerate(loads.rigid)}
    for name, numbers in reference.items():
        x, y, z = data.interfaces[name].position
        for number in numbers:
            yield f"{number}, {x:.12e}, {y:.12e}, {z:.12e}"
    yield from _elements(data)
    yield from _materials(data)
    for name, (ref, rot) in reference.items():
        yield f"*NSET, NSET=I_{name.upper()}"
        yield from _rows(mesh.node_number[data.interfaces[name].nodes].tolist())
        yield f"*RIGID BODY, NSET=I_{name.upper()}, REF NODE={ref}, ROT NODE={rot}"
    yield "*BOUNDARY"
    for node, direction in supports(data, loads):
        yield f"{mesh.node_number[node]}, {direction + 1}, {direction + 1}"
    yield "*STEP"
    yield "*STATIC"
    yield "*CLOAD"
    yield from _point_loads(data, loads, reference)
    yield from ("*NODE FILE", "U, RF", "*EL FILE", "S", "*END STEP")


def _rows(numbers: list[int], width: int = 12) -> Iterator[str]:
    for start in range(0, len(numbers), width):
        yield ", ".join(map(str, numbers[start : start + width])) + ","


def _elements(data: ModalData) -> Iterator[str]:
    for kind, cells in data.mesh.cells.items():
        yield f"*ELEMENT, TYPE={ELEMENTS[kind]}, ELSET=E_{kind.upper()}"
        for number, nodes in zip(
            data.mesh.cell_number[kind].tolist(), data.mesh.node_number[cells].tolist(), strict=True
        ):
            words = [str(number), *map(str, nodes)]
            yield ", ".join(words[:15]) + ("," if len(words) > 15 else "")
            if len(words) > 15:
                yield ", ".join(words[15:])


def _materials(data: ModalData) -> Iterator[str]:
    """Materials, and the sections that give them to cell sets."""
    found = materials_of(data)
    taken: dict[str, np.ndarray] = {
        kind: np.zeros(len(rows), dtype=bool) for kind, rows in data.mesh.cells.items()
    }
    for number, (name, item) in enumerate(sorted(found.items(), key=lambda pair: pair[0] == "")):
        yield f"*MATERIAL, NAME=M{number + 1}"
        yield from ("*ELASTIC", f"{item.E:.12e}, {item.nu:.12e}", "*DENSITY", f"{item.rho:.12e}")
        yield f"*ELSET, ELSET=S{number + 1}"
        for kind, free in taken.items():
            rows = (
                data.mesh.cell_sets.get(name, {}).get(kind, np.zeros(0, dtype=int))
                if name
                else np.flatnonzero(~free)
            )
            free[rows] = True
            yield from _rows(data.mesh.cell_number[kind][rows].tolist())
        yield f"*SOLID SECTION, ELSET=S{number + 1}, MATERIAL=M{number + 1}"


def supports(data: ModalData, loads: BodyLoads) -> list[tuple[int, int]]:
    """Six dofs (node, direction) that hold the rigid motions and nothing else, away from rigid interfaces."""
    points = data.mesh.points
    free = data.mesh.used_nodes()
    for name in loads.rigid:
        free[data.interfaces[name].nodes] = False
    nodes = np.flatnonzero(free)
    if len(nodes) < 3:
        raise InputError(
            Diagnostic("export.supports", data.source, "has no three nodes off its rigid interfaces")
        )
    centre = points[nodes].mean(axis=0)
    first = nodes[np.argmax(np.linalg.norm(points[nodes] - centre, axis=1))]
    second = nodes[np.argmax(np.linalg.norm(points[nodes] - points[first], axis=1))]
    along = points[second] - points[first]
    third = nodes[np.argmax(np.linalg.norm(np.cross(points[nodes] - points[first], along), axis=1))]
    chosen = [first, second, third]
    length = float(np.linalg.norm(along))
    rows = rigid_field(points[chosen], 3, centre) * np.array([1, 1, 1, *[1 / length] * 3])
    _, _, order = qr(rows.T, pivoting=True, mode="economic")
    return [(int(chosen[k // 3]), int(k % 3)) for k in sorted(order[:6])]


def _point_loads(data: ModalData, loads: BodyLoads, reference: dict[str, tuple[int, int]]) -> Iterator[str]:
    numbers = data.mesh.node_number
    for node, direction in zip(*np.nonzero(loads.nodal), strict=True):
        yield f"{numbers[node]}, {direction + 1}, {loads.nodal[node, direction]:.12e}"
    for name, (ref, rot) in reference.items():
        item = loads.rigid[name]
        for number, values in ((ref, item.force), (rot, item.moment)):
            for direction, value in enumerate(values):
                if value != 0.0:
                    yield f"{number}, {direction + 1}, {value:.12e}"
