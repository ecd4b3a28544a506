"""A deck and its recipe -> mesh in metres and a material for every cell; what is missing or unclear stops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from flexmbs.errors import Diagnostic, Diagnostics, InputError
from flexmbs.fe.deck import Deck, DeckMaterial, Equation, Support, counted, refuse_unknown
from flexmbs.fe.materials import Material, anisotropic, isotropic
from flexmbs.fe.mesh import Ints, Mesh
from flexmbs.fe.unit_systems import SI, UNIT_SYSTEMS, UnitSystem, fitting
from flexmbs.reduce.extra import with_extra
from flexmbs.reduce.recipe import InterfaceSpec, Recipe
from flexmbs.reduce.structure import with_structure

#: properties of isotropic materials: key of a recipe, what messages call it
PROPERTIES = {"young": "Young's modulus", "poisson": "Poisson's ratio", "density": "density"}
#: difference, of its size, within which a recipe repeats what the deck says
SAME = 1e-3


@dataclass(frozen=True)
class DeckBody:
    """Mesh in metres with a cell set per material, the materials, and what people should know about them."""

    mesh: Mesh
    materials: dict[str, Material]
    notes: list[str]
    deck: Deck


def body_of_deck(mesh: Mesh, deck: Deck, recipe: Recipe) -> DeckBody:
    """The body as its deck says it, filled up by the recipe; all errors together."""
    found = Diagnostics()
    where = mesh.source
    refuse_unknown(deck, where, found)
    found.raise_errors()
    system, notes = units_of(deck, recipe, where)
    deck = deck.in_si(system)
    mesh = replace(mesh.scaled(system.length), deck=deck)
    held = {item.name: mesh.node_indices(item.nodes, where) for item in deck.supports}
    mesh = mesh.with_sets({name: nodes for name, nodes in held.items() if name not in mesh.node_sets})
    named = named_cells(mesh, recipe, found)
    index = {kind: rows.copy() for kind, rows in deck.material_of.items()}
    materials = {name: item for name, item in recipe.materials.items() if name}
    sets = dict(mesh.cell_sets)
    made = dict[int, Material | None]()

    def layer(number: int) -> Material | None:
        """A material of a layer, which need not be that of a cell."""
        if number not in made:
            made[number] = filled(deck.materials[number], system, recipe, [], notes, found)
        return made[number]

    for number, item in enumerate(deck.materials):
        cells = {kind: np.flatnonzero(rows == number) for kind, rows in index.items()}
        cells = {kind: rows for kind, rows in cells.items() if len(rows)}
        if not cells:
            continue
        over = {name for name, rows in named.items() if overlap(cells, rows)}
        whole = filled(item, system, recipe, [materials[name] for name in over], notes, found)
        made[number] = whole
        for name in over:
            cells = {kind: np.setdiff1d(rows, named[name].get(kind, [])) for kind, rows in cells.items()}
        if whole is not None and any(len(rows) for rows in cells.values()):
            name = free_name(item.name, {*sets, *materials})
            sets[name], materials[name] = cells, replace(whole, name=name)
    bare = sum(int((rows < 0).sum()) for rows in index.values())
    bare -= sum(int((index[kind][rows] < 0).sum()) for item in named.values() for kind, rows in item.items())
    if bare and "" in recipe.materials:
        materials[""] = recipe.materials[""]
        if deck.materials:
            notes.append(f"{bare} cells without a material in the deck are of {materials[''].name}")
    elif bare:
        what = f"{bare} of {mesh.n_cells} cells have no material in the deck"
        remedy = "--material steel, or --young, --poisson and --density, or [materials.SET] in a recipe"
        found.error("deck.no_material", where, what, remedy)
    mesh = with_structure(mesh, deck, system, layer)
    found.raise_errors()
    mesh, materials = with_extra(replace(mesh, cell_sets=sets), materials, deck, system)
    return DeckBody(mesh, materials, notes, deck)


def with_supports(recipe: Recipe, deck: Deck, mesh: Mesh) -> Recipe:
    """The recipe with what its key `supports` makes of the supports of the deck.

    Nodes of solids have no rotations to hold. Those without a cell are held where connections are solved, and
    are interfaces by the connection that they lead.
    """
    if recipe.supports == "interfaces":
        taken = {item.name for item in recipe.interfaces}
        leading = {item.node for item in deck.links if not isinstance(item, Equation)}
        more = []
        for item in (item for item in deck.supports if item.name not in taken):
            if not alone(item, mesh):
                more.append(InterfaceSpec(item.name, set=item.name))
                continue
            nodes = [n for n in item.nodes.tolist() if n in leading]
            names = [item.name] if len(nodes) == 1 else [f"{item.name}_{n}" for n in nodes]
            more += [InterfaceSpec(name, set=f"rbe:{n}") for name, n in zip(names, nodes, strict=True)]
        return replace(recipe, interfaces=(*recipe.interfaces, *more))
    if recipe.supports != "fix":
        return recipe
    fix = dict(recipe.fix)
    for item in deck.supports:
        dofs = item.dofs if mesh.turns else tuple(k for k in item.dofs if k < 3) or item.dofs
        if item.local and not all(len(set(dofs) & part) in (0, 3) for part in ({0, 1, 2}, {3, 4, 5})):
            what = f"{item.name} is held in axes of its own, and not in all directions"
            raise InputError(
                Diagnostic("deck.supports", recipe.name, what, "say it as [fix] or as an interface")
            )
        if not alone(item, mesh):
            fix[item.name] = dofs
    return replace(recipe, fix=fix)


def alone(item: Support, mesh: Mesh) -> bool:
    """Whether no node of a support belongs to a cell."""
    return not mesh.used_nodes()[mesh.node_indices(item.nodes)].any()


def warn_of_effects(deck: Deck, where: str, found: Diagnostics) -> None:
    """Cards without effect, and those left out on purpose, once each."""
    if deck.no_effect:
        what = f"without effect on the body: {counted(deck.no_effect)}"
        found.warn("deck.no_effect", where, what)
    if deck.ignored:
        found.warn("deck.ignored", where, f"left out by --ignore: {counted(deck.ignored)}")


def units_of(deck: Deck, recipe: Recipe, where: str) -> tuple[UnitSystem, list[str]]:
    """The units of the deck: as said, or those in which its materials are solids; and the note about them."""
    pairs = [(item.young, item.rho) for item in deck.materials if item.young and item.rho]
    pairs = sorted({(E, rho) for E, rho in pairs if E is not None and rho is not None})
    if recipe.units is not None:
        return recipe.units, [f"units of the deck: {recipe.units.name}, as said"]
    if not any(item.young or item.rho for item in deck.materials):
        return SI, []
    found = Diagnostics()
    choices = ", ".join(UNIT_SYSTEMS)
    if not pairs:
        what = "its units cannot be told: no material has both elasticity and density"
        remedy = f"give --density (in kg/m^3) and --unit-system, one of {choices}"
        found.error("deck.units", where, what, remedy)
    fits = fitting(pairs)
    listed = ", ".join(f"E = {E:g} with density {rho:g}" for E, rho in pairs[:3])
    if pairs and not fits:
        what = f"its units cannot be told: {listed} are those of a solid in none of the usual sets"
        found.error("deck.units", where, what, f"check the density, or say --unit-system: {choices}")
    if len(fits) > 1:
        what = f"its units cannot be told: {listed} fit {' and '.join(item.name for item in fits)}"
        found.error("deck.units", where, what, "say --unit-system")
    found.raise_errors()
    return fits[0], [f"units of the deck: {fits[0].name}, by {listed}"]


def named_cells(mesh: Mesh, recipe: Recipe, found: Diagnostics) -> dict[str, dict[str, Ints]]:
    """Cells of [materials.NAME]; unknown sets are found again by `material_of_cells`."""
    return {name: mesh.cell_sets.get(name, {}) for name in recipe.materials if name}


def overlap(one: dict[str, Ints], other: dict[str, Ints]) -> bool:
    return any(len(np.intersect1d(rows, other.get(kind, []))) for kind, rows in one.items())


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name itself, or with a mark that it is that of a material."""
    while name in taken:
        name = f"material {name}"
    return name


def filled(
    item: DeckMaterial,
    system: UnitSystem,
    recipe: Recipe,
    named: list[Material],
    notes: list[str],
    found: Diagnostics,
) -> Material | None:
    """A material of the deck in SI, completed by the recipe; contradictions and gaps are errors."""
    said = {
        "young": None if item.E is None else item.E * system.stress,
        "poisson": item.nu,
        "density": None if item.rho is None else item.rho * system.density,
    }
    for given in [*named, *([recipe.materials[""]] if "" in recipe.materials else [])]:
        options: dict[str, Any] = {"young": given.E, "poisson": given.nu, "density": given.rho}
        merge(item, said, options, notes, found)
    merge(item, said, recipe.partial, notes, found)
    if item.C_mat is not None:
        said |= {"young": 0.0, "poisson": 0.0}
    missing = [text for key, text in PROPERTIES.items() if said[key] is None]
    if missing:
        what = f'material "{item.name}" has no {" and no ".join(missing)}'
        keys = ", ".join(f"--{key}" for key in PROPERTIES if said[key] is None)
        found.error("deck.material", item.where, what, f"give {keys}, or --material")
    if missing or found.errors:
        return None
    try:
        if item.C_mat is not None:
            return anisotropic(item.name, item.C_mat * system.stress, said["density"] or 0.0)
        return isotropic(item.name, said["young"] or 0.0, said["poisson"] or 0.0, said["density"] or 0.0)
    except InputError as error:
        for problem in error.diagnostics:
            found.error(
                "deck.material", item.where, f'material "{item.name}": {problem.what}', problem.remedy
            )
        return None


def merge(
    item: DeckMaterial,
    said: dict[str, float | None],
    options: dict[str, Any],
    notes: list[str],
    found: Diagnostics,
) -> None:
    """Fill gaps of a material. Writes: said, notes, found."""
    card = item.where
    for key, text in PROPERTIES.items():
        value, given = said[key], options.get(key)
        if given is None:
            continue
        if key == "density" and not value or value is None and item.C_mat is None:
            said[key] = float(given)
            notes.append(f'{text} of material "{item.name}" is that of the recipe, {given:g}')
        elif value is None or abs(value - given) > SAME * max(abs(value), abs(given)):
            there = "an elasticity that is not isotropic" if value is None else f"{text} {value:g}"
            what = f'material "{item.name}" has {there} in the deck (SI), {given:g} in the recipe'
            remedy = "leave out the one of the recipe, or take its place with --ignore MAT1 or MATERIAL"
            found.error("deck.contradiction", card, what, remedy)
