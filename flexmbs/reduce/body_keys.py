"""Keys of a recipe that describe the body: mesh, matrices, materials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import units
from flexmbs.errors import InputError
from flexmbs.fe.materials import Material, material
from flexmbs.fe.shapes.parametric import SHAPES
from flexmbs.reduce.values import Key, Values
from flexmbs.toml_file import read_toml

Floats = NDArray[np.float64]


class BodyReader:
    """Reads what the body is made of."""

    def __init__(self, values: Values, data: dict[str, Any], folder: Path) -> None:
        self.v, self.data, self.folder = values, data, folder
        self.partial: dict[str, float] = {}  # of a material, for a deck that has the rest
        self.files: list[Path] = []  # read on the way; part of what the result depends on

    def optional(self, name: str, read: Any) -> Any:
        return read((name,), self.data[name]) if self.data.get(name) is not None else None

    def positive(self, key: Key, value: Any, dimension: Any) -> float:
        number = self.v.number(key, value, dimension)
        if number <= 0:
            self.v.error(key, f"must be positive, found {value}")
            return 1.0
        return number

    def path(self, key: Key, value: Any) -> Path:
        return self.folder / self.v.text(key, value)

    def mesh(self) -> Path | dict[str, Any] | None:
        value = self.data.get("mesh")
        if value is None:
            if "matrices" not in self.data:
                self.v.error(
                    (), "there is no mesh", 'give mesh = "FILE" or a table [mesh]', code="recipe.mesh"
                )
            return None
        if self.data.get("matrices") is not None:
            what, remedy = "exclude a mesh: they are the body", "give one of them"
            self.v.error(("matrices",), what, remedy, code="recipe.mesh")
        if isinstance(value, Path):
            return value
        return self.path(("mesh",), value) if isinstance(value, str) else self.shape(value)

    def shape(self, value: Any) -> dict[str, Any]:
        """[mesh] of a shape, in SI units; what a shape accepts is checked by the shape itself."""
        v = self.v
        result: dict[str, Any] = {}
        lengths = {"size": (3,), "corner": (3,), "origin": (3,), "points": (-1, 3), "nodes": (-1, 3)}
        for name, item in v.table(("mesh",), value).items():
            key: Key = ("mesh", name)
            if name == "shape":
                result[name] = v.choice(key, item, list(SHAPES))
            elif name in lengths:
                result[name] = v.lengths(key, item, lengths[name])
            elif name in ("radius", "inner_radius", "length"):
                result[name] = v.length(key, item)
            elif name == "divisions":
                is_list = isinstance(item, Sequence) and not isinstance(item, str)
                result[name] = (
                    [v.whole((*key, k), n, 1) for k, n in enumerate(item)]
                    if is_list
                    else v.whole(key, item, 1)
                )
            elif name == "y_axis":
                result[name] = v.numbers(key, item, (3,))
            elif name == "masses":
                result[name] = v.numbers(key, item, (-1,), units.MASS)
            elif name == "inertias":
                result[name] = v.numbers(key, item, (-1, 3, 3), units.INERTIA)
            elif name == "section":
                result[name] = self.section(v.table(key, item))
            else:
                result[name] = item
        if "shape" not in result:
            v.error(("mesh",), "lacks the key shape", f"choices: {', '.join(SHAPES)}", code="recipe.mesh")
        return result

    def section(self, table: dict[str, Any]) -> dict[str, Any]:
        v = self.v
        result: dict[str, Any] = {}
        dimension = {
            "A": units.AREA,
            "Iy": units.SECOND_MOMENT,
            "Iz": units.SECOND_MOMENT,
            "J": units.SECOND_MOMENT,
        }
        for name, item in table.items():
            key: Key = ("mesh", "section", name)
            if name in dimension:
                result[name] = v.number(key, item, dimension[name])
            elif name in ("rectangle", "tube"):
                result[name] = v.lengths(key, item, (2,))
            elif name == "circle":
                result[name] = v.length(key, item)
            elif name == "shear_factor" and isinstance(item, list):
                result[name] = v.numbers(key, item, (2,))
            elif name == "shear_factor":
                result[name] = v.number(key, item, None)
            else:
                result[name] = item
        return result

    def matrices(self) -> tuple[Path, Path, Path] | None:
        value = self.data.get("matrices")
        if value is None:
            return None
        if isinstance(value, Mapping):
            table = self.v.table(("matrices",), value, ("stiffness", "mass", "nodes"))
            value = [table.get(name, "") for name in ("stiffness", "mass", "nodes")]
        if len(value) != 3 or not all(value):
            self.v.error(("matrices",), "needs stiffness, mass and nodes", code="recipe.mesh")
            return None
        first, second, third = (self.folder / str(item) for item in value)
        return first, second, third

    def materials(self) -> dict[str, Material]:
        v, data = self.v, self.data
        result: dict[str, Material] = {}
        loose = {key: data[key] for key in ("young", "poisson", "density") if data.get(key) is not None}
        if loose and "material" in data:
            what = f"is given together with {', '.join(loose)}"
            remedy = "give one of them; a material of your own needs young, poisson and density"
            v.error(("material",), what, remedy, code="recipe.material")
        elif loose and len(loose) < 3 and isinstance(data.get("mesh"), str | Path):
            numbers = {"young": units.PRESSURE, "poisson": None, "density": units.DENSITY}
            self.partial = {key: v.number((key,), value, numbers[key]) for key, value in loose.items()}
        elif loose:
            result[""] = self.material((), {**loose})
        elif "material" in data:
            result[""] = self.material(("material",), data["material"])
        if "materials" in data:
            for name, value in v.table(("materials",), data["materials"]).items():
                result[name] = self.material(("materials", name), value)
        return {name: item for name, item in result.items() if item is not None}

    def material(self, key: Key, value: Any) -> Material:
        v, named = self.v, value if isinstance(value, str) else ""
        if named.endswith(".toml"):
            self.files.append(self.folder / named)
            value = read_toml(self.folder / named).data
        if isinstance(value, Mapping):
            value = dict(value)
            dimension = {
                "young": units.PRESSURE,
                "shear": units.PRESSURE,
                "density": units.DENSITY,
                "poisson": None,
            }
            for name in set(value) & set(dimension):
                item, full = value[name], (*key, name)
                is_list = isinstance(item, list | tuple)
                value[name] = (
                    list(v.numbers(full, item, (3,), dimension[name]))
                    if is_list
                    else v.number(full, item, dimension[name])
                )
            if isinstance(value.get("rotation"), Mapping):
                value["rotation"] = v.rotation((*key, "rotation"), value["rotation"])
            value.setdefault("name", str(key[-1]) if key and key[-1] != "material" else "material")
        elif not isinstance(value, str | Material):
            v.error(key, f"expected a name or a table, found {value!r}")
            value = "steel"
        try:
            return material(value)
        except InputError as error:
            for item in error.diagnostics:
                label = ".".join(map(str, key)) or "material"
                subject = f'{label}: "{named}"' if named else f"{label}:"
                v.found.error(item.code, v.where(key), f"{subject} {item.what}", item.remedy)
            return material("steel")
