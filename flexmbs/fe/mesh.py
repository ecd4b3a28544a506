"""Mesh: nodes, cells and named sets, whatever file or shape they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError, known_fields, nearest
from flexmbs.fe.elements import ELEMENTS, SHELLS

if TYPE_CHECKING:
    from flexmbs.fe.beams import BeamData
    from flexmbs.fe.deck import Deck
    from flexmbs.fe.shells.sections import ShellData

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

CELL_TYPES = tuple(ELEMENTS)
SET_KINDS = ("node", "face", "cell")
FARTHEST = 1e9  # [m] coordinates beyond are damage, and would overflow in products


@dataclass(frozen=True)
class Mesh:
    """Nodes, cells and named sets, in metres and 0-based indices; checked by `fe.checks`, trusted elsewhere.

    points : (n_nodes, 3) [m];  node_number : (n_nodes,) numbers of the file, default 1, 2, ...
    cells : cell type -> (n, k) node indices, VTK order;  cell_number : cell type -> (n,), default 1, 2, ...
    node_sets : name -> sorted node indices
    face_sets : name -> cell type -> (n, 2) pairs (cell, local face of `ELEMENTS[cell_type].faces`)
    cell_sets : name -> cell type -> cell indices
    notes : warnings of the reader, reported with the checks
    deck : what a deck of another program says besides, in its own units
    axes : cell type -> (n, 3, 3) axes of the material of each cell (columns); none: those of the mesh
    stated_length : unit of length [m] that the file states; coordinates are not scaled by it yet
    """

    points: Floats
    cells: dict[str, Ints]
    node_number: Ints = None  # type: ignore[assignment]
    cell_number: dict[str, Ints] = None  # type: ignore[assignment]
    node_sets: dict[str, Ints] = field(default_factory=dict)
    face_sets: dict[str, dict[str, Ints]] = field(default_factory=dict)
    cell_sets: dict[str, dict[str, Ints]] = field(default_factory=dict)
    source: str = ""
    beam: BeamData | None = None
    shell: ShellData | None = None
    notes: tuple[Diagnostic, ...] = ()
    deck: Deck | None = None
    stated_length: float | None = None
    axes: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("points", np.ascontiguousarray(self.points, dtype=np.float64).reshape(-1, 3))
        put("cells", {kind: as_ints(rows) for kind, rows in self.cells.items()})
        if self.node_number is None:
            put("node_number", np.arange(1, len(self.points) + 1, dtype=np.int64))
        put("node_number", as_ints(self.node_number))
        if self.cell_number is None:
            put("cell_number", consecutive_numbers(self.cells))
        put("cell_number", {kind: as_ints(numbers) for kind, numbers in self.cell_number.items()})
        put("node_sets", {name: unique(as_ints(nodes)) for name, nodes in self.node_sets.items()})
        put("face_sets", {name: sorted_rows(rows) for name, rows in self.face_sets.items()})
        put("cell_sets", {name: sorted_rows(rows) for name, rows in self.cell_sets.items()})
        known_fields(self, "node_sets", "face_sets", "cell_sets")

    @property
    def n_nodes(self) -> int:
        return len(self.points)

    @property
    def n_cells(self) -> int:
        return sum(len(rows) for rows in self.cells.values())

    def cells_around(self) -> Ints:
        """Number of cells (n_nodes,) that each node has, at least 1."""
        nodes = np.concatenate([np.zeros(0, dtype=np.int64), *(rows.ravel() for rows in self.cells.values())])
        return np.maximum(np.bincount(nodes, minlength=self.n_nodes), 1)

    def first_cell(self, kind: str) -> int:
        """Number of the first cell of a type, among all cells in the order of `cells`."""
        return sum(len(self.cells[other]) for other in list(self.cells)[: list(self.cells).index(kind)])

    @property
    def turns(self) -> bool:
        """Whether it has cells whose nodes have rotations."""
        return any(ELEMENTS[kind].turns and len(rows) for kind, rows in self.cells.items())

    @property
    def drawn_only(self) -> list[str]:
        """Cell types of a surface that is only drawn: shells without sections."""
        return [
            kind for kind in self.cells if kind in SHELLS and self.shell is None and len(self.cells[kind])
        ]

    def turning_nodes(self) -> NDArray[np.bool_]:
        """Mask of the nodes that have rotations."""
        mask = np.zeros(self.n_nodes, dtype=bool)
        for kind, rows in self.cells.items():
            if kind == "beam2" and self.beam is not None:
                mask[rows[self.beam.turning()]] = True
            elif kind in SHELLS and self.shell is not None:
                mask[rows[self.shell.turning(kind)]] = True
            elif ELEMENTS[kind].turns:
                mask[rows] = True
        return mask

    @property
    def set_names(self) -> list[str]:
        """Names of all sets of any kind, sorted."""
        return sorted({*self.node_sets, *self.face_sets, *self.cell_sets})

    def set_kinds(self, name: str) -> list[str]:
        """Which of node, face, cell sets carry this name."""
        sets: tuple[Mapping[str, Any], ...] = (self.node_sets, self.face_sets, self.cell_sets)
        return [kind for kind, group in zip(SET_KINDS, sets, strict=True) if name in group]

    def require_set(self, name: str, where: str = "") -> None:
        """Raise with the nearest valid choice when no set of any kind has this name."""
        if not self.set_kinds(name):
            what = f'there is no set "{name}" in {self.source or "this mesh"}'
            raise InputError(
                Diagnostic("mesh.no_set", where or self.source or "mesh", what, nearest(name, self.set_names))
            )

    def node_set_of(self, name: str) -> Ints:
        """Sorted nodes of the set, of whatever kind; of face and cell sets with their mid-nodes.

        A name that is used for several kinds gives the faces first, then the nodes, then the cells:
        formats that know faces also write their nodes or the cells behind them.
        """
        self.require_set(name)
        if name in self.face_sets:
            return self.face_set_nodes(name)
        if name in self.node_sets:
            return self.node_sets[name]
        parts = [self.cells[kind][rows].ravel() for kind, rows in self.cell_sets[name].items()]
        return unique_ints(parts)

    def face_set_nodes(self, name: str) -> Ints:
        """Sorted nodes of a face set, mid-nodes included."""
        parts = [nodes.ravel() for nodes in self.face_nodes(self.face_sets[name])]
        return unique_ints(parts)

    def face_nodes(self, faces: Mapping[str, Ints]) -> list[Ints]:
        """Node rows (corners, then mid-nodes, outward) of faces, one array per number of nodes and type."""
        result = []
        for kind, rows in faces.items():
            for local, nodes in enumerate(ELEMENTS[kind].faces):
                chosen = rows[rows[:, 1] == local, 0]
                if len(chosen):
                    result.append(self.cells[kind][chosen][:, list(nodes)])
        return result

    def used_nodes(self) -> NDArray[np.bool_]:
        """Mask of the nodes that belong to a cell."""
        used = np.zeros(self.n_nodes, dtype=bool)
        for rows in self.cells.values():
            used[rows] = True
        return used

    def node_indices(self, numbers: Any, where: str = "mesh") -> Ints:
        """Indices of nodes by their numbers in the file; unknown numbers are an error."""
        wanted = np.atleast_1d(as_ints(numbers))
        order = np.argsort(self.node_number, kind="stable")
        place = np.searchsorted(self.node_number, wanted, sorter=order)
        place = np.minimum(place, max(self.n_nodes - 1, 0))
        found = order[place] if self.n_nodes else np.zeros(len(wanted), dtype=np.int64)
        bad = np.ones(len(wanted), dtype=bool) if not self.n_nodes else self.node_number[found] != wanted
        if bad.any():
            listed = ", ".join(str(number) for number in wanted[bad][:5])
            span = f"node numbers run from {self.node_number.min()} to {self.node_number.max()}"
            raise InputError(Diagnostic("mesh.no_node", where, f"there is no node {listed}", span))
        return found

    def components(self) -> Ints:
        """Component number per node, 0, 1, ... by first node; -1 for nodes without a cell."""
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        pairs = [
            np.stack([np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()])
            for rows in self.cells.values()
            if len(rows)
        ]
        label = np.full(self.n_nodes, -1, dtype=np.int64)
        if not pairs:
            return label
        i, j = np.concatenate(pairs, axis=1)
        graph = coo_matrix((np.ones(len(i), dtype=np.int8), (i, j)), shape=(self.n_nodes, self.n_nodes))
        _, found = connected_components(graph, directed=False)
        used = self.used_nodes()
        _, first, inverse = np.unique(found[used], return_index=True, return_inverse=True)
        label[used] = np.argsort(np.argsort(first))[inverse]
        return label

    def surface(self) -> Ints:
        """Skin triangles (tri, corner) for drawing, outward; quadratic faces are split at their mid-nodes."""
        from flexmbs.fe.skin import skin_faces, triangles_of_faces

        flat = [rows for kind, rows in self.cells.items() if kind in SHELLS]
        return triangles_of_faces(self.face_nodes(skin_faces(self)) + flat)

    def scaled(self, factor: float) -> Mesh:
        """The same mesh with all coordinates times `factor`, for meshes in millimetres; sections stay."""
        return replace(self, points=self.points * factor, stated_length=None)

    def with_sets(self, node_sets: Mapping[str, Ints]) -> Mesh:
        """The same mesh with further node sets."""
        return replace(self, node_sets={**self.node_sets, **node_sets})


def far_nodes(points: Floats) -> NDArray[np.bool_]:
    """Nodes whose coordinates are not finite, or beyond everything that can be a part."""
    return np.logical_not((np.abs(points) <= FARTHEST).all(axis=1))


def as_ints(values: Any) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)


def unique(values: Ints) -> Ints:
    """Sorted numbers without repeats; most sets are so already."""
    return values if values.ndim == 1 and (values[1:] > values[:-1]).all() else np.unique(values)


def unique_ints(parts: list[Ints]) -> Ints:
    return unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)


def consecutive_numbers(cells: Mapping[str, Ints]) -> dict[str, Ints]:
    """Numbers 1, 2, ... through all cell types, in their order."""
    numbers, start = {}, 1
    for kind, rows in cells.items():
        numbers[kind] = np.arange(start, start + len(rows), dtype=np.int64)
        start += len(rows)
    return numbers


def sorted_rows(rows: Mapping[str, Any]) -> dict[str, Ints]:
    """Unique sorted entries per cell type; types without an entry are left out."""
    parts = {kind: as_ints(part) for kind, part in rows.items() if len(part)}
    return {kind: unique(part) if part.ndim == 1 else np.unique(part, axis=0) for kind, part in parts.items()}
