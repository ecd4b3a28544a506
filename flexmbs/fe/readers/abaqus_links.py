"""Masses, springs, couplings, equations and supports of an .inp file -> what a deck attaches to its mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.deck import Deck, DeckMass, DeckSpring, Equation, Mean, Rigid, Support, count
from flexmbs.fe.readers.abaqus_cards import Card, data_lines, flat_numbers, real
from flexmbs.fe.readers.raw import Numbering
from flexmbs.fe.readers.source import Damaged, Floats, Ints, one_int
from flexmbs.fe.tie import tied

#: element types that are no cells: number of nodes
ENDS = {"MASS": 1, "ROTARYI": 1, "SPRING1": 1, "SPRING2": 2, "SPRINGA": 2, "DCOUP3D": 1}
CARDS = {
    "MASS", "ROTARY INERTIA", "SPRING", "RIGID BODY", "COUPLING", "KINEMATIC", "DISTRIBUTING",
    "KINEMATIC COUPLING", "DISTRIBUTING COUPLING", "EQUATION", "MPC", "BOUNDARY", "TRANSFORM", "TIE",
}  # fmt: skip
NAMED = {
    "ENCASTRE": (1, 2, 3, 4, 5, 6), "PINNED": (1, 2, 3), "XSYMM": (1, 5, 6), "YSYMM": (2, 4, 6),
    "ZSYMM": (3, 4, 5), "XASYMM": (2, 3, 4), "YASYMM": (1, 3, 5), "ZASYMM": (1, 2, 6),
}  # fmt: skip
ALL = (0, 1, 2, 3, 4, 5)
Lookup = Callable[[Any, str], list[int]]


@dataclass
class LinkReader:
    """Reads the cards of one scope; `nodes` and `cells` give the numbers of a set or number in the whole."""

    deck: Deck
    nodes: Lookup
    cells: Lookup
    surface: Callable[[str], tuple[list[int], list[float]]]
    rows: Callable[[str], list[Ints]]
    ends: dict[int, tuple[str, list[int]]]
    points: Places
    axes: dict[int, Floats] = field(default_factory=dict)
    notes: list[Diagnostic] = field(default_factory=list)
    on_axis: set[int] = field(default_factory=set)
    coupling: Card | None = None

    def read(self, cards: list[Card]) -> None:
        for card in cards:
            if card.keyword == "TRANSFORM":
                self._transform(card)
        for card in cards:
            reader = READERS.get(card.keyword)
            if reader is not None:
                reader(self, card)

    def vector(self, node: int, dof: int, card: Card) -> Floats:
        """(6,) direction of freedom 1 ... 6 of a node."""
        if not 1 <= dof <= 6:
            raise Damaged(f"*{card.keyword}: there is no direction {dof}", card.line)
        if node in self.on_axis:
            raise Damaged(f"node {node} lies on the axis of its *TRANSFORM: it has no directions", card.line)
        result = np.zeros(6)
        k = dof - 1
        result[3 * (k // 3) : 3 * (k // 3) + 3] = self.axes.get(node, np.eye(3))[:, k % 3]
        return result

    def _transform(self, card: Card) -> None:
        values = flat_numbers(card)
        if len(values) < 6:
            raise Damaged("*TRANSFORM needs two points", card.line)
        a, b = values[:3], values[3:6]
        kind = card.options.get("TYPE", "R").upper()[:1]
        for node in self.nodes(card.need("NSET"), "node"):
            if kind == "R":
                x, z = a, np.cross(a, b)
            else:  # a, b on the axis of the cylinder, or centre and a point on the axis of the sphere
                arm = self.points[node] - a
                z = (b - a) / np.linalg.norm(b - a)
                x = arm - (arm @ z) * z if kind == "C" else arm
                z = z if kind == "C" else np.cross(x, np.cross(z, x))
            if not np.linalg.norm(x) > 0 or not np.linalg.norm(z) > 0:
                self.on_axis.add(node)
                continue
            frame = np.stack([x, np.cross(z, x), z], axis=1)
            self.axes[node] = frame / np.linalg.norm(frame, axis=0)

    def _of_elements(self, card: Card, kinds: tuple[str, ...]) -> list[tuple[int, str, list[int]]]:
        found = []
        for number in self.cells(card.need("ELSET"), "cell"):
            kind, nodes = self.ends.get(number, ("", []))
            if kind in kinds:
                found.append((number, kind, nodes))
        return found

    def _mass(self, card: Card) -> None:
        value = float(flat_numbers(card)[0])
        for number, _, nodes in self._of_elements(card, ("MASS",)):
            zero = np.zeros((3, 3))
            self.deck.masses.append(DeckMass(nodes[0], value, zero, np.zeros(3), f"*MASS {number}"))

    def _inertia(self, card: Card) -> None:
        values = np.append(flat_numbers(card), np.zeros(6))[:6]
        if card.options.get("ORIENTATION"):
            count(self.deck.not_understood, "*ROTARY INERTIA, ORIENTATION")
            return
        J = np.diag(values[:3])
        for (i, j), value in zip(((0, 1), (0, 2), (1, 2)), values[3:], strict=True):
            J[i, j] = J[j, i] = value
        for number, _, nodes in self._of_elements(card, ("ROTARYI",)):
            self.deck.masses.append(DeckMass(nodes[0], 0.0, J, np.zeros(3), f"*ROTARY INERTIA {number}"))

    def _spring(self, card: Card) -> None:
        if any(name in card.options for name in ("NONLINEAR", "COMPLEX STIFFNESS", "ORIENTATION")):
            count(self.deck.not_understood, "*SPRING, NONLINEAR or with axes")
            return
        lines = [line for line in card.text.decode("utf-8", "replace").split("\n")]
        words = [word.strip() for word in (lines[0] if lines else "").split(",") if word.strip()]
        dofs = [one_int(word, "direction", card.line) for word in words if "." not in word]
        rest = [line for line in lines[1:] if line.strip()]
        if len(dofs) < len(words):  # CalculiX needs no blank line in front of the stiffness
            dofs, rest = [], lines[:1]
        if not rest:
            raise Damaged("*SPRING has no stiffness behind the line of its directions", card.line)
        stiffness = real(rest[0].split(",")[0].strip(), card.line)
        for number, kind, nodes in self._of_elements(card, ("SPRING1", "SPRING2", "SPRINGA")):
            text = f"*SPRING {number}"
            if kind == "SPRINGA":
                d = self.points[nodes[1]] - self.points[nodes[0]]
                if not np.linalg.norm(d) > 0:
                    raise Damaged(f"element {number} of type SPRINGA has no length", card.line)
                d = np.concatenate([d / np.linalg.norm(d), np.zeros(3)])
                terms, turning = [(nodes[0], d), (nodes[1], -d)], False
            else:
                if len(dofs) < len(nodes):
                    raise Damaged(f"*SPRING of {kind} names {len(dofs)} directions", card.line)
                vectors = [self.vector(n, k, card) for n, k in zip(nodes, dofs, strict=False)]
                terms = [(n, s * v) for n, v, s in zip(nodes, vectors, (1.0, -1.0), strict=False)]
                turning = dofs[0] > 3
            self.deck.springs.append(DeckSpring(stiffness, tuple(terms), text, turning))

    def _reference(self, card: Card) -> int:
        word = card.need("REF NODE")
        found = self.nodes(word, "node")
        if len(found) != 1:
            raise Damaged(f'the reference node "{word}" is {len(found)} nodes', card.line)
        return found[0]

    def _rigid_body(self, card: Card) -> None:
        if card.options.get("ROT NODE"):  # a second node carries the rotations as translations: same motion
            count(self.deck.no_effect, "*RIGID BODY, ROT NODE")
        whole: list[int] = []
        pinned: list[int] = []  # nodes of shells and beams may turn; NSET is CalculiX's, and means that too
        for key, nodes in (("TIE NSET", whole), ("PIN NSET", pinned), ("NSET", pinned)):
            if card.options.get(key):
                nodes += self.nodes(card.options[key], "node")
        if card.options.get("ELSET"):
            whole += self.nodes(("nodes of", card.options["ELSET"]), "node")
        node = self._reference(card)
        for nodes, dofs in ((whole, ALL), (sorted(set(pinned) - set(whole)), ALL[:3])):
            if nodes:
                self._add_rigid(node, nodes, dofs, "*RIGID BODY")

    def _add_rigid(self, node: int, nodes: list[int], dofs: tuple[int, ...], card: str) -> None:
        nodes = sorted(set(nodes) - {node})
        axes = {} if {0, 1, 2} <= set(dofs) else {n: self.axes[n] for n in nodes if n in self.axes}
        self.deck.links.append(Rigid(node, np.array(nodes, dtype=np.int64), dofs, f"{card} {node}", axes))

    def _kinematic_coupling(self, card: Card) -> None:
        node = self._reference(card)
        groups: dict[tuple[int, ...], list[int]] = {}
        for line in data_lines(card):
            words = [word for word in line if word]
            dofs = dof_range(words[1:], card) if len(words) > 1 else ALL
            groups.setdefault(dofs, []).extend(self.nodes(words[0], "node"))
        for dofs, nodes in groups.items():
            self._add_rigid(node, nodes, dofs, "*KINEMATIC COUPLING")

    def _coupling(self, card: Card) -> None:
        self.coupling = card

    def _kinematic(self, card: Card) -> None:
        dofs: set[int] = set()
        for line in data_lines(card):
            dofs |= set(dof_range([word for word in line if word], card))
        if self.coupling is None:
            raise Damaged("*KINEMATIC without *COUPLING", card.line)
        chosen = tuple(sorted(dofs)) or ALL
        if self.coupling.options.get("ORIENTATION") and not {0, 1, 2} <= set(chosen):
            count(self.deck.not_understood, "*COUPLING, ORIENTATION")
            return
        nodes, _ = self.surface(self.coupling.need("SURFACE"))
        self._add_rigid(self._reference(self.coupling), nodes, chosen, "*COUPLING")

    def _distributing(self, card: Card) -> None:
        if self.coupling is None:
            raise Damaged("*DISTRIBUTING without *COUPLING", card.line)
        if card.options.get("WEIGHTING METHOD", "UNIFORM").upper() != "UNIFORM":
            count(self.deck.not_understood, "*DISTRIBUTING, WEIGHTING METHOD")
            return
        nodes, weights = self.surface(self.coupling.need("SURFACE"))
        self._add_mean(self._reference(self.coupling), nodes, weights, "*COUPLING")

    def _add_mean(self, node: int, nodes: list[int], weights: list[float], card: str) -> None:
        dofs: tuple[int, ...] = ALL
        arm = np.array([self.points[n] for n in nodes]) - self.points[node] if nodes else np.zeros((0, 3))
        if len(arm) < 3:
            dofs = (0, 1, 2)
        self.deck.links.append(
            Mean(node, np.array(nodes, dtype=np.int64), np.array(weights), dofs, f"{card} {node}")
        )

    def _distributing_coupling(self, card: Card) -> None:
        ends = self._of_elements(card, ("DCOUP3D",))
        if len(ends) != 1:
            raise Damaged("*DISTRIBUTING COUPLING needs one element of type DCOUP3D", card.line)
        nodes: list[int] = []
        weights: list[float] = []
        for line in data_lines(card):
            found = self.nodes(line[0], "node")
            nodes += found
            weights += [real(line[1], card.line) if len(line) > 1 and line[1] else 1.0] * len(found)
        self._add_mean(ends[0][2][0], nodes, weights, "*DISTRIBUTING COUPLING")

    def _equation(self, card: Card) -> None:
        lines = [[word for word in line if word] for line in data_lines(card)]
        at = 0
        while at < len(lines):
            n, words = one_int(lines[at][0], "number of terms", card.line), list[str]()
            at += 1
            while len(words) < 3 * n:
                if at >= len(lines):
                    raise Damaged("*EQUATION ends inside its terms", card.line)
                words += lines[at]
                at += 1
            rows = [words[3 * k : 3 * k + 3] for k in range(n)]
            sets = [self.nodes(row[0], "node") for row in rows]
            for k in range(max(map(len, sets))):
                terms = []
                for row, numbers in zip(rows, sets, strict=True):
                    if len(numbers) not in (1, max(map(len, sets))):
                        raise Damaged("*EQUATION between sets of different sizes", card.line)
                    node = numbers[k if len(numbers) > 1 else 0]
                    dof = one_int(row[1], "direction", card.line)
                    terms.append((node, real(row[2], card.line) * self.vector(node, dof, card)))
                self.deck.links.append(Equation(tuple(terms), f"*EQUATION in line {card.line}"))

    def _mpc(self, card: Card) -> None:
        for line in data_lines(card):
            words = [word for word in line if word]
            kind = words[0].upper()
            groups = [self.nodes(word, "node") for word in words[1:]]
            if kind not in ("BEAM", "TIE", "PIN") or len(groups) != 2:
                count(self.deck.not_understood, f"*MPC of type {kind}")
                continue
            for k, node in enumerate(groups[0]):
                other = groups[1][k if len(groups[1]) > 1 else 0]
                if kind == "BEAM":
                    self._add_rigid(other, [node], ALL, "*MPC BEAM")
                    continue
                for c in range(3 if kind == "PIN" else 6):
                    unit = np.eye(6)[c]
                    self.deck.links.append(Equation(((node, unit), (other, -unit)), f"*MPC {kind}"))

    def _tie(self, card: Card) -> None:
        """Nodes of the first surface follow the faces of the second; they are moved onto them."""
        if any(name in card.options for name in ("CYCLIC SYMMETRY", "MULTISTAGE", "NO ROTATION")):
            count(self.deck.not_understood, "*TIE of cyclic symmetry")
            return
        text = card.options.get("POSITION TOLERANCE")
        tolerance = real(text, card.line) if text else None
        for line in data_lines(card):
            if len(line) < 2:
                raise Damaged("*TIE needs two surfaces", card.line)
            slaves, _ = self.surface(line[0])
            faces = [(row, self.points.of(row)) for rows in self.rows(line[1]) for row in rows]
            own = np.setdiff1d(slaves, np.concatenate([row for row, _ in faces]))
            done, largest = 0, 0.0
            for node, others, N, foot, gap in tied(own, self.points.of(own), faces, tolerance):
                done, largest = done + 1, max(largest, gap)
                self.points.move(node, foot)
                for c in range(3):
                    unit = np.eye(6)[c]
                    terms = [(int(other), -value * unit) for other, value in zip(others, N, strict=True)]
                    self.deck.links.append(Equation(((node, unit), *terms), f"*TIE {line[0]}"))
            what = f"*TIE: {done} of {len(own)} nodes of {line[0]} are tied to {line[1]}"
            remedy = f"moved onto it by up to {largest:.3g}, the others are free"
            if done < len(own) or largest > 0:
                self.notes.append(Diagnostic("deck.tie", f"{card.path}:{card.line}", what, remedy, "warn"))

    def _boundary(self, card: Card) -> None:
        for line in data_lines(card):
            words = [word for word in line if word]
            if not words:
                continue
            nodes = self.nodes(words[0], "node")
            if len(words) > 1 and words[1].upper() in NAMED:
                dofs = tuple(k - 1 for k in NAMED[words[1].upper()])
            elif len(words) > 1 and words[1].isdigit():
                dofs = dof_range(words[1:3] if len(words) > 2 and words[2].isdigit() else words[1:2], card)
            else:
                continue
            name = words[0] if not words[0].isdigit() else "held"
            taken = next((k for k, s in enumerate(self.deck.supports) if s.name == f"bc_{name}"), None)
            local = any(node in self.axes for node in nodes)
            if taken is None:
                self.deck.supports.append(Support(f"bc_{name}", np.unique(nodes), dofs, local))
                continue
            known = self.deck.supports[taken]
            if set(known.nodes.tolist()) == set(nodes):
                both = tuple(sorted({*known.dofs, *dofs}))
                self.deck.supports[taken] = Support(known.name, known.nodes, both, known.local or local)
            elif known.dofs == dofs:
                joined = np.union1d(known.nodes, nodes)
                self.deck.supports[taken] = Support(known.name, joined, dofs, known.local or local)
            else:
                number = f"bc_{name}_{len(self.deck.supports) + 1}"
                self.deck.supports.append(Support(number, np.unique(nodes), dofs, local))


READERS: dict[str, Callable[[LinkReader, Card], None]] = {
    "MASS": LinkReader._mass,
    "ROTARY INERTIA": LinkReader._inertia,
    "SPRING": LinkReader._spring,
    "RIGID BODY": LinkReader._rigid_body,
    "COUPLING": LinkReader._coupling,
    "KINEMATIC": LinkReader._kinematic,
    "DISTRIBUTING": LinkReader._distributing,
    "KINEMATIC COUPLING": LinkReader._kinematic_coupling,
    "DISTRIBUTING COUPLING": LinkReader._distributing_coupling,
    "EQUATION": LinkReader._equation,
    "MPC": LinkReader._mpc,
    "BOUNDARY": LinkReader._boundary,
    "TIE": LinkReader._tie,
}


class Places:
    """Positions by node number, without a table of all of them."""

    def __init__(self, number: Ints, points: Floats) -> None:
        self.numbering, self.points = Numbering(number), points

    def __getitem__(self, number: int) -> Floats:
        index, unknown = self.numbering.index(np.array([number]))
        if len(unknown):
            raise Damaged(f"node {number} is used and not defined")
        return np.asarray(self.points[index[0]])

    def of(self, numbers: Any) -> Floats:
        """Positions (n, 3)."""
        index, unknown = self.numbering.index(np.asarray(numbers, dtype=np.int64))
        if len(unknown):
            raise Damaged(f"node {unknown[0]} is used and not defined")
        return np.asarray(self.points[index])

    def move(self, number: int, place: Floats) -> None:
        """Writes: points of the mesh."""
        self.points[self.numbering.index(np.array([number]))[0][0]] = place


def dof_range(words: list[str], card: Card) -> tuple[int, ...]:
    """`2, 4` -> (1, 2, 3); freedoms beyond 6 (temperature) are left out."""
    numbers = [one_int(word, "direction", card.line) for word in words]
    if not numbers:
        return ALL
    return tuple(k - 1 for k in range(numbers[0], numbers[-1] + 1) if 1 <= k <= 6)


def area_weights(faces: list[Ints], points: Places) -> dict[int, float]:
    """Areas of faces, shared equally by their nodes."""
    result: dict[int, float] = {}
    for rows in faces:
        for row in rows.tolist():
            X = np.array([points[n] for n in row[: 3 if len(row) in (3, 6) else 4]])
            centre = X.mean(axis=0)
            area = sum(
                0.5 * float(np.linalg.norm(np.cross(X[k - 1] - centre, X[k] - centre))) for k in range(len(X))
            )
            for n in row:
                result[n] = result.get(n, 0.0) + area / len(row)
    return result
