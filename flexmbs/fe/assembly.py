"""Mesh, Material -> K_fe, M_fe, Ms: graph first, then numbers (F2a, F9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.attach import PointMass, attach
from flexmbs.fe.element_loops import Elasticity, Scratch, lumped_loop, mass_loop, scratch_for, stiffness_loop
from flexmbs.fe.elements import ELEMENTS
from flexmbs.fe.graph import NodeGraph, expand_blocks, expand_diagonal, expand_scalar, node_graph
from flexmbs.fe.massform import Attached, MassForm
from flexmbs.fe.materials import Material, material_of_cells, tensor
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces import mapped
from flexmbs.fe.quadrature import (
    Rule,
    inner_gradients,
    is_straight,
    mass_rule,
    reference_mass,
    stiffness_rule,
)
from flexmbs.fe.turning_assembly import placed, solid_part, turning_matrices

Floats = NDArray[np.float64]
Arrays = tuple[Floats, ...]
Ints = NDArray[np.int64]
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class FeModel:
    """Full matrices of a body, dof = node n_per_node + component (x y z; rx ry rz with beams or shells).

    K_fe, M_fe : (n_dof, n_dof) csc, both halves stored, attached masses included
    K_pre : what a preload adds to K_fe, and K_fe holds (F17); None without one
    mass_form : the same inertia for the shape integrals (F2a-F7a); not `exact` where M_fe alone is known
    Rows behind those of the nodes are modal coordinates of a model that was reduced before (`n_modal`).
    """

    mesh: Mesh
    n_per_node: int
    K_fe: Any
    M_fe: Any
    mass_form: MassForm
    K_pre: Any = None
    exact: bool = True

    @property
    def n_dof(self) -> int:
        return int(self.K_fe.shape[0])

    @property
    def n_modal(self) -> int:
        return self.n_dof - self.n_per_node * self.mesh.n_nodes

    def dofs(self, nodes: Any, components: Sequence[int] | None = None) -> Ints:
        """Dofs of nodes, node by node; all components, or the given ones."""
        chosen = np.arange(self.n_per_node) if components is None else np.asarray(components)
        return np.asarray(self.n_per_node * np.asarray(nodes)[:, None] + chosen, dtype=np.int64).ravel()


@dataclass(frozen=True)
class ElementGroup:
    """Cells of one type that share a rule: straight ones, or curved ones."""

    kind: str
    straight: bool
    which: Ints


def element_groups(mesh: Mesh) -> list[ElementGroup]:
    """Solid cells by type, straight ones apart from curved ones."""
    groups = []
    for kind, rows in mesh.cells.items():
        straight = is_straight(ELEMENTS[kind], mesh.points, rows)
        for flag in (True, False):
            which = np.flatnonzero(straight == flag)
            if len(which):
                groups.append(ElementGroup(kind, flag, which))
    return groups


def gradient_table(kind: str, rule: Rule) -> Floats:
    """Reference gradients (n, 3, points) at the points of a rule."""
    return np.ascontiguousarray(ELEMENTS[kind].dshape(rule.points).transpose(1, 2, 0))


def stiffness_table(kind: str, rule: Rule) -> Floats:
    """The same; inner functions, if there are any, stand behind the nodes, the centre behind the points."""
    element = ELEMENTS[kind]
    if not len(element.inner):
        return gradient_table(kind, rule)
    corners = element.ref_coords[: element.n_corners]
    nodes = element.dshape(np.vstack([rule.points, corners.mean(axis=0)]))
    inner = inner_gradients(kind)
    inner = np.concatenate([inner, np.zeros((1, *inner.shape[1:]))])
    return np.ascontiguousarray(np.concatenate([nodes, inner], axis=1).transpose(1, 2, 0))


def element_scratch(kind: str, rule: Rule, straight: bool) -> Scratch:
    """Room for the loops over the cells of a kind at the points of a rule."""
    return scratch_for(ELEMENTS[kind].n_nodes, len(ELEMENTS[kind].inner), len(rule.weights), straight)


def elasticity(C: Floats) -> Elasticity:
    """Elasticity matrices (n, 6, 6) as the loops take them."""
    tensors = np.stack([tensor(item) for item in C]) if len(C) else np.zeros((0, 3, 3, 3, 3))
    return Elasticity(C, *tensor_terms(tensors))


def mass_table(kind: str, straight: bool) -> tuple[Floats, Floats]:
    """Gradients (n, 3, points) and weighted products N_a N_b (points, pairs a <= b) of the exact rule.

    On straight elements det J is constant: one point, with the integrals over the reference cell.
    """
    a, b = np.triu_indices(ELEMENTS[kind].n_nodes)
    rule = mass_rule(kind, straight)
    if straight:
        return gradient_table(kind, Rule(rule.points[:1], rule.weights[:1])), reference_mass(kind)[a, b][
            None, :
        ]
    N = ELEMENTS[kind].shape(rule.points)
    return gradient_table(kind, rule), rule.weights[:, None] * N[:, a] * N[:, b]


def stiffness_pairs(
    mesh: Mesh, graph: NodeGraph, groups: list[ElementGroup], C: Floats, mat: dict[str, Ints]
) -> Floats:
    """Blocks (n_pairs, 9) of K_fe for the pairs of the graph (F9)."""
    K_upper = mapped.room((graph.n_pairs, 9))
    elastic = elasticity(C)
    for group in groups:
        kind, rule = group.kind, stiffness_rule(group.kind, group.straight)
        solids = mesh.cells[kind], group.which, mesh.points, mat[kind]
        room = element_scratch(kind, rule, group.straight)
        table = stiffness_table(kind, rule), rule.weights
        bad = stiffness_loop(solids, table, elastic, graph.loc[kind], room, K_upper)
        _require_positive(mesh, kind, bad)
    on_diagonal = graph.ptr[:-1]
    blocks = K_upper[on_diagonal].reshape(-1, 3, 3)
    K_upper[on_diagonal] = 0.5 * (blocks + blocks.transpose(0, 2, 1)).reshape(-1, 9)
    return K_upper


def tensor_terms(C: Floats) -> tuple[Ints, Floats]:
    """Entries C_cjdl that are not zero in some material: (n_materials, n_terms, 3) as 3 c + d, j, l; values.

    An isotropic tensor has 21 of 81.
    """
    c, j, d, ell = np.nonzero((C != 0.0).any(axis=0))
    terms = np.stack([3 * c + d, j, ell], axis=1)
    return np.repeat(terms[None], len(C), axis=0), np.ascontiguousarray(C[:, c, j, d, ell])


def mass_pairs(mesh: Mesh, graph: NodeGraph, groups: list[ElementGroup], rho: dict[str, Floats]) -> Floats:
    """Entries (n_pairs,) of the consistent Ms for the pairs of the graph (F2a)."""
    Ms_upper = mapped.room(graph.n_pairs)
    for kind, which, rule, scratch in _mass_arguments(groups):
        solids = mesh.cells[kind], which, mesh.points
        bad = mass_loop(solids, rule, rho[kind], graph.loc[kind], scratch, Ms_upper)
        _require_positive(mesh, kind, bad)
    return Ms_upper


def lumped_masses(mesh: Mesh, groups: list[ElementGroup], rho: dict[str, Floats]) -> Floats:
    """Nodal masses (n_nodes,): row sums on linear elements, the scaled diagonal on quadratic ones."""
    mass = np.zeros(mesh.n_nodes)
    for kind, which, rule, scratch in _mass_arguments(groups):
        solids, scaled = (mesh.cells[kind], which, mesh.points), ELEMENTS[kind].order == 2
        bad = lumped_loop(solids, rule, rho[kind], scaled, scratch, mass)
        _require_positive(mesh, kind, bad)
    return mass


def _mass_arguments(groups: list[ElementGroup]) -> Iterator[tuple[str, Ints, Arrays, Arrays]]:
    for group in groups:
        dN, table = mass_table(group.kind, group.straight)
        n_p, pairs = table.shape
        scratch = np.empty((9, n_p)), np.empty(n_p), np.empty(pairs)
        yield group.kind, group.which, (dN, table), scratch


def _require_positive(mesh: Mesh, kind: str, bad: int) -> None:
    if bad >= 0:
        number = mesh.cell_number[kind][bad]
        raise InputError(
            Diagnostic(
                "mesh.inverted",
                mesh.source or "mesh",
                f"{kind} cell {number} is inverted or tangled (det J <= 0 at an integration point)",
                "check its node order and its mid-nodes",
            )
        )


def assemble(
    mesh: Mesh,
    materials: Mapping[str, Material] | Material,
    mass: str = "consistent",
    point_masses: Sequence[PointMass] = (),
    progress: Progress | None = None,
) -> FeModel:
    """Full matrices of a mesh of solids, beams and shells, or of points without elements.

    `materials`: cell set -> Material, "" for the other cells; or one Material. `mass`: consistent or lumped.
    `point_masses`: `PointMass` objects.
    """
    if mass not in ("consistent", "lumped"):
        raise InputError(Diagnostic("mass", "mass", f'"{mass}"', "choices: consistent, lumped"))
    by_set = {"": materials} if isinstance(materials, Material) else materials
    tell = progress or (lambda fraction, text: None)
    tell(0.0, "assembling")
    model = (_assemble_turning if mesh.turns else _assemble_solids)(mesh, by_set, mass, tell)
    turning = any(item.inertia is not None for item in point_masses)
    if not mesh.n_cells and turning:
        # points without elements turn only where they have dofs to do so
        model = _without_cells(mesh, 6)
    model = with_point_masses(model, point_masses)
    tell(1.0, "assembled")
    return model


def _without_cells(mesh: Mesh, n_per_node: int) -> FeModel:
    n_dof = n_per_node * mesh.n_nodes
    form = MassForm(n_per_node, Ms=diagonal(np.zeros(mesh.n_nodes), "csr"), attached=Attached.none(n_dof))
    return FeModel(mesh, n_per_node, sp.csc_array((n_dof, n_dof)), sp.csc_array((n_dof, n_dof)), form)


def with_point_masses(model: FeModel, point_masses: Sequence[PointMass]) -> FeModel:
    """The same model with further masses and inertias, in M_fe and in the mass form alike."""
    if not point_masses:
        return model
    n = model.n_per_node
    nodal, attached = attach(model.mesh, n, point_masses)
    padded = np.zeros((model.mesh.n_nodes, n))
    padded[:, :3] = nodal[:, None]
    form = replace(model.mass_form, attached=model.mass_form.attached.join(attached))
    M_fe = mapped.symmetric_sum(model.M_fe, diagonal(padded.ravel(), "csc"), attached.matrix())
    if form.Ms_kl is None:
        return replace(model, M_fe=M_fe, mass_form=replace(form, Ms=form.Ms + diagonal(nodal, "csr")))
    Ms_kl = tuple(
        tuple(form.Ms_kl[k][ell] + placed(diagonal(nodal, "csr"), k, ell) for ell in range(3))
        for k in range(3)
    )
    return replace(model, M_fe=M_fe, mass_form=replace(form, Ms_kl=Ms_kl))


def _assemble_turning(mesh: Mesh, materials: Mapping[str, Material], mass: str, tell: Progress) -> FeModel:
    """K_fe, M_fe of beams and shells, with the solids beside them."""
    part = solid_part(mesh)
    solids = (
        _assemble_solids(part, materials, mass, lambda fraction, text: None)
        if part.n_cells
        else _without_cells(part, 3)
    )
    tell(0.3, "assembling beams and shells")
    K_fe, M_fe, form = turning_matrices(mesh, materials, mass, solids.K_fe, solids.mass_form.Ms)
    return FeModel(mesh, 6, K_fe, M_fe, form)


def _assemble_solids(mesh: Mesh, materials: Mapping[str, Material], mass: str, tell: Progress) -> FeModel:
    """K_fe, M_fe of solid elements; without cells the matrices are empty."""
    used, mat = material_of_cells(mesh, materials)
    C = np.array([item.C_mat for item in used]).reshape(-1, 6, 6)
    rho = {kind: np.array([item.rho for item in used])[index] for kind, index in mat.items()}
    groups = element_groups(mesh)
    graph = node_graph(mesh.n_nodes, mesh.cells)
    tell(0.2, "assembling stiffness")
    K_fe = expand_blocks(graph, stiffness_pairs(mesh, graph, groups, C, mat))
    tell(0.7, "assembling mass")
    if mass == "consistent":
        upper = mass_pairs(mesh, graph, groups, rho)
        Ms, M_fe = expand_scalar(graph, upper), expand_diagonal(graph, upper)
    else:
        nodal = lumped_masses(mesh, groups, rho)
        Ms, M_fe = diagonal(nodal, "csr"), diagonal(np.repeat(nodal, 3), "csc")
    form = MassForm(3, Ms=Ms, attached=Attached.none(3 * mesh.n_nodes))
    return FeModel(mesh, 3, K_fe, M_fe, form)


def diagonal(values: Floats, layout: str) -> Any:
    """Sparse diagonal matrix with index arrays of the usual kind."""
    return sp.diags_array(values, format=layout)
