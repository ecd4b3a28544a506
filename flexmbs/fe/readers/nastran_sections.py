"""Nastran shells, bars and rods: properties and what their elements say beside their nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.beams import ROD
from flexmbs.fe.deck import DeckBeam, DeckMaterial, DeckShell, Structure, count
from flexmbs.fe.materials import isotropic
from flexmbs.fe.profiles import NASTRAN, Profile, at_shear_centre, on_shear_centre, principal
from flexmbs.fe.readers.nastran_axes import Systems
from flexmbs.fe.readers.nastran_cards import Entry
from flexmbs.fe.readers.nastran_deck import RIGID, Content
from flexmbs.fe.readers.raw import Block, Numbering, RawMesh, grouped, members
from flexmbs.fe.readers.source import Damaged, Floats, Ints
from flexmbs.fe.sections import tube
from flexmbs.fe.shells.sections import SHEAR_FACTOR, plane_stress

SHELL_PROPERTIES = ("PSHELL", "PCOMP", "PCOMPG")
LINE_PROPERTIES = ("PBAR", "PBARL", "PBEAM", "PBEAML", "PROD", "PTUBE")
PROPERTIES = (*SHELL_PROPERTIES, *LINE_PROPERTIES, "BAROR", "BEAMOR")
BARS = ("CBAR", "CBEAM")
#: where an entry has the angle or system of its material, its offset, and its thicknesses at the corners
MORE = {
    "CTRIA3": (5, 6, range(10, 13), 9), "CTRIAR": (5, 6, range(10, 13), 9),
    "CQUAD4": (6, 7, range(10, 14), 9), "CQUADR": (6, 7, range(10, 14), 9),
    "CTRIA6": (8, 9, range(10, 13), 13), "CQUAD8": (14, 15, range(10, 14), 16),
    "CQUAD": (11, None, (), None),
}  # fmt: skip


@dataclass
class SectionReader:
    """Keeps the entries that say more than nodes, and turns them into sections when all is known."""

    content: Content
    systems: Systems
    notes: list[Diagnostic] = field(default_factory=list)
    properties: dict[int, Entry] = field(default_factory=dict)
    defaults: dict[str, Entry] = field(default_factory=dict)
    elements: dict[int, Entry] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    beams: dict[Any, Ints] = field(default_factory=dict)
    shells: dict[Any, int] = field(default_factory=dict)
    tapered: dict[int, Ints] = field(default_factory=dict)  # elements and the sections of their pieces

    def add(self, entry: Entry) -> None:
        """A property."""
        if entry.name in ("BAROR", "BEAMOR"):
            self.defaults[entry.name] = entry
        else:
            self.properties[entry.whole(0)] = entry

    def keep(self, entry: Entry) -> None:
        """An element, where it says more than its nodes."""
        if entry.name in MORE:
            angle, offset, thickness, _ = MORE[entry.name]
            at = [angle, *([] if offset is None else [offset]), *thickness]
            if not any(entry.text(k) for k in at):
                return
        self.elements[entry.whole(0)] = entry

    def note(self, what: str, remedy: str = "") -> None:
        """A warning, once."""
        if what not in self.told:
            self.told.add(what)
            self.notes.append(Diagnostic("deck.section", str(self.content.path), what, remedy, "warn"))

    def unknown(self, what: str, number: int = 1) -> None:
        count(self.content.deck.not_understood, what, number)

    # shells

    def read_shells(self, number: Ints, pid: Ints, corners: Floats) -> None:
        """Sections of flat elements with a property; `corners` (n, 4 or 3, 3), the first ones count."""
        section, axis = np.zeros(len(number), dtype=np.int64), np.zeros((len(number), 3))
        side = corners[:, 1] - corners[:, 0]
        normal = np.cross(side, corners[:, 2] - corners[:, 0])
        kept = np.zeros(len(number), dtype=bool)
        for name, rows in grouped(pid, np.arange(len(number))):
            prop = self.properties[name]
            plain, known = self._shell(prop), [int(n) in self.elements for n in number[rows]]
            kept[rows] = plain is not None
            if plain is None:
                continue
            section[rows], axis[rows] = self._shell_index(plain, prop, None), side[rows]
            for row in rows[known]:
                entry = self.elements[int(number[row])]
                own = self._of_element(plain, entry, prop)
                section[row] = self._shell_index(own, prop, entry)
                axis[row] = self._direction(entry, side[row], normal[row], corners[row].mean(axis=0))
        deck = self.content.deck
        if not kept.any():
            return
        deck.shell_cells = Structure(number[kept], section[kept], axis[kept])
        for index, rows in grouped(section[kept], np.flatnonzero(kept)):
            mid = next(found[1] for found, place in self.shells.items() if place == index)
            deck.sections.append(([number[rows]], mid))

    def _shell_index(self, item: tuple[DeckShell, int], prop: Entry, entry: Entry | None) -> int:
        """Index of a section and its material among those of the deck."""
        if item not in self.shells:
            if not item[0].thickness > 0.0:
                what = f"{prop.name} {prop.text(0)} has no thickness"
                raise Damaged(what if entry is None else f"{entry.name} {entry.text(0)}: {what}", prop.line)
            self.shells[item] = len(self.content.deck.shells)
            self.content.deck.shells.append(item[0])
        return self.shells[item]

    def _shell(self, prop: Entry) -> tuple[DeckShell, int] | None:
        """Section and material of a property; None, and counted, where it is not understood."""
        if prop.name == "PSHELL":
            return self._pshell(prop)
        return self._laminate(prop)

    def _pshell(self, prop: Entry) -> tuple[DeckShell, int] | None:
        stretch, bend, across = (prop.text(k) for k in (1, 3, 5))
        if not stretch or bend == "-1":
            self.unknown("PSHELL without stiffness in its plane, or of plane strain")
            return None
        if bend not in ("", stretch) or prop.text(10):
            return self._of_materials(prop)
        number = self.content.material(prop.whole(1), prop)
        ratio = prop.number(6) or SHEAR_FACTOR
        if not across:
            ratio = RIGID
        elif across != stretch:
            one, other = (self.content.deck.materials[n] for n in (number, self._other(prop)))
            if one.G is None or other.G is None:
                self.unknown("PSHELL with another material across it, one of them not isotropic")
                return None
            ratio *= other.G / one.G
        bending = prop.number(4) or 1.0
        if not bend:  # a membrane
            bending, ratio = 0.0, SHEAR_FACTOR
        thickness, extra = prop.real(2), prop.real(7) * self.content.wtmass
        layers = ()
        if self.content.deck.materials[number].C_mat is not None:
            layers = ((thickness, number, 0.0),)  # type: ignore[assignment]
        return DeckShell(thickness, 0.0, layers, bending, ratio, extra), number

    def _of_materials(self, prop: Entry) -> tuple[DeckShell, int] | None:
        """Of materials MID1 to MID4 in stretch, bending, shear and between stretch and bending."""
        t, bending = prop.real(2), prop.number(4) or 1.0
        number = self.content.material(prop.whole(1), prop)
        mids = [prop.whole(k) for k in (1, 3, 5, 10) if prop.text(k)]
        known = [self.deck_material(mid, prop) for mid in mids]
        if any(item.C_mat is None and item.G is None for item in known):
            where = f"{prop.name} {prop.text(0)}"
            raise Damaged(f"{where}: a material of bending or shear has no elasticity", prop.line)
        S, place = np.zeros((8, 8)), dict(zip(mids, known, strict=True))
        Q = {mid: plane_stress(elasticity(item)) for mid, item in place.items()}
        S[:3, :3] = t * Q[mids[0]][0]
        S[3:6, 3:6] = bending * t**3 / 12.0 * Q[prop.whole(3)][0] if prop.text(3) else 0.0
        if prop.text(10):  # of strains that fall towards the normal
            S[:3, 3:6] = S[3:6, :3] = -(t**2) * Q[prop.whole(10)][0]
        largest = float(S[:2, :2].max())
        shear = (prop.number(6) or SHEAR_FACTOR) * t
        S[6:, 6:] = shear * self._across(prop, Q) if prop.text(5) else RIGID * largest * np.eye(2)
        if not prop.text(3) or np.linalg.eigvalsh(S)[0] <= 0.0:
            self.unknown("PSHELL without stiffness in bending, or with more between stretch and bending")
            return None
        extra = prop.real(7) * self.content.wtmass
        return DeckShell(t, 0.0, (), bending, extra=extra, stiffness=tuple(S.ravel().tolist())), number

    def _across(self, prop: Entry, Q: dict[int, tuple[Floats, Floats]]) -> Floats:
        """Shear moduli (zx, zy) of MID3; a MAT2 has them as G11, G12, G22."""
        entry = self.content.materials[prop.whole(5)]
        if entry.name != "MAT2":
            return Q[prop.whole(5)][1]
        return np.array([[entry.real(1), entry.real(2)], [entry.real(2), entry.real(4)]])

    def deck_material(self, mid: int, prop: Entry) -> DeckMaterial:
        return self.content.deck.materials[self.content.material(mid, prop)]

    def _other(self, prop: Entry) -> int:
        return self.content.material(prop.whole(5), prop)

    def _laminate(self, prop: Entry) -> tuple[DeckShell, int] | None:
        step = 8 if prop.name == "PCOMPG" else 4
        kind, first = prop.text(7).upper() if step == 4 else "", 1 if step == 8 else 0
        if kind not in ("", "SYM"):
            self.unknown(f"PCOMP with LAM = {kind}")
            return None
        plies: list[tuple[float, int, float]] = []
        mid, thickness = "", 0.0
        for at in range(8, len(prop.fields), step):
            if not any(prop.text(k) for k in range(at, min(at + step, len(prop.fields)))):
                continue
            mid = prop.text(at + first) or mid
            thickness = prop.number(at + first + 1) or thickness
            if not mid.isdigit() or not thickness > 0.0:
                raise Damaged(f"{prop.name} {prop.text(0)}: a ply without material or thickness", prop.line)
            angle = np.radians(prop.real(at + first + 2))
            plies.append((thickness, self.content.material(int(mid), prop), float(angle)))
        if not plies:
            raise Damaged(f"{prop.name} {prop.text(0)} has no ply", prop.line)
        plies += plies[::-1] if kind == "SYM" else []
        total = sum(ply[0] for ply in plies)
        bottom = prop.number(1)
        offset = 0.0 if bottom is None else bottom + 0.5 * total
        extra = prop.real(2) * self.content.wtmass
        return DeckShell(total, offset, tuple(plies), extra=extra), plies[0][1]

    def _of_element(self, plain: tuple[DeckShell, int], entry: Entry, prop: Entry) -> tuple[DeckShell, int]:
        """The section with the offset and the mean thickness that an element has of its own."""
        item, mid = plain
        _, at, thickness, flag = MORE[entry.name]
        values = [t for k in thickness if (t := entry.number(k)) is not None]
        if values and flag is not None and entry.text(flag) == "1":
            values = [t * item.thickness for t in values]
        if values and len(item.layers) < 2:
            if max(values) - min(values) > 1e-3 * max(values):
                self.note("elements with several thicknesses have the mean of those at their corners")
            t = float(np.mean(values))
            if item.stiffness:
                fields = [*prop.fields[:2], repr(t), *prop.fields[3:]]
                item, mid = self._shell(Entry(prop.name, fields, prop.line)) or plain
            layers = tuple((t, number, angle) for _, number, angle in item.layers)
            item = replace(item, thickness=t, layers=layers)
        if at is not None and entry.text(at) and item.bending:
            item = replace(item, offset=item.offset + entry.real(at))
        return item, mid

    def _direction(self, entry: Entry, side: Floats, normal: Floats, centre: Floats) -> Floats:
        """Direction that angles count from: turned from the first side, or x of a system."""
        text = entry.text(MORE[entry.name][0])
        if not text:
            return side
        if text.lstrip("+").isdigit():
            return np.asarray(self.systems.axes_at_point(int(text), centre)[:, 0])
        angle, n = (
            np.radians(entry.real(MORE[entry.name][0])),
            normal / max(float(np.linalg.norm(normal)), 1e-300),
        )
        along = side - n * (n @ side)
        return np.asarray(np.cos(angle) * along + np.sin(angle) * np.cross(n, along))

    # bars and rods

    def read_lines(self, number: Ints, pid: Ints, position: Callable[[int], Floats]) -> None:
        """Sections of line elements with a property."""
        rows: list[tuple[int, int, Floats, Floats, Any]] = []
        sets: dict[int, list[int]] = {}
        for element, name in zip(number.tolist(), pid.tolist(), strict=True):
            entry = self.elements[element]
            prop = entry if entry.name == "CONROD" else self.properties[name]
            found = self._beam(prop)
            if found is None:
                continue
            index, mid = found
            profile = self.content.deck.beams[index[0]].profile
            if len(index) > 1:
                self.tapered[element] = index
            axis, offset, released = np.zeros(3), np.zeros((2, 3)), np.zeros(12, dtype=bool)
            if entry.name in BARS:
                released = self._releases(entry, profile)
                any_will_do = profile.section.Iy == profile.section.Iz and not released.any()
                axis, offset = self._orientation(entry, position, any_will_do), self._arms(entry)
            rows.append((element, int(index[0]), axis, offset, released))
            sets.setdefault(mid, []).append(element)
        deck = self.content.deck
        if rows:
            numbers, index_of, axes, offsets, free = (list(part) for part in zip(*rows, strict=True))
            deck.beam_cells = Structure(
                np.array(numbers), np.array(index_of), np.array(axes), np.array(offsets), np.array(free)
            )
        for mid, of_mid in sets.items():
            deck.sections.append(([np.array(of_mid)], mid))

    def _beam(self, prop: Entry) -> tuple[Ints, int] | None:
        """Indices of sections, one for each piece, and material; None, and counted, where not understood."""
        key = prop.name, prop.whole(0)
        if key not in self.beams:
            found = READERS.get(prop.name, SectionReader._rod)(self, prop)
            if found is None:
                return None
            self.beams[key] = len(self.content.deck.beams) + np.arange(len(found))
            self.content.deck.beams += found
        mid = prop.whole(3) if prop.name == "CONROD" else prop.whole(1)
        return self.beams[key], self.content.material(mid, prop)

    def _rod(self, prop: Entry) -> list[DeckBeam]:
        at = 4 if prop.name == "CONROD" else 2
        if prop.name == "PTUBE":
            outer = prop.real(2)
            wall = prop.number(3)
            section = tube(outer, 0.0 if not wall else outer - 2.0 * wall)
            extra, twist = prop.real(4), section.J
        else:
            area = positive(prop, at, "area")
            section = tube(float(np.sqrt(4.0 * area / np.pi)))
            extra, twist = prop.real(at + 3), prop.real(at + 1)
        if twist:
            self.note("rods carry force along their axis only: their stiffness in torsion is left out")
        return [DeckBeam(Profile(replace(section, extra=extra * self.content.wtmass)), ROD)]

    def _pbar(self, prop: Entry) -> list[DeckBeam]:
        return [self._by_numbers(prop, prop.number(16), prop.number(17), (2, 3, 4, 18, 5, 6))]

    def _pbeam(self, prop: Entry) -> list[DeckBeam] | None:
        """A beam by its numbers at its ends and between them; A I1 I2 I12 J NSM vary linearly."""
        here = np.array([prop.real(2 + k) for k in range(6)])
        stations, tail = [(0.0, here)], 8 if self._is_station(prop, 8) else 16
        while self._is_station(prop, tail):
            place = 1.0 if prop.number(tail + 1) is None else prop.real(tail + 1)
            there = [prop.number(tail + 2 + k) for k in range(6)]
            numbers = [old if new is None else new for old, new in zip(here, there, strict=True)]
            stations.append((place, np.array(numbers)))
            tail += 16 if prop.text(tail).upper() == "YES" else 8
        shear = [prop.number(tail + k) for k in range(2)]
        k_y, k_z = (1.0 if value is None else value for value in shear)
        more = np.array([prop.real(tail + 8 + k) for k in range(8)])  # M1 M2 at A, B; N1 N2 at A, B
        if more[:4].any() or (more[6:].any() and not np.allclose(more[4:6], more[6:])):
            self.unknown("PBEAM with masses off the shear centre, or a neutral axis that runs off it")
            return None
        found = []
        for values in pieces(stations):
            fields = [*prop.fields[:2], *(repr(float(value)) for value in values), *prop.fields[8:]]
            item = self._by_numbers(
                Entry(prop.name, fields, prop.line), k_y or None, k_z or None, range(2, 8)
            )
            profile = replace(item.profile, centre=(float(more[4]), float(more[5])))
            found.append(replace(item, profile=at_shear_centre(profile, 0.0, 0.0)))
        return found

    @staticmethod
    def _is_station(prop: Entry, at: int) -> bool:
        return prop.text(at).upper() in ("YES", "YESA", "NO")

    def _by_numbers(self, prop: Entry, k_y: float | None, k_z: float | None, at: Sequence[int]) -> DeckBeam:
        """A, I1, I2, I12, J and NSM at their fields; I1 is in plane 1, of x and y."""
        A, Iz, Iy = positive(prop, at[0], "area"), prop.real(at[1]), prop.real(at[2])
        Iyz, J, extra = (prop.real(k) for k in at[3:])
        where = f"{prop.name} {prop.text(0)}"
        if not max(Iy, Iz) > 0.0:
            section = replace(tube(float(np.sqrt(4.0 * A / np.pi))), extra=extra * self.content.wtmass)
            return DeckBeam(Profile(section), ROD)
        if not min(Iy, Iz) > 0.0:
            self.note(f"{where} bends in one plane only: the other is taken as stiff")
            Iy = Iz = max(Iy, Iz)
        if not J > 0.0:
            self.note(f"{where} has no stiffness in torsion: I1 + I2 is taken")
            J = Iy + Iz
        timoshenko = bool(k_y and k_z)
        found = principal(A, Iy, Iz, Iyz, J, extra=extra * self.content.wtmass,
                          shear_factor=(k_y, k_z) if timoshenko else None)  # fmt: skip
        return DeckBeam(found, "timoshenko" if timoshenko else "euler-bernoulli")

    def _named(self, prop: Entry) -> list[DeckBeam] | None:
        """PBARL, PBEAML: a shape with its sizes; one section, or those of the pieces of a tapered beam."""
        kind = prop.text(3).upper()
        if kind not in NASTRAN:
            self.unknown(f"{prop.name} of type {kind or 'without a name'}")
            return None
        n, make = NASTRAN[kind]
        sizes, extra = self._sizes(prop, 8, n), prop.real(8 + n) if not prop.text(8 + n).isalpha() else 0.0
        stations = [(0.0, np.array([*sizes, extra]))]
        at = 9 + n
        while prop.name == "PBEAML" and prop.text(at).upper() in ("YES", "NO"):
            place = 1.0 if prop.number(at + 1) is None else prop.real(at + 1)
            there = [prop.number(at + 2 + k) for k in range(n + 1)]
            before = stations[0][1]
            numbers = [old if new is None else new for old, new in zip(before, there, strict=True)]
            stations.append((place, np.array(numbers)))
            at += 3 + n
        found = []
        for values in pieces(stations):
            profile = made(make, values[:-1].tolist(), prop)
            section = replace(profile.section, extra=float(values[-1]) * self.content.wtmass)
            if prop.name == "PBARL":  # its axis is that of the centroids and of the shear centres
                section = replace(section, shear_centre=(0.0, 0.0))
            found.append(DeckBeam(on_shear_centre(replace(profile, section=section)), "timoshenko"))
        return found

    def _sizes(self, prop: Entry, at: int, n: int) -> list[float]:
        return [positive(prop, at + k, f"DIM{k + 1}") for k in range(n)]

    def _orientation(self, entry: Entry, position: Callable[[int], Floats], any_will_do: bool) -> Floats:
        """A direction in plane 1: to a node, or by its components where end A has its axes; zero for any."""
        default = self.defaults.get("BAROR" if entry.name == "CBAR" else "BEAMOR")
        words = [entry.text(k) for k in (4, 5, 6)]
        if not any(words) and default is not None:
            entry = replace(entry, fields=[*entry.fields[:4], *default.fields[4:7], *entry.fields[7:]])
            words = [entry.text(k) for k in (4, 5, 6)]
        node = entry.whole(2)
        if words[0].isdigit() and not words[1] and not words[2]:
            return position(int(words[0])) - position(node)
        direction = np.array([entry.real(k) for k in (4, 5, 6)])
        if not direction.any() and not any_will_do:
            raise Damaged(f"{entry.name} {entry.text(0)} has no orientation", entry.line)
        if entry.text(7).upper()[:1] == "B":
            return direction
        return np.asarray(self.systems.out_axes(node) @ direction)

    def _arms(self, entry: Entry) -> Floats:
        """Offsets of both ends in the basic system."""
        arms = np.array([entry.real(k) for k in range(10, 16)]).reshape(2, 3)
        if arms.any() and "O" in entry.text(7).upper()[1:]:
            self.unknown(f"{entry.name} with offsets in its own axes")
        return np.array([self.systems.out_axes(entry.whole(2 + end)) @ arms[end] for end in range(2)])

    def _releases(self, entry: Entry, profile: Profile) -> Any:
        released = np.zeros(12, dtype=bool)
        for end in range(2):
            for digit in entry.text(8 + end).strip("0"):
                if digit not in "123456":
                    raise Damaged(f"{entry.name} {entry.text(0)}: pin flag {entry.text(8 + end)}", entry.line)
                released[6 * end + int(digit) - 1] = True
        pairs = released.reshape(2, 2, 3)[:, :, 1:]
        if profile.angle and (pairs[..., 0] != pairs[..., 1]).any():
            self.unknown(f"{entry.name} with pins in one plane of a section that is not symmetric")
        return released


READERS: dict[str, Callable[[SectionReader, Entry], list[DeckBeam] | None]] = {
    "PBAR": SectionReader._pbar,
    "PBEAM": SectionReader._pbeam,
    "PBARL": SectionReader._named,
    "PBEAML": SectionReader._named,
}


#: straight pieces of a tapered beam, each with the section at its middle
PIECES = 8


def pieces(stations: list[tuple[float, Floats]]) -> list[Floats]:
    """Numbers of a section along a beam, linear between places 0 to 1: alone, or at the middles of pieces."""
    places, values = np.array([place for place, _ in stations]), np.array([row for _, row in stations])
    if np.allclose(values, values[0], rtol=1e-6, atol=0.0):
        return [values[0]]
    order = np.argsort(places, kind="stable")
    middles = (np.arange(PIECES) + 0.5) / PIECES
    columns = [np.interp(middles, places[order], column[order]) for column in values.T]
    return list(np.array(columns).T)


def cut_tapered(raw: RawMesh, tapered: dict[int, Ints]) -> None:
    """Replace tapered beams by their pieces, with nodes between them. Writes: raw and its deck."""
    if not tapered or raw.deck is None or raw.deck.beam_cells is None:
        return
    numbering, cells, lists = Numbering(raw.node_number), raw.deck.beam_cells, [*raw.cell_sets.values()]
    lists += [parts for parts, _ in raw.deck.sections] + [item.parts for item in raw.deck.extras]
    number = np.array(list(tapered))
    block = next(item for item in raw.blocks if item.kind == "line2" and np.isin(number, item.number).all())
    raw.blocks.remove(block)
    mine = np.isin(block.number, number)
    ends, first = block.nodes[mine], int(raw.node_number.max()) + 1
    rows, index = cells.rows(block.number[mine]), np.array([tapered[n] for n in block.number[mine].tolist()])
    n, inner = len(ends), PIECES - 1
    new_nodes = first + np.arange(n * inner).reshape(n, inner)
    places = raw.points[numbering.index(ends)[0]] + cells.offset[rows]
    t = np.arange(1, PIECES)[None, :, None] / PIECES
    between = places[:, :1] + t * (places[:, 1:] - places[:, :1])
    free = max(int(item.number.max()) for item in [*raw.blocks, block] if len(item.number)) + 1
    numbers = np.column_stack([block.number[mine], free + np.arange(n * inner).reshape(n, inner)])
    chain = np.column_stack([ends[:, 0], new_nodes, ends[:, 1]])
    nodes = np.stack([chain[:, :-1], chain[:, 1:]], axis=2).reshape(-1, 2)
    raw.node_number = np.concatenate([raw.node_number, new_nodes.ravel()])
    raw.points = np.concatenate([raw.points, between.reshape(-1, 3)])
    raw.blocks.append(
        Block("line2", np.append(block.number[~mine], numbers), np.vstack([block.nodes[~mine], nodes]))
    )
    offset, released = np.zeros((n, PIECES, 2, 3)), np.zeros((n, PIECES, 2, 6), dtype=bool)
    for piece, end in ((0, 0), (-1, 1)):
        offset[:, piece, end] = cells.offset[rows, end]
        released[:, piece, end] = cells.released[rows].reshape(n, 2, 6)[:, end]
    for parts in lists:
        parts.append(numbers[members(numbers[:, 0], parts), 1:].ravel())
    kept = np.setdiff1d(np.arange(len(cells.number)), rows)
    raw.deck.beam_cells = Structure(
        np.append(cells.number[kept], numbers),
        np.append(cells.section[kept], index),
        np.vstack([cells.axis[kept], np.repeat(cells.axis[rows], PIECES, axis=0)]),
        np.concatenate([cells.offset[kept], offset.reshape(-1, 2, 3)]),
        np.concatenate([cells.released[kept], released.reshape(-1, 12)]),
    )


def positive(prop: Entry, at: int, what: str) -> float:
    value = prop.real(at)
    if not value > 0.0:
        raise Damaged(f"{prop.name} {prop.text(0)}: {what} {value:g}, expected a positive number", prop.line)
    return value


def made(make: Callable[..., Profile], sizes: list[float], prop: Entry) -> Profile:
    """A shape whose walls fit into it."""
    try:
        return make(*sizes)
    except ValueError as error:
        raise Damaged(f"{prop.name} {prop.text(0)}: {error}", prop.line) from None


def elasticity(item: DeckMaterial) -> Floats:
    """(6, 6) of a material in the deck."""
    if item.C_mat is not None:
        return item.C_mat
    return isotropic(item.name, item.E or 0.0, item.nu or 0.0, 0.0).C_mat


def corner_points(numbering: Numbering, points: Floats, rows: Ints) -> Floats:
    """Places of the first three nodes of elements (n, 3, 3)."""
    index, _ = numbering.index(rows[:, :3])
    return np.asarray(points[np.maximum(index, 0)])
