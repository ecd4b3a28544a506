"""Abaqus and CalculiX keywords beside the mesh: materials, and what has no effect on a free body."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from flexmbs.errors import Diagnostic
from flexmbs.fe.deck import Deck, DeckMaterial, count
from flexmbs.fe.readers.abaqus_cards import Card, data_lines, flat_numbers, real
from flexmbs.fe.readers.elasticity import by_constants
from flexmbs.fe.readers.source import Damaged, Floats

#: keywords that the mesh readers know, or that only carry others
STRUCTURE = (
    "HEADING", "PREPRINT", "PART", "END PART", "ASSEMBLY", "END ASSEMBLY", "INSTANCE", "END INSTANCE",
    "SYSTEM", "NODE", "ELEMENT", "NSET", "ELSET", "SURFACE", "ORIENTATION", "TRANSFORM", "DISTRIBUTION",
    "DISTRIBUTION TABLE", "END STEP", "GAP", "NODAL THICKNESS", "RIGID SURFACE",
)  # fmt: skip
#: model data without effect on the linear motion of a free body; CalculiX takes keywords without blanks
NO_EFFECT = {
    name.replace(" ", "")
    for name in (
        "AMPLITUDE", "INITIAL CONDITIONS", "PHYSICAL CONSTANTS", "RESTART", "TIME POINTS", "FILTER",
        "PLASTIC", "EXPANSION", "CONDUCTIVITY", "SPECIFIC HEAT", "LATENT HEAT", "DAMPING", "CREEP",
        "CYCLIC HARDENING", "DEFORMATION PLASTICITY", "DAMAGE INITIATION", "DAMAGE EVOLUTION", "DEPVAR",
        "USER OUTPUT VARIABLES", "INELASTIC HEAT FRACTION", "HEAT GENERATION", "FLUID CONSTANTS",
        "TENSILE FAILURE", "SURFACE INTERACTION", "SURFACE BEHAVIOR", "FRICTION", "GAP CONDUCTANCE",
        "GAP HEAT GENERATION", "CONTACT DAMPING", "CONTACT CONTROLS", "CONTACT INITIALIZATION DATA",
        "CONTACT PROPERTY ASSIGNMENT", "CONTACT FORMULATION", "CONTACT INCLUSIONS", "CONTACT EXCLUSIONS",
        "CONTACT INITIALIZATION ASSIGNMENT", "SURFACE SMOOTHING", "SURFACE PROPERTY ASSIGNMENT",
        "IMPERFECTION", "ANNEAL TEMPERATURE", "RATE DEPENDENT", "DRUCKER PRAGER",
        "DRUCKER PRAGER HARDENING", "MOHR COULOMB", "MOHR COULOMB HARDENING", "BULK VISCOSITY",
        "VALUES AT INFINITY", "PREDEFINED FIELD", "COUPLED TEMPERATURE-DISPLACEMENT", "EMISSIVITY",
        "NODE PRINT", "NODE FILE", "EL PRINT", "EL FILE", "CONTACT FILE", "OUTPUT", "NODE OUTPUT",
        "ELEMENT OUTPUT", "CONSTRAINT", "DESIGN VARIABLES", "DESIGN RESPONSE", "OBJECTIVE", "SECTION PRINT",
        "SECTION CONTROLS", "CLOAD", "DLOAD", "DSLOAD", "DFLUX", "CFLUX", "FILM", "RADIATE", "TEMPERATURE",
        "MAGNETIC PERMEABILITY", "ELECTRICAL CONDUCTIVITY", "VIEWFACTOR", "ACOUSTIC MEDIUM",
    )
}  # fmt: skip
ISOTROPIC = ("ISO", "ISOTROPIC")
#: rows and columns (xx yy zz xy yz zx) of the constants of TYPE=ORTHO and TYPE=ANISO, in their order
ORTHO = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (3, 3), (5, 5), (4, 4))
ANISO = (
    (0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3), (0, 5), (1, 5), (2, 5),
    (3, 5), (5, 5), (0, 4), (1, 4), (2, 4), (3, 4), (5, 4), (4, 4),
)  # fmt: skip


@dataclass
class RawMaterial:
    """Cards of a *MATERIAL."""

    name: str
    where: str
    elastic: Card | None = None
    density: Card | None = None


@dataclass
class Content:
    """Takes the cards that are no part of the mesh."""

    path: Path
    deck: Deck = field(default_factory=lambda: Deck("Abaqus, CalculiX"))
    materials: dict[str, RawMaterial] = field(default_factory=dict)
    current: RawMaterial | None = None
    in_step: bool = False
    temperatures: set[float] = field(default_factory=set)
    notes: list[Diagnostic] = field(default_factory=list)
    index: dict[str, int] = field(default_factory=dict)

    def add(self, card: Card) -> None:
        """Note what a card says about materials, and whether it has an effect."""
        name = card.keyword
        if name == "STEP":
            self.in_step = True
        if name == "END STEP":
            self.in_step = False
        elif name == "MATERIAL":
            self.current = RawMaterial(card.need("NAME"), f"{card.path}:{card.line}")
            self.materials[self.current.name.upper()] = self.current
        elif name == "ELASTIC" and self.current:
            self.current.elastic = card
        elif name == "DENSITY" and self.current:
            self.current.density = card
        elif self.in_step or name.replace(" ", "") in NO_EFFECT:
            count(self.deck.no_effect, f"*{name}")
        elif name not in STRUCTURE:
            count(self.deck.not_understood, f"*{name}")
        if name == "INITIAL CONDITIONS" and card.options.get("TYPE", "").upper() == "TEMPERATURE":
            lines = [line for line in data_lines(card) if len(line) > 1]
            self.temperatures |= {real(line[1], card.line) for line in lines}

    def material(self, name: str, line: int) -> int:
        """Index of a material in the deck, read when it is first used."""
        key = name.upper()
        if key not in self.index:
            self.index[key] = len(self.deck.materials)
            unknown = RawMaterial(name, f"{self.path}:{line}")
            self.deck.materials.append(self._read(self.materials.get(key, unknown)))
        return self.index[key]

    def _read(self, raw: RawMaterial) -> DeckMaterial:
        rho, E, nu, C_mat = None, None, None, None
        if raw.density is not None:
            rho = float(self._at_start(raw, raw.density, 1)[0])
        if raw.elastic is not None:
            kind = raw.elastic.options.get("TYPE", "ISO").upper().replace(" ", "")
            if kind in ISOTROPIC:
                E, nu = map(float, self._at_start(raw, raw.elastic, 2))
            elif kind in ELASTICITY:
                n, make = ELASTICITY[kind]
                C_mat = make(self._at_start(raw, raw.elastic, n), raw)
            else:
                count(self.deck.not_understood, f"*ELASTIC, TYPE={kind}")
        return DeckMaterial(raw.name, raw.where, E, nu, rho, C_mat)

    def _at_start(self, raw: RawMaterial, card: Card, n: int) -> Floats:
        """The n constants at the initial temperature (0 without one); rows are longer than 8 numbers."""
        values = flat_numbers(card) if n > 2 else short_rows(card, n)
        width = n + 1 if len(values) > n and len(values) % (n + 1) == 0 else n
        if len(values) < n or len(values) % width:
            raise Damaged(f"*{card.keyword} of {raw.name} has {len(values)} numbers, not {n}", card.line)
        table = values.reshape(-1, width)
        if len(table) == 1:
            return table[0, :n]
        T = self.temperatures.pop() if len(self.temperatures) == 1 else 0.0
        self.temperatures.add(T)
        order = np.argsort(table[:, n])
        chosen = np.array([np.interp(T, table[order, n], table[order, k]) for k in range(n)])
        what = f"*{card.keyword} of material {raw.name} depends on temperature"
        remedy = f"that at {T:g} is taken: {', '.join(f'{x:.6g}' for x in chosen)}"
        self.notes.append(Diagnostic("deck.temperature", raw.where, what, remedy, "warn"))
        return chosen


def short_rows(card: Card, n: int) -> Floats:
    """Rows of n constants and a temperature, which may be blank; further fields are left out."""
    rows = [[word for word in line[: n + 1]] for line in data_lines(card)]
    if len(rows) == 1:
        rows = [row[:n] for row in rows]
    width = max((len(row) for row in rows), default=0)
    return np.array(
        [[real(word, card.line) for word in row + [""] * (width - len(row))] for row in rows]
    ).ravel()


def by_entries(places: tuple[tuple[int, int], ...]):  # type: ignore[no-untyped-def]
    """Elasticity matrix out of constants in the order of `places`."""

    def make(values: Floats, raw: RawMaterial) -> Floats:
        C = np.zeros((6, 6))
        for (i, j), value in zip(places, values, strict=True):
            C[i, j] = C[j, i] = value
        return C

    return make


ELASTICITY = {
    "ENGINEERINGCONSTANTS": (9, lambda values, raw: by_constants(values, f"material {raw.name}")),
    "ORTHO": (9, by_entries(ORTHO)),
    "ORTHOTROPIC": (9, by_entries(ORTHO)),
    "ANISO": (21, by_entries(ANISO)),
    "ANISOTROPIC": (21, by_entries(ANISO)),
}
