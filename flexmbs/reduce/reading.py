"""Recipe as TOML, dictionary or options -> `Recipe`; all errors together, with their places."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.disk import root_of
from flexmbs.errors import Diagnostic, Diagnostics, InputError
from flexmbs.fe.materials import Material, material
from flexmbs.fe.unit_systems import UNIT_NAMES, unit_system
from flexmbs.input import parameters
from flexmbs.input.problems import dotted, read_tables
from flexmbs.input.rotations import Rotation
from flexmbs.input.source import Path_, Source
from flexmbs.input.values import Context, as_given
from flexmbs.reduce.options import interface_table
from flexmbs.reduce.recipe import Given, InterfaceSpec, LoadSpec, PointMassSpec, Recipe, TieSpec
from flexmbs.reduce.tables import (
    GivenTable,
    InterfaceTable,
    LoadTable,
    MaterialTable,
    RecipeFile,
    ShellFile,
    ShellTable,
)
from flexmbs.toml_file import TomlFile, read_toml

Floats = NDArray[np.float64]
NOWHERE = Path(os.devnull)  # in place of a file that may not be read
LOOSE = ("young", "poisson", "density")


def read_recipe(path: Path, options: Mapping[str, Any] | None = None, root: Path | None = None) -> Recipe:
    """Recipe of a TOML file; `options` override its keys. Files that it names lie in the root."""
    return recipe_of(read_toml(path), path, options, root)


def recipe_of(
    file: TomlFile, path: Path, options: Mapping[str, Any] | None = None, root: Path | None = None
) -> Recipe:
    """Recipe of a text that stands in the file at `path`, or will."""
    if {"bodies", "joints"} & set(file.data) and not {"mesh", "matrices"} & set(file.data):
        what, remedy = "is a case, no recipe of a body", "flexmbs run, or the recipe that it names"
        raise InputError(Diagnostic("recipe.case", str(path), what, remedy))
    source = Source(file.name, Path(path).parent, merge(file.data, options or {}), kind="recipe")
    source.root = root or root_of(source.folder)
    source.files.append(file)
    for place in file.places:
        source.owners[place] = file
    for key in present(options or {}):
        for known in [place for place in source.owners if place[0] == key]:
            del source.owners[known]
        source.owners[key,] = TomlFile(f"option {key}", "", {})
    chosen = "".join(f"\n# option {key} = {source.data.get(key)!r}" for key in present(options or {}))
    return _recipe(source, file.text + chosen)


def make_recipe(
    data: Mapping[str, Any], options: Mapping[str, Any] | None = None, *, has_mesh: bool = False
) -> Recipe:
    """Recipe of a dictionary with the keys of the file; `has_mesh`: of a mesh that is there already."""
    merged = merge(data, options or {})
    return _recipe(Source("recipe", Path(), merged, kind="recipe"), repr(merged), has_mesh=has_mesh)


def _recipe(source: Source, text: str, *, has_mesh: bool = False) -> Recipe:
    found = Diagnostics()
    data = dict(source.data)
    raw = data.get("parameters", {})
    values, wrong = parameters.resolve(raw) if isinstance(raw, Mapping) else ({}, [])
    for name, what, column in wrong:
        where = source.where(("parameters", name), offset=column or None)
        found.error("recipe.value", where, f"parameters.{name}: {what}")
    if isinstance(raw, Mapping) and raw:
        data["parameters"] = values
    check_keys(source, found, has_mesh)
    system = data.get("unit_system")
    units = unit_system(system) if system in UNIT_NAMES else None
    context = Context(values, length=1.0 if units is None else units.length)
    table = read_tables(RecipeFile, data, source, context, found)
    maker = _Maker(source, table, found)
    recipe = Recipe(
        mesh=maker.mesh(),
        matrices=maker.matrices(),
        materials=maker.materials(),
        method=table.method or ("craig-bampton" if table.given is None else "given"),
        modes=table.modes,
        fmax=table.fmax,
        tol=table.tol,
        frame=table.frame,
        mass=table.mass,
        stress=table.stress,
        geometric_stiffness=table.geometric_stiffness,
        merge_tol=table.merge_tol,
        solver=table.solver,
        units=units,
        partial=maker.partial,
        ignore=tuple(table.ignore),
        supports=table.supports,
        point_masses=tuple(
            PointMassSpec(item.mass, _tensor(item.inertia), item.node, item.interface or "")
            for item in table.point_masses
        ),
        interfaces=tuple(maker.interface(name, item) for name, item in table.interfaces.items()),
        ties=tuple(
            TieSpec(name, item.surfaces[0], item.surfaces[1], item.within)
            for name, item in table.ties.items()
        ),
        sets=maker.sets(),
        fix=dict(table.fix),
        loads=tuple(_load(name, item) for name, item in table.loads.items()),
        preload=tuple(_load(name, item) for name, item in table.preload.items()),
        given=maker.given(table.given) if table.given is not None else None,
        fix_where=maker.places("fix"),
        mesh_where=maker.places("mesh"),
        files=tuple(maker.files),
        name=source.name,
        text=text,
    )
    found.raise_errors()
    return recipe


def check_keys(source: Source, found: Diagnostics, has_mesh: bool) -> None:
    """Keys that need each other or exclude each other, on plain data beside the schema."""
    data = source.data

    def error(code: str, key: str, what: str, remedy: str = "") -> None:
        where = source.where((key,)) if key else source.name
        found.error(code, where, f"{key}: {what}" if key else what, remedy)

    if not has_mesh and "mesh" not in data and "matrices" not in data:
        error("recipe.mesh", "", "there is no mesh", 'give mesh = "FILE" or a table [mesh]')
    if "mesh" in data and "matrices" in data:
        error("recipe.mesh", "matrices", "exclude a mesh: they are the body", "give one of them")
    loose = [key for key in LOOSE if key in data]
    if loose and "material" in data:
        what = f"is given together with {', '.join(loose)}"
        remedy = "give one of them; a material of your own needs young, poisson and density"
        error("recipe.material", "material", what, remedy)
    method = data.get("method", "given" if "given" in data else "")
    mesh, given = data.get("mesh"), data.get("given")
    if method == "given":
        if given is None:
            error("recipe.given", "method", 'method = "given" needs a table [given]')
        elif not (isinstance(mesh, Mapping) and isinstance(given, Mapping)):
            return  # a file, or what the tables of the schema say is wrong
        elif "masses" in mesh and "stiffness" not in given:
            what, remedy = "lacks stiffness, which points have not of themselves", "stiffness = [[0]] is none"
            error("recipe.given", "given", what, remedy)
        return
    if given is not None:
        error("recipe.given", "given", "is there, but the method is another", 'set method = "given"')
    if "tol" in data and "fmax" not in data:
        error("recipe.modes", "tol", "needs fmax, the end of the band it holds for")
    elif not {"modes", "fmax", "tol", "matrices"} & set(data):  # matrices may have been reduced before
        what, remedy = "it is not said how many modes", "give modes, fmax, or tol with fmax"
        error("recipe.modes", "", what, remedy)
    elif "modes" in data and "tol" in data:
        error("recipe.modes", "modes", "modes and tol exclude each other")
    if "tol" in data and not data.get("interfaces"):
        error("recipe.modes", "tol", "measures the response at interfaces, and there are none")


class _Maker:
    """Parts of a recipe from its checked tables."""

    def __init__(self, source: Source, table: RecipeFile, found: Diagnostics) -> None:
        self.source, self.table, self.found = source, table, found
        self.partial: dict[str, float] = {}  # of a material, for a deck that has the rest
        self.files: list[Path] = []  # read on the way; part of what the result depends on

    def error(self, code: str, path: Path_, what: str, remedy: str = "") -> None:
        self.found.error(code, self.source.where(path), f"{dotted(path)}: {what}", remedy)

    def places(self, name: str) -> dict[str, str]:
        """Places in the file of a table and its keys."""
        table = self.source.data.get(name, {})
        if not self.source.files or not isinstance(table, Mapping):
            return {}
        return {"": self.source.where((name,))} | {key: self.source.where((name, key)) for key in table}

    def named(self, path: Path_, text: str) -> Path:
        """A file that the recipe names; one outside of the root is an error, and read as nothing."""
        try:
            return self.source.file(path, text)
        except InputError as error:
            self.found.extend(error.diagnostics)
            return NOWHERE

    def mesh(self) -> Path | dict[str, Any] | None:
        """A file, or the table of a shape in metres."""
        table = self.table.mesh
        if table is None or isinstance(table, str):
            return self.named(("mesh",), table) if table is not None else None
        result: dict[str, Any] = as_given(table)
        if isinstance(table, ShellFile):
            result["file"] = self.named(("mesh", "file"), table.file)
            self.files.append(result["file"])
            result["beams"] = {name: as_given(item) for name, item in table.beams.items()}
            result["sections"] = {
                name: self.section(("mesh", "sections", name), item) for name, item in table.sections.items()
            }
        if isinstance(table, ShellTable):
            result |= self.section(("mesh",), table)
        return result

    def section(self, path: Path_, table: ShellTable) -> dict[str, Any]:
        """Section of a shell with the materials of its layers."""
        keys = ("thickness", "offset", "axis")
        result = {key: getattr(table, key) for key in keys if getattr(table, key) is not None}
        if table.layers:
            result["layers"] = [
                {
                    "thickness": item.thickness,
                    "angle": item.angle,
                    "material": self.material((*path, "layers", k, "material"), item.material),
                }
                for k, item in enumerate(table.layers)
            ]
        return result

    def matrices(self) -> tuple[Path, Path, Path] | None:
        table = self.table.matrices
        if table is None:
            return None
        stiffness = self.named(("matrices", "stiffness"), table.stiffness)
        mass = self.named(("matrices", "mass"), table.mass)
        return stiffness, mass, self.named(("matrices", "nodes"), table.nodes)

    def materials(self) -> dict[str, Material]:
        """Materials by cell set; "" is that of all other cells."""
        table, result = self.table, {}
        loose = {key: getattr(table, key) for key in LOOSE if getattr(table, key) is not None}
        if loose and len(loose) < 3 and isinstance(table.mesh, str):
            self.partial = loose
        elif loose:
            result[""] = self.material((), MaterialTable.model_construct(**loose))
        elif table.material is not None:
            result[""] = self.material(("material",), table.material)
        for name, item in table.materials.items():
            result[name] = self.material(("materials", name), item)
        return {name: item for name, item in result.items() if item is not None}

    def material(self, path: Path_, value: str | MaterialTable | Material) -> Material | None:
        if isinstance(value, Material):
            return value
        named = value if isinstance(value, str) else ""
        if named.endswith(".toml"):
            place = self.named(path, named)
            if place == NOWHERE:
                return None
            self.files.append(place)
            file = read_toml(place)
            own = Source(file.name, self.source.folder, file.data, files=[file], kind="recipe")
            own.owners.update(dict.fromkeys(file.places, file))
            value = read_tables(MaterialTable, file.data, own, Context(), Diagnostics())
        try:
            return material(value if isinstance(value, str) else _plain(value, path))
        except InputError as error:
            label = dotted(path) or "material"
            subject = f'{label}: "{named}"' if named else f"{label}:"
            for item in error.diagnostics:
                self.found.error(item.code, self.source.where(path), f"{subject} {item.what}", item.remedy)
            return None

    def interface(self, name: str, item: str | InterfaceTable) -> InterfaceSpec:
        table = InterfaceTable(set=item) if isinstance(item, str) else item
        by_name = "" if table.node is not None else table.set or name
        return InterfaceSpec(
            name,
            set=f"{name}.place" if table.places() else by_name,
            node=table.node,
            tie=table.tie,
            dofs=table.dofs,
            position=np.array(table.pos) if table.pos is not None else None,
            rotation=table.rot.to_matrix() if table.rot is not None else None,
            where=self.source.where(("interfaces", name)) if self.source.files else "",
        )

    def sets(self) -> dict[str, dict[str, Any]]:
        """[sets] and places of interfaces, in metres."""
        result = {name: item.places() for name, item in self.table.sets.items()}
        for name, item in self.table.interfaces.items():
            if isinstance(item, InterfaceTable) and item.places():
                result[f"{name}.place"] = item.places()
        return result

    def given(self, table: GivenTable) -> Given:
        path = ("given",)
        if table.values is not None and table.shapes:
            self.error("recipe.given", path, "needs either shapes or values")
        n = len(table.shapes) if table.values is None else len(table.values)
        if not n:
            self.error("recipe.given", path, "has neither shapes nor values")
        for name in ("stiffness", "damping"):
            item = getattr(table, name)
            if item is not None and item.shape != (n, n):
                what = f"is {item.shape[0]} x {item.shape[1]}, expected {n} x {n}"
                self.error("recipe.value", (*path, name), what)
            elif item is not None and not np.allclose(item, item.T, rtol=1e-9, atol=0):
                self.error("recipe.value", (*path, name), "is not symmetric")
        shapes = tuple(tuple(row) for row in table.shapes)
        return Given(shapes, table.values, table.stiffness, table.damping)


def _plain(table: MaterialTable, path: Path_) -> dict[str, Any]:
    """A material as `material` takes it."""
    result = {
        key: getattr(table, key)
        for key in MaterialTable.model_fields
        if getattr(table, key, None) is not None
    }
    if isinstance(table.rotation, Rotation):
        result["rotation"] = table.rotation.to_matrix()
    name = str(path[-1]) if path else "material"
    return {"name": name} | result


def _tensor(inertia: Sequence[Any]) -> Floats:
    """Inertia (3, 3) of three principal moments, or of three rows."""
    values = np.array(inertia, dtype=float)
    return values if values.ndim == 2 else np.diag(values)


def _load(name: str, table: LoadTable) -> LoadSpec:
    kinds = ("force", "acceleration", "angular_acceleration", "angular_velocity")
    values = {kind: np.array(getattr(table, kind)) for kind in kinds if getattr(table, kind) is not None}
    return LoadSpec(
        name, table.set or "", table.node, **values, temperature=table.temperature, pressure=table.pressure
    )


def merge(data: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of the recipe overridden by options; interfaces of the options replace all of the recipe's."""
    merged = {key: plain(value) for key, value in {**present(data), **present(options)}.items()}
    if any(options.get(key) is not None for key in ("modes", "fmax", "tol")):
        for key in ("modes", "fmax", "tol"):
            if options.get(key) is None and not (key == "fmax" and options.get("tol") is not None):
                merged.pop(key, None)
    if any(options.get(key) is not None for key in LOOSE) and options.get("material") is None:
        merged.pop("material", None)
    elif options.get("material") is not None:
        merged = {
            key: item for key, item in merged.items() if key not in LOOSE or options.get(key) is not None
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
