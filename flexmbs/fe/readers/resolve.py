"""RawMesh -> Mesh: numbers become indices, and everything is sorted by what it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostics
from flexmbs.fe.deck import Deck, refuse_unknown
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.mesh import Ints, Mesh, far_nodes
from flexmbs.fe.readers.raw import (
    FLAT,
    FREE_FACES,
    INCOMPLETE,
    LINES,
    SOLIDS,
    Block,
    Numbering,
    RawMesh,
    listed,
    members,
)
from flexmbs.fe.skin import as_face_set, match_faces, skin_faces

#: what shells need that come without a section
THICKNESS = 'shells need a thickness: mesh = { file = "FILE", thickness = "1 mm" } in a recipe'


def to_mesh(raw: RawMesh, path: Path, shells: bool = False, lines: Collection[str] = ()) -> Mesh:
    """Check numbers and references, and sort everything by what it is; all findings are reported together.

    `shells`: flat cells that are no face of a solid are cells themselves.
    `lines`: sets whose lines are beams.
    """
    return _Resolver(raw, str(path), shells, lines).mesh()


def halved_lines(raw: RawMesh, names: Collection[str]) -> Ints:
    """Numbers of the lines in the named sets; those with a node in the middle become two. Writes: raw."""
    parts = [part for name in names for part in raw.cell_sets.get(name, [])]
    found = [np.zeros(0, dtype=np.int64)]
    for block in [block for block in raw.blocks if block.kind in ("line2", "line3")]:
        chosen = members(block.number, parts)
        found.append(block.number[chosen])
        if block.kind == "line2" or not chosen.any():
            continue
        last = max(int(item.number.max()) for item in raw.blocks if len(item.number))
        more = last + 1 + np.arange(int(chosen.sum()), dtype=np.int64)
        for name, own in raw.cell_sets.items():
            raw.cell_sets[name] = [*own, more[members(block.number[chosen], own)]]
        raw.blocks += [
            Block("line2", block.number[chosen], block.nodes[chosen][:, [0, 2]]),
            Block("line2", more, block.nodes[chosen][:, [2, 1]]),
        ]
        block.number, block.nodes = block.number[~chosen], block.nodes[~chosen]
        found.append(more)
    return np.concatenate(found)


class _Resolver:
    """One pass over a RawMesh; `found` collects what is wrong."""

    def __init__(self, raw: RawMesh, where: str, shells: bool = False, lines: Collection[str] = ()) -> None:
        self.shells = shells
        self.raw, self.where, self.found = raw, where, Diagnostics()
        self.found.extend(raw.notes)
        self.nodes = Numbering(raw.node_number)
        parts = () if raw.deck is None else (raw.deck.shell_cells, raw.deck.beam_cells)
        self.carrying = np.concatenate(
            [halved_lines(raw, lines), *(part.number for part in parts if part is not None)]
        )

    def mesh(self) -> Mesh:
        self._check_nodes()
        self._check_cell_types()
        self.found.raise_errors()
        cells, numbers = self._solids()
        self.found.raise_errors()
        mesh = Mesh(self.raw.points, cells, self.raw.node_number, numbers, source=self.where)
        self._number_cells(mesh)
        node_sets, face_sets = self._node_sets(), self._corner_faces(mesh)
        cell_sets: dict[str, dict[str, Ints]] = {}
        self._local_faces(mesh, face_sets, cell_sets)
        self._cell_sets(mesh, node_sets, face_sets, cell_sets)
        self.found.raise_errors()
        return replace(
            mesh,
            node_sets=node_sets,
            face_sets=face_sets,
            cell_sets=cell_sets,
            deck=self._deck(mesh),
            stated_length=self.raw.length,
            axes=self._axes(mesh),
            notes=tuple(self.found.warnings),
        )

    def _deck(self, mesh: Mesh) -> Deck | None:
        """The deck with the material of every cell; a later section of a cell counts."""
        deck = self.raw.deck
        if deck is None:
            return None
        of_all = np.full(self.n_solid, -1, dtype=np.int64)
        for parts, material in deck.sections:
            index, _ = self.cell_numbering.of_parts(parts)
            of_all[index[index < self.n_solid]] = material
        pairs = zip(self.kinds, self.kind_start, self.kind_start[1:], strict=False)
        deck.material_of = {kind: of_all[first:last] for kind, first, last in pairs}
        return deck

    def _axes(self, mesh: Mesh) -> dict[str, Any]:
        """Axes of materials that are not isotropic, at the middle of each cell."""
        deck, result = self.raw.deck, dict[str, Any]()
        if deck is None:
            return result
        for section, make in deck.axes.items():
            parts, material = deck.sections[section]
            if deck.materials[material].C_mat is None:
                continue
            index, _ = self.cell_numbering.of_parts(parts)
            for kind, first, last in zip(self.kinds, self.kind_start, self.kind_start[1:], strict=False):
                cells = index[(index >= first) & (index < last)] - first
                if len(cells):
                    table = result.setdefault(kind, np.tile(np.eye(3), (last - first, 1, 1)))
                    table[cells] = make(mesh.points[mesh.cells[kind][cells]].mean(axis=1))
        return result

    def _check_nodes(self) -> None:
        raw = self.raw
        bad = far_nodes(raw.points)
        if bad.any():
            what = f"{int(bad.sum())} nodes with coordinates that are not finite, or beyond 1e9"
            what += f" (node {listed(raw.node_number[bad])})"
            self.found.error("mesh.not_finite", self.where, what, "write the mesh again")
        repeated = self.nodes.sorted[1:][np.diff(self.nodes.sorted) == 0]
        if len(repeated):
            what = f"node number {listed(np.unique(repeated))} is defined more than once"
            self.found.error("mesh.duplicate_numbers", self.where, what, "renumber the nodes")

    def _check_cell_types(self) -> None:
        offered = ", ".join(SOLIDS)
        for name, count in sorted(self.raw.unsupported.items()):
            what = f"{count} cells of type {name}, which is not supported"
            remedy = f"solids can be {offered}"
            if self.raw.deck is not None:
                remedy += f"; --ignore {name.split()[0]} leaves them out"
            self.found.error("mesh.unsupported_cells", self.where, what, remedy)
        kinds = (*SOLIDS, *SHELLS) if self.shells or len(self.carrying) else SOLIDS
        kinds = (*kinds, *LINES) if len(self.carrying) else kinds
        if not self.raw.unsupported and not any(len(b.number) for b in self.raw.blocks if b.kind in kinds):
            counts: dict[str, int] = {}
            for block in self.raw.blocks:
                counts[block.kind] = counts.get(block.kind, 0) + len(block.number)
            there = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "nodes"
            if self.raw.deck is not None:
                refuse_unknown(self.raw.deck, self.where, self.found)
            if self.raw.structural:
                there += " with a section of a plane, an axis or a line that is not understood"
            remedy = f"a mesh needs some of {offered}"
            if any(counts.get(kind) for kind in FLAT) and not self.raw.structural:
                remedy = f"{THICKNESS}; else {remedy}"
            self.found.error("mesh.no_solids", self.where, f"no solid cells, only {there}", remedy)

    def _indices(self, block: Block) -> Ints:
        """Node indices of the cells of a block; unknown nodes are errors."""
        index, unknown = self.nodes.index(block.nodes)
        if len(unknown):
            rows = np.flatnonzero((index < 0).any(axis=1))
            what = f"{len(rows)} cells ({block.kind}) refer to nodes that do not exist"
            what += f" (cell {listed(block.number[rows])}: node {listed(unknown)})"
            self.found.error("mesh.no_node", self.where, what, INCOMPLETE)
        return index

    def _solids(self) -> tuple[dict[str, Ints], dict[str, Ints]]:
        cells, numbers = {}, {}
        for kind in SOLIDS:
            blocks = [block for block in self.raw.blocks if block.kind == kind and len(block.number)]
            if blocks:
                cells[kind] = np.concatenate([self._indices(block) for block in blocks])
                numbers[kind] = np.concatenate([block.number for block in blocks])
        self.flat = [block for block in self.raw.blocks if block.kind in FLAT and len(block.number)]
        self.flat_index = [self._indices(block) for block in self.flat]
        self.lines = [block for block in self.raw.blocks if block.kind in LINES and len(block.number)]
        self.line_index = [self._indices(block) for block in self.lines]
        self._take_shells(cells, numbers)
        self._take_beams(cells, numbers)
        return cells, numbers

    def _take_shells(self, cells: dict[str, Ints], numbers: dict[str, Ints]) -> None:
        """Flat cells that carry become cells: those with a section in the deck, or, where shells are asked
        for, those that lie on no face of a solid. Writes: cells, numbers, self.flat."""
        solids = Mesh(self.raw.points, cells, self.raw.node_number, numbers)
        flat, flat_index = [], []
        for block, index in zip(self.flat, self.flat_index, strict=True):
            taken = np.isin(block.number, self.carrying)
            if self.shells:
                taken |= match_faces(solids, [index[:, : FLAT[block.kind]]])[:, 0] < 0
            if block.kind in SHELLS and taken.any():
                take(block.kind, index[taken], block.number[taken], cells, numbers)
                block, index = Block(block.kind, block.number[~taken], block.nodes[~taken]), index[~taken]
            if len(index):
                flat.append(block)
                flat_index.append(index)
        self.flat, self.flat_index = flat, flat_index

    def _take_beams(self, cells: dict[str, Ints], numbers: dict[str, Ints]) -> None:
        """Lines with a section in the deck become cells. Writes: cells, numbers, self.lines."""
        lines, line_index = [], []
        for block, index in zip(self.lines, self.line_index, strict=True):
            taken = np.isin(block.number, self.carrying)
            if taken.any():
                take("beam2", index[taken][:, :2], block.number[taken], cells, numbers)
                block, index = Block(block.kind, block.number[~taken], block.nodes[~taken]), index[~taken]
            if len(index):
                lines.append(block)
                line_index.append(index)
        self.lines, self.line_index = lines, line_index

    def _number_cells(self, mesh: Mesh) -> None:
        """One numbering over solids, flat cells and lines; flat cells find their solid faces."""
        blocks = [*mesh.cell_number.values(), *(b.number for b in self.flat), *(b.number for b in self.lines)]
        every = np.concatenate(blocks)
        ordered = np.sort(every)
        repeated = ordered[1:][np.diff(ordered) == 0]
        if len(repeated):
            what = f"element number {listed(np.unique(repeated))} is used more than once"
            self.found.error("mesh.duplicate_numbers", self.where, what, "renumber the elements")
        self.cell_numbering = Numbering(every)
        self.n_solid = mesh.n_cells
        self.kind_start = np.cumsum([0, *(len(rows) for rows in mesh.cells.values())])
        self.kinds = list(mesh.cells)
        self._match_flat(mesh)

    def _match_flat(self, mesh: Mesh) -> None:
        """Faces of solids under the flat cells: rows (kind, cell, local face), -1 where there is none."""
        corners = [i[:, : FLAT[b.kind]] for b, i in zip(self.flat, self.flat_index, strict=True)]
        self.flat_face = match_faces(mesh, corners)
        alone = self.flat_face[:, 0] < 0
        if alone.any():
            counts = ", ".join(f"{count} {kind}" for kind, count in self._flat_counts(alone).items() if count)
            what = f"{counts} cells lie on no face of a solid: shells without a thickness"
            remedy = f"{THICKNESS}; or remove them"
            self.found.error("mesh.shells", self.where, what, remedy)
        index, _ = self.cell_numbering.of_parts(self.raw.structural)
        shells = int((index >= self.n_solid).sum())
        if shells and not alone.any():
            what = f"{shells} elements of a plane or of a line with a section that is not understood"
            self.found.error("mesh.shells", self.where, what, "remove their sections")

    def _flat_counts(self, mask: Any) -> dict[str, int]:
        counts: dict[str, int] = {}
        start = 0
        for block in self.flat:
            part = int(mask[start : start + len(block.number)].sum())
            counts[block.kind] = counts.get(block.kind, 0) + part
            start += len(block.number)
        return counts

    def _node_sets(self) -> dict[str, Ints]:
        sets = {}
        for name, parts in self.raw.node_sets.items():
            index, unknown = self.nodes.of_parts(parts)
            if len(unknown):
                what = f'node set "{name}" refers to node {listed(unknown)}, which does not exist'
                self.found.error("mesh.no_node", self.where, what, INCOMPLETE)
            sets[name] = index
        return sets

    def _corner_faces(self, mesh: Mesh) -> dict[str, dict[str, Ints]]:
        sets = {}
        for name, parts in self.raw.faces.items():
            corners = []
            for part in parts:
                index, _ = self.nodes.index(part)
                corners.append(np.where(index < 0, mesh.n_nodes, index))
            face = match_faces(mesh, corners)
            lost = int((face[:, 0] < 0).sum())
            if lost:
                what = f'{lost} of {len(face)} faces of "{name}" are not faces of solid cells'
                self.found.error("mesh.lost_faces", self.where, what, "write the mesh again")
            sets[name] = as_face_set(face[face[:, 0] >= 0], self.kinds)
        return sets

    def _local_faces(
        self, mesh: Mesh, face_sets: dict[str, dict[str, Ints]], cell_sets: dict[str, dict[str, Ints]]
    ) -> None:
        """Surfaces by faces of elements; of shells, which are surfaces, the cells."""
        for name, parts in self.raw.local_faces.items():
            rows = []
            for elements, local in parts:
                index, unknown = self.cell_numbering.index(elements)
                known = index >= 0
                for k, kind in enumerate(self.kinds):
                    of_kind = known & (index >= self.kind_start[k]) & (index < self.kind_start[k + 1])
                    if kind in SHELLS and of_kind.any():
                        add_faces(cell_sets, name, {kind: np.unique(index[of_kind] - self.kind_start[k])})
                        known &= ~of_kind
                free = known & (local == FREE_FACES)
                known &= ~free
                rows.append(self._faces_of(index[known], local[known]))
                if free.any():
                    rows.append(self._free_faces(mesh, index[free]))
                if len(unknown):
                    what = f'surface "{name}" refers to element {listed(unknown)}, which does not exist'
                    self.found.error("mesh.no_cell", self.where, what, INCOMPLETE)
            where = np.concatenate(rows) if rows else np.zeros((0, 3), dtype=np.int64)
            if not len(where) and name in cell_sets:
                continue
            n_faces = np.array([len(ELEMENTS[kind].faces) for kind in self.kinds])
            good = (where[:, 0] >= 0) & (where[:, 2] >= 0)
            good[good] &= where[good, 2] < n_faces[where[good, 0]]
            if not good.all():
                what = f'{int((~good).sum())} entries of surface "{name}" name faces that do not exist'
                self.found.error("mesh.lost_faces", self.where, what, "name a face that the element type has")
            add_faces(face_sets, name, as_face_set(where[good], self.kinds))

    def _free_faces(self, mesh: Mesh, index: Ints) -> Ints:
        """Rows (kind, cell, local face) of the skin faces of cells by their running index."""
        rows = [np.zeros((0, 3), dtype=np.int64)]
        for kind, faces in skin_faces(mesh).items():
            number = self.kinds.index(kind)
            faces = faces[np.isin(faces[:, 0] + self.kind_start[number], index)]
            rows.append(np.column_stack([np.full(len(faces), number), faces]))
        return np.concatenate(rows)

    def _faces_of(self, index: Ints, local: Ints) -> Ints:
        """Rows (kind, cell, local face) of cells by their running index; flat cells give the face below."""
        where = np.full((len(index), 3), -1, dtype=np.int64)
        solid = index < self.n_solid
        kind = np.searchsorted(self.kind_start, index[solid], side="right") - 1
        where[solid] = np.stack([kind, index[solid] - self.kind_start[kind], local[solid]], axis=1)
        flat = ~solid & (index < self.n_solid + len(self.flat_face))
        where[flat] = self.flat_face[index[flat] - self.n_solid]
        return where

    def _cell_sets(self, mesh: Mesh, node_sets: Any, face_sets: Any, cell_sets: Any) -> None:
        """Element sets by dimension: solids -> cells, flat cells -> faces, lines and points -> nodes."""
        line_start = self.n_solid + len(self.flat_face)
        offsets = np.cumsum([0, *(len(block.number) for block in self.lines)])
        for name, parts in self.raw.cell_sets.items():
            index, unknown = self.cell_numbering.of_parts(parts)
            known = len(unknown)
            unknown = np.setdiff1d(unknown, self.raw.left_out)
            known -= len(unknown)
            if len(unknown):
                what = f'element set "{name}" refers to element {listed(unknown)}, which does not exist'
                self.found.error("mesh.no_cell", self.where, what, INCOMPLETE)
            solid, flat = index[index < self.n_solid], index[(index >= self.n_solid) & (index < line_start)]
            for k, kind in enumerate(self.kinds):
                rows = solid[(solid >= self.kind_start[k]) & (solid < self.kind_start[k + 1])]
                if len(rows):
                    cell_sets.setdefault(name, {})[kind] = rows - self.kind_start[k]
            if len(flat):
                rows = self._faces_of(flat, np.full(len(flat), -1))
                add_faces(face_sets, name, as_face_set(rows[rows[:, 0] >= 0], self.kinds))
            self._line_nodes(name, index[index >= line_start] - line_start, offsets, node_sets)
            if not len(index) and not known:
                cell_sets.setdefault(name, {})

    def _line_nodes(self, name: str, rows: Ints, offsets: Ints, node_sets: dict[str, Ints]) -> None:
        for k, nodes in enumerate(self.line_index):
            part = rows[(rows >= offsets[k]) & (rows < offsets[k + 1])] - offsets[k]
            if len(part):
                before = node_sets.get(name, np.zeros(0, dtype=np.int64))
                node_sets[name] = np.unique(np.concatenate([before, nodes[part].ravel()]))


def take(kind: str, index: Ints, number: Ints, cells: dict[str, Ints], numbers: dict[str, Ints]) -> None:
    """Join cells to those of their kind. Writes: cells, numbers."""
    cells[kind] = np.concatenate([cells[kind], index]) if kind in cells else index
    numbers[kind] = np.concatenate([numbers[kind], number]) if kind in numbers else number


def add_faces(sets: dict[str, dict[str, Ints]], name: str, more: dict[str, Ints]) -> None:
    """Join faces to a set that may exist."""
    target = sets.setdefault(name, {})
    for kind, rows in more.items():
        target[kind] = np.unique(np.concatenate([target[kind], rows]), axis=0) if kind in target else rows
