"""Abaqus and CalculiX sections of shells, membranes, beams and trusses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.beams import ROD
from flexmbs.fe.deck import Deck, DeckBeam, DeckExtra, DeckMaterial, DeckShell, Structure, count
from flexmbs.fe.profiles import ABAQUS, Profile, principal, thin_walls
from flexmbs.fe.readers.abaqus_cards import Card, data_lines, real
from flexmbs.fe.readers.abaqus_deck import Content
from flexmbs.fe.readers.orientation import Axes
from flexmbs.fe.readers.raw import Block, Numbering, RawMesh, members
from flexmbs.fe.readers.source import Damaged, Floats, Ints
from flexmbs.fe.sections import tube

SHELLS = ("SHELL SECTION", "SHELL GENERAL SECTION", "MEMBRANE SECTION")
#: a card behind a section, kept with its options
ACROSS = "TRANSVERSE SHEAR STIFFNESS"
BEAMS = ("BEAM SECTION", "BEAM GENERAL SECTION")
#: types of line elements: beams in space, trusses
BEAM = re.compile(r"B3([123])[RH]*$")
TRUSS = re.compile(r"T3D[23]H?$")


@dataclass
class SectionReader:
    """Takes the cards of all scopes, with the element numbers that each is for."""

    content: Content
    raw: RawMesh
    shells: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    beams: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    @property
    def deck(self) -> Deck:
        return self.content.deck

    def unknown(self, what: str) -> None:
        count(self.deck.not_understood, what)

    def note(self, what: str, remedy: str = "") -> None:
        if what not in self.told:
            self.told.add(what)
            self.raw.notes.append(Diagnostic("deck.section", str(self.content.path), what, remedy, "warn"))

    def add(
        self,
        card: Card,
        parts: list[Any],
        axes: Callable[[str], tuple[Axes, int] | None],
        types: dict[int, str],
    ) -> None:
        """Section of elements by their numbers and ranges; `types` of line elements by number."""
        for block in list(self.raw.blocks):
            taken = members(block.number, parts)
            if not taken.any():
                continue
            cells = Block(block.kind, block.number[taken], block.nodes[taken])
            if card.keyword in SHELLS and block.kind[:3] in ("tri", "qua"):
                self._shell(card, cells, axes)
            elif block.kind[:4] == "line" and card.keyword not in SHELLS:
                names = {types.get(number, "") for number in cells.number.tolist()}
                self._line(card, cells, names)

    def finish(self) -> None:
        """All sections into the deck; quadratic lines become two straight ones."""
        if self.shells:
            self.deck.shell_cells = Structure(*(np.concatenate(p) for p in zip(*self.shells, strict=True)))
        if not self.beams:
            return
        number, section, axis = (np.concatenate(part) for part in zip(*self.beams, strict=True))
        every = [block.number for block in self.raw.blocks]
        free = int(np.concatenate(every).max()) + 1
        more: list[tuple[Ints, Ints]] = []  # numbers, and those of their second halves
        for block in [block for block in self.raw.blocks if block.kind == "line3"]:
            taken = np.isin(block.number, number)
            own, nodes = block.number[taken], block.nodes[taken]
            new = free + np.arange(len(own))
            free += len(own)
            self.raw.blocks.remove(block)
            self.raw.blocks.append(Block("line3", block.number[~taken], block.nodes[~taken]))
            self.raw.blocks.append(
                Block("line2", np.concatenate([own, new]), np.concatenate([nodes[:, :2], nodes[:, 1:]]))
            )
            more.append((own, new))
        for own, new in more:
            place = np.isin(number, own)
            order = np.argsort(own)
            halves = new[order[np.searchsorted(own, number[place], sorter=order)]]
            number = np.concatenate([number, halves])
            section, axis = np.concatenate([section, section[place]]), np.concatenate([axis, axis[place]])
            more_parts = [item.parts for item in self.deck.extras]
            for parts in [*self.raw.cell_sets.values(), *(p for p, _ in self.deck.sections), *more_parts]:
                parts.append(new[members(own, parts)])
        n = len(number)
        self.deck.beam_cells = Structure(
            number, section, axis, np.zeros((n, 2, 3)), np.zeros((n, 12), dtype=bool)
        )

    def _centres(self, cells: Block) -> tuple[Floats, Floats]:
        """Middles of cells, and their normals."""
        index, _ = Numbering(self.raw.node_number).index(cells.nodes)
        X = self.raw.points[np.maximum(index, 0)]
        normal = np.cross(X[:, 1] - X[:, 0], X[:, 2] - X[:, 0])
        return X.mean(axis=1), normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)

    def _shell(self, card: Card, cells: Block, axes: Callable[[str], tuple[Axes, int] | None]) -> None:
        found = self._shell_section(card)
        if found is None:
            return
        item, material = found
        centre, normal = self._centres(cells)
        # the first axis of the deck, or the third where that is normal to the surface
        axis = np.tile([1.0, 0.0, 0.0], (len(centre), 1))
        axis[np.abs(normal[:, 0]) > np.cos(np.radians(0.1))] = [0.0, 0.0, 1.0]
        name, own = card.options.get("ORIENTATION", ""), ply_axes(card)
        directions: dict[str, Floats] = {}
        for key in {name, *own} - {""} if item.layers or item.stiffness else ():
            direction = self._direction(key, centre, axes)
            if direction is None:
                return
            directions[key] = direction
        base = name or (own[0] if own and all(own) else "")  # angles of plies count from here
        axis = directions.get(base, axis)
        groups = [((0.0,) * len(item.layers), np.arange(len(axis)))]
        if any(own):
            groups = turned(axis, normal, [directions.get(key) for key in own])
        for turns, rows in groups:
            plies = zip(item.layers, turns, strict=True)
            layers = tuple((ply[0], ply[1], ply[2] + turn) for ply, turn in plies)
            self.deck.shells.append(replace(item, layers=layers))
            index = np.full(len(rows), len(self.deck.shells) - 1)
            self.shells.append((cells.number[rows], index, axis[rows]))
        self.deck.sections.append(([cells.number], material))

    def _direction(
        self, name: str, centre: Floats, axes: Callable[[str], tuple[Axes, int] | None]
    ) -> Floats | None:
        """First direction in the surface of an *ORIENTATION at the middles of cells."""
        made = axes(name)
        if made is None:
            self.unknown("*ORIENTATION")
            return None
        make, about = made
        if not about:
            what = f"*ORIENTATION, NAME={name} of shells without the axis that is normal to them"
            self.unknown(f"{what} (a second line such as 3, 0.)")
            return None
        return make(centre)[:, :, about % 3]

    def _shell_section(self, card: Card) -> tuple[DeckShell, int] | None:
        if "NODAL THICKNESS" in card.options or "USER" in card.options:
            self.unknown(f"*{card.keyword} with thicknesses of nodes, or of a subroutine")
            return None
        by_material = card.options.get("MATERIAL") or "COMPOSITE" in card.options
        if card.keyword == "SHELL GENERAL SECTION" and not by_material:
            return self._by_stiffness(card)
        if ACROSS in card.options:
            self.unknown(f"*{ACROSS} of a section by materials")
            return None
        lines = data_lines(card)
        if not lines:
            raise Damaged(f"*{card.keyword} has no thickness", card.line)
        if "COMPOSITE" in card.options:
            found = self._plies(card, lines)
        else:
            material = self.content.material(card.need("MATERIAL"), card.line)
            thickness = real(lines[0][0], card.line)
            layers = ()
            if self.deck.materials[material].C_mat is not None:
                layers = ((thickness, material, 0.0),)  # type: ignore[assignment]
            found = DeckShell(thickness, 0.0, layers), material
        item, material = found
        if not item.thickness > 0.0:
            raise Damaged(
                f"*{card.keyword}: thickness {item.thickness:g}, expected a positive number", card.line
            )
        offset = card.options.get("OFFSET", "0").upper()
        share = {"SPOS": 0.5, "SNEG": -0.5}.get(offset)
        item = replace(item, offset=-item.thickness * (real(offset, card.line) if share is None else share))
        if card.keyword == "MEMBRANE SECTION":
            item = replace(item, bending=0.0, offset=0.0)
        return item, material

    def _by_stiffness(self, card: Card) -> tuple[DeckShell, int]:
        """Upper triangle of the stiffness by columns, as of a plate whose thickness its radius tells."""
        lines, values, across = data_lines(card), list[float](), card.options.get(ACROSS, "")
        while lines and len(values) < 21:
            values += [real(word, card.line) for word in lines.pop(0) if word]
        scale = [real(word, card.line) for line in lines[1:2] for word in line[:1] if word]
        if len(values) != 21:
            raise Damaged(f"*{card.keyword} needs 21 stiffnesses, found {len(values)}", card.line)
        S = np.zeros((8, 8))
        columns = [(i, j) for j in range(6) for i in range(j + 1)]
        for (i, j), value in zip(columns, values, strict=True):
            S[i, j] = S[j, i] = value * (scale[0] if scale else 1.0)
        if np.linalg.eigvalsh(S[:6, :6])[0] <= 0.0:
            raise Damaged(f"*{card.keyword}: its stiffness is not positive", card.line)
        S[6, 6] = S[7, 7] = (S[0, 0] + S[1, 1]) / 6.0 + S[2, 2] / 3.0  # as Abaqus takes it
        if across:
            K = [real(word, card.line) for word in (across.split(",") + ["", ""])[:3]]
            S[6:, 6:] = [[K[0], K[2]], [K[2], K[1]]]
        t = float(np.sqrt(12.0 * np.trace(S[3:6, 3:6]) / np.trace(S[:3, :3])))
        density = card.options.get("DENSITY")
        rho = real(density, card.line) / t if density else None
        nu = float(np.clip(2.0 * S[0, 1] / (S[0, 0] + S[1, 1]), -0.9, 0.49))
        E = 0.5 * (S[0, 0] + S[1, 1]) * (1.0 - nu**2) / t
        name = f"plate {card.options.get('ELSET', '')}"
        self.deck.materials.append(DeckMaterial(name, f"{card.path}:{card.line}", E, nu, rho))
        return DeckShell(t, stiffness=tuple(S.ravel().tolist())), len(self.deck.materials) - 1

    def _plies(self, card: Card, lines: list[list[str]]) -> tuple[DeckShell, int]:
        """Thickness, points, material, angle or name of an orientation, from the bottom up."""
        plies: list[tuple[float, int, float]] = []
        for words in lines:
            if len(words) < 3 or not words[2]:
                raise Damaged(f"*{card.keyword}: a layer without a material", card.line)
            material = self.content.material(words[2], card.line)
            degrees = 0.0 if ply_axis(words) else real(words[3] if len(words) > 3 else "", card.line)
            plies.append((real(words[0], card.line), material, float(np.radians(degrees))))
        return DeckShell(sum(ply[0] for ply in plies), layers=tuple(plies)), plies[0][1]

    def _line(self, card: Card, cells: Block, names: set[str]) -> None:
        trusses = all(TRUSS.match(name) for name in names)
        found: tuple[DeckBeam, int] | None = None
        axis = np.zeros(3)
        if card.keyword == "SOLID SECTION" and trusses:
            found = self._truss(card)
        elif card.keyword in BEAMS and all(BEAM.match(name) for name in names):
            found = self._beam(card, "euler-bernoulli" if names <= {"B33", "B33H"} else "timoshenko")
            axis = self._first_axis(card)
            if found is not None and found[0].profile.section.shape in ("circle", "tube"):
                axis = np.zeros(3)
        else:
            self.unknown(f"*{card.keyword} of {', '.join(sorted(names))}")
        if found is None:
            return
        item, material = found
        self.deck.beams.append(item)
        index = np.full(len(cells.number), len(self.deck.beams) - 1)
        self.beams.append((cells.number, index, np.tile(axis, (len(index), 1))))
        self.deck.sections.append(([cells.number], material))

    def _truss(self, card: Card) -> tuple[DeckBeam, int]:
        lines = data_lines(card)
        area = real(lines[0][0], card.line) if lines else 0.0
        if not area > 0.0:
            raise Damaged(f"*{card.keyword} of trusses: area {area:g}, expected a positive number", card.line)
        material = self.content.material(card.need("MATERIAL"), card.line)
        return DeckBeam(Profile(tube(float(np.sqrt(4.0 * area / np.pi)))), ROD), material

    def _first_axis(self, card: Card) -> Floats:
        lines = data_lines(card)
        after = (
            int(real(lines[0][0], card.line)) if card.options.get("SECTION", "").upper() == "ARBITRARY" else 1
        )
        words = lines[after] if len(lines) > after else []
        direction = [real(word, card.line) for word in words[:3]]
        return np.array(direction) if len(direction) == 3 and any(direction) else np.array([0.0, 0.0, -1.0])

    def _beam(self, card: Card, theory: str) -> tuple[DeckBeam, int] | None:
        lines, kind = data_lines(card), card.options.get("SECTION", "").upper()
        if not lines:
            raise Damaged(f"*{card.keyword} has no sizes", card.line)
        sizes = [real(word, card.line) for word in lines[0] if word]
        for key in ("OFFSET1", "OFFSET2"):
            if real(card.options.get(key, ""), card.line):
                self.unknown(f"*{card.keyword}, {key}")
                return None
        if card.keyword == "BEAM GENERAL SECTION" and kind in ("", "GENERAL"):
            return self._general(card, lines, sizes, theory)
        if kind == "ARBITRARY":
            profile = arbitrary(card, lines)
            return DeckBeam(profile, theory), self._material_of_beam(card, lines[int(sizes[0]) - 1 :])
        if kind not in ABAQUS:
            self.unknown(f"*{card.keyword}, SECTION={kind}")
            return None
        if kind == "CIRC" and len(sizes) == 1:
            what = f"SECTION=CIRC with one number: {sizes[0]:g} is taken as the radius, as Abaqus does"
            self.note(what, "CalculiX takes diameters: give both of them")
        elif kind == "CIRC" and len(sizes) == 2 and sizes[0] == sizes[1]:
            sizes = [0.5 * sizes[0]]
        n, make = ABAQUS[kind]
        if len(sizes) != n:
            raise Damaged(f"*{card.keyword}, SECTION={kind} needs {n} sizes, found {len(sizes)}", card.line)
        try:
            profile = make(*sizes)
        except ValueError as error:
            raise Damaged(f"*{card.keyword}, SECTION={kind}: {error}", card.line) from None
        return DeckBeam(profile, theory), self._material_of_beam(card, lines)

    def _general(
        self, card: Card, lines: list[list[str]], sizes: list[float], theory: str
    ) -> tuple[DeckBeam, int] | None:
        """A, I11, I12, I22, J; direction; E, G, with the density on the keyword line."""
        if len(sizes) < 5 or min(sizes[0], sizes[1], sizes[3], sizes[4]) <= 0.0 or len(lines) < 3:
            raise Damaged(f"*{card.keyword} needs A, I11, I12, I22, J, a direction, and E, G", card.line)
        A, Iy, Iyz, Iz, J = sizes[:5]
        made = principal(A, Iy, Iz, Iyz, J, shear_factor=(1.0, 1.0))
        return DeckBeam(made, theory), self._material_of_beam(card, lines)

    def _material_of_beam(self, card: Card, lines: list[list[str]]) -> int:
        """By its name, or by E and G behind sizes and direction."""
        if card.keyword != "BEAM GENERAL SECTION":
            return self.content.material(card.need("MATERIAL"), card.line)
        if len(lines) < 3:
            raise Damaged(f"*{card.keyword} needs its sizes, a direction, and E, G", card.line)
        E, G = (real(word, card.line) for word in (lines[2] + ["", ""])[:2])
        if not min(E, G) > 0.0:
            raise Damaged(f"*{card.keyword}: E = {E:g}, G = {G:g}, expected positive numbers", card.line)
        density = card.options.get("DENSITY")
        rho = real(density, card.line) if density else None
        where = f"{card.path}:{card.line}"
        name = card.options.get("ELSET", "")
        self.deck.materials.append(DeckMaterial(f"material of {name}", where, E, E / (2.0 * G) - 1.0, rho))
        return len(self.deck.materials) - 1


def arbitrary(card: Card, lines: list[list[str]]) -> Profile:
    """Number of walls, both ends of the first and its thickness; the end of each further one and its own."""
    rows = [[real(word, card.line) for word in line if word] for line in lines]
    n = int(rows[0][0])
    if len(rows) < n or len(rows[0]) != 6 or any(len(row) != 3 for row in rows[1:n]):
        what = (
            f"*{card.keyword}, SECTION=ARBITRARY: {n} walls need 6 numbers, then 3 each in lines of their own"
        )
        raise Damaged(what, card.line)
    points = np.array([rows[0][1:3], rows[0][3:5], *(row[:2] for row in rows[1:n])])
    try:
        return thin_walls(points, np.array([row[-1] for row in rows[:n]]))
    except ValueError as error:
        raise Damaged(f"*{card.keyword}, SECTION=ARBITRARY: {error}", card.line) from None


def ply_axis(words: list[str]) -> str:
    """Name of the orientation of a ply, where it has one in place of an angle."""
    return words[3] if len(words) > 3 and not re.match(r"[+-]?[.\d]|$", words[3]) else ""


def ply_axes(card: Card) -> list[str]:
    return [ply_axis(words) for words in data_lines(card)] if "COMPOSITE" in card.options else []


def turned(axis: Floats, normal: Floats, plies: list[Floats | None]) -> list[tuple[tuple[float, ...], Ints]]:
    """Angles [rad] of plies from the axis, and the cells that have them; 0 of plies without directions."""
    across = np.cross(normal, axis)
    angles = np.zeros((len(axis), len(plies)))
    for k, ply in enumerate(plies):
        if ply is not None:
            x = np.einsum("ci,ci->c", axis - normal * np.einsum("ci,ci->c", normal, axis)[:, None], ply)
            angles[:, k] = np.arctan2(np.einsum("ci,ci->c", across, ply), x)
    table, which = np.unique(np.round(angles, 9), axis=0, return_inverse=True)
    return [(tuple(row.tolist()), np.flatnonzero(which.ravel() == k)) for k, row in enumerate(table)]


#: units of *NONSTRUCTURAL MASS -> what the mass follows, elements for which they are
EXTRAS = {
    "MASSPERVOLUME": ("volume", ()),
    "MASSPERAREA": ("size", ("tri", "qua")),
    "MASSPERLENGTH": ("size", ("lin",)),
}


def extra_mass(card: Card, parts: list[Any], raw: RawMesh, deck: Deck) -> None:
    """Mass beside that of the material; a total is spread as the mass, or as the volume. Writes: deck."""
    words = [word for line in data_lines(card) for word in line if word]
    if len(words) != 1:
        raise Damaged("*NONSTRUCTURAL MASS needs one number", card.line)
    value, units = real(words[0], card.line), card.options.get("UNITS", "").upper().replace(" ", "")
    where = f"*NONSTRUCTURAL MASS, ELSET={card.options['ELSET']}"
    if units == "TOTALMASS":
        by = "volume" if card.options.get("DISTRIBUTION", "").upper().startswith("VOL") else "mass"
        deck.extras.append(DeckExtra(list(parts), by, True, value, where))
        return
    if units not in EXTRAS:
        raise Damaged(f"*NONSTRUCTURAL MASS with UNITS={card.options.get('UNITS', '')}", card.line)
    by, kinds = EXTRAS[units]
    if any(members(b.number, parts).any() for b in raw.blocks if kinds and b.kind[:3] not in kinds):
        count(deck.not_understood, f"*NONSTRUCTURAL MASS, UNITS={card.options['UNITS']} of other elements")
    deck.extras.append(DeckExtra(list(parts), by, False, value, where))
