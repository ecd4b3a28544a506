"""Loads spread over a set of a mesh -> integrals over its shapes: what (F16) is for a density.

A density that keeps its direction in the body (pressure) has a constant force and modal load, and a moment
that is linear in q. A density that is the same everywhere on the set acts like one force at the mean place of
the set, whose rows are the mean of the shapes: a marker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, nearest
from flexmbs.expressions import Expression, Node
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.quadrature import gauss, mass_rule
from flexmbs.modal.areas import Pieces, set_faces
from flexmbs.modal.place import rows_on_beam
from flexmbs.model.forces.base import Number, PythonNumber

Array = NDArray[np.float64]
#: Gauss points along a beam
BEAM_POINTS = 5


class Samples:
    """Quadrature points of a set: nodes (n, k), shares (n, k, ...), places (n, 3), weights or normals."""

    def __init__(self, nodes: Any, shares: Array, places: Array, weights: Array) -> None:
        self.nodes, self.shares, self.places, self.weights = nodes, shares, places, weights


def face_samples(pieces: list[Pieces], points: Array) -> Iterator[Samples]:
    """Points of faces; `weights` are the outward area vectors n dA (n, 3)."""
    for part in pieces:
        for nodes, vectors in zip(part.nodes, part.vectors, strict=True):
            yield Samples(nodes, part.N, part.N @ points[nodes], vectors)


def cell_samples(mesh: Mesh, cells: dict[str, Any]) -> Iterator[Samples]:
    """Points of a set of solid cells; `weights` are volumes (n,)."""
    for kind, rows in cells.items():
        rule, element = mass_rule(kind, False), ELEMENTS[kind]
        N, dN = element.shape(rule.points), element.dshape(rule.points)
        for nodes in mesh.cells[kind][rows]:
            X = mesh.points[nodes]
            det = np.linalg.det(np.einsum("ni,pnj->pij", X, dN))
            yield Samples(nodes, N, N @ X, det * rule.weights)


def pressure_load(modal: Any, modes: Any, name: str, where: str) -> Array:
    """Load of unit pressure on faces, or shells: force, moment about the origin, by mode (moment, modal)."""
    mesh = modal.mesh
    pieces = set_faces(mesh, name)
    if not pieces:
        names = [*mesh.face_sets, *(item for item in mesh.cell_sets if set_faces(mesh, item))]
        raise no_set(where, name, names, "face set")
    Phi = modal.Phi[modes]
    total, by_mode = np.zeros(6), np.zeros((len(Phi), 4))
    for part in face_samples(pieces, mesh.points):
        traction = -part.weights  # positive pressure pushes against the outward normal
        shape = np.einsum("pn,anc->apc", part.shares, Phi[:, part.nodes])
        total[:3] += traction.sum(axis=0)
        total[3:] += np.cross(part.places, traction).sum(axis=0)
        by_mode[:, :3] += np.cross(shape, traction[None]).sum(axis=1)
        by_mode[:, 3] += np.einsum("apc,pc->a", shape, traction)
    return np.concatenate([total, by_mode.ravel()])


def mean_place(modal: Any, modes: Any, name: str, where: str) -> tuple[float, Array, Array]:
    """Size of a set (area, volume or length), its mean place (3,), and the mean of the shapes (3, nf)."""
    mesh, Phi = modal.mesh, modal.Phi[modes]
    size, place, rows = 0.0, np.zeros(3), np.zeros((3, len(Phi)))
    for part in _samples(mesh, name, where):
        if isinstance(part, tuple):
            weight, found = part
            U = np.concatenate([Phi[:, found.nodes], modal.Psi[modes][:, found.nodes]], axis=2)
            size += weight
            place += weight * found.position
            rows += weight * np.einsum("kna,mna->km", found.displacement, U)
            continue
        weights = np.linalg.norm(part.weights, axis=1) if part.weights.ndim == 2 else part.weights
        size += weights.sum()
        place += weights @ part.places
        rows += np.einsum("p,pn,anc->ca", weights, part.shares, Phi[:, part.nodes])
    return size, place / size, rows / size


def _samples(mesh: Mesh, name: str, where: str) -> Iterator[Any]:
    """Samples of a face set or of a cell set; of beams (weight, rows of the place)."""
    if name not in mesh.face_sets and name not in mesh.cell_sets:
        raise no_set(where, name, [*mesh.face_sets, *mesh.cell_sets], "face or cell set")
    yield from face_samples(set_faces(mesh, name), mesh.points)
    rows = {} if name in mesh.face_sets else mesh.cell_sets[name]
    cells = {kind: part for kind, part in rows.items() if kind not in SHELLS}
    beams = cells.pop("beam2", ())
    yield from cell_samples(mesh, cells)
    x, w = gauss(BEAM_POINTS)
    for cell in beams:
        ends = mesh.points[mesh.cells["beam2"][cell]]
        length = float(np.linalg.norm(ends[1] - ends[0]))
        for xi, weight in zip(x, w, strict=True):
            yield 0.5 * length * weight, rows_on_beam(mesh, int(cell), float(xi))


def no_set(where: str, name: str, names: list[str], kind: str) -> InputError:
    return InputError(
        Diagnostic("force.no_set", where, f'there is no {kind} "{name}" in this body', nearest(name, names))
    )


def scaled(number: Number, factor: float) -> Number:
    """A number of a law times a constant."""
    if isinstance(number, Expression):
        tree = Node("mul", (number.tree, Node("const", value=factor)))
        return replace(number, tree=tree)
    if isinstance(number, PythonNumber):
        function = number.function
        return replace(number, function=lambda *args: factor * float(function(*args)))
    return factor * float(number)
