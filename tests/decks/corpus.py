"""Hundreds of small decks: a bar in every element, dialect, field format, set of units, form of material and
coordinate system, with masses and connections at its end; what each must weigh, and where.

A part of `tests.decks.test_corpus`; the numbers are those of the bar, by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tests.fe.mesh_samples import lattice_mesh
from tests.fe.mesh_writers import NASTRAN_EDGES, VTK_EDGES, in_order

E, NU, RHO = 7.1e10, 0.33, 2780.0
SIZE = np.array([0.09, 0.03, 0.02])  # [m]
#: units of length [m], mass [kg], time [s]
UNITS = {
    "mm-t-s": (1e-3, 1e3, 1.0),
    "m-kg-s": (1.0, 1.0, 1.0),
    "mm-kg-ms": (1e-3, 1.0, 1e-3),
    "cm-g-s": (1e-2, 1e-3, 1.0),
    "in-lbf-s": (0.0254, 0.45359237 * 9.80665 / 0.0254, 1.0),
}
SOLIDS = ["tet4", "tet10", "hex8", "hex20", "wedge6", "wedge15"]
THICK, AREA = 0.002, 1.5e-4


@dataclass
class Body:
    """What a deck must weigh: masses, their places, and inertia tensors about these."""

    parts: list[tuple[float, np.ndarray, np.ndarray]] = field(default_factory=list)

    def add(self, mass, place, inertia=None):
        self.parts.append((mass, np.asarray(place, float), np.zeros((3, 3)) if inertia is None else inertia))

    def total(self):
        m = sum(part[0] for part in self.parts)
        S = sum(part[0] * part[1] for part in self.parts)
        J = sum(p[2] + p[0] * (p[1] @ p[1] * np.eye(3) - np.outer(p[1], p[1])) for p in self.parts)
        return m, S, J


def block(mass, a, b, c):
    return mass / 12.0 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])


def solid(kind):
    """Points and cells of a bar."""
    mesh = lattice_mesh(kind, (3, 1, 1), lambda x: x * SIZE)
    return mesh.points, mesh.cells[kind]


def flat(kind, n=(3, 2)):
    """A plate in z = 0."""
    order = 2 if kind in ("tri6", "quad8") else 1
    index, cells = {}, []

    def node(i, j):
        return index.setdefault((i, j), len(index))

    for i in range(n[0]):
        for j in range(n[1]):
            a, b = 2 * i, 2 * j
            ring = [(a, b), (a + 2, b), (a + 2, b + 2), (a, b + 2)]
            for corners in [ring] if kind.startswith("quad") else [ring[:3], [ring[0], ring[2], ring[3]]]:
                mids = [
                    tuple((np.add(p, q) // 2).tolist())
                    for p, q in zip(corners, [*corners[1:], corners[0]], strict=True)
                ]
                cells.append([node(*p) for p in corners + (mids if order == 2 else [])])
    X = np.array(list(index), dtype=float) / 2 / n * SIZE[:2]
    return np.column_stack([X, np.zeros(len(X))]), np.array(cells)


def line():
    x = np.linspace(0.0, SIZE[0], 5)
    return np.column_stack([x, 0 * x, 0 * x]), np.column_stack([np.arange(4), np.arange(1, 5)])


def tetrahedra_of_rods():
    """Four rods of a tripod and its foot: six edges of a tetrahedron."""
    X = np.array([[0.0, 0, 0], [0.09, 0, 0], [0, 0.08, 0], [0.01, 0.02, 0.07]])
    return X, np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])


class Nastran:
    """Writes bulk data in small, large or free field."""

    def __init__(self, units, field_format="free", system=0):
        self.length, self.mass, self.time = UNITS[units]
        self.format, self.system = field_format, system
        self.weights = units == "in-lbf-s"
        self.lines: list[str] = []

    def number(self, value):
        """A real in at most eight characters' worth of digits, or all of them."""
        if self.format == "free":
            return f"{value:.9e}"
        width = 8 if self.format == "small" else 16
        for digits in range(width, 0, -1):
            mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
            text = f"{mantissa}{int(exponent):+d}"
            if len(text) <= width:
                return text
        raise ValueError(value)

    def card(self, name, *words):
        words = [self.number(word) if isinstance(word, float) else str(word) for word in words]
        if self.format == "free":
            rows = [words[k : k + 8] for k in range(0, len(words), 8)]
            text = ",".join([name, *rows[0]])
            for row in rows[1:]:
                text += ",+\n" + ",".join(["+", *row])
            self.lines.append(text)
            return
        large = self.format == "large"
        width, per = (16, 4) if large else (8, 8)
        head, more = (f"{name + '*':<8}", f"{'*':<8}") if large else (f"{name:<8}", f"{'+':<8}")
        rows = ["".join(f"{word:>{width}}" for word in words[k : k + per]) for k in range(0, len(words), per)]
        self.lines.append("\n".join((head if k == 0 else more) + row for k, row in enumerate(rows)))

    def point(self, X):
        """Coordinates in the system of the deck."""
        x = X / self.length
        if self.system == 1:  # x along y of the body, y along z, origin (1, 0, 0)
            x = x - np.array([1.0, 0.0, 0.0])
            return np.array([x[1], x[2], x[0]])
        if self.system == 2:  # cylinder about z
            return np.array([np.hypot(x[0], x[1]), np.degrees(np.arctan2(x[1], x[0])), x[2]])
        return x

    def nodes(self, points, first=1):
        for n, X in enumerate(points):
            self.card("GRID", first + n, self.system or "", *(float(x) for x in self.point(X)))

    def systems(self):
        if self.system == 1:
            self.card("CORD2R", 1, 0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 1.0, 0.0)
        if self.system == 2:
            self.card("CORD2C", 2, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0)

    @property
    def stress(self):
        return self.mass / (self.length * self.time**2)

    @property
    def density(self):
        return self.mass / self.length**3

    def weight(self, value):
        """A mass in units of the deck; weights where WTMASS makes masses of them."""
        return value * (386.088 if self.weights else 1.0)

    def material(self, form="nu"):
        rho = self.weight(RHO / self.density)
        young, shear = E / self.stress, E / self.stress / (2 * (1 + NU))
        if form == "nu":
            self.card("MAT1", 1, young, "", NU, rho)
        elif form == "G":
            self.card("MAT1", 1, young, shear, "", rho)
        elif form == "MAT9":
            C = np.zeros((6, 6))
            lam = young * NU / ((1 + NU) * (1 - 2 * NU))
            C[:3, :3] = lam
            C += np.diag([2 * shear] * 3 + [shear] * 3)
            self.card("MAT9", 1, *(float(C[i, j]) for i in range(6) for j in range(i, 6)), rho)
        elif form == "MAT11":
            self.card("MAT11", 1, *[young] * 3, *[NU] * 3, *[shear] * 3, rho)
        else:
            self.card("MAT8", 1, young, young, NU, shear, shear, shear, rho)
        if self.weights:
            self.card("PARAM", "WTMASS", 1.0 / 386.088)

    def text(self, ending="ENDDATA"):
        return "\n".join(["SOL 103", "CEND", "BEGIN BULK", *self.lines, ending, ""])


class Abaqus:
    """Writes keywords; `parts`: the mesh in a part, and an instance that is moved and turned back."""

    def __init__(self, units, parts=False):
        self.length, self.mass, self.time = UNITS[units]
        self.parts = parts
        self.mesh: list[str] = []
        self.model: list[str] = []

    stress = Nastran.stress
    density = Nastran.density

    def nodes(self, points, first=1, name="ALL"):
        self.mesh.append(f"*NODE, NSET={name}")
        self.mesh += [
            f"{first + n}, " + ", ".join(f"{x / self.length:.9e}" for x in X) for n, X in enumerate(points)
        ]

    def cells(self, kind, rows, elset="E", first=1):
        self.mesh.append(f"*ELEMENT, TYPE={kind}, ELSET={elset}")
        for e, row in enumerate(rows):
            words = [str(first + e), *(str(n + 1) for n in row)]
            self.mesh.append(
                ", ".join(words[:16]) + (",\n" + ", ".join(words[16:]) if len(words) > 16 else "")
            )

    def material(self, form="ISO"):
        young, shear = E / self.stress, E / self.stress / (2 * (1 + NU))
        self.model.append("*MATERIAL, NAME=M")
        if form == "ISO":
            self.model += ["*ELASTIC", f"{young:.9e}, {NU}"]
        else:
            numbers = [young] * 3 + [NU] * 3 + [shear] * 3
            self.model += ["*ELASTIC, TYPE=ENGINEERING CONSTANTS", ", ".join(f"{x:.9e}" for x in numbers[:8])]
            self.model.append(f"{numbers[8]:.9e}")
        self.model += ["*DENSITY", f"{RHO / self.density:.9e}"]

    def text(self):
        if not self.parts:
            return "\n".join([*self.mesh, *self.model, ""])
        placed = ["*ASSEMBLY, NAME=A", "*INSTANCE, NAME=I, PART=P", "*END INSTANCE", "*END ASSEMBLY"]
        sections = [k for k, row in enumerate(self.model) if "SECTION" in row]
        start = sections[0] if sections else len(self.model)
        return "\n".join(
            ["*PART, NAME=P", *self.mesh, *self.model[start:], "*END PART", *placed, *self.model[:start], ""]
        )


def decks():
    """All decks: name, text, what it weighs."""
    found = []
    volume = float(np.prod(SIZE))
    for k, kind in enumerate(SOLIDS):
        points, rows = solid(kind)
        card = {"t": "CTETRA", "h": "CHEXA", "w": "CPENTA"}[kind[0]]
        for units in UNITS:
            for number, form in enumerate(("nu", "G", "MAT9", "MAT11")):
                field_format = ("free", "small", "large")[(k + number) % 3]
                system = (k + number) % 3
                deck = Nastran(units, field_format, system)
                deck.systems()
                deck.nodes(points)
                for e, row in enumerate(in_order(kind, rows, NASTRAN_EDGES)):
                    deck.card(card, e + 1, 7, *(int(n) + 1 for n in row))
                deck.card("PSOLID", 7, 1)
                deck.material(form)
                body = Body()
                body.add(RHO * volume, SIZE / 2, block(RHO * volume, *SIZE))
                ends = np.flatnonzero(points[:, 0] > SIZE[0] * 0.999) + 1
                attach(deck, number, ends, body)
                found.append((f"{kind}-{units}-{form}-{field_format}-{system}.bdf", deck.text(), body))
        for units in UNITS:
            for number, form in enumerate(("ISO", "ENGINEERING")):
                deck = Abaqus(units, parts=bool(number))
                deck.nodes(points)
                name = f"C3D{kind.lstrip('tehxwdg')}{'R' if kind[0] == 'h' else ''}"
                deck.cells(name, in_order(kind, rows, VTK_EDGES))
                deck.material(form)
                deck.model.append("*SOLID SECTION, ELSET=E, MATERIAL=M")
                body = Body()
                body.add(RHO * volume, SIZE / 2, block(RHO * volume, *SIZE))
                found.append((f"{kind}-{units}-{form}.inp", deck.text(), body))
    for kind, cards, types in (
        ("tri3", ("CTRIA3", "CTRIAR"), ("S3", "M3D3")),
        ("tri6", ("CTRIA6",), ("STRI65", "M3D6")),
        ("quad4", ("CQUAD4", "CQUADR"), ("S4", "S4R", "M3D4")),
        ("quad8", ("CQUAD8",), ("S8R", "M3D8")),
    ):
        points, rows = flat(kind)
        mass = RHO * THICK * SIZE[0] * SIZE[1]
        for units in UNITS:
            for number, card in enumerate(cards):
                for layered in (False, True):
                    deck = Nastran(units, ("free", "small", "large")[number], 0)
                    deck.nodes(points)
                    for e, row in enumerate(rows):
                        deck.card(card, e + 1, 3, *(int(n) + 1 for n in row))
                    t = THICK / deck.length
                    if layered:
                        deck.card("PCOMP", 3, *[""] * 6, "SYM", 1, t / 4, 0.0, "", 1, t / 4, 45.0)
                    else:
                        deck.card("PSHELL", 3, 1, t, 1, "", 1)
                    deck.material("MAT8" if layered else "nu")
                    plate = Body()
                    plate.add(mass, [SIZE[0] / 2, SIZE[1] / 2, 0.0], block(mass, SIZE[0], SIZE[1], THICK))
                    name = f"{card}-{units}-{'layers' if layered else 'plain'}.bdf"
                    found.append((name, deck.text(), plate))
            for name in types:
                if name.startswith("M3D"):
                    continue  # free membranes have no stiffness across
                deck = Abaqus(units)
                deck.nodes(points)
                deck.cells(name, rows)
                deck.material()
                deck.model += ["*SHELL SECTION, ELSET=E, MATERIAL=M", f"{THICK / deck.length:.9e}, 5"]
                plate = Body()
                plate.add(mass, [SIZE[0] / 2, SIZE[1] / 2, 0.0], block(mass, SIZE[0], SIZE[1], THICK))
                found.append((f"{name}-{units}.inp", deck.text(), plate))
    found += lines()
    return found


def attach(deck, number, ends, body):
    """A hub with a mass at the end face, by one of the connections; or none."""
    if number == 0:
        return
    place = np.array([SIZE[0] + 0.01, SIZE[1] / 2, SIZE[2] / 2])
    deck.nodes([place], first=900)
    words = [int(n) for n in ends]
    if number == 1:
        deck.card("RBE2", 50, 900, 123456, *words)
    elif number == 2:
        deck.card("RBE3", 50, "", 900, 123456, 1.0, 123, *words)
    else:
        led = [word for node in words[:3] for word in (node, 123)]
        deck.card("RBE1", 50, 900, 123456, *[""] * 5, "UM", *led, "", "", words[3], 123)
    mass, J = 0.05, np.diag([4e-6, 3e-6, 2e-6])
    unit = deck.weight(1.0) / (deck.mass * deck.length**2)
    deck.card("CONM2", 60, 900, "", deck.weight(mass / deck.mass), "", "", "", "",
              float(J[0, 0] * unit), 0.0, float(J[1, 1] * unit), 0.0, 0.0, float(J[2, 2] * unit))  # fmt: skip
    body.add(mass, place, J)


def lines():
    """Beams along x by numbers, by shapes, with offsets; rods of a tetrahedron."""
    found = []
    points, rows = line()
    L = SIZE[0]
    b, h = 0.006, 0.009
    for units in UNITS:
        for name in ("PBAR", "PBARL", "PBEAM", "PBEAML", "offset"):
            deck = Nastran(units, "small" if name in ("PBAR", "PBEAML") else "free", 0)
            u = deck.length
            deck.nodes(points)
            card = "CBEAM" if "BEAM" in name else "CBAR"
            arm = 0.004
            for e, (i, j) in enumerate(rows):
                words = [e + 1, 2, int(i) + 1, int(j) + 1, 0.0, 1.0, 0.0]
                if name == "offset":
                    words += ["", "", "", 0.0, arm / u, 0.0, 0.0, arm / u, 0.0]
                deck.card(card, *words)
            A, Iz, Iy = b * h, b * h**3 / 12, h * b**3 / 12
            if name == "PBAR":
                deck.card("PBAR", 2, 1, A / u**2, Iz / u**4, Iy / u**4, (Iy + Iz) / u**4)
            elif name == "PBEAM":
                deck.card("PBEAM", 2, 1, A / u**2, Iz / u**4, Iy / u**4, "", (Iy + Iz) / u**4)
            else:
                prop = "PBEAML" if name == "PBEAML" else "PBARL"
                deck.card(prop, 2, 1, "", "BAR", "", "", "", "", b / u, h / u)
            deck.material()
            body = Body()
            mass = RHO * A * L
            body.add(mass, [L / 2, arm if name == "offset" else 0.0, 0.0], None)
            found.append((f"{name}-{units}.bdf", deck.text(), body))
        for kind in ("B31", "B33"):
            deck = Abaqus(units)
            deck.nodes(points)
            deck.cells(kind, rows)
            deck.material()
            u = deck.length
            deck.model += [
                "*BEAM SECTION, ELSET=E, MATERIAL=M, SECTION=RECT",
                f"{h / u:.9e}, {b / u:.9e}",
                "0., 1., 0.",
            ]
            body = Body()
            body.add(RHO * b * h * L, [L / 2, 0.0, 0.0], None)
            found.append((f"{kind}-{units}.inp", deck.text(), body))
        X, rods = tetrahedra_of_rods()
        body = Body()
        for i, j in rods:
            m = RHO * AREA * np.linalg.norm(X[i] - X[j])
            middle, d = (X[i] + X[j]) / 2, X[j] - X[i]
            body.add(m, middle, m / 12 * (d @ d * np.eye(3) - np.outer(d, d)))
        for name in ("CROD", "CONROD"):
            deck = Nastran(units, "free", 0)
            deck.nodes(X)
            for e, (i, j) in enumerate(rods):
                more = (int(i) + 1, int(j) + 1)
                deck.card(name, e + 1, *((2, *more) if name == "CROD" else (*more, 1, AREA / deck.length**2)))
            if name == "CROD":
                deck.card("PROD", 2, 1, AREA / deck.length**2)
            deck.material()
            found.append((f"{name}-{units}.bdf", deck.text(), body))
        deck = Abaqus(units)
        deck.nodes(X)
        deck.cells("T3D2", rods)
        deck.material()
        deck.model += ["*SOLID SECTION, ELSET=E, MATERIAL=M", f"{AREA / deck.length**2:.9e}"]
        found.append((f"T3D2-{units}.inp", deck.text(), body))
    return found
