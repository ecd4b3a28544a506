"""What a deck of another program says besides its mesh: materials, and the cards without effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostics
from flexmbs.fe.profiles import Profile
from flexmbs.fe.shells.sections import SHEAR_FACTOR
from flexmbs.fe.unit_systems import UnitSystem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class DeckMaterial:
    """A material in the units of its deck; what the deck does not say is None.

    where : place of its card;  C_mat : (6, 6) in material axes, of materials that are not isotropic
    """

    name: str
    where: str
    E: float | None = None
    nu: float | None = None
    rho: float | None = None
    C_mat: Floats | None = None

    @property
    def G(self) -> float | None:
        """Shear modulus of an isotropic material."""
        return None if self.E is None or self.nu is None else self.E / (2.0 * (1.0 + self.nu))

    @property
    def young(self) -> float | None:
        """Young's modulus, or one of its size."""
        return self.E if self.C_mat is None else float(np.max(np.diag(self.C_mat)[:3]))


@dataclass(frozen=True)
class DeckShell:
    """As `ShellSection`; layers from the bottom up: thickness, index of the material, angle [rad]."""

    thickness: float
    offset: float = 0.0
    layers: tuple[tuple[float, int, float], ...] = ()
    bending: float = 1.0
    shear: float = SHEAR_FACTOR
    extra: float = 0.0
    stiffness: tuple[float, ...] = ()


@dataclass(frozen=True)
class DeckBeam:
    """Section of beams in the axes of their cells, and their theory."""

    profile: Profile
    theory: str


@dataclass
class Structure:
    """Shells, or beams, of a deck, one entry each.

    number : of the element;  section : index into the sections of the deck
    axis (n, 3) : of shells the direction that angles of layers count from, of beams one in their x-y plane,
        zero where any will do
    offset (n, 2, 3), released (n, 12) : of beams, as in `BeamData`
    """

    number: Ints
    section: Ints
    axis: Floats
    offset: Floats = field(default_factory=lambda: np.zeros((0, 2, 3)))
    released: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 12), dtype=bool))

    def rows(self, number: Ints) -> Ints:
        """Entries of elements, all of which are there."""
        order = np.argsort(self.number, kind="stable")
        return order[np.searchsorted(self.number, number, sorter=order)]


@dataclass(frozen=True)
class DeckMass:
    """A mass beside node `node` with its inertia (3, 3) about itself; `offset` (3,) from the node."""

    node: int
    mass: float
    inertia: Floats
    offset: Floats
    card: str


@dataclass(frozen=True)
class DeckExtra:
    """Mass beside that of the material on elements by their numbers or ranges `parts`.

    by : "size" per length of beams and area of shells, "volume", or "mass", in proportion to the material
    total : `value` is the mass of all of them together
    """

    parts: list[Any]
    by: str
    total: bool
    value: float
    card: str


@dataclass(frozen=True)
class DeckSpring:
    """Energy 1/2 stiffness (sum of vector . motion)^2 over `terms`: node, (6,) translation and rotation.

    turning : the stiffness is a moment per angle, and the vectors have no arms
    """

    stiffness: float
    terms: tuple[tuple[int, Floats], ...]
    card: str
    turning: bool = False


@dataclass(frozen=True)
class Rigid:
    """Nodes that follow node `node` as one rigid body, in the directions `dofs` of their own axes."""

    node: int
    nodes: Ints
    dofs: tuple[int, ...]
    card: str
    axes: dict[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Mean:
    """Node `node` follows the weighted mean motion of other nodes in the directions `dofs`.

    spins (n, 3) : which rotations of the nodes count as well, by the square of the mean distance
    """

    node: int
    nodes: Ints
    weights: Floats
    dofs: tuple[int, ...]
    card: str
    spins: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Equation:
    """sum of vector . motion = 0 over `terms`: node, (6,); the first one is dependent."""

    terms: tuple[tuple[int, Floats], ...]
    card: str


@dataclass(frozen=True)
class Support:
    """Nodes that the deck holds; `dofs` in the axes of the nodes, `local` where these are not the basic."""

    name: str
    nodes: Ints
    dofs: tuple[int, ...]
    local: bool = False


@dataclass
class Deck:
    """Content of a deck beside nodes, cells and sets, in its own units.

    sections : parts (element numbers, or ranges) and the material of these elements
    shells, beams : sections of elements of surfaces and lines that carry;  shell_cells, beam_cells : these
    axes : section -> axes (n, 3, 3) of its material at places (n, 3), columns in the axes of the deck
    material_of : cell type -> index into `materials` of each cell, -1 for none; made out of `sections`
    no_effect : card -> number of those that do not change the body
    not_understood : card -> number of those that do, or may
    ignored : card -> number of those that were left out on purpose
    masses, springs, links, supports : by node numbers, also of nodes without a cell
    extras : mass beside that of the material
    """

    program: str
    materials: list[DeckMaterial] = field(default_factory=list)
    sections: list[tuple[list[Any], int]] = field(default_factory=list)
    axes: dict[int, Callable[[Floats], Floats]] = field(default_factory=dict)
    shells: list[DeckShell] = field(default_factory=list)
    beams: list[DeckBeam] = field(default_factory=list)
    shell_cells: Structure | None = None
    beam_cells: Structure | None = None
    material_of: dict[str, Ints] = field(default_factory=dict)
    no_effect: dict[str, int] = field(default_factory=dict)
    not_understood: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    masses: list[DeckMass] = field(default_factory=list)
    extras: list[DeckExtra] = field(default_factory=list)
    springs: list[DeckSpring] = field(default_factory=list)
    links: list[Rigid | Mean | Equation] = field(default_factory=list)
    supports: list[Support] = field(default_factory=list)

    def in_si(self, units: UnitSystem) -> Deck:
        """Masses, springs and links in SI; materials stay as they are."""
        return replace(
            self,
            masses=[
                replace(
                    item,
                    mass=item.mass * units.mass,
                    inertia=item.inertia * units.inertia,
                    offset=item.offset * units.length,
                )
                for item in self.masses
            ],
            springs=[spring_in_si(item, units) for item in self.springs],
            links=[
                replace(item, terms=with_arms(item.terms, units.length))
                if isinstance(item, Equation)
                else item
                for item in self.links
            ],
        )

    def groups(self) -> list[Ints]:
        """Numbers of the nodes of every mass, spring and link."""
        found = [np.array([item.node]) for item in self.masses]
        found += [np.array([node for node, _ in item.terms]) for item in self.springs]
        for item in self.links:
            nodes = (
                [node for node, _ in item.terms] if isinstance(item, Equation) else [item.node, *item.nodes]
            )
            found.append(np.array(nodes, dtype=np.int64))
        return found

    def node_numbers(self) -> Ints:
        """Sorted numbers of all nodes that masses, springs and links name."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *self.groups()]))


def spring_in_si(item: DeckSpring, units: UnitSystem) -> DeckSpring:
    """Forces per length, or moments per angle."""
    if item.turning:
        return replace(item, stiffness=item.stiffness * units.force * units.length)
    terms = with_arms(item.terms, units.length)
    return replace(item, stiffness=item.stiffness * units.stiffness, terms=terms)


def with_arms(terms: tuple[tuple[int, Floats], ...], length: float) -> tuple[tuple[int, Floats], ...]:
    """Vectors whose rotations are arms, in metres."""
    return tuple((node, vector * np.repeat([1.0, length], 3)) for node, vector in terms)


def count(table: dict[str, int], card: str, number: int = 1) -> None:
    """One more of a card."""
    table[card] = table.get(card, 0) + number


def refuse_unknown(deck: Deck, where: str, found: Diagnostics) -> None:
    """An error for every card that would change the body and cannot be read. Writes: found."""
    for card, number in sorted(deck.not_understood.items()):
        what = f"{number} {card} would change the body and cannot be read"
        remedy = f'--ignore "{card.lstrip("*").partition(",")[0]}" leaves them out'
        found.error("deck.not_understood", where, what, remedy)


def counted(table: dict[str, int]) -> str:
    """`12 FORCE, 1 GRAV`"""
    return ", ".join(f"{number} {card}" for card, number in sorted(table.items()))
