"""Keys of a recipe: TOML, dictionary or options -> Recipe; all errors together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs import units
from flexmbs.errors import InputError
from flexmbs.fe.unit_systems import UNIT_NAMES, unit_system
from flexmbs.modal.interfaces import TIES, parse_dofs
from flexmbs.reduce.body_keys import BodyReader
from flexmbs.reduce.recipe import (
    KEYS,
    MASS_FORMS,
    METHODS,
    SOLVERS,
    STRESSES,
    SUPPORTS,
    Given,
    InterfaceSpec,
    LoadSpec,
    PointMassSpec,
    Recipe,
    merge,
    refuse_case,
)
from flexmbs.reduce.values import Key, Values
from flexmbs.toml_file import TomlFile, read_toml

Floats = NDArray[np.float64]


def read_recipe(path: Path, options: Mapping[str, Any] | None = None) -> Recipe:
    """Recipe of a TOML file; `options` override its keys."""
    file = read_toml(path)
    refuse_case(file.data, str(path))
    return make_recipe(file.data, options, file=file, folder=Path(path).parent)


def make_recipe(
    data: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    *,
    file: TomlFile | None = None,
    folder: Path | None = None,
) -> Recipe:
    """Recipe of a dictionary with the keys of the file; all errors together."""
    merged = merge(data, options or {})
    name = file.name if file else "recipe"
    values = Values(file, name)
    values.keys((), merged, KEYS)
    if "parameters" in merged:
        values.read_parameters(values.table(("parameters",), merged["parameters"]))
    if "unit_system" in merged:
        values.units = unit_system(values.choice(("unit_system",), merged["unit_system"], UNIT_NAMES))
        values.length_unit = values.units.length
    recipe = RecipeReader(values, merged, folder or Path()).recipe(
        name, file.text if file else repr(dict(merged))
    )
    values.found.raise_errors()
    return recipe


#: what a load of a recipe may be
LOADS = {
    "force": units.FORCE,
    "acceleration": units.ACCELERATION,
    "angular_acceleration": units.ANGULAR_ACCELERATION,
    "angular_velocity": units.ANGULAR_VELOCITY,
}


class RecipeReader(BodyReader):
    """Reads the keys of a recipe one group at a time."""

    def recipe(self, name: str, text: str) -> Recipe:
        v, data = self.v, self.data
        recipe = Recipe(
            mesh=self.mesh(),
            matrices=self.matrices(),
            materials=self.materials(),
            method=v.choice(
                ("method",), data.get("method", "given" if "given" in data else METHODS[0]), METHODS
            ),
            modes=self.optional("modes", lambda key, value: v.whole(key, value)),
            fmax=self.optional("fmax", lambda key, value: self.positive(key, value, units.FREQUENCY)),
            tol=self.optional("tol", lambda key, value: self.positive(key, value, None)),
            frame=v.text(("frame",), data.get("frame", "mean-axis")),
            mass=v.choice(("mass",), data.get("mass", "consistent"), MASS_FORMS),
            stress=v.choice(("stress",), data.get("stress", "nodes"), STRESSES),
            geometric_stiffness=v.flag(("geometric_stiffness",), data.get("geometric_stiffness", True)),
            merge_tol=self.optional("merge_tol", v.length),
            solver=v.choice(("solver",), data.get("solver", "auto"), SOLVERS),
            units=v.units,
            partial=self.partial,
            ignore=self.ignored(),
            supports=v.choice(("supports",), data.get("supports", SUPPORTS[0]), SUPPORTS),
            point_masses=self.point_masses(),
            interfaces=self.interfaces(),
            sets=self.sets(),
            fix=self.fix(),
            loads=self.loads(),
            given=self.given(),
            fix_where=self.places("fix"),
            mesh_where=self.places("mesh"),
            files=tuple(self.files),
            name=name,
            text=text,
        )
        self.cross_check(recipe)
        return recipe

    def ignored(self) -> tuple[str, ...]:
        """Names of cards that are left out on purpose."""
        value = self.data.get("ignore", [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple):
            self.v.error(("ignore",), "expected a list of cards")
            return ()
        return tuple(self.v.text(("ignore", k), item) for k, item in enumerate(listed))

    def places(self, name: str) -> dict[str, str]:
        """Places in the file of the keys of a table."""
        table = self.data.get(name, {})
        if self.v.file is None or not isinstance(table, Mapping):
            return {}
        return {"": self.v.where((name,))} | {str(key): self.v.where((name, key)) for key in table}

    def cross_check(self, recipe: Recipe) -> None:
        v = self.v
        if recipe.method == "given":
            if recipe.given is None:
                v.error(("method",), 'method = "given" needs a table [given]', code="recipe.given")
            elif recipe.given.stiffness is None and isinstance(recipe.mesh, dict) and "masses" in recipe.mesh:
                what, remedy = (
                    "lacks stiffness, which points have not of themselves",
                    "stiffness = [[0]] is none",
                )
                v.error(("given",), what, remedy, code="recipe.given")
            return
        chosen = sum(x is not None for x in (recipe.modes, recipe.fmax, recipe.tol))
        if recipe.given is not None:
            v.error(
                ("given",), "is there, but the method is another", 'set method = "given"', code="recipe.given"
            )
        if recipe.tol is not None and recipe.fmax is None:
            v.error(("tol",), "needs fmax, the end of the band it holds for", code="recipe.modes")
        elif chosen == 0:
            v.error(
                (), "it is not said how many modes", "give modes, fmax, or tol with fmax", code="recipe.modes"
            )
        elif recipe.modes is not None and (recipe.tol is not None):
            v.error(("modes",), "modes and tol exclude each other", code="recipe.modes")
        if recipe.tol is not None and not recipe.interfaces:
            v.error(("tol",), "measures the response at interfaces, and there are none", code="recipe.modes")

    def point_masses(self) -> tuple[PointMassSpec, ...]:
        v, result = self.v, []
        listed = self.data.get("point_masses", [])
        if not isinstance(listed, list | tuple):
            v.error(("point_masses",), "expected a list of tables")
            return ()
        for k, item in enumerate(listed):
            key: Key = ("point_masses", k)
            table = v.table(key, item, ("node", "interface", "mass", "inertia"))
            if ("node" in table) == ("interface" in table):
                v.error(key, "needs either node or interface", code="recipe.point_mass")
            inertia = table.get("inertia", [0.0, 0.0, 0.0])
            if not isinstance(inertia, list | tuple | np.ndarray):
                v.error((*key, "inertia"), "expected 3 numbers or 3 rows of 3")
                inertia = [0.0, 0.0, 0.0]
            nested = (
                bool(len(inertia)) and isinstance(inertia[0], Sequence) and not isinstance(inertia[0], str)
            )
            if nested:
                J = v.numbers((*key, "inertia"), inertia, (3, 3), units.INERTIA)
            else:
                J = np.diag(v.numbers((*key, "inertia"), inertia, (3,), units.INERTIA))
            mass = v.number((*key, "mass"), table.get("mass", 0.0), units.MASS)
            if mass < 0:
                v.error((*key, "mass"), f"must not be negative, found {mass:g}")
            node = v.whole((*key, "node"), table["node"]) if "node" in table else None
            result.append(PointMassSpec(mass, J, node, str(table.get("interface", ""))))
        return tuple(result)

    def interfaces(self) -> tuple[InterfaceSpec, ...]:
        v, result = self.v, []
        keys = (
            "set", "node", "tie", "dofs", "pos", "rot",
            "plane", "cylinder", "sphere", "box", "nearest", "tolerance",
        )  # fmt: skip
        for name, value in v.table(("interfaces",), self.data.get("interfaces", {})).items():
            key: Key = ("interfaces", name)
            if isinstance(value, str):
                value = {"set": value}
            table = v.table(key, value, keys)
            places = {k: table[k] for k in keys[6:] if k in table}
            if places:
                self.data.setdefault("_places", {})[name] = places
            elif "node" in table and "set" in table:
                v.error(key, "needs either set or node", code="recipe.interface")
            result.append(self.interface(key, name, table, bool(places)))
        return tuple(result)

    def interface(self, key: Key, name: str, table: dict[str, Any], placed: bool) -> InterfaceSpec:
        v = self.v
        dofs = None
        if "dofs" in table:
            try:
                dofs = parse_dofs(table["dofs"], "")
            except InputError as error:
                v.error((*key, "dofs"), error.diagnostics[0].what, error.diagnostics[0].remedy)
        return InterfaceSpec(
            name,
            set=f"{name}.place" if placed else str(table.get("set", name)) if "node" not in table else "",
            node=v.whole((*key, "node"), table["node"]) if "node" in table else None,
            tie=v.choice((*key, "tie"), str(table.get("tie", "rbe2")).lower(), TIES),
            dofs=dofs,
            position=v.lengths((*key, "pos"), table["pos"], (3,)) if "pos" in table else None,
            rotation=v.rotation((*key, "rot"), table["rot"]) if "rot" in table else None,
            where=v.where(key) if v.file else "",
        )

    def sets(self) -> dict[str, dict[str, Any]]:
        """[sets] and places of interfaces, in metres."""
        result = {}
        tables = {
            ("sets", name): item for name, item in self.v.table(("sets",), self.data.get("sets", {})).items()
        }
        tables |= {("interfaces", name): item for name, item in self.data.get("_places", {}).items()}
        for key, value in tables.items():
            result[f"{key[1]}.place" if key[0] == "interfaces" else key[1]] = {
                name: self.place((*key, name), item) for name, item in self.v.table(key, value).items()
            }
        return result

    def place(self, key: Key, value: Any) -> Any:
        """Lengths inside a place, in metres; directions and flags stay."""
        if isinstance(value, Mapping):
            return {
                name: item if name in ("axis", "normal", "inside") else self.place((*key, name), item)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.place((*key, k), item) for k, item in enumerate(value)]
        return self.v.length(key, value)

    def fix(self) -> dict[str, tuple[int, ...]]:
        result = {}
        for name, value in self.v.table(("fix",), self.data.get("fix", {})).items():
            try:
                result[name] = parse_dofs(value, "") if isinstance(value, str | list) else tuple(range(6))
            except InputError as error:
                self.v.error(("fix", name), error.diagnostics[0].what, error.diagnostics[0].remedy)
        return result

    def loads(self) -> tuple[LoadSpec, ...]:
        v, result = self.v, []
        for name, value in v.table(("loads",), self.data.get("loads", {})).items():
            key: Key = ("loads", name)
            table = v.table(key, value, ("set", "node", *LOADS))
            if len([kind for kind in LOADS if kind in table]) != 1:
                what = f"needs one of {', '.join(LOADS)}, a force on a set or node"
                v.error(key, what, code="recipe.load")
                continue
            if "force" in table and ("set" in table) == ("node" in table):
                v.error(key, "a force needs either set or node", code="recipe.load")
                continue
            node = v.whole((*key, "node"), table["node"]) if "node" in table else None
            kind, unit = next((kind, unit) for kind, unit in LOADS.items() if kind in table)
            values = {kind: v.numbers((*key, kind), table[kind], (3,), unit)}
            result.append(LoadSpec(name, str(table.get("set", "")), node, **values))
        return tuple(result)

    def given(self) -> Given | None:
        v = self.v
        if "given" not in self.data:
            return None
        table = v.table(("given",), self.data["given"], ("shapes", "values", "stiffness", "damping"))
        shapes = []
        listed = table.get("shapes", [])
        if not isinstance(listed, list | tuple):
            v.error(("given", "shapes"), "expected a list of shapes, each with its x, y and z component")
            listed = []
        for k, row in enumerate(listed):
            if not isinstance(row, list | tuple) or len(row) != 3:
                v.error(("given", "shapes", k), "needs three components, x, y and z")
                continue
            laws = [v.law(("given", "shapes", k, c), item) for c, item in enumerate(row)]
            if all(law is not None for law in laws):
                shapes.append(tuple(law for law in laws if law is not None))
        nodal = table.get("values", ())
        has_values = len(nodal) > 0 if isinstance(nodal, Sequence | np.ndarray) else True
        if has_values and shapes:
            v.error(("given",), "needs either shapes or values", code="recipe.given")
        nodal = v.numbers(("given", "values"), nodal, (-1, -1, -1)) if has_values else None
        matrix = {
            name: v.numbers(("given", name), table[name], (-1, -1))
            for name in ("stiffness", "damping")
            if name in table
        }
        n = len(shapes) if nodal is None else len(nodal)
        if not n:
            v.error(("given",), "has neither shapes nor values", code="recipe.given")
        for name, item in matrix.items():
            if item.shape != (n, n):
                v.error(("given", name), f"is {item.shape[0]} x {item.shape[1]}, expected {n} x {n}")
            elif not np.allclose(item, item.T, rtol=1e-9, atol=0):
                v.error(("given", name), "is not symmetric")
        return Given(tuple(shapes), nodal, matrix.get("stiffness"), matrix.get("damping"))
