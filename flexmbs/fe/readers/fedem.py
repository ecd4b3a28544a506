"""openFEDEM .ftl -> RawMesh and deck: solids, shells, beams, materials, rigid elements, masses, groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.deck import (
    Deck,
    DeckBeam,
    DeckMass,
    DeckMaterial,
    DeckShell,
    Mean,
    Rigid,
    Structure,
    Support,
    count,
)
from flexmbs.fe.node_orders import in_our_order
from flexmbs.fe.profiles import Profile
from flexmbs.fe.readers.raw import Block, RawMesh
from flexmbs.fe.readers.source import Damaged, Floats, one_int, reals
from flexmbs.fe.sections import Section

#: element -> our kind, number of nodes
KINDS = {
    "TET4": ("tet4", 4), "TET10": ("tet10", 10), "HEX8": ("hex8", 8), "HEX20": ("hex20", 20),
    "WEDG6": ("wedge6", 6), "WEDG15": ("wedge15", 15),
    "TRI3": ("tri3", 3), "TRI6": ("tri6", 6), "QUAD4": ("quad4", 4), "QUAD8": ("quad8", 8),
    "BEAM2": ("line2", 2),
}  # fmt: skip
RECORD = re.compile(r"([A-Z][A-Z0-9_]*)\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
INNER = re.compile(r"\{\s*([A-Z0-9_]+)\s+([^{}]*)\}")
LINKS = ("RGD", "RBAR", "WAVGM", "CMASS")
#: attributes of elements: numbers by their own number; each acts where an element names it
PROPERTIES = {
    "PMAT", "PTHICK", "PNSM", "PBEAMSECTION", "PORIENT", "PBEAMORIENT", "PBEAMECCENT", "PBEAMPIN", "PMASS",
    "PRGD", "PRBAR",
}  # fmt: skip
LOADS = {"CFORCE", "CMOMENT", "FACELOAD", "EDGELOAD"}
NO_EFFECT = {
    "FTLVERSION", "VISUAL", "VDETAIL", "VAPPEARANCE", "PCOORDSYS", "PEFFLENGTH", "LOADCASE", "PSTRC",
    "PHEIGHT", "PTHICKREF", "PFATIGUE", "STRCOAT",
    "PCOMP", "PSHELL", "PMATSHELL", "PMAT2D", "PMAT3D", "PORIENT3", "PSPRING", "PBUSHCOEFF", "PBUSHECCENT",
    "PBUSHORIENT", "PWAVGM",
}  # fmt: skip
#: attributes that an element may name: those without a reading stop
KNOWN = {*PROPERTIES, "VISUAL", "VDETAIL", "VAPPEARANCE", "PEFFLENGTH", "PCOORDSYS", "FE"}


@dataclass
class Element:
    """A record of an element: number, nodes, what it names."""

    name: str
    number: int
    nodes: list[int]
    inner: dict[str, str]
    line: int

    def named(self, attribute: str) -> int | None:
        words = self.inner.get(attribute, "").split()
        return one_int(words[0], attribute, self.line) if words else None


@dataclass
class _Reader:
    path: Path
    deck: Deck = field(default_factory=lambda: Deck("openFEDEM"))
    grids: dict[int, list[float]] = field(default_factory=dict)
    external: list[int] = field(default_factory=list)
    held: dict[int, list[int]] = field(default_factory=dict)
    elements: list[Element] = field(default_factory=list)
    properties: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    materials: dict[int, int] = field(default_factory=dict)
    groups: dict[str, list[np.ndarray]] = field(default_factory=dict)
    left_out: list[int] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)

    def add(self, name: str, content: str, line: int) -> None:
        inner, words = dict(INNER.findall(content)), INNER.sub(" ", content).split()
        if name == "NODE":
            number, flag = one_int(words[0], "node", line), one_int(words[1], "flag", line)
            if number in self.grids:
                raise Damaged(f"node {number} is there twice", line)
            self.grids[number] = exactly(words[2:5], 3, line)
            if flag == 1:
                self.external.append(number)
            elif flag < 0:
                self.held.setdefault(-flag, []).append(number)
        elif name == "GROUP":
            members = [one_int(word, "element", line) for word in words[1:]]
            self.groups[inner_name(content, words)] = [np.array(members, dtype=np.int64)]
        elif name in KINDS or name in LINKS:
            numbers = [one_int(word, "node", line) for word in words]
            n = KINDS[name][1] if name in KINDS else len(numbers) - 1
            if len(numbers) != n + 1:
                raise Damaged(f"{name} {words[:1]} has {len(numbers) - 1} of {n} nodes", line)
            self.elements.append(Element(name, numbers[0], numbers[1:], inner, line))
        elif name in PROPERTIES:
            values = exactly(words[1:], 4, line) if name == "PMAT" else reals(words[1:], line)
            self.properties.setdefault(name, {})[one_int(words[0], name, line)] = values
        elif name in LOADS:
            count(self.deck.no_effect, name)
        elif name.startswith("STRC") and words[0].isdigit():  # strain coats lie on the faces of cells
            self.left_out.append(one_int(words[0], "element", line))
        elif name not in NO_EFFECT:
            count(self.deck.not_understood, name)

    def values(self, element: Element, attribute: str) -> list[float] | None:
        """Numbers of an attribute that the element names; one that is not there is an error."""
        number = element.named(attribute)
        if number is None:
            return None
        if number not in self.properties.get(attribute, {}):
            raise Damaged(f"{element.name} {element.number}: there is no {attribute} {number}", element.line)
        return self.properties[attribute][number]

    def material(self, element: Element) -> int | None:
        """Index of the material of an element in the deck."""
        number, values = element.named("PMAT"), self.values(element, "PMAT")
        if number is None or values is None:
            return None
        if number not in self.materials:
            E, _, nu, rho = values
            self.materials[number] = len(self.deck.materials)
            self.deck.materials.append(DeckMaterial(f"mat_{number}", str(self.path), E, nu, rho))
        return self.materials[number]

    def note(self, what: str) -> None:
        if what not in [item.what for item in self.notes]:
            self.notes.append(Diagnostic("deck.section", str(self.path), what, severity="warn"))

    def raw(self) -> RawMesh:
        raw = RawMesh(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), deck=self.deck)
        raw.node_number = np.array(list(self.grids), dtype=np.int64)
        raw.points = np.array(list(self.grids.values())).reshape(-1, 3)
        raw.cell_sets.update(self.groups)
        if self.external:
            raw.node_sets["external"] = [np.array(self.external, dtype=np.int64)]
        for mask, nodes in sorted(self.held.items()):
            dofs = tuple(k for k in range(6) if mask & 2**k)
            name = f"held_{''.join(str(k + 1) for k in dofs)}"
            self.deck.supports.append(Support(name, np.array(nodes, dtype=np.int64), dofs))
        parts: dict[int, list[int]] = {}
        shells: list[tuple[int, int]] = []
        beams: list[tuple[int, int, Floats, Floats, Floats]] = []
        rows: dict[str, list[Element]] = {}
        for element in self.elements:
            for attribute in sorted(set(element.inner) - KNOWN):
                count(self.deck.not_understood, f"{element.name} with {attribute}")
            if element.name in LINKS:
                self.left_out.append(element.number)
                self._link(element)
                continue
            kind = KINDS[element.name][0]
            rows.setdefault(kind, []).append(element)
            if kind[:3] in ("tri", "qua"):
                shells.append((element.number, self._shell(element)))
            elif kind == "line2":
                beams.append((element.number, *self._beam(element)))
            material = self.material(element)
            if material is not None:
                parts.setdefault(material, []).append(element.number)
        for kind, members in rows.items():
            table = np.array([element.nodes for element in members], dtype=np.int64)
            number = np.array([element.number for element in members], dtype=np.int64)
            raw.blocks.append(Block(kind, number, in_our_order(table, kind, "fedem")))
        for material, numbers in parts.items():
            self.deck.sections.append(([np.array(numbers, dtype=np.int64)], material))
        if shells:
            number, section = np.array(shells, dtype=np.int64).T
            self.deck.shell_cells = Structure(number, section, np.tile([1.0, 0.0, 0.0], (len(number), 1)))
        if beams:
            number, section, axis, arms, free = (np.array(part) for part in zip(*beams, strict=True))
            self.deck.beam_cells = Structure(number, section, axis, arms, free.astype(bool))
        raw.left_out = np.array(self.left_out, dtype=np.int64)
        raw.notes.extend(self.notes)
        return raw

    def _shell(self, element: Element) -> int:
        """Index of the section of a shell."""
        thickness, extra = self.values(element, "PTHICK"), self.values(element, "PNSM")
        if not thickness or not thickness[0] > 0.0:
            raise Damaged(f"{element.name} {element.number} has no thickness", element.line)
        item = DeckShell(thickness[0], extra=extra[0] if extra else 0.0)
        if item not in self.deck.shells:
            self.deck.shells.append(item)
        return self.deck.shells.index(item)

    def _beam(self, element: Element) -> tuple[int, Floats, Floats, Floats]:
        """Index of the section of a beam, its y axis, offsets of its ends, released directions."""
        values, extra = self.values(element, "PBEAMSECTION"), self.values(element, "PNSM")
        if values is None or len(values) < 4:
            raise Damaged(f"{element.name} {element.number} has no section", element.line)
        A, Iz, Iy, J, k_y, k_z, s_y, s_z, angle = (values + [0.0] * 9)[:9]  # their Iy is int y^2
        if not min(A, Iy, Iz, J) > 0.0:
            raise Damaged(
                f"{element.name} {element.number}: its section must have A, Iy, Iz, It", element.line
            )
        self._shear_modulus(element)
        if s_y or s_z:
            self.note("the shear centre of beams is taken at the centroid")
        factor = (k_y or STIFF, k_z or STIFF) if k_y or k_z else None
        section = Section(A, Iy, Iz, J, factor, extra=extra[0] if extra else 0.0)
        theory = "timoshenko" if factor else "euler-bernoulli"
        item = DeckBeam(Profile(section, float(np.radians(angle))), theory)
        if item not in self.deck.beams:
            self.deck.beams.append(item)
        x = np.subtract(*(self._place(element, end) for end in (1, 0)))
        z = self.values(element, "PORIENT") or self.values(element, "PBEAMORIENT")
        y = globalized(x) if z is None else np.cross(z[:3], x)
        arms = (self.values(element, "PBEAMECCENT") or []) + [0.0] * 6
        released, pins = np.zeros(12), self.values(element, "PBEAMPIN") or [0.0, 0.0]
        for end, digits in enumerate(pins[:2]):
            for digit in str(int(digits)).strip("0"):
                released[6 * end + int(digit) - 1] = 1.0
        return self.deck.beams.index(item), y, np.array(arms[:6]).reshape(2, 3), released

    def _shear_modulus(self, element: Element) -> None:
        """Beams take G from E and Poisson's ratio: one that is another stops."""
        E, G, nu, _ = self.values(element, "PMAT") or (0.0, 0.0, 0.0, 0.0)
        if G and abs(G * 2.0 * (1.0 + nu) - E) > 1e-2 * E:
            count(self.deck.not_understood, "PMAT of beams whose G is not that of E and nu")

    def _place(self, element: Element, end: int) -> Floats:
        if element.nodes[end] not in self.grids:
            raise Damaged(
                f"{element.name} {element.number}: there is no node {element.nodes[end]}", element.line
            )
        return np.array(self.grids[element.nodes[end]])

    def _link(self, element: Element) -> None:
        """Rigid and averaging elements, masses. Writes: deck."""
        card, nodes = f"{element.name} {element.number}", np.array(element.nodes[1:], dtype=np.int64)
        every = (0, 1, 2, 3, 4, 5)
        if element.name == "RGD":
            own = self.values(element, "PRGD")
            dofs = every if own is None else tuple(int(d) - 1 for d in sorted(str(int(own[0])).strip("0")))
            self.deck.links.append(Rigid(element.nodes[0], nodes, dofs, card))
        elif element.name == "RBAR":
            ends = [str(int(value)) for value in self.values(element, "PRBAR") or []]
            if ends[:2] in (["123456", "0"], ["0", "123456"]) and set(ends[2:]) <= {"0", "123456"}:
                first, last = element.nodes[:: 1 if ends[0] != "0" else -1]
                self.deck.links.append(Rigid(first, np.array([last]), every, card))
            else:
                count(self.deck.not_understood, "RBAR with freedoms at both ends")
        elif element.name == "WAVGM":  # one with weights is not understood, see KNOWN
            self.deck.links.append(Mean(element.nodes[0], nodes, np.ones(len(nodes)), every, card))
        else:
            found = mass_of(self.values(element, "PMASS") or [0.0])
            if found is None:
                count(self.deck.not_understood, "CMASS whose matrix is not that of a rigid body")
            elif found[0] > 0.0:
                self.deck.masses.append(DeckMass(element.nodes[0], *found, card))


#: shear area, over the area, of a direction without shear
STIFF = 1e6


def globalized(x: Floats) -> Floats:
    """y axis of a beam without an orientation: axes as near to those of the model as they can be."""
    if abs(x[2]) > abs(x[1]):
        return np.array([0.0, 1.0, 0.0])
    return np.cross([0.0, 0.0, 1.0], x)


def mass_of(values: list[float]) -> tuple[float, Floats, Floats] | None:
    """Mass, inertia about itself and place beside its node, of the lower triangle of a 6 x 6 matrix."""
    if len(values) == 1:
        return values[0], np.zeros((3, 3)), np.zeros(3)
    M = np.zeros((6, 6))
    i, j = np.tril_indices(6)
    M[i[: len(values)], j[: len(values)]] = values[:21]
    M = M + np.tril(M, -1).T
    m = M[0, 0]
    first = np.array([M[4, 2] - M[5, 1], M[5, 0] - M[3, 2], M[3, 1] - M[4, 0]]) / -2.0
    c = first / m if m > 0.0 else np.zeros(3)
    arm = np.cross(np.eye(3), c)  # rows e_k x c
    rigid = np.block([[np.eye(3), arm.T], [arm, np.zeros((3, 3))]]) * m
    size = max(abs(m), 1e-300)
    length = np.sqrt(max(np.trace(M[3:, 3:]), 0.0) / size)
    scale = np.repeat([1.0, max(length, 1e-300)], 3)
    left = (M - rigid) / np.outer(scale, scale)
    left[3:, 3:] = 0.0
    if np.abs(left).max() > 1e-6 * size:
        return None
    J = M[3:, 3:] - m * (c @ c * np.eye(3) - np.outer(c, c))
    return float(m), np.where(np.abs(J) > 1e-9 * np.abs(M[3:, 3:]).max(initial=0.0), J, 0.0), c


def read_fedem(path: Path, data: bytes, ignore: frozenset[str] = frozenset()) -> RawMesh:
    """Content of a link file of openFEDEM."""
    text = "\n".join(line.partition("#")[0] for line in data.decode("utf-8", "replace").splitlines())
    reader = _Reader(path)
    for name, content, line in records(text):
        if name in ignore:
            count(reader.deck.ignored, name)
        else:
            reader.add(name, content, line)
    return reader.raw()


def records(text: str) -> Iterator[tuple[str, str, int]]:
    """Name, content and line of each record; what stands between them is a record that was damaged."""
    at, line = 0, 1
    for found in RECORD.finditer(text):
        refuse_rest(text[at : found.start()], line)
        line += text.count("\n", at, found.start())
        yield found[1], found[2], line
        line += text.count("\n", found.start(), found.end())
        at = found.end()
    refuse_rest(text[at:], line)


def refuse_rest(text: str, line: int) -> None:
    if text.strip():
        line += text[: len(text) - len(text.lstrip())].count("\n")
        raise Damaged(f'expected a record NAME{{...}}, found "{text.split()[0][:40]}"', line)


def inner_name(text: str, words: list[str]) -> str:
    """Name of a group: `{NAME "x"}`, else group_number."""
    found = re.search(r'\{\s*NAME\s+"?([^"{}]*?)"?\s*\}', text)
    return found[1] if found else f"group_{words[0]}"


def exactly(words: list[str], n: int, line: int) -> list[float]:
    values = reals(words, line)
    if len(values) != n:
        raise Damaged(f"expected {n} numbers, found {len(values)}", line)
    return values
