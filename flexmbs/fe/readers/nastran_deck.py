"""Nastran entries beside the mesh: materials and properties of solids, and what has no effect on the body."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from flexmbs.fe.deck import Deck, DeckMaterial, count
from flexmbs.fe.readers.elasticity import by_constants
from flexmbs.fe.readers.nastran_axes import Systems
from flexmbs.fe.readers.nastran_cards import Entry
from flexmbs.fe.readers.source import Damaged, Floats

#: loads, results, solution control, optimisation, aeroelasticity, heat; and properties, which act where used
NO_EFFECT = re.compile(
    r"(FORCE[12]?|MOMENT[12]?|PLOAD[124]?|PLOADB3|PLOADX1|GRAV|ACCEL1?|R?FORCE|LOAD|SLOAD|DEFORM|SPCD|"
    r"TEMP(D|RB|P\d|BC|N1)?|DAREA|DLOAD|[RT]LOAD[12]|LSEQ|LOADCYN|DELAY|DPHASE|"
    r"SPCOFF1?|SUPORT1?|BNDFIX1?|BNDFREE1?|[ABCQR]SET1?|OMIT1?|USET1?|SET[123]|SEQGP|"
    r"EIG[A-Z]+|TSTEP\w*|FREQ\d?|NLPARM|NLPCI|NLSTEP|NLADAPT|ITER|PARAM|MDLPRM|DTI|ECHO\w*|"
    r"TABLE\w+|TABDMP1|TABRND\w|TABRNDG|RANDPS|RANDT1|TICD?|RCROSS|ENDDYNA|PLOTEL\d?|EPOINT|SPOINT|"
    r"D(ESVAR|RESP[123]|CONSTR|CONADD|LINK|OPTPRM|SCREEN|EQATN|VGRID|VBSHAP|VSHAP|TABLE|"
    r"V[CMP]REL[12]|VSET|VMRGT)|"
    r"AERO\w?|[CP]AERO\d|SPLINE\d|AE\w+|TRIM2?|FLFACT|FLUTTER|MKAERO\d|GUST|DIVERG|CSSCHD|DMI|DMIJ\w?|"
    r"CHBDY\w|PHBDY|P?CONV\w?|RADM|RADBC|RADSET|RADLST|VIEW\w*|Q(HBDY|BDY\d|VOL|VECT)|MAT[45]|"
    r"ACMODL|BCBODY|BCPROP\w*|GEOMCHECK|DISPLAC\w*|DEBUG|"
    r"PBCOMP|PBEND|PSHEAR|PELAST|PBUSH[12]D|PBUSHT|PGAP|PMASS|PDAMP\w?|"
    r"PVISC|PFAST|PWELD|PLPLANE|MAT(3|9|10|11)|MATHE|MATHP|MATORT|CREEP|MATS1|TABLES1)$"
)
#: shear stiffness across a plate of what is rigid in shear, over its others; larger ones are taken as this
RIGID = 1e3
MATERIALS = re.compile(r"MAT(1|2|3|8|9|11)$")


def mat9(entry: Entry) -> Floats:
    """Upper triangle of the elasticity matrix by rows; stresses stand in our order."""
    C = np.zeros((6, 6))
    C[np.triu_indices(6)] = [entry.real(k) for k in range(1, 22)]
    return np.asarray(C + np.triu(C, 1).T)


def mat11(entry: Entry) -> Floats:
    """E1 E2 E3 nu12 nu13 nu23 G12 G13 G23."""
    values = np.array([entry.real(k) for k in range(1, 10)])
    return by_constants(values, f"MAT11 {entry.text(0)}", entry.line)


def plate(Q: Floats, G_xz: float | None, G_yz: float | None) -> Floats:
    """Elasticity of a plate (xx yy xy) in layers: nothing couples to its normal; without G rigid in shear.

    A G beyond that (1e15 psi in a verification deck) is the same body, and drowns the rest in rounding.
    """
    C = np.zeros((6, 6))
    C[np.ix_([0, 1, 3], [0, 1, 3])] = Q
    C[2, 2] = max(Q[0, 0], Q[1, 1])
    rigid = RIGID * float(C[2, 2])
    C[5, 5], C[4, 4] = (min(G or rigid, rigid) for G in (G_xz, G_yz))
    return C


def mat2(entry: Entry) -> Floats:
    """G11 G12 G13 G22 G23 G33."""
    Q = np.zeros((3, 3))
    Q[np.triu_indices(3)] = [entry.real(k) for k in range(1, 7)]
    Q = Q + np.triu(Q, 1).T
    return plate(Q, Q[2, 2], Q[2, 2])


def mat8(entry: Entry) -> Floats:
    """E1 E2 nu12 G12 G1z G2z."""
    E1, E2, nu, G = (entry.real(k) for k in range(1, 5))
    if min(E1, E2, G) <= 0.0 or not nu**2 * E2 < E1:
        raise Damaged(f"MAT8 {entry.text(0)}: moduli must be positive, and nu12^2 below E1/E2", entry.line)
    Q = np.array([[E1, nu * E2, 0.0], [nu * E2, E2, 0.0], [0.0, 0.0, 0.0]]) / (1.0 - nu**2 * E2 / E1)
    Q[2, 2] = G
    return plate(Q, entry.number(5), entry.number(6))


#: (elasticity, field of the density) of materials that have directions
DIRECTED = {"MAT2": (mat2, 7), "MAT8": (mat8, 7), "MAT9": (mat9, 22), "MAT11": (mat11, 10)}
PLATES = ("MAT2", "MAT8")


def axes_of(systems: Systems, system: int, X: Floats) -> Floats:
    """Axes (n, 3, 3) of a coordinate system at places."""
    return np.array([systems.axes_at_point(system, x) for x in X])


@dataclass
class Content:
    """What entries beside the mesh say; `ignore` are names of entries that are left out on purpose."""

    path: Path
    ignore: frozenset[str] = frozenset()
    systems: Systems = field(default_factory=Systems)
    deck: Deck = field(default_factory=lambda: Deck("Nastran"))
    materials: dict[int, Entry] = field(default_factory=dict)
    solids: dict[int, Entry] = field(default_factory=dict)
    wtmass: float = 1.0
    index: dict[int, int] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """An entry that is no part of the mesh."""
        if MATERIALS.match(entry.name):
            self.materials[entry.whole(0)] = entry
        elif entry.name == "PSOLID":
            self.solids[entry.whole(0)] = entry
        elif entry.name == "PARAM" and entry.text(0).upper() == "WTMASS":
            self.wtmass = entry.real(1)
        elif entry.name == "PARAM":
            pass
        elif NO_EFFECT.match(entry.name):
            if not entry.name.startswith("P") or entry.name.startswith("PLOAD"):
                count(self.deck.no_effect, entry.name)
        else:
            count(self.deck.not_understood, entry.name)

    def sections(self, parts: dict[int, list[Any]]) -> Deck:
        """The deck with the materials of its solids; `parts`: property -> element numbers."""
        for pid, members in sorted(parts.items()):
            prop = self.solids.get(pid)
            if prop is None:
                continue
            if prop.text(6).upper() == "PFLUID":
                count(self.deck.not_understood, "PSOLID with PFLUID")
                continue
            mid = prop.whole(1)
            if mid in self.materials and self.materials[mid].name in PLATES:
                count(self.deck.not_understood, f"PSOLID with {self.materials[mid].name}")
            number = self.material(mid, prop)
            self.deck.sections.append((members, number))
            system = prop.whole(2, 0)
            if self.deck.materials[number].C_mat is not None and system:
                if system < 0:
                    count(self.deck.not_understood, "PSOLID with axes of the element")
                else:
                    self.deck.axes[len(self.deck.sections) - 1] = partial(axes_of, self.systems, system)
        return self.deck

    def material(self, mid: int, prop: Entry) -> int:
        """Index of a material in the deck, read when it is first used."""
        if mid not in self.index:
            self.index[mid] = len(self.deck.materials)
            self.deck.materials.append(self._material(mid, prop))
        return self.index[mid]

    def _material(self, mid: int, prop: Entry) -> DeckMaterial:
        if mid not in self.materials:
            return DeckMaterial(f"mat_{mid}", f"{self.path}:{prop.line}")
        entry = self.materials[mid]
        where = f"{self.path}:{entry.line}"
        rho = entry.number(4)
        if entry.name in DIRECTED:
            make, at = DIRECTED[entry.name]
            C_mat, rho = make(entry), entry.number(at)
            return DeckMaterial(
                f"mat_{mid}", where, rho=None if rho is None else rho * self.wtmass, C_mat=C_mat
            )
        if entry.name != "MAT1":
            count(self.deck.not_understood, entry.name)
            return DeckMaterial(f"{entry.name.lower()}_{mid}", where)
        E, G, nu = entry.number(1), entry.number(2), entry.number(3)
        if E is None and G is not None and nu is not None:
            E = 2.0 * (1.0 + nu) * G
        elif nu is None and E is not None and G:
            nu = E / (2.0 * G) - 1.0
        rho = None if rho is None else rho * self.wtmass
        return DeckMaterial(f"mat_{mid}", where, E, nu, rho)
