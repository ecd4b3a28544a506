"""What a deck of another program says besides its mesh: materials, and the cards without effect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    def young(self) -> float | None:
        """Young's modulus, or one of its size."""
        return self.E if self.C_mat is None else float(np.max(np.diag(self.C_mat)))


@dataclass
class Deck:
    """Content of a deck beside nodes, cells and sets, in its own units.

    sections : parts (element numbers, or ranges) and the material of these elements
    material_of : cell type -> index into `materials` of each cell, -1 for none; made out of `sections`
    no_effect : card -> number of those that do not change the body
    not_understood : card -> number of those that do, or may
    ignored : card -> number of those that were left out on purpose
    """

    program: str
    materials: list[DeckMaterial] = field(default_factory=list)
    sections: list[tuple[list[Any], int]] = field(default_factory=list)
    material_of: dict[str, Ints] = field(default_factory=dict)
    no_effect: dict[str, int] = field(default_factory=dict)
    not_understood: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)


def count(table: dict[str, int], card: str, number: int = 1) -> None:
    """One more of a card."""
    table[card] = table.get(card, 0) + number


def counted(table: dict[str, int]) -> str:
    """`12 FORCE, 1 GRAV`"""
    return ", ".join(f"{number} {card}" for card, number in sorted(table.items()))
