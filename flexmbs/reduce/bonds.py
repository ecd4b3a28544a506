"""[ties] of a recipe: surfaces whose meshes do not match become one, and how well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from flexmbs.errors import Diagnostic, Diagnostics, InputError
from flexmbs.fe.assembly import FeModel
from flexmbs.fe.deck import Deck, Equation
from flexmbs.fe.mesh import Mesh
from flexmbs.fe.skin import skin_faces
from flexmbs.fe.tie import tied
from flexmbs.modal.links import Links
from flexmbs.reduce.recipe import Recipe, TieSpec

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def with_ties(mesh: Mesh, recipe: Recipe, notes: list[str], found: Diagnostics) -> Mesh:
    """The mesh with the ties of the recipe among the connections of its deck. Writes: notes, found."""
    if not recipe.ties:
        return mesh
    deck = Deck("recipe") if mesh.deck is None else mesh.deck
    points, links = mesh.points.copy(), list(deck.links)
    for spec in recipe.ties:
        links += _tie(spec, mesh, points, notes, found)
    return replace(mesh, points=points, deck=replace(deck, links=links))


def _tie(spec: TieSpec, mesh: Mesh, points: Floats, notes: list[str], found: Diagnostics) -> list[Equation]:
    """Equations of the nodes of the first surface; these are moved onto the second. Writes: points."""
    where = f"ties.{spec.name}"
    for name in (spec.nodes, spec.faces):
        mesh.require_set(name, where)
    if spec.faces not in mesh.face_sets:
        what = f'"{spec.faces}" is no set of faces'
        raise InputError(Diagnostic("recipe.tie", where, what, "name the surface whose faces carry second"))
    rows = [row for part in mesh.face_nodes(mesh.face_sets[spec.faces]) for row in part]
    own = np.setdiff1d(mesh.node_set_of(spec.nodes), np.concatenate(rows))
    faces = [(row, points[row]) for row in rows]
    equations, farthest, done = [], 0.0, 0
    for node, others, N, foot, gap in tied(own, points[own], faces, spec.within):
        farthest, done = max(farthest, gap), done + 1
        points[node] = foot
        for c in range(3):
            unit = np.eye(6)[c]
            terms = [(int(mesh.node_number[k]), -value * unit) for k, value in zip(others, N, strict=True)]
            equations.append(Equation(((int(mesh.node_number[node]), unit), *terms), f"tie {spec.name}"))
    text = f"tie {spec.name}: {done} of {len(own)} nodes of {spec.nodes} follow {spec.faces}"
    if not done:
        what = f"no node of {spec.nodes} is near enough to a face of {spec.faces}"
        raise InputError(Diagnostic("recipe.tie", where, what, "give a larger `within`"))
    if done < len(own):
        found.warn(
            "recipe.tie", where, text, "the others are free: give a larger `within` if they should follow"
        )
    notes.append(f"{text}, moved by up to {farthest:.2g} m")
    return equations


def patch_error(fe: FeModel, links: Links | None) -> float | None:
    """Largest displacement at ties under six constant strains, over strain times size of a face.

    All other nodes are held where the constant strain has them; exact ties leave theirs there as well.
    None without ties of solids, or where all nodes of a tie lie on its rim.
    """
    if links is None or fe.n_per_node != 3:
        return None
    mesh, E = fe.mesh, sp.csr_array(links.E_u)
    leading = np.unique(E[links.dependent].nonzero()[1] // 3)
    met = np.zeros(mesh.n_nodes, dtype=bool)
    met[leading] = met[links.dependent // 3] = True
    rim, size = np.zeros(mesh.n_nodes, dtype=bool), []
    for part in mesh.face_nodes(skin_faces(mesh)):
        inside = met[part].all(axis=1)
        rim[part[~inside]] = True
        size += np.linalg.norm(np.ptp(mesh.points[part[inside]], axis=1), axis=1).tolist()
    nodes = leading[~rim[leading]]
    free = (3 * nodes[:, None] + np.arange(3)).ravel()
    if not len(free) or not size:
        return None
    G = sp.csc_array(E)[:, free]
    strain = np.zeros((mesh.n_nodes, 3, 6))
    for k, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
        strain[:, i, k] += 0.5 * mesh.points[:, j]
        strain[:, j, k] += 0.5 * mesh.points[:, i]
    R = G.T @ (fe.K_fe @ strain.reshape(-1, 6))
    du = sp.linalg.splu(sp.csc_array(G.T @ fe.K_fe @ G)).solve(np.ascontiguousarray(R))
    return float(np.abs(du).max() / np.mean(size))
