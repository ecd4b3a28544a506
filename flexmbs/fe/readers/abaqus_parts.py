"""Parts, instances and sets of sets of an .inp file, resolved into one numbering."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, nearest
from flexmbs.fe.deck import count
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import unique
from flexmbs.fe.readers.abaqus_cards import Card, words_to_entries
from flexmbs.fe.readers.abaqus_deck import Content
from flexmbs.fe.readers.abaqus_links import LinkReader, Places, area_weights
from flexmbs.fe.readers.abaqus_sections import SectionReader, extra_mass
from flexmbs.fe.readers.orientation import Axes, normal_of, orientation
from flexmbs.fe.readers.raw import FREE_FACES, Block, RawMesh, members
from flexmbs.fe.readers.source import Damaged, Floats, Ints, to_ints

# corner positions of the faces S1, S2, ...
FACES = {
    "tet": ((0, 1, 2), (0, 3, 1), (1, 3, 2), (2, 3, 0)),
    "hex": ((0, 1, 2, 3), (4, 7, 6, 5), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0)),
    "wedge": ((0, 1, 2), (3, 5, 4), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)),
}
MAX_DEPTH = 50  # sets of sets
NOBODY = np.zeros(0, dtype=np.int64)


class NamedSets:
    """Entries by name, upper and lower case alike; names as first written."""

    def __init__(self) -> None:
        self._sets: dict[str, tuple[str, list[Any]]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def __contains__(self, name: str) -> bool:
        return name.upper() in self._sets

    def add(self, name: str, entries: list[Any]) -> None:
        self._sets.setdefault(name.upper(), (name, []))[1].extend(entries)

    def get(self, name: str) -> list[Any] | None:
        return self._sets.get(name.upper(), ("", None))[1]

    def items(self) -> list[tuple[str, list[Any]]]:
        return list(self._sets.values())

    def joined(self, more: NamedSets) -> NamedSets:
        result = NamedSets()
        for name, entries in self.items() + more.items():
            result.add(name, entries)
        return result


@dataclass
class Scope:
    """Content of a part, or of the file outside parts. Set entries: arrays, (first, last, step), names."""

    name: str
    nodes: list[tuple[Ints, Floats]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    unsupported: dict[str, int] = field(default_factory=dict)
    node_sets: NamedSets = field(default_factory=NamedSets)
    cell_sets: NamedSets = field(default_factory=NamedSets)
    surfaces: NamedSets = field(default_factory=NamedSets)
    sections: list[str] = field(default_factory=list)
    materials: list[tuple[str, str, str, int]] = field(default_factory=list)  # elset, material, axes, line
    left_out: list[Ints] = field(default_factory=list)
    ends: list[tuple[str, Ints, Ints]] = field(default_factory=list)  # type, numbers, nodes of no cells
    links: list[Card] = field(default_factory=list)
    axes: dict[str, Card] = field(default_factory=dict)
    structure: list[Card] = field(
        default_factory=list
    )  # sections of shells, beams, and of what may be trusses
    lines: list[tuple[str, Ints]] = field(default_factory=list)  # types of line elements
    extras: list[Card] = field(default_factory=list)  # mass beside that of materials

    def extended(self, more: Scope) -> Scope:
        """This part with the content of an instance of its own (independent instances carry their mesh)."""
        return Scope(
            self.name,
            self.nodes + more.nodes,
            self.blocks + more.blocks,
            self.unsupported | more.unsupported,
            self.node_sets.joined(more.node_sets),
            self.cell_sets.joined(more.cell_sets),
            self.surfaces.joined(more.surfaces),
            self.sections + more.sections,
            self.materials + more.materials,
            self.left_out + more.left_out,
            self.ends + more.ends,
            self.links + more.links,
            self.axes | more.axes,
            self.structure + more.structure,
            self.lines + more.lines,
            self.extras + more.extras,
        )

    def largest(self) -> tuple[int, int]:
        """Largest node and element number."""
        node = max((int(number.max()) for number, _ in self.nodes if len(number)), default=0)
        groups = [*(block.number for block in self.blocks), *self.left_out]
        cell = max((int(number.max()) for number in groups if len(number)), default=0)
        return node, cell


@dataclass
class Instance:
    """A part in its place: x -> rotation @ (x + translation - pivot) + pivot."""

    name: str
    scope: Scope
    translation: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.eye(3))
    pivot: Floats = field(default_factory=lambda: np.zeros(3))
    node_offset: int = 0
    cell_offset: int = 0

    def place(self, points: Floats) -> Floats:
        with np.errstate(invalid="ignore", over="ignore"):  # checked with all other coordinates
            return (points + self.translation - self.pivot) @ self.rotation.T + self.pivot


def resolve(root: Scope, instances: list[Instance], where: str, content: Content) -> RawMesh:
    """One RawMesh of everything that is placed."""
    return _Resolver(root, instances, where, content).raw()


class _Resolver:
    def __init__(self, root: Scope, instances: list[Instance], where: str, content: Content) -> None:
        self.content = content
        self.top = Instance("", root)
        self.instances, self.where = instances, where
        self.by_name = {instance.name.upper(): instance for instance in instances}
        self._resolved: dict[tuple[str, str, str], list[Any]] = {}

    def raw(self) -> RawMesh:
        everything = [self.top, *self.instances]
        number, points, blocks = [NOBODY], [np.zeros((0, 3))], []
        unsupported: dict[str, int] = {}
        for place in everything:
            for numbers, xyz in place.scope.nodes:
                number.append(numbers + place.node_offset)
                points.append(place.place(xyz))
            for block in place.scope.blocks:
                shifted = block.nodes + place.node_offset
                blocks.append(Block(block.kind, block.number + place.cell_offset, shifted))
            for name, times in place.scope.unsupported.items():
                count(unsupported, name, times)
        raw = RawMesh(*same_nodes_once(np.concatenate(number), np.concatenate(points)), blocks, unsupported)
        raw.deck = self.content.deck
        for place in everything:
            self._sets(place, raw)
            self._materials(place)
            if place.scope.links:
                self._links(place, raw)
        self._structure(everything, raw)
        raw.left_out = np.concatenate([NOBODY, *self._gone()])
        raw.notes.extend(self._notes())
        return raw

    def _sets(self, place: Instance, raw: RawMesh) -> None:
        scope = place.scope
        for name, entries in scope.node_sets.items():
            raw.node_sets.setdefault(self._name(place, name), []).extend(
                self._parts(place, entries, "node", 0)
            )
        for name, entries in scope.cell_sets.items():
            raw.cell_sets.setdefault(self._name(place, name), []).extend(
                self._parts(place, entries, "cell", 0)
            )
        for name, rows in scope.surfaces.items():
            faces = raw.local_faces.setdefault(self._name(place, name), [])
            by_label: dict[str, tuple[list[Any], int]] = {}
            for entry, label, line in rows:  # all entries of a label at once: surfaces have a line per face
                by_label.setdefault(label, ([], line))[0].append(entry)
            for label, (entries, line) in by_label.items():
                faces.extend(self._faces(place, entries, label, line))
        for name in scope.sections:
            if name in scope.cell_sets:
                raw.structural.extend(self._parts(place, [name], "cell", 0))

    def _materials(self, place: Instance) -> None:
        for elset, material, axes, line in place.scope.materials:
            parts = self._parts(place, [elset], "cell", 0)
            index = self.content.material(material, line)
            deck = self.content.deck
            deck.sections.append((parts, index))
            if axes and deck.materials[index].C_mat is not None:
                found = place.scope.axes.get(axes.upper()) or self.top.scope.axes.get(axes.upper())
                make = None if found is None else orientation(found)
                if make is None:
                    count(deck.not_understood, "*ORIENTATION")
                else:
                    deck.axes[len(deck.sections) - 1] = placed_axes(place, make)

    def _structure(self, everything: list[Instance], raw: RawMesh) -> None:
        """Sections of shells, beams and trusses."""
        reader = SectionReader(self.content, raw)
        for place in everything:
            types = {n + place.cell_offset: name for name, rows in place.scope.lines for n in rows.tolist()}

            def axes(name: str, place: Instance = place) -> tuple[Axes, int] | None:
                found = place.scope.axes.get(name.upper()) or self.top.scope.axes.get(name.upper())
                make = None if found is None else orientation(found)
                return None if make is None or found is None else (placed_axes(place, make), normal_of(found))

            for card in place.scope.structure:
                reader.add(card, self._parts(place, [card.options["ELSET"]], "cell", 0), axes, types)
            for card in place.scope.extras:
                extra_mass(card, self._parts(place, [card.need("ELSET")], "cell", 0), raw, self.content.deck)
        reader.finish()

    def _links(self, place: Instance, raw: RawMesh) -> None:
        """Masses, springs and connections of one scope."""
        cells = np.concatenate([NOBODY, *(block.number for block in raw.blocks), *self._gone()])
        points = Places(raw.node_number, raw.points)

        def numbers(word: Any, kind: str) -> list[int]:
            entries = [word] if isinstance(word, tuple) else words_to_entries([word])
            known = raw.node_number if kind == "node" else cells
            found = [NOBODY]
            for part in self._parts(place, entries, kind, 0):
                found.append(known[members(known, [part])] if isinstance(part, tuple) else part)
            return np.unique(np.concatenate(found)).tolist()

        def surface(name: str) -> tuple[list[int], list[float]]:
            if name not in place.scope.surfaces and name in place.scope.node_sets:
                nodes = numbers(name, "node")
                return nodes, [1.0] * len(nodes)
            weight = area_weights(self._surface_rows(place, name, raw), points)
            return list(weight), list(weight.values())

        ends = {
            number + at.cell_offset: (kind, [n + at.node_offset for n in nodes])
            for at in [self.top, *self.instances]
            for kind, rows, ends in at.scope.ends
            for number, nodes in zip(rows.tolist(), ends.tolist(), strict=True)
        }

        def rows(name: str) -> list[Ints]:
            return self._surface_rows(place, name, raw)

        reader = LinkReader(self.content.deck, numbers, numbers, surface, rows, ends, points)
        reader.read(place.scope.links)
        raw.notes.extend(reader.notes)

    def _gone(self) -> list[Ints]:
        return [item + at.cell_offset for at in [self.top, *self.instances] for item in at.scope.left_out]

    def _surface_rows(self, place: Instance, name: str, raw: RawMesh) -> list[Ints]:
        """Node numbers of the faces of a surface."""
        owner, _, rest = name.partition(".")
        if name not in place.scope.surfaces and owner.upper() in self.by_name:
            place, name = self.by_name[owner.upper()], rest
        rows = place.scope.surfaces.get(name)
        if rows is None:
            raise Damaged(f'surface "{name}" is used and not defined')
        result = []
        for entry, label, line in rows:
            for number, local in self._faces(place, [entry], label, line):
                for block in raw.blocks:
                    mine = np.isin(block.number, number)
                    if not mine.any():
                        continue
                    if block.kind not in ELEMENTS or not ELEMENTS[block.kind].faces:
                        result.append(block.nodes[mine])
                    elif local[0] < 0:
                        raise Damaged(f'surface "{name}" names elements without a face', line)
                    else:
                        result.append(block.nodes[mine][:, list(ELEMENTS[block.kind].faces[local[0]])])
        return result

    def _name(self, place: Instance, name: str) -> str:
        """Sets of a part: by their own name where that is unique, else instance.name."""
        if place is self.top:
            return name
        root = self.top.scope
        taken = any(name in sets for sets in (root.node_sets, root.cell_sets, root.surfaces))
        elsewhere = sum(
            name in sets
            for other in self.instances
            if other is not place
            for sets in (other.scope.node_sets, other.scope.cell_sets, other.scope.surfaces)
        )
        return f"{place.name}.{name}" if taken or elsewhere else name

    def _parts(self, place: Instance, entries: list[Any], kind: str, depth: int) -> list[Any]:
        """Entries as arrays and ranges in the numbering of the whole."""
        if depth > MAX_DEPTH:
            raise Damaged("sets are nested too deeply, or contain themselves")
        result: list[Any] = []
        offset = place.node_offset if kind == "node" else place.cell_offset
        last = place.scope.largest()[0 if kind == "node" else 1]
        for entry in entries:
            if isinstance(entry, np.ndarray):
                result.append(entry + offset)
            elif isinstance(entry, str):
                result.extend(self._named(place, entry, kind, depth))
            elif entry[0] == "of":
                result.extend(self._parts(self._instance(entry[1]), [entry[2]], kind, depth + 1))
            elif entry[0] == "nodes of":
                result.append(self._nodes_of(self._parts(place, [entry[1]], "cell", depth + 1)))
            else:
                first, end, step = entry
                result.append((first + offset, min(end, last) + offset, step))
        return result

    def _named(self, place: Instance, name: str, kind: str, depth: int) -> list[Any]:
        sets = place.scope.node_sets if kind == "node" else place.scope.cell_sets
        entries = sets.get(name)
        if entries is not None:
            key = (place.name, kind, name.upper())
            if key not in self._resolved:  # once each: sets of sets can double at every level
                self._resolved[key] = without_repeats(self._parts(place, entries, kind, depth + 1))
            return self._resolved[key]
        owner, dot, rest = name.partition(".")
        if dot and owner.upper() in self.by_name:
            entry = np.array([int(rest)]) if rest.isdigit() and len(rest) < 19 else rest
            return self._parts(self.by_name[owner.upper()], [entry], kind, depth + 1)
        for other in self.instances:
            if place is self.top and self._unique(name, kind, other):
                return self._parts(other, [name], kind, depth + 1)
        what = f'{"node" if kind == "node" else "element"} set "{name}" is used and not defined'
        raise Damaged(what, remedy=nearest(name, [known for known, _ in sets.items()]))

    def _unique(self, name: str, kind: str, place: Instance) -> bool:
        sets = place.scope.node_sets if kind == "node" else place.scope.cell_sets
        return name in sets and self._name(place, name).upper() == name.upper()

    def _instance(self, name: str) -> Instance:
        if not self.instances:  # a flattened file may keep the names of instances
            return self.top
        if name.upper() not in self.by_name:
            choices = [instance.name for instance in self.instances]
            raise Damaged(f'instance "{name}" is used and not defined', remedy=nearest(name, choices))
        return self.by_name[name.upper()]

    def _blocks(self) -> Iterator[tuple[str, Ints, Ints]]:
        for place in [self.top, *self.instances]:
            for block in place.scope.blocks:
                yield block.kind, block.number + place.cell_offset, block.nodes + place.node_offset

    def _nodes_of(self, parts: list[Any]) -> Ints:
        found = [NOBODY]
        for _, number, nodes in self._blocks():
            found.append(nodes[members(number, parts)].ravel())
        return np.unique(np.concatenate(found))

    def _faces(
        self, place: Instance, entries: list[Any], label: str, line: int
    ) -> Iterator[tuple[Ints, Ints]]:
        parts = without_repeats(self._parts(place, entries, "cell", 0))
        known = [NOBODY]
        for kind, number, _ in self._blocks():
            chosen = number[members(number, parts)]
            if len(chosen):
                known.append(chosen)
                yield chosen, np.full(len(chosen), face_number(kind, label, line), dtype=np.int64)
        for part in parts:
            missing = np.setdiff1d(part, np.concatenate(known)) if isinstance(part, np.ndarray) else NOBODY
            if len(missing):
                yield missing, np.zeros(len(missing), dtype=np.int64)

    def _notes(self) -> Iterator[Diagnostic]:
        """Say which numbers the nodes of further instances have."""
        for place in self.instances:
            if place.node_offset:
                what = f'nodes of instance "{place.name}" have their number plus {place.node_offset}'
                yield Diagnostic("mesh.renumbered", self.where, what, severity="warn")


def placed_axes(place: Instance, make: Axes) -> Axes:
    """Axes of a part where an instance has put it."""

    def axes(X: Floats) -> Floats:
        local = (X - place.pivot) @ place.rotation + place.pivot - place.translation
        return np.asarray(place.rotation @ make(local))

    return axes


def without_repeats(parts: list[Any]) -> list[Any]:
    """The same numbers: all arrays as one, ranges once each."""
    arrays = [part for part in parts if not isinstance(part, tuple)]
    ranges = sorted({part for part in parts if isinstance(part, tuple)})
    return [*ranges, unique(np.concatenate(arrays))] if arrays else ranges


def face_number(kind: str, label: str, line: int) -> int:
    """Local face of a label S1 ... S6; without a label the free faces; flat cells have one face only."""
    if kind not in ELEMENTS or not ELEMENTS[kind].faces:
        return -1
    if not label:
        return FREE_FACES
    if not (label[:1] == "S" and label[1:].isdigit()):
        raise Damaged(f'face "{label[:20]}" of a {kind} cell', line, "name S1, S2, ...")
    element = ELEMENTS[kind]
    ours = [frozenset(node for node in face if node < element.n_corners) for face in element.faces]
    theirs = FACES[element.family]
    number = int(label[1:3]) - 1
    return ours.index(frozenset(theirs[number])) if 0 <= number < len(theirs) else len(theirs)


def same_nodes_once(number: Ints, points: Floats) -> tuple[Ints, Floats]:
    """A node that is given again at the same place counts once."""
    if len(unique(number)) == len(number):
        return number, points
    rows = np.column_stack([number, points])
    _, first = np.unique(rows, axis=0, return_index=True)
    keep = np.sort(first)
    return to_ints(number[keep]), points[keep]
