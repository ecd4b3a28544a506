"""Abaqus and CalculiX .inp -> RawMesh: nodes, elements, sets of sets, surfaces, parts and instances."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import nearest
from flexmbs.fe.deck import count
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.abaqus_cards import (
    Card,
    Cards,
    data_lines,
    element_rows,
    first_numbers,
    node_rows,
    real,
    words_to_entries,
)
from flexmbs.fe.readers.abaqus_deck import Content
from flexmbs.fe.readers.abaqus_links import CARDS, ENDS
from flexmbs.fe.readers.abaqus_parts import Instance, Scope, resolve
from flexmbs.fe.readers.abaqus_sections import ACROSS, SHELLS
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, Floats, numbers, one_int, to_ints
from flexmbs.spatial import axis_angle

SOLID = re.compile(r"D?C3D(4|6|8|10|15|20|27)[A-Z]*$")
SOLID_KINDS = {
    4: "tet4", 6: "wedge6", 8: "hex8", 10: "tet10", 15: "wedge15", 20: "hex20", 27: "hex27",
}  # fmt: skip
SHELL = re.compile(r"(?:S|DS|STRI|CPS|CPE|CPEG|CAX|M3D|SFM3D|R3D)(3|4|6|65|8|9)[A-Z]*5?$")
SHELL_KINDS = {3: "tri3", 4: "quad4", 6: "tri6", 65: "tri6", 8: "quad8", 9: "quad9"}
LINE_KINDS = {
    "T3D2": "line2", "T3D2H": "line2", "T3D3": "line3", "T3D3H": "line3", "B31": "line2", "B31R": "line2",
    "B31H": "line2", "B33": "line2", "B33H": "line2", "B32": "line3", "B32R": "line3", "B32H": "line3",
}  # fmt: skip
N_NODES = {"tri3": 3, "quad4": 4, "tri6": 6, "quad8": 8, "quad9": 9, "line2": 2, "line3": 3}
GENERATORS = ("NGEN", "NFILL", "NCOPY", "NMAP", "ELGEN", "ELCOPY")
SECTIONS = (
    "SHELL SECTION",
    "SHELL GENERAL SECTION",
    "MEMBRANE SECTION",
    "SOLID SECTION",
    "BEAM SECTION",
    "BEAM GENERAL SECTION",
)


def read_abaqus(path: Path, data: bytes, ignore: frozenset[str] = frozenset()) -> RawMesh:
    """Content of an .inp file, without the keywords and element types in `ignore`."""
    model = _Model(path, ignore)
    for card in Cards(path, data):
        try:
            model.add(card)
        except Damaged as damage:
            if card.path != path:
                damage.what = f"{card.path.name}: {damage.what}"
            damage.line = damage.line or card.line
            raise
    raw = resolve(model.root, model.placed(), str(path), model.content)
    raw.notes.extend(model.content.notes)
    return raw


class _Model:
    """Takes cards one by one."""

    def __init__(self, path: Path, ignore: frozenset[str]) -> None:
        self.root = Scope("")
        self.parts: dict[str, Scope] = {}
        self.instances: list[Instance] = []
        self.scope = self.root
        self.ignore = ignore
        self.content = Content(path)
        self.system: tuple[Floats, Floats] | None = None

    def add(self, card: Card) -> None:
        if card.keyword in self.ignore:
            count(self.content.deck.ignored, f"*{card.keyword}")
            return
        if card.keyword in GENERATORS:
            what = f"*{card.keyword} is not supported"
            raise Damaged(what, card.line, "write the mesh out, node by node and element by element")
        name = "_" + card.keyword.lower().replace(" ", "_")
        if card.keyword in SECTIONS and card.options.get("ELSET"):
            self._section(card)
        elif (
            card.keyword in (ACROSS, ACROSS.removesuffix(" STIFFNESS"))
            and self.scope.structure
            and self.scope.structure[-1].keyword in SHELLS
        ):
            self.scope.structure[-1].options["".join(ACROSS.split())] = card.text.decode("utf-8", "replace")
        elif card.keyword == "NONSTRUCTURAL MASS":
            self.scope.extras.append(card)
        elif card.keyword in CARDS and (not self.content.in_step or card.keyword == "BOUNDARY"):
            self.scope.links.append(card)
        else:
            self.content.add(card)
            if name in ADDERS:
                ADDERS[name](self, card)

    def _section(self, card: Card) -> None:
        """Which elements have a section, and the material of solid ones."""
        elset, material = card.options["ELSET"], card.options.get("MATERIAL")
        self.scope.sections.append(elset)
        if card.keyword != "SOLID SECTION":
            self.scope.structure.append(card)
        elif "COMPOSITE" in card.options:
            count(self.content.deck.not_understood, f"*{card.keyword}, COMPOSITE")
        elif material:
            self.scope.structure.append(card)
            self.scope.materials.append((elset, material, card.options.get("ORIENTATION", ""), card.line))

    def _part(self, card: Card) -> None:
        name = card.need("NAME")
        self.scope = self.parts.setdefault(name.upper(), Scope(name))

    def _end(self, card: Card) -> None:
        self.scope = self.root

    def _end_instance(self, card: Card) -> None:
        if self.instances and self.scope is not self.root and (self.scope.nodes or self.scope.node_sets):
            self.instances[-1].scope = self.instances[-1].scope.extended(self.scope)
        self.scope = self.root

    def _instance(self, card: Card) -> None:
        name, part = card.need("NAME"), card.need("PART")
        if part.upper() not in self.parts:
            choices = [scope.name for scope in self.parts.values()]
            raise Damaged(f'instance "{name}" of part "{part}"', card.line, nearest(part, choices))
        instance = Instance(name, self.parts[part.upper()])
        rows = [[real(word, card.line) for word in line if word] for line in data_lines(card)]
        if rows and len(rows[0]) >= 3:
            instance.translation = np.array(rows[0][:3])
        if len(rows) > 1:
            if len(rows[1]) != 7:
                raise Damaged(f'the rotation of instance "{name}" needs seven numbers', card.line)
            a, b = np.array(rows[1][:3]), np.array(rows[1][3:6])
            instance.pivot = a
            if np.linalg.norm(b - a) == 0:
                raise Damaged(f'the rotation axis of instance "{name}" has no length', card.line)
            instance.rotation = axis_angle(b - a, np.radians(rows[1][6]))
        self.instances.append(instance)
        self.scope = Scope(name)

    def _system(self, card: Card) -> None:
        """Local axes in which the following nodes are given."""
        values = [real(word, card.line) for line in data_lines(card) for word in line]
        if not any(values):
            self.system = None
            return
        a, b, c = (np.array((values + [0.0] * 9)[k : k + 3]) for k in (0, 3, 6))
        x = b - a if any(values[3:]) else np.array([1.0, 0, 0])
        if len(values) < 9 and any(values[3:]):
            c = a + np.cross([0.0, 0, 1.0], x)  # without a third point: a turn about z
        elif not any(values[3:]):
            c = a + np.array([0.0, 1, 0])
        z = np.cross(x, c - a)
        if np.linalg.norm(x) == 0 or np.linalg.norm(z) == 0:
            raise Damaged("the points of *SYSTEM do not span a plane", card.line)
        axes = [x, np.cross(z, x), z]
        self.system = (a, np.array([axis / np.linalg.norm(axis) for axis in axes]))

    def _node(self, card: Card) -> None:
        number, points = node_rows(card)
        kind = card.options.get("SYSTEM", "R")[:1].upper()
        if kind in ("C", "S"):
            points = from_polar(points, kind)
        if self.system is not None:
            points = points @ self.system[1] + self.system[0]
        self.scope.nodes.append((number, points))
        if card.options.get("NSET"):
            self.scope.node_sets.add(card.options["NSET"], [number])

    def _element(self, card: Card) -> None:
        name = card.need("TYPE").upper()
        kind = kind_of(name)
        if name in ENDS and name not in self.ignore:
            number, nodes = element_rows(card, ENDS[name])
            self.scope.ends.append((name, number, nodes))
            self.scope.left_out.append(number)
            if card.options.get("ELSET"):
                self.scope.cell_sets.add(card.options["ELSET"], [number])
            return
        if kind is None or name in self.ignore:
            number = first_numbers(card)
            table = self.scope.unsupported if name not in self.ignore else self.content.deck.ignored
            count(table, name, len(number))
            self.scope.left_out.append(number)
            if card.options.get("ELSET"):  # other sets may refer to it
                self.scope.cell_sets.add(card.options["ELSET"], [number])
            return
        n_nodes = ELEMENTS[kind].n_nodes if kind in ELEMENTS else N_NODES[kind]
        number, nodes = element_rows(card, n_nodes)
        self.scope.blocks.append(Block(kind, number, in_our_order(nodes, kind, "abaqus")))
        if name in LINE_KINDS:
            self.scope.lines.append((name, number))
        if card.options.get("ELSET"):
            self.scope.cell_sets.add(card.options["ELSET"], [number])

    def _nset(self, card: Card) -> None:
        entries = set_entries(card)
        if card.options.get("ELSET"):
            entries.append(("nodes of", card.options["ELSET"]))
        self.scope.node_sets.add(card.need("NSET"), qualified(entries, card))

    def _elset(self, card: Card) -> None:
        self.scope.cell_sets.add(card.need("ELSET"), qualified(set_entries(card), card))

    def _surface(self, card: Card) -> None:
        name, kind = card.need("NAME"), card.options.get("TYPE", "ELEMENT").upper()
        if kind == "NODE":
            entries = [entry for line in data_lines(card) for entry in words_to_entries(line[:1])]
            if "INSTANCE" not in card.options:  # the surface of a node set may have the name of the set
                entries = [e for e in entries if not (isinstance(e, str) and e.upper() == name.upper())]
            self.scope.node_sets.add(name, qualified(entries, card))
        elif kind == "ELEMENT" and "COMBINE" not in card.options:
            self.scope.surfaces.add(name, [])
            for line in data_lines(card):
                label = line[1].upper() if len(line) > 1 else ""
                for entry in qualified(words_to_entries(line[:1]), card):
                    self.scope.surfaces.add(name, [(entry, label, card.line)])
        else:
            raise Damaged(f'surface "{name}" of a kind that is not supported', card.line, "use TYPE=ELEMENT")

    def _orientation(self, card: Card) -> None:
        self.scope.axes[card.need("NAME").upper()] = card

    def placed(self) -> list[Instance]:
        """Instances with numbers that do not collide; without an assembly parts stand where they are."""
        instances = self.instances or [Instance(scope.name, scope) for scope in self.parts.values()]
        node, cell = self.root.largest()
        for instance in instances:
            if node or cell:
                instance.node_offset, instance.cell_offset = round_up(node), round_up(cell)
            largest = instance.scope.largest()
            node, cell = instance.node_offset + largest[0], instance.cell_offset + largest[1]
        return instances


ADDERS = {
    "_part": _Model._part,
    "_end_part": _Model._end,
    "_end_instance": _Model._end_instance,
    "_instance": _Model._instance,
    "_system": _Model._system,
    "_node": _Model._node,
    "_element": _Model._element,
    "_nset": _Model._nset,
    "_elset": _Model._elset,
    "_surface": _Model._surface,
    "_orientation": _Model._orientation,
}


def kind_of(name: str) -> str | None:
    """Our name of an element type; None where it is not supported."""
    solid, shell = SOLID.match(name), SHELL.match(name)
    if solid:
        return SOLID_KINDS[int(solid[1])]
    return SHELL_KINDS[int(shell[1])] if shell else LINE_KINDS.get(name)


def set_entries(card: Card) -> list[Any]:
    if "GENERATE" in card.options:
        entries: list[Any] = []
        for line in data_lines(card):
            words = [one_int(word, "number", card.line) for word in line if word]
            if len(words) not in (2, 3) or (len(words) == 3 and words[2] == 0):
                raise Damaged("GENERATE needs first, last and step", card.line)
            step = abs(words[2]) if len(words) == 3 else 1
            entries.append((words[0], words[1], step))
        return entries
    text = card.text.replace(b"\n", b",").strip(b", \t")
    if text and not re.search(rb"[^\d\s,.]", text):
        return [to_ints(numbers(re.sub(rb"[\s,]+", b",", text), ",", card.line), "number", card.line)]
    return [entry for line in data_lines(card) for entry in words_to_entries(line)]


def qualified(entries: list[Any], card: Card) -> list[Any]:
    """Entries of an assembly set carry the name of their instance."""
    instance = card.options.get("INSTANCE")
    return [("of", instance, entry) for entry in entries] if instance else entries


def from_polar(points: Floats, kind: str) -> Floats:
    """Cylindrical r, theta, z or spherical r, theta, phi (degrees; phi from the x-y plane) -> x, y, z."""
    r, theta, third = points[:, 0], np.radians(points[:, 1]), points[:, 2]
    if kind == "C":
        return np.stack([r * np.cos(theta), r * np.sin(theta), third], axis=1)
    phi = np.radians(third)
    return np.stack(
        [r * np.cos(phi) * np.cos(theta), r * np.cos(phi) * np.sin(theta), r * np.sin(phi)], axis=1
    )


def round_up(number: int) -> int:
    """The next round number, so that the offset can be read off."""
    if number <= 0:
        return 0
    unit = 10 ** len(str(number - 1)) if number > 1 else 1
    return unit if unit >= number else unit * 10
