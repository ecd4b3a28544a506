"""Recipe of a reduction, checked and in SI units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.expressions import Expression
from flexmbs.fe.materials import Material
from flexmbs.fe.unit_systems import UnitSystem
from flexmbs.modal.interfaces import TIES

Floats = NDArray[np.float64]

METHODS = ("craig-bampton", "free-interface", "given")
MASS_FORMS = ("consistent", "lumped")
STRESSES = ("nodes", "cells", "none")
SUPPORTS = ("drop", "interfaces", "fix")
SOLVERS = ("auto", "superlu", "cholmod", "pardiso")
KEYS = (
    "mesh", "material", "materials", "young", "poisson", "density", "method", "modes", "fmax", "tol", "frame",
    "mass", "stress", "geometric_stiffness", "merge_tol", "solver", "unit_system", "point_masses",
    "interfaces", "sets", "fix", "given", "parameters", "loads", "matrices", "title", "format_version",
    "ignore", "supports",
)  # fmt: skip


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
class PointMassSpec:
    """A mass on a node or at an interface; inertia (3, 3) about its place."""

    mass: float
    inertia: Floats
    node: int | None = None
    interface: str = ""


@dataclass(frozen=True)
class LoadSpec:
    """A load whose static response joins the basis: the resultant of forces on a set, or those of inertia.

    acceleration, angular_acceleration, angular_velocity : (3,) of the body, the latter two about its origin
    """

    name: str
    set: str = ""
    node: int | None = None
    force: Floats | None = None
    acceleration: Floats | None = None
    angular_acceleration: Floats | None = None
    angular_velocity: Floats | None = None


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
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    fix: dict[str, tuple[int, ...]] = field(default_factory=dict)
    loads: tuple[LoadSpec, ...] = ()
    given: Given | None = None
    fix_where: dict[str, str] = field(default_factory=dict)
    mesh_where: dict[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    name: str = "recipe"
    text: str = ""


def refuse_case(data: Mapping[str, Any], name: str) -> None:
    """A case in place of a recipe is one mistake, not many unknown keys."""
    if {"bodies", "joints"} & set(data) and not {"mesh", "matrices"} & set(data):
        what, remedy = "is a case, no recipe of a body", "flexmbs run, or the recipe that it names"
        raise InputError(Diagnostic("recipe.case", name, what, remedy))


def merge(data: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the recipe overridden by options; interfaces of the options replace all of the recipe's."""
    merged = {key: plain(value) for key, value in {**data, **present(options)}.items()}
    if any(options.get(key) is not None for key in ("modes", "fmax", "tol")):
        for key in ("modes", "fmax", "tol"):
            if options.get(key) is None and not (key == "fmax" and options.get("tol") is not None):
                merged.pop(key, None)
    loose = ("young", "poisson", "density")
    if any(options.get(key) is not None for key in loose) and options.get("material") is None:
        merged.pop("material", None)
    elif options.get("material") is not None:
        merged = {
            key: item for key, item in merged.items() if key not in loose or options.get(key) is not None
        }
    if isinstance(merged.get("interfaces"), str):
        merged["interfaces"] = [merged["interfaces"]]
    if isinstance(merged.get("interfaces"), Sequence):
        merged["interfaces"] = interface_table(merged["interfaces"])
    return merged


def present(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def plain(value: Any) -> Any:
    """What TOML could have said: lists for arrays, numbers for scalars of NumPy, texts for paths."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def interface_table(items: Sequence[Any]) -> dict[str, Any]:
    """`["bore", "pin:rbe3"]` -> the table of a recipe."""
    table: dict[str, Any] = {}
    for item in items:
        if isinstance(item, Mapping):
            table[str(item.get("name", item.get("set", "")))] = {k: v for k, v in item.items() if k != "name"}
        else:
            name, _, tie = str(item).rpartition(":")
            if not name or tie.lower() not in TIES:
                name, tie = str(item), "rbe2"
            if name in table:
                what = "is given twice"
                raise InputError(Diagnostic("recipe.interface", f"interfaces.{name}", what, "name it once"))
            table[name] = {"set": name, "tie": tie.lower()}
    return table
