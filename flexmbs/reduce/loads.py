"""Loads of a recipe, whose static responses join the basis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.pieces.mapped import symmetric_sum
from flexmbs.fe.prestress import prestress_matrix
from flexmbs.fe.solve.solvers import factorise
from flexmbs.fe.stress import stress_modes
from flexmbs.fe.thermal import expansion_stress, free_strain, none_of, thermal_loads, warmed
from flexmbs.modal.areas import Pieces, nodal_sizes, set_pieces
from flexmbs.modal.basis import Columns
from flexmbs.modal.statics import Statics
from flexmbs.modal.ties import tie
from flexmbs.reduce.recipe import LoadSpec, Recipe
from flexmbs.reduce.source import Source

Floats = NDArray[np.float64]

TURNING = 1e-3  # of the work of the loads: what rigid motions may do against the stress of a preload
BALANCED = 1e-6  # of a preload: what is left of it when the rigid motions have taken their part


def load_columns(recipe: Recipe, source: Source, statics: Statics) -> Columns:
    """Static responses to the loads of the recipe, with the interfaces held (Craig-Bampton) or free."""
    if not recipe.loads:
        return Columns(np.zeros((statics.model.n, 0)), ())
    F = np.stack([_nodal_load(load, source) for load in recipe.loads], axis=1)
    held = statics.holding(statics.model.boundary if recipe.method == "craig-bampton" else None)
    U = held.respond(np.asarray(statics.model.G.T @ F))
    return Columns(U, tuple(f"load {load.name}" for load in recipe.loads))


def preloaded(recipe: Recipe, source: Source, factorise: Callable[..., Any] = factorise) -> Source:
    """The body under the static stress of its preload, which stiffens it or softens it (F17).

    The preload acts on the body as its supports hold it, with its interfaces free; what the supports do not
    hold must be in balance by itself.
    """
    if not recipe.preload:
        return source
    fe = source.fe
    if not source.mesh.n_cells:
        what = "a body without elements has no stress"
        raise InputError(
            Diagnostic("recipe.preload", recipe.name, what, "reduce a mesh, or leave out preload")
        )
    model = tie(fe.K_fe, fe.M_fe, source.mesh.points, fe.n_per_node, (), source.fixed, source.links)
    nodal = np.sum([_nodal_load(load, source) for load in recipe.preload], axis=0)
    F = np.asarray(model.G.T @ nodal)[:, None]
    held = Statics(model, factorise).holding()
    relieved = held.relieve(F)
    if np.linalg.norm(relieved - F) > BALANCED * np.linalg.norm(F):
        what = "the preload is not in balance: its resultant moves the body"
        remedy = "hold the body with [fix], or add the loads that balance it"
        raise InputError(Diagnostic("recipe.preload", recipe.name, what, remedy))
    U = np.asarray(model.G @ held.respond(relieved)).ravel()
    change = none_of(source.mesh)
    for load in recipe.preload:
        if load.temperature is not None:
            more = warmed(source.mesh, load.temperature, load.set)
            change = {kind: values + more[kind] for kind, values in change.items()}
    K_pre = prestress_matrix(source.mesh, source.materials, U, change)
    _check_held(recipe, fe, np.asarray(model.G @ held.loose), K_pre, nodal)
    fe = replace(fe, K_fe=symmetric_sum(fe.K_fe, K_pre), K_pre=K_pre)
    if recipe.stress == "none":
        return replace(source, fe=fe)
    sigma = stress_modes(source.mesh, source.materials, U[:, None], at=recipe.stress)[0]
    free = free_strain(source.mesh, source.materials, change)
    sigma = sigma - expansion_stress(source.mesh, source.materials, free, recipe.stress)
    state = (U[: 6 * source.mesh.n_nodes].reshape(-1, 6), free) if source.turns else (None, None)
    return replace(source, fe=fe, preload_stress=sigma, preload_field=state[0], preload_strain=state[1])


def _check_held(recipe: Recipe, fe: FeModel, loose: Floats, K_pre: Any, nodal: Floats) -> None:
    """Loads that keep their directions hold or topple a body that can turn; loose: rigid motions left."""
    n, per_node = fe.mesh.n_nodes, fe.n_per_node
    moved = loose[: n * per_node].reshape(n, per_node, loose.shape[1])[:, :3]
    work, extent = loose.T @ (K_pre @ loose), float(np.ptp(fe.mesh.points, axis=0).max())
    largest = np.abs(nodal).sum() * (moved**2).max(initial=0.0)
    if np.abs(work).max(initial=0.0) * extent > TURNING * largest:
        what = "nothing holds the body against turning, and its preload would hold or topple it"
        remedy = "hold it with [fix]; free bodies can have stresses of temperature alone"
        raise InputError(Diagnostic("recipe.preload", recipe.name, what, remedy))


def _nodal_load(load: LoadSpec, source: Source) -> Floats:
    """Nodal forces (n_dof,) of a load: of accelerations, pressure, or a resultant spread by size."""
    fe, mesh = source.fe, source.mesh
    F = np.zeros((mesh.n_nodes, fe.n_per_node))
    if load.temperature is not None:
        change = warmed(mesh, load.temperature, load.set)
        return thermal_loads(mesh, source.materials, change, fe.n_per_node)
    if load.force is None and load.pressure is None:
        field = _acceleration(load, mesh.points, F).ravel()
        return np.asarray(fe.M_fe @ np.concatenate([field, np.zeros(fe.n_modal)]))
    if load.node is not None:
        F[mesh.node_indices(load.node, f"loads.{load.name}"), :3] = load.force
        return np.concatenate([F.ravel(), np.zeros(fe.n_modal)])
    mesh.require_set(load.set, f"loads.{load.name}")
    nodes = mesh.node_set_of(load.set)
    pieces = set_pieces(mesh, load.set, nodes)
    if load.pressure is not None:
        F[:, :3] = load.pressure * _against_faces(load, mesh, pieces)
        return np.concatenate([F.ravel(), np.zeros(fe.n_modal)])
    size = nodal_sizes(mesh, pieces)[nodes] if pieces else np.ones(len(nodes))
    size = size if size.sum() > 0 else np.ones(len(nodes))
    F[nodes, :3] = (size / size.sum())[:, None] * load.force
    return np.concatenate([F.ravel(), np.zeros(fe.n_modal)])


def _against_faces(load: LoadSpec, mesh: Mesh, pieces: list[Pieces]) -> Floats:
    """Nodal forces (node, 3) of a unit pressure, which pushes against the outward normal."""
    if not pieces or pieces[0].along:
        what = f'the set "{load.set}" has no faces and no shells'
        raise InputError(Diagnostic("recipe.load", f"loads.{load.name}", what, "a pressure acts on an area"))
    F = np.zeros((mesh.n_nodes, 3))
    for part in pieces:
        np.add.at(F, part.nodes, -np.einsum("kpi,pn->kni", part.vectors, part.N))
    return F


def _acceleration(load: LoadSpec, points: Floats, field: Floats) -> Floats:
    """Forces per mass: as given, `alpha x u0`, or the centrifugal `-w x (w x u0)`. Writes: field (node, 3 or
    6)"""
    if load.acceleration is not None:
        field[:, :3] = load.acceleration
    elif load.angular_acceleration is not None:
        field[:, :3] = np.cross(load.angular_acceleration, points)
        field[:, 3:] = load.angular_acceleration[: field.shape[1] - 3]
    else:
        w = np.asarray(load.angular_velocity)
        field[:, :3] = -np.cross(w, np.cross(w, points))
    return field
