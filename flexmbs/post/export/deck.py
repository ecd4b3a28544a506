"""Flexible body at one sample -> deck for CalculiX or Abaqus: mesh, material, loads in equilibrium."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from flexmbs import __version__
from flexmbs.disk import atomic_file
from flexmbs.errors import Diagnostic, InputError, UsageError
from flexmbs.modal.ties import rigid_field
from flexmbs.modaldata import ModalData
from flexmbs.post.export.loads import BodyLoads, body_loads
from flexmbs.post.export.thick import ELEMENTS, Thick, require_plain, thicken
from flexmbs.post.modals import body_modal, materials_of
from flexmbs.post.record import Floats, Record

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
        if "beam2" in wrong:
            remedy = "stresses of its beams under the same loads: flexmbs stress; decks hold: "
        raise InputError(Diagnostic("export.element", data.source, what, remedy + ", ".join(ELEMENTS)))
    require_plain(data.mesh, f'"{body}"')


def lines(record: Record, body: str, data: ModalData, loads: BodyLoads) -> Iterator[str]:
    """The deck, line by line."""
    deck = thicken(data.mesh)
    yield f"** {body} at t = {loads.time:.9g} s of {record.path.name}, by flexmbs {__version__}"
    yield "** SI units, body axes; inertia, gravity and the wrenches at the frames balance each other"
    yield f"** on the deformed body to {loads.imbalance:.1e}; levers moved by deformation, {loads.levers:.1e}"
    yield "** of the loads, are made up for by inertia forces, so that the body at rest is in equilibrium"
    if deck.fibres_of:
        yield "** shells are solids of their thickness, with numbers above those of the file"
    yield "*NODE, NSET=NALL"
    for number, (x, y, z) in zip(deck.number.tolist(), deck.points.tolist(), strict=True):
        yield f"{number}, {x:.12e}, {y:.12e}, {z:.12e}"
    reference = _references(deck, loads)
    for name, numbers in reference.items():
        x, y, z = data.interfaces[name].position if isinstance(name, str) else data.mesh.points[name]
        for number in numbers:
            yield f"{number}, {x:.12e}, {y:.12e}, {z:.12e}"
    yield from _elements(data, deck)
    yield from _materials(data)
    members = _followers(data, deck, reference)
    for name, (ref, rot) in reference.items():
        label = f"I_{name.upper()}" if isinstance(name, str) else f"FOLD_{data.mesh.node_number[name]}"
        yield f"*NSET, NSET={label}"
        yield from _rows(deck.number[members[name]].tolist())
        yield f"*RIGID BODY, NSET={label}, REF NODE={ref}, ROT NODE={rot}"
    held = {index for part in members.values() for index in part}
    yield from _equations(deck, held)
    yield "*BOUNDARY"
    free = np.ones(len(deck.points), dtype=bool)
    free[[*held, *(int(deck.place[node]) for node in deck.shared)]] = False
    for node, direction in supports(deck.points, free, data.source):
        yield f"{deck.number[node]}, {direction + 1}, {direction + 1}"
    yield "*STEP"
    yield "*STATIC"
    yield "*CLOAD"
    yield from _point_loads(deck, loads, reference)
    yield from ("*NODE FILE", "U, RF", "*EL FILE", "S", "*END STEP")


def _references(deck: Thick, loads: BodyLoads) -> dict[str | int, tuple[int, int]]:
    """Reference and rotation node of every rigid body: interfaces by name, nodes with several fibres."""
    names: list[str | int] = [*loads.rigid, *deck.joints]
    extra = int(deck.number.max(initial=0)) + 1
    return {name: (extra + 2 * k, extra + 2 * k + 1) for k, name in enumerate(names)}


def _followers(
    data: ModalData, deck: Thick, reference: dict[str | int, tuple[int, int]]
) -> dict[str | int, list[int]]:
    """Points of every rigid body; a node with several fibres on an interface belongs to that. Writes:
    reference."""
    found: dict[str | int, list[int]] = {}
    taken: set[int] = set()
    for name in list(reference):
        nodes = data.interfaces[name].nodes.tolist() if isinstance(name, str) else [name]
        if isinstance(name, int) and name in taken:
            del reference[name]
            continue
        taken.update(nodes)
        found[name] = [index for node in nodes for index in deck.followers(node)]
    return found


def _equations(deck: Thick, held: set[int]) -> Iterator[str]:
    """Nodes of solids on a surface of shells stay in it."""
    for node in deck.shared:
        own, fibre = int(deck.place[node]), deck.fibres_of[node][0]
        if own in held:
            continue
        ends = (deck.fibres.low[fibre], deck.fibres.high[fibre])
        for k in range(1, 4):
            yield from ("*EQUATION", "3")
            terms = [(own, 1.0), *zip(ends, [-share for share in deck.weights(fibre)], strict=True)]
            yield ", ".join(f"{deck.number[index]}, {k}, {value:.12e}" for index, value in terms)


def _rows(numbers: list[int], width: int = 12) -> Iterator[str]:
    for start in range(0, len(numbers), width):
        yield ", ".join(map(str, numbers[start : start + width])) + ","


def _elements(data: ModalData, deck: Thick) -> Iterator[str]:
    for kind, cells in deck.cells.items():
        yield f"*ELEMENT, TYPE={ELEMENTS[kind]}, ELSET=E_{kind.upper()}"
        for number, nodes in zip(
            data.mesh.cell_number[kind].tolist(), deck.number[cells].tolist(), strict=True
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


def supports(points: Floats, free: NDArray[np.bool_], source: str) -> list[tuple[int, int]]:
    """Six dofs (node, direction) that hold the rigid motions and nothing else, among `free` nodes."""
    nodes = np.flatnonzero(free)
    if len(nodes) < 3:
        raise InputError(Diagnostic("export.supports", source, "has no three nodes off its rigid interfaces"))
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


def _point_loads(
    deck: Thick, loads: BodyLoads, reference: Mapping[str | int, tuple[int, int]]
) -> Iterator[str]:
    nodal = loads.nodal.copy()
    for node in reference:  # of nodes with several fibres all goes to the rigid body
        if isinstance(node, int):
            nodal[node] = 0.0
    forces = deck.carry(nodal)
    for index, direction in zip(*np.nonzero(forces), strict=True):
        yield f"{deck.number[index]}, {direction + 1}, {forces[index, direction]:.12e}"
    for name, numbers in reference.items():
        if isinstance(name, int):
            parts = loads.nodal[name, :3], loads.nodal[name, 3:]
        else:
            parts = loads.rigid[name].force, loads.rigid[name].moment
        for number, values in zip(numbers, parts, strict=True):
            for direction, value in enumerate(values):
                if value != 0.0:
                    yield f"{number}, {direction + 1}, {value:.12e}"
