"""Recipe of a reduction, checked and in SI units."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.expressions import Expression
from flexmbs.fe.materials import Material
from flexmbs.fe.unit_systems import UnitSystem

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class InterfaceSpec:
    """An interface as the recipe has it: a set, or a node number of the mesh file."""

    name: str
    set: str = ""
    node: int | None = None
    tie: str = "rbe2"
    dofs: tuple[int, ...] | None = None
    position: Floats | None = None
    rotation: Floats | None = None
    where: str = ""


@dataclass(frozen=True)
class TieSpec:
    """Nodes of one set that follow the faces of another, as far as they are `within` [m]."""

    name: str
    nodes: str
    faces: str
    within: float | None = None


@dataclass(frozen=True)
class PointMassSpec:
    """A mass on a node or at an interface; inertia (3, 3) about its place."""

    mass: float
    inertia: Floats
    node: int | None = None
    interface: str = ""


@dataclass(frozen=True)
class LoadSpec:
    """A load whose static response joins the basis: the resultant of forces on a set, or those of inertia.

    pressure : [Pa] against the outward normal of the faces of `set`, on shells against their top
    acceleration, angular_acceleration, angular_velocity : (3,) of the body, the latter two about its origin
    temperature : its change [K], of the cells of `set` or of all
    """

    name: str
    set: str = ""
    node: int | None = None
    force: Floats | None = None
    acceleration: Floats | None = None
    angular_acceleration: Floats | None = None
    angular_velocity: Floats | None = None
    temperature: float | None = None
    pressure: float | None = None


@dataclass(frozen=True)
class Given:
    """Modes given by the user: expressions of x, y, z, or nodal values."""

    shapes: tuple[tuple[Expression, ...], ...] = ()
    values: Floats | None = None
    stiffness: Floats | None = None
    damping: Floats | None = None


@dataclass(frozen=True)
class Recipe:
    """Everything `reduce` needs, in SI units. `mesh` is a path, or the table of a shape in metres.

    units : of mesh and matrices, as far as it is said;  partial : some of young, poisson and density alone
    ignore : cards of a deck that are left out on purpose;  supports : what becomes of those that a deck holds
    """

    mesh: Path | dict[str, Any] | None = None
    matrices: tuple[Path, Path, Path] | None = None
    materials: dict[str, Material] = field(default_factory=dict)
    method: str = "craig-bampton"
    modes: int | None = None
    fmax: float | None = None
    tol: float | None = None
    frame: str = "mean-axis"
    mass: str = "consistent"
    stress: str = "nodes"
    geometric_stiffness: bool = True
    merge_tol: float | None = None
    solver: str = "auto"
    units: UnitSystem | None = None
    partial: dict[str, float] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    supports: str = "drop"
    point_masses: tuple[PointMassSpec, ...] = ()
    interfaces: tuple[InterfaceSpec, ...] = ()
    ties: tuple[TieSpec, ...] = ()
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    fix: dict[str, tuple[int, ...]] = field(default_factory=dict)
    loads: tuple[LoadSpec, ...] = ()
    preload: tuple[LoadSpec, ...] = ()
    given: Given | None = None
    fix_where: dict[str, str] = field(default_factory=dict)
    mesh_where: dict[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    name: str = "recipe"
    text: str = ""
