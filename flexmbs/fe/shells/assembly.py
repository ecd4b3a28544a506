"""Shell meshes -> K_fe, their inertia, stresses and geometric stiffness (F9, F2a-F7a, F53, F17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs._jit import kernel
from flexmbs._simd import LANES
from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.elements import ELEMENTS, SHELLS
from flexmbs.fe.graph import NodeGraph, expand_blocks, node_graph
from flexmbs.fe.materials import PAIRS, Material, material_of_cells
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces import mapped
from flexmbs.fe.shells.loops import INNER, condense_loop, shell_stiffness_loop
from flexmbs.fe.shells.sections import ShellSection, layer_stiffness, section_stiffness
from flexmbs.fe.shells.strains import (
    N_INNER,
    SOFTEN,
    Geometry,
    Room,
    ShellPoints,
    directors,
    drilling_share,
    geometry,
    shell_points,
)
from flexmbs.fe.shells.stress_loops import face_stress_loop, mode_products_loop
from flexmbs.fe.shells.ties import shell_rule
from flexmbs.fe.shells.triangles import soften_loop
from flexmbs.spatial import skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 1024  # cells at once
ROOM = 2**21  # bytes of strains at once, which stay in the cache
PRODUCTS = 2**16  # of pairs of modes at once, which stay in the cache


@dataclass(frozen=True)
class ShellCells:
    """Some cells `which` of one type, section and material.

    at: geometry at their points;  directors (cells, n, 3);  share (cells, 3), of `tri3`: `drilling_share`
    """

    kind: str
    which: Ints
    nodes: Ints
    section: ShellSection
    material: Material
    at: Geometry
    directors: Floats
    share: Floats | None

    def part(self, cells: slice) -> ShellCells:
        share = None if self.share is None else self.share[cells]
        which, nodes, D = self.which[cells], self.nodes[cells], self.directors[cells]
        return ShellCells(self.kind, which, nodes, self.section, self.material, self.at.part(cells), D, share)


@dataclass(frozen=True)
class ShellChunk(ShellCells):
    """Cells at their points; S (cells or 1, points or 1, 9, 9).

    axis (cells, 3): direction that angles of layers count from
    rows (cells, points, 9, 6 n): strains of nodal values in the order of `dofs`, without inner functions
    inner (cells, points, 9, LANES): strains of those, n_inner of them; without any (.., 0)
    """

    axis: Floats
    points: ShellPoints
    S: Floats
    rows: Floats
    inner: Floats
    n_inner: int

    @property
    def dofs(self) -> Ints:
        """(cells, 6 n), component by component of all nodes."""
        return (6 * self.nodes[:, None, :] + np.arange(6)[:, None]).reshape(len(self.nodes), -1)

    @property
    def few(self) -> tuple[Floats, Floats, Floats]:
        """Room of `condense`."""
        return np.empty((9 * self.rows.shape[1], LANES)), np.empty((INNER, LANES)), np.empty((INNER, LANES))

    @cached_property
    def follow(self) -> Floats:
        """Amounts of inner functions of nodal values (cells, INNER, 6 n), or (cells, 0, 6 n)."""
        shape = len(self.rows), INNER if self.n_inner else 0, self.rows.shape[3]
        coupling, found = np.empty((2, *shape))
        if self.n_inner:
            inner = self.inner, self.n_inner
            condense_loop(inner, self.S, self.points.area, self.rows, self.few, coupling, found)
        return found

    def strains(self, U: Floats) -> Floats:
        """(cells, points, 9, m) of fields U (n_dof, m)."""
        values = U[self.dofs]
        points = 9 * self.rows.shape[1]
        rows, inner = (part.reshape(len(part), points, part.shape[3]) for part in (self.rows, self.inner))
        found = rows @ values + inner[..., : self.follow.shape[1]] @ (self.follow @ values)
        return np.asarray(found).reshape(*self.rows.shape[:3], U.shape[1])

    def nodal(self, forces: Floats) -> Floats:
        """Nodal forces (cells, 6 n) of forces (cells, points, k) that work on the first k strains."""
        k, n = forces.shape[2], self.follow.shape[1]
        of_rows, of_inner = (
            np.einsum("epiq,epi->eq", part[:, :, :k], forces) for part in (self.rows, self.inner)
        )
        return np.asarray(of_rows + np.einsum("eiq,ei->eq", self.follow, of_inner[:, :n]))


def shell_kinds(mesh: Mesh) -> list[str]:
    return [kind for kind, rows in mesh.cells.items() if kind in SHELLS and len(rows)]


def shell_chunks(mesh: Mesh, materials: Mapping[str, Material]) -> Iterator[ShellChunk]:
    """The shell cells of a mesh by type, section and material, as `chunks_of`."""
    yield from chunks_of(mesh, shell_cells(mesh, materials))


def chunks_of(mesh: Mesh, parts: Iterable[ShellCells]) -> Iterator[ShellChunk]:
    """Cells, some at a time, with their strains, which the next overwrite."""
    room = Room()
    for cells in parts:
        axis = mesh.shell.axis_of(cells.kind, cells.which, cells.section)  # type: ignore[union-attr]
        X = mesh.points[cells.nodes]
        S = _stiffness(cells, X, axis)
        step = max(1, ROOM // (432 * cells.nodes.shape[1] * cells.at.area.shape[1]))
        for start in range(0, len(X), step):
            some = slice(start, start + step)
            yield _chunk(cells.part(some), X[some], axis[some], S[some] if len(S) > 1 else S, room)


def shell_cells(mesh: Mesh, materials: Mapping[str, Material]) -> Iterator[ShellCells]:
    """The shell cells of a mesh by type, section and material, a thousand at a time."""
    kinds = shell_kinds(mesh)
    if mesh.shell is None:
        raise InputError(
            Diagnostic(
                "mesh.shell", mesh.source or "mesh", f"has {kinds[0]} cells without a thickness",
                "give thickness = ... of the mesh in the recipe",
            )
        )  # fmt: skip
    used, index = material_of_cells(mesh, materials)
    all_directors = directors(mesh, kinds)
    for kind in kinds:
        nodes, D = mesh.cells[kind], all_directors[kind]
        thickness = np.array([section.thickness for section in mesh.shell.sections])[mesh.shell.index[kind]]
        share = drilling_share(nodes, mesh.points[nodes], D, thickness) if kind == "tri3" else None
        both = mesh.shell.index[kind] * len(used) + index[kind]
        for pair in np.unique(both):
            section, item = mesh.shell.sections[int(pair) // len(used)], used[int(pair) % len(used)]
            cells = np.flatnonzero(both == pair)
            for start in range(0, len(cells), CHUNK):
                part = cells[start : start + CHUNK]
                some = None if share is None else share[part]
                at = geometry(kind, mesh.points[nodes[part]])
                yield ShellCells(kind, part, nodes[part], section, item, at, D[part], some)


def _stiffness(cells: ShellCells, X: Floats, axis: Floats) -> Floats:
    """Of the section (cells or 1, points or 1, 9, 9); thin triangles are softened in shear."""
    S = section_stiffness(cells.section, cells.material, cells.at.axes, axis)
    if cells.kind == "tri3":
        softened = np.empty((len(X), *S.shape[1:]))
        softened[...] = S
        soften_loop(X, cells.section.thickness**2, SOFTEN, softened)
        return softened
    return S


def _chunk(cells: ShellCells, X: Floats, axis: Floats, S: Floats, room: Room) -> ShellChunk:
    section = cells.section
    poisson = S[:, 0, 0, 1] / np.sqrt(S[:, 0, 0, 0] * S[:, 0, 1, 1])
    found = shell_points(cells.kind, X, cells.at, cells.directors, poisson, cells.share, room)
    rows, inner, m = found.rows, found.inner, N_INNER.get(cells.kind, 0)
    if section.membrane:  # what is left moves in its surface, by the displacements of the nodes
        used = np.flatnonzero(inner[:, :, :3].any(axis=(0, 1, 2)))
        m, inner = len(used), np.zeros_like(inner)
        inner[..., :m] = found.inner[..., used]
        rows[:, :, 3:] = 0.0
        rows[..., 3 * X.shape[1] :] = 0.0
    return ShellChunk(
        cells.kind,
        cells.which,
        cells.nodes,
        section,
        cells.material,
        cells.at,
        found.directors,
        cells.share,
        axis,
        found,
        S,
        rows,
        inner,
        m,
    )


def shell_stiffness(mesh: Mesh, graph: NodeGraph, parts: Iterable[ShellCells]) -> sp.csc_array:
    """K_fe of the shells (6 n_nodes, 6 n_nodes)."""
    upper = mapped.room((graph.n_pairs, 36))
    for chunk in chunks_of(mesh, parts):
        n, inner = chunk.rows.shape[3], (chunk.inner, chunk.n_inner)
        size = 9 * chunk.rows.shape[1] + chunk.n_inner
        pattern = chunk.nodes, chunk.which, graph.loc[chunk.kind]
        room = np.empty((size, n)), np.empty((size, n)), np.empty((n, n)), chunk.few
        stretching = n if chunk.kind == "tri3" or chunk.S[..., :3, 3:].any() else n // 2
        shell_stiffness_loop(chunk.rows, stretching, inner, chunk.S, chunk.points.area, pattern, room, upper)
    return expand_blocks(graph, upper)


@kernel
def scatter(nodes, which, K, loc, upper):
    """Add blocks 6 x 6 of cell matrices K (cells, 6 n, 6 n) to the pairs of the pattern. Writes: upper."""
    n = nodes.shape[1]
    for e in range(len(nodes)):
        pair = 0
        for a in range(n):
            for b in range(a, n):
                block = upper[loc[which[e], pair]]
                pair += 1
                if nodes[e, a] <= nodes[e, b]:
                    for c in range(6):
                        for d in range(6):
                            block[6 * c + d] += K[e, 6 * a + c, 6 * b + d]
                else:
                    for c in range(6):
                        for d in range(6):
                            block[6 * d + c] += K[e, 6 * a + c, 6 * b + d]


#: strains that a face may take together, first and number: stretch, curvature, shear across
GROUPS = np.array([(0, 3), (3, 3), (6, 2)])
#: height over half the thickness, from the middle
FACES = {"bottom": -1.0, "middle": 0.0, "top": 1.0}


def _face_law(chunk: ShellChunk, face: str) -> Floats:
    """Stress xx yy xy, zx zy (cells or 1, points or 1, 5, 8) of strains, at a face of the section, in axes of
    the points (F53).

    Shear across the surface vanishes at the faces and is half as large again as its mean in the middle.
    """
    eps = np.eye(8)
    section, R = chunk.section, chunk.points.axes
    if (
        section.stiffness
    ):  # as if it were of one material: forces over t, moments about the middle over t^3 / 12
        t, resultant = section.thickness, chunk.S[..., :8, :8]
        moment = resultant[..., 3:6, :] - section.offset * resultant[..., :3, :]
        in_plane = resultant[..., :3, :] / t + FACES[face] * 6.0 / (section.bending * t**2) * moment
        across = (1.5 / t if face == "middle" else 0.0) * resultant[..., 6:8, :]
        return np.concatenate([in_plane, across], axis=-2)
    z = section.offset + 0.5 * FACES[face] * section.thickness
    layers = layer_stiffness(section, chunk.material, R, chunk.axis)
    _, _, Q, G = layers[section.layer_at(FACES[face])]
    in_plane = Q @ (eps[:3] + z * eps[3:6])
    across = (1.5 * section.shear if face == "middle" else 0.0) * (G @ eps[6:8])
    law = np.concatenate([in_plane, across], axis=-2)
    return law if law.ndim == 4 else law[None, None]


@cache
def shell_extrapolation(kind: str) -> tuple[Floats, Floats]:
    """The linear cell that fits the integration points best: fit (q, points), its shapes (n, q) at the
    nodes; q is even, the last are zeros where it were not."""
    linear = ELEMENTS[{"tri": "tri3", "quad": "quad4"}[ELEMENTS[kind].family]]
    at = np.column_stack([shell_rule(kind).points, np.zeros(len(shell_rule(kind).points))])
    fit = np.asarray(np.linalg.pinv(linear.shape(at)), dtype=float)
    shape = linear.shape(ELEMENTS[kind].ref_coords)
    fit, shape = (shape @ fit, np.eye(len(shape))) if len(shape) == len(fit) else (fit, shape)
    more = len(fit) % 2
    return np.pad(fit, ((0, more), (0, 0))), np.pad(shape, ((0, 0), (0, more)))


def add_shell_stress(
    mesh: Mesh, materials: Mapping[str, Material], U: Floats, at: str, face: str, total: Floats
) -> None:
    """Add stresses of fields U (n_dof, m). Writes: total (rows, 6, m)."""
    fields, m = np.ascontiguousarray(U), U.shape[1]
    rows = total.reshape(len(total), -1)
    kept: dict[tuple[str, int, int], tuple[Floats, Ints, tuple[Any, ...]]] = {}  # of sections without axes
    for chunk in shell_chunks(mesh, materials):
        key, spreading = (chunk.kind, id(chunk.section), id(chunk.material)), _spreading(mesh, chunk, at)
        if key not in kept or kept[key][0].shape[:2] != (1, 1):
            law = np.ascontiguousarray(_face_law(chunk, face))
            groups = GROUPS[[law[..., first : first + number].any() for first, number in GROUPS]]
            kept[key] = law, groups, _stress_room(chunk, int(groups[:, 1].sum()), spreading[0].shape[1], m)
        law, groups, room = kept[key]
        stretching = chunk.rows.shape[3] // (1 if chunk.kind == "tri3" else 2)
        strains = chunk.rows, (chunk.inner, chunk.n_inner), (chunk.S, chunk.points.area)
        section = law, groups, stretching, chunk.points.axes
        face_stress_loop(strains, chunk.nodes, fields, section, spreading, room, rows)


def _stress_room(chunk: ShellChunk, n_strains: int, n_sums: int, m: int) -> tuple[Any, ...]:
    """Room of `face_stress_loop`."""
    columns, wide = (-(-size // LANES) * LANES for size in (m, 6 * m + LANES))
    n, n_inner = chunk.rows.shape[3], INNER * (chunk.n_inner > 0)
    size = n_strains * (2 if n_inner else 1)
    return (
        np.zeros((n, columns)), np.empty((size, columns)), np.empty((size, LANES)),
        np.zeros((chunk.rows.shape[1], wide)), np.empty((n_sums, wide)), np.zeros((5, LANES)),
        np.empty((n_inner, n)), np.empty((2, n_inner, columns)), chunk.few,
    )  # fmt: skip


def add_shell_expansion(
    mesh: Mesh, materials: Mapping[str, Material], free: Floats, at: str, face: str, total: Floats
) -> None:
    """Add the stress that a free strain (n_cells, 3), at the `FACES` of all cells of the mesh, takes away.
    Writes: total (rows, 6, 1)."""
    i, j = np.array(PAIRS).T
    for chunk in shell_chunks(mesh, materials):
        own = free[mesh.first_cell(chunk.kind) + chunk.which, list(FACES).index(face)]
        xx, yy, xy, zx, zy = np.moveaxis(
            _face_law(chunk, face)[..., :2].sum(axis=-1) * own[:, None, None], -1, 0
        )
        rows = [np.stack(row, axis=-1) for row in ((xx, xy, zx), (xy, yy, zy), (zx, zy, 0.0 * zx))]
        R = chunk.points.axes
        sigma = (np.swapaxes(R, -1, -2) @ np.stack(rows, axis=-2) @ R)[..., i, j]
        fit, shape, targets = _spreading(mesh, chunk, at)
        np.add.at(total[..., 0], targets, shape @ (fit @ sigma))


def _spreading(mesh: Mesh, chunk: ShellChunk, at: str) -> tuple[Floats, Floats, Ints]:
    """From the points of cells to the nodes, cell by cell, or to the mean of the cells, as
    `face_stress_loop` has it."""
    if at == "nodes":
        fit, shape = shell_extrapolation(chunk.kind)
        return fit[None], shape, chunk.nodes
    share = chunk.points.area / chunk.points.area.sum(axis=1, keepdims=True)
    fit = np.stack([share, np.zeros_like(share)], axis=1)
    return fit, np.array([[1.0, 0.0]]), (mesh.first_cell(chunk.kind) + chunk.which)[:, None]


def shell_geometric_stiffness(
    mesh: Mesh, materials: Mapping[str, Material], U_load: Floats, Phi: Floats
) -> Floats:
    """K_sigma,c of the stress of every load on the modes (n_load, nf, nf), tension positive (F17).

    From int sigma_ij d_i u . d_j u with u + z theta x n: forces and moments in the surface, the shear force
    across it, and of the second moment of stress what goes with the forces.
    """
    n_load, nf = U_load.shape[1], Phi.shape[1]
    pairs, width = nf * (nf + 1) // 2, -(-nf // LANES) * LANES + LANES  # a vector begins at any mode
    total, modes = np.zeros((n_load, pairs)), np.ascontiguousarray(Phi).reshape(-1, 6, nf)
    for chunk in shell_chunks(mesh, materials):
        part, points = chunk.strains(U_load), chunk.points
        forces = (chunk.S[..., :8, :8] @ part[:, :, :8]) * points.area[..., None, None]
        r2 = chunk.section.thickness**2 / 12.0 + chunk.section.offset**2
        n = chunk.nodes.shape[1]
        room = np.zeros((2, 3, n, width)), np.empty((n, 3)), np.zeros((15, width)), np.zeros((15, 8))
        tables = points.directors, points.slopes, points.N
        step = max(1, PRODUCTS // (points.area.shape[1] * 8 * (pairs + LANES)))
        for e in range(0, len(forces), step):
            own = tuple(np.ascontiguousarray(table[e : e + step]) for table in tables[:2])
            some = forces[e : e + step]
            products = np.empty((*some.shape[:3], pairs + LANES))
            mode_products_loop(chunk.nodes[e : e + step], modes, (*own, points.N), r2, room, products)
            products[..., pairs:] = 0.0
            total += (some.reshape(-1, n_load).T @ products.reshape(-1, pairs + LANES))[:, :pairs]
    K_geo = np.zeros((n_load, nf, nf))
    i, j = np.triu_indices(nf)
    K_geo[:, i, j] = K_geo[:, j, i] = total
    return K_geo


def thermal_forces(chunk: ShellChunk) -> Floats:
    """Forces and moments (cells, points, 6) that hold free expansion back, per degree."""
    section, found = chunk.section, np.zeros((*chunk.points.area.shape, 6))
    if section.stiffness:
        return np.asarray(chunk.material.expansion * chunk.S[..., :6, :2].sum(axis=-1))
    layers = layer_stiffness(section, chunk.material, chunk.points.axes, chunk.axis)
    items = [layer.material for layer in section.layers] or [chunk.material]
    for (bottom, top, Q, _), item in zip(layers, items, strict=True):
        held = item.expansion * Q[..., :, :2].sum(axis=-1)
        found[..., :3] += held * (top - bottom)
        found[..., 3:] += held * 0.5 * (top**2 - bottom**2)
    return found


def shell_prestress(
    mesh: Mesh, materials: Mapping[str, Material], U: Floats, change: Mapping[str, Floats]
) -> sp.csc_array:
    """K_sigma (n_dof, n_dof) of the stress of the displacements U (n_dof,), as `shell_geometric_stiffness`.

    change: of temperature [K], of every cell.
    """
    graph = node_graph(mesh.n_nodes, {kind: mesh.cells[kind] for kind in shell_kinds(mesh)})
    upper = mapped.room((graph.n_pairs, 36))
    for chunk in shell_chunks(mesh, materials):
        part = chunk.strains(U[:, None])[..., 0]
        f = np.einsum("epij,epj->epi", chunk.S[..., :8, :8], part[:, :, :8])
        f[..., :6] -= thermal_forces(chunk) * change[chunk.kind][chunk.which][:, None, None]
        f *= chunk.points.area[..., None]
        slopes, N = chunk.points.slopes, chunk.points.N
        tensors = [f[..., k : k + 3][..., [0, 2, 2, 1]].reshape(*f.shape[:2], 2, 2) for k in (0, 3)]
        force, moment = (
            np.einsum("epia,epij,epjb->eab", slopes, part, slopes, optimize=True) for part in tensors
        )
        moment = moment + np.einsum("epia,epi,pb->eab", slopes, f[..., 6:8], N, optimize=True)
        r2 = chunk.section.thickness**2 / 12.0 + chunk.section.offset**2
        turn = -skew(chunk.points.directors)  # theta x n of the nodes
        cells, n = chunk.nodes.shape
        K = np.zeros((cells, n, 6, n, 6))
        K[:, :, :3, :, :3] = force[:, :, None, :, None] * np.eye(3)[None, None, :, None, :]
        K[:, :, :3, :, 3:] = np.einsum("eab,ebij->eaibj", moment, turn)
        K[:, :, 3:, :, :3] = np.einsum("eba,eaji->eaibj", moment, turn)
        K[:, :, 3:, :, 3:] = r2 * np.einsum("eab,eaki,ebkj->eaibj", force, turn, turn, optimize=True)
        whole = K.reshape(cells, 6 * n, 6 * n)
        scatter(chunk.nodes, chunk.which, 0.5 * (whole + whole.swapaxes(1, 2)), graph.loc[chunk.kind], upper)
    return expand_blocks(graph, upper)
