"""Everything that can be wrong with a mesh, before anything is computed with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from flexmbs.errors import Diagnostic, Diagnostics, InputError
from flexmbs.fe.check import connectivity, repair
from flexmbs.fe.check.quality import ZERO, Shapes, folded, quality_row, shapes
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.mesh import Mesh, far_nodes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COINCIDENT = 1e-9  # of the size of the mesh: nodes that can only be meant as one
LARGE = 10.0  # [m] parts above this are more often millimetres than metres
SMALL = 1e-3  # [m] parts below this are more often metres that were taken for millimetres
POOR = 0.05  # scaled Jacobian below which a cell is called poor
LISTED = 5
#: quadratic cells that may get straight edges: a share of all, or this many; way of mid-nodes over the edge
FOLDED, FOLDED_CELLS, FOLDED_WAY = 2e-3, 3, 0.35
TANGLED = "the mesh is tangled there, or a coordinate is wrong: remesh"


@dataclass(frozen=True)
class MeshCheck:
    """Result of `check_mesh`: the mesh to go on with, the findings, and the table of quality.

    quality : cell type -> cells, min_scaled_jacobian, mean_scaled_jacobian, max_aspect_ratio,
    mean_aspect_ratio, worst_cell (number of the file)
    broken : its arrays do not fit together, so that nothing else could be looked at
    """

    mesh: Mesh
    diagnostics: list[Diagnostic] = field(default_factory=list)
    quality: dict[str, dict[str, Any]] = field(default_factory=dict)
    broken: bool = False

    @property
    def errors(self) -> list[Diagnostic]:
        return [item for item in self.diagnostics if item.severity == "error"]

    @property
    def warnings(self) -> list[Diagnostic]:
        return [item for item in self.diagnostics if item.severity != "error"]

    def require(self) -> Mesh:
        """The mesh, or all errors at once."""
        if self.errors:
            raise InputError(*self.errors)
        return self.mesh


def check_mesh(mesh: Mesh, *, merge_tol: float | None = None) -> MeshCheck:
    """Check a mesh of solids or beams; rescues (merged nodes, turned cells, orphans left out) are warnings.

    merge_tol : nodes closer than this become one [m]; None: none
    """
    return check_whole(check_cells(mesh, merge_tol=merge_tol))


def check_cells(mesh: Mesh, *, merge_tol: float | None = None) -> MeshCheck:
    """The first part: cell by cell. The mesh is then the one to go on with."""
    found = Diagnostics()
    found.extend(mesh.notes)
    where = mesh.source or "mesh"
    _check_structure(mesh, where, found)
    if found.errors:
        return MeshCheck(mesh, found.items, broken=True)
    if merge_tol is not None:
        mesh = _merge(mesh, merge_tol, where, found)
    if mesh.n_cells:
        mesh = _leave_out_orphans(mesh, where, found)
    mesh, quality = _check_shapes(mesh, where, found)
    return MeshCheck(mesh, found.items, quality)


def check_whole(cells: MeshCheck) -> MeshCheck:
    """The second part: how the cells are joined, size, sets. Most of the time; the mesh stays as it is."""
    if cells.broken:
        return cells
    mesh, found, where = cells.mesh, Diagnostics(), cells.mesh.source or "mesh"
    found.extend(cells.diagnostics)
    if any(ELEMENTS[kind].faces for kind in mesh.cells):
        _check_connections(mesh, where, found)
        _check_size(mesh, where, found)
    _check_sets(mesh, where, found)
    return MeshCheck(mesh, found.items, cells.quality)


def size_of(mesh: Mesh) -> float:
    """Diagonal of the bounding box [m]."""
    if not mesh.n_nodes:
        return 0.0
    return float(np.linalg.norm(np.ptp(mesh.points, axis=0)))


def listed(values: Any) -> str:
    values = list(values)
    return ", ".join(str(value) for value in values[:LISTED]) + (", ..." if len(values) > LISTED else "")


def _check_structure(mesh: Mesh, where: str, found: Diagnostics) -> None:
    """Finite coordinates, known types, indices in range; what everything else takes for granted."""
    bad = far_nodes(mesh.points)
    if bad.any():
        what = f"{int(bad.sum())} nodes with coordinates that are not finite, or beyond 1e9"
        what += f" (node {listed(mesh.node_number[bad])})"
        found.error("mesh.not_finite", where, what, "write the mesh again")
    if len(np.unique(mesh.node_number)) != mesh.n_nodes:
        found.error("mesh.duplicate_numbers", where, "node numbers are not unique", "renumber the nodes")
    for kind, rows in mesh.cells.items():
        if kind not in ELEMENTS:
            remedy = "cells can be " + ", ".join(ELEMENTS)
            found.error("mesh.unsupported_cells", where, f"{len(rows)} cells of type {kind}", remedy)
        elif rows.ndim != 2 or rows.shape[1] != ELEMENTS[kind].n_nodes:
            what = f"cells of type {kind} need {ELEMENTS[kind].n_nodes} nodes each, shape is {rows.shape}"
            found.error("mesh.damaged", where, what)
        elif len(rows) and (rows.min() < 0 or rows.max() >= mesh.n_nodes):
            what = f"cells of type {kind} refer to nodes outside 0 ... {mesh.n_nodes - 1}"
            found.error("mesh.no_node", where, what)
    for name, nodes in mesh.node_sets.items():
        if len(nodes) and (nodes[0] < 0 or nodes[-1] >= mesh.n_nodes):
            found.error("mesh.no_node", where, f'node set "{name}" refers to nodes that do not exist')


def _merge(mesh: Mesh, tolerance: float, where: str, found: Diagnostics) -> Mesh:
    edges = [mesh.points[rows[:, 0]] - mesh.points[rows[:, 1]] for rows in mesh.cells.values() if len(rows)]
    shortest = min((float(np.linalg.norm(edge, axis=1).min()) for edge in edges), default=np.inf)
    if not 0 <= tolerance < 0.5 * shortest:
        what = f"merge tolerance {tolerance:g} m is not below half the shortest edge ({shortest:.3g} m)"
        found.error("mesh.merge_tolerance", where, what, "merging would collapse cells: take a smaller one")
        return mesh
    merged, count = repair.merge_nodes(mesh, tolerance)
    if count:
        what = f"{count} nodes within {tolerance:g} m of others were merged with them"
        found.warn("mesh.merged", where, what)
    return merged


def _leave_out_orphans(mesh: Mesh, where: str, found: Diagnostics) -> Mesh:
    clean, numbers = repair.without_orphans(mesh)
    if mesh.deck is not None:
        numbers = np.setdiff1d(numbers, mesh.deck.node_numbers())
    if len(numbers):
        what = f"{len(numbers)} nodes belong to no cell and are left out (node {listed(numbers)})"
        found.warn("mesh.orphan_nodes", where, what)
    return clean


def _check_shapes(mesh: Mesh, where: str, found: Diagnostics) -> tuple[Mesh, dict[str, dict[str, Any]]]:
    """Signed Jacobians; mirrored cells are turned, and measured again."""
    kinds = [kind for kind in mesh.cells if ELEMENTS[kind].family != "line" and len(mesh.cells[kind])]
    measured = {kind: shapes(mesh, kind) for kind in kinds}
    mirrored = {kind: np.flatnonzero(values.det_max < 0) for kind, values in measured.items()}
    mirrored = {kind: cells for kind, cells in mirrored.items() if len(cells)}
    if mirrored:
        for kind, cells in mirrored.items():
            what = f"{len(cells)} of {len(mesh.cells[kind])} {kind} cells are mirrored and were turned"
            what += f" (cell {listed(mesh.cell_number[kind][cells])})"
            found.warn("mesh.mirrored", where, what, "their nodes are numbered the other way round")
        mesh = repair.reoriented(mesh, mirrored)
        measured.update({kind: shapes(mesh, kind) for kind in mirrored})
    mesh = _unfold(mesh, measured, where, found)
    for kind, values in measured.items():
        _judge_shapes(mesh, kind, values, where, found)
    return mesh, {kind: quality_row(mesh, kind, values) for kind, values in measured.items()}


def _unfold(mesh: Mesh, measured: dict[str, Shapes], where: str, found: Diagnostics) -> Mesh:
    """A few quadratic cells that are folded near corners get straight edges. Writes: measured, found."""
    chosen: dict[str, Ints] = {}
    for kind, values in measured.items():
        if ELEMENTS[kind].faces and ELEMENTS[kind].order == 2 and ELEMENTS[kind].n_nodes < 27:
            cells = folded(mesh, kind, np.flatnonzero(tangled(values)))
            if 0 < len(cells) <= max(FOLDED_CELLS, FOLDED * len(mesh.cells[kind])):
                chosen[kind] = cells
    if not chosen:
        return mesh
    better, way = repair.straightened(mesh, chosen)
    again = {kind: shapes(better, kind) for kind in measured}
    if way > FOLDED_WAY or any(tangled(again[kind])[cells].any() for kind, cells in chosen.items()):
        return mesh
    measured.update(again)
    for kind, cells in chosen.items():
        places = mesh.points[mesh.cells[kind][cells[:LISTED]]].mean(axis=1)
        names = mesh.cell_number[kind][cells]
        at = "; ".join(
            f"{name} at ({', '.join(f'{x:.4g}' for x in X)}) m"
            for name, X in zip(names, places, strict=False)
        )
        what = (
            f"{len(cells)} of {len(mesh.cells[kind])} {kind} cells are folded at a corner: their edges were"
        )
        what += f" made straight, which moves mid-nodes by up to {100 * way:.2g} % of an edge (cell {at})"
        found.warn("mesh.folded", where, what, "remesh there if stresses near them matter")
    return better


def tangled(values: Shapes) -> Any:
    """Mask of the cells whose Jacobian changes sign."""
    scale = np.maximum(np.abs(values.det_max), np.abs(values.det_min))
    flat = (scale == 0) | ~np.isfinite(scale)
    return ~flat & ((values.det_inside <= ZERO * scale) | (values.det_min < -ZERO * scale))


def _judge_shapes(mesh: Mesh, kind: str, values: Shapes, where: str, found: Diagnostics) -> None:
    number = mesh.cell_number[kind]
    scale = np.maximum(np.abs(values.det_max), np.abs(values.det_min))
    flat = (scale == 0) | ~np.isfinite(scale)
    inverted = tangled(values)
    collapsed = ~flat & ~inverted & (values.det_min <= ZERO * scale)
    if flat.any():
        size = "volume" if ELEMENTS[kind].faces else "area"
        what = f"{int(flat.sum())} {kind} cells have no {size} (cell {listed(number[flat])})"
        found.error("mesh.flat_cells", where, what, "remove or remesh them")
    if inverted.any():
        worst = np.argsort(values.scaled[inverted])
        what = f"{int(inverted.sum())} {kind} cells are inverted or tangled: their Jacobian changes sign"
        what += f" (cell {listed(number[inverted][worst])})"
        found.error("mesh.inverted_cells", where, what, _reason(mesh, kind, np.flatnonzero(inverted)))
    if collapsed.any():
        what = f"{int(collapsed.sum())} {kind} cells are collapsed at a corner"
        what += f" (cell {listed(number[collapsed])})"
        if ELEMENTS[kind].faces:
            found.warn("mesh.collapsed_cells", where, what, "their stresses are poor there")
        else:  # the normal at that corner has no direction
            found.error("mesh.flat_cells", where, what, "write them as triangles")
    poor = ~flat & ~inverted & ~collapsed & (values.scaled < POOR)
    if poor.any():
        what = f"{int(poor.sum())} {kind} cells have a scaled Jacobian below {POOR}"
        what += f" (cell {listed(number[poor])})"
        found.warn("mesh.poor_cells", where, what, "remesh there if results near them matter")


def _reason(mesh: Mesh, kind: str, cells: Ints) -> str:
    """Why cells are tangled: mid-nodes that lie on other edges than theirs point to the order of the file."""
    element = ELEMENTS[kind]
    most = 2 * len(cells) > len(mesh.cells[kind])  # a wrong order tangles nearly all
    if element.order == 2 and most:
        X = mesh.points[mesh.cells[kind][cells]]
        edges = np.array(element.edges)
        middle = 0.5 * (X[:, edges[:, 0]] + X[:, edges[:, 1]])
        mids = X[:, edges[:, 2]]
        nearest_edge = np.linalg.norm(mids[:, :, None] - middle[:, None], axis=3).argmin(axis=2)
        wrong = (nearest_edge != np.arange(len(edges))).sum(axis=1)
        if (wrong >= 2).mean() > 0.5:
            return "their mid-nodes lie on other edges: the node order of the file is not that of its format"
    return "remesh, or move the mid-nodes of curved edges"


def _check_connections(mesh: Mesh, where: str, found: Diagnostics) -> None:
    repeated = connectivity.duplicate_cells(mesh)
    for kind, cells in repeated.items():
        what = f"{len(cells)} {kind} cells repeat others (cell {listed(mesh.cell_number[kind][cells])})"
        found.error("mesh.duplicate_cells", where, what, "they count twice: remove them")
    crowded = connectivity.crowded_faces(mesh)
    if crowded:
        what = f"{crowded} faces belong to more than two cells"
        found.error("mesh.crowded_faces", where, what, "cells overlap: remesh")
    if not repeated:
        _check_overlap(mesh, where, found)
    _check_parts(mesh, where, found)
    if not {item.code for item in found.errors} & {"mesh.inverted_cells", "mesh.flat_cells"}:  # would follow
        _check_hanging(mesh, where, found)


def _check_overlap(mesh: Mesh, where: str, found: Diagnostics) -> None:
    """Cells that fill the same place: their mass would count twice."""
    count, cells = connectivity.on_one_side(mesh)
    if count:
        what = f"{count} faces have both of their cells on one side: cells overlap"
        found.error("mesh.overlap", where, f"{what} (cell {listed(numbers_of(mesh, cells))})", TANGLED)
    elif not found.errors and len(cells := connectivity.buried(mesh)):
        what = f"{len(cells)} cells hold the middle of another one: parts overlap"
        remedy = "mesh them as one body, or move one of them"
        found.error("mesh.overlap", where, f"{what} (cell {listed(numbers_of(mesh, cells))})", remedy)


def numbers_of(mesh: Mesh, cells: Ints) -> Ints:
    """Numbers in the file of cells by their running indices over all solids."""
    numbers = [mesh.cell_number[kind] for kind in mesh.cells if ELEMENTS[kind].faces]
    return np.concatenate(numbers)[cells]


def _check_parts(mesh: Mesh, where: str, found: Diagnostics) -> None:
    """Separate parts, parts joined like a hinge, nodes that should be one."""
    component = joined_by_deck(mesh, mesh.components())
    n_components = int(component.max()) + 1
    tolerance = COINCIDENT * size_of(mesh)
    pairs = connectivity.coincident_pairs(mesh.points, tolerance)
    if len(pairs):
        nodes = mesh.node_number[pairs[:, 0]]
        what = f"{len(pairs)} pairs of nodes lie at the same place and are not joined (node {listed(nodes)})"
        found.warn(
            "mesh.coincident_nodes", where, what, f"--merge-tol {max(10 * tolerance, 1e-12):.1g} joins them"
        )
    if n_components > 1:
        sizes = np.bincount(component[component >= 0])
        first = [int(mesh.node_number[np.argmax(component == k)]) for k in range(min(n_components, LISTED))]
        what = f"the mesh has {n_components} parts that are not connected"
        what += (
            f" ({listed(f'{size} nodes from node {node}' for size, node in zip(sizes, first, strict=False))})"
        )
        remedy = "join coincident nodes with --merge-tol" if len(pairs) else "mesh them as one body"
        found.error("mesh.components", where, what, f"{remedy}, or reduce each part as a body of its own")
    part = connectivity.face_parts(mesh)
    if int(part.max()) + 1 > n_components:
        for nodes in connectivity.weak_parts(mesh, part)[:LISTED]:
            joint = "at one node" if len(nodes) == 1 else "along one edge"
            what = f"parts of the mesh are joined only {joint} (node {listed(mesh.node_number[nodes])})"
            found.error("mesh.hinge", where, what, "the part turns freely there: join whole faces")


def joined_by_deck(mesh: Mesh, component: Ints) -> Ints:
    """Component numbers when parts that connections or springs of the deck join count as one."""
    groups = [] if mesh.deck is None else mesh.deck.groups()
    if not groups or component.max(initial=0) < 1:
        return component
    order = np.argsort(mesh.node_number)
    label = np.arange(int(component.max()) + 1)
    for numbers in bonded(groups):
        place = np.minimum(np.searchsorted(mesh.node_number, numbers, sorter=order), mesh.n_nodes - 1)
        known = order[place][mesh.node_number[order[place]] == numbers]
        met = np.unique(label[component[known[component[known] >= 0]]])
        label[np.isin(label, met)] = met[0] if len(met) else 0
    _, label = np.unique(label, return_inverse=True)
    return np.where(component >= 0, label[component], -1)


def bonded(groups: list[Ints]) -> list[Ints]:
    """Groups that share a number joined to one."""
    numbers, place = np.unique(np.concatenate(groups), return_inverse=True)
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    shape = (len(groups), len(numbers))
    table = sp.coo_array((np.ones(len(place)), (group, place.ravel())), shape=shape)
    _, label = connected_components(sp.block_array([[None, table], [table.T, None]]), directed=False)
    order = np.argsort(label[len(groups) :], kind="stable")
    return np.split(numbers[order], np.flatnonzero(np.diff(label[len(groups) :][order])) + 1)


def _check_hanging(mesh: Mesh, where: str, found: Diagnostics) -> None:
    remedy = "the body is cracked there: remesh so that neighbours share whole faces"
    linked = np.zeros(0, dtype=np.int64) if mesh.deck is None else mesh.deck.node_numbers()
    linked = np.flatnonzero(np.isin(mesh.node_number, linked))  # connections hold what hangs there
    mids = np.setdiff1d(connectivity.hanging_mid_nodes(mesh), linked)
    if len(mids):
        what = f"{len(mids)} mid-nodes hang: neighbours use their edge without them"
        what += f" (node {listed(mesh.node_number[mids])})"
        found.error("mesh.hanging_nodes", where, what, remedy)
    count = connectivity.mismatched_faces(mesh)
    if count:
        what = f"{count} quadrilateral faces meet triangles of neighbours"
        found.error("mesh.hanging_nodes", where, what, remedy)
    nodes = np.setdiff1d(connectivity.hanging_nodes(mesh, COINCIDENT * size_of(mesh)), [*mids, *linked])
    if len(nodes):
        what = f"{len(nodes)} nodes hang on edges or faces of neighbours"
        what += f" (node {listed(mesh.node_number[nodes])})"
        found.error("mesh.hanging_nodes", where, what, remedy)


def _check_size(mesh: Mesh, where: str, found: Diagnostics) -> None:
    extent = np.ptp(mesh.points, axis=0)
    what = "the mesh measures " + " x ".join(f"{value:.4g}" for value in extent) + " m"
    if extent.max() > LARGE:
        found.warn("mesh.units", where, what, "if these are millimetres, say --unit-system mm")
    elif extent.max() < SMALL:
        found.warn(
            "mesh.units",
            where,
            what,
            "if these are metres, leave out --unit-system mm, or write the file in its unit",
        )


def _check_sets(mesh: Mesh, where: str, found: Diagnostics) -> None:
    sets: tuple[Mapping[str, Any], ...] = (mesh.node_sets, mesh.face_sets, mesh.cell_sets)
    for kind, group in zip(("node", "face", "cell"), sets, strict=True):
        empty = sorted(name for name, members in group.items() if not len(members))
        if empty:
            found.warn("mesh.empty_set", where, f"empty {kind} sets: {listed(empty)}", "they cannot be used")
