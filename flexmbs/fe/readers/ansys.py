"""Ansys .cdb -> RawMesh and deck: NBLOCK, EBLOCK, CMBLOCK, materials; solids with repeated nodes unfolded."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from flexmbs.fe.deck import Deck, DeckMaterial, Equation, Support, count
from flexmbs.fe.readers.ansys_sections import CARRYING, COMMANDS, MASS, Sections
from flexmbs.fe.readers.raw import Block, Numbering, RawMesh
from flexmbs.fe.readers.source import Damaged, Ints, one_int, reals

#: number of the element type -> largest number of nodes
SOLIDS = {45: 8, 185: 8, 95: 20, 186: 20, 92: 10, 187: 10, 285: 4, 73: 8}
#: surface effects, and meshes without stiffness: they mark faces
SURFACES = {152, 154, 200}
#: kind by the corners that coincide, positions in the 8 or 20 nodes
SHAPES = {
    "hex": ([0, 1, 2, 3, 4, 5, 6, 7], [*range(8, 20)]),
    "wedge": ([0, 1, 2, 4, 5, 6], [8, 9, 11, 12, 13, 15, 16, 17, 18]),
    "pyramid": ([0, 1, 2, 3, 4], [8, 9, 10, 11, 16, 17, 18, 19]),
    "tet": ([0, 1, 2, 4], [8, 9, 11, 16, 17, 18]),
}
#: ends of the edges of bricks and tetrahedra whose mid-nodes come behind the corners
EDGES = {
    20: ((0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4), (0, 4), (1, 5), (2, 6), (3, 7)),
    10: ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)),
}
NAMES = {
    "hex": ("hex8", "hex20"),
    "wedge": ("wedge6", "wedge15"),
    "pyramid": ("pyramid5", "pyramid13"),
    "tet": ("tet4", "tet10"),
}
#: commands that connect or that change the model in ways that are not read
CHANGES = {"CE", "CP", "CPINTF", "CEINTF", "CERIG", "RBE3", "CPCYC", "CECYC", "TB", "TBDATA", "N", "EN"}
LOADS = {
    "F",
    "SFE",
    "SF",
    "BF",
    "BFE",
    "BFBLOCK",
    "SFEBLOCK",
    "ACEL",
    "OMEGA",
    "CMOMEGA",
    "DCVSWP",
    "IC",
    "CGLOC",
}
DIRECTIONS = {"UX": 0, "UY": 1, "UZ": 2, "ROTX": 3, "ROTY": 4, "ROTZ": 5}
WIDTHS = re.compile(r"(\d*)\s*([ieg])\s*(\d+)", re.IGNORECASE)
CONSTANTS = {"EX": "E", "NUXY": "nu", "PRXY": "nu", "DENS": "rho"}


def read_ansys(path: Path, data: bytes, ignore: frozenset[str] = frozenset()) -> RawMesh:
    """Content of an archive as CDWRITE makes it."""
    return _Archive(path, ignore).read(data.decode("utf-8", "replace").splitlines())


class _Archive:
    def __init__(self, path: Path, ignore: frozenset[str]) -> None:
        self.path, self.ignore = path, ignore
        self.deck = Deck("Ansys")
        self.raw = RawMesh(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), deck=self.deck)
        self.types: dict[int, int] = {}
        self.rows: dict[str, tuple[list[int], list[list[int]], list[int]]] = {}
        self.values: dict[int, dict[str, float]] = {}
        self.held: dict[tuple[int, ...], set[int]] = {}
        self.left_out: list[int] = []
        self.middles: dict[tuple[int, int], int] = {}
        self.unused = 1
        self.lines: list[str] = []
        self.at = 0
        self.index: dict[int, int] = {}
        self.sections = Sections(self.deck, self.types, self.index.get)

    def read(self, lines: list[str]) -> RawMesh:
        self.lines = lines
        while self.at < len(lines):
            line = lines[self.at].partition("!")[0].strip()
            self.at += 1
            words = [word.strip() for word in line.split(",")]
            name = words[0].upper()
            if name in self.ignore:
                count(self.deck.ignored, name)
            elif name == "NBLOCK":
                self._nodes(words)
            elif name == "EBLOCK":
                self._elements(words)
            elif name == "CMBLOCK":
                self._component(words)
            elif name == "ET" and len(words) > 2:
                digits = re.sub(r"\D", "", words[2])
                self.types[self._int(words[1])] = self._int(digits)
            elif name in COMMANDS:
                self.sections.add(words, self._next, self.at)
            elif name == "ETBLOCK":
                self._types()
            elif name in ("MPDATA", "MP"):
                self._material(name, words)
            elif name == "D" and len(words) > 2 and words[1].isdigit() and words[2].upper() in DIRECTIONS:
                self.held.setdefault((DIRECTIONS[words[2].upper()],), set()).add(int(words[1]))
            elif name in LOADS:
                count(self.deck.no_effect, name)
            elif name in CHANGES and not (
                name in ("N", "EN") and words[1:2] in (["R5.3"], ["R5.5"], ["R5.1"])
            ):
                count(self.deck.not_understood, name)
        return self._finish()

    def _next(self) -> str:
        """The next line, which must be there."""
        if self.at >= len(self.lines):
            raise Damaged("the file ends in the middle of a block", self.at)
        self.at += 1
        return self.lines[self.at - 1]

    def _int(self, word: str) -> int:
        return one_int(word, "number", self.at)

    def _widths(self) -> list[tuple[str, int]]:
        """Kind and width of the fields by the Fortran format in the line, such as (3i9,6e21.13e3)."""
        text = self.lines[self.at] if self.at < len(self.lines) else ""
        found = WIDTHS.findall(re.sub(r"\.\d+(e\d+)?", "", text))
        if not found or not text.strip().startswith("("):
            raise Damaged(f'expected a format such as (3i9,6e21.13e3), found "{text[:40]}"', self.at + 1)
        self.at += 1
        return [(kind.lower(), int(width)) for times, kind, width in found for _ in range(int(times or 1))]

    def _fields(self, line: str, widths: list[tuple[str, int]]) -> list[str]:
        result, at = [], 0
        for _, width in widths:
            if at >= len(line.rstrip()):
                break
            result.append(line[at : at + width].strip())
            at += width
        return result

    def _nodes(self, words: list[str]) -> None:
        announced = words[4] if len(words) > 4 else ""
        widths = self._widths()
        first = sum(1 for kind, _ in widths if kind == "i")
        numbers, points = [], []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line[:1].strip() and not line.strip()[:1].isdigit() or line.strip().startswith("-"):
                break
            self.at += 1
            words = self._fields(line, widths)
            numbers.append(self._int(words[0]))
            xyz = reals([word or "0" for word in words[first : first + 3]], self.at)
            points.append(xyz + [0.0] * (3 - len(xyz)))
        self._complete("NBLOCK", announced, len(numbers))
        self.raw.node_number = np.append(self.raw.node_number, np.array(numbers, dtype=np.int64))
        self.raw.points = np.concatenate([self.raw.points, np.array(points).reshape(-1, 3)])

    def _types(self) -> None:
        self._widths()
        while self.at < len(self.lines) and self.lines[self.at].strip() not in ("-1", ""):
            words = self.lines[self.at].split()
            self.at += 1
            if words[0] == "-1":
                break
            self.types[self._int(words[0])] = self._int(words[1])

    def _elements(self, words: list[str]) -> None:
        announced, rows = words[4] if len(words) > 4 else "", 0
        if len(words) > 2 and words[2].upper() != "SOLID":
            raise Damaged("EBLOCK of an old form, without SOLID", self.at, "write it with CDWRITE,DB")
        widths = self._widths()
        while self.at < len(self.lines) and self.lines[self.at].strip() != "-1":
            self.at += 1
            head = [self._int(word) for word in self._fields(self.lines[self.at - 1], widths)]
            if len(head) < 11:
                raise Damaged("a row of EBLOCK has fewer than 11 numbers", self.at)
            nodes, n_nodes = head[11:], head[8]
            while len(nodes) < n_nodes and self.at < len(self.lines):
                self.at += 1
                nodes += [self._int(word) for word in self._fields(self.lines[self.at - 1], widths)]
            self._element(head, nodes[:n_nodes])
            rows += 1
        self._complete("EBLOCK", announced, rows)

    def _complete(self, name: str, announced: str, found: int) -> None:
        """Blocks say how many rows they have, in newer releases of Ansys."""
        if announced.isdigit() and int(announced) not in (0, found):
            raise Damaged(f"{name} announces {announced} rows, {found} are there", self.at, "write it again")

    def _element(self, head: list[int], nodes: list[int]) -> None:
        material, kind, number = head[0], head[1], head[10]
        label = self.types.get(kind)
        if label is None:
            raise Damaged(f"element {number} has type {kind}, which no ET defines", self.at)
        name = f"TYPE {label}"
        if str(label) in self.ignore or name in self.ignore:
            count(self.deck.ignored, name)
            self.left_out.append(number)
        elif label in SOLIDS and len(nodes) >= min(SOLIDS[label], 4):
            self._solid(number, material, nodes, label)
        elif label in SURFACES and len(set(nodes[:4])) in (3, 4):
            corners = list(dict.fromkeys(nodes[:4]))
            rows = self.rows.setdefault("tri3" if len(corners) == 3 else "quad4", ([], [], []))
            rows[0].append(number)
            rows[1].append(corners)
            rows[2].append(material)
        elif label in CARRYING and len(nodes) >= 1 + (label != MASS):
            refused = self.sections.refused(kind)
            found, cell = ("", []) if refused else self.sections.element(number, kind, head, nodes)
            if refused:
                count(self.raw.unsupported, refused)
            if not found:
                self.left_out.append(number)
                return
            rows = self.rows.setdefault(found, ([], [], []))
            rows[0].append(number)
            rows[1].append(cell)
            rows[2].append(material)
        else:
            count(self.raw.unsupported, name)
            self.left_out.append(number)

    def _solid(self, number: int, material: int, nodes: list[int], label: int) -> None:
        n, edges = SOLIDS[label], EDGES.get(SOLIDS[label], ())
        mids: list[int] = []
        if len(nodes) > n - len(edges) and edges:
            nodes = nodes + [0] * (n - len(nodes))
            mids = [nodes[n - len(edges) + k] or -k - 1 for k in range(len(edges))]
        if n in (4, 10):
            shape, corners = "tet", nodes[:4]
        else:
            shape = shape_of(nodes[:8])
            places, used = SHAPES[shape]
            corners = [nodes[k] for k in places]
            mids = [mids[k - 8] for k in used] if mids else []
        mids = [self._middle(*(nodes[k] for k in edges[-mid - 1])) if mid < 0 else mid for mid in mids]
        rows = self.rows.setdefault(NAMES[shape][1 if mids else 0], ([], [], []))
        rows[0].append(number)
        rows[1].append([*corners, *mids])
        rows[2].append(material)

    def _middle(self, one: int, other: int) -> int:
        """Node in place of a mid-node that was dropped from an edge: it stays in the middle of its ends."""
        if not self.middles:
            self.unused = int(self.raw.node_number.max(initial=0)) + 1
        return self.middles.setdefault((min(one, other), max(one, other)), self.unused + len(self.middles))

    def _join_middles(self) -> None:
        """Nodes and equations of dropped mid-nodes. Writes: raw, deck."""
        if not self.middles:
            return
        ends, numbering = np.array(list(self.middles)), Numbering(self.raw.node_number)
        index, unknown = numbering.index(ends.ravel())
        if len(unknown):
            raise Damaged(f"an element refers to node {unknown[0]}, which does not exist")
        points = self.raw.points[index].reshape(-1, 2, 3).mean(axis=1)
        self.raw.points = np.concatenate([self.raw.points, points])
        added = np.array(list(self.middles.values()), dtype=np.int64)
        self.raw.node_number = np.append(self.raw.node_number, added)
        for number, (one, other) in zip(added.tolist(), ends.tolist(), strict=True):
            for unit in np.eye(6)[:3]:
                terms = (number, unit), (one, -0.5 * unit), (other, -0.5 * unit)
                self.deck.links.append(Equation(terms, "dropped mid-node"))

    def _component(self, words: list[str]) -> None:
        """A named set: numbers, where a negative one ends the range from the one before."""
        if len(words) < 4:
            raise Damaged("CMBLOCK needs a name, its kind and a count", self.at)
        name, kind, left = words[1], words[2].upper(), self._int(words[3])
        widths = self._widths()
        numbers: list[int] = []
        cells = len(self.left_out) + sum(len(rows[0]) for rows in self.rows.values())
        most = len(self.raw.node_number) + cells
        while left > 0 and self.at < len(self.lines):
            self.at += 1
            row = [self._int(word) for word in self._fields(self.lines[self.at - 1], widths)]
            left -= len(row)
            for value in row:
                if value < 0 and numbers:
                    if -value - numbers[-1] > most:
                        what = f"CMBLOCK {name}: {numbers[-1]} to {-value} are more than there are"
                        raise Damaged(what, self.at)
                    numbers += range(numbers[-1] + 1, -value + 1)
                else:
                    numbers.append(value)
        if left > 0:
            raise Damaged(f"CMBLOCK {name} ends {left} numbers early", self.at)
        sets = self.raw.node_sets if kind.startswith("NODE") else self.raw.cell_sets
        sets.setdefault(name, []).append(np.array(numbers, dtype=np.int64))

    def _material(self, name: str, words: list[str]) -> None:
        """`MPDATA,R5.0, 1,EX  , 1, 1, 2.1e11` or `MP,EX,1,2.1e11`; only the constant term."""
        if name == "MPDATA":
            words = words[3:] if words[1].upper().startswith("R") else words[1:]
            key, number, values = words[0].upper(), words[1], words[3:]
        else:
            key, number, values = words[1].upper(), words[2], words[3:]
        found = [word for word in values if word]
        if key in ("EY", "EZ", "GXY", "GYZ", "GXZ", "PRYZ", "PRXZ", "NUYZ", "NUXZ"):
            count(self.deck.not_understood, f"MP,{key}")
        elif key in CONSTANTS and found:
            numbers = reals(found, self.at)
            if len([x for x in numbers if x]) > 1:
                count(self.deck.not_understood, f"MP,{key} by temperature")
            self.values.setdefault(self._int(number), {})[CONSTANTS[key]] = numbers[0]

    def _finish(self) -> RawMesh:
        self._join_middles()
        index = self.index
        for number, values in sorted(self.values.items()):
            index[number] = len(self.deck.materials)
            where = f"{self.path}: material {number}"
            constants = (values.get("E"), values.get("nu"), values.get("rho"))
            self.deck.materials.append(DeckMaterial(f"mat_{number}", where, *constants))
        for kind, (numbers, nodes, material) in self.rows.items():
            cells: Ints = np.array(numbers, dtype=np.int64)
            self.raw.blocks.append(Block(kind, cells, np.array(nodes, dtype=np.int64)))
            for key in sorted(set(material)):
                members = cells[np.array(material) == key]
                self.raw.cell_sets.setdefault(f"mat_{key}", []).append(members)
                if key in index and kind[:3] not in ("tri", "qua", "lin"):
                    self.deck.sections.append(([members], index[key]))
        carrying: dict[int, list[int]] = {}
        for number, mat in self.sections.finish(self.raw.node_number, self.raw.points):
            carrying.setdefault(mat, []).append(number)
        for mat, elements in carrying.items():
            if mat in index:
                self.deck.sections.append(([np.array(elements, dtype=np.int64)], index[mat]))
        self.raw.left_out = np.array(self.left_out, dtype=np.int64)
        by_nodes: dict[int, set[int]] = {}
        for (dof,), held in self.held.items():
            for node in held:
                by_nodes.setdefault(node, set()).add(dof)
        groups: dict[tuple[int, ...], list[int]] = {}
        for node, dofs in sorted(by_nodes.items()):
            groups.setdefault(tuple(sorted(dofs)), []).append(node)
        for k, (dofs_of, held_nodes) in enumerate(groups.items()):
            self.deck.supports.append(Support(f"d_{k + 1}", np.array(held_nodes), dofs_of))
        return self.raw


def shape_of(corners: list[int]) -> str:
    """Bricks with repeated corners are wedges, pyramids or tetrahedra."""
    i, j, k, ell, m, n, o, p = corners
    if len(set(corners)) == 8:
        return "hex"
    if k == ell and m == n == o == p:
        return "tet"
    if m == n == o == p:
        return "pyramid"
    if k == ell and o == p:
        return "wedge"
    raise Damaged(f"a brick repeats its corners in a way that is no solid ({', '.join(map(str, corners))})")
