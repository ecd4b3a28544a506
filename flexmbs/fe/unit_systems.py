"""Consistent sets of units: what the numbers of a deck are in SI, and which set its materials speak for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

INCH, POUND, GRAVITY = 0.0254, 0.45359237, 9.80665
FOOT = 12 * INCH

#: Young's modulus [Pa], density [kg/m^3] and speed of sound [m/s] of the solids that structures are made of
STRUCTURAL = ((1e9, 1.3e12), (400.0, 23000.0), (800.0, 20000.0))
#: the same of all that is solid: foams and rubber on one side, diamond on the other
ANY_SOLID = ((1e4, 2e12), (1.0, 30000.0), (1.0, 25000.0))


@dataclass(frozen=True)
class UnitSystem:
    """One unit of length [m], mass [kg] and time [s]; forces and stresses follow."""

    name: str
    length: float
    mass: float
    time: float = 1.0

    @property
    def force(self) -> float:
        """[N]"""
        return self.mass * self.length / self.time**2

    @property
    def stress(self) -> float:
        """[Pa]"""
        return self.mass / (self.length * self.time**2)

    @property
    def density(self) -> float:
        """[kg/m^3]"""
        return self.mass / self.length**3

    @property
    def inertia(self) -> float:
        """[kg m^2]"""
        return self.mass * self.length**2

    @property
    def stiffness(self) -> float:
        """[N/m]"""
        return self.mass / self.time**2


#: SI and what decks use instead; `m` and `mm` are the short names of the first two
UNIT_SYSTEMS = {
    item.name: item
    for item in (
        UnitSystem("m-kg-s", 1.0, 1.0),
        UnitSystem("mm-t-s", 1e-3, 1e3),
        UnitSystem("mm-kg-ms", 1e-3, 1.0, 1e-3),
        UnitSystem("mm-kg-s", 1e-3, 1.0),
        UnitSystem("mm-g-ms", 1e-3, 1e-3, 1e-3),
        UnitSystem("m-t-s", 1.0, 1e3),
        UnitSystem("cm-g-s", 1e-2, 1e-3),
        UnitSystem("um-kg-s", 1e-6, 1.0),
        UnitSystem("in-lbf-s", INCH, POUND * GRAVITY / INCH),
        UnitSystem("ft-lbf-s", FOOT, POUND * GRAVITY / FOOT),
    )
}
SHORT = {"m": "m-kg-s", "mm": "mm-t-s"}
UNIT_NAMES = (*SHORT, *UNIT_SYSTEMS)
SI = UNIT_SYSTEMS["m-kg-s"]


def unit_system(name: str) -> UnitSystem:
    """The set of a name of `UNIT_NAMES`."""
    return UNIT_SYSTEMS[SHORT.get(name, name)]


def fitting(pairs: Sequence[tuple[float, float]]) -> list[UnitSystem]:
    """The sets in which pairs of Young's modulus and density are solids, one of them a structural one."""
    return [
        system
        for system in UNIT_SYSTEMS.values()
        if all(_within(pair, system, ANY_SOLID) for pair in pairs)
        and any(_within(pair, system, STRUCTURAL) for pair in pairs)
    ]


def _within(pair: tuple[float, float], system: UnitSystem, bounds: tuple[tuple[float, float], ...]) -> bool:
    E, rho = pair[0] * system.stress, pair[1] * system.density
    values = (E, rho, (E / rho) ** 0.5 if E > 0 and rho > 0 else 0.0)
    return all(low <= value <= high for value, (low, high) in zip(values, bounds, strict=True))
