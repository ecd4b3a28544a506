"""Ansys shells, beams, links and masses: sections, real constants, options of element types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from flexmbs.fe.beams import ROD
from flexmbs.fe.deck import Deck, DeckBeam, DeckMass, DeckShell, Structure, count
from flexmbs.fe.profiles import Profile, bar, box, circle, i_beam, pipe, principal, quarter, tee
from flexmbs.fe.readers.raw import Numbering
from flexmbs.fe.readers.source import Damaged, Floats, Ints, one_int, reals
from flexmbs.fe.sections import Section, tube

#: element types that carry, by how they are read
SHELLS = {43: 4, 63: 4, 181: 4, 93: 8, 281: 8}
BEAMS, LINKS, MASS = (4, 188), (8, 180), 21
CARRYING = {*SHELLS, *BEAMS, *LINKS, MASS}
#: types whose sizes are real constants; shells may have them where they have no section
OLD = (4, 8, 43, 63, 93)
COMMANDS = ("SECTYPE", "SECDATA", "SECBLOCK", "SECOFFSET", "R", "RMORE", "RLBLOCK", "KEYOP", "KEYOPT")
#: options that change what is computed, by element type: number -> values that are read
OPTIONS: dict[int, dict[int, tuple[int, ...]]] = {
    181: {1: (0,)},
    281: {1: (0,)},
    63: {1: (0,)},
    188: {1: (0,)},
    21: {2: (0,), 3: (0, 2)},
}
#: share of the thickness by which the middle lies above the nodes
OFFSETS = {"MID": 0.0, "": 0.0, "TOP": -0.5, "BOT": 0.5}
#: shapes of beams, y to the right and z upwards: number of sizes, profile
SHAPES: dict[str, tuple[int, Callable[..., Profile]]] = {
    "RECT": (2, lambda b, h: bar(h, b)),
    "CSOLID": (1, circle),
    "CTUBE": (2, lambda inner, outer: pipe(outer, inner)),
    "HREC": (6, lambda b, h, *t: quarter(box(b, h, *t))),  # of equal walls
    "I": (6, lambda b1, b2, h, t1, t2, t3: quarter(i_beam(h, b1, b2, t3, t1, t2))),
    "T": (4, lambda b, h, tf, tw: quarter(tee(b, h, tf, tw))),
}


@dataclass
class CrossSection:
    """A SECTYPE with what follows it."""

    kind: str
    shape: str
    rows: list[list[str]] = field(default_factory=list)
    offset: str = ""


@dataclass
class Sections:
    """Keeps sections, constants and options, and turns elements into what the deck says of them."""

    deck: Deck
    types: dict[int, int]
    materials: Callable[[int], int | None]
    sections: dict[int, CrossSection] = field(default_factory=dict)
    constants: dict[int, list[float]] = field(default_factory=dict)
    options: dict[tuple[int, int], int] = field(default_factory=dict)
    current: CrossSection | None = None
    last: int = 0
    shells: list[tuple[int, list[int], bool, int, int]] = field(default_factory=list)
    beams: list[tuple[int, list[int], int, int, int, int]] = field(default_factory=list)
    masses: list[tuple[int, int, bool, int]] = field(default_factory=list)

    def add(self, words: list[str], following: Callable[[], str], line: int) -> None:
        """A command; `following` takes the next line of the file."""
        name, number = words[0].upper(), words[1] if len(words) > 1 else ""
        if name == "SECTYPE":
            shape = words[3].upper() if len(words) > 3 else ""
            self.current = CrossSection(words[2].upper() if len(words) > 2 else "", shape)
            self.sections[one_int(number, "section", line)] = self.current
        elif name == "SECOFFSET" and self.current is not None:
            self.current.offset = number.upper()
        elif name == "SECDATA" and self.current is not None:
            self.current.rows.append(words[1:])
        elif name == "SECBLOCK" and self.current is not None and self.current.kind == "SHELL":
            for _ in range(one_int(number, "number of layers", line)):
                self.current.rows.append([word.strip() for word in following().split(",")])
        elif name == "R":
            self.last = one_int(number, "set", line)
            self.constants[self.last] = blanks(words[2:], line)
        elif name == "RMORE":
            self.constants.setdefault(self.last, []).extend(blanks(words[1:], line))
        elif name == "RLBLOCK":
            following(), following()
            for _ in range(one_int(number, "number of sets", line)):
                head = following().split()
                count_of, values = one_int(head[1], "number of constants", line), reals(head[2:], line)
                while len(values) < count_of:
                    values += reals(following().split(), line)
                self.constants[one_int(head[0], "set", line)] = values
        elif name in ("KEYOP", "KEYOPT") and len(words) > 3:
            key = one_int(number, "type", line), one_int(words[2], "option", line)
            self.options[key] = int(float(words[3] or 0))

    def refused(self, kind: int) -> str:
        """What of the options of a type is not read; nothing otherwise."""
        label = self.types[kind]
        for option, values in OPTIONS.get(label, {}).items():
            if self.options.get((kind, option), 0) not in values:
                return f"TYPE {label} with KEYOPT({option}) = {self.options[kind, option]}"
        return ""

    def element(self, element: int, kind: int, head: list[int], nodes: list[int]) -> tuple[str, list[int]]:
        """Cell and nodes of an element that carries, nothing of a mass; `head` are the numbers of its row."""
        label, (material, _, real, section) = self.types[kind], head[:4]
        if label == MASS:
            self.masses.append((element, nodes[0], self.options.get((kind, 3), 0) == 2, real))
            return "", []
        if label in SHELLS:
            found = surface(nodes, label)
            old = label in OLD or section not in self.sections and real in self.constants
            self.shells.append((element, found[1], old, material, real if old else section))
            return found
        self.beams.append((element, nodes, label, material, real if label in OLD else section, real))
        return "line2", nodes[:2]

    def finish(self, number: Ints, points: Floats) -> list[tuple[int, int]]:
        """Element numbers and materials of what carries. Writes: deck."""
        numbering, found = Numbering(number), []

        def place(node: int) -> Floats:
            index, unknown = numbering.index(np.array([node]))
            if len(unknown):
                raise Damaged(f"an element refers to node {node}, which does not exist")
            return np.asarray(points[index[0]])

        rows, axes = [], []
        for element, nodes, old, material, section in self.shells:
            item, mid = self._shell(element, old, material, section)
            if item not in self.deck.shells:
                self.deck.shells.append(item)
            rows.append((element, self.deck.shells.index(item)))
            axes.append(place(nodes[1]) - place(nodes[0]))
            found.append((element, mid))
        if rows:
            table = np.array(rows, dtype=np.int64)
            self.deck.shell_cells = Structure(table[:, 0], table[:, 1], np.array(axes))
        rows, axes = [], []
        for element, nodes, label, material, section, real in self.beams:
            beam = self._beam(element, label, section, real)
            if beam not in self.deck.beams:
                self.deck.beams.append(beam)
            rows.append((element, self.deck.beams.index(beam)))
            x = place(nodes[1]) - place(nodes[0])
            z = place(nodes[2]) - place(nodes[0]) if len(nodes) > 2 and nodes[2] else np.zeros(3)
            axes.append(np.cross(z, x))
            found.append((element, material))
        if rows:
            table, n = np.array(rows, dtype=np.int64), len(rows)
            offset, free = np.zeros((n, 2, 3)), np.zeros((n, 12), dtype=bool)
            self.deck.beam_cells = Structure(table[:, 0], table[:, 1], np.array(axes), offset, free)
        for mass in self.masses:
            self._mass(*mass)
        return found

    def _shell(self, element: int, old: bool, material: int, section: int) -> tuple[DeckShell, int]:
        """Section of a shell and its material; `old` ones have real constants."""
        if old:
            values = [t for t in self._constants(element, section)[:4] if t]
            if not values or max(values) - min(values) > 1e-6 * max(values):
                raise Damaged(f"element {element}: real constants {section} hold no uniform thickness")
            return DeckShell(values[0]), material
        item = self._section(element, section, "SHELL")
        layers = []
        for words in item.rows:
            thickness, mid, angle = (float(word) if word else 0.0 for word in (words + ["", "", ""])[:3])
            layers.append((thickness, int(mid) or material, float(np.radians(angle))))
        total = sum(layer[0] for layer in layers)
        if not total > 0.0 or item.offset not in OFFSETS:
            what = f"has the offset {item.offset}" if total > 0.0 else "has no thickness"
            raise Damaged(f"section {section} of shells {what}", remedy="give MID, TOP or BOT")
        made = DeckShell(total, OFFSETS[item.offset] * total)
        if len(layers) == 1:
            return made, layers[0][1]
        indices = [self.materials(mid) for _, mid, _ in layers]
        if any(index is None for index in indices):
            raise Damaged(f"section {section} of shells has layers of materials that are not there")
        plies = tuple((t, index or 0, a) for (t, _, a), index in zip(layers, indices, strict=True))
        return replace(made, layers=plies), layers[0][1]

    def _beam(self, element: int, label: int, section: int, real: int) -> DeckBeam:
        """Section of a beam or link."""
        if label in LINKS:
            by_section = label == 180 and section in self.sections
            area = float(self._section(element, section, "LINK").rows[0][0] or 0.0) if by_section else 0.0
            area = area or next(iter(self._constants(element, real)), 0.0)
            if not area > 0.0:
                raise Damaged(f"element {element} has no area")
            return DeckBeam(Profile(tube(float(np.sqrt(4.0 * area / np.pi)))), ROD)
        if label == 4:
            A, Iz, Iy, _, _, theta, _, J, f_z, f_y = (self._constants(element, section) + [0.0] * 10)[:10]
            if not min(A, Iy, Iz) > 0.0 or theta:
                raise Damaged(
                    f"element {element}: real constants {section} need AREA, IZZ, IYY, and no THETA"
                )
            shear = (1.0 / f_y, 1.0 / f_z) if f_y and f_z else None
            made = Section(A, Iy, Iz, J or Iy + Iz, shear)
            return DeckBeam(Profile(made), "timoshenko" if shear else "euler-bernoulli")
        item = self._section(element, section, "BEAM")
        sizes = [float(word) for word in (item.rows[0] if item.rows else []) if word]
        if item.shape == "ASEC" and len(sizes) >= 6:
            A, Iy, Iyz, Iz, _, J = sizes[:6]
            return DeckBeam(principal(A, Iy, Iz, Iyz, J, shear_factor=(5 / 6, 5 / 6)), "timoshenko")
        if item.shape not in SHAPES or item.offset not in ("", "CENT"):
            what = f"the offset {item.offset}" if item.shape in SHAPES else f"the shape {item.shape}"
            raise Damaged(f"section {section} of beams has {what}", remedy=f"{', '.join(SHAPES)} are read")
        n, make = SHAPES[item.shape]
        if item.shape == "HREC" and len(set(sizes[2:6])) > 1:
            count(self.deck.not_understood, "SECDATA of HREC with several thicknesses")
            sizes[2:6] = sizes[2:3] * 4
        try:
            return DeckBeam(replace(make(*sizes[:n]), centre=(0.0, 0.0)), "timoshenko")
        except (TypeError, ValueError):
            raise Damaged(f"section {section} of beams: {item.shape} with {sizes[:n]}") from None

    def _mass(self, element: int, node: int, single: bool, constants: int) -> None:
        """MASS21: one mass, or three with moments of inertia. Writes: deck."""
        values = (self._constants(element, constants) + [0.0] * 6)[:6]
        if single:
            values = [values[0]] * 3 + [0.0] * 3
        if len(set(values[:3])) > 1:
            count(self.deck.not_understood, "MASS21 of unequal directions")
            return
        inertia = np.diag(values[3:])
        self.deck.masses.append(DeckMass(node, values[0], inertia, np.zeros(3), f"MASS21 {element}"))

    def _constants(self, element: int, number: int) -> list[float]:
        if number not in self.constants:
            raise Damaged(f"element {element} takes real constants {number}, which are not there")
        return self.constants[number]

    def _section(self, element: int, number: int, kind: str) -> CrossSection:
        if number not in self.sections or self.sections[number].kind != kind:
            raise Damaged(f"element {element} takes section {number}, which is no section of kind {kind}")
        return self.sections[number]


def blanks(words: list[str], line: int) -> list[float]:
    """Numbers, where a blank is zero."""
    return reals([word or "0" for word in words], line)


def surface(nodes: list[int], label: int) -> tuple[str, list[int]]:
    """Kind and nodes of a shell; repeated nodes make a triangle."""
    corners = list(dict.fromkeys(nodes[:4]))
    if SHELLS[label] == 4 or len(nodes) < 8 or 0 in nodes[4:8]:
        return ("tri3" if len(corners) == 3 else "quad4"), corners
    if len(corners) == 3:
        return "tri6", [*corners, nodes[4], nodes[5], nodes[7]]
    return "quad8", nodes[:8]
