"""Shells of a mesh -> solids of their thickness, for decks: two nodes across for each node of a surface.

Shells of CalculiX become such solids too, but rigid sets and equations of theirs do not hold rotations
(2.20), and moments on them make their place rigid. Nodes at folds and steps of the thickness have several
fibres, and become rigid bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.elements import ELEMENTS as CELLS
from flexmbs.fe.elements import SHELLS
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.shells.sections import SHEAR_FACTOR, ShellSection
from flexmbs.fe.shells.strains import directors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: names of our elements in Abaqus, which orders their nodes as VTK does; shells by their solids
ELEMENTS = {
    "tet4": "C3D4",
    "tet10": "C3D10",
    "hex8": "C3D8I",
    "hex8-plain": "C3D8",
    "hex20": "C3D20",
    "wedge6": "C3D6",
    "wedge6-plain": "C3D6",
    "wedge15": "C3D15",
    "tri3": "C3D6",
    "tri6": "C3D15",
    "quad4": "C3D8I",
    "quad8": "C3D20R",
    "quad9": "C3D20R",
}
SIDE = np.array([1.0, 0.618, 0.382])  # what points this way is up
SAME = 1e-6  # of the size of the body: fibres closer than this are one
TURNS = 1e-9  # of the moments: turning about a fibre above this is carried by the nodes around


@dataclass(frozen=True)
class Fibres:
    """Lines across the shells: of node `node` (n,), from middle - half to middle + half (n, 3).

    low, high, mid (n,) : their places among the points, mid -1 where there is none
    """

    node: Ints
    middle: Floats
    half: Floats
    low: Ints
    high: Ints
    mid: Ints

    def members(self, fibre: int) -> list[int]:
        ends = [int(self.low[fibre]), int(self.high[fibre]), int(self.mid[fibre])]
        return [index for index in ends if index >= 0]


@dataclass(frozen=True)
class Thick:
    """What stands in a deck for a mesh.

    points (n, 3), number (n,) : its nodes;  cells : cell type of the mesh -> nodes of its solids
    place (n_nodes,) : of the nodes of the mesh that solids use, else -1
    fibres_of : node of the mesh -> its fibres
    """

    mesh: Mesh
    points: Floats
    number: Ints
    cells: dict[str, Ints]
    place: Ints
    fibres: Fibres
    fibres_of: dict[int, list[int]] = field(default_factory=dict)

    def followers(self, node: int) -> list[int]:
        """All points of a node of the mesh."""
        own = [int(self.place[node])] if self.place[node] >= 0 else []
        return own + [index for fibre in self.fibres_of.get(node, []) for index in self.fibres.members(fibre)]

    @property
    def joints(self) -> list[int]:
        """Nodes of the mesh where several fibres meet."""
        return [node for node, fibres in self.fibres_of.items() if len(fibres) > 1]

    @property
    def shared(self) -> list[int]:
        """Nodes of one fibre that solids have too: they stay in the middle of it."""
        found = [node for node, fibres in self.fibres_of.items() if len(fibres) == 1]
        return [node for node in found if self.place[node] >= 0]

    def weights(self, fibre: int) -> tuple[float, float]:
        """Shares of the low and the high end in the motion of the node."""
        half = self.fibres.half[fibre]
        arm = self.mesh.points[self.fibres.node[fibre]] - self.fibres.middle[fibre]
        height = float(arm @ half) / float(half @ half)
        return 0.5 * (1.0 - height), 0.5 * (1.0 + height)

    def carry(self, nodal: Floats) -> Floats:
        """Forces (n, 3) on the points out of loads (n_nodes, 3 or 6) on the nodes; their resultants stay."""
        forces = np.zeros((len(self.points), 3))
        solid = self.place >= 0
        solid[list(self.fibres_of)] = False
        np.add.at(forces, self.place[solid], nodal[solid, :3])
        moments = nodal[:, 3:] if nodal.shape[1] == 6 else np.zeros_like(nodal)
        largest = float(np.abs(moments).max(initial=0.0))
        for node, fibres in self.fibres_of.items():
            self._on_fibre(fibres[0], nodal[node, :3], moments[node], largest, forces)
        for node in self._centres():  # of quad9, which has no place in a solid: its neighbours take part
            self._on_cell(node, nodal[node, :3], moments[node], forces)
        return forces

    def _on_fibre(self, fibre: int, force: Floats, moment: Floats, largest: float, forces: Floats) -> None:
        ends = self.fibres.low[fibre], self.fibres.high[fibre]
        half = self.fibres.half[fibre]
        couple = 0.5 * np.cross(moment, half) / float(half @ half)
        for end, share, sign in zip(ends, self.weights(fibre), (-1.0, 1.0), strict=True):
            forces[end] += share * force + sign * couple
        along = half * float(moment @ half) / float(half @ half)
        if np.abs(along).max() > TURNS * largest:
            self._on_cell(int(self.fibres.node[fibre]), np.zeros(3), along, forces)

    def _on_cell(self, node: int, force: Floats, moment: Floats, forces: Floats) -> None:
        """Spread over the fibres of a cell around a node as by a rigid body on springs. Writes: forces."""
        kind, cell = next(
            (kind, int(np.nonzero(rows == node)[0][0]))
            for kind, rows in self.mesh.cells.items()
            if kind in SHELLS and (rows == node).any()
        )
        row = self.cells[kind][cell]
        arm = self.points[row] - self.points[row].mean(axis=0)
        J = np.sum(arm * arm) * np.eye(3) - arm.T @ arm
        lever = np.cross(self.mesh.points[node] - self.points[row].mean(axis=0), force)
        forces[row] += force / len(row) + np.cross(np.linalg.solve(J, moment + lever), arm)

    def _centres(self) -> list[int]:
        rows = self.mesh.cells.get("quad9", np.zeros((0, 9), dtype=np.int64))
        return rows[:, 8].tolist()


def thicken(mesh: Mesh) -> Thick:
    """Solids of a mesh as they are, shells by solids of their thickness."""
    kinds = [kind for kind, rows in mesh.cells.items() if kind in SHELLS and len(rows)]
    solids = {kind: rows for kind, rows in mesh.cells.items() if kind not in SHELLS and len(rows)}
    used = np.unique(np.concatenate([np.zeros(0, np.int64), *(rows.ravel() for rows in solids.values())]))
    place = np.full(mesh.n_nodes, -1, dtype=np.int64)
    place[used] = np.arange(len(used))
    cells = {kind: place[rows] for kind, rows in solids.items()}
    if not kinds:
        none = np.zeros(0, dtype=np.int64)
        fibres = Fibres(none, np.zeros((0, 3)), np.zeros((0, 3)), none, none, none)
        return Thick(mesh, mesh.points[used], mesh.node_number[used], cells, place, fibres)
    node, middle, half, fibre_of, side = _fibres(mesh, kinds)
    corner = np.zeros(len(node), dtype=bool)
    for kind in kinds:
        if CELLS[kind].order == 2:
            corner[fibre_of[kind][:, : CELLS[kind].n_corners]] = True
    n, start = len(node), len(used)
    low, high = start + np.arange(n), start + n + np.arange(n)
    mid = np.where(corner, start + 2 * n + np.cumsum(corner) - 1, -1)
    fibres = Fibres(node, middle, half, low, high, mid)
    points = np.concatenate([mesh.points[used], middle - half, middle + half, middle[corner]])
    new = int(mesh.node_number.max()) + 1 + np.arange(len(points) - start)
    number = np.concatenate([mesh.node_number[used], new])
    for kind in kinds:
        cells[kind] = _solid(kind, fibres, fibre_of[kind], side[kind])
    fibres_of: dict[int, list[int]] = {}
    for index, owner in enumerate(node.tolist()):
        fibres_of.setdefault(owner, []).append(index)
    return Thick(mesh, points, number, cells, place, fibres, fibres_of)


def _fibres(
    mesh: Mesh, kinds: list[str]
) -> tuple[Ints, Floats, Floats, dict[str, Ints], dict[str, NDArray[np.bool_]]]:
    """Node, middle, half of every fibre; of the nodes of every cell its number and whether it points up."""
    assert mesh.shell is not None
    all_directors, tables, sides = directors(mesh, kinds), [], {}
    thickness = np.array([section.thickness for section in mesh.shell.sections])
    offset = np.array([section.offset for section in mesh.shell.sections])
    for kind in kinds:
        n = min(CELLS[kind].n_nodes, 8)
        rows, D, which = mesh.cells[kind][:, :n], all_directors[kind][:, :n], mesh.shell.index[kind]
        half, shift = 0.5 * thickness[which, None, None] * D, offset[which, None, None] * D
        sides[kind] = half @ SIDE > 0.0
        half = np.where(sides[kind][..., None], half, -half)
        tables.append(np.concatenate([rows[..., None], shift, half], axis=2).reshape(-1, 7))
    table = np.concatenate(tables)
    key = table.copy()
    key[:, 1:] = np.round(table[:, 1:] / (SAME * thickness.max())) + 0.0
    _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    node = table[first, 0].astype(np.int64)
    stops = np.cumsum([len(part) for part in tables])[:-1]
    parts = np.split(inverse.ravel(), stops)
    fibre_of = {kind: part.reshape(sides[kind].shape) for kind, part in zip(kinds, parts, strict=True)}
    return node, mesh.points[node] + table[first, 1:4], table[first, 4:], fibre_of, sides


def _solid(kind: str, fibres: Fibres, fibre: Ints, up: NDArray[np.bool_]) -> Ints:
    """Nodes of the solids: corners below, above, then, of quadratic ones, mid-nodes below, above, between."""
    below, above = (np.where(up == first, fibres.low[fibre], fibres.high[fibre]) for first in (True, False))
    n = CELLS[kind].n_corners
    parts = [below[:, :n], above[:, :n]]
    if CELLS[kind].order == 2:
        parts += [below[:, n:], above[:, n:], fibres.mid[fibre[:, :n]]]
    return np.concatenate(parts, axis=1)


def require_plain(mesh: Mesh, where: str) -> None:
    """An error for sections that no solid of one material is."""
    sections: tuple[ShellSection, ...] = () if mesh.shell is None else mesh.shell.sections
    for item in sections:
        plain = item.bending == 1.0 and abs(item.shear - SHEAR_FACTOR) < 1e-6
        if item.layers or item.stiffness or not plain:
            what = "has shells of " + (
                "several layers" if item.layers
                else "a stiffness of their own" if item.stiffness
                else "no bending stiffness (membranes)" if item.membrane
                else "a bending or shear stiffness beside that of their thickness"
            )  # fmt: skip
            remedy = (
                "a deck has solids of their thickness: stresses under the same loads are in flexmbs stress"
            )
            raise InputError(Diagnostic("export.section", where, what, remedy))
