"""Nastran .bdf -> RawMesh: nodes in any coordinate system, solids, sets, property ids, loaded faces.

Cell sets: `pid_N` for property N, and its name where a comment of a pre-processor gives one; flat cells and
lines without a property entry only mark faces and nodes. `SET n` and `SET1`: `set_N`, of nodes or elements as
their numbers say. Faces of PLOAD4 with load set N: face set `pload4_N`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.deck import count
from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.readers.nastran_axes import DEFAULT, Systems
from flexmbs.fe.readers.nastran_bulk import Solids, take_nodes, take_solids
from flexmbs.fe.readers.nastran_cards import Deck, Entry, parse_items, read_deck
from flexmbs.fe.readers.nastran_deck import Content
from flexmbs.fe.readers.nastran_extra import CARDS as EXTRA
from flexmbs.fe.readers.nastran_extra import read_extra
from flexmbs.fe.readers.nastran_links import CARDS, LinkReader
from flexmbs.fe.readers.nastran_sections import (
    LINE_PROPERTIES,
    PROPERTIES,
    SHELL_PROPERTIES,
    SectionReader,
    corner_points,
    cut_tapered,
)
from flexmbs.fe.readers.raw import Block, Numbering, RawMesh, grouped
from flexmbs.fe.readers.source import Damaged, Ints, one_int

# entry -> (corners, name with corners only, all nodes, name with mid-nodes)
SOLIDS = {
    "CTETRA": (4, "tet4", 10, "tet10"),
    "CHEXA": (8, "hex8", 20, "hex20"),
    "CPENTA": (6, "wedge6", 15, "wedge15"),
    "CPYRAM": (5, "pyramid5", 13, "pyramid13"),
    "CPYRA": (5, "pyramid5", 13, "pyramid13"),
}
FLATS = {
    "CTRIA3": (3, "tri3", 3, "tri3"),
    "CTRIAR": (3, "tri3", 3, "tri3"),
    "CTRIA6": (3, "tri3", 6, "tri6"),
    "CQUAD4": (4, "quad4", 4, "quad4"),
    "CQUADR": (4, "quad4", 4, "quad4"),
    "CQUAD8": (4, "quad4", 8, "quad8"),
    "CQUAD": (4, "quad4", 9, "quad9"),
}
LINES = ("CBAR", "CBEAM", "CROD", "CTUBE", "CONROD")
FLATS |= {name: (2, "line2", 2, "line2") for name in LINES}
OTHERS = re.compile(r"(CBEAM3|CBEND|CBUSH[12]D|CELAS[34]|CDAMP\d|CMASS[34]|"
                    r"CSHEAR|CGAP|CVISC|CWELD|CFAST|CTRIAX6?|CQUADX?4?|CTETRAX|CHEX8|CHEX20)$")  # fmt: skip
SECTIONS = re.compile(r"(PBCOMP|PSHEAR|PBEND)$")
SET = re.compile(r"\s*SET\s+(\d{1,9})\s*=\s*(.*)", re.IGNORECASE)
TAKEN = re.compile(r"\s*(MPC|SPC|NSM)\s*=\s*(\d{1,9})", re.IGNORECASE)
WORDS = re.compile(r"\b(?!THRU\b|BY\b|EXCEPT\b)[A-Z]|[./]")
NAMES = (
    re.compile(r"ANSA_NAME_COMMENT;(?P<id>\d+);(?P<kind>PSOLID|SET|PSHELL);(?P<name>[^;]+);"),
    re.compile(r'HMNAME\s+(?P<kind>PROP|COMP)\s+(?P<id>\d+)\s*"(?P<name>[^"]+)"'),
    re.compile(r'HMSET\s+(?P<id>\d+)\s+\d+\s*"(?P<name>[^"]+)"(?P<kind>)'),
    re.compile(r"\s*Femap (?P<kind>Property) (?P<id>\d+) : (?P<name>.+)"),
)


def read_nastran(path: Path, data: bytes, ignore: frozenset[str] = frozenset()) -> RawMesh:
    """Content of a bulk data file, without the entries whose names are in `ignore`."""
    deck = read_deck(path, data)
    return _Model(deck, ignore).raw()


class _Model:
    def __init__(self, deck: Deck, ignore: frozenset[str]) -> None:
        self.deck = deck
        self.ignore = ignore
        self.systems = Systems()
        self.content = Content(deck.path, systems=self.systems)
        self.structure = SectionReader(self.content, self.systems)
        self.links = LinkReader(self.content.deck, self.systems, lambda: self.content.wtmass)
        self.default_out = 0
        self.rows: dict[str, tuple[list[int], list[int], list[list[int]]]] = {}
        self.cells: dict[str, tuple[Ints, Ints, Ints]] = {}  # numbers, properties, nodes
        self.unsupported: dict[str, int] = {}
        self.left_out: list[int] = []
        self.sets: dict[int, list[Any]] = {}
        self.loads: list[Entry] = []
        self.extra: list[Entry] = []
        self.sections: set[int] = set()

    def raw(self) -> RawMesh:
        default_system = 0
        long_runs = self._long_runs()
        for entry in self.deck.entries():
            if entry.name in self.ignore:
                self._leave_out(entry)
            elif entry.name == "GRDSET":
                default_system, self.default_out = entry.whole(1, 0), entry.whole(5, 0)
            else:
                self._add(entry)
        self.systems.grids.close(default_system)
        self._all_cells(long_runs)
        self._control_sets()
        raw = RawMesh(*self._nodes())
        raw.unsupported = self.unsupported
        self._cells(raw)
        self._named_sets(raw)
        self._loaded_faces(raw)
        if not self.deck.complete:
            what = "there is no ENDDATA: the end of the file may be missing"
            raw.notes.append(Diagnostic("mesh.no_end", str(self.deck.path), what, severity="warn"))
        if self.deck.long:
            lines = self.deck.long
            what = f"{len(lines)} lines of commas hold more than eight fields, first line {lines[0]}"
            remedy = "they were read as if the rest stood in a line of its own: +, ..."
            raw.notes.append(Diagnostic("mesh.long_lines", str(self.deck.path), what, remedy, "warn"))
        parts: dict[int, list[Any]] = {}
        for kind, (numbers, properties, _) in self.cells.items():
            if kind.startswith(("tet", "hex", "wedge", "pyramid")):
                for pid, members in grouped(properties, numbers):
                    parts.setdefault(pid, []).append(members)
        raw.deck = self.content.sections(parts)
        self._structure(raw)
        if self.default_out:
            for number in self.systems.grids.number.tolist():
                self.systems.out.setdefault(number, self.default_out)
        taken = self._taken()
        self.links.read(taken)
        if self.extra:
            self._extra_mass(taken.get("NSM"))
        cut_tapered(raw, self.structure.tapered)
        raw.frames = lambda: {n: self.systems.out_axes(n) for n, cd in self.systems.out.items() if cd > 0}
        raw.left_out = np.array(self.left_out, dtype=np.int64)
        return raw

    def _long_runs(self) -> list[Solids]:
        """Nodes and solids in their plainest form, which need no entries of their own."""
        if self.ignore:
            return []
        lines, number = self.deck.bulk, self.deck.number
        nodes = take_nodes(lines)
        if nodes is not None:
            self.systems.grids.parts.append((nodes.number, nodes.system, nodes.points, number[nodes.at]))
        return list(take_solids(lines, {name: (row[0], row[2]) for name, row in SOLIDS.items()}))

    def _all_cells(self, long_runs: list[Solids]) -> None:
        """Cells of entries and of long runs, by kind."""
        found: dict[str, list[tuple[Ints, Ints, Ints]]] = {}
        for run in long_runs:
            corners, linear, _, quadratic = SOLIDS[run.name]
            kind = linear if run.nodes.shape[1] == corners else quadratic
            found.setdefault(kind, []).append((run.number, run.pid, run.nodes))
        for kind, (numbers, properties, rows) in self.rows.items():
            part = tuple(np.array(item, dtype=np.int64) for item in (numbers, properties, rows))
            found.setdefault(kind, []).append(part)  # type: ignore[arg-type]
        for kind, parts in found.items():
            numbers_of, pids, nodes = (np.concatenate(part) for part in zip(*parts, strict=True))
            self.cells[kind] = numbers_of, pids, nodes

    def _structure(self, raw: RawMesh) -> None:
        """Flat and line cells with a property carry."""
        numbering, reader = Numbering(raw.node_number), self.structure
        flat: list[tuple[Ints, Ints, Any]] = []
        for kind, (number, pid, rows) in self.cells.items():
            kinds = LINE_PROPERTIES if kind == "line2" else SHELL_PROPERTIES
            known = [name for name, prop in reader.properties.items() if prop.name in kinds]
            conrod = kind == "line2" and [reader.elements[n].name == "CONROD" for n in number.tolist()]
            taken = np.flatnonzero(np.isin(pid, known) | conrod)
            if kind == "line2":
                reader.read_lines(number[taken], pid[taken], lambda node: self.systems.position(node))
            elif kind[:3] in ("tri", "qua") and len(taken):
                corners = corner_points(numbering, raw.points, rows[taken])
                flat.append((number[taken], pid[taken], corners))
        if flat:
            numbers_of, pids, places = (np.concatenate(part) for part in zip(*flat, strict=True))
            reader.read_shells(numbers_of, pids, places)
        raw.notes.extend(reader.notes)

    def _extra_mass(self, taken: set[int] | None) -> None:
        known = self.structure.properties
        properties: dict[int, tuple[str, Ints]] = {}
        for number, pid, _ in self.cells.values():
            for name, members in grouped(pid, number):
                if name in known:
                    before = properties.get(name, ("", members[:0]))[1]
                    properties[name] = known[name].name, np.concatenate([before, members])
                elif name in self.structure.elements:  # CONROD has no property
                    properties[name] = "CONROD", members
        read_extra(self.extra, taken, self.content.wtmass, properties, self.content.deck)

    def _add(self, entry: Entry) -> None:
        name = entry.name
        if name == "GRID":
            system = entry.whole(1, DEFAULT)
            point = np.array([entry.real(2), entry.real(3), entry.real(4)])
            number = entry.whole(0)
            self.systems.grids.add(number, system, point, entry.line)
            if entry.text(5) and entry.text(5) != "0":
                self.systems.out[number] = entry.whole(5)
            if entry.text(6).strip("0"):
                self.links.permanent.setdefault(entry.text(6), []).append(number)
        elif name in SOLIDS or name in FLATS:
            self._cell(entry)
        elif name.startswith("CORD") and name[4:] in ("1R", "1C", "1S", "2R", "2C", "2S"):
            self.systems.add(entry)
        elif name in CARDS:
            self.links.add(entry)
        elif name in EXTRA:
            self.extra.append(entry)
        elif OTHERS.match(name):
            count(self.unsupported, name)
            if entry.text(0).isdigit():
                self.left_out.append(entry.whole(0))
        elif SECTIONS.match(name):
            self.sections.add(entry.whole(0))
        elif name in PROPERTIES:
            self.structure.add(entry)
        elif name == "PLOAD4":
            self.loads.append(entry)
            count(self.content.deck.no_effect, name)
        elif name == "SET1":
            words = [
                word for word in entry.fields[1:] if word and not word.isalpha() or word.upper() == "THRU"
            ]
            self.sets[entry.whole(0)] = parse_items(" ".join(words), entry.line)
        else:
            self.content.add(entry)

    def _leave_out(self, entry: Entry) -> None:
        """An entry that is left out on purpose; sets may still name the number of an element."""
        count(self.content.deck.ignored, entry.name)
        if entry.name.startswith("C") and entry.text(0).isdigit():
            self.left_out.append(entry.whole(0))

    def _cell(self, entry: Entry) -> None:
        corners, linear, most, quadratic = (SOLIDS | FLATS)[entry.name]
        number = entry.whole(0)
        first = 1 if entry.name == "CONROD" else 2
        words = entry.fields[first : first + most]
        if entry.name in FLATS:  # coordinates and offsets may stand behind the nodes
            words = words[: most if all(word.isdigit() for word in words[corners:]) else corners]
        nodes = [one_int(word, "node", entry.line) if word.isdigit() else -1 if word else 0 for word in words]
        if min(nodes[:corners], default=-1) <= 0 or len(nodes) < corners or min(nodes) < 0:
            raise Damaged(f"{entry.name} {number}: its nodes are not all numbers", entry.line)
        mids = sum(1 for node in nodes[corners:] if node)
        if mids and mids < most - corners:
            kind = f"{entry.name} with {corners + mids} of {most} nodes"
            self.unsupported[kind] = self.unsupported.get(kind, 0) + 1
            return
        kind = quadratic if mids else linear
        numbers, properties, rows = self.rows.setdefault(kind, ([], [], []))
        numbers.append(number)
        properties.append(number if entry.name == "CONROD" else entry.whole(1, number))
        if entry.name in FLATS:
            self.structure.keep(entry)
        rows.append(nodes if mids else nodes[:corners])

    def _nodes(self) -> tuple[Ints, Any]:
        grids = self.systems.grids
        number, system, points = grids.number, grids.system, grids.points.copy()
        for name in np.unique(system):
            chosen = system == name
            points[chosen] = self.systems.basic(int(name), points[chosen])
        return number, points

    def _cells(self, raw: RawMesh) -> None:
        names = self._comment_names()
        for kind, (number, properties, nodes) in self.cells.items():
            raw.blocks.append(Block(kind, number, in_our_order(nodes, kind, "nastran")))
            for pid, members in grouped(properties, number):
                raw.cell_sets.setdefault(f"pid_{pid}", []).append(members)
                if ("property", pid) in names:
                    raw.cell_sets.setdefault(names["property", pid], []).append(members)
                if pid in self.sections and kind[:3] in ("tri", "qua", "lin"):
                    raw.structural.append(members)

    def _comment_names(self) -> dict[tuple[str, int], str]:
        names: dict[tuple[str, int], str] = {}
        for comment in self.deck.comments:
            for pattern in NAMES:
                found = pattern.match(comment)
                if found and len(found["id"]) < 10:
                    what = "set" if found["kind"] in ("SET", "") else "property"
                    names[what, int(found["id"])] = found["name"].strip()
        return names

    def _taken(self) -> dict[str, set[int]]:
        """Sets of MPC and SPC that the case control takes; nothing where there is no case control."""
        found: dict[str, set[int]] = {"MPC": set(), "SPC": set(), "NSM": set()} if self.deck.control else {}
        for line, _ in self.deck.control:
            match = TAKEN.match(line)
            if match:
                found[match[1].upper()].add(int(match[2]))
        return found

    def _control_sets(self) -> None:
        """SET n = ... of the case control section; a comma at the end of a line goes on."""
        text, start = "", 0
        for line, number in self.deck.control:
            line = line.partition("$")[0].rstrip()
            start = start if text else number
            text = f"{text} {line}" if text else line
            if text.endswith(","):
                continue
            found = SET.match(text)
            if found and not WORDS.search(found[2].upper()):  # sets of names and ALL are for output only
                self.sets[int(found[1])] = parse_items(found[2].replace(",", " "), start)
            text = ""

    def _named_sets(self, raw: RawMesh) -> None:
        """A set is one of nodes when all its numbers are nodes; of elements likewise; it may be both."""
        names = self._comment_names()
        cells = np.concatenate([np.zeros(0, dtype=np.int64), *(block.number for block in raw.blocks)])
        for number, parts in self.sets.items():
            name = names.get(("set", number), f"set_{number}")
            of_nodes, of_cells = all_known(parts, raw.node_number), all_known(parts, cells)
            if of_nodes:
                raw.node_sets[name] = parts
            if not of_nodes and not of_cells:
                what = f"set {number} is passed over: its numbers are not all nodes, nor all elements"
                raw.notes.append(Diagnostic("mesh.passed_over", str(self.deck.path), what, severity="warn"))
            if of_cells:
                raw.cell_sets.setdefault(name, []).extend(parts)

    def _loaded_faces(self, raw: RawMesh) -> None:
        wanted = {entry.whole(1) for entry in self.loads}
        corners: dict[int, tuple[str, list[int]]] = {}
        for kind, (numbers, _, rows) in self.cells.items():
            if kind.startswith(("tet", "hex", "wedge", "pyramid")):
                mine = np.isin(numbers, list(wanted))
                corners.update(
                    (n, (kind, row))
                    for n, row in zip(numbers[mine].tolist(), rows[mine].tolist(), strict=True)
                )
        for entry in self.loads:
            if entry.whole(1) in corners and entry.text(6):
                kind, row = corners[entry.whole(1)]
                face = loaded_face(kind, row, entry.whole(6), entry.whole(7, 0))
                if not face:
                    raise Damaged(f"PLOAD4 on element {entry.whole(1)} names no face of it", entry.line)
                name = f"pload4_{entry.whole(0)}"
                raw.faces.setdefault(name, []).append(np.array([face], dtype=np.int64))


def loaded_face(kind: str, row: list[int], one: int, other: int) -> list[int]:
    """Corners of the face: tetrahedra name a corner of it and the one opposite, others two on a diagonal."""
    from flexmbs.fe.elements import ELEMENTS

    element = ELEMENTS[kind]
    faces = [[row[k] for k in face if k < element.n_corners] for face in element.faces]
    for face in faces:
        if one not in face:
            continue
        if element.family == "tet" and other in row[:4] and other not in face:
            return face
        if element.family != "tet" and len(face) == 4 and other in face:
            if (face.index(one) - face.index(other)) % 4 == 2:
                return face
        if element.family == "wedge" and len(face) == 3 and not other:
            return face
    return []


def all_known(parts: list[Any], number: Ints) -> bool:
    """Whether all single numbers exist, and every range holds at least one."""
    for part in parts:
        if isinstance(part, tuple):
            if not ((number >= part[0]) & (number <= part[1])).any():
                return False
        elif not np.isin(part, number).all():
            return False
    return bool(parts)
