"""Nastran masses, springs, rigid and averaging elements, MPC and SPC -> what a deck attaches to its mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from flexmbs.fe.deck import Deck, DeckMass, DeckSpring, Equation, Mean, Rigid, Support, count
from flexmbs.fe.readers.nastran_axes import Systems
from flexmbs.fe.readers.nastran_cards import Entry
from flexmbs.fe.readers.source import Damaged, Floats

CARDS = {
    "CONM1", "CONM2", "CMASS1", "CMASS2", "PMASS", "CELAS1", "CELAS2", "PELAS", "CBUSH", "PBUSH",
    "RBE1", "RBE2", "RBE3", "RBAR", "RROD", "MPC", "MPCADD", "MPCAX", "SPC", "SPC1", "SPCADD",
}  # fmt: skip
ALL = (0, 1, 2, 3, 4, 5)
MOST_NODES = 1_000_000  # that one THRU may name


@dataclass
class LinkReader:
    """Collects entries, and turns them into links when all nodes and systems are known."""

    deck: Deck
    systems: Systems
    wtmass: Callable[[], float]
    entries: list[Entry] = field(default_factory=list)
    permanent: dict[str, list[int]] = field(default_factory=dict)  # directions -> nodes, of GRID entries
    properties: dict[tuple[str, int], Entry] = field(default_factory=dict)
    lumps: dict[int, tuple[str, Floats]] = field(default_factory=dict)  # node -> CMASS1, 2, masses (6,)

    def add(self, entry: Entry) -> None:
        if entry.name.startswith("P"):
            for start in {"PELAS": (0, 4), "PMASS": (0, 2, 4, 6)}.get(entry.name, (0,)):
                if entry.text(start):
                    self.properties[entry.name, entry.whole(start)] = replaced(entry, start)
        else:
            self.entries.append(entry)

    def read(self, active: dict[str, set[int]]) -> None:
        """All links; `active`: sets of MPC and SPC that the case control takes, or nothing without one."""
        for entry in self.entries:
            taken = active.get(entry.name[:3], set())
            if entry.name.endswith("ADD") and entry.whole(0) in taken:
                taken.update(entry.whole(k) for k in range(1, filled(entry)))
        held: dict[int, dict[tuple[int, ...], list[int]]] = {}
        for entry in self.entries:
            if entry.name.startswith(("MPC", "SPC")) and not entry.name.endswith("ADD"):
                if active and entry.whole(0, 0) not in active.get(entry.name[:3], set()):
                    count(self.deck.no_effect, f"{entry.name} of a set not taken")
                    continue
            if entry.name in ("SPC", "SPC1"):
                for dofs, nodes in supports(entry):
                    held.setdefault(entry.whole(0, 0), {}).setdefault(dofs, []).extend(nodes)
            elif not entry.name.endswith("ADD"):
                READERS[entry.name](self, entry)
        for node, (name, values) in self.lumps.items():
            self._mass_matrix(node, self.axes(node), np.diag(values), name)
        for text, nodes in self.permanent.items():
            dofs = components(text, Entry("GRID", ["PS"], 0))
            local = any(node in self.systems.out for node in nodes)
            self.deck.supports.append(Support(f"grid_{text}", np.array(nodes), dofs, local))
        for number, by_dofs in sorted(held.items()):
            for k, (dofs, nodes) in enumerate(sorted(by_dofs.items())):
                known = sorted({node for node in nodes if node in self.systems.grids})
                name = f"spc_{number}" if len(by_dofs) == 1 else f"spc_{number}_{k + 1}"
                local = any(node in self.systems.out for node in known)
                if known:
                    self.deck.supports.append(Support(name, np.array(known), dofs, local))

    def axes(self, node: int) -> Floats:
        """Displacement axes of a node (columns), in the basic system."""
        return self.systems.out_axes(node)

    def vector(self, node: int, component: int) -> Floats:
        """(6,) direction of a component of a node."""
        result = np.zeros(6)
        result[3 * (component // 3) : 3 * (component // 3) + 3] = self.axes(node)[:, component % 3]
        return result

    def node(self, entry: Entry, index: int) -> int:
        number = entry.whole(index)
        if number not in self.systems.grids:
            raise Damaged(
                f"{entry.name} {entry.text(0)} names node {number}, which does not exist", entry.line
            )
        return number

    def _conm2(self, entry: Entry) -> None:
        node, system = self.node(entry, 1), entry.whole(2, 0)
        J = np.zeros((3, 3))
        J[0, 0], J[1, 0], J[1, 1], J[2, 0], J[2, 1], J[2, 2] = (entry.real(k) for k in range(8, 14))
        J = J - np.tril(J, -1) * 2.0  # entries below the diagonal are the products of inertia
        J = np.tril(J) + np.tril(J, -1).T
        offset = np.array([entry.real(k) for k in (4, 5, 6)])
        R = np.eye(3)
        if system == -1:
            offset = offset - self.systems.position(node)
        elif system:
            R = self.systems.axes_at(system, node)
        factor = self.wtmass()
        self.deck.masses.append(
            DeckMass(
                node, entry.real(3) * factor, R @ J @ R.T * factor, R @ offset, f"CONM2 {entry.whole(0)}"
            )
        )

    def _conm1(self, entry: Entry) -> None:
        """A mass matrix at a node, when it is that of a rigid body."""
        node, system = self.node(entry, 1), entry.whole(2, 0)
        M = np.zeros((6, 6))
        M[np.tril_indices(6)] = [entry.real(k) for k in range(3, 24)]
        R = self.systems.axes_at(system, node) if system else np.eye(3)
        self._mass_matrix(node, R, M + np.tril(M, -1).T, f"CONM1 {entry.whole(0)}")

    def _mass_matrix(self, node: int, R: Floats, M: Floats, card: str) -> None:
        """Mass matrix (6, 6) at a node in axes R (columns), when it is that of a rigid body."""
        mass = M[0, 0]
        offset = -np.array([M[2, 4], M[0, 5], M[1, 3]]) / mass if mass else np.zeros(3)
        rigid = np.zeros((6, 6))
        lever = np.array([[0, -offset[2], offset[1]], [offset[2], 0, -offset[0]], [-offset[1], offset[0], 0]])
        J = M[3:, 3:] + mass * lever @ lever
        rigid[:3, :3], rigid[:3, 3:], rigid[3:, :3] = mass * np.eye(3), -mass * lever, mass * lever
        rigid[3:, 3:] = M[3:, 3:]
        if np.abs(rigid - M).max() > 1e-6 * np.abs(M).max():
            count(self.deck.not_understood, f"{card.split()[0]} that is no rigid body")
            return
        factor = self.wtmass()
        self.deck.masses.append(DeckMass(node, mass * factor, R @ J @ R.T * factor, R @ offset, card))

    def _cmass(self, entry: Entry) -> None:
        """A mass in one direction of a node; those of all directions together must be a body's."""
        card, value = f"{entry.name} {entry.whole(0)}", 0.0
        if entry.name == "CMASS1":
            prop = self.properties.get(("PMASS", entry.whole(1, entry.whole(0))))
            if prop is None:
                raise Damaged(f"{card}: its PMASS does not exist", entry.line)
            value = prop.real(1)
        else:
            value = entry.real(1)
        ends = [at for at in (2, 4) if entry.text(at) and entry.whole(at)]
        if len(ends) != 1 or not 1 <= entry.whole(ends[0] + 1, 0) <= 6:
            what = "at a scalar point" if len(ends) == 1 else "between two nodes"
            count(self.deck.not_understood, f"{entry.name} {what}")
            return
        _, masses = self.lumps.setdefault(self.node(entry, ends[0]), (entry.name, np.zeros(6)))
        masses[entry.whole(ends[0] + 1) - 1] += value

    def _celas(self, entry: Entry) -> None:
        card = f"{entry.name} {entry.whole(0)}"
        if entry.name == "CELAS1":
            prop = self.properties.get(("PELAS", entry.whole(1, entry.whole(0))))
            if prop is None:
                raise Damaged(f"{card}: its PELAS does not exist", entry.line)
            stiffness = prop.real(1)
        else:
            stiffness = entry.real(1)
        ends, terms, turning = ((2, 3), (4, 5)), [], False
        for sign, (at, component) in zip((1.0, -1.0), ends, strict=True):
            if entry.text(at) and entry.whole(at):
                if not 1 <= entry.whole(component, 0) <= 6:
                    count(self.deck.not_understood, f"{entry.name} at a scalar point")
                    return
                k = entry.whole(component) - 1
                turning = turning or k >= 3
                terms.append((self.node(entry, at), sign * self.vector(entry.whole(at), k)))
        if terms and stiffness:
            self.deck.springs.append(DeckSpring(stiffness, tuple(terms), card, turning))

    def _cbush(self, entry: Entry) -> None:
        """Six springs in the axes of the element, at a place on the line between its nodes."""
        card = f"CBUSH {entry.whole(0)}"
        prop = self.properties.get(("PBUSH", entry.whole(1, entry.whole(0))))
        if prop is None:
            raise Damaged(f"{card}: its PBUSH does not exist", entry.line)
        a = self.node(entry, 2)
        b = self.node(entry, 3) if entry.text(3) else None
        x_a = self.systems.position(a)
        x_b = x_a if b is None else self.systems.position(b)
        share = entry.real(8) if entry.text(8) else 0.5
        place = x_a + share * (x_b - x_a)
        if entry.text(9) not in ("", "-1"):
            point = np.array([[entry.real(k) for k in (10, 11, 12)]])
            place = self.systems.basic(entry.whole(9), point, entry.line)[0]
        rows = [k for k in range(0, filled(prop), 8) if prop.text(k + 1).upper() == "K"]
        values = [prop.real(rows[0] + 2 + k) for k in range(6)] if rows else [0.0] * 6
        if not rows:
            count(self.deck.not_understood, "PBUSH without K")
        axes = self._bush_axes(entry, a, x_a, x_b, only_along=not any(np.delete(values, [0, 3])))
        if axes is None:
            count(self.deck.not_understood, "CBUSH without axes")
            return
        for k, stiffness in enumerate(values):
            if not stiffness:
                continue
            d = axes[:, k % 3]
            terms = []
            for sign, node, x in ((1.0, a, x_a), (-1.0, b, x_b)):
                if node is not None:
                    lever = np.cross(place - x, d)
                    vector = np.concatenate([d, lever]) if k < 3 else np.concatenate([np.zeros(3), d])
                    terms.append((node, sign * vector))
            self.deck.springs.append(DeckSpring(stiffness, tuple(terms), card, k >= 3))

    def _bush_axes(self, entry: Entry, a: int, x_a: Floats, x_b: Floats, only_along: bool) -> Floats | None:
        """Axes (columns); only_along: springs act along x and about it, where any y will do."""
        if entry.text(7):
            return self.systems.axes_at(entry.whole(7), a) if entry.whole(7) else np.eye(3)
        x = x_b - x_a
        if not np.linalg.norm(x) > 0 or not (entry.text(4) or only_along):
            return None
        if not entry.text(4):
            v = np.eye(3)[np.abs(x).argmin()]
        elif "." in entry.text(4) or entry.text(5):
            v = self.axes(a) @ np.array([entry.real(k) for k in (4, 5, 6)])
        else:
            v = self.systems.position(self.node(entry, 4)) - x_a
        z = np.cross(x, v)
        if not np.linalg.norm(z) > 0:
            return None
        axes = np.stack([x, np.cross(z, x), z], axis=1)
        return np.asarray(axes / np.linalg.norm(axes, axis=0))

    def _rbe2(self, entry: Entry) -> None:
        words = [word for word in entry.fields[3:] if word]
        if words and not words[-1].isdigit() and words[-1].upper() != "THRU":
            words = words[:-1]  # thermal expansion
        self._rigid(entry, self.node(entry, 1), components(entry.text(2), entry), listed(words, entry))

    def _rbar(self, entry: Entry) -> None:
        a, b = self.node(entry, 1), self.node(entry, 2)
        own = [entry.text(3), entry.text(4)]
        for one, other, k in ((a, b, 0), (b, a, 1)):
            if sorted(own[k]) == list("123456") and not own[1 - k]:
                dofs = components(entry.text(6 - k) or "123456", entry)
                self._rigid(entry, one, dofs, [other])
                return
        free = [(a, entry.text(3)), (b, entry.text(4))]
        held = [(a, entry.text(5)), (b, entry.text(6))]
        if not any(text for _, text in held):  # all that is not independent
            held = [(node, "".join(sorted(set("123456") - set(text)))) for node, text in free]
        self._follow(entry, free, held)

    def _rbe1(self, entry: Entry) -> None:
        words = [word for word in entry.fields[1:] if word]
        at = next((k for k, word in enumerate(words) if word.upper() == "UM"), len(words))
        behind = words[at + 1 :]
        if len(behind) % 2:
            behind = behind[:-1]  # thermal expansion
        pairs = [
            [(Entry("RBE1", [part[k]], entry.line).whole(0), part[k + 1]) for k in range(0, len(part) - 1, 2)]
            for part in (words[:at], behind)
        ]
        self._follow(entry, *pairs)

    def _follow(self, entry: Entry, free: list[tuple[int, str]], held: list[tuple[int, str]]) -> None:
        """Directions of nodes that follow six others, which determine the motion of a rigid body."""
        card = f"{entry.name} {entry.text(0)}"
        ours, theirs = (
            [(node, k) for node, text in part if text for k in components(text, entry)]
            for part in (free, held)
        )
        for node, _ in [*ours, *theirs]:
            if node not in self.systems.grids:
                raise Damaged(f"{card} names node {node}, which does not exist", entry.line)
        places = np.array([self.systems.position(node) for node, _ in [*ours, *theirs]]).reshape(-1, 3)
        centre, size = places.mean(axis=0), float(np.ptp(places, axis=0).max(initial=0.0)) or 1.0

        def motion(node: int, k: int) -> Floats:
            """Direction k of a node under the six motions of the body, turns times the size."""
            d = self.vector(node, k)
            arm = (self.systems.position(node) - centre) / size
            turn = np.cross(arm, d[:3]) if k < 3 else d[3:]
            return np.concatenate([d[:3], turn])

        A = np.array([motion(*item) for item in ours])
        if A.shape != (6, 6) or np.linalg.cond(A) > 1e8:
            what = f"{card}: its {len(A)} independent directions do not determine a rigid motion"
            raise Damaged(what, entry.line, "name six of them that do")
        # a rotation counts as it is, not times the size
        scale = np.array([1.0 if k < 3 else size for _, k in ours])
        share = np.linalg.solve(A.T, np.array([motion(*item) for item in theirs]).reshape(-1, 6).T).T * scale
        for (node, k), row in zip(theirs, share, strict=True):
            factor = 1.0 if k < 3 else 1.0 / size
            terms = [(node, self.vector(node, k))]
            terms += [
                (own, -factor * value * self.vector(own, c))
                for (own, c), value in zip(ours, row, strict=True)
                if value
            ]
            self.deck.links.append(Equation(tuple(terms), card))

    def _rrod(self, entry: Entry) -> None:
        """The distance of two nodes stays: the direction that is named follows the others."""
        a, b = self.node(entry, 1), self.node(entry, 2)
        along = self.systems.position(b) - self.systems.position(a)
        e = np.concatenate([along / max(float(np.linalg.norm(along)), 1e-300), np.zeros(3)])
        ends = [(a, e), (b, -e)] if entry.text(3) else [(b, e), (a, -e)]
        self.deck.links.append(Equation(tuple(ends), f"RROD {entry.text(0)}"))

    def _rigid(self, entry: Entry, node: int, dofs: tuple[int, ...], nodes: list[int]) -> None:
        for number in nodes:
            if number not in self.systems.grids:
                what = f"{entry.name} {entry.text(0)} names node {number}, which does not exist"
                raise Damaged(what, entry.line)
        partial = not ({0, 1, 2} <= set(dofs) and len(set(dofs) & {3, 4, 5}) in (0, 3))
        axes = {n: self.axes(n) for n in nodes if n in self.systems.out} if partial else {}
        card = f"{entry.name} {entry.text(0)}"
        self.deck.links.append(Rigid(node, np.array(nodes, dtype=np.int64), dofs, card, axes))

    def _rbe3(self, entry: Entry) -> None:
        node, dofs = self.node(entry, 2), components(entry.text(3), entry)
        words = [word for word in entry.fields[4:] if word]
        stop = next((k for k, word in enumerate(words) if word.upper() in ("UM", "ALPHA")), len(words))
        if stop < len(words) and words[stop].upper() == "UM":
            count(self.deck.not_understood, "RBE3 with UM")
            return
        nodes: list[int] = []
        weights: list[float] = []
        spins: list[list[bool]] = []
        at = 0
        words = words[:stop]
        while at < len(words):
            weight, at = Entry("RBE3", [words[at]], entry.line).real(0), at + 1
            own = set(words[at]) if at < len(words) else set("123")
            if not set("123") <= own <= set("123456"):
                count(self.deck.not_understood, "RBE3 of single directions")
                return
            at += 1
            start = at
            while at < len(words) and "." not in words[at]:
                at += 1
            group = listed(words[start:at], entry)
            nodes += group
            weights += [weight] * len(group)
            spins += [[letter in own for letter in "456"]] * len(group)
        unknown = [n for n in nodes if n not in self.systems.grids]
        if unknown or not nodes:
            raise Damaged(f"RBE3 {entry.text(0)} names nodes that do not exist ({unknown[:3]})", entry.line)
        some = {n for n, own in zip(nodes, spins, strict=True) if sum(own) in (1, 2)}
        if (
            node in self.systems.out
            and set(dofs) not in ({0, 1, 2}, set(ALL))
            or some & set(self.systems.out)
        ):
            count(self.deck.not_understood, "RBE3 of single directions")
            return
        card = f"RBE3 {entry.text(0)}"
        of_all = np.array(nodes, dtype=np.int64)
        self.deck.links.append(Mean(node, of_all, np.array(weights), dofs, card, np.array(spins)))

    def _mpc(self, entry: Entry) -> None:
        terms = []
        for start in range(0, filled(entry), 8):
            for k in (1, 4):
                if entry.text(start + k):
                    number, component = self.node(entry, start + k), entry.whole(start + k + 1, 0)
                    if not 1 <= component <= 6:
                        count(self.deck.not_understood, "MPC at a scalar point")
                        return
                    terms.append((number, entry.real(start + k + 2) * self.vector(number, component - 1)))
        self.deck.links.append(Equation(tuple(terms), f"MPC {entry.text(0)}"))

    def _stop(self, entry: Entry) -> None:
        count(self.deck.not_understood, entry.name)


READERS: dict[str, Callable[[LinkReader, Entry], None]] = {
    "CONM1": LinkReader._conm1,
    "CONM2": LinkReader._conm2,
    "CMASS1": LinkReader._cmass,
    "CMASS2": LinkReader._cmass,
    "CELAS1": LinkReader._celas,
    "CELAS2": LinkReader._celas,
    "CBUSH": LinkReader._cbush,
    "RBE2": LinkReader._rbe2,
    "RBE3": LinkReader._rbe3,
    "RBAR": LinkReader._rbar,
    "MPC": LinkReader._mpc,
    "RBE1": LinkReader._rbe1,
    "RROD": LinkReader._rrod,
    "MPCAX": LinkReader._stop,
}


def filled(entry: Entry) -> int:
    """Number of fields up to the last one that is not blank."""
    return max((k + 1 for k, word in enumerate(entry.fields) if word), default=0)


def replaced(entry: Entry, start: int) -> Entry:
    """The second of two properties on one entry, as if it stood first."""
    return Entry(entry.name, entry.fields[start:], entry.line)


def components(text: str, entry: Entry) -> tuple[int, ...]:
    """`1236`, also with blanks, -> (0, 1, 2, 5)."""
    text = "".join(text.split())
    if not text or not set(text) <= set("123456"):
        raise Damaged(f'{entry.name} {entry.text(0)}: "{text}" are no directions', entry.line)
    return tuple(sorted({int(letter) - 1 for letter in text}))


def listed(words: list[str], entry: Entry) -> list[int]:
    """Node numbers, with THRU."""
    result: list[int] = []
    for before, word in pairwise(["", *words]):
        if word.upper() == "THRU":
            continue
        if not word.isdigit():
            raise Damaged(f'{entry.name} {entry.text(0)}: "{word}" is no node', entry.line)
        first = result[-1] + 1 if before.upper() == "THRU" and result else int(word)
        if int(word) - first > MOST_NODES:
            what = f"{first} THRU {word} are more than {MOST_NODES} nodes"
            raise Damaged(f"{entry.name} {entry.text(0)}: {what}", entry.line)
        result += range(first, int(word) + 1)
    return result


def supports(entry: Entry) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Directions and nodes of an SPC or SPC1."""
    if entry.name == "SPC1":
        if entry.text(1).strip("0"):
            words = [word for word in entry.fields[2:] if word]
            yield components(entry.text(1), entry), listed(words, entry)
        return
    for k in (1, 4):
        if entry.text(k) and entry.text(k + 1).strip("0"):
            yield components(entry.text(k + 1), entry), [entry.whole(k)]
