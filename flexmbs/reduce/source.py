"""Recipe -> checked mesh, full matrices, interfaces and held dofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, Diagnostics, InputError, nearest
from flexmbs.fe.assembly import FeModel, assemble
from flexmbs.fe.attach import PointMass
from flexmbs.fe.beams import BeamData
from flexmbs.fe.check.mesh import MeshCheck, check_cells, check_mesh, check_whole
from flexmbs.fe.graph import graph_of_cells
from flexmbs.fe.materials import Material, material
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces.mapped import symmetric_sum
from flexmbs.fe.readers import read_mesh
from flexmbs.fe.sets import with_picked_sets
from flexmbs.fe.shapes.parametric import build_shape
from flexmbs.fe.shells.assembly import shell_kinds
from flexmbs.fe.shells.middles import with_middles
from flexmbs.fe.shells.sections import ShellData, section_from
from flexmbs.fe.solve.solvers import largest_entry
from flexmbs.fe.solve.symbolic import node_graph as graph_of_unknowns
from flexmbs.fe.unit_systems import SI
from flexmbs.modal.interfaces import TIES, Interface, check_separate, make_interface
from flexmbs.modal.links import Links
from flexmbs.modal.ties import marker_rows_of_nodes
from flexmbs.reduce.attached import Attached, attached_to, link_interface
from flexmbs.reduce.bonds import patch_error, with_ties
from flexmbs.reduce.deck import body_of_deck, warn_of_effects, with_supports
from flexmbs.reduce.matrices import check_rigid, matrix_notes, matrix_warnings, read_matrices
from flexmbs.reduce.recipe import InterfaceSpec, Recipe

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: endings of CAD files and scripts that gmsh meshes
GEOMETRY = (".step", ".stp", ".iges", ".igs", ".brep", ".geo")
#: largest entry of a matrix whose products stay finite
LARGEST = 1e100
#: of meshes and shapes whose format has no place for a material
DEFAULT_MATERIAL = "steel"
DEFAULTED = "no material is given: steel is taken"

Progress = Callable[[float, str], None] | None
#: hears of a body before its matrices are made: its graph of nodes, their number, freedoms of a node
Before = Callable[[Callable[[], Any], int, int], None] | None


@dataclass(frozen=True)
class Source:
    """The body before its reduction: full model, interfaces, held dofs, and what the checks had to say.

    materials : cell set -> Material, "" for the other cells;  notes : what the body was taken for
    own_elements : the matrices were assembled here, from mesh and materials
    preload_stress : (node or cell, 6) of a static preload;  preload_field : (node, 6), where nodes turn, and
    preload_strain : (n_cells, 3), its `free_strain`
    tie_error : of [ties] in the patch test
    """

    fe: FeModel
    interfaces: list[Interface]
    fixed: Ints
    nodal_masses: Floats
    materials: dict[str, Material]
    element_quality: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    links: Links | None = None
    own_elements: bool = True
    warnings: list[Diagnostic] = field(default_factory=list)
    preload_stress: Floats | None = None
    preload_field: Floats | None = None
    preload_strain: Floats | None = None
    tie_error: float | None = None

    @property
    def mesh(self) -> Mesh:
        return self.fe.mesh

    @property
    def turns(self) -> bool:
        return self.fe.n_per_node == 6


def read_source(
    recipe: Recipe, mesh: Mesh | FeModel | None = None, progress: Progress = None, before: Before = None
) -> Source:
    """Everything that the reduction starts from; all errors of sets and interfaces together."""
    if recipe.matrices is not None:
        fe = read_matrices(*recipe.matrices, units=recipe.units or SI)
        _foretell(fe, before)
        none = np.zeros(fe.mesh.n_nodes)
        mesh = with_picked_sets(fe.mesh, recipe.sets)
        source = _finish(recipe, fe, mesh, none, {}, MeshCheck(fe.mesh), Attached())
        warnings = [*source.warnings, *matrix_warnings(fe, recipe.name)]
        return replace(source, own_elements=False, notes=matrix_notes(fe), warnings=warnings)
    if isinstance(mesh, FeModel):
        _foretell(mesh, before)
        return _of_model(recipe, mesh)
    mesh, masses = _mesh_of(recipe) if mesh is None else (mesh, [])
    materials, notes, found = recipe.materials, list[str](), Diagnostics()
    attached = Attached()
    if mesh.deck is not None:
        warn_of_effects(mesh.deck, mesh.source, found)
        body = body_of_deck(mesh, mesh.deck, recipe)
        mesh, materials, notes = body.mesh, body.materials, body.notes
        recipe = with_supports(recipe, body.deck, mesh)
    elif recipe.partial:
        material(recipe.partial)  # says what is missing
    elif not materials and mesh.n_cells:
        materials = {"": material(DEFAULT_MATERIAL)}
        notes = [DEFAULTED]
    mesh = with_ties(mesh, recipe, notes, found)
    checked = check_mesh(mesh, merge_tol=recipe.merge_tol)
    whole = mesh
    mesh = with_picked_sets(completed(checked, whole), recipe.sets)
    turns = mesh.turns or (not mesh.n_cells and any(item.inertia is not None for item in masses))
    if mesh.deck is not None:
        attached = attached_to(mesh, whole, mesh.deck, 6 if turns else 3, recipe.supports == "fix")
        masses, notes = [*masses, *attached.masses], [*notes, *attached.notes]
        for what in attached.warnings:
            found.warn("deck.rotations", mesh.source, what, "name 123 alone")
    if recipe.point_masses:
        interfaces, _ = _interfaces(recipe, mesh, turns, Diagnostics(), attached)
        masses = [*masses, *_point_masses(recipe, mesh, interfaces, 6 if turns else 3)]
    if before is not None:
        before(partial(graph_of_cells, mesh.n_nodes, mesh.cells), mesh.n_nodes, 6 if turns else 3)
    fe = assemble(mesh, materials, mass=recipe.mass, point_masses=masses, progress=progress)
    tie_error = patch_error(fe, attached.links) if recipe.ties else None
    if attached.springs is not None:
        fe = replace(fe, K_fe=symmetric_sum(fe.K_fe, attached.springs))
    nodal = np.zeros(mesh.n_nodes)
    for item in masses:
        if item.node is not None:
            nodal[item.node] += item.mass
    source = _finish(recipe, fe, mesh, nodal, materials, checked, attached)
    warnings = [*found.warnings, *source.warnings]
    return replace(source, notes=notes, warnings=warnings, links=attached.links, tie_error=tie_error)


def _foretell(fe: FeModel, before: Before) -> None:
    """`before` for a body whose matrices are there already."""
    if before is not None:
        node_of = np.arange(fe.n_dof) // fe.n_per_node
        graph = partial(graph_of_unknowns, sp.csc_matrix(fe.K_fe), node_of)
        before(graph, int(node_of.max(initial=-1)) + 1, fe.n_per_node)


def _of_model(recipe: Recipe, fe: FeModel) -> Source:
    """Matrices that somebody else assembled on a mesh; a material gives stresses only."""
    check_rigid(fe.K_fe, fe.mesh.points, fe.n_per_node, fe.mesh.source)
    checked = check_mesh(fe.mesh)
    if checked.require() is not fe.mesh:
        what = "its mesh has nodes without a cell, or cells that are turned round"
        raise InputError(Diagnostic("matrices.basis", fe.mesh.source, what, "mend the mesh first"))
    none = np.zeros(fe.mesh.n_nodes)
    mesh = with_picked_sets(fe.mesh, recipe.sets)
    source = _finish(recipe, fe, mesh, none, recipe.materials, checked, Attached())
    return replace(source, own_elements=False, notes=matrix_notes(fe))


def _finish(
    recipe: Recipe,
    fe: FeModel,
    mesh: Mesh,
    nodal: Floats,
    materials: dict[str, Material],
    checked: MeshCheck,
    attached: Attached,
) -> Source:
    found = Diagnostics()
    interfaces, found = _interfaces(recipe, mesh, fe.n_per_node == 6, found, attached)
    fixed = _fixed(recipe, mesh, fe.n_per_node, found)
    for name, A in (("stiffness", fe.K_fe), ("mass", fe.M_fe)):
        if not largest_entry(A) < LARGEST:  # not even finite, or products of it would not be
            found.error("recipe.range", recipe.name, f"the {name} matrix is out of range", "check the units")
    found.raise_errors()
    if mesh is not fe.mesh:
        fe = replace(fe, mesh=mesh)
    warnings = [*checked.warnings, *found.warnings]
    return Source(fe, interfaces, fixed, nodal, materials, checked.quality, warnings=warnings)


def bare_mesh(recipe: Recipe) -> tuple[Mesh, Callable[[], MeshCheck]]:
    """The mesh of a recipe in metres: what is there to choose interfaces on; and its check, which takes most
    of the time and leaves it as it is."""
    mesh, _ = _mesh_of(recipe)
    if mesh.deck is not None:
        mesh = body_of_deck(mesh, mesh.deck, recipe).mesh
    cells = check_cells(mesh, merge_tol=recipe.merge_tol)
    return completed(cells, mesh), lambda: check_whole(cells)


def completed(checked: MeshCheck, whole: Mesh) -> Mesh:
    """The checked mesh with the middle nodes of its shells, whose numbers no node of the `whole` has."""
    return with_middles(checked.require(), int(whole.node_number.max(initial=0)))


def bare_interfaces(recipe: Recipe, mesh: Mesh) -> list[Interface]:
    """Interfaces of a recipe on its bare mesh, without what a deck ties to its nodes."""
    mesh = with_picked_sets(mesh, recipe.sets)
    interfaces, found = _interfaces(recipe, mesh, mesh.turns, Diagnostics(), Attached())
    found.raise_errors()
    return interfaces


def _mesh_of(recipe: Recipe) -> tuple[Mesh, list[PointMass]]:
    """Mesh of the file or shape, and the point masses that are part of the shape."""
    if isinstance(recipe.mesh, Path):
        mesh = read_mesh(recipe.mesh, ignore=recipe.ignore)
        return mesh if mesh.deck is not None else mesh.scaled(length_unit(mesh, recipe)), []
    try:
        if "file" in (recipe.mesh or {}):
            return shells_of_file(recipe, dict(recipe.mesh or {})), []
        return build_shape(recipe.mesh or {})
    except InputError as error:
        found = Diagnostics()
        for item in error.diagnostics:  # mesh.size, mesh.section.tube; the first of several
            key = item.where.partition(".")[2].split(".")[0].split(",")[0]
            where = recipe.mesh_where.get(key, recipe.mesh_where.get("", ""))
            _extend(found, InputError(item), item.where, where)
        raise InputError(*found.errors) from None


def length_unit(mesh: Mesh, recipe: Recipe) -> float:
    """[m] as the file states it, or as the recipe says; both must agree."""
    stated, said = mesh.stated_length, recipe.units
    if stated is None:
        return (said or SI).length
    if said is not None and abs(said.length - stated) > 1e-6 * stated:
        what = f"states that its unit of length is {stated:g} m; the recipe says {said.name}"
        raise InputError(Diagnostic("deck.units", mesh.source, what, "leave out --unit-system"))
    return stated


def shells_of_file(recipe: Recipe, table: dict[str, Any]) -> Mesh:
    """Mesh of a file whose surface cells are shells: one section, others by the names of cell sets.

    Beams by the names of sets of lines.
    """
    sections, beams = table.pop("sections", {}), table.pop("beams", {})
    path, options = table.pop("file"), {key: table.pop(key, None) for key in ("element", "element_size")}
    if path.suffix.lower() in GEOMETRY:
        mesh = shells_of_geometry(recipe, path, **options)
    else:
        mesh = read_mesh(path, ignore=recipe.ignore, shells=True, lines=tuple(beams))
        mesh = mesh if mesh.deck is not None else mesh.scaled(length_unit(mesh, recipe))
    table.pop("shape")
    whole = [section_from(table)] if table or not (sections or beams) else []
    items = whole + [section_from(one) for one in sections.values()]
    index = {kind: np.full(len(mesh.cells[kind]), len(whole) - 1) for kind in shell_kinds(mesh)}
    if beams:
        mesh = with_beams(mesh, beams)
    if not index and not beams:
        what = f"{mesh.source} has no triangles or quadrilaterals apart from the faces of solids"
        raise InputError(Diagnostic("mesh.shell", "mesh.file", what, 'give mesh = "FILE" for solids'))
    for number, name in enumerate(sections):
        mesh.require_set(name, f"mesh.sections.{name}")
        for kind, cells in mesh.cell_sets.get(name, {}).items():
            if kind in index:
                index[kind][cells] = len(whole) + number
    bare = sum(int((rows < 0).sum()) for rows in index.values())
    if bare:
        what = f"{bare} cells have no thickness"
        raise InputError(
            Diagnostic("mesh.shell", "mesh.sections", what, "give one for the cells outside the sets")
        )
    return replace(mesh, shell=ShellData(tuple(items), index)) if index else mesh


def with_beams(mesh: Mesh, tables: dict[str, dict[str, Any]]) -> Mesh:
    """The mesh with what its lines are, by the names of their sets; of a cell in two sets the first."""
    lines = mesh.cells.get("beam2", np.zeros((0, 2), dtype=np.int64))
    todo, parts, rows = np.ones(len(lines), dtype=bool), [], []
    for name, table in tables.items():
        mesh.require_set(name, f"mesh.beams.{name}")
        chosen = mesh.cell_sets.get(name, {}).get("beam2", np.zeros(0, dtype=np.int64))
        if not len(chosen):
            what, remedy = f'the set "{name}" has no lines', "name a group of curves"
            raise InputError(Diagnostic("mesh.beam", f"mesh.beams.{name}", what, remedy))
        chosen = chosen[todo[chosen]]
        todo[chosen] = False
        rows.append(chosen)
        parts.append(BeamData.uniform(mesh.points, lines[chosen], **table))
    data = parts[0]
    for part in parts[1:]:
        data = data.join(part)
    back = np.argsort(np.concatenate(rows))
    data = replace(
        data,
        index=data.index[back],
        axes=data.axes[back],
        offset=data.offset[back],
        released=data.released[back],
    )
    return replace(mesh, beam=data)


def shells_of_geometry(recipe: Recipe, path: Path, element: str | None, element_size: float | None) -> Mesh:
    """Mesh of the surfaces of a CAD file; STEP and IGES state their unit, others have that of the recipe."""
    from flexmbs.fe.cad.convert import mesh_cad

    with TemporaryDirectory(prefix="flexmbs-surface-") as folder:
        unit = (recipe.units or SI).length
        made = mesh_cad(
            path, Path(folder) / "surface.msh", size=element_size, element=element or "tri6", unit=unit
        )
        return replace(made.check.mesh, source=str(path))


def _interfaces(
    recipe: Recipe, mesh: Mesh, turns: bool, found: Diagnostics, attached: Attached
) -> tuple[list[Interface], Diagnostics]:
    result = []
    for spec in recipe.interfaces:
        try:
            result.append(_interface(spec, mesh, turns, attached))
        except InputError as error:
            _extend(found, error, f"interfaces.{spec.name}", spec.where)
    placed = {f"interfaces.{spec.name}": spec.where for spec in recipe.interfaces}
    for item in check_separate(result):
        _extend(found, InputError(item), item.where, placed.get(item.where, ""))
    return result, found


def _extend(found: Diagnostics, error: InputError, label: str, where: str) -> None:
    """Findings about a key of the recipe, with its place in the file where there is one."""
    for item in error.diagnostics:
        what = f"{label}: {item.what}" if where else item.what
        found.error(item.code, where or label, what, item.remedy)


def _interface(spec: InterfaceSpec, mesh: Mesh, turns: bool, attached: Attached) -> Interface:
    where = f"interfaces.{spec.name}"
    if spec.set.startswith("rbe:") and not mesh.set_kinds(spec.set):
        options = {"position": spec.position, "rotation": spec.rotation, "dofs": spec.dofs}
        return link_interface(spec.set, spec.name, attached, mesh, turns, **options)
    if spec.node is not None:
        nodes, set_name = mesh.node_indices(spec.node, where), ""
    else:
        _refuse_tie(spec.set, mesh, where)
        mesh.require_set(spec.set, where)
        nodes, set_name = mesh.node_set_of(spec.set), spec.set
    if not len(nodes):
        raise InputError(Diagnostic("recipe.interface", where, f'the set "{spec.set}" is empty'))
    return make_interface(
        mesh,
        spec.name,
        nodes,
        set_name=set_name,
        tie=spec.tie,
        position=spec.position,
        rotation=spec.rotation,
        dofs=spec.dofs,
        turns=turns,
    )


def _refuse_tie(name: str, mesh: Mesh, where: str) -> None:
    """`bore:rbe4` is a tie that does not exist rather than an odd name of a set."""
    before, _, tie = name.rpartition(":")
    known = {*mesh.node_sets, *mesh.face_sets, *mesh.cell_sets}
    if before in known and name not in known:
        what = f'unknown tie "{tie}" of the set "{before}"'
        raise InputError(Diagnostic("recipe.choice", where, what, f"choices: {', '.join(TIES)}"))


def _fixed(recipe: Recipe, mesh: Mesh, n_per_node: int, found: Diagnostics) -> Ints:
    """Dofs held by [fix]."""
    parts = [np.zeros(0, dtype=np.int64)]
    for name, dofs in recipe.fix.items():
        try:
            mesh.require_set(name, f"fix.{name}")
        except InputError as error:
            _extend(found, error, f"fix.{name}", recipe.fix_where.get(name, ""))
            continue
        nodes = mesh.node_set_of(name)
        usable = [k for k in dofs if k < n_per_node]
        if len(usable) < len(dofs):
            where, what = (
                recipe.fix_where.get(name, recipe.name),
                f"fix.{name}: nodes of solids have no rotations",
            )
            if usable:
                found.warn("recipe.fix", where, what, 'hold "x y z"')
            else:
                found.error("recipe.fix", where, what, 'hold "x y z"')
        parts += [nodes * n_per_node + k for k in usable]
    return np.unique(np.concatenate(parts))


def _point_masses(
    recipe: Recipe, mesh: Mesh, interfaces: list[Interface], n_per_node: int
) -> list[PointMass]:
    """Point masses of the recipe as the assembly takes them; unknown nodes and interfaces are errors."""
    by_name = {item.name: item for item in interfaces}
    result, found = [], Diagnostics()
    for k, spec in enumerate(recipe.point_masses):
        where = f"point_masses[{k}]"
        if spec.node is not None:
            try:
                node = mesh.node_indices(spec.node, where)
            except InputError as error:
                found.extend(error.diagnostics)
                continue
            result.append(PointMass(spec.mass, spec.inertia, node=int(node[0])))
        elif spec.interface in by_name:
            item = by_name[spec.interface]
            rows = marker_rows_of_nodes(mesh.points, item, n_per_node)
            result.append(PointMass(spec.mass, spec.inertia, position=item.position, rows=rows))
        else:
            what = f'there is no interface "{spec.interface}"'
            found.error("recipe.point_mass", where, what, nearest(spec.interface, list(by_name)))
    found.raise_errors()
    return result
